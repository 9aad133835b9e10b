/* SPDX-License-Identifier: Apache-2.0 */
/* The top of the page: the verdict, what it means, and the figures it rests on. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/html.h"
#include "tools/report/text.h"

/* A figure with its name, and what it is in few words. */
static void print_figure(FILE *out, const char *name, const char *value, const char *about)
{
    fputs(strlen(value) > 16 ? "<div class=\"long\">" : "<div>", out);
    mhcs_html_element(out, "dt", "", name);
    mhcs_html_element(out, "dd", "", value);
    mhcs_html_element(out, "dd", " class=\"about\"", about);
    fputs("</div>\n", out);
}

static void print_share(FILE *out, const char *name, double value, const char *about)
{
    char text[32];

    if (isnan(value))
        return;
    snprintf(text, sizeof(text), "%.2g %%", 100 * value);
    print_figure(out, name, text, about);
}

static void print_figures(FILE *out, const struct mhcs_report *report)
{
    const struct mhcs_conclusion *conclusion = &report->conclusion;
    const uint64_t *counter = report->facts.counter;
    char number[MHCS_NUMBER_BYTES], text[64];

    fputs("<dl class=\"figures\">\n", out);
    print_figure(out, "R", mhcs_text_ratio(conclusion->ratio, number),
                 "rms error over what rounding explains");
    if (conclusion->status != MHCS_INSUFFICIENT)
        print_figure(out, "Looks like", mhcs_class_name(conclusion->class), "kind of the error");
    print_share(out, "comb", conclusion->comb_err, "rms error after Sinkhorn");
    print_share(out, "y", conclusion->y_rel, "rms error of the layer's input");
    if (!isnan(conclusion->y_cosdist))
        print_figure(out, "1 - cosine", mhcs_text_number(conclusion->y_cosdist, number),
                     "of y, largest");
    snprintf(text, sizeof(text), "%" PRIu64, report->collect->rows);
    snprintf(number, sizeof(number), "at %zu sites", report->collect->sites);
    print_figure(out, "Rows compared", text, number);
    if (report->facts.counted) {
        snprintf(text, sizeof(text), "%" PRIu64, counter[MHCS_SAMPLED]);
        snprintf(number, sizeof(number), "of %" PRIu64 " matched", counter[MHCS_MATCHED]);
        print_figure(out, "Calls sampled", text, number);
    }
    fputs("</dl>\n", out);
}

static void print_text(FILE *out, const char *tag, const char *attributes,
                       void (*write)(FILE *, const struct mhcs_report *),
                       const struct mhcs_report *report)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    if (!stream)
        return;
    write(stream, report);
    if (!fclose(stream))
        mhcs_html_element(out, tag, attributes, text);
    free(text);
}

static void print_list(FILE *out, const struct mhcs_distinct *distinct)
{
    for (size_t i = 0; i < distinct->count; i++)
        mhcs_html_element(out, "li", "", distinct->value[i].text);
    if (distinct->further > 0)
        mhcs_html_elementf(out, "li", "", "and %" PRIu64 " more", distinct->further);
}

static void print_weights(FILE *out, const struct mhcs_facts *facts)
{
    if (!mhcs_facts_weights_differ(facts))
        return;
    fputs("<div class=\"notice\"><h3>Weights that are not the checkpoint&#39;s</h3>\n<ul>\n", out);
    print_list(out, &facts->places);
    print_list(out, &facts->weights);
    fputs("</ul></div>\n", out);
}

/* What the sentence does not say. */
static void print_warnings(FILE *out, const struct mhcs_report *report)
{
    const char *warnings[MHCS_WARNINGS_MAX];
    const size_t count = mhcs_report_warnings(report, false, warnings);

    for (size_t i = 0; i < count; i++)
        mhcs_html_elementf(out, "p", " class=\"notice\"", "Note: %s", warnings[i]);
}

void mhcs_html_verdict(FILE *out, const struct mhcs_report *report)
{
    const enum mhcs_status status = report->conclusion.status;

    fprintf(out, "<section id=\"verdict\" class=\"%s\" aria-labelledby=\"verdict-h\">\n",
            mhcs_html_status(status));
    fprintf(out, "<h2 id=\"verdict-h\">Verdict: <strong class=\"status\">%s</strong></h2>\n",
            mhcs_status_name(status));
    if (report->collect->rows > 0) {
        fputs("<h3>What this means</h3>\n", out);
        print_text(out, "p", " class=\"means\"", mhcs_report_sentence, report);
    } else {
        print_text(out, "pre", "", mhcs_report_no_rows, report);
        print_text(out, "pre", "", mhcs_report_remedy, report);
    }
    if (report->facts.simulated)
        mhcs_html_element(out, "p", " class=\"notice\"", MHCS_SIMULATED);
    print_warnings(out, report);
    if (report->collect->rows > 0)
        print_figures(out, report);
    fputs("<details><summary>Thresholds</summary>\n", out);
    print_text(out, "p", "", mhcs_report_thresholds, report);
    fputs("</details>\n", out);
    print_weights(out, &report->facts);
    mhcs_html_section_end(out);
}
