/* SPDX-License-Identifier: Apache-2.0 */
/* How the report looks: 100 columns of ASCII, colour only where someone watches. */
#ifndef MHCS_REPORT_TEXT_H
#define MHCS_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MHCS_TEXT_WIDTH 100

enum mhcs_colour { MHCS_PLAIN, MHCS_BOLD, MHCS_GREEN, MHCS_YELLOW, MHCS_RED };
/* The escape sequence, or "" unless stdout is a terminal and NO_COLOR is not set. */
const char *mhcs_colour(enum mhcs_colour colour);

/* What a trace says may hold terminal escapes: everything outside printable ASCII becomes '?'. */
void mhcs_text_clean(char *text);

/* Words of `text` after `label`, wrapped and indented under the first one. */
void mhcs_text_wrap(FILE *out, const char *label, const char *text);

/* "1.659e-03", "0", or "-" for NaN. */
#define MHCS_NUMBER_BYTES 24
const char *mhcs_text_number(double value, char text[MHCS_NUMBER_BYTES]);
/* A ratio in three digits: "0.98", "5.12", "131". */
const char *mhcs_text_ratio(double value, char text[MHCS_NUMBER_BYTES]);

/* "2026-03-01 12:00:00 UTC" */
#define MHCS_CLOCK_BYTES 40
const char *mhcs_text_clock(int64_t unix_ns, char text[MHCS_CLOCK_BYTES]);

#endif
