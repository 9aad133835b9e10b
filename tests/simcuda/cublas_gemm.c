/* SPDX-License-Identifier: Apache-2.0 */
/* A GEMM call of the simulated cuBLAS, whatever function it came through. */
#include "cublas_call.h"
#include "cublas_op.h"

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

static cublasStatus_t check(const struct sim_cublas_call *call)
{
    bool a_transposed = call->transa != CUBLAS_OP_N, b_transposed = call->transb != CUBLAS_OP_N;

    if (!is_operation(call->transa) || !is_operation(call->transb) || call->m < 0 || call->n < 0 ||
        call->k < 0 || call->count < 0 || !holds(call->lda, a_transposed ? call->k : call->m) ||
        !holds(call->ldb, b_transposed ? call->n : call->k) || !holds(call->ldc, call->m) ||
        call->alpha == NULL || call->beta == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_algorithm(call->algo))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return sim_cublas_types_check(&call->types, call->function);
}

static struct sim_cublas_op op_of(const struct cublasContext *handle,
                                  const struct sim_cublas_call *call)
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
                               .d = (uintptr_t)call->c,
                               .ldc = call->ldc,
                               .count = call->count,
                               .stride_a = call->stride_a,
                               .stride_b = call->stride_b,
                               .stride_c = call->stride_c,
                               .stride_d = call->stride_c,
                               .pointers = call->pointers,
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

cublasStatus_t sim_cublas_gemm(cublasHandle_t handle, const struct sim_cublas_call *call)
{
    struct sim_cublas_op op;
    CUcontext current = NULL;
    cublasStatus_t status;

    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    status = check(call);
    if (status != CUBLAS_STATUS_SUCCESS || call->m == 0 || call->n == 0 || call->count == 0)
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
