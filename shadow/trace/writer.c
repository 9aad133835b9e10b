/* SPDX-License-Identifier: Apache-2.0 */
/* The trace writer: rows become Arrow messages, messages become zstd frames, frames get their mark,
 * and each (mark, frame) pair reaches the file in one writev. */
#include "shadow/trace/trace.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "shadow/trace/batch.h"
#include "shadow/trace/crc32c.h"
#include "shadow/trace/frame.h"
#include "shadow/trace/sink.h"

/* Measured rows are noise to a compressor: a higher level costs time and gains nothing. */
#define LEVEL      1
#define WINDOW_LOG 20

struct mhcs_trace_writer {
    struct mhcs_sink sink;
    struct mhcs_rows *rows;
    ZSTD_CCtx *zstd;
    uint8_t *message; /* Arrow message being compressed, mhcs_rows_message_max() */
    uint8_t *frame;   /* and the frame made of it */
    size_t frame_capacity;
    uint64_t max_bytes;
    uint64_t dropped; /* as last told by the caller */
    uint32_t seq;
    uint32_t header_crc;
    int error; /* the first one; it stays */
};

static int64_t unix_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* DIR/mhcshadow.<host>.<pid>.<start>.arrows.zst */
static int make_path(char path[PATH_MAX], const char *dir)
{
    char host[65] = "";

    if (gethostname(host, sizeof host - 1) < 0 || host[0] == '\0')
        strcpy(host, "localhost");
    for (char *c = host; *c != '\0'; c++)
        if (!isascii(*c) || (!isalnum(*c) && *c != '-'))
            *c = '_';
    const int length = snprintf(path, PATH_MAX, "%s/mhcshadow.%s.%ld.%lld.arrows.zst", dir, host,
                                (long)getpid(), (long long)unix_ns());
    return length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Compresses writer->message into writer->frame; returns its size, or 0 if zstd found no memory for
 * its tables, which it takes when they are first needed. */
static size_t compress(struct mhcs_trace_writer *writer, size_t message_size)
{
    const size_t size = ZSTD_compress2(writer->zstd, writer->frame, writer->frame_capacity,
                                       writer->message, message_size);

    return ZSTD_isError(size) ? 0 : size;
}

static bool fits(const struct mhcs_trace_writer *writer, size_t size)
{
    return writer->max_bytes == 0 || writer->sink.edge + size <= writer->max_bytes;
}

/* ---- the end ---- */

static int write_end(struct mhcs_trace_writer *writer, enum mhcs_trace_end reason,
                     uint32_t lost_rows)
{
    const uint64_t now = (uint64_t)unix_ns();
    const struct mhcs_mark mark = {
        .seq = writer->seq,
        .rows = lost_rows,
        .first = now,
        .last = now,
        .dropped = writer->dropped,
        .flags = MHCS_MARK_END | (uint32_t)reason << MHCS_MARK_REASON_SHIFT,
    };
    uint8_t bytes[MHCS_MARK_SIZE];
    struct iovec part = {bytes, sizeof bytes};

    mhcs_mark_encode(bytes, &mark);
    return mhcs_sink_append(&writer->sink, &part, 1);
}

/* Nothing more is written after `error`. The rows at hand are lost, and E says how many. */
static int stop(struct mhcs_trace_writer *writer, int error, enum mhcs_trace_end reason)
{
    writer->error = error;
    write_end(writer, reason, mhcs_rows_count(writer->rows));
    mhcs_rows_clear(writer->rows);
    return error;
}

static enum mhcs_trace_end reason_of(int error)
{
    return error == -ENOSPC || error == -EDQUOT || error == -EFBIG ? MHCS_END_NO_SPACE
                                                                   : MHCS_END_IO_ERROR;
}

/* Adds frames, always leaving room for E below the size cap. */
static int add(struct mhcs_trace_writer *writer, struct iovec parts[2])
{
    if (!fits(writer, parts[0].iov_len + parts[1].iov_len + MHCS_MARK_SIZE))
        return stop(writer, -EFBIG, MHCS_END_SIZE_CAP);
    const int error = mhcs_sink_append(&writer->sink, parts, 2);
    return error == 0 ? 0 : stop(writer, error, reason_of(error));
}

/* ---- create ---- */

void mhcs_trace_forget(struct mhcs_trace_writer *writer)
{
    if (writer == NULL)
        return;
    mhcs_sink_close(&writer->sink);
    mhcs_rows_free(writer->rows);
    ZSTD_freeCCtx(writer->zstd);
    free(writer->message);
    free(writer->frame);
    free(writer);
}

void mhcs_trace_orphan(struct mhcs_trace_writer *writer)
{
    if (writer != NULL)
        mhcs_sink_close(&writer->sink);
}

static struct mhcs_trace_writer *allocate(void)
{
    struct mhcs_trace_writer *writer = calloc(1, sizeof *writer);

    if (writer == NULL)
        return NULL;
    writer->sink.fd = -1;
    writer->rows = mhcs_rows_new();
    writer->zstd = ZSTD_createCCtx();
    writer->message = malloc(mhcs_rows_message_max());
    writer->frame_capacity = ZSTD_compressBound(mhcs_rows_message_max());
    writer->frame = malloc(writer->frame_capacity);
    if (writer->rows == NULL || writer->zstd == NULL || writer->message == NULL ||
        writer->frame == NULL ||
        ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, LEVEL)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_windowLog, WINDOW_LOG)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_checksumFlag, 1))) {
        mhcs_trace_forget(writer);
        return NULL;
    }
    return writer;
}

