/* SPDX-License-Identifier: Apache-2.0 */
/* Exact sums, histograms and what is built of them; stats.h says what each promises. */
#include "tools/report/stats.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define LOWEST_EXPONENT (-1074) /* of the smallest subnormal double */

static void add_from(struct mhcs_exact *sum, uint32_t index, uint64_t value)
{
    while (value != 0) {
        assert(index < MHCS_EXACT_LIMBS);
        value = __builtin_add_overflow(sum->limb[index], value, &sum->limb[index]);
        index++;
    }
}

void mhcs_exact_add(struct mhcs_exact *sum, double value)
{
    uint64_t mantissa;
    uint32_t position, shift;

    assert(isfinite(value) && !signbit(value));
    memcpy(&mantissa, &value, sizeof(mantissa));
    position = (uint32_t)(mantissa >> 52);
    mantissa &= (UINT64_C(1) << 52) - 1;
    if (position > 0) { /* normal: an implicit leading bit; subnormals share the lowest exponent */
        mantissa |= UINT64_C(1) << 52;
        position--;
    }
    shift = position % 64;
    add_from(sum, position / 64, mantissa << shift);
    if (shift > 0)
        add_from(sum, position / 64 + 1, mantissa >> (64 - shift));
}

void mhcs_exact_merge(struct mhcs_exact *sum, const struct mhcs_exact *other)
{
    for (uint32_t i = 0; i < MHCS_EXACT_LIMBS; i++)
        add_from(sum, i, other->limb[i]);
}

double mhcs_exact_value(const struct mhcs_exact *sum)
{
    uint32_t top = MHCS_EXACT_LIMBS;
    uint64_t leading, below = 0;
    int shift;

    while (top > 0 && sum->limb[top - 1] == 0)
        top--;
    if (top == 0)
        return 0;
    top--;
    /* The 64 leading bits; the lowest also stands for whatever lies below, so that the one rounding
     * of the conversion sees which side of a tie the sum is on. */
    leading = sum->limb[top];
    shift = __builtin_clzll(leading);
    if (top > 0) {
        below = sum->limb[top - 1];
        if (shift > 0) {
            leading = leading << shift | below >> (64 - shift);
            below <<= shift;
        }
        for (uint32_t i = 0; i + 1 < top; i++)
            below |= sum->limb[i];
    } else {
        leading <<= shift;
    }
    if (below != 0)
        leading |= 1;
    return ldexp((double)leading, (int)top * 64 - shift + LOWEST_EXPONENT);
}

/* The exponent and the leading mantissa bits of a normal float, as one number that grows with it.
 */
static uint32_t hist_code(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits >> (23 - MHCS_HIST_STEP_BITS);
}

#define HIST_FIRST ((uint32_t)(127 + MHCS_HIST_MIN_EXPONENT) << MHCS_HIST_STEP_BITS)

static uint32_t hist_index(float value)
{
    const uint32_t code = hist_code(value);

    if (code < HIST_FIRST)
        return 0;
    return code - HIST_FIRST < MHCS_HIST_BUCKETS ? code - HIST_FIRST : MHCS_HIST_BUCKETS - 1;
}

static double hist_middle(uint32_t index)
{
    const int exponent = MHCS_HIST_MIN_EXPONENT + (int)(index >> MHCS_HIST_STEP_BITS);
    const uint32_t step = index & ((1u << MHCS_HIST_STEP_BITS) - 1);

    return ldexp(1 + (step + 0.5) / (1 << MHCS_HIST_STEP_BITS), exponent);
}

void mhcs_hist_add(struct mhcs_hist *hist, float value)
{
    hist->count++;
    if (value == 0)
        hist->zeros++;
    else
        hist->bucket[hist_index(value)]++;
}

void mhcs_hist_merge(struct mhcs_hist *hist, const struct mhcs_hist *other)
{
    hist->count += other->count;
    hist->zeros += other->zeros;
    for (uint32_t i = 0; i < MHCS_HIST_BUCKETS; i++)
        hist->bucket[i] += other->bucket[i];
}

/* ceil(count * per_10000 / 10000) without the product, which could overflow. */
static uint64_t nearest_rank(uint64_t count, uint32_t per_10000)
{
    const uint64_t rank = count / 10000 * per_10000 + (count % 10000 * per_10000 + 9999) / 10000;

    return rank > 0 ? rank : 1;
}

double mhcs_hist_percentile(const struct mhcs_hist *hist, uint32_t per_10000)
{
    const uint64_t rank = nearest_rank(hist->count, per_10000);
    uint64_t seen = hist->zeros;
    uint32_t i = 0;

    if (hist->count == 0)
        return NAN;
    if (seen >= rank)
        return 0;
    for (seen += hist->bucket[0]; seen < rank; seen += hist->bucket[i]) {
        i++;
        assert(i < MHCS_HIST_BUCKETS);
    }
    return hist_middle(i);
}

void mhcs_stat_add(struct mhcs_stat *stat, float value)
{
    const float magnitude = fabsf(value);

    if (!isfinite(value)) {
        stat->undefined++;
        return;
    }
    if (magnitude > stat->max)
        stat->max = magnitude;
    mhcs_exact_add(&stat->squares, (double)magnitude * magnitude);
    mhcs_hist_add(&stat->hist, magnitude);
}

void mhcs_stat_merge(struct mhcs_stat *stat, const struct mhcs_stat *other)
{
    stat->undefined += other->undefined;
    if (other->max > stat->max)
        stat->max = other->max;
    mhcs_exact_merge(&stat->squares, &other->squares);
    mhcs_hist_merge(&stat->hist, &other->hist);
}

double mhcs_stat_rms(const struct mhcs_stat *stat)
{
    if (stat->hist.count == 0)
        return NAN;
    return sqrt(mhcs_exact_value(&stat->squares) / (double)stat->hist.count);
}

double mhcs_stat_percentile(const struct mhcs_stat *stat, uint32_t per_10000)
{
    const double value = mhcs_hist_percentile(&stat->hist, per_10000);

    return per_10000 >= 10000 || value > stat->max ? stat->max : value;
}

void mhcs_moments_add(struct mhcs_moments *moments, double value)
{
    moments->count++;
    mhcs_exact_add(&moments->sum, value);
    mhcs_exact_add(&moments->squares, value * value);
}

void mhcs_moments_merge(struct mhcs_moments *moments, const struct mhcs_moments *other)
{
    moments->count += other->count;
    mhcs_exact_merge(&moments->sum, &other->sum);
    mhcs_exact_merge(&moments->squares, &other->squares);
}

double mhcs_moments_mean(const struct mhcs_moments *moments)
{
    if (moments->count == 0)
        return NAN;
    return mhcs_exact_value(&moments->sum) / (double)moments->count;
}

double mhcs_moments_standard_error(const struct mhcs_moments *moments)
{
    const double n = (double)moments->count;
    const double mean = mhcs_moments_mean(moments);
    double variance;

    if (moments->count < 2)
        return NAN;
    variance = mhcs_exact_value(&moments->squares) / n - mean * mean;
    return variance > 0 ? sqrt(variance / (n - 1)) : 0;
}
