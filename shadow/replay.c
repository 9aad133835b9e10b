/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of a graph's launch, on the application's thread. Most launches are counted and
 * nothing more. In one with a turn, a few nodes are pointed to slots and enabled; behind it, events
 * are recorded and the nodes disabled again: what is done to an executable graph holds for later
 * launches alone.
 *
 * Driver calls made here, in launches with a turn: cuCtxGetCurrent, cuCtxGetId,
 * cuStreamIsCapturing; for each GEMM cuGraphExecKernelNodeSetParams, cuGraphNodeSetEnabled twice,
 * cuEventRecord.
 *
 * CUDA wants the launches of one executable graph made one after another. Should two threads make
 * them at once all the same, the other one's launch could run our nodes again, into a slot that is
 * somebody else's by then. So each launch is `under_way` before it looks whether one with a turn is
 * `busy`, and that one looks for others under way once it is busy (both seq_cst): one of the two
 * sees the other. A launch that comes meanwhile says `clash`, the slots are then left alone for
 * good, and the graph is not sampled any more.
 */
#include <errno.h>
#include <stddef.h>

#include "shadow/budget.h"
#include "shadow/clock.h"
#include "shadow/drain.h"
#include "shadow/follow.h"
#include "shadow/process.h"
#include "shadow/sample.h"
#include "shadow/snapshot.h"

/* Behind a GEMM. */
#define PARTS_LAST (MHCS_PART_FN | MHCS_PART_X | MHCS_PART_C)

/* Points a node to a slot, and enables it. */
static CUresult set_node(const struct mhcs_engine *engine, const struct mhcs_exec *exec,
                         CUgraphNode node, const struct mhcs_slot *slot, uint32_t parts)
{
    const struct mhcs_driver *driver = engine->driver;
    struct mhcs_snapshot_params snapshot;
    void *arguments[] = {&snapshot};
    const CUDA_KERNEL_NODE_PARAMS params = {
        .func = engine->snapshot,
        .gridDimX = mhcs_snapshot_params(engine, slot, parts, &snapshot),
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = MHCS_SNAPSHOT_THREADS,
        .blockDimY = 1,
        .blockDimZ = 1,
        .kernelParams = arguments,
    };
    CUresult result;

    result = driver->cuGraphExecKernelNodeSetParams_v2(exec->handle, node, &params);
    return result == CUDA_SUCCESS ? driver->cuGraphNodeSetEnabled(exec->handle, node, 1) : result;
}

static CUresult enable(const struct mhcs_engine *engine, const struct mhcs_exec *exec,
                       const struct mhcs_graph_site *site, const struct mhcs_slot *slot)
{
    CUresult result = CUDA_SUCCESS;

    if (MHCS_TEST_LATE_SNAPSHOT) {
        return result;
    }
    if (site->early) {
        result = set_node(engine, exec, site->early, slot, site->memo.parts_early);
    }
    return result == CUDA_SUCCESS ? set_node(engine, exec, site->last, slot, PARTS_LAST) : result;
}

static bool disable(const struct mhcs_exec *exec, const struct mhcs_graph_site *site)
{
    const struct mhcs_driver *driver;
    bool early = true;

    if (mhcs_driver(&driver)) {
        return false;
    }
    if (site->early) {
        early = driver->cuGraphNodeSetEnabled(exec->handle, site->early, 0) == CUDA_SUCCESS;
    }
    return driver->cuGraphNodeSetEnabled(exec->handle, site->last, 0) == CUDA_SUCCESS && early;
}

static void release(struct mhcs_engine *engine, uint32_t slot)
{
    mhcs_slot_release(&engine->pool, slot, engine->slots[slot].call.chunks);
}

