/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that fit the terminal: where it is narrow, the columns that matter least are left out. */
#ifndef MHCS_REPORT_TABLE_H
#define MHCS_REPORT_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MHCS_TABLE_COLUMNS_MAX 32

struct mhcs_table_column {
    const char *title;
    int width;      /* as in printf: negative is aligned left; the gap to the left is part of it */
    unsigned spare; /* 0: always shown; the largest goes first */
};

struct mhcs_table {
    const struct mhcs_table_column *column; /* the caller's */
    size_t columns;
    uint32_t shown; /* bit i: column i */
};

/* At most MHCS_TABLE_COLUMNS_MAX columns; `width` as of mhcs_term_width(). */
void mhcs_table_fit(struct mhcs_table *ret_table, const struct mhcs_table_column *column,
                    size_t columns, unsigned width);
unsigned mhcs_table_width(const struct mhcs_table *table); /* of the columns shown */

/* Titles, or one line: a text per column, also of those left out. A text that is too long for its
 * column is cut if that is aligned left and not the last. Nothing trails. */
void mhcs_table_heading(FILE *out, const struct mhcs_table *table);
void mhcs_table_line(FILE *out, const struct mhcs_table *table, const char *const *text);

#endif
