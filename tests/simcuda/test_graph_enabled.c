/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that are disabled do nothing, and order what they would order. Run once for each order. */
#include "graph_fixture.h"

static void a_disabled_node_does_nothing_in_later_launches(void **state)
{
    struct fixture *f = *state;
    CUgraphNode nodes[3];
    unsigned enabled = 7;
    CUgraph graph;
    CUgraphExec exec;

    capture_begin(f->a);
    affine(f->a, f->x, 10, 2);
    affine(f->a, f->x, 10, 3);
    affine(f->a, f->x, 10, 4);
    graph = capture_end(f->a);
    assert_int_equal(nodes_of(graph, nodes, 3), 3);
    exec = instantiate(graph);
    OK(cuGraphNodeGetEnabled(exec, nodes[1], &enabled));
    assert_int_equal(enabled, 1);
    OK(cuGraphLaunch(exec, f->a)); /* queued before the change */
    OK(cuGraphNodeSetEnabled(exec, nodes[1], 0));
    OK(cuGraphNodeGetEnabled(exec, nodes[1], &enabled));
    assert_int_equal(enabled, 0);
    OK(cuGraphLaunch(exec, f->a));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 123424);
    OK(cuGraphNodeSetEnabled(exec, nodes[1], 1));
    OK(cuGraphNodeSetEnabled(exec, nodes[0], 0));
    OK(cuGraphLaunch(exec, f->a));
    OK(cuStreamSynchronize(f->a));
    assert_int_equal(first_word(f), 12342434);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

#define WOVEN 9

/* Branches that are forked, joined by a node, forked once more, and end side by side. */
static CUgraph weave(struct fixture *f, CUdeviceptr y, CUdeviceptr z)
{
    const size_t bytes = sizeof(f->host);
    CUevent event;
    CUgraph graph;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    capture_begin(f->a);
    affine(f->a, f->x, 10, 2);
    OK(cuEventRecord(event, f->a));
    OK(cuStreamWaitEvent(f->b, event, 0));
    affine(f->b, z, 10, 3);
    OK(cuMemcpyDtoDAsync(z, f->x, bytes, f->b));
    OK(cuMemcpyDtoDAsync(y, f->x, bytes, f->a));
    OK(cuEventRecord(event, f->b));
    OK(cuStreamWaitEvent(f->a, event, 0));
    OK(cuMemsetD32Async(f->x, 0, WORDS, f->a));
    OK(cuMemcpyDtoDAsync(f->x, z, bytes, f->a));
    OK(cuEventRecord(event, f->a));
    OK(cuStreamWaitEvent(f->b, event, 0));
    affine(f->a, f->x, 10, 4);
    affine(f->b, z, 10, 5);
    affine(f->b, z, 10, 6);
    OK(cuEventRecord(event, f->b));
    OK(cuStreamWaitEvent(f->a, event, 0));
    graph = capture_end(f->a);
    OK(cuEventDestroy(event));
    return graph;
}

/* What its nodes, as they were captured, do to x and z; the fourth writes to y. */
static void follow_weave(unsigned enabled, uint32_t *x, uint32_t *z)
{
    *x = enabled & 1 ? *x * 10 + 2 : *x;
    *z = enabled & 2 ? *z * 10 + 3 : *z;
    *z = enabled & 4 ? *x : *z;
    *x = enabled & 16 ? 0 : *x;
    *x = enabled & 32 ? *z : *x;
    *x = enabled & 64 ? *x * 10 + 4 : *x;
    *z = enabled & 128 ? *z * 10 + 5 : *z;
    *z = enabled & 256 ? *z * 10 + 6 : *z;
}

/* The order that went through nodes stays, whichever of them are disabled. */
static void disabled_nodes_still_order(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();
    const size_t bytes = sizeof(f->host);
    uint32_t x = 1, z = 0;
    CUgraphNode nodes[WOVEN];
    CUdeviceptr y_at, z_at;
    CUgraph graph;
    CUgraphExec exec;

    OK(cuMemAlloc(&y_at, bytes));
    OK(cuMemAlloc(&z_at, bytes));
    OK(cuMemsetD32(z_at, z, WORDS));
    OK(cuCtxSynchronize());
    graph = weave(f, y_at, z_at);
    assert_int_equal(nodes_of(graph, nodes, WOVEN), WOVEN);
    exec = instantiate(graph);
    for (unsigned enabled = 0; enabled < 1 << WOVEN; enabled++) {
        for (unsigned i = 0; i < WOVEN; i++)
            OK(cuGraphNodeSetEnabled(exec, nodes[i], enabled >> i & 1));
        for (int i = 0; i < 2; i++) {
            OK(cuGraphLaunch(exec, i ? f->b : f->a));
            follow_weave(enabled, &x, &z);
        }
        affine(f->b, z_at, 1, 1);
        OK(cuStreamSynchronize(f->b));
        assert_int_equal(first_word(f), x);
        OK(cuMemcpyDtoH(f->host, z_at, bytes));
        assert_int_equal(f->host[0], ++z);
    }
    assert_int_equal(simcuda_fault_count(), faults);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

/* ... and there is no more of it. */
static void a_disabled_node_does_not_order_branches(void **state)
{
    struct fixture *f = *state;
    const unsigned faults = simcuda_fault_count();
    CUgraph graph = fork_capture(f, f->x, true);
    CUgraphExec exec = instantiate(graph);
    CUgraphNode nodes[3];

    assert_int_equal(nodes_of(graph, nodes, 3), 3);
    OK(cuGraphNodeSetEnabled(exec, nodes[1], 0));
    OK(cuGraphLaunch(exec, f->a));
    OK(cuCtxSynchronize());
    assert_int_equal(first_word(f), 124);
    OK(cuGraphNodeSetEnabled(exec, nodes[1], 1));
    OK(cuGraphNodeSetEnabled(exec, nodes[0], 0)); /* before the fork */
    cuGraphLaunch(exec, f->a);
    assert_int_not_equal(cuCtxSynchronize(), CUDA_SUCCESS);
    assert_int_equal(simcuda_fault_count(), faults + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_disabled_node_does_nothing_in_later_launches),
        TEST(disabled_nodes_still_order),
        TEST(a_disabled_node_does_not_order_branches),
    };

    if (cuInit(0) != CUDA_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
