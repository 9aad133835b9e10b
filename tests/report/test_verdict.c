/* SPDX-License-Identifier: Apache-2.0 */
/* Judgement of groups: clean runs stay clean, planted excess is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "tests/report/one_row.h"
#include "tests/report/random.h"
#include "tools/report/verdict.h"

#define GROUPS 172 /* 86 sites, 2 phases */
#define ROWS   80

static struct mhcs_evidence evidence[GROUPS];
static struct mhcs_judgement judgements[GROUPS];

/* Chi-square with 2n degrees of freedom. */
static double chi_square(uint64_t *state, int n)
{
    double product = 1;

    for (int i = 0; i < n; i++)
        product *= uniform(state);
    return -2 * log(product);
}

/* (rel / expected)^2 of a row of rounded operands: an F distribution of mean 1. */
static double clean_q(uint64_t *state, int coefficients)
{
    const double f = chi_square(state, coefficients / 2) / chi_square(state, coefficients / 2);

    return f * (coefficients - 2.0) / coefficients;
}

static void add_q(struct mhcs_evidence *group, double q, double expected)
{
    group->rows++;
    mhcs_exact_add(&group->rel_squares, q * expected * expected);
    group->traits.elements += 24;
    group->traits.over_bf16 += 8;
    group->traits.over_f16 += 20;
    group->traits.out_f32 += 24;
    mhcs_moments_add(&group->excess, q);
    group->rest_rows++;
    mhcs_exact_add(&group->rest, q);
    group->expected_rank = mhcs_size_rank(expected);
}

static void add_clean(struct mhcs_evidence *group, uint64_t *state, int rows, double scale)
{
    for (int r = 0; r < rows; r++)
        add_q(group, scale * scale * clean_q(state, 24), 2.4e-3);
}

static void judge(size_t groups)
{
    const struct mhcs_evidence *pointers[GROUPS];

    for (size_t i = 0; i < groups; i++)
        pointers[i] = &evidence[i];
    assert_int_equal(mhcs_judge(pointers, groups, judgements), 0);
}

static void two_hundred_clean_runs_raise_no_alarm(void **unused)
{
    uint64_t state = test_seed("clean runs");

    for (int run = 0; run < 200; run++) {
        memset(evidence, 0, sizeof(evidence));
        for (size_t i = 0; i < GROUPS; i++)
            add_clean(&evidence[i], &state, ROWS, 1);
        judge(GROUPS);
        for (size_t i = 0; i < GROUPS; i++)
            if (judgements[i].status != MHCS_PASS)
                fail_msg("run %d: group %zu is %s, R %g", run, i,
                         mhcs_status_name(judgements[i].status), judgements[i].ratio);
    }
}

/* The squares of a head's 4 coefficients have no variance; by luck alone R exceeds the threshold in
 * some groups of every run. Only the significance test keeps them quiet. */
static void heavy_tails_raise_no_alarm_although_ratios_exceed_the_threshold(void **unused)
{
    uint64_t state = test_seed("heavy tails");
    int above = 0, alarms = 0;

    for (int run = 0; run < 200; run++) {
        memset(evidence, 0, sizeof(evidence));
        for (size_t i = 0; i < GROUPS; i++)
            for (int r = 0; r < ROWS; r++)
                add_q(&evidence[i], clean_q(&state, 4), 2.4e-3);
        judge(GROUPS);
        for (size_t i = 0; i < GROUPS; i++) {
            above += judgements[i].ratio > MHCS_PASS_RATIO;
            alarms += judgements[i].status != MHCS_PASS;
        }
    }
    assert_true(above > 200);
    assert_int_equal(alarms, 0);
}

