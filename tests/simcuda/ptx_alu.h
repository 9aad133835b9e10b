/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on 32 lanes: one function per instruction and type, found by its PTX name.
 *
 * Registers are arrays of 32 elements of the register's own width; a predicate is a 32-bit mask.
 * The functions are pure, so the same source is compiled for several instruction sets.
 */
#ifndef PTX_ALU_H
#define PTX_ALU_H

#include <stddef.h>
#include <stdint.h>

#define PTX_LANES 32

/* d[i] = f(a[i], b[i], c[i], e[i]) for the lanes whose `lanes` element is not zero. d may be one of
 * the sources. A predicate source points to its mask. */
typedef void ptx_alu_fn(void *d, const void *a, const void *b, const void *c, const void *e,
                        const uint32_t *lanes);

/* Mask of the lanes where the comparison holds. */
typedef uint32_t ptx_test_fn(const void *a, const void *b);

struct ptx_alu {
    const char *name; /* "fma_rn_ftz_f32" */
    ptx_alu_fn *fn;
    uint8_t sources;
    uint8_t d, s[4]; /* bytes per element; 0: predicate */
};

struct ptx_test {
    const char *name; /* "lt_f32" */
    ptx_test_fn *fn;
    uint8_t sources;
    uint8_t width;
};

/* All instructions, in no order, for the best instruction set of this processor. */
const struct ptx_alu *ptx_alu_table(size_t *ret_count);
const struct ptx_test *ptx_test_table(size_t *ret_count);

/* IEEE binary16 and bfloat16 <-> binary32; to narrower: round to nearest even, NaN is 0x7fff. */
static inline uint32_t ptx_f16_bits_to_f32(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 0x1fu;
    const uint32_t fraction = h & 0x3ffu;
    union {
        float f;
        uint32_t u;
    } value = {.f = (float)fraction * 0x1p-24f}; /* subnormal: exact */
    if (exponent == 31)
        value.u = fraction != 0 ? 0x7fffffffu & ~sign : 0x7f800000u;
    else if (exponent != 0)
        value.u = (exponent + 112) << 23 | fraction << 13;
    return exponent == 31 && fraction != 0 ? 0x7fffffffu : value.u | sign;
}

static inline uint16_t ptx_f32_bits_to_bf16(uint32_t u)
{
    const uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded);
}

static inline uint16_t ptx_f32_bits_to_f16(uint32_t u)
{
    const uint32_t sign = u >> 16 & 0x8000u, magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return 0x7fffu;
    if (magnitude >= 0x47800000u) /* 65536 and above */
        return (uint16_t)(sign | 0x7c00u);
    union {
        uint32_t u;
        float f;
    } value = {.u = magnitude};
    if (magnitude < 0x38800000u) { /* below 2^-14: the sum's last bit is 2^-24 */
        value.f += 0.5f;
        return (uint16_t)(sign | (value.u - 0x3f000000u));
    }
    const uint32_t rounded = magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1);
    return (uint16_t)(sign | rounded >> 13);
}

#endif
