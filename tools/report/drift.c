/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report drift: errors over time, and over the layers. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/report/chain.h"
#include "tools/report/report.h"
#include "tools/report/table.h"
#include "tools/report/term.h"
#include "tools/report/text.h"
#include "tools/report/trend.h"

static void print_heading(FILE *out, const struct mhcs_table *table)
{
    fputs(mhcs_colour(MHCS_BOLD), out);
    mhcs_table_heading(out, table);
    fputs(mhcs_colour(MHCS_PLAIN), out);
}

/* ---- over time ---- */

#define BAR_CELLS 12

enum { START, ROWS, RATIO, BAR, PER_PHASE = 3, TIME_COLUMNS = 1 + MHCS_PHASES * PER_PHASE };

/* R where rows have an expectation, else the rms of rel. */
static double figure_of(const struct mhcs_window *window, bool ratios)
{
    return ratios ? sqrt(mhcs_moments_mean(&window->moment.excess))
                  : mhcs_moment_rms(&window->moment);
}

static void print_window(FILE *out, const struct mhcs_table *table, const struct mhcs_trend *trend,
                         size_t at, bool ratios, double largest)
{
    char start[MHCS_CLOCK_BYTES], rows[MHCS_PHASES][24], ratio[MHCS_PHASES][MHCS_NUMBER_BYTES + 4];
    char bar[MHCS_PHASES][MHCS_BAR_BYTES + 2];
    const char *text[TIME_COLUMNS] = {start};

    mhcs_text_time(mhcs_trend_start(trend, at), start);
    start[23] = '\0'; /* down to the millisecond */
    for (int p = 0; p < MHCS_PHASES; p++) {
        const struct mhcs_window *window = &trend->window[p][at];
        const double figure = figure_of(window, ratios);
        char number[MHCS_NUMBER_BYTES];

        snprintf(rows[p], sizeof(rows[p]), "%" PRIu64, window->moment.rows);
        snprintf(ratio[p], sizeof(ratio[p]), "%s%s",
                 ratios ? mhcs_text_ratio(figure, number) : mhcs_text_number(figure, number),
                 window->stands_out ? "*" : " ");
        memcpy(bar[p], "  ", 2);
        mhcs_term_bar(figure / largest, BAR_CELLS, bar[p] + 2);
        text[ROWS + p * PER_PHASE] = rows[p];
        text[RATIO + p * PER_PHASE] = window->moment.rows > 0 ? ratio[p] : "";
        text[BAR + p * PER_PHASE] = window->moment.rows > 0 ? bar[p] : "";
    }
    mhcs_table_line(out, table, text);
}

static void print_windows(FILE *out, const struct mhcs_trend *trend, bool ratios)
{
    static const char *const rows[] = {"prefill rows", "decode rows"};
    struct mhcs_table_column column[TIME_COLUMNS] = {[START] = {"from (UTC)", -23, 0}};
    struct mhcs_table table;
    double largest = 0;

    for (int p = 0; p < MHCS_PHASES; p++) {
        column[ROWS + p * PER_PHASE] = (struct mhcs_table_column){rows[p], 14, 0};
        column[RATIO + p * PER_PHASE] =
            (struct mhcs_table_column){ratios ? "R" : "rel", ratios ? 9 : 13, 0};
        column[BAR + p * PER_PHASE] = (struct mhcs_table_column){"", -2 - BAR_CELLS, 1};
        for (size_t i = 0; i < trend->windows; i++)
            largest = fmax(largest, figure_of(&trend->window[p][i], ratios));
    }
    mhcs_table_fit(&table, column, TIME_COLUMNS, mhcs_term_width());
    print_heading(out, &table);
    for (size_t i = 0; i < trend->windows; i++)
        print_window(out, &table, trend, i, ratios, largest);
}

static void print_fit(FILE *out, enum mhcs_phase phase, const struct mhcs_line_fit *fit)
{
    char chance[MHCS_NUMBER_BYTES];

    fprintf(out, "  %s: ", mhcs_phase_name(phase));
    if (isnan(fit->change))
        fprintf(out, "no trend can be given, for fewer than 3 windows have %d rows\n",
                MHCS_MIN_ROWS);
    else
        fprintf(out, "over the whole time R changes by %+.2g %% +- %.2g %% (chance %s): %s\n",
                100 * fit->change, 100 * fit->error, mhcs_text_chance(fit->probability, chance),
                fit->probability <= MHCS_ALPHA / MHCS_PHASES ? "A TREND" : "no trend");
}

static void print_time(FILE *out, const struct mhcs_report *report, enum mhcs_path reference)
{
    const struct mhcs_timeline *timeline = &report->collect->timeline;
    struct mhcs_trend trend;
    bool ratios = false;

    mhcs_trend_measure(timeline, reference, &trend);
    for (int p = 0; p < MHCS_PHASES; p++)
        for (size_t i = 0; i < trend.windows; i++)
            ratios |= trend.window[p][i].moment.excess.count > 0;
    fprintf(out, "%sOver time%s against the %s, windows of %.3g s; %s\n", mhcs_colour(MHCS_BOLD),
            mhcs_colour(MHCS_PLAIN), mhcs_reference_name(reference), ldexp(1e-9, (int)trend.shift),
            ratios ? "R is rms rel over the expected" : "rms rel, for no path has an expectation");
    print_windows(out, &trend, ratios);
    fprintf(out,
            "  %zu of %zu windows with %d rows or more stand out (*): more than %.1f times off the "
            "middle one,\n  significant at %.2g over all of them (Holm)\n",
            trend.stand_out, trend.tested, MHCS_MIN_ROWS, MHCS_CHANGE_MIN, MHCS_ALPHA);
    for (int p = 0; p < MHCS_PHASES; p++)
        if (report->collect->phase_rows[p] > 0)
            print_fit(out, (enum mhcs_phase)p, &trend.fit[p]);
    fputc('\n', out);
}

