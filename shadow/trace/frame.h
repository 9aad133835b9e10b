/* SPDX-License-Identifier: Apache-2.0 */
/* The container: frame numbers, limits, and the bytes of marks and facts. doc/trace.md describes
 * them. */
#ifndef MHCS_TRACE_FRAME_H
#define MHCS_TRACE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MHCS_FRAME_ZSTD      UINT32_C(0xFD2FB528)
#define MHCS_FRAME_MARK      UINT32_C(0x184D2A57)
#define MHCS_FRAME_FACTS     UINT32_C(0x184D2A58)
#define MHCS_FRAME_SKIPPABLE UINT32_C(0x184D2A50) /* .. 0x184D2A5F */

/* A frame larger than these is damage: they bound what a reader allocates. */
#define MHCS_HEADER_LIMIT     (UINT32_C(1) << 20) /* H, compressed and not */
#define MHCS_FACTS_LIMIT      (UINT32_C(1) << 24)
#define MHCS_COMPRESSED_LIMIT (UINT32_C(1) << 24) /* D, compressed */
#define MHCS_CONTENT_LIMIT    (UINT32_C(1) << 26) /* D, decompressed */

#define MHCS_SKIPPABLE_HEADER 8 /* u32 number, u32 size of what follows */

static inline bool mhcs_frame_skippable(uint32_t magic)
{
    return (magic & ~UINT32_C(15)) == MHCS_FRAME_SKIPPABLE;
}

/* ---- mark ---- */

#define MHCS_MARK_SIZE         64 /* with its skippable header */
#define MHCS_MARK_TAG          "MHCSMRK1"
#define MHCS_MARK_END          UINT32_C(1) /* flag: E; bits 8..15 hold the reason */
#define MHCS_MARK_REASON_SHIFT 8
#define MHCS_MARK_INCOMPATIBLE UINT32_C(0xffff0000) /* flags a reader must know */

struct mhcs_mark {
    uint32_t seq, rows;   /* E: rows lost */
    uint32_t length, crc; /* of the D that follows */
    uint64_t first, last; /* time of its rows, unix ns; E: when it was closed */
    uint64_t dropped;
    uint32_t flags;
};
void mhcs_mark_encode(uint8_t out[MHCS_MARK_SIZE], const struct mhcs_mark *mark);
/* False: not a whole, undamaged mark. */
bool mhcs_mark_decode(struct mhcs_mark *ret_mark, const uint8_t in[MHCS_MARK_SIZE]);
/* First place in `data` where a mark may start; NULL: none. */
const uint8_t *mhcs_mark_find(const uint8_t *data, size_t size);

/* ---- facts ---- */

#define MHCS_FACTS_HEADER 16 /* skippable header, CRC32C of H, CRC32C of this frame */

void mhcs_facts_encode(uint8_t out[MHCS_FACTS_HEADER], uint32_t header_crc, const void *json,
                       size_t size);
/* CRC of a facts frame of `size` bytes in all, as its header should state it. */
uint32_t mhcs_facts_crc(const uint8_t *frame, size_t size);

static inline uint32_t mhcs_load32(const uint8_t *in)
{
    return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

#endif
