/* SPDX-License-Identifier: Apache-2.0 */
/* Safetensors files, whole and broken: a broken one is refused with its name and the tensor's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shadow/model/tensors.h"
#include "tests/model/maker.h"

static char *dir;
static const char *path;

static int create(void **state)
{
    static char kept[512];

    dir = maker_dir();
    strcpy(kept, maker_path(dir, "x.safetensors"));
    path = kept;
    return 0;
}

static int destroy(void **state)
{
    maker_remove_dir(dir);
    return 0;
}

/* Header length as given, the header, then `data` bytes 0, 1, 2, ... */
static void write_file(uint64_t header_bytes, const char *header, unsigned data)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    for (int i = 0; i < 8; i++)
        fputc((int)(header_bytes >> 8 * i & 0xff), f);
    fputs(header, f);
    for (unsigned i = 0; i < data; i++)
        fputc((int)(i & 0xff), f);
    assert_int_equal(fclose(f), 0);
}

static void a_whole_file_gives_names_types_shapes_and_data(void **state)
{
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[8,20]},"
        "\"a\":{\"shape\":[2],\"data_offsets\":[0,8],\"dtype\":\"F32\",\"more\":{\"x\":[1]}},"
        "\"none\":{\"dtype\":\"F8_E4M3\",\"shape\":[4,0],\"data_offsets\":[20,20]},"
        "\"one\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[20,21]}}  ";
    char error[MHCS_MODEL_ERROR] = "", text[MHCS_TENSOR_TEXT];
    struct mhcs_tensors *file;
    const struct mhcs_tensor *b;
    unsigned char data[8];

    write_file(strlen(header), header, 21);
    assert_int_equal(mhcs_tensors_open(&file, path, error), 0);
    assert_int_equal(file->count, 4);
    b = mhcs_tensors_find(file, "b");
    assert_non_null(b);
    assert_string_equal(mhcs_tensor_text(b, text), "BF16 [2, 3]");
    assert_int_equal(mhcs_tensors_read(file, b, 4, data, 8, error), 0);
    assert_int_equal(data[0], 12);
    assert_int_equal(data[7], 19);
    assert_true(mhcs_tensors_read(file, b, 5, data, 8, error) < 0);
    assert_true(mhcs_tensors_read(file, b, 13, data, 0, error) < 0);
    assert_int_equal(mhcs_tensors_find(file, "one")->rank, 0);
    assert_null(mhcs_tensors_find(file, "c"));
    assert_null(mhcs_tensors_find(file, "__metadata__"));
    mhcs_tensors_close(file);
}

