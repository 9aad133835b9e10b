/* SPDX-License-Identifier: Apache-2.0 */
/* Trace files from nowhere: as they are, and with their CRCs put right, so that changes get past
 * them. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "shadow/trace/crc32c.h"
#include "shadow/trace/frame.h"
#include "tests/trace/trace_test.h"

static void store32(uint8_t *out, uint32_t value)
{
    memcpy(out, &value, 4);
}

/* Puts right the CRCs of the frame at `at`; returns its size, 0 if there is none. */
static size_t reseal_frame(uint8_t *at, size_t left, uint32_t header_crc)
{
    if (left < MHCS_SKIPPABLE_HEADER)
        return 0;
    const uint64_t size = MHCS_SKIPPABLE_HEADER + (uint64_t)mhcs_load32(at + 4);
    if (size > left)
        return 0;
    if (mhcs_load32(at) == MHCS_FRAME_FACTS && size >= MHCS_FACTS_HEADER) {
        store32(at + 8, header_crc);
        store32(at + 12, mhcs_facts_crc(at, size));
        return size;
    }
    if (mhcs_load32(at) != MHCS_FRAME_MARK || size != MHCS_MARK_SIZE)
        return mhcs_frame_skippable(mhcs_load32(at)) ? size : 0;
    const size_t data = ZSTD_findFrameCompressedSize(at + size, left - size);
    if (!ZSTD_isError(data)) {
        store32(at + 24, (uint32_t)data);
        store32(at + 28, mhcs_crc32c(0, at + size, data));
    }
    store32(at + 60, mhcs_crc32c(0, at, 60));
    return size + (ZSTD_isError(data) ? 0 : data);
}

static void reseal(uint8_t *data, size_t size)
{
    const size_t header = ZSTD_findFrameCompressedSize(data, size);

    if (ZSTD_isError(header))
        return;
    const uint32_t header_crc = mhcs_crc32c(0, data, header);
    for (size_t at = header, step = 1; step != 0 && at < size; at += step)
        step = reseal_frame(data + at, size - at, header_crc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct outcome outcome;
    uint8_t *copy = malloc(size != 0 ? size : 1);

    if (copy == NULL)
        abort();
    memcpy(copy, data, size);
    read_bytes(copy, size, true, &outcome);
    reseal(copy, size);
    read_bytes(copy, size, false, &outcome);
    read_bytes(copy, size, true, &outcome);
    free(copy);
    return 0;
}

void fuzz_seeds(void (*use)(const uint8_t *data, size_t size))
{
    size_t edges[SMALL_EDGES];
    const struct bytes trace = small_trace(edges);

    use(trace.data, trace.size);
    free(trace.data);
}
