/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report layers: one line per site and phase. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report.h"
#include "tools/report/text.h"

/* Columns that lines can be sorted by: X(name, expression over `line`, larger first). */
#define SORT_KEYS(X)                                                                               \
    X(site, 0)                                                                                     \
    X(rows, (double)line->rows)                                                                    \
    X(R, line->group->judgement.ratio)                                                             \
    X(rel, line->rel)                                                                              \
    X(p99, line->p99)                                                                              \
    X(comb, line->comb)                                                                            \
    X(y, line->y)                                                                                  \
    X(verdict, (double)line->group->judgement.status)

/* What is printed of a site in a phase. */
struct output_line {
    const struct mhcs_site_line *site;
    enum mhcs_phase phase;
    const struct mhcs_group *group; /* the worst of it */
    uint64_t rows;
    double rel, p99, comb, y;
    double key;   /* of the sort */
    size_t place; /* in order of sites */
};

struct layers_options {
    struct mhcs_options common;
    const char *sort;
    unsigned long top; /* 0: all */
};

static const struct argp_option option_list[] = {
    {"sort", 'o', "COLUMN", 0,
     "order by site (default), rows, R, rel, p99, comb, y or verdict; all but site largest first",
     0},
    {"top", 'n', "N", 0, "only the first N lines", 0},
    {0},
};

static bool is_sort_key(const char *name)
{
    bool known = false;

#define IS_KEY(key, value) known |= !strcmp(name, #key);
    SORT_KEYS(IS_KEY)
#undef IS_KEY
    return known;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct layers_options *options = state->input;
    char *end;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        return 0;
    case 'o':
        if (!is_sort_key(argument))
            argp_error(state, "--sort %s: not a column of this table", argument);
        options->sort = argument;
        return 0;
    case 'n':
        options->top = strtoul(argument, &end, 10);
        if (*end || *argument < '0' || *argument > '9' || options->top == 0)
            argp_error(state, "--top %s: not a positive number", argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&mhcs_common_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = option_list,
    .parser = parse,
    .args_doc = MHCS_ARGS_DOC,
    .doc =
        "One line per site (weight matrix) and phase, in order of layers.\v"
        "Columns: rows compared; R, observed rms rel over expected, the worse of both references; "
        "rms and 99th percentile of rel; rms relative errors of comb after Sinkhorn and of y. rel, "
        "p99, comb and y are against the checkpoint where the trace has it, else against the "
        "operands.\n\n" MHCS_HELP_TRACES "\n\n" MHCS_HELP_EXIT,
    .children = children,
};

static double rms_of(const struct mhcs_moments *moments)
{
    return sqrt(mhcs_exact_value(&moments->squares) / (double)moments->count);
}

static double sort_value(const struct output_line *line, const char *sort)
{
#define VALUE(key, value)                                                                          \
    if (!strcmp(sort, #key))                                                                       \
        return value;
    SORT_KEYS(VALUE)
#undef VALUE
    return 0;
}

static void fill(struct output_line *line, const struct mhcs_report *report,
                 const struct mhcs_site_line *site, enum mhcs_phase phase, enum mhcs_path reference)
{
    const struct mhcs_line *source = site->line[phase];

    line->site = site;
    line->phase = phase;
    line->group = mhcs_conclusion_find(&report->conclusion, site, phase);
    line->rows = source->rows;
    line->rel = mhcs_stat_rms(&source->rel[reference]);
    line->p99 = mhcs_stat_percentile(&source->rel[reference], 9900);
    line->comb = rms_of(&source->comb_err[reference]);
    line->y = rms_of(&source->y_rel[reference]);
}

/* Larger first, NaN last, equal ones in order of sites. */
static int compare_lines(const void *left, const void *right)
{
    const struct output_line *a = left, *b = right;
    const double key_a = isnan(a->key) ? -INFINITY : a->key;
    const double key_b = isnan(b->key) ? -INFINITY : b->key;

    if (key_a != key_b)
        return key_a > key_b ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

static void print_line(FILE *out, const struct output_line *line)
{
    const struct mhcs_judgement *judgement = line->group ? &line->group->judgement : NULL;
    char ratio[MHCS_NUMBER_BYTES], rel[MHCS_NUMBER_BYTES], p99[MHCS_NUMBER_BYTES];
    char comb[MHCS_NUMBER_BYTES], y[MHCS_NUMBER_BYTES];
    const enum mhcs_status status = judgement ? judgement->status : MHCS_INSUFFICIENT;
    const enum mhcs_colour colour = status == MHCS_FAIL   ? MHCS_RED
                                    : status == MHCS_WARN ? MHCS_YELLOW
                                                          : MHCS_PLAIN;

    fprintf(out, "%-23.23s %-7s%9" PRIu64 "%7s%10s%10s%10s%10s  %s%s%s\n", line->site->name,
            mhcs_phase_name(line->phase), line->rows,
            mhcs_text_ratio(judgement ? judgement->ratio : NAN, ratio),
            mhcs_text_number(line->rel, rel), mhcs_text_number(line->p99, p99),
            mhcs_text_number(line->comb, comb), mhcs_text_number(line->y, y), mhcs_colour(colour),
            mhcs_status_name(status), mhcs_colour(MHCS_PLAIN));
}

static int print_lines(FILE *out, const struct mhcs_report *report,
                       const struct layers_options *options)
{
    const struct mhcs_collect *collect = report->collect;
    const enum mhcs_path reference =
        collect->reference_rows[MHCS_CHECKPOINT] > 0 ? MHCS_CHECKPOINT : MHCS_OPERANDS;
    struct output_line *lines = calloc(collect->sites * MHCS_PHASES + 1, sizeof(*lines));
    size_t count = 0;

    if (!lines)
        return -1;
    for (size_t i = 0; i < collect->sites; i++)
        for (int p = 0; p < MHCS_PHASES; p++) {
            if (!collect->site[i]->line[p])
                continue;
            fill(&lines[count], report, collect->site[i], (enum mhcs_phase)p, reference);
            lines[count].key = sort_value(&lines[count], options->sort);
            lines[count].place = count;
            count++;
        }
    qsort(lines, count, sizeof(*lines), compare_lines);
    fprintf(out, "rel, p99, comb and y against the %s\n",
            reference == MHCS_CHECKPOINT ? "checkpoint" : "operands");
    fprintf(out, "%s%-23s %-7s%9s%7s%10s%10s%10s%10s  %s%s\n", mhcs_colour(MHCS_BOLD), "site",
            "phase", "rows", "R", "rel", "p99", "comb", "y", "verdict", mhcs_colour(MHCS_PLAIN));
    for (size_t i = 0; i < count && (options->top == 0 || i < options->top); i++)
        print_line(out, &lines[i]);
    if (options->top != 0 && options->top < count)
        fprintf(out, "(%zu more)\n", count - (size_t)options->top);
    fputc('\n', out);
    free(lines);
    return 0;
}

int mhcs_report_layers(int argc, char **argv)
{
    struct layers_options options = {.sort = "site"};
    struct mhcs_report report;
    enum mhcs_exit code;

    argp_parse(&argp, argc, argv, 0, NULL, &options);
    code = mhcs_report_load(&report, &options.common);
    if (code == MHCS_EXIT_FINE) {
        if (print_lines(stdout, &report, &options)) {
            fputs("mhcshadow-report: out of memory\n", stderr);
            code = MHCS_EXIT_DAMAGED;
        } else {
            mhcs_report_troubles(stdout, &report);
            mhcs_report_verdict(stdout, &report);
            code = mhcs_report_exit(&report);
        }
    }
    mhcs_report_free(&report);
    return (int)code;
}
