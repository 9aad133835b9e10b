/* SPDX-License-Identifier: Apache-2.0 */
/* A cublasLtMatmul as a column-major GEMM.
 *
 * A row-major matrix is a column-major one transposed, so a row-major A or B has its operation
 * turned round, and a row-major result makes the whole product turn: D^T = op(B)^T op(A)^T.
 */
#include "interpose/lt.h"

#include "interpose/filter.h"
#include "kernels/dtype.h"

struct matrix {
    uint32_t type, batch_mode;
    int32_t order, count;
    uint64_t rows, columns;
    int64_t ld, stride;
};

static bool read_matrix(const struct mhcs_library *library, cublasLtMatrixLayout_t layout,
                        struct matrix *matrix)
{
#define READ(attribute, field)                                                                     \
    mhcs_library_layout(library, layout, CUBLASLT_MATRIX_LAYOUT_##attribute, &matrix->field,       \
                        sizeof(matrix->field))
    if (!READ(BATCH_MODE, batch_mode)) { /* unknown before cuBLAS 12.9 */
        matrix->batch_mode = CUBLASLT_BATCH_MODE_STRIDED;
    }
    return READ(TYPE, type) && READ(ORDER, order) && READ(ROWS, rows) && READ(COLS, columns) &&
           READ(LD, ld) && READ(BATCH_COUNT, count) && READ(STRIDED_BATCH_OFFSET, stride) &&
           (matrix->order == CUBLASLT_ORDER_COL || matrix->order == CUBLASLT_ORDER_ROW) &&
           matrix->rows <= INT64_MAX && matrix->columns <= INT64_MAX;
#undef READ
}

/* One side of the product, as its descriptor has it. */
struct factor {
    const void *base;
    cublasOperation_t operation;
    struct matrix matrix;
};

struct product {
    struct factor a, b;
    struct matrix c, d;
    int64_t m, n, k;
};

static bool read_operation(const struct mhcs_library *library, const struct mhcs_lt *lt,
                           cublasLtMatmulDescAttributes_t attribute, cublasOperation_t *operation)
{
    int32_t value;

    if (!mhcs_library_operation(library, lt->operation, attribute, &value, sizeof(value))) {
        return false;
    }
    *operation = (cublasOperation_t)value;
    return true;
}

static bool has_size(const struct factor *factor, int64_t rows, int64_t columns)
{
    const struct matrix *const x = &factor->matrix;
    const bool plain = factor->operation == CUBLAS_OP_N;

    return (int64_t)(plain ? x->rows : x->columns) == rows &&
           (int64_t)(plain ? x->columns : x->rows) == columns;
}

static bool read_product(const struct mhcs_library *library, const struct mhcs_lt *lt,
                         struct product *p)
{
    p->a.base = lt->a;
    p->b.base = lt->b;
    if (!read_operation(library, lt, CUBLASLT_MATMUL_DESC_TRANSA, &p->a.operation) ||
        !read_operation(library, lt, CUBLASLT_MATMUL_DESC_TRANSB, &p->b.operation) ||
        !read_matrix(library, lt->a_layout, &p->a.matrix) ||
        !read_matrix(library, lt->b_layout, &p->b.matrix) ||
        !read_matrix(library, lt->c_layout, &p->c) || !read_matrix(library, lt->d_layout, &p->d)) {
        return false;
    }
    p->m = (int64_t)p->d.rows;
    p->n = (int64_t)p->d.columns;
    p->k = (int64_t)(p->a.operation == CUBLAS_OP_N ? p->a.matrix.columns : p->a.matrix.rows);
    return true;
}

/* The conjugate transpose of a real matrix is its transpose. */
static cublasOperation_t column_major(const struct factor *factor, bool turned)
{
    const bool transposed = factor->operation != CUBLAS_OP_N;
    const bool row_major = factor->matrix.order == CUBLASLT_ORDER_ROW;

    return (transposed != row_major) != turned ? CUBLAS_OP_T : CUBLAS_OP_N;
}

static void to_call(const struct product *p, const struct mhcs_lt *lt, struct mhcs_call *call)
{
    const bool turned = p->d.order == CUBLASLT_ORDER_ROW;
    const struct factor *const a = turned ? &p->b : &p->a, *const b = turned ? &p->a : &p->b;

    *call = (struct mhcs_call){
        .transa = column_major(a, turned),
        .transb = column_major(b, turned),
        .m = turned ? p->n : p->m,
        .n = turned ? p->m : p->n,
        .k = p->k,
        .alpha = lt->alpha,
        .beta = lt->beta,
        .a = a->base,
        .b = b->base,
        .c = lt->c,
        .d = lt->d,
        .a_type = (cudaDataType)a->matrix.type,
        .b_type = (cudaDataType)b->matrix.type,
        .c_type = (cudaDataType)p->d.type,
        .lda = a->matrix.ld,
        .ldb = b->matrix.ld,
        .ldc = p->c.ld,
        .ldd = p->d.ld,
        .count = p->d.count,
        .stride_a = a->matrix.stride,
        .stride_b = b->matrix.stride,
        .stride_c = p->c.stride,
        .stride_d = p->d.stride,
        .pointers = p->d.batch_mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY,
    };
}

