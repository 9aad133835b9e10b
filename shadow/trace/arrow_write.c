/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow IPC messages out: metadata as a flatbuffer, then the body with one padded buffer after the
 * other. Field numbers are those of Schema.fbs and Message.fbs in the Arrow repository. */
#include "shadow/trace/arrow.h"

#include <string.h>

#include "shadow/trace/flatbuf.h"

#define BODY_ALIGNMENT 64

static size_t aligned(size_t size, size_t alignment)
{
    return (size + alignment - 1) / alignment * alignment;
}

size_t mhcs_arrow_values_size(enum mhcs_column_type type, uint32_t rows)
{
    switch (type) {
    case MHCS_COL_INT16:
        return 2 * (size_t)rows;
    case MHCS_COL_INT32:
    case MHCS_COL_FLOAT32:
        return 4 * (size_t)rows;
    case MHCS_COL_INT64:
    case MHCS_COL_TIMESTAMP_NS:
        return 8 * (size_t)rows;
    case MHCS_COL_BOOL:
        return ((size_t)rows + 7) / 8;
    case MHCS_COL_FLOAT32_LIST24:
        return 4 * (size_t)MHCS_COEFFICIENTS * rows;
    case MHCS_COL_UTF8:
        break;
    }
    return 0;
}

/* Message {version, header type, header, bodyLength}; returns the hole for the header. */
static size_t message(struct mhcs_fb_out *out, uint8_t header_type, uint64_t body_size)
{
    mhcs_fb_start(out);
    const size_t table = mhcs_fb_table(out, (const uint8_t[]){2, 1, 4, 8}, 4);
    mhcs_fb_link(out, 0, table);
    mhcs_fb_put(out, mhcs_fb_slot(out, table, 0), MHCS_ARROW_V5, 2);
    mhcs_fb_put(out, mhcs_fb_slot(out, table, 1), header_type, 1);
    mhcs_fb_put(out, mhcs_fb_slot(out, table, 3), body_size, 8);
    return mhcs_fb_slot(out, table, 2);
}

/* Puts the prefix before the metadata and pads it, so that the body starts aligned. Returns where
 * the body starts, or 0. */
static size_t finish_metadata(uint8_t *out, size_t capacity, const struct mhcs_fb_out *metadata)
{
    const size_t start = aligned(MHCS_ARROW_PREFIX + metadata->size, BODY_ALIGNMENT);
    const uint32_t prefix[2] = {MHCS_ARROW_CONTINUATION, (uint32_t)(start - MHCS_ARROW_PREFIX)};

    if (metadata->size > metadata->capacity || start > capacity)
        return 0;
    memcpy(out, prefix, sizeof prefix);
    memset(metadata->data + metadata->size, 0, start - MHCS_ARROW_PREFIX - metadata->size);
    return start;
}

/* ---- schema ---- */

/* One-element vector of KeyValue. */
static void put_metadata(struct mhcs_fb_out *out, size_t hole, const char *key, const char *value)
{
    const size_t vector = mhcs_fb_vector(out, 1, 4);
    mhcs_fb_link(out, hole, vector);
    const size_t pair = mhcs_fb_table(out, (const uint8_t[]){4, 4}, 2);
    mhcs_fb_link(out, vector + 4, pair);
    mhcs_fb_link(out, mhcs_fb_slot(out, pair, 0), mhcs_fb_string(out, key));
    mhcs_fb_link(out, mhcs_fb_slot(out, pair, 1), mhcs_fb_string(out, value));
}

static uint8_t arrow_type(enum mhcs_column_type type)
{
    static const uint8_t types[] = {
        [MHCS_COL_INT16] = MHCS_ARROW_INT,
        [MHCS_COL_INT32] = MHCS_ARROW_INT,
        [MHCS_COL_INT64] = MHCS_ARROW_INT,
        [MHCS_COL_FLOAT32] = MHCS_ARROW_FLOAT,
        [MHCS_COL_BOOL] = MHCS_ARROW_BOOL,
        [MHCS_COL_UTF8] = MHCS_ARROW_UTF8,
        [MHCS_COL_FLOAT32_LIST24] = MHCS_ARROW_FIXED_SIZE_LIST,
        [MHCS_COL_TIMESTAMP_NS] = MHCS_ARROW_TIMESTAMP,
    };
    return types[type];
}

