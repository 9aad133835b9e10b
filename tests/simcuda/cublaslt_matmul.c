/* SPDX-License-Identifier: Apache-2.0 */
/* cublasLtMatmul of the simulated cublasLt: the product alone, without epilogues. What is more is
 * refused, with a line on stderr where NVIDIA's library has it.
 *
 * The arithmetic is that of a column-major GEMM. Row-major matrices are its transposes: those of A
 * and B turn their operation round; for those of C and D the whole product is turned.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cublas_handle.h"
#include "cublas_op.h"
#include "cublas_types.h"
#include "cublaslt_types.h"

#if SIM_CUBLAS_MAJOR == 13
#define VERSION 130100
#elif SIM_CUBLAS_MAJOR == 12
#define VERSION 120901
#endif

size_t cublasLtGetVersion(void)
{
    return VERSION;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    CUcontext context;

    if (handle == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (cuInit(0) != CUDA_SUCCESS || cuCtxGetCurrent(&context) != CUDA_SUCCESS)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = calloc(1, 1);
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

/* One side of the product as a column-major operand. */
struct side {
    const struct sim_lt_layout *layout;
    bool transposed;
    const void *data;
};

static bool is_transposed(int32_t operation, const struct sim_lt_layout *layout)
{
    return (operation != CUBLAS_OP_N) != (layout->order == CUBLASLT_ORDER_ROW);
}

/* Rows and columns of op(X) or X. */
static bool has_size(const struct sim_lt_layout *x, int32_t operation, uint64_t rows,
                     uint64_t columns)
{
    const bool plain = operation == CUBLAS_OP_N;

    return (plain ? x->rows : x->columns) == rows && (plain ? x->columns : x->rows) == columns;
}

static bool is_well_formed(const struct sim_lt_layout *x)
{
    return x != NULL && x->count >= 1 && x->rows <= INT32_MAX && x->columns <= INT32_MAX &&
           (x->order == CUBLASLT_ORDER_COL || x->order == CUBLASLT_ORDER_ROW) &&
           x->ld >= (int64_t)(x->order == CUBLASLT_ORDER_COL ? x->rows : x->columns);
}

struct matmul {
    const struct sim_lt_operation *operation;
    const struct sim_lt_layout *a, *b, *c, *d;
};

static cublasStatus_t check(const struct matmul *x, struct sim_cublas_types *types)
{
    const struct sim_lt_operation *o = x->operation;
    uint64_t k;

    if (o == NULL || !is_well_formed(x->a) || !is_well_formed(x->b) || !is_well_formed(x->c) ||
        !is_well_formed(x->d))
        return CUBLAS_STATUS_INVALID_VALUE;
    k = o->transa == CUBLAS_OP_N ? x->a->columns : x->a->rows;
    if (!has_size(x->a, o->transa, x->d->rows, k) || !has_size(x->b, o->transb, k, x->d->columns) ||
        !has_size(x->c, CUBLAS_OP_N, x->d->rows, x->d->columns) || x->c->type != x->d->type ||
        x->c->order != x->d->order || x->a->count != x->d->count || x->b->count != x->d->count ||
        x->c->count != x->d->count || x->a->batch_mode != x->d->batch_mode ||
        x->b->batch_mode != x->d->batch_mode || x->c->batch_mode != x->d->batch_mode)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (o->epilogue != CUBLASLT_EPILOGUE_DEFAULT ||
        o->pointer_mode > CUBLASLT_POINTER_MODE_DEVICE || o->a_scale || o->b_scale || o->c_scale ||
        o->d_scale) {
        fprintf(stderr,
                "simcuda: cublasLtMatmul with epilogue %u or scale pointers is not "
                "simulated; NVIDIA's has it\n",
                o->epilogue);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    *types = (struct sim_cublas_types){(cublasComputeType_t)o->compute, (cudaDataType)x->a->type,
                                       (cudaDataType)x->b->type, (cudaDataType)x->d->type};
    return sim_cublas_types_check(types, "cublasLtMatmul");
}

static struct sim_gemm_operand operand_of(const struct side *side)
{
    return (struct sim_gemm_operand){.ld = side->layout->ld,
                                     .type = sim_cublas_float((cudaDataType)side->layout->type),
                                     .transposed = side->transposed};
}

static struct sim_cublas_op op_of(const struct matmul *x, const struct sim_cublas_types *types,
                                  const struct side *left, const struct side *right)
{
    static const struct cublasContext defaults; /* no math mode here */
    const bool turned = x->d->order == CUBLASLT_ORDER_ROW;
    const struct sim_lt_operation *o = x->operation;

    return (struct sim_cublas_op){
        .gemm = {.m = (int64_t)(turned ? x->d->columns : x->d->rows),
                 .n = (int64_t)(turned ? x->d->rows : x->d->columns),
                 .k = (int64_t)(o->transa == CUBLAS_OP_N ? x->a->columns : x->a->rows),
                 .a = operand_of(left),
                 .b = operand_of(right),
                 .ldc = x->d->ld,
                 .c_type = sim_cublas_float((cudaDataType)x->d->type),
                 .multiplier = sim_cublas_multiplier(&defaults, types),
                 .half_accumulator = sim_cublas_scalar_type(types->compute) == SIM_F16},
        .a = (uintptr_t)left->data,
        .b = (uintptr_t)right->data,
        .ldc = x->c->ld,
        .count = x->d->count,
        .stride_a = left->layout->stride,
        .stride_b = right->layout->stride,
        .stride_c = x->c->stride,
        .stride_d = x->d->stride,
        .pointers = x->d->batch_mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY,
        .scalar_type = sim_cublas_scalar_type(types->compute),
    };
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                              const void *alpha, const void *A, cublasLtMatrixLayout_t a_layout,
                              const void *B, cublasLtMatrixLayout_t b_layout, const void *beta,
                              const void *C, cublasLtMatrixLayout_t c_layout, void *D,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    const struct matmul x = {(struct sim_lt_operation *)operation, (struct sim_lt_layout *)a_layout,
                             (struct sim_lt_layout *)b_layout, (struct sim_lt_layout *)c_layout,
                             (struct sim_lt_layout *)d_layout};
    struct sim_cublas_types types;
    struct sim_cublas_op op;
    cublasStatus_t status;

    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (alpha == NULL || beta == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    status = check(&x, &types);
    if (status != CUBLAS_STATUS_SUCCESS || x.d->rows == 0 || x.d->columns == 0)
        return status;

    const bool turned = x.d->order == CUBLASLT_ORDER_ROW;
    const struct side a = {x.a, is_transposed(x.operation->transa, x.a) != turned, A};
    const struct side b = {x.b, is_transposed(x.operation->transb, x.b) != turned, B};

    op = turned ? op_of(&x, &types, &b, &a) : op_of(&x, &types, &a, &b);
    op.c = (uintptr_t)C;
    op.d = (uintptr_t)D;
    if (x.operation->pointer_mode == CUBLASLT_POINTER_MODE_DEVICE) {
        op.alpha = (uintptr_t)alpha;
        op.beta = (uintptr_t)beta;
    } else {
        op.gemm.alpha = sim_float_load(op.scalar_type, alpha);
        op.gemm.beta = sim_float_load(op.scalar_type, beta);
    }
    return sim_cublas_op_enqueue(&op, stream, "cublasLtMatmul") == CUDA_SUCCESS
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}
