/* SPDX-License-Identifier: Apache-2.0 */
/* Roundings against the simulation's, which are written another way, for every pattern of the bits
 * that decide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "shadow/model/round.h"
#include "tests/simcuda/rounding.h"

static void assert_same(uint32_t bits, float got, float wanted)
{
    if (mhcs_f32_bits(got) != mhcs_f32_bits(wanted) && !(isnan(got) && isnan(wanted)))
        fail_msg("%08x: %a instead of %a", bits, (double)got, (double)wanted);
}

static void roundings_are_to_nearest_even(void **state)
{
    /* All exponents and upper mantissas, with the lowest bits below, at and above the halves. */
    static const uint32_t low[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x7fff, 0x8000, 0x8001};

    for (uint64_t high = 0; high <= UINT32_MAX; high += 0x2000)
        for (size_t i = 0; i < sizeof(low) / sizeof(low[0]); i++) {
            const uint32_t bits = (uint32_t)high | low[i];
            const float value = mhcs_f32_from_bits(bits);

            if (!isfinite(value))
                continue;
            assert_same(bits, mhcs_round_bf16(value), sim_round_mantissa(value, 16));
            assert_same(bits, mhcs_round_even(value, 13), sim_round_tf32(value));
            assert_same(bits, mhcs_round_f16(value), sim_round_f16(value));
        }
}

static void tf32_rounds_halves_away_or_cuts(void **state)
{
    assert_true(mhcs_round_tf32(0x1.002p0f) == 0x1.004p0f);
    assert_true(mhcs_round_tf32(-0x1.002p0f) == -0x1.004p0f);
    assert_true(mhcs_round_tf32(0x1.001ffep0f) == 1);
    assert_true(mhcs_cut_tf32(0x1.003ffep0f) == 1);
    assert_true(mhcs_cut_tf32(-0x1.003ffep0f) == -1);
}

static void what_is_not_finite_stays(void **state)
{
    assert_true(mhcs_round_bf16(INFINITY) == INFINITY && mhcs_round_f16(-INFINITY) == -INFINITY);
    assert_true(isnan(mhcs_round_tf32(NAN)) && isnan(mhcs_round_f16(NAN)));
    assert_true(mhcs_round_f16(65519) == 65504 && mhcs_round_f16(65520) == INFINITY);
}

static void what_was_rounded_is_stored_exactly(void **state)
{
    for (uint32_t half = 0; half <= UINT16_MAX; half++) {
        const float f16 = mhcs_f16_decode((uint16_t)half), bf16 = mhcs_bf16_decode((uint16_t)half);

        if (!isnan(f16))
            assert_int_equal(mhcs_f16_encode(f16), half);
        else
            assert_true(isnan(mhcs_f16_decode(mhcs_f16_encode(f16))));
        assert_int_equal(mhcs_bf16_encode(bf16), half);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roundings_are_to_nearest_even),
        cmocka_unit_test(tf32_rounds_halves_away_or_cuts),
        cmocka_unit_test(what_is_not_finite_stays),
        cmocka_unit_test(what_was_rounded_is_stored_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
