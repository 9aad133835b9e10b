/* SPDX-License-Identifier: Apache-2.0 */
/* Windows from the bins of a timeline, and their tests. */
#include "tools/report/trend.h"

#include <math.h>

int64_t mhcs_trend_start(const struct mhcs_trend *trend, size_t window)
{
    return (trend->first + (int64_t)window) * (INT64_C(1) << trend->shift);
}

/* The least number of rows that a phase has for each of so many windows, if it has any. */
static double rows_for_each(const struct mhcs_timeline *timeline, enum mhcs_path reference,
                            size_t windows)
{
    uint64_t rows[MHCS_PHASES] = {0};
    double least = INFINITY;

    for (int64_t i = timeline->first; i <= timeline->last; i++) {
        const struct mhcs_timeline_bin *bin = mhcs_timeline_bin(timeline, i);

        for (int p = 0; bin && p < MHCS_PHASES; p++)
            rows[p] += bin->moment[p][reference].rows;
    }
    for (int p = 0; p < MHCS_PHASES; p++)
        if (rows[p] > 0)
            least = fmin(least, (double)rows[p] / (double)windows);
    return least;
}

static size_t windows_of(const struct mhcs_timeline *timeline, uint32_t more)
{
    return (size_t)((timeline->last >> more) - (timeline->first >> more)) + 1;
}

/* So long that they are not too many, and if more than five are left, can be tested. */
static uint32_t choose_length(const struct mhcs_timeline *timeline, enum mhcs_path reference)
{
    uint32_t more = 0;

    while (windows_of(timeline, more) > MHCS_TREND_WINDOWS ||
           (windows_of(timeline, more) > 5 &&
            rows_for_each(timeline, reference, windows_of(timeline, more)) < 1.25 * MHCS_MIN_ROWS))
        more++;
    return more;
}

static void fill_windows(const struct mhcs_timeline *timeline, enum mhcs_path reference,
                         struct mhcs_trend *trend)
{
    const uint32_t more = choose_length(timeline, reference);

    trend->shift = timeline->shift + more;
    trend->first = timeline->first >> more;
    trend->windows = windows_of(timeline, more);
    for (int64_t i = timeline->first; i <= timeline->last; i++) {
        const struct mhcs_timeline_bin *bin = mhcs_timeline_bin(timeline, i);

        for (int p = 0; bin && p < MHCS_PHASES; p++)
            mhcs_moment_merge(&trend->window[p][(i >> more) - trend->first].moment,
                              &bin->moment[p][reference]);
    }
}

/* ---- each window against the middle one ---- */

static const struct mhcs_moments *excess_of(const struct mhcs_trend *trend, int phase, size_t i)
{
    return &trend->window[phase][i].moment.excess;
}

