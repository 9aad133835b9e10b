/* SPDX-License-Identifier: Apache-2.0 */
/* All groups of a collection, judged together, and the one conclusion drawn from them. */
#ifndef MHCS_REPORT_CONCLUDE_H
#define MHCS_REPORT_CONCLUDE_H

#include <stdio.h>

#include "tools/report/collect.h"

/* Who the group is: site NULL: all sites of the phase; phase -1: both phases; bucket -1: all sizes
 * of call. */
struct mhcs_group {
    const struct mhcs_site_line *site;
    int phase, bucket;
    enum mhcs_path reference;
    struct mhcs_evidence evidence;
    struct mhcs_judgement judgement;
};

struct mhcs_conclusion {
    struct mhcs_group *group; /* [0..1]: everything, against operands and checkpoint */
    size_t groups;
    size_t sites, sites_warned, sites_failed;
    size_t tested, insufficient; /* groups of one site and phase */
    enum mhcs_status status;
    const struct mhcs_group *decisive; /* the group with that status that says most */
    bool reference_unsound; /* the self-check found more than MHCS_CHECK_MAX: nothing is judged */
};

/* rms of rel between the fp32 reference and fp64 above which the reference can't judge. */
#define MHCS_CHECK_MAX 1e-5

/* 0 or -ENOMEM. `collect` must outlive the conclusion. */
int mhcs_conclude(const struct mhcs_collect *collect, struct mhcs_conclusion *ret_conclusion);
void mhcs_conclusion_free(struct mhcs_conclusion *conclusion);

/* The worst judgement of a site in a phase over references and call sizes; NULL: no rows. */
const struct mhcs_group *mhcs_conclusion_find(const struct mhcs_conclusion *conclusion,
                                              const struct mhcs_site_line *site,
                                              enum mhcs_phase phase);

/* Plain sentences for the reader: what was found, what it means, what to do. */
void mhcs_conclusion_say(FILE *out, const struct mhcs_conclusion *conclusion,
                         const struct mhcs_collect *collect);

#endif
