/* SPDX-License-Identifier: Apache-2.0 */
/* Whether errors change over time: windows of one length, each against the middle one, and a
 * straight line through them.
 *
 * The figure of a window is the mean of q = (rel / expected)^2, whose root is R. A window stands
 * out if its mean differs significantly from that of the middle window of its phase (two-sided,
 * normal, from the standard errors of both, Holm-corrected over all windows) and R by more than
 * MHCS_CHANGE_MIN: so those stand out that differ from most. Windows with fewer than MHCS_MIN_ROWS
 * rows are not tested. The line is fitted with weights 1 / standard error^2 and carries what the
 * windows scatter about it. */
#ifndef MHCS_REPORT_TREND_H
#define MHCS_REPORT_TREND_H

#include "tools/report/compare.h"
#include "tools/report/timeline.h"

#define MHCS_TREND_WINDOWS 24

struct mhcs_window {
    struct mhcs_moment moment;
    double probability; /* of so large a difference by chance; NaN: not tested */
    bool stands_out;
};

struct mhcs_line_fit {
    double change, error; /* of R over the whole time, relative to R; NaN: too few windows */
    double probability;
};

struct mhcs_trend {
    int64_t first;  /* index of the first window */
    uint32_t shift; /* a window is 2^shift ns and starts at a multiple of that */
    size_t windows; /* up to MHCS_TREND_WINDOWS; 0: no rows */
    struct mhcs_window window[MHCS_PHASES][MHCS_TREND_WINDOWS];
    struct mhcs_line_fit fit[MHCS_PHASES];
    size_t tested, stand_out;
};

void mhcs_trend_measure(const struct mhcs_timeline *timeline, enum mhcs_path reference,
                        struct mhcs_trend *ret_trend);
int64_t mhcs_trend_start(const struct mhcs_trend *trend, size_t window); /* unix ns */

#endif
