/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of graphs in an application's hands: thrown away, cloned, updated, destroyed at
 * once, ended with their context, and made anew a thousand times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>

#include "graphs.h"
#include "rig.h"
#include "shadow/engine.h"
#include "shadow/follow.h"

/* ---- what becomes of a graph ---- */

static void never_instantiated(struct rig *rig)
{
    struct work work;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    graphs_destroy(graphs_of_calls(&work, 0, rig->calls));
    graphs_begin(work.stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    CHILD_MUST(work_call(&work, 0));
    CHILD_MUST(!work_failing_call(&work, 1) || mhcs_counter_value(MHCS_FAILED) == 1);
    graphs_destroy(graphs_end(work.stream));
    CHILD_MUST(graphs_destroyed() == 2);
    CHILD_MUST(work_call(&work, 1));
}

static void a_capture_that_is_thrown_away_leaves_nothing(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 2;
    rig_run(rig, never_instantiated);
    rig_read_trace(rig, &trace);
    rig_check_rows(rig, &trace, RIG_ROWS);
    assert_int_equal(trace_counter(&trace, "replays"), 0);
    assert_int_equal(trace_counter(&trace, "in_graphs"), 3);
    trace_free(&trace);
}

static void twice_and_cloned(struct rig *rig)
{
    struct work work;
    CUgraphExec first, second, third;
    CUgraph graph, clone;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    graph = graphs_of_calls(&work, 0, rig->calls);
    CHILD_MUST(cuGraphClone(&clone, graph) == CUDA_SUCCESS);
    first = graphs_instantiate(graph);
    second = graphs_instantiate(graph);
    third = graphs_instantiate(clone);
    graphs_destroy(graph);
    graphs_destroy(clone);
    CHILD_MUST(graphs_destroyed() == 0);
    graphs_launch_and_wait(first, work.stream);
    graphs_destroy_exec(first);
    CHILD_MUST(graphs_destroyed() == 0); /* the second needs it still */
    graphs_launch_and_wait(second, work.stream);
    graphs_destroy_exec(second);
    CHILD_MUST(graphs_destroyed() == 1);
    graphs_launch_and_wait(third, work.stream);
    graphs_destroy_exec(third);
    CHILD_MUST(graphs_destroyed() == 2);
}

static void a_graph_instantiated_twice_and_a_clone_of_it_are_all_sampled(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 2;
    rig_run(rig, twice_and_cloned);
    rig_read_trace(rig, &trace);
    rig_check_rows(rig, &trace, 3 * 2 * RIG_ROWS);
    trace_free(&trace);
}

/* Another stream's buffers, and other sizes: the addresses of the first graph are no more. */
static void updated(struct rig *rig)
{
    struct work before, after;
    CUgraphExec exec;
    CUgraph graph;

    work_init(&before, &rig->shape, rig_stream(), rig->calls);
    work_init(&after, &rig->shape, rig_stream(), rig->calls);
    exec = graphs_instantiate(graphs_of_calls(&before, 0, 2));
    graphs_launch_and_wait(exec, before.stream);
    graph = graphs_of_calls(&after, 2, 2);
    CHILD_MUST(graphs_update(exec, graph) == CUDA_SUCCESS);
    graphs_destroy(graph);
    CHILD_MUST(graphs_destroyed() == 1);
    CHILD_MUST(cuMemFree(before.x) == CUDA_SUCCESS);
    CHILD_MUST(cuMemFree(before.fn) == CUDA_SUCCESS);
    graphs_launch_and_wait(exec, after.stream);
}

static void an_updated_graph_is_sampled_at_its_new_addresses(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 4;
    rig_run(rig, updated);
    rig_read_trace(rig, &trace);
    rig_check_rows(rig, &trace, 4 * RIG_ROWS);
    for (int32_t call = 0; call < 4; call++) {
        int rows = 0;

        for (uint32_t n = 0; n < trace.count; n++) {
            rows += trace.rows[n].tokens == WORK_TOKENS + call;
        }
        assert_int_equal(rows, RIG_ROWS);
    }
    trace_free(&trace);
}

/* ---- graphs and contexts; the simulation gives the handles of kernels that are gone again ---- */

static void end_context_and_begin_another(void)
{
    CUcontext context;

    CHILD_MUST(cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    CHILD_MUST(cuCtxDestroy(context) == CUDA_SUCCESS);
    CHILD_MUST(cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
}

static void context_ends(struct rig *rig)
{
    struct work work;

    for (uint32_t i = 0; i < 3; i++) {
        work_init(&work, &rig->shape, rig_stream(), rig->calls);
        graphs_launch_and_wait(graphs_instantiate(graphs_of_calls(&work, i, 1)), work.stream);
        end_context_and_begin_another();
    }
}

static void graphs_that_end_with_their_context_are_forgotten(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 3;
    rig_run(rig, context_ends);
    rig_read_trace(rig, &trace);
    rig_check_rows(rig, &trace, 3 * RIG_ROWS);
    trace_free(&trace);
}

static CUfunction snapshot_kernel(void)
{
    struct mhcs_engine *const engine = mhcs_engine_hold_at(0);
    CUfunction function;

    CHILD_MUST(engine);
    function = engine->snapshot;
    mhcs_engine_let_go(engine);
    return function;
}

/* Of the application: stores 1. */
static CUfunction kernel_of_its_own(void)
{
    CUfunction function;
    CUmodule module;

    CHILD_MUST(cuModuleLoadData(&module, ".version 8.0\n"
                                         ".target sm_80\n"
                                         ".address_size 64\n"
                                         ".visible .entry store(.param .u64 to)\n"
                                         "{\n"
                                         "    .reg .b32 %r<2>;\n"
                                         "    .reg .b64 %rd<3>;\n"
                                         "    ld.param.u64 %rd1, [to];\n"
                                         "    cvta.to.global.u64 %rd2, %rd1;\n"
                                         "    mov.u32 %r1, 1;\n"
                                         "    st.global.u32 [%rd2], %r1;\n"
                                         "    ret;\n"
                                         "}\n") == CUDA_SUCCESS);
    CHILD_MUST(cuModuleGetFunction(&function, module, "store") == CUDA_SUCCESS);
    return function;
}

static void its_kernel_gets_the_handle_of_ours(struct rig *rig)
{
    struct work work;
    CUfunction ours, its;
    CUdeviceptr word;
    void *arguments[] = {&word};
    CUstream stream;
    uint32_t value = 0;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    graphs_launch_and_wait(graphs_instantiate(graphs_of_calls(&work, 0, 1)), work.stream);
    ours = snapshot_kernel();
    end_context_and_begin_another();
    its = kernel_of_its_own();
    CHILD_MUST(its == ours);
    stream = rig_stream();
    CHILD_MUST(cuMemAlloc(&word, sizeof(value)) == CUDA_SUCCESS);
    graphs_begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CHILD_MUST(cuLaunchKernel(its, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL) == CUDA_SUCCESS);
    graphs_launch_and_wait(graphs_instantiate(graphs_end(stream)), stream);
    CHILD_MUST(cuMemcpyDtoH(&value, word, sizeof(value)) == CUDA_SUCCESS);
    CHILD_MUST(value == 1);
}

static void a_kernel_in_the_place_of_ours_is_left_alone(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 1;
    rig_run(rig, its_kernel_gets_the_handle_of_ours);
    rig_read_trace(rig, &trace);
    rig_check_rows(rig, &trace, RIG_ROWS);
    trace_free(&trace);
}

/* ---- for ever ---- */

#define ROUNDS  1000
#define WARM_UP 100
/* A tenth of it is what the drain thread's first flush takes, once; a graph that stays takes twice
 * as much a round. */
#define LEFT_BEHIND (512 * ROUNDS)

static void make_and_destroy(struct work *work, uint32_t calls, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        CUgraph graph = graphs_of_calls(work, 0, calls);
        CUgraphExec exec = graphs_instantiate(graph);

        graphs_destroy(graph);
        graphs_destroy_exec(exec);
    }
}

/* The first sample is recorded before memory is measured: the trace has its buffers, and the device
 * is through with what arming had it do. */
static void many_rounds(struct rig *rig)
{
    struct mallinfo2 before, after;
    struct work work;
    CUgraphExec exec;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    make_and_destroy(&work, rig->calls, WARM_UP);
    exec = graphs_instantiate(graphs_of_calls(&work, 0, rig->calls));
    graphs_launch_and_wait(exec, work.stream);
    before = mallinfo2();
    make_and_destroy(&work, rig->calls, ROUNDS);
    after = mallinfo2();
    CHILD_MUST(graphs_destroyed() == WARM_UP + ROUNDS);
    CHILD_MUST(atomic_load(&mhcs_graphs_followed) == 1);
    CHILD_MUST(!mhcs_capture_under_way());
    CHILD_MUST(after.uordblks < before.uordblks + LEFT_BEHIND);
    graphs_launch_and_wait(exec, work.stream);
}

static void a_thousand_graphs_leave_nothing_behind(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 3;
    rig_run(rig, many_rounds);
    rig_read_trace(rig, &trace);
    rig_check_rows(rig, &trace, 2 * 3 * RIG_ROWS);
    trace_free(&trace);
}

#define GRAPH_TEST(f) cmocka_unit_test_setup_teardown(f, rig_set_up_graphs, rig_tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(a_capture_that_is_thrown_away_leaves_nothing),
        GRAPH_TEST(a_graph_instantiated_twice_and_a_clone_of_it_are_all_sampled),
        GRAPH_TEST(an_updated_graph_is_sampled_at_its_new_addresses),
        GRAPH_TEST(graphs_that_end_with_their_context_are_forgotten),
        GRAPH_TEST(a_kernel_in_the_place_of_ours_is_left_alone),
        GRAPH_TEST(a_thousand_graphs_leave_nothing_behind),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL); /* NULL: all */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
