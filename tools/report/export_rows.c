/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with every column, as JSON lines and as CSV. Both begin with where a row comes from: host,
 * pid, label and phase, then the trace's columns in their order. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "shadow/json.h"
#include "tools/report/export.h"

static const struct {
    const char *name;
    enum mhcs_column_type type;
} columns[MHCS_TRACE_COLUMN_COUNT] = {
#define COLUMN(name, type, when, source, doc) {#name, MHCS_COL_##type},
    MHCS_TRACE_COLUMNS(COLUMN)
#undef COLUMN
};

/* ---- values ---- */

static int64_t integer_at(const struct mhcs_column *column, enum mhcs_column_type type,
                          uint32_t row)
{
    switch (type) {
    case MHCS_COL_INT16:
        return ((const int16_t *)column->values)[row];
    case MHCS_COL_INT32:
        return ((const int32_t *)column->values)[row];
    case MHCS_COL_BOOL:
        return ((const uint8_t *)column->values)[row / 8] >> row % 8 & 1;
    default:
        return ((const int64_t *)column->values)[row];
    }
}

/* Cut where it is longer, and ends at a NUL within. */
static void text_at(const struct mhcs_column *column, uint32_t row, char to[MHCS_ROWS_TEXT_BYTES])
{
    const int32_t begin = column->offsets[row];
    size_t length = (size_t)(column->offsets[row + 1] - begin);

    if (length > MHCS_ROWS_TEXT_BYTES - 1)
        length = MHCS_ROWS_TEXT_BYTES - 1;
    memcpy(to, (const char *)column->values + begin, length);
    to[length] = '\0';
}

static const float *floats_at(const struct mhcs_column *column, enum mhcs_column_type type,
                              uint32_t row)
{
    return (const float *)column->values +
           (size_t)row * (type == MHCS_COL_FLOAT32_LIST24 ? MHCS_COEFFICIENTS : 1);
}

static enum mhcs_phase phase_at(const struct mhcs_row_reader *rows, uint32_t row)
{
    const struct mhcs_record record = {
        .graph = integer_at(rows->column[MHCS_TRACE_COLUMN_graph], MHCS_COL_BOOL, row) != 0,
        .tokens = (int32_t)integer_at(rows->column[MHCS_TRACE_COLUMN_tokens], MHCS_COL_INT32, row),
    };

    return mhcs_phase_of(&record);
}

/* ---- JSON lines ---- */

static void put_json(struct mhcs_json *json, size_t i, const struct mhcs_column *column,
                     uint32_t row)
{
    const enum mhcs_column_type type = columns[i].type;
    char text[MHCS_ROWS_TEXT_BYTES];

    if (!mhcs_column_valid(column, row)) {
        mhcs_json_string(json, columns[i].name, NULL);
        return;
    }
    switch (type) {
    case MHCS_COL_UTF8:
        text_at(column, row, text);
        mhcs_json_string(json, columns[i].name, text);
        break;
    case MHCS_COL_BOOL:
        mhcs_json_bool(json, columns[i].name, integer_at(column, type, row) != 0);
        break;
    case MHCS_COL_FLOAT32:
        mhcs_json_number(json, columns[i].name, (double)*floats_at(column, type, row));
        break;
    case MHCS_COL_FLOAT32_LIST24:
        mhcs_json_begin_array(json, columns[i].name);
        for (int c = 0; c < MHCS_COEFFICIENTS; c++)
            mhcs_json_number(json, NULL, (double)floats_at(column, type, row)[c]);
        mhcs_json_end_array(json);
        break;
    default:
        mhcs_json_int(json, columns[i].name, integer_at(column, type, row));
    }
}

static void put_json_row(struct mhcs_json *json, const struct mhcs_origin *origin,
                         const struct mhcs_row_reader *rows, uint32_t row)
{
    mhcs_json_begin_object(json, NULL);
    mhcs_json_string(json, "host", origin->host);
    mhcs_json_int(json, "pid", origin->pid);
    mhcs_json_string(json, "label", origin->label);
    mhcs_json_string(json, "phase", mhcs_phase_name(phase_at(rows, row)));
    for (size_t i = 0; i < MHCS_TRACE_COLUMN_COUNT; i++)
        put_json(json, i, rows->column[i], row);
    mhcs_json_end_object(json);
}

static int write_json_rows(FILE *out, void *state, const struct mhcs_origin *origin,
                           struct mhcs_row_reader *rows, uint32_t count)
{
    struct mhcs_json *json = state;
    const char *text;

    for (uint32_t row = 0; row < count; row++) {
        json->length = 0;
        json->comma = false;
        put_json_row(json, origin, rows, row);
        text = mhcs_json_finish(json);
        if (!text)
            return -ENOMEM;
        fprintf(out, "%s\n", text);
    }
    return 0;
}

static void free_json(void *state)
{
    mhcs_json_free(state);
}

const struct mhcs_row_format mhcs_export_jsonl = {
    .state_size = sizeof(struct mhcs_json),
    .batch = write_json_rows,
    .free = free_json,
};

/* ---- CSV (RFC 4180, but lines end with LF) ---- */

static int write_csv_heading(FILE *out, void *state)
{
    fputs("host,pid,label,phase", out);
    for (size_t i = 0; i < MHCS_TRACE_COLUMN_COUNT; i++)
        if (columns[i].type != MHCS_COL_FLOAT32_LIST24)
            fprintf(out, ",%s", columns[i].name);
        else
            for (int c = 0; c < MHCS_COEFFICIENTS; c++)
                fprintf(out, ",%s_%d", columns[i].name, c);
    fputc('\n', out);
    return 0;
}

static void put_csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, "\",\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* NaN and infinities as "nan" and "inf"; what is null is empty. */
static void put_csv(FILE *out, size_t i, const struct mhcs_column *column, uint32_t row)
{
    const enum mhcs_column_type type = columns[i].type;
    const bool valid = mhcs_column_valid(column, row);
    char text[MHCS_ROWS_TEXT_BYTES];

    switch (type) {
    case MHCS_COL_UTF8:
        if (valid) {
            text_at(column, row, text);
            put_csv_text(out, text);
        }
        break;
    case MHCS_COL_FLOAT32:
        if (valid)
            fprintf(out, "%.9g", (double)*floats_at(column, type, row));
        break;
    case MHCS_COL_FLOAT32_LIST24:
        for (int c = 0; c < MHCS_COEFFICIENTS; c++) {
            if (c > 0)
                fputc(',', out);
            if (valid)
                fprintf(out, "%.9g", (double)floats_at(column, type, row)[c]);
        }
        break;
    case MHCS_COL_BOOL:
        fputs(integer_at(column, type, row) ? "true" : "false", out);
        break;
    default:
        if (valid)
            fprintf(out, "%" PRId64, integer_at(column, type, row));
    }
}

static int write_csv_rows(FILE *out, void *state, const struct mhcs_origin *origin,
                          struct mhcs_row_reader *rows, uint32_t count)
{
    for (uint32_t row = 0; row < count; row++) {
        put_csv_text(out, origin->host);
        fprintf(out, ",%" PRId64 ",", origin->pid);
        put_csv_text(out, origin->label);
        fprintf(out, ",%s", mhcs_phase_name(phase_at(rows, row)));
        for (size_t i = 0; i < MHCS_TRACE_COLUMN_COUNT; i++) {
            fputc(',', out);
            put_csv(out, i, rows->column[i], row);
        }
        fputc('\n', out);
    }
    return 0;
}

const struct mhcs_row_format mhcs_export_csv = {
    .begin = write_csv_heading,
    .batch = write_csv_rows,
};
