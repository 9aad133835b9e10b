/* SPDX-License-Identifier: Apache-2.0 */
/* The fp32 exponential and its relatives against libm in double, over their whole range. With the
 * argument `all`, over every float.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <string.h>

#include "kernels/mhc_math.h"

static uint32_t stride = 251; /* prime: every exponent, and mantissas of all kinds */

/* Distance in units in the last place of fp32 at the exact value. */
static double ulps(double exact, float have)
{
    const double ulp = fabs(exact) < (double)FLT_MIN ? 0x1p-149 : ldexp(1, ilogb(exact) - 23);
    return fabs(exact - (double)have) / ulp;
}

static void exp_is_within_one_ulp(void **state)
{
    double worst = 0;
    float at = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += stride) {
        const float x = mhcs_f32_from_bits((uint32_t)bits);
        if (!(x > -110 && x < 89))
            continue;
        const double exact = exp((double)x);
        const float have = mhcs_exp_f32(x);
        if (exact > (double)FLT_MAX + 0x1p103) { /* beyond half an ulp */
            assert_true(isinf(have));
            continue;
        }
        if (ulps(exact, have) > worst) {
            worst = ulps(exact, have);
            at = x;
        }
    }
    print_message("worst: %.4f ulp at %a\n", worst, (double)at);
    assert_true(worst < 1);
}

static void exp_of_special_values(void **state)
{
    assert_true(mhcs_exp_f32(0) == 1);
    assert_true(mhcs_exp_f32(-0.0f) == 1);
    assert_true(mhcs_exp_f32(INFINITY) == INFINITY);
    assert_true(mhcs_exp_f32(-INFINITY) == 0);
    assert_true(isnan(mhcs_exp_f32(NAN)));
    assert_true(isnan(mhcs_exp_f32(-NAN)));
    assert_true(mhcs_exp_f32(FLT_MAX) == INFINITY);
    assert_true(mhcs_exp_f32(-FLT_MAX) == 0);
    assert_true(mhcs_exp_f32(FLT_TRUE_MIN) == 1);
}

static void exp_around_its_edges(void **state)
{
    assert_true(mhcs_exp_f32(0x1.62e42ep6f) < INFINITY); /* 88.72283, the last finite result */
    assert_true(mhcs_exp_f32(0x1.62e430p6f) == INFINITY);
    assert_true(mhcs_exp_f32(-0x1.9fe368p6f) == FLT_TRUE_MIN); /* -103.97208, just above 2^-150 */
    assert_true(mhcs_exp_f32(-0x1.9fe36ap6f) == 0);
}

static void exp_never_falls(void **state)
{
    float last = 0;
    for (float x = -104; x < 89; x += 0x1p-12f) {
        assert_true(mhcs_exp_f32(x) >= last);
        last = mhcs_exp_f32(x);
    }
}

static void expm1_is_within_two_ulp(void **state)
{
    double worst = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += stride) {
        const float x = mhcs_f32_from_bits((uint32_t)bits);
        if (!(fabsf(x) <= 64))
            continue;
        worst = fmax(worst, ulps(expm1((double)x), mhcs_expm1_f32(x)));
    }
    print_message("worst: %.4f ulp\n", worst);
    assert_true(worst < 2);
}

static void power_is_that_below(void **state)
{
    const float values[] = {1, 1.5f, -3, 0x1.fffffep10f, 0x1p-126f, FLT_MAX, -0x1p-100f};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        assert_true(mhcs_power_f32(values[i]) == ldexpf(1, ilogbf(values[i])));
        assert_true(mhcs_power_f64((double)values[i]) == ldexp(1, ilogbf(values[i])));
    }
    assert_true(mhcs_power_f32(0) == FLT_MIN);
    assert_true(mhcs_power_f32(FLT_TRUE_MIN) == FLT_MIN);
}

static void change_of_a_sigmoid_is_exact_where_a_difference_is_not(void **state)
{
    for (float z = -30; z <= 30; z += 0.37f)
        for (float d = 1; d > 1e-9f; d *= -0.19f, d = fabsf(d)) {
            const long double exact = 1 / (1 + expl(-((long double)z + (long double)d))) -
                                      1 / (1 + expl(-(long double)z));
            const long double have = (long double)mhcs_sigmoid_change_f32(z, d);
            assert_true(fabsl(have - exact) <= 1e-6L * fabsl(exact) + 1e-18L);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_within_one_ulp),
        cmocka_unit_test(exp_of_special_values),
        cmocka_unit_test(exp_around_its_edges),
        cmocka_unit_test(exp_never_falls),
        cmocka_unit_test(expm1_is_within_two_ulp),
        cmocka_unit_test(power_is_that_below),
        cmocka_unit_test(change_of_a_sigmoid_is_exact_where_a_difference_is_not),
    };
    if (argc > 1 && strcmp(argv[1], "all") == 0)
        stride = 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
