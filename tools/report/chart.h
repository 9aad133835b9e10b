/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as inline SVG, 360 units wide: about the width of a phone, so that their text is legible
 * there and they stand side by side elsewhere.
 *
 * A mark is what can be pointed at or reached with the tab key; its text is then shown in the strip
 * at the top of the chart, by CSS, and is its name for a screen reader. */
#ifndef MHCS_REPORT_CHART_H
#define MHCS_REPORT_CHART_H

#include <stdio.h>

#include "tools/report/report.h"

#define MHCS_CHART_WIDTH 360
#define MHCS_CHART_LEFT  46 /* where plots begin and end */
#define MHCS_CHART_RIGHT 346
#define MHCS_CHART_TOP   24

/* From values to places. */
struct mhcs_scale {
    double low, high; /* low < high; both above 0 if log */
    double from, to;  /* of low and of high */
    bool log;
};
double mhcs_scale_at(const struct mhcs_scale *scale, double value); /* cut to the range */

/* <figure><svg>; `id` is ours and the only one of this name, title and description are plain ASCII
 * of ours or of a trace. Marks come between. */
void mhcs_chart_begin(FILE *out, const char *id, int height, const char *title,
                      const char *description);
/* `note` goes under the chart, may be "". */
void mhcs_chart_end(FILE *out, const char *id, const char *note);

/* Lines across the plot with their values at the left: powers of ten, and 2 and 5 times those where
 * they are few. */
void mhcs_chart_grid_y(FILE *out, const struct mhcs_scale *y);
void mhcs_chart_ticks_x(FILE *out, const struct mhcs_scale *x, double bottom);
void mhcs_chart_label_x(FILE *out, double x, double bottom, const char *text);
void mhcs_chart_title_x(FILE *out, double bottom, const char *text);

/* `shape` is a format of SVG elements with numbers alone. */
__attribute__((format(printf, 4, 5), nonnull(4))) void mhcs_chart_mark(FILE *out, const char *class,
                                                                       const char *text,
                                                                       const char *shape, ...);

/* ---- R against something: sizes of call, or time ---- */

#define MHCS_POINT_BYTES 80
struct mhcs_point {
    double x, ratio; /* NaN: not drawn */
    double error;    /* standard error of the ratio; NaN: unknown */
    uint64_t rows, nonfinite;
    char text[MHCS_POINT_BYTES];
};

/* One line of points per phase, in order of x, with the thresholds of the verdict. */
struct mhcs_ratio_chart {
    const char *id, *title, *description, *x_title;
    struct mhcs_scale x;
    const struct mhcs_point *point[MHCS_PHASES];
    size_t points[MHCS_PHASES];
    void (*ticks)(FILE *out, const struct mhcs_ratio_chart *chart, double bottom);
};
void mhcs_chart_ratio(FILE *out, const struct mhcs_ratio_chart *chart);

#endif
