/* SPDX-License-Identifier: Apache-2.0 */
/* Exact sums of non-negative doubles: fixed-point numbers whose lowest bit is 2^-1074. 2098 bits
 * hold any finite double, the other 78 the carries of 2^78 additions. Integer addition has no
 * rounding, so no order either. An object of zero bytes is a sum of nothing. */
#ifndef MHCS_REPORT_EXACT_H
#define MHCS_REPORT_EXACT_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* For functions with loops over many figures: built for AVX-512 and AVX2 too, and chosen when the
 * program starts, which is before gcc's ThreadSanitizer is ready. All give the same bits, since
 * none contracts a*b+c, and only sums that are exact are taken in another order (omp simd). */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define MHCS_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MHCS_WIDE
#endif

#define MHCS_EXACT_LIMBS 34
struct mhcs_exact {
    uint64_t limb[MHCS_EXACT_LIMBS];
};

/* Adds to a limb, and what runs over to those above. */
static inline void mhcs_exact_carry(uint64_t *limb, uint64_t value)
{
    if (__builtin_add_overflow(*limb, value, limb))
        while (++*++limb == 0)
            ;
}

/* `value` must be finite and not negative. Inline, for single figures of every row. */
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
    mhcs_exact_carry(limb, (uint64_t)(wide >> 64));
}
void mhcs_exact_merge(struct mhcs_exact *sum, const struct mhcs_exact *other);
/* Rounded once, to nearest. */
double mhcs_exact_value(const struct mhcs_exact *sum);

/* Values that are added to several sums. Where they are of like size, as mostly, they are added up
 * but once. */
struct mhcs_addends {
    const double *values; /* the caller's; as mhcs_exact_add() takes them */
    uint32_t count;
    bool together;            /* then their sum is */
    unsigned __int128 number; /* number * 2^(position - 1074) */
    uint32_t position;
};
#define MHCS_ADDENDS_MAX 64
/* `count` at most MHCS_ADDENDS_MAX. The values must outlive the addends. */
void mhcs_addends_init(struct mhcs_addends *addends, const double *values, uint32_t count);
void mhcs_exact_add_all(struct mhcs_exact *sum, const struct mhcs_addends *addends);

/* Adds the squares of finite floats. `least`, `greatest`: of their magnitudes, zeros left out; both
 * zero if there are zeros alone. `count` at most MHCS_SQUARES_MAX. */
#define MHCS_SQUARES_MAX 1024
void mhcs_exact_add_squares(struct mhcs_exact *sum, const float *values, size_t count, float least,
                            float greatest);

#endif
