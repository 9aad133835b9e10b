/* SPDX-License-Identifier: Apache-2.0 */
/* Launching executable graphs: as tasks of the stream and of the chains, or, into a stream that is
 * captured, as the child graph that it amounts to.
 */
#include "graph_exec.h"

#include <stdlib.h>

struct launch {
    struct sim_exec *exec;
    CUstream stream;
    struct sim_task **tasks; /* of each node that is queued; then the start, then what the node at
                              * hand follows */
};

static bool does_nothing(const struct sim_exec_node *node)
{
    return !node->event && (!node->recipe || !node->enabled || node->skipped);
}

/* A node that does nothing and follows one other at most orders no more than that one does, which
 * so stands for it, or the launch's start does. (Behind several it is queued: else all that follows
 * it would follow each.) Holds until a node is enabled or disabled. */
static void plan(struct sim_exec *exec)
{
    exec->queued_count = 0;
    for (uint32_t i = 0; i < exec->count; i++) {
        struct sim_exec_node *node = &exec->nodes[i];

        if (node->after_count > 1 || !does_nothing(node)) {
            node->stand = i;
            exec->queued[exec->queued_count++] = i;
        } else {
            node->stand = node->after_count ? exec->nodes[node->after[0]].stand : exec->count;
        }
    }
    exec->planned = true;
}

static CUresult queue_node(const struct launch *l, uint32_t i)
{
    struct sim_exec *exec = l->exec;
    const struct sim_exec_node *node = &exec->nodes[i];
    struct sim_task **after = &l->tasks[exec->count + 1];
    const CUstream stream = node->chain ? exec->chains[node->chain - 1] : l->stream;
    struct sim_work work = {.what = "cuGraphLaunch"};
    uint32_t count = 0;
    CUresult r;

    if (node->after_count == 0)
        after[count++] = l->tasks[exec->count];
    for (uint32_t d = 0; d < node->after_count; d++)
        after[count++] = l->tasks[exec->nodes[node->after[d]].stand];
    if (node->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT && node->event->record)
        after[count++] = node->event->record;
    if (node->recipe && !does_nothing(node))
        work = sim_recipe_work(node->recipe);
    r = sim_queue(stream, &work, after, count, &l->tasks[i]);
    if (r == CUDA_SUCCESS && node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
        sim_task_unref(node->event->record);
        node->event->record = sim_task_ref(l->tasks[i]);
        node->event->capture = 0;
    }
    return r;
}

static CUresult queue_end(const struct launch *l)
{
    const struct sim_work work = {.what = "cuGraphLaunch"};
    struct sim_exec *exec = l->exec;
    struct sim_task **after = &l->tasks[exec->count + 1], *end;
    uint32_t count = 0;
    CUresult r;

    for (uint32_t i = 0; i < exec->count; i++)
        if (exec->nodes[i].last)
            after[count++] = l->tasks[exec->nodes[i].stand];
    r = sim_queue(l->stream, &work, after, count, &end);
    if (r != CUDA_SUCCESS)
        return r;
    sim_task_unref(exec->end);
    exec->end = end;
    return CUDA_SUCCESS;
}

static bool events_live(const struct sim_exec *exec)
{
    for (uint32_t i = 0; i < exec->queued_count; i++) {
        const struct sim_exec_node *node = &exec->nodes[exec->queued[i]];

        if (!node->event || sim_handle_is(SIM_EVENT, node->event))
            continue;
        sim_complain("cuGraphLaunch: the event of a node was destroyed");
        return false;
    }
    return true;
}

/* The start follows the stream and the launch before, the end all nodes that nothing follows. All
 * is queued before anything runs, because a host function could change the graph meanwhile. */
CUresult sim_exec_launch(struct sim_exec *exec, CUstream stream)
{
    const struct sim_work start = {.what = "cuGraphLaunch"};
    struct launch l = {.exec = exec, .stream = stream};
    CUresult r;

    if (!exec->planned)
        plan(exec);
    if (stream->context != exec->context || !events_live(exec))
        return CUDA_ERROR_INVALID_VALUE;
    l.tasks = calloc(2u * exec->count + 3u, sizeof(l.tasks[0]));
    if (!l.tasks)
        return CUDA_ERROR_OUT_OF_MEMORY;
    r = sim_queue(stream, &start, &exec->end, exec->end ? 1 : 0, &l.tasks[exec->count]);
    for (uint32_t i = 0; r == CUDA_SUCCESS && i < exec->queued_count; i++)
        r = queue_node(&l, exec->queued[i]);
    if (r == CUDA_SUCCESS)
        r = queue_end(&l);
    for (uint32_t i = 0; i <= exec->count; i++)
        sim_task_unref(l.tasks[i]);
    free(l.tasks);
    sim_order_queued();
    return r;
}

static CUresult copy_node(struct sim_graph *graph, const struct sim_exec_node *from)
{
    struct sim_nodes after = {0};
    struct sim_node *node;
    CUresult r = CUDA_SUCCESS;

    for (uint32_t d = 0; d < from->after_count && r == CUDA_SUCCESS; d++)
        if (!sim_nodes_add(&after, graph->nodes.at[from->after[d]]))
            r = CUDA_ERROR_OUT_OF_MEMORY;
    /* A child graph is dissolved: what is left of it orders. So does a node that is disabled. */
    if (r == CUDA_SUCCESS)
        r = sim_node_new(graph,
                         from->enabled && !from->skipped && (from->recipe || from->event)
                             ? from->type
                             : CU_GRAPH_NODE_TYPE_EMPTY,
                         &after, &node);
    sim_nodes_clear(&after);
    if (r == CUDA_SUCCESS && node->type != CU_GRAPH_NODE_TYPE_EMPTY) {
        node->recipe = sim_recipe_ref(from->recipe);
        node->event = from->event;
    }
    return r;
}

CUresult sim_exec_graph(const struct sim_exec *exec, struct sim_graph **ret_graph)
{
    struct sim_graph *graph;
    CUresult r = sim_graph_new(&graph);

    if (r != CUDA_SUCCESS)
        return r;
    for (uint32_t i = 0; r == CUDA_SUCCESS && i < exec->count; i++) {
        r = copy_node(graph, &exec->nodes[i]);
        if (r == CUDA_SUCCESS)
            graph->nodes.at[i]->context = exec->context;
    }
    if (r == CUDA_SUCCESS)
        *ret_graph = graph;
    else
        sim_graph_free(graph);
    return r;
}
