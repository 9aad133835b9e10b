/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics that merge exactly: rows may come in any order, from any number of traces, and give
 * the same bytes. Counts are integers, sums are exact, percentiles come from integer buckets.
 * Single-threaded; nothing here allocates. An object of zero bytes is an empty statistic. */
#ifndef MHCS_REPORT_STATS_H
#define MHCS_REPORT_STATS_H

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* For functions with loops over many figures: built for AVX-512 and AVX2 too, and chosen when the
 * program starts, which is before gcc's ThreadSanitizer is ready. All give the same bits, since
 * none contracts a*b+c. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define MHCS_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MHCS_WIDE
#endif

/* rms of a row's coefficients, a multiple of four. Four sums, which a processor adds at once. */
static inline double mhcs_rms_of(const float *values, uint32_t count)
{
    double sum[4] = {0};

    for (uint32_t i = 0; i < count; i += 4)
        for (uint32_t j = 0; j < 4; j++)
            sum[j] += (double)values[i + j] * (double)values[i + j];
    return sqrt((sum[0] + sum[1] + sum[2] + sum[3]) / count);
}

/* ---- exact sum of non-negative doubles ----
 * A fixed-point number whose lowest bit is 2^-1074. 2098 bits hold any finite double, the other 78
 * the carries of 2^78 additions. Integer addition has no rounding, so no order either. */
#define MHCS_EXACT_LIMBS 34
struct mhcs_exact {
    uint64_t limb[MHCS_EXACT_LIMBS];
};

/* `value` must be finite and not negative. Here and below, what is done for every figure of every
 * row is inline. */
static inline void mhcs_exact_add(struct mhcs_exact *sum, double value)
{
    uint64_t bits, mantissa, *limb;
    unsigned __int128 wide;
    uint32_t position;

    assert(isfinite(value) && !signbit(value));
    memcpy(&bits, &value, sizeof(bits));
    position = (uint32_t)(bits >> 52);
    mantissa = bits & ((UINT64_C(1) << 52) - 1);
    if (position > 0) { /* normal: an implicit leading bit; subnormals share the lowest exponent */
        mantissa |= UINT64_C(1) << 52;
        position--;
    }
    limb = &sum->limb[position / 64];
    wide = ((unsigned __int128)mantissa << position % 64) + *limb;
    *limb++ = (uint64_t)wide;
    if (__builtin_add_overflow(*limb, (uint64_t)(wide >> 64), limb))
        while (++*++limb == 0)
            ;
}
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

/* ---- exact sum of squares of floats ----
 * A square is a whole number of 48 bits times an even power of two; for each exponent of the float
 * the whole numbers are added up, which takes 2^80 of them. Cheaper than mhcs_exact_add(). */
#define MHCS_SQUARES_EXPONENTS 255
struct mhcs_squares {
    unsigned __int128 of_exponent[MHCS_SQUARES_EXPONENTS];
};

/* The whole number of a finite, not negative float, by its bits. */
static inline uint64_t mhcs_square_of(uint32_t bits)
{
    const uint32_t mantissa = (bits & 0x7fffff) | (bits > 0x7fffff ? 0x800000 : 0);

    return (uint64_t)mantissa * mantissa;
}

/* `value` must be finite. */
static inline void mhcs_squares_add(struct mhcs_squares *squares, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    bits &= 0x7fffffff;
    squares->of_exponent[bits >> 23] += mhcs_square_of(bits);
}
void mhcs_squares_merge(struct mhcs_squares *squares, const struct mhcs_squares *other);
double mhcs_squares_value(const struct mhcs_squares *squares); /* rounded once, to nearest */

/* ---- one error figure over many rows ---- */
struct mhcs_stat {
    uint64_t undefined; /* NaN or infinite: counted, never averaged */
    float max;
    struct mhcs_squares squares;
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
    mhcs_squares_add(&stat->squares, magnitude);
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
void mhcs_moments_merge(struct mhcs_moments *moments, const struct mhcs_moments *other);
double mhcs_moments_mean(const struct mhcs_moments *moments);           /* NaN if empty */
double mhcs_moments_rms(const struct mhcs_moments *moments);            /* NaN if empty */
double mhcs_moments_standard_error(const struct mhcs_moments *moments); /* of the mean */

#endif
