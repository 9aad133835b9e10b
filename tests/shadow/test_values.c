/* SPDX-License-Identifier: Apache-2.0 */
/* What is recorded is what the GEMM had and gave, whatever types, layout and scalars it came with
 * and whatever the application does to its buffers afterwards; on the device, on the host, and with
 * copies in place of kernels. Run once for each order of the simulation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "shadow/trace/trace.h"

/* Runs rig->calls calls and checks every row. `mode`: of the armed event. */
static void expect_all(struct rig *rig, const char *mode)
{
    struct trace trace;
    const cJSON *armed;

    rig_run(rig, rig_calls);
    assert_true(trace_read(&trace, rig->dir, rig->pid));
    assert_int_equal(trace.end, MHCS_END_EXIT);
    rig_check_rows(rig, &trace, rig->calls * RIG_ROWS);
    assert_int_equal(trace_counter(&trace, "sampled"), rig->calls);
    assert_int_equal(trace_counter(&trace, "dropped"), 0);
    assert_int_equal(trace_counter(&trace, "failed"), 0);
    assert_int_equal(trace_events(&trace, "armed", NULL), 1);
    armed = cJSON_GetArrayItem(trace.events, 0);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(armed, "mode")), mode);
    trace_free(&trace);
}

static void records_hold_operands_and_results_of_their_call(void **state)
{
    expect_all(*state, "kernel");
}

static void every_type_is_read_as_it_is_stored(void **state)
{
    static const uint32_t types[][3] = {{MHCS_F32, MHCS_F32, MHCS_F32},
                                        {MHCS_BF16, MHCS_BF16, MHCS_F32},
                                        {MHCS_F16, MHCS_F16, MHCS_F16},
                                        {MHCS_F32, MHCS_BF16, MHCS_F32}};
    struct rig *rig = *state;

    rig->calls = 3;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        rig->shape.fn_dtype = types[i][0];
        rig->shape.x_dtype = types[i][1];
        rig->shape.c_dtype = types[i][2];
        expect_all(rig, "kernel");
    }
}

static void any_stride_and_alignment_will_do(void **state)
{
    struct rig *rig = *state;

    rig->calls = 3;
    rig->shape.pad = 3;
    rig->shape.offset = 1;
    expect_all(rig, "kernel");
    rig->shape.transposed = true;
    expect_all(rig, "kernel");
}

static void a_head_has_four_coefficients(void **state)
{
    struct rig *rig = *state;

    rig->shape.coefficients = 4;
    expect_all(rig, "kernel");
}

/* Uses alpha and beta in every way they can be given. */
static void expect_scalars(struct rig *rig, const char *mode)
{
    static const uint32_t dtypes[] = {MHCS_F32, MHCS_F16};

    rig->calls = 3;
    rig->shape.alpha = 0.5f;
    rig->shape.beta = -2;
    for (int i = 0; i < 4; i++) {
        rig->shape.scalars_on_device = i >= 2;
        rig->shape.scalar_dtype = dtypes[i % 2];
        expect_all(rig, mode);
    }
    rig->shape.beta = 0; /* on the device: not known to be zero */
    expect_all(rig, mode);
}

static void the_old_c_and_the_scalars_are_those_of_the_call(void **state)
{
    expect_scalars(*state, "kernel");
}

static void on_request_the_reference_runs_on_the_host(void **state)
{
    struct rig *rig = *state;

    rig->settings.reference = MHCS_REFERENCE_HOST;
    expect_all(rig, "host");
    expect_scalars(rig, "host");
}

static void expect_fallback(struct rig *rig, const char *mode, const char *reason)
{
    struct trace trace;

    expect_all(rig, mode);
    assert_true(trace_read(&trace, rig->dir, rig->pid));
    assert_int_equal(trace_events(&trace, "fallback", reason), 1);
    trace_free(&trace);
}

static void without_headroom_the_reference_runs_on_the_host(void **state)
{
    struct rig *rig = *state;

    rig->settings.headroom_mb = 1 << 20;
    expect_fallback(rig, "host", "MHCSHADOW_HEADROOM_MB");
}

static void a_slot_larger_than_the_arena_moves_to_the_host(void **state)
{
    struct rig *rig = *state;

    rig->settings.mem_mb = 1;
    rig->settings.shapes[0].k = 1 << 15;
    expect_fallback(rig, "host", "MHCSHADOW_MEM_MB");
}

/* By cuBLAS: all that were checked, and no step down. */
static void expect_cublas(struct rig *rig)
{
    struct trace trace;

    expect_all(rig, "cublas");
    assert_true(trace_read(&trace, rig->dir, rig->pid));
    assert_int_equal(trace_events(&trace, "fallback", NULL), 0);
    assert_true(trace_counter(&trace, "checked") > 0);
    assert_int_equal(trace_counter(&trace, "checked_cublas"), trace_counter(&trace, "checked"));
    trace_free(&trace);
}

