/* SPDX-License-Identifier: Apache-2.0 */
/* From frame to frame. A frame's CRC is checked before it is unpacked, zstd's checksum before the
 * content is looked at, every Arrow offset before it is used. */
#include "shadow/trace/walk.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/trace/crc32c.h"
#include "shadow/trace/frame.h"
#include "shadow/trace/unpack.h"

__attribute__((format(printf, 4, 5))) static int damaged(struct mhcs_trace_reader *reader,
                                                         struct mhcs_trace_item *item,
                                                         enum mhcs_damage_kind kind,
                                                         const char *format, ...)
{
    va_list arguments;

    item->damage.kind = kind;
    item->damage.offset = reader->source.offset;
    reader->resume = reader->source.offset + 1;
    va_start(arguments, format);
    vsnprintf(item->damage.what, sizeof item->damage.what, format, arguments);
    va_end(arguments);
    mhcs_unpack_clean(item->damage.what);
    return WALK_DAMAGE;
}

bool mhcs_walk_find_mark(const struct mhcs_source *source, size_t from, uint32_t seq,
                         size_t *ret_at)
{
    const uint8_t *data = mhcs_source_data(source);
    const uint8_t *end = data + mhcs_source_size(source);
    struct mhcs_mark mark;

    if (from > mhcs_source_size(source))
        return false;
    for (const uint8_t *at = data + from; end - at >= MHCS_MARK_SIZE; at++) {
        at = mhcs_mark_find(at, (size_t)(end - at));
        if (at == NULL || end - at < MHCS_MARK_SIZE)
            break;
        if (mhcs_mark_decode(&mark, at) && mark.seq >= seq) {
            *ret_at = (size_t)(at - data);
            return true;
        }
    }
    return false;
}

/* The window holds the rest of the file, and the frame at its start needs more. */
static int cut_short(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item,
                     const char *frame)
{
    size_t at;

    if (mhcs_walk_find_mark(&reader->source, 1, 0, &at))
        return damaged(reader, item, MHCS_DAMAGE_CORRUPT,
                       "%s claims to reach beyond the end of the file, but a mark follows it",
                       frame);
    return damaged(reader, item, MHCS_DAMAGE_TORN,
                   "ends inside a frame (%s): the file is still being written, or the process was "
                   "killed",
                   frame);
}

/* A result of unpacking, whose words are in item->damage.what. */
static int unpack_damage(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item, int error)
{
    char what[MHCS_TRACE_WHAT];

    if (error == -ENOMEM)
        return error;
    memcpy(what, item->damage.what, sizeof what);
    return damaged(reader, item, error == -ENOTSUP ? MHCS_DAMAGE_UNSUPPORTED : MHCS_DAMAGE_CORRUPT,
                   "%s", what);
}

/* ---- frames ---- each looks at the start of the window and moves it on if all is well. */

static int read_header(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item)
{
    const uint8_t *frame = mhcs_source_data(&reader->source);
    uint8_t *content;
    size_t size;

    if (mhcs_source_size(&reader->source) == 0)
        return damaged(reader, item, MHCS_DAMAGE_TORN,
                       "is empty: the file is still being written, or the process was killed");
    if (reader->header_size == 0)
        return cut_short(reader, item, "the schema");
    int error = mhcs_unpack_frame(reader->unpacker, frame, reader->header_size, MHCS_HEADER_LIMIT,
                                  &content, &size, item->damage.what);
    if (error == 0)
        error = mhcs_arrow_read_schema(&reader->schema, content, size, item->damage.what);
    if (error < 0)
        return unpack_damage(reader, item, error);
    reader->header_crc = mhcs_crc32c(0, frame, reader->header_size);
    reader->state = AT_FIRST_FACTS;
    error = mhcs_source_skip(&reader->source, reader->header_size);
    return error < 0 ? error : WALK_ON;
}

