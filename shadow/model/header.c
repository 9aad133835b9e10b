/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and checks a safetensors header. */
#include "shadow/model/header.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/model/pull.h"

#define NAME_BYTES 1024
#define TYPE_BYTES 16

static const struct type {
    const char *name;
    uint32_t bytes;
} types[] = {{"F64", 8},  {"F32", 4},     {"F16", 2},     {"BF16", 2},    {"I64", 8}, {"I32", 4},
             {"I16", 2},  {"I8", 1},      {"U64", 8},     {"U32", 4},     {"U16", 2}, {"U8", 1},
             {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1}, {"C64", 8}};

/* Names are offsets while their memory grows. */
struct entry {
    struct mhcs_tensor tensor;
    size_t name_at;
};

struct parser {
    struct mhcs_tensors *to;
    struct mhcs_pull pull;
    struct entry *entries;
    size_t count, room, names_used, names_room;
    char *error;
    char name[NAME_BYTES]; /* of the entry being read */
};

int mhcs_tensors_fail(const char *path, char *error, const char *name, int code, const char *format,
                      ...)
{
    va_list args;
    int used = snprintf(error, MHCS_MODEL_ERROR, "%.300s: %s%.100s%s", path, name ? "tensor " : "",
                        name ? name : "", name ? ": " : "");

    if (used < 0 || used >= MHCS_MODEL_ERROR)
        return code;
    va_start(args, format);
    vsnprintf(error + used, MHCS_MODEL_ERROR - (size_t)used, format, args);
    va_end(args);
    return code;
}

#define FAIL(parser, name, ...)                                                                    \
    mhcs_tensors_fail((parser)->to->path, (parser)->error, name, -EBADMSG, __VA_ARGS__)

static int fail_json(struct parser *parser, const char *name)
{
    return FAIL(parser, name, "the header is not sound: %s (byte %zu of it)", parser->pull.error,
                parser->pull.error_at);
}

static int out_of_memory(struct parser *parser)
{
    return mhcs_tensors_fail(parser->to->path, parser->error, NULL, -ENOMEM, "out of memory");
}

static int parse_type(struct parser *parser, struct mhcs_tensor *t, uint32_t *ret_bytes)
{
    char text[TYPE_BYTES];

    if (!mhcs_pull_string(&parser->pull, text, sizeof(text)))
        return fail_json(parser, parser->name);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i].name, text) == 0) {
            t->type = types[i].name;
            *ret_bytes = types[i].bytes;
            return 0;
        }
    return FAIL(parser, parser->name, "unknown dtype %s", text);
}

/* Up to `most` counts; how many there were to *ret_count. */
static int parse_counts(struct parser *parser, uint64_t *counts, int most, int *ret_count)
{
    *ret_count = 0;
    if (!mhcs_pull_array(&parser->pull))
        return fail_json(parser, parser->name);
    while (mhcs_pull_item(&parser->pull)) {
        if (*ret_count == most)
            return FAIL(parser, parser->name, "a list of more than %d numbers", most);
        if (!mhcs_pull_count(&parser->pull, &counts[(*ret_count)++]))
            break;
    }
    return parser->pull.error ? fail_json(parser, parser->name) : 0;
}

static int check_length(struct parser *parser, const struct mhcs_tensor *t, uint64_t bytes)
{
    if (t->begin > t->end)
        return FAIL(parser, parser->name, "data_offsets is not [begin, end]");
    for (int i = 0; i < t->rank; i++)
        if (__builtin_mul_overflow(bytes, t->shape[i], &bytes))
            return FAIL(parser, parser->name, "shape is too large");
    if (t->end - t->begin != bytes)
        return FAIL(parser, parser->name,
                    "data_offsets span %" PRIu64 " bytes, shape and dtype need %" PRIu64,
                    t->end - t->begin, bytes);
    return 0;
}

static int parse_entry(struct parser *parser, struct mhcs_tensor *t)
{
    enum { TYPE = 1, SHAPE = 2, OFFSETS = 4 };
    uint64_t offsets[2];
    uint32_t bytes = 0;
    int seen = 0, count, error = 0;
    char key[NAME_BYTES];

    if (!mhcs_pull_object(&parser->pull))
        return fail_json(parser, parser->name);
    while (!error && mhcs_pull_key(&parser->pull, key, sizeof(key))) {
        const int which = strcmp(key, "dtype") == 0          ? TYPE
                          : strcmp(key, "shape") == 0        ? SHAPE
                          : strcmp(key, "data_offsets") == 0 ? OFFSETS
                                                             : 0;

        if (seen & which)
            return FAIL(parser, parser->name, "%s is given twice", key);
        seen |= which;
        if (which == TYPE) {
            error = parse_type(parser, t, &bytes);
        } else if (which == SHAPE) {
            error = parse_counts(parser, t->shape, MHCS_TENSOR_RANK_MAX, &t->rank);
        } else if (which == OFFSETS) {
            error = parse_counts(parser, offsets, 2, &count);
            if (!error && count != 2)
                return FAIL(parser, parser->name, "data_offsets is not [begin, end]");
        } else {
            mhcs_pull_skip(&parser->pull);
        }
    }
    if (error)
        return error;
    if (parser->pull.error)
        return fail_json(parser, parser->name);
    if (seen != (TYPE | SHAPE | OFFSETS))
        return FAIL(parser, parser->name, "no %s",
                    !(seen & TYPE)    ? "dtype"
                    : !(seen & SHAPE) ? "shape"
                                      : "data_offsets");
    t->begin = offsets[0];
    t->end = offsets[1];
    return check_length(parser, t, bytes);
}

