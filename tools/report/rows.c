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

/* All but result and check. */
static void get_keys(struct mhcs_row_reader *rows, uint32_t row)
{
    struct mhcs_record *record = &rows->record;

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
    };
    /* Not nullable in our schema; another writer's may be, which mhcs_rows_path() knows too. */
    if (!record->site_name)
        record->site_name = "";
    if (!record->path)
        record->path = "";
}

const struct mhcs_record *mhcs_rows_get(struct mhcs_row_reader *rows, uint32_t row)
{
    get_keys(rows, row);
    get_result(rows, row);
    rows->record.check = get_float(COLUMN(check), row);
    rows->record.result = &rows->result;
    return &rows->record;
}

void mhcs_rows_columns(const struct mhcs_row_reader *rows, uint32_t row,
                       struct mhcs_columns *ret_columns)
{
    struct mhcs_columns *columns = ret_columns;
    const struct mhcs_row_metrics *m;
    uint32_t end = row + 1;

    columns->checkpoint = has_checkpoint(rows, row);
    columns->padded = is_padded(rows, row);
    while (end < rows->rows && has_checkpoint(rows, end) == columns->checkpoint &&
           is_padded(rows, end) == columns->padded)
        end++;
    columns->rows = end - row;
    columns->raw[MHCS_PRODUCTION] = list_at(COLUMN(production), row);
    columns->raw[MHCS_OPERANDS] = list_at(COLUMN(operands), row);
    columns->raw[MHCS_CHECKPOINT] = list_at(COLUMN(checkpoint), row);
#define VALUES(type, name) ((const type *)COLUMN(name)->values + row)
    columns->defect[MHCS_PRODUCTION] = VALUES(float, defect_production);
    columns->defect[MHCS_OPERANDS] = VALUES(float, defect_reference);
    columns->check = VALUES(float, check);
    columns->row = VALUES(int32_t, row);
    columns->nonfinite = VALUES(int16_t, nonfinite);
#define POINT(reference, name, member)                                                             \
    columns->metric[reference][&(member) - (const float *)m] = VALUES(float, name);
#define POINT_OPERANDS(name, type, when, member, doc)   POINT(MHCS_OPERANDS, name, member)
#define POINT_CHECKPOINT(name, type, when, member, doc) POINT(MHCS_CHECKPOINT, name, member)
    m = &rows->result.against[MHCS_OPERANDS];
    MHCS_TRACE_METRICS(POINT_OPERANDS, operands, ALWAYS, (*m))
    MHCS_TRACE_MORE_METRICS(POINT_OPERANDS, operands, ALWAYS, (*m))
    m = &rows->result.against[MHCS_CHECKPOINT];
    MHCS_TRACE_METRICS(POINT_CHECKPOINT, checkpoint, CHECKPOINT, (*m))
    MHCS_TRACE_MORE_METRICS(POINT_CHECKPOINT, checkpoint, CHECKPOINT, (*m))
#undef VALUES
#undef POINT
#undef POINT_OPERANDS
#undef POINT_CHECKPOINT
}

void mhcs_record_columns(const struct mhcs_record *record, struct mhcs_columns *ret_columns)
{
    static const int16_t nonfinite[] = {0, 1, 2, 3, 4, 5, 6, 7}; /* enum mhcs_nonfinite bits */
    const struct mhcs_row_result *result = record->result;
    struct mhcs_columns *columns = ret_columns;

    columns->rows = 1;
    columns->checkpoint = record->checkpoint;
    columns->padded = record->padded;
    columns->check = &record->check;
    columns->row = &record->row;
    columns->nonfinite = &nonfinite[result->nonfinite & 7];
    for (int path = 0; path < MHCS_PATHS; path++) {
        columns->raw[path] = result->raw[path];
        columns->defect[path] = &result->defect[path];
        for (size_t i = 0; i < MHCS_METRICS; i++)
            columns->metric[path][i] = (const float *)&result->against[path] + i;
    }
}

/* ---- runs ---- */

/* How many texts from `row` on, at most `most`, are the same: 1 or more. */
static uint32_t same_texts(const struct mhcs_column *column, uint32_t row, uint32_t most)
{
    const char *text = (const char *)column->values + column->offsets[row];
    const int32_t length = column->offsets[row + 1] - column->offsets[row];
    const bool valid = mhcs_column_valid(column, row);
    uint32_t count = 1;

    while (count < most && mhcs_column_valid(column, row + count) == valid &&
           column->offsets[row + count + 1] - column->offsets[row + count] == length)
        count++;
    /* Mostly they are if their lengths are: then each stands behind its like. */
    if (!memcmp(text, text + length, (size_t)length * (count - 1)))
        return count;
    for (most = count, count = 1; count < most; count++)
        if (memcmp(text, text + (size_t)length * count, (size_t)length) != 0)
            break;
    return count;
}

static bool is_alike(const struct mhcs_row_reader *rows, uint32_t a, uint32_t b)
{
    return get_int64(COLUMN(time), a) == get_int64(COLUMN(time), b) &&
           get_int32(COLUMN(site), a) == get_int32(COLUMN(site), b) &&
           get_int32(COLUMN(tokens), a) == get_int32(COLUMN(tokens), b) &&
           get_int16(COLUMN(layer), a) == get_int16(COLUMN(layer), b) &&
           mhcs_column_valid(COLUMN(layer), a) == mhcs_column_valid(COLUMN(layer), b) &&
           get_int16(COLUMN(device), a) == get_int16(COLUMN(device), b) &&
           get_bool(COLUMN(graph), a) == get_bool(COLUMN(graph), b);
}

void mhcs_rows_run(struct mhcs_row_reader *rows, uint32_t first, const struct mhcs_columns *columns,
                   uint32_t begin, uint32_t most, struct mhcs_run *ret_run)
{
    const uint32_t row = first + begin, limit = most < MHCS_RUN_ROWS ? most : MHCS_RUN_ROWS;
    uint32_t count = 1;

    while (count < limit && is_alike(rows, row, row + count))
        count++;
    count = same_texts(COLUMN(path), row, count);
    count = same_texts(COLUMN(site_name), row, count);
    count = same_texts(COLUMN(role), row, count);
    get_keys(rows, row);
    *ret_run = (struct mhcs_run){
        .record = &rows->record, .columns = columns, .begin = begin, .rows = count};
}

const char *mhcs_rows_path(struct mhcs_row_reader *rows, uint32_t row, uint32_t most,
                           uint32_t *ret_count)
{
    const uint32_t coefficients = mhcs_coefficients_of(list_at(COLUMN(operands), row));
    const uint32_t limit = same_texts(COLUMN(path), row, most);
    const char *path = get_text(COLUMN(path), row, &rows->path);
    uint32_t count = 1;

    while (count < limit &&
           mhcs_coefficients_of(list_at(COLUMN(operands), row + count)) == coefficients)
        count++;
    *ret_count = count;
    return path ? path : "";
}
