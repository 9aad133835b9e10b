/* SPDX-License-Identifier: Apache-2.0 */
/* Races between operations: which operations touched a word since its last write, by vector clocks.
 *
 * Words touched by the same operations share one history, so a word stores only its number (0: not
 * touched). A history holds the last writer, and the readers and the atomics since, each only as
 * far as it is not ordered before another of its class. An operation steps from history to history;
 * the steps it has already made are remembered, which makes the check of a large copy one
 * comparison per word.
 */
#ifndef SIM_HISTORY_H
#define SIM_HISTORY_H

#include "memory.h"

#define SIM_HISTORY_BITS 28 /* a word packs its history number with four flags */

struct histories;

/* An operation in a history; the sim_op itself may be gone by then. */
struct history_entry {
    uint32_t actor, tick, id;
    enum sim_access access;
    const char *what; /* lives as long as the histories */
};

struct histories *histories_new(void);
void histories_free(struct histories *h);

/* Starts the steps of another operation. */
void histories_begin(struct histories *h, const struct sim_op *op);

/* The history of a word that had `from`, after an access by the operation begun. If the access is
 * not ordered after one in `from`, *ret_conflict is that one, else NULL. */
uint32_t histories_step(struct histories *h, const struct sim_op *op, uint32_t from,
                        enum sim_access access, const struct history_entry **ret_conflict);

/* Mark and sweep, between operations: when histories_crowded(), mark the number of every word, then
 * sweep. Histories that no word has any more are reused. */
bool histories_crowded(const struct histories *h);
void histories_mark(struct histories *h, uint32_t number);
void histories_sweep(struct histories *h);

#endif
