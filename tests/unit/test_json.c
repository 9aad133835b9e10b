/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer, against literal texts and, for all bytes, against an independent parser. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <cjson/cJSON.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shadow/json.h"

static void values_nest_with_commas_where_they_belong(void **state)
{
    struct mhcs_json j = {0};

    mhcs_json_begin_object(&j, NULL);
    mhcs_json_string(&j, "a", "x");
    mhcs_json_begin_array(&j, "b");
    mhcs_json_int(&j, NULL, INT64_MIN);
    mhcs_json_begin_object(&j, NULL);
    mhcs_json_end_object(&j);
    mhcs_json_begin_array(&j, NULL);
    mhcs_json_end_array(&j);
    mhcs_json_bool(&j, NULL, true);
    mhcs_json_end_array(&j);
    mhcs_json_string(&j, "c", NULL);
    mhcs_json_bool(&j, "d", false);
    mhcs_json_end_object(&j);
    assert_string_equal(mhcs_json_finish(&j),
                        "{\"a\":\"x\",\"b\":[-9223372036854775808,{},[],true],\"c\":null,"
                        "\"d\":false}");
    mhcs_json_free(&j);
}

/* `out` NULL: the string itself is expected back. */
static void gives_string(const char *in, const char *out)
{
    struct mhcs_json j = {0};
    cJSON *parsed;

    mhcs_json_string(&j, NULL, in);
    parsed = cJSON_ParseWithOpts(mhcs_json_finish(&j), NULL, 1);
    assert_non_null(parsed);
    assert_string_equal(cJSON_GetStringValue(parsed), out ? out : in);
    cJSON_Delete(parsed);
    mhcs_json_free(&j);
}

static void strings_survive(void **state)
{
    char text[2] = "";

    for (int c = 1; c < 128; c++) {
        text[0] = (char)c;
        gives_string(text, NULL);
    }
    gives_string("", NULL);
    gives_string("C:\\dir\n\"quoted\"\t/", NULL);
    gives_string("gr\xC3\xBC\xC3\x9F \xE4\xBD\xA0 \xF0\x9F\x98\x80", NULL);
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
    gives_string("a\xFFz", "a\xEF\xBF\xBDz");
    gives_string("\xC3", "\xEF\xBF\xBD");                                 /* cut off */
    gives_string("\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD");                 /* overlong */
    gives_string("\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); /* surrogate */
    gives_string("\xF5\x80\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

static void gives_number(double value, const char *text)
{
    struct mhcs_json j = {0};

    mhcs_json_number(&j, NULL, value);
    assert_string_equal(mhcs_json_finish(&j), text);
    mhcs_json_free(&j);
}

static void numbers_are_json_whatever_they_are(void **state)
{
    gives_number(0.25, "0.25");
    gives_number(-1e300, "-1e+300");
    gives_number(3e-39, "3e-39");
    gives_number((double)0.1f, "0.100000001");
    gives_number((double)NAN, "null");
    gives_number((double)-INFINITY, "null");
}

static void every_float_comes_back(void **state)
{
    static const float values[] = {FLT_MIN, FLT_MAX, 1.0f / 3, 2.9e-3f, 1e-45f, 16777217.0f};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct mhcs_json j = {0};
        float back;

        mhcs_json_number(&j, NULL, (double)values[i]);
        assert_int_equal(sscanf(mhcs_json_finish(&j), "%f", &back), 1);
        assert_true(back == values[i]);
        mhcs_json_free(&j);
    }
}

static void a_decimal_comma_of_the_application_stays_out(void **state)
{
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ps_AF.UTF-8"};
    int tried = 0;

    for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]); i++) {
        if (setlocale(LC_NUMERIC, locales[i])) {
            tried++;
            gives_number(0.25, "0.25");
        }
    }
    setlocale(LC_NUMERIC, "C");
    if (tried == 0) {
        print_message("no locale with another decimal point is installed\n");
        skip();
    }
}

static void long_text_is_kept_whole(void **state)
{
    struct mhcs_json j = {0};
    char text[5000];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    mhcs_json_begin_array(&j, NULL);
    for (int i = 0; i < 50; i++) {
        mhcs_json_string(&j, NULL, text);
    }
    mhcs_json_end_array(&j);
    assert_int_equal(strlen(mhcs_json_finish(&j)), 50 * 5001 + 49 + 2);
    mhcs_json_free(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_nest_with_commas_where_they_belong),
        cmocka_unit_test(strings_survive),
        cmocka_unit_test(bytes_that_are_not_utf8_are_replaced),
        cmocka_unit_test(numbers_are_json_whatever_they_are),
        cmocka_unit_test(every_float_comes_back),
        cmocka_unit_test(a_decimal_comma_of_the_application_stays_out),
        cmocka_unit_test(long_text_is_kept_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
