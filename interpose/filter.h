/* SPDX-License-Identifier: Apache-2.0 */
/* Which GEMMs are mixing GEMMs, and what such a call means. Pure functions of their arguments. */
#ifndef MHCS_FILTER_H
#define MHCS_FILTER_H

#include <stdbool.h>

#include "interpose/call.h"
#include "interpose/library.h"
#include "shadow/shadow.h"

/* The operand that holds the weights fn; the other one holds the tokens x. */
enum mhcs_side {
    MHCS_SIDE_NONE, /* not a mixing GEMM */
    MHCS_SIDE_A,    /* m is the coefficient count, n the tokens: how PyTorch calls it */
    MHCS_SIDE_B,    /* n is the coefficient count, m the tokens: the result is C^T */
};

/* All that almost every GEMM of a server has to answer: one of its outer sizes is a coefficient
 * count. */
static inline bool mhcs_filter_outer(int64_t m, int64_t n)
{
    return m == MHCS_COEFFICIENTS || n == MHCS_COEFFICIENTS || m == MHCS_COEFFICIENTS_HEAD ||
           n == MHCS_COEFFICIENTS_HEAD;
}

/* Whether some MHCSHADOW_SHAPES could make this a mixing GEMM. */
static inline bool mhcs_filter_candidate(int64_t m, int64_t n, int64_t k)
{
    return mhcs_filter_outer(m, n) && m > 0 && n > 0 && k > 0 && k % MHCS_STREAMS == 0;
}

/* Where both sizes are coefficient counts, fn is A. Side B has a double: a projection of 24 (or 4)
 * tokens from 4*hidden to hidden features, a common decode batch of a common layer, has the sizes
 * of a transposed mixing GEMM over m = hidden tokens. No known server transposes, so m == k/4 with
 * the coefficients on side B is taken for the projection. */
enum mhcs_side mhcs_filter_match(const struct mhcs_settings *settings, int64_t m, int64_t n,
                                 int64_t k);

/* Address of an entry's fn: what tells the sites apart before anything is read. NULL where it
 * stands in an array on the device. */
const void *mhcs_filter_weights(const struct mhcs_call *call, enum mhcs_side side, int64_t entry);

/* Folds orientation, transposition, leading dimensions and the batch into strides: everything of
 * `gemm` but stream, cublas, weight_order and what the handle says, for one entry. False: a type,
 * operation, pointer or leading dimension that can't be followed (cuBLAS itself refuses most of
 * them); `gemm` is then unspecified. */
bool mhcs_filter_fold(const struct mhcs_call *call, enum mhcs_side side, int64_t entry,
                      struct mhcs_gemm *gemm);

/* Of alpha and beta: the type that the compute type works in. CUDA_R_64F for all that are of no
 * concern here. */
cudaDataType mhcs_filter_scalar_type(cublasComputeType_t compute);

/* The arithmetic that compute type, operand types and math mode declare together. tf32_allowed:
 * false under NVIDIA_TF32_OVERRIDE=0, which overrules every program. */
enum mhcs_compute mhcs_filter_compute(cublasComputeType_t compute, cudaDataType a_type,
                                      cublasMath_t math_mode, bool tf32_allowed);

/* Whether split-K partial sums may be rounded to the output type. */
bool mhcs_filter_reduced_reduction(cublasComputeType_t compute, cublasMath_t math_mode);

#endif
