/* SPDX-License-Identifier: Apache-2.0 */
/* The storage formats of a GEMM (fp32, bf16, fp16) and roundings to them and to TF32, all to
 * nearest even, NaN stays NaN. Integer arithmetic only: the same on every compiler and CPU.
 */
#ifndef SIM_ROUNDING_H
#define SIM_ROUNDING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum sim_float { SIM_F32, SIM_BF16, SIM_F16 };

static inline size_t sim_float_size(enum sim_float type)
{
    return type == SIM_F32 ? 4 : 2;
}

static inline uint32_t sim_float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float sim_bits_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds away the lowest `drop` mantissa bits: 13 leaves TF32, 16 leaves bf16. */
static inline float sim_round_mantissa(float value, unsigned drop)
{
    uint32_t bits = sim_float_bits(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return value;
    bits += (1u << (drop - 1)) - 1 + (bits >> drop & 1);
    return sim_bits_float(bits & ~((1u << drop) - 1));
}

static inline float sim_round_tf32(float value)
{
    return sim_round_mantissa(value, 13);
}

static inline uint16_t sim_bf16_of(float value)
{
    uint32_t bits = sim_float_bits(sim_round_mantissa(value, 16));
    uint32_t quiet = (bits & 0x7fffffffu) > 0x7f800000u ? 0x40 : 0;

    return (uint16_t)(bits >> 16 | quiet);
}

static inline float sim_float_of_bf16(uint16_t bits)
{
    return sim_bits_float((uint32_t)bits << 16);
}

static inline uint16_t sim_f16_of(float value)
{
    uint32_t bits = sim_float_bits(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);

    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u)
        return sign | 0x7e00u;
    if (bits >= 0x477ff000u) /* 65520, halfway between the largest fp16 and 2^16 */
        return sign | 0x7c00u;
    if (bits < 0x38800000u) /* below 2^-14: an ulp of 0.5f is an ulp of a subnormal fp16 */
        return sign | (uint16_t)(sim_float_bits(sim_bits_float(bits) + 0.5f) - 0x3f000000u);
    bits += 0xfffu + (bits >> 13 & 1);
    return sign | (uint16_t)((bits - 0x38000000u) >> 13);
}

static inline float sim_float_of_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    float magnitude = sim_bits_float((uint32_t)(half & 0x7fffu) << 13) * 0x1p112f;

    if ((half & 0x7c00u) == 0x7c00u)
        magnitude = sim_bits_float((uint32_t)(half & 0x3ffu) << 13 | 0x7f800000u);
    return sim_bits_float(sim_float_bits(magnitude) | sign);
}

static inline float sim_round_f16(float value)
{
    return sim_float_of_f16(sim_f16_of(value));
}

static inline float sim_float_load(enum sim_float type, const void *from)
{
    uint16_t half;
    float value;

    if (type == SIM_F32) {
        memcpy(&value, from, sizeof value);
        return value;
    }
    memcpy(&half, from, sizeof half);
    return type == SIM_BF16 ? sim_float_of_bf16(half) : sim_float_of_f16(half);
}

static inline void sim_float_store(enum sim_float type, void *to, float value)
{
    uint16_t half;

    if (type == SIM_F32) {
        memcpy(to, &value, sizeof value);
        return;
    }
    half = type == SIM_BF16 ? sim_bf16_of(value) : sim_f16_of(value);
    memcpy(to, &half, sizeof half);
}

#endif
