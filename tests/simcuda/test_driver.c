/* SPDX-License-Identifier: Apache-2.0 */
/* The driver API around the engine: start, devices, contexts, pointers, copies, and how functions
 * are found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simcuda.h"

CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned flags, CUdevice device);

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

static int set_up(void **state)
{
    CUcontext context;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    *state = context;
    return 0;
}

static int tear_down(void **state)
{
    cuCtxDestroy(*state);
    return 0;
}

/* Runs `body` in a child, where nothing of this process has started CUDA. */
static int in_child(int (*body)(void))
{
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(body());
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int use_before_init(void)
{
    int count;

    return cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED && cuInit(0) == CUDA_SUCCESS &&
                   cuDeviceGetCount(&count) == CUDA_SUCCESS && count == 2 &&
                   cuCtxSynchronize() == CUDA_ERROR_INVALID_CONTEXT
               ? 0
               : 1;
}

static void nothing_works_before_init(void **state)
{
    assert_int_equal(in_child(use_before_init), 0);
}

static int bad_order(void)
{
    setenv("SIMCUDA_ORDER", "fast", 1);
    return cuInit(0) == CUDA_SUCCESS;
}

static int no_devices(void)
{
    setenv("SIMCUDA_DEVICES", "0", 1);
    return cuInit(0) != CUDA_ERROR_NO_DEVICE;
}

static int older_driver(void)
{
    int version;
    void *p;

    setenv("SIMCUDA_DRIVER", "11080", 1);
    return cuDriverGetVersion(&version) != CUDA_SUCCESS || version != 11080 ||
           cuGetProcAddress("cuGraphNodeSetEnabled", &p, 11080, 0, NULL) != CUDA_SUCCESS ||
           cuGetProcAddress("cuGraphNodeSetEnabled", &p, 11050, 0, NULL) == CUDA_SUCCESS ||
           cuGetProcAddress("cuStreamBeginCaptureToGraph", &p, 11080, 0, NULL) == CUDA_SUCCESS ||
           cuGetProcAddress("cuMemAlloc", &p, 11080, 0, NULL) != CUDA_SUCCESS ||
           cuGetProcAddress("cuStreamGetId", &p, 11080, 0, NULL) != CUDA_ERROR_NOT_FOUND ||
           cuGetProcAddress("cuStreamGetId", &p, 12000, 0, NULL) != CUDA_ERROR_INVALID_VALUE;
}

static int fault_with_abort(void)
{
    CUcontext context;
    CUstream stream;

    setenv("SIMCUDA_ABORT", "1", 1);
    signal(SIGABRT, SIG_DFL);
    if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuStreamCreate(&stream, 0))
        return 1;
    CUdeviceptr p, q;
    if (cuMemAlloc(&p, 4) || cuMemAlloc(&q, 4) || cuMemcpyDtoDAsync(q, p, 4, stream))
        return 2;
    cuStreamSynchronize(stream); /* the copy reads what nobody wrote */
    return 3;
}

static void the_environment_is_obeyed_or_refused(void **state)
{
    assert_int_equal(in_child(bad_order), 0);
    assert_int_equal(in_child(no_devices), 0);
    assert_int_equal(in_child(fault_with_abort), 128 + SIGABRT);
}

static void devices_are_told_apart(void **state)
{
    CUuuid a, b;
    CUdevice device;
    char id[16], name[64];
    int value;

    OK(cuDeviceGetUuid(&a, 0));
    OK(cuDeviceGetUuid(&b, 1));
    assert_memory_not_equal(&a, &b, sizeof(a));
    OK(cuDeviceGetPCIBusId(id, sizeof(id), 1));
    assert_string_equal(id, "0000:02:00.0");
    OK(cuDeviceGetByPCIBusId(&device, id));
    assert_int_equal(device, 1);
    OK(cuDeviceGetName(name, sizeof(name), 0));
    assert_string_equal(name, "simcuda sm_90");
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1));
    assert_int_equal(value, 132);
    assert_int_equal(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 1),
                     CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
}

static void the_primary_context_lives_while_retained(void **state)
{
    CUcontext one, two;
    CUdeviceptr p;
    unsigned flags;
    int active;

    OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
    assert_false(active);
    OK(cuDevicePrimaryCtxRetain(&one, 1));
    OK(cuDevicePrimaryCtxRetain(&two, 1));
    assert_ptr_equal(one, two);
    OK(cuCtxPushCurrent(one));
    OK(cuMemAlloc(&p, 100));
    OK(cuDevicePrimaryCtxRelease(1));
    OK(cuMemAlloc(&p, 100));
    OK(cuDevicePrimaryCtxRelease(1));
    assert_int_equal(cuMemAlloc(&p, 100), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_int_equal(cuDevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxPopCurrent(NULL));
    OK(cuCtxPushCurrent(*state));
    OK(cuCtxPopCurrent(NULL));
    assert_int_equal(cuCtxPushCurrent(one), CUDA_ERROR_INVALID_CONTEXT);
}

static void *without_a_context(void *arg)
{
    CUcontext current = arg;
    CUdeviceptr p;

    if (cuCtxGetCurrent(&current) || current || cuMemAlloc(&p, 4) != CUDA_ERROR_INVALID_CONTEXT)
        return "unexpected";
    return NULL;
}

static void each_thread_has_its_own_stack_of_contexts(void **state)
{
    CUcontext current;
    pthread_t thread;
    void *failed;

    assert_int_equal(pthread_create(&thread, NULL, without_a_context, *state), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, *state);
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxGetCurrent(&current));
    assert_null(current);
    OK(cuCtxSetCurrent(*state));
}

