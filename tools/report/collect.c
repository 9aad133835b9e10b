/* SPDX-License-Identifier: Apache-2.0 */
/* Adds rows to the statistics of their site, path and everything. */
#include "tools/report/collect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/keep.h"
#include "tools/report/totals.h"

/* A batch is gone through in three ways: totals take all rows of a column, one column after the
 * other; views, the rows of a block, which share their path; the groups of rows, those of a run. */

/* ---- runs ---- */

/* What the rows of a run add to; `site` and `line` are NULL if their site is not kept. */
struct groups {
    struct mhcs_site_line *site;
    struct mhcs_line *line;
    struct mhcs_cell *cell;
    struct mhcs_timeline_bin *bin;
    enum mhcs_phase phase;
};

static uint32_t bucket_of(int32_t tokens)
{
    return tokens > 0 ? 31 - (uint32_t)__builtin_clz((uint32_t)tokens) : 0;
}

static int find_groups(struct mhcs_collect *collect, const struct mhcs_record *record,
                       struct groups *ret_groups)
{
    struct groups *groups = ret_groups;
    int ret;

    groups->phase = mhcs_phase_of(record);
    groups->line = NULL;
    groups->cell = &collect->other[groups->phase];
    ret = mhcs_keep_site(collect, record, &groups->site);
    if (!ret && groups->site)
        ret = mhcs_keep_line(groups->site, groups->phase, &groups->line);
    if (!ret && groups->site)
        ret = mhcs_keep_cell(groups->line, bucket_of(record->tokens), &groups->cell);
    if (!ret)
        ret = mhcs_timeline_find(&collect->timeline, record->time, &groups->bin);
    return ret;
}

static void add_counts(struct mhcs_collect *collect, const struct groups *groups,
                       const struct mhcs_run *run)
{
    const struct mhcs_record *record = run->record;

    collect->graph_rows += record->graph ? run->rows : 0;
    collect->phase_rows[groups->phase] += run->rows;
    collect->rows_of_other_sites += groups->site ? 0 : run->rows;
    if (record->time < collect->first)
        collect->first = record->time;
    if (record->time > collect->last)
        collect->last = record->time;
    if (groups->line)
        groups->line->rows += run->rows;
}

/* The finite ones of a run's values, and their squares. */
static void add_moments(struct mhcs_moments *moments, const float *values, uint32_t count)
{
    double finite[MHCS_RUN_ROWS], squared[MHCS_RUN_ROWS];
    struct mhcs_addends sum, squares;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        finite[kept] = fabs((double)values[i]);
        squared[kept] = finite[kept] * finite[kept];
        kept += isfinite(values[i]) != 0;
    }
    mhcs_addends_init(&sum, finite, kept);
    mhcs_addends_init(&squares, squared, kept);
    mhcs_moments_add_all(moments, &sum, &squares);
}

/* Rows of one path and one number of coefficients. */
struct block {
    struct mhcs_path_line *path;
    const struct mhcs_columns *columns;
    uint32_t begin, rows; /* at most MHCS_VIEW_ROWS */
    struct mhcs_view view[MHCS_PATHS];
};

static void add_rels(struct mhcs_stat *stat, const float *rel, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        mhcs_stat_add(stat, rel[i]);
}

static void add_reference(const struct block *block, const struct groups *groups,
                          const struct mhcs_run *run, enum mhcs_path reference)
{
    const float *const *metric = run->columns->metric[reference];
    struct mhcs_line *line = groups->line;
    struct mhcs_look look;

    mhcs_look_at(&look, &block->view[reference], run);
    mhcs_evidence_add(&groups->cell->against[reference], &look);
    mhcs_evidence_add(&block->path->against[reference], &look);
    mhcs_moment_add(&groups->bin->moment[groups->phase][reference], &look);
    if (!line)
        return;
    add_rels(&line->rel[reference], metric[MHCS_METRIC(rel)] + run->begin, run->rows);
    add_moments(&line->comb_err[reference], metric[MHCS_METRIC(comb_err)] + run->begin, run->rows);
    add_moments(&line->y_rel[reference], metric[MHCS_METRIC(y_rel)] + run->begin, run->rows);
}

