/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the trace share; see trace_test.h. A set-up that fails ends the test. */
#include "tests/trace/trace_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/trace/make_trace.h"

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, strerror(errno));   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

void scratch_make(char dir[PATH_MAX])
{
    const char *base = getenv("TMPDIR");

    snprintf(dir, PATH_MAX, "%s/mhcs-trace-XXXXXX", base != NULL ? base : "/tmp");
    MUST(mkdtemp(dir) != NULL);
}

bool find_trace(const char *dir, char path[PATH_MAX])
{
    DIR *entries = opendir(dir);
    const struct dirent *entry;
    bool found = false;

    MUST(entries != NULL);
    while ((entry = readdir(entries)) != NULL)
        if (entry->d_name[0] != '.') {
            MUST(snprintf(path, PATH_MAX, "%s/%s", dir, entry->d_name) < PATH_MAX);
            found = true;
        }
    closedir(entries);
    return found;
}

void scratch_remove(const char *dir)
{
    char path[PATH_MAX];

    while (find_trace(dir, path))
        MUST(unlink(path) == 0);
    MUST(rmdir(dir) == 0);
}

struct bytes slurp(const char *path)
{
    struct stat status;
    const int fd = open(path, O_RDONLY);

    MUST(fd >= 0 && fstat(fd, &status) == 0);
    struct bytes bytes = {malloc((size_t)status.st_size + 1), (size_t)status.st_size};
    MUST(bytes.data != NULL);
    MUST(read(fd, bytes.data, bytes.size) == (ssize_t)bytes.size);
    close(fd);
    return bytes;
}

int memory_file(const uint8_t *data, size_t size)
{
    const int fd = memfd_create("trace", MFD_CLOEXEC);

    MUST(fd >= 0);
    MUST(pwrite(fd, data, size, 0) == (ssize_t)size);
    return fd;
}

const struct mhcs_record *series_record(int64_t i)
{
    static struct mhcs_row_result result;
    static struct mhcs_record record;
    static char name[64];
    uint64_t state = (uint64_t)i;

    make_row(&result, &state, i % 4 == 3 ? MHCS_COEFFICIENTS_HEAD : MHCS_COEFFICIENTS, 1e-3, 1e-3,
             i % 2 == 0);
    snprintf(name, sizeof name, "layers.%d.hc_ffn_fn", (int)(i % 43));
    record = (struct mhcs_record){
        .time = 1700000000000000000 + i,
        .call = i,
        .site = (int32_t)(i % 86),
        .site_name = name,
        .layer = (int16_t)(i % 43 - 1),
        .role = i % 3 == 0 ? NULL : "ffn",
        .device = (int16_t)(i % 8),
        .tokens = (int32_t)i + 1,
        .row = (int32_t)i,
        .graph = i % 5 == 0,
        .path = "f32*f32->f32/f32",
        .checkpoint = i % 2 == 0,
        .check = i % 3 == 1 ? 1e-7F : NAN,
        .result = &result,
    };
    return &record;
}

static size_t file_size(const char *path)
{
    struct stat status;

    MUST(stat(path, &status) == 0);
    return (size_t)status.st_size;
}

struct bytes small_trace(size_t edges[SMALL_EDGES])
{
    static const int batches[] = {2, 1, 2};
    char dir[PATH_MAX], path[PATH_MAX];
    int64_t row = 0;
    size_t edge = 0;
    struct mhcs_trace_writer *writer;

    scratch_make(dir);
    const struct mhcs_trace_options options = {.dir = dir, .facts = "{\"format\":\"test\"}"};
    MUST(mhcs_trace_create(&writer, &options) == 0);
    snprintf(path, sizeof path, "%s", mhcs_trace_path(writer));
    edges[edge++] = file_size(path);
    for (size_t i = 0; i < 3; i++) {
        for (int j = 0; j < batches[i]; j++)
            MUST(mhcs_trace_append(writer, series_record(row++)) == 0);
        MUST(mhcs_trace_flush(writer, i) == 0);
        edges[edge++] = file_size(path);
        if (i == 0) {
            MUST(mhcs_trace_facts(writer, "{\"counters\":{\"seen\":7}}") == 0);
            edges[edge++] = file_size(path);
        }
    }
    MUST(mhcs_trace_close(writer, MHCS_END_EXIT, 3) == 0);
    edges[edge++] = file_size(path);
    MUST(edge == SMALL_EDGES);
    const struct bytes bytes = slurp(path);
    scratch_remove(dir);
    return bytes;
}

/* ---- reading ---- */

