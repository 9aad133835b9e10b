/* SPDX-License-Identifier: Apache-2.0 */
/* From rows to the conclusion: rows are fed directly, as the reader would hand them over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "tests/report/random.h"
#include "tests/trace/make_trace.h"
#include "tools/report/report.h"

/* One row, still to be changed by a test. */
struct sample {
    struct mhcs_record record;
    struct mhcs_row_result result;
    char name[32];
};

static void make_sample(struct sample *sample, uint64_t *state, int site, int32_t tokens,
                        double operands_rel, double checkpoint_rel)
{
    make_row(&sample->result, state, 24, operands_rel, checkpoint_rel, checkpoint_rel > 0);
    snprintf(sample->name, sizeof(sample->name), "layers.%d.hc_%s_fn", site / 2,
             site % 2 ? "ffn" : "attn");
    sample->record = (struct mhcs_record){
        .time = INT64_C(1700000000000000000) + site,
        .site = site,
        .site_name = sample->name,
        .layer = (int16_t)(site / 2),
        .tokens = tokens,
        .path = "bf16*bf16->bf16/f32",
        .checkpoint = checkpoint_rel > 0,
        .check = NAN,
        .result = &sample->result,
    };
}

static void feed(struct mhcs_report *report, const struct sample *sample)
{
    assert_int_equal(mhcs_collect_row(report->collect, &sample->record), 0);
}

static void begin(struct mhcs_report *report)
{
    *report = (struct mhcs_report){.collect = mhcs_collect_new()};
    assert_non_null(report->collect);
}

static void conclude(struct mhcs_report *report)
{
    mhcs_collect_sort(report->collect);
    assert_int_equal(mhcs_conclude(report->collect, false, &report->conclusion), 0);
}

/* The whole summary but for what ran. */
static char *print(const struct mhcs_report *report)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    mhcs_report_coverage(out, report);
    mhcs_report_errors(out, report);
    mhcs_report_noise(out, report);
    mhcs_report_verdict(out, report);
    fclose(out);
    return text;
}

static void assert_says(const struct mhcs_report *report, const char *words)
{
    char *text = print(report);

    for (char *at = text; *at; at++) /* as if it had not been wrapped */
        if (at[0] == '\n' && at[1] == ' ')
            memmove(at, at + 2, strlen(at + 2) + 1);
    if (!strstr(text, words))
        fail_msg("'%s' is not in:\n%s", words, text);
    free(text);
}

#define SITES 6
#define ROWS  80

/* ROWS rows of SITES sites in both phases. */
static void feed_clean(struct mhcs_report *report, uint64_t *state, double checkpoint_rel)
{
    struct sample sample;

    for (int i = 0; i < SITES * ROWS; i++) {
        make_sample(&sample, state, i % SITES, i / SITES % 2 ? 512 : 8, 1.66e-3, checkpoint_rel);
        feed(report, &sample);
        make_sample(&sample, state, i % SITES, i / SITES % 2 ? 8 : 512, 1.66e-3, checkpoint_rel);
        feed(report, &sample);
    }
}

static void a_clean_run_passes_and_is_exonerated(void **unused)
{
    struct mhcs_report report;
    uint64_t state = test_seed("clean");

    begin(&report);
    feed_clean(&report, &state, 1.66e-3);
    conclude(&report);
    assert_int_equal(report.conclusion.status, MHCS_PASS);
    assert_int_equal(report.conclusion.sites, SITES);
    assert_int_equal(report.conclusion.tested, 2 * SITES);
    assert_says(&report, "Rounding noise as bf16*bf16->bf16/f32 predicts");
    assert_says(&report, "cannot by itself explain lost context");
    mhcs_report_free(&report);
}