static int read_facts(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item)
{
    struct mhcs_source *source = &reader->source;
    int error = mhcs_source_need(source, MHCS_FACTS_HEADER);

    if (error < 0)
        return error;
    if (mhcs_source_size(source) < MHCS_FACTS_HEADER)
        return cut_short(reader, item, "facts");
    const uint64_t size =
        MHCS_SKIPPABLE_HEADER + (uint64_t)mhcs_load32(mhcs_source_data(source) + 4);
    if (size < MHCS_FACTS_HEADER || size > MHCS_FACTS_LIMIT)
        return damaged(reader, item, MHCS_DAMAGE_CORRUPT, "facts frame of %llu bytes",
                       (unsigned long long)size);
    error = mhcs_source_need(source, size);
    if (error < 0)
        return error;
    if (mhcs_source_size(source) < size)
        return cut_short(reader, item, "facts");
    const uint8_t *frame = mhcs_source_data(source);
    if (mhcs_facts_crc(frame, size) != mhcs_load32(frame + 12))
        return damaged(reader, item, MHCS_DAMAGE_CORRUPT, "CRC32C of a facts frame is wrong");
    if (mhcs_load32(frame + 8) != reader->header_crc)
        return damaged(reader, item, MHCS_DAMAGE_CORRUPT,
                       "facts frame states another CRC32C for the schema than it has");
    char *facts = realloc(reader->facts, size - MHCS_FACTS_HEADER + 1);
    if (facts == NULL)
        return -ENOMEM;
    memcpy(facts, frame + MHCS_FACTS_HEADER, size - MHCS_FACTS_HEADER);
    facts[size - MHCS_FACTS_HEADER] = '\0';
    reader->facts = facts;
    reader->state = AT_FRAMES;
    item->event = MHCS_TRACE_FACTS;
    item->facts = facts;
    error = mhcs_source_skip(source, size);
    return error < 0 ? error : WALK_EVENT;
}

static int read_end(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item,
                    const struct mhcs_mark *mark)
{
    if (mark->length != 0)
        return damaged(reader, item, MHCS_DAMAGE_CORRUPT, "end mark with data");
    item->event = MHCS_TRACE_CLOSED;
    item->reason = (enum mhcs_trace_end)(mark->flags >> MHCS_MARK_REASON_SHIFT & 0xff);
    item->lost_rows = mark->rows;
    item->dropped_samples = mark->dropped;
    reader->state = AFTER_END;
    const int error = mhcs_source_skip(&reader->source, MHCS_MARK_SIZE);
    return error < 0 ? error : WALK_EVENT;
}

/* The D behind a mark, which is in the window. */
static int read_data(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item,
                     const struct mhcs_mark *mark)
{
    struct mhcs_source *source = &reader->source;
    const uint8_t *frame = mhcs_source_data(source) + MHCS_MARK_SIZE;

    if (mhcs_crc32c(0, frame, mark->length) != mark->crc)
        return damaged(reader, item, MHCS_DAMAGE_CORRUPT, "CRC32C of the data of batch %u is wrong",
                       mark->seq);
    item->event = MHCS_TRACE_BATCH;
    item->dropped_samples = mark->dropped;
    item->packed = (struct mhcs_trace_packed){
        .frame = frame,
        .length = mark->length,
        .seq = mark->seq,
        .rows = mark->rows,
        .offset = source->offset,
        .schema = reader->schema,
    };
    reader->seq = mark->seq + 1;
    /* The whole frame is in the window, and moving the window on does not move its bytes. */
    const int error = mhcs_source_skip(source, MHCS_MARK_SIZE + (uint64_t)mark->length);
    return error < 0 ? error : WALK_EVENT;
}

