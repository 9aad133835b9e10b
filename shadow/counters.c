/* SPDX-License-Identifier: Apache-2.0 */
/* Process-wide counters, kept per thread and added up by whoever reads.
 *
 * A GEMM that is none of ours costs about a nanosecond; a locked addition to a counter that all
 * threads share would cost ten times that. So each thread owns a tally that it alone writes. The
 * tallies are memory of ours that outlives their threads: nothing is lost when a thread ends,
 * nobody has to be told of it, and a reader never meets memory that is gone. A tally whose thread
 * has died goes to the next thread that needs one, its counts with it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shadow/counters.h"
#include "shadow/reason.h"

/* More threads than this at one time share the last tally, with locked additions. */
#define TALLIES 1024

static struct mhcs_tally tallies[TALLIES + 1];
static atomic_uint given; /* tallies given out; any thread adds, and may overshoot TALLIES */

_Thread_local __attribute__((tls_model("initial-exec"))) struct mhcs_tally *mhcs_own_tally;

/* Found no tally of its own; spares it the search at each call. */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool crowded;

static atomic_uint_fast64_t reasons[MHCS_REASONS_COUNT]; /* any thread adds (relaxed) */

const struct mhcs_reason_info mhcs_reason_info[MHCS_REASONS_COUNT] = {
#define INFO(name, counter, key, level, text) [MHCS_REASON_##name] = {counter, key, level, text},
    MHCS_REASONS(INFO)
#undef INFO
};

const char *const mhcs_counter_key[MHCS_COUNTERS] = {
#define KEY(name, key, what) [MHCS_##name] = key,
    MHCS_COUNTER_LIST(KEY)
#undef KEY
};

/* The owner of a tally may have ended long ago. A number that the kernel has given to another
 * thread since only keeps the tally from being found. */
static bool is_dead(int thread)
{
    return syscall(SYS_tgkill, getpid(), thread, 0) < 0 && errno == ESRCH;
}

static struct mhcs_tally *inherit(int self)
{
    for (unsigned i = 0; i < TALLIES; i++) {
        struct mhcs_tally *const tally = &tallies[((unsigned)self + i) % TALLIES];
        int owner = atomic_load_explicit(&tally->owner, memory_order_relaxed);

        if (owner != 0 && is_dead(owner) &&
            atomic_compare_exchange_strong(&tally->owner, &owner, self)) {
            return tally;
        }
    }
    return NULL;
}

/* At the first hooked call of a thread. Keeps errno. */
static bool claim(void)
{
    static atomic_bool registered;
    const int self = (int)syscall(SYS_gettid), saved_errno = errno;
    const unsigned number = atomic_load_explicit(&given, memory_order_relaxed) < TALLIES
                                ? atomic_fetch_add(&given, 1)
                                : TALLIES;
    struct mhcs_tally *tally;

    if (!atomic_exchange(&registered, true)) {
        pthread_atfork(NULL, NULL, mhcs_counters_reset);
    }
    if (number < TALLIES) {
        tally = &tallies[number];
        atomic_store(&tally->owner, self);
    } else {
        tally = inherit(self);
    }
    errno = saved_errno;
    crowded = !tally;
    mhcs_own_tally = tally;
    return tally != NULL;
}

void mhcs_count_slowly(enum mhcs_counter which, uint64_t n)
{
    if (!crowded && claim()) {
        mhcs_count_many(which, n);
    } else {
        atomic_fetch_add_explicit(&tallies[TALLIES].counts[which], n, memory_order_relaxed);
    }
}

static unsigned tallies_in_use(void)
{
    const unsigned number = atomic_load_explicit(&given, memory_order_relaxed);

    return number < TALLIES ? number : TALLIES;
}

uint64_t mhcs_counter_value(enum mhcs_counter which)
{
    const unsigned used = tallies_in_use();
    uint64_t sum = atomic_load_explicit(&tallies[TALLIES].counts[which], memory_order_relaxed);

    for (unsigned i = 0; i < used; i++) {
        sum += atomic_load_explicit(&tallies[i].counts[which], memory_order_relaxed);
    }
    return sum;
}

void mhcs_turn_away_many(enum mhcs_reason reason, uint64_t n)
{
    atomic_fetch_add_explicit(&reasons[reason], n, memory_order_relaxed);
    mhcs_count_many(mhcs_reason_info[reason].counter, n);
}

void mhcs_turn_away_replays(enum mhcs_reason reason, uint64_t n)
{
    const bool dropped = mhcs_reason_info[reason].counter == MHCS_DROPPED;

    atomic_fetch_add_explicit(&reasons[reason], n, memory_order_relaxed);
    mhcs_count_many(dropped ? MHCS_REPLAY_DROPPED : MHCS_REPLAY_FAILED, n);
}

void mhcs_sample_lost(enum mhcs_reason reason, bool replay)
{
    /* One less: the sum is taken mod 2^64. */
    mhcs_count_many(replay ? MHCS_REPLAY_SAMPLED : MHCS_SAMPLED, UINT64_MAX);
    if (replay) {
        mhcs_turn_away_replays(reason, 1);
    } else {
        mhcs_turn_away(reason);
    }
}

uint64_t mhcs_reason_value(enum mhcs_reason reason)
{
    return atomic_load_explicit(&reasons[reason], memory_order_relaxed);
}

static void clear(struct mhcs_tally *tally)
{
    for (int which = 0; which < MHCS_COUNTERS; which++) {
        atomic_store_explicit(&tally->counts[which], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&tally->owner, 0, memory_order_relaxed);
}

/* Only the forking thread lives on in the child. It has another number there, so it claims anew. */
void mhcs_counters_reset(void)
{
    for (unsigned i = 0; i < tallies_in_use(); i++) {
        clear(&tallies[i]);
    }
    clear(&tallies[TALLIES]);
    for (int i = 0; i < MHCS_REASONS_COUNT; i++) {
        atomic_store_explicit(&reasons[i], 0, memory_order_relaxed);
    }
    atomic_store(&given, 0);
    mhcs_own_tally = NULL;
    crowded = false;
}
