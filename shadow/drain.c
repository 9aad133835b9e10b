/* SPDX-License-Identifier: Apache-2.0 */
/* The drain thread: launches the pipeline behind each posted snapshot, polls for its end, writes
 * records, flushes every second, and makes an end at exit.
 *
 * It polls cuEventQuery instead of being called back: a host function may not call CUDA, can
 * serialise streams, and never comes after a context error.
 */
#include "shadow/drain.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/book.h"
#include "shadow/clock.h"
#include "shadow/engine.h"
#include "shadow/facts.h"
#include "shadow/log.h"
#include "shadow/pipeline.h"
#include "shadow/process.h"

#define STACK_BYTES   (1024 * 1024) /* the driver's and zstd's frames; ours are small */
#define POLL_NS       (MHCS_SECOND / 1000)
#define EXIT_NS       (2 * MHCS_SECOND) /* at exit: for what is in flight, in all */
#define EXIT_STUCK_NS MHCS_SECOND       /* and without any progress */
#define EXIT_POLL_NS  (MHCS_SECOND / 10000)
#define CHECK_ONE_IN  16

enum { NOT_STARTED, STARTING, RUNNING };

static atomic_int started;  /* by CAS of the thread that starts it; a forked child clears it */
static atomic_bool awake;   /* the drain thread looks for work by itself. Cleared by it before it
                               sleeps long, set by it and by who wakes it up; all seq_cst */
static atomic_bool leaving; /* set once by the exit handler */
static sem_t work, gone;
static pthread_t thread;

static struct mhcs_book book; /* the drain thread's alone */

static bool anything_posted(void)
{
    for (uint32_t i = 0; i < MHCS_ENGINES_MAX; i++) {
        const struct mhcs_engine *engine = mhcs_engine_at(i);

        if (engine && atomic_load(&engine->posted) != 0) {
            return true;
        }
    }
    return false;
}

/* Busy: a short sleep between polls, which need not be cut short. Else until someone posts work;
 * who posts before `awake` is cleared is seen here, who posts later sees that it is. */
static void sleep_until(int64_t until, bool busy)
{
    const struct timespec t = {until / MHCS_SECOND, until % MHCS_SECOND};

    atomic_store(&awake, busy);
    if (busy || !anything_posted()) {
        while (sem_clockwait(&work, CLOCK_MONOTONIC, &t) < 0 && errno == EINTR) {
        }
    }
    atomic_store(&awake, true);
}

/* ---- one engine ---- */

static bool want_check(struct mhcs_engine *engine, const struct mhcs_slot_call *call)
{
    const bool first = engine->drain.checks++ == 0;

    /* By hash: every 16th would meet the same sites for ever. */
    return first || mhcs_mix64((uint64_t)call->number) % CHECK_ONE_IN == 0;
}

/* Puts the pipeline of a posted slot on the spare stream. */
static CUresult launch(struct mhcs_engine *engine, uint32_t i)
{
    const struct mhcs_driver *driver = engine->driver;
    struct mhcs_slot *slot = &engine->slots[i];
    CUresult result;

    if (engine->mode != MHCS_MODE_KERNEL || slot->call.abandoned) {
        return CUDA_SUCCESS; /* only `ready` is waited for */
    }
    result = driver->cuStreamWaitEvent(engine->spare, slot->ready, 0);
    if (result == CUDA_SUCCESS) {
        result = mhcs_pipeline_launch(engine, slot);
    }
    if (result == CUDA_SUCCESS && engine->drain.staged < 0 && want_check(engine, &slot->call)) {
        result = mhcs_pipeline_stage(engine, slot);
        engine->drain.staged = (int)i;
    }
    return result == CUDA_SUCCESS ? driver->cuEventRecord(slot->done, engine->spare) : result;
}

static void take_posted(struct mhcs_engine *engine)
{
    uint64_t posted = atomic_exchange_explicit(&engine->posted, 0, memory_order_acquire);

    for (; posted != 0; posted &= posted - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(posted);
        const CUresult result = launch(engine, i);

        engine->drain.queue[engine->drain.queued++] = (uint8_t)i;
        if (result != CUDA_SUCCESS) {
            mhcs_engine_disarm(engine, "launching the reference", result);
        }
    }
}

