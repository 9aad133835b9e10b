/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report summary */
#include <stdlib.h>

#include "tools/report/report.h"
#include "tools/report/term.h"
#include "tools/report/text.h"

static enum mhcs_colour status_colour(enum mhcs_status status)
{
    return status == MHCS_PASS ? MHCS_GREEN : status == MHCS_FAIL ? MHCS_RED : MHCS_YELLOW;
}

void mhcs_report_thresholds(FILE *out, const struct mhcs_report *report)
{
    const struct mhcs_conclusion *conclusion = &report->conclusion;

    fprintf(
        out,
        "PASS up to R %.1f, WARN up to %.1f, FAIL above, or NaN/Inf in production alone, or a "
        "coarser kind of rounding than declared; INSUFFICIENT under %d rows. Excesses count "
        "if significant at %.2g over all %zu groups (Holm). Sites and phases judged %zu, with "
        "too little data %zu. Rows with a coefficient off by more than the output's rounding and "
        "%.0f times the other noise: WARN, FAIL from %d of them on. Partial sums in a narrow "
        "type without leave: WARN.",
        MHCS_PASS_RATIO, MHCS_WARN_RATIO, MHCS_MIN_ROWS, MHCS_ALPHA, conclusion->groups,
        conclusion->tested, conclusion->insufficient, MHCS_OFF_RATIO, MHCS_WRONG_ROWS);
}

void mhcs_report_sentence(FILE *out, const struct mhcs_report *report)
{
    fputs(report->conclusion.sentence, out);
    for (int p = 0; p < MHCS_PHASES; p++)
        if (report->collect->phase_rows[p] == 0)
            fprintf(out, " Nothing is known about %s: no row of it was seen.",
                    mhcs_phase_name((enum mhcs_phase)p));
    if (mhcs_facts_weights_differ(&report->facts))
        fputs(
            " But not all of the server's weights are the checkpoint's: `mhcshadow-report summary` "
            "names them.",
            out);
    if (report->facts.neutral_model)
        fputs(" The errors after the maps are those of a neutral layer (scale 1, base 0), not of "
              "this model's own.",
              out);
    if (report->damaged > 0)
        fprintf(out, " %zu of %zu traces are damaged or unreadable; this is from what is left.",
                report->damaged, report->files.count);
}

static void wrap(FILE *out, const char *label, void (*write)(FILE *, const struct mhcs_report *),
                 const struct mhcs_report *report)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    if (!stream)
        return;
    write(stream, report);
    if (!fclose(stream))
        mhcs_text_wrap(out, label, text);
    free(text);
}

void mhcs_report_verdict(FILE *out, const struct mhcs_report *report)
{
    const enum mhcs_status status = report->conclusion.status;

    fprintf(out, "%sVerdict%s\n", mhcs_colour(MHCS_BOLD), mhcs_colour(MHCS_PLAIN));
    wrap(out, "  thresholds: ", mhcs_report_thresholds, report);
    fprintf(out, "\n  %s%s%s\n", mhcs_colour(status_colour(status)), mhcs_status_name(status),
            mhcs_colour(MHCS_PLAIN));
    wrap(out, "  ", mhcs_report_sentence, report);
}

enum mhcs_exit mhcs_report_end(FILE *out, const struct mhcs_report *report)
{
    mhcs_report_troubles(out, report);
    mhcs_report_verdict(out, report);
    return mhcs_report_exit(report);
}

static enum mhcs_exit print(const struct mhcs_report *report)
{
    if (report->collect->rows == 0)
        return mhcs_report_nothing(stdout, report);
    mhcs_report_run(stdout, report);
    mhcs_report_coverage(stdout, report);
    mhcs_report_weights(stdout, report);
    mhcs_report_errors(stdout, report);
    mhcs_report_noise(stdout, report);
    return mhcs_report_end(stdout, report);
}

static const struct argp_option option_list[] = {
    {"follow", 'f', NULL, 0,
     "print the summary anew whenever the traces have grown, until interrupted", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    bool *follow = state->input;

    if (key != 'f')
        return ARGP_ERR_UNKNOWN;
    *follow = true;
    return 0;
}

static enum mhcs_exit run(int argc, char **argv)
{
    struct mhcs_options options;
    struct mhcs_report report;
    bool follow = false;
    enum mhcs_exit code;

    mhcs_options_parse(&mhcs_verb_summary, argc, argv, &options, &follow);
    if (follow)
        return mhcs_follow(&options, print);
    code = mhcs_report_load(&report, &options);
    if (code == MHCS_EXIT_FINE)
        code = print(&report);
    mhcs_report_free(&report);
    return code;
}

const struct mhcs_verb mhcs_verb_summary = {
    .about = "what was seen, how large the errors are, a verdict",
    .notes = "With --follow files that are being written are read on, and new ones in a directory "
             "are read too. Ctrl-C (SIGINT, SIGTERM) ends it with the last summary and its exit "
             "status.",
    .example = "--follow /var/tmp/mhc",
    .options = option_list,
    .parse = parse,
    .run = run,
};
