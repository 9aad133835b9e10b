/* SPDX-License-Identifier: Apache-2.0 */
/* The table of types that cublasGemmEx documents, and what each means for the arithmetic. */
#include "cublas_types.h"

#include <stdio.h>

/* Emulation of fp32 by bf16, in headers since CUDA 12.9. */
#define COMPUTE_32F_EMULATED_16BFX9 ((cublasComputeType_t)78)

/* cuBLAS' table for cublasGemmEx; A and B are of one type. */
static const struct combination {
    cublasComputeType_t compute;
    cudaDataType ab, c;
    bool simulated;
} documented[] = {
    {CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F, true},
    {CUBLAS_COMPUTE_16F_PEDANTIC, CUDA_R_16F, CUDA_R_16F, true},
    {CUBLAS_COMPUTE_32I, CUDA_R_8I, CUDA_R_32I, false},
    {CUBLAS_COMPUTE_32I_PEDANTIC, CUDA_R_8I, CUDA_R_32I, false},
    {CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_16BF, true},
    {CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_32F, true},
    {CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_16F, true},
    {CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_32F, true},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, true},
    {CUBLAS_COMPUTE_32F, CUDA_R_8I, CUDA_R_32F, false},
    {CUBLAS_COMPUTE_32F, CUDA_C_8I, CUDA_C_32F, false},
    {CUBLAS_COMPUTE_32F, CUDA_C_32F, CUDA_C_32F, false},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_16BF, CUDA_R_16BF, true},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_16BF, CUDA_R_32F, true},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_16F, CUDA_R_16F, true},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_16F, CUDA_R_32F, true},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F, CUDA_R_32F, true},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_8I, CUDA_R_32F, false},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_C_8I, CUDA_C_32F, false},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_C_32F, CUDA_C_32F, false},
    {CUBLAS_COMPUTE_32F_FAST_16F, CUDA_R_32F, CUDA_R_32F, true},
    {CUBLAS_COMPUTE_32F_FAST_16F, CUDA_C_32F, CUDA_C_32F, false},
    {CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_R_32F, CUDA_R_32F, true},
    {CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_C_32F, CUDA_C_32F, false},
    {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, true},
    {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_C_32F, CUDA_C_32F, false},
    {COMPUTE_32F_EMULATED_16BFX9, CUDA_R_32F, CUDA_R_32F, false},
    {COMPUTE_32F_EMULATED_16BFX9, CUDA_C_32F, CUDA_C_32F, false},
    {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, false},
    {CUBLAS_COMPUTE_64F, CUDA_C_64F, CUDA_C_64F, false},
    {CUBLAS_COMPUTE_64F_PEDANTIC, CUDA_R_64F, CUDA_R_64F, false},
    {CUBLAS_COMPUTE_64F_PEDANTIC, CUDA_C_64F, CUDA_C_64F, false},
};

cublasStatus_t sim_cublas_types_check(const struct sim_cublas_types *types, const char *function)
{
    const struct combination *row = documented;
    const struct combination *end = row + sizeof documented / sizeof documented[0];

    while (row != end && (row->compute != types->compute || row->ab != types->a ||
                          row->ab != types->b || row->c != types->c))
        row++;
    if (row == end)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!row->simulated) {
        fprintf(stderr,
                "simcuda: %s of cudaDataType %d to %d with cublasComputeType_t %d is not "
                "simulated; NVIDIA's cuBLAS has it\n",
                function, (int)types->a, (int)types->c, (int)types->compute);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return CUBLAS_STATUS_SUCCESS;
}

enum sim_float sim_cublas_scalar_type(cublasComputeType_t compute)
{
    return compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC ? SIM_F16
                                                                                   : SIM_F32;
}

enum sim_float sim_cublas_float(cudaDataType type)
{
    return type == CUDA_R_16BF ? SIM_BF16 : type == CUDA_R_16F ? SIM_F16 : SIM_F32;
}

/* fp32 operands by compute type, and where that leaves the choice, by the handle's math mode. The
 * deprecated CUBLAS_TENSOR_OP_MATH means CUBLAS_COMPUTE_32F_FAST_16F. */
static enum sim_multiplier fp32_multiplier(const struct cublasContext *handle,
                                           cublasComputeType_t compute)
{
    unsigned mode =
        (unsigned)handle->math_mode & ~(unsigned)CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;

    if (compute == CUBLAS_COMPUTE_32F && mode == CUBLAS_TF32_TENSOR_OP_MATH)
        compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    if (compute == CUBLAS_COMPUTE_32F && mode == CUBLAS_TENSOR_OP_MATH)
        compute = CUBLAS_COMPUTE_32F_FAST_16F;
    switch (compute) {
    case CUBLAS_COMPUTE_32F_FAST_16F:
        return SIM_MULTIPLY_F16;
    case CUBLAS_COMPUTE_32F_FAST_16BF:
        return SIM_MULTIPLY_BF16;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
        return handle->tf32_forbidden ? SIM_MULTIPLY_F32 : SIM_MULTIPLY_TF32;
    default:
        return SIM_MULTIPLY_F32;
    }
}

enum sim_multiplier sim_cublas_multiplier(const struct cublasContext *handle,
                                          const struct sim_cublas_types *types)
{
    return types->a == CUDA_R_32F ? fp32_multiplier(handle, types->compute) : SIM_MULTIPLY_F32;
}
