/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and their nodes: making, copying and finding them. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

void *sim_graph_number(void)
{
    /* As a pointer it is aligned, and not one that could be followed. */
    return (void *)(uintptr_t)(++sim.object_id << 4);
}

CUresult sim_recipe_new(const struct sim_work *work, struct sim_recipe **ret_recipe)
{
    struct sim_recipe *recipe = malloc(sizeof(*recipe));

    if (!recipe) {
        sim_work_drop(work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *recipe = (struct sim_recipe){.work = *work, .refs = 1};
    *ret_recipe = recipe;
    return CUDA_SUCCESS;
}

struct sim_recipe *sim_recipe_ref(struct sim_recipe *recipe)
{
    if (recipe)
        recipe->refs++;
    return recipe;
}

void sim_recipe_unref(struct sim_recipe *recipe)
{
    if (!recipe || --recipe->refs > 0)
        return;
    sim_work_drop(&recipe->work);
    free(recipe);
}

static int run_recipe(void *arg, struct sim_memory *memory, const struct sim_op *op,
                      struct sim_fault *fault)
{
    const struct sim_recipe *recipe = arg;

    return recipe->work.body(recipe->work.arg, memory, op, fault);
}

static void drop_recipe(void *arg)
{
    sim_recipe_unref(arg);
}

struct sim_work sim_recipe_work(struct sim_recipe *recipe)
{
    struct sim_work work = recipe->work;

    work.body = work.body ? run_recipe : NULL;
    work.arg = sim_recipe_ref(recipe);
    work.drop = drop_recipe;
    return work;
}

bool sim_nodes_have(const struct sim_nodes *set, const struct sim_node *node)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (set->at[i] == node)
            return true;
    return false;
}

bool sim_nodes_add(struct sim_nodes *set, struct sim_node *node)
{
    if (sim_nodes_have(set, node))
        return true;
    if (set->count == set->capacity) {
        const uint32_t capacity = set->capacity ? 2 * set->capacity : 2;
        struct sim_node **at = realloc(set->at, capacity * sizeof(at[0]));

        if (!at)
            return false;
        set->at = at;
        set->capacity = capacity;
    }
    set->at[set->count++] = node;
    return true;
}

bool sim_nodes_join(struct sim_nodes *set, const struct sim_nodes *other)
{
    for (uint32_t i = 0; i < other->count; i++)
        if (!sim_nodes_add(set, other->at[i]))
            return false;
    return true;
}

static void take_out(struct sim_nodes *set, const struct sim_node *node)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < set->count; i++)
        if (set->at[i] != node)
            set->at[kept++] = set->at[i];
    set->count = kept;
}

void sim_nodes_clear(struct sim_nodes *set)
{
    free(set->at);
    *set = (struct sim_nodes){0};
}

