/* SPDX-License-Identifier: Apache-2.0 */
/* Faults and what follows them, memory's end, host functions, host threads and several devices. Run
 * once for each order (SIMCUDA_ORDER).
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine_fixture.h"

static void a_fault_is_sticky_until_the_context_is_gone(void **state)
{
    struct fixture *f = *state;
    size_t before, after, total;
    CUcontext other;
    CUdeviceptr p;
    CUevent event;

    OK(cuMemGetInfo(&before, &total));
    affine(f->a, f->x + 4, 1, 0); /* one word too far */
    assert_int_equal(cuStreamSynchronize(f->a), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuMemAlloc(&p, 1 << 20), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuMemFree(f->x), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuEventCreate(&event, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuMemGetInfo(&after, &total));
    assert_int_equal(after, before); /* what failed had no effect either */
    OK(cuMemAlloc(&p, 4));
    OK(cuCtxDestroy(other));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void use_after_free_is_a_fault(void **state)
{
    struct fixture *f = *state;

    OK(cuMemFree(f->x));
    affine(f->a, f->x, 1, 0);
    assert_int_equal(cuStreamSynchronize(f->a), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void freeing_waits_for_the_work_that_uses_the_memory(void **state)
{
    struct fixture *f = *state;

    affine(f->a, f->x, 10, 2);
    OK(cuMemFree(f->x));
    OK(cuCtxSynchronize());
}

static void memory_freed_in_stream_order_serves_earlier_work(void **state)
{
    struct fixture *f = *state;
    CUdeviceptr p;

    OK(cuMemAllocAsync(&p, 4 * WORDS, f->a));
    OK(cuMemsetD32Async(p, 5, WORDS, f->a));
    affine(f->a, p, 2, 0);
    OK(cuMemcpyDtoDAsync(f->x, p, 4 * WORDS, f->a));
    OK(cuMemFreeAsync(p, f->a));
    assert_int_equal(cuMemFreeAsync(p, f->a), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 10);
}

static void memory_freed_without_an_order_to_its_use_is_a_fault(void **state)
{
    struct fixture *f = *state;
    CUdeviceptr p;

    OK(cuMemAllocAsync(&p, 4 * WORDS, f->a));
    OK(cuMemsetD32Async(p, 5, WORDS, f->a));
    OK(cuStreamSynchronize(f->a));
    affine(f->b, p, 2, 0);
    cuMemFreeAsync(p, f->a);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void the_host_can_not_touch_device_memory(void **state)
{
    struct fixture *f = *state;
    pid_t child = fork();
    int status;

    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* not a sanitizer's or cmocka's handler */
        *(volatile uint32_t *)(uintptr_t)f->x = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void a_forked_child_can_not_use_the_parents_driver(void **state)
{
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
                      cuInit(0) == CUDA_ERROR_NOT_INITIALIZED
                  ? 0
                  : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static atomic_uint called;
static atomic_int inside;

static void host_function(void *data)
{
    inside = (int)cuCtxSynchronize();
    called += *(unsigned *)data;
}

static void a_host_function_runs_in_stream_order_and_may_not_call_cuda(void **state)
{
    struct fixture *f = *state;
    unsigned amount = 7;

    called = 0;
    affine(f->a, f->x, 10, 2);
    OK(cuLaunchHostFunc(f->a, host_function, &amount));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(called, 7);
    assert_int_equal(inside, CUDA_ERROR_NOT_PERMITTED);
}

static void *ask_for_memory(void *arg)
{
    const struct fixture *f = arg;
    size_t left, total;

    if (cuCtxSetCurrent(f->context) == CUDA_SUCCESS && cuMemGetInfo(&left, &total) == CUDA_SUCCESS)
        called = 1;
    return NULL;
}

static void wait_until_called(void *data)
{
    const time_t deadline = time(NULL) + 30;

    while (!called && time(NULL) < deadline)
        sched_yield();
    *(unsigned *)data = called;
}

static void other_threads_use_cuda_while_a_host_function_runs(void **state)
{
    struct fixture *f = *state;
    unsigned seen = 0;
    pthread_t thread;

    called = 0;
    assert_int_equal(pthread_create(&thread, NULL, ask_for_memory, f), 0);
    OK(cuLaunchHostFunc(f->a, wait_until_called, &seen));
    OK(cuStreamSynchronize(f->a));
    pthread_join(thread, NULL);
    assert_int_equal(seen, 1);
}

static void a_host_function_is_not_called_after_a_fault(void **state)
{
    struct fixture *f = *state;
    unsigned amount = 7;

    called = 0;
    affine(f->a, f->x + 4, 1, 0);
    cuLaunchHostFunc(f->a, host_function, &amount);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
    assert_int_equal(called, 0);
}

/* Each thread has a stream and memory of its own, and all share the context. */
static void *use_a_stream(void *arg)
{
    struct fixture *f = arg;
    CUstream s;
    CUdeviceptr p;
    CUevent event;
    uint32_t host[WORDS];

    if (cuCtxSetCurrent(f->context) || cuStreamCreate(&s, CU_STREAM_NON_BLOCKING) ||
        cuEventCreate(&event, 0) || cuMemAlloc(&p, sizeof(host)) ||
        cuMemsetD32Async(p, 1, WORDS, s))
        return "set-up";
    for (int i = 0; i < 100; i++) {
        affine(s, p, 1, 1);
        if (i % 10 == 0 && (cuEventRecord(event, s) || cuEventSynchronize(event)))
            return "event";
    }
    if (cuMemcpyDtoHAsync(host, p, sizeof(host), s) || cuStreamSynchronize(s))
        return "copy";
    return host[0] == 101 ? NULL : "value";
}

static void host_threads_use_a_context_together(void **state)
{
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_a_stream, *state), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;

        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

static void two_devices_share_addresses_and_events(void **state)
{
    struct fixture *f = *state;
    CUcontext second;
    CUstream s;
    CUdeviceptr y;
    CUevent event;
    int device = -1;

    OK(cuEventCreate(&event, 0));
    affine(f->a, f->x, 10, 2);
    OK(cuEventRecord(event, f->a));
    OK(cuCtxCreate_v2(&second, 0, 1));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&y, 4 * WORDS));
    OK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, y));
    assert_int_equal(device, 1);
    OK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, f->x));
    assert_int_equal(device, 0);
    OK(cuStreamWaitEvent(s, event, 0));
    OK(cuMemcpyDtoDAsync(y, f->x, 4 * WORDS, s));
    OK(cuMemcpyDtoHAsync(f->host, y, sizeof(f->host), s));
    assert_int_equal(f->host[0], 12);
    OK(cuCtxDestroy(second));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_fault_is_sticky_until_the_context_is_gone),
        TEST(use_after_free_is_a_fault),
        TEST(freeing_waits_for_the_work_that_uses_the_memory),
        TEST(memory_freed_in_stream_order_serves_earlier_work),
        TEST(memory_freed_without_an_order_to_its_use_is_a_fault),
        TEST(the_host_can_not_touch_device_memory),
        TEST(a_forked_child_can_not_use_the_parents_driver),
        TEST(a_host_function_runs_in_stream_order_and_may_not_call_cuda),
        TEST(other_threads_use_cuda_while_a_host_function_runs),
        TEST(a_host_function_is_not_called_after_a_fault),
        TEST(host_threads_use_a_context_together),
        TEST(two_devices_share_addresses_and_events),
    };

    if (cuInit(0) != CUDA_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
