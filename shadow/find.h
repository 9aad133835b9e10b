/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshot nodes in a graph: known by their kernel, wherever the graph comes from. */
#ifndef MHCS_FIND_H
#define MHCS_FIND_H

#include "shadow/follow.h"

struct mhcs_found {               /* zero-initialise */
    uint64_t engine;              /* key of the one whose kernel they run */
    struct mhcs_graph_site *site; /* [count], in the order of the graph */
    uint32_t count;
    /* Nodes to be kept disabled and nothing else: in child graphs, or without their other half. */
    CUgraphNode *other;
    uint32_t others, in_children;
};

void mhcs_find_nodes(struct mhcs_found *found, CUgraph graph);

/* Disables them all in `exec`. What can't be followed is counted and taken from found->site. */
void mhcs_find_disable(struct mhcs_found *found, CUgraphExec exec);

void mhcs_found_free(struct mhcs_found *found); /* what it holds, not itself */

#endif
