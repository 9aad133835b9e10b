/* SPDX-License-Identifier: Apache-2.0 */
/* One table of variables: name, parser, and what to say of a value that the parser refuses. */
#include "interpose/env.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "interpose/names.h"
#include "interpose/number.h"
#include "shadow/log.h"

#define PREFIX "MHCSHADOW"

/* What a parser may set. */
struct environment {
    struct mhcs_settings *settings;
    enum mhcs_log_level log_level;
    char log_file[PATH_MAX]; /* empty: stderr */
};

enum outcome {
    TAKEN,
    REFUSED, /* not understood */
    ABSENT,  /* understood, but asks for what this version does not have */
};

static bool copy(char *to, size_t size, const char *value)
{
    const size_t length = strlen(value);

    if (length >= size) {
        return false;
    }
    memcpy(to, value, length + 1);
    return true;
}

static bool parse_switch(const char *value, bool *on)
{
    static const char *const words[][2] = {
        {"0", "1"}, {"off", "on"}, {"no", "yes"}, {"false", "true"}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(value, words[i][0]) == 0 || strcmp(value, words[i][1]) == 0) {
            *on = strcmp(value, words[i][1]) == 0;
            return true;
        }
    }
    return false;
}

static bool parse_count(const char *value, uint32_t low, uint32_t high, uint32_t *count)
{
    uint64_t number;

    if (!mhcs_number_integer(value, strlen(value), &number) || number < low || number > high) {
        return false;
    }
    *count = (uint32_t)number;
    return true;
}

static enum outcome parse_enabled(const char *value, struct environment *env)
{
    return parse_switch(value, &env->settings->enabled) ? TAKEN : REFUSED;
}

static enum outcome parse_sample(const char *value, struct environment *env)
{
    double p;

    if (strcmp(value, "off") == 0) {
        p = 0;
    } else if (strcmp(value, "all") == 0) {
        p = 1;
    } else if (!mhcs_number_share(value, strlen(value), &p) || p > 1) {
        return REFUSED;
    }
    env->settings->sample = p;
    return TAKEN;
}

static enum outcome parse_rows(const char *value, struct environment *env)
{
    return parse_count(value, 1, MHCS_ROWS_MAX, &env->settings->rows) ? TAKEN : REFUSED;
}

static enum outcome parse_dir(const char *value, struct environment *env)
{
    return copy(env->settings->dir, sizeof(env->settings->dir), value) ? TAKEN : REFUSED;
}

static enum outcome parse_model(const char *value, struct environment *env)
{
    return copy(env->settings->model, sizeof(env->settings->model), value) ? TAKEN : REFUSED;
}

static enum outcome parse_label(const char *value, struct environment *env)
{
    return copy(env->settings->label, sizeof(env->settings->label), value) ? TAKEN : REFUSED;
}

/* "24x16384": one shape, up to the comma or the end. */
static bool parse_shape(const char *text, size_t length, struct mhcs_shape *shape)
{
    const char *const cross = memchr(text, 'x', length);
    const size_t left = cross ? (size_t)(cross - text) : 0;
    uint64_t coefficients, k;

    if (!cross || !mhcs_number_integer(text, left, &coefficients) ||
        !mhcs_number_integer(cross + 1, length - left - 1, &k)) {
        return false;
    }
    if (coefficients != MHCS_COEFFICIENTS && coefficients != MHCS_COEFFICIENTS_HEAD) {
        return false;
    }
    if (k == 0 || k % MHCS_STREAMS != 0 || k > UINT32_C(1) << 20) {
        return false;
    }
    *shape = (struct mhcs_shape){.coefficients = (uint32_t)coefficients, .k = (uint32_t)k};
    return true;
}

static enum outcome parse_shapes(const char *value, struct environment *env)
{
    struct mhcs_shape shapes[MHCS_SHAPES_MAX];
    uint32_t count = 0;

    if (strcmp(value, "auto") == 0) {
        return TAKEN;
    }
    for (const char *text = value;; count++) {
        const size_t length = strcspn(text, ",");

        if (count == MHCS_SHAPES_MAX || !parse_shape(text, length, &shapes[count])) {
            return REFUSED;
        }
        text += length;
        if (*text++ == '\0') {
            count++;
            break;
        }
    }
    memcpy(env->settings->shapes, shapes, sizeof(shapes[0]) * count);
    env->settings->shape_count = count;
    return TAKEN;
}

