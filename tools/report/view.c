/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over the coefficients of all rows of a view, which a processor does some at a time. */
#include "tools/report/view.h"

#include <math.h>
#include <string.h>

#include "kernels/mhc_math.h"
#include "tools/report/classify.h"
#include "tools/report/exact.h"
#include "tools/report/noise.h"

#define INLINE __attribute__((always_inline)) static inline

#define COUNT(kind, condition)    ((uint64_t)(condition) << MHCS_COUNT_##kind * MHCS_COUNT_BITS)
#define LOW_BITS(kind, condition) ((uint64_t)(condition) << MHCS_LOW_BITS_##kind * MHCS_COUNT_BITS)

/* The reference is fp32, and its own rounding moves errors of exactly half an ulp a little. */
#define HALF_ULP 0.505

/* An error of more than so much of the row's rms and of the coefficient's own power of two. */
struct limit {
    double of_rms, of_power;
};

static struct limit limit_of(const struct mhcs_view *view)
{
    const uint32_t out = view->precision ? view->precision->out : MHCS_F32;
    const double unit = out == MHCS_BF16 ? MHCS_U_BF16 : out == MHCS_F16 ? MHCS_U_F16 : 0x1p-24;

    return (struct limit){.of_rms = MHCS_OFF_RATIO * view->inner, .of_power = 1.01 * unit};
}

/* !(<=): a NaN is off as well. */
INLINE bool is_off(double error, double rms, double power, const struct limit *limit)
{
    return !(error <= limit->of_rms * rms + limit->of_power * power);
}

/* Rows of coefficients, one behind the other. */
struct elements {
    const float *production, *reference;
    double rms[MHCS_VIEW_SIZE]; /* of the row that an element is of */
    uint64_t counts[MHCS_VIEW_SIZE];
};

/* Four sums a row, which a processor adds at once. */
INLINE void find_rms(struct mhcs_view *view, struct elements *elements, const uint32_t coefficients)
{
    double sum[MHCS_VIEW_ROWS][4];

    for (uint32_t row = 0; row < view->rows; row++)
        for (uint32_t j = 0; j < 4; j++) {
            const float *values = elements->reference + row * coefficients + j;

            sum[row][j] = 0;
            for (uint32_t i = 0; i < coefficients; i += 4)
                sum[row][j] += (double)values[i] * (double)values[i];
        }
    for (uint32_t row = 0; row < view->rows; row++)
        view->rms[row] =
            sqrt((sum[row][0] + sum[row][1] + sum[row][2] + sum[row][3]) / coefficients);
    for (uint32_t row = 0; row < view->rows; row++)
        for (uint32_t i = 0; i < coefficients; i++)
            elements->rms[row * coefficients + i] = view->rms[row];
}

/* 1 over a power of two: the exponent mirrored, and no division. */
INLINE double inverse(double power)
{
    uint64_t bits;

    memcpy(&bits, &power, sizeof(bits));
    bits = (UINT64_C(2046) << 52) - bits;
    memcpy(&power, &bits, sizeof(power));
    return power;
}

INLINE void view_elements(struct mhcs_view *view, struct elements *elements, uint32_t count)
{
    const float *production = elements->production, *reference = elements->reference;
    const struct limit limit = limit_of(view);

    for (uint32_t i = 0; i < count; i++) {
        const double c = reference[i], difference = production[i] - c;
        const double error = fabs(difference), size = fabs(c), power = mhcs_power_f64(c);
        const double rms = elements->rms[i], sums = MHCS_FP32_SUMS * rms;
        const double half_bf16 = HALF_ULP / 128 * power; /* 8 significant bits */

        elements->counts[i] = COUNT(OVER_BF16, error > half_bf16 + sums) +
                              COUNT(OVER_F16, error > half_bf16 / 8 + sums) + /* 11 */
                              COUNT(ERRORS, difference != 0) + COUNT(INWARD, difference * c < 0) +
                              COUNT(OFF, is_off(error, rms, power, &limit)) + COUNT(ZEROS, c == 0);
        view->floored[i] = (float)(error * 128 * inverse(mhcs_power_f64(size > rms ? size : rms)));
        view->own[i] = (float)(error * 128 * inverse(power));
    }
}

INLINE void view_low_bits(struct elements *elements, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits;

        memcpy(&bits, &elements->production[i], sizeof(bits));
        elements->counts[i] = LOW_BITS(COARSE, (bits & ((1u << 5) - 1)) == 0) +
                              LOW_BITS(ON_F16, (bits & ((1u << 13) - 1)) == 0) +
                              LOW_BITS(ON_BF16, (bits & ((1u << 16) - 1)) == 0);
    }
}

