/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs whose snapshot nodes are known: found at instantiation, kept disabled, and
 * remembered until the application destroys them.
 *
 * A node is named by its handle in the graph that was instantiated, so that graph must stay:
 * applications that destroy it at once (PyTorch does) get it destroyed with its executable graph.
 */
#ifndef MHCS_FOLLOW_H
#define MHCS_FOLLOW_H

#include "shadow/engine.h"
#include "shadow/graph.h"
#include "shadow/memo.h"
#include "shadow/turns.h"

/* One mixing GEMM of a graph. */
struct mhcs_graph_site {
    struct mhcs_memo memo;   /* of the node behind the GEMM */
    CUgraphNode early, last; /* early NULL: none */
};

/* Made by the thread that instantiates, freed by the one that destroys; CUDA wants the calls for
 * one executable graph made one after another. What is atomic guards us against those that are
 * not. */
struct mhcs_exec {
    CUgraphExec handle;
    CUgraph graph;
    mhcs_graph_destroy *destroy; /* the application's; not NULL: it has destroyed the graph. Under
                                    the lock of follow.c */
    uint64_t engine;             /* key of the engine whose kernel the nodes run */
    uint32_t sites;
    struct mhcs_graph_site *site; /* [sites] */
    struct mhcs_turns turns;      /* of the thread that has set `busy` */

    atomic_uint_fast64_t launches; /* any thread adds; its value is the launch's number (relaxed) */
    atomic_uint_fast64_t next;     /* the first launch with a turn (relaxed) */
    atomic_int under_way;          /* launches between their halves, and */
    atomic_bool busy;              /* one of them has enabled nodes: seq_cst, see replay.c */
    atomic_bool clash;             /* another one came meanwhile */
};

/* Whether the driver has all calls that it takes. */
bool mhcs_follow_possible(const struct mhcs_driver *driver);

/* NULL: not followed. */
struct mhcs_exec *mhcs_follow_find(CUgraphExec handle);

/* For good: something about its nodes is not as it should be. */
void mhcs_follow_stop(struct mhcs_exec *exec);

/* In a forked child: the parent's graphs are not ours. */
void mhcs_follow_forget(void);

#endif
