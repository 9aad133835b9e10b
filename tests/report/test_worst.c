/* SPDX-License-Identifier: Apache-2.0 */
/* The worst rows: which ones they are follows from the rows, not from their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "tests/report/random.h"
#include "tools/report/collect.h"

#define ROWS  3000
#define PARTS 5
#define KEPT  40

static struct mhcs_row_result results[ROWS];
static struct mhcs_record records[ROWS];
static const char *files[ROWS];

/* Many rows share their value, and some of these their time. */
static void make_rows(uint64_t *state)
{
    static const char *const names[] = {"a.arrows.zst", "b.arrows.zst"};

    for (int i = 0; i < ROWS; i++) {
        struct mhcs_row_result *result = &results[i];

        *result = (struct mhcs_row_result){.nonfinite = 0};
        result->against[MHCS_OPERANDS].rel = (float)pick(state, 200) / 256;
        result->against[MHCS_CHECKPOINT].rel = (float)pick(state, 200) / 256;
        result->against[MHCS_OPERANDS].bias = (float)(uniform(state) - 0.5);
        result->raw[MHCS_PRODUCTION][0] = (float)i;
        records[i] = (struct mhcs_record){
            .time = (int64_t)pick(state, 50),
            .call = i / 16,
            .row = i % 16,
            .site_name = "site",
            .path = "bf16*bf16->bf16/f32",
            .checkpoint = true,
            .result = result,
        };
        files[i] = names[pick(state, 2)];
    }
}

static void start(struct mhcs_worst *worst, const char *metric)
{
    const size_t number = !strcmp(metric, "bias") ? MHCS_METRIC(bias) : MHCS_METRIC(rel);

    assert_int_equal(mhcs_worst_init(worst, KEPT, number, MHCS_OPERANDS), 0);
}

static void assert_same_rows(const struct mhcs_worst *a, const struct mhcs_worst *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_true(a->row[i].value == b->row[i].value);
        assert_true(a->row[i].result.raw[MHCS_PRODUCTION][0] ==
                    b->row[i].result.raw[MHCS_PRODUCTION][0]);
    }
}

static void any_order_and_any_merge_keep_the_same_rows(void **unused)
{
    static size_t order[ROWS], part_order[PARTS];
    uint64_t state = test_seed("order");
    struct mhcs_worst whole, part[PARTS], merged;

    make_rows(&state);
    start(&whole, "rel");
    for (int i = 0; i < ROWS; i++)
        mhcs_worst_add(&whole, &records[i], files[i]);
    mhcs_worst_sort(&whole);
    for (int round = 0; round < 10; round++) {
        start(&merged, "rel");
        for (int p = 0; p < PARTS; p++)
            start(&part[p], "rel");
        shuffle(&state, order, ROWS);
        shuffle(&state, part_order, PARTS);
        for (int i = 0; i < ROWS; i++)
            mhcs_worst_add(&part[pick(&state, PARTS)], &records[order[i]], files[order[i]]);
        for (int p = 0; p < PARTS; p++)
            mhcs_worst_merge(&merged, &part[part_order[p]]);
        mhcs_worst_sort(&merged);
        assert_same_rows(&merged, &whole);
        for (int p = 0; p < PARTS; p++)
            mhcs_worst_free(&part[p]);
        mhcs_worst_free(&merged);
    }
    mhcs_worst_free(&whole);
}

static int compare_floats(const void *left, const void *right)
{
    const float a = *(const float *)left, b = *(const float *)right;

    return (a < b) - (a > b);
}

static void the_rows_are_those_with_the_largest_magnitudes(void **unused)
{
    static float values[ROWS];
    uint64_t state = test_seed("largest");
    struct mhcs_worst worst;

    make_rows(&state);
    start(&worst, "bias");
    for (int i = 0; i < ROWS; i++) {
        mhcs_worst_add(&worst, &records[i], files[i]);
        values[i] = fabsf(results[i].against[MHCS_OPERANDS].bias);
    }
    mhcs_worst_sort(&worst);
    qsort(values, ROWS, sizeof(values[0]), compare_floats);
    assert_int_equal(worst.count, KEPT);
    for (size_t i = 0; i < KEPT; i++)
        assert_true(worst.row[i].value == values[i]);
    mhcs_worst_free(&worst);
}

static void nan_in_production_alone_is_worst_and_an_undefined_metric_is_none(void **unused)
{
    uint64_t state = test_seed("nan");
    struct mhcs_worst worst;

    make_rows(&state);
    results[7].nonfinite = MHCS_NONFINITE_PRODUCTION;
    results[7].against[MHCS_OPERANDS].rel = NAN;
    results[8].nonfinite = MHCS_NONFINITE_PRODUCTION | MHCS_NONFINITE_REFERENCE;
    results[8].against[MHCS_OPERANDS].rel = NAN;
    start(&worst, "rel");
    for (int i = 0; i < ROWS; i++)
        mhcs_worst_add(&worst, &records[i], files[i]);
    mhcs_worst_sort(&worst);
    assert_true(worst.row[0].result.raw[MHCS_PRODUCTION][0] == 7);
    assert_true(isinf(worst.row[0].value));
    assert_true(isfinite(worst.row[1].value));
    mhcs_worst_free(&worst);
}

static void without_a_checkpoint_a_row_is_not_ranked_against_it(void **unused)
{
    uint64_t state = test_seed("checkpoint");
    struct mhcs_worst worst[2];

    make_rows(&state);
    for (int i = 0; i < ROWS; i++)
        records[i].checkpoint = i % 2;
    assert_int_equal(mhcs_worst_init(&worst[0], KEPT, MHCS_METRIC(rel), MHCS_CHECKPOINT), 0);
    assert_int_equal(mhcs_worst_init(&worst[1], ROWS, MHCS_METRIC(rel), MHCS_PRODUCTION), 0);
    for (int i = 0; i < ROWS; i++)
        for (int w = 0; w < 2; w++)
            mhcs_worst_add(&worst[w], &records[i], files[i]);
    for (size_t i = 0; i < worst[0].count; i++)
        assert_true(worst[0].row[i].record.checkpoint);
    assert_int_equal(worst[1].count, ROWS);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(worst[1].row[i].reference,
                         worst[1].row[i].record.checkpoint ? MHCS_CHECKPOINT : MHCS_OPERANDS);
    mhcs_worst_free(&worst[0]);
    mhcs_worst_free(&worst[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_and_any_merge_keep_the_same_rows),
        cmocka_unit_test(the_rows_are_those_with_the_largest_magnitudes),
        cmocka_unit_test(nan_in_production_alone_is_worst_and_an_undefined_metric_is_none),
        cmocka_unit_test(without_a_checkpoint_a_row_is_not_ranked_against_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
