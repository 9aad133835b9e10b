/* SPDX-License-Identifier: Apache-2.0 */
/* The engine through the driver API, with small operations in place of kernels. Run once for each
 * order (SIMCUDA_ORDER): what must hold in every order is checked in every order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "simcuda.h"

CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned flags, CUdevice device);

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

#define WORDS 64

struct fixture {
    CUcontext context;
    CUstream a, b; /* non-blocking */
    CUdeviceptr x; /* WORDS words, all 1 */
    uint32_t host[WORDS];
};

static bool order_is(const char *name)
{
    const char *order = getenv("SIMCUDA_ORDER");

    return strncmp(order ? order : "lazy", name, strlen(name)) == 0;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    OK(cuCtxCreate_v2(&f->context, 0, 0));
    OK(cuStreamCreate(&f->a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&f->b, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&f->x, sizeof(f->host)));
    OK(cuMemsetD32(f->x, 1, WORDS));
    OK(cuCtxSynchronize());
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cuCtxDestroy(f->context);
    free(f);
    return 0;
}

/* The stand-in for a kernel: x[i] = x[i] * times + plus. */
struct affine {
    CUdeviceptr x;
    uint32_t times, plus;
};

static int run_affine(void *arg, struct sim_memory *memory, const struct sim_op *op,
                      struct sim_fault *fault)
{
    const struct affine *k = arg;
    const struct sim_where where = {0};
    uint32_t *x = sim_memory_access(memory, op, &where, k->x, 4 * WORDS, 1, SIM_READ, fault);

    if (fault->set || !x)
        return -1;
    sim_memory_access(memory, op, &where, k->x, 4 * WORDS, 1, SIM_WRITE, fault);
    for (int i = 0; i < WORDS; i++)
        x[i] = x[i] * k->times + k->plus;
    return fault->set ? -1 : 0;
}

static void affine(CUstream stream, CUdeviceptr x, uint32_t times, uint32_t plus)
{
    struct affine *k = malloc(sizeof(*k));

    *k = (struct affine){x, times, plus};
    /* In an order that runs it at once it may already be at fault. */
    simcuda_enqueue(stream, "affine", run_affine, k);
}

static uint32_t first_word(struct fixture *f)
{
    OK(cuMemcpyDtoH(f->host, f->x, sizeof(f->host)));
    return f->host[0];
}

static void a_stream_runs_in_order(void **state)
{
    struct fixture *f = *state;

    affine(f->a, f->x, 10, 2);
    affine(f->a, f->x, 10, 3);
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 123);
}