/* ---- over the layers ---- */

enum { SITE, LINK_ROWS, COMB, Y, ROOT, SUM, PRODUCT, GAIN, LAYER_COLUMNS };

static void print_link(FILE *out, const struct mhcs_table *table, const struct mhcs_link *link)
{
    char number[LAYER_COLUMNS][MHCS_NUMBER_BYTES];
    const char *const text[LAYER_COLUMNS] = {
        [SITE] = link->site->name,
        [LINK_ROWS] = number[LINK_ROWS],
        [COMB] = mhcs_text_number(link->comb, number[COMB]),
        [Y] = mhcs_text_number(link->y, number[Y]),
        [ROOT] = mhcs_text_number(link->root, number[ROOT]),
        [SUM] = mhcs_text_number(link->sum, number[SUM]),
        [PRODUCT] = mhcs_text_number(link->product, number[PRODUCT]),
        [GAIN] = mhcs_text_ratio(link->gain, number[GAIN]),
    };

    snprintf(number[LINK_ROWS], sizeof(number[LINK_ROWS]), "%" PRIu64, link->rows);
    mhcs_table_line(out, table, text);
}

static void print_links(FILE *out, const struct mhcs_chain *chain)
{
    static const struct mhcs_table_column column[LAYER_COLUMNS] = {
        [SITE] = {"site", -24, 0},      [LINK_ROWS] = {"rows", 9, 2},
        [COMB] = {"comb", 11, 0},       [Y] = {"y", 11, 1},
        [ROOT] = {"root", 11, 0},       [SUM] = {"sum", 11, 0},
        [PRODUCT] = {"product", 11, 0}, [GAIN] = {"gain", 7, 3},
    };
    struct mhcs_table table;

    mhcs_table_fit(&table, column, LAYER_COLUMNS, mhcs_term_width());
    print_heading(out, &table);
    for (size_t i = 0; i < chain->links; i++)
        print_link(out, &table, &chain->link[i]);
}

static void say_chain(FILE *out, const struct mhcs_report *report, const struct mhcs_chain *chain)
{
    const struct mhcs_link *last = &chain->link[chain->links - 1];
    char root[MHCS_NUMBER_BYTES], sum[MHCS_NUMBER_BYTES], product[MHCS_NUMBER_BYTES], text[600];

    snprintf(text, sizeof(text),
             "ESTIMATES of the linear path of the residual streams, without what attention and "
             "routing make of an error: over the %zu sites seen %s if errors are independent "
             "(root), %s if "
             "all point the same way (sum)%s%s.",
             chain->links, mhcs_text_number(last->root, root), mhcs_text_number(last->sum, sum),
             chain->why_no_product ? "" : ", by the product of measured comb matrices ",
             chain->why_no_product ? "" : mhcs_text_number(last->product, product));
    mhcs_text_wrap(out, "  ", text);
    if (chain->why_no_product) {
        snprintf(text, sizeof(text), "No product: %s.", chain->why_no_product);
    } else {
        char gain[MHCS_NUMBER_BYTES];

        snprintf(text, sizeof(text),
                 "Gain bounds what a change at the first site can grow to: at most %s times.",
                 mhcs_text_ratio(last->gain, gain));
    }
    mhcs_text_wrap(out, "  ", text);
    if (report->facts.neutral_model)
        mhcs_text_wrap(out, "  ",
                       "Without a checkpoint these are the maps of a neutral layer (scale 1, base "
                       "0), not of this model's own.");
    fputc('\n', out);
}

/* 0 or -ENOMEM. */
static int print_layers(FILE *out, const struct mhcs_report *report, enum mhcs_path reference)
{
    struct mhcs_chain chain;
    const int ret = mhcs_chain_measure(report->collect, &report->facts.maps, reference, &chain);

    if (ret)
        return ret;
    fprintf(out,
            "%sOver the layers%s against the %s: errors of comb after Sinkhorn, and added up\n",
            mhcs_colour(MHCS_BOLD), mhcs_colour(MHCS_PLAIN), mhcs_reference_name(reference));
    if (chain.links > 0) {
        print_links(out, &chain);
        say_chain(out, report, &chain);
    } else {
        fputs("  no site has a comb\n\n", out);
    }
    mhcs_chain_free(&chain);
    return 0;
}

static enum mhcs_exit run(int argc, char **argv)
{
    struct mhcs_options options;
    struct mhcs_report report;
    enum mhcs_exit code;

    mhcs_options_parse(&mhcs_verb_drift, argc, argv, &options, NULL);
    options.extras.samples = true;
    code = mhcs_report_load(&report, &options);
    if (code == MHCS_EXIT_FINE) {
        const enum mhcs_path reference = mhcs_widest(report.collect);

        print_time(stdout, &report, reference);
        if (print_layers(stdout, &report, reference)) {
            fputs("mhcshadow-report: out of memory\n", stderr);
            code = MHCS_EXIT_DAMAGED;
        } else {
            code = mhcs_report_end(stdout, &report);
        }
    }
    mhcs_report_free(&report);
    return code;
}

const struct mhcs_verb mhcs_verb_drift = {
    .about = "errors over time, and added up over the layers",
    .notes = "A star marks windows of time that differ from most. Over the layers the errors "
             "of comb are added up in three ways, as estimates of the linear path alone.",
    .example = "/var/tmp/mhc",
    .run = run,
};
