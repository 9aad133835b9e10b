/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON reader takes what RFC 8259 allows and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>
#include <string.h>

#include "shadow/model/pull.h"

/* Whether `text` is one whole sound value. */
static bool is_sound(const char *text, size_t size)
{
    struct mhcs_pull pull;

    mhcs_pull_begin(&pull, text, size);
    mhcs_pull_skip(&pull);
    return mhcs_pull_end(&pull);
}

static void what_is_json_is_taken(void **state)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        " \t\r\n[ ] ",
        "\"\"",
        "0",
        "-0",
        "-1.5e+10",
        "1E5",
        "0.25",
        "true",
        "false",
        "null",
        "[1,[2,[3]],{\"a\":[]}]",
        "{\"a\":{\"b\":{\"c\":null}},\"a\":1}",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"",
        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (!is_sound(texts[i], strlen(texts[i])))
            fail_msg("refused: %s", texts[i]);
}

static void what_is_not_json_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "[",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:2}",
        "[1}",
        "{\"a\":1]",
        "\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\n\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\\u0000\"",
        "\"\xff\"",
        "\"\xc3\"",
        "\"\xed\xa0\x80\"",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x10",
        "tru",
        "nul",
        "True",
        "NaN",
        "Infinity",
        "1 2",
        "[]]",
        "//",
        "[1]//",
    };
    static const char nul[] = "[1]\0", inside[] = "[\0]";

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (is_sound(texts[i], strlen(texts[i])))
            fail_msg("taken: %s", texts[i]);
    assert_false(is_sound(nul, sizeof(nul)));
    assert_false(is_sound(inside, sizeof(inside) - 1));
}

static void values_come_as_written(void **state)
{
    static const char text[] =
        " { \"a\\u0062\" : [ 1 , 9223372036854775800, -2.5e-3 ] , \"s\":\"x\\n\" }";
    struct mhcs_pull pull;
    char key[8];
    uint64_t count;
    double number;

    mhcs_pull_begin(&pull, text, sizeof(text) - 1);
    assert_int_equal(mhcs_pull_kind(&pull), '{');
    assert_true(mhcs_pull_object(&pull) && mhcs_pull_key(&pull, key, sizeof(key)));
    assert_string_equal(key, "ab");
    assert_true(mhcs_pull_array(&pull));
    assert_true(mhcs_pull_item(&pull) && mhcs_pull_count(&pull, &count) && count == 1);
    assert_true(mhcs_pull_item(&pull) && mhcs_pull_count(&pull, &count));
    assert_true(count == 9223372036854775800u);
    assert_true(mhcs_pull_item(&pull) && mhcs_pull_number(&pull, &number) && number == -2.5e-3);
    assert_false(mhcs_pull_item(&pull));
    assert_true(mhcs_pull_key(&pull, key, sizeof(key)));
    assert_true(mhcs_pull_string(&pull, key, sizeof(key)));
    assert_string_equal(key, "x\n");
    assert_false(mhcs_pull_key(&pull, key, sizeof(key)));
    assert_true(mhcs_pull_end(&pull));
}

static void what_does_not_fit_is_an_error(void **state)
{
    static const char *const counts[] = {"-1", "1.0", "1e3", "9223372036854775808", "\"1\"", "[]"};
    struct mhcs_pull pull;
    char text[4];
    uint64_t count;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        mhcs_pull_begin(&pull, counts[i], strlen(counts[i]));
        if (mhcs_pull_count(&pull, &count))
            fail_msg("taken as a count: %s", counts[i]);
    }
    mhcs_pull_begin(&pull, "\"abc\"", 5);
    assert_true(mhcs_pull_string(&pull, text, sizeof(text)));
    mhcs_pull_begin(&pull, "\"abcd\"", 6);
    assert_false(mhcs_pull_string(&pull, text, sizeof(text)));
    assert_string_equal(pull.error, "a string is too long");
    assert_int_equal(pull.error_at, 5);
}

static void levels_are_limited(void **state)
{
    char text[2 * MHCS_PULL_DEPTH + 2];

    memset(text, '[', MHCS_PULL_DEPTH + 1);
    memset(text + MHCS_PULL_DEPTH + 1, ']', MHCS_PULL_DEPTH + 1);
    assert_true(is_sound(text + 1, 2 * MHCS_PULL_DEPTH));
    assert_false(is_sound(text, sizeof(text)));
}

static void the_locale_does_not_matter(void **state)
{
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
    struct mhcs_pull pull;
    double number;

    /* Where none is installed the C locale stays, and the test says little. */
    for (size_t i = 0; i < 3 && !setlocale(LC_NUMERIC, locales[i]); i++) {
    }
    mhcs_pull_begin(&pull, "1.5", 3);
    assert_true(mhcs_pull_number(&pull, &number) && number == 1.5);
    setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_json_is_taken),  cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(values_come_as_written), cmocka_unit_test(what_does_not_fit_is_an_error),
        cmocka_unit_test(levels_are_limited),     cmocka_unit_test(the_locale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
