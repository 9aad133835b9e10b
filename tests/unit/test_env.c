/* SPDX-License-Identifier: Apache-2.0 */
/* The environment: every variable, values that are taken, values that are refused, and what is
 * said. The log is a double that keeps its lines. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "interpose/env.h"
#include "shadow/log.h"

static char said[4096]; /* lines since the last read_env() */
static unsigned lines;
static enum mhcs_log_level level;
static char file[PATH_MAX];

void mhcs_log_configure(enum mhcs_log_level new_level, const char *new_file)
{
    level = new_level;
    snprintf(file, sizeof(file), "%s", new_file ? new_file : "(stderr)");
}

void mhcs_log(enum mhcs_log_level line_level, const char *format, ...)
{
    const size_t used = strlen(said);
    va_list args;

    va_start(args, format);
    vsnprintf(said + used, sizeof(said) - used, format, args);
    va_end(args);
    lines++;
}

static struct mhcs_settings settings;

/* Up to seven NAME=VALUE strings. */
static void read_env(const char *first, ...)
{
    char *environment[8] = {NULL};
    va_list args;
    size_t n = 0;

    va_start(args, first);
    for (const char *entry = first; entry; entry = va_arg(args, const char *)) {
        environment[n++] = (char *)(uintptr_t)entry;
    }
    va_end(args);
    said[0] = '\0';
    lines = 0;
    mhcs_env_read(environment, &settings);
}

#define READ(...) read_env(__VA_ARGS__, (const char *)NULL)

static void assert_silent(void)
{
    if (lines != 0) {
        fail_msg("said: %s", said);
    }
}

/* One warning that holds all the given texts. */
static void assert_warned(const char *first, ...)
{
    va_list args;

    assert_int_equal(lines, 1);
    va_start(args, first);
    for (const char *text = first; text; text = va_arg(args, const char *)) {
        if (!strstr(said, text)) {
            fail_msg("'%s' is missing in: %s", text, said);
        }
    }
    va_end(args);
}

#define WARNED(...) assert_warned(__VA_ARGS__, (const char *)NULL)

static void an_empty_environment_gives_the_documented_defaults(void **state)
{
    static const struct mhcs_shape shapes[] = {{24, 16384}, {4, 16384},  {24, 28672},
                                               {4, 28672},  {24, 20480}, {4, 20480}};

    READ("PATH=/bin");
    assert_silent();
    assert_true(settings.enabled);
    assert_true(settings.sample == 1.0 / 64);
    assert_int_equal(settings.rows, 16);
    assert_string_equal(settings.dir, ".");
    assert_string_equal(settings.model, "");
    assert_string_equal(settings.metrics, "");
    assert_string_equal(settings.label, "");
    assert_int_equal(settings.reference, MHCS_REFERENCE_KERNEL);
    assert_int_equal(settings.mem_mb, 64);
    assert_int_equal(settings.headroom_mb, 1024);
    assert_int_equal(settings.max_mb, 1024);
    assert_true(settings.budget == 0.005);
    assert_false(settings.sync);
    assert_int_equal(settings.shape_count, 6);
    assert_memory_equal(settings.shapes, shapes, sizeof(shapes));
    assert_int_equal(level, MHCS_LOG_WARN);
    assert_string_equal(file, "(stderr)");
}

static void an_empty_value_is_as_good_as_none(void **state)
{
    READ("MHCSHADOW_SAMPLE=", "MHCSHADOW_DIR=", "MHCSHADOW_LOG=", "MHCSHADOW=", "MHCSHADOW_MODEL=",
         "MHCSHADOW_REFERENCE=");
    assert_silent();
    assert_true(settings.enabled);
    assert_true(settings.sample == 1.0 / 64);
    assert_string_equal(settings.dir, ".");
}

static void sampling_takes_every_documented_form(void **state)
{
    static const struct {
        const char *entry;
        double p;
    } good[] = {
        {"MHCSHADOW_SAMPLE=0", 0},
        {"MHCSHADOW_SAMPLE=off", 0},
        {"MHCSHADOW_SAMPLE=all", 1},
        {"MHCSHADOW_SAMPLE=1", 1},
        {"MHCSHADOW_SAMPLE=1/64", 1.0 / 64},
        {"MHCSHADOW_SAMPLE=1/1", 1},
        {"MHCSHADOW_SAMPLE=0.015625", 1.0 / 64},
        {"MHCSHADOW_SAMPLE=1.5%", 0.015},
        {"MHCSHADOW_SAMPLE=25%", 0.25},
    };
    static const char *const bad[] = {
        "MHCSHADOW_SAMPLE=64",   "MHCSHADOW_SAMPLE=1/0",   "MHCSHADOW_SAMPLE=-1",
        "MHCSHADOW_SAMPLE=1.1",  "MHCSHADOW_SAMPLE=often", "MHCSHADOW_SAMPLE=1/64 ",
        "MHCSHADOW_SAMPLE=101%", "MHCSHADOW_SAMPLE=nan",
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        READ(good[i].entry);
        assert_silent();
        assert_true(settings.sample == good[i].p);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        READ(bad[i]);
        WARNED(bad[i], "0, off, all, 1/N", "using 1/64");
        assert_true(settings.sample == 1.0 / 64);
    }
}

