/* SPDX-License-Identifier: Apache-2.0 */
/* Loading code, finding kernels in it and launching them, through the driver API. */
#include "scale_fixture.h"

static void a_kernel_runs_on_its_stream(void **state)
{
    struct fixture *f = *state;
    CUfunction function = scale();

    OK(launch(function, f->a, f->x, 10, 2));
    OK(launch(function, f->a, f->x, 10, 3));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 123);
    assert_int_equal(f->host[WORDS - 1], 123);
}

static void parameters_are_copied_at_the_launch(void **state)
{
    struct fixture *f = *state;
    struct scale_params params = {f->x, 10, 2};
    size_t size = sizeof(params);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &params, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    void *each[] = {&params.x, &params.times, &params.plus};
    CUfunction function = scale();

    OK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, f->a, NULL, extra));
    memset(&params, 0, sizeof(params));
    params = (struct scale_params){f->x, 10, 3};
    OK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, f->a, each, NULL));
    memset(&params, 0, sizeof(params));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 123);
}

static void a_kernel_without_its_wait_is_a_race(void **state)
{
    struct fixture *f = *state;
    CUfunction function = scale();
    const unsigned faults = simcuda_fault_count();

    OK(launch(function, f->a, f->x, 10, 2));
    launch(function, f->b, f->x, 10, 3);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
    assert_int_equal(simcuda_fault_count(), faults + 1);
}

