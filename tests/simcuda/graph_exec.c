/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs. At instantiation a graph becomes an array in which every node comes after all
 * that it follows, and the nodes are dealt out to chains: the next node of a chain happens after
 * the one before in any case, so that a stream for each chain orders no more than the graph does.
 */
#include "graph_exec.h"

#include <stdlib.h>
#include <string.h>

/* What happens before each node, as a bit per node. */
struct pasts {
    uint64_t *bits;
    size_t words; /* per node */
};

static void set_bit(const struct pasts *p, uint32_t node, uint32_t past)
{
    p->bits[node * p->words + past / 64] |= UINT64_C(1) << past % 64;
}

static bool is_past(const struct pasts *p, uint32_t node, uint32_t past)
{
    return p->bits[node * p->words + past / 64] >> past % 64 & 1;
}

static bool follow(struct sim_exec_node *node, uint32_t other)
{
    uint32_t *after;

    for (uint32_t i = 0; i < node->after_count; i++)
        if (node->after[i] == other)
            return true;
    after = realloc(node->after, (node->after_count + 1) * sizeof(after[0]));
    if (!after)
        return false;
    node->after = after;
    node->after[node->after_count++] = other;
    return true;
}

static CUresult add_graph(struct sim_exec *exec, const struct sim_graph *graph,
                          const struct sim_exec_node *behind);

/* Behind all of [from, exec->count) that nothing of it follows. */
static bool follow_ends(const struct sim_exec *exec, uint32_t from, struct sim_exec_node *node)
{
    for (uint32_t i = from; i < exec->count; i++) {
        bool last = true;

        for (uint32_t j = i + 1; j < exec->count; j++)
            for (uint32_t d = 0; d < exec->nodes[j].after_count; d++)
                last &= exec->nodes[j].after[d] != i;
        if (last && !follow(node, i))
            return false;
    }
    return true;
}

/* The graph in a child graph node, or all bodies of a conditional one. */
static CUresult add_children(struct sim_exec *exec, const struct sim_node *node,
                             struct sim_exec_node *made)
{
    const uint32_t before = made->after_count;
    uint32_t body = 0;

    for (const struct sim_graph *child = node->child; child; child = child->next, body++) {
        struct sim_exec_node behind = *made;
        const uint32_t from = exec->count;
        CUresult r;

        behind.after_count = before;
        behind.skipped |= node->bodies > 0 && body != node->taken;
        r = add_graph(exec, child, &behind);
        if (r == CUDA_SUCCESS && !follow_ends(exec, from, made))
            r = CUDA_ERROR_OUT_OF_MEMORY;
        if (r != CUDA_SUCCESS)
            return r;
    }
    return CUDA_SUCCESS;
}

/* Places of the nodes that came before `node` in its graph are in place[]. */
static CUresult add_node(struct sim_exec *exec, const struct sim_graph *graph, uint32_t number,
                         const struct sim_exec_node *behind, uint32_t *place)
{
    const struct sim_node *node = graph->nodes.at[number];
    struct sim_exec_node *nodes, made = {.source = node->handle,
                                         .type = node->type,
                                         .event = node->event,
                                         .enabled = true,
                                         .skipped = behind->skipped};
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

    for (uint32_t i = 0; i < graph->nodes.count; i++)
        if (sim_nodes_have(&node->after, graph->nodes.at[i]) && !follow(&made, place[i]))
            goto fail;
    for (uint32_t i = 0; node->after.count == 0 && i < behind->after_count; i++)
        if (!follow(&made, behind->after[i]))
            goto fail;
    r = add_children(exec, node, &made);
    if (r != CUDA_SUCCESS)
        goto fail;
    nodes = realloc(exec->nodes, (exec->count + 1) * sizeof(nodes[0]));
    if (!nodes) {
        r = CUDA_ERROR_OUT_OF_MEMORY;
        goto fail;
    }
    made.recipe = sim_recipe_ref(node->recipe);
    exec->nodes = nodes;
    place[number] = exec->count;
    exec->nodes[exec->count++] = made;
    return CUDA_SUCCESS;

fail:
    free(made.after);
    return r;
}

static bool is_ready(const struct sim_graph *graph, const struct sim_node *node,
                     const uint32_t *place)
{
    for (uint32_t i = 0; i < graph->nodes.count; i++)
        if (place[i] == UINT32_MAX && sim_nodes_have(&node->after, graph->nodes.at[i]))
            return false;
    return true;
}

/* Adds all nodes of the graph, those without predecessors behind what `behind` follows. */
static CUresult add_graph(struct sim_exec *exec, const struct sim_graph *graph,
                          const struct sim_exec_node *behind)
{
    const uint32_t count = graph->nodes.count;
    uint32_t *place = malloc((count + 1) * sizeof(place[0]));
    CUresult r = place ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    uint32_t done = 0, before = UINT32_MAX;

    for (uint32_t i = 0; place && i < count; i++)
        place[i] = UINT32_MAX;
    while (r == CUDA_SUCCESS && done < count && done != before) {
        before = done;
        for (uint32_t i = 0; i < count && r == CUDA_SUCCESS; i++) {
            if (place[i] != UINT32_MAX || !is_ready(graph, graph->nodes.at[i], place))
                continue;
            r = add_node(exec, graph, i, behind, place);
            done++;
        }
    }
    free(place);
    return r == CUDA_SUCCESS && done < count ? CUDA_ERROR_INVALID_VALUE : r; /* a cycle */
}

