/* SPDX-License-Identifier: Apache-2.0 */
/* Colour, wrapping, numbers. */
#include "tools/report/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool coloured(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(no_color && *no_color) && term && strcmp(term, "dumb");
}

const char *mhcs_colour(enum mhcs_colour colour)
{
    static const char *const sequences[] = {[MHCS_PLAIN] = "\033[0m",
                                            [MHCS_BOLD] = "\033[1m",
                                            [MHCS_GREEN] = "\033[1;32m",
                                            [MHCS_YELLOW] = "\033[1;33m",
                                            [MHCS_RED] = "\033[1;31m"};

    return coloured() ? sequences[colour] : "";
}

void mhcs_text_clean(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

void mhcs_text_wrap(FILE *out, const char *label, const char *text)
{
    const size_t indent = strlen(label);
    size_t column = indent;

    fputs(label, out);
    while (*text) {
        size_t word = strcspn(text, " ");

        if (word > MHCS_TEXT_WIDTH - indent) /* a path or a command: cut rather than overflow */
            word = MHCS_TEXT_WIDTH - indent;
        if (column > indent && column + 1 + word > MHCS_TEXT_WIDTH) {
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

const char *mhcs_text_clock(int64_t unix_ns, char text[MHCS_CLOCK_BYTES])
{
    const time_t seconds = (time_t)(unix_ns / 1000000000);
    struct tm tm;

    if (!gmtime_r(&seconds, &tm) || !strftime(text, MHCS_CLOCK_BYTES, "%Y-%m-%d %H:%M:%S UTC", &tm))
        return "?";
    return text;
}
