/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics: any order gives the same bytes, and the numbers are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "tests/report/random.h"
#include "tools/report/stats.h"

#define VALUES 4000

/* Any finite non-negative double, subnormals included, each exponent as likely as another. */
static double any_double(uint64_t *state)
{
    return ldexp(uniform(state), (int)pick(state, 2090) - 1070);
}

static void a_sum_has_the_same_bytes_in_every_order(void **unused)
{
    static double values[VALUES];
    static size_t order[VALUES];
    struct mhcs_exact sum = {0}, parts[5] = {0}, merged = {0};
    uint64_t state = test_seed("sum");

    for (size_t i = 0; i < VALUES; i++) {
        values[i] = any_double(&state);
        mhcs_exact_add(&sum, values[i]);
    }
    shuffle(&state, order, VALUES);
    for (size_t i = 0; i < VALUES; i++)
        mhcs_exact_add(&parts[pick(&state, 5)], values[order[i]]);
    for (size_t i = 0; i < 5; i++)
        mhcs_exact_merge(&merged, &parts[(i + 3) % 5]);
    assert_memory_equal(&sum, &merged, sizeof(sum));
}

static double sum_of(const double *values, size_t count)
{
    struct mhcs_exact sum = {0};

    for (size_t i = 0; i < count; i++)
        mhcs_exact_add(&sum, values[i]);
    return mhcs_exact_value(&sum);
}

static void a_sum_is_rounded_once_to_nearest_even(void **unused)
{
    const double tie[] = {1, 0x1p-53};
    const double above_tie[] = {0x1p-1074, 1, 0x1p-53};
    const double odd_tie[] = {1 + 0x1p-52, 0x1p-53};
    const double carry[] = {0x1.fffffffffffffp63, 0x1p11, 0x1p-60};
    const double smallest[] = {0x1p-1074, 0x1p-1074};
    const double largest[] = {0x1.fffffffffffffp1023};

    assert_true(sum_of(tie, 2) == 1);
    assert_true(sum_of(above_tie, 3) == 1 + 0x1p-52);
    assert_true(sum_of(odd_tie, 2) == 1 + 0x1p-51);
    assert_true(sum_of(carry, 3) == 0x1p64);
    assert_true(sum_of(smallest, 2) == 0x1p-1073);
    assert_true(sum_of(largest, 1) == largest[0]);
    assert_true(sum_of(NULL, 0) == 0);
}

static void a_sum_of_integers_is_that_integer(void **unused)
{
    struct mhcs_exact sum = {0};
    uint64_t state = test_seed("integers"), total = 0;

    for (int i = 0; i < 2000; i++) {
        const uint64_t value = next_bits(&state) >> 24;

        mhcs_exact_add(&sum, (double)value);
        total += value;
    }
    assert_true(mhcs_exact_value(&sum) == (double)total);
}

static void assert_added_alike(const double *values, uint32_t count)
{
    struct mhcs_exact together[2] = {0}, alone = {0};
    struct mhcs_addends addends;

    for (uint32_t i = 0; i < count; i++)
        mhcs_exact_add(&alone, values[i]);
    mhcs_addends_init(&addends, values, count);
    for (int i = 0; i < 2; i++) {
        mhcs_exact_add_all(&together[i], &addends);
        assert_memory_equal(&together[i], &alone, sizeof(alone));
    }
}

/* The largest up to 2^spread times the least, and now and then a value that is nowhere near. */
static void addends_leave_the_bytes_of_each_value_taken_alone(void **unused)
{
    static const int spreads[] = {0, 1, 30, 50, 300, 2000};
    static const double rare[] = {0, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023, 0x1p-1073};
    double values[MHCS_ADDENDS_MAX];
    uint64_t state = test_seed("addends");

    for (int round = 0; round < 20000; round++) {
        const size_t spread = (size_t)spreads[pick(&state, sizeof(spreads) / sizeof(*spreads))];
        const int most = (int)pick(&state, 1023 + 1074) - 1074;
        const uint32_t count = (uint32_t)pick(&state, MHCS_ADDENDS_MAX + 1);
        const bool is_rare = pick(&state, 20) == 0;

        for (uint32_t i = 0; i < count; i++) {
            values[i] = ldexp(1 + uniform(&state), most - (int)pick(&state, spread + 1));
            if (is_rare && pick(&state, 10) == 0)
                values[i] = rare[pick(&state, sizeof(rare) / sizeof(*rare))];
        }
        assert_added_alike(values, count);
    }
}

/* As many values as there may be, all of which leave as much on the same side of a unit as they
 * can, and one whose last bit is lost if that sum is rounded. */
static void addends_are_exact_where_their_rounding_would_add_up(void **unused)
{
    double values[MHCS_ADDENDS_MAX];

    for (int spread = 35; spread < 60; spread++) {
        for (uint32_t i = 0; i < MHCS_ADDENDS_MAX; i++)
            values[i] = 0x1.fffffffffffdfp0; /* ends in 011111: 31/64 of a unit of 2^-46 */
        values[MHCS_ADDENDS_MAX - 1] = ldexp(0x1.fffffffffffffp0, -spread);
        assert_added_alike(values, MHCS_ADDENDS_MAX);
    }
}

