/* SPDX-License-Identifier: Apache-2.0 */
/* Roundings of rounding.h against what the formats say: values from the fields by ldexp(), and
 * "nearest, ties to even" as a property of neighbours.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rounding.h"
#include "tools/microtest/bell.h"

#define DRAWS 200000
#define SEED  11

/* Any finite float, all exponents alike. */
static float draw_float(uint64_t *state)
{
    for (;;) {
        float value = sim_bits_float((uint32_t)random_next(state));

        if (isfinite(value))
            return value;
    }
}

static void fp16_patterns_mean_what_ieee_says(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x8000; h++) {
        int exponent = (int)(h >> 10);
        double fraction = (h & 0x3ff) / 1024.0;
        float value = sim_float_of_f16((uint16_t)h);

        if (exponent == 31 && fraction > 0) {
            assert_true(isnan(value));
            continue;
        }
        if (exponent == 31)
            assert_true(isinf(value));
        else
            assert_true(value ==
                        (exponent ? ldexp(1 + fraction, exponent - 15) : ldexp(fraction, -14)));
        assert_int_equal(sim_f16_of(value), h);
        assert_int_equal(sim_f16_of(-value), h | 0x8000);
    }
}

/* `below`, `nearest` and `above` are consecutive values of a format. */
static void assert_nearest_even(double value, double below, double nearest, double above,
                                uint32_t pattern)
{
    double error = fabs(value - nearest);
    double other = fmin(fabs(value - below), fabs(value - above));

    if (error > other || (error == other && (pattern & 1) != 0))
        fail_msg("%a rounded to %a, between %a and %a", value, nearest, below, above);
}

static void fp16_rounds_to_nearest_even(void **state)
{
    uint64_t random = SEED;

    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        /* Exponents -26..15: subnormals and the range. */
        float value =
            ldexpf((float)(1 + random_unit(&random)), (int)(random_next(&random) % 42) - 26);
        uint16_t h;

        if (i % 4 == 0) /* exactly half way between two fp16 values */
            value = sim_bits_float((sim_float_bits(value) & ~0x1fffu) | 0x1000u);
        if (value >= 65504)
            continue;
        h = sim_f16_of(value);
        assert_nearest_even(value, h ? sim_float_of_f16(h - 1) : -0x1p-24, sim_float_of_f16(h),
                            sim_float_of_f16(h + 1), h);
    }
    assert_int_equal(sim_f16_of(65519.996f), 0x7bff);
    assert_int_equal(sim_f16_of(65520), 0x7c00);
    assert_int_equal(sim_f16_of(-3e38f), 0xfc00);
}

static void assert_mantissa_rounding(float value, unsigned drop)
{
    uint32_t bits = sim_float_bits(sim_round_mantissa(value, drop)), step = 1u << drop;

    assert_int_equal(bits & (step - 1), 0);
    if (!isfinite(sim_bits_float(bits)) || !isfinite(sim_bits_float(bits + step)) ||
        (bits & 0x7fffffff) == 0)
        return;
    assert_nearest_even(value, sim_bits_float(bits - step), sim_bits_float(bits),
                        sim_bits_float(bits + step), bits >> drop);
}

static void bf16_and_tf32_round_to_nearest_even(void **state)
{
    uint64_t random = SEED;

    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        float value = draw_float(&random), half = sim_bits_float(sim_float_bits(value) | 0x8000);

        assert_mantissa_rounding(value, 16);
        assert_mantissa_rounding(sim_bits_float(sim_float_bits(half) & ~0x7fffu), 16);
        assert_mantissa_rounding(value, 13);
        assert_true(sim_float_of_bf16(sim_bf16_of(value)) == sim_round_mantissa(value, 16));
    }
    /* Eleven significant bits: 1 + 2^-10 is the next TF32 value after 1. */
    assert_true(sim_round_tf32(1 + 0x1p-11f) == 1);
    assert_true(sim_round_tf32(1 + 0x1.8p-11f) == 1 + 0x1p-10f);
    assert_true(sim_round_tf32(1 + 0x3p-11f) == 1 + 0x1p-9f);
}

static void nan_and_infinity_survive_every_rounding(void **state)
{
    (void)state;
    for (uint32_t payload = 1; payload < 0x800000; payload = payload * 3 + 1) {
        float nan = sim_bits_float(0x7f800000u | payload);

        assert_true(isnan(sim_float_of_bf16(sim_bf16_of(nan))));
        assert_true(isnan(sim_float_of_f16(sim_f16_of(nan))));
        assert_true(isnan(sim_round_tf32(nan)));
    }
    assert_true(isinf(sim_float_of_bf16(sim_bf16_of(-INFINITY))));
    assert_true(isinf(sim_float_of_f16(sim_f16_of(INFINITY))));
    assert_true(isinf(sim_round_tf32(INFINITY)));
    assert_true(isinf(sim_round_mantissa(sim_bits_float(0x7f7fffffu), 16)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp16_patterns_mean_what_ieee_says),
        cmocka_unit_test(fp16_rounds_to_nearest_even),
        cmocka_unit_test(bf16_and_tf32_round_to_nearest_even),
        cmocka_unit_test(nan_and_infinity_survive_every_rounding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