CUresult sim_graph_new(struct sim_graph **ret_graph)
{
    struct sim_graph *graph = calloc(1, sizeof(*graph));

    if (!graph)
        return CUDA_ERROR_OUT_OF_MEMORY;
    graph->handle = sim_graph_number();
    if (!sim_table_put(&sim.handles[SIM_GRAPH], (uintptr_t)graph->handle, graph)) {
        free(graph);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ret_graph = graph;
    return CUDA_SUCCESS;
}

static void release(struct sim_node *node)
{
    struct sim_graph *child;

    sim_table_remove(&sim.handles[SIM_NODE], (uintptr_t)node->handle);
    sim_recipe_unref(node->recipe);
    while ((child = node->child)) {
        node->child = child->next;
        sim_graph_free(child);
    }
    free(node->told);
    sim_nodes_clear(&node->after);
    free(node);
}

void sim_graph_free(struct sim_graph *graph)
{
    struct sim_condition *condition;

    for (uint32_t i = 0; i < graph->nodes.count; i++)
        release(graph->nodes.at[i]);
    while ((condition = graph->conditions)) {
        graph->conditions = condition->next;
        free(condition);
    }
    sim_nodes_clear(&graph->nodes);
    sim_table_remove(&sim.handles[SIM_GRAPH], (uintptr_t)graph->handle);
    free(graph);
}

CUresult sim_node_new(struct sim_graph *graph, CUgraphNodeType type, const struct sim_nodes *after,
                      struct sim_node **ret_node)
{
    struct sim_node *node = calloc(1, sizeof(*node));

    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->handle = sim_graph_number();
    node->graph = graph;
    node->type = type;
    if (!sim_nodes_join(&node->after, after) || !sim_nodes_add(&graph->nodes, node) ||
        !sim_table_put(&sim.handles[SIM_NODE], (uintptr_t)node->handle, node)) {
        take_out(&graph->nodes, node);
        release(node);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ret_node = node;
    return CUDA_SUCCESS;
}

void sim_node_free(struct sim_node *node)
{
    struct sim_graph *graph = node->graph;

    take_out(&graph->nodes, node);
    for (uint32_t i = 0; i < graph->nodes.count; i++)
        take_out(&graph->nodes.at[i]->after, node);
    release(node);
}

void sim_nodes_close(CUcontext context)
{
    struct sim_node *node;
    size_t cursor = 0;

    while ((node = sim_table_next(&sim.handles[SIM_NODE], &cursor)))
        if (node->context == context)
            node->context = NULL;
}

bool sim_node_reaches(const struct sim_node *node, const struct sim_nodes *ends)
{
    struct sim_nodes seen = {0};
    bool reached = false;

    if (sim_nodes_join(&seen, ends))
        for (uint32_t i = 0; i < seen.count && !reached; i++) {
            reached = seen.at[i] == node;
            if (!sim_nodes_join(&seen, &seen.at[i]->after))
                break;
        }
    sim_nodes_clear(&seen);
    return reached;
}

bool sim_graph_is_conditional(const struct sim_graph *graph)
{
    for (uint32_t i = 0; i < graph->nodes.count; i++) {
        const struct sim_node *node = graph->nodes.at[i];

        if (node->bodies > 0 || (node->child && sim_graph_is_conditional(node->child)))
            return true;
    }
    return false;
}

static CUresult clone_node(const struct sim_node *from, struct sim_graph *to)
{
    const struct sim_nodes none = {0};
    struct sim_node *node;
    CUresult r = sim_node_new(to, from->type, &none, &node);

    if (r != CUDA_SUCCESS)
        return r;
    node->context = from->context;
    node->recipe = sim_recipe_ref(from->recipe);
    node->event = from->event;
    node->original = from->handle;
    if (!from->child)
        return CUDA_SUCCESS;
    r = sim_graph_clone(from->child, &node->child);
    if (r == CUDA_SUCCESS)
        node->child->owner = node;
    return r;
}

static uint32_t place(const struct sim_nodes *nodes, const struct sim_node *node)
{
    uint32_t i = 0;

    while (nodes->at[i] != node)
        i++;
    return i;
}

CUresult sim_graph_clone(const struct sim_graph *graph, struct sim_graph **ret_clone)
{
    struct sim_graph *clone = NULL;
    CUresult r = sim_graph_new(&clone);

    for (uint32_t i = 0; r == CUDA_SUCCESS && i < graph->nodes.count; i++)
        r = clone_node(graph->nodes.at[i], clone);
    if (r != CUDA_SUCCESS)
        goto fail;
    for (uint32_t i = 0; i < graph->nodes.count; i++) {
        const struct sim_nodes *after = &graph->nodes.at[i]->after;

        for (uint32_t d = 0; d < after->count; d++)
            if (!sim_nodes_add(&clone->nodes.at[i]->after,
                               clone->nodes.at[place(&graph->nodes, after->at[d])])) {
                r = CUDA_ERROR_OUT_OF_MEMORY;
                goto fail;
            }
    }
    *ret_clone = clone;
    return CUDA_SUCCESS;

fail:
    if (clone)
        sim_graph_free(clone);
    return r;
}

/* Numbers are given in order, so one that was given once and stands for nothing is gone. */
static void *find(const char *call, const char *what, enum sim_kind kind, const void *handle)
{
    void *object = sim_table_get(&sim.handles[kind], (uintptr_t)handle);

    if (!object && handle)
        sim_complain("%s: %s %p %s", call, what, handle,
                     (uintptr_t)handle >> 4 <= sim.object_id && (uintptr_t)handle % 16 == 0
                         ? "was destroyed before this call"
                         : "never existed");
    return object;
}

struct sim_graph *sim_graph_of(const char *call, CUgraph handle)
{
    return find(call, "the graph", SIM_GRAPH, handle);
}

struct sim_node *sim_node_of(const char *call, CUgraphNode handle)
{
    return find(call, "the node", SIM_NODE, handle);
}

bool sim_edges_are_plain(const CUgraphEdgeData *edges, size_t count)
{
    static const CUgraphEdgeData plain;

    for (size_t i = 0; edges && i < count; i++)
        if (memcmp(&edges[i], &plain, sizeof(plain)) != 0)
            return false;
    return true;
}

CUresult sim_nodes_of(const char *call, const struct sim_graph *graph, const CUgraphNode *handles,
                      const CUgraphEdgeData *edges, size_t count, struct sim_nodes *ret_nodes)
{
    if (!sim_edges_are_plain(edges, count)) {
        sim_say("%s: edges with data are not simulated", call);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    for (size_t i = 0; i < count; i++) {
        struct sim_node *node = handles ? sim_node_of(call, handles[i]) : NULL;

        if (!node || node->graph != graph)
            return CUDA_ERROR_INVALID_VALUE;
        if (!sim_nodes_add(ret_nodes, node))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult sim_node_add(const char *call, CUgraph handle, const CUgraphNode *after, size_t count,
                      CUgraphNodeType type, struct sim_node **ret_node)
{
    struct sim_graph *graph = sim_graph_of(call, handle);
    struct sim_nodes nodes = {0};
    CUresult r;

    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    r = sim_nodes_of(call, graph, after, NULL, count, &nodes);
    if (r == CUDA_SUCCESS)
        r = sim_node_new(graph, type, &nodes, ret_node);
    sim_nodes_clear(&nodes);
    if (r == CUDA_SUCCESS)
        (*ret_node)->context = sim_context_current();
    return r;
}

CUresult sim_node_add_work(const char *call, CUgraph graph, const CUgraphNode *after, size_t count,
                           const struct sim_work *work, CUcontext context, CUgraphNode *ret_node)
{
    struct sim_recipe *recipe;
    struct sim_node *node;
    CUresult r = sim_recipe_new(work, &recipe);

    if (r != CUDA_SUCCESS)
        return r;
    r = sim_node_add(call, graph, after, count, work->type, &node);
    if (r != CUDA_SUCCESS) {
        sim_recipe_unref(recipe);
        return r;
    }
    node->recipe = recipe;
    if (context)
        node->context = context;
    *ret_node = node->handle;
    return CUDA_SUCCESS;
}