static int compare_floats(const void *left, const void *right)
{
    const float a = *(const float *)left, b = *(const float *)right;

    return (a > b) - (a < b);
}

static void percentiles_are_within_the_documented_error_of_sorted_values(void **unused)
{
    static const uint32_t asked[] = {1, 100, 5000, 9000, 9900, 9990, 9999};
    static float values[VALUES];
    static struct mhcs_stat stat;
    uint64_t state = test_seed("percentiles");

    for (size_t i = 0; i < VALUES; i++) {
        values[i] = i % 50 ? (float)exp(4 * gaussian(&state) - 8) : 0;
        mhcs_stat_add(&stat, i % 2 ? values[i] : -values[i]);
    }
    qsort(values, VALUES, sizeof(values[0]), compare_floats);
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        const size_t rank = (VALUES * (size_t)asked[i] + 9999) / 10000;
        const double truth = (double)values[rank - 1];
        const double got = mhcs_stat_percentile(&stat, asked[i]);

        if (fabs(got - truth) > MHCS_HIST_ERROR * truth)
            fail_msg("percentile %u/10000 is %g, sorted values say %g", asked[i], got, truth);
    }
    assert_true(mhcs_stat_percentile(&stat, 10000) == (double)values[VALUES - 1]);
}

static uint32_t only_bucket(float value)
{
    static struct mhcs_hist hist;
    uint32_t at = 0;

    memset(&hist, 0, sizeof(hist));
    mhcs_hist_add(&hist, value);
    while (hist.bucket[at] == 0)
        at++;
    return at;
}

static void a_bucket_starts_exactly_at_its_edge(void **unused)
{
    for (int exponent = -79; exponent < 24; exponent += 3)
        for (int step = 0; step < 32; step++) {
            const float edge = ldexpf(1 + (float)step / 32, exponent);

            assert_int_equal(only_bucket(edge), 32 * (exponent + 80) + step);
            assert_int_equal(only_bucket(nextafterf(edge, 0)), 32 * (exponent + 80) + step - 1);
        }
    assert_int_equal(only_bucket(0x1p-149f), 0);
    assert_int_equal(only_bucket(3e38f), MHCS_HIST_BUCKETS - 1);
}

static void undefined_values_are_counted_and_not_averaged(void **unused)
{
    static struct mhcs_stat stat;

    mhcs_stat_add(&stat, 3);
    mhcs_stat_add(&stat, NAN);
    mhcs_stat_add(&stat, -4);
    mhcs_stat_add(&stat, INFINITY);
    assert_int_equal(stat.undefined, 2);
    assert_int_equal(stat.hist.count, 2);
    assert_true(mhcs_stat_rms(&stat) == sqrt(12.5));
    assert_true(stat.max == 4);
}

/* Of all sizes, with every kind of value that is rare, in batches that end anywhere. */
static void values_taken_together_leave_the_bytes_of_each_taken_alone(void **unused)
{
    static const float rare[] = {NAN, INFINITY, -INFINITY, 0, -0.0f, 0x1p-149f, 3e38f};
    static struct mhcs_stat together, alone;
    static float values[5000];
    uint64_t state = test_seed("together");

    for (size_t begin = 0, count; begin < 10 * VALUES; begin += count) {
        count = 1 + pick(&state, sizeof(values) / sizeof(*values));
        for (size_t i = 0; i < count; i++) {
            values[i] = (float)gaussian(&state);
            if (pick(&state, 500) == 0)
                values[i] = rare[pick(&state, sizeof(rare) / sizeof(*rare))];
            mhcs_stat_add(&alone, values[i]);
        }
        mhcs_stat_add_all(&together, values, count);
        assert_memory_equal(&together, &alone, sizeof(alone));
    }
    for (size_t i = 0; i < 5; i++)
        values[i] = NAN;
    mhcs_stat_add_all(&together, values, 5);
    assert_int_equal(together.undefined, alone.undefined + 5);
}

static void assert_taken_alike(const float *values, size_t count)
{
    static struct mhcs_stat together, alone;

    memset(&together, 0, sizeof(together));
    memset(&alone, 0, sizeof(alone));
    for (size_t i = 0; i < count; i++)
        mhcs_stat_add(&alone, values[i]);
    mhcs_stat_add_all(&together, values, count);
    assert_memory_equal(&together, &alone, sizeof(alone));
}

static void squares_of_any_sizes_leave_the_bytes_of_each_taken_alone(void **unused)
{
    static float values[MHCS_SQUARES_MAX + 100];
    const size_t count = sizeof(values) / sizeof(*values);
    uint64_t state = test_seed("squares");

    for (int greatest = -149; greatest <= 127; greatest += 3)
        for (int octaves = 0; octaves < 60; octaves += 1 + (int)pick(&state, 4)) {
            for (size_t i = 0; i < count; i++) {
                const float size = pick(&state, 2) ? (float)uniform(&state) : -0x1.fffffep0F;

                values[i] = ldexpf(size, greatest - (pick(&state, 5) ? 0 : octaves));
            }
            assert_taken_alike(values, count);
        }
}

