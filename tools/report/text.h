/* SPDX-License-Identifier: Apache-2.0 */
/* Words and numbers as the report prints them. */
#ifndef MHCS_REPORT_TEXT_H
#define MHCS_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a trace says may hold terminal escapes: everything outside printable ASCII becomes '?'. */
void mhcs_text_clean(char *text);

/* Words of `text` after `label`, wrapped to the terminal and indented under the first one. */
void mhcs_text_wrap(FILE *out, const char *label, const char *text);

/* "1.659e-03", "0", or "-" for NaN. */
#define MHCS_NUMBER_BYTES 24
const char *mhcs_text_number(double value, char text[MHCS_NUMBER_BYTES]);
/* A ratio in three digits: "0.98", "5.12", "131". */
const char *mhcs_text_ratio(double value, char text[MHCS_NUMBER_BYTES]);

/* A count, size or rate in three digits with the unit's prefix: "812", "3.21 M", "48.0 G". */
const char *mhcs_text_scaled(double value, char text[MHCS_NUMBER_BYTES]);

/* A probability: "0.43", "5e-05", "<1e-15", "-" for NaN. */
const char *mhcs_text_chance(double probability, char text[MHCS_NUMBER_BYTES]);

/* "2026-03-01 12:00:00 UTC" */
#define MHCS_CLOCK_BYTES 40
const char *mhcs_text_clock(int64_t unix_ns, char text[MHCS_CLOCK_BYTES]);
/* "2026-03-01T12:00:00.123456789Z" */
const char *mhcs_text_time(int64_t unix_ns, char text[MHCS_CLOCK_BYTES]);

#endif
