/* SPDX-License-Identifier: Apache-2.0 */
/* Which driver calls the library makes on an application's thread, and that a failure of any of
 * them, at arming or later, stays its own. Against a driver that only answers and remembers; each
 * case in a process of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <cuda.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/shadow/child.h"
#include "fakecuda.h"
#include "shadow/log.h"
#include "shadow/shadow.h"

static char dir[] = "/tmp/mhcs-driver-XXXXXX";

static struct mhcs_settings settings = {
    .enabled = true,
    .sample = 1,
    .rows = 4,
    .shapes = {{24, 256}},
    .shape_count = 1,
    .mem_mb = 1,
    .headroom_mb = 1,
    .max_mb = 1,
};

/* The status that `body` returned in a child that then exits as usual. */
static int in_child(int (*body)(int), int arg)
{
    const pid_t child = fork();
    int status;

    if (child == 0) {
        alarm(20);
        mhcs_log_configure(MHCS_LOG_OFF, NULL);
        mhcs_shadow_configure(&settings, NULL);
        exit(body(arg));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static const struct mhcs_gemm *gemm(void)
{
    static const float one = 1, zero = 0;
    static const struct mhcs_gemm g = {
        .fn = {0x100000, 256, 1, MHCS_BF16, 0},
        .x = {0x200000, 256, 1, MHCS_BF16, 0},
        .c = {0x300000, 24, 1, MHCS_BF16, 0},
        .old_c = {0x300000, 24, 1, MHCS_BF16, 0},
        .tokens = 5,
        .k = 256,
        .coefficients = 24,
        .alpha = &one,
        .beta = &zero,
        .stream = (void *)0x3000,
    };

    return &g;
}

/* Whether it was taken. */
static bool call(bool works)
{
    struct mhcs_sample sample;
    const bool taken = mhcs_shadow_before(&sample, gemm());

    if (taken) {
        mhcs_shadow_after(&sample, works);
    }
    return taken;
}

static int capture(int unused)
{
    static const int answers[][2] = {
        {CUDA_SUCCESS, CU_STREAM_CAPTURE_STATUS_ACTIVE},
        {CUDA_SUCCESS, CU_STREAM_CAPTURE_STATUS_INVALIDATED},
        {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 0},
    };

    for (size_t i = 0; i < 3; i++) {
        fakecuda_calls();
        fakecuda_capturing(answers[i][0], answers[i][1]);
        CHILD_MUST(!call(true));
        CHILD_MUST(
            strcmp(fakecuda_calls(), i == 0 ? "cuCtxGetCurrent cuCtxGetDevice cuStreamIsCapturing "
                                            : "cuCtxGetCurrent cuStreamIsCapturing ") == 0);
    }
    CHILD_MUST(mhcs_counter_value(MHCS_CAPTURED) == 3);
    fakecuda_capturing(CUDA_SUCCESS, CU_STREAM_CAPTURE_STATUS_NONE);
    CHILD_MUST(call(true)); /* the first call outside of a capture arms */
    fakecuda_capturing(CUDA_SUCCESS, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    fakecuda_calls();
    CHILD_MUST(!call(true));
    CHILD_MUST(strcmp(fakecuda_calls(), "cuCtxGetCurrent cuStreamIsCapturing ") == 0);
    return 0;
}

static void a_captured_call_only_asks(void **state)
{
    assert_int_equal(in_child(capture, 0), 0);
}

static int only_captured(int unused)
{
    fakecuda_capturing(CUDA_SUCCESS, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHILD_MUST(!call(true));
    return 0;
}

static int count_traces(void)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int count = 0;

    while ((e = readdir(d))) {
        if (e->d_name[0] != '.') {
            unlinkat(dirfd(d), e->d_name, 0);
            count++;
        }
    }
    closedir(d);
    return count;
}

static void a_process_whose_calls_are_all_captured_tells_so_in_a_trace(void **state)
{
    count_traces();
    assert_int_equal(in_child(only_captured, 0), 0);
    assert_int_equal(count_traces(), 1);
}

static int few_calls(int unused)
{
    CHILD_MUST(call(true));
    fakecuda_calls();
    CHILD_MUST(call(true));
    CHILD_MUST(strcmp(fakecuda_calls(),
                      "cuCtxGetCurrent cuStreamIsCapturing cuCtxGetId cuPointerGetAttributes "
                      "cuPointerGetAttributes cuPointerGetAttributes cuLaunchKernel "
                      "cuEventRecord ") == 0);
    CHILD_MUST(call(false)); /* of a GEMM that failed nothing is launched */
    CHILD_MUST(!strstr(fakecuda_calls(), "cuLaunchKernel"));
    return 0;
}

static void a_sampled_call_makes_few_driver_calls_and_none_that_waits(void **state)
{
    assert_int_equal(in_child(few_calls, 0), 0);
}

enum outcome { MADE_DO, REFUSED };

/* The driver calls of the first sampled call, up to the one that ends arming. */
static int count_calls_of_arming(int unused)
{
    const char *last = "", *end;
    int count = 1;

    CHILD_MUST(call(true));
    end = fakecuda_calls();
    for (const char *s = end; (s = strstr(s, "cuThreadExchange")); s++) {
        last = s;
    }
    for (const char *s = end; s < last; s++) {
        count += *s == ' ';
    }
    return count;
}

/* The n-th driver call of the first sampled call fails. */
static int failing_first_call(int n)
{
    const int before = fakecuda_balance();
    bool taken;

    fakecuda_fail(n, CUDA_ERROR_UNKNOWN);
    taken = call(true);
    CHILD_MUST(fakecuda_failed());
    CHILD_MUST(fakecuda_capture_mode() == CU_STREAM_CAPTURE_MODE_GLOBAL);
    if (taken) {
        return MADE_DO;
    }
    CHILD_MUST(fakecuda_balance() == before);
    fakecuda_calls();
    CHILD_MUST(!call(true)); /* it is not tried again */
    CHILD_MUST(strcmp(fakecuda_calls(), "cuCtxGetCurrent cuStreamIsCapturing cuCtxGetId ") == 0);
    CHILD_MUST(mhcs_counter_value(MHCS_FAILED) == 2);
    return REFUSED;
}

static void a_failure_anywhere_in_arming_leaves_nothing_behind(void **state)
{
    const int calls = in_child(count_calls_of_arming, 0);
    int outcomes[2] = {0};

    /* The first four are cuCtxGetCurrent, cuCtxGetDevice, cuStreamIsCapturing and cuCtxGetId. */
    for (int n = 5; n < calls; n++) {
        const int outcome = in_child(failing_first_call, n);

        if (outcome > REFUSED) {
            fail_msg("failure %d of %d: status %d", n, calls, outcome);
        }
        outcomes[outcome]++;
    }
    print_message("%d failures refused, %d made do with\n", outcomes[REFUSED], outcomes[MADE_DO]);
    assert_true(outcomes[REFUSED] > 20);    /* two events a slot alone */
    assert_int_equal(outcomes[MADE_DO], 8); /* six of the module, two of the memory */
}

/* The n-th driver call of a sampled call in an armed context fails. */
static int failing_later_call(int n)
{
    CHILD_MUST(call(true));
    fakecuda_fail(n, CUDA_ERROR_LAUNCH_FAILED);
    call(true);
    CHILD_MUST(fakecuda_failed());
    CHILD_MUST(mhcs_counter_value(MHCS_FAILED) == 1);
    CHILD_MUST(mhcs_counter_value(MHCS_SAMPLED) <= 1);
    return call(true) ? MADE_DO : REFUSED;
}

static void a_failed_launch_ends_sampling_and_a_failed_question_one_sample(void **state)
{
    for (int n = 1; n <= 6; n++) {
        assert_int_equal(in_child(failing_later_call, n), MADE_DO);
    }
    assert_int_equal(in_child(failing_later_call, 7), REFUSED); /* cuLaunchKernel */
    assert_int_equal(in_child(failing_later_call, 8), REFUSED); /* cuEventRecord */
}

static int many_contexts(int unused)
{
    unsigned taken = 0;

    for (unsigned i = 1; i <= 40; i++) {
        fakecuda_context(i);
        taken += call(true);
    }
    CHILD_MUST(taken == 32);
    CHILD_MUST(mhcs_counter_value(MHCS_FAILED) == 8);
    fakecuda_context(1);
    CHILD_MUST(call(true));
    return 0;
}

static void contexts_beyond_the_table_are_counted(void **state)
{
    assert_int_equal(in_child(many_contexts, 0), 0);
}

static int make_dir(void **state)
{
    if (!mkdtemp(dir)) {
        return -1;
    }
    strcpy(settings.dir, dir);
    return 0;
}

static int remove_dir(void **state)
{
    count_traces();
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_captured_call_only_asks),
        cmocka_unit_test(a_process_whose_calls_are_all_captured_tells_so_in_a_trace),
        cmocka_unit_test(a_sampled_call_makes_few_driver_calls_and_none_that_waits),
        cmocka_unit_test(a_failure_anywhere_in_arming_leaves_nothing_behind),
        cmocka_unit_test(a_failed_launch_ends_sampling_and_a_failed_question_one_sample),
        cmocka_unit_test(contexts_beyond_the_table_are_counted),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
