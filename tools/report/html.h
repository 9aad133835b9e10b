/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the HTML report. Each section is one file that writes a <section>; what they share
 * is here and in chart.h. All write into memory (open_memstream(3)), so that nothing is half a
 * page. */
#ifndef MHCS_REPORT_HTML_H
#define MHCS_REPORT_HTML_H

#include <stdio.h>

#include "tools/report/report.h"

/* Whatever came from a trace or a command line goes through one of these three: markup stands in
 * formats alone. */
void mhcs_html_text(FILE *out, const char *text);
/* <tag attributes>text</tag>; the attributes are ours, with a space before them, or "". */
void mhcs_html_element(FILE *out, const char *tag, const char *attributes, const char *text);
/* The same with a text put together as by printf(3), of up to 1023 bytes. */
__attribute__((format(printf, 4, 5))) void mhcs_html_elementf(FILE *out, const char *tag,
                                                              const char *attributes,
                                                              const char *format, ...);

/* <section> with a heading; `id` is ours. */
void mhcs_html_section(FILE *out, const char *id, const char *heading);
void mhcs_html_section_end(FILE *out);

/* A table that scrolls sideways in itself where the screen is too narrow. Folded: behind a line to
 * open it, as the other form of a chart. `columns` ends with NULL. */
void mhcs_html_table(FILE *out, const char *caption, const char *const *columns, bool folded);
void mhcs_html_table_end(FILE *out, bool folded);
/* A row of numbers or words; the first is its heading. */
void mhcs_html_row(FILE *out, const char *const *cells, size_t count);

/* "pass", "warn", "fail", "insufficient": classes of html.css. */
const char *mhcs_html_status(enum mhcs_status status);
const char *mhcs_html_reference(enum mhcs_path reference); /* "operands", "checkpoint" */

/* "host pid", or "?" for a trace that does not say; cut where it is longer. */
void mhcs_html_process(const struct mhcs_process *process, char *text, size_t size);

/* Sections, in their order on the page. */
void mhcs_html_verdict(FILE *out, const struct mhcs_report *report);
void mhcs_html_map(FILE *out, const struct mhcs_report *report);
void mhcs_html_spread(FILE *out, const struct mhcs_report *report);
void mhcs_html_sizes(FILE *out, const struct mhcs_report *report);
void mhcs_html_drift(FILE *out, const struct mhcs_report *report);
void mhcs_html_errors(FILE *out, const struct mhcs_report *report);
void mhcs_html_coverage(FILE *out, const struct mhcs_report *report);
void mhcs_html_provenance(FILE *out, const struct mhcs_report *report);

#endif
