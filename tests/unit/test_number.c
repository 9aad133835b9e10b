/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and nearest names of the environment. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "interpose/names.h"
#include "interpose/number.h"

static void an_integer_is_decimal_digits_alone(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {
        {"0", 0}, {"7", 7}, {"0064", 64}, {"16384", 16384}, {"18446744073709551615", UINT64_MAX}};
    static const char *const bad[] = {"",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "0x10",
                                      "1e3",
                                      "1.0",
                                      "18446744073709551616",
                                      "99999999999999999999",
                                      "\xb2"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        uint64_t value = 99;

        assert_true(mhcs_number_integer(good[i].text, strlen(good[i].text), &value));
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint64_t value = 99;

        assert_false(mhcs_number_integer(bad[i], strlen(bad[i]), &value));
        assert_int_equal(value, 99);
    }
}

/* The expected values are the compiler's own readings of the same digits. */
static void a_share_is_a_ratio_a_decimal_or_a_percentage(void **state)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"1/64", 1.0 / 64},
        {"3/7", 3.0 / 7},
        {"0/5", 0},
        {"0.015625", 0.015625},
        {".5", .5},
        {"1.", 1},
        {"0.1", 0.1},
        {"0.333333333333333", 0.333333333333333},
        {"25%", 0.25},
        {"1.5%", 0.015},
        {"0.5%", 0.005},
        {"100%", 1},
        {"0%", 0},
        {"200", 200},
        {"0.0000000000000001", 1e-16},
    };
    static const char *const bad[] = {"",
                                      "%",
                                      ".",
                                      "1/0",
                                      "/64",
                                      "1/",
                                      "1/64/2",
                                      "1,5",
                                      "1.5.2",
                                      "-0.5",
                                      "1e-3",
                                      "inf",
                                      "0.1234567890123456",
                                      "1/64%",
                                      "5%%",
                                      "0x1p-3",
                                      "1/6.5"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        double value = 99;

        assert_true(mhcs_number_share(good[i].text, strlen(good[i].text), &value));
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        double value = 99;

        if (mhcs_number_share(bad[i], strlen(bad[i]), &value)) {
            fail_msg("'%s' was read as %g", bad[i], value);
        }
    }
}

static void the_distance_counts_edits(void **state)
{
    static const struct {
        const char *a, *b;
        size_t distance;
    } cases[] = {{"", "", 0},
                 {"", "abc", 3},
                 {"kitten", "sitting", 3},
                 {"Saturday", "Sunday", 3},
                 {"SAMPLE", "sample", 0},
                 {"ROW", "ROWS", 1},
                 {"ab", "ba", 2}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const a = cases[i].a, *const b = cases[i].b;

        assert_int_equal(mhcs_names_distance(a, strlen(a), b, strlen(b)), cases[i].distance);
        assert_int_equal(mhcs_names_distance(b, strlen(b), a, strlen(a)), cases[i].distance);
    }
}

static void the_nearest_name_is_found_and_long_names_are_bounded(void **state)
{
    static const char *const names[] = {"SAMPLE", "ROWS", "DIR"};
    char vast[5000];

    memset(vast, 'R', sizeof(vast));
    assert_string_equal(mhcs_names_nearest(names, 3, "SAMPEL", 6), "SAMPLE");
    assert_string_equal(mhcs_names_nearest(names, 3, "ROW=7", 3), "ROWS");
    assert_string_equal(mhcs_names_nearest(names, 3, "dirs", 4), "DIR");
    assert_string_equal(mhcs_names_nearest(names, 3, "SA", 2), "SAMPLE");
    assert_non_null(mhcs_names_nearest(names, 3, vast, sizeof(vast)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_integer_is_decimal_digits_alone),
        cmocka_unit_test(a_share_is_a_ratio_a_decimal_or_a_percentage),
        cmocka_unit_test(the_distance_counts_edits),
        cmocka_unit_test(the_nearest_name_is_found_and_long_names_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
