/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes as doc/trace.md states them: checksums, marks, facts, frames, and its list of columns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "shadow/trace/columns.h"
#include "shadow/trace/crc32c.h"
#include "shadow/trace/frame.h"
#include "shadow/trace/utf8.h"
#include "tests/trace/trace_test.h"

/* RFC 3720, B.4, and the check value of the CRC catalogues. */
static void crc32c_gives_the_published_values(void **state)
{
    uint8_t zeros[32] = {0}, ones[32], rising[32];

    for (int i = 0; i < 32; i++) {
        ones[i] = 0xff;
        rising[i] = (uint8_t)i;
    }
    assert_int_equal(mhcs_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(mhcs_crc32c(0, zeros, 32), 0x8a9136aa);
    assert_int_equal(mhcs_crc32c(0, ones, 32), 0x62a8ab43);
    assert_int_equal(mhcs_crc32c(0, rising, 32), 0x46dd794e);
}

static void crc32c_is_the_same_in_pieces_and_without_the_instruction(void **state)
{
    uint8_t data[257];

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * i + 7 * i);
    for (size_t cut = 0; cut <= sizeof data; cut++) {
        const uint32_t crc = mhcs_crc32c(0, data, cut);
        assert_int_equal(crc, mhcs_crc32c_portable(0, data, cut));
        assert_int_equal(mhcs_crc32c(crc, data + cut, sizeof data - cut),
                         mhcs_crc32c_portable(0, data, sizeof data));
    }
}

static void crc32c_of_long_data_is_the_same_without_the_instruction(void **state)
{
    static uint8_t data[40000]; /* it takes 12288 bytes at a time */

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * i / 3 + 7 * i);
    for (size_t size = 12280; size < sizeof data; size += 4093)
        for (size_t begin = 0; begin < 3; begin++)
            assert_int_equal(mhcs_crc32c(17, data + begin, size),
                             mhcs_crc32c_portable(17, data + begin, size));
}

