/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: adding nodes to a graph, and their parameters. */
#include "api.h"
#include "graph_exec.h"
#include "launch.h"

static CUresult launch_work(const CUDA_KERNEL_NODE_PARAMS *p, struct sim_work *ret_work,
                            CUcontext *ret_context)
{
    const CUlaunchConfig config = {SIM_LAUNCH_SHAPE(p)};
    const CUfunction function = p->func ? p->func : (CUfunction)p->kern;

    return sim_launch_work(&config, function, p->kernelParams, p->extra, ret_work, ret_context);
}

static CUDA_KERNEL_NODE_PARAMS from_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    return (CUDA_KERNEL_NODE_PARAMS){SIM_KERNEL_PARAMS(p)};
}

CUresult impl_cuGraphAddKernelNode_v2(CUgraphNode *ret_node, CUgraph graph,
                                      const CUgraphNode *after, size_t count,
                                      const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct sim_work work;
    CUcontext context;
    CUresult r;

    if (!ret_node || !params)
        return CUDA_ERROR_INVALID_VALUE;
    r = launch_work(params, &work, &context);
    if (r != CUDA_SUCCESS)
        return r;
    return sim_node_add_work("cuGraphAddKernelNode", graph, after, count, &work, context, ret_node);
}

CUresult impl_cuGraphAddKernelNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                   size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    const CUDA_KERNEL_NODE_PARAMS v2 = params ? from_v1(params) : (CUDA_KERNEL_NODE_PARAMS){0};

    return impl_cuGraphAddKernelNode_v2(ret_node, graph, after, count, params ? &v2 : NULL);
}

CUresult impl_cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS *ret_params)
{
    const struct sim_node *node = sim_node_of("cuGraphKernelNodeGetParams", handle);

    if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL || !ret_params)
        return CUDA_ERROR_INVALID_VALUE;
    /* A kernel of cuBLAS' own: a function that nobody can have from elsewhere, and of which nobody
     * may know the parameters. */
    if (!sim_launch_params(&node->recipe->work, ret_params))
        *ret_params = (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)(void *)node->recipe,
                                                .gridDimX = 1,
                                                .gridDimY = 1,
                                                .gridDimZ = 1,
                                                .blockDimX = 1,
                                                .blockDimY = 1,
                                                .blockDimZ = 1};
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *ret_params)
{
    CUDA_KERNEL_NODE_PARAMS p;
    CUresult r = impl_cuGraphKernelNodeGetParams_v2(node, ret_params ? &p : NULL);

    if (r == CUDA_SUCCESS)
        *ret_params = (CUDA_KERNEL_NODE_PARAMS_v1){SIM_KERNEL_PARAMS(&p)};
    return r;
}

/* For a node whose kernel belongs to `context`: a function of another is refused. */
static CUresult set_params(struct sim_recipe **recipe, const CUDA_KERNEL_NODE_PARAMS *params,
                           CUcontext context)
{
    struct sim_recipe *changed;
    struct sim_work work;
    CUcontext other;
    CUresult r = params ? launch_work(params, &work, &other) : CUDA_ERROR_INVALID_VALUE;

    if (r == CUDA_SUCCESS && other != context) {
        sim_work_drop(&work);
        r = CUDA_ERROR_INVALID_VALUE;
    }
    if (r == CUDA_SUCCESS)
        r = sim_recipe_new(&work, &changed);
    if (r == CUDA_SUCCESS) {
        sim_recipe_unref(*recipe);
        *recipe = changed;
    }
    return r;
}

CUresult impl_cuGraphKernelNodeSetParams_v2(CUgraphNode handle,
                                            const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct sim_node *node = sim_node_of("cuGraphKernelNodeSetParams", handle);

    if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL)
        return CUDA_ERROR_INVALID_VALUE;
    return set_params(&node->recipe, params, node->context);
}

CUresult impl_cuGraphExecKernelNodeSetParams_v2(CUgraphExec handle, CUgraphNode node_handle,
                                                const CUDA_KERNEL_NODE_PARAMS *params)
{
    static const char call[] = "cuGraphExecKernelNodeSetParams";
    const struct sim_exec *exec = sim_exec_of(call, handle);
    struct sim_exec_node *node = exec ? sim_exec_node_of(call, exec, node_handle) : NULL;

    if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL)
        return CUDA_ERROR_INVALID_VALUE;
    return set_params(&node->recipe, params, exec->context);
}

CUresult impl_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                             const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    const CUDA_KERNEL_NODE_PARAMS v2 = params ? from_v1(params) : (CUDA_KERNEL_NODE_PARAMS){0};

    return impl_cuGraphExecKernelNodeSetParams_v2(exec, node, params ? &v2 : NULL);
}

