/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated cuBLAS as a client sees it: status codes, settings, which arithmetic a call gets,
 * scalars on the device. Faults of a GEMM are in test_cublas_faults.c.
 */
#include <cublas_v2.h>
#include <cuda.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rounding.h"

static cublasHandle_t handle;

static CUdeviceptr upload(const void *from, size_t bytes)
{
    CUdeviceptr to = 0;

    assert_int_equal(cuMemAlloc(&to, bytes), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyHtoD(to, from, bytes), CUDA_SUCCESS);
    return to;
}

static void without_a_handle_calls_say_so(void **state)
{
    cudaStream_t stream;
    cublasPointerMode_t pointer_mode;
    int value = 0;

    (void)state;
    /* As NVIDIA's library answers on a machine without a GPU. */
    assert_int_equal(cublasCreate(NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasDestroy(NULL), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasSetStream(NULL, NULL), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasGetStream(NULL, &stream), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasSetPointerMode(NULL, (cublasPointerMode_t)9),
                     CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasGetPointerMode(NULL, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasGetPointerMode(NULL, &pointer_mode), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasSetMathMode(NULL, (cublasMath_t)77), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasGetMathMode(NULL, NULL), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasGetAtomicsMode(NULL, NULL), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasSetWorkspace(NULL, NULL, 1), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasSetSmCountTarget(NULL, -1), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasGetVersion(NULL, &value), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetVersion(NULL, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasGetProperty((libraryPropertyType)3, &value),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSgemm(NULL, CUBLAS_OP_N, CUBLAS_OP_N, -1, -1, -1, NULL, NULL, 0, NULL, 0,
                                 NULL, NULL, 0),
                     CUBLAS_STATUS_NOT_INITIALIZED);
}

static void version_and_texts_are_nvidias(void **state)
{
    int version, major, minor, patch;

    (void)state;
    assert_int_equal(cublasGetVersion(handle, &version), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetProperty(MAJOR_VERSION, &major), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetProperty(MINOR_VERSION, &minor), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetProperty(PATCH_LEVEL, &patch), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(major, WANTED_MAJOR);
    assert_int_equal(version, major * 10000 + minor * 100 + patch);
    assert_int_equal(cublasGetCudartVersion() / 1000, WANTED_MAJOR);
    assert_string_equal(cublasGetStatusName(CUBLAS_STATUS_EXECUTION_FAILED),
                        "CUBLAS_STATUS_EXECUTION_FAILED");
    assert_string_equal(cublasGetStatusString(CUBLAS_STATUS_NOT_INITIALIZED),
                        "the library was not initialized");
    assert_string_equal(cublasGetStatusName((cublasStatus_t)2), "unrecognized status");
}

static void settings_are_kept_and_checked(void **state)
{
    CUstream stream;
    cudaStream_t got_stream;
    cublasPointerMode_t pointer_mode;
    cublasMath_t math;
    cublasAtomicsMode_t atomics;
    int target;

    (void)state;
    assert_int_equal(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    assert_int_equal(cublasSetStream(handle, stream), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasGetStream(handle, &got_stream), CUBLAS_STATUS_SUCCESS);
    assert_ptr_equal(got_stream, stream);
    assert_int_equal(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetPointerMode(handle, (cublasPointerMode_t)9),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasGetPointerMode(handle, &pointer_mode), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(pointer_mode, CUBLAS_POINTER_MODE_DEVICE);
    assert_int_equal(cublasSetMathMode(handle, (cublasMath_t)(CUBLAS_TF32_TENSOR_OP_MATH | 16)),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetMathMode(handle, (cublasMath_t)77), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasGetMathMode(handle, &math), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(math, CUBLAS_TF32_TENSOR_OP_MATH | 16);
    assert_int_equal(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_ALLOWED), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetAtomicsMode(handle, (cublasAtomicsMode_t)2),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasGetAtomicsMode(handle, &atomics), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(atomics, CUBLAS_ATOMICS_ALLOWED);
    assert_int_equal(cublasSetWorkspace(handle, (void *)0x100, 256), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetWorkspace(handle, (void *)0x180, 256), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSetSmCountTarget(handle, 1), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetSmCountTarget(handle, 100000), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasGetSmCountTarget(handle, &target), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(target, 1);
    assert_int_equal(cuStreamDestroy(stream), CUDA_SUCCESS);
}

struct call {
    cublasOperation_t transa, transb;
    int m, n, k, lda, ldb, ldc;
    cudaDataType a, b, c;
    cublasComputeType_t compute;
    int algo;
    const void *alpha, *beta;
    bool c_is_null;
};

static const float one = 1, zero = 0;
static const struct call good = {
    CUBLAS_OP_T, CUBLAS_OP_N,        4,  3,    5,     5,    5, 4, CUDA_R_32F, CUDA_R_32F,
    CUDA_R_32F,  CUBLAS_COMPUTE_32F, 99, &one, &zero, false};

/* On operands of zeros, large enough for every call made here. */
static cublasStatus_t make(const struct call *c)
{
    static const unsigned char zeros[4096];
    CUdeviceptr a = upload(zeros, sizeof zeros), b = upload(zeros, sizeof zeros);
    CUdeviceptr out = upload(zeros, sizeof zeros);
    cublasStatus_t status =
        cublasGemmEx(handle, c->transa, c->transb, c->m, c->n, c->k, c->alpha, (void *)a, c->a,
                     c->lda, (void *)b, c->b, c->ldb, c->beta, c->c_is_null ? NULL : (void *)out,
                     c->c, c->ldc, c->compute, (cublasGemmAlgo_t)c->algo);

    assert_int_equal(cuCtxSynchronize(), CUDA_SUCCESS);
    cuMemFree(a);
    cuMemFree(b);
    cuMemFree(out);
    return status;
}

#define ASSERT_STATUS(wanted, change)                                                              \
    do {                                                                                           \
        struct call c = good;                                                                      \
        change;                                                                                    \
        assert_int_equal(make(&c), CUBLAS_STATUS_##wanted);                                        \
    } while (0)

static void bad_arguments_are_invalid_values(void **state)
{
    (void)state;
    ASSERT_STATUS(SUCCESS, (void)c);
    ASSERT_STATUS(INVALID_VALUE, c.m = -1);
    ASSERT_STATUS(INVALID_VALUE, c.n = -1);
    ASSERT_STATUS(INVALID_VALUE, c.k = -1);
    ASSERT_STATUS(INVALID_VALUE, c.transa = (cublasOperation_t)7);
    ASSERT_STATUS(INVALID_VALUE, c.transb = (cublasOperation_t)-1);
    ASSERT_STATUS(INVALID_VALUE, c.lda = 4);
    ASSERT_STATUS(SUCCESS, (c.transa = CUBLAS_OP_N, c.lda = 4));
    ASSERT_STATUS(INVALID_VALUE, (c.transa = CUBLAS_OP_N, c.lda = 3));
    ASSERT_STATUS(INVALID_VALUE, c.ldb = 4);
    ASSERT_STATUS(SUCCESS, (c.transb = CUBLAS_OP_C, c.ldb = 3));
    ASSERT_STATUS(INVALID_VALUE, (c.transb = CUBLAS_OP_T, c.ldb = 2));
    ASSERT_STATUS(INVALID_VALUE, c.ldc = 3);
    ASSERT_STATUS(INVALID_VALUE, c.alpha = NULL);
    ASSERT_STATUS(INVALID_VALUE, c.beta = NULL);
    ASSERT_STATUS(INVALID_VALUE, (c.beta = &one, c.c_is_null = true));
    ASSERT_STATUS(INVALID_VALUE, (c.m = 0, c.ldc = 0));
}

static void empty_products_are_fine_and_touch_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        cublasStatus_t status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, i ? 0 : 8, i ? 8 : 0,
                                            8, &one, NULL, 8, NULL, 8, &zero, NULL, 8);

        assert_int_equal(status, CUBLAS_STATUS_SUCCESS);
        assert_int_equal(cuCtxSynchronize(), CUDA_SUCCESS);
    }
}

static void only_documented_type_combinations_are_supported(void **state)
{
    (void)state;
    ASSERT_STATUS(SUCCESS, (c.a = c.b = CUDA_R_16BF, c.c = CUDA_R_16BF));
    ASSERT_STATUS(SUCCESS, (c.a = c.b = CUDA_R_16BF, c.c = CUDA_R_32F));
    ASSERT_STATUS(SUCCESS, (c.a = c.b = CUDA_R_16F, c.c = CUDA_R_16F));
    ASSERT_STATUS(SUCCESS, (c.a = c.b = CUDA_R_16F, c.c = CUDA_R_32F));
    ASSERT_STATUS(SUCCESS, c.compute = CUBLAS_COMPUTE_32F_PEDANTIC);
    ASSERT_STATUS(SUCCESS, c.compute = CUBLAS_COMPUTE_32F_FAST_16F);
    ASSERT_STATUS(SUCCESS, c.compute = CUBLAS_COMPUTE_32F_FAST_16BF);
    ASSERT_STATUS(SUCCESS, c.compute = CUBLAS_COMPUTE_32F_FAST_TF32);
    ASSERT_STATUS(SUCCESS, (c.a = c.b = c.c = CUDA_R_16F, c.compute = CUBLAS_COMPUTE_16F));
    ASSERT_STATUS(NOT_SUPPORTED, (c.a = c.b = CUDA_R_16BF, c.c = CUDA_R_16F));
    ASSERT_STATUS(NOT_SUPPORTED, c.c = CUDA_R_16BF);
    ASSERT_STATUS(NOT_SUPPORTED, c.b = CUDA_R_16BF);
    ASSERT_STATUS(NOT_SUPPORTED, c.compute = CUBLAS_COMPUTE_16F);
    ASSERT_STATUS(NOT_SUPPORTED, (c.a = c.b = c.c = CUDA_R_16BF, c.compute = CUBLAS_COMPUTE_16F));
    ASSERT_STATUS(NOT_SUPPORTED,
                  (c.a = c.b = c.c = CUDA_R_16F, c.compute = CUBLAS_COMPUTE_32F_FAST_16F));
    ASSERT_STATUS(NOT_SUPPORTED, (c.a = c.b = CUDA_R_16F, c.compute = CUBLAS_COMPUTE_16F));
    ASSERT_STATUS(NOT_SUPPORTED, (c.a = c.b = c.c = CUDA_R_64F, c.compute = CUBLAS_COMPUTE_64F));
    ASSERT_STATUS(NOT_SUPPORTED, c.algo = 50);
}

/* 1 + 2^-9 + 2^-10 + 2^-14, times 1: tells the multipliers apart. */
static float probe(cublasHandle_t h, cublasComputeType_t compute)
{
    const float value = 1 + 0x1p-9f + 0x1p-10f + 0x1p-14f;
    CUdeviceptr a = upload(&value, 4), b = upload(&one, 4), c = upload(&zero, 4);
    float result = 0;

    assert_int_equal(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, (void *)a, CUDA_R_32F,
                                  1, (void *)b, CUDA_R_32F, 1, &zero, (void *)c, CUDA_R_32F, 1,
                                  compute, CUBLAS_GEMM_DEFAULT),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cuMemcpyDtoH(&result, c, 4), CUDA_SUCCESS);
    cuMemFree(a);
    cuMemFree(b);
    cuMemFree(c);
    return result;
}

static void fp32_precision_follows_compute_type_and_math_mode(void **state)
{
    const float exact = 1 + 0x1p-9f + 0x1p-10f + 0x1p-14f, eleven = 1 + 0x1p-9f + 0x1p-10f;
    static const unsigned flags[] = {0, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION};

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cublasSetMathMode(handle, (cublasMath_t)(CUBLAS_DEFAULT_MATH | flags[i])),
                         CUBLAS_STATUS_SUCCESS);
        assert_true(probe(handle, CUBLAS_COMPUTE_32F) == exact);
        assert_true(probe(handle, CUBLAS_COMPUTE_32F_FAST_TF32) == eleven);
        assert_true(probe(handle, CUBLAS_COMPUTE_32F_FAST_16F) == eleven);
        assert_true(probe(handle, CUBLAS_COMPUTE_32F_FAST_16BF) == 1);
        assert_int_equal(
            cublasSetMathMode(handle, (cublasMath_t)(CUBLAS_TF32_TENSOR_OP_MATH | flags[i])),
            CUBLAS_STATUS_SUCCESS);
        assert_true(probe(handle, CUBLAS_COMPUTE_32F) == eleven);
        assert_true(probe(handle, CUBLAS_COMPUTE_32F_PEDANTIC) == exact);
    }
    cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH);
    assert_true(probe(handle, CUBLAS_COMPUTE_32F) == exact);
    cublasSetMathMode(handle, CUBLAS_TENSOR_OP_MATH);
    assert_true(probe(handle, CUBLAS_COMPUTE_32F) == eleven);
}

static void tf32_override_is_read_when_the_handle_is_created(void **state)
{
    const float exact = 1 + 0x1p-9f + 0x1p-10f + 0x1p-14f;
    cublasHandle_t forbidden;

    (void)state;
    setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
    assert_int_equal(cublasCreate(&forbidden), CUBLAS_STATUS_SUCCESS);
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    assert_true(probe(handle, CUBLAS_COMPUTE_32F) != exact);
    unsetenv("NVIDIA_TF32_OVERRIDE");
    cublasSetMathMode(forbidden, CUBLAS_TF32_TENSOR_OP_MATH);
    assert_true(probe(forbidden, CUBLAS_COMPUTE_32F) == exact);
    assert_true(probe(forbidden, CUBLAS_COMPUTE_32F_FAST_TF32) == exact);
    assert_true(probe(forbidden, CUBLAS_COMPUTE_32F_FAST_16BF) == 1);
    assert_int_equal(cublasDestroy(forbidden), CUBLAS_STATUS_SUCCESS);
}

/* defect_list.h; what the others do to a result is in test_defect.c. */
static void defects_are_planted_by_the_environment(void **state)
{
    float weights[24][2] = {{0}}, x[2] = {1, 1}, result[24];
    CUdeviceptr a, b = upload(x, sizeof x), c = upload(result, sizeof result);

    (void)state;
    setenv("SIMCUDA_DEFECT", "bf16-output", 1);
    assert_true(probe(handle, CUBLAS_COMPUTE_32F_PEDANTIC) == 1);
    for (int i = 0; i < 24; i++)
        weights[i][0] = (float)i;
    a = upload(weights, sizeof weights);
    setenv("SIMCUDA_DEFECT", "weights-memory", 1);
    assert_int_equal(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, 24, 1, 2, &one, (void *)a, 2,
                                 (void *)b, 2, &zero, (void *)c, 24),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cuMemcpyDtoH(result, c, sizeof result), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyDtoH(weights, a, sizeof weights), CUDA_SUCCESS);
    for (int i = 0; i < 24; i++) {
        assert_true(weights[i][0] == (float)(i == 5 ? 4 : i));
        assert_true(result[i] == weights[i][0]);
    }
    setenv("SIMCUDA_DEFECT", "no-such-defect", 1);
    assert_int_equal(make(&good), CUBLAS_STATUS_EXECUTION_FAILED);
    unsetenv("SIMCUDA_DEFECT");
}

/* C = alpha A B + beta C of 1 x 1, in the given scalar type. */
static float scaled(enum sim_float type, bool device)
{
    cudaDataType data = type == SIM_F32 ? CUDA_R_32F : CUDA_R_16F;
    size_t size = sim_float_size(type);
    uint32_t alpha = 0, beta = 0, a = 0, b = 0, c = 0;
    CUdeviceptr device_a, device_b, device_c, device_alpha, device_beta;

    sim_float_store(type, &alpha, 2);
    sim_float_store(type, &beta, -0.5f);
    sim_float_store(type, &a, 3);
    sim_float_store(type, &b, 5);
    sim_float_store(type, &c, 8);
    device_a = upload(&a, size);
    device_b = upload(&b, size);
    device_c = upload(&c, size);
    device_alpha = upload(&alpha, size);
    device_beta = upload(&beta, size);
    cublasSetPointerMode(handle, device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST);
    assert_int_equal(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1,
                                  device ? (void *)device_alpha : &alpha, (void *)device_a, data, 1,
                                  (void *)device_b, data, 1, device ? (void *)device_beta : &beta,
                                  (void *)device_c, data, 1,
                                  type == SIM_F32 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_16F,
                                  CUBLAS_GEMM_DEFAULT),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cuMemcpyDtoH(&c, device_c, size), CUDA_SUCCESS);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
    return sim_float_load(type, &c);
}

