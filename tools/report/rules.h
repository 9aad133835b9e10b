/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of `check`: limits for sites and phases. One rule a line, # begins a comment:
 *
 *     rule   := SITE PHASE limit { "," limit }  |  SITE PHASE "skip"
 *     SITE   := shell pattern of fnmatch(3) over the site's name
 *     PHASE  := "prefill" | "decode" | "*"
 *     limit  := [reference "."] FIGURE "<=" NUMBER  |  "rows" ">=" NUMBER
 *     reference := "operands" | "checkpoint"
 *
 * FIGURE is a name of figures.h. The first rule that matches a site and phase decides. A rule
 * without a limit on rows has rows >= MHCS_MIN_ROWS, one without a limit on nonfinite has
 * nonfinite <= 0: silence must not let through what no average holds. */
#ifndef MHCS_REPORT_RULES_H
#define MHCS_REPORT_RULES_H

#include <stdio.h>

#include "tools/report/figures.h"

struct mhcs_limit {
    enum mhcs_figure figure;
    enum mhcs_path reference; /* MHCS_PRODUCTION: none named */
    double bound;             /* the least for rows, the most for all others */
};

#define MHCS_RULE_LIMITS_MAX 16
struct mhcs_rule {
    char *site;
    int phase; /* -1: any */
    bool skip;
    struct mhcs_limit limit[MHCS_RULE_LIMITS_MAX];
    size_t limits;
    unsigned line;    /* in its file, from 1; 0: not from a file */
    uint64_t matched; /* for the caller to count in */
};

struct mhcs_rules {
    struct mhcs_rule *rule;
    size_t count;
};

/* Reads all of `in`. 0; -EINVAL: `errors` holds a line "NAME:LINE: what" for each bad rule, or one
 * that says that there is none; -ENOMEM; or what reading failed with. mhcs_rules_free() is due in
 * any case. */
int mhcs_rules_read(struct mhcs_rules *ret_rules, FILE *in, const char *name, FILE *errors);
void mhcs_rules_free(struct mhcs_rules *rules);

/* The one rule "* * R <= ratio". 0 or -ENOMEM. */
int mhcs_rules_of_ratio(struct mhcs_rules *ret_rules, double ratio);

/* NULL: none matches. */
struct mhcs_rule *mhcs_rules_find(const struct mhcs_rules *rules, const char *site,
                                  enum mhcs_phase phase);

#endif