/* Room for one more entry and its name. */
static int grow(struct parser *parser)
{
    const size_t length = strlen(parser->name) + 1;

    if (parser->count == parser->room) {
        const size_t room = parser->room ? 2 * parser->room : 64;
        struct entry *entries = reallocarray(parser->entries, room, sizeof(*entries));

        if (!entries)
            return out_of_memory(parser);
        parser->entries = entries;
        parser->room = room;
    }
    if (parser->names_room - parser->names_used < length) {
        const size_t room = 2 * parser->names_room + length;
        char *names = realloc(parser->to->names, room);

        if (!names)
            return out_of_memory(parser);
        parser->to->names = names;
        parser->names_room = room;
    }
    return 0;
}

static int parse_entries(struct parser *parser)
{
    if (!mhcs_pull_object(&parser->pull))
        return fail_json(parser, NULL);
    while (mhcs_pull_key(&parser->pull, parser->name, sizeof(parser->name))) {
        struct entry *entry;
        int error;

        if (strcmp(parser->name, "__metadata__") == 0) {
            mhcs_pull_skip(&parser->pull);
            continue;
        }
        error = grow(parser);
        if (error)
            return error;
        entry = &parser->entries[parser->count];
        *entry = (struct entry){.name_at = parser->names_used};
        error = parse_entry(parser, &entry->tensor);
        if (error)
            return error;
        strcpy(parser->to->names + parser->names_used, parser->name);
        parser->names_used += strlen(parser->name) + 1;
        parser->count++;
    }
    return mhcs_pull_end(&parser->pull) ? 0 : fail_json(parser, NULL);
}

/* ---- the whole ---- */

static int by_begin(const void *left, const void *right)
{
    const struct mhcs_tensor *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct mhcs_tensor *)left)->name,
                  ((const struct mhcs_tensor *)right)->name);
}

/* No gap, no overlap, nothing left over. */
static int check_ranges(struct parser *parser)
{
    const struct mhcs_tensors *to = parser->to;
    const uint64_t data = to->size - to->data_at;
    uint64_t expected = 0;

    qsort(to->list, to->count, sizeof(to->list[0]), by_begin);
    for (size_t i = 0; i < to->count; i++) {
        const struct mhcs_tensor *t = &to->list[i];

        if (t->end > data)
            return FAIL(parser, t->name,
                        "ends at byte %" PRIu64 " of %" PRIu64
                        ": the file is cut short (an unfinished download?)",
                        t->end, data);
        if (t->begin != expected)
            return FAIL(parser, t->name,
                        "begins at byte %" PRIu64 ", the one before ends at %" PRIu64, t->begin,
                        expected);
        expected = t->end;
    }
    if (expected != data)
        return FAIL(parser, NULL, "%" PRIu64 " bytes after the last tensor", data - expected);
    return 0;
}

/* Leaves the list in the order that mhcs_tensors_find() needs. */
static int check_names(struct parser *parser)
{
    const struct mhcs_tensors *to = parser->to;

    qsort(to->list, to->count, sizeof(to->list[0]), by_name);
    for (size_t i = 1; i < to->count; i++)
        if (strcmp(to->list[i - 1].name, to->list[i].name) == 0)
            return FAIL(parser, to->list[i].name, "listed twice");
    return 0;
}

static int make_list(struct parser *parser)
{
    struct mhcs_tensors *to = parser->to;

    to->list = calloc(parser->count ? parser->count : 1, sizeof(to->list[0]));
    if (!to->list)
        return out_of_memory(parser);
    to->count = parser->count;
    for (size_t i = 0; i < to->count; i++) {
        to->list[i] = parser->entries[i].tensor;
        to->list[i].name = to->names + parser->entries[i].name_at;
    }
    return 0;
}

int mhcs_header_parse(struct mhcs_tensors *tensors, const char *text, size_t size,
                      char error[MHCS_MODEL_ERROR])
{
    struct parser *parser = calloc(1, sizeof(*parser));
    int ret;

    if (!parser)
        return mhcs_tensors_fail(tensors->path, error, NULL, -ENOMEM, "out of memory");
    parser->to = tensors;
    parser->error = error;
    mhcs_pull_begin(&parser->pull, text, size);
    ret = parse_entries(parser);
    if (!ret)
        ret = make_list(parser);
    if (!ret)
        ret = check_ranges(parser);
    if (!ret)
        ret = check_names(parser);
    if (ret) {
        free(tensors->list);
        free(tensors->names);
        tensors->list = NULL;
        tensors->names = NULL;
        tensors->count = 0;
    }
    free(parser->entries);
    free(parser);
    return ret;
}
