/* SPDX-License-Identifier: Apache-2.0 */
/* What goes in comes out: every column, with nulls, NaN, infinities and odd names. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "shadow/trace/columns.h"
#include "tests/trace/trace_test.h"

/* ---- comparing a row with the record it was made of ---- */

static void same_bits(const char *name, const void *got, const void *expected, size_t size)
{
    if (memcmp(got, expected, size) != 0)
        fail_msg("column %s differs", name);
}

#define DEFINE_SAME(type, c_type)                                                                  \
    static void same_##type(const struct mhcs_column *column, uint32_t row, c_type expected)       \
    {                                                                                              \
        same_bits(column->name, (const c_type *)column->values + row, &expected, sizeof expected); \
    }
DEFINE_SAME(INT16, int16_t)
DEFINE_SAME(INT32, int32_t)
DEFINE_SAME(INT64, int64_t)
DEFINE_SAME(TIMESTAMP_NS, int64_t)
DEFINE_SAME(FLOAT32, float)

static void same_BOOL(const struct mhcs_column *column, uint32_t row, bool expected)
{
    assert_int_equal(((const uint8_t *)column->values)[row / 8] >> row % 8 & 1, expected);
}

static void same_FLOAT32_LIST24(const struct mhcs_column *column, uint32_t row,
                                const float *expected)
{
    same_bits(column->name, (const float *)column->values + (size_t)MHCS_COEFFICIENTS * row,
              expected, MHCS_COEFFICIENTS * sizeof *expected);
}

static void same_UTF8(const struct mhcs_column *column, uint32_t row, const char *expected)
{
    const int32_t *offsets = column->offsets;

    assert_int_equal(offsets[row + 1] - offsets[row], strlen(expected));
    same_bits(column->name, (const char *)column->values + offsets[row], expected,
              strlen(expected));
}

