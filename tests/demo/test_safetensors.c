/* SPDX-License-Identifier: Apache-2.0 */
/* Safetensors files, whole and broken: a broken one is refused with its name and the tensor's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "safetensors.h"

static char path[] = "/tmp/mhcshadow-test-safetensors-XXXXXX";

static int create(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int destroy(void **state)
{
    (void)state;
    return unlink(path);
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
        "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
        "\"none\":{\"dtype\":\"F8_E4M3\",\"shape\":[4,0],\"data_offsets\":[20,20]},"
        "\"one\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[20,21]}}  ";
    const int64_t two[] = {2};
    char error[SAFETENSORS_ERROR_SIZE] = "";
    struct safetensors *file;
    const struct safetensors_tensor *b;
    const unsigned char *a;

    (void)state;
    write_file(strlen(header), header, 21);
    assert_int_equal(safetensors_open(&file, path, error), 0);
    b = safetensors_find(file, "b");
    assert_non_null(b);
    assert_string_equal(b->dtype, "BF16");
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->shape[0], 2);
    assert_int_equal(b->shape[1], 3);
    assert_int_equal(((const unsigned char *)b->data)[11], 19);
    a = safetensors_f32(file, "a", 1, two, error);
    assert_non_null(a);
    assert_int_equal(a[7], 7);
    assert_int_equal(safetensors_find(file, "one")->rank, 0);
    assert_null(safetensors_find(file, "c"));
    safetensors_close(file);
}

static void f32_refuses_another_type_shape_or_name(void **state)
{
    static const char header[] = "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                                 "\"h\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[8,12]}}";
    static const struct {
        const char *name;
        int rank;
        int64_t shape[2];
        const char *error;
    } cases[] = {{"x", 1, {3}, "tensor x: is F32 [2], F32 [3] is needed"},
                 {"x", 2, {2, 1}, "tensor x: is F32 [2], F32 [2, 1] is needed"},
                 {"h", 1, {2}, "tensor h: is F16 [2], F32 [2] is needed"},
                 {"y", 1, {2}, "tensor y: not in the file"}};
    char error[SAFETENSORS_ERROR_SIZE];
    struct safetensors *file;

    (void)state;
    write_file(strlen(header), header, 12);
    assert_int_equal(safetensors_open(&file, path, error), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(safetensors_f32(file, cases[i].name, cases[i].rank, cases[i].shape, error));
        assert_non_null(strstr(error, path));
        assert_non_null(strstr(error, cases[i].error));
    }
    safetensors_close(file);
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
        {ENTRY("F32", "[2]", "[0,8]"), 7, "tensor t: ends at byte 8 of 7: file cut short?"},
        {ENTRY("F32", "[2]", "[0,8]"), 9, ": 1 bytes after the last tensor"},
        {ENTRY("F32", "[2]", "[4,12]"), 12, "tensor t: begins at byte 4, the one before ends at 0"},
        {ENTRY("F32", "[2]", "[0,12]"), 12,
         "tensor t: data_offsets span 12 bytes, shape and dtype need 8"},
        {ENTRY("F32", "[3]", "[0,8]"), 8,
         "tensor t: data_offsets span 8 bytes, shape and dtype need 12"},
        {ENTRY("F32", "[2]", "[8,0]"), 8, "tensor t: data_offsets is not [begin, end]"},
        {ENTRY("F32", "[2]", "[0]"), 8, "tensor t: data_offsets is not [begin, end]"},
        {ENTRY("F32", "[2]", "[0,1e300]"), 8, "tensor t: data_offsets is not [begin, end]"},
        {ENTRY("F32", "[2.5]", "[0,8]"), 8, "tensor t: shape holds something that is not a count"},
        {ENTRY("F32", "[-2]", "[0,8]"), 8, "tensor t: shape holds something that is not a count"},
        {ENTRY("F32", "2", "[0,8]"), 8, "tensor t: shape is not a list"},
        {ENTRY("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), 8,
         "tensor t: shape is not a list of at most"},
        {ENTRY("F32", "[4294967296,4294967296]", "[0,8]"), 8, "tensor t: shape is too large"},
        {ENTRY("F31", "[2]", "[0,8]"), 8, "tensor t: unknown dtype F31"},
        {"{\"t\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "tensor t: unknown dtype (none)"},
        {"{\"t\":5}", 8, "tensor t: unknown dtype (none)"},
        {"{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
         "\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
         2, "tensor t: listed twice"},
        {"{\"s\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"t\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
         3, "tensor t: begins at byte 1, the one before ends at 2"},
        {"[]", 0, ": the header is not a JSON object"},
        {"{\"t\":", 0, ": the header is not a JSON object"},
    };
    char error[SAFETENSORS_ERROR_SIZE];
    struct safetensors *file;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(strlen(cases[i].header), cases[i].header, cases[i].data);
        assert_int_equal(safetensors_open(&file, path, error), -1);
        if (strstr(error, path) == NULL || strstr(error, cases[i].error) == NULL)
            fail_msg("case %d: \"%s\" instead of \"%s\"", (int)i, error, cases[i].error);
    }
}

static void what_is_no_safetensors_file_is_refused(void **state)
{
    char error[SAFETENSORS_ERROR_SIZE];
    struct safetensors *file;

    (void)state;
    write_file(UINT64_MAX, "{}", 0);
    assert_int_equal(safetensors_open(&file, path, error), -1);
    assert_non_null(strstr(error, "not safetensors"));
    write_file(3, "{}", 0);
    assert_int_equal(safetensors_open(&file, path, error), -1);
    assert_non_null(strstr(error, "not safetensors, or cut short"));
    assert_int_equal(truncate(path, 7), 0);
    assert_int_equal(safetensors_open(&file, path, error), -1);
    assert_non_null(strstr(error, "shorter than 8 bytes"));
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(safetensors_open(&file, path, error), -1);
    assert_non_null(strstr(error, "not a file with content"));
    assert_int_equal(safetensors_open(&file, "/nonexistent/x", error), -1);
    assert_string_equal(error, "/nonexistent/x: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file_gives_names_types_shapes_and_data),
        cmocka_unit_test(f32_refuses_another_type_shape_or_name),
        cmocka_unit_test(broken_files_are_refused_by_file_and_tensor),
        cmocka_unit_test(what_is_no_safetensors_file_is_refused),
    };

    return cmocka_run_group_tests(tests, create, destroy);
}
