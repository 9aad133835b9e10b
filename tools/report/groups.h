/* SPDX-License-Identifier: Apache-2.0 */
/* What conclude.c is made of: the groups, judged. */
#ifndef MHCS_REPORT_GROUPS_H
#define MHCS_REPORT_GROUPS_H

#include "tools/report/conclude.h"

/* Fills conclusion->group and ->groups, all judged. 0 or -ENOMEM. */
int mhcs_groups_judge(struct mhcs_conclusion *conclusion, const struct mhcs_collect *collect);

bool mhcs_group_is_empty(const struct mhcs_group *group);

/* Whether `group` is one size of call, or one site, of `wide`, which holds more of these. */
bool mhcs_group_is_part(const struct mhcs_group *group, const struct mhcs_group *wide);

#endif