static void assert_row(const struct mhcs_batch *batch, uint32_t row, const struct mhcs_record *r)
{
    const bool present[MHCS_TRACE_WHEN_COUNT] = {
#define Y(suffix, presence) presence,
        MHCS_TRACE_WHEN(Y)
#undef Y
    };

#define X(name, type, when, source, doc)                                                           \
    {                                                                                              \
        const struct mhcs_column *column = mhcs_batch_column(batch, #name, MHCS_COL_##type);       \
        assert_non_null(column);                                                                   \
        assert_int_equal(mhcs_column_valid(column, row), present[MHCS_TRACE_##when]);              \
        if (present[MHCS_TRACE_##when])                                                            \
            same_##type(column, row, source);                                                      \
    }
    MHCS_TRACE_COLUMNS(X)
#undef X
}

/* ---- one trace in a scratch directory ---- */

static char dir[PATH_MAX], path[PATH_MAX];
static struct mhcs_trace_writer *writer;

static int create(void **state)
{
    struct mhcs_trace_options options = {.dir = dir, .facts = "{\"label\":\"\xe5\xb1\xa4\"}"};

    scratch_make(dir);
    assert_int_equal(mhcs_trace_create(&writer, &options), 0);
    snprintf(path, sizeof path, "%s", mhcs_trace_path(writer));
    return 0;
}

static int discard(void **state)
{
    scratch_remove(dir);
    return 0;
}

static struct mhcs_trace_reader *reopen(void)
{
    struct mhcs_trace_reader *reader;
    struct mhcs_trace_item item;
    char why[160];

    assert_int_equal(mhcs_trace_open(&reader, path, false, why), 0);
    assert_int_equal(mhcs_trace_next(reader, &item), 0);
    assert_int_equal(item.event, MHCS_TRACE_FACTS);
    assert_string_equal(item.facts, "{\"label\":\"\xe5\xb1\xa4\"}");
    return reader;
}

static void expect(struct mhcs_trace_reader *reader, enum mhcs_trace_event event,
                   struct mhcs_trace_item *ret_item)
{
    assert_int_equal(mhcs_trace_next(reader, ret_item), 0);
    assert_int_equal(ret_item->event, event);
}

static void every_column_comes_back(void **state)
{
    const uint32_t rows = 2 * MHCS_TRACE_BATCH_ROWS + 77;
    struct mhcs_trace_item item;

    for (uint32_t i = 0; i < rows; i++)
        assert_int_equal(mhcs_trace_append(writer, series_record(i)), 0);
    assert_int_equal(mhcs_trace_close(writer, MHCS_END_DISABLED, 11), 0);

    struct mhcs_trace_reader *reader = reopen();
    for (uint32_t begin = 0; begin < rows; begin += MHCS_TRACE_BATCH_ROWS) {
        expect(reader, MHCS_TRACE_BATCH, &item);
        assert_int_equal(item.batch.column_count, MHCS_TRACE_COLUMN_COUNT);
        for (uint32_t row = 0; row < item.batch.rows; row++)
            assert_row(&item.batch, row, series_record(begin + row));
    }
    expect(reader, MHCS_TRACE_CLOSED, &item);
    assert_int_equal(item.reason, MHCS_END_DISABLED);
    assert_int_equal(item.dropped_samples, 11);
    expect(reader, MHCS_TRACE_EOF, &item);
    mhcs_trace_reader_free(reader);
}

/* Batches of any size are pulled, and only then unpacked, the last one first. */
static void batches_that_were_taken_are_good_while_the_reader_goes_on(void **state)
{
    enum { BATCHES = 12 };
    static const uint32_t size[BATCHES] = {3, 900, 1, 4096, 7, 4096, 4000, 2, 60, 4096, 1500, 5};
    struct mhcs_trace_unpacker *unpacker = mhcs_trace_unpacker_new();
    struct mhcs_trace_item item[BATCHES];
    uint8_t *buffer[BATCHES] = {NULL};
    size_t capacity[BATCHES] = {0};
    uint32_t rows = 0;

    assert_non_null(unpacker);
    for (int i = 0; i < BATCHES; i++) {
        for (uint32_t row = 0; row < size[i]; row++)
            assert_int_equal(mhcs_trace_append(writer, series_record(rows++)), 0);
        assert_int_equal(mhcs_trace_flush(writer, 0), 0);
    }
    assert_int_equal(mhcs_trace_close(writer, MHCS_END_EXIT, 0), 0);
    struct mhcs_trace_reader *reader = reopen();
    for (int i = 0; i < BATCHES; i++) {
        assert_int_equal(mhcs_trace_pull(reader, &item[i]), 0);
        assert_int_equal(item[i].event, MHCS_TRACE_BATCH);
        assert_int_equal(mhcs_trace_take(reader, &buffer[i], &capacity[i]), 0);
    }
    for (int i = BATCHES; i-- > 0;) {
        struct mhcs_trace_damage damage;

        assert_int_equal(mhcs_trace_unpack(unpacker, &item[i].packed, &item[i].batch, &damage), 0);
        assert_int_equal(item[i].batch.rows, size[i]);
        rows -= size[i];
        for (uint32_t row = 0; row < size[i]; row++)
            assert_row(&item[i].batch, row, series_record(rows + row));
        free(buffer[i]);
    }
    expect(reader, MHCS_TRACE_CLOSED, &item[0]);
    mhcs_trace_reader_free(reader);
    mhcs_trace_unpacker_free(unpacker);
}

static void nan_infinity_and_extreme_numbers_keep_their_bits(void **state)
{
    struct mhcs_row_result result = *series_record(0)->result;
    struct mhcs_record record = *series_record(0);
    struct mhcs_trace_item item;

    record.result = &result;
    record.time = INT64_MIN;
    record.call = INT64_MAX;
    record.site = INT32_MIN;
    record.layer = INT16_MAX;
    record.check = -INFINITY;
    result.rms = -0.0F;
    result.nonfinite = 7;
    result.raw[MHCS_PRODUCTION][3] = NAN;
    result.raw[MHCS_PRODUCTION][4] = INFINITY;
    result.raw[MHCS_CHECKPOINT][23] = 0x1p-149F;
    memcpy(&result.against[MHCS_OPERANDS].rel, &(uint32_t){0x7fc12345}, 4); /* a NaN's payload */
    result.against[MHCS_CHECKPOINT].bound = 0x1.fffffep127F;
    assert_int_equal(mhcs_trace_append(writer, &record), 0);
    assert_int_equal(mhcs_trace_close(writer, MHCS_END_EXIT, 0), 0);

    struct mhcs_trace_reader *reader = reopen();
    expect(reader, MHCS_TRACE_BATCH, &item);
    assert_row(&item.batch, 0, &record);
    mhcs_trace_reader_free(reader);
}

static void names_are_utf8_whatever_the_checkpoint_says(void **state)
{
    static const struct {
        const char *in, *out;
    } names[] = {
        {"", ""},
        {"layers.\xe5\xb1\xa4.\xf0\x9f\x94\xa5", "layers.\xe5\xb1\xa4.\xf0\x9f\x94\xa5"},
        {"bad\xff\xc3(\xed\xa0\x80", "bad?\?(???"},
        {"cut\xe5\xb1", "cut??"},
    };
    struct mhcs_record record = *series_record(1);
    struct mhcs_trace_item item;
    char longer[600], cut[256];

    for (size_t i = 0; i < 4; i++) {
        record.site_name = names[i].in;
        assert_int_equal(mhcs_trace_append(writer, &record), 0);
    }
    /* At most 255 bytes: 127 characters of two bytes are 254, and no half one follows. */
    for (size_t i = 0; i < 200; i++)
        memcpy(longer + 2 * i, "\xc3\xa9", 3);
    record.site_name = longer;
    assert_int_equal(mhcs_trace_append(writer, &record), 0);
    assert_int_equal(mhcs_trace_close(writer, MHCS_END_EXIT, 0), 0);

    struct mhcs_trace_reader *reader = reopen();
    expect(reader, MHCS_TRACE_BATCH, &item);
    const struct mhcs_column *column = mhcs_batch_column(&item.batch, "site_name", MHCS_COL_UTF8);
    for (uint32_t i = 0; i < 4; i++)
        same_UTF8(column, i, names[i].out);
    snprintf(cut, sizeof cut, "%.254s", longer);
    same_UTF8(column, 4, cut);
    mhcs_trace_reader_free(reader);
}

static void flush_makes_rows_visible_and_an_empty_flush_writes_nothing(void **state)
{
    struct outcome outcome;

    assert_int_equal(mhcs_trace_flush(writer, 0), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mhcs_trace_append(writer, series_record(i)), 0);
    assert_int_equal(read_file(path, false, &outcome), 0);
    assert_int_equal(outcome.rows, 0);
    assert_int_equal(mhcs_trace_flush(writer, 0), 0);
    assert_int_equal(mhcs_trace_flush(writer, 5), 0);
    assert_int_equal(read_file(path, false, &outcome), 0);
    assert_int_equal(outcome.rows, 3);
    assert_int_equal(outcome.events, 2);
    assert_int_equal(outcome.end.event, MHCS_TRACE_EOF);
    assert_false(outcome.closed);
    /* Facts flush first, so that they stand behind the rows they are about. */
    assert_int_equal(mhcs_trace_append(writer, series_record(3)), 0);
    assert_int_equal(mhcs_trace_facts(writer, "{}"), 0);
    assert_int_equal(read_file(path, false, &outcome), 0);
    assert_int_equal(outcome.rows, 4);
    mhcs_trace_forget(writer);
}

static void a_forgotten_writer_leaves_the_file_alone(void **state)
{
    struct outcome outcome;

    assert_int_equal(mhcs_trace_append(writer, series_record(0)), 0);
    mhcs_trace_forget(writer);
    assert_int_equal(read_file(path, false, &outcome), 0);
    assert_int_equal(outcome.rows, 0);
    assert_false(outcome.closed);
}

static unsigned open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static void a_trace_is_named_after_host_process_and_start(void **state)
{
    char host[65];
    long pid;
    long long start;
    const unsigned descriptors = open_descriptors();
    const struct mhcs_trace_options options = {.dir = dir};
    struct mhcs_trace_writer *second;

    assert_memory_equal(path, dir, strlen(dir));
    assert_int_equal(sscanf(path + strlen(dir), "/mhcshadow.%64[A-Za-z0-9_-].%ld.%lld.arrows.zst",
                            host, &pid, &start),
                     3);
    assert_int_equal(pid, getpid());
    assert_true(llabs((long long)time(NULL) - start / 1000000000) < 60);
    /* Another one does not touch the first, and none leaves a descriptor behind. */
    assert_int_equal(mhcs_trace_create(&second, &options), 0);
    assert_string_not_equal(mhcs_trace_path(second), path);
    assert_int_equal(mhcs_trace_close(second, MHCS_END_EXIT, 0), 0);
    assert_int_equal(open_descriptors(), descriptors);
    mhcs_trace_forget(writer);
    mhcs_trace_reader_free(reopen());
    assert_int_equal(open_descriptors(), descriptors - 1);
}

static void a_column_is_found_by_name_and_type(void **state)
{
    struct mhcs_trace_item item;

    assert_int_equal(mhcs_trace_append(writer, series_record(0)), 0);
    assert_int_equal(mhcs_trace_close(writer, MHCS_END_EXIT, 0), 0);
    struct mhcs_trace_reader *reader = reopen();
    expect(reader, MHCS_TRACE_BATCH, &item);
    assert_non_null(mhcs_batch_column(&item.batch, "call", MHCS_COL_INT64));
    assert_null(mhcs_batch_column(&item.batch, "call", MHCS_COL_INT32));
    assert_null(mhcs_batch_column(&item.batch, "calls", MHCS_COL_INT64));
    mhcs_trace_reader_free(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create, discard)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_column_comes_back),
        TEST(batches_that_were_taken_are_good_while_the_reader_goes_on),
        TEST(nan_infinity_and_extreme_numbers_keep_their_bits),
        TEST(names_are_utf8_whatever_the_checkpoint_says),
        TEST(flush_makes_rows_visible_and_an_empty_flush_writes_nothing),
        TEST(a_forgotten_writer_leaves_the_file_alone),
        TEST(a_trace_is_named_after_host_process_and_start),
        TEST(a_column_is_found_by_name_and_type),
    };
    return cmocka_run_group_tests_name("trace round trip", tests, NULL, NULL);
}
