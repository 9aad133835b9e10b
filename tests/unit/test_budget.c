/* SPDX-License-Identifier: Apache-2.0 */
/* The hook's budget, with a clock made by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shadow/budget.h"
#include "shadow/clock.h"

#define MS (MHCS_SECOND / 1000)

static void the_share_holds_over_time(void **state)
{
    struct mhcs_budget budget = {0};
    const int64_t start = 1000 * MHCS_SECOND;
    int64_t spent = 0;

    /* 10 us of work are wanted each 100 us, ten seconds long: 10 %, of which 0.5 % are allowed. */
    for (int64_t now = start; now < start + 10 * MHCS_SECOND; now += MS / 10) {
        if (mhcs_budget_allows(&budget, 0.005, now)) {
            mhcs_budget_spend(&budget, 0.005, now, MS / 100);
            spent += MS / 100;
        }
    }
    /* 0.5 % of 10 s, and of the 10 s that it may run ahead. */
    assert_in_range(spent, 99 * MS, 101 * MS);
    assert_int_equal(atomic_load(&budget.spent), spent);
}

static void idle_hours_do_not_save_up(void **state)
{
    struct mhcs_budget budget = {0};
    int64_t now = 1000 * MHCS_SECOND, spent = 0;

    mhcs_budget_spend(&budget, 0.01, now, MS);
    now += 3600 * MHCS_SECOND;
    while (mhcs_budget_allows(&budget, 0.01, now)) {
        mhcs_budget_spend(&budget, 0.01, now, MS);
        spent += MS;
    }
    assert_in_range(spent, 100 * MS, 101 * MS); /* 1 % of the 10 s that it may run ahead */
}

static void a_single_long_call_is_paid_off(void **state)
{
    struct mhcs_budget budget = {0};
    const int64_t now = 1000 * MHCS_SECOND;

    mhcs_budget_spend(&budget, 0.01, now, 150 * MS); /* 15 s to pay off */
    assert_false(mhcs_budget_allows(&budget, 0.01, now + 4900 * MS));
    assert_true(mhcs_budget_allows(&budget, 0.01, now + 5000 * MS));
}

static void zero_is_no_limit(void **state)
{
    struct mhcs_budget budget = {0};

    mhcs_budget_spend(&budget, 0, 5, 1000 * MHCS_SECOND);
    assert_true(mhcs_budget_allows(&budget, 0, 6));
    assert_int_equal(atomic_load(&budget.spent), 1000 * MHCS_SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_share_holds_over_time),
        cmocka_unit_test(idle_hours_do_not_save_up),
        cmocka_unit_test(a_single_long_call_is_paid_off),
        cmocka_unit_test(zero_is_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
