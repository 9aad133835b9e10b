/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of stream capture: what it forbids, with which error, what that does to the capture,
 * and that each such call is a fault. Run once for each order.
 */
#include <pthread.h>

#include "scale_fixture.h"

#define GLOBAL       CU_STREAM_CAPTURE_MODE_GLOBAL
#define THREAD_LOCAL CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
#define RELAXED      CU_STREAM_CAPTURE_MODE_RELAXED

/* The call returns the error, and is a fault. */
#define FORBIDDEN(call, error)                                                                     \
    do {                                                                                           \
        const unsigned faults_before = simcuda_fault_count();                                      \
        assert_int_equal(call, error);                                                             \
        assert_int_equal(simcuda_fault_count(), faults_before + 1);                                \
    } while (0)

static CUstreamCaptureStatus status_of(CUstream stream)
{
    CUstreamCaptureStatus status;

    OK(cuStreamIsCapturing(stream, &status));
    return status;
}

/* After a forbidden call: only the end is left, and it gives no graph. */
static void ends_invalidated(CUstream stream)
{
    CUgraph graph = (CUgraph)1;

    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_null(graph);
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
}

static void ends_well(CUstream stream)
{
    CUgraph graph;

    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
}

static CUevent new_event(void)
{
    CUevent event;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

static void set_mode(CUstreamCaptureMode mode)
{
    OK(cuThreadExchangeStreamCaptureMode(&mode));
}

static void a_stream_says_whether_it_is_captured(void **state)
{
    struct fixture *f = *state;
    const CUgraphNode *nodes;
    CUstreamCaptureStatus status;
    CUgraph graph, ended;
    cuuint64_t id, other;
    size_t count;

    assert_int_equal(status_of(f->a), CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamBeginCapture(f->a, GLOBAL));
    assert_int_equal(status_of(f->b), CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamGetCaptureInfo(f->a, &status, &id, &graph, &nodes, NULL, &count));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(count, 0);
    affine(f->a, f->x, 10, 2);
    affine(f->a, f->x, 10, 2);
    OK(cuStreamGetCaptureInfo(f->a, &status, &other, NULL, &nodes, NULL, &count));
    assert_int_equal(other, id);
    assert_int_equal(count, 1);
    OK(cuStreamEndCapture(f->a, &ended));
    assert_ptr_equal(ended, graph);
    OK(cuStreamBeginCapture(f->a, GLOBAL));
    OK(cuStreamGetCaptureInfo(f->a, &status, &other, NULL, NULL, NULL, NULL));
    assert_int_not_equal(other, id);
    ends_well(f->a);
}

static void waiting_for_a_captured_stream_is_unsupported_in_every_mode(void **state)
{
    struct fixture *f = *state;

    for (int mode = GLOBAL; mode <= RELAXED; mode++) {
        OK(cuStreamBeginCapture(f->a, (CUstreamCaptureMode)mode));
        FORBIDDEN(cuStreamSynchronize(f->a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalidated(f->a);
        OK(cuStreamBeginCapture(f->a, (CUstreamCaptureMode)mode));
        FORBIDDEN(cuStreamQuery(f->a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalidated(f->a);
        OK(cuStreamBeginCapture(f->a, (CUstreamCaptureMode)mode));
        FORBIDDEN(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalidated(f->a);
    }
}

static void a_captured_event_can_not_be_asked_in_any_mode(void **state)
{
    struct fixture *f = *state;
    CUevent event = new_event();

    for (int mode = GLOBAL; mode <= RELAXED; mode++) {
        OK(cuStreamBeginCapture(f->a, (CUstreamCaptureMode)mode));
        OK(cuEventRecord(event, f->a));
        FORBIDDEN(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
        ends_invalidated(f->a);
        FORBIDDEN(cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
        FORBIDDEN(cuStreamWaitEvent(f->b, event, 0), CUDA_ERROR_CAPTURED_EVENT);
    }
    OK(cuEventRecord(event, f->a)); /* an ordinary one again */
    OK(cuEventSynchronize(event));
    OK(cuEventQuery(event));
    OK(cuEventDestroy(event));
}

static void work_for_an_invalidated_capture_is_refused(void **state)
{
    struct fixture *f = *state;
    CUevent event = new_event();

    OK(cuStreamBeginCapture(f->a, GLOBAL));
    OK(cuEventRecord(event, f->a));
    FORBIDDEN(cuStreamSynchronize(f->a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    FORBIDDEN(cuMemsetD8Async(f->x, 0, 4, f->a), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    FORBIDDEN(cuEventRecord(event, f->a), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    FORBIDDEN(cuStreamWaitEvent(f->b, event, 0), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(status_of(f->b), CU_STREAM_CAPTURE_STATUS_NONE);
    ends_invalidated(f->a);
}

/* What each mode of a capture, and of the thread, allows. */

static CUresult allocate(struct fixture *f)
{
    CUdeviceptr memory;
    CUresult r = cuMemAlloc(&memory, 4);

    return r == CUDA_SUCCESS ? cuMemFree(memory) : r;
}

static void the_capturing_thread_may_be_unsafe_if_it_said_so(void **state)
{
    struct fixture *f = *state;

    for (int mode = GLOBAL; mode <= THREAD_LOCAL; mode++) {
        OK(cuStreamBeginCapture(f->a, (CUstreamCaptureMode)mode));
        FORBIDDEN(allocate(f), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalidated(f->a);
        OK(cuStreamBeginCapture(f->a, (CUstreamCaptureMode)mode));
        set_mode(RELAXED);
        OK(allocate(f));
        set_mode(THREAD_LOCAL);
        FORBIDDEN(allocate(f), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        set_mode(GLOBAL);
        ends_invalidated(f->a);
    }
    OK(cuStreamBeginCapture(f->a, RELAXED));
    OK(allocate(f));
    ends_well(f->a);
}

struct other_thread {
    struct fixture *f;
    CUresult (*call)(struct fixture *f);
    CUstreamCaptureMode mode;
    CUresult result;
};

static void *run_other_thread(void *arg)
{
    struct other_thread *t = arg;

    OK(cuCtxSetCurrent(t->f->context));
    set_mode(t->mode);
    t->result = t->call(t->f);
    return NULL;
}

/* What the call returns in another thread of that mode. */
static CUresult elsewhere(struct fixture *f, CUresult (*call)(struct fixture *f),
                          CUstreamCaptureMode mode)
{
    struct other_thread t = {.f = f, .call = call, .mode = mode};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run_other_thread, &t), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return t.result;
}

static void another_thread_must_be_careful_in_the_global_mode_only(void **state)
{
    struct fixture *f = *state;

    OK(cuStreamBeginCapture(f->a, GLOBAL));
    OK(elsewhere(f, allocate, THREAD_LOCAL));
    OK(elsewhere(f, allocate, RELAXED));
    FORBIDDEN(elsewhere(f, allocate, GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    ends_invalidated(f->a);
    for (int mode = THREAD_LOCAL; mode <= RELAXED; mode++) {
        OK(cuStreamBeginCapture(f->a, (CUstreamCaptureMode)mode));
        OK(elsewhere(f, allocate, GLOBAL));
        ends_well(f->a);
    }
}

static CUresult free_pinned(struct fixture *f)
{
    return cuMemFreeHost(f->host);
}

static CUresult register_pinned(struct fixture *f)
{
    return cuMemHostRegister(f->host, sizeof(f->host), 0);
}

static CUresult allocate_pinned(struct fixture *f)
{
    void *memory;

    return cuMemHostAlloc(&memory, 4, 0);
}

static CUresult load_module(struct fixture *f)
{
    CUmodule module;

    return cuModuleLoadData(&module, scale_ptx);
}

static CUresult copy_now(struct fixture *f)
{
    return cuMemcpyDtoH(f->host, f->x, 4);
}

static CUresult wait_for_another_stream(struct fixture *f)
{
    return cuStreamSynchronize(f->b);
}

static CUresult ask_another_stream(struct fixture *f)
{
    return cuStreamQuery(f->b);
}

static CUresult ask_an_event(struct fixture *f)
{
    CUevent event = new_event();
    CUresult r = cuEventQuery(event);

    OK(cuEventDestroy(event));
    return r;
}

static void unsafe_calls_are_all_known(void **state)
{
    struct fixture *f = *state;
    CUresult (*const calls[])(struct fixture * f) = {
        allocate, free_pinned,  register_pinned,         allocate_pinned,   load_module,
        copy_now, ask_an_event, wait_for_another_stream, ask_another_stream};

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        OK(cuStreamBeginCapture(f->a, GLOBAL));
        FORBIDDEN(calls[i](f), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalidated(f->a);
        OK(cuStreamBeginCapture(f->a, GLOBAL));
        FORBIDDEN(elsewhere(f, calls[i], GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        ends_invalidated(f->a);
    }
}

static void an_unsafe_call_invalidates_every_capture_that_forbids_it(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();

    OK(cuStreamBeginCapture(f->a, GLOBAL));
    OK(cuStreamBeginCapture(f->b, RELAXED));
    assert_int_equal(allocate(f), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(simcuda_fault_count(), faults + 1);
    ends_well(f->b);
    ends_invalidated(f->a);
}

static CUresult end_a(struct fixture *f)
{
    CUgraph graph;
    CUresult r = cuStreamEndCapture(f->a, &graph);

    return r == CUDA_SUCCESS ? cuGraphDestroy(graph) : r;
}

static void only_a_relaxed_capture_may_end_in_another_thread(void **state)
{
    struct fixture *f = *state;

    for (int mode = GLOBAL; mode <= THREAD_LOCAL; mode++) {
        OK(cuStreamBeginCapture(f->a, (CUstreamCaptureMode)mode));
        FORBIDDEN(elsewhere(f, end_a, GLOBAL), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
        ends_well(f->a); /* as if nothing had been */
    }
    OK(cuStreamBeginCapture(f->a, RELAXED));
    OK(elsewhere(f, end_a, GLOBAL));
}

static CUresult capture_and_launch(struct fixture *f)
{
    CUstream stream;
    CUgraphExec exec;
    CUgraph graph;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 20; i++) {
        OK(cuStreamBeginCapture(stream, THREAD_LOCAL));
        OK(cuMemsetD32Async(f->x + 4, 7, 1, stream));
        OK(cuStreamEndCapture(stream, &graph));
        OK(cuGraphInstantiate(&exec, graph, 0));
        OK(cuGraphDestroy(graph));
        OK(cuGraphExecDestroy(exec));
    }
    return cuStreamDestroy(stream);
}

static void threads_capture_at_the_same_time(void **state)
{
    struct fixture *f = *state;
    struct other_thread t[4];
    pthread_t threads[4];
    const unsigned faults = simcuda_fault_count();

    for (int i = 0; i < 4; i++) {
        t[i] = (struct other_thread){.f = f, .call = capture_and_launch, .mode = GLOBAL};
        assert_int_equal(pthread_create(&threads[i], NULL, run_other_thread, &t[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        OK(t[i].result);
    }
    assert_int_equal(simcuda_fault_count(), faults);
}

/* Streams and events. */

static void the_legacy_stream_can_not_be_captured(void **state)
{
    FORBIDDEN(cuStreamBeginCapture(CU_STREAM_LEGACY, GLOBAL),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    OK(cuStreamBeginCapture(CU_STREAM_PER_THREAD, GLOBAL));
    ends_well(CU_STREAM_PER_THREAD);
}

static void the_legacy_stream_would_depend_on_a_blocking_stream(void **state)
{
    struct fixture *f = *state;
    CUstreamCaptureStatus status;
    CUevent event = new_event();
    const unsigned faults = simcuda_fault_count();
    CUstream blocking;

    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamBeginCapture(blocking, RELAXED));
    assert_int_equal(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(cuStreamGetCaptureInfo(NULL, &status, NULL, NULL, NULL, NULL, NULL),
                     CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(simcuda_fault_count(), faults); /* to ask is legal, and changes nothing */
    ends_well(blocking);

    OK(cuStreamBeginCapture(blocking, RELAXED));
    FORBIDDEN(cuMemsetD8Async(f->x, 0, 4, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    ends_invalidated(blocking);
    OK(cuStreamBeginCapture(blocking, RELAXED));
    FORBIDDEN(cuMemcpyDtoH(f->host, f->x, 4), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    ends_invalidated(blocking);
    OK(cuStreamBeginCapture(blocking, RELAXED));
    FORBIDDEN(cuEventRecord(event, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    ends_invalidated(blocking);

    OK(cuStreamBeginCapture(f->a, RELAXED)); /* non-blocking */
    OK(cuMemsetD8Async(f->x, 0, 4, NULL));
    ends_well(f->a);
}

static void the_legacy_stream_can_not_be_drawn_in(void **state)
{
    struct fixture *f = *state;
    CUevent event = new_event();

    OK(cuStreamBeginCapture(f->a, RELAXED));
    OK(cuEventRecord(event, f->a));
    FORBIDDEN(cuStreamWaitEvent(NULL, event, 0), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    ends_invalidated(f->a);
}

static void a_stream_that_waits_for_a_captured_event_is_drawn_in(void **state)
{
    struct fixture *f = *state;
    CUevent event = new_event();
    CUgraph graph = (CUgraph)1;

    OK(cuStreamBeginCapture(f->a, GLOBAL));
    OK(cuEventRecord(event, f->a));
    OK(cuStreamWaitEvent(f->b, event, 0));
    assert_int_equal(status_of(f->b), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    FORBIDDEN(cuStreamEndCapture(f->b, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    assert_null(graph);
    ends_invalidated(f->a);
    assert_int_equal(status_of(f->b), CU_STREAM_CAPTURE_STATUS_NONE);
}

static void a_fork_must_be_joined(void **state)
{
    struct fixture *f = *state;
    CUevent event = new_event();
    CUgraph graph = (CUgraph)1;

    OK(cuStreamBeginCapture(f->a, GLOBAL));
    OK(cuEventRecord(event, f->a));
    OK(cuStreamWaitEvent(f->b, event, 0)); /* drawn in, but adds nothing */
    ends_well(f->a);
    OK(cuStreamBeginCapture(f->a, GLOBAL));
    affine(f->a, f->x, 10, 2);
    OK(cuEventRecord(event, f->a));
    OK(cuStreamWaitEvent(f->b, event, 0));
    affine(f->b, f->x, 10, 3);
    FORBIDDEN(cuStreamEndCapture(f->a, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    assert_null(graph);
    assert_int_equal(status_of(f->a), CU_STREAM_CAPTURE_STATUS_NONE);
    assert_int_equal(status_of(f->b), CU_STREAM_CAPTURE_STATUS_NONE);
    assert_int_equal(first_word(f), 1);
}

static void captures_do_not_merge(void **state)
{
    struct fixture *f = *state;
    CUevent event = new_event();

    OK(cuStreamBeginCapture(f->a, GLOBAL));
    OK(cuStreamBeginCapture(f->b, GLOBAL));
    OK(cuEventRecord(event, f->a));
    FORBIDDEN(cuStreamWaitEvent(f->b, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    ends_invalidated(f->a);
    ends_invalidated(f->b);
}

static void a_capture_does_not_depend_on_what_was_queued_before(void **state)
{
    struct fixture *f = *state;
    CUevent event = new_event(), never = new_event();

    affine(f->a, f->x, 10, 2);
    OK(cuEventRecord(event, f->b));
    OK(cuStreamBeginCapture(f->a, GLOBAL)); /* in the same stream it just begins */
    OK(cuStreamWaitEvent(f->a, never, 0));
    FORBIDDEN(cuStreamWaitEvent(f->a, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    ends_invalidated(f->a);
}

static void a_capture_can_not_begin_or_end_twice(void **state)
{
    struct fixture *f = *state;
    CUgraph graph;

    FORBIDDEN(cuStreamEndCapture(f->a, &graph), CUDA_ERROR_ILLEGAL_STATE);
    OK(cuStreamBeginCapture(f->a, GLOBAL));
    FORBIDDEN(cuStreamBeginCapture(f->a, GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
    ends_well(f->a);
}

static void dependencies_can_be_replaced(void **state)
{
    struct fixture *f = *state;
    CUgraphNode nodes[2], after;
    size_t count = 2;
    CUgraph graph;

    assert_int_equal(cuStreamUpdateCaptureDependencies(f->a, NULL, NULL, 0, 0),
                     CUDA_ERROR_ILLEGAL_STATE);
    OK(cuStreamBeginCapture(f->a, GLOBAL));
    affine(f->a, f->x, 10, 2);
    OK(cuStreamUpdateCaptureDependencies(f->a, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    affine(f->a, f->x, 10, 3);
    OK(cuStreamEndCapture(f->a, &graph));
    OK(cuGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 2);
    OK(cuGraphNodeGetDependencies(nodes[1], NULL, NULL, &count));
    assert_int_equal(count, 0);
    OK(cuGraphDestroy(graph));

    OK(cuStreamBeginCapture(f->a, GLOBAL));
    affine(f->a, f->x, 10, 2);
    OK(cuStreamGetCaptureInfo(f->a, &(CUstreamCaptureStatus){0}, NULL, &graph, NULL, NULL, NULL));
    OK(cuGraphAddEmptyNode(&after, graph, NULL, 0));
    OK(cuStreamUpdateCaptureDependencies(f->a, &after, NULL, 1,
                                         CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    OK(cuStreamGetCaptureInfo(f->a, &(CUstreamCaptureStatus){0}, NULL, NULL, NULL, NULL, &count));
    assert_int_equal(count, 2);
    ends_well(f->a);
}

static void a_capture_may_go_to_a_graph_that_is_there(void **state)
{
    struct fixture *f = *state;
    CUgraphNode first, nodes[2];
    CUgraph graph, same;
    CUgraphExec exec;
    size_t count = 2;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddEmptyNode(&first, graph, NULL, 0));
    OK(cuStreamBeginCaptureToGraph(f->a, graph, &first, NULL, 1, GLOBAL));
    affine(f->a, f->x, 10, 2);
    FORBIDDEN(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
    FORBIDDEN(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamEndCapture(f->a, &same));
    assert_ptr_equal(same, graph);
    OK(cuGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 2);
    OK(cuGraphNodeGetDependencies(nodes[1], nodes, NULL, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(nodes[0], first);

    OK(cuStreamBeginCaptureToGraph(f->a, graph, NULL, NULL, 0, GLOBAL));
    FORBIDDEN(cuStreamQuery(f->a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    ends_invalidated(f->a);
    OK(cuGraphDestroy(graph)); /* stays the application's */
}

static void an_abandoned_capture_ends_with_its_context(void **state)
{
    struct fixture *f = *state;
    CUcontext other;
    CUstream stream;

    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, GLOBAL));
    OK(cuMemsetD8Async(f->x, 0, 4, stream));
    FORBIDDEN(cuStreamDestroy(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    OK(cuCtxDestroy(other));
    OK(cuCtxSetCurrent(f->context));
    OK(allocate(f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_stream_says_whether_it_is_captured),
        TEST(waiting_for_a_captured_stream_is_unsupported_in_every_mode),
        TEST(a_captured_event_can_not_be_asked_in_any_mode),
        TEST(work_for_an_invalidated_capture_is_refused),
        TEST(the_capturing_thread_may_be_unsafe_if_it_said_so),
        TEST(another_thread_must_be_careful_in_the_global_mode_only),
        TEST(unsafe_calls_are_all_known),
        TEST(an_unsafe_call_invalidates_every_capture_that_forbids_it),
        TEST(only_a_relaxed_capture_may_end_in_another_thread),
        TEST(threads_capture_at_the_same_time),
        TEST(the_legacy_stream_can_not_be_captured),
        TEST(the_legacy_stream_would_depend_on_a_blocking_stream),
        TEST(the_legacy_stream_can_not_be_drawn_in),
        TEST(a_stream_that_waits_for_a_captured_event_is_drawn_in),
        TEST(a_fork_must_be_joined),
        TEST(captures_do_not_merge),
        TEST(a_capture_does_not_depend_on_what_was_queued_before),
        TEST(a_capture_can_not_begin_or_end_twice),
        TEST(dependencies_can_be_replaced),
        TEST(a_capture_may_go_to_a_graph_that_is_there),
        TEST(an_abandoned_capture_ends_with_its_context),
    };

    if (cuInit(0) != CUDA_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