/* As with addends. */
static void squares_are_exact_where_their_rounding_would_add_up(void **unused)
{
    static float values[MHCS_SQUARES_MAX];

    for (int octaves = 15; octaves < 30; octaves++) {
        for (size_t i = 0; i < MHCS_SQUARES_MAX; i++)
            values[i] = 0xfffff7; /* its square ends in 10001: 17/32 of a unit, rounded up */
        values[0] = ldexpf(0xffffff, -octaves);
        assert_taken_alike(values, MHCS_SQUARES_MAX);
    }
}

static void an_empty_statistic_has_no_value(void **unused)
{
    static const struct mhcs_stat empty;
    static const struct mhcs_moments no_moments;

    assert_true(isnan(mhcs_stat_rms(&empty)));
    assert_true(isnan(mhcs_stat_percentile(&empty, 5000)));
    assert_true(isnan(mhcs_moments_mean(&no_moments)));
    assert_true(isnan(mhcs_moments_standard_error(&no_moments)));
}

#define PARTS 7

static void statistics_merge_to_the_same_bytes_in_every_order(void **unused)
{
    static struct mhcs_stat whole, part[PARTS], merged;
    static struct mhcs_moments whole_moments, moments[PARTS], merged_moments;
    size_t order[PARTS];
    uint64_t state = test_seed("merge");

    for (size_t i = 0; i < VALUES; i++) {
        const float value = i % 97 ? (float)(1e-3 * gaussian(&state)) : NAN;
        const size_t p = pick(&state, PARTS);

        mhcs_stat_add(&whole, value);
        mhcs_stat_add(&part[p], value);
        if (!isnan(value)) {
            mhcs_moments_add(&whole_moments, fabs((double)value));
            mhcs_moments_add(&moments[p], fabs((double)value));
        }
    }
    shuffle(&state, order, PARTS);
    for (size_t i = 0; i < PARTS; i++) {
        mhcs_stat_merge(&merged, &part[order[i]]);
        mhcs_moments_merge(&merged_moments, &moments[order[i]]);
    }
    assert_memory_equal(&merged, &whole, sizeof(whole));
    assert_memory_equal(&merged_moments, &whole_moments, sizeof(whole_moments));
}

static void the_standard_error_is_that_of_the_textbook(void **unused)
{
    const double values[] = {2, 4, 4, 4, 5, 5, 7, 9}; /* mean 5, sum of squared deviations 32 */
    static struct mhcs_moments moments;

    for (int i = 0; i < 8; i++)
        mhcs_moments_add(&moments, values[i]);
    assert_true(mhcs_moments_mean(&moments) == 5);
    assert_true(fabs(mhcs_moments_standard_error(&moments) - sqrt(32.0 / 7 / 8)) < 1e-12);
}

static void a_bucket_ends_where_the_next_begins_and_has_its_middle_between(void **unused)
{
    static struct mhcs_hist hist;
    uint64_t state = test_seed("edges");

    assert_true(mhcs_hist_edge(0) == 0x1p-80);
    assert_true(mhcs_hist_edge(MHCS_HIST_BUCKETS) == 0x1p24);
    for (int n = 0; n < 200; n++) {
        const float value = (float)ldexp(1 + uniform(&state), (int)pick(&state, 100) - 78);
        uint32_t i = 0;

        while (mhcs_hist_edge(i + 1) <= (double)value)
            i++;
        hist = (struct mhcs_hist){0};
        mhcs_hist_add(&hist, value);
        assert_int_equal(hist.bucket[i], 1);
        assert_true(mhcs_hist_percentile(&hist, 5000) ==
                    (mhcs_hist_edge(i) + mhcs_hist_edge(i + 1)) / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_has_the_same_bytes_in_every_order),
        cmocka_unit_test(a_sum_is_rounded_once_to_nearest_even),
        cmocka_unit_test(a_sum_of_integers_is_that_integer),
        cmocka_unit_test(addends_leave_the_bytes_of_each_value_taken_alone),
        cmocka_unit_test(addends_are_exact_where_their_rounding_would_add_up),
        cmocka_unit_test(percentiles_are_within_the_documented_error_of_sorted_values),
        cmocka_unit_test(a_bucket_starts_exactly_at_its_edge),
        cmocka_unit_test(undefined_values_are_counted_and_not_averaged),
        cmocka_unit_test(values_taken_together_leave_the_bytes_of_each_taken_alone),
        cmocka_unit_test(squares_of_any_sizes_leave_the_bytes_of_each_taken_alone),
        cmocka_unit_test(squares_are_exact_where_their_rounding_would_add_up),
        cmocka_unit_test(an_empty_statistic_has_no_value),
        cmocka_unit_test(statistics_merge_to_the_same_bytes_in_every_order),
        cmocka_unit_test(the_standard_error_is_that_of_the_textbook),
        cmocka_unit_test(a_bucket_ends_where_the_next_begins_and_has_its_middle_between),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
