/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report layers: one line per site and phase. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report.h"
#include "tools/report/table.h"
#include "tools/report/term.h"
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

    switch (key) {
    case 'o':
        if (!is_sort_key(argument))
            argp_error(state, "--sort %s: not a column of this table", argument);
        options->sort = argument;
        return 0;
    case 'n':
        options->top = mhcs_options_number(state, "top", argument, 1, ULONG_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
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
    line->comb = mhcs_moments_rms(&source->comb_err[reference]);
    line->y = mhcs_moments_rms(&source->y_rel[reference]);
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

#define BAR_CELLS 20

enum { SITE, PHASE, ROWS, RATIO, REL, P99, COMB, Y, VERDICT, BAR, COLUMNS };

static void print_line(FILE *out, const struct mhcs_table *table, const struct output_line *line,
                       double largest)
{
    const struct mhcs_judgement *judgement = line->group ? &line->group->judgement : NULL;
    const enum mhcs_status status = judgement ? judgement->status : MHCS_INSUFFICIENT;
    const enum mhcs_colour colour = status == MHCS_FAIL   ? MHCS_RED
                                    : status == MHCS_WARN ? MHCS_YELLOW
                                                          : MHCS_PLAIN;
    char number[COLUMNS][MHCS_NUMBER_BYTES], verdict[48], bar[MHCS_BAR_BYTES + 2] = "  ";
    const char *const text[COLUMNS] = {
        [SITE] = line->site->name,
        [PHASE] = mhcs_phase_name(line->phase),
        [ROWS] = number[ROWS],
        [RATIO] = mhcs_text_ratio(judgement ? judgement->ratio : NAN, number[RATIO]),
        [REL] = mhcs_text_number(line->rel, number[REL]),
        [P99] = mhcs_text_number(line->p99, number[P99]),
        [COMB] = mhcs_text_number(line->comb, number[COMB]),
        [Y] = mhcs_text_number(line->y, number[Y]),
        [VERDICT] = verdict,
        [BAR] = bar,
    };

    snprintf(number[ROWS], sizeof(number[ROWS]), "%" PRIu64, line->rows);
    snprintf(verdict, sizeof(verdict), "  %s%s%s", mhcs_colour(colour), mhcs_status_name(status),
             mhcs_colour(MHCS_PLAIN));
    mhcs_term_bar(line->rel / largest, BAR_CELLS, bar + 2);
    mhcs_table_line(out, table, text);
}

static void print_table(FILE *out, const struct output_line *lines, size_t count)
{
    struct mhcs_table_column column[COLUMNS] = {
        [SITE] = {"site", -22, 0},
        [PHASE] = {"phase", -8, 0},
        [ROWS] = {"rows", 9, 1},
        [RATIO] = {"R", 7, 0},
        [REL] = {"rel", 10, 0},
        [P99] = {"p99", 10, 4},
        [COMB] = {"comb", 10, 2},
        [Y] = {"y", 10, 3},
        [VERDICT] = {"  verdict", -14, 0},
        [BAR] = {"  rel", -2 - BAR_CELLS, 5},
    };
    struct mhcs_table table;
    double largest = 0;

    for (size_t i = 0; i < count; i++) {
        const int length = (int)strlen(lines[i].site->name);

        if (column[SITE].width > -1 - length)
            column[SITE].width = -1 - length;
        largest = fmax(largest, lines[i].rel);
    }
    mhcs_table_fit(&table, column, COLUMNS, mhcs_term_width());
    fputs(mhcs_colour(MHCS_BOLD), out);
    mhcs_table_heading(out, &table);
    fputs(mhcs_colour(MHCS_PLAIN), out);
    for (size_t i = 0; i < count; i++)
        print_line(out, &table, &lines[i], largest);
}

static int print_lines(FILE *out, const struct mhcs_report *report,
                       const struct layers_options *options)
{
    const struct mhcs_collect *collect = report->collect;
    const enum mhcs_path reference = mhcs_widest(collect);
    struct output_line *lines = calloc(collect->sites * MHCS_PHASES + 1, sizeof(*lines));
    size_t count = 0, shown;

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
    shown = options->top > 0 && options->top < count ? options->top : count;
    fprintf(out, "rel, p99, comb and y against the %s\n", mhcs_reference_name(reference));
    print_table(out, lines, shown);
    if (shown < count)
        fprintf(out, "(%zu more)\n", count - shown);
    fputc('\n', out);
    free(lines);
    return 0;
}

static enum mhcs_exit run(int argc, char **argv)
{
    struct layers_options own = {.sort = "site"};
    struct mhcs_options options;
    struct mhcs_report report;
    enum mhcs_exit code;

    mhcs_options_parse(&mhcs_verb_layers, argc, argv, &options, &own);
    code = mhcs_report_load(&report, &options);
    if (code == MHCS_EXIT_FINE) {
        if (print_lines(stdout, &report, &own)) {
            fputs("mhcshadow-report: out of memory\n", stderr);
            code = MHCS_EXIT_DAMAGED;
        } else {
            code = mhcs_report_end(stdout, &report);
        }
    }
    mhcs_report_free(&report);
    return code;
}

const struct mhcs_verb mhcs_verb_layers = {
    .about = "one line per site (weight matrix) and phase",
    .notes =
        "Columns: rows compared; R, observed rms rel over expected, the worse of both references; "
        "rms and 99th percentile of rel; rms relative errors of comb after Sinkhorn and of y. rel, "
        "p99, comb and y are against the checkpoint where the trace has it, else against the "
        "operands. A narrow terminal leaves columns out, a wide one has a bar of rel.",
    .example = "--sort=R --top=10 /var/tmp/mhc",
    .options = option_list,
    .parse = parse,
    .run = run,
};
