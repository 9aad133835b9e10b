/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of the simulated cublasLt: made, set and read as documented. An attribute that is not
 * in the tables can't be set, so that a client never believes to have what the simulation lacks.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cublaslt_types.h"

struct attribute {
    int number;
    size_t offset, bytes;
};

#define ATTRIBUTE(number, type, field)                                                             \
    {                                                                                              \
        number, offsetof(struct type, field), sizeof(((struct type *)0)->field)                    \
    }
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct attribute layout_attributes[] = {
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_TYPE, sim_lt_layout, type),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ORDER, sim_lt_layout, order),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ROWS, sim_lt_layout, rows),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_COLS, sim_lt_layout, columns),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_LD, sim_lt_layout, ld),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, sim_lt_layout, count),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, sim_lt_layout, stride),
    ATTRIBUTE(8, sim_lt_layout, batch_mode), /* BATCH_MODE, in headers since 12.9 */
};

static const struct attribute operation_attributes[] = {
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, sim_lt_operation, compute),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_SCALE_TYPE, sim_lt_operation, scale_type),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_POINTER_MODE, sim_lt_operation, pointer_mode),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSA, sim_lt_operation, transa),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSB, sim_lt_operation, transb),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSC, sim_lt_operation, transc),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE, sim_lt_operation, epilogue),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_POINTER, sim_lt_operation, bias),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, sim_lt_operation, a_scale),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, sim_lt_operation, b_scale),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, sim_lt_operation, c_scale),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, sim_lt_operation, d_scale),
};

static const struct attribute algorithm_attributes[] = {
    ATTRIBUTE(CUBLASLT_ALGO_CONFIG_ID, sim_lt_algorithm, id),
    ATTRIBUTE(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, sim_lt_algorithm, splits),
    ATTRIBUTE(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, sim_lt_algorithm, reduction_scheme),
};

static const struct attribute *find(const struct attribute *table, size_t count, int number)
{
    for (size_t i = 0; i < count; i++) {
        if (table[i].number == number)
            return &table[i];
    }
    return NULL;
}

static cublasStatus_t set(const struct attribute *table, size_t count, int number, void *object,
                          const void *value, size_t bytes)
{
    const struct attribute *attribute = find(table, count, number);

    if (attribute == NULL || object == NULL || value == NULL || bytes != attribute->bytes)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy((char *)object + attribute->offset, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t get(const struct attribute *table, size_t count, int number,
                          const void *object, void *value, size_t bytes, size_t *written)
{
    const struct attribute *attribute = find(table, count, number);

    if (attribute == NULL || object == NULL || (bytes == 0 && written == NULL) ||
        (bytes != 0 && (value == NULL || bytes != attribute->bytes)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (bytes != 0)
        memcpy(value, (const char *)object + attribute->offset, bytes);
    if (written != NULL)
        *written = attribute->bytes;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- layouts ---- */

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t size,
                                                 cudaDataType type, uint64_t rows, uint64_t cols,
                                                 int64_t ld)
{
    if (layout == NULL || size < sizeof(struct sim_lt_layout))
        return CUBLAS_STATUS_INVALID_VALUE;
    *(struct sim_lt_layout *)layout = (struct sim_lt_layout){.type = (uint32_t)type,
                                                             .order = CUBLASLT_ORDER_COL,
                                                             .count = 1,
                                                             .rows = rows,
                                                             .columns = cols,
                                                             .ld = ld};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld)
{
    *layout = calloc(1, sizeof **layout);
    if (*layout == NULL)
        return CUBLAS_STATUS_ALLOC_FAILED;
    return cublasLtMatrixLayoutInit_internal(*layout, sizeof **layout, type, rows, cols, ld);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(const cublasLtMatrixLayout_t layout)
{
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attr,
                                                const void *buf, size_t bytes)
{
    return set(layout_attributes, COUNT(layout_attributes), (int)attr, layout, buf, bytes);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attr, void *buf,
                                                size_t bytes, size_t *written)
{
    return get(layout_attributes, COUNT(layout_attributes), (int)attr, layout, buf, bytes, written);
}

/* ---- operations ---- */

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t operation, size_t size,
                                               cublasComputeType_t compute, cudaDataType_t scale)
{
    if (operation == NULL || size < sizeof(struct sim_lt_operation))
        return CUBLAS_STATUS_INVALID_VALUE;
    *(struct sim_lt_operation *)operation =
        (struct sim_lt_operation){.compute = (int32_t)compute,
                                  .scale_type = (int32_t)scale,
                                  .epilogue = CUBLASLT_EPILOGUE_DEFAULT};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *operation,
                                        cublasComputeType_t compute, cudaDataType_t scale)
{
    *operation = calloc(1, sizeof **operation);
    if (*operation == NULL)
        return CUBLAS_STATUS_ALLOC_FAILED;
    return cublasLtMatmulDescInit_internal(*operation, sizeof **operation, compute, scale);
}

cublasStatus_t cublasLtMatmulDescDestroy(const cublasLtMatmulDesc_t operation)
{
    free(operation);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attr, const void *buf,
                                              size_t bytes)
{
    return set(operation_attributes, COUNT(operation_attributes), (int)attr, operation, buf, bytes);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attr, void *buf,
                                              size_t bytes, size_t *written)
{
    return get(operation_attributes, COUNT(operation_attributes), (int)attr, operation, buf, bytes,
               written);
}

/* ---- algorithms ---- */

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attr,
                                                    const void *buf, size_t bytes)
{
    return set(algorithm_attributes, COUNT(algorithm_attributes), (int)attr, algo, buf, bytes);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attr,
                                                    void *buf, size_t bytes, size_t *written)
{
    return get(algorithm_attributes, COUNT(algorithm_attributes), (int)attr, algo, buf, bytes,
               written);
}
