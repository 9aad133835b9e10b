/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: nodes that copy and fill, conditional nodes, and the one call that adds any kind. */
#include "api.h"
#include "copy.h"
#include "graph.h"
#include "launch.h"

#include <stdlib.h>

/* 0: memory that isn't simulated. */
static uint64_t corner(CUmemorytype type, const void *host, CUdeviceptr device)
{
    switch ((int)type) {
    case CU_MEMORYTYPE_HOST:
        return (uintptr_t)host;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
        return device;
    default:
        return 0;
    }
}

CUresult impl_cuGraphAddMemcpyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                   size_t count, const CUDA_MEMCPY3D *p, CUcontext context)
{
    static const char call[] = "cuGraphAddMemcpyNode";
    struct sim_copy copy;
    struct sim_work work;
    CUresult r;

    if (!ret_node || !p || p->WidthInBytes == 0 || p->Height == 0)
        return CUDA_ERROR_INVALID_VALUE;
    copy = (struct sim_copy){.to = corner(p->dstMemoryType, p->dstHost, p->dstDevice),
                             .from = corner(p->srcMemoryType, p->srcHost, p->srcDevice),
                             .to_pitch = p->dstPitch ? p->dstPitch : p->WidthInBytes,
                             .from_pitch = p->srcPitch ? p->srcPitch : p->WidthInBytes,
                             .width = p->WidthInBytes,
                             .height = p->Height};
    if (p->Depth > 1 || copy.to == 0 || copy.from == 0) {
        sim_say("%s: arrays and copies in three dimensions are not simulated", call);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    copy.to += p->dstY * copy.to_pitch + p->dstXInBytes;
    copy.from += p->srcY * copy.from_pitch + p->srcXInBytes;
    r = sim_copy_work(call, &copy, false, &work);
    return r == CUDA_SUCCESS
               ? sim_node_add_work(call, graph, after, count, &work, context, ret_node)
               : r;
}

CUresult impl_cuGraphAddMemsetNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                   size_t count, const CUDA_MEMSET_NODE_PARAMS *p,
                                   CUcontext context)
{
    static const char call[] = "cuGraphAddMemsetNode";
    enum sim_place place;
    struct sim_work work;
    CUresult r;

    if (!ret_node || !p || p->width == 0 || p->height == 0 ||
        (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_fill_work(call,
                      &(const struct sim_fill){.to = p->dst,
                                               .pitch = p->pitch,
                                               .count = p->width,
                                               .height = p->height,
                                               .value = p->value,
                                               .width = p->elementSize},
                      &work, &place);
    return r == CUDA_SUCCESS
               ? sim_node_add_work(call, graph, after, count, &work, context, ret_node)
               : r;
}

CUresult impl_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *ret_handle, CUgraph handle,
                                             CUcontext context, unsigned value, unsigned flags)
{
    struct sim_graph *graph = sim_graph_of("cuGraphConditionalHandleCreate", handle);
    struct sim_condition *condition;

    if (!ret_handle || !graph || flags > CU_GRAPH_COND_ASSIGN_DEFAULT)
        return CUDA_ERROR_INVALID_VALUE;
    condition = malloc(sizeof(*condition));
    if (!condition)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *condition = (struct sim_condition){.next = graph->conditions,
                                        .handle = (uintptr_t)sim_graph_number(),
                                        .value = flags ? value : 0};
    graph->conditions = condition;
    *ret_handle = condition->handle;
    return CUDA_SUCCESS;
}

/* Of the graph, or of one that it is a body in. */
static const struct sim_condition *condition_of(const struct sim_graph *graph,
                                                CUgraphConditionalHandle handle)
{
    for (; graph; graph = graph->owner ? graph->owner->graph : NULL)
        for (const struct sim_condition *c = graph->conditions; c; c = c->next)
            if (c->handle == handle)
                return c;
    return NULL;
}

static bool size_is_allowed(const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    switch (p->type) {
    case CU_GRAPH_COND_TYPE_IF:
        return p->size == 1 || p->size == 2;
    case CU_GRAPH_COND_TYPE_WHILE:
        return p->size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
        return p->size > 0;
    }
    return false;
}

/* For size: none of them. */
static uint32_t body_taken(const CUDA_CONDITIONAL_NODE_PARAMS *p, unsigned value)
{
    switch (p->type) {
    case CU_GRAPH_COND_TYPE_IF:
        return value ? 0 : 1;
    case CU_GRAPH_COND_TYPE_WHILE:
        return 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
        break;
    }
    return value < p->size ? value : p->size;
}

static CUresult add_bodies(struct sim_node *node, CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    struct sim_graph **link = &node->child;

    node->told = calloc(p->size, sizeof(node->told[0]));
    if (!node->told)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (; node->bodies < p->size; node->bodies++) {
        CUresult r = sim_graph_new(link);

        if (r != CUDA_SUCCESS)
            return r;
        (*link)->owner = node;
        node->told[node->bodies] = (*link)->handle;
        link = &(*link)->next;
    }
    p->phGraph_out = node->told;
    return CUDA_SUCCESS;
}

static CUresult add_conditional(const char *call, CUgraphNode *ret_node, CUgraph handle,
                                const CUgraphNode *after, size_t count,
                                CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    struct sim_graph *graph = sim_graph_of(call, handle);
    const struct sim_condition *condition = graph ? condition_of(graph, p->handle) : NULL;
    struct sim_node *node;
    CUresult r;

    if (!condition || !size_is_allowed(p))
        return CUDA_ERROR_INVALID_VALUE;
    if (p->type == CU_GRAPH_COND_TYPE_WHILE && condition->value) {
        sim_say("%s: conditions that kernels set are not simulated, so this loop had no end", call);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    r = sim_node_add(call, handle, after, count, CU_GRAPH_NODE_TYPE_CONDITIONAL, &node);
    if (r != CUDA_SUCCESS)
        return r;
    r = add_bodies(node, p);
    if (r != CUDA_SUCCESS) {
        sim_node_free(node);
        return r;
    }
    node->taken = body_taken(p, condition->value);
    *ret_node = node->handle;
    return CUDA_SUCCESS;
}

static CUresult add_kernel(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                           size_t count, const CUDA_KERNEL_NODE_PARAMS_v3 *p)
{
    const CUDA_KERNEL_NODE_PARAMS v2 = {SIM_KERNEL_PARAMS(p), .kern = p->kern};

    return impl_cuGraphAddKernelNode_v2(ret_node, graph, after, count, &v2);
}

static CUresult add_fill(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                         size_t count, const CUDA_MEMSET_NODE_PARAMS_v2 *p)
{
    const CUDA_MEMSET_NODE_PARAMS v1 = {.dst = p->dst,
                                        .pitch = p->pitch,
                                        .value = p->value,
                                        .elementSize = p->elementSize,
                                        .width = p->width,
                                        .height = p->height};

    return impl_cuGraphAddMemsetNode(ret_node, graph, after, count, &v1, p->ctx);
}

CUresult impl_cuGraphAddNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *p)
{
    static const char call[] = "cuGraphAddNode";

    if (!ret_node || !p)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_edges_are_plain(edges, count)) {
        sim_say("%s: edges with data are not simulated", call);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return add_kernel(ret_node, graph, after, count, &p->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return impl_cuGraphAddMemcpyNode(ret_node, graph, after, count, &p->memcpy.copyParams,
                                         p->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return add_fill(ret_node, graph, after, count, &p->memset);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return impl_cuGraphAddEmptyNode(ret_node, graph, after, count);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return impl_cuGraphAddChildGraphNode(ret_node, graph, after, count, p->graph.graph);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return add_conditional(call, ret_node, graph, after, count, &p->conditional);
    default:
        sim_say("%s: nodes of type %d are not simulated here", call, (int)p->type);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}