/* Of those with rows enough, the one that as many lie below as above. NULL: there is none. */
static const struct mhcs_moments *middle_of(const struct mhcs_trend *trend, int phase)
{
    const struct mhcs_moments *sorted[MHCS_TREND_WINDOWS];
    size_t count = 0;

    for (size_t i = 0; i < trend->windows; i++) {
        const struct mhcs_moments *excess = excess_of(trend, phase, i);
        size_t at = count;

        if (excess->count < MHCS_MIN_ROWS)
            continue;
        for (; at > 0 && mhcs_moments_mean(excess) < mhcs_moments_mean(sorted[at - 1]); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = excess;
        count++;
    }
    return count > 0 ? sorted[count / 2] : NULL;
}

static void test_window(struct mhcs_window *window, const struct mhcs_moments *middle)
{
    const struct mhcs_moments *here = &window->moment.excess;
    double error;

    window->probability = NAN;
    if (here->count < MHCS_MIN_ROWS || here == middle)
        return;
    error = hypot(mhcs_moments_standard_error(here), mhcs_moments_standard_error(middle));
    window->probability =
        error > 0
            ? erfc(fabs(mhcs_moments_mean(here) - mhcs_moments_mean(middle)) / error / sqrt(2))
            : 1;
    /* Until the correction: whether the difference is large enough to be one. */
    window->stands_out =
        fabs(log(mhcs_moments_mean(here) / mhcs_moments_mean(middle))) / 2 > log(MHCS_CHANGE_MIN);
}

static void test_windows(struct mhcs_trend *trend)
{
    struct mhcs_test tests[MHCS_PHASES * MHCS_TREND_WINDOWS];

    for (int p = 0; p < MHCS_PHASES; p++) {
        const struct mhcs_moments *middle = middle_of(trend, p);

        for (size_t i = 0; i < trend->windows; i++) {
            test_window(&trend->window[p][i], middle);
            if (!isnan(trend->window[p][i].probability))
                tests[trend->tested++] =
                    (struct mhcs_test){.probability = trend->window[p][i].probability,
                                       .group = (size_t)p * MHCS_TREND_WINDOWS + i};
        }
    }
    mhcs_holm(tests, trend->tested, MHCS_ALPHA);
    for (size_t i = 0; i < trend->tested; i++) {
        struct mhcs_window *window =
            &trend
                 ->window[tests[i].group / MHCS_TREND_WINDOWS][tests[i].group % MHCS_TREND_WINDOWS];

        window->stands_out = window->stands_out && tests[i].significant;
        trend->stand_out += window->stands_out;
    }
}

/* ---- a line through the windows ---- */

/* Sums over windows of weight times 1, x, y, x^2, x y, y^2; x counts windows. */
struct sums {
    double w, x, y, xx, xy, yy;
    size_t count;
};

static struct sums add_up(const struct mhcs_trend *trend, int phase)
{
    struct sums sums = {0};

    for (size_t i = 0; i < trend->windows; i++) {
        const struct mhcs_moments *excess = &trend->window[phase][i].moment.excess;
        const double error = mhcs_moments_standard_error(excess);
        const double y = mhcs_moments_mean(excess), x = (double)i;

        if (excess->count < MHCS_MIN_ROWS || !(error > 0))
            continue;
        sums.w += 1 / (error * error);
        sums.x += x / (error * error);
        sums.y += y / (error * error);
        sums.xx += x * x / (error * error);
        sums.xy += x * y / (error * error);
        sums.yy += y * y / (error * error);
        sums.count++;
    }
    return sums;
}

static struct mhcs_line_fit fit_line(const struct mhcs_trend *trend, int phase)
{
    const struct sums s = add_up(trend, phase);
    const double determinant = s.w * s.xx - s.x * s.x, mean = s.y / s.w;
    struct mhcs_line_fit fit = {NAN, NAN, NAN};
    double slope, intercept, scatter;

    if (s.count < 3 || !(determinant > 0))
        return fit;
    slope = (s.w * s.xy - s.x * s.y) / determinant;
    intercept = (s.y - slope * s.x) / s.w;
    scatter = (s.yy - intercept * s.y - slope * s.xy) / (double)(s.count - 2); /* chi^2 / freedom */
    /* R is the root of the mean of q: half its relative change. */
    fit.change = slope * (double)(trend->windows - 1) / (2 * mean);
    fit.error =
        sqrt(s.w / determinant * fmax(1, scatter)) * (double)(trend->windows - 1) / (2 * mean);
    fit.probability = erfc(fabs(fit.change) / fit.error / sqrt(2));
    return fit;
}

void mhcs_trend_measure(const struct mhcs_timeline *timeline, enum mhcs_path reference,
                        struct mhcs_trend *ret_trend)
{
    *ret_trend = (struct mhcs_trend){0};
    if (timeline->first <= timeline->last) {
        fill_windows(timeline, reference, ret_trend);
        test_windows(ret_trend);
    }
    for (int p = 0; p < MHCS_PHASES; p++)
        ret_trend->fit[p] = fit_line(ret_trend, p);
}
