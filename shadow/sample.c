/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of a sampled call, on the application's thread: take a slot, snapshot, hand over.
 *
 * Nothing here waits, allocates, locks, logs or queries an event, except that the first due call of
 * a context arms its engine. Driver calls made here: cuCtxGetCurrent, cuCtxGetId,
 * cuStreamIsCapturing, cuPointerGetAttributes, cuLaunchKernel (or copies), cuEventRecord.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "kernels/dtype.h"
#include "shadow/budget.h"
#include "shadow/capture.h"
#include "shadow/clock.h"
#include "shadow/drain.h"
#include "shadow/driver.h"
#include "shadow/engine.h"
#include "shadow/process.h"
#include "shadow/reason.h"
#include "shadow/sample.h"
#include "shadow/snapshot.h"

struct mhcs_budget mhcs_hook_budget;

static atomic_int_fast64_t calls; /* numbers the sampled calls of the process; relaxed */

/* Always legal, also while capturing. On the legacy stream, while another stream captures, it
 * answers with an error that leaves the capture valid; our launch would not. */
static enum mhcs_reason check_capture(const struct mhcs_driver *driver, CUstream stream)
{
    CUstreamCaptureStatus status;
    const CUresult result = driver->cuStreamIsCapturing(stream, &status);

    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
        (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE)) {
        return mhcs_process_settings()->graphs ? MHCS_REASON_CAPTURE_UNSEEN : MHCS_REASON_CAPTURED;
    }
    return result == CUDA_SUCCESS ? MHCS_REASON_NONE : MHCS_REASON_STREAM;
}

enum mhcs_reason mhcs_sample_context(const struct mhcs_gemm *gemm,
                                     const struct mhcs_driver **ret_driver, CUcontext *ret_context)
{
    const struct mhcs_driver *driver;
    CUdevice device = -1;
    int error;

    if (mhcs_process_off() != MHCS_REASON_NONE) {
        return mhcs_process_off();
    }
    error = mhcs_driver(&driver);
    if (error) {
        return error == -EAGAIN ? MHCS_REASON_ARMING : MHCS_REASON_NO_DRIVER;
    }
    if (driver->cuCtxGetCurrent(ret_context) != CUDA_SUCCESS || !*ret_context) {
        return MHCS_REASON_NO_CONTEXT;
    }
    if (mhcs_process_device() < 0) {
        driver->cuCtxGetDevice(&device);
    }
    mhcs_process_note(gemm ? gemm->cublas : NULL, device);
    *ret_driver = driver;
    return MHCS_REASON_NONE;
}

static enum mhcs_reason arm(const struct mhcs_driver *driver, CUcontext context, uint64_t key,
                            struct mhcs_engine **ret_engine)
{
    const int error = mhcs_engine_claim(key, ret_engine);

    if (error) {
        return error == -EAGAIN ? MHCS_REASON_ARMING : MHCS_REASON_TOO_MANY_CONTEXTS;
    }
    mhcs_engine_arm(*ret_engine, driver, context, mhcs_process_settings());
    mhcs_drain_start();
    return MHCS_REASON_NONE;
}

enum mhcs_reason mhcs_sample_engine(const struct mhcs_driver *driver, CUcontext context,
                                    bool *to_arm, struct mhcs_engine **ret_engine)
{
    const uint64_t key = mhcs_engine_key(driver, context);
    enum mhcs_reason reason;

    if (key == 0) {
        return MHCS_REASON_NO_CONTEXT;
    }
    *ret_engine = mhcs_engine_hold(key);
    if (*ret_engine) {
        *to_arm = false;
    } else {
        reason = *to_arm ? arm(driver, context, key, ret_engine) : MHCS_REASON_ARMING;
        if (reason != MHCS_REASON_NONE) {
            return reason;
        }
    }
    switch (mhcs_engine_state(*ret_engine)) {
    case MHCS_ENGINE_ARMED:
        return MHCS_REASON_NONE;
    case MHCS_ENGINE_ARMING:
        return MHCS_REASON_ARMING;
    default:
        return MHCS_REASON_DISARMED;
    }
}

