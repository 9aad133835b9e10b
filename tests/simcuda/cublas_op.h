/* SPDX-License-Identifier: Apache-2.0 */
/* A GEMM as an operation on a simulated stream. */
#ifndef SIM_CUBLAS_OP_H
#define SIM_CUBLAS_OP_H

#include "gemm.h"
#include "simcuda.h"

struct sim_cublas_op {
    struct sim_gemm gemm; /* sizes, types, arithmetic; no pointers yet */
    uint64_t a, b, c;     /* as the client sees them */
    uint64_t alpha, beta; /* device scalars; 0: gemm.alpha and gemm.beta stand */
    enum sim_float scalar_type;
};

/* Copies *op. `function` names the operation in reports and must stay valid. */
CUresult sim_cublas_op_enqueue(const struct sim_cublas_op *op, CUstream stream,
                               const char *function);

#endif
