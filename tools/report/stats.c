/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms and what is built of them; stats.h says what each promises. */
#include "tools/report/stats.h"

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

/* Values taken at a time. */
#define CHUNK MHCS_SQUARES_MAX

/* 1 to CHUNK values. What can be done for several at once is. False: one of them is not finite, and
 * none was added. */
MHCS_WIDE static bool add_chunk(struct mhcs_stat *stat, const float *values, size_t count)
{
    uint32_t least = UINT32_MAX, greatest = 0, zeros = 0; /* bits; `least` less 1, but of zeros */
    struct mhcs_hist *hist = &stat->hist;
    int32_t index[CHUNK];
    float min, max;

    for (size_t i = 0; i < count; i++) {
        uint32_t bits;

        memcpy(&bits, &values[i], sizeof(bits));
        bits &= 0x7fffffff;
        zeros += bits == 0;
        least = bits - 1 < least ? bits - 1 : least;
        greatest = bits > greatest ? bits : greatest;
        index[i] = mhcs_hist_index(bits);
    }
    least++;
    memcpy(&min, &least, sizeof(min));
    memcpy(&max, &greatest, sizeof(max));
    if (!isfinite(max))
        return false;
    if (max > stat->max)
        stat->max = max;
    mhcs_exact_add_squares(&stat->squares, values, count, min, max);
    /* A zero is at first counted in a bucket like any other. */
#pragma GCC unroll 8
    for (size_t i = 0; i < count; i++)
        hist->bucket[index[i]]++;
    hist->bucket[0] -= zeros;
    hist->zeros += zeros;
    hist->count += count;
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

void mhcs_moments_add_all(struct mhcs_moments *moments, const struct mhcs_addends *values,
                          const struct mhcs_addends *squares)
{
    moments->count += values->count;
    mhcs_exact_add_all(&moments->sum, values);
    mhcs_exact_add_all(&moments->squares, squares);
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
