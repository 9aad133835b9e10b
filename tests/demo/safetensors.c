/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and checks the whole header at once; see safetensors.h for what is refused. */
#include "safetensors.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LENGTH_BYTES     8
#define HEADER_BYTES_MAX 100000000u         /* the format's own limit */
#define EXACT_MAX        9007199254740992.0 /* 2^53: JSON numbers are doubles here */

static const struct dtype {
    const char *name;
    unsigned bytes;
} dtypes[] = {{"F64", 8},  {"F32", 4},     {"F16", 2},     {"BF16", 2},   {"I64", 8}, {"I32", 4},
              {"I16", 2},  {"I8", 1},      {"U64", 8},     {"U32", 4},    {"U16", 2}, {"U8", 1},
              {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1}};

struct safetensors {
    char *path;
    unsigned char *map;
    size_t bytes;
    struct safetensors_tensor *tensors; /* by begin */
    size_t count;
    char *error; /* the caller's, while the file is opened */
};

/* Writes "path: tensor name: ..." (name may be NULL) and returns -1. */
__attribute__((format(printf, 4, 5))) static int fail(const struct safetensors *file, char *error,
                                                      const char *name, const char *format, ...)
{
    va_list args;
    int used = snprintf(error, SAFETENSORS_ERROR_SIZE, "%s: %s%s%s", file->path,
                        name ? "tensor " : "", name ? name : "", name ? ": " : "");

    if (used < 0 || used >= SAFETENSORS_ERROR_SIZE)
        return -1;
    va_start(args, format);
    vsnprintf(error + used, SAFETENSORS_ERROR_SIZE - (size_t)used, format, args);
    va_end(args);
    return -1;
}

static const struct dtype *find_dtype(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return &dtypes[i];
    return NULL;
}

/* A count or an offset. */
static bool is_whole(const cJSON *item)
{
    return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= EXACT_MAX &&
           item->valuedouble == (double)(uint64_t)item->valuedouble;
}

static int parse_shape(struct safetensors *file, struct safetensors_tensor *t, const cJSON *shape)
{
    const cJSON *dimension;

    if (!cJSON_IsArray(shape) || cJSON_GetArraySize(shape) > SAFETENSORS_RANK_MAX)
        return fail(file, file->error, t->name, "shape is not a list of at most %d numbers",
                    SAFETENSORS_RANK_MAX);
    cJSON_ArrayForEach(dimension, shape)
    {
        if (!is_whole(dimension))
            return fail(file, file->error, t->name, "shape holds something that is not a count");
        t->shape[t->rank++] = (int64_t)dimension->valuedouble;
    }
    return 0;
}

static int parse_offsets(struct safetensors *file, struct safetensors_tensor *t,
                         const cJSON *offsets)
{
    const cJSON *begin = cJSON_GetArrayItem(offsets, 0), *end = cJSON_GetArrayItem(offsets, 1);

    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 || !is_whole(begin) ||
        !is_whole(end) || begin->valuedouble > end->valuedouble)
        return fail(file, file->error, t->name, "data_offsets is not [begin, end]");
    t->begin = (uint64_t)begin->valuedouble;
    t->end = (uint64_t)end->valuedouble;
    return 0;
}

static int check_length(struct safetensors *file, const struct safetensors_tensor *t,
                        const struct dtype *dtype)
{
    uint64_t bytes = dtype->bytes;

    for (int i = 0; i < t->rank; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)t->shape[i], &bytes))
            return fail(file, file->error, t->name, "shape is too large");
    if (t->end - t->begin != bytes)
        return fail(file, file->error, t->name,
                    "data_offsets span %llu bytes, shape and dtype need %llu",
                    (unsigned long long)(t->end - t->begin), (unsigned long long)bytes);
    return 0;
}

static int parse_tensor(struct safetensors *file, const cJSON *item)
{
    struct safetensors_tensor *t = &file->tensors[file->count];
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(item, "dtype");
    const struct dtype *known;

    *t = (struct safetensors_tensor){.name = strdup(item->string)};
    if (t->name == NULL)
        return fail(file, file->error, NULL, "out of memory");
    file->count++;
    known = cJSON_IsString(dtype) ? find_dtype(dtype->valuestring) : NULL;
    if (known == NULL)
        return fail(file, file->error, t->name, "unknown dtype %s",
                    cJSON_IsString(dtype) ? dtype->valuestring : "(none)");
    t->dtype = known->name;
    if (parse_shape(file, t, cJSON_GetObjectItemCaseSensitive(item, "shape")) != 0 ||
        parse_offsets(file, t, cJSON_GetObjectItemCaseSensitive(item, "data_offsets")) != 0)
        return -1;
    return check_length(file, t, known);
}