static int add_run(struct mhcs_collect *collect, const struct block *block,
                   const struct mhcs_run *run, struct mhcs_site_line **ret_site)
{
    struct groups groups;
    const int ret = find_groups(collect, run->record, &groups);

    if (ret)
        return ret;
    *ret_site = groups.site;
    add_counts(collect, &groups, run);
    MHCS_FOR_EACH_REFERENCE(r)
        if (mhcs_columns_have(run->columns, r))
            add_reference(block, &groups, run, r);
    return 0;
}

/* ---- blocks ---- */

/* All but what asks for runs. */
static int begin_block(struct mhcs_collect *collect, const char *path, struct block *block)
{
    const int ret = mhcs_keep_path(collect, path, &block->path);

    if (ret)
        return ret;
    block->path->rows += block->rows;
    MHCS_FOR_EACH_REFERENCE(r) {
        const float *rel = block->columns->metric[r][MHCS_METRIC(rel)] + block->begin;

        if (!mhcs_columns_have(block->columns, r))
            continue;
        mhcs_view_init(&block->view[r], block->columns, block->begin, block->rows, r,
                       block->path->parsed ? &block->path->precision : NULL);
        mhcs_totals_ulps(collect, &block->view[r]);
        add_rels(&block->path->rel[r], rel, block->rows);
    }
    return 0;
}

/* ---- single rows ---- */

static bool keeps_rows(const struct mhcs_collect *collect)
{
    return collect->worst.room > 0 || collect->keeps_samples;
}

static void keep_row(struct mhcs_collect *collect, struct mhcs_site_line *site,
                     const struct mhcs_record *record)
{
    mhcs_worst_add(&collect->worst, record, collect->file);
    if (site && site->samples)
        mhcs_samples_add(site->samples, record);
}

int mhcs_collect_row(struct mhcs_collect *collect, const struct mhcs_record *record)
{
    struct mhcs_columns columns;
    const struct mhcs_run run = {.record = record, .columns = &columns, .rows = 1};
    struct block block = {.columns = &columns, .rows = 1};
    struct mhcs_site_line *site;
    int ret;

    mhcs_record_columns(record, &columns);
    if (columns.padded) {
        collect->padded_rows++;
        return 0;
    }
    mhcs_totals_add(collect, &columns);
    ret = begin_block(collect, record->path, &block);
    if (!ret)
        ret = add_run(collect, &block, &run, &site);
    if (!ret)
        keep_row(collect, site, record);
    return ret;
}

/* ---- batches ---- */

/* The runs of a block; the columns begin with row `first` of the batch. */
static int add_runs(struct mhcs_collect *collect, struct mhcs_row_reader *rows, uint32_t first,
                    const struct block *block)
{
    const uint32_t end = block->begin + block->rows;
    struct mhcs_site_line *site;
    struct mhcs_run run;
    int ret = 0;

    for (uint32_t begin = block->begin; begin < end && !ret; begin += run.rows) {
        mhcs_rows_run(rows, first, block->columns, begin, end - begin, &run);
        ret = add_run(collect, block, &run, &site);
        for (uint32_t i = 0; i < run.rows && !ret && keeps_rows(collect); i++)
            keep_row(collect, site, mhcs_rows_get(rows, first + begin + i));
    }
    return ret;
}

int mhcs_collect_batch(struct mhcs_collect *collect, struct mhcs_row_reader *rows)
{
    struct mhcs_columns columns;
    struct block block;
    int ret = 0;

    block.columns = &columns;
    for (uint32_t first = 0; first < rows->rows && !ret; first += columns.rows) {
        mhcs_rows_columns(rows, first, &columns);
        if (columns.padded) {
            collect->padded_rows += columns.rows;
            continue;
        }
        mhcs_totals_add(collect, &columns);
        for (block.begin = 0; block.begin < columns.rows && !ret; block.begin += block.rows) {
            const uint32_t left = columns.rows - block.begin;
            const uint32_t most = left < MHCS_VIEW_ROWS ? left : MHCS_VIEW_ROWS;
            const char *path = mhcs_rows_path(rows, first + block.begin, most, &block.rows);

            ret = begin_block(collect, path, &block);
            if (!ret)
                ret = add_runs(collect, rows, first, &block);
        }
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
