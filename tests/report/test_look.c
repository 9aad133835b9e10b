/* SPDX-License-Identifier: Apache-2.0 */
/* What one row shows: half ulps, bits, and what stands where a wrong value is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "tests/report/random.h"
#include "tests/trace/make_trace.h"
#include "tools/report/look.h"

/* A row with rounding noise as its path has it, to be spoiled by a test. */
struct sample {
    struct mhcs_row_result result;
    struct mhcs_precision precision;
    float *production;
    const float *reference;
};

static void make_sample(struct sample *sample, const char *path, double rel, const char *test)
{
    uint64_t state = test_seed(test);

    make_row(&sample->result, &state, MHCS_COEFFICIENTS, rel, 0, false);
    assert_true(mhcs_path_parse(path, &sample->precision));
    sample->production = sample->result.raw[MHCS_PRODUCTION];
    sample->reference = sample->result.raw[MHCS_OPERANDS];
}

static struct mhcs_look look_at(struct sample *sample)
{
    const struct mhcs_record record = {.tokens = 512, .row = 7, .result = &sample->result};
    struct mhcs_look look;

    make_row_metrics(&sample->result, MHCS_COEFFICIENTS, MHCS_OPERANDS);
    mhcs_look_at(&look, &record, MHCS_OPERANDS, &sample->precision);
    assert_int_equal(look.place.row, 7);
    return look;
}

static void half_ulps_are_counted_at_the_coefficients_own_size(void **unused)
{
    /* ulp of bf16 is 2^-7 at 1 and 2^-10 at 0.125, of fp16 2^-10 and 2^-13. fp32 sums may leave
     * 1e-4 of the row's rms more. */
    const float c[4] = {1, -1, 0.125f, 1};
    const float production[4] = {1 + 0x1p-8f, -1 - 0x1.2p-8f, 0.125f + 0x1.8p-11f, 1 + 0x1p-11f};
    struct mhcs_row_result result = {.against[MHCS_OPERANDS].rel = 1e-3f};
    const struct mhcs_record record = {.result = &result};
    struct mhcs_look look;

    for (int i = 0; i < MHCS_COEFFICIENTS; i++) {
        result.raw[MHCS_OPERANDS][i] = i < 4 ? c[i] : NAN;
        result.raw[MHCS_PRODUCTION][i] = i < 4 ? production[i] : NAN;
    }
    mhcs_look_at(&look, &record, MHCS_OPERANDS, NULL);
    assert_int_equal(look.traits.elements, 4);
    assert_int_equal(look.traits.over_bf16, 2);
    assert_int_equal(look.traits.over_f16, 3);
    assert_int_equal(look.traits.errors, 4);
    assert_int_equal(look.traits.inward, 0);
    assert_true(isnan(look.expected));
}

static void zeros_in_the_lowest_bits_of_fp32_results_are_counted(void **unused)
{
    struct sample sample;
    struct mhcs_look look;

    make_sample(&sample, "f32*f32->f32/f32", 1e-6, "bits");
    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        sample.production[i] = 1 + 0x1p-23f;
    sample.production[0] = 1 + 0x1p-18f; /* the lowest 5 bits are zero */
    sample.production[1] = 1 + 0x1p-10f; /* 13 */
    sample.production[2] = 1 + 0x1p-7f;  /* 16 */
    sample.production[3] = 1 + 0x1p-11f; /* 12 */
    look = look_at(&sample);
    assert_int_equal(look.traits.out_f32, MHCS_COEFFICIENTS);
    assert_int_equal(look.traits.coarse, 4);
    assert_int_equal(look.traits.on_f16, 2);
    assert_int_equal(look.traits.on_bf16, 1);
    sample.precision.out = MHCS_BF16;
    assert_int_equal(look_at(&sample).traits.out_f32, 0);
}

static void rounding_noise_is_not_off(void **unused)
{
    struct sample sample;

    make_sample(&sample, "bf16*bf16->bf16/f32", 1.66e-3, "noise");
    assert_int_equal(look_at(&sample).place.off, 0);
    assert_false(look_at(&sample).wrong);
}

static void expect_wrong(struct sample *sample, enum mhcs_wrong wrong)
{
    const struct mhcs_look look = look_at(sample);

    assert_true(look.place.off != 0);
    if (look.place.wrong != wrong)
        fail_msg("'%s' instead of '%s'", mhcs_wrong_name(look.place.wrong), mhcs_wrong_name(wrong));
}

static void what_stands_in_place_of_right_values_is_recognised(void **unused)
{
    struct mhcs_row_result other;
    struct sample sample;
    uint64_t state = ~test_seed("another row");

    make_row(&other, &state, MHCS_COEFFICIENTS, 0, 0, false);
    make_sample(&sample, "f32*f32->f32/f32", 1e-6, "wrong");
    sample.production[13] *= 1.2f;
    assert_int_equal(look_at(&sample).place.off, 1u << 13);
    expect_wrong(&sample, MHCS_WRONG_FEW);
    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        sample.production[i] = 0;
    expect_wrong(&sample, MHCS_WRONG_ZERO);
    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        sample.production[i] = 2 * sample.reference[i];
    expect_wrong(&sample, MHCS_WRONG_SCALED);
    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        sample.production[i] = sample.reference[(i + 1) % MHCS_COEFFICIENTS];
    expect_wrong(&sample, MHCS_WRONG_MOVED);
    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        sample.production[i] = sample.reference[i] + other.raw[MHCS_OPERANDS][i];
    expect_wrong(&sample, MHCS_WRONG_ADDED);
    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        sample.production[i] = other.raw[MHCS_OPERANDS][i];
    expect_wrong(&sample, MHCS_WRONG_UNRELATED);
    sample.production[3] = NAN;
    assert_true(look_at(&sample).nonfinite);
    assert_int_equal(look_at(&sample).place.off, 1u << 3);
    expect_wrong(&sample, MHCS_WRONG_NONFINITE);
}

/* Weights that are not the checkpoint's are no fault of the arithmetic. */
static void against_the_checkpoint_nothing_is_wrong_arithmetic(void **unused)
{
    struct sample sample;
    struct mhcs_look look;
    const struct mhcs_record record = {.tokens = 512, .result = &sample.result};

    make_sample(&sample, "bf16*bf16->bf16/f32", 1.66e-3, "weights");
    memcpy(sample.result.raw[MHCS_CHECKPOINT], sample.reference, MHCS_COEFFICIENTS * sizeof(float));
    sample.result.raw[MHCS_CHECKPOINT][5] += 10;
    make_row_metrics(&sample.result, MHCS_COEFFICIENTS, MHCS_CHECKPOINT);
    mhcs_look_at(&look, &record, MHCS_CHECKPOINT, &sample.precision);
    assert_int_equal(look.place.off, 1u << 5);
    assert_false(look.wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_ulps_are_counted_at_the_coefficients_own_size),
        cmocka_unit_test(zeros_in_the_lowest_bits_of_fp32_results_are_counted),
        cmocka_unit_test(rounding_noise_is_not_off),
        cmocka_unit_test(what_stands_in_place_of_right_values_is_recognised),
        cmocka_unit_test(against_the_checkpoint_nothing_is_wrong_arithmetic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
