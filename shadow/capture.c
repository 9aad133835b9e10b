/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a mixing GEMM while its stream is captured: it gets a node behind it, and where
 * the old C or scalars on the device count, one before it.
 *
 * Driver calls made while capturing: cuCtxGetCurrent, cuCtxGetId, cuStreamGetCaptureInfo,
 * cuPointerGetAttributes, and the launch that becomes the node. None is forbidden in any capture
 * mode, none allocates memory.
 */
#include "shadow/capture.h"

#include <stddef.h>

#include "kernels/dtype.h"
#include "shadow/check.h"
#include "shadow/drain.h"
#include "shadow/follow.h"
#include "shadow/memo.h"
#include "shadow/process.h"
#include "shadow/sample.h"

/* Captures that are begun and never ended (their stream is destroyed) stay in the table; the oldest
 * gives way then. */
#define CAPTURES_MAX 64

#define NODE_THREADS 32 /* that copy nothing */

atomic_int mhcs_captures;

/* The ids of those captures, 0: free. */
static atomic_uint_fast64_t captures[CAPTURES_MAX];

static atomic_uint_fast64_t pairs; /* numbers the captured GEMMs; relaxed */

uint64_t mhcs_capture_id(void *stream)
{
    CUstreamCaptureStatus status;
    const struct mhcs_driver *driver;
    cuuint64_t id = 0;

    if (mhcs_driver(&driver) || !driver->cuStreamGetCaptureInfo_v3 ||
        driver->cuStreamGetCaptureInfo_v3(stream, &status, &id, NULL, NULL, NULL, NULL) !=
            CUDA_SUCCESS ||
        status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        return 0;
    }
    return id;
}

static bool is_known(uint64_t id)
{
    for (int i = 0; i < CAPTURES_MAX; i++) {
        if (atomic_load_explicit(&captures[i], memory_order_relaxed) == id) {
            return true;
        }
    }
    return false;
}

/* A process whose mixing GEMMs come before its captures, as every warm-up makes them, is set up
 * before the first capture. */
void mhcs_capture_begins(void)
{
    const struct mhcs_driver *driver;
    struct mhcs_engine *engine = NULL;
    CUcontext context;
    bool arm = true;

    if (mhcs_sample_context(NULL, &driver, &context) == MHCS_REASON_NONE) {
        mhcs_sample_engine(driver, context, &arm, &engine);
    }
    if (engine) {
        mhcs_engine_let_go(engine);
    }
}

void mhcs_capture_began(void *stream)
{
    static atomic_uint oldest;
    const uint64_t id = mhcs_capture_id(stream);
    uint_fast64_t free = 0;

    if (id == 0) {
        return;
    }
    for (int i = 0; i < CAPTURES_MAX; i++) {
        free = 0;
        if (atomic_compare_exchange_strong(&captures[i], &free, id)) {
            atomic_fetch_add_explicit(&mhcs_captures, 1, memory_order_relaxed);
            return;
        }
    }
    atomic_store(&captures[atomic_fetch_add(&oldest, 1) % CAPTURES_MAX], id);
}

void mhcs_capture_ended(void *stream, uint64_t id)
{
    if (id == 0 || mhcs_capture_id(stream) == id) {
        return; /* not ended: the wrong thread, or the wrong stream */
    }
    for (int i = 0; i < CAPTURES_MAX; i++) {
        uint_fast64_t held = id;

        if (atomic_compare_exchange_strong(&captures[i], &held, 0)) {
            atomic_fetch_sub_explicit(&mhcs_captures, 1, memory_order_relaxed);
        }
    }
}

/* Why a GEMM of this stream can't have a node, MHCS_REASON_NONE: it can; *ret_captured false: there
 * is no question of it. The driver answers for the legacy stream, while another one captures, with
 * an error that leaves the capture valid. */
static enum mhcs_reason check_capture(const struct mhcs_driver *driver, CUstream stream,
                                      bool *ret_captured)
{
    CUstreamCaptureStatus status;
    CUresult result;
    uint64_t id;

    result = driver->cuStreamIsCapturing(stream, &status);
    *ret_captured = result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
                    (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE);
    if (!mhcs_follow_possible(driver)) {
        return MHCS_REASON_CAPTURE_DRIVER;
    }
    id = mhcs_capture_id(stream);
    return id != 0 && is_known(id) ? MHCS_REASON_NONE : MHCS_REASON_CAPTURE_UNSEEN;
}

