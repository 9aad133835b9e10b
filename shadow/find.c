/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow/find.h"

#include <stdlib.h>
#include <string.h>

#include "shadow/reason.h"

struct node {
    CUgraphNode handle;
    struct mhcs_memo memo;
};

/* A walk through a graph and its child graphs. */
struct walk {
    const struct mhcs_driver *driver;
    struct mhcs_engine *engines[MHCS_ENGINES_MAX]; /* held; NULL where there is none */
    struct mhcs_found *found;
};

/* All nodes of a graph; NULL: it has none, or no memory. The caller frees. */
static CUgraphNode *nodes_of(const struct mhcs_driver *driver, CUgraph graph, size_t *ret_count)
{
    CUgraphNode *nodes;

    if (driver->cuGraphGetNodes(graph, NULL, ret_count) != CUDA_SUCCESS || *ret_count == 0) {
        return NULL;
    }
    nodes = calloc(*ret_count, sizeof(*nodes));
    if (nodes && driver->cuGraphGetNodes(graph, nodes, ret_count) != CUDA_SUCCESS) {
        free(nodes);
        return NULL;
    }
    return nodes;
}

/* An engine may have outlived its context, and the driver have given the handle to any kernel of
 * another one since; the name tells, and whose snapshot kernel it is stands in the memo. */
static bool is_snapshot(const struct walk *walk, CUfunction function)
{
    const char *name = NULL;
    bool known = false;

    for (uint32_t i = 0; i < MHCS_ENGINES_MAX; i++) {
        known |= walk->engines[i] && walk->engines[i]->snapshot == function;
    }
    return known && walk->driver->cuFuncGetName(&name, function) == CUDA_SUCCESS && name &&
           strcmp(name, MHCS_SNAPSHOT_NAME) == 0;
}

static bool read_node(const struct walk *walk, CUgraphNode handle, struct node *node)
{
    struct mhcs_snapshot_params snapshot;
    CUDA_KERNEL_NODE_PARAMS params;

    memset(&params, 0, sizeof(params));
    if (walk->driver->cuGraphKernelNodeGetParams_v2(handle, &params) != CUDA_SUCCESS ||
        !params.func || !params.kernelParams || !is_snapshot(walk, params.func)) {
        return false;
    }
    node->handle = handle;
    memcpy(&snapshot, params.kernelParams[0], sizeof(snapshot));
    mhcs_memo_read(&node->memo, &snapshot);
    return node->memo.engine != 0; /* 0: given back while the node was captured */
}

static bool is_early(const struct mhcs_memo *memo)
{
    return memo->parts_early && memo->parts == memo->parts_early;
}

static void put_aside(struct mhcs_found *found, CUgraphNode node)
{
    CUgraphNode *const more = realloc(found->other, (found->others + 1) * sizeof(*more));

    if (more) {
        found->other = more;
        found->other[found->others++] = node;
    }
}

/* Nodes of child graphs can't be pointed to a slot: the driver has them by the handles of copies
 * that it keeps for itself. */
static void look_into_child(const struct walk *walk, CUgraphNode child)
{
    const struct mhcs_driver *driver = walk->driver;
    CUgraph graph;
    CUgraphNode *nodes;
    size_t count;

    if (driver->cuGraphChildGraphNodeGetGraph(child, &graph) != CUDA_SUCCESS) {
        return;
    }
    nodes = nodes_of(driver, graph, &count);
    for (size_t i = 0; nodes && i < count; i++) {
        CUgraphNodeType type;
        struct node node;

        if (driver->cuGraphNodeGetType(nodes[i], &type) != CUDA_SUCCESS) {
            continue;
        }
        if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
            look_into_child(walk, nodes[i]);
        } else if (type == CU_GRAPH_NODE_TYPE_KERNEL && read_node(walk, nodes[i], &node)) {
            put_aside(walk->found, nodes[i]);
            walk->found->in_children += !is_early(&node.memo);
        }
    }
    free(nodes);
}

