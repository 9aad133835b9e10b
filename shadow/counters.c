/* SPDX-License-Identifier: Apache-2.0 */
/* Process-wide counters. Any thread adds, the drain thread and the tests read; relaxed, since a
 * reader wants totals and orders nothing by them. */
#include "shadow/counters.h"

#include <stdalign.h>
#include <stdatomic.h>

#include "shadow/shadow.h"

/* A cache line each: MHCS_SEEN moves with every hooked call of every thread, the others seldom. */
struct counter {
    alignas(64) atomic_uint_fast64_t value;
};
static struct counter counters[MHCS_COUNTERS];

void mhcs_count(enum mhcs_counter which)
{
    atomic_fetch_add_explicit(&counters[which].value, 1, memory_order_relaxed);
}

uint64_t mhcs_counter_value(enum mhcs_counter which)
{
    return atomic_load_explicit(&counters[which].value, memory_order_relaxed);
}

void mhcs_counters_reset(void)
{
    for (int i = 0; i < MHCS_COUNTERS; i++) {
        atomic_store_explicit(&counters[i].value, 0, memory_order_relaxed);
    }
}
