/* SPDX-License-Identifier: Apache-2.0 */
/* Shape match, folding of a call into strides, and the declared arithmetic. */
#include "interpose/filter.h"

/* cublasMath_t: the low bits hold the mode, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION is a
 * flag on top (the toolkit's own inline functions mask the same way). */
#define MATH_MODE_MASK 0xf

/* No matrix spans more bytes than an address has room for; keeps stride arithmetic in range. */
#define SPAN_MAX (INT64_C(1) << 48)

static bool is_shape(const struct mhcs_settings *settings, int64_t coefficients, int64_t k)
{
    for (uint32_t i = 0; i < settings->shape_count; i++) {
        if (settings->shapes[i].coefficients == coefficients && settings->shapes[i].k == k) {
            return true;
        }
    }
    return false;
}

enum mhcs_side mhcs_filter_match(const struct mhcs_settings *settings, int64_t m, int64_t n,
                                 int64_t k)
{
    if (m <= 0 || n <= 0) {
        return MHCS_SIDE_NONE;
    }
    if (is_shape(settings, m, k)) {
        return MHCS_SIDE_A;
    }
    if (is_shape(settings, n, k) && m != k / MHCS_STREAMS) {
        return MHCS_SIDE_B;
    }
    return MHCS_SIDE_NONE;
}

static bool fold_dtype(cudaDataType type, uint32_t *dtype)
{
    switch (type) {
    case CUDA_R_32F:
        *dtype = MHCS_F32;
        return true;
    case CUDA_R_16BF:
        *dtype = MHCS_BF16;
        return true;
    case CUDA_R_16F:
        *dtype = MHCS_F16;
        return true;
    default:
        return false;
    }
}

cudaDataType mhcs_filter_scalar_type(cublasComputeType_t compute)
{
    switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
        return CUDA_R_16F;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
        return CUDA_R_32F;
    default:
        return CUDA_R_64F;
    }
}

static size_t type_bytes(cudaDataType type)
{
    return type == CUDA_R_32F ? 4 : 2;
}

/* Address of the matrix of an entry, or of where that address stands on the device. */
static uintptr_t entry_base(const struct mhcs_call *call, const void *first, long long stride,
                            size_t element_bytes, int64_t entry)
{
    const uint64_t apart = call->pointers ? sizeof(void *) : (uint64_t)stride * element_bytes;

    return (uintptr_t)first + (uint64_t)entry * apart;
}

const void *mhcs_filter_weights(const struct mhcs_call *call, enum mhcs_side side, int64_t entry)
{
    if (call->pointers) {
        return NULL;
    }
    return side == MHCS_SIDE_A ? (const void *)entry_base(call, call->a, call->stride_a,
                                                          type_bytes(call->a_type), entry)
                               : (const void *)entry_base(call, call->b, call->stride_b,
                                                          type_bytes(call->b_type), entry);
}

/* A stored matrix: column-major, `rows` used of every `ld` elements, `columns` times. cuBLAS
 * refuses ld < rows, but only after our first half has run: such a call must not reach it. */
static bool is_stored(const void *base, int64_t rows, int64_t columns, int64_t ld)
{
    int64_t span;

    return base && ld >= rows && !__builtin_mul_overflow(ld, columns, &span) && span <= SPAN_MAX;
}

/* An operand read as `outer` vectors of length k, each contiguous in k or not: op(A) is outer x k,
 * op(B) k x outer, so that transposition means the opposite on the two sides. */
static bool fold_operand(const void *base, cudaDataType type, int64_t ld, int64_t outer, int64_t k,
                         bool contiguous, struct mhcs_operand *operand)
{
    operand->row = contiguous ? ld : 1;
    operand->col = contiguous ? 1 : ld;
    return fold_dtype(type, &operand->dtype) &&
           (contiguous ? is_stored(base, k, outer, ld) : is_stored(base, outer, k, ld));
}

static bool fold_result(const void *base, cudaDataType type, int64_t ld, bool fn_is_a, int64_t m,
                        int64_t n, struct mhcs_operand *operand)
{
    operand->row = fn_is_a ? ld : 1;
    operand->col = fn_is_a ? 1 : ld;
    return fold_dtype(type, &operand->dtype) && is_stored(base, m, n, ld);
}

