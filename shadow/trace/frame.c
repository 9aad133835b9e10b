/* SPDX-License-Identifier: Apache-2.0 */
/* Marks and facts as bytes. The CRC of either covers its own skippable header too: a flipped bit in
 * the frame number or the size must not turn it into a frame that readers pass over. */
#include "shadow/trace/frame.h"

#include <string.h>

#include "shadow/trace/crc32c.h"

struct disk_mark {
    uint32_t magic, size;
    char tag[8];
    uint32_t seq, rows, length, crc;
    uint64_t first, last, dropped;
    uint32_t flags, mark_crc;
};
_Static_assert(sizeof(struct disk_mark) == MHCS_MARK_SIZE, "no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the trace is written as it is in memory");

void mhcs_mark_encode(uint8_t out[MHCS_MARK_SIZE], const struct mhcs_mark *mark)
{
    struct disk_mark disk = {
        .magic = MHCS_FRAME_MARK,
        .size = MHCS_MARK_SIZE - MHCS_SKIPPABLE_HEADER,
        .seq = mark->seq,
        .rows = mark->rows,
        .length = mark->length,
        .crc = mark->crc,
        .first = mark->first,
        .last = mark->last,
        .dropped = mark->dropped,
        .flags = mark->flags,
    };

    memcpy(disk.tag, MHCS_MARK_TAG, sizeof disk.tag);
    disk.mark_crc = mhcs_crc32c(0, &disk, offsetof(struct disk_mark, mark_crc));
    memcpy(out, &disk, sizeof disk);
}

bool mhcs_mark_decode(struct mhcs_mark *ret_mark, const uint8_t in[MHCS_MARK_SIZE])
{
    struct disk_mark disk;

    memcpy(&disk, in, sizeof disk);
    if (disk.magic != MHCS_FRAME_MARK || disk.size != MHCS_MARK_SIZE - MHCS_SKIPPABLE_HEADER ||
        memcmp(disk.tag, MHCS_MARK_TAG, sizeof disk.tag) != 0 ||
        disk.mark_crc != mhcs_crc32c(0, in, offsetof(struct disk_mark, mark_crc)))
        return false;
    *ret_mark = (struct mhcs_mark){
        .seq = disk.seq,
        .rows = disk.rows,
        .length = disk.length,
        .crc = disk.crc,
        .first = disk.first,
        .last = disk.last,
        .dropped = disk.dropped,
        .flags = disk.flags,
    };
    return true;
}

const uint8_t *mhcs_mark_find(const uint8_t *data, size_t size)
{
    static const uint8_t start[] = "\x57\x2a\x4d\x18\x38\x00\x00\x00" MHCS_MARK_TAG;

    return memmem(data, size, start, sizeof start - 1);
}

uint32_t mhcs_facts_crc(const uint8_t *frame, size_t size)
{
    const uint32_t crc = mhcs_crc32c(0, frame, 12);

    return mhcs_crc32c(crc, frame + MHCS_FACTS_HEADER, size - MHCS_FACTS_HEADER);
}

void mhcs_facts_encode(uint8_t out[MHCS_FACTS_HEADER], uint32_t header_crc, const void *json,
                       size_t size)
{
    uint32_t header[4] = {
        MHCS_FRAME_FACTS,
        (uint32_t)(MHCS_FACTS_HEADER - MHCS_SKIPPABLE_HEADER + size),
        header_crc,
    };

    header[3] = mhcs_crc32c(mhcs_crc32c(0, header, 12), json, size);
    memcpy(out, header, sizeof header);
}
