/* SPDX-License-Identifier: Apache-2.0 */
/* Process-wide counters and reasons. Any thread adds, the drain thread and the tests read; relaxed,
 * since a reader wants totals and orders nothing by them. */
#include <stdalign.h>
#include <stdatomic.h>

#include "shadow/reason.h"
#include "shadow/shadow.h"

/* A cache line each: MHCS_SEEN moves with every hooked call of every thread, the others seldom. */
struct counter {
    alignas(64) atomic_uint_fast64_t value;
};
static struct counter counters[MHCS_COUNTERS];
static atomic_uint_fast64_t reasons[MHCS_REASONS_COUNT];

const struct mhcs_reason_info mhcs_reason_info[MHCS_REASONS_COUNT] = {
#define INFO(name, counter, key, level, text) [MHCS_REASON_##name] = {counter, key, level, text},
    MHCS_REASONS(INFO)
#undef INFO
};

void mhcs_count(enum mhcs_counter which)
{
    atomic_fetch_add_explicit(&counters[which].value, 1, memory_order_relaxed);
}

uint64_t mhcs_counter_value(enum mhcs_counter which)
{
    return atomic_load_explicit(&counters[which].value, memory_order_relaxed);
}

void mhcs_turn_away(enum mhcs_reason reason)
{
    atomic_fetch_add_explicit(&reasons[reason], 1, memory_order_relaxed);
    mhcs_count(mhcs_reason_info[reason].counter);
}

void mhcs_sample_lost(enum mhcs_reason reason)
{
    atomic_fetch_sub_explicit(&counters[MHCS_SAMPLED].value, 1, memory_order_relaxed);
    mhcs_turn_away(reason);
}

uint64_t mhcs_reason_value(enum mhcs_reason reason)
{
    return atomic_load_explicit(&reasons[reason], memory_order_relaxed);
}

void mhcs_counters_reset(void)
{
    for (int i = 0; i < MHCS_COUNTERS; i++) {
        atomic_store_explicit(&counters[i].value, 0, memory_order_relaxed);
    }
    for (int i = 0; i < MHCS_REASONS_COUNT; i++) {
        atomic_store_explicit(&reasons[i], 0, memory_order_relaxed);
    }
}
