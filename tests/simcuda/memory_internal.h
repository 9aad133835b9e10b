/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations and their shadow, shared by memory.c (what exists) and memory_access.c (what may be
 * done with it).
 */
#ifndef SIM_MEMORY_INTERNAL_H
#define SIM_MEMORY_INTERNAL_H

#include "history.h"
#include "memory.h"
#include "race.h"

/* The page is valid while `op` is the running operation. */
struct race_slot {
    uint32_t op;
    struct race_area *page;
};

struct allocation {
    uint64_t base, bytes;
    enum sim_memory_space space;
    bool live;    /* else quarantined: only there to name a stale pointer */
    bool adopted; /* the memory belongs to the application */
    uint32_t *words;
    struct race_slot *races; /* per page; NULL until a kernel comes */
};

struct sim_memory {
    uint64_t total, used;
    uint64_t client, span, cursor; /* addresses as the client sees them, PROT_NONE */
    char *host;                    /* the same memory, for the simulator */
    struct allocation **at;        /* by address, live and quarantined */
    size_t count, room;
    size_t freed[2]; /* of `at`, per space */
    struct allocation *recent;
    uint32_t op; /* the running operation */
    struct histories *histories;
    struct race_area **pages; /* all, the first pages_used of them by the running operation */
    size_t page_count, pages_used;
};

/* Index in m->at of the first allocation above `address`. */
size_t sim_memory_above(const struct sim_memory *m, uint64_t address);

/* The allocation that holds `address`, live or quarantined, or NULL. */
struct allocation *sim_memory_holding(const struct sim_memory *m, uint64_t address);

#endif
