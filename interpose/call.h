/* SPDX-License-Identifier: Apache-2.0 */
/* What a call asks for, in the three forms that cuBLAS has. The second and the third are read into
 * the first (groups.h, lt.h), which alone is matched and sampled.
 */
#ifndef MHCS_CALL_H
#define MHCS_CALL_H

#include "interpose/hooks.h"

/* ONE and BATCH: `count` products D = alpha * op(A) * op(B) + beta * C, column-major. */
struct mhcs_call {
    cublasHandle_t handle;
    cublasOperation_t transa, transb;
    int64_t m, n, k;
    const void *alpha, *beta;
    const void *a, *b, *c, *d; /* of the first entry. d is c, but for cublasLt */
    cudaDataType a_type, b_type, c_type;
    int64_t lda, ldb, ldc, ldd;
    cublasComputeType_t compute;
    int64_t count;                                    /* entries of the batch; 1 for a plain GEMM */
    long long stride_a, stride_b, stride_c, stride_d; /* elements between entries */
    bool pointers; /* a, b, c, d are arrays on the device: addresses of the entries' matrices */
};

/* GROUPS: group i is a batch of size[i] entries; the pointer arrays hold the entries of all
 * groups, one after another. */
struct mhcs_groups {
    cublasHandle_t handle;
    const cublasOperation_t *transa, *transb;
    const void *m, *n, *k, *lda, *ldb, *ldc, *size; /* integers of index_bytes */
    const void *alpha, *beta;                       /* one scalar a group */
    const void *a, *b, *c;
    cudaDataType a_type, b_type, c_type;
    cublasComputeType_t compute;
    int64_t count; /* groups */
    size_t index_bytes;
};

/* LT: shapes, types and all else stand in opaque descriptors. */
struct mhcs_lt {
    cublasLtMatmulDesc_t operation;
    const void *alpha, *beta;
    const void *a, *b, *c, *d;
    cublasLtMatrixLayout_t a_layout, b_layout, c_layout, d_layout;
    const cublasLtMatmulAlgo_t *algo;
    cudaStream_t stream;
};

#endif
