/* SPDX-License-Identifier: Apache-2.0 */
/* The summary's tables: how large the errors are, and how large they were expected to be. */
#include <math.h>

#include "tools/report/report.h"
#include "tools/report/table.h"
#include "tools/report/term.h"
#include "tools/report/text.h"

/* ---- percentiles ---- */

enum { INDENT, LABEL, RMS, P50, P90, P99, P99_9, MAX, COLUMNS };

static const struct mhcs_table_column percentile_columns[COLUMNS] = {
    [INDENT] = {"", 2, 0},      [LABEL] = {"", -30, 0}, [RMS] = {"rms", 11, 0},
    [P50] = {"p50", 11, 2},     [P90] = {"p90", 11, 4}, [P99] = {"p99", 11, 1},
    [P99_9] = {"p99.9", 11, 3}, [MAX] = {"max", 11, 0},
};

static void print_heading(FILE *out, const char *text)
{
    struct mhcs_table table;
    const char *title[COLUMNS] = {[INDENT] = "", [LABEL] = text};

    for (size_t i = RMS; i < COLUMNS; i++)
        title[i] = percentile_columns[i].title;
    mhcs_table_fit(&table, percentile_columns, COLUMNS, mhcs_term_width());
    mhcs_table_line(out, &table, title);
}

static void print_stat(FILE *out, const char *label, const struct mhcs_stat *stat)
{
    static const uint32_t percentiles[COLUMNS] = {
        [P50] = 5000, [P90] = 9000, [P99] = 9900, [P99_9] = 9990, [MAX] = 10000};
    struct mhcs_table table;
    char number[COLUMNS][MHCS_NUMBER_BYTES];
    const char *text[COLUMNS] = {[INDENT] = "", [LABEL] = label};

    text[RMS] = mhcs_text_number(mhcs_stat_rms(stat), number[RMS]);
    for (size_t i = P50; i < COLUMNS; i++)
        text[i] = mhcs_text_number(mhcs_stat_percentile(stat, percentiles[i]), number[i]);
    mhcs_table_fit(&table, percentile_columns, COLUMNS, mhcs_term_width());
    mhcs_table_line(out, &table, text);
}

const char *mhcs_report_reference(enum mhcs_path reference)
{
    return reference == MHCS_OPERANDS
               ? "an fp32 GEMM of the same operands (operands)"
               : "an fp32 GEMM with the checkpoint's fp32 weights (checkpoint)";
}

struct shown {
    size_t metric;
    const char *label;
};

static const struct shown raw[] = {
    {MHCS_METRIC(rel), "rel, all coefficients"}, {MHCS_METRIC(rel_pre), "rel, pre group"},
    {MHCS_METRIC(rel_post), "rel, post group"},  {MHCS_METRIC(rel_comb), "rel, comb group"},
    {MHCS_METRIC(backward), "backward error"},   {MHCS_METRIC(condition), "condition"},
    {MHCS_METRIC(max_abs), "max abs"},           {MHCS_METRIC(bias), "bias over rms of the error"},
};

static const struct shown mapped[] = {
    {MHCS_METRIC(pre_err), "pre"},
    {MHCS_METRIC(post_err), "post"},
    {MHCS_METRIC(comb_err), "comb"},
    {MHCS_METRIC(bound), "comb, first-order bound, abs"},
    {MHCS_METRIC(comb_max_abs), "comb, max abs"},
    {MHCS_METRIC(comb_tv), "comb, total variation of a row"},
    {MHCS_METRIC(y_rel), "y"},
    {MHCS_METRIC(y_cosdist), "y, 1 - cosine"},
};

/* Lines being put together. */
struct lines {
    struct mhcs_error_line *line;
    size_t count;
    const char *heading;
};

static void add(struct lines *lines, const char *label, const struct mhcs_stat *stat)
{
    struct mhcs_error_line *line = &lines->line[lines->count];

    if (stat->hist.count == 0)
        return;
    lines->count++;
    line->heading = lines->heading;
    line->stat = stat;
    snprintf(line->label, sizeof(line->label), "%s", label);
}

static void add_shown(struct lines *lines, const struct mhcs_stat *metric,
                      const struct shown *shown, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(lines, shown[i].label, &metric[shown[i].metric]);
}

size_t mhcs_report_error_lines(const struct mhcs_report *report, enum mhcs_path reference,
                               struct mhcs_error_line *ret_lines)
{
    const struct mhcs_collect *collect = report->collect;
    const struct mhcs_stat *metric = collect->metric[reference];
    struct lines lines = {.line = ret_lines, .heading = "raw GEMM output, per row"};

    add_shown(&lines, metric, raw, sizeof(raw) / sizeof(raw[0]));
    for (size_t i = 0; i < collect->paths && collect->paths > 1; i++) {
        char label[MHCS_PATH_BYTES + 8];

        snprintf(label, sizeof(label), "rel %s", collect->path[i]->text);
        add(&lines, label, &collect->path[i]->rel[reference]);
    }
    lines.heading = "in bf16 ulps, per coefficient";
    add(&lines, "ulp (floored at the row's rms)", &collect->ulp[reference]);
    add(&lines, "ulp of its own size", &collect->ulp_own[reference]);
    lines.heading =
        report->facts.neutral_model ? "maps with scale 1, base 0" : "after the maps and Sinkhorn";
    add_shown(&lines, metric, mapped, sizeof(mapped) / sizeof(mapped[0]));
    if (reference == MHCS_OPERANDS)
        add(&lines, "row sum of comb, difference", &collect->defect);
    return lines.count;
}

