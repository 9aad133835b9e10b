/* SPDX-License-Identifier: Apache-2.0 */
/* What is found in a graph's replays is what is found in calls. Run once for each order of the
 * simulation, which says so if any call breaks a rule of capture, or a handle's graph is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "graphs.h"
#include "rig.h"
#include "shadow/follow.h"
#include "shadow/trace/trace.h"

/* Calls, by their number of tokens, that rows from graphs are of. */
static uint64_t replayed_calls(const struct trace *trace)
{
    uint64_t calls = 0;

    for (uint32_t n = 0; n < trace->count; n++) {
        if (trace->rows[n].graph) {
            calls |= UINT64_C(1) << (trace->rows[n].tokens - WORK_TOKENS);
        }
    }
    return calls;
}

static void assert_replays_add_up(const struct trace *trace)
{
    assert_true(trace_counter(trace, "replayed") >= trace_counter(trace, "replay_sampled") +
                                                        trace_counter(trace, "replay_dropped") +
                                                        trace_counter(trace, "replay_failed"));
}

/* ---- values ---- */

static void calls_and_then_replays(struct rig *rig)
{
    struct work work;
    CUgraphExec exec;
    CUgraph graph;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    for (uint32_t i = 0; i < rig->calls; i++) {
        CHILD_MUST(work_call(&work, i));
        CHILD_MUST(cuStreamSynchronize(work.stream) == CUDA_SUCCESS);
    }
    graph = graphs_of_calls(&work, 0, rig->calls);
    exec = graphs_instantiate(graph);
    graphs_destroy(graph); /* at once, as PyTorch does */
    for (uint32_t i = 0; i < 4; i++) {
        graphs_launch_and_wait(exec, work.stream);
    }
    graphs_destroy_exec(exec);
    CHILD_MUST(graphs_destroyed() == 1);
}

/* All tokens of a call are sampled, so each row has its twin. */
static const struct trace_row *eager_twin(const struct trace *trace, const struct trace_row *row)
{
    for (uint32_t n = 0; n < trace->count; n++) {
        const struct trace_row *other = &trace->rows[n];

        if (!other->graph && other->tokens == row->tokens && other->row == row->row) {
            return other;
        }
    }
    return NULL;
}

static void check_values(struct rig *rig)
{
    struct trace trace;
    uint32_t twins = 0;

    rig->settings.rows = WORK_TOKENS + rig->calls;
    rig_run(rig, calls_and_then_replays);
    rig_read_trace(rig, &trace);
    for (uint32_t n = 0; n < trace.count; n++) {
        const struct trace_row *row = &trace.rows[n];
        const struct trace_row *twin = row->graph ? eager_twin(&trace, row) : NULL;

        if (row->graph) {
            assert_non_null(twin);
            assert_int_equal(twin->site, row->site);
            assert_memory_equal(twin->production, row->production, sizeof(row->production));
            assert_memory_equal(twin->operands, row->operands, sizeof(row->operands));
            assert_memory_equal(&twin->rel, &row->rel, sizeof(row->rel));
            assert_memory_equal(&twin->rms, &row->rms, sizeof(row->rms));
            assert_string_equal(twin->path, row->path);
            twins++;
        } else {
            rig_check_row(rig, row);
        }
    }
    assert_true(twins >= rig->calls * WORK_TOKENS);
    assert_int_equal(replayed_calls(&trace), (UINT64_C(1) << rig->calls) - 1);
    assert_int_equal(trace_counter(&trace, "in_graphs"), rig->calls);
    assert_int_equal(trace_counter(&trace, "replays"), 4);
    assert_int_equal(trace_counter(&trace, "replayed"), 4 * rig->calls);
    assert_int_equal(trace_counter(&trace, "replay_failed"), 0);
    assert_replays_add_up(&trace);
    trace_free(&trace);
}

static void errors_of_replays_equal_those_of_calls_bit_for_bit(void **state)
{
    struct rig *rig = *state;

    rig->calls = 5;
    check_values(rig);
}

static void an_old_c_and_scalars_on_the_device_are_read_before_the_gemm_of_a_replay(void **state)
{
    struct rig *rig = *state;

    rig->calls = 3;
    rig->shape.alpha = 0.5f;
    rig->shape.beta = 2;
    check_values(rig);
    rig->shape.scalars_on_device = true;
    check_values(rig);
}

/* ---- which, and how many ---- */

