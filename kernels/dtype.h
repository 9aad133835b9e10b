/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of stored numbers to fp32, for host and device. Every conversion is exact: both 16-bit
 * formats are subsets of fp32. Signs of zero and NaN payloads survive, so that a fingerprint is the
 * same whatever type a value is stored in.
 */
#ifndef MHCS_DTYPE_H
#define MHCS_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "kernels/kernels.h"

static inline MHCS_HD uint32_t mhcs_f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline MHCS_HD float mhcs_f32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline MHCS_HD float mhcs_nan(void)
{
    return mhcs_f32_from_bits(0x7fc00000);
}

static inline MHCS_HD bool mhcs_bits_finite(uint32_t f32_bits)
{
    return (f32_bits & 0x7f800000) != 0x7f800000;
}

static inline MHCS_HD float mhcs_bf16_decode(uint16_t bits)
{
    return mhcs_f32_from_bits((uint32_t)bits << 16);
}

static inline MHCS_HD float mhcs_f16_decode(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    const uint32_t magnitude = (uint32_t)(bits & 0x7fff) << 13;
    if (magnitude >= UINT32_C(0x7c00) << 13)
        return mhcs_f32_from_bits(sign | 0x7f800000 | magnitude);
    /* The fields line up but for the exponent's bias: 2^112 makes up for it, and the multiplication
     * normalises denormals on the way. */
    const float value = mhcs_f32_from_bits(magnitude) * 0x1p112f;
    return mhcs_f32_from_bits(sign | mhcs_f32_bits(value));
}

/* Element i of an array of dtype; base is aligned to an element. */
static inline MHCS_HD float mhcs_element(const void *base, uint32_t dtype, size_t i)
{
    if (dtype == MHCS_F32)
        return ((const float *)base)[i];
    const uint16_t bits = ((const uint16_t *)base)[i];
    return dtype == MHCS_BF16 ? mhcs_bf16_decode(bits) : mhcs_f16_decode(bits);
}

#endif