static void finish(struct mhcs_engine *engine, uint32_t i)
{
    struct mhcs_slot *slot = &engine->slots[i];
    float checks[MHCS_ROWS_MAX];
    bool checked = false;
    int error = 0;

    if (slot->call.abandoned) {
        goto release;
    }
    if (engine->mode != MHCS_MODE_KERNEL) {
        error = mhcs_pipeline_host(engine, slot);
    } else if (engine->drain.staged == (int)i) {
        checked = mhcs_pipeline_check(engine, slot, checks) == 0;
        engine->drain.staged = -1;
    }
    if (error) {
        mhcs_sample_lost(MHCS_REASON_LOST);
    } else {
        mhcs_book_sample(&book, engine, slot, checked ? checks : NULL);
    }
release:
    mhcs_slot_release(&engine->pool, i, slot->call.chunks);
}

/* Finishes what is ready, oldest first; the spare stream works in that order. True: something was
 * finished. */
static bool poll_queue(struct mhcs_engine *engine)
{
    const struct mhcs_driver *driver = engine->driver;
    uint32_t done = 0;

    while (done < engine->drain.queued) {
        const uint32_t i = engine->drain.queue[done];
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
        finish(engine, i);
        done++;
    }
    engine->drain.queued -= done;
    memmove(engine->drain.queue, engine->drain.queue + done, engine->drain.queued);
    return done > 0;
}

/* Counts what was in flight as lost. The slots stay with the engine: nothing tells when a failed
 * context stops to write to them. */
static void lose(struct mhcs_engine *engine, enum mhcs_reason why)
{
    uint64_t posted = atomic_exchange_explicit(&engine->posted, 0, memory_order_acquire);

    for (; posted != 0; posted &= posted - 1) {
        engine->drain.queue[engine->drain.queued++] = (uint8_t)__builtin_ctzll(posted);
    }
    for (uint32_t n = 0; n < engine->drain.queued; n++) {
        if (!engine->slots[engine->drain.queue[n]].call.abandoned) {
            mhcs_sample_lost(why);
        }
    }
    engine->drain.queued = 0;
}

static void part(struct mhcs_engine *engine)
{
    lose(engine, MHCS_REASON_LOST);
    if (!engine->drain.parted) {
        engine->drain.parted = true;
        if (engine->slots) { /* else arming failed, and said so */
            mhcs_log(MHCS_LOG_WARN, "device %d: %s failed with %s (%d); its context is not sampled",
                     engine->device, engine->disarm_what,
                     mhcs_driver_error(engine->driver, engine->disarm_result),
                     (int)engine->disarm_result);
        }
        mhcs_book_disarmed(&book, engine);
    }
}

static bool work_on(struct mhcs_engine *engine)
{
    CUresult result;

    if (!engine->drain.greeted) {
        engine->drain.greeted = true;
        mhcs_book_armed(&book, engine);
    }
    if (engine->drain.queued == 0 &&
        atomic_load_explicit(&engine->posted, memory_order_relaxed) == 0) {
        return false;
    }
    result = engine->driver->cuCtxSetCurrent(engine->context);
    if (result == CUDA_SUCCESS &&
        mhcs_engine_key(engine->driver, engine->context) != atomic_load(&engine->key)) {
        result = CUDA_ERROR_CONTEXT_IS_DESTROYED; /* a device reset: the address lives on */
    }
    if (result != CUDA_SUCCESS) {
        mhcs_engine_disarm(engine, "cuCtxSetCurrent", result);
        return false;
    }
    take_posted(engine);
    return poll_queue(engine);
}

static bool serve(struct mhcs_engine *engine)
{
    const bool progress = mhcs_engine_state(engine) == MHCS_ENGINE_ARMED && work_on(engine);

    if (mhcs_engine_state(engine) == MHCS_ENGINE_DISARMED) {
        part(engine);
    }
    return progress;
}

/* ---- the thread ---- */

/* True: something was finished. *ret_busy: something is in flight. */
static bool serve_all(bool *ret_busy)
{
    bool progress = false;

    *ret_busy = false;
    for (uint32_t i = 0; i < MHCS_ENGINES_MAX; i++) {
        struct mhcs_engine *engine = mhcs_engine_at(i);

        if (engine) {
            progress |= serve(engine);
            *ret_busy |= mhcs_engine_state(engine) == MHCS_ENGINE_ARMED && engine->drain.queued > 0;
        }
    }
    return progress;
}

