/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and files: forks, a directory or disk that can't take the trace, SIGKILL, and what a
 * trace says about its process. Run once for each order of the simulation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rig.h"
#include "shadow/trace/trace.h"

static void read_trace(struct rig *rig, struct trace *trace)
{
    assert_true(trace_read(trace, rig->dir, rig->pid));
    assert_int_equal(trace->end, MHCS_END_EXIT);
}

/* ---- forks ---- */

static void fork_between_calls(struct rig *rig)
{
    struct work work;
    int status;
    pid_t child;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    CHILD_MUST(work_call(&work, 0));
    child = fork();
    if (child == 0) {
        const struct mhcs_gemm gemm = work_gemm(&work, 0);
        struct mhcs_sample sample;

        for (int i = 0; i < MHCS_COUNTERS; i++) {
            CHILD_MUST(mhcs_counter_value((enum mhcs_counter)i) == 0);
        }
        CHILD_MUST(!mhcs_shadow_before(&sample, &gemm)); /* the parent's CUDA can't be used here */
        exit(0);
    }
    CHILD_MUST(waitpid(child, &status, 0) == child && status == 0);
    for (uint32_t i = 1; i < rig->calls; i++) {
        CHILD_MUST(work_call(&work, i));
    }
}

static void a_forked_child_starts_over_with_a_file_of_its_own(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

#if defined(RIG_NO_THREADS_BEHIND_FORK)
    print_message("sanitizers allow no threads behind a fork\n");
    skip();
#endif
    rig_run(rig, fork_between_calls);
    assert_int_equal(traces_count(rig->dir), 2);
    read_trace(rig, &trace);
    rig_check_rows(rig, &trace, rig->calls * RIG_ROWS);
    trace_free(&trace);
}

static void quiet_fork(struct rig *rig)
{
    int status;
    pid_t child;

    rig_calls(rig);
    child = fork();
    if (child == 0) {
#if defined(RIG_NO_THREADS_BEHIND_FORK)
        _exit(0); /* LeakSanitizer takes what the parent's threads held for lost */
#else
        exit(0);
#endif
    }
    CHILD_MUST(waitpid(child, &status, 0) == child && status == 0);
}

static void a_forked_child_that_makes_no_call_leaves_nothing(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig_run(rig, quiet_fork);
    read_trace(rig, &trace); /* the only one */
    rig_check_rows(rig, &trace, rig->calls * RIG_ROWS);
    trace_free(&trace);
}

/* ---- files ---- */

static void calls_until_declined(struct rig *rig)
{
    const time_t deadline = time(NULL) + RIG_SECONDS;
    struct work work;

    work_init(&work, &rig->shape, rig_stream(), 1);
    while (mhcs_counter_value(MHCS_FAILED) == 0) {
        CHILD_MUST(time(NULL) < deadline);
        work_call(&work, 0);
    }
}

/* Exactly one line of the log speaks of the trace, and holds all of `words`. */
static void expect_complaint(struct rig *rig, const char *const *words)
{
    char line[2048];
    int lines = 0;
    FILE *f = fopen(rig->log, "r");

    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        if (strstr(line, "can't write a trace")) {
            lines++;
            for (int i = 0; words[i]; i++) {
                if (!strstr(line, words[i])) {
                    fail_msg("'%s' is not in: %s", words[i], line);
                }
            }
        }
    }
    fclose(f);
    assert_int_equal(lines, 1);
}

static void a_directory_that_is_not_there_is_named_with_the_remedy(void **state)
{
    struct rig *rig = *state;
    char missing[PATH_MAX];

    snprintf(missing, sizeof(missing), "%s/missing", rig->dir);
    snprintf(rig->settings.dir, sizeof(rig->settings.dir), "%s", missing);
    rig_run(rig, calls_until_declined);
    expect_complaint(rig, (const char *[]){missing, "No such file", "MHCSHADOW_DIR", NULL});
    assert_int_equal(traces_count(rig->dir), 0);
}

/* The limit comes when a batch has been written. */
static void limited_file_size(struct rig *rig)
{
    const time_t deadline = time(NULL) + RIG_SECONDS;
    struct rlimit limit;
    struct work work;
    off_t created = 0, size = 0;

    work_init(&work, &rig->shape, rig_stream(), 1);
    CHILD_MUST(work_call(&work, 0));
    while (created == 0 || size == created) {
        CHILD_MUST(time(NULL) < deadline);
        CHILD_MUST(cuCtxSynchronize() == CUDA_SUCCESS);
        size = traces_size(rig->dir);
        created = created == 0 ? size : created;
        sched_yield();
    }
    limit = (struct rlimit){(rlim_t)size + 500, (rlim_t)size + 500};
    CHILD_MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    calls_until_declined(rig);
}

