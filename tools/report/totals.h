/* SPDX-License-Identifier: Apache-2.0 */
/* Private to collections: the figures over all rows, whatever their site and path. They are most of
 * the work, and are added column by column. */
#ifndef MHCS_REPORT_TOTALS_H
#define MHCS_REPORT_TOTALS_H

#include "tools/report/collect.h"
#include "tools/report/rows.h"

void mhcs_totals_add(struct mhcs_collect *collect, const struct mhcs_columns *columns);

/* A head site has 4 coefficients, the rest of its lists is NaN. `raw` of the operands reference. */
uint32_t mhcs_coefficients_of(const float *raw);

#endif
