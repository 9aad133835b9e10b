/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of a hooked call, around the real function. Any thread; errno is kept. */
#ifndef MHCS_GATE_H
#define MHCS_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/call.h"
#include "interpose/library.h"
#include "shadow/graph.h"
#include "shadow/shadow.h"

/* Entries of one batched call that are sampled at most, and that may be due at all. */
#define MHCS_ENTRIES_SAMPLED 8
#define MHCS_ENTRIES_MAX     1024

/* The call that a thread is in.
 *
 * `frame` is where the stack stood when it came: whoever calls from within stands below. A call
 * from the same height or above finds one that never came back, since a callback of the application
 * threw an exception or jumped: no code of ours runs then (it would need libgcc's unwinder, and
 * that library must not come in through us). What such a call had taken is given back at the
 * thread's next call; a thread that makes none keeps it until the context ends. */
struct mhcs_pass {
    uintptr_t frame; /* 0: none is under way */
    uint32_t taken;
    int32_t order; /* of the fn of a single GEMM, once drawn */
    bool drawn;    /* a single GEMM is due; else a capture is under way, perhaps of its stream */
    bool counted;  /* as one GEMM, and no more than that yet */
    struct mhcs_sample samples[MHCS_ENTRIES_SAMPLED];
};

/* Its thread's alone. Initial-exec: the general model calls __tls_get_addr, which may allocate. */
extern _Thread_local __attribute__((tls_model("initial-exec"))) struct mhcs_pass mhcs_own_pass;

/* Gives back what an abandoned call had taken. */
void mhcs_gate_forget(void);

/* The first half, with the frame of the hooked function. Counts the call; true: mhcs_gate_leave()
 * must follow it. False: the call comes from within one that is under way, and is a part of it. */
static inline bool mhcs_gate_enter(uintptr_t frame)
{
    struct mhcs_pass *const own = &mhcs_own_pass;

    if (__builtin_expect(own->frame != 0, 0)) {
        if (frame < own->frame) {
            return false;
        }
        mhcs_gate_forget();
    }
    own->frame = frame;
    own->counted = true;
    mhcs_count(MHCS_SEEN);
    return true;
}

/* Then one of these, for calls that mhcs_filter_candidate() lets through. They read the environment
 * at the first call of all, count what matches, and sample what is due. `library` may be NULL. */
void mhcs_gate_batch(struct mhcs_library *library, const struct mhcs_call *call);
void mhcs_gate_groups(struct mhcs_library *library, const struct mhcs_groups *groups);
void mhcs_gate_lt(struct mhcs_library *library, const struct mhcs_lt *lt);

/* A single GEMM does it in two steps, since it is seldom due: a and b are its operands. */
bool mhcs_gate_draw(int64_t m, int64_t n, int64_t k, const void *a, const void *b);
void mhcs_gate_take(struct mhcs_library *library, const struct mhcs_call *call);

/* Set (relaxed: it orders nothing) when the process has made a mixing GEMM and graphs are to be
 * followed: before that a capture is none of our business. */
extern atomic_bool mhcs_graphs_wanted;

static inline bool mhcs_gate_wants_graphs(void)
{
    return __builtin_expect(atomic_load_explicit(&mhcs_graphs_wanted, memory_order_relaxed), 0);
}

/* Hands over what was taken. */
void mhcs_gate_hand_over(cublasStatus_t status);

/* The second half. */
static inline void mhcs_gate_leave(cublasStatus_t status)
{
    if (__builtin_expect(mhcs_own_pass.taken != 0, 0)) {
        mhcs_gate_hand_over(status);
    }
    mhcs_own_pass.frame = 0;
}

#endif