static void print_reference(FILE *out, const struct mhcs_report *report, enum mhcs_path reference)
{
    struct mhcs_error_line line[MHCS_ERROR_LINES_MAX];
    const size_t lines = mhcs_report_error_lines(report, reference, line);

    fputs(mhcs_colour(MHCS_BOLD), out);
    mhcs_text_wrap(out, "Errors against ", mhcs_report_reference(reference));
    fputs(mhcs_colour(MHCS_PLAIN), out);
    for (size_t i = 0; i < lines; i++) {
        if (i == 0 || line[i].heading != line[i - 1].heading)
            print_heading(out, line[i].heading);
        print_stat(out, line[i].label, line[i].stat);
    }
    fputc('\n', out);
}

void mhcs_report_errors(FILE *out, const struct mhcs_report *report)
{
    char note[160];

    MHCS_FOR_EACH_REFERENCE(r)
        if (report->collect->reference_rows[r] > 0)
            print_reference(out, report, r);
    if (report->collect->reference_rows[MHCS_CHECKPOINT] == 0)
        mhcs_text_wrap(out, "  ", MHCS_NO_CHECKPOINT);
    snprintf(note, sizeof(note),
             "Percentiles are within %.1f %%; rms and max are exact. A head has 4 coefficients, no "
             "post, no comb.",
             100 * MHCS_HIST_ERROR);
    mhcs_text_wrap(out, "  ", note);
    fputc('\n', out);
}

/* ---- observed against expected ---- */

#define GAUGE_CELLS 12

enum { MARGIN, PATH, AGAINST, OBSERVED, EXPECTED, RATIO, GAUGE, NOISE_COLUMNS };

static const struct mhcs_table_column noise_columns[NOISE_COLUMNS] = {
    [MARGIN] = {"", 2, 0},
    [PATH] = {"declared path", -31, 0},
    [AGAINST] = {"against", -11, 0},
    [OBSERVED] = {"rms rel", 10, 1},
    [EXPECTED] = {"  expected", -26, 2},
    [RATIO] = {"R", 6, 0},
    [GAUGE] = {"  R up to 4", -2 - GAUGE_CELLS, 3},
};

/* R on a scale that ends where FAIL begins. */
static void make_gauge(double ratio, char *text, size_t size)
{
    char bar[MHCS_BAR_BYTES];

    snprintf(text, size, "  %s%s%s",
             mhcs_colour(ratio > MHCS_WARN_RATIO   ? MHCS_RED
                         : ratio > MHCS_PASS_RATIO ? MHCS_YELLOW
                                                   : MHCS_GREEN),
             mhcs_term_bar(ratio / MHCS_WARN_RATIO, GAUGE_CELLS, bar), mhcs_colour(MHCS_PLAIN));
}

static void print_expected(FILE *out, const struct mhcs_table *table,
                           const struct mhcs_path_line *path, enum mhcs_path reference)
{
    const struct mhcs_evidence *evidence = &path->against[reference];
    const double ratio = sqrt(mhcs_moments_mean(&evidence->excess));
    char observed[MHCS_NUMBER_BYTES], low[MHCS_NUMBER_BYTES], high[MHCS_NUMBER_BYTES];
    char number[MHCS_NUMBER_BYTES], range[2 * MHCS_NUMBER_BYTES + 8] = "  none known";
    char gauge[MHCS_BAR_BYTES + 24] = "  not judged", sources[200];
    struct mhcs_noise noise;
    const bool known =
        path->parsed && mhcs_noise_expected(&path->precision, reference, MHCS_COEFFICIENTS, &noise);

    if (known && noise.high > 1.05 * noise.low)
        snprintf(range, sizeof(range), "  %s .. %s", mhcs_text_number(noise.low, low),
                 mhcs_text_number(noise.high, high));
    else if (known)
        snprintf(range, sizeof(range), "  %s", mhcs_text_number(noise.high, high));
    if (known)
        make_gauge(ratio, gauge, sizeof(gauge));
    mhcs_table_line(out, table,
                    (const char *const[NOISE_COLUMNS]){
                        [MARGIN] = "",
                        [PATH] = path->text,
                        [AGAINST] = reference == MHCS_OPERANDS ? "operands" : "checkpoint",
                        [OBSERVED] = mhcs_text_number(mhcs_evidence_rms(evidence), observed),
                        [EXPECTED] = range,
                        [RATIO] = mhcs_text_ratio(ratio, number),
                        [GAUGE] = gauge,
                    });
    if (known) {
        mhcs_noise_sources(&path->precision, reference, sources, sizeof(sources));
        mhcs_text_wrap(out, "      expects: ", sources);
    }
    if (evidence->rows > 0)
        mhcs_text_wrap(out, "      looks like: ", mhcs_class_name(mhcs_evidence_class(evidence)));
}

void mhcs_report_noise(FILE *out, const struct mhcs_report *report)
{
    struct mhcs_table table;

    fprintf(out, "%sObserved against expected noise%s\n", mhcs_colour(MHCS_BOLD),
            mhcs_colour(MHCS_PLAIN));
    mhcs_table_fit(&table, noise_columns, NOISE_COLUMNS, mhcs_term_width());
    mhcs_table_heading(out, &table);
    for (size_t i = 0; i < report->collect->paths; i++)
        MHCS_FOR_EACH_REFERENCE(r)
            if (report->collect->path[i]->against[r].rows > 0)
                print_expected(out, &table, report->collect->path[i], r);
    mhcs_text_wrap(out, "  ",
                   "R is rms rel over the top of the expected range. Expectations assume "
                   "Gaussian-like data and activations that are bf16 values.");
    fputc('\n', out);
}
