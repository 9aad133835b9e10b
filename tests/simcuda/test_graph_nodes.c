/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of nodes, and updating a graph with another. Run once for each order. */
#include "graph_fixture.h"

static void a_launch_into_a_capture_becomes_a_child_graph(void **state)
{
    struct fixture *f = *state;
    CUgraphNode nodes[3];
    CUgraphNodeType type;
    CUgraph inner, outer;
    CUgraphExec exec;

    capture_begin(f->a);
    affine(f->a, f->x, 10, 3);
    affine(f->a, f->x, 10, 4);
    inner = capture_end(f->a);
    exec = instantiate(inner);
    capture_begin(f->a);
    affine(f->a, f->x, 10, 2);
    OK(cuGraphLaunch(exec, f->a));
    affine(f->a, f->x, 10, 5);
    outer = capture_end(f->a);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(inner));
    assert_int_equal(nodes_of(outer, nodes, 3), 3);
    OK(cuGraphNodeGetType(nodes[1], &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_GRAPH);
    exec = instantiate(outer);
    OK(cuGraphLaunch(exec, f->a));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 12345);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(outer));
}

static void a_child_graphs_nodes_can_be_disabled(void **state)
{
    struct fixture *f = *state;
    CUgraphNode before, child, after, nodes[2];
    CUgraph inner, outer, copy;
    CUgraphExec exec;

    capture_begin(f->a);
    affine(f->a, f->x, 10, 3);
    affine(f->a, f->x, 10, 4);
    inner = capture_end(f->a);
    OK(cuGraphCreate(&outer, 0));
    OK(cuGraphAddEmptyNode(&before, outer, NULL, 0));
    OK(cuGraphAddChildGraphNode(&child, outer, &before, 1, inner));
    OK(cuGraphAddEmptyNode(&after, outer, &child, 1));
    OK(cuGraphDestroy(inner));
    OK(cuGraphChildGraphNodeGetGraph(child, &copy));
    assert_int_equal(nodes_of(copy, nodes, 2), 2);
    exec = instantiate(outer);
    OK(cuGraphNodeSetEnabled(exec, nodes[0], 0));
    assert_int_equal(cuGraphNodeSetEnabled(exec, child, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphNodeSetEnabled(exec, before, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphLaunch(exec, f->a));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 14);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(outer));
}

static void copies_and_fills_are_nodes(void **state)
{
    struct fixture *f = *state;
    uint32_t pageable = 40, *pinned;
    CUgraphNode nodes[3];
    CUgraph graph;
    CUgraphExec exec;

    OK(cuMemHostAlloc((void **)&pinned, 4, 0));
    *pinned = 0;
    capture_begin(f->a);
    OK(cuMemsetD32Async(f->x, 7, 2, f->a));
    OK(cuMemcpyHtoDAsync(f->x + 4, &pageable, 4, f->a));
    OK(cuMemcpyDtoHAsync(pinned, f->x + 4, 4, f->a));
    graph = capture_end(f->a);
    for (int i = 0; i < 3; i++) {
        CUgraphNodeType type;

        assert_int_equal(nodes_of(graph, nodes, 3), 3);
        OK(cuGraphNodeGetType(nodes[i], &type));
        assert_int_equal(type, i ? CU_GRAPH_NODE_TYPE_MEMCPY : CU_GRAPH_NODE_TYPE_MEMSET);
    }
    exec = instantiate(graph);
    pageable = 41; /* read when the graph runs */
    OK(cuGraphLaunch(exec, f->a));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(*pinned, 41);
    OK(cuGraphNodeSetEnabled(exec, nodes[1], 0));
    OK(cuGraphLaunch(exec, f->a));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(*pinned, 7);
    OK(cuMemFreeHost(pinned));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void nodes_can_be_added_by_hand(void **state)
{
    struct fixture *f = *state;
    const CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = f->x, .value = 3, .elementSize = 4, .width = WORDS, .height = 1};
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = f->x,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = f->host,
                                .WidthInBytes = sizeof(f->host),
                                .Height = 1,
                                .Depth = 1};
    uint32_t times = 10, plus = 2;
    void *params[] = {&f->x, &times, &plus};
    const CUDA_KERNEL_NODE_PARAMS kernel = {.func = scale(),
                                            .gridDimX = 2,
                                            .gridDimY = 1,
                                            .gridDimZ = 1,
                                            .blockDimX = 32,
                                            .blockDimY = 1,
                                            .blockDimZ = 1,
                                            .kernelParams = params};
    CUgraphNode nodes[3];
    CUgraph graph;
    CUgraphExec exec;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemcpyNode(&nodes[2], graph, NULL, 0, &copy, f->context));
    OK(cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &fill, f->context));
    OK(cuGraphAddKernelNode(&nodes[1], graph, &nodes[0], 1, &kernel));
    OK(cuGraphAddDependencies(graph, &nodes[1], &nodes[2], NULL, 1));
    exec = instantiate(graph);
    OK(cuGraphLaunch(exec, f->a));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(f->host[0], 32);
    assert_int_equal(f->host[WORDS - 1], 32);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphAddDependencies(graph, &nodes[2], &nodes[0], NULL, 1)); /* a circle */
    assert_int_equal(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphDestroy(graph));
}

