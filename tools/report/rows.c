/* SPDX-License-Identifier: Apache-2.0 */
/* Columns back into records. */
#include "tools/report/rows.h"

#include <string.h>

#include "tools/report/text.h"

#define COLUMN(name) rows->column[MHCS_TRACE_COLUMN_##name]

static float get_float(const struct mhcs_column *column, uint32_t row)
{
    return ((const float *)column->values)[row];
}

static int16_t get_int16(const struct mhcs_column *column, uint32_t row)
{
    return ((const int16_t *)column->values)[row];
}

static int32_t get_int32(const struct mhcs_column *column, uint32_t row)
{
    return ((const int32_t *)column->values)[row];
}

static int64_t get_int64(const struct mhcs_column *column, uint32_t row)
{
    return ((const int64_t *)column->values)[row];
}

static bool get_bool(const struct mhcs_column *column, uint32_t row)
{
    return ((const uint8_t *)column->values)[row / 8] >> row % 8 & 1;
}

static const float *list_at(const struct mhcs_column *column, uint32_t row)
{
    return (const float *)column->values + (size_t)row * MHCS_COEFFICIENTS;
}

static void get_list(const struct mhcs_column *column, uint32_t row, float *to)
{
    memcpy(to, list_at(column, row), MHCS_COEFFICIENTS * sizeof(*to));
}

