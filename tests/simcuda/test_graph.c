/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph does when it runs: order, races, parameters. Run once for each order.
 */
#include "graph_fixture.h"

static void what_is_captured_runs_when_the_graph_is_launched(void **state)
{
    struct fixture *f = *state;
    CUgraph graph;
    CUgraphExec exec;

    capture_begin(f->a);
    affine(f->a, f->x, 10, 2);
    affine(f->a, f->x, 10, 3);
    graph = capture_end(f->a);
    assert_int_equal(first_word(f), 1);
    exec = instantiate(graph);
    OK(cuGraphDestroy(graph));
    OK(cuGraphLaunch(exec, f->b));
    OK(cuStreamSynchronize(f->b));
    assert_int_equal(first_word(f), 123);
    OK(cuGraphLaunch(exec, f->a));
    OK(cuGraphLaunch(exec, f->a));
    OK(cuGraphExecDestroy(exec)); /* the launches are queued already */
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 1232323);
}

static void launches_of_one_graph_follow_each_other_on_all_streams(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();
    CUgraph graph;
    CUgraphExec exec;

    capture_begin(f->a);
    affine(f->a, f->x, 10, 2);
    graph = capture_end(f->a);
    exec = instantiate(graph);
    OK(cuGraphLaunch(exec, f->a));
    OK(cuGraphLaunch(exec, f->b));
    OK(cuGraphLaunch(exec, f->a));
    OK(cuCtxSynchronize());
    assert_int_equal(first_word(f), 1222);
    assert_int_equal(simcuda_fault_count(), faults);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void two_executable_graphs_of_one_graph_race(void **state)
{
    struct fixture *f = *state;
    CUgraph graph;
    CUgraphExec one, other;

    capture_begin(f->a);
    affine(f->a, f->x, 10, 2);
    graph = capture_end(f->a);
    one = instantiate(graph);
    other = instantiate(graph);
    OK(cuGraphLaunch(one, f->a));
    cuGraphLaunch(other, f->b);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void work_on_the_stream_comes_before_and_after_the_graph(void **state)
{
    struct fixture *f = *state;
    CUgraph graph;
    CUgraphExec exec;

    capture_begin(f->a);
    affine(f->a, f->x, 10, 3);
    graph = capture_end(f->a);
    exec = instantiate(graph);
    affine(f->a, f->x, 10, 2);
    OK(cuGraphLaunch(exec, f->a));
    affine(f->a, f->x, 10, 4);
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 1234);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void a_fork_that_is_joined_orders_its_nodes(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();
    CUgraph graph = fork_capture(f, f->x, false);
    CUgraphExec exec = instantiate(graph);

    OK(cuGraphLaunch(exec, f->a));
    OK(cuGraphLaunch(exec, f->b));
    OK(cuCtxSynchronize());
    assert_int_equal(first_word(f), 1234234);
    assert_int_equal(simcuda_fault_count(), faults);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* x to y and to z at the same time, and then z back to x. */
static void a_join_waits_for_all_branches(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();
    const size_t bytes = sizeof(f->host);
    CUdeviceptr y, z;
    CUevent event;
    CUgraph graph;
    CUgraphExec exec;

    OK(cuMemAlloc(&y, bytes));
    OK(cuMemAlloc(&z, bytes));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    capture_begin(f->a);
    affine(f->a, f->x, 10, 2);
    OK(cuEventRecord(event, f->a));
    OK(cuStreamWaitEvent(f->b, event, 0));
    OK(cuMemcpyDtoDAsync(y, f->x, bytes, f->a));
    OK(cuMemcpyDtoDAsync(z, f->x, bytes, f->b));
    OK(cuEventRecord(event, f->b));
    OK(cuStreamWaitEvent(f->a, event, 0));
    OK(cuMemsetD32Async(f->x, 0, WORDS, f->a));
    OK(cuMemcpyDtoDAsync(f->x, z, bytes, f->a));
    graph = capture_end(f->a);
    exec = instantiate(graph);
    for (int i = 0; i < 3; i++)
        OK(cuGraphLaunch(exec, f->a));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 1222);
    assert_int_equal(simcuda_fault_count(), faults);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy(event));
}

static void nodes_that_nothing_orders_race(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();
    CUgraphExec exec = instantiate(fork_capture(f, f->x, true));

    cuGraphLaunch(exec, f->a);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
    assert_int_equal(simcuda_fault_count(), faults + 1);
}

static void parameters_are_those_of_the_capture(void **state)
{
    struct fixture *f = *state;
    CUfunction function = scale();
    uint32_t times = 10, plus = 2;
    void *params[] = {&f->x, &times, &plus};
    CUgraph graph;
    CUgraphExec exec;

    capture_begin(f->a);
    OK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, f->a, params, NULL));
    times = 100;
    plus = 99;
    graph = capture_end(f->a);
    exec = instantiate(graph);
    OK(cuGraphLaunch(exec, f->a));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 12);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void a_change_of_parameters_holds_for_later_launches(void **state)
{
    struct fixture *f = *state;
    CUfunction function = scale();
    uint32_t times = 10, plus = 3;
    void *params[] = {&f->x, &times, &plus};
    CUDA_KERNEL_NODE_PARAMS changed;
    CUgraphNode node;
    CUgraph graph;
    CUgraphExec exec;

    capture_begin(f->a);
    OK(launch(function, f->a, f->x, 10, 2));
    graph = capture_end(f->a);
    assert_int_equal(nodes_of(graph, &node, 1), 1);
    exec = instantiate(graph);
    OK(cuGraphLaunch(exec, f->a));
    OK(cuGraphKernelNodeGetParams(node, &changed));
    assert_int_equal(*(uint32_t *)changed.kernelParams[2], 2);
    changed.kernelParams = params;
    OK(cuGraphExecKernelNodeSetParams(exec, node, &changed));
    plus = 9; /* copied */
    OK(cuGraphLaunch(exec, f->a));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 123);
    OK(cuGraphKernelNodeGetParams(node, &changed)); /* the graph's own node has not changed */
    assert_int_equal(*(uint32_t *)changed.kernelParams[2], 2);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* What host functions were called, in order. */