enum mhcs_reason mhcs_sample_slot(struct mhcs_engine *engine, const struct mhcs_gemm *gemm,
                                  uint32_t parts_early, uint32_t *ret_slot)
{
    const uint32_t most = mhcs_process_settings()->rows;
    const uint32_t rows = gemm->tokens < most ? (uint32_t)gemm->tokens : most;
    struct mhcs_layout layout;
    int64_t number, now;
    int slot;

    mhcs_layout_set(&layout, gemm, rows);
    slot = mhcs_slot_acquire(&engine->pool, mhcs_engine_chunks(engine, layout.bytes));
    if (slot < 0) {
        return MHCS_REASON_NO_SLOT;
    }
    number = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    now = mhcs_clock(CLOCK_REALTIME);
    engine->slots[slot].call = (struct mhcs_slot_call){
        .gemm = *gemm,
        .layout = layout,
        .number = number,
        .time = now,
        .seed = mhcs_mix64((uint64_t)now + (uint64_t)number),
        .rows = rows,
        .chunks = mhcs_engine_chunks(engine, layout.bytes),
        .parts_early = parts_early,
    };
    *ret_slot = (uint32_t)slot;
    return MHCS_REASON_NONE;
}

/* The scalars, and the early snapshot. Behind that the slot is ready to be given back, should the
 * call never come to its second half. */
static CUresult begin_call(const struct mhcs_engine *engine, struct mhcs_slot *slot)
{
    struct mhcs_slot_call *call = &slot->call;
    const struct mhcs_gemm *gemm = &call->gemm;
    CUresult result = CUDA_SUCCESS;

    if (!gemm->scalars_on_device) {
        call->alpha = mhcs_element(gemm->alpha, gemm->scalar_dtype, 0);
        call->beta = mhcs_element(gemm->beta, gemm->scalar_dtype, 0);
    }
    if (call->parts_early) {
        result = mhcs_snapshot(engine, slot, call->parts_early);
    }
    if (call->parts_early && result == CUDA_SUCCESS) {
        result = engine->driver->cuEventRecord(slot->ready, gemm->stream);
    }
    return result;
}

/* In an engine that is armed, and held. */
static enum mhcs_reason take_slot(struct mhcs_sample *sample, struct mhcs_engine *engine,
                                  const struct mhcs_gemm *gemm)
{
    const uint32_t parts_early = mhcs_check_early_parts(gemm);
    enum mhcs_reason reason;
    CUresult result;
    uint32_t slot = 0;

    if ((reason = mhcs_check_operands(engine, gemm, parts_early)) != MHCS_REASON_NONE ||
        (reason = mhcs_sample_slot(engine, gemm, parts_early, &slot)) != MHCS_REASON_NONE) {
        return reason;
    }
    result = begin_call(engine, &engine->slots[slot]);
    if (result != CUDA_SUCCESS) {
        mhcs_engine_disarm(engine, "the snapshot before a GEMM", result); /* and the slot with it */
        return MHCS_REASON_LAUNCH;
    }
    *sample = (struct mhcs_sample){.engine = atomic_load(&engine->key), .slot = slot};
    return MHCS_REASON_NONE;
}

static enum mhcs_reason take(struct mhcs_sample *sample, const struct mhcs_gemm *gemm,
                             int64_t *begin)
{
    const struct mhcs_settings *settings = mhcs_process_settings();
    const struct mhcs_driver *driver;
    struct mhcs_engine *engine = NULL;
    enum mhcs_reason reason;
    CUcontext context;
    bool arm = true;

    if ((reason = mhcs_sample_context(gemm, &driver, &context)) != MHCS_REASON_NONE ||
        (reason = mhcs_check_gemm(gemm)) != MHCS_REASON_NONE ||
        (reason = check_capture(driver, gemm->stream)) != MHCS_REASON_NONE) {
        return reason;
    }
    reason = mhcs_sample_engine(driver, context, &arm, &engine);
    if (arm) {
        *begin = mhcs_clock(CLOCK_MONOTONIC); /* arming is not what the budget bounds */
    }
    if (reason == MHCS_REASON_NONE && settings->sample < 1 &&
        !mhcs_budget_allows(&mhcs_hook_budget, settings->budget, *begin)) {
        reason = MHCS_REASON_BUDGET;
    }
    if (reason == MHCS_REASON_NONE) {
        reason = take_slot(sample, engine, gemm);
    }
    if (engine) {
        mhcs_engine_let_go(engine);
    }
    return reason;
}

