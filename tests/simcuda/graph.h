/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs: what the simulation has of them.
 *
 * Graphs are captured (capture.h) or built node by node; nodes are kernels (a cuBLAS call is one,
 * without parameters to look at), copies, fills, host functions, event records and waits, empty,
 * child graphs and conditional bodies. An executable graph is a copy: child graphs are dissolved in
 * it, and nodes that nothing orders run on chains of their own, internal streams, so that every
 * order of order.c chooses among them and a race between them is found. Launches of one executable
 * graph follow each other. What is changed in it (enabling, parameters, cuGraphExecUpdate) holds
 * for later launches.
 *
 * Handles are numbers that are never given twice: one whose object is gone is a counted fault that
 * names the call, and so is a node of a graph that has been destroyed, though the executable graph
 * made from it still runs.
 *
 * Not simulated: allocation and free nodes, semaphores, batched memory operations, user objects,
 * launches from the device, edge data, graphs over several contexts, launch attributes of nodes.
 * Each is refused with a line that says so. No kernel can set a condition here: a handle keeps its
 * default value, so which body runs is known at instantiation, and a loop that would be entered is
 * refused.
 *
 * Everything here is guarded by the engine's lock.
 */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "engine.h"

/* Work that may run any number of times: shared by a node, its copies and the launches of them. */
struct sim_recipe {
    struct sim_work work;
    unsigned refs;
};

struct sim_node {
    CUgraphNode handle;
    struct sim_graph *graph;
    CUgraphNodeType type;
    CUcontext context;         /* where the recipe runs; NULL once that is closed */
    struct sim_recipe *recipe; /* kernel, memcpy, memset, host; else NULL */
    CUevent event;             /* event record and wait */
    struct sim_graph *child;   /* child graph: its own copy. Conditional: the first of its bodies */
    uint32_t bodies;           /* of a conditional node */
    CUgraph *told;             /* their handles, as cuGraphAddNode gives them away */
    uint32_t taken;            /* the body that runs; `bodies`: none does */
    struct sim_nodes after;
    CUgraphNode original; /* what it is a clone of, or 0 */
};

/* What cuGraphConditionalHandleCreate makes. Its value never changes, see above. */
struct sim_condition {
    struct sim_condition *next; /* of the graph */
    CUgraphConditionalHandle handle;
    unsigned value;
};

struct sim_graph {
    CUgraph handle;
    struct sim_nodes nodes; /* as they were added */
    struct sim_node *owner; /* the node it is the child of, or NULL */
    struct sim_graph *next; /* the node's next body */
    struct sim_condition *conditions;
    bool captured_into; /* a capture is putting nodes into it */
    bool instantiated;  /* once in its life */
};

/* Takes over the work, also on failure; the recipe has one reference. */
CUresult sim_recipe_new(const struct sim_work *work, struct sim_recipe **ret_recipe);
struct sim_recipe *sim_recipe_ref(struct sim_recipe *recipe);
void sim_recipe_unref(struct sim_recipe *recipe); /* NULL is fine */
/* The recipe as work to queue, with a reference of its own. */
struct sim_work sim_recipe_work(struct sim_recipe *recipe);

/* False: out of memory. A node that is there already is left alone. */
bool sim_nodes_add(struct sim_nodes *set, struct sim_node *node);
bool sim_nodes_join(struct sim_nodes *set, const struct sim_nodes *other);
bool sim_nodes_have(const struct sim_nodes *set, const struct sim_node *node);
void sim_nodes_clear(struct sim_nodes *set); /* and free */

CUresult sim_graph_new(struct sim_graph **ret_graph);
void sim_graph_free(struct sim_graph *graph);
/* Node handles of the copy are new; sim_node.original says of what. */
CUresult sim_graph_clone(const struct sim_graph *graph, struct sim_graph **ret_clone);
/* Adds a node behind `after`. The type's own fields are the caller's to fill in. */
CUresult sim_node_new(struct sim_graph *graph, CUgraphNodeType type, const struct sim_nodes *after,
                      struct sim_node **ret_node);
/* Does it, or a graph in it, have conditional nodes? Such a graph can't be copied, and is
 * instantiated once only. */
bool sim_graph_is_conditional(const struct sim_graph *graph);
/* Takes it out of its graph, and out of what follows it. */
void sim_node_free(struct sim_node *node);
/* What was to run in the context can't any more. */
void sim_nodes_close(CUcontext context);
/* Is `node` one of `ends`, or before one of them? */
bool sim_node_reaches(const struct sim_node *node, const struct sim_nodes *ends);

/* What a handle stands for. NULL for a handle that is none; unless it is a null pointer, that is a
 * complaint in the name of `call`. */
struct sim_graph *sim_graph_of(const char *call, CUgraph handle);
struct sim_node *sim_node_of(const char *call, CUgraphNode handle);
/* Adds the nodes of these handles, which must all be of the graph. `edges` may be NULL. */
CUresult sim_nodes_of(const char *call, const struct sim_graph *graph, const CUgraphNode *handles,
                      const CUgraphEdgeData *edges, size_t count, struct sim_nodes *ret_nodes);
bool sim_edges_are_plain(const CUgraphEdgeData *edges, size_t count);
/* For the functions that add nodes: to the graph of this handle, behind the nodes of those. */
CUresult sim_node_add(const char *call, CUgraph graph, const CUgraphNode *after, size_t count,
                      CUgraphNodeType type, struct sim_node **ret_node);
/* ... one that runs the work, which it takes over, also on failure. NULL: the current context. */
CUresult sim_node_add_work(const char *call, CUgraph graph, const CUgraphNode *after, size_t count,
                           const struct sim_work *work, CUcontext context, CUgraphNode *ret_node);

/* A number that no handle had before, as one. */
void *sim_graph_number(void);

#endif
