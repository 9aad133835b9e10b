/* SPDX-License-Identifier: Apache-2.0 */
#include "graphs.h"

#include "rig.h"
#include "shadow/graph.h"

static unsigned destroyed;

void graphs_begin(CUstream stream, CUstreamCaptureMode mode)
{
    mhcs_capture_begins();
    CHILD_MUST(cuStreamBeginCapture(stream, mode) == CUDA_SUCCESS);
    mhcs_capture_began(stream);
}

CUgraph graphs_end(CUstream stream)
{
    const uint64_t id = mhcs_capture_id(stream);
    CUgraph graph;

    CHILD_MUST(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    mhcs_capture_ended(stream, id);
    return graph;
}

CUgraphExec graphs_instantiate(CUgraph graph)
{
    CUgraphExec exec;

    CHILD_MUST(cuGraphInstantiate(&exec, graph, 0) == CUDA_SUCCESS);
    mhcs_graph_instantiated(exec, graph);
    return exec;
}

CUresult graphs_update(CUgraphExec exec, CUgraph graph)
{
    CUgraphExecUpdateResultInfo info;
    const CUresult result = cuGraphExecUpdate(exec, graph, &info);

    if (result == CUDA_SUCCESS) {
        mhcs_graph_updated(exec, graph);
    }
    return result;
}

static int destroy(void *graph)
{
    destroyed++;
    CHILD_MUST(cuGraphDestroy(graph) == CUDA_SUCCESS);
    return 0;
}

void graphs_destroy(CUgraph graph)
{
    if (!mhcs_graph_keep(graph, destroy)) {
        destroy(graph);
    }
}

void graphs_destroy_exec(CUgraphExec exec)
{
    const struct mhcs_graph_left left = mhcs_graph_exec_destroyed(exec);

    CHILD_MUST(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    if (left.graph) {
        left.destroy(left.graph);
    }
}

unsigned graphs_destroyed(void)
{
    return destroyed;
}

void graphs_launch(CUgraphExec exec, CUstream stream)
{
    struct mhcs_replay replay;
    CUresult result;

    mhcs_replay_before(&replay, exec, stream);
    result = cuGraphLaunch(exec, stream);
    mhcs_replay_after(&replay, result == CUDA_SUCCESS);
    CHILD_MUST(result == CUDA_SUCCESS);
}

CUgraph graphs_of_calls(struct work *work, uint32_t first, uint32_t count)
{
    graphs_begin(work->stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    for (uint32_t i = first; i < first + count; i++) {
        work_call(work, i);
    }
    return graphs_end(work->stream);
}

void graphs_launch_and_wait(CUgraphExec exec, CUstream stream)
{
    graphs_launch(exec, stream);
    CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
    rig_wait_for_slots();
}
