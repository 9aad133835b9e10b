/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a batch: as the records that the writer was given, and as columns of figures. */
#ifndef MHCS_REPORT_ROWS_H
#define MHCS_REPORT_ROWS_H

#include "shadow/trace/columns.h"
#include "shadow/trace/trace.h"

/* The members of struct mhcs_row_metrics by number. */
#define MHCS_METRIC(member) (offsetof(struct mhcs_row_metrics, member) / sizeof(float))
#define MHCS_METRICS        (sizeof(struct mhcs_row_metrics) / sizeof(float))

#define MHCS_ROWS_TEXT_BYTES 128

/* A text column, and its last text as the records have it. */
struct mhcs_row_text {
    const char *raw; /* in the batch; NULL: none yet */
    size_t length;
    char text[MHCS_ROWS_TEXT_BYTES];
};

/* Large, and the record of mhcs_rows_get() lives in it. */
struct mhcs_row_reader {
    const struct mhcs_column *column[MHCS_TRACE_COLUMN_COUNT];
    uint32_t rows;
    struct mhcs_record record;
    struct mhcs_row_result result;
    struct mhcs_row_text site_name, role, path;
};

/* NULL, or the name of the column that the batch lacks (older traces know no padding). The batch
 * must outlive the reading. */
const char *mhcs_rows_bind(struct mhcs_row_reader *rows, const struct mhcs_batch *batch);

/* Text longer than the buffers is cut, and what is not printable ASCII in it replaced. What the
 * trace does not hold (mapped coefficients, y norms, a third defect) is NaN. The record is good
 * until the next call. */
const struct mhcs_record *mhcs_rows_get(struct mhcs_row_reader *rows, uint32_t row);

/* Consecutive rows, all or none of which have the checkpoint, and are padding. */
struct mhcs_columns {
    uint32_t rows;
    bool checkpoint, padded;
    const float *raw[MHCS_PATHS];                  /* [rows][24] */
    const float *metric[MHCS_PATHS][MHCS_METRICS]; /* [rows]; [MHCS_PRODUCTION] unused */
};
/* The rows from `row` on, as many as are alike, and at most `most`; good until the batch is gone.
 */
void mhcs_rows_columns(const struct mhcs_row_reader *rows, uint32_t row, uint32_t most,
                       struct mhcs_columns *ret_columns);
/* One row. */
void mhcs_record_columns(const struct mhcs_record *record, struct mhcs_columns *ret_columns);

#endif
