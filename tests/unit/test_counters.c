/* SPDX-License-Identifier: Apache-2.0 */
/* The counters add up to the call, whatever becomes of the threads that counted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "shadow/reason.h"

#define STACK_BYTES  131072 /* the least that aarch64 takes */
#define MANY_THREADS 1100   /* more than there are tallies */

static void *count_some(void *arg)
{
    pthread_barrier_t *const all_alive = arg;

    for (int i = 0; i < 7; i++) {
        mhcs_count(MHCS_SEEN);
    }
    mhcs_count_many(MHCS_MATCHED, 1000);
    if (all_alive) {
        pthread_barrier_wait(all_alive);
    }
    mhcs_count(MHCS_SEEN);
    return NULL;
}

static pthread_t start(pthread_barrier_t *barrier)
{
    pthread_attr_t attributes;
    pthread_t thread;

    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, count_some, barrier), 0);
    pthread_attr_destroy(&attributes);
    return thread;
}

static void assert_counted(uint64_t seen, uint64_t matched, unsigned threads)
{
    assert_int_equal(mhcs_counter_value(MHCS_SEEN), seen + 8 * threads);
    assert_int_equal(mhcs_counter_value(MHCS_MATCHED), matched + 1000 * threads);
}

static void threads_that_have_ended_are_counted(void **state)
{
    const uint64_t seen = mhcs_counter_value(MHCS_SEEN);
    const uint64_t matched = mhcs_counter_value(MHCS_MATCHED);

    for (int i = 0; i < 3 * MANY_THREADS; i++) {
        pthread_join(start(NULL), NULL);
    }
    assert_counted(seen, matched, 3 * MANY_THREADS);
}

#define COUNTS      10000000 /* longer than a thread runs undisturbed */
#define FEW_THREADS 4

static void *count_many_times(void *start)
{
    pthread_barrier_wait(start);
    for (int i = 0; i < COUNTS; i++) {
        mhcs_count(MHCS_SEEN);
    }
    return NULL;
}

static void threads_that_count_at_the_same_time_lose_nothing(void **state)
{
    const uint64_t seen = mhcs_counter_value(MHCS_SEEN);
    pthread_t threads[FEW_THREADS];
    pthread_barrier_t together;

    assert_int_equal(pthread_barrier_init(&together, NULL, FEW_THREADS), 0);
    for (int i = 0; i < FEW_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_many_times, &together), 0);
    }
    for (int i = 0; i < FEW_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&together);
    assert_int_equal(mhcs_counter_value(MHCS_SEEN) - seen, (uint64_t)FEW_THREADS * COUNTS);
}

static void *find_out_if_crowded(void *arg)
{
    mhcs_count(MHCS_SEEN);
    *(bool *)arg = mhcs_own_tally == NULL;
    return NULL;
}

/* Behind 3300 threads that are dead: the tallies of the dead are there to be had. */
static void the_tallies_of_dead_threads_are_used_again(void **state)
{
    bool crowded = true;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, find_out_if_crowded, &crowded), 0);
    pthread_join(thread, NULL);
    assert_false(crowded);
}

static void more_threads_than_tallies_are_counted_too(void **state)
{
    const uint64_t seen = mhcs_counter_value(MHCS_SEEN);
    const uint64_t matched = mhcs_counter_value(MHCS_MATCHED);
    static pthread_t threads[MANY_THREADS];
    pthread_barrier_t all_alive;

    assert_int_equal(pthread_barrier_init(&all_alive, NULL, MANY_THREADS), 0);
    for (int i = 0; i < MANY_THREADS; i++) {
        threads[i] = start(&all_alive);
    }
    for (int i = 0; i < MANY_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&all_alive);
    assert_counted(seen, matched, MANY_THREADS);
}

static void a_lost_sample_is_no_longer_counted_as_sampled(void **state)
{
    const uint64_t sampled = mhcs_counter_value(MHCS_SAMPLED);
    const uint64_t failed = mhcs_counter_value(MHCS_FAILED);
    const uint64_t lost = mhcs_reason_value(MHCS_REASON_LOST);

    mhcs_count_many(MHCS_SAMPLED, 2);
    mhcs_sample_lost(MHCS_REASON_LOST, false);
    assert_int_equal(mhcs_counter_value(MHCS_SAMPLED), sampled + 1);
    assert_int_equal(mhcs_counter_value(MHCS_FAILED), failed + 1);
    assert_int_equal(mhcs_reason_value(MHCS_REASON_LOST), lost + 1);
    assert_int_equal(mhcs_counter_value(MHCS_REPLAY_FAILED), 0);
}

static void what_replays_lose_is_counted_apart_from_calls(void **state)
{
    const uint64_t failed = mhcs_counter_value(MHCS_FAILED);
    const uint64_t dropped = mhcs_counter_value(MHCS_DROPPED);
    const uint64_t lost = mhcs_reason_value(MHCS_REASON_LOST);

    mhcs_count_many(MHCS_REPLAY_SAMPLED, 3);
    mhcs_sample_lost(MHCS_REASON_LOST, true);
    mhcs_turn_away_replays(MHCS_REASON_BUDGET, 5);
    assert_int_equal(mhcs_counter_value(MHCS_REPLAY_SAMPLED), 2);
    assert_int_equal(mhcs_counter_value(MHCS_REPLAY_FAILED), 1);
    assert_int_equal(mhcs_counter_value(MHCS_REPLAY_DROPPED), 5);
    assert_int_equal(mhcs_reason_value(MHCS_REASON_BUDGET), 5);
    assert_int_equal(mhcs_reason_value(MHCS_REASON_LOST), lost + 1);
    assert_int_equal(mhcs_counter_value(MHCS_FAILED), failed);
    assert_int_equal(mhcs_counter_value(MHCS_DROPPED), dropped);
}

static void a_forked_child_starts_from_zero(void **state)
{
    int status;
    pid_t child;

    mhcs_turn_away(MHCS_REASON_NO_SLOT);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int wrong = 0;

        for (int i = 0; i < MHCS_COUNTERS; i++) {
            wrong += mhcs_counter_value((enum mhcs_counter)i) != 0;
        }
        wrong += mhcs_reason_value(MHCS_REASON_NO_SLOT) != 0;
        mhcs_count(MHCS_SEEN);
        wrong += mhcs_counter_value(MHCS_SEEN) != 1;
        _exit(wrong);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void *count_with_errno(void *arg)
{
    errno = EDOM;
    mhcs_count(MHCS_SEEN);
    return errno == EDOM ? NULL : arg;
}

static void the_first_count_of_a_thread_leaves_errno_alone(void **state)
{
    static char yes;
    void *changed;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, count_with_errno, &yes), 0);
    pthread_join(thread, &changed);
    assert_null(changed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_count_at_the_same_time_lose_nothing),
        cmocka_unit_test(threads_that_have_ended_are_counted),
        cmocka_unit_test(the_tallies_of_dead_threads_are_used_again),
        cmocka_unit_test(the_first_count_of_a_thread_leaves_errno_alone),
        cmocka_unit_test(more_threads_than_tallies_are_counted_too),
        cmocka_unit_test(a_lost_sample_is_no_longer_counted_as_sampled),
        cmocka_unit_test(what_replays_lose_is_counted_apart_from_calls),
        cmocka_unit_test(a_forked_child_starts_from_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
