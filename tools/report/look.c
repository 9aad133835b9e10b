/* SPDX-License-Identifier: Apache-2.0 */
/* The traits and wrong coefficients of one row. */
#include "tools/report/look.h"

#include <math.h>
#include <string.h>

#include "kernels/mhc_math.h"
#include "tools/report/noise.h"
#include "tools/report/stats.h"
#include "tools/report/totals.h"

/* Two rows of coefficients. */
struct pair {
    const float *production, *reference;
    uint32_t count;
    double rms; /* of the reference */
};

/* The reference is fp32, and its own rounding moves errors of exactly half an ulp a little. */
#define HALF_ULP 0.505

#define INLINE __attribute__((always_inline)) static inline

INLINE void look_at_elements(struct mhcs_traits *traits, const struct pair *pair)
{
    const double sums = MHCS_FP32_SUMS * pair->rms;
    uint64_t over_bf16 = 0, over_f16 = 0, errors = 0, inward = 0; /* as wide as what is compared */

    for (uint32_t i = 0; i < pair->count; i++) {
        const double c = pair->reference[i], difference = pair->production[i] - c;
        const double error = fabs(difference);
        const double half_bf16 = HALF_ULP / 128 * mhcs_power_f64(c); /* 8 significant bits */

        over_bf16 += error > half_bf16 + sums;
        over_f16 += error > half_bf16 / 8 + sums; /* 11 */
        errors += difference != 0;
        inward += difference * c < 0;
    }
    traits->elements = pair->count;
    traits->over_bf16 = over_bf16;
    traits->over_f16 = over_f16;
    traits->errors = errors;
    traits->inward = inward;
}

INLINE void look_at_bits(struct mhcs_traits *traits, const struct pair *pair)
{
    uint32_t coarse = 0, on_f16 = 0, on_bf16 = 0;

    for (uint32_t i = 0; i < pair->count; i++) {
        uint32_t bits;

        memcpy(&bits, &pair->production[i], sizeof(bits));
        coarse += (bits & ((1u << 5) - 1)) == 0;
        on_f16 += (bits & ((1u << 13) - 1)) == 0;
        on_bf16 += (bits & ((1u << 16) - 1)) == 0;
    }
    traits->out_f32 = pair->count;
    traits->coarse = coarse;
    traits->on_f16 = on_f16;
    traits->on_bf16 = on_bf16;
}

/* ---- wrong rows ---- */

static double unit_of(uint32_t out)
{
    return out == MHCS_BF16 ? MHCS_U_BF16 : out == MHCS_F16 ? MHCS_U_F16 : 0x1p-24;
}

/* !(<=): a NaN is off as well. */
INLINE bool is_off(const struct pair *pair, uint32_t i, double limit, double half_ulp)
{
    const double c = pair->reference[i], error = fabs((double)pair->production[i] - c);

    return !(error <= limit + half_ulp * mhcs_power_f64(c));
}

INLINE uint32_t find_off(const struct pair *pair, uint32_t out, double limit)
{
    const double half_ulp = 1.01 * unit_of(out);
    uint64_t count = 0;
    uint32_t off = 0;

    for (uint32_t i = 0; i < pair->count; i++)
        count += is_off(pair, i, limit, half_ulp);
    for (uint32_t i = 0; i < pair->count && count > 0; i++)
        off |= (uint32_t)is_off(pair, i, limit, half_ulp) << i;
    return off;
}

static uint32_t find_nonfinite(const struct pair *pair)
{
    uint32_t off = 0;

    for (uint32_t i = 0; i < pair->count; i++)
        if (!isfinite(pair->production[i]))
            off |= 1u << i;
    return off;
}

/* Production as factor * reference + rest. */
static void fit(const struct pair *pair, double *ret_factor, double *ret_rest)
{
    double dot = 0, square = 0, rest = 0;

    for (uint32_t i = 0; i < pair->count; i++) {
        dot += (double)pair->production[i] * pair->reference[i];
        square += (double)pair->reference[i] * pair->reference[i];
    }
    *ret_factor = dot / square;
    for (uint32_t i = 0; i < pair->count; i++) {
        const double left = pair->production[i] - *ret_factor * pair->reference[i];
        rest += left * left;
    }
    *ret_rest = sqrt(rest / pair->count);
}

static bool is_zero(const struct pair *pair)
{
    for (uint32_t i = 0; i < pair->count; i++)
        if (pair->production[i] != 0)
            return false;
    return true;
}