static void a_planted_excess_is_found_where_it_is_and_nowhere_else(void **unused)
{
    uint64_t state = test_seed("planted");

    memset(evidence, 0, sizeof(evidence));
    for (size_t i = 0; i < GROUPS; i++)
        add_clean(&evidence[i], &state, ROWS, i == 17 ? 2 : i == 101 ? 5 : 1);
    judge(GROUPS);
    for (size_t i = 0; i < GROUPS; i++) {
        const enum mhcs_status status = i == 17 ? MHCS_WARN : i == 101 ? MHCS_FAIL : MHCS_PASS;

        assert_int_equal(judgements[i].status, status);
    }
    assert_int_equal(judgements[17].cause, MHCS_CAUSE_RATIO);
    assert_true(fabs(judgements[17].ratio - 2) < 0.3);
    assert_true(fabs(judgements[101].ratio - 5) < 0.8);
}

static void too_few_rows_are_insufficient_whatever_they_say(void **unused)
{
    uint64_t state = test_seed("few");

    memset(evidence, 0, sizeof(evidence));
    add_clean(&evidence[0], &state, 63, 1);
    add_clean(&evidence[1], &state, 63, 20);
    add_clean(&evidence[2], &state, 64, 1);
    judge(4);
    assert_int_equal(judgements[0].status, MHCS_INSUFFICIENT);
    assert_int_equal(judgements[1].status, MHCS_INSUFFICIENT);
    assert_int_equal(judgements[1].cause, MHCS_CAUSE_ROWS);
    assert_int_equal(judgements[2].status, MHCS_PASS);
    assert_int_equal(judgements[3].status, MHCS_INSUFFICIENT); /* no row at all */
}

static void tf32_under_a_declared_fp32_fails_by_its_class(void **unused)
{
    uint64_t state = test_seed("tf32");

    memset(evidence, 0, sizeof(evidence));
    for (int r = 0; r < 64; r++)
        add_q(&evidence[0], clean_q(&state, 24) * pow(2.1e-4 / 1.6e-6, 2), 1.6e-6);
    judge(1);
    assert_int_equal(judgements[0].status, MHCS_FAIL);
    assert_int_equal(judgements[0].cause, MHCS_CAUSE_CLASS);
    assert_int_equal(mhcs_evidence_class(&evidence[0]), MHCS_CLASS_TF32);
}

/* Nearly four times the expectation of a tensor core: WARN by size, but a coarser kind. */
static void a_coarser_class_fails_even_within_the_ratio_that_warns(void **unused)
{
    uint64_t state = test_seed("class");

    memset(evidence, 0, sizeof(evidence));
    for (int r = 0; r < 200; r++)
        add_q(&evidence[0], clean_q(&state, 24) * pow(1.1e-4 / 3e-5, 2), 3e-5);
    judge(1);
    assert_true(judgements[0].ratio < MHCS_WARN_RATIO);
    assert_int_equal(judgements[0].status, MHCS_FAIL);
}

static void one_row_with_nan_in_production_alone_fails(void **unused)
{
    uint64_t state = test_seed("nan");

    memset(evidence, 0, sizeof(evidence));
    add_clean(&evidence[0], &state, ROWS, 1);
    evidence[0].nonfinite = 1;
    judge(1);
    assert_int_equal(judgements[0].status, MHCS_FAIL);
    assert_int_equal(judgements[0].cause, MHCS_CAUSE_NONFINITE);
}

static void rows_without_an_expectation_never_pass(void **unused)
{
    memset(evidence, 0, sizeof(evidence));
    evidence[0].rows = 1000;
    judge(1);
    assert_int_equal(judgements[0].status, MHCS_INSUFFICIENT);
    assert_int_equal(judgements[0].cause, MHCS_CAUSE_EXPECTATION);
}

static void add_wrong(struct mhcs_evidence *group, int rows)
{
    struct mhcs_look look;

    look_at_one_row(&look, 0.3, 2.4e-3, true);
    for (int r = 0; r < rows; r++)
        mhcs_evidence_add(group, &look);
}

