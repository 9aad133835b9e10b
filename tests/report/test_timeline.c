/* SPDX-License-Identifier: Apache-2.0 */
/* Errors over time: no order of rows or files shows, and no row is in another's bin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "tests/report/one_row.h"
#include "tests/report/random.h"
#include "tools/report/timeline.h"

#define ROWS  3000
#define PARTS 5

struct row {
    int64_t time;
    float rel;
    double expected;
};

/* About a day's, an hour's or a second's worth, some of it before 1970; every tenth row without an
 * expectation. */
static void make_rows(uint64_t *state, struct row *rows, double seconds)
{
    const int64_t start = (int64_t)(uniform(state) * 4e18) - (int64_t)2e18;

    for (int i = 0; i < ROWS; i++)
        rows[i] = (struct row){.time = start + (int64_t)(uniform(state) * seconds * 1e9),
                               .rel = (float)uniform(state),
                               .expected = i % 10 ? 0.3 : NAN};
}

static void add(struct mhcs_timeline *timeline, const struct row *row)
{
    struct mhcs_timeline_bin *bin;
    struct mhcs_look look;

    look_at_one_row(&look, (double)row->rel, row->expected, false);
    assert_int_equal(mhcs_timeline_find(timeline, row->time, &bin), 0);
    mhcs_moment_add(&bin->moment[MHCS_DECODE][MHCS_OPERANDS], &look);
}

static void assert_same(const struct mhcs_timeline *a, const struct mhcs_timeline *b)
{
    assert_int_equal(a->shift, b->shift);
    assert_int_equal(a->first, b->first);
    assert_int_equal(a->last, b->last);
    for (int64_t i = a->first; i <= a->last; i++) {
        const struct mhcs_timeline_bin *left = mhcs_timeline_bin(a, i),
                                       *right = mhcs_timeline_bin(b, i);

        assert_int_equal(left != NULL, right != NULL);
        if (left)
            assert_memory_equal(left, right, sizeof(*left));
    }
}

static void any_order_of_rows_and_of_merging_gives_the_same_bytes(void **unused)
{
    static const double seconds[] = {1e-9, 0.5, 3600, 86400, 1e9};
    static struct row rows[ROWS];
    static size_t order[ROWS];
    uint64_t state = test_seed("order");

    for (size_t s = 0; s < sizeof(seconds) / sizeof(seconds[0]); s++) {
        struct mhcs_timeline in_order, parts[PARTS], merged;

        make_rows(&state, rows, seconds[s]);
        shuffle(&state, order, ROWS);
        mhcs_timeline_init(&in_order);
        mhcs_timeline_init(&merged);
        for (size_t i = 0; i < PARTS; i++)
            mhcs_timeline_init(&parts[i]);
        for (size_t i = 0; i < ROWS; i++) {
            add(&in_order, &rows[i]);
            add(&parts[pick(&state, PARTS - 1)], &rows[order[i]]); /* the last one stays empty */
        }
        for (size_t i = 0; i < PARTS; i++)
            assert_int_equal(mhcs_timeline_merge(&merged, &parts[(i + 3) % PARTS]), 0);
        assert_same(&merged, &in_order);
        mhcs_timeline_clear(&in_order);
        mhcs_timeline_clear(&merged);
        for (size_t i = 0; i < PARTS; i++)
            mhcs_timeline_clear(&parts[i]);
    }
}

static void a_bin_holds_the_rows_of_its_time_and_no_others(void **unused)
{
    static struct row rows[ROWS];
    uint64_t state = test_seed("bins"), found = 0;
    struct mhcs_timeline timeline;

    make_rows(&state, rows, 7200);
    mhcs_timeline_init(&timeline);
    for (int i = 0; i < ROWS; i++)
        add(&timeline, &rows[i]);
    for (int64_t index = timeline.first; index <= timeline.last; index++) {
        const int64_t start = mhcs_timeline_start(&timeline, index),
                      end = mhcs_timeline_start(&timeline, index + 1);
        const struct mhcs_timeline_bin *bin = mhcs_timeline_bin(&timeline, index);
        double squares = 0, largest = 0;
        uint64_t count = 0, known = 0;

        for (int i = 0; i < ROWS; i++)
            if (rows[i].time >= start && rows[i].time < end) {
                count++;
                known += isnan(rows[i].expected) ? 0 : 1;
                squares += (double)rows[i].rel * rows[i].rel;
                largest = fmax(largest, rows[i].rel);
            }
        assert_int_equal(bin != NULL, count > 0);
        if (!bin)
            continue;
        found += count;
        assert_int_equal(bin->moment[MHCS_DECODE][MHCS_OPERANDS].rows, count);
        assert_int_equal(bin->moment[MHCS_DECODE][MHCS_OPERANDS].excess.count, known);
        assert_true(bin->moment[MHCS_DECODE][MHCS_OPERANDS].max == (float)largest);
        assert_true(fabs(mhcs_moment_rms(&bin->moment[MHCS_DECODE][MHCS_OPERANDS]) -
                         sqrt(squares / (double)count)) < 1e-12);
        assert_int_equal(bin->moment[MHCS_PREFILL][MHCS_OPERANDS].rows, 0);
    }
    assert_int_equal(found, ROWS);
    mhcs_timeline_clear(&timeline);
}

/* Half the length would not hold them. */
static void bins_are_as_short_as_their_number_allows(void **unused)
{
    static const int64_t spans[] = {1000, 2000000000, 3700000000000, INT64_MAX / 2};

    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
        const struct row rows[] = {{.time = 123456789, .expected = NAN},
                                   {.time = 123456789 + spans[i], .expected = NAN}};
        struct mhcs_timeline timeline;

        mhcs_timeline_init(&timeline);
        add(&timeline, &rows[1]);
        add(&timeline, &rows[0]);
        assert_true(timeline.last - timeline.first < MHCS_TIMELINE_BINS);
        if (timeline.shift > MHCS_TIMELINE_SHIFT_MIN)
            assert_true((rows[1].time >> (timeline.shift - 1)) -
                            (rows[0].time >> (timeline.shift - 1)) >=
                        MHCS_TIMELINE_BINS);
        mhcs_timeline_clear(&timeline);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_of_rows_and_of_merging_gives_the_same_bytes),
        cmocka_unit_test(a_bin_holds_the_rows_of_its_time_and_no_others),
        cmocka_unit_test(bins_are_as_short_as_their_number_allows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
