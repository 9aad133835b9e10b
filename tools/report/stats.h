/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics that merge exactly: rows may come in any order, from any number of traces, and give
 * the same bytes. Counts are integers, sums are exact, percentiles come from integer buckets.
 * Single-threaded; nothing here allocates. An object of zero bytes is an empty statistic. */
#ifndef MHCS_REPORT_STATS_H
#define MHCS_REPORT_STATS_H

#include <stdint.h>

/* ---- exact sum of non-negative doubles ----
 * A fixed-point number whose lowest bit is 2^-1074. 2098 bits hold any finite double, the other 78
 * the carries of 2^78 additions. Integer addition has no rounding, so no order either. */
#define MHCS_EXACT_LIMBS 34
struct mhcs_exact {
    uint64_t limb[MHCS_EXACT_LIMBS];
};

/* `value` must be finite and not negative. */
void mhcs_exact_add(struct mhcs_exact *sum, double value);
void mhcs_exact_merge(struct mhcs_exact *sum, const struct mhcs_exact *other);
/* Rounded once, to nearest. */
double mhcs_exact_value(const struct mhcs_exact *sum);

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

/* `value` must be finite and not negative. */
void mhcs_hist_add(struct mhcs_hist *hist, float value);
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

void mhcs_stat_add(struct mhcs_stat *stat, float value);
void mhcs_stat_merge(struct mhcs_stat *stat, const struct mhcs_stat *other);
double mhcs_stat_rms(const struct mhcs_stat *stat); /* NaN if empty */
/* As mhcs_hist_percentile(), never above the largest value; 10000 is that value itself. */
double mhcs_stat_percentile(const struct mhcs_stat *stat, uint32_t per_10000);

/* ---- mean and spread of non-negative doubles ---- */
struct mhcs_moments {
    uint64_t count;
    struct mhcs_exact sum, squares; /* each square is rounded to double before it is added */
};

void mhcs_moments_add(struct mhcs_moments *moments, double value);
void mhcs_moments_merge(struct mhcs_moments *moments, const struct mhcs_moments *other);
double mhcs_moments_mean(const struct mhcs_moments *moments);           /* NaN if empty */
double mhcs_moments_standard_error(const struct mhcs_moments *moments); /* of the mean */

#endif
