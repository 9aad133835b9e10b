/* SPDX-License-Identifier: Apache-2.0 */
/* Private to collections: finding what a row adds to, and making it. All of them return 0 or
 * -ENOMEM. */
#ifndef MHCS_REPORT_KEEP_H
#define MHCS_REPORT_KEEP_H

#include "tools/report/collect.h"

/* *ret_site is NULL if the site is not kept. */
int mhcs_keep_site(struct mhcs_collect *collect, const struct mhcs_record *record,
                   struct mhcs_site_line **ret_site);
int mhcs_keep_site_like(struct mhcs_collect *collect, const struct mhcs_site_line *like,
                        struct mhcs_site_line **ret_site);
/* Never NULL: for a path that is not kept it is collect->other_path, with its text. */
int mhcs_keep_path(struct mhcs_collect *collect, const char *text,
                   struct mhcs_path_line **ret_path);
int mhcs_keep_line(struct mhcs_site_line *site, enum mhcs_phase phase, struct mhcs_line **ret_line);
int mhcs_keep_cell(struct mhcs_line *line, uint32_t bucket, struct mhcs_cell **ret_cell);

/* Adds a site's rows to those of sites that are not kept. */
void mhcs_keep_not(struct mhcs_collect *collect, const struct mhcs_site_line *site);
/* merge.c: add up all members of a site, of a path. */
int mhcs_merge_site(struct mhcs_site_line *to, const struct mhcs_site_line *from);
int mhcs_merge_path(struct mhcs_path_line *to, const struct mhcs_path_line *from);

#endif
