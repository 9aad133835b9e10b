/* SPDX-License-Identifier: Apache-2.0 */
/* Adds rows to the statistics of their site, path and everything. */
#include "tools/report/collect.h"

#include <errno.h>
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/mhc_metrics.h"

struct mhcs_collect *mhcs_collect_new(void)
{
    struct mhcs_collect *collect = calloc(1, sizeof(*collect));

    if (collect) {
        collect->first = INT64_MAX;
        collect->last = INT64_MIN;
        mhcs_timeline_init(&collect->timeline);
    }
    return collect;
}

static void line_free(struct mhcs_line *line)
{
    if (!line)
        return;
    for (int b = 0; b < MHCS_TOKEN_BUCKETS; b++)
        free(line->bucket[b]);
    free(line);
}

static void keep(void *node)
{
    (void)node; /* the tree's keys are the sites of the array */
}

void mhcs_collect_free(struct mhcs_collect *collect)
{
    if (!collect)
        return;
    tdestroy(collect->site_tree, keep);
    for (size_t i = 0; i < collect->sites; i++) {
        for (int p = 0; p < MHCS_PHASES; p++)
            line_free(collect->site[i]->line[p]);
        free(collect->site[i]);
    }
    for (size_t i = 0; i < collect->paths; i++)
        free(collect->path[i]);
    mhcs_timeline_clear(&collect->timeline);
    free(collect);
}

/* ---- where a row belongs ---- */

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const struct mhcs_site_line *)left)->name,
                  ((const struct mhcs_site_line *)right)->name);
}

/* *ret_site is NULL if there are too many. */
static int find_site(struct mhcs_collect *collect, const struct mhcs_record *record,
                     struct mhcs_site_line **ret_site)
{
    struct mhcs_site_line key = {.layer = record->layer};
    struct mhcs_site_line **found, *site;

    snprintf(key.name, sizeof(key.name), "%s", record->site_name);
    snprintf(key.role, sizeof(key.role), "%s", record->role ? record->role : "");
    found = tfind(&key, &collect->site_tree, compare_names);
    *ret_site = found ? *found : NULL;
    if (found || collect->sites == MHCS_COLLECT_SITES_MAX)
        return 0;
    site = malloc(sizeof(*site));
    if (!site)
        return -ENOMEM;
    *site = key;
    if (!tsearch(site, &collect->site_tree, compare_names)) {
        free(site);
        return -ENOMEM;
    }
    collect->site[collect->sites++] = site;
    *ret_site = site;
    return 0;
}

static uint32_t bucket_of(int32_t tokens)
{
    return tokens > 0 ? 31 - (uint32_t)__builtin_clz((uint32_t)tokens) : 0;
}

static int find_cell(struct mhcs_site_line *site, const struct mhcs_record *record,
                     struct mhcs_line **ret_line, struct mhcs_cell **ret_cell)
{
    struct mhcs_line **line = &site->line[mhcs_phase_of(record)];
    struct mhcs_cell **cell;

    if (!*line)
        *line = calloc(1, sizeof(**line));
    if (!*line)
        return -ENOMEM;
    cell = &(*line)->bucket[bucket_of(record->tokens)];
    if (!*cell)
        *cell = calloc(1, sizeof(**cell));
    *ret_line = *line;
    *ret_cell = *cell;
    return *cell ? 0 : -ENOMEM;
}

/* *ret_path is NULL if there are too many. */
static int find_path(struct mhcs_collect *collect, const char *text,
                     struct mhcs_path_line **ret_path)
{
    struct mhcs_path_line *path;

    *ret_path = NULL;
    for (size_t i = 0; i < collect->paths; i++)
        if (!strcmp(collect->path[i]->text, text)) {
            *ret_path = collect->path[i];
            return 0;
        }
    if (collect->paths == MHCS_COLLECT_PATHS_MAX)
        return 0;
    path = calloc(1, sizeof(*path));
    if (!path)
        return -ENOMEM;
    snprintf(path->text, sizeof(path->text), "%s", text);
    path->parsed = mhcs_path_parse(text, &path->precision);
    collect->path[collect->paths++] = path;
    *ret_path = path;
    return 0;
}

