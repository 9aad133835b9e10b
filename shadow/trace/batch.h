/* SPDX-License-Identifier: Apache-2.0 */
/* Rows on their way into one record batch, held as columns. */
#ifndef MHCS_TRACE_BATCH_H
#define MHCS_TRACE_BATCH_H

#include "shadow/trace/trace.h"

#define MHCS_TRACE_TEXT_MAX 255 /* longer names are cut at a character */

struct mhcs_rows;

struct mhcs_rows *mhcs_rows_new(void);
void mhcs_rows_free(struct mhcs_rows *rows);
uint32_t mhcs_rows_count(const struct mhcs_rows *rows);
/* Earliest and latest time of the rows held. */
int64_t mhcs_rows_first(const struct mhcs_rows *rows);
int64_t mhcs_rows_last(const struct mhcs_rows *rows);

/* There is room for MHCS_TRACE_BATCH_ROWS. */
void mhcs_rows_append(struct mhcs_rows *rows, const struct mhcs_record *record);
void mhcs_rows_clear(struct mhcs_rows *rows);

/* The rows as a RecordBatch message, the columns as a Schema message. `out` has
 * mhcs_rows_message_max() bytes; the size is returned. */
size_t mhcs_rows_message_max(void);
size_t mhcs_rows_message(const struct mhcs_rows *rows, uint8_t *out);
size_t mhcs_rows_schema(uint8_t *out);

#endif