static struct {
    char calls[64];
    size_t count;
} called;

static void call_a(void *data)
{
    called.calls[called.count++] = 'a';
}

static void call_b(void *data)
{
    called.calls[called.count++] = 'b';
}

static CUgraph two_host_functions(struct fixture *f)
{
    CUevent event;
    CUgraph graph;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    capture_begin(f->a);
    OK(cuEventRecord(event, f->a));
    OK(cuStreamWaitEvent(f->b, event, 0));
    OK(cuLaunchHostFunc(f->a, call_a, NULL));
    OK(cuLaunchHostFunc(f->b, call_b, NULL));
    OK(cuEventRecord(event, f->b));
    OK(cuStreamWaitEvent(f->a, event, 0));
    graph = capture_end(f->a);
    OK(cuEventDestroy(event));
    return graph;
}

/* Eager: as they were captured. Lazy: the latest first. Random: now this, now that. */
static void every_order_chooses_among_the_nodes_that_are_ready(void **state)
{
    struct fixture *f = *state;
    const char *order = getenv("SIMCUDA_ORDER");
    CUgraphExec exec = instantiate(two_host_functions(f));
    bool ab = false, ba = false;

    for (int i = 0; i < 20; i++) {
        called.count = 0;
        OK(cuGraphLaunch(exec, f->a));
        OK(cuStreamSynchronize(f->a));
        assert_int_equal(called.count, 2);
        ab |= memcmp(called.calls, "ab", 2) == 0;
        ba |= memcmp(called.calls, "ba", 2) == 0;
    }
    assert_true(ab || ba);
    if (!order || strncmp(order, "lazy", 4) == 0)
        assert_true(ba && !ab);
    else if (strncmp(order, "eager", 5) == 0)
        assert_true(ab && !ba);
    else if (strncmp(order, "random", 6) == 0)
        assert_true(ab && ba);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(what_is_captured_runs_when_the_graph_is_launched),
        TEST(launches_of_one_graph_follow_each_other_on_all_streams),
        TEST(two_executable_graphs_of_one_graph_race),
        TEST(work_on_the_stream_comes_before_and_after_the_graph),
        TEST(a_fork_that_is_joined_orders_its_nodes),
        TEST(a_join_waits_for_all_branches),
        TEST(nodes_that_nothing_orders_race),
        TEST(parameters_are_those_of_the_capture),
        TEST(a_change_of_parameters_holds_for_later_launches),
        TEST(every_order_chooses_among_the_nodes_that_are_ready),
    };

    if (cuInit(0) != CUDA_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
