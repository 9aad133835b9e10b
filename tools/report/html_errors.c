/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of errors, as the summary has them. */
#include "tools/report/html.h"
#include "tools/report/text.h"

static void print_line(FILE *out, const struct mhcs_error_line *line)
{
    static const uint32_t percentiles[] = {5000, 9000, 9900, 9990, 10000};
    char number[6][MHCS_NUMBER_BYTES];
    const char *cells[7] = {line->label, mhcs_text_number(mhcs_stat_rms(line->stat), number[0])};

    for (size_t i = 0; i < 5; i++)
        cells[2 + i] =
            mhcs_text_number(mhcs_stat_percentile(line->stat, percentiles[i]), number[1 + i]);
    mhcs_html_row(out, cells, 7);
}

static void print_reference(FILE *out, const struct mhcs_report *report, enum mhcs_path reference)
{
    static const char *const columns[] = {"error", "rms",   "p50", "p90",
                                          "p99",   "p99.9", "max", NULL};
    struct mhcs_error_line line[MHCS_ERROR_LINES_MAX];
    const size_t lines = mhcs_report_error_lines(report, reference, line);
    char caption[96];

    snprintf(caption, sizeof(caption), "Errors against %s", mhcs_report_reference(reference));
    mhcs_html_table(out, caption, columns, false);
    for (size_t i = 0; i < lines; i++) {
        if (i == 0 || line[i].heading != line[i - 1].heading)
            fprintf(out, "<tr class=\"group\"><th colspan=\"7\" scope=\"rowgroup\">%s</th></tr>\n",
                    line[i].heading);
        print_line(out, &line[i]);
    }
    mhcs_html_table_end(out, false);
}

void mhcs_html_errors(FILE *out, const struct mhcs_report *report)
{
    mhcs_html_section(out, "errors", "Errors in figures");
    MHCS_FOR_EACH_REFERENCE(r)
        if (report->collect->reference_rows[r] > 0)
            print_reference(out, report, r);
    if (report->collect->reference_rows[MHCS_CHECKPOINT] == 0)
        mhcs_html_element(out, "p", " class=\"note\"", MHCS_NO_CHECKPOINT);
    mhcs_html_elementf(out, "p", " class=\"note\"",
                       "Percentiles are within %.1f %%; rms and max are exact. A head has 4 "
                       "coefficients, no post, no comb.",
                       100 * MHCS_HIST_ERROR);
    mhcs_html_section_end(out);
}
