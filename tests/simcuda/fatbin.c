/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the PTX in a fatbin as nvcc 12 and 13 write it.
 *
 * The container's layout is not documented; these fields were read from dumps. Integers are little
 * endian. Header: u32 0xBA55ED50, u16 version 1, u16 header size, u64 size of the entries. Entry:
 * u16 kind (1 PTX, 2 cubin), u32 header size at 4, u64 stored size at 8, u32 size without padding
 * at 16 if compressed, u32 architecture at 28, u64 flags at 40, u64 full size at 56.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "ptx.h"

#define MAGIC            0xBA55ED50u
#define WRAPPER_MAGIC    0x466243B1u /* __fatBinC_Wrapper_t: u32 magic, u32 version, pointer */
#define ENTRY_HEADER_MIN 64u
#define KIND_PTX         1
#define FLAG_LZ4         0x2000u
#define FLAG_ZSTD        0x8000u
#define TEXT_BYTES_MAX   (256u << 20)

struct entry {
    uint16_t kind;
    uint32_t header, compressed, arch;
    uint64_t stored, flags, full;
    const uint8_t *payload;
};

static uint64_t read_le(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* The entry at `at`, of which `left` bytes are there. */
static bool read_entry(const uint8_t *at, uint64_t left, struct entry *e)
{
    if (left < ENTRY_HEADER_MIN)
        return false;
    *e = (struct entry){.kind = (uint16_t)read_le(at, 2),
                        .header = (uint32_t)read_le(at + 4, 4),
                        .stored = read_le(at + 8, 8),
                        .compressed = (uint32_t)read_le(at + 16, 4),
                        .arch = (uint32_t)read_le(at + 28, 4),
                        .flags = read_le(at + 40, 8),
                        .full = read_le(at + 56, 8)};
    e->payload = at + e->header;
    return e->header >= ENTRY_HEADER_MIN && e->header <= left && e->stored <= left - e->header;
}

/* An LZ4 block: token, literals, match. Returns the bytes written, or -1. */
static int64_t lz4_decode(const uint8_t *in, size_t in_bytes, uint8_t *out, size_t out_bytes)
{
    size_t i = 0, o = 0;
    while (i < in_bytes) {
        const uint8_t token = in[i++];
        size_t literals = token >> 4, match = token & 15;
        for (uint8_t more = 255; literals >= 15 && more == 255;) {
            if (i == in_bytes)
                return -1;
            literals += more = in[i++];
        }
        if (literals > in_bytes - i || literals > out_bytes - o)
            return -1;
        memcpy(out + o, in + i, literals);
        i += literals;
        o += literals;
        if (i == in_bytes) /* the last sequence has no match */
            return (int64_t)o;
        if (in_bytes - i < 2)
            return -1;
        const size_t back = (size_t)read_le(in + i, 2);
        i += 2;
        for (uint8_t more = 255; match >= 15 && more == 255;) {
            if (i == in_bytes)
                return -1;
            match += more = in[i++];
        }
        match += 4;
        if (back == 0 || back > o || match > out_bytes - o)
            return -1;
        for (; match > 0; match--, o++)
            out[o] = out[o - back];
    }
    return -1;
}

static char *text_of(const struct entry *e, char *err, size_t err_size)
{
    const bool packed = (e->flags & (FLAG_LZ4 | FLAG_ZSTD)) != 0;
    const uint64_t full = packed ? e->full : e->stored;
    const uint64_t in_bytes = packed && e->compressed <= e->stored ? e->compressed : e->stored;
    char *text = full > TEXT_BYTES_MAX ? NULL : malloc(full + 1);
    if (text == NULL) {
        snprintf(err, err_size, "fatbin: PTX of %llu bytes", (unsigned long long)full);
        return NULL;
    }
    bool ok = true;
    if (e->flags & FLAG_ZSTD) {
        const size_t got = ZSTD_decompress(text, full, e->payload, in_bytes);
        ok = !ZSTD_isError(got) && got == full;
    } else if (e->flags & FLAG_LZ4) {
        ok = lz4_decode(e->payload, in_bytes, (uint8_t *)text, full) == (int64_t)full;
    } else {
        memcpy(text, e->payload, full);
    }
    if (!ok) {
        snprintf(err, err_size, "fatbin: the compressed PTX for sm_%u is damaged", e->arch);
        free(text);
        return NULL;
    }
    text[full] = '\0';
    return text;
}

static char *copy_text(const char *text, char *err, size_t err_size)
{
    char *copy = strdup(text);
    if (copy == NULL)
        snprintf(err, err_size, "out of memory");
    return copy;
}

char *fatbin_ptx(const void *image, uint32_t arch, char *err, size_t err_size)
{
    const uint8_t *at = image;
    if (read_le(at, 4) == WRAPPER_MAGIC)
        at = (const uint8_t *)(uintptr_t)read_le(at + 8, 8);
    if (read_le(at, 4) != MAGIC) {
        if (isprint(at[0]) || isspace(at[0]))
            return copy_text((const char *)at, err, err_size);
        snprintf(err, err_size, "the image is neither a fatbin nor PTX text (a cubin has no PTX)");
        return NULL;
    }
    const uint64_t header = read_le(at + 6, 2);
    uint64_t left = read_le(at + 8, 8);
    struct entry e, best = {.arch = 0}, lowest = {.arch = UINT32_MAX};
    for (at += header; left > 0; at += e.header + e.stored, left -= e.header + e.stored) {
        if (!read_entry(at, left, &e)) {
            snprintf(err, err_size, "fatbin: damaged entry");
            return NULL;
        }
        if (e.kind == KIND_PTX && e.arch <= arch && e.arch >= best.arch)
            best = e;
        if (e.kind == KIND_PTX && e.arch < lowest.arch)
            lowest = e;
    }
    if (best.arch != 0)
        return text_of(&best, err, err_size);
    if (lowest.arch != UINT32_MAX)
        snprintf(err, err_size, "fatbin: its PTX is for sm_%u and later, the device is sm_%u",
                 lowest.arch, arch);
    else
        snprintf(err, err_size, "fatbin: it holds no PTX");
    return NULL;
}