static void on_request_the_reference_is_by_the_applications_cublas(void **state)
{
    static const uint32_t types[][3] = {{MHCS_F32, MHCS_F32, MHCS_F32},
                                        {MHCS_BF16, MHCS_BF16, MHCS_BF16},
                                        {MHCS_F16, MHCS_F16, MHCS_F16},
                                        {MHCS_F32, MHCS_BF16, MHCS_F32}};
    struct rig *rig = *state;

    rig->settings.reference = MHCS_REFERENCE_CUBLAS;
    rig->shape.cublas[0] = SIM_CUBLAS_13;
    rig->shape.cublas[1] = SIM_CUBLAS_12; /* two of them in one process: a handle in each */
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        rig->shape.fn_dtype = types[i][0];
        rig->shape.x_dtype = types[i][1];
        rig->shape.c_dtype = types[i][2];
        rig->shape.coefficients = i % 2 ? MHCS_COEFFICIENTS_HEAD : MHCS_COEFFICIENTS;
        expect_cublas(rig);
    }
    expect_scalars(rig, "cublas");
}

/* Every row is right by the own kernel, and the reason stands in trace and log, once. */
static void expect_kernel_instead(struct rig *rig, const char *armed, const char *reason)
{
    struct trace trace;

    rig->settings.reference = MHCS_REFERENCE_CUBLAS;
    expect_fallback(rig, armed, reason);
    assert_true(trace_read(&trace, rig->dir, rig->pid));
    assert_int_equal(trace_events(&trace, "fallback", NULL), 1);
    assert_int_equal(trace_counter(&trace, "checked_cublas"), 0);
    assert_int_equal(rig_logged(rig, reason), 1);
    trace_free(&trace);
}

static void a_cublas_that_is_not_there_leaves_its_calls_to_the_own_kernel(void **state)
{
    struct rig *rig = *state;
    struct trace trace;

    rig->settings.reference = MHCS_REFERENCE_CUBLAS;
    rig->shape.cublas[0] = SIM_CUBLAS_13;
    expect_fallback(rig, "cublas", "libcublas.so.12 is not loaded");
    assert_true(trace_read(&trace, rig->dir, rig->pid));
    assert_int_equal(trace_events(&trace, "fallback", NULL), 1);
    assert_true(trace_counter(&trace, "checked_cublas") > 0); /* call 0 */
    trace_free(&trace);
}

static void without_room_for_cublas_the_own_kernel_does_it(void **state)
{
    struct rig *rig = *state;

    rig->settings.mem_mb = 4;
    rig->shape.cublas[0] = rig->shape.cublas[1] = SIM_CUBLAS_13;
    expect_kernel_instead(rig, "kernel", "do not fit MHCSHADOW_MEM_MB=4");
}

static void whatever_of_cublas_fails_the_own_kernel_does_it(void **state)
{
    static const char *const functions[] = {"cublasCreate", "cublasSetStream", "cublasSetWorkspace",
                                            "cublasSetPointerMode", "cublasGemmEx"};
    struct rig *rig = *state;

    rig->shape.cublas[0] = rig->shape.cublas[1] = BROKEN_CUBLAS;
    rig->shape.alpha = 0.5f;
    rig->shape.beta = -2; /* what cuBLAS would have scaled must not count twice */
    rig->env[0][0] = "MHCSHADOW_TEST_BROKEN";
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        char symbol[32];

        snprintf(symbol, sizeof(symbol), "%s%s", functions[i],
                 strcmp(functions[i], "cublasGemmEx") == 0 ? "" : "_v2");
        rig->env[0][1] = symbol;
        expect_kernel_instead(rig, "cublas", functions[i]);
    }
}

static void a_cublas_that_computes_nonsense_is_found_out(void **state)
{
    struct rig *rig = *state;
    struct trace trace;
    uint32_t checked = 0;

    rig->settings.reference = MHCS_REFERENCE_CUBLAS;
    rig->shape.cublas[0] = rig->shape.cublas[1] =
        BROKEN_CUBLAS; /* its GEMM leaves the old C where the result should be */
    rig->shape.beta = -2;
    rig_run(rig, rig_calls);
    assert_true(trace_read(&trace, rig->dir, rig->pid));
    for (uint32_t i = 0; i < trace.count; i++) {
        checked += trace.rows[i].checked;
        assert_true(!trace.rows[i].checked || trace.rows[i].check > 0.1f);
    }
    assert_int_equal(checked, RIG_ROWS * trace_counter(&trace, "checked_cublas"));
    assert_true(checked > 0);
    trace_free(&trace);
}

