/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs for tests: of kernels x = x * 10 + n, so that x tells which have run in which order.
 */
#ifndef SIM_GRAPH_FIXTURE_H
#define SIM_GRAPH_FIXTURE_H

#include "scale_fixture.h"

static inline CUgraph capture_end(CUstream stream)
{
    CUgraph graph;

    OK(cuStreamEndCapture(stream, &graph));
    assert_non_null(graph);
    return graph;
}

static inline void capture_begin(CUstream stream)
{
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static inline CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec;

    OK(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}

/* The graph's nodes in the order in which they were captured. */
static inline size_t nodes_of(CUgraph graph, CUgraphNode *nodes, size_t room)
{
    size_t count = room;

    OK(cuGraphGetNodes(graph, nodes, &count));
    return count;
}

static inline CUgraph capture_two(struct fixture *f, uint32_t first, uint32_t second)
{
    capture_begin(f->a);
    affine(f->a, f->x, 10, first);
    affine(f->a, f->x, 10, second);
    return capture_end(f->a);
}

/* Two kernels on x in the captured stream, one on y in a forked stream: between them, or beside the
 * second if it is joined late. */
static inline CUgraph fork_capture(struct fixture *f, CUdeviceptr y, bool joined_late)
{
    CUevent fork, join;
    CUgraph graph;

    OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    capture_begin(f->a);
    affine(f->a, f->x, 10, 2);
    OK(cuEventRecord(fork, f->a));
    OK(cuStreamWaitEvent(f->b, fork, 0));
    affine(f->b, y, 10, 3);
    OK(cuEventRecord(join, f->b));
    if (joined_late)
        affine(f->a, f->x, 10, 4);
    OK(cuStreamWaitEvent(f->a, join, 0));
    if (!joined_late)
        affine(f->a, f->x, 10, 4);
    graph = capture_end(f->a);
    OK(cuEventDestroy(fork));
    OK(cuEventDestroy(join));
    return graph;
}

#endif
