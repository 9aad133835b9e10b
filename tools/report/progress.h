/* SPDX-License-Identifier: Apache-2.0 */
/* How far reading has come, on standard error if that is a terminal and it takes a while. */
#ifndef MHCS_REPORT_PROGRESS_H
#define MHCS_REPORT_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zero: nothing is expected. */
struct mhcs_progress {
    uint64_t total;              /* bytes; those of pipes are not known */
    atomic_ullong done, records; /* any thread adds, one reads; relaxed */
    int64_t begun, shown;        /* monotonic ns; shown 0: not yet */
};

/* One thread, the one that shows: */
void mhcs_progress_expect(struct mhcs_progress *progress, const char *file);
void mhcs_progress_begin(struct mhcs_progress *progress);
void mhcs_progress_show(struct mhcs_progress *progress); /* at most some times a second */
void mhcs_progress_end(struct mhcs_progress *progress);  /* leaves an empty line */

/* Any thread. */
void mhcs_progress_add(struct mhcs_progress *progress, uint64_t bytes, uint64_t records);

#endif