static int read_mark(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item)
{
    struct mhcs_source *source = &reader->source;
    struct mhcs_mark mark;
    int error = mhcs_source_need(source, MHCS_MARK_SIZE);

    if (error < 0)
        return error;
    if (mhcs_source_size(source) < MHCS_MARK_SIZE)
        return cut_short(reader, item, "a mark");
    if (!mhcs_mark_decode(&mark, mhcs_source_data(source)))
        return damaged(reader, item, MHCS_DAMAGE_CORRUPT, "mark is damaged: its CRC32C is wrong");
    if ((mark.flags & MHCS_MARK_INCOMPATIBLE) != 0)
        return damaged(reader, item, MHCS_DAMAGE_UNSUPPORTED,
                       "mark with flags 0x%08x, which this reader does not know", mark.flags);
    if (mark.seq != reader->seq) {
        const int result = damaged(reader, item, MHCS_DAMAGE_CORRUPT,
                                   "mark %u where mark %u is expected: frames are %s", mark.seq,
                                   reader->seq, mark.seq > reader->seq ? "missing" : "repeated");
        reader->resume = item->damage.offset;
        return result;
    }
    if ((mark.flags & MHCS_MARK_END) != 0)
        return read_end(reader, item, &mark);
    if (mark.length > MHCS_COMPRESSED_LIMIT)
        return damaged(reader, item, MHCS_DAMAGE_CORRUPT, "batch %u of %u bytes; the limit is %u",
                       mark.seq, mark.length, MHCS_COMPRESSED_LIMIT);
    error = mhcs_source_need(source, MHCS_MARK_SIZE + (size_t)mark.length);
    if (error < 0)
        return error;
    if (mhcs_source_size(source) < MHCS_MARK_SIZE + (size_t)mark.length)
        return cut_short(reader, item, "the data of a batch");
    return read_data(reader, item, &mark);
}

/* A skippable frame of another number is somebody else's, unless a flipped bit made it so. */
static int skip_foreign(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item)
{
    struct mhcs_source *source = &reader->source;
    int error = mhcs_source_need(source, MHCS_SKIPPABLE_HEADER + sizeof MHCS_MARK_TAG - 1);

    if (error < 0)
        return error;
    const uint8_t *frame = mhcs_source_data(source);
    const size_t have = mhcs_source_size(source);
    if (have < MHCS_SKIPPABLE_HEADER)
        return cut_short(reader, item, "a skippable frame");
    const uint64_t size = MHCS_SKIPPABLE_HEADER + (uint64_t)mhcs_load32(frame + 4);
    if (have >= MHCS_SKIPPABLE_HEADER + 8 &&
        (memcmp(frame + MHCS_SKIPPABLE_HEADER, MHCS_MARK_TAG, 8) == 0 ||
         mhcs_load32(frame + MHCS_SKIPPABLE_HEADER) == reader->header_crc))
        return damaged(reader, item, MHCS_DAMAGE_CORRUPT,
                       "mark or facts under another frame number, 0x%08x", mhcs_load32(frame));
    const uint64_t start = source->offset;
    error = mhcs_source_skip(source, size);
    if (error < 0)
        return error;
    if (source->offset - start < size) {
        const int result = cut_short(reader, item, "a skippable frame");
        item->damage.offset = start;
        return result;
    }
    return WALK_ON;
}

static int read_frame(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item)
{
    struct mhcs_source *source = &reader->source;
    const int error = mhcs_source_need(source, 4);

    if (error < 0)
        return error;
    if (mhcs_source_size(source) < 4 &&
        (mhcs_source_size(source) != 0 || reader->state == AT_FIRST_FACTS))
        return cut_short(reader, item, "its header");
    if (mhcs_source_size(source) == 0) {
        item->event = MHCS_TRACE_EOF;
        reader->state = FINISHED;
        return WALK_EVENT;
    }
    const uint32_t magic = mhcs_load32(mhcs_source_data(source));
    if (reader->state == AFTER_END)
        return damaged(reader, item, MHCS_DAMAGE_CORRUPT,
                       magic == MHCS_FRAME_ZSTD
                           ? "another zstd frame follows the end mark: were files concatenated?"
                           : "bytes follow the end mark");
    if (magic == MHCS_FRAME_FACTS)
        return read_facts(reader, item);
    if (magic == MHCS_FRAME_MARK)
        return read_mark(reader, item);
    if (mhcs_frame_skippable(magic))
        return skip_foreign(reader, item);
    return damaged(reader, item, MHCS_DAMAGE_CORRUPT, "%s",
                   magic == MHCS_FRAME_ZSTD ? "zstd frame without a mark: were files concatenated?"
                   : magic == 0 ? "zero bytes where a frame should start: the file system lost data"
                                : "no frame starts here");
}

int mhcs_walk_step(struct mhcs_trace_reader *reader, struct mhcs_trace_item *item)
{
    return reader->state == AT_HEADER ? read_header(reader, item) : read_frame(reader, item);
}
