/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report diff: where the errors of run B differ from those of run A. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/changes.h"
#include "tools/report/report.h"
#include "tools/report/term.h"
#include "tools/report/text.h"

struct diff_options {
    bool force, all;
};

static const struct argp_option option_list[] = {
    {"force", 'f', NULL, 0, "compare also unlike models and shapes", 0},
    {"all", 'a', NULL, 0, "list sites without a change too, and all sizes of call", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct diff_options *options = state->input;

    switch (key) {
    case 'f':
        options->force = true;
        return 0;
    case 'a':
        options->all = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct run {
    char letter;
    const char *path;
    struct mhcs_report report;
};

static void print_run(const struct run *run)
{
    const struct mhcs_report *report = &run->report;
    const struct mhcs_group *decisive = report->conclusion.decisive;
    const char label[] = {run->letter, ' ', ' ', '\0'};
    char ratio[MHCS_NUMBER_BYTES], *text;

    if (asprintf(&text, "%s: %zu trace%s, %" PRIu64 " rows, %s (R %s)", run->path,
                 report->files.count, report->files.count == 1 ? "" : "s", report->collect->rows,
                 mhcs_status_name(report->conclusion.status),
                 mhcs_text_ratio(decisive->judgement.ratio, ratio)) < 0)
        return;
    mhcs_text_clean(text);
    mhcs_text_wrap(stdout, label, text);
    free(text);
}

static void print_values(FILE *out, const char *label, const struct run *run,
                         const struct mhcs_distinct *distinct)
{
    char indent[40];

    for (size_t i = 0; i < distinct->count; i++) {
        snprintf(indent, sizeof(indent), "  %-13s%c  ", i ? "" : label, i ? ' ' : run->letter);
        mhcs_text_wrap(out, indent, distinct->value[i].text);
    }
    if (distinct->count == 0)
        fprintf(out, "  %-13s%c  -\n", label, run->letter);
}

static void print_paths(const char *label, const struct run *run)
{
    for (size_t i = 0; i < run->report.collect->paths; i++)
        printf("  %-13s%c  %s\n", i ? "" : label, i ? ' ' : run->letter,
               run->report.collect->path[i]->text);
}

static bool same_paths(const struct mhcs_collect *a, const struct mhcs_collect *b)
{
    bool same = a->paths == b->paths;

    for (size_t i = 0; same && i < a->paths; i++)
        same = !strcmp(a->path[i]->text, b->path[i]->text);
    return same;
}

static void print_differences(const struct run runs[2])
{
    printf("\n%sWhat differs%s\n", mhcs_colour(MHCS_BOLD), mhcs_colour(MHCS_PLAIN));
    for (int i = 0; i < MHCS_FACTS_COUNT; i++) {
        const struct mhcs_distinct *a = &runs[0].report.facts.fact[i];
        const struct mhcs_distinct *b = &runs[1].report.facts.fact[i];

        if (mhcs_distinct_equal(a, b))
            continue;
        print_values(stdout, mhcs_fact_label[i], &runs[0], a);
        print_values(stdout, "", &runs[1], b);
    }
    if (!same_paths(runs[0].report.collect, runs[1].report.collect)) {
        print_paths("declared", &runs[0]);
        print_paths("", &runs[1]);
    } else {
        fputs("  (the declared precision paths are the same)\n", stdout);
    }
}

/* False: unlike, and the reason has been said. Traces without facts are taken as they are. */
static bool are_alike(const struct run runs[2])
{
    const struct mhcs_distinct *a = &runs[0].report.facts.likeness;
    const struct mhcs_distinct *b = &runs[1].report.facts.likeness;

    if (a->count == 0 || b->count == 0 || mhcs_distinct_equal(a, b))
        return true;
    fputs("mhcshadow-report: the runs are unlike, so that their errors say nothing about each "
          "other\n(--force compares them all the same):\n",
          stderr);
    for (int r = 0; r < 2; r++)
        print_values(stderr, "", &runs[r], r ? b : a);
    return false;
}

static enum mhcs_exit print_changes(const struct run runs[2], bool all)
{
    struct mhcs_comparison comparison;
    enum mhcs_exit code;

    if (mhcs_compare(&runs[0].report.conclusion, &runs[1].report.conclusion, &comparison)) {
        fputs("mhcshadow-report: out of memory\n", stderr);
        return MHCS_EXIT_DAMAGED;
    }
    code = mhcs_changes_print(&comparison, all);
    mhcs_comparison_free(&comparison);
    if (code == MHCS_EXIT_FINE && runs[0].report.damaged + runs[1].report.damaged > 0)
        code = MHCS_EXIT_DAMAGED;
    return code;
}

static enum mhcs_exit diff_runs(const struct run runs[2], const struct diff_options *options)
{
    if (!options->force && !are_alike(runs))
        return MHCS_EXIT_USAGE;
    for (int r = 0; r < 2; r++)
        print_run(&runs[r]);
    print_differences(runs);
    for (int r = 0; r < 2; r++)
        mhcs_report_troubles(stdout, &runs[r].report);
    return print_changes(runs, options->all);
}

static enum mhcs_exit load_run(struct run *run, const struct mhcs_options *options, char **path)
{
    struct mhcs_options one = *options;

    run->path = *path;
    one.paths = path;
    one.path_count = 1;
    return mhcs_report_load(&run->report, &one);
}

static enum mhcs_exit run_verb(int argc, char **argv)
{
    struct diff_options own = {0};
    struct mhcs_options options;
    struct run runs[2] = {{.letter = 'A'}, {.letter = 'B'}};
    enum mhcs_exit code = MHCS_EXIT_FINE;

    mhcs_options_parse(&mhcs_verb_diff, argc, argv, &options, &own);
    if (options.path_count != 2) {
        fputs("mhcshadow-report diff: name two runs, each a trace or a directory of traces; see "
              "--help\n",
              stderr);
        return MHCS_EXIT_USAGE;
    }
    for (size_t r = 0; r < 2 && code == MHCS_EXIT_FINE; r++)
        code = load_run(&runs[r], &options, &options.paths[r]);
    if (code == MHCS_EXIT_FINE)
        code = diff_runs(runs, &own);
    for (int r = 0; r < 2; r++)
        mhcs_report_free(&runs[r].report);
    return code;
}

const struct mhcs_verb mhcs_verb_diff = {
    .about = "say where the errors of one run differ from those of another",
    .arguments = "A B",
    .notes = "Tells which sites and phases have larger or smaller errors in run B than in run A, "
             "by how much, and how likely chance does that. A and B are each a TRACE. A change "
             "counts if it is larger than 1.1 times and significant at 0.01 over all groups "
             "(Holm). Runs of unlike models or shapes are refused.",
    .exits = "Exit status: 0 nothing grew, 1 errors grew in B, 2 usage, unreadable path or unlike "
             "runs, 3 damaged trace or too little data to compare.",
    .example = "/var/tmp/mhc-before /var/tmp/mhc-after",
    .options = option_list,
    .parse = parse,
    .run = run_verb,
};
