/* SPDX-License-Identifier: Apache-2.0 */
/* A linear layer as the cuBLAS calls that PyTorch makes of it. */
#include "linear.h"

#include <string.h>

#include "check.h"

static const struct demo_precision precisions[] = {
    {"bf16", SIM_BF16, SIM_BF16, CUBLAS_DEFAULT_MATH},
    {"bf16-f32", SIM_BF16, SIM_F32, CUBLAS_DEFAULT_MATH},
    {"fp16", SIM_F16, SIM_F16, CUBLAS_DEFAULT_MATH},
    {"tf32", SIM_F32, SIM_F32, CUBLAS_TF32_TENSOR_OP_MATH},
    {"fp32", SIM_F32, SIM_F32, CUBLAS_DEFAULT_MATH},
};

const struct demo_precision *demo_precision_find(const char *name)
{
    for (size_t i = 0; i < sizeof precisions / sizeof precisions[0]; i++)
        if (strcmp(precisions[i].name, name) == 0)
            return &precisions[i];
    return NULL;
}

static cudaDataType data_type(enum sim_float type)
{
    return type == SIM_F32 ? CUDA_R_32F : type == SIM_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

/* Row-major out[tokens][rows] = x weight^T is column-major C[rows x tokens] = weight^T' x': BLAS
 * sees weight and x as k x rows and k x tokens, the first transposed. PyTorch sets stream,
 * workspace and math mode before every call, and around 16-bit GEMMs the reduction flags. */
void demo_linear(cublasHandle_t handle, const struct demo_linear *l)
{
    const float one = 1, zero = 0;
    cudaDataType operands = data_type(l->precision->operands);

    CHECK_CUBLAS(cublasSetStream(handle, l->stream));
    CHECK_CUBLAS(cublasSetWorkspace(handle, l->workspace, l->workspace_bytes));
    CHECK_CUBLAS(cublasSetMathMode(handle, l->precision->math));
    if (l->precision->operands == SIM_F32) {
        CHECK_CUBLAS(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, l->rows, l->tokens, l->k, &one,
                                 l->weight, l->k, l->x, l->k, &zero, l->out, l->rows));
        return;
    }
    CHECK_CUBLAS(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
    CHECK_CUBLAS(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, l->rows, l->tokens, l->k, &one,
                              l->weight, operands, l->k, l->x, operands, l->k, &zero, l->out,
                              data_type(l->precision->out), l->rows, CUBLAS_COMPUTE_32F,
                              CUBLAS_GEMM_DEFAULT_TENSOR_OP));
    CHECK_CUBLAS(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
}