#define ENTRY(dtype, shape, offsets)                                                               \
    "{\"t\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void broken_files_are_refused_by_file_and_tensor(void **state)
{
    static const struct {
        const char *header;
        unsigned data;
        const char *error;
    } cases[] = {
        {ENTRY("F32", "[2]", "[0,8]"), 7, "tensor t: ends at byte 8 of 7: the file is cut short"},
        {ENTRY("F32", "[2]", "[0,8]"), 9, ": 1 bytes after the last tensor"},
        {ENTRY("F32", "[2]", "[4,12]"), 12, "tensor t: begins at byte 4, the one before ends at 0"},
        {ENTRY("F32", "[2]", "[0,12]"), 12,
         "tensor t: data_offsets span 12 bytes, shape and dtype need 8"},
        {ENTRY("F32", "[3]", "[0,8]"), 8,
         "tensor t: data_offsets span 8 bytes, shape and dtype need 12"},
        {ENTRY("F32", "[2]", "[8,0]"), 8, "tensor t: data_offsets is not [begin, end]"},
        {ENTRY("F32", "[2]", "[0]"), 8, "tensor t: data_offsets is not [begin, end]"},
        {ENTRY("F32", "[2]", "[0,8,8]"), 8, "tensor t: a list of more than 2 numbers"},
        {ENTRY("F32", "[2]", "[0,1e300]"), 8, "tensor t: the header is not sound: a whole number"},
        {ENTRY("F32", "[2.5]", "[0,8]"), 8, "tensor t: the header is not sound: a whole number"},
        {ENTRY("F32", "[-2]", "[0,8]"), 8, "tensor t: the header is not sound: a whole number"},
        {ENTRY("F32", "2", "[0,8]"), 8, "tensor t: the header is not sound: an array is expected"},
        {ENTRY("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), 8,
         "tensor t: a list of more than 8 numbers"},
        {ENTRY("F32", "[4294967296,4294967296]", "[0,8]"), 8, "tensor t: shape is too large"},
        {ENTRY("F31", "[2]", "[0,8]"), 8, "tensor t: unknown dtype F31"},
        {"{\"t\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "tensor t: no dtype"},
        {"{\"t\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "tensor t: no shape"},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "tensor t: no data_offsets"},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[2],\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
         "tensor t: shape is given twice"},
        {"{\"t\":5}", 8, "tensor t: the header is not sound: an object is expected"},
        {"{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
         "\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
         2, "tensor t: listed twice"},
        {"{\"s\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"t\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
         3, "tensor t: begins at byte 1, the one before ends at 2"},
        {"[]", 0, ": the header is not sound: an object is expected (byte 0 of it)"},
        {"{\"t\":", 0, "tensor t: the header is not sound: an object is expected"},
        {"{}x", 0, ": the header is not sound: something follows the end"},
    };
    char error[MHCS_MODEL_ERROR];
    struct mhcs_tensors *file;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_file(strlen(cases[i].header), cases[i].header, cases[i].data);
        assert_true(mhcs_tensors_open(&file, path, error) < 0);
        if (strstr(error, path) == NULL || strstr(error, cases[i].error) == NULL)
            fail_msg("case %zu: \"%s\" instead of \"%s\"", i, error, cases[i].error);
    }
}

static void assert_refused(const char *at, const char *why)
{
    char error[MHCS_MODEL_ERROR];
    struct mhcs_tensors *file;

    assert_true(mhcs_tensors_open(&file, at, error) < 0);
    if (strncmp(error, at, strlen(at)) != 0 || strstr(error, why) == NULL)
        fail_msg("\"%s\" instead of \"%s\"", error, why);
}

static void what_is_no_safetensors_file_is_refused(void **state)
{
    const char *link = maker_path(dir, "link"), *fifo = maker_path(dir, "fifo");

    write_file(UINT64_MAX, "{}", 0);
    assert_refused(path, "not safetensors");
    write_file(3, "{}", 0);
    assert_refused(path, "not safetensors, or cut short");
    assert_int_equal(truncate(path, 7), 0);
    assert_refused(path, "shorter than 8 bytes");
    assert_refused("/nonexistent/x", "No such file or directory");
    assert_refused(dir, "not a regular file");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_refused(fifo, "not a regular file");
    assert_int_equal(symlink("../blobs/0123abcd", link), 0);
    assert_refused(link, "a link to ../blobs/0123abcd, which is not there");
}

static void a_link_is_followed(void **state)
{
    static const char header[] = ENTRY("F32", "[2]", "[0,8]");
    const char *link = maker_path(dir, "whole");
    char error[MHCS_MODEL_ERROR];
    struct mhcs_tensors *file;

    write_file(strlen(header), header, 8);
    assert_int_equal(symlink("x.safetensors", link), 0);
    assert_int_equal(mhcs_tensors_open(&file, link, error), 0);
    mhcs_tensors_close(file);
}

static void a_file_that_changed_is_not_read(void **state)
{
    static const char header[] = ENTRY("F32", "[2]", "[0,8]");
    char error[MHCS_MODEL_ERROR] = "";
    struct mhcs_tensors *file;
    float data[2];

    write_file(strlen(header), header, 8);
    assert_int_equal(mhcs_tensors_open(&file, path, error), 0);
    assert_int_equal(mhcs_tensors_read(file, file->list, 0, data, 8, error), 0);
    assert_int_equal(truncate(path, 12), 0);
    assert_true(mhcs_tensors_read(file, file->list, 0, data, 8, error) < 0);
    assert_non_null(strstr(error, "tensor t: the file changed since it was opened"));
    assert_int_equal(unlink(path), 0);
    assert_true(mhcs_tensors_read(file, file->list, 0, data, 8, error) < 0);
    write_file(strlen(header), header, 8); /* another file of the same size */
    assert_true(mhcs_tensors_read(file, file->list, 0, data, 8, error) < 0);
    mhcs_tensors_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file_gives_names_types_shapes_and_data),
        cmocka_unit_test(broken_files_are_refused_by_file_and_tensor),
        cmocka_unit_test(what_is_no_safetensors_file_is_refused),
        cmocka_unit_test(a_link_is_followed),
        cmocka_unit_test(a_file_that_changed_is_not_read),
    };
    return cmocka_run_group_tests(tests, create, destroy);
}