/* Real matrices: the conjugate transpose is the transpose. CUBLAS_OP_CONJG is refused by cuBLAS. */
static bool is_operation(cublasOperation_t operation)
{
    return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

bool mhcs_filter_fold(const struct mhcs_call *call, enum mhcs_side side, int64_t entry,
                      struct mhcs_gemm *gemm)
{
    const bool fn_is_a = side == MHCS_SIDE_A;
    const size_t c_bytes = type_bytes(call->c_type);
    struct mhcs_operand a = {.indirect = call->pointers}, b = a, c = a, old_c = a;
    bool followed;

    a.base = entry_base(call, call->a, call->stride_a, type_bytes(call->a_type), entry);
    b.base = entry_base(call, call->b, call->stride_b, type_bytes(call->b_type), entry);
    c.base = entry_base(call, call->d, call->stride_d, c_bytes, entry);
    old_c.base = entry_base(call, call->c, call->stride_c, c_bytes, entry);
    followed = call->alpha && call->beta && is_operation(call->transa) &&
               is_operation(call->transb) &&
               fold_dtype(mhcs_filter_scalar_type(call->compute), &gemm->scalar_dtype) &&
               fold_operand(call->a, call->a_type, call->lda, call->m, call->k,
                            call->transa != CUBLAS_OP_N, &a) &&
               fold_operand(call->b, call->b_type, call->ldb, call->n, call->k,
                            call->transb == CUBLAS_OP_N, &b) &&
               fold_result(call->d, call->c_type, call->ldd, fn_is_a, call->m, call->n, &c) &&
               fold_result(call->c, call->c_type, call->ldc, fn_is_a, call->m, call->n, &old_c);
    gemm->tokens = fn_is_a ? call->n : call->m;
    gemm->coefficients = (uint32_t)(fn_is_a ? call->m : call->n);
    gemm->k = (uint32_t)call->k;
    gemm->alpha = call->alpha;
    gemm->beta = call->beta;
    gemm->fn = fn_is_a ? a : b;
    gemm->x = fn_is_a ? b : a;
    gemm->c = c;
    gemm->old_c = old_c;
    return followed;
}

/* CUBLAS_COMPUTE_32F leaves the arithmetic to the math mode, for fp32 operands; 16-bit operands are
 * exact in every mode. */
static enum mhcs_compute fold_math_mode(cudaDataType a_type, unsigned mode)
{
    if (mode == CUBLAS_PEDANTIC_MATH) {
        return MHCS_COMPUTE_F32_PEDANTIC;
    }
    if (a_type != CUDA_R_32F) {
        return MHCS_COMPUTE_F32;
    }
    switch (mode) {
    case CUBLAS_TENSOR_OP_MATH: /* deprecated; documented as FAST_16F */
        return MHCS_COMPUTE_F16;
    case CUBLAS_TF32_TENSOR_OP_MATH:
        return MHCS_COMPUTE_TF32;
    case CUBLAS_FP32_EMULATED_BF16X9_MATH:
        return MHCS_COMPUTE_BF16X9;
    default:
        return MHCS_COMPUTE_F32;
    }
}

static enum mhcs_compute fold_compute(cublasComputeType_t compute, cudaDataType a_type,
                                      unsigned mode)
{
    switch (compute) {
    case CUBLAS_COMPUTE_32F:
        return fold_math_mode(a_type, mode);
    case CUBLAS_COMPUTE_32F_PEDANTIC:
        return MHCS_COMPUTE_F32_PEDANTIC;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
        return MHCS_COMPUTE_TF32;
    case CUBLAS_COMPUTE_32F_FAST_16BF:
        return MHCS_COMPUTE_BF16;
    case CUBLAS_COMPUTE_32F_FAST_16F:
        return MHCS_COMPUTE_F16;
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
        return MHCS_COMPUTE_BF16X9;
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
        return MHCS_COMPUTE_F16_ACCUMULATE;
    default:
        return MHCS_COMPUTE_OTHER;
    }
}

enum mhcs_compute mhcs_filter_compute(cublasComputeType_t compute, cudaDataType a_type,
                                      cublasMath_t math_mode, bool tf32_allowed)
{
    const enum mhcs_compute declared =
        fold_compute(compute, a_type, (unsigned)math_mode & MATH_MODE_MASK);

    return declared == MHCS_COMPUTE_TF32 && !tf32_allowed ? MHCS_COMPUTE_F32 : declared;
}

bool mhcs_filter_reduced_reduction(cublasComputeType_t compute, cublasMath_t math_mode)
{
    const unsigned mode = (unsigned)math_mode;

    return !(mode & CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) &&
           (mode & MATH_MODE_MASK) != CUBLAS_PEDANTIC_MATH &&
           compute != CUBLAS_COMPUTE_32F_PEDANTIC && compute != CUBLAS_COMPUTE_16F_PEDANTIC;
}
