/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics that merge exactly: rows may come in any order, from any number of traces, and give
 * the same bytes. Counts are integers, sums are exact, percentiles come from integer buckets.
 * Single-threaded; nothing here allocates. An object of zero bytes is an empty statistic. */
#ifndef MHCS_REPORT_STATS_H
#define MHCS_REPORT_STATS_H

#include "tools/report/exact.h"

/* ---- histogram of non-negative floats ----
 * Each octave is cut into 32 equal steps, which are the leading bits of the float itself: no
 * logarithm, so no machine puts a value on another side of an edge. A bucket's middle is within
 * 1/64 (1.6 %) of every value in it. Values outside 2^-80 .. 2^24 go into the outermost buckets. */
#define MHCS_HIST_STEP_BITS    5
#define MHCS_HIST_MIN_EXPONENT (-80)
#define MHCS_HIST_MAX_EXPONENT 24
#define MHCS_HIST_BUCKETS                                                                          \
    ((uint32_t)(MHCS_HIST_MAX_EXPONENT - MHCS_HIST_MIN_EXPONENT) << MHCS_HIST_STEP_BITS)
#define MHCS_HIST_ERROR (1.0 / (2 << MHCS_HIST_STEP_BITS))
struct mhcs_hist {
    uint64_t count;
    uint64_t zeros;
    uint64_t bucket[MHCS_HIST_BUCKETS];
};

/* The bucket of a finite, not negative float, by its bits. */
static inline int32_t mhcs_hist_index(uint32_t bits)
{
    const int32_t first = (127 + MHCS_HIST_MIN_EXPONENT) << MHCS_HIST_STEP_BITS;
    const int32_t last = (int32_t)MHCS_HIST_BUCKETS - 1;
    const int32_t index = (int32_t)(bits >> (23 - MHCS_HIST_STEP_BITS)) - first;

    return index < 0 ? 0 : index < last ? index : last;
}

/* `value` must be finite and not negative. */
static inline void mhcs_hist_add(struct mhcs_hist *hist, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    hist->count++;
    if (bits == 0)
        hist->zeros++;
    else
        hist->bucket[mhcs_hist_index(bits)]++;
}

/* Where a bucket begins; that of MHCS_HIST_BUCKETS is where the last one ends. */
double mhcs_hist_edge(uint32_t index);
void mhcs_hist_merge(struct mhcs_hist *hist, const struct mhcs_hist *other);
/* The smallest value that at least `per_10000` of 10000 values do not exceed (nearest rank), as
 * the middle of its bucket; NaN if empty. */
double mhcs_hist_percentile(const struct mhcs_hist *hist, uint32_t per_10000);

/* ---- one error figure over many rows ---- */
struct mhcs_stat {
    uint64_t undefined; /* NaN or infinite: counted, never averaged */
    float max;
    struct mhcs_exact squares;
    struct mhcs_hist hist; /* of the magnitudes; hist.count is the number of values */
};

static inline void mhcs_stat_add(struct mhcs_stat *stat, float value)
{
    const float magnitude = fabsf(value);

    if (!isfinite(value)) {
        stat->undefined++;
        return;
    }
    if (magnitude > stat->max)
        stat->max = magnitude;
    mhcs_exact_add(&stat->squares, (double)magnitude * (double)magnitude); /* 48 bits: exact */
    mhcs_hist_add(&stat->hist, magnitude);
}
/* The same for each of `count` values, sooner. */
void mhcs_stat_add_all(struct mhcs_stat *stat, const float *values, size_t count);
void mhcs_stat_merge(struct mhcs_stat *stat, const struct mhcs_stat *other);
double mhcs_stat_rms(const struct mhcs_stat *stat); /* NaN if empty */
/* As mhcs_hist_percentile(), never above the largest value; 10000 is that value itself. */
double mhcs_stat_percentile(const struct mhcs_stat *stat, uint32_t per_10000);

/* ---- mean and spread of non-negative doubles ---- */
struct mhcs_moments {
    uint64_t count;
    struct mhcs_exact sum, squares; /* each square is rounded to double before it is added */
};

static inline void mhcs_moments_add(struct mhcs_moments *moments, double value)
{
    moments->count++;
    mhcs_exact_add(&moments->sum, value);
    mhcs_exact_add(&moments->squares, value * value);
}
/* The same for values and their squares. */
void mhcs_moments_add_all(struct mhcs_moments *moments, const struct mhcs_addends *values,
                          const struct mhcs_addends *squares);
void mhcs_moments_merge(struct mhcs_moments *moments, const struct mhcs_moments *other);
double mhcs_moments_mean(const struct mhcs_moments *moments);           /* NaN if empty */
double mhcs_moments_rms(const struct mhcs_moments *moments);            /* NaN if empty */
double mhcs_moments_standard_error(const struct mhcs_moments *moments); /* of the mean */

#endif
