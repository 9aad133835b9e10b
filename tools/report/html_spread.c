/* SPDX-License-Identifier: Apache-2.0 */
/* How the errors of rows scatter, against how the declared path lets one expect them to. */
#include <inttypes.h>
#include <math.h>

#include "tools/report/chart.h"
#include "tools/report/html.h"
#include "tools/report/spread.h"
#include "tools/report/text.h"

#define HEIGHT    220
#define BOTTOM    182
#define BINS_MAX  60
#define CHART_MAX 8 /* declared paths times references */

/* Buckets of a histogram taken together until they are few enough to be seen. */
struct bins {
    const struct mhcs_stat *stat;
    uint32_t width;       /* buckets in a bin */
    uint32_t first, last; /* bins */
    bool known;           /* there is an expectation: */
    double expected[MHCS_HIST_BUCKETS];
    double rms; /* of what is expected at most */
};

static double low_edge(const struct bins *bins, uint32_t bin)
{
    return mhcs_hist_edge(bin * bins->width);
}

static uint64_t count_of(const struct bins *bins, uint32_t bin)
{
    uint64_t count = 0;

    for (uint32_t i = bin * bins->width; i < (bin + 1) * bins->width; i++)
        count += bins->stat->hist.bucket[i];
    return count;
}

static double expected_of(const struct bins *bins, uint32_t bin)
{
    double expected = 0;

    for (uint32_t i = bin * bins->width; bins->known && i < (bin + 1) * bins->width; i++)
        expected += bins->expected[i];
    return expected;
}

/* From the lowest to the highest value that occurs or is expected once at least. */
static void choose(struct bins *bins)
{
    for (bins->width = 4;; bins->width *= 2) {
        const uint32_t all = MHCS_HIST_BUCKETS / bins->width;

        bins->first = all;
        bins->last = 0;
        for (uint32_t i = 0; i < all; i++) {
            if (count_of(bins, i) == 0 && expected_of(bins, i) < 1)
                continue;
            if (i < bins->first)
                bins->first = i;
            bins->last = i;
        }
        if (bins->first > bins->last || bins->last - bins->first < BINS_MAX)
            return;
    }
}

/* ---- the chart ---- */

static void draw_bar(FILE *out, const struct bins *bins, uint32_t bin, const struct mhcs_scale *x,
                     const struct mhcs_scale *y)
{
    const double low = low_edge(bins, bin), high = low_edge(bins, bin + 1);
    const double left = mhcs_scale_at(x, low), right = mhcs_scale_at(x, high);
    const double top = mhcs_scale_at(y, (double)count_of(bins, bin));
    const bool far = bins->known && low > MHCS_WARN_RATIO * bins->rms;
    char text[128], expected[48] = "";

    if (count_of(bins, bin) == 0)
        return;
    if (bins->known)
        snprintf(expected, sizeof(expected), ", expected %.3g", expected_of(bins, bin));
    snprintf(text, sizeof(text), "%.2e to %.2e: %" PRIu64 " rows%s", low, high, count_of(bins, bin),
             expected);
    mhcs_chart_mark(out, far ? "bar far" : "bar", text,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", left, top,
                    fmax(right - left - 0.6, 0.8), BOTTOM - top);
}

/* Steps, as high as the bars would be. */
static void draw_expected(FILE *out, const struct bins *bins, const struct mhcs_scale *x,
                          const struct mhcs_scale *y)
{
    char step = 'M';

    fputs("<path class=\"expect\" d=\"", out);
    for (uint32_t i = bins->first; i <= bins->last; i++) {
        const double expected = expected_of(bins, i);

        if (expected < y->low)
            continue;
        fprintf(out, "%c%.1f %.1fH%.1f", step, mhcs_scale_at(x, low_edge(bins, i)),
                mhcs_scale_at(y, expected), mhcs_scale_at(x, low_edge(bins, i + 1)));
        step = 'L';
    }
    fputs("\"/>\n", out);
}

static void draw_legend(FILE *out, const struct bins *bins)
{
    fprintf(out,
            "<g class=\"legend\" aria-hidden=\"true\"><g class=\"bar\"><rect x=\"%d\" y=\"%d\" "
            "width=\"9\" height=\"9\"/></g><text class=\"tick\" x=\"%d\" y=\"%d\">rows</text>",
            MHCS_CHART_LEFT, HEIGHT - 15, MHCS_CHART_LEFT + 13, HEIGHT - 7);
    if (bins->known)
        fprintf(out,
                "<path class=\"expect\" d=\"M%d %dh18\"/>"
                "<text class=\"tick\" x=\"%d\" y=\"%d\">expected</text>",
                MHCS_CHART_LEFT + 52, HEIGHT - 11, MHCS_CHART_LEFT + 74, HEIGHT - 7);
    fputs("</g>\n", out);
}

