/* SPDX-License-Identifier: Apache-2.0 */
/* Columns being filled: one store per column of the list in columns.h, all memory taken at the
 * start, so that appending a row never allocates. */
#include "shadow/trace/batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/trace/arrow.h"
#include "shadow/trace/columns.h"
#include "shadow/trace/utf8.h"

#define CAPACITY MHCS_TRACE_BATCH_ROWS

static const struct mhcs_arrow_field fields[MHCS_TRACE_COLUMN_COUNT] = {
#define X(name, type, when, source, doc)                                                           \
    {#name, MHCS_COL_##type, MHCS_TRACE_##when != MHCS_TRACE_ALWAYS, doc},
    MHCS_TRACE_COLUMNS(X)
#undef X
};

struct store {
    uint8_t *valid; /* NULL: not nullable */
    void *values;
    int32_t *offsets; /* UTF8 only */
};

struct mhcs_rows {
    uint32_t count;
    int64_t first, last;
    struct store columns[MHCS_TRACE_COLUMN_COUNT];
};

static size_t values_capacity(enum mhcs_column_type type)
{
    return type == MHCS_COL_UTF8 ? (size_t)CAPACITY * MHCS_TRACE_TEXT_MAX
                                 : mhcs_arrow_values_size(type, CAPACITY);
}

struct mhcs_rows *mhcs_rows_new(void)
{
    struct mhcs_rows *rows = calloc(1, sizeof *rows);

    if (rows == NULL)
        return NULL;
    for (uint32_t i = 0; i < MHCS_TRACE_COLUMN_COUNT; i++) {
        struct store *store = &rows->columns[i];
        const bool text = fields[i].type == MHCS_COL_UTF8;
        store->valid = fields[i].nullable ? malloc(CAPACITY / 8) : NULL;
        store->values = malloc(values_capacity(fields[i].type));
        store->offsets = text ? malloc((CAPACITY + 1) * sizeof *store->offsets) : NULL;
        if ((fields[i].nullable && store->valid == NULL) || store->values == NULL ||
            (text && store->offsets == NULL)) {
            mhcs_rows_free(rows);
            return NULL;
        }
    }
    mhcs_rows_clear(rows);
    return rows;
}

void mhcs_rows_free(struct mhcs_rows *rows)
{
    if (rows == NULL)
        return;
    for (uint32_t i = 0; i < MHCS_TRACE_COLUMN_COUNT; i++) {
        free(rows->columns[i].valid);
        free(rows->columns[i].values);
        free(rows->columns[i].offsets);
    }
    free(rows);
}

uint32_t mhcs_rows_count(const struct mhcs_rows *rows)
{
    return rows->count;
}

int64_t mhcs_rows_first(const struct mhcs_rows *rows)
{
    return rows->first;
}

int64_t mhcs_rows_last(const struct mhcs_rows *rows)
{
    return rows->last;
}

void mhcs_rows_clear(struct mhcs_rows *rows)
{
    rows->count = 0;
    rows->first = INT64_MAX;
    rows->last = INT64_MIN;
    for (uint32_t i = 0; i < MHCS_TRACE_COLUMN_COUNT; i++)
        if (rows->columns[i].offsets != NULL)
            rows->columns[i].offsets[0] = 0;
}

/* ---- one value; what stands in a null row is zero ---- */

static void put_bit(uint8_t *bits, uint32_t row, bool value)
{
    if (row % 8 == 0)
        bits[row / 8] = 0;
    bits[row / 8] |= (uint8_t)(value << row % 8);
}

#define DEFINE_PUT(type, c_type)                                                                   \
    static void put_##type(struct store *store, uint32_t row, bool present, c_type value)          \
    {                                                                                              \
        ((c_type *)store->values)[row] = present ? value : 0;                                      \
    }
DEFINE_PUT(INT16, int16_t)
DEFINE_PUT(INT32, int32_t)
DEFINE_PUT(INT64, int64_t)
DEFINE_PUT(TIMESTAMP_NS, int64_t)
DEFINE_PUT(FLOAT32, float)
#undef DEFINE_PUT

static void put_BOOL(struct store *store, uint32_t row, bool present, bool value)
{
    put_bit(store->values, row, present && value);
}

static void put_FLOAT32_LIST24(struct store *store, uint32_t row, bool present,
                               const float value[MHCS_COEFFICIENTS])
{
    float *to = (float *)store->values + (size_t)MHCS_COEFFICIENTS * row;

    if (present)
        memcpy(to, value, MHCS_COEFFICIENTS * sizeof *to);
    else
        memset(to, 0, MHCS_COEFFICIENTS * sizeof *to);
}

/* Arrow readers reject a column over one malformed byte, and names come from files: such a byte
 * becomes a question mark. */
static void put_UTF8(struct store *store, uint32_t row, bool present, const char *value)
{
    const size_t size = present ? strlen(value) : 0;
    const uint8_t *from = (const uint8_t *)value;
    uint8_t *to = (uint8_t *)store->values + store->offsets[row];
    size_t out = 0;

    for (size_t in = 0; in < size;) {
        const size_t length = mhcs_utf8_sequence(from + in, size - in);
        if (out + (length == 0 ? 1 : length) > MHCS_TRACE_TEXT_MAX)
            break;
        if (length == 0) {
            to[out++] = '?';
            in++;
            continue;
        }
        memcpy(to + out, from + in, length);
        out += length;
        in += length;
    }
    store->offsets[row + 1] = store->offsets[row] + (int32_t)out;
}

void mhcs_rows_append(struct mhcs_rows *rows, const struct mhcs_record *record)
{
    const struct mhcs_record *r = record;
    const uint32_t row = rows->count;
    struct store *store = rows->columns;
    const bool present[MHCS_TRACE_WHEN_COUNT] = {
#define Y(suffix, presence) presence,
        MHCS_TRACE_WHEN(Y)
#undef Y
    };

    assert(row < CAPACITY);
#define X(name, type, when, source, doc)                                                           \
    if (MHCS_TRACE_##when != MHCS_TRACE_ALWAYS)                                                    \
        put_bit(store->valid, row, present[MHCS_TRACE_##when]);                                    \
    put_##type(store++, row, present[MHCS_TRACE_##when], source);
    MHCS_TRACE_COLUMNS(X)
#undef X
    rows->count++;
    if (r->time < rows->first)
        rows->first = r->time;
    if (r->time > rows->last)
        rows->last = r->time;
}

/* ---- messages ---- */

size_t mhcs_rows_message_max(void)
{
    size_t size = 1 << 16; /* metadata */

    for (uint32_t i = 0; i < MHCS_TRACE_COLUMN_COUNT; i++)
        size +=
            values_capacity(fields[i].type) + CAPACITY / 8 + sizeof(int32_t[CAPACITY + 1]) + 3 * 64;
    return size;
}

size_t mhcs_rows_message(const struct mhcs_rows *rows, uint8_t *out)
{
    struct mhcs_column columns[MHCS_TRACE_COLUMN_COUNT];

    for (uint32_t i = 0; i < MHCS_TRACE_COLUMN_COUNT; i++)
        columns[i] = (struct mhcs_column){
            .name = fields[i].name,
            .type = fields[i].type,
            .valid = rows->columns[i].valid,
            .values = rows->columns[i].values,
            .offsets = rows->columns[i].offsets,
        };
    const size_t size = mhcs_arrow_write_batch(out, mhcs_rows_message_max(), columns,
                                               MHCS_TRACE_COLUMN_COUNT, rows->count);
    assert(size != 0);
    return size;
}

size_t mhcs_rows_schema(uint8_t *out)
{
    const size_t size =
        mhcs_arrow_write_schema(out, mhcs_rows_message_max(), fields, MHCS_TRACE_COLUMN_COUNT);
    assert(size != 0);
    return size;
}