static bool find_pasts(const struct sim_exec *exec, struct pasts *ret_pasts)
{
    ret_pasts->words = (exec->count + 63u) / 64u;
    ret_pasts->bits = calloc(exec->count * ret_pasts->words + 1u, sizeof(uint64_t));
    if (!ret_pasts->bits)
        return false;
    for (uint32_t i = 0; i < exec->count; i++) {
        const struct sim_exec_node *node = &exec->nodes[i];

        for (uint32_t d = 0; d < node->after_count; d++) {
            const uint32_t past = node->after[d];

            set_bit(ret_pasts, i, past);
            for (size_t w = 0; w < ret_pasts->words; w++)
                ret_pasts->bits[i * ret_pasts->words + w] |=
                    ret_pasts->bits[past * ret_pasts->words + w];
        }
    }
    return true;
}

/* The first chain whose latest node is in the node's past, else a new one. */
static CUresult deal_out(struct sim_exec *exec)
{
    struct pasts pasts;
    uint32_t *latest = calloc(exec->count + 1u, sizeof(latest[0])), chains = 0;
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

    if (!latest || !find_pasts(exec, &pasts)) {
        free(latest);
        return r;
    }
    for (uint32_t i = 0; i < exec->count; i++) {
        uint32_t chain = 0;

        while (chain < chains && !is_past(&pasts, i, latest[chain]))
            chain++;
        if (chain == chains)
            chains++;
        latest[chain] = i;
        exec->nodes[i].chain = chain;
        exec->nodes[i].last = true;
        for (uint32_t d = 0; d < exec->nodes[i].after_count; d++)
            exec->nodes[exec->nodes[i].after[d]].last = false;
    }
    exec->queued = calloc(exec->count + 1u, sizeof(exec->queued[0]));
    exec->chains = calloc(chains + 1u, sizeof(exec->chains[0]));
    r = exec->queued && exec->chains ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    while (r == CUDA_SUCCESS && exec->chain_count + 1 < chains) {
        r = sim_stream_new(exec->context, false, 0, &exec->chains[exec->chain_count]);
        if (r == CUDA_SUCCESS) /* not a handle that an application could have */
            sim_handle_remove(SIM_STREAM, exec->chains[exec->chain_count++]);
    }
    free(pasts.bits);
    free(latest);
    return r;
}

/* All nodes must be of one context; *context stays NULL if none has any. */
static CUresult find_context(const struct sim_graph *graph, CUcontext *context)
{
    for (uint32_t i = 0; i < graph->nodes.count; i++) {
        const struct sim_node *node = graph->nodes.at[i];
        CUresult r = CUDA_SUCCESS;

        if (node->recipe && !node->recipe->work.host_function) {
            if (!node->context)
                return CUDA_ERROR_CONTEXT_IS_DESTROYED;
            if (*context && *context != node->context) {
                sim_say("cuGraphInstantiate: graphs over several contexts are not simulated");
                return CUDA_ERROR_NOT_SUPPORTED;
            }
            *context = node->context;
        }
        for (const struct sim_graph *child = node->child; child && r == CUDA_SUCCESS;
             child = child->next)
            r = find_context(child, context);
        if (r != CUDA_SUCCESS)
            return r;
    }
    return CUDA_SUCCESS;
}

CUresult sim_exec_new(const struct sim_graph *graph, cuuint64_t flags, struct sim_exec **ret_exec)
{
    const struct sim_exec_node start = {0};
    struct sim_exec *exec = calloc(1, sizeof(*exec));
    CUresult r;

    if (!exec)
        return CUDA_ERROR_OUT_OF_MEMORY;
    exec->handle = sim_graph_number();
    exec->flags = flags;
    r = find_context(graph, &exec->context);
    if (!exec->context)
        exec->context = sim_context_current();
    if (r == CUDA_SUCCESS)
        r = add_graph(exec, graph, &start);
    if (r == CUDA_SUCCESS)
        r = deal_out(exec);
    if (r == CUDA_SUCCESS && !sim_table_put(&sim.handles[SIM_EXEC], (uintptr_t)exec->handle, exec))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS)
        *ret_exec = exec;
    else
        sim_exec_free(exec);
    return r;
}

static void close_chains(struct sim_exec *exec)
{
    for (uint32_t i = 0; i < exec->chain_count; i++)
        sim_stream_destroy(exec->chains[i]);
    exec->chain_count = 0;
}

void sim_exec_free(struct sim_exec *exec)
{
    sim_table_remove(&sim.handles[SIM_EXEC], (uintptr_t)exec->handle);
    close_chains(exec);
    for (uint32_t i = 0; i < exec->count; i++) {
        sim_recipe_unref(exec->nodes[i].recipe);
        free(exec->nodes[i].after);
    }
    sim_task_unref(exec->end);
    free(exec->nodes);
    free(exec->queued);
    free(exec->chains);
    free(exec);
}

void sim_execs_close(CUcontext context)
{
    struct sim_exec *exec;
    size_t cursor = 0;

    while ((exec = sim_table_next(&sim.handles[SIM_EXEC], &cursor))) {
        if (exec->context != context)
            continue;
        close_chains(exec);
        exec->context = NULL; /* the handle stays valid, as the application must still destroy it */
    }
}

struct sim_exec *sim_exec_of(const char *call, CUgraphExec handle)
{
    struct sim_exec *exec = sim_table_get(&sim.handles[SIM_EXEC], (uintptr_t)handle);

    if (!exec && handle)
        sim_complain("%s: the executable graph %p was destroyed before this call, or never existed",
                     call, (void *)handle);
    return exec;
}

struct sim_exec_node *sim_exec_node_of(const char *call, const struct sim_exec *exec,
                                       CUgraphNode handle)
{
    if (!sim_node_of(call, handle))
        return NULL;
    for (uint32_t i = 0; i < exec->count; i++)
        if (exec->nodes[i].source == handle)
            return &exec->nodes[i];
    sim_complain("%s: the node %p is not of the graph that the executable graph was made from",
                 call, (void *)handle);
    return NULL;
}
