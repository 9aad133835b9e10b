/* SPDX-License-Identifier: Apache-2.0 */
/* Errors over time: chance makes no trend, a step and a slope are found with their size. And the
 * rows drawn of a site do not depend on their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "tests/report/one_row.h"
#include "tests/report/random.h"
#include "tools/report/samples.h"
#include "tools/report/trend.h"

#define ROWS   4000
#define STEP   INT64_C(1000000000) /* ns from row to row */
#define BEGIN  INT64_C(1700000000000000000)
#define FACTOR 1.4

/* R of a row, 0 <= at < 1 over the whole time. */
static double flat(double at)
{
    return 1;
}

static double with_step(double at)
{
    return at < 0.7 ? 1 : FACTOR;
}

static double with_small_step(double at)
{
    return at < 0.7 ? 1 : 1.07;
}

static double sloping(double at)
{
    return 1 + 0.3 * at;
}

static void feed(struct mhcs_timeline *timeline, uint64_t *state, double (*ratio)(double at))
{
    mhcs_timeline_init(timeline);
    for (int i = 0; i < ROWS; i++) {
        struct mhcs_timeline_bin *bin;
        struct mhcs_look look;
        double squares = 0;

        for (int c = 0; c < 24; c++) {
            const double g = gaussian(state);

            squares += g * g / 24;
        }
        assert_int_equal(mhcs_timeline_find(timeline, BEGIN + i * STEP, &bin), 0);
        look_at_one_row(&look, 1e-3 * ratio((double)i / ROWS) * sqrt(squares), 1e-3, false);
        mhcs_moment_add(&bin->moment[MHCS_DECODE][MHCS_OPERANDS], &look);
    }
}

static void chance_is_rarely_a_trend_or_a_window_that_stands_out(void **unused)
{
    uint64_t state = test_seed("chance");
    int stand_out = 0, trends = 0;

    for (int run = 0; run < 100; run++) {
        struct mhcs_timeline timeline;
        struct mhcs_trend trend;

        feed(&timeline, &state, flat);
        mhcs_trend_measure(&timeline, MHCS_OPERANDS, &trend);
        assert_in_range(trend.tested, 10, MHCS_TREND_WINDOWS);
        stand_out += trend.stand_out > 0;
        trends += trend.fit[MHCS_DECODE].probability < MHCS_ALPHA;
        assert_true(isnan(trend.fit[MHCS_PREFILL].change));
        mhcs_timeline_clear(&timeline);
    }
    printf("of 100 runs: %d with a window that stands out, %d with a trend\n", stand_out, trends);
    assert_in_range(stand_out, 0, 4);
    assert_in_range(trends, 0, 5);
}

static void windows_behind_a_step_stand_out(void **unused)
{
    struct mhcs_timeline timeline;
    struct mhcs_trend trend;
    uint64_t state = test_seed("step");

    feed(&timeline, &state, with_step);
    mhcs_trend_measure(&timeline, MHCS_OPERANDS, &trend);
    for (size_t i = 1; i + 1 < trend.windows; i++) {
        const int64_t step = BEGIN + (int64_t)(0.7 * ROWS) * STEP;
        const bool behind = mhcs_trend_start(&trend, i) >= step;

        if (behind || mhcs_trend_start(&trend, i + 1) <= step)
            assert_int_equal(trend.window[MHCS_DECODE][i].stands_out, behind);
    }
    mhcs_timeline_clear(&timeline);
}

static void a_step_too_small_to_matter_does_not_stand_out(void **unused)
{
    struct mhcs_timeline timeline;
    struct mhcs_trend trend;
    uint64_t state = test_seed("small step");
    double least = 1;

    feed(&timeline, &state, with_small_step);
    mhcs_trend_measure(&timeline, MHCS_OPERANDS, &trend);
    for (size_t i = 0; i < trend.windows; i++)
        least = fmin(least, trend.window[MHCS_DECODE][i].probability);
    assert_true(least < MHCS_ALPHA / MHCS_TREND_WINDOWS); /* chance does not explain it */
    assert_int_equal(trend.stand_out, 0);
    mhcs_timeline_clear(&timeline);
}

static void a_slope_is_found_with_its_size(void **unused)
{
    struct mhcs_timeline timeline;
    struct mhcs_trend trend;
    uint64_t state = test_seed("slope");

    feed(&timeline, &state, sloping);
    mhcs_trend_measure(&timeline, MHCS_OPERANDS, &trend);
    /* From 1 to 1.3, of a mean of about 1.15. */
    assert_true(fabs(trend.fit[MHCS_DECODE].change - 0.3 / 1.15) < 0.06);
    assert_true(trend.fit[MHCS_DECODE].probability < 1e-6);
    mhcs_timeline_clear(&timeline);
}

static void without_rows_there_is_nothing(void **unused)
{
    struct mhcs_timeline timeline;
    struct mhcs_trend trend;

    mhcs_timeline_init(&timeline);
    mhcs_trend_measure(&timeline, MHCS_OPERANDS, &trend);
    assert_int_equal(trend.windows, 0);
    assert_true(isnan(trend.fit[MHCS_DECODE].change));
}

#define DRAWN 500
#define PARTS 4

static void rows_drawn_in_any_order_and_merge_are_the_same(void **unused)
{
    static struct mhcs_row_result results[DRAWN];
    static struct mhcs_record records[DRAWN];
    static size_t order[DRAWN], part_order[PARTS];
    static struct mhcs_samples whole, part[PARTS], merged;
    uint64_t state = test_seed("samples");

    for (int i = 0; i < DRAWN; i++) {
        for (int path = 0; path < MHCS_PATHS; path++)
            for (int c = 0; c < MHCS_COEFFICIENTS; c++)
                results[i].raw[path][c] = (float)gaussian(&state);
        results[i].rms = 1;
        if (i % 50 == 0)
            results[i].raw[MHCS_PRODUCTION][3] = NAN;
        records[i] = (struct mhcs_record){
            .time = i / 16, .call = i / 16, .row = i % 16, .result = &results[i]};
        mhcs_samples_add(&whole, &records[i]);
    }
    assert_int_equal(whole.count, MHCS_SAMPLES);
    for (uint32_t i = 0; i < whole.count; i++)
        assert_true(isfinite(whole.row[i].production[3]));
    shuffle(&state, order, DRAWN);
    shuffle(&state, part_order, PARTS);
    for (int i = 0; i < DRAWN; i++)
        mhcs_samples_add(&part[pick(&state, PARTS)], &records[order[i]]);
    for (int p = 0; p < PARTS; p++)
        mhcs_samples_merge(&merged, &part[part_order[p]]);
    assert_memory_equal(&merged, &whole, sizeof(whole));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chance_is_rarely_a_trend_or_a_window_that_stands_out),
        cmocka_unit_test(windows_behind_a_step_stand_out),
        cmocka_unit_test(a_step_too_small_to_matter_does_not_stand_out),
        cmocka_unit_test(a_slope_is_found_with_its_size),
        cmocka_unit_test(without_rows_there_is_nothing),
        cmocka_unit_test(rows_drawn_in_any_order_and_merge_are_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
