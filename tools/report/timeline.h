/* SPDX-License-Identifier: Apache-2.0 */
/* Errors over time, in a bounded number of bins.
 *
 * A bin is 2^shift nanoseconds long and starts at a multiple of that, wherever the rows begin. The
 * shift is the least with which all rows fit. It follows from the earliest and the latest time
 * alone, so that rows added in any order, and timelines merged in any order, give the same bytes.
 */
#ifndef MHCS_REPORT_TIMELINE_H
#define MHCS_REPORT_TIMELINE_H

#include "tools/report/look.h"
#include "tools/report/phase.h"
#include "tools/report/stats.h"

#define MHCS_TIMELINE_BINS                                                                         \
    128 /* even; the rows span more than half of them, unless shift is least */
#define MHCS_TIMELINE_SHIFT_MIN 24 /* 17 ms */

/* The rows of a phase in a bin against one reference. All zero: none. */
struct mhcs_moment {
    uint64_t rows;      /* with a defined rel */
    uint64_t nonfinite; /* rows: production not finite, reference and x finite */
    float max;          /* of rel */
    struct mhcs_exact rel_squares;
    struct mhcs_moments excess; /* (rel / expected)^2, rows whose path has an expectation */
};

struct mhcs_timeline_bin {
    struct mhcs_moment moment[MHCS_PHASES][MHCS_PATHS];
};

/* Empty after mhcs_timeline_init(). Single-threaded. */
struct mhcs_timeline {
    uint32_t shift;
    int64_t first, last; /* bins, counted from 1970; first > last: empty */
    struct mhcs_timeline_bin *slot[MHCS_TIMELINE_BINS]; /* of bin i: [i mod BINS]; NULL: no rows */
};

void mhcs_timeline_init(struct mhcs_timeline *timeline);
void mhcs_timeline_clear(struct mhcs_timeline *timeline); /* frees what it holds */

/* The bin of this time, which is good until the next call. 0 or -ENOMEM. */
int mhcs_timeline_find(struct mhcs_timeline *timeline, int64_t unix_ns,
                       struct mhcs_timeline_bin **ret_bin);
/* 0 or -ENOMEM. */
int mhcs_timeline_merge(struct mhcs_timeline *timeline, const struct mhcs_timeline *other);
/* NULL: no rows. `index` first .. last. */
const struct mhcs_timeline_bin *mhcs_timeline_bin(const struct mhcs_timeline *timeline,
                                                  int64_t index);
int64_t mhcs_timeline_start(const struct mhcs_timeline *timeline, int64_t index); /* unix ns */

void mhcs_moment_add(struct mhcs_moment *moment, const struct mhcs_look *look);
void mhcs_moment_merge(struct mhcs_moment *moment, const struct mhcs_moment *other);
double mhcs_moment_rms(const struct mhcs_moment *moment); /* NaN: no rows */

#endif
