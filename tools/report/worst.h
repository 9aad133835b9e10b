/* SPDX-License-Identifier: Apache-2.0 */
/* The N worst rows by one metric: a heap of N rows. Rows are ordered by all that tells them apart,
 * so that which ones are kept does not depend on the order in which they come or heaps merge. */
#ifndef MHCS_REPORT_WORST_H
#define MHCS_REPORT_WORST_H

#include "shadow/trace/trace.h"
#include "tools/report/phase.h"

#define MHCS_WORST_MAX  10000
#define MHCS_WORST_TEXT 64

struct mhcs_worst_row {
    float value; /* magnitude of the metric; infinite: NaN or Inf in production alone */
    enum mhcs_path reference;  /* that it is against */
    const char *file;          /* the trace; the reading's */
    struct mhcs_record record; /* good but for its pointers: see below */
    enum mhcs_phase phase;
    struct mhcs_row_result result;
    char site_name[MHCS_WORST_TEXT], path[MHCS_WORST_TEXT]; /* cut where longer */
};

struct mhcs_worst {
    size_t room;   /* N; 0: none are kept */
    size_t metric; /* as MHCS_METRIC() numbers them */
    enum mhcs_path
        reference; /* MHCS_PRODUCTION: the checkpoint where the row has it, else the operands */
    struct mhcs_worst_row *row; /* [room], a heap with the least bad one at the root */
    size_t count;
};

/* 0 or -ENOMEM. `room` at most MHCS_WORST_MAX. */
int mhcs_worst_init(struct mhcs_worst *worst, size_t room, size_t metric, enum mhcs_path reference);
void mhcs_worst_free(struct mhcs_worst *worst);

void mhcs_worst_add(struct mhcs_worst *worst, const struct mhcs_record *record, const char *file);
/* Both have the same room, metric and reference. */
void mhcs_worst_merge(struct mhcs_worst *worst, const struct mhcs_worst *other);
/* The worst first; nothing may be added after it. */
void mhcs_worst_sort(struct mhcs_worst *worst);

#endif
