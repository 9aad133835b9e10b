/* SPDX-License-Identifier: Apache-2.0 */
/* The trace reader: recognising a trace, handing out events, going on behind damage. */
#include "shadow/trace/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "shadow/trace/frame.h"
#include "shadow/trace/unpack.h"

/* ---- open ---- */

#define REFUSE(...) (snprintf(why, MHCS_TRACE_WHAT, __VA_ARGS__), -EINVAL)

static bool starts_as_zstd(const uint8_t *data, size_t size)
{
    static const uint8_t magic[4] = {0x28, 0xb5, 0x2f, 0xfd}; /* MHCS_FRAME_ZSTD */

    return memcmp(data, magic, size < sizeof magic ? size : sizeof magic) == 0;
}

/* Finds the end of H and, behind it, the start of J: what tells a trace from any other file. A file
 * that ends before that, or is empty, may be a trace that is just being created. */
static int recognise(struct mhcs_trace_reader *reader, char why[MHCS_TRACE_WHAT])
{
    struct mhcs_source *source = &reader->source;
    int error = mhcs_source_need(source, 4);
    size_t size = 0;

    if (error < 0)
        return error;
    if (!starts_as_zstd(mhcs_source_data(source), mhcs_source_size(source)))
        return REFUSE("not a trace: it does not start with a zstd frame");
    if (mhcs_source_size(source) < 4)
        return 0;
    for (size_t want = 4096; want <= MHCS_HEADER_LIMIT && size == 0; want *= 2) {
        error = mhcs_source_need(source, want);
        if (error < 0)
            return error;
        const size_t found =
            ZSTD_findFrameCompressedSize(mhcs_source_data(source), mhcs_source_size(source));
        if (!ZSTD_isError(found))
            size = found;
        else if (ZSTD_getErrorCode(found) != ZSTD_error_srcSize_wrong)
            return REFUSE("not a trace, or its first frame is damaged: zstd: %s",
                          ZSTD_getErrorName(found));
        else if (source->at_end)
            return 0;
    }
    if (size == 0)
        return REFUSE("not a trace: its first frame is larger than %u bytes", MHCS_HEADER_LIMIT);
    error = mhcs_source_need(source, size + 4);
    if (error < 0)
        return error;
    if (mhcs_source_size(source) >= size + 4 &&
        mhcs_load32(mhcs_source_data(source) + size) != MHCS_FRAME_FACTS)
        return REFUSE("not a trace, or damaged: no facts follow the first frame at offset %zu",
                      size);
    reader->header_size = size;
    return 0;
}

int mhcs_trace_open_fd(struct mhcs_trace_reader **ret_reader, int fd, bool salvage, char why[160])
{
    struct mhcs_trace_reader *reader = calloc(1, sizeof *reader);
    int error = -ENOMEM;

    why[0] = '\0';
    if (reader != NULL) {
        reader->source.fd = fd;
        reader->salvage = salvage;
        reader->unpacker = mhcs_trace_unpacker_new();
        if (reader->unpacker != NULL)
            error = recognise(reader, why);
    }
    if (error == 0)
        *ret_reader = reader;
    else
        mhcs_trace_reader_free(reader);
    if (error < 0 && why[0] == '\0')
        snprintf(why, MHCS_TRACE_WHAT, "%s", strerrordesc_np(-error));
    return error;
}

int mhcs_trace_open(struct mhcs_trace_reader **ret_reader, const char *file, bool salvage,
                    char why[160])
{
    int fd;

    do
        fd = open(file, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        const int error = -errno;
        snprintf(why, MHCS_TRACE_WHAT, "%s", strerrordesc_np(-error));
        return error;
    }
    const int error = mhcs_trace_open_fd(ret_reader, fd, salvage, why);
    if (error < 0)
        close(fd);
    else
        (*ret_reader)->owns_fd = true;
    return error;
}

void mhcs_trace_reader_free(struct mhcs_trace_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->owns_fd)
        close(reader->source.fd);
    mhcs_source_free(&reader->source);
    mhcs_arrow_schema_free(reader->schema);
    mhcs_trace_unpacker_free(reader->unpacker);
    free(reader->facts);
    free(reader);
}

/* ---- next ---- */

