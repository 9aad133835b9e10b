/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter lists of the hooked functions. A family is shared by a function and its _64 twin, which
 * differ in the index type alone.
 *
 *     MHCS_FAMILY_<family>(P, SEP, index)   P(type, name) for each parameter, SEP() between them
 *     MHCS_CALL_<family>                    what the parameters mean: an initialiser of the struct
 *                                           in call.h that describes such a call
 *     MHCS_KIND_<family>                    ONE or BATCH (struct mhcs_call), GROUPS or LT
 */
#ifndef MHCS_FAMILIES_H
#define MHCS_FAMILIES_H

#define MHCS_COMMA()             ,
#define MHCS_DECLARE(type, name) type name
#define MHCS_NAME(type, name)    name

#define MHCS_PARAMS(family, index) MHCS_FAMILY_##family(MHCS_DECLARE, MHCS_COMMA, index)
#define MHCS_ARGS(family)          MHCS_FAMILY_##family(MHCS_NAME, MHCS_COMMA, )

/* clang-format off */

/* ---- one GEMM ---- */

/* What the lists of all but grouped and cublasLt functions begin with. m, n and k are the 4th, 5th
 * and 6th argument: thunks.S finds them in registers. */
#define MHCS_SHAPE(P, SEP, index)                                                                  \
    P(cublasHandle_t, handle) SEP() P(cublasOperation_t, transa) SEP()                             \
    P(cublasOperation_t, transb) SEP() P(index, m) SEP() P(index, n) SEP() P(index, k)
#define MHCS_CALL_SHAPE                                                                            \
    .handle = handle, .transa = transa, .transb = transb, .m = m, .n = n, .k = k,                  \
    .alpha = alpha, .beta = beta, .a = A, .b = B, .c = C, .d = C,                                  \
    .lda = lda, .ldb = ldb, .ldc = ldc, .ldd = ldc

#define MHCS_FAMILY_GEMM_EX(P, SEP, index)                                                         \
    MHCS_SHAPE(P, SEP, index) SEP() P(const void *, alpha) SEP()                                   \
    P(const void *, A) SEP() P(cudaDataType, a_type) SEP() P(index, lda) SEP()                     \
    P(const void *, B) SEP() P(cudaDataType, b_type) SEP() P(index, ldb) SEP()                     \
    P(const void *, beta) SEP()                                                                    \
    P(void *, C) SEP() P(cudaDataType, c_type) SEP() P(index, ldc) SEP()                           \
    P(cublasComputeType_t, compute) SEP() P(cublasGemmAlgo_t, algo)
#define MHCS_CALL_GEMM_EX                                                                          \
    {MHCS_CALL_SHAPE, .a_type = a_type, .b_type = b_type, .c_type = c_type, .compute = compute,    \
     .count = 1}
#define MHCS_KIND_GEMM_EX ONE

#define MHCS_FAMILY_SGEMM_EX(P, SEP, index)                                                        \
    MHCS_SHAPE(P, SEP, index) SEP() P(const float *, alpha) SEP()                                  \
    P(const void *, A) SEP() P(cudaDataType, a_type) SEP() P(index, lda) SEP()                     \
    P(const void *, B) SEP() P(cudaDataType, b_type) SEP() P(index, ldb) SEP()                     \
    P(const float *, beta) SEP()                                                                   \
    P(void *, C) SEP() P(cudaDataType, c_type) SEP() P(index, ldc)
#define MHCS_CALL_SGEMM_EX                                                                         \
    {MHCS_CALL_SHAPE, .a_type = a_type, .b_type = b_type, .c_type = c_type,                        \
     .compute = CUBLAS_COMPUTE_32F, .count = 1}
#define MHCS_KIND_SGEMM_EX ONE

#define MHCS_PLAIN(P, SEP, index, element)                                                         \
    MHCS_SHAPE(P, SEP, index) SEP() P(const element *, alpha) SEP()                                \
    P(const element *, A) SEP() P(index, lda) SEP()                                                \
    P(const element *, B) SEP() P(index, ldb) SEP()                                                \
    P(const element *, beta) SEP()                                                                 \
    P(element *, C) SEP() P(index, ldc)
#define MHCS_FAMILY_SGEMM(P, SEP, index) MHCS_PLAIN(P, SEP, index, float)
#define MHCS_FAMILY_HGEMM(P, SEP, index) MHCS_PLAIN(P, SEP, index, struct __half)
#define MHCS_CALL_SGEMM {MHCS_CALL_SHAPE, MHCS_CALL_FLOATS, .count = 1}
#define MHCS_CALL_HGEMM {MHCS_CALL_SHAPE, MHCS_CALL_HALVES, .count = 1}
#define MHCS_KIND_SGEMM ONE
#define MHCS_KIND_HGEMM ONE