static void external_events_reach_beyond_the_graph(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();
    CUevent from, to;
    CUgraph graph;
    CUgraphExec exec;

    OK(cuEventCreate(&from, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&to, CU_EVENT_DISABLE_TIMING));
    capture_begin(f->a);
    OK(cuStreamWaitEvent(f->a, from, CU_EVENT_WAIT_EXTERNAL));
    affine(f->a, f->x, 10, 3);
    OK(cuEventRecordWithFlags(to, f->a, CU_EVENT_RECORD_EXTERNAL));
    graph = capture_end(f->a);
    exec = instantiate(graph);
    affine(f->b, f->x, 10, 2);
    OK(cuEventRecord(from, f->b));
    OK(cuGraphLaunch(exec, f->a));
    OK(cuStreamWaitEvent(f->b, to, 0));
    affine(f->b, f->x, 10, 4);
    OK(cuStreamSynchronize(f->b));
    assert_int_equal(first_word(f), 1234);
    assert_int_equal(simcuda_fault_count(), faults);
    OK(cuEventDestroy(to));
    assert_int_equal(cuGraphLaunch(exec, f->a), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(simcuda_fault_count(), faults + 1);
}

static void an_update_changes_parameters_and_nothing_else(void **state)
{
    struct fixture *f = *state;
    CUgraph graph = capture_two(f, 2, 3), changed = capture_two(f, 4, 5);
    CUgraphExec exec = instantiate(graph);
    CUgraphExecUpdateResultInfo info;
    CUgraphNode nodes[2];

    assert_int_equal(nodes_of(graph, nodes, 2), 2);
    OK(cuGraphNodeSetEnabled(exec, nodes[0], 0));
    OK(cuGraphLaunch(exec, f->a));
    OK(cuGraphExecUpdate(exec, changed, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(cuGraphDestroy(changed));
    OK(cuGraphLaunch(exec, f->a));
    OK(cuGraphNodeSetEnabled(exec, nodes[0], 1)); /* the handles are still those */
    OK(cuGraphLaunch(exec, f->a));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 13545);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void an_update_to_another_shape_fails_and_changes_nothing(void **state)
{
    struct fixture *f = *state;
    CUgraph graph = capture_two(f, 2, 3), other;
    CUgraphExec exec = instantiate(graph);
    CUgraphExecUpdateResultInfo info;

    capture_begin(f->a);
    affine(f->a, f->x, 10, 4);
    other = capture_end(f->a);
    assert_int_equal(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    capture_begin(f->a);
    affine(f->a, f->x, 10, 4);
    OK(cuStreamUpdateCaptureDependencies(f->a, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    affine(f->a, f->x, 10, 5); /* beside the other */
    other = capture_end(f->a);
    assert_int_equal(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    capture_begin(f->a);
    affine(f->a, f->x, 10, 4);
    OK(cuMemsetD8Async(f->x, 0, 1, f->a));
    other = capture_end(f->a);
    assert_int_equal(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
    OK(cuGraphLaunch(exec, f->a));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 123);
}

/* An IF with an ELSE, whose bodies are captured. */
static CUgraph conditional_graph(struct fixture *f, unsigned value)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                                .conditional = {.type = CU_GRAPH_COND_TYPE_IF, .size = 2}};
    CUgraphNode node;
    CUgraph graph, body;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphConditionalHandleCreate(&params.conditional.handle, graph, f->context, value,
                                      CU_GRAPH_COND_ASSIGN_DEFAULT));
    OK(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    for (int i = 0; i < 2; i++) {
        OK(cuStreamBeginCaptureToGraph(f->a, params.conditional.phGraph_out[i], NULL, NULL, 0,
                                       CU_STREAM_CAPTURE_MODE_GLOBAL));
        affine(f->a, f->x, 10, i ? 3 : 2);
        OK(cuStreamEndCapture(f->a, &body));
    }
    return graph;
}

static void the_body_of_the_condition_runs(void **state)
{
    struct fixture *f = *state;

    for (unsigned value = 0; value < 2; value++) {
        CUgraph graph = conditional_graph(f, value), clone;
        CUgraphExec exec = instantiate(graph), twice;

        OK(cuGraphLaunch(exec, f->a));
        OK(cuStreamSynchronize(f->a));
        assert_int_equal(first_word(f), value ? 132 : 13);
        assert_int_equal(cuGraphClone(&clone, graph), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuGraphInstantiate(&twice, graph, 0), CUDA_ERROR_INVALID_VALUE);
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(graph));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_launch_into_a_capture_becomes_a_child_graph),
        TEST(a_child_graphs_nodes_can_be_disabled),
        TEST(copies_and_fills_are_nodes),
        TEST(nodes_can_be_added_by_hand),
        TEST(external_events_reach_beyond_the_graph),
        TEST(an_update_changes_parameters_and_nothing_else),
        TEST(an_update_to_another_shape_fails_and_changes_nothing),
        TEST(the_body_of_the_condition_runs),
    };

    if (cuInit(0) != CUDA_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
