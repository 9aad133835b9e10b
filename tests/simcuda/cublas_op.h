/* SPDX-License-Identifier: Apache-2.0 */
/* GEMMs of one call as an operation on a simulated stream. */
#ifndef SIM_CUBLAS_OP_H
#define SIM_CUBLAS_OP_H

#include "gemm.h"
#include "simcuda.h"

/* D = alpha op(A) op(B) + beta C, `count` times. */
struct sim_cublas_op {
    struct sim_gemm gemm; /* sizes, types, arithmetic; no pointers yet. Its c is D here */
    uint64_t a, b, c, d;  /* of the first entry, as the client sees them */
    int64_t ldc;          /* of C */
    int64_t count;        /* entries of the batch, >= 1 */
    int64_t stride_a, stride_b, stride_c, stride_d; /* elements between entries */
    bool pointers;        /* a, b, c, d are arrays of the entries' addresses */
    uint64_t alpha, beta; /* device scalars; 0: gemm.alpha and gemm.beta stand */
    enum sim_float scalar_type;
};

/* Copies *op. `function` names the operation in reports and must stay valid. */
CUresult sim_cublas_op_enqueue(const struct sim_cublas_op *op, CUstream stream,
                               const char *function);

#endif