static enum mhcs_reason take_site(struct mhcs_replay *replay, struct mhcs_engine *engine,
                                  uint32_t number)
{
    struct mhcs_exec *const exec = replay->exec;
    const struct mhcs_graph_site *site = &exec->site[number];
    const struct mhcs_memo *memo = &site->memo;
    struct mhcs_slot_call *call;
    enum mhcs_reason reason;
    uint32_t slot;

    reason = mhcs_sample_slot(engine, &memo->gemm, memo->parts_early, &slot);
    if (reason != MHCS_REASON_NONE) {
        return reason;
    }
    call = &engine->slots[slot].call;
    call->gemm.stream = replay->stream;
    call->graph = true;
    call->alpha = memo->alpha;
    call->beta = memo->beta;
    if (enable(engine, exec, site, &engine->slots[slot]) != CUDA_SUCCESS) {
        mhcs_follow_stop(exec);
        if (disable(exec, site)) { /* else later launches write to it */
            release(engine, slot);
        }
        return MHCS_REASON_REPLAY;
    }
    replay->taken[replay->count].slot = slot;
    replay->taken[replay->count++].site = number;
    return MHCS_REASON_NONE;
}

/* Why nothing can be sampled at all just now; *ret_engine, unless NULL, is held. */
static enum mhcs_reason check(const struct mhcs_replay *replay, int64_t now,
                              struct mhcs_engine **ret_engine)
{
    const struct mhcs_settings *settings = mhcs_process_settings();
    const struct mhcs_driver *driver;
    CUstreamCaptureStatus status;
    enum mhcs_reason reason;
    CUcontext context;
    bool arm = false;

    reason = mhcs_sample_context(NULL, &driver, &context);
    if (reason == MHCS_REASON_NONE) {
        reason = mhcs_sample_engine(driver, context, &arm, ret_engine);
    }
    if (reason != MHCS_REASON_NONE) {
        return reason;
    }
    if (atomic_load(&(*ret_engine)->key) != replay->exec->engine) {
        return MHCS_REASON_NO_CONTEXT;
    }
    if (driver->cuStreamIsCapturing(replay->stream, &status) != CUDA_SUCCESS ||
        status != CU_STREAM_CAPTURE_STATUS_NONE) {
        return MHCS_REASON_STREAM; /* the launch becomes a child graph */
    }
    return settings->sample < 1 && !mhcs_budget_allows(&mhcs_hook_budget, settings->budget, now)
               ? MHCS_REASON_BUDGET
               : MHCS_REASON_NONE;
}

static void take_turn(struct mhcs_replay *replay, uint64_t launch)
{
    const int64_t begin = mhcs_clock(CLOCK_MONOTONIC);
    struct mhcs_exec *const exec = replay->exec;
    struct mhcs_turns *const turns = &exec->turns;
    struct mhcs_engine *engine = NULL;
    enum mhcs_reason reason = check(replay, begin, &engine);
    uint32_t dropped;
    const uint32_t due = mhcs_turns_due(turns, launch, &dropped);
    uint64_t next;
    int64_t end;

    while (replay->count < due && reason == MHCS_REASON_NONE) {
        reason = take_site(replay, engine, turns->order[turns->cursor + replay->count]);
    }
    if (engine) {
        mhcs_engine_let_go(engine);
    }
    next = mhcs_turns_taken(turns, launch, due, replay->count);
    if (reason == MHCS_REASON_REPLAY) {
        next = MHCS_TURNS_NEVER;
    }
    atomic_store_explicit(&exec->next, next, memory_order_relaxed);
    if (dropped > 0) {
        mhcs_turn_away_replays(MHCS_REASON_TURNS, dropped);
    }
    if (due > replay->count) {
        mhcs_turn_away_replays(reason, due - replay->count);
    }
    end = mhcs_clock(CLOCK_MONOTONIC);
    mhcs_budget_spend(&mhcs_hook_budget, mhcs_process_settings()->budget, end, end - begin);
}

