/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the reader: zstd frames out of their bytes, in memory of the unpacker's own. */
#ifndef MHCS_TRACE_UNPACK_H
#define MHCS_TRACE_UNPACK_H

#include "shadow/trace/arrow.h"
#include "shadow/trace/trace.h"

/* Decompresses one zstd frame that must be all of `frame`, to at most `limit` bytes, aligned to 64
 * and good until the next call. 0, -ENOMEM, or -EBADMSG with the reason in `what`. */
int mhcs_unpack_frame(struct mhcs_trace_unpacker *unpacker, const uint8_t *frame, size_t frame_size,
                      uint64_t limit, uint8_t **ret_content, size_t *ret_size,
                      char what[MHCS_TRACE_WHAT]);

/* Words from a hostile file may end up on a terminal: makes them printable ASCII. */
void mhcs_unpack_clean(char what[MHCS_TRACE_WHAT]);

#endif
