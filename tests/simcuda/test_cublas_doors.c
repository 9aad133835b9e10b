/* SPDX-License-Identifier: Apache-2.0 */
/* Every GEMM function of the simulated cuBLAS against the definition of the product, on small
 * integers, which are exact in every type and order of summation.
 */
#include <cublas_v2.h>
#include <cublasLt.h>
#include <cuda.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rounding.h"

/* Declared by the toolkit for C++ alone. */
struct __half;
cublasStatus_t cublasHgemm(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                           const struct __half *, const struct __half *, int, const struct __half *,
                           int, const struct __half *, struct __half *, int);
cublasStatus_t cublasHgemmStridedBatched_64(cublasHandle_t, cublasOperation_t, cublasOperation_t,
                                            int64_t, int64_t, int64_t, const struct __half *,
                                            const struct __half *, int64_t, long long,
                                            const struct __half *, int64_t, long long,
                                            const struct __half *, struct __half *, int64_t,
                                            long long, int64_t);
cublasStatus_t cublasHgemmBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                  int, const struct __half *, const struct __half *const[], int,
                                  const struct __half *const[], int, const struct __half *,
                                  struct __half *const[], int, int);

#define M     5
#define N     7
#define K     9
#define BATCH 3
#define LDA   (K + 2) /* A is stored k x m */
#define LDB   (K + 1)
#define LDC   (M + 3)
#define LDD   (M + 4)
#define ALPHA 2
#define BETA  3

/* Elements of one entry, with a gap behind. */
#define A_STRIDE (LDA * M + 11)
#define B_STRIDE (LDB * N + 13)
#define C_STRIDE (LDC * N + 17)
#define D_STRIDE (LDD * N + 19)

static cublasHandle_t handle;

static struct batch {
    float a[BATCH * A_STRIDE], b[BATCH * B_STRIDE], c[BATCH * C_STRIDE];
    CUdeviceptr device_a, device_b, device_c, device_d;
    CUdeviceptr array_a, array_b, array_c, array_d; /* addresses of the entries */
    enum sim_float in, out, scalars;
    unsigned char alpha[4], beta[4];
} x;

static void fill(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(rand() % 9 - 4);
}

static CUdeviceptr upload(const float *values, size_t count, enum sim_float type)
{
    const size_t size = sim_float_size(type);
    unsigned char *const packed = malloc(count * size);
    CUdeviceptr to = 0;

    assert_non_null(packed);
    for (size_t i = 0; i < count; i++)
        sim_float_store(type, packed + i * size, values[i]);
    assert_int_equal(cuMemAlloc(&to, count * size), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyHtoD(to, packed, count * size), CUDA_SUCCESS);
    free(packed);
    return to;
}

static CUdeviceptr upload_addresses(CUdeviceptr first, size_t stride, enum sim_float type)
{
    CUdeviceptr addresses[BATCH], to = 0;

    for (size_t i = 0; i < BATCH; i++)
        addresses[i] = first + i * stride * sim_float_size(type);
    assert_int_equal(cuMemAlloc(&to, sizeof addresses), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyHtoD(to, addresses, sizeof addresses), CUDA_SUCCESS);
    return to;
}

static void prepare(enum sim_float in, enum sim_float out, enum sim_float scalars)
{
    static float nothing[BATCH * D_STRIDE];

    x.in = in;
    x.out = out;
    x.scalars = scalars;
    fill(x.a, BATCH * A_STRIDE);
    fill(x.b, BATCH * B_STRIDE);
    fill(x.c, BATCH * C_STRIDE);
    x.device_a = upload(x.a, BATCH * A_STRIDE, in);
    x.device_b = upload(x.b, BATCH * B_STRIDE, in);
    x.device_c = upload(x.c, BATCH * C_STRIDE, out);
    x.device_d = upload(nothing, BATCH * D_STRIDE, out);
    x.array_a = upload_addresses(x.device_a, A_STRIDE, in);
    x.array_b = upload_addresses(x.device_b, B_STRIDE, in);
    x.array_c = upload_addresses(x.device_c, C_STRIDE, out);
    x.array_d = upload_addresses(x.device_d, D_STRIDE, out);
    sim_float_store(scalars, x.alpha, ALPHA);
    sim_float_store(scalars, x.beta, BETA);
}

