/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a batch: as the records that the writer was given, and as columns of figures. */
#ifndef MHCS_REPORT_ROWS_H
#define MHCS_REPORT_ROWS_H

#include <math.h>

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
    const float *defect[MHCS_PATHS];               /* [rows]; [MHCS_CHECKPOINT] unused */
    const float *check;                            /* these too, as in struct mhcs_record */
    const int32_t *row;
    const int16_t *nonfinite;
};
/* Whether there are figures against a reference. */
static inline bool mhcs_columns_have(const struct mhcs_columns *columns, enum mhcs_path reference)
{
    return reference == MHCS_OPERANDS || columns->checkpoint;
}

/* The rows from `row` on, as many as are alike; good until the batch is gone. */
void mhcs_rows_columns(const struct mhcs_row_reader *rows, uint32_t row,
                       struct mhcs_columns *ret_columns);
/* One row. */
void mhcs_record_columns(const struct mhcs_record *record, struct mhcs_columns *ret_columns);

/* Consecutive rows that differ in their token row and figures alone, as those of a call do. */
struct mhcs_run {
    const struct mhcs_record *record; /* what they share: all but call, row, check and result */
    const struct mhcs_columns *columns;
    uint32_t begin, rows; /* which of the columns' rows they are */
};
#define MHCS_RUN_ROWS 32
/* The rows of `columns`, which begin with row `first`, from `begin` on: as many as are alike, and
 * at most MHCS_RUN_ROWS and `most`. Good until the next call of this or mhcs_rows_get(). */
void mhcs_rows_run(struct mhcs_row_reader *rows, uint32_t first, const struct mhcs_columns *columns,
                   uint32_t begin, uint32_t most, struct mhcs_run *ret_run);
/* The declared path of a row, and how many rows from it on, at most `most`, share that and the
 * number of coefficients. Good until the next call of this or mhcs_rows_get(). */
const char *mhcs_rows_path(struct mhcs_row_reader *rows, uint32_t row, uint32_t most,
                           uint32_t *ret_count);

/* A head site has 4 coefficients, the rest of its lists is NaN. `raw` of the operands reference. */
static inline uint32_t mhcs_coefficients_of(const float *raw)
{
    return isfinite(raw[0]) && isnan(raw[MHCS_COEFFICIENTS_HEAD]) ? MHCS_COEFFICIENTS_HEAD
                                                                  : MHCS_COEFFICIENTS;
}

#endif