static void draw(FILE *out, const struct bins *bins, const char *id, const char *title,
                 const char *note)
{
    const struct mhcs_scale x = {.low = low_edge(bins, bins->first),
                                 .high = low_edge(bins, bins->last + 1),
                                 .from = MHCS_CHART_LEFT,
                                 .to = MHCS_CHART_RIGHT,
                                 .log = true};
    struct mhcs_scale y = {
        .low = 0.7, .high = 2, .from = BOTTOM, .to = MHCS_CHART_TOP, .log = true};

    for (uint32_t i = bins->first; i <= bins->last; i++) {
        y.high = fmax(y.high, 1.5 * (double)count_of(bins, i));
        y.high = fmax(y.high, 1.5 * expected_of(bins, i));
    }
    mhcs_chart_begin(out, id, HEIGHT, title,
                     "Bars: how many rows have a relative error of that size, both axes "
                     "logarithmic. Line: how many were expected.");
    mhcs_chart_grid_y(out, &y);
    mhcs_chart_ticks_x(out, &x, BOTTOM);
    mhcs_chart_title_x(out, BOTTOM, "relative error of a row");
    for (uint32_t i = bins->first; i <= bins->last; i++)
        draw_bar(out, bins, i, &x, &y);
    if (bins->known)
        draw_expected(out, bins, &x, &y);
    draw_legend(out, bins);
    mhcs_chart_end(out, id, note);
}

static void print_table(FILE *out, const struct bins *bins, const char *title)
{
    static const char *const columns[] = {"from", "to", "rows", "expected", NULL};
    char number[4][MHCS_NUMBER_BYTES] = {[3] = "-"};

    mhcs_html_table(out, title, columns, true);
    for (uint32_t i = bins->first; i <= bins->last; i++) {
        snprintf(number[2], sizeof(number[2]), "%" PRIu64, count_of(bins, i));
        if (bins->known)
            snprintf(number[3], sizeof(number[3]), "%.3g", expected_of(bins, i));
        mhcs_html_row(out,
                      (const char *const[]){mhcs_text_number(low_edge(bins, i), number[0]),
                                            mhcs_text_number(low_edge(bins, i + 1), number[1]),
                                            number[2], number[3]},
                      4);
    }
    mhcs_html_table_end(out, true);
}

/* False: the path has no expectation. */
static bool expect(struct bins *bins, const struct mhcs_path_line *path, enum mhcs_path reference)
{
    struct mhcs_stat scratch;
    struct mhcs_noise noise;

    if (!path->parsed ||
        !mhcs_noise_expected(&path->precision, reference, MHCS_COEFFICIENTS, &noise))
        return false;
    bins->rms = noise.high;
    return mhcs_spread_expect(bins->expected, path, reference, &path->against[reference], &scratch);
}

static void print_path(FILE *out, const struct mhcs_path_line *path, enum mhcs_path reference,
                       int number)
{
    struct bins bins = {.stat = &path->rel[reference]};
    const struct mhcs_stat *stat = bins.stat;
    char id[32], title[160], note[320], rms[MHCS_NUMBER_BYTES], median[MHCS_NUMBER_BYTES];
    char p99[MHCS_NUMBER_BYTES], max[MHCS_NUMBER_BYTES];

    bins.known = expect(&bins, path, reference);
    choose(&bins);
    snprintf(id, sizeof(id), "spread-%d", number);
    snprintf(title, sizeof(title), "%s, against the %s", path->text,
             mhcs_html_reference(reference));
    snprintf(note, sizeof(note),
             "rms %s, median %s, p99 %s, max %s. %" PRIu64 " rows; bit-identical %" PRIu64
             ", undefined %" PRIu64 "%s",
             mhcs_text_number(mhcs_stat_rms(stat), rms),
             mhcs_text_number(mhcs_stat_percentile(stat, 5000), median),
             mhcs_text_number(mhcs_stat_percentile(stat, 9900), p99),
             mhcs_text_number(stat->max, max), stat->hist.count, stat->hist.zeros, stat->undefined,
             bins.known ? "." : ". No expectation for this path.");
    fputs("<div>\n", out);
    if (bins.first <= bins.last) {
        draw(out, &bins, id, title, note);
        print_table(out, &bins, title);
    } else {
        mhcs_html_elementf(out, "p", "", "%s: %s", title, note);
    }
    fputs("</div>\n", out);
}

void mhcs_html_spread(FILE *out, const struct mhcs_report *report)
{
    const struct mhcs_collect *collect = report->collect;
    int charts = 0;

    mhcs_html_section(out, "spread", "How large");
    fputs("<p>Relative errors of the raw coefficients of a row, one chart for each declared path "
          "and reference. The line is of rows made up with the roundings of the declared path, at "
          "the top of its range. Red bars lie more than 4 times above what is expected.</p>\n"
          "<div class=\"charts\">\n",
          out);
    for (size_t i = 0; i < collect->paths; i++)
        MHCS_FOR_EACH_REFERENCE(r)
            if (collect->path[i]->rel[r].hist.count > 0 && charts++ < CHART_MAX)
                print_path(out, collect->path[i], r, charts);
    fputs("</div>\n", out);
    if (charts > CHART_MAX)
        mhcs_html_elementf(out, "p", " class=\"note\"", "%d more are not drawn.",
                           charts - CHART_MAX);
    mhcs_html_section_end(out);
}
