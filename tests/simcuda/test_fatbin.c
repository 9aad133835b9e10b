/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX is found in fatbins. argv[1..]: fatbins of the same kernels, packed in several ways. */
#include "ptx_fixture.h"

static char **fatbins;
static int fatbin_count;

static uint8_t *read_file(const char *path, size_t *ret_bytes)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *bytes = calloc(1, 4 << 20);
    *ret_bytes = fread(bytes, 1, (4 << 20) - 1, f);
    assert_true(*ret_bytes > 0);
    fclose(f);
    return bytes;
}

static void expect_text(const void *bytes, uint32_t arch, const char *part)
{
    char err[300] = "";
    char *text = fatbin_ptx(bytes, arch, err, sizeof(err));
    if (text == NULL || strstr(text, part) == NULL)
        fail_msg("sm_%u: no \"%s\": %s", arch, part, err);
    free(text);
}

static void expect_error(const void *bytes, uint32_t arch, const char *part)
{
    char err[300] = "";
    char *text = fatbin_ptx(bytes, arch, err, sizeof(err));
    assert_null(text);
    if (strstr(err, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err, part);
}

static void the_newest_ptx_that_the_device_can_run_is_taken(void **state)
{
    for (int i = 0; i < fatbin_count; i++) {
        size_t bytes;
        uint8_t *data = read_file(fatbins[i], &bytes);
        expect_text(data, 80, ".target sm_80\n");
        expect_text(data, 89, ".target sm_80\n");
        expect_text(data, 90, ".target sm_90\n");
        expect_text(data, 103, ".target sm_100\n");
        expect_text(data, 121, ".target sm_120\n");
        expect_error(data, 75, "its PTX is for sm_80 and later, the device is sm_75");
        free(data);
    }
}

static void put(uint8_t *to, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

/* A fatbin with one entry for sm_90; the payload is padded to 8 bytes, as nvcc does. */
static void make_fatbin(uint8_t *to, uint16_t kind, uint64_t flags, const void *payload,
                        size_t bytes, size_t full)
{
    const size_t padded = (bytes + 7) & ~(size_t)7;
    memset(to, 0, 16 + 64 + padded);
    put(to, 4, 0xBA55ED50);
    put(to + 4, 2, 1);
    put(to + 6, 2, 16);
    put(to + 8, 8, 64 + padded);
    put(to + 16, 2, kind);
    put(to + 20, 4, 64);
    put(to + 24, 8, padded);
    put(to + 32, 4, bytes);
    put(to + 44, 4, 90);
    put(to + 56, 8, flags);
    put(to + 72, 8, full);
    memcpy(to + 80, payload, bytes);
}

/* "abcabcabc...": 3 literals, then a match of 300 bytes from 3 back, then the literals "end". */
static const uint8_t lz4[] = {0x3f, 'a', 'b', 'c', 3, 0, 255, 26, 0x30, 'e', 'n', 'd'};

static void lz4_blocks_are_unpacked(void **state)
{
    uint8_t image[256];
    char err[300], expected[307];
    for (int i = 0; i < 303; i++)
        expected[i] = (char)('a' + i % 3);
    memcpy(expected + 303, "end", 4);
    make_fatbin(image, 1, 0x2000, lz4, sizeof(lz4), 306);
    /* 15 + 255 + 26 + 4 = 300 */
    char *text = fatbin_ptx(image, 90, err, sizeof(err));
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
    make_fatbin(image, 1, 0x2000, lz4, sizeof(lz4), 305);
    expect_error(image, 90, "damaged");
    make_fatbin(image, 1, 0x2000, lz4, sizeof(lz4) - 3, 306);
    expect_error(image, 90, "damaged");
}

static void the_order_of_the_entries_does_not_matter(void **state)
{
    uint8_t image[256], second[128];
    make_fatbin(image, 1, 0, "for 90..", 8, 8);
    make_fatbin(second, 1, 0, "for 80..", 8, 8);
    put(second + 44, 4, 80);
    memcpy(image + 88, second + 16, 72);
    put(image + 8, 8, 2 * 72);
    expect_text(image, 100, "for 90..");
    expect_text(image, 89, "for 80..");
}

static void what_is_not_ptx_is_refused(void **state)
{
    uint8_t image[256];
    make_fatbin(image, 2, 0, "cubin...", 8, 8);
    expect_error(image, 90, "holds no PTX");
    expect_error("\x7f"
                 "ELF\x02\x01\x01\0",
                 90, "");
    make_fatbin(image, 1, 0, ".version 8.0\n", 13, 13);
    expect_text(image, 90, ".version 8.0");
    put(image + 24, 8, 1000); /* an entry longer than the fatbin */
    expect_error(image, 90, "damaged entry");
    expect_text(".version 8.4\n", 90, ".version 8.4\n");
}

static void damaged_fatbins_are_refused_or_read_but_never_worse(void **state)
{
    size_t bytes;
    char err[300];
    uint8_t *data = read_file(fatbins[0], &bytes);
    for (size_t i = 0; i < bytes; i += i < 2000 ? 1 : 997) {
        if (i >= 6 && i < 16) /* the header's sizes: the format has no other bound to hold on to */
            continue;
        uint8_t *copy = malloc(bytes);
        memcpy(copy, data, bytes);
        copy[i] ^= (uint8_t)(1u << i % 8);
        free(fatbin_ptx(copy, 120, err, sizeof(err)));
        free(copy);
    }
    free(data);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_ptx_that_the_device_can_run_is_taken),
        cmocka_unit_test(lz4_blocks_are_unpacked),
        cmocka_unit_test(the_order_of_the_entries_does_not_matter),
        cmocka_unit_test(what_is_not_ptx_is_refused),
        cmocka_unit_test(damaged_fatbins_are_refused_or_read_but_never_worse),
    };
    fatbins = argv + 1;
    fatbin_count = argc - 1;
    return fatbin_count == 0 || cmocka_run_group_tests_name("fatbin", tests, NULL, NULL);
}
