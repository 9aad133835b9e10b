/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow/facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shadow/clock.h"

static void expect_time(int64_t seconds, int nanoseconds)
{
    const time_t t = seconds;
    char text[MHCS_TIME_BYTES], wanted[MHCS_TIME_BYTES], fraction[16];
    struct tm calendar;

    gmtime_r(&t, &calendar);
    strftime(wanted, sizeof(wanted), "%Y-%m-%dT%H:%M:%S", &calendar);
    snprintf(fraction, sizeof(fraction), ".%09dZ", nanoseconds);
    strcat(wanted, fraction);
    assert_string_equal(mhcs_facts_time(seconds * MHCS_SECOND + nanoseconds, text), wanted);
}

static void times_are_those_of_the_calendar(void **state)
{
    const int64_t last_day = INT64_MAX / MHCS_SECOND / 86400 - 1; /* in 2262 */

    for (int64_t day = 0; day <= last_day; day++) {
        expect_time(day * 86400, 0);
        expect_time(day * 86400 + 86399, 999999999);
    }
    expect_time(951782400 + 12 * 3600 + 34 * 60 + 56, 7); /* 2000-02-29 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_those_of_the_calendar),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
