/* SPDX-License-Identifier: Apache-2.0 */
/* The drain thread: serves every engine, flushes every second, and makes an end at exit. */
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
#include "shadow/process.h"
#include "shadow/serve.h"

#define STACK_BYTES   (1024 * 1024) /* the driver's and zstd's frames; ours are small */
#define POLL_NS       (MHCS_SECOND / 1000)
#define EXIT_NS       (2 * MHCS_SECOND) /* at exit: for what is in flight, in all */
#define EXIT_STUCK_NS MHCS_SECOND       /* and without any progress */
#define EXIT_POLL_NS  (MHCS_SECOND / 10000)

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

/* A new context may have come in the place of an old one, whose entry the next one could need. */
static bool any_is_new(void)
{
    for (uint32_t i = 0; i < MHCS_ENGINES_MAX; i++) {
        const struct mhcs_engine *engine = mhcs_engine_at(i);

        if (engine && !engine->drain.greeted) {
            return true;
        }
    }
    return false;
}

/* `look`: also ask idle contexts whether they are still there. True: something was finished.
 * *ret_busy: something is in flight. */
static bool serve_all(bool look, bool *ret_busy)
{
    bool progress = false;

    look |= any_is_new();
    *ret_busy = false;
    for (uint32_t i = 0; i < MHCS_ENGINES_MAX; i++) {
        struct mhcs_engine *engine = mhcs_engine_at(i);

        if (engine) {
            progress |= mhcs_serve(&book, engine, look);
            *ret_busy |= mhcs_engine_state(engine) == MHCS_ENGINE_ARMED && engine->drain.queued > 0;
        }
    }
    return progress;
}

static void run_until_exit(void)
{
    int64_t next_flush = mhcs_clock(CLOCK_MONOTONIC) + MHCS_SECOND;

    while (!atomic_load(&leaving)) {
        const bool due = mhcs_clock(CLOCK_MONOTONIC) >= next_flush;
        bool busy;
        const bool progress = serve_all(due, &busy);
        const int64_t now = mhcs_clock(CLOCK_MONOTONIC);
        int64_t until = next_flush;

        if (due) {
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
        const bool progress = serve_all(false, &busy);
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
            mhcs_serve_lose(engine, MHCS_REASON_UNFINISHED);
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
    mhcs_book_open(&book);
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
            pthread_detach(thread);
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
        mhcs_log(MHCS_LOG_ERROR, "can't start a thread: %s; nothing is sampled",
                 strerrordesc_np(error));
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
