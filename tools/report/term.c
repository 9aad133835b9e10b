/* SPDX-License-Identifier: Apache-2.0 */
/* Asks terminal, environment and locale once; term.h says what for. */
#include "tools/report/term.h"

#include <assert.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct {
    bool colour, unicode;
    unsigned width;
} term = {.width = MHCS_TERM_WIDTH}; /* written by mhcs_term_setup() alone */

static bool takes_colour(void)
{
    const char *no_color = getenv("NO_COLOR"), *name = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(no_color && *no_color) && name && strcmp(name, "dumb");
}

/* COLUMNS wins over the terminal, as in other tools; a shell that only sets it for itself does not
 * export it. */
static unsigned long terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;

    if (!isatty(STDOUT_FILENO))
        return MHCS_TERM_WIDTH;
    if (columns && strtoul(columns, NULL, 10) > 0)
        return strtoul(columns, NULL, 10);
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                           : MHCS_TERM_WIDTH;
}

static unsigned clamp_width(unsigned long width)
{
    return width < MHCS_TERM_WIDTH_MIN   ? MHCS_TERM_WIDTH_MIN
           : width > MHCS_TERM_WIDTH_MAX ? MHCS_TERM_WIDTH_MAX
                                         : (unsigned)width;
}

void mhcs_term_setup(const struct mhcs_term_options *options)
{
    term.colour = options->colour == MHCS_AUTO ? takes_colour() : options->colour == MHCS_ALWAYS;
    term.unicode =
        !options->ascii && setlocale(LC_CTYPE, "") && !strcmp(nl_langinfo(CODESET), "UTF-8");
    term.width = clamp_width(options->width > 0 ? options->width : terminal_width());
}

const char *mhcs_colour(enum mhcs_colour colour)
{
    static const char *const sequences[] = {[MHCS_PLAIN] = "\033[0m",
                                            [MHCS_BOLD] = "\033[1m",
                                            [MHCS_GREEN] = "\033[1;32m",
                                            [MHCS_YELLOW] = "\033[1;33m",
                                            [MHCS_RED] = "\033[1;31m"};

    return term.colour ? sequences[colour] : "";
}

unsigned mhcs_term_width(void)
{
    return term.width;
}

const char *mhcs_term_bar(double share, unsigned cells, char text[MHCS_BAR_BYTES])
{
    static const char *const eighths[] = {"",       "\u258f", "\u258e", "\u258d",
                                          "\u258c", "\u258b", "\u258a", "\u2589"};
    static const char *const halves[] = {"", ":"};
    const unsigned steps = term.unicode ? 8 : 2;
    unsigned filled = 0;
    char *end = text;

    assert(cells <= MHCS_BAR_CELLS);
    if (share > 0)
        filled = share >= 1 ? cells * steps : (unsigned)(share * cells * steps + 0.5);
    if (share > 0 && filled == 0)
        filled = 1;
    for (; filled >= steps; filled -= steps)
        end = stpcpy(end, term.unicode ? "\u2588" : "#");
    strcpy(end, term.unicode ? eighths[filled] : halves[filled]);
    return text;
}

unsigned mhcs_term_columns(const char *text)
{
    unsigned columns = 0;

    for (; *text; text++)
        if (*text == '\033')
            text += strcspn(text, "m");
        else
            columns += ((unsigned char)*text & 0xc0) != 0x80; /* a character, not more of it */
    return columns;
}
