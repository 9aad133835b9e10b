/* SPDX-License-Identifier: Apache-2.0 */
/* From the bytes of a D frame to its columns. Whoever pulled it has checked its CRC. */
#include "shadow/trace/unpack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "shadow/trace/arrow_plan.h"
#include "shadow/trace/frame.h"

struct mhcs_trace_unpacker {
    ZSTD_DCtx *zstd;
    uint8_t *content;
    size_t capacity;
    struct mhcs_column *columns;
};

struct mhcs_trace_unpacker *mhcs_trace_unpacker_new(void)
{
    struct mhcs_trace_unpacker *unpacker = calloc(1, sizeof *unpacker);

    if (unpacker == NULL)
        return NULL;
    unpacker->zstd = ZSTD_createDCtx();
    unpacker->columns = calloc(MHCS_COLUMNS_LIMIT, sizeof *unpacker->columns);
    if (unpacker->zstd != NULL && unpacker->columns != NULL)
        return unpacker;
    mhcs_trace_unpacker_free(unpacker);
    return NULL;
}

void mhcs_trace_unpacker_free(struct mhcs_trace_unpacker *unpacker)
{
    if (unpacker == NULL)
        return;
    ZSTD_freeDCtx(unpacker->zstd);
    free(unpacker->content);
    free(unpacker->columns);
    free(unpacker);
}

void mhcs_unpack_clean(char what[MHCS_TRACE_WHAT])
{
    for (char *c = what; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

static int make_room(struct mhcs_trace_unpacker *unpacker, size_t size)
{
    if (unpacker->content != NULL && size <= unpacker->capacity)
        return 0;
    free(unpacker->content);
    unpacker->capacity = (size + 4096) / 4096 * 4096;
    unpacker->content = aligned_alloc(64, unpacker->capacity);
    return unpacker->content == NULL ? -ENOMEM : 0;
}

int mhcs_unpack_frame(struct mhcs_trace_unpacker *unpacker, const uint8_t *frame, size_t frame_size,
                      uint64_t limit, uint8_t **ret_content, size_t *ret_size,
                      char what[MHCS_TRACE_WHAT])
{
    const unsigned long long size = ZSTD_getFrameContentSize(frame, frame_size);

    if (frame_size < 4 || mhcs_load32(frame) != MHCS_FRAME_ZSTD ||
        ZSTD_findFrameCompressedSize(frame, frame_size) != frame_size)
        return MHCS_ARROW_FAIL(-EBADMSG, "not one zstd frame of the %zu bytes that its mark says",
                               frame_size);
    /* ZSTD_CONTENTSIZE_UNKNOWN and _ERROR are the largest numbers. */
    if (size > limit)
        return MHCS_ARROW_FAIL(-EBADMSG,
                               "zstd frame without a content size, or with one over %llu bytes",
                               (unsigned long long)limit);
    if (make_room(unpacker, (size_t)size) < 0)
        return -ENOMEM;
    const size_t got = ZSTD_decompressDCtx(unpacker->zstd, unpacker->content, unpacker->capacity,
                                           frame, frame_size);
    if (ZSTD_isError(got))
        return MHCS_ARROW_FAIL(-EBADMSG, "zstd: %s", ZSTD_getErrorName(got));
    *ret_content = unpacker->content;
    *ret_size = got;
    return 0;
}

int mhcs_trace_unpack(struct mhcs_trace_unpacker *unpacker, const struct mhcs_trace_packed *packed,
                      struct mhcs_batch *ret_batch, struct mhcs_trace_damage *ret_damage)
{
    struct mhcs_trace_damage *damage = ret_damage;
    char *what = damage->what;
    uint8_t *content;
    size_t size;
    int error;

    *damage = (struct mhcs_trace_damage){
        .kind = MHCS_DAMAGE_CORRUPT,
        .offset = packed->offset,
        .dropped = MHCS_MARK_SIZE + (uint64_t)packed->length,
        .lost_batches = 1,
    };
    error = mhcs_unpack_frame(unpacker, packed->frame, packed->length, MHCS_CONTENT_LIMIT, &content,
                              &size, what);
    if (error == 0)
        error = mhcs_arrow_read_batch(packed->schema, content, size, unpacker->columns, ret_batch,
                                      what);
    if (error == -ENOTSUP)
        damage->kind = MHCS_DAMAGE_UNSUPPORTED;
    if (error == 0 && ret_batch->rows != packed->rows)
        error = MHCS_ARROW_FAIL(-EBADMSG, "batch %u has %u rows, its mark says %u", packed->seq,
                                ret_batch->rows, packed->rows);
    mhcs_unpack_clean(what);
    return error == -ENOTSUP ? -EBADMSG : error;
}
