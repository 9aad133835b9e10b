/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow RecordBatch messages in: each column's buffers, checked against the plan and the body. */
#include "shadow/trace/arrow_plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shadow/trace/utf8.h"

/* For a batch without rows, where the buffer may be empty. */
static const int32_t no_offsets[1];

struct body {
    const struct mhcs_fb_vector nodes, buffers;
    uint8_t *data;
    uint64_t size;
    uint32_t rows;
};

/* Both are structs of two int64; the vectors were checked to hold index i. */
static void load_pair(const struct mhcs_fb_vector *vector, uint32_t i, int64_t pair[2])
{
    memcpy(pair, vector->in->data + vector->position + 16 * (size_t)i, 16);
}

/* Buffer i if it lies in the body and has at least `size` bytes; *ret_size is what it has. */
static uint8_t *buffer(const struct body *body, uint32_t i, uint64_t size, uint64_t *ret_size)
{
    int64_t pair[2];

    load_pair(&body->buffers, i, pair);
    if (pair[0] < 0 || pair[1] < 0 || pair[0] % 8 != 0 || (uint64_t)pair[0] > body->size ||
        (uint64_t)pair[1] > body->size - (uint64_t)pair[0] || (uint64_t)pair[1] < size)
        return NULL;
    if (ret_size != NULL)
        *ret_size = (uint64_t)pair[1];
    return body->data + pair[0];
}

/* The validity bitmap of node i over `length` values: NULL if all are valid. */
static int validity(const struct body *body, struct mhcs_arrow_place place, uint64_t length,
                    const uint8_t **ret_valid)
{
    int64_t node[2];
    uint64_t set = 0;

    load_pair(&body->nodes, place.node, node);
    if (node[0] < 0 || (uint64_t)node[0] != length || node[1] < 0 || (uint64_t)node[1] > length)
        return -EBADMSG;
    *ret_valid = NULL;
    if (node[1] == 0)
        return 0;
    const uint8_t *bits = buffer(body, place.buffer, (length + 7) / 8, NULL);
    if (bits == NULL)
        return -EBADMSG;
    for (uint64_t i = 0; i < length / 8; i++)
        set += (uint64_t)__builtin_popcount(bits[i]);
    if (length % 8 != 0)
        set += (uint64_t)__builtin_popcount(bits[length / 8] & ((1U << length % 8) - 1));
    if (length - set != (uint64_t)node[1])
        return -EBADMSG;
    *ret_valid = bits;
    return 0;
}

