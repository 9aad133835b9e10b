/* SPDX-License-Identifier: Apache-2.0 */
/* Grouped GEMMs of the simulated cuBLAS: each group is queued as a pointer-array batch. Sizes,
 * operations and scalars are arrays on the host, whatever the pointer mode.
 */
#include "cublas_call.h"

/* What the two functions' groups have in common; integers are of 4 or 8 bytes. */
struct groups {
    const char *function;
    const cublasOperation_t *transa, *transb;
    const void *m, *n, *k, *lda, *ldb, *ldc, *size;
    const void *alpha, *beta;
    const void *const *a, *const *b;
    void *const *c;
    struct sim_cublas_types types;
    int64_t count;
    bool wide;
};

static int64_t integer(const struct groups *g, const void *array, int64_t i)
{
    return g->wide ? ((const int64_t *)array)[i] : ((const int *)array)[i];
}

static cublasStatus_t run_groups(cublasHandle_t handle, const struct groups *g)
{
    const int64_t scalar_size = (int64_t)sim_float_size(sim_cublas_scalar_type(g->types.compute));
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    int64_t first = 0;

    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (g->count < 0 || handle->pointer_mode != CUBLAS_POINTER_MODE_HOST)
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int64_t i = 0; i < g->count && status == CUBLAS_STATUS_SUCCESS; i++) {
        const struct sim_cublas_call call = {
            .function = g->function,
            .transa = g->transa[i],
            .transb = g->transb[i],
            .m = integer(g, g->m, i),
            .n = integer(g, g->n, i),
            .k = integer(g, g->k, i),
            .alpha = (const char *)g->alpha + i * scalar_size,
            .beta = (const char *)g->beta + i * scalar_size,
            .a = g->a + first,
            .b = g->b + first,
            .c = g->c + first,
            .lda = integer(g, g->lda, i),
            .ldb = integer(g, g->ldb, i),
            .ldc = integer(g, g->ldc, i),
            .types = g->types,
            .algo = CUBLAS_GEMM_DEFAULT,
            .count = integer(g, g->size, i),
            .pointers = true,
        };

        status = sim_cublas_gemm(handle, &call);
        first += call.count;
    }
    return status;
}

#define GROUPED(name, index, scalar, a_list, b_list, c_list, tail, ...)                            \
    cublasStatus_t name(cublasHandle_t handle, const cublasOperation_t transa[],                   \
                        const cublasOperation_t transb[], const index m[], const index n[],        \
                        const index k[], const scalar *alpha, a_list, const index lda[], b_list,   \
                        const index ldb[], const scalar *beta, c_list, const index ldc[],          \
                        index count, const index size[] tail)                                      \
    {                                                                                              \
        const struct groups groups = {.function = #name,                                           \
                                      .transa = transa,                                            \
                                      .transb = transb,                                            \
                                      .m = m,                                                      \
                                      .n = n,                                                      \
                                      .k = k,                                                      \
                                      .lda = lda,                                                  \
                                      .ldb = ldb,                                                  \
                                      .ldc = ldc,                                                  \
                                      .size = size,                                                \
                                      .alpha = alpha,                                              \
                                      .beta = beta,                                                \
                                      .a = (const void *const *)A,                                 \
                                      .b = (const void *const *)B,                                 \
                                      .c = (void *const *)C,                                       \
                                      .types = {__VA_ARGS__},                                      \
                                      .count = count,                                              \
                                      .wide = sizeof(index) == sizeof(int64_t)};                   \
                                                                                                   \
        return run_groups(handle, &groups);                                                        \
    }

/* Macros, since each is more than one parameter. */
#define EX_A    const void *const A[], cudaDataType_t a_type
#define EX_B    const void *const B[], cudaDataType_t b_type
#define EX_C    void *const C[], cudaDataType_t c_type
#define EX_TAIL , cublasComputeType_t compute
GROUPED(cublasGemmGroupedBatchedEx, int, void, EX_A, EX_B, EX_C, EX_TAIL, compute, a_type, b_type,
        c_type)
GROUPED(cublasGemmGroupedBatchedEx_64, int64_t, void, EX_A, EX_B, EX_C, EX_TAIL, compute, a_type,
        b_type, c_type)

#define S_A const float *const A[]
#define S_B const float *const B[]
#define S_C float *const C[]
GROUPED(cublasSgemmGroupedBatched, int, float, S_A, S_B, S_C, , CUBLAS_COMPUTE_32F, CUDA_R_32F,
        CUDA_R_32F, CUDA_R_32F)
GROUPED(cublasSgemmGroupedBatched_64, int64_t, float, S_A, S_B, S_C, , CUBLAS_COMPUTE_32F,
        CUDA_R_32F, CUDA_R_32F, CUDA_R_32F)
