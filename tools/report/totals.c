/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of figures into statistics. */
#include "tools/report/totals.h"

#include <math.h>

/* Values worked out at a time. */
#define CHUNK 512

/* Sinkhorn's defect in production, less that in the reference; rows that have neither are left out.
 */
static void add_defects(struct mhcs_collect *collect, const struct mhcs_columns *columns,
                        uint32_t begin, uint32_t end)
{
    float defects[CHUNK];
    uint32_t count = 0;

    for (uint32_t row = begin; row < end; row++) {
        const float production = columns->defect[MHCS_PRODUCTION][row];
        const float reference = columns->defect[MHCS_OPERANDS][row];

        defects[count] = production - reference;
        count += isfinite(production) && isfinite(reference);
    }
    mhcs_stat_add_all(&collect->defect, defects, count);
}

static void add_checks(struct mhcs_collect *collect, const struct mhcs_columns *columns,
                       uint32_t begin, uint32_t end)
{
    float checks[CHUNK];
    uint32_t count = 0;

    for (uint32_t row = begin; row < end; row++) {
        checks[count] = columns->check[row];
        count += isnan(checks[count]) == 0;
    }
    mhcs_stat_add_all(&collect->check, checks, count);
}

static void add_nonfinite(struct mhcs_collect *collect, const struct mhcs_columns *columns)
{
    const float *rel = columns->metric[MHCS_OPERANDS][MHCS_METRIC(rel)];

    for (uint32_t row = 0; row < columns->rows; row++) {
        const int16_t nonfinite = columns->nonfinite[row];

        collect->zero_rows += !nonfinite && isnan(rel[row]);
        for (int i = 0; i < 3; i++)
            collect->nonfinite[i] += nonfinite >> i & 1;
        collect->nonfinite_alone += nonfinite == MHCS_NONFINITE_PRODUCTION;
    }
}

void mhcs_totals_add(struct mhcs_collect *collect, const struct mhcs_columns *columns)
{
    const uint32_t rows = columns->rows;

    collect->rows += rows;
    collect->reference_rows[MHCS_OPERANDS] += rows;
    collect->reference_rows[MHCS_CHECKPOINT] += columns->checkpoint ? rows : 0;
    add_nonfinite(collect, columns);
    for (uint32_t begin = 0; begin < rows; begin += CHUNK) {
        const uint32_t end = rows - begin < CHUNK ? rows : begin + CHUNK;

        add_defects(collect, columns, begin, end);
        add_checks(collect, columns, begin, end);
    }
    MHCS_FOR_EACH_REFERENCE(r)
        if (mhcs_columns_have(columns, r))
            for (size_t i = 0; i < MHCS_METRICS; i++)
                mhcs_stat_add_all(&collect->metric[r][i], columns->metric[r][i], rows);
}

void mhcs_totals_ulps(struct mhcs_collect *collect, const struct mhcs_view *view)
{
    mhcs_stat_add_all(&collect->ulp[view->reference], view->floored, view->floored_count);
    mhcs_stat_add_all(&collect->ulp_own[view->reference], view->own, view->own_count);
}
