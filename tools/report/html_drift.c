/* SPDX-License-Identifier: Apache-2.0 */
/* The errors over time. */
#include <inttypes.h>
#include <math.h>

#include "tools/report/chart.h"
#include "tools/report/html.h"
#include "tools/report/text.h"

#define POINTS_MAX 64

static double ratio_of(const struct mhcs_moment *moment)
{
    return sqrt(mhcs_moments_mean(&moment->excess));
}

/* "12.5 s", "90 min" */
static void format_span(double seconds, char text[MHCS_NUMBER_BYTES])
{
    if (seconds < 120)
        snprintf(text, MHCS_NUMBER_BYTES, "%.4g s", seconds);
    else if (seconds < 7200)
        snprintf(text, MHCS_NUMBER_BYTES, "%.4g min", seconds / 60);
    else if (seconds < 172800)
        snprintf(text, MHCS_NUMBER_BYTES, "%.4g h", seconds / 3600);
    else
        snprintf(text, MHCS_NUMBER_BYTES, "%.4g d", seconds / 86400);
}

static double seconds_of(const struct mhcs_timeline *timeline, int64_t index)
{
    return (double)(index - timeline->first) * ldexp(1e-9, (int)timeline->shift);
}

/* The next step that people count in and that gives at most five ticks. */
static double tick_step(double seconds)
{
    static const double units[] = {1, 60, 3600, 86400};
    static const double counts[] = {0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30};

    for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++)
        for (size_t c = u ? 3 : 0; c < sizeof(counts) / sizeof(counts[0]); c++)
            if (units[u] * counts[c] * 5 >= seconds)
                return units[u] * counts[c];
    return pow(10, ceil(log10(seconds / 5 / 86400))) * 86400;
}

static void draw_ticks(FILE *out, const struct mhcs_ratio_chart *chart, double bottom)
{
    const double step = tick_step(chart->x.high);
    char text[MHCS_NUMBER_BYTES];

    for (double at = 0; at <= chart->x.high; at += step) {
        format_span(at, text);
        mhcs_chart_label_x(out, mhcs_scale_at(&chart->x, at), bottom, at > 0 ? text : "0");
    }
}

static struct mhcs_point make_point(const struct mhcs_timeline *timeline, int64_t index,
                                    enum mhcs_phase phase, const struct mhcs_moment *moment)
{
    struct mhcs_point point = {
        .x = seconds_of(timeline, index) + ldexp(0.5e-9, (int)timeline->shift),
        .ratio = ratio_of(moment),
        .error = mhcs_moments_standard_error(&moment->excess) / 2 / ratio_of(moment),
        .rows = moment->rows,
        .nonfinite = moment->nonfinite,
    };
    char after[MHCS_NUMBER_BYTES], number[MHCS_NUMBER_BYTES];

    format_span(seconds_of(timeline, index), after);
    snprintf(point.text, sizeof(point.text), "after %s, %s: R %s, %" PRIu64 " rows%s", after,
             mhcs_phase_name(phase), mhcs_text_ratio(point.ratio, number), point.rows,
             point.nonfinite ? ", NaN or Inf" : "");
    return point;
}