/* ---- what a row adds ---- */

/* A head site has 4 coefficients, the rest of its lists is NaN. */
static uint32_t coefficients_of(const struct mhcs_record *record)
{
    const float *raw = record->result->raw[MHCS_OPERANDS];

    return isfinite(raw[0]) && isnan(raw[MHCS_COEFFICIENTS_HEAD]) ? MHCS_COEFFICIENTS_HEAD
                                                                  : MHCS_COEFFICIENTS;
}

static void add_counts(struct mhcs_collect *collect, const struct mhcs_record *record)
{
    const uint32_t nonfinite = record->result->nonfinite;

    collect->rows++;
    collect->graph_rows += record->graph;
    collect->phase_rows[mhcs_phase_of(record)]++;
    collect->reference_rows[MHCS_OPERANDS]++;
    collect->reference_rows[MHCS_CHECKPOINT] += record->checkpoint;
    collect->zero_rows += !nonfinite && isnan(record->result->against[MHCS_OPERANDS].rel);
    for (int i = 0; i < 3; i++)
        collect->nonfinite[i] += nonfinite >> i & 1;
    collect->nonfinite_alone += nonfinite == MHCS_NONFINITE_PRODUCTION;
    if (record->time < collect->first)
        collect->first = record->time;
    if (record->time > collect->last)
        collect->last = record->time;
    if (!isnan(record->check))
        mhcs_stat_add(&collect->check, record->check);
    if (isfinite(record->result->defect[MHCS_PRODUCTION]) &&
        isfinite(record->result->defect[MHCS_OPERANDS]))
        mhcs_stat_add(&collect->defect, record->result->defect[MHCS_PRODUCTION] -
                                            record->result->defect[MHCS_OPERANDS]);
}

/* Errors of the coefficients in bf16 ulps: at the row's rms or above, and at their own size. */
static void add_ulps(struct mhcs_collect *collect, enum mhcs_path reference,
                     const float *production, const float *raw, uint32_t coefficients)
{
    double sum = 0, rms;

    for (uint32_t i = 0; i < coefficients; i++)
        sum += (double)raw[i] * raw[i];
    rms = sqrt(sum / coefficients);
    for (uint32_t i = 0; i < coefficients; i++) {
        const double size = fabs((double)raw[i]);
        const double error = fabs((double)production[i] - raw[i]) * 128;

        mhcs_stat_add(&collect->ulp[reference],
                      (float)(error / mhcs_power_f64(size > rms ? size : rms)));
        if (size > 0)
            mhcs_stat_add(&collect->ulp_own[reference], (float)(error / mhcs_power_f64(size)));
    }
}

static void add_metrics(struct mhcs_collect *collect, enum mhcs_path reference,
                        const struct mhcs_row_metrics *metrics)
{
    float values[MHCS_METRICS];

    _Static_assert(sizeof(values) == sizeof(*metrics), "floats and nothing else");
    memcpy(values, metrics, sizeof(values));
    for (size_t i = 0; i < MHCS_METRICS; i++)
        mhcs_stat_add(&collect->metric[reference][i], values[i]);
}

static void add_to_line(struct mhcs_line *line, enum mhcs_path reference,
                        const struct mhcs_row_metrics *metrics)
{
    mhcs_stat_add(&line->rel[reference], metrics->rel);
    if (isfinite(metrics->comb_err))
        mhcs_moments_add(&line->comb_err[reference], fabs((double)metrics->comb_err));
    if (isfinite(metrics->y_rel))
        mhcs_moments_add(&line->y_rel[reference], fabs((double)metrics->y_rel));
}

