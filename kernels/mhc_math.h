/* SPDX-License-Identifier: Apache-2.0 */
/* The coefficient maths of mHC, once: plain C for the host compiler and nvcc.
 *
 *     r       = 1 / sqrt(mean(x^2) + norm_eps)        1 where x is already normalised
 *     m       = raw * r
 *     pre[j]  = sigmoid(m[j] * scale[0] + base[j]) + hc_eps                       j = 0..3
 *     post[j] = 2 * sigmoid(m[4+j] * scale[1] + base[4+j])
 *     comb    = sinkhorn(m[8+4j+k] * scale[2] + base[8+4j+k])                     see the body
 *     head: pre only
 *
 * Source: hc_pre and hc_split_sinkhorn of DeepSeek-V4's published inference code.
 *
 * mhc_math_body.h holds the formulas and is included here once per precision: name_f32 for device
 * and host, name_f64 for the host. The fp32 functions use IEEE add, multiply, divide and square
 * root alone, in a written order; compiled without contraction of a*b+c (-ffp-contract=off,
 * -fmad=false) they give the same bits on every processor.
 */
#ifndef MHCS_MHC_MATH_H
#define MHCS_MHC_MATH_H

#include <math.h>
#include <stdbool.h>

#include "kernels/dtype.h"

/* Parts of e^x = 2^n (1 + q), for |x| < 105: n is returned, whole, and q is in about -0.3 .. 0.42.
 *
 * x = n ln2 + r with |r| <= ln2/2; q = r + r^2 P(r), P fitted to 0.06 ulp of e^x. */
static inline MHCS_HD float mhcs_exp_parts_f32(float x, float *ret_q)
{
    const float shift = 0x1.8p23f; /* adding it leaves the nearest integer in the low bits */
    const float shifted = x * 0x1.715476p0f + shift;
    const float n = shifted - shift;
    /* ln2 in two parts; the high one has 9 bits, so n times it is exact. */
    const float r = (x - n * 0x1.63p-1f) - n * -0x1.bd0106p-13f;

    float p = 0x1.6d7812p-10f;
    p = p * r + 0x1.123adap-7f;
    p = p * r + 0x1.5554c2p-5f;
    p = p * r + 0x1.555490p-3f;
    p = p * r + 0.5f;
    *ret_q = r * r * p + r;
    return n;
}

/* 2^n, n whole and normal as a power: -126..127. */
static inline MHCS_HD float mhcs_power_of_two_f32(int32_t n)
{
    return mhcs_f32_from_bits((uint32_t)(n + 127) << 23);
}

/* e^x within 1 ulp (all floats tried): 1 at 0, denormal results included, overflow to infinity, NaN
 * to NaN. libm's differs from one machine to the next and the GPU's is approximate, so none of them
 * would let host and device agree. */
static inline MHCS_HD float mhcs_exp_f32(float x)
{
    if (!(x < 0x1.62e430p6f)) /* first value whose result overflows; also NaN */
        return x + INFINITY;
    if (x < -104.0f) /* e^-104 < 2^-150 rounds to 0 */
        return 0.0f;
    float q;
    const int32_t n = (int32_t)mhcs_exp_parts_f32(x, &q);
    /* 2^n in two factors: alone it would leave the exponent's range at both ends. The first
     * multiplication is exact, the second rounds once where the result is denormal. */
    const int32_t half = n / 2;
    return (q + 1.0f) * mhcs_power_of_two_f32(half) * mhcs_power_of_two_f32(n - half);
}

/* e^x - 1 within 2 ulp for |x| <= 64. */
static inline MHCS_HD float mhcs_expm1_f32(float x)
{
    float q;
    const float power = mhcs_power_of_two_f32((int32_t)mhcs_exp_parts_f32(x, &q));
    return (power - 1.0f) + power * q;
}

static inline MHCS_HD float mhcs_sqrt_f32(float x)
{
    return sqrtf(x);
}

/* 2^floor(log2 |x|), at least the smallest normal number; x finite. */
static inline MHCS_HD float mhcs_power_f32(float x)
{
    const uint32_t exponent = mhcs_f32_bits(x) & 0x7f800000;
    return mhcs_f32_from_bits(exponent ? exponent : 0x00800000);
}

#define MHCS_REAL     float
#define MHCS_FN(name) name##_f32
#include "kernels/mhc_math_body.h"
#undef MHCS_REAL
#undef MHCS_FN

#ifndef __CUDACC__ /* the kernels hold no fp64 */
static inline double mhcs_exp_f64(double x)
{
    return exp(x);
}

static inline double mhcs_expm1_f64(double x)
{
    return expm1(x);
}

static inline double mhcs_sqrt_f64(double x)
{
    return sqrt(x);
}

static inline double mhcs_power_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    bits &= UINT64_C(0x7ff) << 52;
    bits = bits ? bits : UINT64_C(1) << 52;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

#define MHCS_REAL     double
#define MHCS_FN(name) name##_f64
#include "kernels/mhc_math_body.h"
#undef MHCS_REAL
#undef MHCS_FN
#endif

#endif