static void where_the_module_is_refused_copies_give_the_same(void **state)
{
    struct rig *rig = *state;

    rig->env[0][0] = "SIMCUDA_CC";
    rig->env[0][1] = "5.0";
    expect_fallback(rig, "copy", "refuses the kernels");
    rig->shape.pad = 3;
    rig->shape.offset = 1;
    expect_all(rig, "copy");
    rig->shape.transposed = true;
    expect_scalars(rig, "copy");
}

static size_t free_before_arming, arena_bytes; /* of the child */

static size_t free_on_device(void)
{
    size_t available, total;

    CHILD_MUST(cuMemGetInfo(&available, &total) == CUDA_SUCCESS);
    return available;
}

/* At exit, when all samples are through: behind the library's own handler. */
static void memory_is_bounded(void)
{
    CHILD_MUST(free_before_arming - free_on_device() == arena_bytes);
}

static void calls_that_mind_memory(struct rig *rig)
{
    struct work work;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    free_before_arming = free_on_device();
    arena_bytes = (size_t)rig->settings.mem_mb << 20;
    atexit(memory_is_bounded);
    for (uint32_t i = 0; i < rig->calls; i++) {
        CHILD_MUST(work_call(&work, i));
    }
}

static void device_memory_is_the_arena_and_no_more(void **state)
{
    struct rig *rig = *state;

    rig_run(rig, calls_that_mind_memory);
    rig->settings.reference = MHCS_REFERENCE_CUBLAS;
    rig->shape.cublas[0] = rig->shape.cublas[1] = SIM_CUBLAS_13;
    rig_run(rig, calls_that_mind_memory);
}

static void the_first_sample_is_checked_against_fp64(void **state)
{
    struct rig *rig = *state;
    struct trace trace;
    uint32_t checked = 0;

    rig_run(rig, rig_calls);
    assert_true(trace_read(&trace, rig->dir, rig->pid));
    for (uint32_t i = 0; i < trace.count; i++) {
        assert_true(trace.rows[i].call != 0 || trace.rows[i].checked);
        checked += trace.rows[i].checked;
    }
    assert_int_equal(checked, RIG_ROWS * trace_counter(&trace, "checked"));
    trace_free(&trace);
}

/* All rows are sampled, so that each finds the one that it repeats. */
static void rows_that_repeat_are_marked_as_padding(void **state)
{
    static const enum mhcs_reference_kind kinds[] = {MHCS_REFERENCE_KERNEL, MHCS_REFERENCE_HOST};
    struct rig *rig = *state;

    rig->calls = 2;
    rig->shape.distinct = 20;
    rig->settings.rows = WORK_TOKENS + rig->calls;
    for (size_t i = 0; i < 2; i++) {
        struct trace trace;

        rig->settings.reference = kinds[i];
        rig_run(rig, rig_calls);
        assert_true(trace_read(&trace, rig->dir, rig->pid));
        assert_int_equal(trace.count, 2 * WORK_TOKENS + 1);
        for (uint32_t n = 0; n < trace.count; n++) {
            rig_check_row(rig, &trace.rows[n]);
            assert_int_equal(trace.rows[n].padded, trace.rows[n].row >= 20);
        }
        trace_free(&trace);
    }
}

#define VALUES_TEST(f) cmocka_unit_test_setup_teardown(f, rig_set_up, rig_tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        VALUES_TEST(records_hold_operands_and_results_of_their_call),
        VALUES_TEST(every_type_is_read_as_it_is_stored),
        VALUES_TEST(any_stride_and_alignment_will_do),
        VALUES_TEST(a_head_has_four_coefficients),
        VALUES_TEST(the_old_c_and_the_scalars_are_those_of_the_call),
        VALUES_TEST(on_request_the_reference_runs_on_the_host),
        VALUES_TEST(without_headroom_the_reference_runs_on_the_host),
        VALUES_TEST(a_slot_larger_than_the_arena_moves_to_the_host),
        VALUES_TEST(on_request_the_reference_is_by_the_applications_cublas),
        VALUES_TEST(a_cublas_that_is_not_there_leaves_its_calls_to_the_own_kernel),
        VALUES_TEST(without_room_for_cublas_the_own_kernel_does_it),
        VALUES_TEST(whatever_of_cublas_fails_the_own_kernel_does_it),
        VALUES_TEST(a_cublas_that_computes_nonsense_is_found_out),
        VALUES_TEST(where_the_module_is_refused_copies_give_the_same),
        VALUES_TEST(device_memory_is_the_arena_and_no_more),
        VALUES_TEST(the_first_sample_is_checked_against_fp64),
        VALUES_TEST(rows_that_repeat_are_marked_as_padding),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL); /* NULL: all */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