static bool holds_value(const struct pair *pair, float value, double limit)
{
    for (uint32_t i = 0; i < pair->count; i++)
        if (fabs((double)value - pair->reference[i]) <= limit)
            return true;
    return false;
}

/* Each wrong value is the right one of another coefficient. */
static bool is_moved(const struct pair *pair, uint32_t off, double limit)
{
    for (uint32_t i = 0; i < pair->count; i++)
        if (off >> i & 1 && !holds_value(pair, pair->production[i], limit))
            return false;
    return true;
}

#define SAME 0.02 /* apart by less than this, of the row's rms: as good as equal */
#define FEW  4    /* of so many by chance all may resemble others */

static enum mhcs_wrong kind_of(const struct pair *pair, uint32_t off, double limit)
{
    const int count = __builtin_popcount(off);
    double factor, rest;

    if (is_zero(pair))
        return MHCS_WRONG_ZERO;
    if (count <= FEW)
        return MHCS_WRONG_FEW;
    fit(pair, &factor, &rest);
    if (rest <= limit)
        return MHCS_WRONG_SCALED;
    if (is_moved(pair, off, limit))
        return MHCS_WRONG_MOVED;
    if (fabs(factor - 1) < 0.5)
        return MHCS_WRONG_ADDED;
    return fabs(factor) < 0.5 ? MHCS_WRONG_UNRELATED : MHCS_WRONG_OTHER;
}

INLINE void look_for_wrong(struct mhcs_look *look, const struct pair *pair, uint32_t out,
                           const struct mhcs_noise *noise)
{
    look->place.off = find_off(pair, out, MHCS_OFF_RATIO * noise->inner * pair->rms);
    if (look->place.off != 0)
        look->place.wrong = kind_of(pair, look->place.off, SAME * pair->rms);
}

/* ---- a row ---- */

/* Inlined for each number of coefficients, whose loops the compiler then unrolls. */
INLINE void look_at(struct mhcs_look *look, const struct mhcs_record *record,
                    enum mhcs_path reference, const struct mhcs_precision *precision,
                    const uint32_t count)
{
    const struct mhcs_row_result *result = record->result;
    const struct pair pair = {result->raw[MHCS_PRODUCTION], result->raw[reference], count,
                              mhcs_rms_of(result->raw[reference], count)};
    struct mhcs_noise noise;

    *look = (struct mhcs_look){
        .defined = isfinite(result->against[reference].rel),
        .nonfinite = reference == MHCS_OPERANDS && result->nonfinite == MHCS_NONFINITE_PRODUCTION,
        .rel = result->against[reference].rel,
        .expected = NAN,
        .place = {.row = record->row, .tokens = record->tokens, .wrong = MHCS_WRONG_NONFINITE},
    };
    if (look->nonfinite)
        look->place.off = find_nonfinite(&pair);
    if (!look->defined)
        return;
    look_at_elements(&look->traits, &pair);
    if (!precision)
        return;
    look->reduced = precision->reduced;
    look->traits.out_f16 = precision->out == MHCS_F16 ? count : 0;
    if (precision->out == MHCS_F32)
        look_at_bits(&look->traits, &pair);
    if (precision->fn != MHCS_F32 && reference == MHCS_OPERANDS)
        look->traits.narrow = count;
    if (!mhcs_noise_expected(precision, reference, count, &noise))
        return;
    look->expected = noise.high;
    look->excess = look->rel / noise.high * (look->rel / noise.high);
    look->rank = mhcs_size_rank(noise.high);
    if (count == MHCS_COEFFICIENTS)
        look_for_wrong(look, &pair, precision->out, &noise);
    look->wrong = look->place.off != 0 && reference == MHCS_OPERANDS;
}

static MHCS_WIDE void look_at_row(struct mhcs_look *look, const struct mhcs_record *record,
                                  enum mhcs_path reference, const struct mhcs_precision *precision)
{
    if (mhcs_coefficients_of(record->result->raw[MHCS_OPERANDS]) == MHCS_COEFFICIENTS)
        look_at(look, record, reference, precision, MHCS_COEFFICIENTS);
    else
        look_at(look, record, reference, precision, MHCS_COEFFICIENTS_HEAD);
}

/* clang gives a function that is built more than once no name that other files could call. */
void mhcs_look_at(struct mhcs_look *ret_look, const struct mhcs_record *record,
                  enum mhcs_path reference, const struct mhcs_precision *precision)
{
    look_at_row(ret_look, record, reference, precision);
}
