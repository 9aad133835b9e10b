/* SPDX-License-Identifier: Apache-2.0 */
/* dl_iterate_phdr() holds a lock of the linker's (dl_load_write_lock) that fork() neither takes
 * nor resets: a child forked meanwhile would wait for ever in its first dlopen(), for our walk. So
 * a fork waits for the walks that are under way, which take well under a millisecond.
 */
#include "interpose/objects.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "shadow/clock.h"

/* Longer waits a walk that the forking signal handler itself has interrupted. */
#define FORK_WAIT_NS (MHCS_SECOND / 10)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t walking = PTHREAD_MUTEX_INITIALIZER; /* held through a walk and a fork */

/* The forking thread's own: whether it got the mutex. */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool forking;

static void before_fork(void)
{
    const int64_t until = mhcs_clock(CLOCK_MONOTONIC) + FORK_WAIT_NS;
    const struct timespec t = {until / MHCS_SECOND, until % MHCS_SECOND};

    forking = pthread_mutex_clocklock(&walking, CLOCK_MONOTONIC, &t) == 0;
}

static void after_fork_in_parent(void)
{
    if (forking) {
        pthread_mutex_unlock(&walking);
    }
    forking = false;
}

static void after_fork_in_child(void)
{
    walking = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    forking = false;
}

static void register_handlers(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int mhcs_objects_walk(int (*visit)(struct dl_phdr_info *, size_t, void *), void *arg)
{
    int ret;

    pthread_once(&once, register_handlers);
    pthread_mutex_lock(&walking);
    ret = dl_iterate_phdr(visit, arg);
    pthread_mutex_unlock(&walking);
    return ret;
}
