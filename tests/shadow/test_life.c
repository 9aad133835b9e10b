/* SPDX-License-Identifier: Apache-2.0 */
/* What happens when something is short, fails, ends or forks: the application runs on, and what was
 * not sampled is counted and said. Run once for each order of the simulation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "rig.h"
#include "shadow/slot.h"
#include "shadow/trace/trace.h"

static void read_trace(struct rig *rig, struct trace *trace)
{
    assert_true(trace_read(trace, rig->dir, rig->pid));
    assert_int_equal(trace->end, MHCS_END_EXIT);
}

/* ---- short of something ---- */

/* Slots are held between the halves of a call. All calls are on the stream of the first. */
static void hold_every_slot(struct rig *rig)
{
    struct work work;
    struct mhcs_sample held[MHCS_CHUNKS + 1];
    struct mhcs_gemm gemm;
    uint32_t count = 0;

    work_init(&work, &rig->shape, rig_stream(), 100);
    CHILD_MUST(cuMemsetD8Async(work.fn, 0, work.fn_bytes, work.stream) == CUDA_SUCCESS);
    CHILD_MUST(cuMemsetD8Async(work.x, 0, work.x_bytes, work.stream) == CUDA_SUCCESS);
    CHILD_MUST(cuMemsetD8Async(work.c, 0, work.c_bytes, work.stream) == CUDA_SUCCESS);
    gemm = work_gemm(&work, 0);
    while (count <= MHCS_CHUNKS && mhcs_shadow_before(&held[count], &gemm)) {
        count++;
    }
    CHILD_MUST(count == rig->calls);
    for (uint32_t i = 1; i < 4; i++) {
        CHILD_MUST(!mhcs_shadow_before(&held[count], &gemm));
    }
    while (count > 0) {
        mhcs_shadow_after(&held[--count], true);
    }
    rig_wait_for_slots();
}

static void without_a_free_slot_a_sample_is_dropped_and_counted(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->shape.k = 2160;
    rig->settings.shapes[0].k = 2160;
    rig->settings.mem_mb = 1; /* 64 chunks of 14 or, on the host, 16 KB */
    rig->calls = 8;           /* of 115 KB, that is 8 chunks */
    rig_run(rig, hold_every_slot);
    read_trace(rig, &trace);
    assert_int_equal(trace.count, 8 * RIG_ROWS);
    assert_int_equal(trace_counter(&trace, "sampled"), 8);
    assert_int_equal(trace_counter(&trace, "dropped"), 4);
    assert_int_equal(trace_reason(&trace, "no_slot"), 4);
    assert_int_equal(trace.dropped, 4);
    assert_int_equal(trace_events(&trace, "notice", "no_slot"), 1);
    trace_free(&trace);
}

static void five_calls(struct rig *rig)
{
    struct work work;

    work_init(&work, &rig->shape, rig_stream(), 5);
    CHILD_MUST(work_call(&work, 0));
    for (uint32_t i = 1; i < 5; i++) {
        CHILD_MUST(!work_call(&work, i));
    }
}

static void over_the_budget_a_sample_is_dropped_and_counted(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->settings.sample = 0.5; /* "all" knows no budget */
    rig->settings.budget = 1e-9;
    rig_run(rig, five_calls);
    read_trace(rig, &trace);
    rig_check_rows(rig, &trace, RIG_ROWS);
    assert_int_equal(trace_reason(&trace, "budget"), 4);
    assert_true(trace_counter(&trace, "hook_ns") > 0);
    trace_free(&trace);
}

/* ---- calls that can't be sampled ---- */

static bool before(const struct mhcs_gemm *gemm)
{
    struct mhcs_sample sample;

    return mhcs_shadow_before(&sample, gemm);
}

