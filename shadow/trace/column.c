/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at columns: used by writer and reader. */
#include "shadow/trace/trace.h"

#include <string.h>

const struct mhcs_column *mhcs_batch_column(const struct mhcs_batch *batch, const char *name,
                                            enum mhcs_column_type type)
{
    for (uint32_t i = 0; i < batch->column_count; i++)
        if (batch->columns[i].type == type && strcmp(batch->columns[i].name, name) == 0)
            return &batch->columns[i];
    return NULL;
}

bool mhcs_column_valid(const struct mhcs_column *column, uint32_t row)
{
    return column->valid == NULL || (column->valid[row / 8] >> row % 8 & 1);
}
