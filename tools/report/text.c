/* SPDX-License-Identifier: Apache-2.0 */
/* Wrapping, numbers, times. */
#include "tools/report/text.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "tools/report/term.h"

void mhcs_text_clean(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

void mhcs_text_wrap(FILE *out, const char *label, const char *text)
{
    const size_t indent = strlen(label), width = mhcs_term_width();
    size_t column = indent;

    fputs(label, out);
    while (*text) {
        size_t word = strcspn(text, " ");

        if (word > width - indent) /* a path or a command: cut rather than overflow */
            word = width - indent;
        if (column > indent && column + 1 + word > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

const char *mhcs_text_number(double value, char text[MHCS_NUMBER_BYTES])
{
    if (isnan(value))
        return "-";
    if (value == 0)
        return "0";
    snprintf(text, MHCS_NUMBER_BYTES, "%.3e", value);
    return text;
}

const char *mhcs_text_ratio(double value, char text[MHCS_NUMBER_BYTES])
{
    if (isnan(value))
        return "-";
    if (value == 0)
        return "0";
    if (value >= 0.01 && value < 9.995)
        snprintf(text, MHCS_NUMBER_BYTES, "%.2f", value);
    else if (value >= 9.995 && value < 9999.5)
        snprintf(text, MHCS_NUMBER_BYTES, value < 99.95 ? "%.1f" : "%.0f", value);
    else
        snprintf(text, MHCS_NUMBER_BYTES, "%.0e", value);
    return text;
}

const char *mhcs_text_scaled(double value, char text[MHCS_NUMBER_BYTES])
{
    static const char *const prefixes[] = {"", " k", " M", " G", " T", " P"};
    const char *digits;
    size_t i = 0;

    for (; value >= 999.5 && i + 1 < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        value /= 1000;
    if (i == 0 && value == floor(value)) {
        snprintf(text, MHCS_NUMBER_BYTES, "%.0f", value);
        return text;
    }
    digits = mhcs_text_ratio(value, text);
    return digits == text ? strcat(text, prefixes[i]) : digits;
}

const char *mhcs_text_chance(double probability, char text[MHCS_NUMBER_BYTES])
{
    if (isnan(probability))
        return "-";
    if (probability < 1e-15)
        return "<1e-15";
    snprintf(text, MHCS_NUMBER_BYTES, probability < 0.01 ? "%.0e" : "%.2f", probability);
    return text;
}

/* Seconds and what is left in ns, also before 1970. */
static time_t seconds_of(int64_t unix_ns, int32_t *ret_ns)
{
    *ret_ns = (int32_t)(unix_ns % 1000000000);
    if (*ret_ns < 0)
        *ret_ns += 1000000000;
    return (time_t)((unix_ns - *ret_ns) / 1000000000);
}

static const char *format_time(int64_t unix_ns, const char *format, char text[MHCS_CLOCK_BYTES])
{
    int32_t ns;
    const time_t seconds = seconds_of(unix_ns, &ns);
    struct tm tm;

    return gmtime_r(&seconds, &tm) && strftime(text, MHCS_CLOCK_BYTES, format, &tm) ? text : "?";
}

const char *mhcs_text_clock(int64_t unix_ns, char text[MHCS_CLOCK_BYTES])
{
    return format_time(unix_ns, "%Y-%m-%d %H:%M:%S UTC", text);
}

const char *mhcs_text_time(int64_t unix_ns, char text[MHCS_CLOCK_BYTES])
{
    char whole[MHCS_CLOCK_BYTES];
    int32_t ns;

    seconds_of(unix_ns, &ns);
    snprintf(text, MHCS_CLOCK_BYTES, "%.28s.%09dZ",
             format_time(unix_ns, "%Y-%m-%dT%H:%M:%S", whole), (int)ns);
    return text;
}