/* A^T B of `entries` entries stands at `device`, scaled and added, and nothing else changed. */
static void check(const char *what, CUdeviceptr device, int64_t ld, int64_t stride, int entries)
{
    const size_t size = sim_float_size(x.out);
    unsigned char *const got = malloc((size_t)(BATCH * stride) * size);

    assert_non_null(got);
    assert_int_equal(cuMemcpyDtoH(got, device, (size_t)(BATCH * stride) * size), CUDA_SUCCESS);
    for (int e = 0; e < BATCH; e++) {
        for (int64_t i = 0; i < M; i++) {
            for (int64_t j = 0; j < N; j++) {
                float wanted = x.c[e * C_STRIDE + i + j * LDC], sum = 0, value;

                for (int64_t l = 0; l < K; l++)
                    sum += x.a[e * A_STRIDE + l + i * LDA] * x.b[e * B_STRIDE + l + j * LDB];
                if (e < entries)
                    wanted = ALPHA * sum + BETA * wanted;
                else if (device == x.device_d)
                    wanted = 0;
                value = sim_float_load(x.out, got + (size_t)(e * stride + i + j * ld) * size);
                if (value != wanted)
                    fail_msg("%s: entry %d, row %d, column %d is %g, not %g", what, e, (int)i,
                             (int)j, (double)value, (double)wanted);
            }
        }
    }
    free(got);
    for (size_t i = 0; i < 8; i++)
        cuMemFree((&x.device_a)[i]);
}

