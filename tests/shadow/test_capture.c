/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as applications make them: whatever becomes of a capture, the application runs on, no rule
 * of capture is broken (the simulation says so), and what can't be checked is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "graphs.h"
#include "rig.h"
#include "shadow/follow.h"
#include "shadow/trace/trace.h"

/* ---- capturing ---- */

static const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                            CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                            CU_STREAM_CAPTURE_MODE_RELAXED};

static void capture_in_every_mode(struct rig *rig)
{
    for (uint32_t i = 0; i < 3; i++) {
        struct work work;
        CUgraphExec exec;
        CUgraph graph;

        work_init(&work, &rig->shape, rig_stream(), 3);
        graphs_begin(work.stream, modes[i]);
        CHILD_MUST(work_call(&work, i));
        graph = graphs_end(work.stream);
        exec = graphs_instantiate(graph);
        graphs_destroy(graph);
        graphs_launch_and_wait(exec, work.stream);
        graphs_destroy_exec(exec);
    }
    CHILD_MUST(graphs_destroyed() == 3);
}

static void captured_calls_are_sampled_in_every_mode(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 3;
    rig_run(rig, capture_in_every_mode);
    rig_read_trace(rig, &trace);
    rig_check_rows(rig, &trace, 3 * RIG_ROWS);
    assert_int_equal(trace_counter(&trace, "in_graphs"), 3);
    assert_int_equal(trace_counter(&trace, "replay_sampled"), 3);
    trace_free(&trace);
}

