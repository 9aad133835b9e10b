/* SPDX-License-Identifier: Apache-2.0 */
/* Private to collections: the figures over all rows, whatever their site and path. They are most of
 * the work, and are added column by column. */
#ifndef MHCS_REPORT_TOTALS_H
#define MHCS_REPORT_TOTALS_H

#include "tools/report/collect.h"
#include "tools/report/rows.h"
#include "tools/report/view.h"

void mhcs_totals_add(struct mhcs_collect *collect, const struct mhcs_columns *columns);
void mhcs_totals_ulps(struct mhcs_collect *collect, const struct mhcs_view *view);

#endif
