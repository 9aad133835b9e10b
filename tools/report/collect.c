/* SPDX-License-Identifier: Apache-2.0 */
/* Adds rows to the statistics of their site, path and everything. */
#include "tools/report/collect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/keep.h"
#include "tools/report/totals.h"

/* ---- what a row adds ---- */

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

static void add_to_line(struct mhcs_line *line, enum mhcs_path reference,
                        const struct mhcs_row_metrics *metrics)
{
    mhcs_stat_add(&line->rel[reference], metrics->rel);
    if (isfinite(metrics->comb_err))
        mhcs_moments_add(&line->comb_err[reference], fabs((double)metrics->comb_err));
    if (isfinite(metrics->y_rel))
        mhcs_moments_add(&line->y_rel[reference], fabs((double)metrics->y_rel));
}

static void add_reference(const struct mhcs_record *record, enum mhcs_path reference,
                          struct mhcs_line *line, struct mhcs_cell *cell,
                          struct mhcs_path_line *path, struct mhcs_moment *moment)
{
    const struct mhcs_row_metrics *metrics = &record->result->against[reference];
    struct mhcs_look look;

    mhcs_look_at(&look, record, reference, path->parsed ? &path->precision : NULL);
    mhcs_evidence_add(&cell->against[reference], &look);
    if (line)
        add_to_line(line, reference, metrics);
    mhcs_stat_add(&path->rel[reference], metrics->rel);
    mhcs_evidence_add(&path->against[reference], &look);
    moment->nonfinite += look.nonfinite;
    if (look.defined)
        mhcs_moment_add(moment, metrics->rel, look.expected);
}

static uint32_t bucket_of(int32_t tokens)
{
    return tokens > 0 ? 31 - (uint32_t)__builtin_clz((uint32_t)tokens) : 0;
}

/* All but the totals of figures. */
static int add_row(struct mhcs_collect *collect, const struct mhcs_record *record)
{
    const enum mhcs_phase phase = mhcs_phase_of(record);
    struct mhcs_cell *cell = &collect->other[phase];
    struct mhcs_line *line = NULL;
    struct mhcs_path_line *path;
    struct mhcs_site_line *site;
    struct mhcs_timeline_bin *bin;
    int ret;

    if (record->padded) {
        collect->padded_rows++;
        return 0;
    }
    ret = mhcs_keep_site(collect, record, &site);
    if (!ret)
        ret = mhcs_keep_path(collect, record->path, &path);
    if (!ret && site)
        ret = mhcs_keep_line(site, phase, &line);
    if (!ret && site)
        ret = mhcs_keep_cell(line, bucket_of(record->tokens), &cell);
    if (!ret)
        ret = mhcs_timeline_find(&collect->timeline, record->time, &bin);
    if (ret)
        return ret;
    add_counts(collect, record);
    collect->rows_of_other_sites += !site;
    if (line)
        line->rows++;
    path->rows++;
    mhcs_worst_add(&collect->worst, record, collect->file);
    if (site && site->samples)
        mhcs_samples_add(site->samples, record);
    for
        MHCS_EACH_REFERENCE(r)
    if (r == MHCS_OPERANDS || record->checkpoint)
        add_reference(record, r, line, cell, path, &bin->moment[mhcs_phase_of(record)][r]);
    return 0;
}

int mhcs_collect_row(struct mhcs_collect *collect, const struct mhcs_record *record)
{
    struct mhcs_columns columns;
    const int ret = add_row(collect, record);

    if (ret)
        return ret;
    mhcs_record_columns(record, &columns);
    if (!columns.padded)
        mhcs_totals_add(collect, &columns);
    return 0;
}

/* Few enough for the cache: columns are read in order, which it foresees, then row by row. */
#define ROWS_AT_A_TIME 512

int mhcs_collect_batch(struct mhcs_collect *collect, struct mhcs_row_reader *rows)
{
    struct mhcs_columns columns;
    int ret = 0;

    for (uint32_t begin = 0; begin < rows->rows && !ret; begin += columns.rows) {
        mhcs_rows_columns(rows, begin, ROWS_AT_A_TIME, &columns);
        if (!columns.padded)
            mhcs_totals_add(collect, &columns);
        for (uint32_t i = 0; i < columns.rows && !ret; i++)
            ret = add_row(collect, mhcs_rows_get(rows, begin + i));
    }
    return ret;
}

const char *mhcs_reference_name(enum mhcs_path reference)
{
    return reference == MHCS_OPERANDS ? "operands" : "checkpoint";
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
    mhcs_worst_sort(&collect->worst);
}
