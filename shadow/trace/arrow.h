/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow IPC stream messages (encapsulated message format, metadata version 5, little-endian): the
 * Schema and RecordBatch messages of a trace, written and read without the Arrow libraries. */
#ifndef MHCS_TRACE_ARROW_H
#define MHCS_TRACE_ARROW_H

#include "shadow/trace/trace.h"

/* Numbers from Arrow's Schema.fbs and Message.fbs, shared by writer and reader. */
enum {
    MHCS_ARROW_V5 = 4,
    MHCS_ARROW_SCHEMA = 1, /* MessageHeader */
    MHCS_ARROW_RECORD_BATCH = 3,
    MHCS_ARROW_NULL = 1, /* Type */
    MHCS_ARROW_INT = 2,
    MHCS_ARROW_FLOAT = 3,
    MHCS_ARROW_BINARY = 4,
    MHCS_ARROW_UTF8 = 5,
    MHCS_ARROW_BOOL = 6,
    MHCS_ARROW_DECIMAL = 7,
    MHCS_ARROW_DATE = 8,
    MHCS_ARROW_TIME = 9,
    MHCS_ARROW_TIMESTAMP = 10,
    MHCS_ARROW_INTERVAL = 11,
    MHCS_ARROW_LIST = 12,
    MHCS_ARROW_STRUCT = 13,
    MHCS_ARROW_FIXED_SIZE_BINARY = 15,
    MHCS_ARROW_FIXED_SIZE_LIST = 16,
    MHCS_ARROW_MAP = 17,
    MHCS_ARROW_DURATION = 18,
    MHCS_ARROW_LARGE_BINARY = 19,
    MHCS_ARROW_LARGE_UTF8 = 20,
    MHCS_ARROW_LARGE_LIST = 21,
    MHCS_ARROW_SINGLE = 1,     /* Precision */
    MHCS_ARROW_NANOSECOND = 3, /* TimeUnit */
};
#define MHCS_ARROW_CONTINUATION UINT32_C(0xffffffff)
#define MHCS_ARROW_PREFIX       8 /* continuation and metadata size */

/* Schema metadata that makes an Arrow stream a trace. */
#define MHCS_TRACE_VERSION_KEY "mhcshadow.trace"
#define MHCS_TRACE_VERSION     "1"

/* ---- writing ---- both return the size of the message, or 0 if it does not fit. */

struct mhcs_arrow_field {
    const char *name;
    enum mhcs_column_type type;
    bool nullable;
    const char *doc; /* field metadata "doc" */
};
size_t mhcs_arrow_write_schema(uint8_t *out, size_t capacity, const struct mhcs_arrow_field *fields,
                               uint32_t count);
/* Buffers are aligned to 64 bytes within the message. */
size_t mhcs_arrow_write_batch(uint8_t *out, size_t capacity, const struct mhcs_column *columns,
                              uint32_t count, uint32_t rows);

/* Bytes of a column's values in a batch of `rows`; not for UTF8. */
size_t mhcs_arrow_values_size(enum mhcs_column_type type, uint32_t rows);

/* ---- reading ---- 0, -EBADMSG (malformed), -ENOTSUP (well-formed, but not for this reader) or
 * -ENOMEM; but for -ENOMEM, `what` says in one sentence. Nothing is used before it is checked. */

#define MHCS_TRACE_WHAT    160
#define MHCS_ROWS_LIMIT    (UINT32_C(1) << 20)
#define MHCS_COLUMNS_LIMIT 1024

struct mhcs_arrow_schema;
int mhcs_arrow_read_schema(struct mhcs_arrow_schema **ret_schema, const uint8_t *message,
                           size_t size, char what[MHCS_TRACE_WHAT]);
void mhcs_arrow_schema_free(struct mhcs_arrow_schema *schema);

uint32_t mhcs_arrow_column_count(const struct mhcs_arrow_schema *schema);

/* `message` is aligned to 8 and stays the columns' storage; floats that are null, also within a
 * list, become NaN in place. `columns` has room for mhcs_arrow_column_count() and is what
 * *ret_batch points at; their names are the schema's. Threads may share a schema. */
int mhcs_arrow_read_batch(const struct mhcs_arrow_schema *schema, uint8_t *message, size_t size,
                          struct mhcs_column *columns, struct mhcs_batch *ret_batch,
                          char what[MHCS_TRACE_WHAT]);

#endif
