/* SPDX-License-Identifier: Apache-2.0 */
/* What standard output can show: colour, how many columns, and which characters. Set up once at the
 * start, by one thread; until then it is plain ASCII of MHCS_TERM_WIDTH columns. */
#ifndef MHCS_REPORT_TERM_H
#define MHCS_REPORT_TERM_H

#include <stdbool.h>
#include <stdio.h>

#define MHCS_TERM_WIDTH     100 /* where standard output is no terminal, or one that does not say */
#define MHCS_TERM_WIDTH_MIN 60
#define MHCS_TERM_WIDTH_MAX 400

enum mhcs_when { MHCS_AUTO, MHCS_ALWAYS, MHCS_NEVER };

struct mhcs_term_options {
    enum mhcs_when colour; /* MHCS_AUTO: on a terminal other than TERM=dumb, without NO_COLOR */
    bool ascii;            /* else what the locale can show */
    unsigned width;        /* 0: the terminal's */
};
void mhcs_term_setup(const struct mhcs_term_options *options);

enum mhcs_colour { MHCS_PLAIN, MHCS_BOLD, MHCS_GREEN, MHCS_YELLOW, MHCS_RED };
/* The escape sequence, or "" without colour. */
const char *mhcs_colour(enum mhcs_colour colour);

unsigned mhcs_term_width(void);

/* `share` (0..1, more is cut, NaN is nothing) of `cells` columns as a bar, padded by nothing. What
 * is not zero is never an empty bar. Of up to MHCS_BAR_CELLS cells. */
#define MHCS_BAR_CELLS 40
#define MHCS_BAR_BYTES (3 * MHCS_BAR_CELLS + 1)
const char *mhcs_term_bar(double share, unsigned cells, char text[MHCS_BAR_BYTES]);

/* How many columns a text takes that may hold mhcs_colour() and mhcs_term_bar(). */
unsigned mhcs_term_columns(const char *text);

#endif
