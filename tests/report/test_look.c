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

/* What a look at one row is about. */
struct seen {
    uint32_t nonfinite, wrong;
    struct mhcs_traits traits;
    struct mhcs_place place;
    bool expected;
};

static struct seen look_at_result(const struct mhcs_row_result *result, enum mhcs_path reference,
                                  const struct mhcs_precision *precision)
{
    const struct mhcs_record record = {.tokens = 512, .row = 7, .result = result};
    const struct mhcs_run run = {.record = &record, .rows = 1};
    struct mhcs_columns columns;
    struct mhcs_view view;
    struct mhcs_look look;

    mhcs_record_columns(&record, &columns);
    mhcs_view_init(&view, &columns, 0, 1, reference, precision);
    mhcs_look_at(&look, &view, &run);
    assert_int_equal(look.places.count, 1);
    assert_int_equal(look.places.place[0].row, 7);
    assert_int_equal(look.places.off, look.places.place[0].off != 0);
    return (struct seen){.nonfinite = look.nonfinite,
                         .wrong = look.wrong,
                         .traits = look.traits,
                         .place = look.places.place[0],
                         .expected = look.excess.count > 0};
}

static struct seen look_at(struct sample *sample)
{
    make_row_metrics(&sample->result, MHCS_COEFFICIENTS, MHCS_OPERANDS);
    return look_at_result(&sample->result, MHCS_OPERANDS, &sample->precision);
}

static void half_ulps_are_counted_at_the_coefficients_own_size(void **unused)
{
    /* ulp of bf16 is 2^-7 at 1 and 2^-10 at 0.125, of fp16 2^-10 and 2^-13. fp32 sums may leave
     * 1e-4 of the row's rms more. */
    const float c[4] = {1, -1, 0.125f, 1};
    const float production[4] = {1 + 0x1p-8f, -1 - 0x1.2p-8f, 0.125f + 0x1.8p-11f, 1 + 0x1p-11f};
    struct mhcs_row_result result = {.against[MHCS_OPERANDS].rel = 1e-3f};
    struct seen look;

    for (int i = 0; i < MHCS_COEFFICIENTS; i++) {
        result.raw[MHCS_OPERANDS][i] = i < 4 ? c[i] : NAN;
        result.raw[MHCS_PRODUCTION][i] = i < 4 ? production[i] : NAN;
    }
    look = look_at_result(&result, MHCS_OPERANDS, NULL);
    assert_int_equal(look.traits.elements, 4);
    assert_int_equal(look.traits.over_bf16, 2);
    assert_int_equal(look.traits.over_f16, 3);
    assert_int_equal(look.traits.errors, 4);
    assert_int_equal(look.traits.inward, 0);
    assert_false(look.expected);
}

static void zeros_in_the_lowest_bits_of_fp32_results_are_counted(void **unused)
{
    struct sample sample;
    struct seen look;

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
    assert_int_equal(look_at(&sample).wrong, 0);
}

static void expect_wrong(struct sample *sample, enum mhcs_wrong wrong)
{
    const struct seen look = look_at(sample);

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
    assert_int_equal(look_at(&sample).nonfinite, 1);
    assert_int_equal(look_at(&sample).place.off, 1u << 3);
    expect_wrong(&sample, MHCS_WRONG_NONFINITE);
}

/* Weights that are not the checkpoint's are no fault of the arithmetic. */
static void against_the_checkpoint_nothing_is_wrong_arithmetic(void **unused)
{
    struct sample sample;
    struct seen look;

    make_sample(&sample, "bf16*bf16->bf16/f32", 1.66e-3, "weights");
    memcpy(sample.result.raw[MHCS_CHECKPOINT], sample.reference, MHCS_COEFFICIENTS * sizeof(float));
    sample.result.raw[MHCS_CHECKPOINT][5] += 10;
    make_row_metrics(&sample.result, MHCS_COEFFICIENTS, MHCS_CHECKPOINT);
    look = look_at_result(&sample.result, MHCS_CHECKPOINT, &sample.precision);
    assert_int_equal(look.place.off, 1u << 5);
    assert_int_equal(look.wrong, 0);
}

