/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow Schema messages in. Columns of types that a trace does not have are stepped over, as long
 * as their layout is a fixed number of buffers. */
#include "shadow/trace/arrow_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_LIMIT 8 /* of nested fields */

int mhcs_arrow_open(struct mhcs_arrow_message *ret, const uint8_t *data, size_t size, uint8_t type,
                    char what[MHCS_TRACE_WHAT])
{
    uint32_t prefix[2];

    if (size < MHCS_ARROW_PREFIX || size > UINT32_MAX)
        return MHCS_ARROW_FAIL(-EBADMSG, "Arrow message of %zu bytes", size);
    memcpy(prefix, data, sizeof prefix);
    if (prefix[0] != MHCS_ARROW_CONTINUATION)
        return MHCS_ARROW_FAIL(-EBADMSG,
                               "Arrow message does not start with the continuation marker");
    if (prefix[1] > size - MHCS_ARROW_PREFIX || prefix[1] % 8 != 0)
        return MHCS_ARROW_FAIL(-EBADMSG, "Arrow metadata of %u bytes in a message of %zu",
                               prefix[1], size);
    ret->in = (struct mhcs_fb_in){data + MHCS_ARROW_PREFIX, prefix[1], false};
    ret->body = MHCS_ARROW_PREFIX + prefix[1];

    const struct mhcs_fb_table table = mhcs_fb_root(&ret->in);
    const int64_t version = mhcs_fb_int(&table, 0, 2, 0);
    const int64_t header_type = mhcs_fb_int(&table, 1, 1, 0);
    const int64_t body_size = mhcs_fb_int(&table, 3, 8, 0);
    ret->header = mhcs_fb_child(&table, 2);
    if (ret->in.bad || ret->header.position == 0)
        return MHCS_ARROW_FAIL(-EBADMSG, "Arrow message is not a valid flatbuffer");
    if (version != MHCS_ARROW_V5)
        return MHCS_ARROW_FAIL(-ENOTSUP, "Arrow metadata version %lld, not V5",
                               (long long)version + 1);
    if (header_type != type)
        return MHCS_ARROW_FAIL(-EBADMSG, "Arrow message of kind %lld where kind %u is expected",
                               (long long)header_type, type);
    if (body_size < 0 || (uint64_t)body_size != size - ret->body)
        return MHCS_ARROW_FAIL(-EBADMSG, "Arrow body of %lld bytes in a frame with %zu",
                               (long long)body_size, size - ret->body);
    return 0;
}

/* Our type of a field, or -1 for one that is only stepped over. */
static int column_type(const struct mhcs_fb_table *field)
{
    const struct mhcs_fb_table type = mhcs_fb_child(field, 3);

    switch (mhcs_fb_int(field, 2, 1, 0)) {
    case MHCS_ARROW_INT:
        if (mhcs_fb_int(&type, 1, 1, 0) == 0)
            return -1;
        switch (mhcs_fb_int(&type, 0, 4, 0)) {
        case 16:
            return MHCS_COL_INT16;
        case 32:
            return MHCS_COL_INT32;
        case 64:
            return MHCS_COL_INT64;
        }
        return -1;
    case MHCS_ARROW_FLOAT:
        return mhcs_fb_int(&type, 0, 2, 0) == MHCS_ARROW_SINGLE ? MHCS_COL_FLOAT32 : -1;
    case MHCS_ARROW_BOOL:
        return MHCS_COL_BOOL;
    case MHCS_ARROW_UTF8:
        return MHCS_COL_UTF8;
    case MHCS_ARROW_TIMESTAMP:
        return mhcs_fb_int(&type, 0, 2, 0) == MHCS_ARROW_NANOSECOND ? MHCS_COL_TIMESTAMP_NS : -1;
    case MHCS_ARROW_FIXED_SIZE_LIST: {
        const struct mhcs_fb_vector children = mhcs_fb_elements(field, 5, 4);
        if (mhcs_fb_int(&type, 0, 4, 0) != MHCS_COEFFICIENTS || children.count != 1)
            return -1;
        const struct mhcs_fb_table item = mhcs_fb_table_at(&children, 0);
        const struct mhcs_fb_table item_type = mhcs_fb_child(&item, 3);
        return mhcs_fb_int(&item, 2, 1, 0) == MHCS_ARROW_FLOAT &&
                       mhcs_fb_int(&item_type, 0, 2, 0) == MHCS_ARROW_SINGLE
                   ? MHCS_COL_FLOAT32_LIST24
                   : -1;
    }
    }
    return -1;
}

/* Buffers of a field itself, without its children; -1: not a fixed number, or unknown. */
static int own_buffers(int64_t type)
{
    switch (type) {
    case MHCS_ARROW_NULL:
        return 0;
    case MHCS_ARROW_FIXED_SIZE_LIST:
    case MHCS_ARROW_STRUCT:
        return 1;
    case MHCS_ARROW_INT:
    case MHCS_ARROW_FLOAT:
    case MHCS_ARROW_BOOL:
    case MHCS_ARROW_DECIMAL:
    case MHCS_ARROW_DATE:
    case MHCS_ARROW_TIME:
    case MHCS_ARROW_TIMESTAMP:
    case MHCS_ARROW_INTERVAL:
    case MHCS_ARROW_DURATION:
    case MHCS_ARROW_FIXED_SIZE_BINARY:
    case MHCS_ARROW_LIST:
    case MHCS_ARROW_LARGE_LIST:
    case MHCS_ARROW_MAP:
        return 2;
    case MHCS_ARROW_BINARY:
    case MHCS_ARROW_UTF8:
    case MHCS_ARROW_LARGE_BINARY:
    case MHCS_ARROW_LARGE_UTF8:
        return 3;
    }
    return -1;
}

