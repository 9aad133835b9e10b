/* SPDX-License-Identifier: Apache-2.0 */
/* Roundings of fp32 values to narrower formats, back in fp32: what a weight becomes on its way into
 * a server. Integer arithmetic, the same on every processor; NaN and infinity stay. */
#ifndef MHCS_MODEL_ROUND_H
#define MHCS_MODEL_ROUND_H

#include "kernels/dtype.h"

/* The lowest `drop` bits of the mantissa go, to nearest even: 16 leaves bf16, 13 leaves TF32. */
static inline float mhcs_round_even(float value, uint32_t drop)
{
    uint32_t bits = mhcs_f32_bits(value);

    if (!mhcs_bits_finite(bits))
        return value;
    bits += (1U << (drop - 1)) - 1 + (bits >> drop & 1);
    return mhcs_f32_from_bits(bits & ~((1U << drop) - 1));
}

static inline float mhcs_round_bf16(float value)
{
    return mhcs_round_even(value, 16);
}

/* cvt.rna.tf32.f32: to nearest, halves away from zero. */
static inline float mhcs_round_tf32(float value)
{
    const uint32_t bits = mhcs_f32_bits(value);

    return mhcs_bits_finite(bits) ? mhcs_f32_from_bits((bits + 0x1000) & ~UINT32_C(0x1fff)) : value;
}

/* What a tensor core does with fp32 operands, and V4.1's high half of a weight. */
static inline float mhcs_cut_tf32(float value)
{
    return mhcs_f32_from_bits(mhcs_f32_bits(value) & ~UINT32_C(0x1fff));
}

static inline float mhcs_round_f16(float value)
{
    const uint32_t bits = mhcs_f32_bits(value), sign = bits & 0x80000000;
    const float magnitude = mhcs_f32_from_bits(bits & 0x7fffffff);

    if (!mhcs_bits_finite(bits))
        return value;
    if (magnitude >= 65520.0f) /* halfway between the largest fp16 and 2^16 */
        return mhcs_f32_from_bits(sign | 0x7f800000);
    if (magnitude < 0x1p-14f) /* denormal: adding 2^-1 leaves an ulp of 2^-24 */
        return mhcs_f32_from_bits(sign | mhcs_f32_bits((magnitude + 0.5f) - 0.5f));
    return mhcs_round_even(value, 13);
}

/* Storage of a value that the rounding to that type gave. */
static inline uint16_t mhcs_bf16_encode(float value)
{
    return (uint16_t)(mhcs_f32_bits(value) >> 16);
}

static inline uint16_t mhcs_f16_encode(float value)
{
    const uint32_t bits = mhcs_f32_bits(value), sign = bits >> 16 & 0x8000;
    const float magnitude = mhcs_f32_from_bits(bits & 0x7fffffff);

    if (!mhcs_bits_finite(bits))
        return (uint16_t)(sign | (magnitude != magnitude ? 0x7e00 : 0x7c00));
    if (magnitude < 0x1p-14f) /* a multiple of 2^-24 */
        return (uint16_t)(sign | (uint32_t)(magnitude * 0x1p24f));
    return (uint16_t)(sign | (((bits & 0x7fffffff) - (UINT32_C(112) << 23)) >> 13));
}

#endif