/* Wrong rows do not make the mean significant, yet are no rounding. */
static void a_few_wrong_rows_warn_and_more_fail(void **unused)
{
    uint64_t state = test_seed("wrong rows");

    memset(evidence, 0, sizeof(evidence));
    add_clean(&evidence[0], &state, 1000, 1);
    add_wrong(&evidence[0], MHCS_WRONG_ROWS - 1);
    add_clean(&evidence[1], &state, 1000, 1);
    add_wrong(&evidence[1], MHCS_WRONG_ROWS);
    judge(2);
    assert_false(judgements[0].significant);
    assert_int_equal(judgements[0].status, MHCS_WARN);
    assert_int_equal(judgements[0].cause, MHCS_CAUSE_ISOLATED);
    assert_int_equal(judgements[1].status, MHCS_FAIL);
    assert_int_equal(judgements[1].cause, MHCS_CAUSE_WRONG);
    assert_int_equal(judgements[1].class, MHCS_CLASS_WRONG_VALUES);
}

/* Where the rows that are not off are as bad as they can be, the error is everybody's. */
static void rows_beyond_the_limit_of_an_excess_that_all_share_are_not_wrong_rows(void **unused)
{
    uint64_t state = test_seed("excess");

    memset(evidence, 0, sizeof(evidence));
    add_clean(&evidence[0], &state, 1000, 5);
    add_wrong(&evidence[0], 300);
    evidence[0].rel_squares = (struct mhcs_exact){0};
    judge(1);
    assert_int_not_equal(judgements[0].cause, MHCS_CAUSE_WRONG);
}

static void partial_sums_that_no_call_allowed_warn(void **unused)
{
    uint64_t state = test_seed("partials");

    memset(evidence, 0, sizeof(evidence));
    for (int i = 0; i < 2; i++) {
        add_clean(&evidence[i], &state, 1000, 1);
        evidence[i].traits.out_f32 = 0;
        evidence[i].traits.narrow = evidence[i].traits.elements;
        evidence[i].reduced = i == 1 ? 1000 : 0;
    }
    judge(2);
    assert_int_equal(judgements[0].class, MHCS_CLASS_BF16_PARTIALS);
    assert_int_equal(judgements[0].status, MHCS_WARN);
    assert_int_equal(judgements[0].cause, MHCS_CAUSE_KIND);
    assert_int_equal(judgements[1].status, MHCS_PASS);
}

static void holm_rejects_as_in_the_textbook(void **unused)
{
    /* At 0.05: 0.01 <= 0.05/4, 0.013 <= 0.05/3, 0.03 > 0.05/2 stops, so 0.04 stays too. */
    struct mhcs_test tests[] = {
        {0.03, 0, false}, {0.01, 1, false}, {0.04, 2, false}, {0.013, 3, false}};
    bool significant[4];

    mhcs_holm(tests, 4, 0.05);
    for (int i = 0; i < 4; i++)
        significant[tests[i].group] = tests[i].significant;
    assert_false(significant[0]);
    assert_true(significant[1]);
    assert_false(significant[2]);
    assert_true(significant[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_hundred_clean_runs_raise_no_alarm),
        cmocka_unit_test(heavy_tails_raise_no_alarm_although_ratios_exceed_the_threshold),
        cmocka_unit_test(a_planted_excess_is_found_where_it_is_and_nowhere_else),
        cmocka_unit_test(too_few_rows_are_insufficient_whatever_they_say),
        cmocka_unit_test(tf32_under_a_declared_fp32_fails_by_its_class),
        cmocka_unit_test(a_coarser_class_fails_even_within_the_ratio_that_warns),
        cmocka_unit_test(one_row_with_nan_in_production_alone_fails),
        cmocka_unit_test(rows_without_an_expectation_never_pass),
        cmocka_unit_test(a_few_wrong_rows_warn_and_more_fail),
        cmocka_unit_test(rows_beyond_the_limit_of_an_excess_that_all_share_are_not_wrong_rows),
        cmocka_unit_test(partial_sums_that_no_call_allowed_warn),
        cmocka_unit_test(holm_rejects_as_in_the_textbook),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