/* The nodes before and behind a GEMM as one site. */
static void pair_up(struct mhcs_found *found, const struct node *nodes, size_t count)
{
    found->site = calloc(count, sizeof(*found->site));
    for (size_t i = 0; i < count; i++) {
        const struct node *last = &nodes[i], *early = NULL;

        for (size_t j = 0; j < count && last->memo.parts_early && !early; j++) {
            early = nodes[j].memo.pair == last->memo.pair && is_early(&nodes[j].memo) ? &nodes[j]
                                                                                      : NULL;
        }
        found->engine = found->engine ? found->engine : last->memo.engine;
        if (found->site && !is_early(&last->memo) && last->memo.engine == found->engine &&
            (early || !last->memo.parts_early)) {
            found->site[found->count++] = (struct mhcs_graph_site){
                .memo = last->memo,
                .early = early ? early->handle : NULL,
                .last = last->handle,
            };
        } else {
            put_aside(found, last->handle);
        }
    }
}

static void walk_through(const struct walk *walk, CUgraph graph)
{
    size_t count = 0, ours = 0;
    CUgraphNode *const handles = nodes_of(walk->driver, graph, &count);
    struct node *const nodes = handles ? calloc(count, sizeof(*nodes)) : NULL;

    for (size_t i = 0; nodes && i < count; i++) {
        CUgraphNodeType type;

        if (walk->driver->cuGraphNodeGetType(handles[i], &type) != CUDA_SUCCESS) {
            continue;
        }
        if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
            look_into_child(walk, handles[i]);
        } else if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
            ours += read_node(walk, handles[i], &nodes[ours]);
        }
    }
    if (ours > 0) {
        pair_up(walk->found, nodes, ours);
    }
    free(nodes);
    free(handles);
}

void mhcs_find_nodes(struct mhcs_found *found, CUgraph graph)
{
    struct walk walk = {.found = found};

    if (mhcs_driver(&walk.driver) || !mhcs_follow_possible(walk.driver)) {
        return;
    }
    for (uint32_t i = 0; i < MHCS_ENGINES_MAX; i++) {
        struct mhcs_engine *const engine = mhcs_engine_hold_at(i);

        /* A disarmed one's nodes are to be disabled all the same. */
        if (engine && mhcs_engine_state(engine) != MHCS_ENGINE_ARMING && engine->module) {
            walk.engines[i] = engine;
        } else if (engine) {
            mhcs_engine_let_go(engine);
        }
    }
    walk_through(&walk, graph);
    for (uint32_t i = 0; i < MHCS_ENGINES_MAX; i++) {
        if (walk.engines[i]) {
            mhcs_engine_let_go(walk.engines[i]);
        }
    }
}

/* A graph that the device launches must not be changed behind its back. */
static bool is_launched_from_the_device(const struct mhcs_driver *driver, CUgraphExec exec)
{
    cuuint64_t flags = 0;

    return driver->cuGraphExecGetFlags &&
           driver->cuGraphExecGetFlags(exec, &flags) == CUDA_SUCCESS &&
           flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
}

static bool disable_site(const struct mhcs_driver *driver, CUgraphExec exec,
                         const struct mhcs_graph_site *site)
{
    const CUresult result = driver->cuGraphNodeSetEnabled(exec, site->last, 0);

    return (!site->early || driver->cuGraphNodeSetEnabled(exec, site->early, 0) == CUDA_SUCCESS) &&
           result == CUDA_SUCCESS;
}

void mhcs_find_disable(struct mhcs_found *found, CUgraphExec exec)
{
    const struct mhcs_driver *driver;
    const uint32_t count = found->count;
    bool device;

    if (mhcs_driver(&driver) || count + found->others == 0) {
        return;
    }
    device = is_launched_from_the_device(driver, exec);
    found->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (disable_site(driver, exec, &found->site[i]) && !device) {
            found->site[found->count++] = found->site[i];
        }
    }
    /* Where it refuses one of these, the node runs, and does nothing. */
    for (uint32_t i = 0; i < found->others; i++) {
        driver->cuGraphNodeSetEnabled(exec, found->other[i], 0);
    }
    mhcs_turn_away_many(MHCS_REASON_REFUSED, count - found->count);
    mhcs_turn_away_many(MHCS_REASON_CHILD, found->in_children);
}

void mhcs_found_free(struct mhcs_found *found)
{
    free(found->site);
    free(found->other);
}
