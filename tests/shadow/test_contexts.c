/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts come and go, and calls never come to their second half: what was held for them is given
 * back, and the next ones are sampled. Run once for each order of the simulation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "rig.h"
#include "shadow/engine.h"
#include "shadow/trace/trace.h"

#define GENERATIONS (MHCS_ENGINES_MAX + 4) /* more than the table has entries */

static void read_trace(struct rig *rig, struct trace *trace)
{
    assert_true(trace_read(trace, rig->dir, rig->pid));
    assert_int_equal(trace->end, MHCS_END_EXIT);
}

static CUcontext new_context(void)
{
    CUcontext context;

    CHILD_MUST(cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
    return context;
}

static CUcontext current_context(void)
{
    CUcontext context;

    CHILD_MUST(cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    return context;
}

static uint64_t key_of_current(void)
{
    unsigned long long id;

    CHILD_MUST(cuCtxGetId(NULL, &id) == CUDA_SUCCESS);
    return id + 1;
}

static time_t deadline;

static void wait_a_little(void)
{
    CHILD_MUST(time(NULL) < deadline);
    sched_yield();
}

/* Until the drain thread has given the engine back. */
static void await_end(uint64_t key)
{
    struct mhcs_engine *engine;

    while ((engine = mhcs_engine_hold(key))) {
        mhcs_engine_let_go(engine);
        wait_a_little();
    }
}

/* Bytes that are mapped for the device and kept from forked children: what engines hold. (A leak of
 * the heap is LeakSanitizer's to find.) */
static size_t held_by_engines(void)
{
    FILE *const f = fopen("/proc/self/smaps", "r");
    size_t size = 0, sum = 0;
    char line[512];

    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "Size: %zu kB", &size) != 1 && strncmp(line, "VmFlags:", 8) == 0 &&
            strstr(line, " dc")) {
            sum += 1024 * size;
        }
    }
    CHILD_MUST(f != NULL);
    fclose(f);
    return sum;
}

static size_t free_on_device(void)
{
    size_t available, total;

    CHILD_MUST(cuMemGetInfo(&available, &total) == CUDA_SUCCESS);
    return available;
}

/* One that finds no entry free comes again: the drain thread is about to give one back. */
static void sampled_calls(struct rig *rig)
{
    struct work work;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    while (!work_call(&work, 0)) {
        CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
        wait_a_little();
    }
    for (uint32_t i = 1; i < rig->calls; i++) {
        work_call(&work, i);
    }
}

static void generations(struct rig *rig)
{
    const size_t available = free_on_device();

    deadline = time(NULL) + RIG_SECONDS;
    CHILD_MUST(cuCtxDestroy(current_context()) == CUDA_SUCCESS);
    for (int i = 0; i < GENERATIONS; i++) {
        const CUcontext context = new_context();

        sampled_calls(rig);
        CHILD_MUST(i > 0 || held_by_engines() > 0); /* once: smaps takes long to read */
        if (i % 2) {                                /* else with samples in flight */
            CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
        }
        CHILD_MUST(cuCtxDestroy(context) == CUDA_SUCCESS);
    }
    while (held_by_engines() > 0) {
        wait_a_little();
    }
    new_context();
    CHILD_MUST(free_on_device() == available);
}

static void contexts_that_end_give_everything_back(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    for (int host = 0; host < 2; host++) {
        rig->calls = 2;
        rig->settings.reference = host ? MHCS_REFERENCE_HOST : MHCS_REFERENCE_KERNEL;
        rig->settings.mem_mb = 16;
        rig_run(rig, generations);
        read_trace(rig, &trace);
        assert_int_equal(trace_events(&trace, "armed", NULL), GENERATIONS);
        trace_free(&trace);
    }
}

static void end_between_the_halves(struct rig *rig)
{
    struct work work;
    struct mhcs_sample held[2];
    struct mhcs_gemm gemm;
    uint64_t key;

    deadline = time(NULL) + RIG_SECONDS;
    rig->shape.beta = 2; /* with an early snapshot */
    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    key = key_of_current();
    CHILD_MUST(work_call(&work, 0));
    CHILD_MUST(cuMemsetD8Async(work.c, 0, work.c_bytes, work.stream) == CUDA_SUCCESS);
    gemm = work_gemm(&work, 1);
    CHILD_MUST(mhcs_shadow_before(&held[0], &gemm));
    CHILD_MUST(mhcs_shadow_before(&held[1], &gemm));
    CHILD_MUST(cuCtxDestroy(current_context()) == CUDA_SUCCESS);
    await_end(key);
    new_context();
    rig->shape.beta = 0;
    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    CHILD_MUST(work_call(&work, 2)); /* in the entry that has become free */
    mhcs_shadow_after(&held[0], true);
    mhcs_shadow_forget(&held[1]);
    for (uint32_t i = 3; i < rig->calls; i++) {
        CHILD_MUST(work_call(&work, i));
    }
}

static void a_call_whose_context_is_gone_does_not_touch_the_next_one(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig_run(rig, end_between_the_halves);
    read_trace(rig, &trace);
    assert_int_equal(trace_reason(&trace, "disarmed"), 1);
    assert_int_equal(trace_reason(&trace, "unwound"), 1);
    /* Those two; the call before them may be lost. */
    assert_int_equal(trace_counter(&trace, "sampled") + trace_counter(&trace, "failed"),
                     rig->calls + 1);
    assert_int_equal(trace.count, trace_counter(&trace, "sampled") * RIG_ROWS);
    trace_free(&trace);
}

#define LEFT_CALLS (MHCS_CHUNKS + 10) /* more than there are slots */

/* Each leaves its stream, as a thread does that unwinds. */
static void calls_that_are_left(struct rig *rig)
{
    struct work work;
    int left = 0;

    deadline = time(NULL) + RIG_SECONDS;
    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    CHILD_MUST(cuMemsetD8Async(work.c, 0, work.c_bytes, work.stream) == CUDA_SUCCESS);
    CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
    while (left < LEFT_CALLS) {
        struct mhcs_sample sample;
        struct mhcs_gemm gemm;

        work.stream = rig_stream();
        gemm = work_gemm(&work, 0);
        if (mhcs_shadow_before(&sample, &gemm)) {
            mhcs_shadow_forget(&sample);
            left++;
        } else {
            CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
            wait_a_little();
        }
        CHILD_MUST(cuStreamDestroy(work.stream) == CUDA_SUCCESS);
    }
    CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
    work.stream = rig_stream();
    while (!work_call(&work, 1)) {
        CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
        wait_a_little();
    }
}

static void a_call_left_by_an_exception_gives_its_slot_back(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    for (int i = 0; i < 2; i++) {
        rig->shape.beta = i == 0 ? 0 : 2; /* with an early snapshot on its way */
        rig_run(rig, calls_that_are_left);
        read_trace(rig, &trace);
        rig_check_rows(rig, &trace, RIG_ROWS);
        assert_int_equal(trace_reason(&trace, "unwound"), LEFT_CALLS);
        trace_free(&trace);
    }
}

#define CONTEXTS_TEST(f) cmocka_unit_test_setup_teardown(f, rig_set_up_quick, rig_tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CONTEXTS_TEST(contexts_that_end_give_everything_back),
        CONTEXTS_TEST(a_call_whose_context_is_gone_does_not_touch_the_next_one),
        CONTEXTS_TEST(a_call_left_by_an_exception_gives_its_slot_back),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL); /* NULL: all */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