/* Rows of a batch, in columns; some of their rels are not finite, some coefficients zero. */
struct batch {
    float production[MHCS_VIEW_ROWS][MHCS_COEFFICIENTS];
    float reference[MHCS_VIEW_ROWS][MHCS_COEFFICIENTS];
    float rel[MHCS_VIEW_ROWS];
};

static void make_batch(struct batch *batch, uint64_t *state, uint32_t coefficients)
{
    for (uint32_t row = 0; row < MHCS_VIEW_ROWS; row++) {
        struct mhcs_row_result result;

        make_row(&result, state, coefficients, 1.66e-3, 0, false);
        if (pick(state, 6) == 0)
            result.raw[MHCS_OPERANDS][1 + pick(state, 3)] = 0;
        make_row_metrics(&result, coefficients, MHCS_OPERANDS);
        memcpy(batch->production[row], result.raw[MHCS_PRODUCTION], sizeof(batch->production[row]));
        memcpy(batch->reference[row], result.raw[MHCS_OPERANDS], sizeof(batch->reference[row]));
        batch->rel[row] = pick(state, 9) ? result.against[MHCS_OPERANDS].rel : NAN;
    }
}

static uint32_t zeros_of(const float *coefficients)
{
    uint32_t zeros = 0;

    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        zeros += coefficients[i] == 0;
    return zeros;
}

static void a_view_of_many_rows_is_that_of_each(void **unused)
{
    static const char *const paths[] = {"bf16*bf16->bf16/f32", "f32*f32->f32/f32", ""};
    uint64_t state = test_seed("views");

    for (int round = 0; round < 300; round++) {
        const uint32_t begin = (uint32_t)pick(&state, MHCS_VIEW_ROWS);
        const uint32_t rows = 1 + (uint32_t)pick(&state, MHCS_VIEW_ROWS - begin);
        const char *path = paths[pick(&state, 3)];
        struct mhcs_precision precision;
        const bool known = mhcs_path_parse(path, &precision);
        static struct mhcs_view all, one;
        static struct batch batch;
        struct mhcs_columns columns = {
            .rows = MHCS_VIEW_ROWS,
            .raw = {batch.production[0], batch.reference[0]},
            .metric[MHCS_OPERANDS][MHCS_METRIC(rel)] = batch.rel,
        };
        uint32_t floored = 0, own = 0;

        make_batch(&batch, &state, pick(&state, 2) ? MHCS_COEFFICIENTS : MHCS_COEFFICIENTS_HEAD);
        mhcs_view_init(&all, &columns, begin, rows, MHCS_OPERANDS, known ? &precision : NULL);
        for (uint32_t row = 0; row < rows; row++) {
            mhcs_view_init(&one, &columns, begin + row, 1, MHCS_OPERANDS,
                           known ? &precision : NULL);
            assert_true(all.rms[row] == one.rms[0]);
            assert_true(all.counts[row] == one.counts[0]);
            assert_true(all.low_bits[row] == one.low_bits[0]);
            assert_memory_equal(all.floored + floored, one.floored,
                                one.floored_count * sizeof(float));
            assert_memory_equal(all.own + own, one.own, one.own_count * sizeof(float));
            assert_int_equal(one.own_count,
                             one.floored_count == 0
                                 ? 0
                                 : one.coefficients - zeros_of(batch.reference[begin + row]));
            assert_int_equal(one.floored_count,
                             isnan(batch.rel[begin + row]) ? 0 : one.coefficients);
            floored += one.floored_count;
            own += one.own_count;
        }
        assert_int_equal(all.floored_count, floored);
        assert_int_equal(all.own_count, own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_ulps_are_counted_at_the_coefficients_own_size),
        cmocka_unit_test(zeros_in_the_lowest_bits_of_fp32_results_are_counted),
        cmocka_unit_test(rounding_noise_is_not_off),
        cmocka_unit_test(what_stands_in_place_of_right_values_is_recognised),
        cmocka_unit_test(against_the_checkpoint_nothing_is_wrong_arithmetic),
        cmocka_unit_test(a_view_of_many_rows_is_that_of_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