#define MHCS_CALL_FLOATS                                                                           \
    .a_type = CUDA_R_32F, .b_type = CUDA_R_32F, .c_type = CUDA_R_32F, .compute = CUBLAS_COMPUTE_32F
#define MHCS_CALL_HALVES                                                                           \
    .a_type = CUDA_R_16F, .b_type = CUDA_R_16F, .c_type = CUDA_R_16F, .compute = CUBLAS_COMPUTE_16F

/* ---- a batch, its matrices a stride apart ---- */

#define MHCS_FAMILY_STRIDED_EX(P, SEP, index)                                                      \
    MHCS_SHAPE(P, SEP, index) SEP() P(const void *, alpha) SEP()                                   \
    P(const void *, A) SEP() P(cudaDataType, a_type) SEP() P(index, lda) SEP()                     \
    P(long long, stride_a) SEP()                                                                   \
    P(const void *, B) SEP() P(cudaDataType, b_type) SEP() P(index, ldb) SEP()                     \
    P(long long, stride_b) SEP() P(const void *, beta) SEP()                                       \
    P(void *, C) SEP() P(cudaDataType, c_type) SEP() P(index, ldc) SEP()                           \
    P(long long, stride_c) SEP() P(index, count) SEP()                                             \
    P(cublasComputeType_t, compute) SEP() P(cublasGemmAlgo_t, algo)
#define MHCS_CALL_STRIDES                                                                          \
    .count = count, .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c,              \
    .stride_d = stride_c
#define MHCS_CALL_STRIDED_EX                                                                       \
    {MHCS_CALL_SHAPE, .a_type = a_type, .b_type = b_type, .c_type = c_type, .compute = compute,    \
     MHCS_CALL_STRIDES}
#define MHCS_KIND_STRIDED_EX BATCH

#define MHCS_STRIDED(P, SEP, index, element)                                                       \
    MHCS_SHAPE(P, SEP, index) SEP() P(const element *, alpha) SEP()                                \
    P(const element *, A) SEP() P(index, lda) SEP() P(long long, stride_a) SEP()                   \
    P(const element *, B) SEP() P(index, ldb) SEP() P(long long, stride_b) SEP()                   \
    P(const element *, beta) SEP()                                                                 \
    P(element *, C) SEP() P(index, ldc) SEP() P(long long, stride_c) SEP() P(index, count)
#define MHCS_FAMILY_SSTRIDED(P, SEP, index) MHCS_STRIDED(P, SEP, index, float)
#define MHCS_FAMILY_HSTRIDED(P, SEP, index) MHCS_STRIDED(P, SEP, index, struct __half)
#define MHCS_CALL_SSTRIDED {MHCS_CALL_SHAPE, MHCS_CALL_FLOATS, MHCS_CALL_STRIDES}
#define MHCS_CALL_HSTRIDED {MHCS_CALL_SHAPE, MHCS_CALL_HALVES, MHCS_CALL_STRIDES}
#define MHCS_KIND_SSTRIDED BATCH
#define MHCS_KIND_HSTRIDED BATCH

/* ---- a batch, the addresses of its matrices in arrays on the device ---- */

#define MHCS_FAMILY_BATCHED_EX(P, SEP, index)                                                      \
    MHCS_SHAPE(P, SEP, index) SEP() P(const void *, alpha) SEP()                                   \
    P(const void *const *, A) SEP() P(cudaDataType, a_type) SEP() P(index, lda) SEP()              \
    P(const void *const *, B) SEP() P(cudaDataType, b_type) SEP() P(index, ldb) SEP()              \
    P(const void *, beta) SEP()                                                                    \
    P(void *const *, C) SEP() P(cudaDataType, c_type) SEP() P(index, ldc) SEP()                    \
    P(index, count) SEP() P(cublasComputeType_t, compute) SEP() P(cublasGemmAlgo_t, algo)
#define MHCS_CALL_BATCHED_EX                                                                       \
    {MHCS_CALL_SHAPE, .a_type = a_type, .b_type = b_type, .c_type = c_type, .compute = compute,    \
     .count = count, .pointers = true}
#define MHCS_KIND_BATCHED_EX BATCH

#define MHCS_BATCHED(P, SEP, index, element)                                                       \
    MHCS_SHAPE(P, SEP, index) SEP() P(const element *, alpha) SEP()                                \
    P(const element *const *, A) SEP() P(index, lda) SEP()                                         \
    P(const element *const *, B) SEP() P(index, ldb) SEP()                                         \
    P(const element *, beta) SEP()                                                                 \
    P(element *const *, C) SEP() P(index, ldc) SEP() P(index, count)
