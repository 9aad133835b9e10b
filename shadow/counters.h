/* SPDX-License-Identifier: Apache-2.0 */
/* What was seen and what became of it. */
#ifndef MHCS_COUNTERS_H
#define MHCS_COUNTERS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Cumulative, relaxed, process-wide; zero in a forked child. X(NAME, key in the trace, what).
 *
 * The first block counts GEMMs: a batched call of a mixing GEMM's shape counts as many as it has
 * entries, any other call one.
 * seen = not of the shape + matched;
 * matched = skipped by the sampling rate + sampled + dropped + captured + in_graphs + failed.
 *
 * The second one counts what launches of CUDA graphs do without any call:
 * replayed = skipped by the sampling rate + replay_sampled + replay_dropped + replay_failed. */
#define MHCS_COUNTER_LIST(X)                                                                       \
    X(SEEN, "seen", "made through hooked functions")                                               \
    X(MATCHED, "matched", "of a mixing GEMM's shape")                                              \
    X(SAMPLED, "sampled", "recorded, or in flight")                                                \
    X(DROPPED, "dropped", "due, but no slot was free or the budget was spent")                     \
    X(CAPTURED, "captured", "captured into a graph without a node that could check its replays")   \
    X(IN_GRAPHS, "in_graphs", "captured into a graph with such a node")                            \
    X(FAILED, "failed", "due, but something did not work; the log names it once")                  \
    X(UNFOLLOWED, "unfollowed", "nodes of instantiated graphs that can't be enabled")              \
    X(REPLAYS, "replays", "launches of graphs that are followed")                                  \
    X(REPLAYED, "replayed", "mixing GEMMs that these ran")                                         \
    X(REPLAY_SAMPLED, "replay_sampled", "recorded, or in flight")                                  \
    X(REPLAY_DROPPED, "replay_dropped", "as dropped")                                              \
    X(REPLAY_FAILED, "replay_failed", "as failed")

enum mhcs_counter {
#define MHCS_COUNTER_ENUM(name, key, what) MHCS_##name,
    MHCS_COUNTER_LIST(MHCS_COUNTER_ENUM)
#undef MHCS_COUNTER_ENUM
        MHCS_COUNTERS,
};

/* As the trace's facts call them. */
extern const char *const mhcs_counter_key[MHCS_COUNTERS];

/* One thread's share. Its owner alone writes, by plain additions; anyone reads (relaxed). */
struct mhcs_tally {
    alignas(64) atomic_uint_fast64_t counts[MHCS_COUNTERS]; /* cache lines to themselves */
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