static void handles_are_checked(void **state)
{
    CUstream stream;
    CUevent event;
    CUcontext other;

    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    assert_int_equal(cuStreamSynchronize((CUstream)event), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuEventRecord((CUevent)stream, stream), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxCreate_v2(&other, 0, 1));
    assert_int_equal(cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE); /* another context's */
    OK(cuCtxDestroy(other));
    OK(cuEventDestroy(event));
    assert_int_equal(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy(stream));
    assert_int_equal(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuStreamDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
}

static void streams_tell_what_they_are(void **state)
{
    CUstream stream;
    CUcontext context;
    unsigned flags;
    int priority, least, greatest;

    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    assert_true(greatest < least);
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 100));
    OK(cuStreamGetPriority(stream, &priority));
    assert_int_equal(priority, least);
    OK(cuStreamGetFlags(stream, &flags));
    assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetCtx(stream, &context));
    assert_ptr_equal(context, *state);
    assert_int_equal(cuStreamCreate(&stream, 2), CUDA_ERROR_INVALID_VALUE);
}

static void a_pointer_tells_its_allocation(void **state)
{
    CUdeviceptr p, base;
    CUcontext context;
    size_t bytes;
    unsigned type;
    void *host;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&type, &bytes};

    OK(cuMemAlloc(&p, 1000));
    OK(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + 999));
    assert_int_equal(base, p);
    OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    assert_ptr_equal(context, *state);
    OK(cuPointerGetAttributes(2, names, values, p + 5));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    assert_int_equal(bytes, 1000);
    OK(cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)host + 8));
    assert_int_equal(type, CU_MEMORYTYPE_HOST);
    OK(cuMemHostGetDevicePointer(&base, host, 0));
    assert_int_equal(base, (uintptr_t)host);
    OK(cuPointerGetAttributes(2, names, values, (uintptr_t)&p)); /* unknown: no error, but zero */
    assert_int_equal(type, 0);
    assert_int_equal(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 1000),
                     CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(host));
}

static void each_device_has_its_own_memory(void **state)
{
    const size_t most = (size_t)64 << 20; /* SIMCUDA_MEM_MB */
    CUcontext second;
    CUdeviceptr p, q;
    size_t left, total;

    OK(cuMemGetInfo(&left, &total));
    assert_int_equal(total, most);
    OK(cuMemAlloc(&p, most));
    assert_int_equal(cuMemAlloc(&q, 1), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemGetInfo(&left, &total));
    assert_int_equal(left, 0);
    OK(cuCtxCreate_v2(&second, 0, 1));
    OK(cuMemAlloc(&q, most));
    OK(cuCtxDestroy(second)); /* frees what it had */
    OK(cuMemFree(p));
    assert_int_equal(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemGetInfo(&left, &total));
    assert_int_equal(left, most);
}

static void a_copy_from_pageable_memory_takes_the_bytes_at_the_call(void **state)
{
    CUstream stream;
    CUdeviceptr p;
    uint32_t host = 1, back = 0;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&p, 4));
    OK(cuMemcpyHtoDAsync(p, &host, 4, stream));
    host = 2;
    OK(cuMemcpyDtoHAsync(&back, p, 4, stream)); /* to pageable memory: done when it returns */
    assert_int_equal(back, 1);
}

static void a_copy_from_pinned_memory_takes_the_bytes_when_it_runs(void **state)
{
    const char *order = getenv("SIMCUDA_ORDER");
    CUstream stream;
    CUdeviceptr p;
    uint32_t *host, back = 0;

    if (order && strcmp(order, "lazy") != 0)
        skip();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&p, 4));
    OK(cuMemAllocHost((void **)&host, 4));
    *host = 1;
    OK(cuMemcpyHtoDAsync(p, host, 4, stream));
    *host = 2;
    OK(cuMemcpyDtoHAsync(&back, p, 4, stream));
    assert_int_equal(back, 2);
}

