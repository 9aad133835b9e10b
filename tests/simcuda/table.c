/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing; removed keys leave a tombstone until the next growth. */
#include "table.h"

#include <stdlib.h>

#define EMPTY     0
#define TOMBSTONE UINT64_MAX

static size_t slot_of(const struct sim_table *t, uint64_t key)
{
    /* Handles and device addresses are aligned: multiply so that their high bits count. */
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (t->capacity - 1);
}

static struct sim_table_slot *find(const struct sim_table *t, uint64_t key)
{
    if (t->capacity == 0 || key == EMPTY || key == TOMBSTONE)
        return NULL;
    for (size_t i = slot_of(t, key);; i = (i + 1) & (t->capacity - 1)) {
        if (t->slots[i].key == key)
            return &t->slots[i];
        if (t->slots[i].key == EMPTY)
            return NULL;
    }
}

static void place(struct sim_table *t, uint64_t key, void *value)
{
    size_t i = slot_of(t, key);

    while (t->slots[i].key != EMPTY)
        i = (i + 1) & (t->capacity - 1);
    t->slots[i] = (struct sim_table_slot){.key = key, .value = value};
    t->used++;
    t->live++;
}

static bool grow(struct sim_table *t)
{
    struct sim_table bigger = {.capacity = 64};

    while (bigger.capacity < 4 * (t->live + 1))
        bigger.capacity *= 2;
    bigger.slots = calloc(bigger.capacity, sizeof(bigger.slots[0]));
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < t->capacity; i++)
        if (t->slots[i].key != EMPTY && t->slots[i].key != TOMBSTONE)
            place(&bigger, t->slots[i].key, t->slots[i].value);
    free(t->slots);
    *t = bigger;
    return true;
}

bool sim_table_put(struct sim_table *t, uint64_t key, void *value)
{
    struct sim_table_slot *slot = find(t, key);

    if (slot) {
        slot->value = value;
        return true;
    }
    if (2 * (t->used + 1) > t->capacity && !grow(t))
        return false;
    place(t, key, value);
    return true;
}

void *sim_table_get(const struct sim_table *t, uint64_t key)
{
    const struct sim_table_slot *slot = find(t, key);

    return slot ? slot->value : NULL;
}

void *sim_table_remove(struct sim_table *t, uint64_t key)
{
    struct sim_table_slot *slot = find(t, key);
    void *value;

    if (!slot)
        return NULL;
    value = slot->value;
    *slot = (struct sim_table_slot){.key = TOMBSTONE};
    t->live--;
    return value;
}

void *sim_table_next(const struct sim_table *t, size_t *cursor)
{
    while (*cursor < t->capacity) {
        const struct sim_table_slot *slot = &t->slots[(*cursor)++];

        if (slot->key != EMPTY && slot->key != TOMBSTONE)
            return slot->value;
    }
    return NULL;
}