static void numbers_are_taken_within_their_range(void **state)
{
    READ("MHCSHADOW_ROWS=256", "MHCSHADOW_MEM_MB=128", "MHCSHADOW_HEADROOM_MB=0",
         "MHCSHADOW_MAX_MB=7");
    assert_silent();
    assert_int_equal(settings.rows, 256);
    assert_int_equal(settings.mem_mb, 128);
    assert_int_equal(settings.headroom_mb, 0);
    assert_int_equal(settings.max_mb, 7);

    READ("MHCSHADOW_ROWS=257");
    WARNED("MHCSHADOW_ROWS=257", "1 to 256", "using 16");
    assert_int_equal(settings.rows, 16);
    READ("MHCSHADOW_ROWS=0");
    WARNED("MHCSHADOW_ROWS=0", "1 to 256");
    READ("MHCSHADOW_MEM_MB=64M");
    WARNED("MHCSHADOW_MEM_MB=64M", "a number of MiB", "using 64");
    assert_int_equal(settings.mem_mb, 64);
    READ("MHCSHADOW_HEADROOM_MB=-1");
    WARNED("MHCSHADOW_HEADROOM_MB=-1", "using 1024");
    READ("MHCSHADOW_MAX_MB=99999999999999999999");
    WARNED("MHCSHADOW_MAX_MB=9999", "using 1024");
}

static void texts_are_taken_up_to_their_room(void **state)
{
    char label[400], dir[PATH_MAX + 100];

    READ("MHCSHADOW_DIR=/var/tmp/a b", "MHCSHADOW_LABEL=prefill, build 7");
    assert_silent();
    assert_string_equal(settings.dir, "/var/tmp/a b");
    assert_string_equal(settings.label, "prefill, build 7");

    snprintf(label, sizeof(label), "MHCSHADOW_LABEL=%0256d", 0);
    READ(label);
    WARNED("MHCSHADOW_LABEL=000", "255 bytes");
    assert_string_equal(settings.label, "");
    memset(dir, 'd', sizeof(dir) - 1);
    memcpy(dir, "MHCSHADOW_DIR=", 14);
    dir[sizeof(dir) - 1] = '\0';
    READ(dir);
    WARNED("MHCSHADOW_DIR=ddd", "using .");
    assert_string_equal(settings.dir, ".");
}

#define SIXTEEN_SHAPES                                                                             \
    "24x4,24x8,24x12,24x16,24x20,24x24,24x28,24x32,24x36,24x40,24x44,24x48,24x52,24x56,24x60,"     \
    "24x64"

static void shapes_are_auto_or_a_list(void **state)
{
    static const struct mhcs_shape two[] = {{24, 256}, {4, 12288}};
    static const char *const bad[] = {
        "MHCSHADOW_SHAPES=24",          "MHCSHADOW_SHAPES=24x",
        "MHCSHADOW_SHAPES=x16384",      "MHCSHADOW_SHAPES=8x16384",
        "MHCSHADOW_SHAPES=24x16383",    "MHCSHADOW_SHAPES=24x16384,",
        "MHCSHADOW_SHAPES=,24x16384",   "MHCSHADOW_SHAPES=24x0",
        "MHCSHADOW_SHAPES=24x99999999", "MHCSHADOW_SHAPES=" SIXTEEN_SHAPES ",24x68"};

    READ("MHCSHADOW_SHAPES=24x256,4x12288");
    assert_silent();
    assert_int_equal(settings.shape_count, 2);
    assert_memory_equal(settings.shapes, two, sizeof(two));
    READ("MHCSHADOW_SHAPES=auto");
    assert_silent();
    assert_int_equal(settings.shape_count, 6);
    READ("MHCSHADOW_SHAPES=" SIXTEEN_SHAPES);
    assert_silent();
    assert_int_equal(settings.shape_count, MHCS_SHAPES_MAX);
    assert_int_equal(settings.shapes[MHCS_SHAPES_MAX - 1].k, 64);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        READ(bad[i]);
        WARNED(bad[i], "24x16384,4x16384", "using auto");
        assert_int_equal(settings.shape_count, 6);
        assert_int_equal(settings.shapes[0].k, 16384);
    }
}

