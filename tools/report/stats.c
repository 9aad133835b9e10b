/* SPDX-License-Identifier: Apache-2.0 */
/* Exact sums, histograms and what is built of them; stats.h says what each promises. */
#include "tools/report/stats.h"

#include <stdbool.h>

#define LOWEST_EXPONENT (-1074) /* of the smallest subnormal double */

static void add_from(struct mhcs_exact *sum, uint32_t index, uint64_t value)
{
    while (value != 0) {
        assert(index < MHCS_EXACT_LIMBS);
        value = __builtin_add_overflow(sum->limb[index], value, &sum->limb[index]);
        index++;
    }
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

/* A float of exponent e is a whole number times 2^(e - 150), subnormals as those of exponent 1. */
double mhcs_squares_value(const struct mhcs_squares *squares)
{
    struct mhcs_exact sum = {0};

    for (uint32_t e = 0; e < MHCS_SQUARES_EXPONENTS; e++) {
        const unsigned __int128 squared = squares->of_exponent[e];
        const uint32_t position = (uint32_t)(2 * ((int)(e > 0 ? e : 1) - 150) - LOWEST_EXPONENT);
        const uint32_t shift = position % 64;
        const unsigned __int128 low = (unsigned __int128)(uint64_t)squared << shift;
        const unsigned __int128 high = (unsigned __int128)(uint64_t)(squared >> 64) << shift;

        add_from(&sum, position / 64, (uint64_t)low);
        add_from(&sum, position / 64 + 1, (uint64_t)(low >> 64));
        add_from(&sum, position / 64 + 1, (uint64_t)high);
        add_from(&sum, position / 64 + 2, (uint64_t)(high >> 64));
    }
    return mhcs_exact_value(&sum);
}

void mhcs_squares_merge(struct mhcs_squares *squares, const struct mhcs_squares *other)
{
    for (uint32_t e = 0; e < MHCS_SQUARES_EXPONENTS; e++)
        squares->of_exponent[e] += other->of_exponent[e];
}

/* `share` of the way through a bucket. */
static double hist_value(uint32_t index, double share)
{
    const int exponent = MHCS_HIST_MIN_EXPONENT + (int)(index >> MHCS_HIST_STEP_BITS);
    const uint32_t step = index & ((1u << MHCS_HIST_STEP_BITS) - 1);

    return ldexp(1 + (step + share) / (1 << MHCS_HIST_STEP_BITS), exponent);
}

double mhcs_hist_edge(uint32_t index)
{
    return hist_value(index, 0);
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
    return hist_value(i, 0.5);
}

/* Values taken at a time: few enough for 64 bits to hold the squares of one exponent. */
#define CHUNK 1024
/* Sums side by side. With one, values of the same size, as most are, would wait for each other. */
#define LANES 4

static inline void add_squares(struct mhcs_squares *squares, const uint32_t *bits,
                               const uint64_t *square, size_t count, uint32_t first, uint32_t last)
{
    uint64_t sum[MHCS_SQUARES_EXPONENTS][LANES];
    size_t i = 0;

    for (uint32_t e = first; e <= last; e++)
        memset(sum[e], 0, sizeof(sum[e]));
    for (; i + LANES <= count; i += LANES)
        for (uint32_t lane = 0; lane < LANES; lane++)
            sum[bits[i + lane] >> 23][lane] += square[i + lane];
    for (; i < count; i++)
        sum[bits[i] >> 23][0] += square[i];
    for (uint32_t e = first; e <= last; e++)
        for (uint32_t lane = 0; lane < LANES; lane++)
            squares->of_exponent[e] += sum[e][lane];
}

/* A zero is at first counted in a bucket like any other. */
static inline void add_buckets(struct mhcs_hist *hist, const uint32_t *bits, const int32_t *index,
                               size_t count)
{
    uint32_t zeros = 0;

    for (size_t i = 0; i < count; i++)
        hist->bucket[index[i]]++;
    for (size_t i = 0; i < count; i++)
        zeros += bits[i] == 0;
    hist->bucket[0] -= zeros;
    hist->zeros += zeros;
    hist->count += count;
}

/* 1 to CHUNK values. What can be done for several at once is done first. False: one of them is not
 * finite, and none was added. */
MHCS_WIDE static bool add_chunk(struct mhcs_stat *stat, const float *values, size_t count)
{
    uint32_t bits[CHUNK], least = UINT32_MAX, greatest = 0;
    int32_t index[CHUNK];
    uint64_t square[CHUNK];
    float max;

    for (size_t i = 0; i < count; i++) {
        memcpy(&bits[i], &values[i], sizeof(*bits));
        bits[i] &= 0x7fffffff;
        least = bits[i] < least ? bits[i] : least;
        greatest = bits[i] > greatest ? bits[i] : greatest;
        index[i] = mhcs_hist_index(bits[i]);
    }
    for (size_t i = 0; i < count; i++)
        square[i] = mhcs_square_of(bits[i]);
    memcpy(&max, &greatest, sizeof(max));
    if (!isfinite(max))
        return false;
    if (max > stat->max)
        stat->max = max;
    add_squares(&stat->squares, bits, square, count, least >> 23, greatest >> 23);
    add_buckets(&stat->hist, bits, index, count);
    return true;
}

/* Of a chunk with others among them. */
static void add_finite(struct mhcs_stat *stat, const float *values, size_t count)
{
    float finite[CHUNK];
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        finite[kept] = values[i];
        kept += isfinite(values[i]) != 0;
    }
    stat->undefined += count - kept;
    if (kept > 0)
        add_chunk(stat, finite, kept);
}

void mhcs_stat_add_all(struct mhcs_stat *stat, const float *values, size_t count)
{
    for (size_t begin = 0; begin < count; begin += CHUNK) {
        const size_t left = count - begin, taken = left < CHUNK ? left : CHUNK;

        if (!add_chunk(stat, values + begin, taken))
            add_finite(stat, values + begin, taken);
    }
}

void mhcs_stat_merge(struct mhcs_stat *stat, const struct mhcs_stat *other)
{
    stat->undefined += other->undefined;
    if (other->max > stat->max)
        stat->max = other->max;
    mhcs_squares_merge(&stat->squares, &other->squares);
    mhcs_hist_merge(&stat->hist, &other->hist);
}

double mhcs_stat_rms(const struct mhcs_stat *stat)
{
    if (stat->hist.count == 0)
        return NAN;
    return sqrt(mhcs_squares_value(&stat->squares) / (double)stat->hist.count);
}

double mhcs_stat_percentile(const struct mhcs_stat *stat, uint32_t per_10000)
{
    const double value = mhcs_hist_percentile(&stat->hist, per_10000);

    return per_10000 >= 10000 || value > stat->max ? stat->max : value;
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

double mhcs_moments_rms(const struct mhcs_moments *moments)
{
    return moments->count > 0 ? sqrt(mhcs_exact_value(&moments->squares) / (double)moments->count)
                              : NAN;
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
