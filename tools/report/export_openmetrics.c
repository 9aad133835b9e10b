/* SPDX-License-Identifier: Apache-2.0 */
/* The report as OpenMetrics 1.0 text, for Prometheus' textfile collector or a scrape.
 *
 * Every family starts with mhcshadow_report_; the library's own file (MHCSHADOW_METRICS) has other
 * names. Labels are few: site, phase, against. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/counters.h"
#include "tools/report/export.h"

#define PREFIX "mhcshadow_report_"

static void family(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# TYPE " PREFIX "%s %s\n# HELP " PREFIX "%s %s\n", name, type, name, help);
}

/* A label's value: backslash, quote and newline escaped. */
static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\n')
            fputs("\\n", out);
        else
            fprintf(out, "%s%c", *text == '\\' || *text == '"' ? "\\" : "", *text);
}

static void put_value(FILE *out, double value)
{
    fprintf(out, " %.17g\n", value);
}

/* ---- the whole ---- */

static void put_status(FILE *out, const struct mhcs_conclusion *conclusion)
{
    family(out, "status", "stateset", "Verdict on all traces together.");
    for (int s = MHCS_INSUFFICIENT; s <= MHCS_FAIL; s++)
        fprintf(out, PREFIX "status{" PREFIX "status=\"%s\"} %d\n",
                mhcs_status_name((enum mhcs_status)s), conclusion->status == (enum mhcs_status)s);
    if (isnan(conclusion->ratio))
        return;
    family(out, "worst_ratio", "gauge", "R of the group that decides the verdict.");
    fputs(PREFIX "worst_ratio", out);
    put_value(out, conclusion->ratio);
}

static void put_traces(FILE *out, const struct mhcs_report *report)
{
    family(out, "traces", "gauge",
           "Traces read, and those of them that are damaged or unreadable.");
    fprintf(out, PREFIX "traces{state=\"all\"} %zu\n" PREFIX "traces{state=\"damaged\"} %zu\n",
            report->files.count, report->damaged);
    family(out, "simulated", "gauge", "1 if a GPU was simulated.");
    fprintf(out, PREFIX "simulated %d\n", report->facts.simulated);
    if (report->collect->rows == 0)
        return;
    family(out, "last_sample_timestamp_seconds", "gauge", "Time of the newest row.");
    fprintf(out, PREFIX "last_sample_timestamp_seconds %" PRId64 ".%09" PRId64 "\n",
            report->collect->last / 1000000000, report->collect->last % 1000000000);
}

static void put_calls(FILE *out, const struct mhcs_facts *facts)
{
    if (!facts->counted)
        return;
    family(out, "calls", "counter", "What the library counted in all processes.");
    for (int i = 0; i < MHCS_COUNTERS; i++)
        fprintf(out, PREFIX "calls_total{state=\"%s\"} %" PRIu64 "\n", mhcs_counter_key[i],
                facts->counter[i]);
}

static void put_rows(FILE *out, const struct mhcs_collect *collect)
{
    family(out, "rows", "counter", "Token rows compared.");
    for (int p = 0; p < MHCS_PHASES; p++)
        fprintf(out, PREFIX "rows_total{phase=\"%s\"} %" PRIu64 "\n",
                mhcs_phase_name((enum mhcs_phase)p), collect->phase_rows[p]);
    family(out, "nonfinite_rows", "counter", "Rows with NaN or Inf in production alone.");
    fprintf(out, PREFIX "nonfinite_rows_total %" PRIu64 "\n", collect->nonfinite_alone);
}

/* ---- distributions ---- */

/* Buckets of an octave each. The edge of `le` belongs to the bucket, that of our octaves to the
 * next one: the edge written is the largest float below. */
static void put_histogram(FILE *out, const char *name, const char *against,
                          const struct mhcs_hist *hist)
{
    uint64_t below = hist->zeros;

    for (uint32_t i = 0; i < MHCS_HIST_BUCKETS; i += 1u << MHCS_HIST_STEP_BITS) {
        const int exponent = MHCS_HIST_MIN_EXPONENT + (int)(i >> MHCS_HIST_STEP_BITS) + 1;
        uint64_t here = 0;

        for (uint32_t step = 0; step < 1u << MHCS_HIST_STEP_BITS; step++)
            here += hist->bucket[i + step];
        below += here;
        if (exponent >= -32 && exponent <= 4)
            fprintf(out, PREFIX "%s_bucket{against=\"%s\",le=\"%.9g\"} %" PRIu64 "\n", name,
                    against, (double)nextafterf(ldexpf(1, exponent), 0), below);
    }
    fprintf(out, PREFIX "%s_bucket{against=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", name, against,
            hist->count);
}

static void put_distributions(FILE *out, const struct mhcs_collect *collect)
{
    static const struct {
        const char *name, *help;
        size_t metric;
    } shown[] = {
        {"relative_error", "rel of the raw coefficients of a row.", MHCS_METRIC(rel)},
        {"comb_error", "Relative error of comb after Sinkhorn.", MHCS_METRIC(comb_err)},
        {"y_error", "Relative error of y.", MHCS_METRIC(y_rel)},
    };

    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        family(out, shown[i].name, "histogram", shown[i].help);
        MHCS_FOR_EACH_REFERENCE(r)
            if (collect->reference_rows[r] > 0)
                put_histogram(out, shown[i].name, mhcs_reference_name(r),
                              &collect->metric[r][shown[i].metric].hist);
    }
}

/* ---- sites ---- */

static void put_labels(FILE *out, const char *name, const struct mhcs_group *group)
{
    fprintf(out, PREFIX "%s{site=\"", name);
    put_escaped(out, group->site->name);
    fprintf(out, "\",phase=\"%s\",against=\"%s\"}", mhcs_phase_name((enum mhcs_phase)group->phase),
            mhcs_reference_name(group->reference));
}

static double ratio_of(const struct mhcs_group *group)
{
    return group->judgement.ratio;
}

static double rms_of(const struct mhcs_group *group)
{
    return mhcs_evidence_rms(&group->evidence);
}

static double rows_of(const struct mhcs_group *group)
{
    return (double)group->evidence.rows;
}

static double status_of(const struct mhcs_group *group)
{
    return group->judgement.status;
}

static void put_sites(FILE *out, const struct mhcs_conclusion *conclusion)
{
    static const struct {
        const char *name, *help;
        double (*value)(const struct mhcs_group *group);
    } shown[] = {
        {"site_ratio", "R: rms rel over the expected one.", ratio_of},
        {"site_relative_error_rms", "rms rel.", rms_of},
        {"site_rows", "Rows with a defined rel.", rows_of},
        {"site_status", "0 INSUFFICIENT, 1 PASS, 2 WARN, 3 FAIL.", status_of},
    };

    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        family(out, shown[i].name, "gauge", shown[i].help);
        for (size_t g = 0; g < conclusion->groups; g++) {
            const struct mhcs_group *group = &conclusion->group[g];

            if (!group->site || group->bucket >= 0 || isnan(shown[i].value(group)) ||
                group->evidence.rows + group->evidence.nonfinite == 0)
                continue;
            put_labels(out, shown[i].name, group);
            put_value(out, shown[i].value(group));
        }
    }
}

int mhcs_export_openmetrics(FILE *out, const struct mhcs_report *report)
{
    put_status(out, &report->conclusion);
    put_traces(out, report);
    put_calls(out, &report->facts);
    put_rows(out, report->collect);
    put_distributions(out, report->collect);
    put_sites(out, &report->conclusion);
    fputs("# EOF\n", out);
    return 0;
}