static void run_until_exit(void)
{
    int64_t next_flush = mhcs_clock(CLOCK_MONOTONIC) + MHCS_SECOND;
    while (!atomic_load(&leaving)) {
        bool busy;
        const bool progress = serve_all(&busy);
        const int64_t now = mhcs_clock(CLOCK_MONOTONIC);
        int64_t until = next_flush;

        if (now >= next_flush) {
            mhcs_book_flush(&book);
            next_flush = now + MHCS_SECOND;
            until = next_flush;
        }
        if (busy && now + 2 * POLL_NS < until) {
            until = now + (progress ? POLL_NS : 2 * POLL_NS);
        }
        sleep_until(until, busy);
    }
}

/* What is in flight gets a little time; a device that does not move gets less. */
static void finish_in_flight(void)
{
    const int64_t begin = mhcs_clock(CLOCK_MONOTONIC);
    int64_t last_progress = begin;
    bool busy;

    for (;;) {
        const bool progress = serve_all(&busy);
        const int64_t now = mhcs_clock(CLOCK_MONOTONIC);

        last_progress = progress ? now : last_progress;
        if (!busy || now - begin > EXIT_NS || now - last_progress > EXIT_STUCK_NS) {
            break;
        }
        sleep_until(now + EXIT_POLL_NS, true);
    }
    for (uint32_t i = 0; busy && i < MHCS_ENGINES_MAX; i++) {
        struct mhcs_engine *engine = mhcs_engine_at(i);

        if (engine && mhcs_engine_state(engine) == MHCS_ENGINE_ARMED) {
            lose(engine, MHCS_REASON_UNFINISHED);
        }
    }
}

static void *drain(void *unused)
{
    const struct mhcs_driver *driver;

    pthread_setname_np(pthread_self(), "mhcshadow");
    if (mhcs_driver(&driver) == 0) {
        /* cuEventQuery of this thread must not break a capture of another one. */
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

        driver->cuThreadExchangeStreamCaptureMode(&mode);
    }
    run_until_exit();
    finish_in_flight();
    mhcs_book_close(&book);
    sem_post(&gone);
    return unused;
}

/* Registered after the application has started CUDA, so it runs before the driver's own exit
 * handlers. Never waits for long, whatever the device does. */
static void leave(void)
{
    struct timespec t;

    if (atomic_load(&started) != RUNNING || atomic_exchange(&leaving, true)) {
        return;
    }
    mhcs_process_turn_off(MHCS_REASON_STOPPED);
    sem_post(&work);
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (EXIT_NS + MHCS_SECOND) / MHCS_SECOND;
    while (sem_clockwait(&gone, CLOCK_MONOTONIC, &t) < 0) {
        if (errno != EINTR) {
            return;
        }
    }
    pthread_join(thread, NULL);
}

static int create_thread(void)
{
    pthread_attr_t attributes;
    sigset_t all, old;
    int error;

    error = pthread_attr_init(&attributes);
    if (error) {
        return error;
    }
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    /* The application's signals are for its own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&thread, &attributes, drain, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

void mhcs_drain_start(void)
{
    static atomic_bool registered; /* exit handlers are inherited by a forked child */
    int expected = NOT_STARTED;
    int error;

    if (atomic_load_explicit(&started, memory_order_relaxed) != NOT_STARTED ||
        mhcs_process_off() != MHCS_REASONS_COUNT ||
        !atomic_compare_exchange_strong(&started, &expected, STARTING)) {
        return;
    }
    sem_init(&work, 0, 0);
    sem_init(&gone, 0, 0);
    mhcs_facts_note_environment();
    if (!atomic_exchange(&registered, true)) {
        atexit(leave);
    }
    error = create_thread();
    if (error) {
        mhcs_log(MHCS_LOG_ERROR, "can't start a thread: %s; nothing is sampled", strerror(error));
        mhcs_process_turn_off(MHCS_REASON_NO_TRACE);
        return;
    }
    atomic_store(&started, RUNNING);
}

void mhcs_drain_wake(void)
{
    if (atomic_load(&started) == RUNNING && !atomic_exchange(&awake, true)) {
        sem_post(&work);
    }
}

void mhcs_drain_forget(void)
{
    mhcs_book_forget(&book);
    atomic_store(&started, NOT_STARTED);
    atomic_store(&awake, false);
    atomic_store(&leaving, false);
}
