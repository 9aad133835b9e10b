/* SPDX-License-Identifier: Apache-2.0 */
/* R against the size of a call, or against time. */
#include <math.h>

#include "tools/report/chart.h"

#define HEIGHT 220
#define BOTTOM 182

static struct mhcs_scale ratio_scale(const struct mhcs_ratio_chart *chart)
{
    struct mhcs_scale scale = {.low = 0.5,
                               .high = MHCS_WARN_RATIO * 1.3,
                               .from = BOTTOM,
                               .to = MHCS_CHART_TOP,
                               .log = true};

    for (int p = 0; p < MHCS_PHASES; p++)
        for (size_t i = 0; i < chart->points[p]; i++) {
            const double ratio = chart->point[p][i].ratio;

            if (ratio > 0)
                scale.low = fmin(scale.low, fmax(ratio * 0.8, 1e-3));
            if (isfinite(ratio))
                scale.high = fmax(scale.high, ratio * 1.3);
        }
    return scale;
}

static void draw_threshold(FILE *out, const struct mhcs_scale *y, double ratio, const char *class,
                           const char *text)
{
    const double at = mhcs_scale_at(y, ratio);

    fprintf(out,
            "<path class=\"threshold %s\" d=\"M%d %.1fH%d\"/>"
            "<text class=\"tick %s\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
            class, MHCS_CHART_LEFT, at, MHCS_CHART_RIGHT, class, MHCS_CHART_RIGHT, at - 3, text);
}

static void draw_line(FILE *out, const struct mhcs_ratio_chart *chart, const struct mhcs_scale *y,
                      enum mhcs_phase phase)
{
    char step = 'M';

    fprintf(out, "<path class=\"line %s\" d=\"", mhcs_phase_name(phase));
    for (size_t i = 0; i < chart->points[phase]; i++) {
        const struct mhcs_point *point = &chart->point[phase][i];

        if (isnan(point->ratio))
            continue;
        fprintf(out, "%c%.1f %.1f", step, mhcs_scale_at(&chart->x, point->x),
                mhcs_scale_at(y, point->ratio));
        step = 'L';
    }
    fputs("\"/>\n", out);
}

/* A circle for prefill, a square for decode; hollow where there are too few rows to judge. */
static void draw_point(FILE *out, const struct mhcs_scale *x_scale,
                       const struct mhcs_scale *y_scale, const struct mhcs_point *point,
                       enum mhcs_phase phase)
{
    const double x = mhcs_scale_at(x_scale, point->x), y = mhcs_scale_at(y_scale, point->ratio);
    const double error = isnan(point->error) ? 0 : point->error;
    const double above = mhcs_scale_at(y_scale, point->ratio + error);
    const double below = mhcs_scale_at(y_scale, fmax(point->ratio - error, y_scale->low));
    char class[40];

    snprintf(class, sizeof(class), "point %s%s", mhcs_phase_name(phase),
             point->rows < MHCS_MIN_ROWS ? " few" : "");
    if (phase == MHCS_PREFILL)
        mhcs_chart_mark(out, class, point->text,
                        "<path d=\"M%.1f %.1fV%.1f\"/><circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", x,
                        above, below, x, y);
    else
        mhcs_chart_mark(out, class, point->text,
                        "<path d=\"M%.1f %.1fV%.1f\"/>"
                        "<rect x=\"%.1f\" y=\"%.1f\" width=\"5\" height=\"5\"/>",
                        x, above, below, x - 2.5, y - 2.5);
}

/* NaN and Inf have no R: a mark at the upper edge. */
static void draw_nonfinite(FILE *out, const struct mhcs_scale *x_scale,
                           const struct mhcs_point *point)
{
    const double x = mhcs_scale_at(x_scale, point->x);

    mhcs_chart_mark(out, "nonfinite", point->text, "<path d=\"M%.1f %dl-4 -7h8z\"/>", x,
                    MHCS_CHART_TOP + 7);
}

static void draw_legend(FILE *out, const struct mhcs_ratio_chart *chart)
{
    fputs("<g class=\"legend\" aria-hidden=\"true\">", out);
    if (chart->points[MHCS_PREFILL] > 0)
        fprintf(out,
                "<g class=\"point prefill\"><circle cx=\"%d\" cy=\"%d\" r=\"3\"/></g>"
                "<text class=\"tick\" x=\"%d\" y=\"%d\">prefill</text>",
                MHCS_CHART_LEFT + 4, HEIGHT - 11, MHCS_CHART_LEFT + 12, HEIGHT - 7);
    if (chart->points[MHCS_DECODE] > 0)
        fprintf(out,
                "<g class=\"point decode\"><rect x=\"%d\" y=\"%d\" width=\"5\" height=\"5\"/></g>"
                "<text class=\"tick\" x=\"%d\" y=\"%d\">decode</text>",
                MHCS_CHART_LEFT + 61, HEIGHT - 14, MHCS_CHART_LEFT + 72, HEIGHT - 7);
    fputs("</g>\n", out);
}

void mhcs_chart_ratio(FILE *out, const struct mhcs_ratio_chart *chart)
{
    const struct mhcs_scale y = ratio_scale(chart);

    mhcs_chart_begin(out, chart->id, HEIGHT, chart->title, chart->description);
    mhcs_chart_grid_y(out, &y);
    chart->ticks(out, chart, BOTTOM);
    mhcs_chart_title_x(out, BOTTOM, chart->x_title);
    draw_threshold(out, &y, 1, "", "");
    draw_threshold(out, &y, MHCS_PASS_RATIO, "warn", "above: WARN");
    draw_threshold(out, &y, MHCS_WARN_RATIO, "fail", "above: FAIL");
    for (int p = 0; p < MHCS_PHASES; p++) {
        draw_line(out, chart, &y, (enum mhcs_phase)p);
        for (size_t i = 0; i < chart->points[p]; i++) {
            const struct mhcs_point *point = &chart->point[p][i];

            if (!isnan(point->ratio))
                draw_point(out, &chart->x, &y, point, (enum mhcs_phase)p);
            if (point->nonfinite > 0)
                draw_nonfinite(out, &chart->x, point);
        }
    }
    draw_legend(out, chart);
    mhcs_chart_end(out, chart->id, "");
}