static void add_reference(struct mhcs_collect *collect, const struct mhcs_record *record,
                          enum mhcs_path reference, struct mhcs_line *line, struct mhcs_cell *cell,
                          struct mhcs_path_line *path, struct mhcs_moment *moment)
{
    const struct mhcs_row_result *result = record->result;
    const uint32_t coefficients = coefficients_of(record);
    const struct mhcs_row_metrics *metrics = &result->against[reference];
    struct mhcs_noise noise;
    const bool known = path && path->parsed &&
                       mhcs_noise_expected(&path->precision, reference, coefficients, &noise);
    struct mhcs_evidence *evidence[] = {&cell->against[reference],
                                        path ? &path->against[reference] : NULL};

    add_metrics(collect, reference, metrics);
    if (line)
        add_to_line(line, reference, metrics);
    if (path)
        mhcs_stat_add(&path->rel[reference], metrics->rel);
    for (int i = 0; i < 2 && evidence[i]; i++) {
        if (reference == MHCS_OPERANDS)
            evidence[i]->nonfinite += result->nonfinite == MHCS_NONFINITE_PRODUCTION;
        if (isfinite(metrics->rel))
            mhcs_evidence_add(evidence[i], metrics->rel, known ? &noise : NULL,
                              result->raw[MHCS_PRODUCTION], result->raw[reference], coefficients);
    }
    if (reference == MHCS_OPERANDS)
        moment->nonfinite += result->nonfinite == MHCS_NONFINITE_PRODUCTION;
    if (isfinite(metrics->rel)) {
        mhcs_moment_add(moment, metrics->rel, known ? noise.high : NAN);
        add_ulps(collect, reference, result->raw[MHCS_PRODUCTION], result->raw[reference],
                 coefficients);
    }
}

int mhcs_collect_row(struct mhcs_collect *collect, const struct mhcs_record *record)
{
    struct mhcs_cell *cell = &collect->other[mhcs_phase_of(record)];
    struct mhcs_line *line = NULL;
    struct mhcs_path_line *path;
    struct mhcs_site_line *site;
    struct mhcs_timeline_bin *bin;
    int ret;

    ret = find_site(collect, record, &site);
    if (!ret)
        ret = find_path(collect, record->path, &path);
    if (!ret && site)
        ret = find_cell(site, record, &line, &cell);
    if (!ret)
        ret = mhcs_timeline_find(&collect->timeline, record->time, &bin);
    if (ret)
        return ret;
    add_counts(collect, record);
    collect->rows_of_other_sites += !site;
    collect->rows_of_other_paths += !path;
    if (line)
        line->rows++;
    if (path)
        path->rows++;
    for
        MHCS_EACH_REFERENCE(r)
    if (r == MHCS_OPERANDS || record->checkpoint)
        add_reference(collect, record, r, line, cell, path, &bin->moment[mhcs_phase_of(record)][r]);
    return 0;
}

enum mhcs_path mhcs_widest(const struct mhcs_collect *collect)
{
    return collect->reference_rows[MHCS_CHECKPOINT] > 0 ? MHCS_CHECKPOINT : MHCS_OPERANDS;
}

/* ---- order of presentation ---- */

/* Layers ascending, the unknown ones last; then names, numbers in them by value. */
static int compare_sites(const void *left, const void *right)
{
    const struct mhcs_site_line *a = *(struct mhcs_site_line *const *)left;
    const struct mhcs_site_line *b = *(struct mhcs_site_line *const *)right;
    const int32_t layer_a = a->layer < 0 ? INT32_MAX : a->layer;
    const int32_t layer_b = b->layer < 0 ? INT32_MAX : b->layer;

    if (layer_a != layer_b)
        return layer_a < layer_b ? -1 : 1;
    return strverscmp(a->name, b->name);
}

static int compare_paths(const void *left, const void *right)
{
    return strcmp((*(struct mhcs_path_line *const *)left)->text,
                  (*(struct mhcs_path_line *const *)right)->text);
}

void mhcs_collect_sort(struct mhcs_collect *collect)
{
    qsort(collect->site, collect->sites, sizeof(collect->site[0]), compare_sites);
    qsort(collect->path, collect->paths, sizeof(collect->path[0]), compare_paths);
}