static enum outcome parse_reference(const char *value, struct environment *env)
{
    if (strcmp(value, "kernel") == 0) {
        env->settings->reference = MHCS_REFERENCE_KERNEL;
    } else if (strcmp(value, "cublas") == 0) {
        env->settings->reference = MHCS_REFERENCE_CUBLAS;
    } else if (strcmp(value, "host") == 0) {
        env->settings->reference = MHCS_REFERENCE_HOST;
    } else {
        return REFUSED;
    }
    return TAKEN;
}

#define MB_MAX (UINT32_C(1) << 24)

static enum outcome parse_mem(const char *value, struct environment *env)
{
    return parse_count(value, 1, MB_MAX, &env->settings->mem_mb) ? TAKEN : REFUSED;
}

static enum outcome parse_headroom(const char *value, struct environment *env)
{
    return parse_count(value, 0, MB_MAX, &env->settings->headroom_mb) ? TAKEN : REFUSED;
}

static enum outcome parse_max(const char *value, struct environment *env)
{
    return parse_count(value, 1, MB_MAX, &env->settings->max_mb) ? TAKEN : REFUSED;
}

static enum outcome parse_budget(const char *value, struct environment *env)
{
    double share = 0;

    if (strcmp(value, "off") != 0 &&
        (!mhcs_number_share(value, strlen(value), &share) || share > 1)) {
        return REFUSED;
    }
    env->settings->budget = share;
    return TAKEN;
}

static enum outcome parse_sync(const char *value, struct environment *env)
{
    return parse_switch(value, &env->settings->sync) ? TAKEN : REFUSED;
}

static enum outcome parse_graphs(const char *value, struct environment *env)
{
    return parse_switch(value, &env->settings->graphs) ? TAKEN : REFUSED;
}

static enum outcome parse_log(const char *value, struct environment *env)
{
    static const char *const levels[] = {
        [MHCS_LOG_OFF] = "off",   [MHCS_LOG_ERROR] = "error", [MHCS_LOG_WARN] = "warn",
        [MHCS_LOG_INFO] = "info", [MHCS_LOG_DEBUG] = "debug",
    };
    const size_t length = strcspn(value, ":");
    const bool to_file = value[length] == ':';

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strlen(levels[i]) != length || strncmp(value, levels[i], length) != 0) {
            continue;
        }
        if (to_file && (value[length + 1] == '\0' ||
                        !copy(env->log_file, sizeof(env->log_file), value + length + 1))) {
            return REFUSED;
        }
        env->log_level = (enum mhcs_log_level)i;
        return TAKEN;
    }
    return REFUSED;
}

/* Features to come: their variables are known, so that one environment serves several versions. */
static enum outcome parse_absent_path(const char *value, struct environment *env)
{
    return ABSENT;
}

static enum outcome parse_absent_switch(const char *value, struct environment *env)
{
    bool on;

    if (!parse_switch(value, &on)) {
        return REFUSED;
    }
    return on ? ABSENT : TAKEN;
}

#define SWITCH "0 or 1"
#define MB     "a number of MiB"

static const struct variable {
    const char *name;
    enum outcome (*parse)(const char *value, struct environment *env);
    const char *accepts, *default_value;
} variables[] = {
    /* The first two decide whether and where anything is said: they are read first. */
    {PREFIX, parse_enabled, SWITCH, "1"},
    {PREFIX "_LOG", parse_log,
     "off, error, warn, info or debug, and perhaps :FILE with %h for the host and %p for the pid",
     "warn"},
    {PREFIX "_SAMPLE", parse_sample, "0, off, all, 1/N, or a probability such as 0.02 or 2%",
     "1/64"},
    {PREFIX "_ROWS", parse_rows, "1 to 256", "16"},
    {PREFIX "_DIR", parse_dir, "a directory", "."},
    {PREFIX "_MODEL", parse_model, "a checkpoint directory or a safetensors file", "none"},
    {PREFIX "_SHAPES", parse_shapes,
     "auto, or up to 16 of 24xK and 4xK with commas between, K = 4*hidden, as in "
     "24x16384,4x16384",
     "auto"},
    {PREFIX "_REFERENCE", parse_reference, "kernel, cublas or host", "kernel"},
    {PREFIX "_GRAPHS", parse_graphs, SWITCH, "1"},
    {PREFIX "_MEM_MB", parse_mem, MB, "64"},
    {PREFIX "_HEADROOM_MB", parse_headroom, MB, "1024"},
    {PREFIX "_MAX_MB", parse_max, MB, "1024"},
    {PREFIX "_CALLSITES", parse_absent_switch, SWITCH, "0"},
    {PREFIX "_CUPTI", parse_absent_switch, SWITCH, "0"},
    {PREFIX "_METRICS", parse_absent_path, "a file", "none"},
    {PREFIX "_BUDGET", parse_budget, "off, or a share of time such as 0.5% or 0.005", "0.5%"},
    {PREFIX "_LABEL", parse_label, "a text of up to 255 bytes", "none"},
    {PREFIX "_SYNC", parse_sync, SWITCH, "0"},
};

