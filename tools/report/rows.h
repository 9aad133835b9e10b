/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a batch as the records that the writer was given. */
#ifndef MHCS_REPORT_ROWS_H
#define MHCS_REPORT_ROWS_H

#include "shadow/trace/columns.h"
#include "shadow/trace/trace.h"

#define MHCS_ROWS_TEXT_BYTES 128

/* Large, and the record of mhcs_rows_get() lives in it. */
struct mhcs_row_reader {
    const struct mhcs_column *column[MHCS_TRACE_COLUMN_COUNT];
    struct mhcs_record record;
    struct mhcs_row_result result;
    char site_name[MHCS_ROWS_TEXT_BYTES], role[MHCS_ROWS_TEXT_BYTES], path[MHCS_ROWS_TEXT_BYTES];
};

/* NULL, or the name of the column that the batch lacks. */
const char *mhcs_rows_bind(struct mhcs_row_reader *rows, const struct mhcs_batch *batch);

/* Text longer than the buffers is cut, and what is not printable ASCII in it replaced. What the
 * trace does not hold (mapped coefficients, y norms, a third defect) is NaN. The record is good
 * until the next call. */
const struct mhcs_record *mhcs_rows_get(struct mhcs_row_reader *rows, uint32_t row);

#endif