int mhcs_trace_create(struct mhcs_trace_writer **ret_writer,
                      const struct mhcs_trace_options *options)
{
    const char *facts = options->facts != NULL ? options->facts : "{}";
    const size_t facts_size = strlen(facts);
    uint8_t facts_header[MHCS_FACTS_HEADER];
    char path[PATH_MAX];
    int error = make_path(path, options->dir);

    if (error < 0)
        return error;
    if (facts_size > MHCS_FACTS_LIMIT - MHCS_FACTS_HEADER)
        return -E2BIG;
    struct mhcs_trace_writer *writer = allocate();
    if (writer == NULL)
        return -ENOMEM;
    writer->max_bytes = options->max_bytes;

    const size_t header_size = compress(writer, mhcs_rows_schema(writer->message));
    writer->header_crc = mhcs_crc32c(0, writer->frame, header_size);
    mhcs_facts_encode(facts_header, writer->header_crc, facts, facts_size);
    struct iovec parts[3] = {
        {writer->frame, header_size},
        {facts_header, sizeof facts_header},
        {(char *)facts, facts_size},
    };
    if (header_size == 0)
        error = -ENOMEM;
    else if (!fits(writer, header_size + sizeof facts_header + facts_size + MHCS_MARK_SIZE))
        error = -EFBIG;
    if (error == 0)
        error = mhcs_sink_create(&writer->sink, path, options->sync);
    if (error == 0) {
        error = mhcs_sink_append(&writer->sink, parts, 3);
        if (error < 0)
            unlink(path);
    }
    if (error < 0) {
        mhcs_trace_forget(writer);
        return error;
    }
    *ret_writer = writer;
    return 0;
}

const char *mhcs_trace_path(const struct mhcs_trace_writer *writer)
{
    return writer->sink.path;
}

/* ---- rows and facts ---- */

static int write_batch(struct mhcs_trace_writer *writer)
{
    const uint32_t rows = mhcs_rows_count(writer->rows);
    uint8_t mark_bytes[MHCS_MARK_SIZE];

    if (rows == 0)
        return 0;
    const size_t size = compress(writer, mhcs_rows_message(writer->rows, writer->message));
    if (size == 0)
        return stop(writer, -ENOMEM, MHCS_END_DISABLED);
    const struct mhcs_mark mark = {
        .seq = writer->seq,
        .rows = rows,
        .length = (uint32_t)size,
        .crc = mhcs_crc32c(0, writer->frame, size),
        .first = (uint64_t)mhcs_rows_first(writer->rows),
        .last = (uint64_t)mhcs_rows_last(writer->rows),
        .dropped = writer->dropped,
    };
    struct iovec parts[2] = {{mark_bytes, sizeof mark_bytes}, {writer->frame, size}};

    mhcs_mark_encode(mark_bytes, &mark);
    const int error = add(writer, parts);
    if (error < 0)
        return error;
    writer->seq++;
    mhcs_rows_clear(writer->rows);
    return 0;
}

int mhcs_trace_append(struct mhcs_trace_writer *writer, const struct mhcs_record *record)
{
    if (writer->error < 0)
        return writer->error;
    mhcs_rows_append(writer->rows, record);
    return mhcs_rows_count(writer->rows) == MHCS_TRACE_BATCH_ROWS ? write_batch(writer) : 0;
}

int mhcs_trace_flush(struct mhcs_trace_writer *writer, uint64_t dropped)
{
    if (writer->error < 0)
        return writer->error;
    writer->dropped = dropped;
    return write_batch(writer);
}

int mhcs_trace_facts(struct mhcs_trace_writer *writer, const char *json)
{
    const size_t size = strlen(json);
    uint8_t header[MHCS_FACTS_HEADER];
    struct iovec parts[2] = {{header, sizeof header}, {(char *)json, size}};

    if (writer->error < 0)
        return writer->error;
    if (size > MHCS_FACTS_LIMIT - MHCS_FACTS_HEADER)
        return -E2BIG;
    const int error = write_batch(writer);
    if (error < 0)
        return error;
    mhcs_facts_encode(header, writer->header_crc, json, size);
    return add(writer, parts);
}

int mhcs_trace_close(struct mhcs_trace_writer *writer, enum mhcs_trace_end reason, uint64_t dropped)
{
    int error = mhcs_trace_flush(writer, dropped);

    if (error == 0)
        error = write_end(writer, reason, 0);
    const int close_error = mhcs_sink_close(&writer->sink);
    mhcs_trace_forget(writer);
    return error < 0 ? error : close_error;
}
