/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report check: every site and phase against the limits of a file of rules. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report.h"
#include "tools/report/rules.h"
#include "tools/report/term.h"

struct check_options {
    const char *rules;
    double max_ratio; /* 0: not given */
};

static const struct argp_option option_list[] = {
    {"rules", 'r', "FILE", 0, "the limits; mhcshadow-report-check(1) has the grammar", 0},
    {"max-ratio", 'm', "R", 0, "one limit for all sites and phases: the rule \"* * R <= ...\"", 0},
    {0},
};

static double read_ratio(const char *text, struct argp_state *state)
{
    char *end;
    const double ratio = strtod(text, &end);

    if (end == text || *end || !isfinite(ratio) || ratio <= 0)
        argp_error(state, "--max-ratio %s: not a positive number", text);
    return ratio;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct check_options *options = state->input;

    switch (key) {
    case 'r':
        options->rules = argument;
        return 0;
    case 'm':
        options->max_ratio = read_ratio(argument, state);
        return 0;
    case ARGP_KEY_END:
        if (!options->rules == !(options->max_ratio > 0))
            argp_error(state, "give either --rules or --max-ratio");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- one site and phase ---- */

/* Graver ones later. */
enum outcome { SKIPPED, WITHIN, THIN, NO_RULE, OVER };

static const struct {
    const char *name;
    enum mhcs_colour colour;
} outcomes[] = {
    [SKIPPED] = {"skipped", MHCS_PLAIN}, [WITHIN] = {"within", MHCS_GREEN},
    [THIN] = {"THIN", MHCS_YELLOW},      [NO_RULE] = {"NO RULE", MHCS_RED},
    [OVER] = {"OVER", MHCS_RED},
};

struct checking {
    const struct mhcs_report *report;
    const char *rules_name;
    struct mhcs_rules *rules;
    size_t count[OVER + 1];
};

static void print_finding(const struct checking *checking, enum outcome outcome,
                          const struct mhcs_site_line *site, enum mhcs_phase phase,
                          const char *what)
{
    printf("  %s%-8s%s%s %s: %s\n", mhcs_colour(outcomes[outcome].colour), outcomes[outcome].name,
           mhcs_colour(MHCS_PLAIN), site->name, mhcs_phase_name(phase), what);
}

static const char *reference_prefix(enum mhcs_path reference)
{
    static const char *const prefixes[MHCS_PATHS] = {
        [MHCS_PRODUCTION] = "", [MHCS_OPERANDS] = "operands.", [MHCS_CHECKPOINT] = "checkpoint."};

    return prefixes[reference];
}

static enum outcome hold(const struct checking *checking, const struct mhcs_site_line *site,
                         enum mhcs_phase phase, const struct mhcs_rule *rule,
                         const struct mhcs_limit *limit)
{
    const double value = mhcs_figure(checking->report->collect, &checking->report->conclusion, site,
                                     phase, limit->figure, limit->reference);
    const bool least = limit->figure == MHCS_FIGURE_ROWS;
    const enum outcome outcome = isnan(value)                         ? THIN
                                 : least && value < limit->bound      ? THIN
                                 : !least && !(value <= limit->bound) ? OVER
                                                                      : WITHIN;
    char name[48], where[300] = "", text[512];

    snprintf(name, sizeof(name), "%s%s", reference_prefix(limit->reference),
             mhcs_figure_name(limit->figure));
    if (rule->line)
        snprintf(where, sizeof(where), " (%.250s:%u)", checking->rules_name, rule->line);
    if (isnan(value))
        snprintf(text, sizeof(text), "%s has no value here%s", name, where);
    else
        snprintf(text, sizeof(text), "%s %.4g %s %.4g%s", name, value, least ? "<" : ">",
                 limit->bound, where);
    if (outcome != WITHIN)
        print_finding(checking, outcome, site, phase, text);
    return outcome;
}

static enum outcome check_line(const struct checking *checking, const struct mhcs_site_line *site,
                               enum mhcs_phase phase)
{
    struct mhcs_rule *rule = mhcs_rules_find(checking->rules, site->name, phase);
    enum outcome worst = WITHIN;

    if (!rule) {
        print_finding(checking, NO_RULE, site, phase, "no rule matches it");
        return NO_RULE;
    }
    rule->matched++;
    if (rule->skip)
        return SKIPPED;
    for (size_t i = 0; i < rule->limits; i++) {
        const enum outcome outcome = hold(checking, site, phase, rule, &rule->limit[i]);

        worst = outcome > worst ? outcome : worst;
    }
    return worst;
}

/* ---- all of them ---- */

static void print_unused_rules(const struct checking *checking)
{
    for (size_t i = 0; i < checking->rules->count; i++) {
        const struct mhcs_rule *rule = &checking->rules->rule[i];

        if (rule->matched == 0)
            printf("  note    %s:%u: the rule for %s %s decided nothing: no such site and phase "
                   "was seen, or an\n          earlier rule has it\n",
                   checking->rules_name, rule->line, rule->site,
                   rule->phase < 0 ? "*" : mhcs_phase_name((enum mhcs_phase)rule->phase));
    }
}

/* What no rule can be held against. */
static bool is_thin_elsewhere(const struct mhcs_report *report)
{
    if (report->conclusion.reference_unsound)
        printf("  %-8sthe fp32 reference is off from fp64 by more than %.0e rms: it cannot judge\n",
               "THIN", MHCS_CHECK_MAX);
    if (report->collect->rows_of_other_sites > 0)
        printf("  %-8s%" PRIu64 " rows of sites beyond the first %d are not told apart\n", "THIN",
               report->collect->rows_of_other_sites, MHCS_COLLECT_SITES_MAX);
    return report->conclusion.reference_unsound || report->collect->rows_of_other_sites > 0;
}

static enum mhcs_exit conclude(const struct checking *checking, bool thin)
{
    const size_t *count = checking->count;
    const size_t held = count[WITHIN] + count[THIN] + count[OVER];
    enum mhcs_exit code = MHCS_EXIT_FINE;
    const char *word = "PASSED";

    if (count[OVER] > 0) {
        code = MHCS_EXIT_OVER;
        word = "OVER";
    } else if (count[NO_RULE] > 0) {
        code = MHCS_EXIT_USAGE;
        word = "NO RULE";
    } else if (thin || count[THIN] > 0 || held == 0) {
        code = MHCS_EXIT_DAMAGED;
        word = "INSUFFICIENT";
    } else if (checking->report->damaged > 0) {
        code = MHCS_EXIT_DAMAGED;
        word = "DAMAGED";
    }
    printf("%s%s%s: of %zu sites and phases %zu within their limits, %zu over, %zu with too little "
           "data,\n%zu skipped, %zu without a rule\n",
           mhcs_colour(code ? MHCS_RED : MHCS_GREEN), word, mhcs_colour(MHCS_PLAIN),
           held + count[SKIPPED] + count[NO_RULE], count[WITHIN], count[OVER], count[THIN],
           count[SKIPPED], count[NO_RULE]);
    if (count[NO_RULE] > 0)
        printf("Add a rule for what is named above, or as the last line: * * R <= %g\n",
               MHCS_WARN_RATIO);
    return code;
}

static enum mhcs_exit check_report(const struct mhcs_report *report, const char *rules_name,
                                   struct mhcs_rules *rules)
{
    const struct mhcs_collect *collect = report->collect;
    struct checking checking = {.report = report, .rules_name = rules_name, .rules = rules};
    bool thin;

    mhcs_report_troubles(stdout, report);
    for (size_t i = 0; i < collect->sites; i++)
        for (int p = 0; p < MHCS_PHASES; p++)
            if (collect->site[i]->line[p])
                checking.count[check_line(&checking, collect->site[i], (enum mhcs_phase)p)]++;
    thin = is_thin_elsewhere(report);
    print_unused_rules(&checking);
    return conclude(&checking, thin);
}

/* MHCS_EXIT_FINE, or the reason has been said. */
static enum mhcs_exit get_rules(struct mhcs_rules *ret_rules, const struct check_options *options)
{
    FILE *file = NULL;
    int ret;

    if (!options->rules) {
        ret = mhcs_rules_of_ratio(ret_rules, options->max_ratio);
    } else {
        file = fopen(options->rules, "re");
        ret = file ? mhcs_rules_read(ret_rules, file, options->rules, stderr) : -errno;
    }
    if (file)
        fclose(file);
    if (ret && ret != -EINVAL)
        fprintf(stderr, "mhcshadow-report: %s: %s\n", options->rules ? options->rules : "check",
                strerror(-ret));
    return ret ? MHCS_EXIT_USAGE : MHCS_EXIT_FINE;
}

static enum mhcs_exit run(int argc, char **argv)
{
    struct check_options own = {0};
    struct mhcs_options options;
    struct mhcs_rules rules = {0};
    struct mhcs_report report = {0};
    enum mhcs_exit code;

    mhcs_options_parse(&mhcs_verb_check, argc, argv, &options, &own);
    code = get_rules(&rules, &own);
    if (code == MHCS_EXIT_FINE) {
        code = mhcs_report_load(&report, &options);
        if (code == MHCS_EXIT_FINE)
            code = check_report(&report, own.rules, &rules);
        mhcs_report_free(&report);
    }
    mhcs_rules_free(&rules);
    return code;
}

const struct mhcs_verb mhcs_verb_check = {
    .about = "hold every site and phase against limits, for a gate in CI",
    .notes = "The first rule that matches a site and phase decides; one that none matches is an "
             "error. A file of rules:\n\n"
             "  # SITE           PHASE    LIMITS\n"
             "  hc_head_fn       *        skip\n"
             "  layers.0.*       decode   R <= 2, rows >= 200\n"
             "  *                *        R <= 1.5, p99 <= 8e-3",
    .exits = "Exit status: 0 all within their limits, 1 something over, 2 usage, a bad rule, or a "
             "site and phase without a rule, 3 damaged trace or too little data.",
    .example = "--max-ratio=4 /var/tmp/mhc",
    .options = option_list,
    .parse = parse,
    .run = run,
};
