/* SPDX-License-Identifier: Apache-2.0 */
/* Hash table from a 64-bit key (a handle, an address) to a pointer. Keys 0 and ~0 are not allowed.
 * Not thread-safe: callers hold the engine's lock.
 */
#ifndef SIM_TABLE_H
#define SIM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_table {
    struct sim_table_slot {
        uint64_t key;
        void *value;
    } * slots;
    size_t capacity; /* a power of two, or 0 */
    size_t used;     /* live keys and tombstones */
    size_t live;
};

/* False if out of memory; a key that is there already gets the new value. */
bool sim_table_put(struct sim_table *t, uint64_t key, void *value);
void *sim_table_get(const struct sim_table *t, uint64_t key);
/* Returns the value removed, or NULL. Does not move other slots, so a walk may remove as it goes.
 */
void *sim_table_remove(struct sim_table *t, uint64_t key);
/* Walks all values: start with *cursor = 0; NULL at the end. */
void *sim_table_next(const struct sim_table *t, size_t *cursor);

#endif