static void the_budget_is_a_share_or_off(void **state)
{
    READ("MHCSHADOW_BUDGET=2%");
    assert_silent();
    assert_true(settings.budget == 0.02);
    READ("MHCSHADOW_BUDGET=off");
    assert_silent();
    assert_true(settings.budget == 0);
    READ("MHCSHADOW_BUDGET=5 percent");
    WARNED("MHCSHADOW_BUDGET=5 percent", "0.5%");
    assert_true(settings.budget == 0.005);
}

static void switches_take_the_usual_words(void **state)
{
    static const char *const on[] = {"MHCSHADOW_SYNC=1", "MHCSHADOW_SYNC=on", "MHCSHADOW_SYNC=yes",
                                     "MHCSHADOW_SYNC=true"};
    static const char *const off[] = {"MHCSHADOW_SYNC=0", "MHCSHADOW_SYNC=off", "MHCSHADOW_SYNC=no",
                                      "MHCSHADOW_SYNC=false"};

    for (size_t i = 0; i < 4; i++) {
        READ(on[i]);
        assert_silent();
        assert_true(settings.sync);
        READ(off[i]);
        assert_silent();
        assert_false(settings.sync);
    }
    READ("MHCSHADOW_SYNC=2");
    WARNED("MHCSHADOW_SYNC=2", "0 or 1");
}

static void an_inert_library_says_nothing(void **state)
{
    READ("MHCSHADOW=0", "MHCSHADOW_SAMPLE=often", "MHCSHADOW_NONSENSE=1");
    assert_silent();
    assert_false(settings.enabled);
    READ("MHCSHADOW=perhaps");
    WARNED("MHCSHADOW=perhaps", "0 or 1", "using 1");
    assert_true(settings.enabled);
}

static void the_log_takes_a_level_and_perhaps_a_file(void **state)
{
    READ("MHCSHADOW_LOG=debug");
    assert_silent();
    assert_int_equal(level, MHCS_LOG_DEBUG);
    assert_string_equal(file, "(stderr)");
    READ("MHCSHADOW_LOG=info:/tmp/m.%h.%p:x");
    assert_silent();
    assert_int_equal(level, MHCS_LOG_INFO);
    assert_string_equal(file, "/tmp/m.%h.%p:x");
    READ("MHCSHADOW_LOG=off");
    assert_int_equal(level, MHCS_LOG_OFF);
    READ("MHCSHADOW_LOG=error");
    assert_int_equal(level, MHCS_LOG_ERROR);
    READ("MHCSHADOW_LOG=loud");
    WARNED("MHCSHADOW_LOG=loud", "error, warn, info or debug", "using warn");
    assert_int_equal(level, MHCS_LOG_WARN);
    READ("MHCSHADOW_LOG=warn:");
    WARNED("MHCSHADOW_LOG=warn:", ":FILE");
    READ("MHCSHADOW_LOG=/tmp/log");
    WARNED("MHCSHADOW_LOG=/tmp/log", ":FILE");
    assert_string_equal(file, "(stderr)");
}

static void a_checkpoint_is_taken_as_it_is_written(void **state)
{
    READ("MHCSHADOW_MODEL=/models/flash");
    assert_silent();
    assert_string_equal(settings.model, "/models/flash");
}

static void the_reference_has_three_back_ends(void **state)
{
    READ("MHCSHADOW_ROWS=16");
    assert_int_equal(settings.reference, MHCS_REFERENCE_KERNEL);
    READ("MHCSHADOW_REFERENCE=host");
    assert_silent();
    assert_int_equal(settings.reference, MHCS_REFERENCE_HOST);
    READ("MHCSHADOW_REFERENCE=cublas");
    assert_silent();
    assert_int_equal(settings.reference, MHCS_REFERENCE_CUBLAS);
    READ("MHCSHADOW_REFERENCE=fp64");
    WARNED("MHCSHADOW_REFERENCE=fp64", "kernel, cublas or host", "using kernel");
    assert_int_equal(settings.reference, MHCS_REFERENCE_KERNEL);
}

