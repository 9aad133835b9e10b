/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report top: the worst rows, with their coefficients. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/report/metrics.h"
#include "tools/report/report.h"
#include "tools/report/term.h"
#include "tools/report/text.h"

#define ROWS_SHOWN 5

struct top_options {
    struct mhcs_extras extras;
};

static const struct argp_option option_list[] = {
    {"rows", 'n', "N", 0, "how many rows (5)", 0},
    {"by", 'b', "METRIC", 0,
     "the metric to rank by, a column of the trace without its reference "
     "(rel)",
     0},
    {"against", 'a', "REFERENCE", 0, "operands or checkpoint (the checkpoint where a row has it)",
     0},
    {0},
};

static size_t parse_metric(const struct argp_state *state, const char *text)
{
    const int metric = mhcs_metric_find(text);

    if (metric < 0)
        argp_error(state, "--by %s: no metric of doc/metrics.md", text);
    return (size_t)metric;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct top_options *options = state->input;

    switch (key) {
    case 'n':
        options->extras.worst_rows =
            mhcs_options_number(state, "rows", argument, 1, MHCS_WORST_MAX);
        return 0;
    case 'b':
        options->extras.worst_metric = parse_metric(state, argument);
        return 0;
    case 'a':
        options->extras.worst_reference = mhcs_options_reference(state, argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- one row ---- */

/* Where it is in the traces. */
static void print_place(FILE *out, const struct mhcs_worst_row *row)
{
    const struct mhcs_record *record = &row->record;
    char time[MHCS_CLOCK_BYTES], text[512];

    snprintf(text, sizeof(text),
             "call %" PRId64 ", token row %" PRId32 " of %" PRId32 ", device %d%s, %s, %s",
             record->call, record->row, record->tokens, record->device,
             record->graph ? ", from a CUDA graph" : "", row->path,
             mhcs_text_time(record->time, time));
    mhcs_text_wrap(out, "      ", text);
    snprintf(text, sizeof(text), "%s", row->file);
    mhcs_text_clean(text);
    mhcs_text_wrap(out, "      ", text);
}

static void print_four(FILE *out, const char *format, const float *values, const float *less)
{
    for (int i = 0; i < 4; i++)
        fprintf(out, format, (double)values[i] - (less ? (double)less[i] : 0));
}

/* Four coefficients a line: what production has, and how far it is off. */
static void print_coefficients(FILE *out, const struct mhcs_worst_row *row)
{
    static const char *const groups[] = {"pre", "post", "comb", "", "", ""};
    const float *production = row->result.raw[MHCS_PRODUCTION];
    const float *reference = row->result.raw[row->reference];
    const int lines = isnan(reference[MHCS_COEFFICIENTS_HEAD]) ? 1 : 6;

    fprintf(out, "      %-6s%-40s  production - %s\n", "", "production",
            mhcs_reference_name(row->reference));
    for (int line = 0; line < lines; line++) {
        fprintf(out, "      %-5s", groups[line]);
        print_four(out, "%10.4g", production + 4 * line, NULL);
        fputs("  ", out);
        print_four(out, "%10.2e", production + 4 * line, reference + 4 * line);
        fputc('\n', out);
    }
}

static void print_figures(FILE *out, const struct mhcs_worst_row *row)
{
    const struct mhcs_row_metrics *metrics = &row->result.against[row->reference];
    const struct {
        const char *name;
        float value;
    } figures[] = {
        {"rel", metrics->rel},           {"ulp", metrics->ulp},
        {"backward", metrics->backward}, {"condition", metrics->condition},
        {"comb_err", metrics->comb_err}, {"y_rel", metrics->y_rel},
    };
    char number[MHCS_NUMBER_BYTES], text[256] = "";
    size_t length = 0;

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "%s%s %s", i ? ", " : "",
                             figures[i].name, mhcs_text_number((double)figures[i].value, number));
    mhcs_text_wrap(out, "      ", text);
}

static void print_row(FILE *out, size_t rank, const struct mhcs_worst *worst,
                      const struct mhcs_worst_row *row)
{
    char number[MHCS_NUMBER_BYTES];

    fprintf(out, "%s%4zu  %s in %s: ", mhcs_colour(MHCS_BOLD), rank, row->site_name,
            mhcs_phase_name(row->phase));
    if (isinf(row->value))
        fputs("NaN or Inf in production alone", out);
    else
        fprintf(out, "%s %s against the %s", mhcs_metric_name(worst->metric),
                mhcs_text_number((double)row->value, number), mhcs_reference_name(row->reference));
    fprintf(out, "%s\n", mhcs_colour(MHCS_PLAIN));
    print_place(out, row);
    print_figures(out, row);
    print_coefficients(out, row);
    fputc('\n', out);
}

static void print_rows(FILE *out, const struct mhcs_report *report)
{
    const struct mhcs_worst *worst = &report->collect->worst;

    fprintf(out, "%zu of %" PRIu64 " rows, the largest %s first (%s)\n\n", worst->count,
            report->collect->rows, mhcs_metric_name(worst->metric),
            mhcs_metric_what(worst->metric));
    for (size_t i = 0; i < worst->count; i++)
        print_row(out, i + 1, worst, &worst->row[i]);
}

static enum mhcs_exit run(int argc, char **argv)
{
    struct top_options own = {
        .extras = {.worst_rows = ROWS_SHOWN, .worst_metric = MHCS_METRIC(rel)}};
    struct mhcs_options options;
    struct mhcs_report report;
    enum mhcs_exit code;

    mhcs_options_parse(&mhcs_verb_top, argc, argv, &options, &own);
    options.extras = own.extras;
    code = mhcs_report_load(&report, &options);
    if (code == MHCS_EXIT_FINE) {
        print_rows(stdout, &report);
        code = mhcs_report_end(stdout, &report);
    }
    mhcs_report_free(&report);
    return code;
}

const struct mhcs_verb mhcs_verb_top = {
    .about = "the worst rows, with their coefficients",
    .notes = "Rows with NaN or Inf in production alone come first, then those with the largest "
             "metric. Which rows these are does not depend on the order of traces.",
    .example = "--rows=3 --by=y_rel /var/tmp/mhc",
    .options = option_list,
    .parse = parse,
    .run = run,
};
