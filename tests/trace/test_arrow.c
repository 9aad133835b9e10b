/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow messages that lie about their own layout are refused, each lie on its own. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shadow/trace/arrow.h"

/* Three columns of two rows. Body, in buffers padded to 64 bytes: text offsets at 0, text at 64,
 * numbers at 128, list values at 192 (three times 64). */
#define ROWS 2
static const struct mhcs_arrow_field fields[] = {
    {"text", MHCS_COL_UTF8, false, NULL},
    {"number", MHCS_COL_INT64, false, NULL},
    {"list", MHCS_COL_FLOAT32_LIST24, false, NULL},
};
static const int32_t offsets[ROWS + 1] = {0, 3, 4};
/* Taken as a bitmap: all set but element 1. */
static const int64_t numbers[ROWS] = {-3, -1};
static const float list[ROWS][MHCS_COEFFICIENTS] = {{1, 2, 3}, {4, 5, 6}};
static const struct mhcs_column columns[] = {
    {"text", MHCS_COL_UTF8, NULL, "a\xc3\xa9z", offsets},
    {"number", MHCS_COL_INT64, NULL, numbers, NULL},
    {"list", MHCS_COL_FLOAT32_LIST24, NULL, list, NULL},
};

static uint8_t message[4096] __attribute__((aligned(64)));
static size_t message_size;
static uint8_t *body;
static struct mhcs_arrow_schema *schema;
static struct mhcs_batch batch;
static char what[MHCS_TRACE_WHAT];

static int set_up(void **state)
{
    static uint8_t schema_message[4096];
    const size_t size = mhcs_arrow_write_schema(schema_message, sizeof schema_message, fields, 3);

    assert_int_not_equal(size, 0);
    assert_int_equal(mhcs_arrow_read_schema(&schema, schema_message, size, what), 0);
    message_size = mhcs_arrow_write_batch(message, sizeof message, columns, 3, ROWS);
    assert_int_not_equal(message_size, 0);
    body = message + message_size - 6 * 64;
    return 0;
}

static int tear_down(void **state)
{
    mhcs_arrow_schema_free(schema);
    return 0;
}

static int read_batch(void)
{
    static struct mhcs_column read[3];

    return mhcs_arrow_read_batch(schema, message, message_size, read, &batch, what);
}

/* Replaces a pair of int64 in the metadata: a node {length, nulls} or a buffer {offset, size}. */
static void replace(int64_t first, int64_t second, int64_t new_first, int64_t new_second)
{
    const int64_t old[2] = {first, second}, new[2] = {new_first, new_second};
    uint8_t *at = memmem(message, (size_t)(body - message), old, sizeof old);

    assert_non_null(at);
    memcpy(at, new, sizeof new);
}

static void the_honest_message_is_read(void **state)
{
    assert_int_equal(read_batch(), 0);
    assert_int_equal(batch.rows, ROWS);
    assert_int_equal(batch.column_count, 3);
    const struct mhcs_column *column = mhcs_batch_column(&batch, "list", MHCS_COL_FLOAT32_LIST24);
    assert_memory_equal(column->values, list, sizeof list);
    column = mhcs_batch_column(&batch, "text", MHCS_COL_UTF8);
    assert_memory_equal(column->offsets, offsets, sizeof offsets);
    assert_memory_equal(column->values, "a\xc3\xa9z", 4);
}

static void floats_that_are_null_are_nan(void **state)
{
    static const struct mhcs_arrow_field nullable[] = {
        {"float", MHCS_COL_FLOAT32, true, NULL}, {"list", MHCS_COL_FLOAT32_LIST24, true, NULL}};
    static const float floats[ROWS] = {7, 8};
    const struct mhcs_column written[] = {
        {"float", MHCS_COL_FLOAT32, (const uint8_t *)"\x02", floats, NULL},
        {"list", MHCS_COL_FLOAT32_LIST24, (const uint8_t *)"\x01", list, NULL},
    };
    static uint8_t bytes[4096] __attribute__((aligned(64)));
    struct mhcs_arrow_schema *own;
    struct mhcs_column read[2];
    size_t size = mhcs_arrow_write_schema(bytes, sizeof bytes, nullable, 2);

    assert_int_equal(mhcs_arrow_read_schema(&own, bytes, size, what), 0);
    size = mhcs_arrow_write_batch(bytes, sizeof bytes, written, 2, ROWS);
    assert_int_equal(mhcs_arrow_read_batch(own, bytes, size, read, &batch, what), 0);
    const float *values = read[0].values, *lists = read[1].values;
    assert_true(isnan(values[0]) && values[1] == 8);
    assert_memory_equal(lists, list[0], sizeof list[0]);
    for (int i = 0; i < MHCS_COEFFICIENTS; i++)
        assert_true(isnan(lists[MHCS_COEFFICIENTS + i]));
    mhcs_arrow_schema_free(own);
}