#define P          0.25
#define ROUND      4 /* launches: 1 / P */
#define MANY_CALLS 6

static void as_many_replays_as_two_rounds(struct rig *rig)
{
    struct work work;
    CUgraphExec exec;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    exec = graphs_instantiate(graphs_of_calls(&work, 0, rig->calls));
    for (uint32_t i = 0; i < 2 * ROUND; i++) {
        graphs_launch_and_wait(exec, work.stream);
    }
}

static void every_gemm_of_a_graph_is_sampled_within_two_rounds(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = MANY_CALLS;
    rig->settings.sample = P;
    rig_run(rig, as_many_replays_as_two_rounds);
    rig_read_trace(rig, &trace);
    assert_int_equal(replayed_calls(&trace), (1 << MANY_CALLS) - 1);
    assert_int_equal(trace_counter(&trace, "replay_dropped"), 0);
    /* Two turns a round, and perhaps the one that follows. */
    assert_in_range(trace_counter(&trace, "replay_sampled"), MANY_CALLS + 2, 2 * MANY_CALLS + 4);
    trace_free(&trace);
}

/* Nodes that run our kernel, and how many of all are disabled. */
static unsigned nodes_of_ours(CUgraph graph, CUgraphExec exec, unsigned *ret_disabled)
{
    struct mhcs_engine *const engine = mhcs_engine_hold_at(0);
    CUgraphNode nodes[256];
    size_t count = 256;
    unsigned ours = 0;

    *ret_disabled = 0;
    CHILD_MUST(cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS);
    for (size_t i = 0; i < count; i++) {
        CUDA_KERNEL_NODE_PARAMS params;
        CUgraphNodeType type;
        unsigned enabled;

        CHILD_MUST(cuGraphNodeGetType(nodes[i], &type) == CUDA_SUCCESS);
        if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
            CHILD_MUST(cuGraphNodeGetEnabled(exec, nodes[i], &enabled) == CUDA_SUCCESS);
            CHILD_MUST(cuGraphKernelNodeGetParams(nodes[i], &params) == CUDA_SUCCESS);
            ours += params.func == engine->snapshot;
            *ret_disabled += !enabled;
        }
    }
    mhcs_engine_let_go(engine);
    return ours;
}

static void launches_without_a_turn(struct rig *rig)
{
    struct work work;
    CUgraphExec exec;
    unsigned disabled;
    CUgraph graph;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    graph = graphs_of_calls(&work, 0, rig->calls);
    exec = graphs_instantiate(graph);
    for (uint32_t i = 0; i < 3; i++) {
        graphs_launch(exec, work.stream);
        CHILD_MUST(nodes_of_ours(graph, exec, &disabled) == rig->calls);
        CHILD_MUST(disabled == rig->calls);
    }
    CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
    CHILD_MUST(mhcs_counter_value(MHCS_REPLAY_SAMPLED) == 0);
    CHILD_MUST(mhcs_counter_value(MHCS_REPLAYS) == 3);
}

static void a_launch_without_a_turn_runs_no_node_of_ours(void **state)
{
    struct rig *rig = *state;

    rig->settings.sample = 1e-9;
    rig_run(rig, launches_without_a_turn);
}

static void over_the_budget_replays_are_dropped_and_counted(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 4;
    rig->settings.sample = 0.5;
    rig->settings.budget = 1e-9;
    rig_run(rig, as_many_replays_as_two_rounds);
    rig_read_trace(rig, &trace);
    assert_in_range(trace_counter(&trace, "replay_sampled"), 1, 4);
    assert_true(trace_reason(&trace, "budget") >= 4);
    assert_int_equal(trace_counter(&trace, "replay_dropped"), trace_reason(&trace, "budget"));
    assert_replays_add_up(&trace);
    trace_free(&trace);
}

#define REPLAY_TEST(f) cmocka_unit_test_setup_teardown(f, rig_set_up_graphs, rig_tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        REPLAY_TEST(errors_of_replays_equal_those_of_calls_bit_for_bit),
        REPLAY_TEST(an_old_c_and_scalars_on_the_device_are_read_before_the_gemm_of_a_replay),
        REPLAY_TEST(every_gemm_of_a_graph_is_sampled_within_two_rounds),
        REPLAY_TEST(a_launch_without_a_turn_runs_no_node_of_ours),
        REPLAY_TEST(over_the_budget_replays_are_dropped_and_counted),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL); /* NULL: all */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
