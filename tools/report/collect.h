/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of all traces add up to. Memory grows with sites, not with rows; rows may come in
 * any order and leave the same state. */
#ifndef MHCS_REPORT_COLLECT_H
#define MHCS_REPORT_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#include "shadow/trace/trace.h"
#include "tools/report/noise.h"
#include "tools/report/phase.h"
#include "tools/report/rows.h"
#include "tools/report/samples.h"
#include "tools/report/stats.h"
#include "tools/report/timeline.h"
#include "tools/report/verdict.h"
#include "tools/report/worst.h"

/* References index arrays by enum mhcs_path; [MHCS_PRODUCTION] stays unused. */
#define MHCS_FOR_EACH_REFERENCE(r) for (enum mhcs_path r = MHCS_OPERANDS; r < MHCS_PATHS; r++)

/* What rows add up to, here and in the lines below, is listed with the rule by which two of a kind
 * become one: X(type, name, dimensions, rule), rule being a function merge_<rule>() of merge.c.
 * Every rule must give the same bytes in any order: traces are read by several threads, each with a
 * collection of its own. */
#define MHCS_MEMBER(type, name, dimensions, rule) type name dimensions;

#define MHCS_TOKEN_BUCKETS   31 /* bucket b: 2^b .. 2^(b+1) - 1 token rows */
#define MHCS_CELL_MEMBERS(X) X(struct mhcs_evidence, against, [MHCS_PATHS], evidence)
struct mhcs_cell {
    MHCS_CELL_MEMBERS(MHCS_MEMBER)
};

/* One site in one phase. */
#define MHCS_LINE_MEMBERS(X)                                                                       \
    X(uint64_t, rows, , sum)                                                                       \
    X(struct mhcs_stat, rel, [MHCS_PATHS], stat)                                                   \
    X(struct mhcs_moments, comb_err, [MHCS_PATHS], moments)                                        \
    X(struct mhcs_moments, y_rel, [MHCS_PATHS], moments)                                           \
    X(struct mhcs_cell *, bucket, [MHCS_TOKEN_BUCKETS], cell) /* NULL: no rows */
struct mhcs_line {
    MHCS_LINE_MEMBERS(MHCS_MEMBER)
};

/* Of more sites than this, those with the least names are kept, the rows of the others count in the
 * totals alone. */
#define MHCS_SITE_LINE_BYTES   64
#define MHCS_COLLECT_SITES_MAX 1024
#define MHCS_COLLECT_RECENT    128 /* more than a model's sites */
#define MHCS_SITE_MEMBERS(X)                                                                       \
    X(char, role, [8], greatest)                     /* attn, ffn, head; "": unknown */            \
    X(int16_t, layer, , largest)                     /* -1: unknown */                             \
    X(struct mhcs_line *, line, [MHCS_PHASES], line) /* NULL: no rows */                           \
    X(struct mhcs_samples *, samples, , samples)     /* NULL: none are kept */
struct mhcs_site_line {
    char name[MHCS_SITE_LINE_BYTES];
    MHCS_SITE_MEMBERS(MHCS_MEMBER)
};

/* The same holds for paths, but that the others are one line together. */
#define MHCS_COLLECT_PATHS_MAX 32
#define MHCS_PATH_MEMBERS(X)                                                                       \
    X(uint64_t, rows, , sum)                                                                       \
    X(struct mhcs_stat, rel, [MHCS_PATHS], stat)                                                   \
    X(struct mhcs_evidence, against, [MHCS_PATHS], evidence)
struct mhcs_path_line {
    char text[MHCS_PATH_BYTES];
    bool parsed; /* then `precision` is set */
    struct mhcs_precision precision;
    MHCS_PATH_MEMBERS(MHCS_MEMBER)
};

