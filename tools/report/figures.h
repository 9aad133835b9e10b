/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of one site in one phase by name: what `layers` sorts by and `check` limits. */
#ifndef MHCS_REPORT_FIGURES_H
#define MHCS_REPORT_FIGURES_H

#include "tools/report/collect.h"
#include "tools/report/conclude.h"

/* X(identifier, name, what it is) */
#define MHCS_FIGURES(X)                                                                            \
    X(ROWS, "rows", "rows with a defined rel")                                                     \
    X(NONFINITE, "nonfinite", "rows with NaN or Inf in production alone")                          \
    X(RATIO, "R", "rms rel over expected, largest over both references and all sizes of call")     \
    X(REL, "rel", "rms of rel")                                                                    \
    X(P50, "p50", "median of rel")                                                                 \
    X(P90, "p90", "90th percentile of rel")                                                        \
    X(P99, "p99", "99th percentile of rel")                                                        \
    X(MAX, "max", "largest rel")                                                                   \
    X(COMB, "comb", "rms relative error of comb after Sinkhorn")                                   \
    X(Y, "y", "rms relative error of y")

enum mhcs_figure {
#define MHCS_FIGURE_ENUM(id, name, doc) MHCS_FIGURE_##id,
    MHCS_FIGURES(MHCS_FIGURE_ENUM)
#undef MHCS_FIGURE_ENUM
        MHCS_FIGURES_COUNT
};

const char *mhcs_figure_name(enum mhcs_figure figure);
/* -1: no figure has this name. */
int mhcs_figure_find(const char *name);

/* NaN where it has no value: no expectation for R, no checkpoint, a head has no comb. `reference`
 * MHCS_PRODUCTION stands for both in R, for mhcs_widest() in the others. The site has rows in the
 * phase. */
double mhcs_figure(const struct mhcs_collect *collect, const struct mhcs_conclusion *conclusion,
                   const struct mhcs_site_line *site, enum mhcs_phase phase,
                   enum mhcs_figure figure, enum mhcs_path reference);

#endif