#define MHCS_FAMILY_SBATCHED(P, SEP, index) MHCS_BATCHED(P, SEP, index, float)
#define MHCS_FAMILY_HBATCHED(P, SEP, index) MHCS_BATCHED(P, SEP, index, struct __half)
#define MHCS_CALL_SBATCHED {MHCS_CALL_SHAPE, MHCS_CALL_FLOATS, .count = count, .pointers = true}
#define MHCS_CALL_HBATCHED {MHCS_CALL_SHAPE, MHCS_CALL_HALVES, .count = count, .pointers = true}
#define MHCS_KIND_SBATCHED BATCH
#define MHCS_KIND_HBATCHED BATCH

/* ---- groups of such batches; what describes a group stands in arrays on the host ---- */

#define MHCS_FAMILY_GROUPED_EX(P, SEP, index)                                                      \
    P(cublasHandle_t, handle) SEP()                                                                \
    P(const cublasOperation_t *, transa) SEP() P(const cublasOperation_t *, transb) SEP()          \
    P(const index *, m) SEP() P(const index *, n) SEP() P(const index *, k) SEP()                  \
    P(const void *, alpha) SEP()                                                                   \
    P(const void *const *, A) SEP() P(cudaDataType_t, a_type) SEP() P(const index *, lda) SEP()    \
    P(const void *const *, B) SEP() P(cudaDataType_t, b_type) SEP() P(const index *, ldb) SEP()    \
    P(const void *, beta) SEP()                                                                    \
    P(void *const *, C) SEP() P(cudaDataType_t, c_type) SEP() P(const index *, ldc) SEP()          \
    P(index, group_count) SEP() P(const index *, group_size) SEP() P(cublasComputeType_t, compute)
#define MHCS_CALL_GROUPS                                                                           \
    .handle = handle, .transa = transa, .transb = transb, .m = m, .n = n, .k = k,                  \
    .alpha = alpha, .beta = beta, .a = A, .b = B, .c = C, .lda = lda, .ldb = ldb, .ldc = ldc,      \
    .index_bytes = sizeof(*m), .count = group_count, .size = group_size
#define MHCS_CALL_GROUPED_EX                                                                       \
    {MHCS_CALL_GROUPS, .a_type = a_type, .b_type = b_type, .c_type = c_type, .compute = compute}
#define MHCS_KIND_GROUPED_EX GROUPS

#define MHCS_FAMILY_SGROUPED(P, SEP, index)                                                        \
    P(cublasHandle_t, handle) SEP()                                                                \
    P(const cublasOperation_t *, transa) SEP() P(const cublasOperation_t *, transb) SEP()          \
    P(const index *, m) SEP() P(const index *, n) SEP() P(const index *, k) SEP()                  \
    P(const float *, alpha) SEP()                                                                  \
    P(const float *const *, A) SEP() P(const index *, lda) SEP()                                   \
    P(const float *const *, B) SEP() P(const index *, ldb) SEP()                                   \
    P(const float *, beta) SEP()                                                                   \
    P(float *const *, C) SEP() P(const index *, ldc) SEP()                                         \
    P(index, group_count) SEP() P(const index *, group_size)
#define MHCS_CALL_SGROUPED {MHCS_CALL_GROUPS, MHCS_CALL_FLOATS}
#define MHCS_KIND_SGROUPED GROUPS

/* ---- cublasLt ---- */

#define MHCS_FAMILY_LT(P, SEP, index)                                                              \
    P(cublasLtHandle_t, handle) SEP() P(cublasLtMatmulDesc_t, operation) SEP()                     \
    P(const void *, alpha) SEP()                                                                   \
    P(const void *, A) SEP() P(cublasLtMatrixLayout_t, a_layout) SEP()                             \
    P(const void *, B) SEP() P(cublasLtMatrixLayout_t, b_layout) SEP()                             \
    P(const void *, beta) SEP()                                                                    \
    P(const void *, C) SEP() P(cublasLtMatrixLayout_t, c_layout) SEP()                             \
    P(void *, D) SEP() P(cublasLtMatrixLayout_t, d_layout) SEP()                                   \
    P(const cublasLtMatmulAlgo_t *, algo) SEP() P(void *, workspace) SEP()                         \
    P(size_t, workspace_bytes) SEP() P(cudaStream_t, stream)
#define MHCS_CALL_LT                                                                               \
    {.operation = operation, .alpha = alpha, .beta = beta, .a = A, .b = B, .c = C, .d = D,         \
     .a_layout = a_layout, .b_layout = b_layout, .c_layout = c_layout, .d_layout = d_layout,       \
     .algo = algo, .stream = stream}
#define MHCS_KIND_LT LT
/* clang-format on */

#endif
