/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns fit, and lines of them. */
#include "tools/report/table.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tools/report/term.h"

static bool is_shown(const struct mhcs_table *table, size_t i)
{
    return table->shown >> i & 1;
}

unsigned mhcs_table_width(const struct mhcs_table *table)
{
    unsigned width = 0;

    for (size_t i = 0; i < table->columns; i++)
        if (is_shown(table, i))
            width += (unsigned)abs(table->column[i].width);
    return width;
}

/* The one to go first; of equal ones the last. */
static size_t find_spare(const struct mhcs_table *table)
{
    size_t spare = 0;

    for (size_t i = 0; i < table->columns; i++)
        if (is_shown(table, i) && table->column[i].spare > 0 &&
            (!is_shown(table, spare) || table->column[i].spare >= table->column[spare].spare))
            spare = i;
    return spare;
}

void mhcs_table_fit(struct mhcs_table *ret_table, const struct mhcs_table_column *column,
                    size_t columns, unsigned width)
{
    struct mhcs_table *table = ret_table;

    assert(columns > 0 && columns < MHCS_TABLE_COLUMNS_MAX);
    *table = (struct mhcs_table){column, columns, (UINT32_C(1) << columns) - 1};
    while (mhcs_table_width(table) > width) {
        const size_t spare = find_spare(table);

        if (column[spare].spare == 0)
            break;
        table->shown &= ~(UINT32_C(1) << spare);
    }
}

/* Padding is owed until something follows it, so that no line ends in blanks. */
static void print_cell(FILE *out, int width, bool last, const char *text, unsigned *owed)
{
    const unsigned room = (unsigned)abs(width), taken = mhcs_term_columns(text);
    const unsigned padding = taken < room ? room - taken : 0;

    if (width > 0)
        *owed += padding;
    if (taken > 0)
        fprintf(out, "%*s%.*s", (int)*owed, "",
                width < 0 && taken > room && !last ? -width : INT_MAX, text);
    if (taken > 0)
        *owed = 0;
    if (width < 0)
        *owed += padding;
}

void mhcs_table_line(FILE *out, const struct mhcs_table *table, const char *const *text)
{
    unsigned owed = 0;

    for (size_t i = 0; i < table->columns; i++)
        if (is_shown(table, i))
            print_cell(out, table->column[i].width, table->shown >> i == 1, text[i], &owed);
    fputc('\n', out);
}

void mhcs_table_heading(FILE *out, const struct mhcs_table *table)
{
    const char *title[MHCS_TABLE_COLUMNS_MAX];

    for (size_t i = 0; i < table->columns; i++)
        title[i] = table->column[i].title;
    mhcs_table_line(out, table, title);
}