void mhcs_decline_many(enum mhcs_reason reason, uint64_t n)
{
    mhcs_turn_away_many(reason, n);
    mhcs_drain_start();
}

bool mhcs_shadow_before(struct mhcs_sample *sample, const struct mhcs_gemm *gemm)
{
    int64_t begin = mhcs_clock(CLOCK_MONOTONIC);
    int64_t end;
    enum mhcs_reason reason;

    sample->engine = 0;
    reason = take(sample, gemm, &begin);
    if (reason != MHCS_REASON_NONE) {
        mhcs_decline(reason);
        return false;
    }
    end = mhcs_clock(CLOCK_MONOTONIC);
    mhcs_budget_spend(&mhcs_hook_budget, mhcs_process_settings()->budget, end, end - begin);
    return true;
}

/* To the drain thread. */
static void post(struct mhcs_engine *engine, uint32_t slot)
{
    atomic_fetch_or(&engine->posted, UINT64_C(1) << slot);
    mhcs_drain_wake();
}

/* The early snapshot may still be writing to the slot: the drain thread waits for it. */
static void give_back(struct mhcs_engine *engine, uint32_t slot)
{
    struct mhcs_slot_call *const call = &engine->slots[slot].call;

    if (call->parts_early) {
        call->abandoned = true;
        post(engine, slot);
    } else {
        mhcs_slot_release(&engine->pool, slot, call->chunks);
    }
}

static enum mhcs_reason finish(struct mhcs_engine *engine, uint32_t i, bool launched)
{
    struct mhcs_slot *const slot = &engine->slots[i];
    CUresult result;

    if (!launched) {
        give_back(engine, i);
        return MHCS_REASON_GEMM;
    }
    result = mhcs_snapshot_last(engine, slot, MHCS_PART_FN | MHCS_PART_X | MHCS_PART_C);
    if (result != CUDA_SUCCESS) {
        mhcs_engine_disarm(engine, "the snapshot behind a GEMM", result);
        return MHCS_REASON_LAUNCH;
    }
    mhcs_count(MHCS_SAMPLED); /* before it can be lost */
    post(engine, i);
    return MHCS_REASON_NONE;
}

/* The engine of a sample, held, if it is still armed. */
static struct mhcs_engine *engine_of(const struct mhcs_sample *sample)
{
    struct mhcs_engine *const engine = mhcs_engine_hold(sample->engine);

    if (engine && mhcs_engine_state(engine) != MHCS_ENGINE_ARMED) {
        mhcs_engine_let_go(engine);
        return NULL;
    }
    return engine;
}

void mhcs_shadow_forget(struct mhcs_sample *sample)
{
    struct mhcs_engine *const engine = engine_of(sample);

    if (engine) {
        if (!sample->captured) {
            give_back(engine, sample->slot);
        }
        mhcs_engine_let_go(engine);
    }
    mhcs_turn_away(MHCS_REASON_UNWOUND);
}

void mhcs_shadow_after(struct mhcs_sample *sample, bool launched)
{
    const int64_t begin = mhcs_clock(CLOCK_MONOTONIC);
    enum mhcs_reason reason = MHCS_REASON_DISARMED;
    struct mhcs_engine *engine;
    int64_t end;

    if (sample->engine == 0) {
        return;
    }
    engine = engine_of(sample);
    if (engine) {
        reason = sample->captured ? mhcs_capture_after(engine, sample, launched)
                                  : finish(engine, sample->slot, launched);
        mhcs_engine_let_go(engine);
    }
    if (reason != MHCS_REASON_NONE) {
        mhcs_turn_away(reason);
    }
    if (sample->captured) {
        return; /* which happens once; the budget is for what goes on */
    }
    end = mhcs_clock(CLOCK_MONOTONIC);
    mhcs_budget_spend(&mhcs_hook_budget, mhcs_process_settings()->budget, end, end - begin);
}
