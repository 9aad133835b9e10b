/* SPDX-License-Identifier: Apache-2.0 */
/* One engine's slots on their way from snapshot to record.
 *
 * They are polled by cuEventQuery: a host function that calls back may not call CUDA, can serialise
 * streams, and never comes after a context error.
 */
#include "shadow/serve.h"

#include <stdatomic.h>
#include <string.h>

#include "shadow/attribute.h"
#include "shadow/log.h"
#include "shadow/own_cublas.h"
#include "shadow/pipeline.h"

#define CHECK_ONE_IN 16

/* The engine whose context is current on this thread; 0: none of ours. */
static _Thread_local __attribute__((tls_model("initial-exec"))) uint64_t entered;

static bool want_check(struct mhcs_engine *engine, const struct mhcs_slot_call *call)
{
    const bool first = engine->drain.checks++ == 0;

    /* By hash: every 16th would meet the same sites for ever. */
    return first || mhcs_mix64((uint64_t)call->number) % CHECK_ONE_IN == 0;
}

/* Puts the pipeline of a posted slot on the spare stream; with a checkpoint its first half, the
 * second comes when the fingerprint tells whose weights they are. */
static CUresult launch(const struct mhcs_book *book, struct mhcs_engine *engine, uint32_t i)
{
    const struct mhcs_driver *driver = engine->driver;
    struct mhcs_slot *slot = &engine->slots[i];
    CUresult result;

    if (engine->mode != MHCS_MODE_KERNEL || slot->call.abandoned) {
        return CUDA_SUCCESS; /* only `ready` is waited for */
    }
    slot->call.own_cublas = mhcs_own_cublas_of(engine, slot->call.gemm.cublas);
    result = driver->cuStreamWaitEvent(engine->spare, slot->ready, 0);
    if (result == CUDA_SUCCESS) {
        result = mhcs_pipeline_reference(engine, slot);
    }
    if (result == CUDA_SUCCESS && !book->model) {
        slot->call.compared = true;
        result = mhcs_pipeline_compare(engine, slot, &mhcs_model_unknown);
    }
    if (result == CUDA_SUCCESS && engine->drain.staged < 0 && want_check(engine, &slot->call)) {
        result = mhcs_pipeline_stage(engine, slot);
        engine->drain.staged = (int)i;
    }
    return result == CUDA_SUCCESS ? driver->cuEventRecord(slot->done, engine->spare) : result;
}

static void take_posted(const struct mhcs_book *book, struct mhcs_engine *engine)
{
    uint64_t posted = atomic_exchange_explicit(&engine->posted, 0, memory_order_acquire);

    for (; posted != 0; posted &= posted - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(posted);
        const CUresult result = launch(book, engine, i);

        engine->drain.queue[engine->drain.queued++] = (uint8_t)i;
        if (result != CUDA_SUCCESS) {
            mhcs_engine_disarm(engine, "launching the reference", result);
        }
    }
}

static void release(struct mhcs_engine *engine, uint32_t i)
{
    if (engine->drain.staged == (int)i) {
        engine->drain.staged = -1;
    }
    if (engine->drain.uploading == (int)i) {
        engine->drain.uploading = -1;
    }
    mhcs_slot_release(&engine->pool, i, engine->slots[i].call.chunks);
}

static void lose_one(const struct mhcs_book *book, struct mhcs_engine *engine, uint32_t i)
{
    mhcs_sample_lost(book->broken ? MHCS_REASON_NO_TRACE : MHCS_REASON_LOST,
                     engine->slots[i].call.graph);
    release(engine, i);
}

static void note_trouble(struct mhcs_book *book, const struct mhcs_engine *engine,
                         struct mhcs_own_cublas *own)
{
    const char *why = own ? mhcs_own_cublas_trouble(own) : NULL;

    if (why) {
        mhcs_log(MHCS_LOG_WARN, "device %d: %s; %s", engine->device, why,
                 mhcs_mode_meaning(MHCS_MODE_KERNEL));
        mhcs_book_fallback(book, engine, MHCS_MODE_KERNEL, why);
    }
}

static void finish(struct mhcs_book *book, struct mhcs_engine *engine, uint32_t i)
{
    struct mhcs_slot *slot = &engine->slots[i];
    float checks[MHCS_ROWS_MAX];
    bool checked = false;
    int error = 0;

    if (slot->call.abandoned) {
        release(engine, i);
        return;
    }
    note_trouble(book, engine, slot->call.own_cublas);
    if (engine->mode != MHCS_MODE_KERNEL) {
        error = mhcs_attribute_host(book, engine, i);
    } else if (engine->drain.staged == (int)i) {
        checked = mhcs_pipeline_check(engine, slot, checks) == 0;
    }
    if (!error && !slot->call.site) {
        slot->call.site = mhcs_book_site(book, slot);
    }
    if (error || !slot->call.site) {
        lose_one(book, engine, i);
        return;
    }
    mhcs_book_sample(book, engine, slot, checked ? checks : NULL);
    release(engine, i);
}

/* A slot whose work on the device is through: launches its second half, or finishes it. False: it
 * is to be asked for again. */
static bool advance(struct mhcs_book *book, struct mhcs_engine *engine, uint32_t i)
{
    const struct mhcs_slot_call *call = &engine->slots[i].call;
    CUresult result;

    if (engine->mode != MHCS_MODE_KERNEL || call->abandoned || call->compared) {
        finish(book, engine, i);
        return true;
    }
    switch (mhcs_attribute(book, engine, i, &result)) {
    case MHCS_ATTRIBUTE_LOST:
        lose_one(book, engine, i);
        return true;
    case MHCS_ATTRIBUTE_FAILED:
        mhcs_engine_disarm(engine, "launching the reference", result);
        return false;
    default:
        return false;
    }
}

