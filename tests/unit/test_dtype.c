/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of stored numbers, the fingerprint of a weight matrix, and the choice of sampled rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "kernels/dtype.h"
#include "shadow/host_reference.h"
#include "tools/microtest/bell.h"
#include "tests/simcuda/rounding.h"

static void every_bf16_and_fp16_survives_a_round_trip(void **state)
{
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        const float bf16 = mhcs_bf16_decode((uint16_t)bits), f16 = mhcs_f16_decode((uint16_t)bits);
        if (isnan(bf16) || isnan(f16))
            continue;
        assert_int_equal(sim_bf16_of(bf16), bits);
        assert_int_equal(sim_f16_of(f16), bits);
    }
}

static void fp16_decodes_to_its_definition(void **state)
{
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        const int sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31;
        const double mantissa = bits & 1023;
        const float have = mhcs_f16_decode((uint16_t)bits);
        if (exponent == 31)
            assert_true(mantissa == 0 ? have == (float)sign * INFINITY : isnan(have));
        else
            assert_true((double)have == (exponent == 0
                                             ? ldexp(sign * mantissa, -24)
                                             : ldexp(sign * (1024 + mantissa), exponent - 25)));
        assert_int_equal(signbit(have) != 0, sign < 0);
    }
}

static void payload_of_nan_is_kept(void **state)
{
    assert_int_equal(mhcs_f32_bits(mhcs_bf16_decode(0xffa5)), 0xffa50000);
    assert_int_equal(mhcs_f32_bits(mhcs_f16_decode(0xfe01)), 0xff800000 | 0x201 << 13);
}

static void element_takes_its_type(void **state)
{
    const float f32[] = {1, -2.5f};
    const uint16_t bf16[] = {0x3f80, 0xc020}, f16[] = {0x3c00, 0xc100};
    for (size_t i = 0; i < 2; i++) {
        assert_true(mhcs_element(f32, MHCS_F32, i) == f32[i]);
        assert_true(mhcs_element(bf16, MHCS_BF16, i) == f32[i]);
        assert_true(mhcs_element(f16, MHCS_F16, i) == f32[i]);
    }
}

#define M 3
#define K 700

/* Values that all three types hold exactly. */
struct stored {
    float f32[M * K];
    uint16_t bf16[M * K], f16[M * K];
};

static struct stored stored_matrix(void)
{
    struct stored s;
    uint64_t state = 5;
    for (size_t i = 0; i < M * K; i++) {
        s.f32[i] = (float)(bell_next(&state) / 1024) / 64;
        s.bf16[i] = sim_bf16_of(s.f32[i]);
        s.f16[i] = sim_f16_of(s.f32[i]);
        assert_true(mhcs_bf16_decode(s.bf16[i]) == s.f32[i]);
        assert_true(mhcs_f16_decode(s.f16[i]) == s.f32[i]);
    }
    return s;
}

static void fingerprint_is_that_of_the_values_whatever_the_type(void **state)
{
    const struct stored s = stored_matrix();
    struct mhcs_fingerprint_row f32[M], bf16[M], f16[M];
    mhcs_host_fingerprint(s.f32, MHCS_F32, M, K, f32);
    mhcs_host_fingerprint(s.bf16, MHCS_BF16, M, K, bf16);
    mhcs_host_fingerprint(s.f16, MHCS_F16, M, K, f16);
    assert_memory_equal(f32, bf16, sizeof(f32));
    assert_memory_equal(f32, f16, sizeof(f32));
}

static void fingerprint_follows_its_definition(void **state)
{
    const struct stored s = stored_matrix();
    struct mhcs_fingerprint_row have[M];
    mhcs_host_fingerprint(s.f32, MHCS_F32, M, K, have);
    for (uint32_t j = 0; j < M; j++) {
        uint64_t hash = 0;
        double square = 0;
        float top = 0;
        for (uint32_t k = 0; k < K; k++) {
            const float v = s.f32[j * K + k];
            hash += mix64((uint64_t)(j * K + k) << 32 ^ sim_float_bits(v));
            square += (double)v * (double)v;
            top = fmaxf(top, fabsf(v));
        }
        assert_true(have[j].hash == hash);
        assert_true(have[j].absmax == top);
        assert_true(fabs((double)have[j].square_sum - square) <= 1e-6 * square);
        assert_int_equal(have[j].nonfinite, 0);
    }
}