#define CHECK(name, entries, ...)                                                                  \
    do {                                                                                           \
        assert_int_equal(name(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, __VA_ARGS__),             \
                         CUBLAS_STATUS_SUCCESS);                                                   \
        check(#name, x.device_c, LDC, C_STRIDE, entries);                                          \
    } while (0)

#define A      ((void *)x.device_a)
#define B      ((void *)x.device_b)
#define C      ((void *)x.device_c)
#define ALPHA_ ((const void *)x.alpha)
#define BETA_  ((const void *)x.beta)

static void single_gemms(void **state)
{
    const cublasComputeType_t f32 = CUBLAS_COMPUTE_32F;
    const cublasGemmAlgo_t algo = CUBLAS_GEMM_DEFAULT;

    (void)state;
    prepare(SIM_BF16, SIM_F32, SIM_F32);
    CHECK(cublasGemmEx, 1, ALPHA_, A, CUDA_R_16BF, LDA, B, CUDA_R_16BF, LDB, BETA_, C, CUDA_R_32F,
          LDC, f32, algo);
    prepare(SIM_F16, SIM_F16, SIM_F16);
    CHECK(cublasGemmEx_64, 1, ALPHA_, A, CUDA_R_16F, LDA, B, CUDA_R_16F, LDB, BETA_, C, CUDA_R_16F,
          LDC, CUBLAS_COMPUTE_16F, algo);
    prepare(SIM_F32, SIM_F32, SIM_F32);
    CHECK(cublasSgemm, 1, ALPHA_, A, LDA, B, LDB, BETA_, C, LDC);
    prepare(SIM_F32, SIM_F32, SIM_F32);
    CHECK(cublasSgemm_64, 1, ALPHA_, A, LDA, B, LDB, BETA_, C, LDC);
    prepare(SIM_BF16, SIM_BF16, SIM_F32);
    CHECK(cublasSgemmEx, 1, ALPHA_, A, CUDA_R_16BF, LDA, B, CUDA_R_16BF, LDB, BETA_, C, CUDA_R_16BF,
          LDC);
    prepare(SIM_F16, SIM_F16, SIM_F16);
    CHECK(cublasHgemm, 1, ALPHA_, A, LDA, B, LDB, BETA_, C, LDC);
}

static void strided_batches(void **state)
{
    (void)state;
    prepare(SIM_BF16, SIM_F32, SIM_F32);
    CHECK(cublasGemmStridedBatchedEx, BATCH, ALPHA_, A, CUDA_R_16BF, LDA, A_STRIDE, B, CUDA_R_16BF,
          LDB, B_STRIDE, BETA_, C, CUDA_R_32F, LDC, C_STRIDE, BATCH, CUBLAS_COMPUTE_32F,
          CUBLAS_GEMM_DEFAULT);
    prepare(SIM_F32, SIM_F32, SIM_F32);
    CHECK(cublasSgemmStridedBatched, BATCH, ALPHA_, A, LDA, A_STRIDE, B, LDB, B_STRIDE, BETA_, C,
          LDC, C_STRIDE, BATCH);
    prepare(SIM_F32, SIM_F32, SIM_F32);
    CHECK(cublasSgemmStridedBatched, 2, ALPHA_, A, LDA, A_STRIDE, B, LDB, B_STRIDE, BETA_, C, LDC,
          C_STRIDE, 2);
    prepare(SIM_F16, SIM_F16, SIM_F16);
    CHECK(cublasHgemmStridedBatched_64, BATCH, ALPHA_, A, LDA, A_STRIDE, B, LDB, B_STRIDE, BETA_, C,
          LDC, C_STRIDE, BATCH);
}

static void pointer_array_batches(void **state)
{
    const void *const *a, *const *b;
    void *const *c;

    (void)state;
#define TAKE_ARRAYS a = (void *)x.array_a, b = (void *)x.array_b, c = (void *)x.array_c
    prepare(SIM_BF16, SIM_F32, SIM_F32);
    TAKE_ARRAYS;
    CHECK(cublasGemmBatchedEx, BATCH, ALPHA_, a, CUDA_R_16BF, LDA, b, CUDA_R_16BF, LDB, BETA_, c,
          CUDA_R_32F, LDC, BATCH, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    prepare(SIM_F32, SIM_F32, SIM_F32);
    TAKE_ARRAYS;
    CHECK(cublasSgemmBatched, BATCH, ALPHA_, (const float *const *)a, LDA, (const float *const *)b,
          LDB, BETA_, (float *const *)c, LDC, BATCH);
    prepare(SIM_F16, SIM_F16, SIM_F16);
    TAKE_ARRAYS;
    CHECK(cublasHgemmBatched, BATCH, ALPHA_, (const struct __half *const *)a, LDA,
          (const struct __half *const *)b, LDB, BETA_, (struct __half *const *)c, LDC, BATCH);
}

/* Two groups: the first entry, then the other two. */
static void groups(void **state)
{
    const cublasOperation_t transa[] = {CUBLAS_OP_T, CUBLAS_OP_T};
    const cublasOperation_t transb[] = {CUBLAS_OP_N, CUBLAS_OP_N};
    const int m[] = {M, M}, n[] = {N, N}, k[] = {K, K}, size[] = {1, BATCH - 1};
    const int lda[] = {LDA, LDA}, ldb[] = {LDB, LDB}, ldc[] = {LDC, LDC};
    const int64_t m_64[] = {M, M}, n_64[] = {N, N}, k_64[] = {K, K}, size_64[] = {1, BATCH - 1};
    const int64_t lda_64[] = {LDA, LDA}, ldb_64[] = {LDB, LDB}, ldc_64[] = {LDC, LDC};
    const float alpha[] = {ALPHA, ALPHA}, beta[] = {BETA, BETA};

    (void)state;
    prepare(SIM_BF16, SIM_BF16, SIM_F32);
    assert_int_equal(cublasGemmGroupedBatchedEx(
                         handle, transa, transb, m, n, k, alpha, (void *)x.array_a, CUDA_R_16BF,
                         lda, (void *)x.array_b, CUDA_R_16BF, ldb, beta, (void *)x.array_c,
                         CUDA_R_16BF, ldc, 2, size, CUBLAS_COMPUTE_32F),
                     CUBLAS_STATUS_SUCCESS);
    check("cublasGemmGroupedBatchedEx", x.device_c, LDC, C_STRIDE, BATCH);
    prepare(SIM_F32, SIM_F32, SIM_F32);
    assert_int_equal(cublasSgemmGroupedBatched_64(
                         handle, transa, transb, m_64, n_64, k_64, alpha, (void *)x.array_a, lda_64,
                         (void *)x.array_b, ldb_64, beta, (void *)x.array_c, ldc_64, 2, size_64),
                     CUBLAS_STATUS_SUCCESS);
    check("cublasSgemmGroupedBatched_64", x.device_c, LDC, C_STRIDE, BATCH);
}

/* ---- cublasLt ---- */

static void set_layout(cublasLtMatrixLayout_t layout, int64_t stride, bool pointers)
{
    const int32_t count = BATCH;
    const uint32_t mode =
        pointers ? CUBLASLT_BATCH_MODE_POINTER_ARRAY : CUBLASLT_BATCH_MODE_STRIDED;

    assert_int_equal(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                      &count, sizeof count),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasLtMatrixLayoutSetAttribute(layout,
                                                      CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                      &stride, sizeof stride),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE,
                                                      &mode, sizeof mode),
                     CUBLAS_STATUS_SUCCESS);
}