static void put_type(struct mhcs_fb_out *out, size_t hole, enum mhcs_column_type type)
{
    size_t table;

    switch (arrow_type(type)) {
    case MHCS_ARROW_INT: /* bitWidth, is_signed */
        table = mhcs_fb_table(out, (const uint8_t[]){4, 1}, 2);
        mhcs_fb_put(out, mhcs_fb_slot(out, table, 0), 8 * mhcs_arrow_values_size(type, 1), 4);
        mhcs_fb_put(out, mhcs_fb_slot(out, table, 1), true, 1);
        break;
    case MHCS_ARROW_FLOAT: /* precision */
        table = mhcs_fb_table(out, (const uint8_t[]){2}, 1);
        mhcs_fb_put(out, mhcs_fb_slot(out, table, 0), MHCS_ARROW_SINGLE, 2);
        break;
    case MHCS_ARROW_TIMESTAMP: /* unit, timezone */
        table = mhcs_fb_table(out, (const uint8_t[]){2, 4}, 2);
        mhcs_fb_put(out, mhcs_fb_slot(out, table, 0), MHCS_ARROW_NANOSECOND, 2);
        mhcs_fb_link(out, mhcs_fb_slot(out, table, 1), mhcs_fb_string(out, "UTC"));
        break;
    case MHCS_ARROW_FIXED_SIZE_LIST: /* listSize */
        table = mhcs_fb_table(out, (const uint8_t[]){4}, 1);
        mhcs_fb_put(out, mhcs_fb_slot(out, table, 0), MHCS_COEFFICIENTS, 4);
        break;
    default: /* utf8, bool: empty tables */
        table = mhcs_fb_table(out, NULL, 0);
        break;
    }
    mhcs_fb_link(out, hole, table);
}

/* Field {name, nullable, type_type, type, dictionary, children, custom_metadata}. Arrow C++ and
 * Java want the children vector even when it is empty. */
static void put_field(struct mhcs_fb_out *out, size_t hole, const struct mhcs_arrow_field *field)
{
    const bool documented = field->doc != NULL;
    const bool list = field->type == MHCS_COL_FLOAT32_LIST24;
    const uint8_t sizes[] = {4, 1, 1, 4, 0, 4, documented ? 4 : 0};
    const size_t table = mhcs_fb_table(out, sizes, 7);

    mhcs_fb_link(out, hole, table);
    mhcs_fb_put(out, mhcs_fb_slot(out, table, 1), field->nullable, 1);
    mhcs_fb_put(out, mhcs_fb_slot(out, table, 2), arrow_type(field->type), 1);
    mhcs_fb_link(out, mhcs_fb_slot(out, table, 0), mhcs_fb_string(out, field->name));
    put_type(out, mhcs_fb_slot(out, table, 3), field->type);
    const size_t children = mhcs_fb_vector(out, list, 4);
    mhcs_fb_link(out, mhcs_fb_slot(out, table, 5), children);
    if (list) {
        const struct mhcs_arrow_field item = {"item", MHCS_COL_FLOAT32, true, NULL};
        put_field(out, children + 4, &item);
    }
    if (documented)
        put_metadata(out, mhcs_fb_slot(out, table, 6), "doc", field->doc);
}

size_t mhcs_arrow_write_schema(uint8_t *out, size_t capacity, const struct mhcs_arrow_field *fields,
                               uint32_t count)
{
    struct mhcs_fb_out fb = {out + MHCS_ARROW_PREFIX, 0, capacity - MHCS_ARROW_PREFIX};
    const size_t hole = message(&fb, MHCS_ARROW_SCHEMA, 0);

    /* Schema {endianness (absent: little), fields, custom_metadata} */
    const size_t schema = mhcs_fb_table(&fb, (const uint8_t[]){0, 4, 4}, 3);
    mhcs_fb_link(&fb, hole, schema);
    const size_t vector = mhcs_fb_vector(&fb, count, 4);
    mhcs_fb_link(&fb, mhcs_fb_slot(&fb, schema, 1), vector);
    for (uint32_t i = 0; i < count; i++)
        put_field(&fb, vector + 4 + 4 * (size_t)i, &fields[i]);
    put_metadata(&fb, mhcs_fb_slot(&fb, schema, 2), MHCS_TRACE_VERSION_KEY, MHCS_TRACE_VERSION);
    return finish_metadata(out, capacity, &fb);
}

/* ---- record batch ---- */