static void lies_about_buffers_are_refused(void **state)
{
    static const struct {
        int64_t offset, size, new_offset, new_size;
    } lies[] = {
        {128, 16, 384, 16},           /* behind the body */
        {128, 16, 376, 16},           /* half behind it */
        {128, 16, 132, 16},           /* not aligned to 8 */
        {128, 16, 128, 15},           /* too small for the rows */
        {128, 16, -8, 16},            /* negative */
        {128, 16, 128, -1},           /* negative */
        {128, 16, 8, INT64_MAX},      /* their sum overflows */
        {128, 16, INT64_MAX - 7, 16}, /* likewise */
        {192, 192, 200, 192},         /* list values half behind the body */
        {0, 12, 0, 11},               /* offsets too few */
        {64, 4, 64, 3},               /* text shorter than its offsets say */
    };

    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        replace(lies[i].offset, lies[i].size, lies[i].new_offset, lies[i].new_size);
        assert_int_equal(read_batch(), -EBADMSG);
        assert_non_null(strstr(what, "does not fit"));
        replace(lies[i].new_offset, lies[i].new_size, lies[i].offset, lies[i].size);
        assert_int_equal(read_batch(), 0);
    }
}

static void lies_about_rows_and_nulls_are_refused(void **state)
{
    static const int64_t lies[][2] = {
        {ROWS + 1, 0},    /* more than the batch has */
        {ROWS - 1, 0},    /* fewer */
        {ROWS, -1},       /* negative */
        {ROWS, ROWS + 1}, /* more nulls than rows */
        {ROWS, 1},        /* nulls, but no bitmap */
        {INT64_MAX, 0},
    };

    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        replace(ROWS, 0, lies[i][0], lies[i][1]);
        assert_int_equal(read_batch(), -EBADMSG);
        replace(lies[i][0], lies[i][1], ROWS, 0);
        assert_int_equal(read_batch(), 0);
    }
}

static void lies_about_text_are_refused(void **state)
{
    static const struct {
        int32_t offsets[ROWS + 1];
        const char *text;
    } lies[] = {
        {{0, 5, 4}, "a\xc3\xa9z"},         /* decreasing */
        {{-1, 3, 4}, "a\xc3\xa9z"},        /* negative */
        {{0, 3, 5}, "a\xc3\xa9z"},         /* beyond the text */
        {{0, INT32_MAX, 4}, "a\xc3\xa9z"}, /* likewise */
        {{0, 3, 4}, "a\xc3zz"},            /* not UTF-8 */
        {{0, 2, 4}, "a\xc3\xa9z"},         /* starts within a character */
    };

    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        memcpy(body, lies[i].offsets, sizeof offsets);
        memcpy(body + 64, lies[i].text, 4);
        assert_int_equal(read_batch(), -EBADMSG);
    }
}

/* A null count of 1 and the numbers as the bitmap of the list's child: element 1 is null. */
static void make_element_1_null(void)
{
    replace(ROWS * MHCS_COEFFICIENTS, 0, ROWS * MHCS_COEFFICIENTS, 1);
    /* Empty until now, as is the bitmap of the list itself before it, which stays unused. */
    replace(192, 0, 128, 6);
    replace(192, 0, 128, 6);
}

static void null_list_elements_become_nan(void **state)
{
    make_element_1_null();
    assert_int_equal(read_batch(), 0);
    const struct mhcs_column *column = mhcs_batch_column(&batch, "list", MHCS_COL_FLOAT32_LIST24);
    const float *values = column->values;
    assert_true(values[0] == 1 && isnan(values[1]) && values[2] == 3);
}

static void a_null_count_that_the_bitmap_denies_is_refused(void **state)
{
    make_element_1_null();
    replace(ROWS * MHCS_COEFFICIENTS, 1, ROWS * MHCS_COEFFICIENTS, 2);
    assert_int_equal(read_batch(), -EBADMSG);
}

/* The NaN of a null element would land in text offsets that were found to be in order. */
static void overlapping_buffers_cannot_change_what_was_checked(void **state)
{
    make_element_1_null();
    replace(192, 192, 0, 192);
    assert_int_equal(read_batch(), -EBADMSG);
}

static void a_batch_of_no_rows_needs_no_buffers(void **state)
{
    message_size = mhcs_arrow_write_batch(message, sizeof message, columns, 3, 0);
    assert_int_equal(read_batch(), 0);
    assert_int_equal(batch.rows, 0);
    assert_int_equal(mhcs_batch_column(&batch, "text", MHCS_COL_UTF8)->offsets[0], 0);
}

static void a_message_that_does_not_fit_is_not_written(void **state)
{
    uint8_t *out = malloc(message_size);

    assert_non_null(out);
    for (size_t capacity = 8; capacity < message_size; capacity++)
        assert_int_equal(mhcs_arrow_write_batch(out, capacity, columns, 3, ROWS), 0);
    assert_int_equal(mhcs_arrow_write_batch(out, message_size, columns, 3, ROWS), message_size);
    assert_int_equal(mhcs_arrow_write_schema(out, 300, fields, 3), 0);
    free(out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_honest_message_is_read),
        TEST(floats_that_are_null_are_nan),
        TEST(lies_about_buffers_are_refused),
        TEST(lies_about_rows_and_nulls_are_refused),
        TEST(lies_about_text_are_refused),
        TEST(null_list_elements_become_nan),
        TEST(a_null_count_that_the_bitmap_denies_is_refused),
        TEST(overlapping_buffers_cannot_change_what_was_checked),
        TEST(a_batch_of_no_rows_needs_no_buffers),
        TEST(a_message_that_does_not_fit_is_not_written),
    };
    return cmocka_run_group_tests_name("trace arrow", tests, NULL, NULL);
}
