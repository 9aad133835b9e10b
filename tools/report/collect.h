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
#include "tools/report/stats.h"
#include "tools/report/timeline.h"
#include "tools/report/verdict.h"

/* References index arrays by enum mhcs_path; [MHCS_PRODUCTION] stays unused. */
#define MHCS_EACH_REFERENCE(r) (enum mhcs_path r = MHCS_OPERANDS; r < MHCS_PATHS; r++)

#define MHCS_TOKEN_BUCKETS 31 /* bucket b: 2^b .. 2^(b+1) - 1 token rows */
struct mhcs_cell {
    struct mhcs_evidence against[MHCS_PATHS];
};

/* One site in one phase. */
struct mhcs_line {
    struct mhcs_stat rel[MHCS_PATHS];
    struct mhcs_moments comb_err[MHCS_PATHS], y_rel[MHCS_PATHS];
    uint64_t rows;
    struct mhcs_cell *bucket[MHCS_TOKEN_BUCKETS];
};

#define MHCS_SITE_LINE_BYTES   64
#define MHCS_COLLECT_SITES_MAX 1024 /* rows of further sites count in the totals alone */
struct mhcs_site_line {
    char name[MHCS_SITE_LINE_BYTES];
    char role[8];  /* attn, ffn, head; "": unknown */
    int16_t layer; /* -1: unknown */
    struct mhcs_line *line[MHCS_PHASES];
};

#define MHCS_COLLECT_PATHS_MAX 32
struct mhcs_path_line {
    char text[MHCS_PATH_BYTES];
    bool parsed;
    struct mhcs_precision precision;
    uint64_t rows;
    struct mhcs_stat rel[MHCS_PATHS];
    struct mhcs_evidence against[MHCS_PATHS];
};

/* The members of struct mhcs_row_metrics by number. */
#define MHCS_METRIC(member) (offsetof(struct mhcs_row_metrics, member) / sizeof(float))
#define MHCS_METRICS        (sizeof(struct mhcs_row_metrics) / sizeof(float))

struct mhcs_collect {
    uint64_t rows, graph_rows;
    uint64_t phase_rows[MHCS_PHASES];
    uint64_t reference_rows[MHCS_PATHS]; /* rows that have this reference */
    uint64_t zero_rows;                  /* all finite, but rel is undefined: the reference is 0 */
    uint64_t nonfinite[3];               /* rows: in production, in the reference, in x */
    uint64_t nonfinite_alone;            /* rows: in production, neither in reference nor in x */
    int64_t first, last;                 /* times */
    struct mhcs_stat metric[MHCS_PATHS][MHCS_METRICS];
    struct mhcs_stat ulp[MHCS_PATHS], ulp_own[MHCS_PATHS]; /* over coefficients */
    struct mhcs_stat defect;                               /* production minus reference */
    struct mhcs_stat check;
    struct mhcs_cell other[MHCS_PHASES]; /* sites beyond MHCS_COLLECT_SITES_MAX */
    struct mhcs_timeline timeline;

    void *site_tree; /* tsearch(3) by name */
    struct mhcs_site_line *site[MHCS_COLLECT_SITES_MAX];
    size_t sites;
    uint64_t rows_of_other_sites, rows_of_other_paths;
    struct mhcs_path_line *path[MHCS_COLLECT_PATHS_MAX];
    size_t paths;
};

struct mhcs_collect *mhcs_collect_new(void); /* NULL: no memory */
void mhcs_collect_free(struct mhcs_collect *collect);
/* 0 or -ENOMEM. */
int mhcs_collect_row(struct mhcs_collect *collect, const struct mhcs_record *record);

/* The reference that includes all of the error: the checkpoint where some row has it. */
enum mhcs_path mhcs_widest(const struct mhcs_collect *collect);

/* Sorts sites by layer, then name; paths by text. */
void mhcs_collect_sort(struct mhcs_collect *collect);

#endif
