/* SPDX-License-Identifier: Apache-2.0 */
/* The one list of hooked cuBLAS functions. Exports, resolution, the version script's test and the
 * whole-process tests are generated from it.
 *
 *     HOOK(name, family, index)
 *
 * A family is the shape of a parameter list, shared by a function and its _64 twin, which differ in
 * the index type alone: MHCS_PARAMS_<family>(index), MHCS_ARGS_<family>, and MHCS_CALL_<family>, an
 * initialiser of struct mhcs_call that says what the parameters mean.
 */
#ifndef MHCS_HOOKS_H
#define MHCS_HOOKS_H

#include <cublas_v2.h>
#include <stdint.h>

#define MHCS_HOOKS(HOOK)                                                                           \
    HOOK(cublasGemmEx, GEMM_EX, int)                                                               \
    HOOK(cublasGemmEx_64, GEMM_EX, int64_t)                                                        \
    HOOK(cublasSgemm_v2, SGEMM, int)                                                               \
    HOOK(cublasSgemm_v2_64, SGEMM, int64_t)

enum mhcs_hook {
#define HOOK(name, family, index) MHCS_HOOK_##name,
    MHCS_HOOKS(HOOK)
#undef HOOK
        MHCS_HOOK_COUNT
};

/* One GEMM as the application describes it: C = alpha * op(A) * op(B) + beta * C, column-major. */
struct mhcs_call {
    cublasHandle_t handle;
    cublasOperation_t transa, transb;
    int64_t m, n, k;
    const void *alpha, *beta;
    const void *a, *b, *c;
    cudaDataType a_type, b_type, c_type;
    int64_t lda, ldb, ldc;
    cublasComputeType_t compute;
};

/* clang-format off */
#define MHCS_PARAMS_GEMM_EX(index)                                                                 \
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,                     \
    index m, index n, index k, const void *alpha,                                                  \
    const void *A, cudaDataType a_type, index lda,                                                 \
    const void *B, cudaDataType b_type, index ldb, const void *beta,                               \
    void *C, cudaDataType c_type, index ldc,                                                       \
    cublasComputeType_t compute, cublasGemmAlgo_t algo
#define MHCS_ARGS_GEMM_EX                                                                          \
    handle, transa, transb, m, n, k, alpha, A, a_type, lda, B, b_type, ldb, beta, C, c_type, ldc,  \
    compute, algo
#define MHCS_CALL_GEMM_EX                                                                          \
    {                                                                                              \
        .handle = handle, .transa = transa, .transb = transb, .m = m, .n = n, .k = k,              \
        .alpha = alpha, .beta = beta, .a = A, .b = B, .c = C,                                      \
        .a_type = a_type, .b_type = b_type, .c_type = c_type,                                      \
        .lda = lda, .ldb = ldb, .ldc = ldc, .compute = compute,                                    \
    }

#define MHCS_PARAMS_SGEMM(index)                                                                   \
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,                     \
    index m, index n, index k, const float *alpha,                                                 \
    const float *A, index lda, const float *B, index ldb, const float *beta, float *C, index ldc
#define MHCS_ARGS_SGEMM                                                                            \
    handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc
#define MHCS_CALL_SGEMM                                                                            \
    {                                                                                              \
        .handle = handle, .transa = transa, .transb = transb, .m = m, .n = n, .k = k,              \
        .alpha = alpha, .beta = beta, .a = A, .b = B, .c = C,                                      \
        .a_type = CUDA_R_32F, .b_type = CUDA_R_32F, .c_type = CUDA_R_32F,                          \
        .lda = lda, .ldb = ldb, .ldc = ldc, .compute = CUBLAS_COMPUTE_32F,                         \
    }
/* clang-format on */

/* A wrong parameter would shift every argument behind it in silence: the toolkit's own prototypes
 * must agree with the list. */
#define HOOK(name, family, index)                                                                  \
    typedef cublasStatus_t mhcs_type_##name(MHCS_PARAMS_##family(index));                          \
    _Static_assert(__builtin_types_compatible_p(mhcs_type_##name, __typeof__(name)),               \
                   #name " differs from the toolkit's cublas_v2.h");
MHCS_HOOKS(HOOK)
#undef HOOK

#endif
