/* SPDX-License-Identifier: Apache-2.0 */
/* One distribution out of a report, with the one that the declared paths predict. */
#ifndef MHCS_REPORT_SPREAD_H
#define MHCS_REPORT_SPREAD_H

#include "tools/report/collect.h"

struct mhcs_selection {
    size_t metric; /* other than rel: of all rows, so that site and phase must not be set */
    enum mhcs_path reference;
    const char *site; /* shell pattern; NULL: all */
    int phase;        /* -1: both */
};

struct mhcs_spread {
    struct mhcs_stat observed;
    double uncertainty; /* relative standard error of the rms; NaN: not known */
    size_t lines;       /* sites and phases that were selected */
    /* Rows that the declared paths would put in a bucket of observed.hist. */
    bool expects;
    const char *why_not; /* if not */
    double expected[MHCS_HIST_BUCKETS];
};

/* 0 or -ENOMEM; *ret_spread is the caller's to free(). */
int mhcs_spread_gather(const struct mhcs_collect *collect, const struct mhcs_selection *selection,
                       struct mhcs_spread **ret_spread);

/* Adds, for as many rows as `evidence` is of, those that the path would put in each bucket. False:
 * it has no expectation. `scratch` is for the function's own use. */
bool mhcs_spread_expect(double expected[MHCS_HIST_BUCKETS], const struct mhcs_path_line *path,
                        enum mhcs_path reference, const struct mhcs_evidence *evidence,
                        struct mhcs_stat *scratch);

/* Of the expected rows, as mhcs_hist_percentile(); NaN: none are expected. */
double mhcs_spread_expected_percentile(const struct mhcs_spread *spread, uint32_t per_10000);
double mhcs_spread_expected_rms(const struct mhcs_spread *spread);

/* Standard error of that percentile of `hist`: half of what lies between the ranks one standard
 * deviation to its left and right, and the width of a bucket, whose middle the percentile is. NaN:
 * one of them is beyond the rows.
 */
double mhcs_percentile_error(const struct mhcs_hist *hist, uint32_t per_10000);

#endif
