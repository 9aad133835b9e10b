/* SPDX-License-Identifier: Apache-2.0 */
/* Happens-before inside one launch; see race.h for the rules. */
#include "race.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "must.h"

/* A summary packs block + 1 (24 bits), epoch (24) and thread (16). Blocks are taken modulo 2^24 -
 * 2: two that coincide could only hide a race, never invent one. */
#define BLOCK_SHIFT  40
#define EPOCH_SHIFT  16
#define EPOCH_MASK   0xffffffu
#define THREAD_MASK  0xffffu
#define MANY_BLOCKS  (0xffffffull << BLOCK_SHIFT)
#define MANY_LANES   0x8000u /* | warp: several threads of that warp */
#define MANY_WARPS   0xffffu
#define WARP_SHIFT   5
#define BLOCK_MODULO 0xfffffeu

static uint32_t epoch_of(uint64_t summary)
{
    return (uint32_t)(summary >> EPOCH_SHIFT) & EPOCH_MASK;
}

static uint32_t thread_of(uint64_t summary)
{
    return (uint32_t)summary & THREAD_MASK;
}

static uint32_t warp_of(uint32_t thread)
{
    return thread & MANY_LANES ? thread & ~MANY_LANES : thread >> WARP_SHIFT;
}

static uint64_t key_of(const struct sim_where *where)
{
    return (uint64_t)(where->block % BLOCK_MODULO + 1) << BLOCK_SHIFT |
           (uint64_t)(where->epoch & EPOCH_MASK) << EPOCH_SHIFT | where->thread;
}

/* Is `past` by another thread and not ordered before the access `key`? */
static bool clashes(uint64_t past, uint64_t key, uint32_t barrier)
{
    if (past == 0 || past == key)
        return false;
    if (past >> BLOCK_SHIFT != key >> BLOCK_SHIFT)
        return true;
    if (epoch_of(past) < barrier || thread_of(past) == thread_of(key))
        return false;
    return warp_of(thread_of(past)) != warp_of(thread_of(key)) || epoch_of(past) >= epoch_of(key);
}

/* The summary of `past` and one more access of the same kind. */
static uint64_t joined(uint64_t past, uint64_t key, uint32_t barrier)
{
    if (past == 0 || past == key)
        return key;
    if (past >> BLOCK_SHIFT != key >> BLOCK_SHIFT)
        return MANY_BLOCKS;
    if (epoch_of(past) < barrier || thread_of(past) == thread_of(key))
        return key;
    const uint64_t newest = past > key ? past : key; /* same block: the later epoch is greater */
    if (warp_of(thread_of(past)) != warp_of(thread_of(key)))
        return newest | MANY_WARPS;
    if (epoch_of(past) < epoch_of(key))
        return key;
    return (newest & ~(uint64_t)THREAD_MASK) | MANY_LANES | warp_of(thread_of(key));
}

/* The usual case, that nobody has written here and no other thread of this block has read. */
static inline bool touch_read_only(struct race_area *area, struct race_cell *cell, uint64_t key)
{
    if ((cell->write | cell->atomic) != 0)
        return false;
    if (cell->read == 0) {
        cell->read = key;
    } else if (cell->read >> BLOCK_SHIFT != key >> BLOCK_SHIFT) {
        area->settled += cell->read != MANY_BLOCKS;
        cell->read = MANY_BLOCKS;
    } else {
        return cell->read == key;
    }
    return true;
}

static bool touch(struct race_cell *cell, uint64_t key, uint32_t barrier, enum sim_access access)
{
    bool race = clashes(cell->write, key, barrier);
    switch (access) {
    case SIM_READ:
        race |= clashes(cell->atomic, key, barrier);
        cell->read = joined(cell->read, key, barrier);
        break;
    case SIM_ATOMIC:
        race |= clashes(cell->read, key, barrier);
        cell->atomic = joined(cell->atomic, key, barrier);
        break;
    case SIM_WRITE:
        race |= clashes(cell->read, key, barrier) || clashes(cell->atomic, key, barrier);
        if (!race)
            *cell = (struct race_cell){.write = key};
        break;
    }
    return race;
}

int64_t race_access(struct race_area *area, size_t first, const struct sim_where *where,
                    uint32_t lanes, uint32_t per_lane, enum sim_access access)
{
    struct race_cell *cells = &area->cells[first];
    uint64_t key = key_of(where);
    /* Only a write or an atomic could change a settled cell, and either is a race there. */
    if (access == SIM_READ && area->settled == area->bytes >> area->shift)
        return -1;
    for (uint32_t lane = 0, i = 0; lane < lanes; lane++, key++) {
        for (uint32_t end = i + per_lane; i < end; i++) {
            if (access == SIM_READ && touch_read_only(area, &cells[i], key))
                continue;
            if (touch(&cells[i], key, where->barrier, access))
                return i;
        }
    }
    return -1;
}

static void resize(struct race_area *area, unsigned shift)
{
    const size_t cells = ((size_t)area->bytes >> shift) + 1;
    if (area->room < cells) {
        area->cells = must(realloc(area->cells, cells * sizeof(struct race_cell)));
        area->room = cells;
    }
    area->shift = shift;
}

void race_area_reset(struct race_area *area, uint32_t bytes, unsigned shift)
{
    area->bytes = bytes;
    area->settled = 0;
    resize(area, shift);
    memset(area->cells, 0, (((size_t)bytes >> shift) + 1) * sizeof(struct race_cell));
}

void race_area_refine(struct race_area *area, unsigned shift)
{
    if (area->shift <= shift)
        return;
    const unsigned up = area->shift - shift;
    resize(area, shift);
    for (size_t i = ((size_t)area->bytes >> shift) + 1; i-- > 0;)
        area->cells[i] = area->cells[i >> up];
    area->settled <<= up;
}

void race_area_free(struct race_area *area)
{
    free(area->cells);
    area->cells = NULL;
}

void race_describe(const struct race_cell *cell, const struct sim_where *where, uint32_t lane,
                   enum sim_access access, char *text, size_t text_size)
{
    const struct {
        uint64_t summary;
        enum sim_access kind;
        const char *name;
    } classes[] = {{cell->write, SIM_WRITE, "write"},
                   {cell->atomic, SIM_ATOMIC, "atomic"},
                   {cell->read, SIM_READ, "read"}};
    const uint64_t key = key_of(where) + lane;
    for (size_t i = 0; i < 3; i++) {
        const uint64_t past = classes[i].summary;
        if ((classes[i].kind == access && access != SIM_WRITE) ||
            !clashes(past, key, where->barrier))
            continue;
        const uint32_t block = (uint32_t)(past >> BLOCK_SHIFT) - 1, thread = thread_of(past);
        if (past >> BLOCK_SHIFT == MANY_BLOCKS >> BLOCK_SHIFT)
            snprintf(text, text_size, "%ss by several blocks", classes[i].name);
        else if (thread == MANY_WARPS)
            snprintf(text, text_size, "%ss by several warps of block %u", classes[i].name, block);
        else if (thread & MANY_LANES)
            snprintf(text, text_size, "%ss by several lanes of warp %u of block %u",
                     classes[i].name, warp_of(thread), block);
        else
            snprintf(text, text_size, "the %s by thread %u of block %u", classes[i].name, thread,
                     block);
        return;
    }
    snprintf(text, text_size, "another access");
}