/* Looks at each slot in flight once, oldest work first: the spare stream works in that order. What
 * is not finished goes back to the end, behind which its second half was launched. True: something
 * was finished. */
static bool poll_queue(struct mhcs_book *book, struct mhcs_engine *engine)
{
    const struct mhcs_driver *driver = engine->driver;
    bool progress = false;

    for (uint32_t left = engine->drain.queued; left > 0; left--) {
        const uint8_t i = engine->drain.queue[0];
        const struct mhcs_slot *slot = &engine->slots[i];
        const bool behind_ready = engine->mode != MHCS_MODE_KERNEL || slot->call.abandoned;
        const CUresult result = driver->cuEventQuery(behind_ready ? slot->ready : slot->done);

        if (result == CUDA_ERROR_NOT_READY) {
            break;
        }
        if (result != CUDA_SUCCESS) {
            mhcs_engine_disarm(engine, "waiting for the reference", result);
            break;
        }
        memmove(engine->drain.queue, engine->drain.queue + 1, --engine->drain.queued);
        if (advance(book, engine, i)) {
            progress = true;
        } else {
            engine->drain.queue[engine->drain.queued++] = i;
        }
        if (mhcs_engine_state(engine) != MHCS_ENGINE_ARMED) {
            break;
        }
    }
    return progress;
}

uint32_t mhcs_serve_lose(struct mhcs_engine *engine, enum mhcs_reason why)
{
    uint64_t posted = atomic_exchange_explicit(&engine->posted, 0, memory_order_acquire);
    uint32_t lost = 0;

    for (; posted != 0; posted &= posted - 1) {
        engine->drain.queue[engine->drain.queued++] = (uint8_t)__builtin_ctzll(posted);
    }
    for (uint32_t n = 0; n < engine->drain.queued; n++) {
        const struct mhcs_slot_call *call = &engine->slots[engine->drain.queue[n]].call;

        if (!call->abandoned) {
            mhcs_sample_lost(why, call->graph);
            lost++;
        }
    }
    engine->drain.queued = 0;
    return lost;
}

/* A context that ends with nothing in flight is no trouble, and arming says itself why it failed.
 */
static void part(struct mhcs_book *book, struct mhcs_engine *engine)
{
    const uint32_t lost = mhcs_serve_lose(engine, MHCS_REASON_LOST);

    if (engine->drain.parted) {
        return;
    }
    engine->drain.parted = true;
    if (engine->drain.gone && lost == 0) {
        mhcs_log(MHCS_LOG_INFO, "device %d: a context has ended", engine->device);
        return;
    }
    if (engine->slots) {
        mhcs_log(MHCS_LOG_WARN, "device %d: %s failed with %s (%d); its context is not sampled",
                 engine->device, engine->disarm_what,
                 mhcs_driver_error(engine->driver, engine->disarm_result),
                 (int)engine->disarm_result);
    }
    mhcs_book_disarmed(book, engine);
}

/* Makes the engine's context current, and finds out whether it is still the one that was armed.
 *
 * The documentation leaves it undefined what becomes of a destroyed context's handle when it is
 * used again; but a context that is destroyed while it is current on another thread stays so and
 * answers with an error. So what is current already is not made so again: with one context in the
 * process its handle is used once, and with primary ones, whose handles last, there is no danger
 * either. */
static CUresult enter(struct mhcs_engine *engine)
{
    const uint64_t key = atomic_load(&engine->key);
    CUresult result = CUDA_SUCCESS;

    if (entered != key) {
        result = engine->driver->cuCtxSetCurrent(engine->context);
        entered = result == CUDA_SUCCESS ? key : 0;
    }
    /* A device reset keeps the address, and a new context may get that of a destroyed one. */
    if (result == CUDA_SUCCESS && mhcs_engine_key(engine->driver, engine->context) != key) {
        result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    if (result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_INVALID_CONTEXT) {
        engine->drain.gone = true;
        entered = 0;
    }
    return result;
}

static bool has_work(const struct mhcs_engine *engine)
{
    return engine->drain.queued > 0 ||
           atomic_load_explicit(&engine->posted, memory_order_relaxed) != 0;
}

bool mhcs_serve(struct mhcs_book *book, struct mhcs_engine *engine, bool look)
{
    const enum mhcs_engine_state state = mhcs_engine_state(engine);
    bool progress = false;

    if (state != MHCS_ENGINE_ARMED && state != MHCS_ENGINE_DISARMED) {
        return false; /* another thread is at it */
    }
    if (!engine->drain.greeted && state == MHCS_ENGINE_ARMED) {
        mhcs_book_armed(book, engine);
    }
    engine->drain.greeted = true;
    if (look || (state == MHCS_ENGINE_ARMED && has_work(engine))) {
        const CUresult result = enter(engine);

        if (result != CUDA_SUCCESS) {
            mhcs_engine_disarm(engine, "cuCtxSetCurrent", result);
        } else if (state == MHCS_ENGINE_ARMED) {
            take_posted(book, engine);
            progress = poll_queue(book, engine);
        }
    }
    if (mhcs_engine_state(engine) == MHCS_ENGINE_DISARMED) {
        part(book, engine);
        if (engine->drain.gone) {
            mhcs_engine_retire(engine);
        }
    }
    return progress;
}
