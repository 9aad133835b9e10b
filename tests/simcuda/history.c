/* SPDX-License-Identifier: Apache-2.0 */
/* Histories of words: interned sets of operations and the steps between them; see history.h. */
#include "history.h"

#include <stdlib.h>
#include <string.h>

#include "must.h"

#define FIRST_SWEEP 65536u /* histories before the first sweep; then twice the survivors */

struct history {
    uint32_t count;
    bool marked;
    struct history_entry entries[]; /* at most one per actor and access */
};

/* A step that the current operation has made; `generation` tells it from those of earlier ones. */
struct step {
    uint32_t generation, from, to;
    enum sim_access access;
};

struct histories {
    struct history **at; /* by number; NULL: free */
    uint32_t count, room, sweep_at;
    uint32_t *spare; /* numbers to reuse */
    uint32_t spare_count;
    struct step *steps; /* open addressing, a power of two */
    uint32_t step_mask, step_count, generation;
    char **names; /* of operations, kept for messages */
    size_t name_count;
    const char *name; /* of the current operation */
};

struct histories *histories_new(void)
{
    struct histories *h = must(calloc(1, sizeof(*h)));
    h->count = 1; /* number 0: no access */
    h->room = 64;
    h->at = must(calloc(h->room, sizeof(struct history *)));
    h->sweep_at = FIRST_SWEEP;
    h->step_mask = 255;
    h->steps = must(calloc(h->step_mask + 1, sizeof(*h->steps)));
    return h;
}

void histories_free(struct histories *h)
{
    if (h == NULL)
        return;
    for (uint32_t i = 0; i < h->count; i++)
        free(h->at[i]);
    for (size_t i = 0; i < h->name_count; i++)
        free(h->names[i]);
    free(h->names);
    free(h->at);
    free(h->spare);
    free(h->steps);
    free(h);
}

static const char *keep_name(struct histories *h, const char *what)
{
    for (size_t i = 0; i < h->name_count; i++) {
        if (strcmp(h->names[i], what) == 0)
            return h->names[i];
    }
    h->names = must(realloc(h->names, (h->name_count + 1) * sizeof(char *)));
    return h->names[h->name_count++] = must(strdup(what));
}

void histories_begin(struct histories *h, const struct sim_op *op)
{
    h->name = keep_name(h, op->what);
    h->generation++;
    h->step_count = 0;
}

static struct step *find_step(struct histories *h, uint32_t from, enum sim_access access)
{
    uint32_t i = (from * 3 + (uint32_t)access) * 0x9e3779b1u;
    for (i ^= i >> 15;; i++) {
        struct step *s = &h->steps[i & h->step_mask];
        if (s->generation != h->generation || (s->from == from && s->access == access))
            return s;
    }
}

static void grow_steps(struct histories *h)
{
    struct step *old = h->steps;
    const uint32_t old_mask = h->step_mask;
    h->step_mask = old_mask * 2 + 1;
    h->steps = must(calloc((size_t)h->step_mask + 1, sizeof(*h->steps)));
    for (uint32_t i = 0; i <= old_mask; i++) {
        if (old[i].generation == h->generation)
            *find_step(h, old[i].from, old[i].access) = old[i];
    }
    free(old);
}

static uint32_t add(struct histories *h, struct history *item)
{
    if (h->spare_count > 0) {
        const uint32_t number = h->spare[--h->spare_count];
        h->at[number] = item;
        return number;
    }
    if (h->count == h->room) {
        if (h->room >> (SIM_HISTORY_BITS - 1))
            abort(); /* 2^27 histories alive at once */
        h->room *= 2;
        h->at = must(realloc(h->at, h->room * sizeof(struct history *)));
    }
    h->at[h->count] = item;
    return h->count++;
}

static bool ordered(const struct history_entry *past, const struct sim_op *op)
{
    return past->id == op->id || op->clock[past->actor] >= past->tick;
}

static bool compatible(enum sim_access a, enum sim_access b)
{
    return a == b && a != SIM_WRITE;
}

/* A write is ordered after all else, so it alone remains. Another access joins its class and
 * replaces what is ordered before it there: whatever must come after those must come after it. */
static uint32_t extended(struct histories *h, const struct sim_op *op, const struct history *from,
                         enum sim_access access)
{
    const uint32_t count = from == NULL ? 0 : from->count;
    struct history *item = must(malloc(sizeof(*item) + (count + 1) * sizeof(struct history_entry)));
    *item = (struct history){.count = 0};
    for (uint32_t i = 0; i < count && access != SIM_WRITE; i++) {
        if (from->entries[i].access != access || !ordered(&from->entries[i], op))
            item->entries[item->count++] = from->entries[i];
    }
    item->entries[item->count++] = (struct history_entry){
        .actor = op->actor, .tick = op->tick, .id = op->id, .access = access, .what = h->name};
    return add(h, item);
}

/* Does `from` already say all that this access would add? */
static bool covers(const struct history *from, const struct sim_op *op, enum sim_access access)
{
    if (from == NULL)
        return false;
    for (uint32_t i = 0; i < from->count; i++) {
        const struct history_entry *e = &from->entries[i];
        if (e->id == op->id && e->access == access)
            return access != SIM_WRITE || from->count == 1;
    }
    return false;
}

uint32_t histories_step(struct histories *h, const struct sim_op *op, uint32_t from,
                        enum sim_access access, const struct history_entry **ret_conflict)
{
    *ret_conflict = NULL;
    struct step *s = find_step(h, from, access);
    if (s->generation == h->generation)
        return s->to;
    const struct history *history = h->at[from];
    for (uint32_t i = 0; history != NULL && i < history->count; i++) {
        const struct history_entry *e = &history->entries[i];
        if (!compatible(e->access, access) && !ordered(e, op)) {
            *ret_conflict = e;
            return from;
        }
    }
    const uint32_t to = covers(history, op, access) ? from : extended(h, op, history, access);
    if (2 * ++h->step_count > h->step_mask) {
        grow_steps(h);
        s = find_step(h, from, access);
    }
    *s = (struct step){.generation = h->generation, .from = from, .to = to, .access = access};
    return to;
}

bool histories_crowded(const struct histories *h)
{
    return h->count - h->spare_count > h->sweep_at;
}

void histories_mark(struct histories *h, uint32_t number)
{
    if (number != 0)
        h->at[number]->marked = true;
}

void histories_sweep(struct histories *h)
{
    h->spare = must(realloc(h->spare, h->count * sizeof(*h->spare)));
    h->spare_count = 0;
    for (uint32_t i = 1; i < h->count; i++) {
        if (h->at[i] != NULL && h->at[i]->marked) {
            h->at[i]->marked = false;
            continue;
        }
        free(h->at[i]);
        h->at[i] = NULL;
        h->spare[h->spare_count++] = i;
    }
    const uint32_t alive = h->count - h->spare_count;
    h->sweep_at = alive * 2 > FIRST_SWEEP ? alive * 2 : FIRST_SWEEP;
}