static void nothing_runs_in_lazy_order_until_the_host_waits(void **state)
{
    struct fixture *f = *state;

    if (!order_is("lazy"))
        skip();
    affine(f->a, f->x, 10, 2);
    affine(f->b, f->x + 4 * WORDS, 1, 0); /* out of bounds, but nobody waits for it */
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 12);
    assert_int_equal(cuStreamSynchronize(f->b), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void an_event_orders_two_streams(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();
    CUevent event;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    affine(f->a, f->x, 10, 2);
    OK(cuEventRecord(event, f->a));
    OK(cuStreamWaitEvent(f->b, event, 0));
    affine(f->b, f->x, 10, 3);
    OK(cuStreamSynchronize(f->b));
    assert_int_equal(first_word(f), 123);
    assert_int_equal(simcuda_fault_count(), faults);
    OK(cuEventDestroy(event));
}

static void a_missing_wait_is_a_race(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();

    affine(f->a, f->x, 10, 2);
    affine(f->b, f->x, 10, 3);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
    assert_int_equal(simcuda_fault_count(), faults + 1);
}

static void an_event_recorded_too_early_orders_nothing(void **state)
{
    struct fixture *f = *state;
    CUevent event;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(event, f->a));
    affine(f->a, f->x, 10, 2);
    cuStreamWaitEvent(f->b, event, 0);
    affine(f->b, f->x, 10, 3);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void waiting_on_the_host_orders_two_streams(void **state)
{
    struct fixture *f = *state;

    affine(f->a, f->x, 10, 2);
    OK(cuStreamSynchronize(f->a));
    affine(f->b, f->x, 10, 3);
    OK(cuCtxSynchronize());
    assert_int_equal(first_word(f), 123);
}

static void polling_an_event_comes_to_an_end_and_orders(void **state)
{
    struct fixture *f = *state;
    const time_t deadline = time(NULL) + 30;
    unsigned not_ready = 0;
    CUevent event;
    CUresult r;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    assert_int_equal(cuEventQuery(event), CUDA_SUCCESS); /* never recorded */
    for (int i = 0; i < 10; i++)
        affine(f->a, f->x, 1, 1);
    OK(cuEventRecord(event, f->a));
    while ((r = cuEventQuery(event)) == CUDA_ERROR_NOT_READY) {
        not_ready++;
        assert_true(time(NULL) < deadline);
    }
    OK(r);
    if (order_is("lazy"))
        assert_int_equal(not_ready, 10); /* one operation for each query */
    if (order_is("eager"))
        assert_int_equal(not_ready, 0);
    affine(f->b, f->x, 10, 3);
    OK(cuStreamSynchronize(f->b));
    assert_int_equal(first_word(f), 113);
}

static void polling_a_stream_comes_to_an_end(void **state)
{
    struct fixture *f = *state;
    const time_t deadline = time(NULL) + 30;
    CUresult r;

    for (int i = 0; i < 10; i++)
        affine(f->a, f->x, 1, 1);
    while ((r = cuStreamQuery(f->a)) == CUDA_ERROR_NOT_READY)
        assert_true(time(NULL) < deadline);
    OK(r);
    assert_int_equal(first_word(f), 11);
}

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

static void two_blocking_streams_are_not_ordered_without_the_legacy_stream(void **state)
{
    struct fixture *f = *state;
    CUstream one, two;

    OK(cuStreamCreate(&one, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&two, CU_STREAM_DEFAULT));
    affine(NULL, f->x, 10, 2);
    affine(one, f->x, 10, 3);
    affine(two, f->x, 10, 4);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void the_legacy_stream_orders_blocking_streams(void **state)
{
    struct fixture *f = *state;
    CUstream one, two;

    OK(cuStreamCreate(&one, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&two, CU_STREAM_DEFAULT));
    affine(one, f->x, 10, 2);
    affine(NULL, f->x, 10, 3);
    affine(two, f->x, 10, 4);
    OK(cuStreamSynchronize(two));
    assert_int_equal(first_word(f), 1234);
}

static void the_legacy_stream_does_not_order_a_non_blocking_stream(void **state)
{
    struct fixture *f = *state;

    affine(NULL, f->x, 10, 2);
    affine(f->a, f->x, 10, 3);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void a_non_blocking_stream_does_not_order_the_legacy_stream(void **state)
{
    struct fixture *f = *state;

    affine(f->a, f->x, 10, 2);
    affine(NULL, f->x, 10, 3);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void the_threads_own_default_stream_is_a_blocking_one(void **state)
{
    struct fixture *f = *state;

    affine(NULL, f->x, 10, 2);
    affine(CU_STREAM_PER_THREAD, f->x, 10, 3);
    affine(NULL, f->x, 10, 4);
    assert_int_equal(first_word(f), 1234);
}

static void a_destroyed_stream_still_does_its_work(void **state)
{
    struct fixture *f = *state;

    affine(f->a, f->x, 10, 2);
    OK(cuStreamDestroy(f->a));
    assert_int_equal(cuStreamSynchronize(f->a), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxSynchronize());
    affine(f->b, f->x, 10, 3);
    OK(cuStreamSynchronize(f->b));
    assert_int_equal(first_word(f), 123);
}

static void streams_can_be_made_again_and_again(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3 * SIM_CLOCKS_MAX; i++) {
        CUstream s;

        OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
        affine(s, f->x, 1, 1);
        OK(cuStreamSynchronize(s));
        OK(cuStreamDestroy(s));
    }
    assert_int_equal(first_word(f), 1 + 3 * SIM_CLOCKS_MAX);
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

static void long_chains_between_streams_end(void **state)
{
    struct fixture *f = *state;
    CUevent event;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < 2000; i++) {
        CUstream from = i % 2 ? f->a : f->b, to = i % 2 ? f->b : f->a;

        affine(from, f->x, 1, 1);
        OK(cuEventRecord(event, from));
        OK(cuStreamWaitEvent(to, event, 0));
    }
    OK(cuEventSynchronize(event));
    assert_int_equal(first_word(f), 2001);
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
        TEST(a_stream_runs_in_order),
        TEST(nothing_runs_in_lazy_order_until_the_host_waits),
        TEST(an_event_orders_two_streams),
        TEST(a_missing_wait_is_a_race),
        TEST(an_event_recorded_too_early_orders_nothing),
        TEST(waiting_on_the_host_orders_two_streams),
        TEST(polling_an_event_comes_to_an_end_and_orders),
        TEST(polling_a_stream_comes_to_an_end),
        TEST(a_fault_is_sticky_until_the_context_is_gone),
        TEST(use_after_free_is_a_fault),
        TEST(freeing_waits_for_the_work_that_uses_the_memory),
        TEST(memory_freed_in_stream_order_serves_earlier_work),
        TEST(memory_freed_without_an_order_to_its_use_is_a_fault),
        TEST(the_host_can_not_touch_device_memory),
        TEST(a_forked_child_can_not_use_the_parents_driver),
        TEST(two_blocking_streams_are_not_ordered_without_the_legacy_stream),
        TEST(the_legacy_stream_orders_blocking_streams),
        TEST(the_legacy_stream_does_not_order_a_non_blocking_stream),
        TEST(a_non_blocking_stream_does_not_order_the_legacy_stream),
        TEST(the_threads_own_default_stream_is_a_blocking_one),
        TEST(a_destroyed_stream_still_does_its_work),
        TEST(streams_can_be_made_again_and_again),
        TEST(a_host_function_runs_in_stream_order_and_may_not_call_cuda),
        TEST(other_threads_use_cuda_while_a_host_function_runs),
        TEST(a_host_function_is_not_called_after_a_fault),
        TEST(long_chains_between_streams_end),
        TEST(host_threads_use_a_context_together),
        TEST(two_devices_share_addresses_and_events),
    };

    if (cuInit(0) != CUDA_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