static void clean(struct mhcs_row_text *text)
{
    size_t length = text->length;

    if (length > MHCS_ROWS_TEXT_BYTES - 1)
        length = MHCS_ROWS_TEXT_BYTES - 1;
    memcpy(text->text, text->raw, length);
    text->text[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if (text->text[i] == '\0')
            text->text[i] = '?';
    mhcs_text_clean(text->text);
}

/* NULL where the column is null. Mostly a row has the text of the one before it. */
static const char *get_text(const struct mhcs_column *column, uint32_t row,
                            struct mhcs_row_text *text)
{
    const char *raw = (const char *)column->values + column->offsets[row];
    const size_t length = (size_t)(column->offsets[row + 1] - column->offsets[row]);

    if (column->valid && !mhcs_column_valid(column, row))
        return NULL;
    if (!text->raw || length != text->length || memcmp(raw, text->raw, length) != 0) {
        text->raw = raw;
        text->length = length;
        clean(text);
    }
    return text->text;
}

const char *mhcs_rows_bind(struct mhcs_row_reader *rows, const struct mhcs_batch *batch)
{
#define BIND(name, type, when, source, doc)                                                        \
    COLUMN(name) = mhcs_batch_column(batch, #name, MHCS_COL_##type);                               \
    if (!COLUMN(name) && MHCS_TRACE_COLUMN_##name != MHCS_TRACE_COLUMN_padded)                     \
        return #name;
    MHCS_TRACE_COLUMNS(BIND)
#undef BIND
    rows->rows = batch->rows;
    rows->site_name.raw = rows->role.raw = rows->path.raw = NULL;
    memset(&rows->result, 0xff, sizeof(rows->result)); /* every float a NaN */
    return NULL;
}

static void get_result(struct mhcs_row_reader *rows, uint32_t row)
{
    struct mhcs_row_result *result = &rows->result;

    result->rms = get_float(COLUMN(rms), row);
    get_list(COLUMN(production), row, result->raw[MHCS_PRODUCTION]);
    get_list(COLUMN(operands), row, result->raw[MHCS_OPERANDS]);
    get_list(COLUMN(checkpoint), row, result->raw[MHCS_CHECKPOINT]);
#define GET(name, type, when, member, doc) member = get_float(COLUMN(name), row);
    MHCS_TRACE_METRICS(GET, operands, ALWAYS, result->against[MHCS_OPERANDS])
    MHCS_TRACE_METRICS(GET, checkpoint, CHECKPOINT, result->against[MHCS_CHECKPOINT])
    MHCS_TRACE_MORE_METRICS(GET, operands, ALWAYS, result->against[MHCS_OPERANDS])
    MHCS_TRACE_MORE_METRICS(GET, checkpoint, CHECKPOINT, result->against[MHCS_CHECKPOINT])
#undef GET
    result->defect[MHCS_PRODUCTION] = get_float(COLUMN(defect_production), row);
    result->defect[MHCS_OPERANDS] = get_float(COLUMN(defect_reference), row);
    result->nonfinite = (uint32_t)get_int16(COLUMN(nonfinite), row);
}

static bool has_checkpoint(const struct mhcs_row_reader *rows, uint32_t row)
{
    return !COLUMN(checkpoint)->valid || mhcs_column_valid(COLUMN(checkpoint), row);
}

static bool is_padded(const struct mhcs_row_reader *rows, uint32_t row)
{
    return COLUMN(padded) && get_bool(COLUMN(padded), row);
}

const struct mhcs_record *mhcs_rows_get(struct mhcs_row_reader *rows, uint32_t row)
{
    struct mhcs_record *record = &rows->record;

    get_result(rows, row);
    *record = (struct mhcs_record){
        .time = get_int64(COLUMN(time), row),
        .call = get_int64(COLUMN(call), row),
        .site = get_int32(COLUMN(site), row),
        .site_name = get_text(COLUMN(site_name), row, &rows->site_name),
        .layer = mhcs_column_valid(COLUMN(layer), row) ? get_int16(COLUMN(layer), row) : -1,
        .role = get_text(COLUMN(role), row, &rows->role),
        .device = get_int16(COLUMN(device), row),
        .tokens = get_int32(COLUMN(tokens), row),
        .row = get_int32(COLUMN(row), row),
        .graph = get_bool(COLUMN(graph), row),
        .padded = is_padded(rows, row),
        .path = get_text(COLUMN(path), row, &rows->path),
        .checkpoint = has_checkpoint(rows, row),
        .check = get_float(COLUMN(check), row),
        .result = &rows->result,
    };
    /* Not nullable in our schema; another writer's may be. */
    if (!record->site_name)
        record->site_name = "";
    if (!record->path)
        record->path = "";
    return record;
}

void mhcs_rows_columns(const struct mhcs_row_reader *rows, uint32_t row, uint32_t most,
                       struct mhcs_columns *ret_columns)
{
    const uint32_t left = rows->rows - row, limit = row + (left < most ? left : most);
    struct mhcs_columns *columns = ret_columns;
    const struct mhcs_row_metrics *m;
    uint32_t end = row + 1;

    columns->checkpoint = has_checkpoint(rows, row);
    columns->padded = is_padded(rows, row);
    while (end < limit && has_checkpoint(rows, end) == columns->checkpoint &&
           is_padded(rows, end) == columns->padded)
        end++;
    columns->rows = end - row;
    columns->raw[MHCS_PRODUCTION] = list_at(COLUMN(production), row);
    columns->raw[MHCS_OPERANDS] = list_at(COLUMN(operands), row);
    columns->raw[MHCS_CHECKPOINT] = list_at(COLUMN(checkpoint), row);
#define POINT(reference, name, member)                                                             \
    columns->metric[reference][&(member) - (const float *)m] =                                     \
        (const float *)COLUMN(name)->values + row;
#define POINT_OPERANDS(name, type, when, member, doc)   POINT(MHCS_OPERANDS, name, member)
#define POINT_CHECKPOINT(name, type, when, member, doc) POINT(MHCS_CHECKPOINT, name, member)
    m = &rows->result.against[MHCS_OPERANDS];
    MHCS_TRACE_METRICS(POINT_OPERANDS, operands, ALWAYS, (*m))
    MHCS_TRACE_MORE_METRICS(POINT_OPERANDS, operands, ALWAYS, (*m))
    m = &rows->result.against[MHCS_CHECKPOINT];
    MHCS_TRACE_METRICS(POINT_CHECKPOINT, checkpoint, CHECKPOINT, (*m))
    MHCS_TRACE_MORE_METRICS(POINT_CHECKPOINT, checkpoint, CHECKPOINT, (*m))
#undef POINT
#undef POINT_OPERANDS
#undef POINT_CHECKPOINT
}

void mhcs_record_columns(const struct mhcs_record *record, struct mhcs_columns *ret_columns)
{
    const struct mhcs_row_result *result = record->result;
    struct mhcs_columns *columns = ret_columns;

    columns->rows = 1;
    columns->checkpoint = record->checkpoint;
    columns->padded = record->padded;
    for (int path = 0; path < MHCS_PATHS; path++) {
        columns->raw[path] = result->raw[path];
        for (size_t i = 0; i < MHCS_METRICS; i++)
            columns->metric[path][i] = (const float *)&result->against[path] + i;
    }
}