/* rows, graph_rows: all, and those from a CUDA graph. padded_rows: of padding, in none of the other
 * figures. reference_rows: that have this reference.
 * zero_rows: all finite, but rel is undefined: the reference is 0. nonfinite: rows with NaN or Inf
 * in production, in the reference, in x; nonfinite_alone: in production, neither in reference nor
 * in x. ulp, ulp_own: over coefficients. defect: production minus reference. other, other_path: of
 * sites and paths that are not kept; other_path.text and what was parsed of it are those of its
 * last row. */
#define MHCS_COLLECT_MEMBERS(X)                                                                    \
    X(uint64_t, rows, , sum)                                                                       \
    X(uint64_t, graph_rows, , sum)                                                                 \
    X(uint64_t, padded_rows, , sum)                                                                \
    X(uint64_t, phase_rows, [MHCS_PHASES], sum)                                                    \
    X(uint64_t, reference_rows, [MHCS_PATHS], sum)                                                 \
    X(uint64_t, zero_rows, , sum)                                                                  \
    X(uint64_t, nonfinite, [3], sum)                                                               \
    X(uint64_t, nonfinite_alone, , sum)                                                            \
    X(uint64_t, rows_of_other_sites, , sum)                                                        \
    X(int64_t, first, , earliest)                                                                  \
    X(int64_t, last, , latest)                                                                     \
    X(struct mhcs_stat, metric, [MHCS_PATHS][MHCS_METRICS], stat)                                  \
    X(struct mhcs_stat, ulp, [MHCS_PATHS], stat)                                                   \
    X(struct mhcs_stat, ulp_own, [MHCS_PATHS], stat)                                               \
    X(struct mhcs_stat, defect, , stat)                                                            \
    X(struct mhcs_stat, check, , stat)                                                             \
    X(struct mhcs_cell, other, [MHCS_PHASES], own_cell)                                            \
    X(struct mhcs_path_line, other_path, , own_path)                                               \
    X(struct mhcs_timeline, timeline, , timeline)                                                  \
    X(struct mhcs_worst, worst, , worst)
struct mhcs_collect {
    MHCS_COLLECT_MEMBERS(MHCS_MEMBER)
    void *site_tree; /* tsearch(3) by name */
    struct mhcs_site_line *site[MHCS_COLLECT_SITES_MAX];
    size_t sites;
    struct mhcs_site_line *recent[MHCS_COLLECT_RECENT]; /* see keep.c */
    struct mhcs_path_line *path[MHCS_COLLECT_PATHS_MAX];
    size_t paths;
    const char *file;   /* that the next rows are from; of rows that are kept */
    bool keeps_samples; /* of each site */
};

struct mhcs_collect *mhcs_collect_new(void); /* NULL: no memory */
void mhcs_collect_free(struct mhcs_collect *collect);
/* What single verbs want beside the statistics. All zero: nothing. */
struct mhcs_extras {
    size_t worst_rows, worst_metric; /* as mhcs_worst_init() takes them */
    enum mhcs_path worst_reference;
    bool samples; /* some rows of each site */
};
/* Before the first row; collections that are merged get the same. 0 or -ENOMEM. */
int mhcs_collect_extras(struct mhcs_collect *collect, const struct mhcs_extras *extras);
/* 0 or -ENOMEM. */
int mhcs_collect_row(struct mhcs_collect *collect, const struct mhcs_record *record);
/* All rows of the batch that `rows` is bound to. 0 or -ENOMEM. */
int mhcs_collect_batch(struct mhcs_collect *collect, struct mhcs_row_reader *rows);

const char *mhcs_reference_name(enum mhcs_path reference); /* "operands", "checkpoint" */
/* The reference that includes all of the error: the checkpoint where some row has it. */
enum mhcs_path mhcs_widest(const struct mhcs_collect *collect);

/* Adds what `from` holds; `from` stays as it is. 0 or -ENOMEM. */
int mhcs_collect_merge(struct mhcs_collect *collect, const struct mhcs_collect *from);

/* Sorts sites by layer, then name; paths by text; the worst rows. The last thing to happen to a
 * collection. */
void mhcs_collect_sort(struct mhcs_collect *collect);

#endif