void mhcs_replay_before(struct mhcs_replay *replay, void *handle, void *stream)
{
    struct mhcs_exec *const exec = mhcs_follow_find(handle);
    uint64_t launch;

    replay->exec = exec;
    replay->stream = stream;
    replay->count = 0;
    if (!exec) {
        return;
    }
    atomic_fetch_add(&exec->under_way, 1);
    launch = atomic_fetch_add_explicit(&exec->launches, 1, memory_order_relaxed);
    mhcs_count(MHCS_REPLAYS);
    mhcs_count_many(MHCS_REPLAYED, exec->sites);
    if (atomic_load(&exec->busy)) {
        atomic_store(&exec->clash, true);
    } else if (launch >= atomic_load_explicit(&exec->next, memory_order_relaxed) &&
               !atomic_exchange(&exec->busy, true)) {
        if (atomic_load(&exec->under_way) == 1) {
            take_turn(replay, launch);
        }
        if (replay->count == 0) {
            atomic_store(&exec->clash, false);
            atomic_store(&exec->busy, false);
        }
    }
}

/* Records the event that the drain thread waits for, and hands the slot over. */
static enum mhcs_reason post(struct mhcs_engine *engine, uint32_t i)
{
    const struct mhcs_slot *slot = &engine->slots[i];
    CUresult result;

    result = MHCS_TEST_LATE_SNAPSHOT
                 ? mhcs_snapshot_last(engine, slot, PARTS_LAST)
                 : engine->driver->cuEventRecord(slot->ready, slot->call.gemm.stream);
    if (result != CUDA_SUCCESS) {
        mhcs_engine_disarm(engine, "the event behind a graph's launch", result);
        return MHCS_REASON_LAUNCH;
    }
    mhcs_count(MHCS_REPLAY_SAMPLED); /* before it can be lost */
    atomic_fetch_or(&engine->posted, UINT64_C(1) << i);
    mhcs_drain_wake();
    return MHCS_REASON_NONE;
}

/* Of a GEMM that was taken. Where its nodes could not be disabled, or another launch may have run
 * them too, the slot stays out of use. */
static enum mhcs_reason end_site(const struct mhcs_replay *replay, uint32_t i, bool launched)
{
    struct mhcs_exec *const exec = replay->exec;
    const uint32_t slot = replay->taken[i].slot;
    enum mhcs_reason reason = MHCS_REASON_DISARMED;
    struct mhcs_engine *engine;

    if (!MHCS_TEST_LATE_SNAPSHOT && !disable(exec, &exec->site[replay->taken[i].site])) {
        mhcs_follow_stop(exec);
        return MHCS_REASON_REPLAY;
    }
    if (atomic_load(&exec->clash)) {
        mhcs_follow_stop(exec);
        return MHCS_REASON_CLASH;
    }
    engine = mhcs_engine_hold(exec->engine);
    if (!engine) {
        return reason;
    }
    if (mhcs_engine_state(engine) == MHCS_ENGINE_ARMED) {
        if (launched) {
            reason = post(engine, slot);
        } else {
            release(engine, slot);
            reason = MHCS_REASON_GEMM;
        }
    }
    mhcs_engine_let_go(engine);
    return reason;
}

static void end_turn(const struct mhcs_replay *replay, bool launched)
{
    const int64_t begin = mhcs_clock(CLOCK_MONOTONIC);
    int64_t end;

    for (uint32_t i = 0; i < replay->count; i++) {
        const enum mhcs_reason reason = end_site(replay, i, launched);

        if (reason != MHCS_REASON_NONE) {
            mhcs_turn_away_replays(reason, 1);
        }
    }
    end = mhcs_clock(CLOCK_MONOTONIC);
    mhcs_budget_spend(&mhcs_hook_budget, mhcs_process_settings()->budget, end, end - begin);
}

void mhcs_replay_after(struct mhcs_replay *replay, bool launched)
{
    struct mhcs_exec *const exec = replay->exec;

    if (!exec) {
        return;
    }
    if (replay->count > 0) {
        end_turn(replay, launched);
        atomic_store(&exec->clash, false);
        atomic_store(&exec->busy, false);
    }
    atomic_fetch_sub(&exec->under_way, 1);
}
