/* SPDX-License-Identifier: Apache-2.0 */
/* The summary's tables: how large the errors are, and how large they were expected to be. */
#include <math.h>

#include "tools/report/report.h"
#include "tools/report/text.h"

/* ---- percentiles ---- */

static void print_heading(FILE *out, const char *text)
{
    fprintf(out, "  %-30s%11s%11s%11s%11s%11s%11s\n", text, "rms", "p50", "p90", "p99", "p99.9",
            "max");
}

static void print_stat(FILE *out, const char *label, const struct mhcs_stat *stat)
{
    static const uint32_t percentiles[] = {5000, 9000, 9900, 9990, 10000};
    char number[MHCS_NUMBER_BYTES];

    if (stat->hist.count == 0)
        return;
    fprintf(out, "  %-30s%11s", label, mhcs_text_number(mhcs_stat_rms(stat), number));
    for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
        fprintf(out, "%11s", mhcs_text_number(mhcs_stat_percentile(stat, percentiles[i]), number));
    fputc('\n', out);
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

static void print_shown(FILE *out, const struct mhcs_stat *metric, const struct shown *shown,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        print_stat(out, shown[i].label, &metric[shown[i].metric]);
}

static void print_reference(FILE *out, const struct mhcs_report *report, enum mhcs_path reference)
{
    const struct mhcs_collect *collect = report->collect;
    const struct mhcs_stat *metric = collect->metric[reference];

    fprintf(out, "%sErrors against %s%s\n", mhcs_colour(MHCS_BOLD),
            reference == MHCS_OPERANDS
                ? "an fp32 GEMM of the same operands (operands)"
                : "an fp32 GEMM with the checkpoint's fp32 weights (checkpoint)",
            mhcs_colour(MHCS_PLAIN));
    print_heading(out, "raw GEMM output, per row");
    print_shown(out, metric, raw, sizeof(raw) / sizeof(raw[0]));
    for (size_t i = 0; i < collect->paths && collect->paths > 1; i++) {
        char label[MHCS_PATH_BYTES + 8];

        snprintf(label, sizeof(label), "rel %s", collect->path[i]->text);
        print_stat(out, label, &collect->path[i]->rel[reference]);
    }
    print_heading(out, "in bf16 ulps, per coefficient");
    print_stat(out, "ulp (floored at the row's rms)", &collect->ulp[reference]);
    print_stat(out, "ulp of its own size", &collect->ulp_own[reference]);
    print_heading(out, report->facts.neutral_model ? "maps with scale 1, base 0"
                                                   : "after the maps and Sinkhorn");
    print_shown(out, metric, mapped, sizeof(mapped) / sizeof(mapped[0]));
    if (reference == MHCS_OPERANDS)
        print_stat(out, "row sum of comb, difference", &collect->defect);
    fputc('\n', out);
}

void mhcs_report_errors(FILE *out, const struct mhcs_report *report)
{
    for
        MHCS_EACH_REFERENCE(r)
    if (report->collect->reference_rows[r] > 0)
        print_reference(out, report, r);
    if (report->collect->reference_rows[MHCS_CHECKPOINT] == 0)
        mhcs_text_wrap(out, "  ",
                       "No checkpoint was compared: what rounding of the stored weights costs is "
                       "not in these numbers.");
    fprintf(
        out,
        "  Percentiles are within %.1f %%; rms and max are exact. A head has 4 coefficients, no "
        "post, no\n  comb.\n",
        100 * MHCS_HIST_ERROR);
    fputc('\n', out);
}

/* ---- observed against expected ---- */

static void print_expected(FILE *out, const struct mhcs_path_line *path, enum mhcs_path reference)
{
    const struct mhcs_evidence *evidence = &path->against[reference];
    char observed[MHCS_NUMBER_BYTES], low[MHCS_NUMBER_BYTES], high[MHCS_NUMBER_BYTES];
    char ratio[MHCS_NUMBER_BYTES], range[2 * MHCS_NUMBER_BYTES + 8] = "none known", sources[200];
    struct mhcs_noise noise;
    const bool known =
        path->parsed && mhcs_noise_expected(&path->precision, reference, MHCS_COEFFICIENTS, &noise);

    if (known && noise.high > 1.05 * noise.low)
        snprintf(range, sizeof(range), "%s .. %s", mhcs_text_number(noise.low, low),
                 mhcs_text_number(noise.high, high));
    else if (known)
        snprintf(range, sizeof(range), "%s", mhcs_text_number(noise.high, high));
    fprintf(out, "  %-30.30s %-11s%10s  %-24s%6s%s\n", path->text,
            reference == MHCS_OPERANDS ? "operands" : "checkpoint",
            mhcs_text_number(mhcs_evidence_rms(evidence), observed), range,
            mhcs_text_ratio(sqrt(mhcs_moments_mean(&evidence->excess)), ratio),
            known ? "" : "  not judged");
    if (known) {
        mhcs_noise_sources(&path->precision, reference, sources, sizeof(sources));
        mhcs_text_wrap(out, "      expects: ", sources);
    }
    if (evidence->rows > 0)
        mhcs_text_wrap(out, "      looks like: ", mhcs_class_name(mhcs_evidence_class(evidence)));
}

void mhcs_report_noise(FILE *out, const struct mhcs_report *report)
{
    fprintf(out, "%sObserved against expected noise%s\n", mhcs_colour(MHCS_BOLD),
            mhcs_colour(MHCS_PLAIN));
    fprintf(out, "  %-30s %-11s%10s  %-24s%6s\n", "declared path", "against", "rms rel", "expected",
            "R");
    for (size_t i = 0; i < report->collect->paths; i++)
        for
            MHCS_EACH_REFERENCE(r)
    if (report->collect->path[i]->against[r].rows > 0)
        print_expected(out, report->collect->path[i], r);
    mhcs_text_wrap(out, "  ",
                   "R is rms rel over the top of the expected range. Expectations assume "
                   "Gaussian-like data and activations that are bf16 values.");
    fputc('\n', out);
}
