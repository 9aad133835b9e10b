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
#include "shadow/clock.h"
#include "shadow/drain.h"
#include "shadow/driver.h"
#include "shadow/engine.h"
#include "shadow/process.h"
#include "shadow/reason.h"
#include "shadow/snapshot.h"

#define TAKEN MHCS_REASONS_COUNT

struct mhcs_budget mhcs_hook_budget;

static atomic_int_fast64_t calls; /* numbers the sampled calls of the process; relaxed */

static enum mhcs_reason check_gemm(const struct mhcs_gemm *gemm)
{
    if (!gemm->alpha || !gemm->beta || gemm->scalar_dtype > MHCS_F16 || gemm->fn.dtype > MHCS_F16 ||
        gemm->x.dtype > MHCS_F16 || gemm->c.dtype > MHCS_F16 ||
        gemm->old_c.dtype != gemm->c.dtype) {
        return MHCS_REASON_TYPES;
    }
    if (gemm->tokens < 1 || gemm->tokens > INT32_MAX || gemm->k % MHCS_STREAMS != 0 ||
        (gemm->coefficients != MHCS_COEFFICIENTS && gemm->coefficients != MHCS_COEFFICIENTS_HEAD)) {
        return MHCS_REASON_SHAPE;
    }
    return TAKEN;
}

/* Always legal, also while capturing. On the legacy stream, while another stream captures, it
 * answers with an error that leaves the capture valid; our launch would not. */
static enum mhcs_reason check_capture(const struct mhcs_driver *driver, CUstream stream)
{
    CUstreamCaptureStatus status;
    const CUresult result = driver->cuStreamIsCapturing(stream, &status);

    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
        (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE)) {
        return MHCS_REASON_CAPTURED;
    }
    return result == CUDA_SUCCESS ? TAKEN : MHCS_REASON_STREAM;
}

static enum mhcs_reason find_engine(const struct mhcs_driver *driver, CUcontext context,
                                    const struct mhcs_settings *settings,
                                    struct mhcs_engine **ret_engine, int64_t *begin)
{
    const uint64_t key = mhcs_engine_key(driver, context);
    bool claimed;

    if (key == 0) {
        return MHCS_REASON_NO_CONTEXT;
    }
    *ret_engine = mhcs_engine_find(key, &claimed);
    if (!*ret_engine) {
        return MHCS_REASON_TOO_MANY_CONTEXTS;
    }
    if (claimed) {
        mhcs_engine_arm(*ret_engine, driver, context, settings);
        mhcs_drain_start();
        *begin = mhcs_clock(CLOCK_MONOTONIC); /* arming is not what the budget bounds */
    }
    switch (mhcs_engine_state(*ret_engine)) {
    case MHCS_ENGINE_ARMED:
        return TAKEN;
    case MHCS_ENGINE_ARMING:
        return MHCS_REASON_ARMING;
    default:
        return MHCS_REASON_DISARMED;
    }
}

/* What the GEMM will overwrite or the application may change: the old C, and scalars on the
 * device. */
static uint32_t early_parts(const struct mhcs_gemm *gemm)
{
    if (gemm->scalars_on_device) {
        return MHCS_PART_SCALARS | MHCS_PART_OLD_C;
    }
    return mhcs_element(gemm->beta, gemm->scalar_dtype, 0) != 0 ? MHCS_PART_OLD_C : 0;
}

/* The snapshot kernel follows an operand's address that stands on the device; copies can't. */
static enum mhcs_reason check_operands(const struct mhcs_engine *engine,
                                       const struct mhcs_gemm *gemm, uint32_t parts_early)
{
    const bool with_old_c = parts_early & MHCS_PART_OLD_C;

    if (engine->mode == MHCS_MODE_COPY &&
        (gemm->fn.indirect || gemm->x.indirect || gemm->c.indirect || gemm->old_c.indirect)) {
        return MHCS_REASON_POINTERS;
    }
    return mhcs_snapshot_in_bounds(engine->driver, gemm, with_old_c) ? TAKEN : MHCS_REASON_OPERAND;
}

/* Fills the slot's call and takes its early snapshot. */
static CUresult begin_call(const struct mhcs_engine *engine, struct mhcs_slot *slot,
                           const struct mhcs_gemm *gemm, const struct mhcs_layout *layout,
                           uint32_t rows, uint32_t parts_early)
{
    const int64_t number = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    const int64_t now = mhcs_clock(CLOCK_REALTIME);
    struct mhcs_slot_call *call = &slot->call;

    *call = (struct mhcs_slot_call){
        .gemm = *gemm,
        .layout = *layout,
        .number = number,
        .time = now,
        .seed = mhcs_mix64((uint64_t)now + (uint64_t)number),
        .rows = rows,
        .chunks = mhcs_engine_chunks(engine, layout->bytes),
        .parts_early = parts_early,
    };
    if (!gemm->scalars_on_device) {
        call->alpha = mhcs_element(gemm->alpha, gemm->scalar_dtype, 0);
        call->beta = mhcs_element(gemm->beta, gemm->scalar_dtype, 0);
    }
    return parts_early ? mhcs_snapshot(engine, slot, parts_early) : CUDA_SUCCESS;
}

