/* SPDX-License-Identifier: Apache-2.0 */
/* What was seen and what became of it. */
#ifndef MHCS_COUNTERS_H
#define MHCS_COUNTERS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Cumulative, relaxed, process-wide; zero in a forked child. They count GEMMs: a batched call of a
 * mixing GEMM's shape counts as many as it has entries, any other call one.
 * seen = not of the shape + matched;
 * matched = skipped by the sampling rate + sampled + dropped + captured + failed. */
enum mhcs_counter {
    MHCS_SEEN,     /* made through hooked functions */
    MHCS_MATCHED,  /* of a mixing GEMM's shape */
    MHCS_SAMPLED,  /* recorded, or in flight */
    MHCS_DROPPED,  /* due, but no slot was free or the budget was spent */
    MHCS_CAPTURED, /* due, but the stream was being captured into a graph */
    MHCS_FAILED,   /* due, but something did not work; the log names it once */
    MHCS_COUNTERS,
};

/* One thread's share. Its owner alone writes, by plain additions; anyone reads (relaxed). */
struct mhcs_tally {
    alignas(64) atomic_uint_fast64_t counts[MHCS_COUNTERS]; /* a cache line to itself */
    atomic_int owner;                                       /* thread number; 0: not given out */
};

/* NULL until the thread's first count, and for ever if too many threads came before. Initial-exec:
 * the general model calls __tls_get_addr, which may allocate. thunks.S of interpose/ counts here
 * too. */
extern _Thread_local __attribute__((tls_model("initial-exec"))) struct mhcs_tally *mhcs_own_tally;

/* What mhcs_count_many() does without a tally. */
void mhcs_count_slowly(enum mhcs_counter which, uint64_t n);

/* Any thread. */
static inline void mhcs_count_many(enum mhcs_counter which, uint64_t n)
{
    struct mhcs_tally *const own = mhcs_own_tally;

    if (__builtin_expect(own != NULL, 1)) {
        const uint64_t now = atomic_load_explicit(&own->counts[which], memory_order_relaxed);

        atomic_store_explicit(&own->counts[which], now + n, memory_order_relaxed);
    } else {
        mhcs_count_slowly(which, n);
    }
}

static inline void mhcs_count(enum mhcs_counter which)
{
    mhcs_count_many(which, 1);
}

uint64_t mhcs_counter_value(enum mhcs_counter which);

#endif
