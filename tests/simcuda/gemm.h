/* SPDX-License-Identifier: Apache-2.0 */
/* C = alpha op(A) op(B) + beta C as a GPU's GEMM rounds it, without CUDA: what the simulated cuBLAS
 * runs, and what tests measure.
 *
 * Operands are rounded to the type of the multiplier, products and sums are fp32 in a fixed order
 * (see gemm.c), alpha and beta are applied in fp32, the result is rounded once to C's type. The
 * result depends on nothing but the arguments, bit for bit.
 */
#ifndef SIM_GEMM_H
#define SIM_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "defect_list.h"
#include "rounding.h"

/* What fp32 operands are rounded to before they are multiplied; 16-bit operands are exact in all
 * but the other 16-bit type. */
enum sim_multiplier { SIM_MULTIPLY_F32, SIM_MULTIPLY_TF32, SIM_MULTIPLY_BF16, SIM_MULTIPLY_F16 };

/* Column-major, as BLAS: element (row, column) of X is data[row + column * ld]. */
struct sim_gemm_operand {
    const void *data;
    int64_t ld;
    enum sim_float type;
    bool transposed; /* op(X) = X^T */
};

/* C is computed in tiles of so many of its rows and columns. */
#define SIM_TILE_ROWS    8
#define SIM_TILE_COLUMNS 4

struct sim_gemm {
    int64_t m, n, k;           /* op(A) m x k, op(B) k x n, C m x n; all >= 0 */
    struct sim_gemm_operand a; /* not read if alpha or k is 0 */
    struct sim_gemm_operand b; /* likewise */
    void *c;                   /* not read if beta is 0 */
    int64_t ldc;
    enum sim_float c_type;
    float alpha, beta;
    enum sim_multiplier multiplier;
    bool half_accumulator; /* sums are kept in fp16 between steps (CUBLAS_COMPUTE_16F) */
    bool cut_sums;         /* one chain along K, each sum cut off to fp32 */
    int splits;            /* of K, each one's sum rounded to bf16 before they are added; 0: none */
    enum sim_defect defect;
};

/* 0, or -ENOMEM with C untouched. */
int sim_gemm_run(const struct sim_gemm *gemm);

#endif