static void a_kernel_out_of_bounds_is_a_fault(void **state)
{
    struct fixture *f = *state;

    launch(scale(), f->a, f->x + 4, 1, 0);
    assert_int_equal(cuStreamSynchronize(f->a), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_bad_launch_is_refused(void **state)
{
    struct fixture *f = *state;
    CUfunction function = scale();
    CUcontext other;
    uint32_t times = 1, plus = 0;
    size_t short_size = 8;
    void *params[] = {&f->x, &times, &plus};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &f->x, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &short_size, CU_LAUNCH_PARAM_END};

#define LAUNCH(grid, block, shared, kernel_params, extra_params)                                   \
    cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, f->a, kernel_params, extra_params)
    OK(LAUNCH(1, 1024, 48 << 10, params, NULL));
    assert_int_equal(LAUNCH(0, 32, 0, params, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(LAUNCH(1, 1025, 0, params, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(LAUNCH(1, 32, (48 << 10) + 1, params, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(LAUNCH(1, 32, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(LAUNCH(1, 32, 0, NULL, extra), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
    OK(LAUNCH(1, 32, 100 << 10, params, NULL));
    OK(cuCtxSynchronize());
    OK(cuCtxCreate_v2(&other, 0, 0));
    assert_int_equal(launch(function, NULL, f->x, 1, 0), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxDestroy(other));
}

static void a_library_serves_every_context(void **state)
{
    struct fixture *f = *state;
    CUlibrary library;
    CUkernel kernel, again;
    CUfunction first, second;
    CUcontext other;
    CUdeviceptr x;
    const char *name;

    OK(cuLibraryLoadData(&library, scale_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "scale"));
    OK(cuLibraryGetKernel(&again, library, "scale"));
    assert_ptr_equal(kernel, again);
    assert_int_equal(cuLibraryGetKernel(&again, library, "nothing"), CUDA_ERROR_NOT_FOUND);
    OK(cuKernelGetFunction(&first, kernel));
    OK(launch(first, f->a, f->x, 10, 2));
    OK(launch((CUfunction)kernel, f->a, f->x, 10, 3)); /* a kernel will do as a function */
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 123);
    OK(cuCtxCreate_v2(&other, 0, 1));
    OK(cuKernelGetFunction(&second, kernel));
    assert_ptr_not_equal(first, second);
    OK(cuFuncGetName(&name, second));
    assert_string_equal(name, "scale");
    OK(cuMemAlloc(&x, 4 * WORDS));
    OK(cuMemsetD32(x, 1, WORDS));
    OK(launch(second, NULL, x, 1, 1));
    OK(cuCtxDestroy(other));
    OK(cuLibraryUnload(library));
    assert_int_equal(cuKernelGetFunction(&first, kernel), CUDA_ERROR_INVALID_HANDLE);
}

static void a_module_has_variables_of_its_own(void **state)
{
    static const char counting[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".global .u32 counter;\n"
        ".visible .entry count(.param .u64 to)\n{\n"
        ".reg .b32 %r<2>; .reg .b64 %d<2>; ld.param.u64 %d1, [to];\n"
        "ld.global.u32 %r1, [counter]; add.u32 %r1, %r1, 1;\n"
        "st.global.u32 [counter], %r1; st.global.u32 [%d1], %r1; ret;\n}";
    struct fixture *f = *state;
    CUfunction function[2];
    CUmodule module[2];
    void *params[] = {&f->x};

    for (int i = 0; i < 2; i++) {
        OK(cuModuleLoadData(&module[i], counting));
        OK(cuModuleGetFunction(&function[i], module[i], "count"));
    }
    for (uint32_t launches = 1; launches <= 2; launches++) {
        for (int i = 0; i < 2; i++) {
            OK(cuLaunchKernel(function[i], 1, 1, 1, 1, 1, 1, 0, f->a, params, NULL));
            OK(cuStreamSynchronize(f->a));
            assert_int_equal(first_word(f), launches);
        }
    }
}

static void queued_work_outlives_its_module(void **state)
{
    struct fixture *f = *state;
    CUfunction function;
    CUmodule module;

    OK(cuModuleLoadData(&module, scale_ptx));
    OK(cuModuleGetFunction(&function, module, "scale"));
    OK(launch(function, f->a, f->x, 10, 2));
    OK(cuModuleUnload(module));
    assert_int_equal(launch(function, f->a, f->x, 10, 3), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 12);
}

static void a_module_ends_with_its_context(void **state)
{
    CUcontext other;
    CUfunction function;
    const char *name;

    OK(cuCtxCreate_v2(&other, 0, 0));
    function = scale();
    OK(cuFuncGetName(&name, function));
    OK(cuCtxDestroy(other));
    assert_int_equal(cuFuncGetName(&name, function), CUDA_ERROR_INVALID_HANDLE);
}

static void the_handle_of_a_function_that_is_gone_is_given_again(void **state)
{
    const CUfunction before = scale();
    CUmodule module;

    OK(cuFuncGetModule(&module, before));
    OK(cuModuleUnload(module));
    assert_ptr_equal(scale(), before);
}

static void code_that_is_not_understood_is_refused(void **state)
{
    CUmodule module;
    CUfunction function;

    assert_int_equal(cuModuleLoadData(&module, ".version 8.0\n.target sm_80\n"
                                               ".address_size 64\n.visible .entry k()\n{\n"
                                               "    frobnicate.u32 %r1, %r2;\n    ret;\n}\n"),
                     CUDA_ERROR_INVALID_PTX);
    OK(cuModuleLoadData(&module, scale_ptx));
    assert_int_equal(cuModuleGetFunction(&function, module, "nothing"), CUDA_ERROR_NOT_FOUND);
}

static void a_function_tells_its_limits(void **state)
{
    CUfunction function = scale();
    int value;

    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    assert_int_equal(value, 0);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 256, 0));
    assert_int_equal(value, 8); /* 2048 threads */
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 32, 0));
    assert_int_equal(value, 32); /* blocks */
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 32, 75 << 10));
    assert_int_equal(value, 3); /* shared memory: 3 * (75 + 1) KiB */
}

static void launch_attributes_are_obeyed_or_refused(void **state)
{
    struct fixture *f = *state;
    uint32_t times = 10, plus = 2;
    void *params[] = {&f->x, &times, &plus};
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY};
    CUlaunchConfig config = {.gridDimX = 2,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = f->a,
                             .attrs = &attribute,
                             .numAttrs = 1};

    OK(cuLaunchKernelEx(&config, scale(), params, NULL));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 12);
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    assert_int_equal(cuLaunchKernelEx(&config, scale(), params, NULL), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_kernel_runs_on_its_stream),
        TEST(parameters_are_copied_at_the_launch),
        TEST(a_kernel_without_its_wait_is_a_race),
        TEST(a_kernel_out_of_bounds_is_a_fault),
        TEST(a_bad_launch_is_refused),
        TEST(a_library_serves_every_context),
        TEST(a_module_has_variables_of_its_own),
        TEST(queued_work_outlives_its_module),
        TEST(a_module_ends_with_its_context),
        TEST(the_handle_of_a_function_that_is_gone_is_given_again),
        TEST(code_that_is_not_understood_is_refused),
        TEST(a_function_tells_its_limits),
        TEST(launch_attributes_are_obeyed_or_refused),
    };

    if (cuInit(0) != CUDA_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