static void odd_calls(struct rig *rig)
{
    struct work work;
    struct mhcs_gemm gemm;

    work_init(&work, &rig->shape, rig_stream(), 8);
    CHILD_MUST(work_call(&work, 0));
    gemm = work_gemm(&work, 0);
    gemm.tokens = 100000; /* far beyond x */
    CHILD_MUST(!before(&gemm));
    gemm = work_gemm(&work, 0);
    gemm.fn.base += 4096; /* its end lies outside */
    CHILD_MUST(!before(&gemm));
    gemm = work_gemm(&work, 0);
    gemm.c.base = (uint64_t)(uintptr_t)&gemm; /* not of CUDA */
    CHILD_MUST(!before(&gemm));
    gemm = work_gemm(&work, 0);
    gemm.k = 4096; /* of no shape in force */
    CHILD_MUST(!before(&gemm));
    gemm = work_gemm(&work, 0);
    gemm.beta = NULL;
    CHILD_MUST(!before(&gemm));
    CHILD_MUST(work_call(&work, 7));
}

static void a_call_that_can_not_be_sampled_is_counted_and_named(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 8;
    rig_run(rig, odd_calls);
    read_trace(rig, &trace);
    rig_check_rows(rig, &trace, 2 * RIG_ROWS);
    assert_int_equal(trace_counter(&trace, "failed"), 5);
    assert_int_equal(trace_reason(&trace, "operand"), 3);
    assert_int_equal(trace_reason(&trace, "shape"), 1);
    assert_int_equal(trace_reason(&trace, "types"), 1);
    trace_free(&trace);
}

#define FAILING_CALLS (MHCS_CHUNKS + 10) /* more than there are slots */

/* The good call comes on another stream, as soon as it can get a slot. */
static void failing_calls(struct rig *rig)
{
    const time_t deadline = time(NULL) + RIG_SECONDS;
    struct work failing, good;
    int tried = 0;

    work_init(&failing, &rig->shape, rig_stream(), rig->calls);
    work_init(&good, &rig->shape, rig_stream(), rig->calls);
    while (tried < FAILING_CALLS || !work_call(&good, 1)) {
        CHILD_MUST(time(NULL) < deadline);
        if (tried < FAILING_CALLS && work_failing_call(&failing, 0)) {
            tried++;
        } else { /* no slot is free */
            CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
            sched_yield();
        }
    }
    CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
}

static void a_gemm_that_fails_leaves_no_record_and_gives_its_slot_back(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    for (int i = 0; i < 2; i++) {
        rig->shape.beta = i == 0 ? 0 : 2; /* with an early snapshot on its way */
        rig_run(rig, failing_calls);
        read_trace(rig, &trace);
        rig_check_rows(rig, &trace, RIG_ROWS);
        assert_int_equal(trace_counter(&trace, "sampled"), 1);
        assert_int_equal(trace_reason(&trace, "gemm"), FAILING_CALLS);
        trace_free(&trace);
    }
}

/* ---- contexts ---- */

static void calls_that_are_left_in_flight(struct rig *rig)
{
    struct work work;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    for (uint32_t i = 0; i < rig->calls; i++) {
        CHILD_MUST(work_call(&work, i));
    }
}

