/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of graphs on several streams, at once, and by a driver that refuses: what was sampled is
 * right, and what was not is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "graphs.h"
#include "rig.h"
#include "shadow/follow.h"

/* ---- streams and threads ---- */

static void replays_on_two_streams(struct rig *rig)
{
    const CUstream other = rig_stream();
    struct work work;
    CUgraphExec exec;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    exec = graphs_instantiate(graphs_of_calls(&work, 0, rig->calls));
    for (uint32_t i = 0; i < 4; i++) {
        graphs_launch(exec, i % 2 ? other : work.stream);
    }
    CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
}

static void a_graph_may_be_launched_on_several_streams(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 2;
    rig_run(rig, replays_on_two_streams);
    rig_read_trace(rig, &trace);
    assert_int_equal(trace_counter(&trace, "replay_sampled"), 8);
    rig_check_rows(rig, &trace, 8 * RIG_ROWS);
    trace_free(&trace);
}

/* The second launch comes while the first is between its halves. */
static void two_launches_at_once(struct rig *rig)
{
    struct mhcs_replay first, second;
    struct work work;
    CUgraphExec exec;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    exec = graphs_instantiate(graphs_of_calls(&work, 0, rig->calls));
    mhcs_replay_before(&first, exec, work.stream);
    mhcs_replay_before(&second, exec, work.stream);
    CHILD_MUST(first.count == rig->calls && second.count == 0);
    CHILD_MUST(cuGraphLaunch(exec, work.stream) == CUDA_SUCCESS);
    CHILD_MUST(cuGraphLaunch(exec, work.stream) == CUDA_SUCCESS);
    mhcs_replay_after(&second, true);
    mhcs_replay_after(&first, true);
    for (uint32_t i = 0; i < 3; i++) {
        graphs_launch(exec, work.stream);
    }
    CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
    CHILD_MUST(mhcs_counter_value(MHCS_REPLAY_SAMPLED) == 0);
}

static void launches_that_clash_leave_no_record_and_end_sampling(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 2;
    rig_run(rig, two_launches_at_once);
    rig_read_trace(rig, &trace);
    assert_int_equal(trace.count, 0);
    assert_int_equal(trace_reason(&trace, "clash"), 2);
    trace_free(&trace);
}

static void a_launch_that_fails(struct rig *rig)
{
    struct mhcs_replay replay;
    struct work work;
    CUgraphExec exec;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    exec = graphs_instantiate(graphs_of_calls(&work, 0, rig->calls));
    for (uint32_t i = 0; i < 100; i++) { /* more than there are slots */
        mhcs_replay_before(&replay, exec, work.stream);
        CHILD_MUST(replay.count == rig->calls);
        mhcs_replay_after(&replay, false);
    }
    graphs_launch_and_wait(exec, work.stream);
}

static void a_launch_that_fails_gives_its_slots_back(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 2;
    rig_run(rig, a_launch_that_fails);
    rig_read_trace(rig, &trace);
    rig_check_rows(rig, &trace, 2 * RIG_ROWS);
    assert_int_equal(trace_counter(&trace, "replay_failed"), 200);
    trace_free(&trace);
}

/* ---- a driver that refuses ---- */

static CUresult refuse_params(CUgraphExec exec, CUgraphNode node,
                              const CUDA_KERNEL_NODE_PARAMS *params)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static __typeof__(cuGraphNodeSetEnabled) *set_enabled;

static CUresult refuse_to_disable(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
    return enabled ? set_enabled(exec, node, enabled) : CUDA_ERROR_NOT_SUPPORTED;
}

/* The library's own table, in memory that can be written to. */
static struct mhcs_driver *driver_table(void)
{
    const struct mhcs_driver *driver;

    CHILD_MUST(mhcs_driver(&driver) == 0);
    return (struct mhcs_driver *)driver;
}

static unsigned slots_out_of_use(void)
{
    struct mhcs_engine *const engine = mhcs_engine_hold_at(0);
    const uint64_t free = atomic_load(&engine->pool.free);

    mhcs_engine_let_go(engine);
    return MHCS_CHUNKS - (unsigned)__builtin_popcountll(free);
}

static void nodes_that_can_not_be_changed(struct rig *rig)
{
    struct work work;
    CUgraphExec exec;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    exec = graphs_instantiate(graphs_of_calls(&work, 0, rig->calls));
    driver_table()->cuGraphExecKernelNodeSetParams_v2 = refuse_params;
    for (uint32_t i = 0; i < 3; i++) {
        graphs_launch_and_wait(exec, work.stream);
    }
    CHILD_MUST(slots_out_of_use() == 0);
}

static void nodes_that_can_not_be_disabled(struct rig *rig)
{
    struct work work;
    CUgraphExec exec;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    exec = graphs_instantiate(graphs_of_calls(&work, 0, rig->calls));
    set_enabled = driver_table()->cuGraphNodeSetEnabled;
    driver_table()->cuGraphNodeSetEnabled = refuse_to_disable;
    for (uint32_t i = 0; i < 3; i++) { /* which write to the slots each time */
        graphs_launch(exec, work.stream);
    }
    CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
    CHILD_MUST(slots_out_of_use() >= rig->calls);
}

static void nodes_that_the_driver_does_not_change_end_the_sampling_of_their_graph(void **state)
{
    static void (*const scenarios[])(struct rig *) = {nodes_that_can_not_be_changed,
                                                      nodes_that_can_not_be_disabled};
    struct rig *rig = *state;

    rig->calls = 2;
    for (size_t i = 0; i < 2; i++) {
        struct trace trace;

        rig_run(rig, scenarios[i]);
        rig_read_trace(rig, &trace);
        assert_int_equal(trace.count, 0);
        assert_int_equal(trace_counter(&trace, "replay_sampled"), 0);
        assert_int_equal(trace_reason(&trace, "replay"), 2);
        assert_int_equal(trace_events(&trace, "notice", "replay"), 1);
        trace_free(&trace);
    }
}

#define LAUNCH_TEST(f) cmocka_unit_test_setup_teardown(f, rig_set_up_graphs, rig_tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        LAUNCH_TEST(a_graph_may_be_launched_on_several_streams),
        LAUNCH_TEST(launches_that_clash_leave_no_record_and_end_sampling),
        LAUNCH_TEST(a_launch_that_fails_gives_its_slots_back),
        LAUNCH_TEST(nodes_that_the_driver_does_not_change_end_the_sampling_of_their_graph),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL); /* NULL: all */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
