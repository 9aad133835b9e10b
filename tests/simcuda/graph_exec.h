/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs: made from a graph, changed through the handles of its nodes, launched. */
#ifndef SIM_GRAPH_EXEC_H
#define SIM_GRAPH_EXEC_H

#include "graph.h"

struct sim_exec_node {
    CUgraphNode source; /* the graph's node it was made from */
    CUgraphNodeType type;
    struct sim_recipe *recipe;
    CUevent event;
    bool enabled;
    bool skipped;    /* in a conditional body that isn't taken */
    uint32_t *after; /* places in sim_exec.nodes, all before its own */
    uint32_t after_count;
    uint32_t chain; /* 0: the stream of the launch, else sim_exec.chains[chain - 1] */
    uint32_t stand; /* in launches, once planned: itself, the node that stands for it, or
                     * sim_exec.count: the start of the launch */
    bool last;      /* nothing follows it */
};

struct sim_exec {
    CUgraphExec handle;
    CUcontext context; /* NULL: it was closed */
    cuuint64_t flags;
    struct sim_exec_node *nodes; /* each after all that it follows */
    uint32_t count;
    uint32_t *queued; /* the nodes that a launch queues, in order; of `count` at most */
    uint32_t queued_count;
    bool planned;     /* `queued` and sim_exec_node.stand are as the nodes are enabled */
    CUstream *chains; /* internal streams, nobody else's */
    uint32_t chain_count;
    struct sim_task *end; /* of the latest launch, or NULL */
};

CUresult sim_exec_new(const struct sim_graph *graph, cuuint64_t flags, struct sim_exec **ret_exec);
/* Launches that are queued still run. */
void sim_exec_free(struct sim_exec *exec);
void sim_execs_close(CUcontext context);
/* NULL, with a complaint in the name of `call`, if the handle is none. */
struct sim_exec *sim_exec_of(const char *call, CUgraphExec handle);
/* The same for a node of the graph it was made from. */
struct sim_exec_node *sim_exec_node_of(const char *call, const struct sim_exec *exec,
                                       CUgraphNode handle);

/* graph_launch.c */
CUresult sim_exec_launch(struct sim_exec *exec, CUstream stream);
/* A graph of what a launch would do now. */
CUresult sim_exec_graph(const struct sim_exec *exec, struct sim_graph **ret_graph);

#endif
