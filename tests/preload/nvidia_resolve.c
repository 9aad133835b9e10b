/* SPDX-License-Identifier: Apache-2.0 */
/* Resolution and getters against NVIDIA's own libraries, opened by path and visible to no scope:
 * each hooked function is found in the library that has it, and what is read from a descriptor is
 * what was written to it. Needs no GPU.
 *
 *     nvidia_resolve LIBCUBLAS LIBCUBLASLT
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "interpose/filter.h"
#include "interpose/lt.h"
#include "interpose/real.h"

static void *cublas, *cublaslt;

static const char *const names[] = {
#define HOOK(name, family, index) #name,
    MHCS_HOOKS(HOOK)
#undef HOOK
};

static struct mhcs_target target_of(enum mhcs_hook hook)
{
    return mhcs_real(hook, (const char *)target_of + hook + 1);
}

static void every_function_is_found(void **state)
{
    for (int hook = 0; hook < MHCS_HOOK_COUNT; hook++) {
        const struct mhcs_target target = target_of((enum mhcs_hook)hook);
        void *const wanted =
            dlsym(hook == MHCS_HOOK_cublasLtMatmul ? cublaslt : cublas, names[hook]);

        if (!wanted || target.function != wanted || !target.library || target.internal) {
            fail_msg("%s is not found", names[hook]);
        }
    }
}

static void versions_and_states_are_read(void **state)
{
    struct mhcs_library *const library = target_of(MHCS_HOOK_cublasGemmEx).library;
    struct mhcs_library *const lt = target_of(MHCS_HOOK_cublasLtMatmul).library;
    struct mhcs_handle_state handle_state;
    const struct mhcs_cublas *told;

    assert_false(mhcs_library_handle_state(library, NULL, &handle_state));
    told = mhcs_library_cublas(lt, NULL);
    assert_non_null(told);
    assert_in_range(told->version, 120000, 140000);
    assert_non_null(strstr(told->path, "libcublasLt.so"));
}

#define FUNCTION(name) __typeof__(name) *const name##_ = (__typeof__(name) *)dlsym(cublaslt, #name)

static void descriptors_are_read_as_written(void **state)
{
    FUNCTION(cublasLtMatmulDescCreate);
    FUNCTION(cublasLtMatmulDescSetAttribute);
    FUNCTION(cublasLtMatrixLayoutCreate);
    FUNCTION(cublasLtMatrixLayoutSetAttribute);
    const struct mhcs_target target = target_of(MHCS_HOOK_cublasLtMatmul);
    const int32_t transposed = CUBLAS_OP_T, row = CUBLASLT_ORDER_ROW, count = 3;
    const int64_t strides[4] = {1000000, 2000000, 3000000, 4000000};
    const uint32_t bias = CUBLASLT_EPILOGUE_BIAS;
    const float alpha = 1, beta = 0;
    cublasLtMatrixLayout_t layouts[4];
    cublasLtMatmulDesc_t operation;
    struct mhcs_handle_state handle_state;
    struct mhcs_call call;
    struct mhcs_lt lt;

    assert_true(cublasLtMatmulDescCreate_ && cublasLtMatmulDescSetAttribute_ &&
                cublasLtMatrixLayoutCreate_ && cublasLtMatrixLayoutSetAttribute_);
    assert_int_equal(
        cublasLtMatmulDescCreate_(&operation, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F),
        CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasLtMatmulDescSetAttribute_(operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                                     &transposed, sizeof(transposed)),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasLtMatrixLayoutCreate_(&layouts[0], CUDA_R_32F, 16384, 24, 16400), 0);
    assert_int_equal(cublasLtMatrixLayoutCreate_(&layouts[1], CUDA_R_32F, 7, 16384, 16500), 0);
    assert_int_equal(cublasLtMatrixLayoutCreate_(&layouts[2], CUDA_R_32F, 24, 7, 25), 0);
    assert_int_equal(cublasLtMatrixLayoutCreate_(&layouts[3], CUDA_R_32F, 24, 7, 26), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(cublasLtMatrixLayoutSetAttribute_(
                             layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
                         CUBLAS_STATUS_SUCCESS);
        assert_int_equal(cublasLtMatrixLayoutSetAttribute_(
                             layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &strides[i],
                             sizeof(strides[i])),
                         CUBLAS_STATUS_SUCCESS);
    }
    /* B of k x n, told as the row-major n x k that is stored transposed. */
    assert_int_equal(cublasLtMatrixLayoutSetAttribute_(layouts[1], CUBLASLT_MATRIX_LAYOUT_ORDER,
                                                       &row, sizeof(row)),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasLtMatmulDescSetAttribute_(operation, CUBLASLT_MATMUL_DESC_TRANSB,
                                                     &transposed, sizeof(transposed)),
                     CUBLAS_STATUS_SUCCESS);
    lt = (struct mhcs_lt){.operation = operation,
                          .alpha = &alpha,
                          .beta = &beta,
                          .a = (void *)0x1000,
                          .b = (void *)0x2000,
                          .c = (void *)0x3000,
                          .d = (void *)0x4000,
                          .a_layout = layouts[0],
                          .b_layout = layouts[1],
                          .c_layout = layouts[2],
                          .d_layout = layouts[3],
                          .stream = (cudaStream_t)0x5000};
    assert_true(mhcs_lt_begin(target.library, &lt, &call));
    assert_int_equal(mhcs_lt_read(target.library, &lt, &call, &handle_state), MHCS_REASONS_COUNT);
    assert_int_equal(call.m, 24);
    assert_int_equal(call.n, 7);
    assert_int_equal(call.k, 16384);
    assert_int_equal(call.transa, CUBLAS_OP_T);
    assert_int_equal(call.transb, CUBLAS_OP_N);
    assert_int_equal(call.lda, 16400);
    assert_int_equal(call.ldb, 16500);
    assert_int_equal(call.ldc, 25);
    assert_int_equal(call.ldd, 26);
    assert_int_equal(call.a_type, CUDA_R_32F);
    assert_int_equal(call.c_type, CUDA_R_32F);
    assert_int_equal(call.compute, CUBLAS_COMPUTE_32F_FAST_TF32);
    assert_int_equal(call.count, 3);
    assert_int_equal(call.stride_a, strides[0]);
    assert_int_equal(call.stride_d, strides[3]);
    assert_false(call.pointers);
    assert_false(handle_state.scalars_on_device);
    assert_ptr_equal(handle_state.stream, lt.stream);

    assert_int_equal(cublasLtMatmulDescSetAttribute_(operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                                     &bias, sizeof(bias)),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(mhcs_lt_read(target.library, &lt, &call, &handle_state), MHCS_REASON_EPILOGUE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_found),
        cmocka_unit_test(versions_and_states_are_read),
        cmocka_unit_test(descriptors_are_read_as_written),
    };

    if (argc != 3) {
        fprintf(stderr, "usage: nvidia_resolve LIBCUBLAS LIBCUBLASLT\n");
        return 2;
    }
    cublaslt = dlopen(argv[2], RTLD_LAZY | RTLD_LOCAL);
    cublas = cublaslt ? dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL) : NULL;
    if (!cublas) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