static void a_trace_that_can_not_grow_ends_and_the_application_goes_on(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig_run(rig, limited_file_size);
    expect_complaint(rig, (const char *[]){rig->dir, "File too large", "MHCSHADOW_MAX_MB", NULL});
    assert_true(trace_read(&trace, rig->dir, rig->pid)); /* valid up to its end */
    assert_true(trace.count > 0);
    trace_free(&trace);
}

static void killed(struct rig *rig)
{
    const time_t deadline = time(NULL) + RIG_SECONDS;
    int status;
    const pid_t child = fork();

    if (child == 0) {
        CUcontext context;

        CHILD_MUST(cuInit(0) == CUDA_SUCCESS);
        CHILD_MUST(cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
        rig_calls(rig);
        for (;;) {
            pause();
        }
    }
    while (traces_size(rig->dir) == 0) { /* it is empty until its header is written */
        const struct timespec t = {0, 10000000};

        CHILD_MUST(time(NULL) < deadline);
        nanosleep(&t, NULL);
    }
    kill(child, SIGKILL);
    CHILD_MUST(waitpid(child, &status, 0) == child);
}

static void a_killed_process_leaves_a_valid_trace(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->bare = true;
    rig_run(rig, killed);
    assert_true(trace_read(&trace, rig->dir, 0));
    assert_int_equal(trace.end, 0);
    trace_free(&trace);
}

/* ---- facts ---- */

static void the_trace_tells_what_ran(void **state)
{
    struct rig *rig = *state;
    struct trace trace;
    const cJSON *gpu, *site;

    rig->env[0][0] = "NVIDIA_TF32_OVERRIDE";
    rig->env[0][1] = "1";
    snprintf(rig->settings.label, sizeof(rig->settings.label), "a \"label\"");
    rig_run(rig, rig_calls);
    read_trace(rig, &trace);
#define FACT(object, name) cJSON_GetStringValue(cJSON_GetObjectItem(object, name))
    assert_string_equal(FACT(trace.process, "format"), "mhcshadow");
    assert_int_equal(cJSON_GetObjectItem(trace.process, "pid")->valueint, rig->pid);
    assert_string_equal(FACT(trace.process, "label"), "a \"label\"");
    assert_non_null(strstr(
        cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItem(trace.process, "command"), 0)),
        "test_shadow_process"));
    assert_string_equal(
        FACT(cJSON_GetObjectItem(trace.process, "environment"), "NVIDIA_TF32_OVERRIDE"), "1");
    assert_string_equal(FACT(cJSON_GetObjectItem(trace.process, "cublas"), "path"),
                        "libcublas.so.13");
    gpu = cJSON_GetObjectItem(trace.process, "gpu");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(gpu, "simulated")));
    assert_true(cJSON_GetObjectItem(gpu, "sm_count")->valueint > 0);
    assert_int_equal(strlen(FACT(gpu, "uuid")), 40);
    assert_int_equal(cJSON_GetArraySize(trace.sites), rig->shape.sites);
    site = cJSON_GetArrayItem(trace.sites, 0);
    assert_string_equal(FACT(site, "name"), "site0");
    assert_string_equal(FACT(site, "dtype"), "bf16");
    assert_string_equal(FACT(site, "path"), "bf16*bf16->bf16/f32");
    assert_int_equal(strlen(FACT(site, "fingerprint")), 16);
    assert_true(cJSON_GetObjectItem(site, "absmax")->valuedouble == 128.0 / 1024);
#undef FACT
    trace_free(&trace);
}

#define PROCESS_TEST(f) cmocka_unit_test_setup_teardown(f, rig_set_up_quick, rig_tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        PROCESS_TEST(a_forked_child_starts_over_with_a_file_of_its_own),
        PROCESS_TEST(a_forked_child_that_makes_no_call_leaves_nothing),
        PROCESS_TEST(a_directory_that_is_not_there_is_named_with_the_remedy),
        PROCESS_TEST(a_trace_that_can_not_grow_ends_and_the_application_goes_on),
        PROCESS_TEST(a_killed_process_leaves_a_valid_trace),
        PROCESS_TEST(the_trace_tells_what_ran),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL); /* NULL: all */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
