/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rig.h"

#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shadow/engine.h"
#include "shadow/log.h"
#include "shadow/path.h"
#include "shadow/trace/trace.h"
#include "simcuda.h"

int rig_set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));

    snprintf(rig->dir, sizeof(rig->dir), "/tmp/mhcs-shadow-XXXXXX");
    rig->settings = (struct mhcs_settings){
        .enabled = true,
        .sample = 1,
        .rows = RIG_ROWS,
        .shapes = {{MHCS_COEFFICIENTS, RIG_K}, {MHCS_COEFFICIENTS_HEAD, RIG_K}},
        .shape_count = 2,
        .mem_mb = 8,
        .headroom_mb = 1,
        .max_mb = 64,
    };
    rig->shape = (struct work_shape){
        .fn_dtype = MHCS_BF16,
        .x_dtype = MHCS_BF16,
        .c_dtype = MHCS_BF16,
        .coefficients = MHCS_COEFFICIENTS,
        .k = RIG_K,
        .alpha = 1,
        .sites = 3,
    };
    rig->calls = 6;
    *state = rig;
    if (!mkdtemp(rig->dir)) {
        return -1;
    }
    snprintf(rig->log, sizeof(rig->log), "%s/log", rig->dir);
    return 0;
}

int rig_set_up_quick(void **state)
{
    const int error = rig_set_up(state);
#if defined(RIG_SLOW)
    struct rig *rig = *state;

    rig->env[1][0] = "SIMCUDA_CC";
    rig->env[1][1] = "5.0";
#endif
    return error;
}

int rig_set_up_graphs(void **state)
{
    const int error = rig_set_up(state);

    ((struct rig *)*state)->settings.graphs = true;
    return error;
}

int rig_tear_down(void **state)
{
    struct rig *rig = *state;
    DIR *d;
    struct dirent *e;

    d = opendir(rig->dir);
    while (d && (e = readdir(d))) {
        unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d) {
        closedir(d);
    }
    rmdir(rig->dir);
    free(rig);
    return 0;
}

/* Registered before the library's own handler, so it runs after it. */
static void fail_on_faults(void)
{
    if (simcuda_fault_count() > 0) {
        _exit(98);
    }
}

