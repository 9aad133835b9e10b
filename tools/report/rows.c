/* SPDX-License-Identifier: Apache-2.0 */
/* Columns back into records. */
#include "tools/report/rows.h"

#include <math.h>
#include <string.h>

#include "tools/report/text.h"

#define COLUMN(name) rows->column[MHCS_TRACE_COLUMN_##name]

const char *mhcs_rows_bind(struct mhcs_row_reader *rows, const struct mhcs_batch *batch)
{
#define BIND(name, type, when, source, doc)                                                        \
    COLUMN(name) = mhcs_batch_column(batch, #name, MHCS_COL_##type);                               \
    if (!COLUMN(name))                                                                             \
        return #name;
    MHCS_TRACE_COLUMNS(BIND)
#undef BIND
    return NULL;
}

static float get_float(const struct mhcs_column *column, uint32_t row)
{
    return mhcs_column_valid(column, row) ? ((const float *)column->values)[row] : NAN;
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

static void get_list(const struct mhcs_column *column, uint32_t row, float *to)
{
    const float *values = column->values;

    for (uint32_t i = 0; i < MHCS_COEFFICIENTS; i++)
        to[i] = mhcs_column_valid(column, row) ? values[(size_t)row * MHCS_COEFFICIENTS + i] : NAN;
}

/* NULL where the column is null. */
static const char *get_text(const struct mhcs_column *column, uint32_t row,
                            char to[MHCS_ROWS_TEXT_BYTES])
{
    size_t length;

    if (!mhcs_column_valid(column, row))
        return NULL;
    length = (size_t)(column->offsets[row + 1] - column->offsets[row]);
    if (length > MHCS_ROWS_TEXT_BYTES - 1)
        length = MHCS_ROWS_TEXT_BYTES - 1;
    memcpy(to, (const char *)column->values + column->offsets[row], length);
    to[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if (to[i] == '\0')
            to[i] = '?';
    mhcs_text_clean(to);
    return to;
}

static void get_result(struct mhcs_row_reader *rows, uint32_t row)
{
    struct mhcs_row_result *result = &rows->result;

    memset(result, 0xff, sizeof(*result)); /* every float a NaN */
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

const struct mhcs_record *mhcs_rows_get(struct mhcs_row_reader *rows, uint32_t row)
{
    struct mhcs_record *record = &rows->record;

    get_result(rows, row);
    *record = (struct mhcs_record){
        .time = get_int64(COLUMN(time), row),
        .call = get_int64(COLUMN(call), row),
        .site = get_int32(COLUMN(site), row),
        .site_name = get_text(COLUMN(site_name), row, rows->site_name),
        .layer = mhcs_column_valid(COLUMN(layer), row) ? get_int16(COLUMN(layer), row) : -1,
        .role = get_text(COLUMN(role), row, rows->role),
        .device = get_int16(COLUMN(device), row),
        .tokens = get_int32(COLUMN(tokens), row),
        .row = get_int32(COLUMN(row), row),
        .graph = get_bool(COLUMN(graph), row),
        .path = get_text(COLUMN(path), row, rows->path),
        .checkpoint = mhcs_column_valid(COLUMN(checkpoint), row),
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
