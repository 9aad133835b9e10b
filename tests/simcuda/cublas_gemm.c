/* SPDX-License-Identifier: Apache-2.0 */
/* cublasGemmEx and cublasSgemm of the simulated cuBLAS: argument checks as documented, then the
 * product is queued (cublas_op.h).
 */
#include <stdint.h>

#include "cublas_handle.h"
#include "cublas_op.h"
#include "cublas_types.h"

struct gemm_call {
    const char *function;
    cublasOperation_t transa, transb;
    int64_t m, n, k;
    const void *alpha, *a, *b, *beta;
    void *c;
    int64_t lda, ldb, ldc;
    struct sim_cublas_types types;
    cublasGemmAlgo_t algo;
};

static bool is_operation(cublasOperation_t operation)
{
    return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

/* On sm_80 and later the numbered algorithms all mean the default. */
static bool is_algorithm(cublasGemmAlgo_t algo)
{
    return algo == CUBLAS_GEMM_DEFAULT || algo == CUBLAS_GEMM_DEFAULT_TENSOR_OP ||
           (algo >= CUBLAS_GEMM_ALGO0 && algo <= CUBLAS_GEMM_ALGO23) ||
           (algo >= CUBLAS_GEMM_ALGO0_TENSOR_OP && algo <= CUBLAS_GEMM_ALGO15_TENSOR_OP);
}

static bool holds(int64_t ld, int64_t rows)
{
    return ld >= 1 && ld >= rows;
}

static cublasStatus_t check(const struct gemm_call *call)
{
    bool a_transposed = call->transa != CUBLAS_OP_N, b_transposed = call->transb != CUBLAS_OP_N;

    if (!is_operation(call->transa) || !is_operation(call->transb) || call->m < 0 || call->n < 0 ||
        call->k < 0 || !holds(call->lda, a_transposed ? call->k : call->m) ||
        !holds(call->ldb, b_transposed ? call->n : call->k) || !holds(call->ldc, call->m) ||
        call->alpha == NULL || call->beta == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_algorithm(call->algo))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return sim_cublas_types_check(&call->types, call->function);
}

static struct sim_cublas_op op_of(const struct cublasContext *handle, const struct gemm_call *call)
{
    enum sim_float scalars = sim_cublas_scalar_type(call->types.compute);
    struct sim_cublas_op op = {.gemm = {.m = call->m,
                                        .n = call->n,
                                        .k = call->k,
                                        .a = {.ld = call->lda,
                                              .type = sim_cublas_float(call->types.a),
                                              .transposed = call->transa != CUBLAS_OP_N},
                                        .b = {.ld = call->ldb,
                                              .type = sim_cublas_float(call->types.b),
                                              .transposed = call->transb != CUBLAS_OP_N},
                                        .ldc = call->ldc,
                                        .c_type = sim_cublas_float(call->types.c),
                                        .multiplier = sim_cublas_multiplier(handle, &call->types),
                                        .half_accumulator = scalars == SIM_F16},
                               .a = (uintptr_t)call->a,
                               .b = (uintptr_t)call->b,
                               .c = (uintptr_t)call->c,
                               .scalar_type = scalars};

    if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
        op.alpha = (uintptr_t)call->alpha;
        op.beta = (uintptr_t)call->beta;
    } else {
        op.gemm.alpha = sim_float_load(scalars, call->alpha);
        op.gemm.beta = sim_float_load(scalars, call->beta);
    }
    return op;
}

static cublasStatus_t gemm(cublasHandle_t handle, const struct gemm_call *call)
{
    struct sim_cublas_op op;
    CUcontext current = NULL;
    cublasStatus_t status;

    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    status = check(call);
    if (status != CUBLAS_STATUS_SUCCESS || call->m == 0 || call->n == 0)
        return status;
    op = op_of(handle, call);
    if (call->c == NULL && (op.beta != 0 || op.gemm.beta != 0))
        return CUBLAS_STATUS_INVALID_VALUE;
    /* A thread's first CUDA call finds no context; the runtime inside cuBLAS would attach one. */
    if (cuCtxGetCurrent(&current) != CUDA_SUCCESS ||
        (current == NULL && cuCtxSetCurrent(handle->context) != CUDA_SUCCESS))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    if (sim_cublas_op_enqueue(&op, handle->stream, call->function) != CUDA_SUCCESS)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transa,
                               cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                               const void *alpha, const void *A, cudaDataType Atype, int64_t lda,
                               const void *B, cudaDataType Btype, int64_t ldb, const void *beta,
                               void *C, cudaDataType Ctype, int64_t ldc,
                               cublasComputeType_t computeType, cublasGemmAlgo_t algo)
{
    const struct gemm_call call = {.function = "cublasGemmEx",
                                   .transa = transa,
                                   .transb = transb,
                                   .m = m,
                                   .n = n,
                                   .k = k,
                                   .alpha = alpha,
                                   .a = A,
                                   .b = B,
                                   .beta = beta,
                                   .c = C,
                                   .lda = lda,
                                   .ldb = ldb,
                                   .ldc = ldc,
                                   .types = {computeType, Atype, Btype, Ctype},
                                   .algo = algo};

    return gemm(handle, &call);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void *alpha,
                            const void *A, cudaDataType Atype, int lda, const void *B,
                            cudaDataType Btype, int ldb, const void *beta, void *C,
                            cudaDataType Ctype, int ldc, cublasComputeType_t computeType,
                            cublasGemmAlgo_t algo)
{
    return cublasGemmEx_64(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb,
                           beta, C, Ctype, ldc, computeType, algo);
}

cublasStatus_t cublasSgemm_v2_64(cublasHandle_t handle, cublasOperation_t transa,
                                 cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                 const float *alpha, const float *A, int64_t lda, const float *B,
                                 int64_t ldb, const float *beta, float *C, int64_t ldc)
{
    const struct gemm_call call = {
        .function = "cublasSgemm_v2",
        .transa = transa,
        .transb = transb,
        .m = m,
        .n = n,
        .k = k,
        .alpha = alpha,
        .a = A,
        .b = B,
        .beta = beta,
        .c = C,
        .lda = lda,
        .ldb = ldb,
        .ldc = ldc,
        .types = {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
        .algo = CUBLAS_GEMM_DEFAULT};

    return gemm(handle, &call);
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int m, int n, int k, const float *alpha,
                              const float *A, int lda, const float *B, int ldb, const float *beta,
                              float *C, int ldc)
{
    return cublasSgemm_v2_64(handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}
