/* SPDX-License-Identifier: Apache-2.0 */
/* Driver API: graphs as wholes, and looking at them. */
#include "api.h"
#include "graph.h"

CUresult impl_cuGraphCreate(CUgraph *ret_graph, unsigned flags)
{
    struct sim_graph *graph;
    CUresult r;

    if (!ret_graph || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_graph_new(&graph);
    if (r == CUDA_SUCCESS)
        *ret_graph = graph->handle;
    return r;
}

/* Executable graphs that were made from it live on, but its nodes' handles are no more. */
CUresult impl_cuGraphDestroy(CUgraph handle)
{
    struct sim_graph *graph = sim_graph_of("cuGraphDestroy", handle);

    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    if (graph->captured_into || graph->owner) {
        sim_complain("cuGraphDestroy: the graph is %s",
                     graph->owner ? "a node's" : "still captured into");
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_graph_free(graph);
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphClone(CUgraph *ret_clone, CUgraph handle)
{
    const struct sim_graph *graph = sim_graph_of("cuGraphClone", handle);
    struct sim_graph *clone;
    CUresult r;

    if (!graph || !ret_clone || sim_graph_is_conditional(graph))
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_graph_clone(graph, &clone);
    if (r == CUDA_SUCCESS)
        *ret_clone = clone->handle;
    return r;
}

CUresult impl_cuGraphNodeFindInClone(CUgraphNode *ret_node, CUgraphNode original, CUgraph clone)
{
    static const char call[] = "cuGraphNodeFindInClone";
    const struct sim_graph *graph = sim_graph_of(call, clone);

    if (!graph || !ret_node || !sim_node_of(call, original))
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < graph->nodes.count; i++) {
        if (graph->nodes.at[i]->original != original)
            continue;
        *ret_node = graph->nodes.at[i]->handle;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *ret_type)
{
    const struct sim_node *node = sim_node_of("cuGraphNodeGetType", handle);

    if (!node || !ret_type)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_type = node->type;
    return CUDA_SUCCESS;
}

/* An array that the caller sized: *count says for how many, and then how many there are. Without an
 * array it only says so; places that stay free get NULL. */
struct list {
    CUgraphNode *nodes;
    size_t *count, room, filled;
};

static void put(struct list *list, const struct sim_node *node)
{
    if (list->nodes && list->filled < list->room)
        list->nodes[list->filled] = node->handle;
    list->filled++;
}

static CUresult answer(const struct list *list)
{
    const bool cut = list->nodes && list->room < list->filled;

    for (size_t i = list->filled; list->nodes && i < list->room; i++)
        list->nodes[i] = NULL;
    *list->count = cut ? list->room : list->filled;
    return CUDA_SUCCESS;
}

static struct list list_of(CUgraphNode *nodes, size_t *count)
{
    return (struct list){.nodes = nodes, .count = count, .room = nodes ? *count : 0};
}

CUresult impl_cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    const struct sim_graph *graph = sim_graph_of("cuGraphGetNodes", handle);
    struct list list;

    if (!graph || !count)
        return CUDA_ERROR_INVALID_VALUE;
    list = list_of(nodes, count);
    for (uint32_t i = 0; i < graph->nodes.count; i++)
        put(&list, graph->nodes.at[i]);
    return answer(&list);
}

CUresult impl_cuGraphGetRootNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    const struct sim_graph *graph = sim_graph_of("cuGraphGetRootNodes", handle);
    struct list list;

    if (!graph || !count)
        return CUDA_ERROR_INVALID_VALUE;
    list = list_of(nodes, count);
    for (uint32_t i = 0; i < graph->nodes.count; i++)
        if (graph->nodes.at[i]->after.count == 0)
            put(&list, graph->nodes.at[i]);
    return answer(&list);
}

static void no_edge_data(CUgraphEdgeData *edges, size_t count)
{
    for (size_t i = 0; edges && i < count; i++)
        edges[i] = (CUgraphEdgeData){0};
}

CUresult impl_cuGraphGetEdges_v2(CUgraph handle, CUgraphNode *from, CUgraphNode *to,
                                 CUgraphEdgeData *edges, size_t *count)
{
    const struct sim_graph *graph = sim_graph_of("cuGraphGetEdges", handle);
    struct list origins, ends;

    if (!graph || !count || !from != !to)
        return CUDA_ERROR_INVALID_VALUE;
    origins = list_of(from, count);
    ends = list_of(to, count);
    for (uint32_t i = 0; i < graph->nodes.count; i++)
        for (uint32_t d = 0; d < graph->nodes.at[i]->after.count; d++) {
            put(&origins, graph->nodes.at[i]->after.at[d]);
            put(&ends, graph->nodes.at[i]);
        }
    answer(&origins);
    answer(&ends);
    no_edge_data(edges, *count);
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    return impl_cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

CUresult impl_cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode *nodes,
                                            CUgraphEdgeData *edges, size_t *count)
{
    const struct sim_node *node = sim_node_of("cuGraphNodeGetDependencies", handle);
    struct list list;

    if (!node || !count)
        return CUDA_ERROR_INVALID_VALUE;
    list = list_of(nodes, count);
    for (uint32_t i = 0; i < node->after.count; i++)
        put(&list, node->after.at[i]);
    answer(&list);
    no_edge_data(edges, *count);
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return impl_cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

CUresult impl_cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode *nodes,
                                              CUgraphEdgeData *edges, size_t *count)
{
    const struct sim_node *node = sim_node_of("cuGraphNodeGetDependentNodes", handle);
    struct list list;

    if (!node || !count)
        return CUDA_ERROR_INVALID_VALUE;
    list = list_of(nodes, count);
    for (uint32_t i = 0; i < node->graph->nodes.count; i++)
        if (sim_nodes_have(&node->graph->nodes.at[i]->after, node))
            put(&list, node->graph->nodes.at[i]);
    answer(&list);
    no_edge_data(edges, *count);
    return CUDA_SUCCESS;
}

CUresult impl_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return impl_cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}