/* A matrix stored column-major, rows x columns: as it is, or told as its row-major transpose. */
static cublasLtMatrixLayout_t layout_of(cudaDataType type, uint64_t rows, uint64_t columns,
                                        int64_t ld, bool row_major)
{
    const int32_t order = CUBLASLT_ORDER_ROW;
    cublasLtMatrixLayout_t layout;

    assert_int_equal(cublasLtMatrixLayoutCreate(&layout, type, row_major ? columns : rows,
                                                row_major ? rows : columns, ld),
                     CUBLAS_STATUS_SUCCESS);
    if (row_major)
        assert_int_equal(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER,
                                                          &order, sizeof order),
                         CUBLAS_STATUS_SUCCESS);
    return layout;
}

/* The same product, its matrices told in either order: with D row-major the roles of A and B are
 * exchanged, D^T = B^T A. */
static void run_lt(bool a_row_major, bool b_row_major, bool d_row_major, bool pointers)
{
    const int32_t transposed = CUBLAS_OP_T;
    cublasLtMatrixLayout_t a = layout_of(CUDA_R_16BF, K, M, LDA, a_row_major);
    cublasLtMatrixLayout_t b = layout_of(CUDA_R_16BF, K, N, LDB, b_row_major);
    cublasLtMatrixLayout_t c = layout_of(CUDA_R_32F, M, N, LDC, d_row_major);
    cublasLtMatrixLayout_t d = layout_of(CUDA_R_32F, M, N, LDD, d_row_major);
    cublasLtMatmulDesc_t operation;
    cublasLtHandle_t lt;
    /* Column-major: op(A) = A^T, op(B) = B. Row-major results: op(B) = B^T, op(A) = A come first.
     */
    const bool turn_a = d_row_major ? a_row_major : !a_row_major;
    const bool turn_b = d_row_major ? !b_row_major : b_row_major;

    prepare(SIM_BF16, SIM_F32, SIM_F32);
    assert_int_equal(cublasLtCreate(&lt), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                     CUBLAS_STATUS_SUCCESS);
    if (d_row_major ? turn_b : turn_a)
        cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                       sizeof transposed);
    if (d_row_major ? turn_a : turn_b)
        cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &transposed,
                                       sizeof transposed);
    set_layout(a, A_STRIDE, pointers);
    set_layout(b, B_STRIDE, pointers);
    set_layout(c, C_STRIDE, pointers);
    set_layout(d, D_STRIDE, pointers);
    const void *first = (const void *)(pointers ? x.array_a : x.device_a);
    const void *second = (const void *)(pointers ? x.array_b : x.device_b);
    assert_int_equal(
        cublasLtMatmul(lt, operation, x.alpha, d_row_major ? second : first, d_row_major ? b : a,
                       d_row_major ? first : second, d_row_major ? a : b, x.beta,
                       (const void *)(pointers ? x.array_c : x.device_c), c,
                       (void *)(pointers ? x.array_d : x.device_d), d, NULL, NULL, 0, NULL),
        CUBLAS_STATUS_SUCCESS);
    check("cublasLtMatmul", x.device_d, LDD, D_STRIDE, BATCH);
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatrixLayoutDestroy(c);
    cublasLtMatrixLayoutDestroy(d);
    cublasLtMatmulDescDestroy(operation);
    cublasLtDestroy(lt);
}

static void cublaslt_in_every_order(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++)
        run_lt(i & 1, i & 2, i & 4, i & 8);
}

static int setup(void **state)
{
    CUcontext context;

    (void)state;
    srand(5);
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
           cublasCreate(&handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_gemms),
        cmocka_unit_test(strided_batches),
        cmocka_unit_test(pointer_array_batches),
        cmocka_unit_test(groups),
        cmocka_unit_test(cublaslt_in_every_order),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
