/* SPDX-License-Identifier: Apache-2.0 */
#include "vector_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/microtest/bell.h"

static const char *const path_names[MHCS_PATHS] = {"production", "operands", "checkpoint"};

static double number(const cJSON *object, const char *name)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item)) {
        fprintf(stderr, "no number \"%s\"\n", name);
        exit(1);
    }
    return item->valuedouble;
}

static double element(const cJSON *object, const char *name, int i)
{
    const cJSON *const item = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(object, name), i);
    if (!cJSON_IsNumber(item)) {
        fprintf(stderr, "no element %d of \"%s\"\n", i, name);
        exit(1);
    }
    return item->valuedouble;
}

bool vector_flag(const cJSON *object, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

cJSON *vector_read(const char *path)
{
    FILE *const f = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    cJSON *json = NULL;
    if (f && getdelim(&text, &size, '\0', f) > 0)
        json = cJSON_Parse(text);
    if (f)
        fclose(f);
    free(text);
    if (!json)
        fprintf(stderr, "%s: not readable as JSON\n", path);
    return json;
}

static void fill_inputs(struct kernel_case *c, const cJSON *json)
{
    const uint64_t seed = (uint64_t)number(json, "seed");
    const bool outliers = vector_flag(json, "outliers");
    uint64_t state = seed;
    for (size_t i = 0; i < (size_t)c->rows * c->k; i++) {
        const bool outlier = outliers && (mix64(seed ^ i % c->k) & 511) == 0;
        c->x[i] = (float)bell_next(&state) * (outlier ? 0x1p-11f : 0x1p-15f);
    }
    if (vector_flag(json, "zero_row"))
        memset(c->x + (size_t)(c->rows - 1) * c->k, 0, c->k * sizeof(float));
    for (size_t i = 0; i < (size_t)c->coefficients * c->k; i++)
        c->checkpoint[i] = c->fn[i] = (float)bell_next(&state) * 0x1p-20f;
    case_round(c->x, (size_t)c->rows * c->k, MHCS_BF16);
    case_round(c->fn, (size_t)c->coefficients * c->k, MHCS_BF16);
}

struct kernel_case vector_case(const cJSON *json)
{
    struct kernel_case c = {.coefficients = MHCS_COEFFICIENTS,
                            .k = (uint32_t)number(json, "K"),
                            .rows = (uint32_t)number(json, "tokens"),
                            .fn_dtype = MHCS_BF16,
                            .x_dtype = MHCS_BF16,
                            .c_dtype = MHCS_BF16,
                            .alpha = 1};
    c.x = calloc((size_t)c.rows * c.k, sizeof(float));
    c.fn = calloc((size_t)c.coefficients * c.k, sizeof(float));
    c.checkpoint = calloc((size_t)c.coefficients * c.k, sizeof(float));
    c.c = calloc((size_t)c.rows * c.coefficients, sizeof(float));
    if (!c.x || !c.fn || !c.checkpoint || !c.c)
        abort();
    c.model.hc_eps = (float)number(json, "hc_eps");
    c.model.norm_eps = (float)number(json, "norm_eps");
    c.model.iterations = (int32_t)number(json, "iterations");
    for (int i = 0; i < 3; i++)
        c.model.scale[i] = (float)element(json, "scale", i);
    for (int j = 0; j < MHCS_COEFFICIENTS; j++)
        c.model.base[j] = (float)element(json, "base", j);

    fill_inputs(&c, json);
    const cJSON *const rows = cJSON_GetObjectItemCaseSensitive(json, "rows");
    for (uint32_t i = 0; i < c.rows * c.coefficients; i++) {
        const cJSON *const row = cJSON_GetArrayItem(rows, (int)(i / c.coefficients));
        c.c[i] = (float)element(cJSON_GetObjectItemCaseSensitive(row, "production"), "raw",
                                (int)(i % c.coefficients));
    }
    case_encode(&c);
    return c;
}

/* Relative to what the value is a part of: both sides are fp64 with exact sums. */
static int agree(const char *name, const char *what, double file, double oracle, double bound)
{
    if (fabs(file - oracle) <= bound)
        return 0;
    fprintf(stderr, "%s: the file's %s is %.17g, the oracle's %.17g\n", name, what, file, oracle);
    return 1;
}

/* scale, base and eps are fp32 here, so a coefficient may differ by its last bit in fp32. */
#define PARAMETER 0x1p-25

static int check_oracle_path(const char *name, const cJSON *file, const struct kernel_case *c,
                             uint32_t r, const struct oracle_path *path, const double *abs_dot)
{
    const uint32_t hidden = c->k / 4;
    int bad = 0;
    for (int j = 0; j < MHCS_COEFFICIENTS; j++) {
        const char *group = j < 4 ? "pre" : j < 8 ? "post" : "comb";
        bad += agree(name, "raw", element(file, "raw", j), path->raw[j], 1e-12 * abs_dot[j]);
        bad += agree(name, group,
                     element(file, group,
                             j < 4   ? j
                             : j < 8 ? j - 4
                                     : j - 8),
                     path->mapped[j], PARAMETER);
    }
    for (uint32_t d = 0; d < 8; d++) {
        double size = 0;
        for (uint32_t i = 0; i < 4; i++)
            size += fabs((double)c->x[(size_t)r * c->k + i * hidden + d]);
        bad += agree(name, "y_head", element(file, "y_head", (int)d), (double)path->y[d],
                     PARAMETER * size);
    }
    return bad +
           agree(name, "y_norm", number(file, "y_norm"), path->y_norm, PARAMETER * path->y_norm);
}

static int check_oracle_errors(const char *name, const cJSON *file, const struct oracle_metrics *m)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"raw", m->rel},       {"pre", m->pre_err}, {"post", m->post_err},
               {"comb", m->comb_err}, {"y", m->y_rel},     {"comb_max_abs", m->comb_max_abs}};
    int bad = 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        bad +=
            agree(name, all[i].name, number(file, all[i].name), all[i].value, 1e-6 * all[i].value);
    bad += agree(name, "1 - y_cosine", 1 - number(file, "y_cosine"), m->y_cosdist, 1e-14);
    if (cJSON_HasObjectItem(file, "backward_max"))
        bad += agree(name, "backward_max", number(file, "backward_max"), m->backward,
                     1e-6 * m->backward);
    return bad;
}

int vector_check_oracle(const char *name, const cJSON *json, const struct kernel_case *c,
                        uint32_t r, const struct oracle_row *row, bool zero)
{
    const cJSON *const file =
        cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "rows"), (int)r);
    const double *const abs_dot = row->path[MHCS_CHECKPOINT].abs_dot;
    /* norm_eps is all that is left of a zero row's mean square. */
    int bad =
        agree(name, "rms", number(file, "rms"), row->rms, (zero ? PARAMETER : 1e-12) * row->rms);
    for (int j = 0; j < MHCS_COEFFICIENTS; j++)
        bad += agree(name, "abs_dot", element(file, "abs_dot", j), abs_dot[j], 1e-12 * abs_dot[j]);

    const cJSON *const error = cJSON_GetObjectItemCaseSensitive(file, "error");
    for (int path = 0; path < MHCS_PATHS; path++) {
        bad += check_oracle_path(name, cJSON_GetObjectItemCaseSensitive(file, path_names[path]), c,
                                 r, &row->path[path], abs_dot);
        if (path != MHCS_PRODUCTION && !zero)
            bad +=
                check_oracle_errors(name, cJSON_GetObjectItemCaseSensitive(error, path_names[path]),
                                    &row->against[path]);
    }
    return bad;
}