static enum mhcs_reason take(struct mhcs_sample *sample, const struct mhcs_gemm *gemm,
                             int64_t *begin)
{
    const struct mhcs_settings *settings = mhcs_process_settings();
    const struct mhcs_driver *driver;
    struct mhcs_engine *engine = NULL;
    struct mhcs_layout layout;
    enum mhcs_reason reason;
    CUcontext context;
    CUresult result;
    CUdevice device;
    uint32_t rows, parts_early;
    int error, slot;

    if (mhcs_process_off() != TAKEN) {
        return mhcs_process_off();
    }
    error = mhcs_driver(&driver);
    if (error) {
        return error == -EAGAIN ? MHCS_REASON_ARMING : MHCS_REASON_NO_DRIVER;
    }
    if (driver->cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context) {
        return MHCS_REASON_NO_CONTEXT;
    }
    if (mhcs_process_device() < 0 && driver->cuCtxGetDevice(&device) == CUDA_SUCCESS) {
        mhcs_process_note(gemm->cublas, device);
    }
    if ((reason = check_gemm(gemm)) != TAKEN ||
        (reason = check_capture(driver, gemm->stream)) != TAKEN ||
        (reason = find_engine(driver, context, settings, &engine, begin)) != TAKEN) {
        return reason;
    }
    if (settings->sample < 1 && !mhcs_budget_allows(&mhcs_hook_budget, settings->budget, *begin)) {
        return MHCS_REASON_BUDGET;
    }
    rows = gemm->tokens < settings->rows ? (uint32_t)gemm->tokens : settings->rows;
    mhcs_layout_set(&layout, gemm, rows);
    if (layout.bytes > engine->largest) {
        return MHCS_REASON_SHAPE;
    }
    parts_early = early_parts(gemm);
    reason = check_operands(engine, gemm, parts_early);
    if (reason != TAKEN) {
        return reason;
    }
    slot = mhcs_slot_acquire(&engine->pool, mhcs_engine_chunks(engine, layout.bytes));
    if (slot < 0) {
        return MHCS_REASON_NO_SLOT;
    }
    result = begin_call(engine, &engine->slots[slot], gemm, &layout, rows, parts_early);
    if (result != CUDA_SUCCESS) {
        mhcs_engine_disarm(engine, "the snapshot before a GEMM", result); /* and the slot with it */
        return MHCS_REASON_LAUNCH;
    }
    *sample = (struct mhcs_sample){engine, (uint32_t)slot};
    return TAKEN;
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

    sample->engine = NULL;
    reason = take(sample, gemm, &begin);
    if (reason != TAKEN) {
        mhcs_decline(reason);
        return false;
    }
    end = mhcs_clock(CLOCK_MONOTONIC);
    mhcs_budget_spend(&mhcs_hook_budget, mhcs_process_settings()->budget, end, end - begin);
    return true;
}

void mhcs_shadow_forget(struct mhcs_sample *sample)
{
    struct mhcs_engine *const engine = sample->engine;

    if (engine && mhcs_engine_state(engine) == MHCS_ENGINE_ARMED) {
        const struct mhcs_slot_call *const call = &engine->slots[sample->slot].call;

        if (!call->parts_early) {
            mhcs_slot_release(&engine->pool, sample->slot, call->chunks);
        }
    }
    mhcs_turn_away(MHCS_REASON_UNWOUND);
}

void mhcs_shadow_after(struct mhcs_sample *sample, bool launched)
{
    const int64_t begin = mhcs_clock(CLOCK_MONOTONIC);
    struct mhcs_engine *const engine = sample->engine;
    struct mhcs_slot *slot;
    CUresult result;
    int64_t end;

    if (!engine) {
        return;
    }
    if (mhcs_engine_state(engine) != MHCS_ENGINE_ARMED) {
        mhcs_turn_away(MHCS_REASON_DISARMED);
        return;
    }
    slot = &engine->slots[sample->slot];
    if (!launched && !slot->call.parts_early) {
        mhcs_slot_release(&engine->pool, sample->slot, slot->call.chunks);
        mhcs_turn_away(MHCS_REASON_GEMM);
        return;
    }
    /* Behind a GEMM that failed the early snapshot may still write to the slot: the drain thread
     * waits for it before the slot is free again. */
    slot->call.abandoned = !launched;
    result =
        mhcs_snapshot_last(engine, slot, launched ? MHCS_PART_FN | MHCS_PART_X | MHCS_PART_C : 0);
    if (result != CUDA_SUCCESS) {
        mhcs_engine_disarm(engine, "the snapshot behind a GEMM", result);
        mhcs_turn_away(MHCS_REASON_LAUNCH);
        return;
    }
    if (launched) {
        mhcs_count(MHCS_SAMPLED);
    } else {
        mhcs_turn_away(MHCS_REASON_GEMM);
    }
    atomic_fetch_or(&engine->posted, UINT64_C(1) << sample->slot);
    mhcs_drain_wake();
    end = mhcs_clock(CLOCK_MONOTONIC);
    mhcs_budget_spend(&mhcs_hook_budget, mhcs_process_settings()->budget, end, end - begin);
}
