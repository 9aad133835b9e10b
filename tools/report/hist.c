/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report hist: one distribution as a histogram, beside the expected one. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/metrics.h"
#include "tools/report/report.h"
#include "tools/report/spread.h"
#include "tools/report/table.h"
#include "tools/report/term.h"
#include "tools/report/text.h"

struct hist_options {
    struct mhcs_selection selection; /* reference MHCS_PRODUCTION: none asked for */
};

static const struct argp_option option_list[] = {
    {"metric", 'm', "METRIC", 0, "a column of the trace without its reference (rel)", 0},
    {"against", 'a', "REFERENCE", 0, "operands or checkpoint (the checkpoint where traces have it)",
     0},
    {"site", 'i', "PATTERN", 0, "rel of sites that match this shell pattern", 0},
    {"phase", 'p', "PHASE", 0, "rel of prefill or of decode", 0},
    {0},
};

static int parse_phase(const struct argp_state *state, const char *text)
{
    for (int p = 0; p < MHCS_PHASES; p++)
        if (!strcmp(text, mhcs_phase_name((enum mhcs_phase)p)))
            return p;
    argp_error(state, "--phase %s: not prefill or decode", text);
    return -1;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct mhcs_selection *selection = &((struct hist_options *)state->input)->selection;
    int metric;

    switch (key) {
    case 'm':
        metric = mhcs_metric_find(argument);
        if (metric < 0)
            argp_error(state, "--metric %s: no metric of doc/metrics.md", argument);
        selection->metric = (size_t)metric;
        return 0;
    case 'a':
        selection->reference = mhcs_options_reference(state, argument);
        return 0;
    case 'i':
        selection->site = argument;
        return 0;
    case 'p':
        selection->phase = parse_phase(state, argument);
        return 0;
    case ARGP_KEY_END:
        if (selection->metric != MHCS_METRIC(rel) && (selection->site || selection->phase >= 0))
            argp_error(state, "--site and --phase are for rel alone");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- histogram ---- */

#define LINES_MAX 24
#define BAR_CELLS 24

/* Bins of a quarter, a half, a whole, two, four, .. octaves; those from first to last are shown. */
struct bins {
    const struct mhcs_spread *spread;
    int level; /* -2: a quarter */
    uint32_t first, last;
};

#define OCTAVE (1u << MHCS_HIST_STEP_BITS)

/* The first bucket of a bin. Quarters end at the steps next to 2^(i/4), so that all bins are about
 * as wide over the logarithm. */
static uint32_t bucket_of(int level, uint32_t bin)
{
    static const uint32_t quarters[] = {0, 6, 13, 22};

    if (level >= 0)
        return (bin << level) * OCTAVE;
    bin <<= level + 2;
    return bin / 4 * OCTAVE + quarters[bin % 4];
}

static uint32_t bins_of(int level)
{
    const uint32_t octaves = MHCS_HIST_BUCKETS / OCTAVE;

    return level >= 0 ? octaves >> level : octaves << -level;
}

static double count_of(const struct bins *bins, uint32_t bin)
{
    uint64_t count = 0;

    for (uint32_t i = bucket_of(bins->level, bin); i < bucket_of(bins->level, bin + 1); i++)
        count += bins->spread->observed.hist.bucket[i];
    return (double)count;
}

static double expected_of(const struct bins *bins, uint32_t bin)
{
    double count = 0;

    for (uint32_t i = bucket_of(bins->level, bin); i < bucket_of(bins->level, bin + 1); i++)
        count += bins->spread->expected[i];
    return count;
}

/* Where rows are, or half a row or more is expected. At level 3 all fit: there are 104 octaves. */
static void choose_bins(struct bins *bins)
{
    for (bins->level = -2;; bins->level++) {
        bins->first = bins_of(bins->level);
        bins->last = 0;
        for (uint32_t i = 0; i < bins_of(bins->level); i++)
            if (count_of(bins, i) > 0 || expected_of(bins, i) >= 0.5) {
                bins->first = i < bins->first ? i : bins->first;
                bins->last = i;
            }
        if (bins->first > bins->last || bins->last - bins->first < LINES_MAX)
            return;
    }
}

enum { FROM, TO, ROWS, BAR, EXPECTED, EXPECTED_BAR, COLUMNS };

static const char *draw_bar(double share, char bar[MHCS_BAR_BYTES + 2])
{
    memcpy(bar, "  ", 2);
    mhcs_term_bar(share, BAR_CELLS, bar + 2);
    return share > 0 ? bar : "";
}

static void print_bin(FILE *out, const struct mhcs_table *table, const struct bins *bins,
                      uint32_t bin, double largest)
{
    const double count = count_of(bins, bin), expected = expected_of(bins, bin);
    char number[COLUMNS][MHCS_NUMBER_BYTES], bar[2][MHCS_BAR_BYTES + 2];
    const char *const text[COLUMNS] = {
        [FROM] = mhcs_text_number(mhcs_hist_edge(bucket_of(bins->level, bin)), number[FROM]),
        [TO] = mhcs_text_number(mhcs_hist_edge(bucket_of(bins->level, bin + 1)), number[TO]),
        [ROWS] = number[ROWS],
        [BAR] = draw_bar(count / largest, bar[0]),
        [EXPECTED] = bins->spread->expects ? number[EXPECTED] : "",
        [EXPECTED_BAR] = draw_bar(expected / largest, bar[1]),
    };

    snprintf(number[ROWS], sizeof(number[ROWS]), "%.0f", count);
    snprintf(number[EXPECTED], sizeof(number[EXPECTED]), "%.3g", expected);
    mhcs_table_line(out, table, text);
}

static void print_histogram(FILE *out, const struct mhcs_spread *spread)
{
    const struct mhcs_table_column column[COLUMNS] = {
        [FROM] = {"from", 11, 0},
        [TO] = {"to", 11, 3},
        [ROWS] = {"rows", 10, 0},
        [BAR] = {"", -2 - BAR_CELLS, 0},
        [EXPECTED] = {spread->expects ? "expected" : "", 10, 1},
        [EXPECTED_BAR] = {"", -2 - BAR_CELLS, 2},
    };
    struct bins bins = {.spread = spread};
    struct mhcs_table table;
    double largest = 0;

    choose_bins(&bins);
    for (uint32_t i = bins.first; i <= bins.last; i++)
        largest = fmax(largest, fmax(count_of(&bins, i), expected_of(&bins, i)));
    mhcs_table_fit(&table, column, COLUMNS, mhcs_term_width());
    fputs(mhcs_colour(MHCS_BOLD), out);
    mhcs_table_heading(out, &table);
    fputs(mhcs_colour(MHCS_PLAIN), out);
    if (spread->observed.hist.zeros > 0)
        fprintf(out, "%11s%11s%10" PRIu64 "\n", "0", "", spread->observed.hist.zeros);
    for (uint32_t i = bins.first; i <= bins.last; i++)
        print_bin(out, &table, &bins, i, largest);
    fputc('\n', out);
}

/* ---- percentiles ---- */

static void print_figure(FILE *out, const char *name, double value, double error, double expected)
{
    char number[MHCS_NUMBER_BYTES];

    fprintf(out, "  %-6s%11s", name, mhcs_text_number(value, number));
    fprintf(out, "%16s", mhcs_text_number(error, number));
    if (!isnan(expected))
        fprintf(out, "%12s", mhcs_text_number(expected, number));
    fputc('\n', out);
}

static void print_percentiles(FILE *out, const struct mhcs_spread *spread)
{
    static const struct {
        const char *name;
        uint32_t per_10000;
    } shown[] = {{"p1", 100},   {"p10", 1000}, {"p50", 5000},
                 {"p90", 9000}, {"p99", 9900}, {"p99.9", 9990}};
    const struct mhcs_stat *observed = &spread->observed;
    const double rms = mhcs_stat_rms(observed);

    fprintf(out, "%s  %-6s%11s%16s%s%s\n", mhcs_colour(MHCS_BOLD), "", "observed", "standard error",
            spread->expects ? "    expected" : "", mhcs_colour(MHCS_PLAIN));
    print_figure(out, "rms", rms, rms * spread->uncertainty, mhcs_spread_expected_rms(spread));
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        print_figure(out, shown[i].name, mhcs_stat_percentile(observed, shown[i].per_10000),
                     mhcs_percentile_error(&observed->hist, shown[i].per_10000),
                     mhcs_spread_expected_percentile(spread, shown[i].per_10000));
    print_figure(out, "max", (double)observed->max, NAN, NAN);
    fputc('\n', out);
}

static void print_title(FILE *out, const struct mhcs_spread *spread,
                        const struct mhcs_selection *selection)
{
    fprintf(
        out, "%s%s against the %s%s", mhcs_colour(MHCS_BOLD), mhcs_metric_name(selection->metric),
        selection->reference == MHCS_OPERANDS ? "operands" : "checkpoint", mhcs_colour(MHCS_PLAIN));
    if (selection->site)
        fprintf(out, ", sites %s", selection->site);
    if (selection->phase >= 0)
        fprintf(out, ", %s", mhcs_phase_name((enum mhcs_phase)selection->phase));
    fprintf(out, ": %" PRIu64 " rows at %zu sites and phases", spread->observed.hist.count,
            spread->lines);
    if (spread->observed.undefined > 0)
        fprintf(out, ", %" PRIu64 " without a value", spread->observed.undefined);
    fprintf(out, "\n(%s)\n\n", mhcs_metric_what(selection->metric));
}

/* MHCS_EXIT_FINE, or why there is nothing to show. */
static enum mhcs_exit print_spread(FILE *out, const struct mhcs_report *report,
                                   struct mhcs_selection *selection)
{
    struct mhcs_spread *spread;

    if (selection->reference == MHCS_PRODUCTION)
        selection->reference = mhcs_widest(report->collect);
    if (mhcs_spread_gather(report->collect, selection, &spread)) {
        fputs("mhcshadow-report: out of memory\n", stderr);
        return MHCS_EXIT_DAMAGED;
    }
    print_title(out, spread, selection);
    if (spread->observed.hist.count > 0) {
        print_histogram(out, spread);
        print_percentiles(out, spread);
        if (spread->expects)
            mhcs_text_wrap(out, "  ",
                           "Expected: the roundings of the declared paths on Gaussian data, at the "
                           "top of their range. Percentiles are those of a histogram, which is in "
                           "their standard errors.");
        else
            fprintf(out, "  No expected distribution: %s.\n", spread->why_not);
        fputc('\n', out);
    }
    const bool empty = spread->observed.hist.count == 0;
    free(spread);
    if (empty)
        fputs("No row of these has a value; `mhcshadow-report layers` lists the sites.\n", out);
    return empty ? MHCS_EXIT_DAMAGED : MHCS_EXIT_FINE;
}

static enum mhcs_exit run(int argc, char **argv)
{
    struct hist_options own = {.selection = {.metric = MHCS_METRIC(rel), .phase = -1}};
    struct mhcs_options options;
    struct mhcs_report report;
    enum mhcs_exit code;

    mhcs_options_parse(&mhcs_verb_hist, argc, argv, &options, &own);
    code = mhcs_report_load(&report, &options);
    if (code == MHCS_EXIT_FINE)
        code = print_spread(stdout, &report, &own.selection);
    if (code == MHCS_EXIT_FINE) {
        code = mhcs_report_end(stdout, &report);
    }
    mhcs_report_free(&report);
    return code;
}

const struct mhcs_verb mhcs_verb_hist = {
    .about = "one distribution as a histogram, beside the expected one",
    .notes = "Bins are parts of octaves. Bars are counts over the largest count.",
    .example = "--site='layers.0.*' --phase=decode /var/tmp/mhc",
    .options = option_list,
    .parse = parse,
    .run = run,
};