static void print_table(FILE *out, const struct mhcs_timeline *timeline, enum mhcs_path reference)
{
    static const char *const columns[] = {
        "from", "phase", "rows", "R", "rms rel", "max rel", "NaN or Inf alone", NULL};
    char caption[80], start[MHCS_NUMBER_BYTES], number[5][MHCS_NUMBER_BYTES];

    snprintf(caption, sizeof(caption), "errors over time, against the %s",
             mhcs_html_reference(reference));
    mhcs_html_table(out, caption, columns, true);
    for (int64_t i = timeline->first; i <= timeline->last; i++)
        for (int p = 0; p < MHCS_PHASES && mhcs_timeline_bin(timeline, i); p++) {
            const struct mhcs_moment *moment =
                &mhcs_timeline_bin(timeline, i)->moment[p][reference];
            const char *const cells[] = {
                start,
                mhcs_phase_name((enum mhcs_phase)p),
                number[0],
                mhcs_text_ratio(ratio_of(moment), number[1]),
                mhcs_text_number(mhcs_moment_rms(moment), number[2]),
                mhcs_text_number((double)moment->max, number[3]),
                number[4],
            };

            if (moment->rows == 0 && moment->nonfinite == 0)
                continue;
            format_span(seconds_of(timeline, i), start);
            snprintf(number[0], sizeof(number[0]), "%" PRIu64, moment->rows);
            snprintf(number[4], sizeof(number[4]), "%" PRIu64, moment->nonfinite);
            mhcs_html_row(out, cells, sizeof(cells) / sizeof(cells[0]));
        }
    mhcs_html_table_end(out, true);
}

static void print_reference(FILE *out, const struct mhcs_timeline *timeline,
                            enum mhcs_path reference)
{
    struct mhcs_point points[MHCS_PHASES][MHCS_TIMELINE_BINS];
    char id[32], title[96];
    struct mhcs_ratio_chart chart = {
        .id = id,
        .title = title,
        .description = "Points of R over time since the first row, one line for prefill and one "
                       "for decode. Hollow points have too few rows to judge.",
        .x = {.low = 0,
              .high = seconds_of(timeline, timeline->last + 1),
              .from = MHCS_CHART_LEFT,
              .to = MHCS_CHART_RIGHT},
        .x_title = "time since the first row",
        .point = {points[MHCS_PREFILL], points[MHCS_DECODE]},
        .ticks = draw_ticks,
    };

    for (int64_t i = timeline->first; i <= timeline->last; i++)
        for (int p = 0; p < MHCS_PHASES && mhcs_timeline_bin(timeline, i); p++) {
            const struct mhcs_moment *moment =
                &mhcs_timeline_bin(timeline, i)->moment[p][reference];

            if (moment->rows > 0 || moment->nonfinite > 0)
                points[p][chart.points[p]++] = make_point(timeline, i, (enum mhcs_phase)p, moment);
        }
    snprintf(id, sizeof(id), "drift-%s", mhcs_html_reference(reference));
    snprintf(title, sizeof(title), "R over time, against the %s", mhcs_html_reference(reference));
    fputs("<div>\n", out);
    mhcs_chart_ratio(out, &chart);
    print_table(out, timeline, reference);
    fputs("</div>\n", out);
}

/* Half as many bins where there are more than can be told apart; the caller clears it. */
static struct mhcs_timeline thin_out(const struct mhcs_timeline *timeline)
{
    struct mhcs_timeline thinned;

    mhcs_timeline_init(&thinned);
    thinned.shift = timeline->shift + (timeline->last - timeline->first >= POINTS_MAX);
    mhcs_timeline_merge(&thinned, timeline); /* without memory it ends earlier */
    return thinned;
}

void mhcs_html_drift(FILE *out, const struct mhcs_report *report)
{
    struct mhcs_timeline timeline = thin_out(&report->collect->timeline);
    char length[MHCS_NUMBER_BYTES], first[MHCS_CLOCK_BYTES], last[MHCS_CLOCK_BYTES];

    mhcs_html_section(out, "drift", "Over time");
    format_span(ldexp(1e-9, (int)timeline.shift), length);
    mhcs_html_elementf(out, "p", "", "From %s to %s; a point stands for %s.",
                       mhcs_text_clock(report->collect->first, first),
                       mhcs_text_clock(report->collect->last, last), length);
    fputs("<div class=\"charts\">\n", out);
    MHCS_FOR_EACH_REFERENCE(r)
        if (report->collect->reference_rows[r] > 0)
            print_reference(out, &timeline, r);
    fputs("</div>\n", out);
    mhcs_timeline_clear(&timeline);
    mhcs_html_section_end(out);
}