bool mhcs_lt_begin(const struct mhcs_library *library, const struct mhcs_lt *lt,
                   struct mhcs_call *call)
{
    struct product p;
    uint64_t m, n;

    if (!mhcs_library_layout(library, lt->d_layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &m, sizeof(m)) ||
        !mhcs_library_layout(library, lt->d_layout, CUBLASLT_MATRIX_LAYOUT_COLS, &n, sizeof(n)) ||
        !mhcs_filter_outer((int64_t)m, (int64_t)n) || !read_product(library, lt, &p) ||
        !mhcs_filter_candidate(p.m, p.n, p.k)) {
        return false;
    }
    to_call(&p, lt, call);
    return true;
}

/* Whether the result is the product and nothing on top. What a library doesn't know can't be set.
 */
static bool is_plain(const struct mhcs_library *library, const struct mhcs_lt *lt)
{
    static const cublasLtMatmulDescAttributes_t scales[] = {
        CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER};
    uint32_t epilogue;
    int32_t transc;

    if (!mhcs_library_operation(library, lt->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                sizeof(epilogue)) ||
        epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
        return false;
    }
    if (mhcs_library_operation(library, lt->operation, CUBLASLT_MATMUL_DESC_TRANSC, &transc,
                               sizeof(transc)) &&
        transc != CUBLAS_OP_N) {
        return false;
    }
    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
        const void *pointer;

        if (mhcs_library_operation(library, lt->operation, scales[i], &pointer, sizeof(pointer)) &&
            pointer) {
            return false;
        }
    }
    return true;
}

/* Split-K may round partial sums to the output type if the chosen algorithm says so; without one
 * the library chooses, and may. */
static cublasMath_t math_mode(const struct mhcs_library *library, const struct mhcs_lt *lt)
{
    uint32_t scheme;

    if (!mhcs_library_algorithm(library, lt->algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme,
                                sizeof(scheme)) ||
        scheme & (CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE)) {
        return CUBLAS_DEFAULT_MATH;
    }
    return CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
}

static bool same_batch(const struct product *p)
{
    const struct matrix *const all[] = {&p->a.matrix, &p->b.matrix, &p->c};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i]->count != p->d.count || all[i]->batch_mode != p->d.batch_mode) {
            return false;
        }
    }
    return true;
}

static bool fits(const struct product *p)
{
    return has_size(&p->a, p->m, p->k) && has_size(&p->b, p->k, p->n) && p->c.rows == p->d.rows &&
           p->c.columns == p->d.columns && p->c.type == p->d.type && p->c.order == p->d.order &&
           same_batch(p);
}

static bool is_zero(const void *scalar, int32_t type)
{
    return scalar && mhcs_element(scalar, type == CUDA_R_16F ? MHCS_F16 : MHCS_F32, 0) == 0;
}

enum mhcs_reason mhcs_lt_read(const struct mhcs_library *library, const struct mhcs_lt *lt,
                              struct mhcs_call *call, struct mhcs_handle_state *state)
{
    struct product p;
    int32_t compute, scale_type, pointer_mode;

    if (!read_product(library, lt, &p) ||
        !mhcs_library_operation(library, lt->operation, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &compute,
                                sizeof(compute)) ||
        !mhcs_library_operation(library, lt->operation, CUBLASLT_MATMUL_DESC_SCALE_TYPE,
                                &scale_type, sizeof(scale_type)) ||
        !mhcs_library_operation(library, lt->operation, CUBLASLT_MATMUL_DESC_POINTER_MODE,
                                &pointer_mode, sizeof(pointer_mode))) {
        return MHCS_REASON_HANDLE;
    }
    if (!is_plain(library, lt) || (pointer_mode != CUBLASLT_POINTER_MODE_HOST &&
                                   pointer_mode != CUBLASLT_POINTER_MODE_DEVICE)) {
        return MHCS_REASON_EPILOGUE;
    }
    if (!fits(&p) ||
        (cudaDataType)scale_type != mhcs_filter_scalar_type((cublasComputeType_t)compute)) {
        return MHCS_REASON_ARGUMENTS;
    }
    to_call(&p, lt, call);
    call->compute = (cublasComputeType_t)compute;
    if (!call->c && pointer_mode == CUBLASLT_POINTER_MODE_HOST && is_zero(lt->beta, scale_type)) {
        call->c = call->d;
        call->ldc = call->ldd;
        call->stride_c = call->stride_d;
    }
    *state = (struct mhcs_handle_state){
        .stream = lt->stream,
        .math_mode = math_mode(library, lt),
        .scalars_on_device = pointer_mode == CUBLASLT_POINTER_MODE_DEVICE,
    };
    return MHCS_REASONS_COUNT;
}
