/* SPDX-License-Identifier: Apache-2.0 */
/* Races inside one launch: who touched a cell of memory last, and was it ordered before us?
 *
 * Two accesses of different threads are ordered if a block barrier lies between them, or, within a
 * warp, a bar.warp.sync (__syncwarp). Shuffles and votes do not order memory (PTX ISA), and blocks
 * of a launch are never ordered with one another: hand-overs through atomics and fences are outside
 * this model. Atomics do not race with atomics.
 *
 * A cell keeps three summaries (last plain write; reads and atomics since), each exact for these
 * rules: a thread, or several threads of one warp, or of one block, or several blocks, with the
 * latest epoch. Used for global memory (pages of cells) and for shared memory.
 */
#ifndef SIM_RACE_H
#define SIM_RACE_H

#include "memory.h"

struct race_cell {
    uint64_t write, read, atomic; /* 0: none; else block, epoch and thread packed in race.c */
};

/* Cells of a piece of memory, in units of 4, 2 or 1 bytes: the finest that was needed so far. */
struct race_area {
    struct race_cell *cells;
    size_t room;
    uint32_t bytes;
    unsigned shift;   /* log2 of the unit */
    uint32_t settled; /* cells that several blocks have read and nobody has written */
};

/* Forgets all accesses and starts with units of 2^shift. */
void race_area_reset(struct race_area *area, uint32_t bytes, unsigned shift);
/* Makes the unit at most 2^shift. */
void race_area_refine(struct race_area *area, unsigned shift);
void race_area_free(struct race_area *area);

/* log2 of the unit for an access of `size` bytes. */
static inline unsigned race_shift(uint64_t size)
{
    return size == 1 ? 0 : size == 2 ? 1 : 2;
}

/* One instruction's access: lane i covers cells [i*per_lane, (i+1)*per_lane) from cell `first` on.
 * Returns the index, counted from there, of the first cell that races, or -1. */
int64_t race_access(struct race_area *area, size_t first, const struct sim_where *where,
                    uint32_t lanes, uint32_t per_lane, enum sim_access access);

/* Describes whom the access to `cell` by where->thread + lane clashed with, for a message. */
void race_describe(const struct race_cell *cell, const struct sim_where *where, uint32_t lane,
                   enum sim_access access, char *text, size_t text_size);

#endif
