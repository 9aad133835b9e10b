/* SPDX-License-Identifier: Apache-2.0 */
/* The mixing GEMM by the real cuBLAS on the first GPU that the process sees. One thread. */
#ifndef MHCS_GPU_H
#define MHCS_GPU_H

#include "shadow/model/model.h"
#include "tools/microtest/arithmetic.h"

struct mhcs_gpu;

/* 0; -errno with `error` set, which names the remedy. */
int mhcs_gpu_open(struct mhcs_gpu **ret_gpu, char error[MHCS_MODEL_ERROR]);
void mhcs_gpu_close(struct mhcs_gpu *gpu); /* NULL: nothing */

/* "NVIDIA H200, cuBLAS 13.1.0 /usr/lib/libcublas.so.13" */
const char *mhcs_gpu_text(const struct mhcs_gpu *gpu);
bool mhcs_gpu_is_simulated(const struct mhcs_gpu *gpu);

/* What x and fn are to be rounded to: fp32 for TF32, which cuBLAS makes of them itself. */
enum mhcs_operand_form mhcs_gpu_operands(enum mhcs_arithmetic_kind kind);

/* c[rows][coefficients] of operands in that form, as mhcs_gemm_as() has it; cuBLAS chooses how the
 * sum over k is split. 0; -errno with `error` set. */
int mhcs_gpu_gemm(struct mhcs_gpu *gpu, enum mhcs_arithmetic_kind kind, const float *x,
                  const float *fn, float *c, uint32_t rows, uint32_t coefficients, uint32_t k,
                  char error[MHCS_MODEL_ERROR]);

#endif
