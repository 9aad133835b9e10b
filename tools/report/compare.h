/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs, A and B, group by group: whose errors grew, whose shrank, and whether chance explains
 * it.
 *
 * The rms of rel of a group changed if ln(B/A) differs from 0: z = ln(mean rel^2 of B over that of
 * A) / the standard error that both means have (delta method), two-sided, normal. Groups are those
 * of conclude.h; those with MHCS_MIN_ROWS on both sides are one family of tests for Holm. Only a
 * change that is also larger than MHCS_CHANGE_MIN is one: with rows enough anything is significant.
 */
#ifndef MHCS_REPORT_COMPARE_H
#define MHCS_REPORT_COMPARE_H

#include "tools/report/conclude.h"

#define MHCS_CHANGE_MIN 1.1 /* of rms rel, up or down */

enum mhcs_change_kind {
    MHCS_CHANGE_NONE,
    MHCS_CHANGE_THIN, /* too few rows on a side */
    MHCS_CHANGE_SHRANK,
    MHCS_CHANGE_GREW, /* also: B has NaN or Inf in production alone, and A has not */
};
const char *mhcs_change_name(enum mhcs_change_kind kind);

struct mhcs_change {
    const struct mhcs_group *group[2]; /* of A, of B; NULL: it has none */
    double ratio;                      /* rms rel of B over that of A; NaN if not defined */
    double probability;                /* of so large a change by chance; NaN: not tested */
    bool significant;
    enum mhcs_change_kind kind;
};

struct mhcs_comparison {
    struct mhcs_change *change; /* groups of A in their order, then those that B alone has */
    size_t changes;
    size_t tested;
};

/* 0 or -ENOMEM. Both conclusions outlive the comparison. */
int mhcs_compare(const struct mhcs_conclusion *a, const struct mhcs_conclusion *b,
                 struct mhcs_comparison *ret_comparison);
void mhcs_comparison_free(struct mhcs_comparison *comparison);

/* The one that is there. */
const struct mhcs_group *mhcs_change_group(const struct mhcs_change *change);

#endif
