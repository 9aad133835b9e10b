/* SPDX-License-Identifier: Apache-2.0 */
/* A site is a weight matrix by content; ids follow the order of first appearance where they can. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "shadow/sites.h"

/* Row hashes of a matrix that stands for `content`. */
static const struct mhcs_fingerprint_row *matrix(uint64_t content)
{
    static struct mhcs_fingerprint_row rows[MHCS_COEFFICIENTS];

    for (uint32_t j = 0; j < MHCS_COEFFICIENTS; j++) {
        rows[j] = (struct mhcs_fingerprint_row){.hash = mhcs_mix64(content * 24 + j),
                                                .absmax = (float)j,
                                                .square_sum = 64,
                                                .nonfinite = j == 5 ? 2 : 0};
    }
    return rows;
}

static int set_up(void **state)
{
    *state = mhcs_sites_new(NULL);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    mhcs_sites_free(*state);
    return 0;
}

static const struct mhcs_site *find(void **state, uint64_t content, int32_t order, bool want_new)
{
    bool is_new;
    const struct mhcs_site *site =
        mhcs_sites_find(*state, matrix(content), 24, 256, MHCS_BF16, order, &is_new);

    assert_int_equal(is_new, want_new);
    return site;
}

static void the_same_content_is_the_same_site_wherever_it_lies(void **state)
{
    const struct mhcs_site *site = find(state, 1, 7, true);

    assert_ptr_equal(find(state, 1, 7, false), site);
    assert_ptr_equal(find(state, 1, 12, false), site);
    assert_ptr_equal(find(state, 1, -1, false), site);
    assert_int_equal(site->id, 7);
    assert_string_equal(site->name, "site7");
    assert_int_equal(site->weight_order, 7);
}

static void other_content_at_a_known_address_gets_the_next_free_id(void **state)
{
    find(state, 1, 0, true);
    find(state, 2, 1, true);
    assert_int_equal(find(state, 3, 0, true)->id, 2);
    assert_int_equal(find(state, 4, -1, true)->id, 3);
    assert_int_equal(find(state, 5, 3, true)->id, 4);
    assert_int_equal(find(state, 6, MHCS_SITES_MAX, true)->id, 5);
}

static void statistics_are_those_of_the_matrix(void **state)
{
    const struct mhcs_site *site = find(state, 1, 0, true);

    /* 24 rows of sum 64 over 256 elements: mean square 1/4. */
    assert_true(site->rms == 0.5f);
    assert_true(site->absmax == 23);
    assert_int_equal(site->nonfinite, 2);
    assert_int_equal(site->dtype, MHCS_BF16);
    assert_int_equal(site->layer, -1);
    assert_null(site->role);
}

static void shape_and_order_of_rows_tell_matrices_apart(void **state)
{
    struct mhcs_fingerprint_row swapped[MHCS_COEFFICIENTS];
    bool is_new;
    const struct mhcs_site *head;

    find(state, 1, 0, true);
    mhcs_sites_find(*state, matrix(1), 24, 512, MHCS_BF16, -1, &is_new);
    assert_true(is_new);
    head = mhcs_sites_find(*state, matrix(1), 4, 256, MHCS_BF16, -1, &is_new);
    assert_true(is_new);
    assert_string_equal(head->role, "head");
    memcpy(swapped, matrix(1), sizeof(swapped));
    swapped[0] = matrix(1)[1];
    swapped[1] = matrix(1)[0];
    mhcs_sites_find(*state, swapped, 24, 256, MHCS_BF16, -1, &is_new);
    assert_true(is_new);
}

static void beyond_the_limit_matrices_share_one_site(void **state)
{
    const struct mhcs_site *others;

    for (int i = 0; i < MHCS_SITES_MAX; i++) {
        assert_int_equal(find(state, (uint64_t)i, i, true)->id, i);
    }
    others = find(state, 1000000, 5, true);
    assert_int_equal(others->id, MHCS_SITES_MAX);
    assert_string_equal(others->name, "others");
    assert_ptr_equal(find(state, 1000001, 6, false), others);
    assert_ptr_equal(find(state, 1000000, 5, false), others);
    assert_int_equal(find(state, 4000, -1, false)->id, 4000);
}

#define SITES_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SITES_TEST(the_same_content_is_the_same_site_wherever_it_lies),
        SITES_TEST(other_content_at_a_known_address_gets_the_next_free_id),
        SITES_TEST(statistics_are_those_of_the_matrix),
        SITES_TEST(shape_and_order_of_rows_tell_matrices_apart),
        SITES_TEST(beyond_the_limit_matrices_share_one_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