static void utf8_is_told_from_what_only_looks_like_it(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        {"a", 1},
        {"\xc3\xa9", 2},
        {"\xe5\xb1\xa4", 3},
        {"\xf0\x9f\x94\xa5", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\x80", 0},             /* continuation alone */
        {"\xc0\x80", 0},         /* overlong NUL */
        {"\xe0\x80\xaf", 0},     /* overlong slash */
        {"\xed\xa0\x80", 0},     /* surrogate */
        {"\xf4\x90\x80\x80", 0}, /* over U+10FFFF */
        {"\xf0\x9f\x94", 0},     /* cut */
        {"\xc3(", 0},
        {"\xff", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(
            mhcs_utf8_sequence((const uint8_t *)cases[i].bytes, strlen(cases[i].bytes)),
            cases[i].length);
    assert_int_equal(mhcs_utf8_sequence((const uint8_t *)"", 0), 0);
}

static void a_mark_is_these_64_bytes(void **state)
{
    static const uint8_t expected[60] = "\x57\x2a\x4d\x18\x38\x00\x00\x00MHCSMRK1"
                                        "\x04\x03\x02\x01\x00\x10\x00\x00"
                                        "\x44\x33\x22\x11\xdd\xcc\xbb\xaa"
                                        "\x01\x00\x00\x00\x00\x00\x00\x00"
                                        "\x02\x00\x00\x00\x00\x00\x00\x80"
                                        "\x03\x00\x00\x00\x00\x00\x00\x00"
                                        "\x01\x02\x00";
    const struct mhcs_mark mark = {
        .seq = 0x01020304,
        .rows = 4096,
        .length = 0x11223344,
        .crc = 0xaabbccdd,
        .first = 1,
        .last = UINT64_C(0x8000000000000002),
        .dropped = 3,
        .flags = MHCS_MARK_END | 2 << MHCS_MARK_REASON_SHIFT,
    };
    struct mhcs_mark back;
    uint8_t bytes[MHCS_MARK_SIZE], again[MHCS_MARK_SIZE];

    mhcs_mark_encode(bytes, &mark);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_int_equal(mhcs_load32(bytes + 60), mhcs_crc32c(0, bytes, 60));
    assert_true(mhcs_mark_decode(&back, bytes));
    mhcs_mark_encode(again, &back);
    assert_memory_equal(again, bytes, sizeof again);
}

/* H: the first frame; then J with H's CRC and its own. */
static void the_first_facts_vouch_for_the_schema(void **state)
{
    size_t edges[SMALL_EDGES];
    const struct bytes trace = small_trace(edges);
    const size_t header = ZSTD_findFrameCompressedSize(trace.data, trace.size);
    const uint8_t *facts = trace.data + header;

    assert_int_equal(mhcs_load32(facts), 0x184d2a58);
    assert_int_equal(mhcs_load32(facts + 4), 8 + strlen("{\"format\":\"test\"}"));
    assert_int_equal(mhcs_load32(facts + 8), mhcs_crc32c(0, trace.data, header));
    assert_int_equal(mhcs_load32(facts + 12),
                     mhcs_crc32c(mhcs_crc32c(0, facts, 12), facts + 16, 17));
    assert_memory_equal(facts + 16, "{\"format\":\"test\"}", 17);
    /* Later facts name the same H. */
    assert_int_equal(mhcs_load32(trace.data + edges[1]), 0x184d2a58);
    assert_int_equal(mhcs_load32(trace.data + edges[1] + 8), mhcs_load32(facts + 8));
    free(trace.data);
}

/* RFC 8878, 3.1.1: descriptor bits 6-7 content size, 5 single segment, 2 checksum. */
static void frames_state_their_size_a_checksum_and_a_small_window(void **state)
{
    size_t edges[SMALL_EDGES];
    const struct bytes trace = small_trace(edges);
    const size_t frames[] = {0, edges[0] + MHCS_MARK_SIZE, edges[2] + MHCS_MARK_SIZE};

    for (size_t i = 0; i < 3; i++) {
        const uint8_t *frame = trace.data + frames[i];
        assert_int_equal(mhcs_load32(frame), 0xfd2fb528);
        assert_true(frame[4] & 4);
        const bool single_segment = frame[4] & 32;
        assert_true(single_segment || frame[4] >> 6 != 0);
        const unsigned long long window =
            single_segment ? ZSTD_getFrameContentSize(frame, trace.size - frames[i])
                           : (8 + (frame[5] & 7ULL)) << (7 + (frame[5] >> 3));
        assert_true(window <= 1 << 21);
    }
    free(trace.data);
}

static const char *arrow_name(enum mhcs_column_type type)
{
    static const char *const names[] = {
        [MHCS_COL_INT16] = "int16",
        [MHCS_COL_INT32] = "int32",
        [MHCS_COL_INT64] = "int64",
        [MHCS_COL_FLOAT32] = "float32",
        [MHCS_COL_BOOL] = "bool",
        [MHCS_COL_UTF8] = "utf8",
        [MHCS_COL_FLOAT32_LIST24] = "fixed_size_list<float32>[24]",
        [MHCS_COL_TIMESTAMP_NS] = "timestamp[ns, UTC]",
    };
    return names[type];
}

/* doc/trace.md has exactly one row for each column, in order. A failure prints the row. */
static void the_document_lists_the_columns(void **state)
{
    static const struct {
        const char *name, *doc;
        enum mhcs_column_type type;
        bool nullable;
    } columns[] = {
#define X(name, type, when, source, doc)                                                           \
    {#name, doc, MHCS_COL_##type, MHCS_TRACE_##when != MHCS_TRACE_ALWAYS},
        MHCS_TRACE_COLUMNS(X)
#undef X
    };
    char row[512];
    const struct bytes document = slurp(TRACE_DOCUMENT);

    document.data[document.size] = '\0';
    const char *at = strstr((const char *)document.data, "| `time` |");
    for (size_t i = 0; i < MHCS_TRACE_COLUMN_COUNT; i++) {
        const int size =
            snprintf(row, sizeof row, "| `%s` | %s | %s | %s |\n", columns[i].name,
                     arrow_name(columns[i].type), columns[i].nullable ? "yes" : "", columns[i].doc);
        if (at == NULL || strncmp(at, row, (size_t)size) != 0)
            fail_msg("doc/trace.md should have here: %s", row);
        at += size;
    }
    assert_int_not_equal(*at, '|');
    free(document.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32c_gives_the_published_values),
        cmocka_unit_test(crc32c_is_the_same_in_pieces_and_without_the_instruction),
        cmocka_unit_test(crc32c_of_long_data_is_the_same_without_the_instruction),
        cmocka_unit_test(utf8_is_told_from_what_only_looks_like_it),
        cmocka_unit_test(a_mark_is_these_64_bytes),
        cmocka_unit_test(the_first_facts_vouch_for_the_schema),
        cmocka_unit_test(frames_state_their_size_a_checksum_and_a_small_window),
        cmocka_unit_test(the_document_lists_the_columns),
    };
    return cmocka_run_group_tests_name("trace format", tests, NULL, NULL);
}
