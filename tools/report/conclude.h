/* SPDX-License-Identifier: Apache-2.0 */
/* All groups of a collection, judged together, and the one conclusion drawn from them. */
#ifndef MHCS_REPORT_CONCLUDE_H
#define MHCS_REPORT_CONCLUDE_H

#include <stdio.h>

#include "tools/report/collect.h"

/* Who the group is: site NULL: all sites; phase -1: both phases; bucket -1: all sizes of call. */
struct mhcs_group {
    const struct mhcs_site_line *site;
    int phase, bucket;
    enum mhcs_path reference;
    struct mhcs_evidence evidence;
    struct mhcs_judgement judgement;
};

/* The answer. Plain values, so that a verb can print them in any form; what is a pointer stays good
 * as long as the conclusion and the collection do. */
struct mhcs_conclusion {
    /* The verdict, from the decisive group. */
    enum mhcs_status status;
    enum mhcs_cause cause;         /* why not PASS */
    enum mhcs_class class;         /* kind of the error; of a PASS, what its noise looks like */
    double ratio, rms_rel;         /* R and rms rel there; NaN: no expectation, no rows */
    uint32_t calls_from, calls_to; /* it concerns calls of so many token rows; 0, UINT32_MAX: any */
    size_t sites_concerned;
    const struct mhcs_group *worst_site; /* NULL: it concerns all alike */
    bool reference_unsound; /* the self-check found more than MHCS_CHECK_MAX: nothing is judged */
    char *sentence;         /* what it means, in plain ASCII, one paragraph without line breaks */

    /* The effect over all rows, against the checkpoint where there is one; NaN: no such rows. */
    double comb_err, y_rel; /* rms relative error of comb after Sinkhorn, and of y */
    double y_cosdist;       /* largest 1 - cosine of y */
    bool harmless;          /* both below MHCS_HARMLESS */

    const struct mhcs_group *decisive; /* the group with that status that says most */
    struct mhcs_group *group;          /* [0..1]: everything, against operands and checkpoint */
    size_t groups;
    size_t sites, sites_warned, sites_failed;
    size_t tested, insufficient; /* groups of one site and phase */
};

/* rms of rel between the fp32 reference and fp64 above which the reference can't judge. */
#define MHCS_CHECK_MAX 1e-5

/* `wrong_weights`: some weights of the server are not the checkpoint's (facts), whatever the rows
 * say. `collect` must be sorted and outlive the conclusion. 0 or -ENOMEM. */
int mhcs_conclude(const struct mhcs_collect *collect, bool wrong_weights,
                  struct mhcs_conclusion *ret_conclusion);
void mhcs_conclusion_free(struct mhcs_conclusion *conclusion);

/* The worst judgement of a site in a phase over references and call sizes; NULL: no rows. */
const struct mhcs_group *mhcs_conclusion_find(const struct mhcs_conclusion *conclusion,
                                              const struct mhcs_site_line *site,
                                              enum mhcs_phase phase);

/* Writes the sentence: what was found, what it means, what to do. For mhcs_conclude(). */
void mhcs_conclusion_say(FILE *out, const struct mhcs_conclusion *conclusion,
                         const struct mhcs_collect *collect);

#endif
