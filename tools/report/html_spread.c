/* SPDX-License-Identifier: Apache-2.0 */
/* How the errors of rows scatter, against how the declared path lets one expect them to. */
#include <inttypes.h>
#include <math.h>

#include "tools/report/chart.h"
#include "tools/report/html.h"
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
    struct mhcs_noise noise;
    bool known; /* there is an expectation: noise */
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

/* The square of a row's relative error, over its mean as `noise` has it, follows an F distribution
 * with as many degrees of freedom above and below as there are coefficients (noise.h). This is its
 * density over the logarithm of the error. */
static double density(double rel, double rms)
{
    const double m = MHCS_COEFFICIENTS;
    const double u = rel * rel / (rms * rms) * m / (m - 2);

    return 2 * exp(m / 2 * log(u) - m * log1p(u) - 2 * lgamma(m / 2) + lgamma(m));
}

static double expected_of(const struct bins *bins, uint32_t bin, double rms)
{
    const double low = log(low_edge(bins, bin)), high = log(low_edge(bins, bin + 1));
    const int parts = 16;
    double sum = 0;

    for (int i = 0; i < parts; i++)
        sum += density(exp(low + (high - low) * (i + 0.5) / parts), rms);
    return sum / parts * (high - low) * (double)bins->stat->hist.count;
}

/* From the lowest to the highest value that occurs or is expected once at least. */
static void choose(struct bins *bins)
{
    for (bins->width = 4;; bins->width *= 2) {
        const uint32_t all = MHCS_HIST_BUCKETS / bins->width;

        bins->first = all;
        bins->last = 0;
        for (uint32_t i = 0; i + 1 < all; i++) {
            const bool shown = count_of(bins, i) > 0 ||
                               (bins->known && (expected_of(bins, i, bins->noise.low) >= 1 ||
                                                expected_of(bins, i, bins->noise.high) >= 1));

            if (shown && i < bins->first)
                bins->first = i;
            if (shown)
                bins->last = i;
        }
        if (bins->first > bins->last || bins->last - bins->first < BINS_MAX)
            return;
    }
}

static bool is_range(const struct bins *bins)
{
    return bins->noise.high > 1.05 * bins->noise.low;
}

/* ---- the chart ---- */

static void draw_bar(FILE *out, const struct bins *bins, uint32_t bin, const struct mhcs_scale *x,
                     const struct mhcs_scale *y)
{
    const double low = low_edge(bins, bin), high = low_edge(bins, bin + 1);
    const double left = mhcs_scale_at(x, low), right = mhcs_scale_at(x, high);
    const double top = mhcs_scale_at(y, (double)count_of(bins, bin));
    const bool far = bins->known && low > MHCS_WARN_RATIO * bins->noise.high;
    char text[128], expected[48] = "";

    if (count_of(bins, bin) == 0)
        return;
    if (bins->known && is_range(bins))
        snprintf(expected, sizeof(expected), ", expected %.2g or %.2g",
                 expected_of(bins, bin, bins->noise.low), expected_of(bins, bin, bins->noise.high));
    else if (bins->known)
        snprintf(expected, sizeof(expected), ", expected %.3g",
                 expected_of(bins, bin, bins->noise.high));
    snprintf(text, sizeof(text), "%.2e to %.2e: %" PRIu64 " rows%s", low, high, count_of(bins, bin),
             expected);
    mhcs_chart_mark(out, far ? "bar far" : "bar", text,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", left, top,
                    fmax(right - left - 0.6, 0.8), BOTTOM - top);
}

/* Steps, as high as the bars would be. */
static void draw_expected(FILE *out, const struct bins *bins, double rms, const char *class,
                          const struct mhcs_scale *x, const struct mhcs_scale *y)
{
    char step = 'M';

    fprintf(out, "<path class=\"expect %s\" d=\"", class);
    for (uint32_t i = bins->first; i <= bins->last; i++) {
        const double expected = expected_of(bins, i, rms);

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
                "<text class=\"tick\" x=\"%d\" y=\"%d\">expected%s</text>",
                MHCS_CHART_LEFT + 52, HEIGHT - 11, MHCS_CHART_LEFT + 74, HEIGHT - 7,
                is_range(bins) ? " range" : "");
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
        if (bins->known)
            y.high = fmax(y.high, 1.5 * expected_of(bins, i, bins->noise.high));
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
        draw_expected(out, bins, bins->noise.high, "", &x, &y);
    if (bins->known && is_range(bins))
        draw_expected(out, bins, bins->noise.low, "least", &x, &y);
    draw_legend(out, bins);
    mhcs_chart_end(out, id, note);
}

static void print_table(FILE *out, const struct bins *bins, const char *title)
{
    static const char *const columns[] = {
        "from", "to", "rows", "expected at least", "expected at most", NULL};
    char number[5][MHCS_NUMBER_BYTES];

    mhcs_html_table(out, title, columns, true);
    for (uint32_t i = bins->first; i <= bins->last; i++) {
        snprintf(number[2], sizeof(number[2]), "%" PRIu64, count_of(bins, i));
        snprintf(number[3], sizeof(number[3]), "-");
        snprintf(number[4], sizeof(number[4]), "-");
        if (bins->known) {
            const double a = expected_of(bins, i, bins->noise.low);
            const double b = expected_of(bins, i, bins->noise.high);

            snprintf(number[3], sizeof(number[3]), "%.3g", fmin(a, b));
            snprintf(number[4], sizeof(number[4]), "%.3g", fmax(a, b));
        }
        mhcs_html_row(out,
                      (const char *const[]){mhcs_text_number(low_edge(bins, i), number[0]),
                                            mhcs_text_number(low_edge(bins, i + 1), number[1]),
                                            number[2], number[3], number[4]},
                      5);
    }
    mhcs_html_table_end(out, true);
}

static void print_path(FILE *out, const struct mhcs_path_line *path, enum mhcs_path reference,
                       int number)
{
    struct bins bins = {.stat = &path->rel[reference]};
    const struct mhcs_stat *stat = bins.stat;
    char id[32], title[160], note[320], rms[MHCS_NUMBER_BYTES], median[MHCS_NUMBER_BYTES];
    char p99[MHCS_NUMBER_BYTES], max[MHCS_NUMBER_BYTES];

    bins.known = path->parsed &&
                 mhcs_noise_expected(&path->precision, reference, MHCS_COEFFICIENTS, &bins.noise);
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
          "and reference. The expected line is an F distribution about the expected rms (24 "
          "coefficients); rounding of the output alone scatters a little less, a head's 4 "
          "coefficients more.</p>\n<div class=\"charts\">\n",
          out);
    for (size_t i = 0; i < collect->paths; i++)
        for
            MHCS_EACH_REFERENCE(r)
    if (collect->path[i]->rel[r].hist.count > 0 && charts++ < CHART_MAX)
        print_path(out, collect->path[i], r, charts);
    fputs("</div>\n", out);
    if (charts > CHART_MAX)
        mhcs_html_elementf(out, "p", " class=\"note\"", "%d more are not drawn.",
                           charts - CHART_MAX);
    mhcs_html_section_end(out);
}