static bool well_formed(const uint8_t *text, size_t size)
{
    size_t i = 0;

    while (i < size) {
        uint64_t eight;
        if (size - i >= 8 && (memcpy(&eight, text + i, 8), (eight & 0x8080808080808080) == 0)) {
            i += 8;
            continue;
        }
        const size_t length = mhcs_utf8_sequence(text + i, size - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

static int read_text(const struct body *body, struct mhcs_arrow_place place,
                     struct mhcs_column *column)
{
    uint64_t size = 0;
    const uint8_t *text = buffer(body, place.buffer + 2, 0, &size);
    const uint8_t *offsets_bytes =
        buffer(body, place.buffer + 1, body->rows == 0 ? 0 : 4 * ((uint64_t)body->rows + 1), NULL);

    if (text == NULL || offsets_bytes == NULL)
        return -EBADMSG;
    const int32_t *offsets = body->rows == 0 ? no_offsets : (const void *)offsets_bytes;
    if (offsets[0] < 0 || (uint64_t)offsets[body->rows] > size)
        return -EBADMSG;
    for (uint32_t row = 0; row < body->rows; row++)
        if (offsets[row] > offsets[row + 1])
            return -EBADMSG;
    /* Well-formed as a whole, and no value starts within a character: then each is well-formed. */
    if (!well_formed(text + offsets[0], (size_t)(offsets[body->rows] - offsets[0])))
        return -EBADMSG;
    for (uint32_t row = 1; row < body->rows; row++)
        if (offsets[row] < offsets[body->rows] && (text[offsets[row]] & 0xc0) == 0x80)
            return -EBADMSG;
    column->values = text;
    column->offsets = offsets;
    return 0;
}

/* Null floats become NaN: `each` of them per bit of `valid`, which is NULL if there is none. */
static void blank(uint8_t *values, const uint8_t *valid, uint64_t length, uint32_t each)
{
    for (uint64_t i = 0; valid != NULL && i < length; i++)
        for (uint32_t j = 0; (valid[i / 8] >> i % 8 & 1) == 0 && j < each; j++)
            memcpy(values + 4 * (i * each + j), &(float){NAN}, 4);
}

static int read_floats(const struct body *body, struct mhcs_arrow_place place,
                       struct mhcs_column *column)
{
    uint8_t *values = buffer(body, place.buffer + 1, 4 * (uint64_t)body->rows, NULL);

    if (values == NULL)
        return -EBADMSG;
    blank(values, column->valid, body->rows, 1);
    column->values = values;
    return 0;
}

static int read_list(const struct body *body, struct mhcs_arrow_place place,
                     struct mhcs_column *column)
{
    const struct mhcs_arrow_place child = {place.node + 1, place.buffer + 1};
    const uint64_t length = (uint64_t)body->rows * MHCS_COEFFICIENTS;
    const uint8_t *valid;
    uint8_t *values = buffer(body, child.buffer + 1, 4 * length, NULL);

    if (values == NULL || validity(body, child, length, &valid) < 0)
        return -EBADMSG;
    blank(values, valid, length, 1);
    blank(values, column->valid, body->rows, MHCS_COEFFICIENTS);
    column->values = values;
    return 0;
}

static int read_column(const struct body *body, struct mhcs_arrow_place place,
                       struct mhcs_column *column)
{
    if (validity(body, place, body->rows, &column->valid) < 0)
        return -EBADMSG;
    if (column->type == MHCS_COL_UTF8)
        return read_text(body, place, column);
    if (column->type == MHCS_COL_FLOAT32_LIST24)
        return read_list(body, place, column);
    if (column->type == MHCS_COL_FLOAT32)
        return read_floats(body, place, column);
    column->values =
        buffer(body, place.buffer + 1, mhcs_arrow_values_size(column->type, body->rows), NULL);
    return column->values == NULL ? -EBADMSG : 0;
}

static bool is_float(enum mhcs_column_type type)
{
    return type == MHCS_COL_FLOAT32 || type == MHCS_COL_FLOAT32_LIST24;
}

int mhcs_arrow_read_batch(const struct mhcs_arrow_schema *schema, uint8_t *message, size_t size,
                          struct mhcs_column *columns, struct mhcs_batch *ret_batch,
                          char what[MHCS_TRACE_WHAT])
{
    struct mhcs_arrow_message envelope;
    const int error = mhcs_arrow_open(&envelope, message, size, MHCS_ARROW_RECORD_BATCH, what);

    if (error < 0)
        return error;
    const int64_t rows = mhcs_fb_int(&envelope.header, 0, 8, 0);
    const bool compressed = mhcs_fb_child(&envelope.header, 3).position != 0;
    const struct body body = {
        .nodes = mhcs_fb_elements(&envelope.header, 1, 16),
        .buffers = mhcs_fb_elements(&envelope.header, 2, 16),
        .data = message + envelope.body,
        .size = size - envelope.body,
        .rows = (uint32_t)rows,
    };
    if (envelope.in.bad)
        return MHCS_ARROW_FAIL(-EBADMSG, "Arrow record batch is not a valid flatbuffer");
    if (compressed)
        return MHCS_ARROW_FAIL(-ENOTSUP, "Arrow record batch with compressed buffers");
    if (rows < 0 || rows > MHCS_ROWS_LIMIT)
        return MHCS_ARROW_FAIL(-EBADMSG, "record batch of %lld rows; the limit is %u",
                               (long long)rows, MHCS_ROWS_LIMIT);
    if (body.nodes.count != schema->nodes || body.buffers.count != schema->buffers)
        return MHCS_ARROW_FAIL(
            -EBADMSG, "record batch of %u nodes and %u buffers; the schema has %u and %u",
            body.nodes.count, body.buffers.count, schema->nodes, schema->buffers);
    memcpy(columns, schema->columns, schema->column_count * sizeof *columns);
    /* Floats first: buffers of a hostile message may overlap, and what blank() writes must not land
     * in offsets that were checked before. */
    for (int floats = 1; floats >= 0; floats--)
        for (uint32_t i = 0; i < schema->column_count; i++)
            if (is_float(columns[i].type) == floats &&
                read_column(&body, schema->places[i], &columns[i]) < 0)
                return MHCS_ARROW_FAIL(-EBADMSG, "column %.60s does not fit its record batch",
                                       columns[i].name);
    *ret_batch = (struct mhcs_batch){
        .rows = (uint32_t)rows,
        .column_count = schema->column_count,
        .columns = columns,
    };
    return 0;
}