INLINE void count_rows(uint64_t *counts, uint32_t rows, const struct elements *elements,
                       const uint32_t coefficients)
{
    for (uint32_t row = 0; row < rows; row++) {
        uint64_t sum = 0;

        for (uint32_t i = 0; i < coefficients; i++)
            sum += elements->counts[row * coefficients + i];
        counts[row] = sum;
    }
}

/* Inlined for each number of coefficients, whose loops the compiler then unrolls. */
INLINE void view_rows(struct mhcs_view *view, struct elements *elements,
                      const uint32_t coefficients)
{
    find_rms(view, elements, coefficients);
    view_elements(view, elements, view->rows * coefficients);
    count_rows(view->counts, view->rows, elements, coefficients);
    memset(view->low_bits, 0, view->rows * sizeof(*view->low_bits));
    if (!view->precision || view->precision->out != MHCS_F32)
        return;
    view_low_bits(elements, view->rows * coefficients);
    count_rows(view->low_bits, view->rows, elements, coefficients);
}

static MHCS_WIDE void view_all(struct mhcs_view *view, struct elements *elements)
{
    if (view->coefficients == MHCS_COEFFICIENTS)
        view_rows(view, elements, MHCS_COEFFICIENTS);
    else
        view_rows(view, elements, MHCS_COEFFICIENTS_HEAD);
}

/* A head's 4 coefficients out of its lists of 24. */
static const float *pack_heads(const float *lists, uint32_t rows, float *packed)
{
    for (uint32_t row = 0; row < rows; row++)
        memcpy(packed + row * MHCS_COEFFICIENTS_HEAD, lists + row * MHCS_COEFFICIENTS,
               MHCS_COEFFICIENTS_HEAD * sizeof(*packed));
    return packed;
}

/* Mostly all ulps are kept. */
static void drop_undefined(struct mhcs_view *view, const float *reference)
{
    const float *rel = view->columns->metric[view->reference][MHCS_METRIC(rel)] + view->begin;
    const uint32_t coefficients = view->coefficients;
    uint32_t drop = 0, at = 0;

    for (uint32_t row = 0; row < view->rows; row++)
        drop += !isfinite(rel[row]) || mhcs_count_of(view->counts[row], MHCS_COUNT_ZEROS) > 0;
    view->floored_count = view->own_count = drop > 0 ? 0 : view->rows * coefficients;
    for (uint32_t row = 0; row < view->rows && drop > 0; row++) {
        const bool defined = isfinite(rel[row]);

        for (uint32_t i = 0; i < coefficients; i++, at++) {
            view->floored[view->floored_count] = view->floored[at];
            view->own[view->own_count] = view->own[at];
            view->floored_count += defined;
            view->own_count += defined && reference[at] != 0;
        }
    }
}

void mhcs_view_init(struct mhcs_view *view, const struct mhcs_columns *columns, uint32_t begin,
                    uint32_t rows, enum mhcs_path reference, const struct mhcs_precision *precision)
{
    const size_t at = (size_t)begin * MHCS_COEFFICIENTS;
    const uint32_t coefficients = mhcs_coefficients_of(columns->raw[MHCS_OPERANDS] + at);
    float heads[2][MHCS_VIEW_ROWS * MHCS_COEFFICIENTS_HEAD];
    struct elements elements;
    struct mhcs_noise noise;

    view->columns = columns;
    view->begin = begin;
    view->rows = rows;
    view->coefficients = coefficients;
    view->reference = reference;
    view->precision = precision;
    view->expected = NAN;
    view->inner = 0;
    if (precision && mhcs_noise_expected(precision, reference, coefficients, &noise)) {
        view->expected = noise.high;
        view->inner = noise.inner;
    }
    elements.production = columns->raw[MHCS_PRODUCTION] + at;
    elements.reference = columns->raw[reference] + at;
    if (coefficients == MHCS_COEFFICIENTS_HEAD) {
        elements.production = pack_heads(elements.production, rows, heads[0]);
        elements.reference = pack_heads(elements.reference, rows, heads[1]);
    }
    view_all(view, &elements);
    drop_undefined(view, elements.reference);
}

uint32_t mhcs_view_off(const struct mhcs_view *view, uint32_t row)
{
    const size_t at = (size_t)row * MHCS_COEFFICIENTS;
    const float *production = view->columns->raw[MHCS_PRODUCTION] + at;
    const float *reference = view->columns->raw[view->reference] + at;
    const double rms = view->rms[row - view->begin];
    const struct limit limit = limit_of(view);
    uint32_t off = 0;

    for (uint32_t i = 0; i < view->coefficients; i++) {
        const double c = reference[i], error = fabs((double)production[i] - c);

        off |= (uint32_t)is_off(error, rms, mhcs_power_f64(c), &limit) << i;
    }
    return off;
}
