/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of zeros and rows that repeat are padding; a wrong result for an x that was seen is not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shadow/host_reference.h"
#include "shadow/padding.h"

#define K    64
#define ROWS 6

/* Rows of the real comparator, on the host: x[r] = the r-th of `kinds`, 0 zeros. */
static void compare(const int kinds[ROWS], const float *production, struct mhcs_row_result *results)
{
    static const struct mhcs_model_params model = {
        .scale = {1, 1, 1}, .hc_eps = 1e-6f, .norm_eps = 1e-6f, .iterations = 20};
    static float fn[MHCS_COEFFICIENTS * K], x[ROWS * K], c[ROWS * MHCS_COEFFICIENTS];
    const struct mhcs_host_slot slot = {.fn = fn,
                                        .x = x,
                                        .c = c,
                                        .alpha = 1,
                                        .coefficients = MHCS_COEFFICIENTS,
                                        .k = K,
                                        .rows = ROWS};

    for (int i = 0; i < MHCS_COEFFICIENTS * K; i++) {
        fn[i] = (float)((i * 7919) % 101 - 50) / 64;
    }
    for (int r = 0; r < ROWS; r++) {
        for (int k = 0; k < K; k++) {
            x[r * K + k] = kinds[r] ? (float)((k * 31 + kinds[r] * 17) % 53 - 26) / 16 : 0;
        }
        for (int j = 0; j < MHCS_COEFFICIENTS; j++) {
            c[r * MHCS_COEFFICIENTS + j] = kinds[r] ? production[r] + (float)(kinds[r] + j) : 0;
        }
    }
    assert_int_equal(mhcs_host_reference(&slot, &model, results), 0);
}

static void assert_padding(const int kinds[ROWS], const float *production,
                           const bool expected[ROWS])
{
    struct mhcs_row_result results[ROWS];

    compare(kinds, production, results);
    for (uint32_t r = 0; r < ROWS; r++) {
        assert_int_equal(mhcs_is_padding(results, r), expected[r]);
    }
}

static const float as_usual[ROWS];

static void rows_that_differ_are_tokens(void **state)
{
    assert_padding((int[]){1, 2, 3, 4, 5, 6}, as_usual, (bool[ROWS]){false});
}

static void zeros_are_padding(void **state)
{
    assert_padding((int[]){1, 2, 0, 0, 3, 0}, as_usual,
                   (bool[]){false, false, true, true, false, true});
}

static void all_but_the_first_of_equal_rows_are_padding(void **state)
{
    assert_padding((int[]){1, 2, 3, 3, 3, 2}, as_usual,
                   (bool[]){false, false, false, true, true, true});
}

static void another_result_for_the_same_x_is_no_padding(void **state)
{
    assert_padding((int[]){1, 2, 2, 2, 2, 2}, (float[]){0, 0, 0, 1e-3f, 0, 0},
                   (bool[]){false, false, true, false, true, true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_differ_are_tokens),
        cmocka_unit_test(zeros_are_padding),
        cmocka_unit_test(all_but_the_first_of_equal_rows_are_padding),
        cmocka_unit_test(another_result_for_the_same_x_is_no_padding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
