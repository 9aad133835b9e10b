/* SPDX-License-Identifier: Apache-2.0 */
/* Rows made up with the roundings of a path have the error that the noise table expects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tools/report/expect.h"

static struct mhcs_stat stat;

static bool expect(const char *path, enum mhcs_path reference, uint32_t coefficients)
{
    struct mhcs_precision precision;

    memset(&stat, 0, sizeof(stat));
    assert_true(mhcs_path_parse(path, &precision));
    return mhcs_expect_rel(&precision, reference, coefficients, &stat);
}

static double top_of_noise(const char *path, enum mhcs_path reference, uint32_t coefficients)
{
    struct mhcs_precision precision;
    struct mhcs_noise noise;

    assert_true(mhcs_path_parse(path, &precision));
    assert_true(mhcs_noise_expected(&precision, reference, coefficients, &noise));
    return noise.high;
}

/* 20000 rows of 24: 2 % is five standard errors and the twelve uniform numbers of a Gaussian. */
static void the_rms_is_the_top_of_the_expected_range(void **unused)
{
    static const char *const paths[] = {"f32*f32->f32/f32",   "f32*f32->f32/tf32",
                                        "bf16*bf16->f32/f32", "bf16*bf16->bf16/f32",
                                        "f16*f16->f16/f32",   "bf16*bf16->bf16/f32+reduced"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        for (enum mhcs_path r = MHCS_OPERANDS; r < MHCS_PATHS; r++) {
            const double top = top_of_noise(paths[i], r, 24);

            assert_true(expect(paths[i], r, 24));
            if (fabs(mhcs_stat_rms(&stat) / top - 1) > 0.02)
                fail_msg("%s: %g, the table has %g", paths[i], mhcs_stat_rms(&stat), top);
        }
}

static void rounding_the_output_scatters_less_than_rounding_operands(void **unused)
{
    double spread[2];

    assert_true(expect("bf16*bf16->bf16/f32", MHCS_OPERANDS, 24));
    spread[0] = mhcs_stat_percentile(&stat, 9900) / mhcs_stat_percentile(&stat, 100);
    assert_true(expect("bf16*bf16->f32/f32", MHCS_CHECKPOINT, 24));
    spread[1] = mhcs_stat_percentile(&stat, 9900) / mhcs_stat_percentile(&stat, 100);
    assert_true(spread[0] < 0.95 * spread[1]);
}

static void a_path_without_expectation_makes_no_rows(void **unused)
{
    assert_false(expect("bf16*bf16->bf16/f16acc", MHCS_OPERANDS, 24));
    assert_int_equal(stat.hist.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rms_is_the_top_of_the_expected_range),
        cmocka_unit_test(rounding_the_output_scatters_less_than_rounding_operands),
        cmocka_unit_test(a_path_without_expectation_makes_no_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