static void child(struct rig *rig, void (*scenario)(struct rig *rig))
{
    CUcontext context;

    alarm(RIG_SECONDS + 30);
    for (size_t i = 0; i < 2; i++) {
        if (rig->env[i][0]) {
            setenv(rig->env[i][0], rig->env[i][1], 1);
        }
    }
    if (rig->settings.dir[0] == '\0') {
        snprintf(rig->settings.dir, sizeof(rig->settings.dir), "%s", rig->dir);
    }
    if (!rig->bare) {
        CHILD_MUST(cuInit(0) == CUDA_SUCCESS);
        CHILD_MUST(cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
    }
    atexit(fail_on_faults);
    mhcs_log_configure(MHCS_LOG_INFO, rig->log);
    mhcs_shadow_configure(&rig->settings, NULL);
    scenario(rig);
    exit(0);
}

static void show_log(const struct rig *rig)
{
    char line[2048];
    FILE *f = fopen(rig->log, "r");

    while (f && fgets(line, sizeof(line), f)) {
        print_message("%s", line);
    }
    if (f) {
        fclose(f);
    }
}

int rig_logged(const struct rig *rig, const char *text)
{
    char line[2048];
    int lines = 0;
    FILE *f = fopen(rig->log, "r");

    while (f && fgets(line, sizeof(line), f)) {
        lines += strstr(line, text) != NULL;
    }
    if (f) {
        fclose(f);
    }
    return lines;
}

void rig_run(struct rig *rig, void (*scenario)(struct rig *rig))
{
    int status;

    fflush(NULL);
    unlink(rig->log);
    rig->pid = fork();
    if (rig->pid == 0) {
        child(rig, scenario);
    }
    assert_int_equal(waitpid(rig->pid, &status, 0), rig->pid);
    if (status != 0) {
        show_log(rig);
        fail_msg("the child ended with %s %d", WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
}

CUstream rig_stream(void)
{
    CUstream stream;

    CHILD_MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    return stream;
}

static bool all_slots_are_free(void)
{
    for (uint32_t i = 0; i < MHCS_ENGINES_MAX; i++) {
        struct mhcs_engine *const engine = mhcs_engine_hold_at(i);
        bool free = true;

        if (engine) {
            free = mhcs_engine_state(engine) != MHCS_ENGINE_ARMED ||
                   atomic_load(&engine->pool.free) == UINT64_MAX;
            mhcs_engine_let_go(engine);
        }
        if (!free) {
            return false;
        }
    }
    return true;
}

void rig_wait_for_slots(void)
{
    while (!all_slots_are_free()) {
        sched_yield();
    }
}

void rig_calls(struct rig *rig)
{
    struct work work;

    work_init(&work, &rig->shape, rig_stream(), rig->calls);
    for (uint32_t i = 0; i < rig->calls; i++) {
        CHILD_MUST(work_call(&work, i));
    }
    rig_wait_for_slots();
}

void rig_read_trace(const struct rig *rig, struct trace *trace)
{
    assert_true(trace_read(trace, rig->dir, rig->pid));
    assert_int_equal(trace->end, MHCS_END_EXIT);
}

void rig_check_row(const struct rig *rig, const struct trace_row *row)
{
    const struct work_shape *s = &rig->shape;
    const uint32_t i = (uint32_t)(row->tokens - WORK_TOKENS);
    double difference = 0, size = 0;
    char name[24];

    assert_in_range(row->tokens, WORK_TOKENS, WORK_TOKENS + rig->calls - 1);
    assert_in_range(row->row, 0, row->tokens - 1);
    assert_int_equal(row->site, i % s->sites);
    snprintf(name, sizeof(name), "site%d", row->site);
    assert_string_equal(row->site_name, name);
    assert_string_equal(row->role, s->coefficients == 4 ? "head" : "");
    assert_false(row->layer_known || row->checkpoint_known);
    assert_int_equal(row->nonfinite, 0);
    assert_int_equal(row->device, 0);
    assert_true(fabs((double)row->rms / work_rms(s, i, row->row) - 1) < 1e-6);
    for (uint32_t j = 0; j < s->coefficients; j++) {
        double terms;
        const double exact = work_exact(s, i, row->row, j, &terms);
        const double production = work_production(s, i, row->row, j);

        if ((double)row->production[j] != production ||
            fabs((double)row->operands[j] - exact) > 1e-6 * terms) {
            fail_msg("call %u, row %d, coefficient %u: production %.9g, wanted %.9g; reference "
                     "%.9g, wanted %.9g",
                     i, row->row, j, (double)row->production[j], production,
                     (double)row->operands[j], exact);
        }
        difference += (production - exact) * (production - exact);
        size += exact * exact;
    }
    for (uint32_t j = s->coefficients; j < MHCS_COEFFICIENTS; j++) {
        assert_true(isnan(row->production[j]) && isnan(row->operands[j]));
    }
    if (fabs((double)row->rel - sqrt(difference / size)) > 1e-6 + 0.01 * (double)row->rel) {
        fail_msg("rel %.3e, wanted %.3e", (double)row->rel, sqrt(difference / size));
    }
    if (row->checked && !((double)row->check < 1e-6)) {
        fail_msg("check %.3e", (double)row->check);
    }
}

void rig_check_rows(const struct rig *rig, const struct trace *trace, uint32_t expected)
{
    const struct mhcs_gemm gemm = {.fn.dtype = rig->shape.fn_dtype,
                                   .x.dtype = rig->shape.x_dtype,
                                   .c.dtype = rig->shape.c_dtype};
    char path[MHCS_PATH_BYTES];

    assert_int_equal(trace->count, expected);
    for (uint32_t n = 0; n < trace->count; n++) {
        const struct trace_row *row = &trace->rows[n];
        uint32_t of_call = 0;

        rig_check_row(rig, row);
        assert_string_equal(row->path, mhcs_path_format(&gemm, path));
        for (uint32_t m = 0; m < trace->count; m++) {
            if (trace->rows[m].call == row->call) {
                assert_int_equal(trace->rows[m].tokens, row->tokens);
                assert_true(m == n || trace->rows[m].row != row->row);
                of_call++;
            }
        }
        assert_int_equal(of_call, RIG_ROWS);
    }
}