static void two_contexts_one_after_the_other(struct rig *rig)
{
    CUcontext context;

    calls_that_are_left_in_flight(rig);
    CHILD_MUST(cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    CHILD_MUST(cuCtxDestroy(context) == CUDA_SUCCESS);
    CHILD_MUST(cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
    calls_that_are_left_in_flight(rig);
}

static void a_destroyed_context_is_given_up_and_the_next_one_armed(void **state)
{
    struct rig *rig = *state;
    struct trace trace;
    int64_t lost;

    rig_run(rig, two_contexts_one_after_the_other);
    read_trace(rig, &trace);
    lost = trace_counter(&trace, "failed");
    assert_in_range(lost, 0, rig->calls);
    assert_int_equal(trace_counter(&trace, "sampled") + lost, 2 * rig->calls);
    rig_check_rows(rig, &trace, (2 * rig->calls - (uint32_t)lost) * RIG_ROWS);
    assert_int_equal(trace_events(&trace, "armed", NULL), 2);
    assert_int_equal(trace_events(&trace, "disarmed", NULL), lost > 0);
    trace_free(&trace);
}

#define THREADS          4
#define CALLS_PER_THREAD 5

struct thread {
    struct rig *rig;
    CUcontext context;
    uint32_t number;
};

static void *thread_calls(void *arg)
{
    const struct thread *thread = arg;
    struct work work;

    CHILD_MUST(cuCtxSetCurrent(thread->context) == CUDA_SUCCESS);
    work_init(&work, &thread->rig->shape, rig_stream(), thread->rig->calls);
    for (uint32_t i = 0; i < CALLS_PER_THREAD; i++) {
        work_call(&work, thread->number * CALLS_PER_THREAD + i);
    }
    return NULL;
}

/* Two contexts; all threads meet the unarmed engines at once. */
static void many_threads(struct rig *rig)
{
    struct thread threads[THREADS];
    pthread_t ids[THREADS];
    CUcontext contexts[2];

    CHILD_MUST(cuCtxGetCurrent(&contexts[0]) == CUDA_SUCCESS);
    CHILD_MUST(cuCtxCreate_v2(&contexts[1], 0, 0) == CUDA_SUCCESS);
    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){rig, contexts[i % 2], i};
        CHILD_MUST(pthread_create(&ids[i], NULL, thread_calls, &threads[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(ids[i], NULL);
    }
    rig_wait_for_slots();
}

static void threads_and_contexts_do_not_mix(void **state)
{
    struct rig *rig = *state;
    struct trace trace;
    int64_t sampled;

    rig->calls = THREADS * CALLS_PER_THREAD;
    rig_run(rig, many_threads);
    read_trace(rig, &trace);
    sampled = trace_counter(&trace, "sampled");
    assert_true(sampled >= 2);
    assert_int_equal(sampled + trace_counter(&trace, "dropped"), rig->calls);
    assert_int_equal(trace_counter(&trace, "failed"), 0);
    assert_int_equal(trace_events(&trace, "armed", NULL), 2);
    rig_check_rows(rig, &trace, (uint32_t)sampled * RIG_ROWS);
    trace_free(&trace);
}

static void *endless_calls(void *arg)
{
    const struct thread *thread = arg;
    struct work work;

    CHILD_MUST(cuCtxSetCurrent(thread->context) == CUDA_SUCCESS);
    work_init(&work, &thread->rig->shape, rig_stream(), 1);
    for (;;) {
        work_call(&work, 0);
    }
    return NULL;
}

#define BEFORE_EXIT 5

static void exit_under_way(struct rig *rig)
{
    const time_t deadline = time(NULL) + RIG_SECONDS;
    static struct thread thread;
    pthread_t id;

    thread.rig = rig;
    CHILD_MUST(cuCtxGetCurrent(&thread.context) == CUDA_SUCCESS);
    CHILD_MUST(pthread_create(&id, NULL, endless_calls, &thread) == 0);
    while (mhcs_counter_value(MHCS_SAMPLED) <= BEFORE_EXIT) { /* the last may not be posted yet */
        CHILD_MUST(time(NULL) < deadline);
        sched_yield();
    }
}

static void exit_does_not_wait_for_threads_that_go_on(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->calls = 1;
    rig_run(rig, exit_under_way);
    read_trace(rig, &trace);
    assert_true(trace.count / RIG_ROWS + trace_counter(&trace, "failed") >= BEFORE_EXIT);
    trace_free(&trace);
}

#define LIFE_TEST(f) cmocka_unit_test_setup_teardown(f, rig_set_up_quick, rig_tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        LIFE_TEST(without_a_free_slot_a_sample_is_dropped_and_counted),
        LIFE_TEST(over_the_budget_a_sample_is_dropped_and_counted),
        LIFE_TEST(a_call_that_can_not_be_sampled_is_counted_and_named),
        LIFE_TEST(a_gemm_that_fails_leaves_no_record_and_gives_its_slot_back),
        LIFE_TEST(a_destroyed_context_is_given_up_and_the_next_one_armed),
        LIFE_TEST(threads_and_contexts_do_not_mix),
        LIFE_TEST(exit_does_not_wait_for_threads_that_go_on),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL); /* NULL: all */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
