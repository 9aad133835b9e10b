/* SPDX-License-Identifier: Apache-2.0 */
/* trace_dump [--salvage] FILE (or -): everything the reader returns, one JSON object per event, for
 * comparison with what other Arrow readers see. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shadow/trace/trace.h"

static void put_text(const char *text, size_t size)
{
    putchar('"');
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < ' ')
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void put_float(float value)
{
    if (isfinite(value))
        printf("%.8e", (double)value); /* nine digits: exact */
    else                               /* as Python's json module spells them */
        fputs(isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity", stdout);
}

static void put_value(const struct mhcs_column *column, uint32_t row)
{
    const void *v = column->values;

    if (!mhcs_column_valid(column, row)) {
        fputs("null", stdout);
        return;
    }
    switch (column->type) {
    case MHCS_COL_INT16:
        printf("%d", ((const int16_t *)v)[row]);
        break;
    case MHCS_COL_INT32:
        printf("%d", ((const int32_t *)v)[row]);
        break;
    case MHCS_COL_INT64:
    case MHCS_COL_TIMESTAMP_NS:
        printf("%lld", (long long)((const int64_t *)v)[row]);
        break;
    case MHCS_COL_FLOAT32:
        put_float(((const float *)v)[row]);
        break;
    case MHCS_COL_BOOL:
        fputs(((const uint8_t *)v)[row / 8] >> row % 8 & 1 ? "true" : "false", stdout);
        break;
    case MHCS_COL_UTF8:
        put_text((const char *)v + column->offsets[row],
                 (size_t)(column->offsets[row + 1] - column->offsets[row]));
        break;
    case MHCS_COL_FLOAT32_LIST24:
        for (uint32_t i = 0; i < MHCS_COEFFICIENTS; i++) {
            putchar(i == 0 ? '[' : ',');
            put_float(((const float *)v)[(size_t)MHCS_COEFFICIENTS * row + i]);
        }
        putchar(']');
        break;
    }
}

static void put_batch(const struct mhcs_batch *batch)
{
    for (uint32_t i = 0; i < batch->column_count; i++) {
        if (i != 0)
            putchar(',');
        put_text(batch->columns[i].name, strlen(batch->columns[i].name));
        fputs(":[", stdout);
        for (uint32_t row = 0; row < batch->rows; row++) {
            if (row != 0)
                putchar(',');
            put_value(&batch->columns[i], row);
        }
        putchar(']');
    }
}

static void put_item(const struct mhcs_trace_item *item)
{
    static const char *const names[] = {"batch", "facts", "closed", "gap", "eof", "damaged"};
    const struct mhcs_trace_damage *damage = &item->damage;

    printf("{\"event\":\"%s\"", names[item->event]);
    switch (item->event) {
    case MHCS_TRACE_BATCH:
        printf(",\"dropped\":%llu,\"rows\":%u", (unsigned long long)item->dropped_samples,
               item->batch.rows);
        fputs(",\"columns\":{", stdout);
        put_batch(&item->batch);
        putchar('}');
        break;
    case MHCS_TRACE_FACTS:
        printf(",\"facts\":%s", item->facts);
        break;
    case MHCS_TRACE_CLOSED:
        printf(",\"reason\":%d,\"lost_rows\":%u,\"dropped\":%llu", item->reason, item->lost_rows,
               (unsigned long long)item->dropped_samples);
        break;
    case MHCS_TRACE_GAP:
    case MHCS_TRACE_DAMAGED:
        printf(",\"kind\":%d,\"offset\":%llu,\"bytes\":%llu,\"lost_batches\":%u,\"what\":",
               damage->kind, (unsigned long long)damage->offset,
               (unsigned long long)damage->dropped, damage->lost_batches);
        put_text(damage->what, strlen(damage->what));
        break;
    case MHCS_TRACE_EOF:
        break;
    }
    puts("}");
}

int main(int argc, char **argv)
{
    const bool salvage = argc > 2 && strcmp(argv[1], "--salvage") == 0;
    const char *const file = argc > 1 ? argv[argc - 1] : "-";
    struct mhcs_trace_reader *reader;
    struct mhcs_trace_item item;
    char why[160];
    int error = strcmp(file, "-") == 0 ? mhcs_trace_open_fd(&reader, STDIN_FILENO, salvage, why)
                                       : mhcs_trace_open(&reader, file, salvage, why);

    if (error < 0) {
        fprintf(stderr, "trace_dump: %s: %s\n", file, why);
        return 2;
    }
    do {
        error = mhcs_trace_next(reader, &item);
        if (error < 0)
            fprintf(stderr, "trace_dump: %s: %s\n", file, strerror(-error));
        else
            put_item(&item);
    } while (error == 0 && item.event != MHCS_TRACE_EOF && item.event != MHCS_TRACE_DAMAGED);
    mhcs_trace_reader_free(reader);
    return error < 0 ? 2 : item.event == MHCS_TRACE_EOF ? 0 : 3;
}