CUresult impl_cuGraphAddHostNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                 size_t count, const CUDA_HOST_NODE_PARAMS *params)
{
    struct sim_work work;
    CUresult r;

    if (!ret_node || !params || !params->fn)
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_host_function_work(params->fn, params->userData, &work);
    if (r != CUDA_SUCCESS)
        return r;
    return sim_node_add_work("cuGraphAddHostNode", graph, after, count, &work, NULL, ret_node);
}

/* One without work; NULL: it has no event. */
static CUresult add_node(const char *call, CUgraphNode *ret_node, CUgraph graph,
                         const CUgraphNode *after, size_t count, CUgraphNodeType type,
                         CUevent event)
{
    struct sim_node *node;
    CUresult r;

    if (!ret_node)
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_node_add(call, graph, after, count, type, &node);
    if (r != CUDA_SUCCESS)
        return r;
    node->event = event;
    *ret_node = node->handle;
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphAddEmptyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                  size_t count)
{
    return add_node("cuGraphAddEmptyNode", ret_node, graph, after, count, CU_GRAPH_NODE_TYPE_EMPTY,
                    NULL);
}

static CUresult add_event_node(const char *call, CUgraphNode *ret_node, CUgraph graph,
                               const CUgraphNode *after, size_t count, CUgraphNodeType type,
                               CUevent event)
{
    if (ret_node && !sim_handle_is(SIM_EVENT, event))
        return CUDA_ERROR_INVALID_HANDLE;
    return add_node(call, ret_node, graph, after, count, type, event);
}

CUresult impl_cuGraphAddEventRecordNode(CUgraphNode *ret_node, CUgraph graph,
                                        const CUgraphNode *after, size_t count, CUevent event)
{
    return add_event_node("cuGraphAddEventRecordNode", ret_node, graph, after, count,
                          CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult impl_cuGraphAddEventWaitNode(CUgraphNode *ret_node, CUgraph graph,
                                      const CUgraphNode *after, size_t count, CUevent event)
{
    return add_event_node("cuGraphAddEventWaitNode", ret_node, graph, after, count,
                          CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

/* The child is copied: what happens to it later is not the node's concern. */
CUresult impl_cuGraphAddChildGraphNode(CUgraphNode *ret_node, CUgraph graph,
                                       const CUgraphNode *after, size_t count, CUgraph child)
{
    static const char call[] = "cuGraphAddChildGraphNode";
    const struct sim_graph *from = sim_graph_of(call, child);
    struct sim_graph *copy;
    struct sim_node *node;
    CUresult r;

    if (!ret_node || !from || from->captured_into || sim_graph_is_conditional(from))
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_graph_clone(from, &copy);
    if (r != CUDA_SUCCESS)
        return r;
    r = sim_node_add(call, graph, after, count, CU_GRAPH_NODE_TYPE_GRAPH, &node);
    if (r != CUDA_SUCCESS) {
        sim_graph_free(copy);
        return r;
    }
    node->child = copy;
    copy->owner = node;
    *ret_node = node->handle;
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph *ret_graph)
{
    const struct sim_node *node = sim_node_of("cuGraphChildGraphNodeGetGraph", handle);

    if (!node || node->type != CU_GRAPH_NODE_TYPE_GRAPH || !ret_graph)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_graph = node->child->handle;
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphAddDependencies_v2(CUgraph handle, const CUgraphNode *from,
                                        const CUgraphNode *to, const CUgraphEdgeData *edges,
                                        size_t count)
{
    static const char call[] = "cuGraphAddDependencies";
    const struct sim_graph *graph = sim_graph_of(call, handle);

    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        struct sim_node *end = sim_node_of(call, to[i]);
        CUresult r;

        if (!end || end->graph != graph)
            return CUDA_ERROR_INVALID_VALUE;
        r = sim_nodes_of(call, graph, &from[i], edges ? &edges[i] : NULL, 1, &end->after);
        if (r != CUDA_SUCCESS)
            return r;
    }
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                     size_t count)
{
    return impl_cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

CUresult impl_cuGraphDestroyNode(CUgraphNode handle)
{
    struct sim_node *node = sim_node_of("cuGraphDestroyNode", handle);

    if (!node)
        return CUDA_ERROR_INVALID_VALUE;
    if (node->graph->captured_into) {
        sim_complain("cuGraphDestroyNode: the graph is still captured into");
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_node_free(node);
    return CUDA_SUCCESS;
}