static void a_copy_that_leaves_its_allocation_is_refused(void **state)
{
    CUdeviceptr p;
    char host[32] = {0};

    OK(cuMemAlloc(&p, 16));
    assert_int_equal(cuMemcpyHtoD(p, host, 17), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD32(p + 8, 0, 3), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD32(p + 2, 0, 1), CUDA_ERROR_INVALID_VALUE); /* misaligned */
    assert_int_equal(cuMemcpyHtoD((uintptr_t)host, host, 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSynchronize());
}

static void fills_write_their_width(void **state)
{
    CUdeviceptr p;
    uint32_t back[3];

    OK(cuMemAlloc(&p, 12));
    OK(cuMemsetD32(p, 0x01020304, 3));
    OK(cuMemsetD16(p + 4, 0x0506, 1));
    OK(cuMemsetD8(p + 11, 7, 1));
    OK(cuMemcpyDtoH(back, p, 12));
    assert_int_equal(back[0], 0x01020304);
    assert_int_equal(back[1], 0x01020506);
    assert_int_equal(back[2], 0x07020304);
}

static void *find(const char *name, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    void *p = NULL;

    OK(cuGetProcAddress(name, &p, version, flags, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    return p;
}

static void a_functions_address_depends_on_the_version(void **state)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    CUdriverProcAddressQueryResult status;
    void *p = NULL;

    assert_non_null(library);
    assert_ptr_equal(find("cuMemAlloc", 12000, 0), dlsym(library, "cuMemAlloc_v2"));
    assert_ptr_equal(find("cuGetProcAddress", 11030, 0), dlsym(library, "cuGetProcAddress"));
    assert_ptr_equal(find("cuGetProcAddress", 12000, 0), dlsym(library, "cuGetProcAddress_v2"));
    assert_ptr_equal(find("cuStreamGetCaptureInfo", 12030, 0),
                     dlsym(library, "cuStreamGetCaptureInfo_v3"));
    assert_ptr_equal(find("cuStreamGetCaptureInfo", 12020, 0),
                     dlsym(library, "cuStreamGetCaptureInfo_v2"));
    assert_ptr_equal(find("cuStreamQuery", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM),
                     dlsym(library, "cuStreamQuery"));
    assert_ptr_equal(find("cuStreamQuery", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
                     dlsym(library, "cuStreamQuery_ptsz"));
    assert_ptr_equal(find("cuMemcpyDtoH", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
                     dlsym(library, "cuMemcpyDtoH_v2_ptds"));
    assert_ptr_equal(find("cuMemAlloc", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
                     dlsym(library, "cuMemAlloc_v2"));
    assert_int_equal(cuGetProcAddress("cuStreamGetId", &p, 11080, 0, &status),
                     CUDA_ERROR_NOT_FOUND);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    assert_int_equal(cuGetProcAddress("cuMakeCoffee", &p, 12000, 0, &status), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_null(p);
    assert_int_equal(cuGetProcAddress("cuInit", &p, 13010, 0, &status), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(in_child(older_driver), 0);
    dlclose(library);
}

/* Compiled for a per-thread default stream, a program calls the twins. */
static void the_twins_use_the_threads_own_default_stream(void **state)
{
    CUresult (*twin)(CUstream, unsigned long long *) =
        find("cuStreamGetId", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    unsigned long long legacy, own, from_twin;

    OK(cuStreamGetId(NULL, &legacy));
    OK(cuStreamGetId(CU_STREAM_PER_THREAD, &own));
    OK(twin(NULL, &from_twin));
    assert_int_not_equal(legacy, own);
    assert_int_equal(from_twin, own);
    OK(twin(CU_STREAM_LEGACY, &from_twin));
    assert_int_equal(from_twin, legacy);
}

static void errors_have_names(void **state)
{
    const char *text = NULL;

    OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    assert_string_equal(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    assert_string_equal(text, "out of memory");
    assert_int_equal(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest in_a_context[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(devices_are_told_apart),
        TEST(the_primary_context_lives_while_retained),
        TEST(each_thread_has_its_own_stack_of_contexts),
        TEST(handles_are_checked),
        TEST(streams_tell_what_they_are),
        TEST(a_pointer_tells_its_allocation),
        TEST(each_device_has_its_own_memory),
        TEST(a_copy_from_pageable_memory_takes_the_bytes_at_the_call),
        TEST(a_copy_from_pinned_memory_takes_the_bytes_when_it_runs),
        TEST(a_copy_that_leaves_its_allocation_is_refused),
        TEST(fills_write_their_width),
        TEST(a_functions_address_depends_on_the_version),
        TEST(the_twins_use_the_threads_own_default_stream),
        TEST(errors_have_names),
    };
    const struct CMUnitTest in_children[] = {
        cmocka_unit_test(nothing_works_before_init),
        cmocka_unit_test(the_environment_is_obeyed_or_refused),
    };

    /* The children first: what they fork from must not have called cuInit. */
    return cmocka_run_group_tests(in_children, NULL, NULL) +
           cmocka_run_group_tests(in_a_context, NULL, NULL);
}