#define VARIABLES  (sizeof(variables) / sizeof(variables[0]))
#define READ_FIRST 2

/* As getenv() has it, but from a given list: the first entry of that name. */
static const char *value_of(char *const *environment, const char *name)
{
    const size_t length = strlen(name);

    for (; *environment; environment++) {
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
            return *environment + length + 1;
        }
    }
    return NULL;
}

/* An empty value is as good as none: that is how shells and job files switch a variable off. */
static enum outcome read_variable(const struct variable *variable, char *const *environment,
                                  struct environment *env, const char **value)
{
    *value = value_of(environment, variable->name);
    return *value && **value ? variable->parse(*value, env) : TAKEN;
}

static void complain(const struct variable *variable, enum outcome outcome, const char *value)
{
    if (outcome == REFUSED) {
        mhcs_log(MHCS_LOG_WARN, "%s=%.200s is not understood; it takes %s; using %s",
                 variable->name, value, variable->accepts, variable->default_value);
    } else if (outcome == ABSENT) {
        mhcs_log(MHCS_LOG_WARN,
                 "%s=%.200s asks for something this version does not have yet; "
                 "ignoring it (in force: %s)",
                 variable->name, value, variable->default_value);
    }
}

static void complain_of_unknown(char *const *environment)
{
    static const char test_prefix[] = PREFIX "_TEST_"; /* left to test programs */
    const char *names[VARIABLES];

    for (size_t i = 0; i < VARIABLES; i++) {
        names[i] = variables[i].name;
    }
    for (; *environment; environment++) {
        const char *const entry = *environment;
        const size_t length = strcspn(entry, "=");
        const char *nearest;

        if (strncmp(entry, PREFIX "_", sizeof(PREFIX)) != 0 ||
            strncmp(entry, test_prefix, sizeof(test_prefix) - 1) == 0) {
            continue;
        }
        nearest = mhcs_names_nearest(names, VARIABLES, entry, length);
        if (strlen(nearest) != length || strncmp(nearest, entry, length) != 0) {
            mhcs_log(MHCS_LOG_WARN,
                     "%.*s is no variable of this version, ignoring; the nearest is %s",
                     (int)(length < 200 ? length : 200), entry, nearest);
        }
    }
}

static void set_defaults(struct mhcs_settings *settings)
{
    static const uint32_t hidden[] = {4096, 7168, 5120}; /* V4 Flash, V4 Pro, V4.1 Flash */

    *settings = (struct mhcs_settings){
        .enabled = true,
        .sample = 1.0 / 64,
        .rows = 16,
        .dir = ".",
        .reference = MHCS_REFERENCE_KERNEL,
        .graphs = true,
        .mem_mb = 64,
        .headroom_mb = 1024,
        .max_mb = 1024,
        .budget = 0.005,
    };
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        const uint32_t k = MHCS_STREAMS * hidden[i];

        settings->shapes[settings->shape_count++] = (struct mhcs_shape){MHCS_COEFFICIENTS, k};
        settings->shapes[settings->shape_count++] = (struct mhcs_shape){MHCS_COEFFICIENTS_HEAD, k};
    }
}

void mhcs_env_read(char *const *environment, struct mhcs_settings *settings)
{
    struct environment env = {.settings = settings, .log_level = MHCS_LOG_WARN};
    enum outcome outcomes[VARIABLES];
    const char *values[VARIABLES];

    set_defaults(settings);
    for (size_t i = 0; i < READ_FIRST; i++) {
        outcomes[i] = read_variable(&variables[i], environment, &env, &values[i]);
    }
    mhcs_log_configure(env.log_level, env.log_file[0] ? env.log_file : NULL);
    if (!settings->enabled) {
        return;
    }
    for (size_t i = 0; i < VARIABLES; i++) {
        if (i >= READ_FIRST) {
            outcomes[i] = read_variable(&variables[i], environment, &env, &values[i]);
        }
        complain(&variables[i], outcomes[i], values[i]);
    }
    complain_of_unknown(environment);
}

bool mhcs_env_tf32_allowed(char *const *environment)
{
    const char *const value = value_of(environment, "NVIDIA_TF32_OVERRIDE");

    return !value || strcmp(value, "0") != 0;
}