/* Nodes and buffers of one column, as both passes over a batch need them. */
struct piece {
    const void *data;
    size_t size;
};
struct layout {
    uint32_t nodes, buffers;
    uint64_t node_length[2];
    struct piece buffer[3];
};

static struct layout column_layout(const struct mhcs_column *column, uint32_t rows)
{
    const struct piece valid = {column->valid, column->valid ? ((size_t)rows + 7) / 8 : 0};
    const struct piece values = {column->values, mhcs_arrow_values_size(column->type, rows)};

    if (column->type == MHCS_COL_UTF8)
        return (struct layout){1,
                               3,
                               {rows},
                               {valid,
                                {column->offsets, 4 * ((size_t)rows + 1)},
                                {column->values, (size_t)column->offsets[rows]}}};
    if (column->type == MHCS_COL_FLOAT32_LIST24) /* the list's validity, then its child's two */
        return (struct layout){
            2, 3, {rows, (uint64_t)MHCS_COEFFICIENTS * rows}, {valid, {NULL, 0}, values}};
    return (struct layout){1, 2, {rows}, {valid, values}};
}

static uint64_t count_nulls(const struct mhcs_column *column, uint32_t rows)
{
    uint64_t nulls = 0;

    if (column->valid != NULL)
        for (uint32_t row = 0; row < rows; row++)
            nulls += !mhcs_column_valid(column, row);
    return nulls;
}

/* RecordBatch {length, nodes, buffers} */
static void put_batch(struct mhcs_fb_out *fb, const struct mhcs_column *columns, uint32_t count,
                      uint32_t rows, uint64_t body_size)
{
    uint32_t nodes = 0, buffers = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct layout layout = column_layout(&columns[i], rows);
        nodes += layout.nodes;
        buffers += layout.buffers;
    }
    const size_t hole = message(fb, MHCS_ARROW_RECORD_BATCH, body_size);
    const size_t batch = mhcs_fb_table(fb, (const uint8_t[]){8, 4, 4}, 3);
    mhcs_fb_link(fb, hole, batch);
    mhcs_fb_put(fb, mhcs_fb_slot(fb, batch, 0), rows, 8);
    size_t node = mhcs_fb_vector(fb, nodes, 16);
    mhcs_fb_link(fb, mhcs_fb_slot(fb, batch, 1), node);
    size_t buffer = mhcs_fb_vector(fb, buffers, 16);
    mhcs_fb_link(fb, mhcs_fb_slot(fb, batch, 2), buffer);

    uint64_t offset = 0;
    node += 4;
    buffer += 4;
    for (uint32_t i = 0; i < count; i++) {
        const struct layout layout = column_layout(&columns[i], rows);
        for (uint32_t j = 0; j < layout.nodes; j++, node += 16) {
            mhcs_fb_put(fb, node, layout.node_length[j], 8);
            mhcs_fb_put(fb, node + 8, j == 0 ? count_nulls(&columns[i], rows) : 0, 8);
        }
        for (uint32_t j = 0; j < layout.buffers; j++, buffer += 16) {
            mhcs_fb_put(fb, buffer, offset, 8);
            mhcs_fb_put(fb, buffer + 8, layout.buffer[j].size, 8);
            offset += aligned(layout.buffer[j].size, BODY_ALIGNMENT);
        }
    }
}

size_t mhcs_arrow_write_batch(uint8_t *out, size_t capacity, const struct mhcs_column *columns,
                              uint32_t count, uint32_t rows)
{
    struct mhcs_fb_out fb = {out + MHCS_ARROW_PREFIX, 0, capacity - MHCS_ARROW_PREFIX};

    uint64_t body = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct layout layout = column_layout(&columns[i], rows);
        for (uint32_t j = 0; j < layout.buffers; j++)
            body += aligned(layout.buffer[j].size, BODY_ALIGNMENT);
    }
    put_batch(&fb, columns, count, rows, body);
    size_t at = finish_metadata(out, capacity, &fb);
    if (at == 0 || body > capacity - at)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct layout layout = column_layout(&columns[i], rows);
        for (uint32_t j = 0; j < layout.buffers; j++) {
            const size_t size = layout.buffer[j].size;
            const size_t padded = aligned(size, BODY_ALIGNMENT);
            if (size != 0)
                memcpy(out + at, layout.buffer[j].data, size);
            memset(out + at + size, 0, padded - size);
            at += padded;
        }
    }
    return at;
}
