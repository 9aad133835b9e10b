/* SPDX-License-Identifier: Apache-2.0 */
/* Frames, axes and marks; chart.h says what each promises. */
#include "tools/report/chart.h"

#include <math.h>
#include <stdarg.h>

#include "tools/report/html.h"

double mhcs_scale_at(const struct mhcs_scale *scale, double value)
{
    double share = scale->log ? log(value / scale->low) / log(scale->high / scale->low)
                              : (value - scale->low) / (scale->high - scale->low);

    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return scale->from + share * (scale->to - scale->from);
}

void mhcs_chart_begin(FILE *out, const char *id, int height, const char *title,
                      const char *description)
{
    fputs("<figure>\n", out);
    mhcs_html_element(out, "figcaption", "", title);
    fprintf(out, "<a class=\"skip\" href=\"#%s-end\">Skip the marks of this chart</a>\n", id);
    fprintf(out,
            "<svg viewBox=\"0 0 %d %d\" role=\"group\" aria-labelledby=\"%s-t\" "
            "aria-describedby=\"%s-d\">\n<title id=\"%s-t\">",
            MHCS_CHART_WIDTH, height, id, id, id);
    mhcs_html_text(out, title);
    fprintf(out, "</title>\n<desc id=\"%s-d\">", id);
    mhcs_html_text(out, description);
    fputs("</desc>\n", out);
}

void mhcs_chart_end(FILE *out, const char *id, const char *note)
{
    fprintf(out, "</svg>\n<p class=\"note\" id=\"%s-end\" tabindex=\"-1\">", id);
    mhcs_html_text(out, note);
    fputs("</p>\n</figure>\n", out);
}

/* "1e-3", "0.5", "20", "1e6" */
static void format_tick(double value, char text[16])
{
    if (value < 0.01 || value >= 10000)
        snprintf(text, 16, "%.0fe%d", value / pow(10, floor(log10(value) + 1e-9)),
                 (int)floor(log10(value) + 1e-9));
    else
        snprintf(text, 16, "%g", value);
}

/* 1, 2, 5, 10 ...; `next` steps through them. */
static double tick_at(const struct mhcs_scale *scale, int number)
{
    static const double steps[] = {1, 2, 5};
    const bool few = log10(scale->high / scale->low) < 2.5;
    const int decade = (int)floor(log10(scale->low)) + (few ? number / 3 : number);

    return (few ? steps[number % 3] : 1) * pow(10, decade);
}

void mhcs_chart_grid_y(FILE *out, const struct mhcs_scale *y)
{
    char text[16];

    for (int i = 0; tick_at(y, i) <= y->high; i++) {
        const double value = tick_at(y, i);
        const double at = mhcs_scale_at(y, value);

        if (value < y->low)
            continue;
        format_tick(value, text);
        fprintf(out,
                "<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
                "<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                MHCS_CHART_LEFT, at, MHCS_CHART_RIGHT, MHCS_CHART_LEFT - 4, at + 4, text);
    }
}

void mhcs_chart_label_x(FILE *out, double x, double bottom, const char *text)
{
    fprintf(out,
            "<path class=\"grid\" d=\"M%.1f %.1fv4\"/>"
            "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
            x, bottom, x, bottom + 15, text);
}

void mhcs_chart_ticks_x(FILE *out, const struct mhcs_scale *x, double bottom)
{
    char text[16];

    for (int i = 0; tick_at(x, i) <= x->high; i++) {
        const double value = tick_at(x, i);

        if (value < x->low)
            continue;
        format_tick(value, text);
        mhcs_chart_label_x(out, mhcs_scale_at(x, value), bottom, text);
    }
}

void mhcs_chart_title_x(FILE *out, double bottom, const char *text)
{
    fprintf(out, "<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
            MHCS_CHART_RIGHT, bottom + 29, text);
}

void mhcs_chart_mark(FILE *out, const char *class, const char *text, const char *shape, ...)
{
    va_list arguments;

    fprintf(out, "<g class=\"mark %s\" tabindex=\"0\" role=\"img\"><title>", class);
    mhcs_html_text(out, text);
    fputs("</title>", out);
    va_start(arguments, shape);
    vfprintf(out, shape, arguments);
    va_end(arguments);
    fputs("<text class=\"value\" aria-hidden=\"true\" x=\"0\" y=\"13\">", out);
    mhcs_html_text(out, text);
    fputs("</text></g>\n", out);
}
