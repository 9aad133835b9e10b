/* SPDX-License-Identifier: Apache-2.0 */
/* See fakecublas.h. Built once per major, MAJOR. */
#include "fakecublas.h"
#include "fakeanswer.h"

#define DEFINE_ONE                FAKE_OMIT
#define DEFINE_BATCH              FAKE_OMIT
#define DEFINE_GROUPS             FAKE_OMIT
#define DEFINE_LT                 FAKE_DEFINE
#define HOOK(name, family, index) FAKE_OF(DEFINE_, MHCS_KIND_##family)(name, family, index)
MHCS_HOOKS(HOOK)
#undef HOOK

static cublasStatus_t give(const void *field, size_t field_bytes, void *value, size_t bytes,
                           size_t *written)
{
    if (!field || bytes != field_bytes) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    memcpy(value, field, bytes);
    *written = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

#define GIVE(field) give(&(field), sizeof(field), value, bytes, written)

FAKE_EXPORT cublasStatus_t cublasLtMatrixLayoutGetAttribute(
    cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, void *value,
    size_t bytes, size_t *written)
{
    const struct fake_layout *const fake = (const struct fake_layout *)layout;

    errno = ENOTTY;
    switch ((int)attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
        return GIVE(fake->type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
        return GIVE(fake->order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
        return GIVE(fake->rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
        return GIVE(fake->columns);
    case CUBLASLT_MATRIX_LAYOUT_LD:
        return GIVE(fake->ld);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
        return GIVE(fake->count);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
        return GIVE(fake->stride);
    case 8: /* BATCH_MODE: not known to version 12 */
        return MAJOR < 13 ? CUBLAS_STATUS_INVALID_VALUE : GIVE(fake->batch_mode);
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

FAKE_EXPORT cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t operation,
                                                          cublasLtMatmulDescAttributes_t attribute,
                                                          void *value, size_t bytes,
                                                          size_t *written)
{
    const struct fake_operation *const fake = (const struct fake_operation *)operation;

    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
        return GIVE(fake->compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
        return GIVE(fake->scale_type);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
        return GIVE(fake->pointer_mode);
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return GIVE(fake->transa);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return GIVE(fake->transb);
    case CUBLASLT_MATMUL_DESC_TRANSC:
        return GIVE(fake->transc);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return GIVE(fake->epilogue);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
        return GIVE(fake->a_scale);
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

FAKE_EXPORT cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(
    const cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute,
    void *value, size_t bytes, size_t *written)
{
    const struct fake_algorithm *const fake = (const struct fake_algorithm *)algorithm;

    return attribute == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME ? GIVE(fake->reduction_scheme)
                                                              : CUBLAS_STATUS_INVALID_VALUE;
}

FAKE_EXPORT size_t cublasLtGetVersion(void)
{
    return MAJOR * 10000 + 100;
}