/* A snapshot that copies nothing, on the capturing stream. */
static enum mhcs_reason insert(struct mhcs_engine *engine, const struct mhcs_sample *sample,
                               uint32_t parts)
{
    const struct mhcs_memo memo = {
        .gemm = sample->gemm,
        .alpha = sample->alpha,
        .beta = sample->beta,
        .parts = parts,
        .parts_early = sample->parts_early,
        .pair = sample->pair,
        .engine = sample->engine,
    };
    struct mhcs_snapshot_params params;
    void *arguments[] = {&params};
    CUresult result;

    mhcs_memo_write(&params, &memo);
    result = engine->driver->cuLaunchKernel(engine->snapshot, 1, 1, 1, NODE_THREADS, 1, 1, 0,
                                            sample->gemm.stream, arguments, NULL);
    if (result != CUDA_SUCCESS) {
        mhcs_engine_disarm(engine, "inserting a node into a CUDA graph", result);
        return MHCS_REASON_LAUNCH;
    }
    atomic_fetch_add_explicit(&mhcs_graph_nodes, 1, memory_order_relaxed);
    return MHCS_REASON_NONE;
}

/* In an engine that is held. */
static enum mhcs_reason begin(struct mhcs_engine *engine, struct mhcs_sample *sample,
                              const struct mhcs_gemm *gemm)
{
    enum mhcs_reason reason;

    if (engine->mode == MHCS_MODE_COPY) {
        return MHCS_REASON_CAPTURE_DRIVER;
    }
    *sample = (struct mhcs_sample){
        .engine = atomic_load(&engine->key),
        .captured = true,
        .parts_early = mhcs_check_early_parts(gemm),
        .pair = atomic_fetch_add_explicit(&pairs, 1, memory_order_relaxed) + 1,
        .gemm = *gemm,
    };
    if (!gemm->scalars_on_device) {
        sample->alpha = mhcs_element(gemm->alpha, gemm->scalar_dtype, 0);
        sample->beta = mhcs_element(gemm->beta, gemm->scalar_dtype, 0);
    }
    reason = mhcs_check_operands(engine, gemm, sample->parts_early);
    if (reason == MHCS_REASON_NONE && sample->parts_early) {
        reason = insert(engine, sample, sample->parts_early);
    }
    return reason;
}

static enum mhcs_reason take(struct mhcs_sample *sample, const struct mhcs_gemm *gemm,
                             bool *ret_captured)
{
    const struct mhcs_driver *driver;
    struct mhcs_engine *engine = NULL;
    enum mhcs_reason reason;
    CUcontext context;
    bool arm = false;

    *ret_captured = false;
    reason = mhcs_sample_context(gemm, &driver, &context);
    if (reason != MHCS_REASON_NONE) {
        return reason;
    }
    reason = check_capture(driver, gemm->stream, ret_captured);
    if (!*ret_captured || reason != MHCS_REASON_NONE ||
        (reason = mhcs_check_gemm(gemm)) != MHCS_REASON_NONE) {
        return reason;
    }
    reason = mhcs_sample_engine(driver, context, &arm, &engine);
    if (reason == MHCS_REASON_NONE) {
        reason = begin(engine, sample, gemm);
    } else if (reason == MHCS_REASON_ARMING) {
        reason = MHCS_REASON_CAPTURE_EARLY;
    }
    if (engine) {
        mhcs_engine_let_go(engine);
    }
    return reason;
}

enum mhcs_capture mhcs_shadow_capture(struct mhcs_sample *sample, const struct mhcs_gemm *gemm)
{
    enum mhcs_reason reason;
    bool captured;

    reason = take(sample, gemm, &captured);
    if (captured && reason == MHCS_REASON_NONE) {
        return MHCS_CAPTURE_TAKEN;
    }
    sample->engine = 0;
    if (captured) {
        mhcs_decline(reason);
    }
    return captured ? MHCS_CAPTURE_DECLINED : MHCS_CAPTURE_NONE;
}

/* Behind a GEMM that failed the early node stays alone, and copies nothing for ever. */
enum mhcs_reason mhcs_capture_after(struct mhcs_engine *engine, const struct mhcs_sample *sample,
                                    bool launched)
{
    enum mhcs_reason reason = MHCS_REASON_GEMM;

    if (launched) {
        reason = insert(engine, sample, MHCS_PART_FN | MHCS_PART_X | MHCS_PART_C);
    }
    if (reason == MHCS_REASON_NONE) {
        mhcs_count(MHCS_IN_GRAPHS);
    }
    return reason;
}

void mhcs_captures_forget(void)
{
    for (int i = 0; i < CAPTURES_MAX; i++) {
        atomic_store(&captures[i], 0);
    }
    atomic_store(&mhcs_captures, 0);
    atomic_store(&mhcs_graph_nodes, 0);
}