static void rows_in_any_order_give_the_same_report(void **unused)
{
    enum { COUNT = 600 };
    static struct sample samples[COUNT];
    static size_t order[COUNT];
    struct mhcs_report forward, shuffled;
    uint64_t state = test_seed("order");
    char *a, *b;

    begin(&forward);
    begin(&shuffled);
    for (size_t i = 0; i < COUNT; i++) {
        make_sample(&samples[i], &state, (int)pick(&state, 9), 1 << pick(&state, 12),
                    exp(2 * gaussian(&state) - 6), i % 3 ? 1.66e-3 : 0);
        samples[i].record.path = i % 5 ? "bf16*bf16->bf16/f32" : "f32*f32->f32/tf32";
        if (i % 50 == 0)
            samples[i].result.raw[MHCS_PRODUCTION][3] = NAN;
        make_row_metrics(&samples[i].result, 24, MHCS_OPERANDS);
        feed(&forward, &samples[i]);
    }
    shuffle(&state, order, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        feed(&shuffled, &samples[order[i]]);
    conclude(&forward);
    conclude(&shuffled);
    a = print(&forward);
    b = print(&shuffled);
    assert_string_equal(a, b);
    for (size_t i = 0; i < forward.collect->sites; i++) {
        assert_string_equal(forward.collect->site[i]->name, shuffled.collect->site[i]->name);
        assert_true(i == 0 ||
                    forward.collect->site[i]->layer >= forward.collect->site[i - 1]->layer);
    }
    assert_memory_equal(forward.collect->metric, shuffled.collect->metric,
                        sizeof(forward.collect->metric));
    free(a);
    free(b);
    mhcs_report_free(&forward);
    mhcs_report_free(&shuffled);
}

static void tf32_instead_of_fp32_fails_and_is_named(void **unused)
{
    struct mhcs_report report;
    struct sample sample;
    uint64_t state = test_seed("tf32");

    begin(&report);
    for (int i = 0; i < SITES * ROWS; i++) {
        make_sample(&sample, &state, i % SITES, 512, 2.1e-4, 0);
        sample.record.path = "f32*f32->f32/f32";
        feed(&report, &sample);
    }
    conclude(&report);
    assert_int_equal(report.conclusion.status, MHCS_FAIL);
    assert_int_equal(report.conclusion.sites_failed, SITES);
    assert_null(report.conclusion.decisive->site);
    assert_says(&report,
                "Declared f32*f32->f32/f32, but behaves like rounding of operands to TF32");
    assert_says(&report, "NVIDIA_TF32_OVERRIDE");
    mhcs_report_free(&report);
}

static void one_bad_site_in_one_phase_is_found_and_named(void **unused)
{
    struct mhcs_report report;
    struct sample sample;
    uint64_t state = test_seed("one site");

    begin(&report);
    feed_clean(&report, &state, 0);
    for (int i = 0; i < ROWS; i++) {
        make_sample(&sample, &state, 7, 8, 1.66e-3, 0);
        feed(&report, &sample);
        make_sample(&sample, &state, 7, 512, 5 * 1.66e-3, 0);
        feed(&report, &sample);
    }
    conclude(&report);
    assert_int_equal(report.conclusion.status, MHCS_FAIL);
    assert_int_equal(report.conclusion.sites_failed, 1);
    assert_int_equal(report.conclusion.sites_concerned, 1);
    assert_string_equal(report.conclusion.worst_site->site->name, "layers.3.hc_ffn_fn");
    assert_int_equal(report.conclusion.worst_site->phase, MHCS_PREFILL);
    assert_says(&report, "1 of 7 sites, worst layers.3.hc_ffn_fn in prefill");
    for (size_t i = 0; i < report.collect->sites; i++)
        for (int p = 0; p < MHCS_PHASES; p++) {
            const bool bad = report.collect->site[i]->layer == 3 && p == MHCS_PREFILL;
            const struct mhcs_group *group = mhcs_conclusion_find(
                &report.conclusion, report.collect->site[i], (enum mhcs_phase)p);

            assert_int_equal(group->judgement.status, bad ? MHCS_FAIL : MHCS_PASS);
        }
    mhcs_report_free(&report);
}

static void one_size_of_call_with_an_excess_is_found_among_others(void **unused)
{
    struct mhcs_report report;
    struct sample sample;
    uint64_t state = test_seed("size");

    begin(&report);
    for (int i = 0; i < 20 * ROWS; i++) {
        make_sample(&sample, &state, 0, i % 20 ? 512 : 4096, i % 20 ? 1.66e-3 : 3 * 1.66e-3, 0);
        feed(&report, &sample);
    }
    conclude(&report);
    assert_int_equal(report.conclusion.status, MHCS_WARN);
    assert_int_equal(report.conclusion.decisive->bucket, 12);
    assert_int_equal(report.conclusion.calls_from, 4096);
    assert_says(&report, "in calls of 4096 or more token rows");
    mhcs_report_free(&report);
}

static void odd_rows_of_large_calls_that_hold_two_sums_are_named(void **unused)
{
    struct mhcs_report report;
    struct sample sample, other;
    uint64_t state = test_seed("odd rows");

    begin(&report);
    for (int i = 0; i < SITES * ROWS * 2; i++) {
        make_sample(&sample, &state, i % SITES, i / SITES % 2 ? 2000 : 700, 1.66e-3, 0);
        sample.record.row = (int32_t)pick(&state, (size_t)sample.record.tokens);
        make_sample(&other, &state, 0, 8, 0, 0);
        for (int j = 0; j < 24 && sample.record.tokens == 2000 && sample.record.row % 2; j++)
            sample.result.raw[MHCS_PRODUCTION][j] += other.result.raw[MHCS_OPERANDS][j];
        make_row_metrics(&sample.result, 24, MHCS_OPERANDS);
        feed(&report, &sample);
    }
    conclude(&report);
    assert_int_equal(report.conclusion.status, MHCS_FAIL);
    assert_int_equal(report.conclusion.class, MHCS_CLASS_WRONG_VALUES);
    assert_int_equal(report.conclusion.calls_from, 1024);
    assert_int_equal(report.conclusion.sites_concerned, SITES);
    assert_null(report.conclusion.worst_site);
    assert_says(&report, "odd token rows in calls of 1024 or more token rows hold the right sums "
                         "plus others of their size");
    mhcs_report_free(&report);
}

/* Allowed, and small: a PASS, which tells that results depend on the batch. */
static void partial_sums_of_small_calls_are_told_where_they_are_allowed(void **unused)
{
    struct mhcs_report report;
    struct sample sample;
    uint64_t state = test_seed("partial sums");

    begin(&report);
    for (int i = 0; i < SITES * ROWS * 2; i++) {
        const bool small = i / SITES % 2;

        make_sample(&sample, &state, i % SITES, small ? 8 : 512, small ? 2.34e-3 : 1.66e-3, 0);
        sample.record.path = "bf16*bf16->bf16/f32+reduced";
        feed(&report, &sample);
    }
    conclude(&report);
    assert_int_equal(report.conclusion.status, MHCS_PASS);
    assert_int_equal(report.conclusion.class, MHCS_CLASS_BF16_PARTIALS);
    assert_int_equal(report.conclusion.calls_to, 15);
    assert_says(&report, "in calls of fewer than 16 token rows alone there is rounding of partial "
                         "sums to bf16, as the path allows");
    mhcs_report_free(&report);
}

static void weights_that_differ_are_told_from_arithmetic(void **unused)
{
    struct mhcs_report report;
    struct sample sample;
    uint64_t state = test_seed("weights");

    begin(&report);
    for (int i = 0; i < SITES * ROWS; i++) {
        make_sample(&sample, &state, i % SITES, 512, 1.66e-3, 1.66e-3);
        if (i % SITES == 4)
            sample.result.raw[MHCS_CHECKPOINT][5] += 10;
        make_row_metrics(&sample.result, 24, MHCS_CHECKPOINT);
        feed(&report, &sample);
    }
    conclude(&report);
    assert_int_equal(report.conclusion.status, MHCS_FAIL);
    assert_int_equal(report.conclusion.class, MHCS_CLASS_WRONG_WEIGHTS);
    assert_string_equal(report.conclusion.worst_site->site->name, "layers.2.hc_attn_fn");
    assert_says(&report, "The arithmetic is as declared, but not the weights");
    assert_says(&report, "in coefficient 5 (post[1])");
    mhcs_report_free(&report);
}

static void nan_in_production_alone_fails_but_not_nan_that_came_with_x(void **unused)
{
    struct mhcs_report report;
    struct sample sample;
    uint64_t state = test_seed("nan");

    begin(&report);
    feed_clean(&report, &state, 0);
    make_sample(&sample, &state, 2, 512, 1.66e-3, 0);
    sample.result.raw[MHCS_PRODUCTION][0] = INFINITY;
    make_row_metrics(&sample.result, 24, MHCS_OPERANDS);
    sample.result.nonfinite |= MHCS_NONFINITE_X | MHCS_NONFINITE_REFERENCE;
    feed(&report, &sample);
    conclude(&report);
    assert_int_equal(report.conclusion.status, MHCS_PASS);
    mhcs_conclusion_free(&report.conclusion);

    sample.result.nonfinite = MHCS_NONFINITE_PRODUCTION;
    feed(&report, &sample);
    conclude(&report);
    assert_int_equal(report.conclusion.status, MHCS_FAIL);
    assert_says(&report, "Production holds NaN or Inf where the reference and x are finite: token "
                         "rows in coefficient 0 (pre[0]) (1 of all 961 rows): 1 of 6 sites, worst "
                         "layers.1.hc_attn_fn in prefill");
    assert_says(&report, "NaN or Inf in production 2 (alone 1)");
    mhcs_report_free(&report);
}

static void an_unknown_path_is_said_and_never_passes(void **unused)
{
    struct mhcs_report report;
    struct sample sample;
    uint64_t state = test_seed("unknown path");

    begin(&report);
    for (int i = 0; i < 4 * ROWS; i++) {
        make_sample(&sample, &state, 0, 512, 1e-7, 0);
        sample.record.path = "f4*f4->f4/f4";
        feed(&report, &sample);
    }
    conclude(&report);
    assert_int_equal(report.conclusion.status, MHCS_INSUFFICIENT);
    assert_says(&report, "There is no expectation for f4*f4->f4/f4");
    mhcs_report_free(&report);
}

static void a_reference_that_fails_its_own_check_judges_nothing(void **unused)
{
    struct mhcs_report report;
    struct sample sample;
    uint64_t state = test_seed("check");

    begin(&report);
    feed_clean(&report, &state, 0);
    make_sample(&sample, &state, 0, 512, 1.66e-3, 0);
    sample.record.check = 2e-4f;
    feed(&report, &sample);
    conclude(&report);
    assert_int_equal(report.conclusion.status, MHCS_INSUFFICIENT);
    assert_says(&report, "The fp32 reference is off by 2.000e-04 rms from fp64");
    mhcs_report_free(&report);
}

static void under_64_rows_are_insufficient(void **unused)
{
    struct mhcs_report report;
    struct sample sample;
    uint64_t state = test_seed("few");

    begin(&report);
    for (int i = 0; i < 63; i++) {
        make_sample(&sample, &state, i % 3, 512, 1.66e-3, 0);
        feed(&report, &sample);
    }
    conclude(&report);
    assert_int_equal(report.conclusion.status, MHCS_INSUFFICIENT);
    assert_says(&report, "Only 63 rows could be compared and 64 are needed");
    mhcs_report_free(&report);
}

static void zero_rows_are_counted_and_not_averaged(void **unused)
{
    struct mhcs_report report;
    struct sample sample;
    uint64_t state = test_seed("zero");

    begin(&report);
    make_sample(&sample, &state, 0, 512, 1.66e-3, 0);
    for (int i = 0; i < 24; i++)
        sample.result.raw[MHCS_PRODUCTION][i] = sample.result.raw[MHCS_OPERANDS][i] = 0;
    make_row_metrics(&sample.result, 24, MHCS_OPERANDS);
    feed(&report, &sample);
    assert_int_equal(report.collect->zero_rows, 1);
    assert_int_equal(report.collect->metric[MHCS_OPERANDS][MHCS_METRIC(rel)].hist.count, 0);
    conclude(&report);
    mhcs_report_free(&report);
}

static void phases_are_told_apart_by_token_rows_and_graphs(void **unused)
{
    struct mhcs_record record = {.tokens = 64};

    assert_int_equal(mhcs_phase_of(&record), MHCS_DECODE);
    record.tokens = 65;
    assert_int_equal(mhcs_phase_of(&record), MHCS_PREFILL);
    record.graph = true;
    assert_int_equal(mhcs_phase_of(&record), MHCS_DECODE);
}

static void rows_of_more_sites_than_there_is_room_for_count_in_the_totals(void **unused)
{
    struct mhcs_report report;
    struct sample sample;
    uint64_t state = test_seed("many sites");

    begin(&report);
    for (int i = 0; i < MHCS_COLLECT_SITES_MAX + 100; i++) {
        make_sample(&sample, &state, i, 512, 1.66e-3, 0);
        feed(&report, &sample);
    }
    conclude(&report);
    assert_int_equal(report.collect->sites, MHCS_COLLECT_SITES_MAX);
    assert_int_equal(report.collect->rows_of_other_sites, 100);
    assert_int_equal(report.conclusion.group[0].evidence.rows, MHCS_COLLECT_SITES_MAX + 100);
    assert_int_equal(report.conclusion.status, MHCS_PASS);
    mhcs_report_free(&report);
}

/* A trace may be made by anyone. */
static void rows_of_random_bits_do_no_harm(void **unused)
{
    struct mhcs_report report;
    struct sample sample;
    uint64_t state = test_seed("random bits");

    begin(&report);
    for (int i = 0; i < 2000; i++) {
        make_sample(&sample, &state, i % 3, (int32_t)next_bits(&state), 1e-3, 1e-3);
        for (size_t word = 0; word < sizeof(sample.result) / 4; word++) {
            const uint32_t bits = (uint32_t)(next_bits(&state) >> 32);

            memcpy((char *)&sample.result + 4 * word, &bits, sizeof(bits));
        }
        sample.record.time = (int64_t)next_bits(&state);
        sample.record.check = sample.result.rms;
        feed(&report, &sample);
    }
    conclude(&report);
    free(print(&report));
    mhcs_report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_run_passes_and_is_exonerated),
        cmocka_unit_test(rows_in_any_order_give_the_same_report),
        cmocka_unit_test(tf32_instead_of_fp32_fails_and_is_named),
        cmocka_unit_test(one_bad_site_in_one_phase_is_found_and_named),
        cmocka_unit_test(one_size_of_call_with_an_excess_is_found_among_others),
        cmocka_unit_test(odd_rows_of_large_calls_that_hold_two_sums_are_named),
        cmocka_unit_test(partial_sums_of_small_calls_are_told_where_they_are_allowed),
        cmocka_unit_test(weights_that_differ_are_told_from_arithmetic),
        cmocka_unit_test(nan_in_production_alone_fails_but_not_nan_that_came_with_x),
        cmocka_unit_test(an_unknown_path_is_said_and_never_passes),
        cmocka_unit_test(a_reference_that_fails_its_own_check_judges_nothing),
        cmocka_unit_test(under_64_rows_are_insufficient),
        cmocka_unit_test(zero_rows_are_counted_and_not_averaged),
        cmocka_unit_test(phases_are_told_apart_by_token_rows_and_graphs),
        cmocka_unit_test(rows_of_random_bits_do_no_harm),
        cmocka_unit_test(rows_of_more_sites_than_there_is_room_for_count_in_the_totals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
