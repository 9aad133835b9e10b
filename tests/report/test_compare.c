/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs compared: chance is no change, a change is found where it is and with its size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "tests/report/one_row.h"
#include "tests/report/random.h"
#include "tests/trace/make_trace.h"
#include "tools/report/compare.h"

#define SITES 12
#define ROWS  80

struct run {
    struct mhcs_collect *collect;
    struct mhcs_conclusion conclusion;
};

static void feed(struct run *run, uint64_t *state, int site, int32_t tokens, double rel, int rows)
{
    struct mhcs_row_result result;
    char name[32];

    snprintf(name, sizeof(name), "layers.%d.hc_attn_fn", site);
    for (int i = 0; i < rows; i++) {
        const struct mhcs_record record = {
            .site_name = name,
            .layer = (int16_t)site,
            .tokens = tokens,
            .path = "bf16*bf16->bf16/f32",
            .check = NAN,
            .result = &result,
        };

        make_row(&result, state, 24, rel, 0, false);
        assert_int_equal(mhcs_collect_row(run->collect, &record), 0);
    }
}

static void begin(struct run *run)
{
    *run = (struct run){.collect = mhcs_collect_new()};
    assert_non_null(run->collect);
}

static void finish(struct run *run)
{
    mhcs_collect_sort(run->collect);
    assert_int_equal(mhcs_conclude(run->collect, false, &run->conclusion), 0);
}

static void end(struct run *run)
{
    mhcs_conclusion_free(&run->conclusion);
    mhcs_collect_free(run->collect);
}

/* Of the group of one site (NULL: all), in prefill, all sizes of call. */
static const struct mhcs_change *find(const struct mhcs_comparison *comparison, const char *site)
{
    for (size_t i = 0; i < comparison->changes; i++) {
        const struct mhcs_group *group = mhcs_change_group(&comparison->change[i]);

        if (group->phase == MHCS_PREFILL && group->bucket < 0 &&
            (site ? group->site && !strcmp(group->site->name, site) : !group->site))
            return &comparison->change[i];
    }
    fail_msg("no group of %s", site ? site : "all sites");
    return NULL;
}

static size_t count(const struct mhcs_comparison *comparison, enum mhcs_change_kind kind)
{
    size_t found = 0;

    for (size_t i = 0; i < comparison->changes; i++)
        found += comparison->change[i].kind == kind;
    return found;
}

/* The level is 1 % for all groups of a pair together; 7 or more of 200 pairs have a chance of 0.5
 * %.
 */
static void chance_alone_is_rarely_significant(void **unused)
{
    uint64_t state = test_seed("chance");
    int alarms = 0;

    for (int pair = 0; pair < 200; pair++) {
        struct mhcs_comparison comparison;
        struct run run[2];

        for (int r = 0; r < 2; r++) {
            begin(&run[r]);
            for (int site = 0; site < SITES; site++)
                feed(&run[r], &state, site, 512, 1.66e-3, ROWS);
            finish(&run[r]);
        }
        assert_int_equal(mhcs_compare(&run[0].conclusion, &run[1].conclusion, &comparison), 0);
        assert_int_equal(comparison.tested, SITES + 2);
        bool alarm = false;
        for (size_t i = 0; i < comparison.changes; i++)
            alarm |= comparison.change[i].significant;
        alarms += alarm;
        mhcs_comparison_free(&comparison);
        end(&run[0]);
        end(&run[1]);
    }
    printf("false alarms: %d of 200 pairs\n", alarms);
    assert_in_range(alarms, 0, 6);
}

/* One site of B has `factor` times the error. */
static void compare_with_a_changed_site(struct run run[2], double factor,
                                        struct mhcs_comparison *ret_comparison)
{
    uint64_t state = test_seed("changed site");

    for (int r = 0; r < 2; r++) {
        begin(&run[r]);
        for (int site = 0; site < SITES; site++)
            feed(&run[r], &state, site, 512, r == 1 && site == 7 ? factor * 1.66e-3 : 1.66e-3, 200);
        finish(&run[r]);
    }
    assert_int_equal(mhcs_compare(&run[0].conclusion, &run[1].conclusion, ret_comparison), 0);
}

static void a_changed_site_is_found_with_its_size(void **unused)
{
    static const struct {
        double factor;
        enum mhcs_change_kind kind;
    } cases[] = {{1.4, MHCS_CHANGE_GREW}, {0.7, MHCS_CHANGE_SHRANK}};

    for (int i = 0; i < 2; i++) {
        struct mhcs_comparison comparison;
        struct run run[2];

        compare_with_a_changed_site(run, cases[i].factor, &comparison);
        assert_int_equal(find(&comparison, "layers.7.hc_attn_fn")->kind, cases[i].kind);
        assert_true(fabs(find(&comparison, "layers.7.hc_attn_fn")->ratio / cases[i].factor - 1) <
                    0.1);
        assert_int_equal(find(&comparison, "layers.6.hc_attn_fn")->kind, MHCS_CHANGE_NONE);
        assert_int_equal(count(&comparison, cases[i].kind), 1);
        mhcs_comparison_free(&comparison);
        end(&run[0]);
        end(&run[1]);
    }
}

static void a_change_too_small_to_matter_is_none_however_many_rows(void **unused)
{
    struct mhcs_comparison comparison;
    struct run run[2];
    uint64_t state = test_seed("small change");

    for (int r = 0; r < 2; r++) {
        begin(&run[r]);
        feed(&run[r], &state, 0, 512, r ? 1.06 * 1.66e-3 : 1.66e-3, 20000);
        finish(&run[r]);
    }
    assert_int_equal(mhcs_compare(&run[0].conclusion, &run[1].conclusion, &comparison), 0);
    assert_true(find(&comparison, NULL)->significant);
    assert_int_equal(find(&comparison, NULL)->kind, MHCS_CHANGE_NONE);
    mhcs_comparison_free(&comparison);
    end(&run[0]);
    end(&run[1]);
}

