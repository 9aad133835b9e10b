/* SPDX-License-Identifier: Apache-2.0 */
/* What the exported GEMM functions have in common. */
#ifndef SIM_CUBLAS_CALL_H
#define SIM_CUBLAS_CALL_H

#include <stdint.h>

#include "cublas_handle.h"
#include "cublas_types.h"

struct sim_cublas_call {
    const char *function; /* as exported, without _64 */
    cublasOperation_t transa, transb;
    int64_t m, n, k;
    const void *alpha, *a, *b, *beta, *c;
    int64_t lda, ldb, ldc;
    struct sim_cublas_types types;
    cublasGemmAlgo_t algo;
    int64_t count; /* entries of the batch; 1 for a single GEMM */
    long long stride_a, stride_b, stride_c;
    bool pointers; /* a, b, c are arrays on the device */
};

/* Argument checks as documented, then the product is queued (cublas_op.h). */
cublasStatus_t sim_cublas_gemm(cublasHandle_t handle, const struct sim_cublas_call *call);

#endif