/* Adds a field and its children to the plan's counts. */
static int measure(struct mhcs_arrow_schema *schema, const struct mhcs_fb_table *field,
                   uint32_t depth, char what[MHCS_TRACE_WHAT])
{
    const int buffers = own_buffers(mhcs_fb_int(field, 2, 1, 0));
    const struct mhcs_fb_vector children = mhcs_fb_elements(field, 5, 4);

    if (buffers < 0 || mhcs_fb_child(field, 4).position != 0)
        return MHCS_ARROW_FAIL(-ENOTSUP,
                               "column %.60s has a type that this reader cannot step over",
                               mhcs_fb_text(field, 0));
    schema->nodes++;
    schema->buffers += (uint32_t)buffers;
    /* A flatbuffer can name the same child many times: the count is the limit, not its size. */
    if (depth > DEPTH_LIMIT || schema->nodes > MHCS_COLUMNS_LIMIT)
        return MHCS_ARROW_FAIL(-ENOTSUP, "schema with more than %d fields or %d levels",
                               MHCS_COLUMNS_LIMIT, DEPTH_LIMIT);
    for (uint32_t i = 0; i < children.count && !field->in->bad; i++) {
        const struct mhcs_fb_table child = mhcs_fb_table_at(&children, i);
        const int error = measure(schema, &child, depth + 1, what);
        if (error < 0)
            return error;
    }
    return 0;
}

static int plan_columns(struct mhcs_arrow_schema *schema, const struct mhcs_fb_vector *fields,
                        char what[MHCS_TRACE_WHAT])
{
    for (uint32_t i = 0; i < fields->count && !fields->in->bad; i++) {
        const struct mhcs_fb_table field = mhcs_fb_table_at(fields, i);
        const int type = column_type(&field);
        if (type >= 0) {
            schema->places[schema->column_count] =
                (struct mhcs_arrow_place){schema->nodes, schema->buffers};
            schema->columns[schema->column_count++] = (struct mhcs_column){
                .name = mhcs_fb_text(&field, 0),
                .type = (enum mhcs_column_type)type,
            };
        }
        const int error = measure(schema, &field, 0, what);
        if (error < 0)
            return error;
    }
    return 0;
}

static int check_version(const struct mhcs_fb_table *header, char what[MHCS_TRACE_WHAT])
{
    const struct mhcs_fb_vector pairs = mhcs_fb_elements(header, 2, 4);

    for (uint32_t i = 0; i < pairs.count && !header->in->bad; i++) {
        const struct mhcs_fb_table pair = mhcs_fb_table_at(&pairs, i);
        if (strcmp(mhcs_fb_text(&pair, 0), MHCS_TRACE_VERSION_KEY) != 0)
            continue;
        const char *version = mhcs_fb_text(&pair, 1);
        if (strcmp(version, MHCS_TRACE_VERSION) == 0)
            return 0;
        return MHCS_ARROW_FAIL(-ENOTSUP, "trace of version %.20s: this reader knows version %s",
                               version, MHCS_TRACE_VERSION);
    }
    return MHCS_ARROW_FAIL(-EBADMSG, "Arrow schema without the metadata key %s",
                           MHCS_TRACE_VERSION_KEY);
}

static int read_schema(struct mhcs_arrow_schema *schema, size_t size, char what[MHCS_TRACE_WHAT])
{
    struct mhcs_arrow_message message;
    int error = mhcs_arrow_open(&message, schema->text, size, MHCS_ARROW_SCHEMA, what);

    if (error < 0)
        return error;
    const int64_t endianness = mhcs_fb_int(&message.header, 0, 2, 0);
    const struct mhcs_fb_vector fields = mhcs_fb_elements(&message.header, 1, 4);
    if (endianness != 0)
        return MHCS_ARROW_FAIL(-ENOTSUP, "big-endian Arrow stream");
    if (fields.count > MHCS_COLUMNS_LIMIT)
        return MHCS_ARROW_FAIL(-ENOTSUP, "%u columns; the limit is %d", fields.count,
                               MHCS_COLUMNS_LIMIT);
    error = check_version(&message.header, what);
    if (error < 0)
        return error;
    schema->places = calloc(fields.count + 1, sizeof *schema->places);
    schema->columns = calloc(fields.count + 1, sizeof *schema->columns);
    if (schema->places == NULL || schema->columns == NULL)
        return -ENOMEM;
    error = plan_columns(schema, &fields, what);
    if (message.in.bad)
        return MHCS_ARROW_FAIL(-EBADMSG, "Arrow schema is not a valid flatbuffer");
    return error;
}

int mhcs_arrow_read_schema(struct mhcs_arrow_schema **ret_schema, const uint8_t *message,
                           size_t size, char what[MHCS_TRACE_WHAT])
{
    struct mhcs_arrow_schema *schema = calloc(1, sizeof *schema);
    int error = -ENOMEM;

    if (schema == NULL)
        return -ENOMEM;
    schema->text = malloc(size != 0 ? size : 1);
    if (schema->text != NULL) {
        memcpy(schema->text, message, size);
        error = read_schema(schema, size, what);
    }
    if (error < 0) {
        mhcs_arrow_schema_free(schema);
        return error;
    }
    *ret_schema = schema;
    return 0;
}

uint32_t mhcs_arrow_column_count(const struct mhcs_arrow_schema *schema)
{
    return schema->column_count;
}

void mhcs_arrow_schema_free(struct mhcs_arrow_schema *schema)
{
    if (schema == NULL)
        return;
    free(schema->places);
    free(schema->columns);
    free(schema->text);
    free(schema);
}
