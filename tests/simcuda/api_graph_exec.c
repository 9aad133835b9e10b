/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: executable graphs. */
#include "api.h"
#include "capture.h"
#include "graph_exec.h"

static CUresult instantiate(const char *call, CUgraphExec *ret_exec, CUgraph handle,
                            unsigned long long flags)
{
    const unsigned long long known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                     CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                     CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    struct sim_graph *graph = sim_graph_of(call, handle);
    struct sim_exec *exec;
    CUresult r;

    if (!graph || !ret_exec || (graph->instantiated && sim_graph_is_conditional(graph)))
        return CUDA_ERROR_INVALID_VALUE;
    if (graph->captured_into) {
        sim_complain("%s: the graph is still captured into", call);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (flags & ~known) {
        sim_say("%s: flags 0x%llx are not simulated", call, flags & ~known);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    r = sim_exec_new(graph, flags, &exec);
    if (r != CUDA_SUCCESS)
        return r;
    graph->instantiated = true;
    *ret_exec = exec->handle;
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphInstantiateWithFlags(CUgraphExec *ret_exec, CUgraph graph,
                                          unsigned long long flags)
{
    return instantiate("cuGraphInstantiate", ret_exec, graph, flags);
}

CUresult impl_cuGraphInstantiateWithParams(CUgraphExec *ret_exec, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    CUresult r;

    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    r = instantiate("cuGraphInstantiateWithParams", ret_exec, graph, params->flags);
    params->hErrNode_out = NULL;
    params->result_out =
        r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    return r;
}

/* What is queued still runs. */
CUresult impl_cuGraphExecDestroy(CUgraphExec handle)
{
    struct sim_exec *exec = sim_exec_of("cuGraphExecDestroy", handle);

    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    sim_exec_free(exec);
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *ret_flags)
{
    const struct sim_exec *exec = sim_exec_of("cuGraphExecGetFlags", handle);

    if (!exec || !ret_flags)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_flags = exec->flags;
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphUpload(CUgraphExec handle, CUstream stream)
{
    const struct sim_work work = {.what = "cuGraphUpload", .type = CU_GRAPH_NODE_TYPE_EMPTY};
    CUresult r = sim_stream_resolve(stream, &stream);

    if (r != CUDA_SUCCESS)
        return r;
    if (!sim_exec_of(work.what, handle))
        return CUDA_ERROR_INVALID_VALUE;
    return sim_submit(stream, &work, NULL);
}

static CUresult launch_captured(const struct sim_exec *exec, CUstream stream)
{
    struct sim_graph *graph;
    struct sim_node *node;
    CUresult r = sim_exec_graph(exec, &graph);

    if (r != CUDA_SUCCESS)
        return r;
    r = sim_capture_node(stream, CU_GRAPH_NODE_TYPE_GRAPH, &node);
    if (r != CUDA_SUCCESS) {
        sim_graph_free(graph);
        return r;
    }
    node->child = graph;
    graph->owner = node;
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphLaunch(CUgraphExec handle, CUstream stream)
{
    static const char call[] = "cuGraphLaunch";
    struct sim_exec *exec = sim_exec_of(call, handle);
    CUresult r = sim_stream_resolve(stream, &stream);

    if (r == CUDA_SUCCESS && !exec)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = sim_capture_permits_use(call, stream);
    if (r != CUDA_SUCCESS)
        return r;
    return stream->capture ? launch_captured(exec, stream) : sim_exec_launch(exec, stream);
}

static bool may_be_disabled(const struct sim_exec_node *node)
{
    return node->type == CU_GRAPH_NODE_TYPE_KERNEL || node->type == CU_GRAPH_NODE_TYPE_MEMCPY ||
           node->type == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult impl_cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node_handle, unsigned enabled)
{
    static const char call[] = "cuGraphNodeSetEnabled";
    struct sim_exec *exec = sim_exec_of(call, handle);
    struct sim_exec_node *node = exec ? sim_exec_node_of(call, exec, node_handle) : NULL;

    if (!node || !may_be_disabled(node))
        return CUDA_ERROR_INVALID_VALUE;
    node->enabled = enabled != 0;
    exec->planned = false;
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node_handle,
                                    unsigned *ret_enabled)
{
    static const char call[] = "cuGraphNodeGetEnabled";
    const struct sim_exec *exec = sim_exec_of(call, handle);
    const struct sim_exec_node *node = exec ? sim_exec_node_of(call, exec, node_handle) : NULL;

    if (!node || !may_be_disabled(node) || !ret_enabled)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_enabled = node->enabled;
    return CUDA_SUCCESS;
}

static CUresult update_failed(CUgraphExecUpdateResultInfo *info, CUgraphExecUpdateResult result,
                              CUgraphNode node)
{
    *info = (CUgraphExecUpdateResultInfo){.result = result, .errorNode = node};
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

/* Nodes are paired as they lie in the two: both were sorted in the same way. */
static CUresult compare(const struct sim_exec *exec, const struct sim_exec *other,
                        CUgraphExecUpdateResultInfo *info)
{
    if (exec->count != other->count)
        return update_failed(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL);
    for (uint32_t i = 0; i < exec->count; i++) {
        const struct sim_exec_node *a = &exec->nodes[i], *b = &other->nodes[i];

        if (a->type != b->type)
            return update_failed(info, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, b->source);
        if (a->after_count != b->after_count)
            return update_failed(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, b->source);
        for (uint32_t d = 0; d < a->after_count; d++)
            if (a->after[d] != b->after[d])
                return update_failed(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, b->source);
    }
    if (exec->context != other->context)
        return update_failed(info, CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE, NULL);
    return CUDA_SUCCESS;
}

/* Nodes keep their identity and whether they are enabled; their parameters become the graph's. */
CUresult impl_cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle,
                                   CUgraphExecUpdateResultInfo *ret_info)
{
    static const char call[] = "cuGraphExecUpdate";
    struct sim_exec *exec = sim_exec_of(call, handle), *other;
    const struct sim_graph *graph = sim_graph_of(call, graph_handle);
    CUgraphExecUpdateResultInfo unused;
    CUgraphExecUpdateResultInfo *info = ret_info ? ret_info : &unused;
    CUresult r;

    *info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    if (!exec || !graph || graph->captured_into)
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_exec_new(graph, 0, &other);
    if (r != CUDA_SUCCESS)
        return r;
    r = compare(exec, other, info);
    for (uint32_t i = 0; r == CUDA_SUCCESS && i < exec->count; i++) {
        sim_recipe_unref(exec->nodes[i].recipe);
        exec->nodes[i].recipe = sim_recipe_ref(other->nodes[i].recipe);
        exec->nodes[i].event = other->nodes[i].event;
    }
    if (r == CUDA_SUCCESS)
        info->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    sim_exec_free(other);
    return r;
}