/* Moves the window to the next good mark; false: there is none, and the window is at the end. */
static int look_for_mark(struct mhcs_trace_reader *reader, bool *ret_found)
{
    struct mhcs_source *source = &reader->source;
    int error = mhcs_source_skip(source, reader->resume - source->offset);
    size_t at;

    *ret_found = false;
    while (error == 0) {
        error = mhcs_source_need(source, MHCS_MARK_SIZE);
        const size_t size = mhcs_source_size(source);
        if (error < 0 || size < MHCS_MARK_SIZE)
            break;
        *ret_found = mhcs_walk_find_mark(source, 0, reader->seq, &at);
        if (*ret_found)
            return mhcs_source_skip(source, at);
        error = mhcs_source_skip(source, size - (MHCS_MARK_SIZE - 1));
    }
    return error < 0 ? error : mhcs_source_skip(source, mhcs_source_size(source));
}

/* Goes on behind the damage, or ends there. */
static int handle_damage(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item)
{
    struct mhcs_source *source = &reader->source;
    struct mhcs_trace_damage *damage = &item->damage;
    bool found = false;
    int error = 0;

    if (reader->salvage && reader->schema != NULL && reader->state != AFTER_END &&
        damage->kind == MHCS_DAMAGE_CORRUPT)
        error = look_for_mark(reader, &found);
    if (error == 0 && found) {
        struct mhcs_mark mark;
        mhcs_mark_decode(&mark, mhcs_source_data(source));
        damage->lost_batches = mark.seq - reader->seq;
        reader->seq = mark.seq;
        reader->state = AT_FRAMES;
        item->event = MHCS_TRACE_GAP;
    } else {
        if (error == 0)
            error = mhcs_source_skip(source, UINT64_MAX);
        reader->state = FINISHED;
        item->event = MHCS_TRACE_DAMAGED;
    }
    damage->dropped = source->offset - damage->offset;
    return error;
}

int mhcs_trace_pull(struct mhcs_trace_reader *reader, struct mhcs_trace_item *ret_item)
{
    int result = WALK_ON;

    if (reader->state == FINISHED) {
        *ret_item = reader->last;
        return 0;
    }
    while (result == WALK_ON) {
        memset(ret_item, 0, sizeof *ret_item);
        reader->resume_state = reader->state;
        reader->resume_offset = reader->source.offset;
        result = mhcs_walk_step(reader, ret_item);
    }
    if (result == WALK_DAMAGE)
        result = handle_damage(reader, ret_item);
    if (result < 0)
        return result;
    if (ret_item->event != MHCS_TRACE_GAP && ret_item->event != MHCS_TRACE_DAMAGED)
        memset(&ret_item->damage, 0, sizeof ret_item->damage);
    if (reader->state == FINISHED)
        reader->last = *ret_item;
    return 0;
}

int mhcs_trace_take(struct mhcs_trace_reader *reader, uint8_t **buffer, size_t *capacity)
{
    return mhcs_source_exchange(&reader->source, buffer, capacity);
}

bool mhcs_trace_resume(struct mhcs_trace_reader *reader)
{
    struct mhcs_source *source = &reader->source;

    if (reader->state != FINISHED || reader->resume_state == AT_HEADER ||
        reader->resume_state == AFTER_END ||
        (reader->last.event == MHCS_TRACE_DAMAGED &&
         reader->last.damage.kind != MHCS_DAMAGE_TORN) ||
        lseek(source->fd, (off_t)reader->resume_offset, SEEK_SET) < 0)
        return false;
    source->begin = source->end = 0;
    source->offset = reader->resume_offset;
    source->at_end = false;
    reader->state = reader->resume_state;
    return true;
}

int mhcs_trace_reject(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item)
{
    struct mhcs_trace_damage *damage = &item->damage;

    item->event = MHCS_TRACE_GAP;
    if (reader->salvage && damage->kind == MHCS_DAMAGE_CORRUPT)
        return 0;
    const int error = mhcs_source_skip(&reader->source, UINT64_MAX);
    item->event = MHCS_TRACE_DAMAGED;
    damage->dropped = reader->source.offset - damage->offset;
    damage->lost_batches = 0;
    reader->state = FINISHED;
    reader->last = *item;
    return error;
}

int mhcs_trace_next(struct mhcs_trace_reader *reader, struct mhcs_trace_item *ret_item)
{
    int error = mhcs_trace_pull(reader, ret_item);

    if (error < 0 || ret_item->event != MHCS_TRACE_BATCH)
        return error;
    error =
        mhcs_trace_unpack(reader->unpacker, &ret_item->packed, &ret_item->batch, &ret_item->damage);
    if (error == -EBADMSG)
        return mhcs_trace_reject(reader, ret_item);
    memset(&ret_item->damage, 0, sizeof ret_item->damage);
    return error;
}