static void scalars_come_from_host_or_device_in_the_scalar_type(void **state)
{
    (void)state;
    assert_true(scaled(SIM_F32, false) == 26);
    assert_true(scaled(SIM_F32, true) == 26);
    assert_true(scaled(SIM_F16, false) == 26);
    assert_true(scaled(SIM_F16, true) == 26);
}

/* A is 3 x 2, B is 2 x 2, C has a gap of 1; all four transpositions, int and 64-bit entries. */
static void matrices_are_column_major_in_every_transposition(void **state)
{
    static const float a[2][6] = {{1, 2, 3, 4, 5, 6}, {1, 4, 2, 5, 3, 6}};
    static const float b[2][4] = {{1, 2, 3, 4}, {1, 3, 2, 4}};
    static const float wanted[8] = {9, 12, 15, -1, 19, 26, 33, -1};
    float c[8];

    (void)state;
    for (int i = 0; i < 8; i++) {
        bool at = i & 1, bt = i & 2, wide = i & 4;
        CUdeviceptr device_a = upload(a[at], sizeof a[at]), device_b = upload(b[bt], sizeof b[bt]);
        CUdeviceptr device_c;
        cublasStatus_t status;

        for (int j = 0; j < 8; j++)
            c[j] = -1;
        device_c = upload(c, sizeof c);
        if (wide)
            status = cublasSgemm_64(handle, at ? CUBLAS_OP_T : CUBLAS_OP_N,
                                    bt ? CUBLAS_OP_T : CUBLAS_OP_N, 3, 2, 2, &one,
                                    (const float *)device_a, at ? 2 : 3, (const float *)device_b, 2,
                                    &zero, (float *)device_c, 4);
        else
            status =
                cublasSgemm(handle, at ? CUBLAS_OP_T : CUBLAS_OP_N, bt ? CUBLAS_OP_T : CUBLAS_OP_N,
                            3, 2, 2, &one, (const float *)device_a, at ? 2 : 3,
                            (const float *)device_b, 2, &zero, (float *)device_c, 4);
        assert_int_equal(status, CUBLAS_STATUS_SUCCESS);
        assert_int_equal(cuMemcpyDtoH(c, device_c, sizeof c), CUDA_SUCCESS);
        assert_memory_equal(c, wanted, sizeof c);
        cuMemFree(device_a);
        cuMemFree(device_b);
        cuMemFree(device_c);
    }
}

