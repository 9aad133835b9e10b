/* SPDX-License-Identifier: Apache-2.0 */
/* The mixing GEMM in the precisions a server may run it in, on the CPU: operands and results are
 * rounded, products and sums are OpenBLAS' in fp32. Products of rounded operands are exact in fp32,
 * so this differs from a tensor core in the order and rounding of the sum alone (1e-6). */
#ifndef MHCS_ARITHMETIC_H
#define MHCS_ARITHMETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

/* What x and fn are rounded to. */
enum mhcs_operand_form { MHCS_AS_F32, MHCS_AS_TF32, MHCS_AS_BF16, MHCS_AS_F16, MHCS_AS_COUNT };

/* X(NAME, name, operands, result, split, path as a trace declares it).
 * split: the sum over K is cut into as many pieces as the options say, each rounded like the
 * result. */
#define MHCS_ARITHMETICS(X)                                                                        \
    X(BF16, "bf16", MHCS_AS_BF16, MHCS_AS_BF16, false, "bf16*bf16->bf16/f32")                      \
    X(BF16_SPLIT, "bf16 split-K", MHCS_AS_BF16, MHCS_AS_BF16, true, "bf16*bf16->bf16/f32+reduced") \
    X(F16, "fp16", MHCS_AS_F16, MHCS_AS_F16, false, "f16*f16->f16/f32")                            \
    X(TF32, "tf32", MHCS_AS_TF32, MHCS_AS_F32, false, "f32*f32->f32/tf32")                         \
    X(F32, "fp32", MHCS_AS_F32, MHCS_AS_F32, false, "f32*f32->f32/f32")

enum mhcs_arithmetic_kind {
#define MHCS_ARITHMETIC_ENUM(name, text, operands, result, split, path) MHCS_ARITHMETIC_##name,
    MHCS_ARITHMETICS(MHCS_ARITHMETIC_ENUM)
#undef MHCS_ARITHMETIC_ENUM
        MHCS_ARITHMETIC_COUNT
};

/* Where the GEMMs run. */
struct mhcs_machine {
    struct mhcs_gpu *gpu; /* NULL: here, by OpenBLAS */
    uint32_t threads;
    uint32_t pieces; /* of a split sum; the GPU's library chooses for itself */
};

/* The arithmetics that are of interest there: the CPU's own fp32 is what the others are held
 * against. */
static inline int mhcs_arithmetics_of(const struct mhcs_machine *machine)
{
    return machine->gpu ? MHCS_ARITHMETIC_COUNT : MHCS_ARITHMETIC_F32;
}

struct mhcs_arithmetic {
    const char *name;
    enum mhcs_operand_form operands, result;
    bool split;
    const char *path;
};
extern const struct mhcs_arithmetic mhcs_arithmetic[MHCS_ARITHMETIC_COUNT];

/* In place or not. */
void mhcs_round_to(enum mhcs_operand_form form, const float *from, float *to, size_t count);

/* c[rows][coefficients] = x[rows][k] fn[coefficients][k]^T in fp32, on the calling thread. */
void mhcs_gemm_f32(const float *x, const float *fn, float *c, uint32_t rows, uint32_t coefficients,
                   uint32_t k);

/* The same as a server would: x and fn are rounded already; pieces > 1 cuts k. `c` is rounded. */
void mhcs_gemm_as(const struct mhcs_arithmetic *arithmetic, uint32_t pieces, const float *x,
                  const float *fn, float *c, uint32_t rows, uint32_t coefficients, uint32_t k);

/* OpenBLAS' own threads are switched off: rows are spread over ours. Its version to `text`. */
void mhcs_arithmetic_init(char *text, size_t size);

#endif
