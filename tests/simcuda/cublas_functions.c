/* SPDX-License-Identifier: Apache-2.0 */
/* The exported GEMM functions of the simulated cuBLAS, each with its _64 twin. */
#include "cublas_call.h"

/* The toolkit declares the half precision functions for C++ alone. */
struct __half;

/* `parameters` is a macro of the index type. The prototypes repeat the toolkit's, where there are
 * any, and must agree with them. */
#define TWINS(name, parameters, arguments, ...)                                                    \
    cublasStatus_t name##_64(parameters(int64_t));                                                 \
    cublasStatus_t name(parameters(int));                                                          \
                                                                                                   \
    cublasStatus_t name##_64(parameters(int64_t))                                                  \
    {                                                                                              \
        const struct sim_cublas_call call = {.function = #name,                                    \
                                             .transa = transa,                                     \
                                             .transb = transb,                                     \
                                             .m = m,                                               \
                                             .n = n,                                               \
                                             .k = k,                                               \
                                             .alpha = alpha,                                       \
                                             .a = A,                                               \
                                             .b = B,                                               \
                                             .beta = beta,                                         \
                                             .c = C,                                               \
                                             .lda = lda,                                           \
                                             .ldb = ldb,                                           \
                                             .ldc = ldc,                                           \
                                             __VA_ARGS__};                                         \
                                                                                                   \
        return sim_cublas_gemm(handle, &call);                                                     \
    }                                                                                              \
                                                                                                   \
    cublasStatus_t name(parameters(int))                                                           \
    {                                                                                              \
        return name##_64 arguments;                                                                \
    }

/* clang-format off */
#define SHAPE(index)                                                                               \
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,                     \
    index m, index n, index k
#define FLOATS .types = {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},                  \
    .algo = CUBLAS_GEMM_DEFAULT
#define HALVES .types = {CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},                  \
    .algo = CUBLAS_GEMM_DEFAULT
#define EX .types = {computeType, Atype, Btype, Ctype}, .algo = algo

/* ---- one ---- */

#define ONE_EX(index)                                                                              \
    SHAPE(index), const void *alpha, const void *A, cudaDataType Atype, index lda, const void *B,  \
    cudaDataType Btype, index ldb, const void *beta, void *C, cudaDataType Ctype, index ldc,       \
    cublasComputeType_t computeType, cublasGemmAlgo_t algo
#define ONE_EX_ARGUMENTS                                                                           \
    (handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc,    \
     computeType, algo)
TWINS(cublasGemmEx, ONE_EX, ONE_EX_ARGUMENTS, EX, .count = 1)

#define ONE_SGEMM_EX(index)                                                                        \
    SHAPE(index), const float *alpha, const void *A, cudaDataType Atype, index lda, const void *B, \
    cudaDataType Btype, index ldb, const float *beta, void *C, cudaDataType Ctype, index ldc
#define ONE_SGEMM_EX_ARGUMENTS                                                                     \
    (handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc)
TWINS(cublasSgemmEx, ONE_SGEMM_EX, ONE_SGEMM_EX_ARGUMENTS,
      .types = {CUBLAS_COMPUTE_32F, Atype, Btype, Ctype}, .algo = CUBLAS_GEMM_DEFAULT, .count = 1)

#define ONE(index, element)                                                                        \
    SHAPE(index), const element *alpha, const element *A, index lda, const element *B, index ldb,  \
    const element *beta, element *C, index ldc
#define ONE_FLOAT(index) ONE(index, float)
#define ONE_HALF(index)  ONE(index, struct __half)
#define ONE_ARGUMENTS    (handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc)
TWINS(cublasSgemm_v2, ONE_FLOAT, ONE_ARGUMENTS, FLOATS, .count = 1)
TWINS(cublasHgemm, ONE_HALF, ONE_ARGUMENTS, HALVES, .count = 1)

/* ---- strided ---- */

#define STRIDES .count = batchCount, .stride_a = strideA, .stride_b = strideB, .stride_c = strideC

#define STRIDED_EX(index)                                                                          \
    SHAPE(index), const void *alpha, const void *A, cudaDataType Atype, index lda,                 \
    long long strideA, const void *B, cudaDataType Btype, index ldb, long long strideB,            \
    const void *beta, void *C, cudaDataType Ctype, index ldc, long long strideC, index batchCount, \
    cublasComputeType_t computeType, cublasGemmAlgo_t algo
#define STRIDED_EX_ARGUMENTS                                                                       \
    (handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb, strideB, beta, \
     C, Ctype, ldc, strideC, batchCount, computeType, algo)
TWINS(cublasGemmStridedBatchedEx, STRIDED_EX, STRIDED_EX_ARGUMENTS, EX, STRIDES)

#define STRIDED(index, element)                                                                    \
    SHAPE(index), const element *alpha, const element *A, index lda, long long strideA,            \
    const element *B, index ldb, long long strideB, const element *beta, element *C, index ldc,    \
    long long strideC, index batchCount
#define STRIDED_FLOAT(index) STRIDED(index, float)
#define STRIDED_HALF(index)  STRIDED(index, struct __half)
#define STRIDED_ARGUMENTS                                                                          \
    (handle, transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc,       \
     strideC, batchCount)
TWINS(cublasSgemmStridedBatched, STRIDED_FLOAT, STRIDED_ARGUMENTS, FLOATS, STRIDES)
TWINS(cublasHgemmStridedBatched, STRIDED_HALF, STRIDED_ARGUMENTS, HALVES, STRIDES)

/* ---- pointer arrays ---- */

#define POINTERS .count = batchCount, .pointers = true

#define BATCHED_EX(index)                                                                          \
    SHAPE(index), const void *alpha, const void *const A[], cudaDataType Atype, index lda,         \
    const void *const B[], cudaDataType Btype, index ldb, const void *beta, void *const C[],       \
    cudaDataType Ctype, index ldc, index batchCount, cublasComputeType_t computeType,              \
    cublasGemmAlgo_t algo
#define BATCHED_EX_ARGUMENTS                                                                       \
    (handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc,    \
     batchCount, computeType, algo)
TWINS(cublasGemmBatchedEx, BATCHED_EX, BATCHED_EX_ARGUMENTS, EX, POINTERS)

#define BATCHED(index, element)                                                                    \
    SHAPE(index), const element *alpha, const element *const A[], index lda,                       \
    const element *const B[], index ldb, const element *beta, element *const C[], index ldc,       \
    index batchCount
#define BATCHED_FLOAT(index) BATCHED(index, float)
#define BATCHED_HALF(index)  BATCHED(index, struct __half)
#define BATCHED_ARGUMENTS                                                                          \
    (handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, batchCount)
TWINS(cublasSgemmBatched, BATCHED_FLOAT, BATCHED_ARGUMENTS, FLOATS, POINTERS)
TWINS(cublasHgemmBatched, BATCHED_HALF, BATCHED_ARGUMENTS, HALVES, POINTERS)
/* clang-format on */