static uint64_t mix(uint64_t digest, const void *data, size_t size)
{
    const uint8_t *bytes = data;

    for (size_t i = 0; i < size; i++)
        digest = (digest ^ bytes[i]) * UINT64_C(0x100000001b3);
    return digest;
}

static uint64_t digest_column(uint64_t digest, const struct mhcs_column *column, uint32_t rows)
{
    static const size_t sizes[] = {
        [MHCS_COL_INT16] = 2,   [MHCS_COL_INT32] = 4,           [MHCS_COL_INT64] = 8,
        [MHCS_COL_FLOAT32] = 4, [MHCS_COL_FLOAT32_LIST24] = 96, [MHCS_COL_TIMESTAMP_NS] = 8,
    };
    const uint8_t *values = column->values;

    digest = mix(digest, column->name, strlen(column->name));
    for (uint32_t row = 0; row < rows; row++) {
        const bool valid = mhcs_column_valid(column, row);
        digest = mix(digest, &valid, sizeof valid);
        if (!valid)
            continue;
        if (column->type == MHCS_COL_UTF8) {
            const size_t size = (size_t)(column->offsets[row + 1] - column->offsets[row]);
            digest = mix(digest, &size, sizeof size);
            digest = mix(digest, values + column->offsets[row], size);
        } else if (column->type == MHCS_COL_BOOL) {
            const bool bit = values[row / 8] >> row % 8 & 1;
            digest = mix(digest, &bit, sizeof bit);
        } else {
            const size_t size = sizes[column->type];
            digest = mix(digest, values + size * row, size);
        }
    }
    return digest;
}

uint64_t digest_batch(const struct mhcs_batch *batch)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);

    for (uint32_t i = 0; i < batch->column_count; i++)
        digest = digest_column(digest, &batch->columns[i], batch->rows);
    return digest;
}

static uint64_t digest_item(const struct mhcs_trace_item *item)
{
    uint64_t digest = item->event == MHCS_TRACE_BATCH ? digest_batch(&item->batch) : item->event;

    digest = mix(digest, &item->dropped_samples, sizeof item->dropped_samples);
    if (item->event == MHCS_TRACE_FACTS)
        digest = mix(digest, item->facts, strlen(item->facts));
    if (item->event == MHCS_TRACE_CLOSED)
        digest = mix(mix(digest, &item->reason, sizeof item->reason), &item->lost_rows,
                     sizeof item->lost_rows);
    return digest;
}

static void read_all(struct mhcs_trace_reader *reader, struct outcome *ret)
{
    struct mhcs_trace_item item;

    for (;;) {
        MUST(mhcs_trace_next(reader, &item) == 0);
        const uint64_t digest = digest_item(&item);
        const uint32_t at = ret->events < OUTCOME_EVENTS ? ret->events : OUTCOME_EVENTS - 1;
        if (item.event == MHCS_TRACE_EOF || item.event == MHCS_TRACE_DAMAGED)
            break;
        ret->digest[at] = digest;
        ret->gap[at] = item.damage;
        ret->events++;
        if (item.event == MHCS_TRACE_BATCH)
            ret->rows += item.batch.rows;
        if (item.event == MHCS_TRACE_CLOSED) {
            ret->closed = true;
            ret->end.reason = item.reason;
            ret->end.lost_rows = item.lost_rows;
            ret->end.dropped_samples = item.dropped_samples;
        }
    }
    ret->end.event = item.event;
    ret->end.damage = item.damage;
    /* The end stays the end. */
    MUST(mhcs_trace_next(reader, &item) == 0 && item.event == ret->end.event);
}

int read_fd(int fd, bool salvage, struct outcome *ret)
{
    struct mhcs_trace_reader *reader;

    memset(ret, 0, sizeof *ret);
    const int error = mhcs_trace_open_fd(&reader, fd, salvage, ret->why);
    if (error < 0)
        return error;
    read_all(reader, ret);
    mhcs_trace_reader_free(reader);
    return 0;
}

int read_bytes(const uint8_t *data, size_t size, bool salvage, struct outcome *ret)
{
    const int fd = memory_file(data, size);
    const int error = read_fd(fd, salvage, ret);

    close(fd);
    return error;
}

int read_file(const char *path, bool salvage, struct outcome *ret)
{
    struct mhcs_trace_reader *reader;

    memset(ret, 0, sizeof *ret);
    const int error = mhcs_trace_open(&reader, path, salvage, ret->why);
    if (error < 0)
        return error;
    read_all(reader, ret);
    mhcs_trace_reader_free(reader);
    return 0;
}
