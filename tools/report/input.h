/* SPDX-License-Identifier: Apache-2.0 */
/* Which files to read, and reading them: every file once, from its start, in one pass. */
#ifndef MHCS_REPORT_INPUT_H
#define MHCS_REPORT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shadow/trace/trace.h"

/* Exit codes of every verb. */
enum mhcs_exit {
    MHCS_EXIT_FINE = 0,    /* PASS or WARN; verify: every file is whole */
    MHCS_EXIT_OVER = 1,    /* FAIL: over threshold */
    MHCS_EXIT_USAGE = 2,   /* options, or a path that can't be read */
    MHCS_EXIT_DAMAGED = 3, /* damage, not a trace, or too little data to judge */
};

#define MHCS_STDIN_NAME "-"

struct mhcs_files {
    char **name;
    size_t count;
};

/* Paths from the command line; a directory stands for all *.arrows.zst in it. Each file is taken
 * once, in sorted order. An empty directory gives no files. On failure one line has gone to
 * stderr. */
enum mhcs_exit mhcs_files_expand(struct mhcs_files *ret_files, char *const *paths, size_t count);
void mhcs_files_free(struct mhcs_files *files);

/* What was found in one file besides its rows. */
struct mhcs_scan {
    const char *name;
    uint64_t batches, rows;
    uint64_t dropped_samples; /* by the writer */
    bool closed;              /* by an end mark */
    enum mhcs_trace_end reason;
    bool damaged; /* then `damage` is the first */
    struct mhcs_trace_damage
        damage; /* kind MHCS_DAMAGE_TORN is the tail of a live or killed writer */
    uint64_t bytes_lost, batches_lost; /* all damages; batches are known with salvage alone */
    uint64_t gaps;                     /* places behind which reading went on: salvage */
    bool unreadable;                   /* not a trace, or not readable */
    char why[160];                     /* if unreadable */
};

/* Called for what is good; a negative errno ends the scan with that. Either may be NULL. */
struct mhcs_scan_calls {
    int (*batch)(void *context, const struct mhcs_batch *batch);
    int (*facts)(void *context, const char *json);
    void *context;
};

/* 0, or -ENOMEM or what a call returned; trouble with the file itself is in *ret_scan. */
int mhcs_scan_file(struct mhcs_scan *ret_scan, const char *name, bool salvage,
                   const struct mhcs_scan_calls *calls);

/* "closed (exit)", "still open or killed", ... */
const char *mhcs_scan_end(const struct mhcs_scan *scan);

#endif
