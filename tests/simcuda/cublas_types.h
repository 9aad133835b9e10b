/* SPDX-License-Identifier: Apache-2.0 */
/* Which types cublasGemmEx takes together, and how the simulation multiplies them. */
#ifndef SIM_CUBLAS_TYPES_H
#define SIM_CUBLAS_TYPES_H

#include "cublas_handle.h"
#include "gemm.h"

struct sim_cublas_types {
    cublasComputeType_t compute;
    cudaDataType a, b, c;
};

/* CUBLAS_STATUS_NOT_SUPPORTED for what cuBLAS does not document, and, with a line on stderr that
 * names `function`, for what only NVIDIA's library computes. */
cublasStatus_t sim_cublas_types_check(const struct sim_cublas_types *types, const char *function);

/* For types that passed the check: alpha and beta are fp16 or fp32. */
enum sim_float sim_cublas_scalar_type(cublasComputeType_t compute);
enum sim_float sim_cublas_float(cudaDataType type);
enum sim_multiplier sim_cublas_multiplier(const struct cublasContext *handle,
                                          const struct sim_cublas_types *types);

#endif
