/* SPDX-License-Identifier: Apache-2.0 */
/* From a call that may be a mixing GEMM to the shadow: match, draw, describe, hand over. */
#include "interpose/gate.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "interpose/bypass.h"
#include "interpose/env.h"
#include "interpose/filter.h"
#include "interpose/groups.h"
#include "interpose/lt.h"
#include "interpose/sample.h"
#include "shadow/reason.h"
#include "shadow/shadow.h"

_Thread_local __attribute__((tls_model("initial-exec"))) struct mhcs_pass mhcs_own_pass;

atomic_bool mhcs_graphs_wanted;

/* Written once by configure(), constant once `configured` is seen set (acquire). */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool configured;
static struct mhcs_settings settings;
static struct mhcs_sampler sampler;
static bool tf32_allowed;

static void configure(void)
{
    mhcs_env_read(environ, &settings);
    tf32_allowed = mhcs_env_tf32_allowed(environ);
    mhcs_sampler_init(&sampler, settings.sample, mhcs_sampler_seed());
    mhcs_shadow_configure(&settings, mhcs_bypass_look_around);
    atomic_store_explicit(&configured, true, memory_order_release);
}

/* Counts GEMMs of a mixing GEMM's shape. */
static void count_matched(uint64_t n)
{
    mhcs_count_many(MHCS_MATCHED, n);
    if (!mhcs_gate_wants_graphs() && settings.graphs && settings.sample > 0) {
        atomic_store_explicit(&mhcs_graphs_wanted, true, memory_order_relaxed);
    }
}

static bool is_enabled(void)
{
    if (!atomic_load_explicit(&configured, memory_order_acquire)) {
        const int saved_errno = errno;

        pthread_once(&once, configure);
        errno = saved_errno;
    }
    return settings.enabled;
}

/* The whole of `gemm` but its weight_order. False: declined, for a reason that is counted and
 * named. `lt`: what `call` was begun from, or NULL. */
static bool describe(struct mhcs_library *library, const struct mhcs_call *call,
                     const struct mhcs_lt *lt, enum mhcs_side side, int64_t entry,
                     struct mhcs_gemm *gemm)
{
    struct mhcs_handle_state state;
    struct mhcs_call read;

    if (lt) {
        const enum mhcs_reason reason = mhcs_lt_read(library, lt, &read, &state);

        if (reason != MHCS_REASONS_COUNT) {
            mhcs_decline(reason);
            return false;
        }
        call = &read;
    }
    if (!mhcs_filter_fold(call, side, entry, gemm)) {
        mhcs_decline(MHCS_REASON_ARGUMENTS);
        return false;
    }
    /* The handle's state first: asked for the version of no handle, cuBLAS answers SUCCESS and
     * nothing else, and the version is kept. */
    gemm->cublas = library && (lt || mhcs_library_handle_state(library, call->handle, &state))
                       ? mhcs_library_cublas(library, call->handle)
                       : NULL;
    if (!gemm->cublas) {
        mhcs_decline(MHCS_REASON_HANDLE);
        return false;
    }
    gemm->stream = state.stream;
    gemm->scalars_on_device = state.scalars_on_device;
    gemm->compute = mhcs_filter_compute(call->compute, call->a_type, state.math_mode, tf32_allowed);
    gemm->reduced_precision_reduction =
        mhcs_filter_reduced_reduction(call->compute, state.math_mode);
    return true;
}

/* One entry that is due. */
static void take(struct mhcs_library *library, const struct mhcs_call *call,
                 const struct mhcs_lt *lt, enum mhcs_side side, int64_t entry, int32_t order)
{
    const int saved_errno = errno;
    struct mhcs_gemm gemm;

    if (mhcs_own_pass.taken == MHCS_ENTRIES_SAMPLED) {
        mhcs_decline(MHCS_REASON_ENTRIES);
    } else if (describe(library, call, lt, side, entry, &gemm)) {
        gemm.weight_order = order;
        mhcs_own_pass.taken +=
            mhcs_shadow_before(&mhcs_own_pass.samples[mhcs_own_pass.taken], &gemm);
    }
    errno = saved_errno;
}

