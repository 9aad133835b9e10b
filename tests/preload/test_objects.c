/* SPDX-License-Identifier: Apache-2.0 */
/* Forks while the loaded objects are walked over. */
#include "interpose/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILD_SECONDS 10

static int one(struct dl_phdr_info *info, size_t size, void *arg)
{
    (*(int *)arg)++;
    return 0;
}

static void expect_success(pid_t child)
{
    int status;

    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- a fork in another thread ---- */

static atomic_bool fork_begun;
static sem_t walk_begun;

static void note_fork(void)
{
    atomic_store(&fork_begun, true);
}

/* Lasts until a fork has begun and a fork that does not wait would be over. */
static int linger(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct timespec fork_time = {0, 30000000};

    sem_post(&walk_begun);
    while (!atomic_load(&fork_begun)) {
        sched_yield();
    }
    nanosleep(&fork_time, NULL);
    return 1;
}

static void *walk_slowly(void *arg)
{
    mhcs_objects_walk(linger, NULL);
    return arg;
}

static void a_child_forked_during_a_walk_can_walk_itself(void **state)
{
    pthread_t walker;
    pid_t child;
    int count = 0;

    sem_init(&walk_begun, 0, 0);
    mhcs_objects_walk(one, &count);
    assert_true(count > 1);
    /* Registered behind the walk's own handler, so it runs before that one. */
    assert_int_equal(pthread_atfork(note_fork, NULL, NULL), 0);
    assert_int_equal(pthread_create(&walker, NULL, walk_slowly, NULL), 0);
    sem_wait(&walk_begun);
    child = fork();
    if (child == 0) {
        int own_count = 0;

        alarm(CHILD_SECONDS);
        dl_iterate_phdr(one, &own_count); /* as dlopen() and the unwinder of old C++ runtimes do */
        mhcs_objects_walk(one, &own_count);
        _exit(own_count == 2 * count ? 0 : 1);
    }
    pthread_join(walker, NULL);
    expect_success(child);
}

/* ---- a fork in a signal handler ---- */

static int fork_within(struct dl_phdr_info *info, size_t size, void *arg)
{
    pid_t *const child = arg;

    *child = fork();
    if (*child == 0) {
        _exit(0);
    }
    return 1;
}

static void a_fork_within_a_walk_goes_on(void **state)
{
    pid_t child = -1;
    int count = 0;

    alarm(CHILD_SECONDS);
    mhcs_objects_walk(fork_within, &child);
    expect_success(child);
    mhcs_objects_walk(one, &count); /* and so does the next walk */
    assert_true(count > 1);
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_forked_during_a_walk_can_walk_itself),
        cmocka_unit_test(a_fork_within_a_walk_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