/* Two calls side by side, on a stream that the captured one forked. */
static void forked_capture(struct rig *rig)
{
    struct work first, second;
    CUevent fork, join;
    CUgraphExec exec;

    CHILD_MUST(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    CHILD_MUST(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    work_init(&first, &rig->shape, rig_stream(), rig->calls);
    work_init(&second, &rig->shape, rig_stream(), rig->calls);
    graphs_begin(first.stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CHILD_MUST(cuEventRecord(fork, first.stream) == CUDA_SUCCESS);
    CHILD_MUST(cuStreamWaitEvent(second.stream, fork, 0) == CUDA_SUCCESS);
    CHILD_MUST(work_call(&first, 0));
    CHILD_MUST(work_call(&second, 1));
    CHILD_MUST(cuEventRecord(join, second.stream) == CUDA_SUCCESS);
    CHILD_MUST(cuStreamWaitEvent(first.stream, join, 0) == CUDA_SUCCESS);
    exec = graphs_instantiate(graphs_end(first.stream));
    graphs_launch_and_wait(exec, first.stream);
}

static void both_streams_of_a_forked_capture_are_sampled(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 2;
    rig_run(rig, forked_capture);
    rig_read_trace(rig, &trace);
    rig_check_rows(rig, &trace, 2 * RIG_ROWS);
    trace_free(&trace);
}

#define THREADS 4

struct thread {
    struct rig *rig;
    CUcontext context;
    uint32_t number;
    pthread_barrier_t *captured;
};

static void *capture_and_replay(void *arg)
{
    const struct thread *thread = arg;
    struct work work;
    CUgraphExec exec;
    CUgraph graph;

    CHILD_MUST(cuCtxSetCurrent(thread->context) == CUDA_SUCCESS);
    work_init(&work, &thread->rig->shape, rig_stream(), THREADS);
    pthread_barrier_wait(thread->captured);
    graphs_begin(work.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    CHILD_MUST(work_call(&work, thread->number));
    pthread_barrier_wait(thread->captured); /* all capture at once */
    graph = graphs_end(work.stream);
    exec = graphs_instantiate(graph);
    graphs_destroy(graph);
    graphs_launch(exec, work.stream);
    CHILD_MUST(cuStreamSynchronize(work.stream) == CUDA_SUCCESS);
    return NULL;
}

static void captures_at_once(struct rig *rig)
{
    struct thread threads[THREADS];
    pthread_barrier_t captured;
    pthread_t ids[THREADS];
    CUcontext context;

    CHILD_MUST(cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    mhcs_capture_begins(); /* all but one would come while the engine is being armed */
    pthread_barrier_init(&captured, NULL, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){rig, context, i, &captured};
        CHILD_MUST(pthread_create(&ids[i], NULL, capture_and_replay, &threads[i]) == 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(ids[i], NULL);
    }
}

static void threads_that_capture_at_once_do_not_mix(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = THREADS;
    rig_run(rig, captures_at_once);
    rig_read_trace(rig, &trace);
    rig_check_rows(rig, &trace, THREADS * RIG_ROWS);
    assert_int_equal(trace_counter(&trace, "in_graphs"), THREADS);
    trace_free(&trace);
}

/* ---- what can't be checked ---- */

static size_t nodes_of(CUgraph graph)
{
    size_t count;

    CHILD_MUST(cuGraphGetNodes(graph, NULL, &count) == CUDA_SUCCESS);
    return count;
}

/* A capture that the hooks did not see begin, and one into a graph that was there. */
static void unseen_captures(struct rig *rig)
{
    struct work work;
    CUgraph graph, given;
    size_t nodes;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    CHILD_MUST(work_call(&work, 0));
    nodes = nodes_of(graphs_of_calls(&work, 1, 1));
    CHILD_MUST(cuStreamBeginCapture(work.stream, modes[0]) == CUDA_SUCCESS);
    CHILD_MUST(!work_call(&work, 1));
    CHILD_MUST(cuStreamEndCapture(work.stream, &graph) == CUDA_SUCCESS);
    CHILD_MUST(nodes_of(graph) == nodes - 1);
    CHILD_MUST(cuGraphCreate(&given, 0) == CUDA_SUCCESS);
    CHILD_MUST(cuStreamBeginCaptureToGraph(work.stream, given, NULL, NULL, 0, modes[0]) ==
               CUDA_SUCCESS);
    CHILD_MUST(!work_call(&work, 1));
    CHILD_MUST(cuStreamEndCapture(work.stream, &graph) == CUDA_SUCCESS);
    CHILD_MUST(nodes_of(given) == nodes - 1);
}

static void into_a_capture_that_was_not_seen_to_begin_nothing_is_inserted(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 2;
    rig_run(rig, unseen_captures);
    rig_read_trace(rig, &trace);
    rig_check_rows(rig, &trace, RIG_ROWS);
    assert_int_equal(trace_counter(&trace, "captured"), 2);
    assert_int_equal(trace_counter(&trace, "in_graphs"), 1);
    assert_int_equal(trace_reason(&trace, "capture_unseen"), 2);
    assert_int_equal(trace_events(&trace, "notice", "capture_unseen"), 1);
    trace_free(&trace);
}

/* The table is the library's own, and in memory that can be written to. */
static void capture_on_an_old_driver(struct rig *rig)
{
    const struct mhcs_driver *driver;
    struct work work;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    CHILD_MUST(work_call(&work, 0));
    CHILD_MUST(mhcs_driver(&driver) == 0);
    ((struct mhcs_driver *)driver)->cuGraphNodeSetEnabled = NULL;
    CHILD_MUST(nodes_of(graphs_of_calls(&work, 1, 1)) > 0);
}

static void an_old_driver_leaves_captured_calls_unchecked_and_says_so(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 2;
    rig_run(rig, capture_on_an_old_driver);
    rig_read_trace(rig, &trace);
    rig_check_rows(rig, &trace, RIG_ROWS);
    assert_int_equal(trace_reason(&trace, "capture_driver"), 1);
    assert_int_equal(trace_counter(&trace, "in_graphs"), 0);
    assert_int_equal(trace_events(&trace, "notice", "capture_driver"), 1);
    trace_free(&trace);
}

/* As a node of another graph it runs, and does nothing. */
static void child_graph(struct rig *rig)
{
    struct work work;
    CUgraphExec exec;
    CUgraphNode node;
    CUgraph parent;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    CHILD_MUST(cuGraphCreate(&parent, 0) == CUDA_SUCCESS);
    CHILD_MUST(cuGraphAddChildGraphNode(&node, parent, NULL, 0,
                                        graphs_of_calls(&work, 0, rig->calls)) == CUDA_SUCCESS);
    exec = graphs_instantiate(parent);
    for (uint32_t i = 0; i < 3; i++) {
        graphs_launch(exec, work.stream);
    }
    CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
    CHILD_MUST(atomic_load(&mhcs_graphs_followed) == 0);
    CHILD_MUST(mhcs_counter_value(MHCS_UNFOLLOWED) == rig->calls);
}

static void a_child_graph_is_counted_as_not_followed(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 2;
    rig_run(rig, child_graph);
    rig_read_trace(rig, &trace);
    assert_int_equal(trace.count, 0);
    assert_int_equal(trace_reason(&trace, "child"), 2);
    trace_free(&trace);
}

#define CAPTURE_TEST(f) cmocka_unit_test_setup_teardown(f, rig_set_up_graphs, rig_tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CAPTURE_TEST(captured_calls_are_sampled_in_every_mode),
        CAPTURE_TEST(both_streams_of_a_forked_capture_are_sampled),
        CAPTURE_TEST(threads_that_capture_at_once_do_not_mix),
        CAPTURE_TEST(into_a_capture_that_was_not_seen_to_begin_nothing_is_inserted),
        CAPTURE_TEST(an_old_driver_leaves_captured_calls_unchecked_and_says_so),
        CAPTURE_TEST(a_child_graph_is_counted_as_not_followed),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL); /* NULL: all */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