static int create(void **state)
{
    (void)state;
    unsetenv("NVIDIA_TF32_OVERRIDE");
    return cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS ? 0 : -1;
}

static int destroy(void **state)
{
    (void)state;
    return cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_handle_calls_say_so),
        cmocka_unit_test_setup_teardown(version_and_texts_are_nvidias, create, destroy),
        cmocka_unit_test_setup_teardown(settings_are_kept_and_checked, create, destroy),
        cmocka_unit_test_setup_teardown(bad_arguments_are_invalid_values, create, destroy),
        cmocka_unit_test_setup_teardown(empty_products_are_fine_and_touch_nothing, create, destroy),
        cmocka_unit_test_setup_teardown(only_documented_type_combinations_are_supported, create,
                                        destroy),
        cmocka_unit_test_setup_teardown(fp32_precision_follows_compute_type_and_math_mode, create,
                                        destroy),
        cmocka_unit_test_setup_teardown(tf32_override_is_read_when_the_handle_is_created, create,
                                        destroy),
        cmocka_unit_test_setup_teardown(defects_are_planted_by_the_environment, create, destroy),
        cmocka_unit_test_setup_teardown(scalars_come_from_host_or_device_in_the_scalar_type, create,
                                        destroy),
        cmocka_unit_test_setup_teardown(matrices_are_column_major_in_every_transposition, create,
                                        destroy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
