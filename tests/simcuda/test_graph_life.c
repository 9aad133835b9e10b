/* SPDX-License-Identifier: Apache-2.0 */
/* How long graphs, nodes and what they use live, and what becomes of handles. Run once for each
 * order.
 */
#include "graph_fixture.h"

static void a_node_of_a_destroyed_graph_is_a_fault(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();
    CUgraphNode node;
    CUgraph graph;
    CUgraphExec exec;

    capture_begin(f->a);
    affine(f->a, f->x, 10, 2);
    graph = capture_end(f->a);
    assert_int_equal(nodes_of(graph, &node, 1), 1);
    exec = instantiate(graph);
    OK(cuGraphDestroy(graph));
    assert_int_equal(cuGraphNodeSetEnabled(exec, node, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphExecDestroy(exec));
    assert_int_equal(cuGraphLaunch(exec, f->a), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(simcuda_fault_count(), faults + 3);
}

static void a_node_of_another_graph_is_a_fault(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();
    CUgraphNode node, copy;
    CUgraph graph, clone;
    CUgraphExec exec;

    capture_begin(f->a);
    affine(f->a, f->x, 10, 2);
    graph = capture_end(f->a);
    assert_int_equal(nodes_of(graph, &node, 1), 1);
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphNodeFindInClone(&copy, node, clone));
    exec = instantiate(clone);
    assert_int_equal(cuGraphNodeSetEnabled(exec, node, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(simcuda_fault_count(), faults + 1);
    OK(cuGraphNodeSetEnabled(exec, copy, 0));
    OK(cuGraphLaunch(exec, f->a));
    OK(cuCtxSynchronize());
    assert_int_equal(first_word(f), 1);
}

static void memory_that_is_gone_is_found_when_the_graph_runs(void **state)
{
    struct fixture *f = *state;
    CUgraphExec exec = instantiate(capture_two(f, 2, 3));

    OK(cuMemFree(f->x));
    cuGraphLaunch(exec, f->a);
    assert_int_equal(cuStreamSynchronize(f->a), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_graph_outlives_its_module_but_not_its_context(void **state)
{
    struct fixture *f = *state;
    CUgraph graph;
    CUgraphExec exec;
    CUcontext other;
    CUstream stream;
    CUfunction function;
    CUmodule module;
    CUdeviceptr y;

    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&y, 4 * WORDS));
    OK(cuMemsetD32(y, 1, WORDS));
    OK(cuCtxSynchronize());
    function = scale();
    capture_begin(stream);
    OK(launch(function, stream, y, 10, 2));
    graph = capture_end(stream);
    exec = instantiate(graph);
    OK(cuFuncGetModule(&module, function));
    OK(cuModuleUnload(module));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuCtxDestroy(other));
    OK(cuCtxSetCurrent(f->context));
    assert_int_equal(cuGraphLaunch(exec, f->a), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* Each has a chain beside its stream's, and there is an end to the number of those. */
static void graphs_can_be_made_again_and_again(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();
    CUdeviceptr y;

    OK(cuMemAlloc(&y, 4 * WORDS));
    OK(cuMemsetD32(y, 1, WORDS));
    OK(cuCtxSynchronize());
    for (int i = 0; i < 1000; i++) {
        CUgraph graph = fork_capture(f, y, true);
        CUgraphExec exec = instantiate(graph);

        OK(cuGraphDestroy(graph));
        if (i % 100 == 0)
            OK(cuGraphLaunch(exec, f->a));
        OK(cuGraphExecDestroy(exec));
    }
    OK(cuCtxSynchronize());
    assert_int_equal(simcuda_fault_count(), faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_node_of_a_destroyed_graph_is_a_fault),
        TEST(a_node_of_another_graph_is_a_fault),
        TEST(memory_that_is_gone_is_found_when_the_graph_runs),
        TEST(a_graph_outlives_its_module_but_not_its_context),
        TEST(graphs_can_be_made_again_and_again),
    };

    if (cuInit(0) != CUDA_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