/* The textbook's z of the difference of two logarithms, from plain sums. */
static void the_probability_is_that_of_the_documented_test(void **unused)
{
    static const float rel[2][4] = {{1, 2, 3, 4}, {2, 2, 5, 6}};
    struct mhcs_evidence evidence[2] = {0};
    double mean[2], variance[2], z;

    for (int r = 0; r < 2; r++) {
        double squares = 0, fourths = 0;

        for (int i = 0; i < 4 * 32; i++) {
            const double value = (double)rel[r][i % 4];
            struct mhcs_look look;

            look_at_one_row(&look, value, NAN, false);
            mhcs_evidence_add(&evidence[r], &look);
            squares += value * value;
            fourths += value * value * value * value;
        }
        mean[r] = squares / 128;
        variance[r] = (fourths - 128 * mean[r] * mean[r]) / 127 / 128 / (mean[r] * mean[r]);
    }
    z = log(mean[1] / mean[0]) / sqrt(variance[0] + variance[1]);
    {
        struct mhcs_group group[2] = {{.phase = MHCS_PREFILL, .bucket = -1},
                                      {.phase = MHCS_PREFILL, .bucket = -1}};
        const struct mhcs_conclusion a = {.group = &group[0], .groups = 1};
        const struct mhcs_conclusion b = {.group = &group[1], .groups = 1};
        struct mhcs_comparison comparison;

        group[0].evidence = evidence[0];
        group[1].evidence = evidence[1];
        assert_int_equal(mhcs_compare(&a, &b, &comparison), 0);
        assert_true(fabs(comparison.change[0].probability / erfc(z / sqrt(2)) - 1) < 1e-9);
        mhcs_comparison_free(&comparison);
    }
}

static void too_few_rows_on_a_side_are_not_tested(void **unused)
{
    struct mhcs_comparison comparison;
    struct run run[2];
    uint64_t state = test_seed("few");

    for (int r = 0; r < 2; r++) {
        begin(&run[r]);
        feed(&run[r], &state, 0, 512, r ? 1 : 1e-3, r ? 63 : 200);
        finish(&run[r]);
    }
    assert_int_equal(mhcs_compare(&run[0].conclusion, &run[1].conclusion, &comparison), 0);
    assert_int_equal(comparison.tested, 0);
    assert_int_equal(find(&comparison, NULL)->kind, MHCS_CHANGE_THIN);
    mhcs_comparison_free(&comparison);
    end(&run[0]);
    end(&run[1]);
}

static void sites_of_one_run_alone_are_kept_apart(void **unused)
{
    struct mhcs_comparison comparison;
    struct run run[2];
    uint64_t state = test_seed("alone");

    for (int r = 0; r < 2; r++) {
        begin(&run[r]);
        feed(&run[r], &state, r, 512, 1.66e-3, 100);
        finish(&run[r]);
    }
    assert_int_equal(mhcs_compare(&run[0].conclusion, &run[1].conclusion, &comparison), 0);
    assert_null(find(&comparison, "layers.0.hc_attn_fn")->group[1]);
    assert_null(find(&comparison, "layers.1.hc_attn_fn")->group[0]);
    assert_int_equal(find(&comparison, "layers.1.hc_attn_fn")->kind, MHCS_CHANGE_THIN);
    assert_int_equal(comparison.tested, 2); /* everything, and all of prefill */
    mhcs_comparison_free(&comparison);
    end(&run[0]);
    end(&run[1]);
}

static void new_nan_in_production_is_growth_even_in_few_rows(void **unused)
{
    struct mhcs_comparison comparison;
    struct run run[2];
    uint64_t state = test_seed("nan");

    for (int r = 0; r < 2; r++) {
        begin(&run[r]);
        feed(&run[r], &state, 0, 512, 1.66e-3, 10);
        if (r == 1) {
            struct mhcs_row_result result;
            const struct mhcs_record record = {
                .site_name = "layers.0.hc_attn_fn",
                .tokens = 512,
                .path = "bf16*bf16->bf16/f32",
                .check = NAN,
                .result = &result,
            };

            make_row(&result, &state, 24, 1.66e-3, 0, false);
            result.raw[MHCS_PRODUCTION][3] = INFINITY;
            make_row_metrics(&result, 24, MHCS_OPERANDS);
            assert_int_equal(mhcs_collect_row(run[r].collect, &record), 0);
        }
        finish(&run[r]);
    }
    assert_int_equal(mhcs_compare(&run[0].conclusion, &run[1].conclusion, &comparison), 0);
    assert_int_equal(find(&comparison, "layers.0.hc_attn_fn")->kind, MHCS_CHANGE_GREW);
    mhcs_comparison_free(&comparison);
    assert_int_equal(mhcs_compare(&run[1].conclusion, &run[1].conclusion, &comparison), 0);
    assert_int_equal(find(&comparison, "layers.0.hc_attn_fn")->kind, MHCS_CHANGE_THIN);
    mhcs_comparison_free(&comparison);
    end(&run[0]);
    end(&run[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chance_alone_is_rarely_significant),
        cmocka_unit_test(a_changed_site_is_found_with_its_size),
        cmocka_unit_test(a_change_too_small_to_matter_is_none_however_many_rows),
        cmocka_unit_test(the_probability_is_that_of_the_documented_test),
        cmocka_unit_test(too_few_rows_on_a_side_are_not_tested),
        cmocka_unit_test(sites_of_one_run_alone_are_kept_apart),
        cmocka_unit_test(new_nan_in_production_is_growth_even_in_few_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