static int by_begin(const void *left, const void *right)
{
    const struct safetensors_tensor *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* No gap, no overlap, nothing left over. */
static int check_ranges(struct safetensors *file, uint64_t header_bytes)
{
    uint64_t start = LENGTH_BYTES + header_bytes, data = file->bytes - start, expected = 0;

    qsort(file->tensors, file->count, sizeof file->tensors[0], by_begin);
    for (size_t i = 0; i < file->count; i++) {
        struct safetensors_tensor *t = &file->tensors[i];

        if (t->end > data)
            return fail(file, file->error, t->name, "ends at byte %llu of %llu: file cut short?",
                        (unsigned long long)t->end, (unsigned long long)data);
        if (t->begin != expected)
            return fail(file, file->error, t->name,
                        "begins at byte %llu, the one before ends at "
                        "%llu",
                        (unsigned long long)t->begin, (unsigned long long)expected);
        t->data = file->map + start + t->begin;
        expected = t->end;
    }
    if (expected != data)
        return fail(file, file->error, NULL, "%llu bytes after the last tensor",
                    (unsigned long long)(data - expected));
    return 0;
}

static int parse_entries(struct safetensors *file, const cJSON *header)
{
    const cJSON *item;

    file->tensors = calloc((size_t)cJSON_GetArraySize(header) + 1, sizeof file->tensors[0]);
    if (file->tensors == NULL)
        return fail(file, file->error, NULL, "out of memory");
    cJSON_ArrayForEach(item, header)
    {
        if (strcmp(item->string, "__metadata__") == 0)
            continue;
        if (safetensors_find(file, item->string) != NULL)
            return fail(file, file->error, item->string, "listed twice");
        if (parse_tensor(file, item) != 0)
            return -1;
    }
    return 0;
}

static int parse(struct safetensors *file)
{
    uint64_t header_bytes = 0;
    cJSON *header;
    int ret;

    if (file->bytes < LENGTH_BYTES)
        return fail(file, file->error, NULL, "shorter than %d bytes: not safetensors",
                    LENGTH_BYTES);
    for (int i = LENGTH_BYTES; i-- > 0;)
        header_bytes = header_bytes << 8 | file->map[i];
    if (header_bytes > HEADER_BYTES_MAX || header_bytes > file->bytes - LENGTH_BYTES)
        return fail(file, file->error, NULL,
                    "header of %llu bytes in a file of %llu: not safetensors, or cut short",
                    (unsigned long long)header_bytes, (unsigned long long)file->bytes);
    header = cJSON_ParseWithLength((const char *)file->map + LENGTH_BYTES, header_bytes);
    if (!cJSON_IsObject(header))
        ret = fail(file, file->error, NULL, "the header is not a JSON object");
    else
        ret = parse_entries(file, header);
    cJSON_Delete(header);
    return ret != 0 ? ret : check_ranges(file, header_bytes);
}

static int map_file(struct safetensors *file)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    void *map = MAP_FAILED;

    if (fd < 0)
        return fail(file, file->error, NULL, "%s", strerror(errno));
    if (fstat(fd, &status) != 0)
        status.st_size = 0;
    file->bytes = (size_t)status.st_size;
    if (status.st_size > 0)
        map = mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return fail(file, file->error, NULL, "%s",
                    status.st_size > 0 ? strerror(errno) : "not a file with content");
    file->map = map;
    return 0;
}

int safetensors_open(struct safetensors **ret_file, const char *path,
                     char error[SAFETENSORS_ERROR_SIZE])
{
    struct safetensors *file = calloc(1, sizeof *file);

    if (file != NULL)
        file->path = strdup(path);
    if (file == NULL || file->path == NULL) {
        snprintf(error, SAFETENSORS_ERROR_SIZE, "%s: out of memory", path);
        free(file);
        return -1;
    }
    file->error = error;
    if (map_file(file) != 0 || parse(file) != 0) {
        safetensors_close(file);
        return -1;
    }
    *ret_file = file;
    return 0;
}

void safetensors_close(struct safetensors *file)
{
    if (file->map != NULL)
        munmap(file->map, file->bytes);
    for (size_t i = 0; i < file->count; i++)
        free(file->tensors[i].name);
    free(file->tensors);
    free(file->path);
    free(file);
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    return NULL;
}

static void print_shape(char *text, size_t size, int rank, const int64_t *shape)
{
    size_t used = 0;

    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? ", " : "",
                                 (long long)shape[i]);
}

const void *safetensors_f32(const struct safetensors *file, const char *name, int rank,
                            const int64_t *shape, char error[SAFETENSORS_ERROR_SIZE])
{
    const struct safetensors_tensor *t = safetensors_find(file, name);
    char has[200] = "", wanted[200] = "";

    if (t == NULL) {
        fail(file, error, name, "not in the file");
        return NULL;
    }
    print_shape(has, sizeof has, t->rank, t->shape);
    print_shape(wanted, sizeof wanted, rank, shape);
    if (strcmp(t->dtype, "F32") != 0 || strcmp(has, wanted) != 0) {
        fail(file, error, name, "is %s [%s], F32 [%s] is needed", t->dtype, has, wanted);
        return NULL;
    }
    return t->data;
}
