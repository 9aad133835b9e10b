/* SPDX-License-Identifier: Apache-2.0 */
/* Which GEMMs of a graph are sampled at which of its launches.
 *
 * A launch runs all GEMMs of the graph, and few of them can be sampled at a time. So they take
 * turns: in random order, a few a turn, each once in a round, then in another order. Turns are
 * spread over the launches so that a GEMM of a launch is sampled with probability p; the launch of
 * each turn is drawn at random from an equal stretch, so that no pattern of the launches can
 * follow it. Every GEMM is sampled within two rounds, 2/p launches where p allows that few a turn
 * suffice.
 */
#ifndef MHCS_TURNS_H
#define MHCS_TURNS_H

#include <stdint.h>

struct mhcs_turns {
    uint32_t sites, group; /* GEMMs, and how many take a turn together */
    double stretch;        /* launches a turn */
    uint64_t seed;
    uint64_t turn;    /* the next one */
    uint64_t round;   /* shuffles so far */
    uint32_t backlog; /* GEMMs that are due and were not yet taken */
    uint32_t cursor;  /* place in `order` of the next one */
    uint32_t *order;  /* [sites], the caller's memory */
};

#define MHCS_TURNS_NEVER UINT64_MAX

/* p in 0..1; `group` at most. Returns the number, from 0, of the first launch with a turn. */
uint64_t mhcs_turns_init(struct mhcs_turns *turns, uint32_t sites, uint32_t group, double p,
                         uint64_t seed, uint32_t *order);

/* How many are due at this launch, in turns->order from turns->cursor on; never more than a group,
 * all different. *ret_dropped: more are due than can take their turn; they are let off. */
uint32_t mhcs_turns_due(struct mhcs_turns *turns, uint64_t launch, uint32_t *ret_dropped);

/* Of those due, `taken` had their turn; the others are let off, and come first next time. Returns
 * the number of the next launch with a turn. */
uint64_t mhcs_turns_taken(struct mhcs_turns *turns, uint64_t launch, uint32_t due, uint32_t taken);

#endif