static void fingerprint_changes_with_any_bit_of_its_row(void **state)
{
    struct stored s = stored_matrix();
    struct mhcs_fingerprint_row before[M], after[M];
    mhcs_host_fingerprint(s.bf16, MHCS_BF16, M, K, before);
    for (uint32_t bit = 0; bit < 16; bit++) {
        s.bf16[K + 123] ^= (uint16_t)(1 << bit);
        mhcs_host_fingerprint(s.bf16, MHCS_BF16, M, K, after);
        s.bf16[K + 123] ^= (uint16_t)(1 << bit);
        assert_true(after[1].hash != before[1].hash);
        assert_true(after[0].hash == before[0].hash && after[2].hash == before[2].hash);
    }
}

static void fingerprint_changes_when_two_values_swap(void **state)
{
    struct stored s = stored_matrix();
    struct mhcs_fingerprint_row before[M], after[M];
    mhcs_host_fingerprint(s.bf16, MHCS_BF16, M, K, before);
    const uint16_t first = s.bf16[0];
    assert_int_not_equal(first, s.bf16[1]);
    s.bf16[0] = s.bf16[1];
    s.bf16[1] = first;
    mhcs_host_fingerprint(s.bf16, MHCS_BF16, M, K, after);
    assert_true(after[0].hash != before[0].hash);
}

static void fingerprint_counts_nonfinite_weights_and_sums_the_others(void **state)
{
    const float fn[] = {3, NAN, -4, INFINITY, -INFINITY};
    struct mhcs_fingerprint_row row;
    mhcs_host_fingerprint(fn, MHCS_F32, 1, 5, &row);
    assert_int_equal(row.nonfinite, 3);
    assert_true(row.absmax == 4 && row.square_sum == 25);
}

static void sampled_rows_are_distinct_ascending_and_in_range(void **state)
{
    uint64_t random = 11;
    for (int i = 0; i < 2000; i++) {
        const uint32_t rows = 1 + (uint32_t)(random_next(&random) % MHCS_ROWS_MAX);
        const int64_t tokens = rows + (int64_t)(random_next(&random) % (i % 2 ? 40 : 100000));
        const uint64_t seed = random_next(&random);
        int64_t last = -1;
        for (uint32_t r = 0; r < rows; r++) {
            const int64_t token = mhcs_row_index(seed, r, rows, tokens);
            assert_true(token > last && token < tokens);
            last = token;
        }
    }
}

static void sampled_rows_reach_every_token(void **state)
{
    bool seen[37] = {false};
    for (uint64_t seed = 0; seed < 2000; seed++)
        for (uint32_t r = 0; r < 5; r++)
            seen[mhcs_row_index(mix64(seed), r, 5, 37)] = true;
    for (int i = 0; i < 37; i++)
        assert_true(seen[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bf16_and_fp16_survives_a_round_trip),
        cmocka_unit_test(fp16_decodes_to_its_definition),
        cmocka_unit_test(payload_of_nan_is_kept),
        cmocka_unit_test(element_takes_its_type),
        cmocka_unit_test(fingerprint_is_that_of_the_values_whatever_the_type),
        cmocka_unit_test(fingerprint_follows_its_definition),
        cmocka_unit_test(fingerprint_changes_with_any_bit_of_its_row),
        cmocka_unit_test(fingerprint_changes_when_two_values_swap),
        cmocka_unit_test(fingerprint_counts_nonfinite_weights_and_sums_the_others),
        cmocka_unit_test(sampled_rows_are_distinct_ascending_and_in_range),
        cmocka_unit_test(sampled_rows_reach_every_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