static void graphs_are_followed_or_not(void **state)
{
    READ("MHCSHADOW_ROWS=16");
    assert_true(settings.graphs);
    READ("MHCSHADOW_GRAPHS=1");
    assert_silent();
    assert_true(settings.graphs);
    READ("MHCSHADOW_GRAPHS=off");
    assert_silent();
    assert_false(settings.graphs);
    READ("MHCSHADOW_GRAPHS=2");
    WARNED("MHCSHADOW_GRAPHS=2", "0 or 1", "using 1");
}

static void what_this_version_lacks_is_ignored_and_said(void **state)
{
    static const char *const asks[] = {
        "MHCSHADOW_CALLSITES=on",
        "MHCSHADOW_CUPTI=1",
        "MHCSHADOW_METRICS=/m.prom",
    };

    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        READ(asks[i]);
        WARNED(asks[i], "this version does not have yet", "ignoring");
        assert_string_equal(settings.metrics, "");
        assert_false(settings.callsites);
        assert_false(settings.cupti);
    }
    READ("MHCSHADOW_CALLSITES=0", "MHCSHADOW_CUPTI=0");
    assert_silent();
    READ("MHCSHADOW_CUPTI=maybe");
    WARNED("MHCSHADOW_CUPTI=maybe", "0 or 1");
}

static void an_unknown_name_is_named_with_the_nearest(void **state)
{
    static const char *const cases[][2] = {
        {"MHCSHADOW_SAMPEL=1/8", "MHCSHADOW_SAMPLE"}, {"MHCSHADOW_ROW=4", "MHCSHADOW_ROWS"},
        {"MHCSHADOW_MEM=64", "MHCSHADOW_MEM_MB"},     {"MHCSHADOW_dir=/tmp", "MHCSHADOW_DIR"},
        {"MHCSHADOW_LOGS=info", "MHCSHADOW_LOG"},     {"MHCSHADOW_=1", "MHCSHADOW"},
        {"MHCSHADOW_METRIC", "MHCSHADOW_METRICS"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char nearest[80], name[80];

        snprintf(nearest, sizeof(nearest), "the nearest is %s", cases[i][1]);
        snprintf(name, sizeof(name), "%.*s is no variable", (int)strcspn(cases[i][0], "="),
                 cases[i][0]);
        READ(cases[i][0]);
        WARNED(name, nearest);
    }
    READ("MHCSHADOW_TEST_SEED=5", "MHCSHADOWS=1", "XMHCSHADOW_A=1", "mhcshadow_rows=1");
    assert_silent();
}

static void of_two_entries_of_a_name_the_first_counts(void **state)
{
    READ("MHCSHADOW_ROWS=8", "MHCSHADOW_ROWS=9");
    assert_silent();
    assert_int_equal(settings.rows, 8);
}

static void each_problem_is_said_once(void **state)
{
    READ("MHCSHADOW_SAMPLE=x", "MHCSHADOW_ROWS=y", "MHCSHADOW_ROSW=1");
    assert_int_equal(lines, 3);
}

static void tf32_is_forbidden_by_nvidias_override_alone(void **state)
{
    char zero[] = "NVIDIA_TF32_OVERRIDE=0", one[] = "NVIDIA_TF32_OVERRIDE=1", other[] = "A=b";

    assert_false(mhcs_env_tf32_allowed((char *[]){other, zero, NULL}));
    assert_true(mhcs_env_tf32_allowed((char *[]){one, NULL}));
    assert_true(mhcs_env_tf32_allowed((char *[]){other, NULL}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_environment_gives_the_documented_defaults),
        cmocka_unit_test(an_empty_value_is_as_good_as_none),
        cmocka_unit_test(sampling_takes_every_documented_form),
        cmocka_unit_test(numbers_are_taken_within_their_range),
        cmocka_unit_test(texts_are_taken_up_to_their_room),
        cmocka_unit_test(shapes_are_auto_or_a_list),
        cmocka_unit_test(the_budget_is_a_share_or_off),
        cmocka_unit_test(switches_take_the_usual_words),
        cmocka_unit_test(an_inert_library_says_nothing),
        cmocka_unit_test(the_log_takes_a_level_and_perhaps_a_file),
        cmocka_unit_test(a_checkpoint_is_taken_as_it_is_written),
        cmocka_unit_test(the_reference_has_three_back_ends),
        cmocka_unit_test(graphs_are_followed_or_not),
        cmocka_unit_test(what_this_version_lacks_is_ignored_and_said),
        cmocka_unit_test(an_unknown_name_is_named_with_the_nearest),
        cmocka_unit_test(of_two_entries_of_a_name_the_first_counts),
        cmocka_unit_test(each_problem_is_said_once),
        cmocka_unit_test(tf32_is_forbidden_by_nvidias_override_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
