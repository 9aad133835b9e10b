/* SPDX-License-Identifier: Apache-2.0 */
/* What was found in one trace besides its rows, and reading one in order. */
#ifndef MHCS_REPORT_SCAN_H
#define MHCS_REPORT_SCAN_H

#include "shadow/trace/trace.h"

struct mhcs_scan {
    const char *name;
    uint64_t batches, rows, facts;
    uint64_t dropped_samples; /* by the writer */
    bool closed;              /* by an end mark */
    enum mhcs_trace_end reason;
    bool damaged; /* then `damage` is the first */
    struct mhcs_trace_damage
        damage; /* kind MHCS_DAMAGE_TORN is the tail of a live or killed writer */
    uint64_t bytes_lost, batches_lost; /* all damages; batches are known with salvage alone */
    uint64_t gaps;                     /* places behind which reading went on: salvage */
    const char *missing;               /* a column that the rows lack; they were not used */
    bool unreadable;                   /* not a trace, or not readable */
    char why[160];                     /* if unreadable */
};

/* Opens scan->name; NULL: scan->why says why not, and *ret_error is -ENOMEM if that is the reason.
 */
struct mhcs_trace_reader *mhcs_scan_open(struct mhcs_scan *scan, bool salvage, int *ret_error);
/* Counts an item, in the order of the file. False: there are no more. */
bool mhcs_scan_item(struct mhcs_scan *scan, const struct mhcs_trace_item *item);
/* The disk or the pipe failed, not the content: a negative errno. */
void mhcs_scan_fail(struct mhcs_scan *scan, int error);
/* Damage other than a torn tail, or no trace at all. */
bool mhcs_scan_bad(const struct mhcs_scan *scan);
bool mhcs_scan_torn(const struct mhcs_scan *scan);
/* "closed (exit)", "still open or killed", ... */
const char *mhcs_scan_end(const struct mhcs_scan *scan);

/* Called for what is good; a negative errno ends the scan with that. Either may be NULL. */
struct mhcs_scan_calls {
    int (*batch)(void *context, const struct mhcs_batch *batch);
    int (*facts)(void *context, const char *json);
    void *context;
};

/* A whole file, in order. 0, or -ENOMEM or what a call returned; trouble with the file itself is in
 * *ret_scan. */
int mhcs_scan_file(struct mhcs_scan *ret_scan, const char *name, bool salvage,
                   const struct mhcs_scan_calls *calls);

#endif