/* An entry while a capture is under way. False: its own stream is not captured. */
static bool take_captured(struct mhcs_library *library, const struct mhcs_call *call,
                          const struct mhcs_lt *lt, enum mhcs_side side, int64_t entry)
{
    const int saved_errno = errno;
    bool captured = true;
    struct mhcs_gemm gemm;

    if (mhcs_own_pass.taken == MHCS_ENTRIES_SAMPLED) {
        mhcs_decline(MHCS_REASON_ENTRIES);
    } else if (describe(library, call, lt, side, entry, &gemm)) {
        enum mhcs_capture capture;

        gemm.weight_order = mhcs_sampler_order(&sampler, mhcs_filter_weights(call, side, entry));
        capture = mhcs_shadow_capture(&mhcs_own_pass.samples[mhcs_own_pass.taken], &gemm);
        mhcs_own_pass.taken += capture == MHCS_CAPTURE_TAKEN;
        captured = capture != MHCS_CAPTURE_NONE;
    }
    errno = saved_errno;
    return captured;
}

/* A captured entry is always taken: which of its replays are sampled is decided at each of them. */
static void take_captured_or_due(struct mhcs_library *library, const struct mhcs_call *call,
                                 const struct mhcs_lt *lt, enum mhcs_side side, int64_t entry)
{
    int32_t order;

    if (mhcs_capture_under_way() && take_captured(library, call, lt, side, entry)) {
        return;
    }
    if (mhcs_sampler_draw(&sampler, mhcs_filter_weights(call, side, entry), &order)) {
        take(library, call, lt, side, entry, order);
    }
}

void mhcs_gate_forget(void)
{
    for (uint32_t i = 0; i < mhcs_own_pass.taken; i++) {
        mhcs_shadow_forget(&mhcs_own_pass.samples[i]);
    }
    mhcs_own_pass.taken = 0;
}

bool mhcs_gate_draw(int64_t m, int64_t n, int64_t k, const void *a, const void *b)
{
    enum mhcs_side side;

    if (!is_enabled()) {
        return false;
    }
    side = mhcs_filter_match(&settings, m, n, k);
    if (side == MHCS_SIDE_NONE) {
        return false;
    }
    count_matched(1);
    mhcs_own_pass.drawn = !mhcs_capture_under_way();
    return !mhcs_own_pass.drawn ||
           mhcs_sampler_draw(&sampler, side == MHCS_SIDE_A ? a : b, &mhcs_own_pass.order);
}

void mhcs_gate_take(struct mhcs_library *library, const struct mhcs_call *call)
{
    const enum mhcs_side side = mhcs_filter_match(&settings, call->m, call->n, call->k);

    if (mhcs_own_pass.drawn) {
        take(library, call, NULL, side, 0, mhcs_own_pass.order);
    } else {
        take_captured_or_due(library, call, NULL, side, 0);
    }
}

static void offer(struct mhcs_library *library, const struct mhcs_call *call,
                  const struct mhcs_lt *lt)
{
    enum mhcs_side side;

    if (call->count < 1 || !is_enabled()) {
        return;
    }
    side = mhcs_filter_match(&settings, call->m, call->n, call->k);
    if (side == MHCS_SIDE_NONE) {
        return;
    }
    count_matched((uint64_t)call->count);
    mhcs_count_many(MHCS_SEEN, (uint64_t)call->count - mhcs_own_pass.counted);
    mhcs_own_pass.counted = false;
    if (call->count > MHCS_ENTRIES_MAX) {
        mhcs_decline_many(MHCS_REASON_BATCH, (uint64_t)call->count);
        return;
    }
    for (int64_t entry = 0; entry < call->count; entry++) {
        take_captured_or_due(library, call, lt, side, entry);
    }
}

void mhcs_gate_batch(struct mhcs_library *library, const struct mhcs_call *call)
{
    offer(library, call, NULL);
}

void mhcs_gate_groups(struct mhcs_library *library, const struct mhcs_groups *groups)
{
    struct mhcs_groups_walk walk = {0};
    struct mhcs_call call;

    while (mhcs_groups_next(groups, &walk, &call)) {
        offer(library, &call, NULL);
    }
}

void mhcs_gate_lt(struct mhcs_library *library, const struct mhcs_lt *lt)
{
    const int saved_errno = errno; /* of cublasLt's getters */
    struct mhcs_call call;

    if (library && mhcs_lt_begin(library, lt, &call)) {
        offer(library, &call, lt);
    }
    errno = saved_errno;
}

void mhcs_gate_hand_over(cublasStatus_t status)
{
    const int saved_errno = errno;

    for (uint32_t i = 0; i < mhcs_own_pass.taken; i++) {
        mhcs_shadow_after(&mhcs_own_pass.samples[i], status == CUBLAS_STATUS_SUCCESS);
    }
    mhcs_own_pass.taken = 0;
    errno = saved_errno;
}
