/* SPDX-License-Identifier: Apache-2.0 */
/* The sampling decision: rate, coverage, independence from the model's period, threads, overflow.
 * MHCSHADOW_TEST_SEED repeats a run. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "interpose/sample.h"

#define SITES  86 /* matched calls of a V4 Flash pass */
#define PASSES 100

static uint64_t seed;

static struct mhcs_sampler *new_sampler(double p, uint64_t salt)
{
    struct mhcs_sampler *const sampler = calloc(1, sizeof(*sampler));

    assert_non_null(sampler);
    mhcs_sampler_init(sampler, p, seed + salt);
    return sampler;
}

static const void *address(size_t site)
{
    return (const void *)(uintptr_t)(UINT64_C(0x7f1200000000) + site * UINT64_C(0x180000));
}

static bool draw(struct mhcs_sampler *sampler, size_t site)
{
    int32_t order;

    return mhcs_sampler_draw(sampler, address(site), &order);
}

static void a_hundred_passes_at_one_in_64_sample_every_site(void **state)
{
    struct mhcs_sampler *const sampler = new_sampler(1.0 / 64, 0);
    unsigned counts[SITES] = {0}, total = 0;

    for (int pass = 0; pass < PASSES; pass++) {
        for (size_t site = 0; site < SITES; site++) {
            counts[site] += draw(sampler, site);
        }
    }
    for (size_t site = 0; site < SITES; site++) {
        /* One whole window of 64 and 36 calls of the next. */
        assert_in_range(counts[site], 1, 2);
        total += counts[site];
    }
    /* 86 * 36/64 = 48.4 sites are expected to have a second one; 4.6 is a standard deviation. */
    assert_in_range(total, SITES + 48 - 23, SITES + 48 + 23);
    free(sampler);
}

/* Pearson's statistic against equal shares. */
static double chi_square(const unsigned *counts, size_t bins, double expected)
{
    double sum = 0;

    for (size_t i = 0; i < bins; i++) {
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
}

/* Wilson and Hilferty: the cube root of chi-square is nearly normal. Beyond 4.5 sigma is one run in
 * 300000. */
static void assert_plausible(double statistic, double freedom, const char *what)
{
    const double spread = 2 / (9 * freedom);
    const double sigmas = (cbrt(statistic / freedom) - (1 - spread)) / sqrt(spread);

    if (fabs(sigmas) > 4.5) {
        fail_msg("%s: chi-square %.1f with %.0f degrees of freedom is %.1f sigma off (seed %" PRIu64
                 ")",
                 what, statistic, freedom, sigmas, seed);
    }
}

static void samples_of_the_sites_pass_a_chi_square_test(void **state)
{
    unsigned counts[SITES] = {0};

    /* In the second window's 36 of 64 calls a site is sampled or not: Bernoulli of 36/64, whose
     * variance is 28/64 of the expectation that Pearson divides by. */
    for (uint64_t run = 0; run < 200; run++) {
        struct mhcs_sampler *const sampler = new_sampler(1.0 / 64, 1000 + run);

        for (size_t site = 0; site < SITES; site++) {
            for (int pass = 0; pass < PASSES; pass++) {
                counts[site] += draw(sampler, site);
            }
            counts[site]--; /* the first window's, certain */
        }
        free(sampler);
    }
    assert_plausible(chi_square(counts, SITES, 200 * 36.0 / 64) * 64 / 28, SITES, "sites");
}

static void every_place_in_a_window_is_as_likely(void **state)
{
    struct mhcs_sampler *const sampler = new_sampler(1.0 / 64, 1);
    unsigned counts[64] = {0};

    for (unsigned call = 0; call < 64 * 6400; call++) {
        counts[call % 64] += draw(sampler, 3);
    }
    assert_plausible(chi_square(counts, 64, 100), 63, "places");
    free(sampler);
}

static void one_in_n_takes_exactly_one_of_each_window(void **state)
{
    static const unsigned ns[] = {1, 2, 3, 7, 49, 64, 93, 1000, 4096};

    for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
        struct mhcs_sampler *const sampler = new_sampler(1.0 / ns[i], 2);

        for (unsigned window = 0; window < 30; window++) {
            unsigned taken = 0;

            for (unsigned call = 0; call < ns[i]; call++) {
                taken += draw(sampler, 5);
            }
            assert_int_equal(taken, 1);
        }
        free(sampler);
    }
}

static void any_probability_is_kept_for_every_call(void **state)
{
    static const double ps[] = {0.75, 0.3, 0.02, 0.015, 0.9999};

    for (size_t i = 0; i < sizeof(ps) / sizeof(ps[0]); i++) {
        struct mhcs_sampler *const sampler = new_sampler(ps[i], 3);
        const unsigned calls = 12 * 40000;
        unsigned counts[12] = {0}; /* by place in a period that divides many window lengths */

        for (unsigned call = 0; call < calls; call++) {
            counts[call % 12] += draw(sampler, 7);
        }
        for (size_t place = 0; place < 12; place++) {
            const double expected = 40000 * ps[i];

            /* Strata make it less variable than independent draws. */
            if (fabs(counts[place] - expected) > 5 * sqrt(40000 * ps[i] * (1 - ps[i])) + 1) {
                fail_msg("p %g, place %zu: %u instead of %.0f (seed %" PRIu64 ")", ps[i], place,
                         counts[place], expected, seed);
            }
        }
        free(sampler);
    }
}

static void off_takes_none_and_all_takes_all(void **state)
{
    struct mhcs_sampler *const off = new_sampler(0, 0), *const all = new_sampler(1, 0);
    struct mhcs_sampler *const rare = new_sampler(1e-300, 0);

    for (size_t call = 0; call < 5000; call++) {
        assert_false(draw(off, call % SITES));
        assert_true(draw(all, call % SITES));
        assert_false(draw(rare, call % SITES));
    }
    free(off);
    free(all);
    free(rare);
}

/* A site that is called twice a pass, or a model with 64 matched calls a pass: a fixed stride of 64
 * would alias. */
static void the_period_of_the_model_does_not_matter(void **state)
{
    static const size_t periods[] = {1, 2, 32, 64, 86, 128};

    for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
        struct mhcs_sampler *const sampler = new_sampler(1.0 / 64, 4);
        unsigned counts[128] = {0};

        for (size_t pass = 0; pass < 640; pass++) {
            for (size_t site = 0; site < periods[i]; site++) {
                counts[site] += draw(sampler, site);
            }
        }
        for (size_t site = 0; site < periods[i]; site++) {
            assert_int_equal(counts[site], 10);
        }
        free(sampler);
    }
}

static void seeds_differ_and_a_seed_repeats(void **state)
{
    struct mhcs_sampler *const one = new_sampler(1.0 / 64, 5), *const same =
                                                                   new_sampler(1.0 / 64, 5);
    struct mhcs_sampler *const other = new_sampler(1.0 / 64, 6);
    bool differs = false;

    for (size_t call = 0; call < 6400; call++) {
        const bool taken = draw(one, call % SITES);

        assert_int_equal(taken, draw(same, call % SITES));
        differs |= taken != draw(other, call % SITES);
    }
    assert_true(differs);
    assert_int_not_equal(mhcs_sampler_seed(), mhcs_sampler_seed());
    free(one);
    free(same);
    free(other);
}

static void weights_are_numbered_in_order_of_first_appearance(void **state)
{
    struct mhcs_sampler *const sampler = new_sampler(1.0 / 64, 7);

    for (int pass = 0; pass < 3; pass++) {
        for (size_t site = 0; site < SITES; site++) {
            int32_t order;

            mhcs_sampler_draw(sampler, address((site * 37) % SITES), &order);
            assert_int_equal(order, site);
        }
    }
    free(sampler);
}

static void a_full_table_shares_a_bucket_and_keeps_the_rate(void **state)
{
    const size_t sites = 4 * MHCS_SAMPLE_BUCKETS;
    struct mhcs_sampler *const sampler = new_sampler(1.0 / 8, 8);
    unsigned taken = 0, shared = 0;
    int32_t largest = -1, order;

    for (unsigned pass = 0; pass < 8; pass++) {
        for (size_t site = 0; site < sites; site++) {
            taken += mhcs_sampler_draw(sampler, address(site), &order);
            shared += order < 0;
            largest = order > largest ? order : largest;
        }
    }
    assert_int_equal(taken, sites);
    assert_in_range(largest, MHCS_SAMPLE_BUCKETS * 9 / 10, MHCS_SAMPLE_BUCKETS - 1);
    assert_int_equal(shared, 8 * (sites - (size_t)largest - 1));

    mhcs_sampler_draw(sampler, NULL, &order);
    assert_int_equal(order, -1);
    free(sampler);
}

#define THREADS      8
#define SHARED_SITES 300

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    struct mhcs_sampler *sampler;
    unsigned taken;
};

static void *work(void *arg)
{
    struct worker *const worker = arg;

    pthread_barrier_wait(worker->start); /* all meet every new address at once */
    for (unsigned pass = 0; pass < 640; pass++) {
        for (size_t site = 0; site < SHARED_SITES; site++) {
            worker->taken += draw(worker->sampler, site);
        }
    }
    return NULL;
}

static void many_threads_take_exactly_one_of_each_window_together(void **state)
{
    struct mhcs_sampler *const sampler = new_sampler(1.0 / 64, 9);
    struct worker workers[THREADS];
    pthread_barrier_t start;
    bool numbered[SHARED_SITES] = {false};
    unsigned taken = 0;

    pthread_barrier_init(&start, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.start = &start, .sampler = sampler};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        taken += workers[i].taken;
    }
    pthread_barrier_destroy(&start);
    assert_int_equal(taken, THREADS * 640 * SHARED_SITES / 64);
    for (size_t site = 0; site < SHARED_SITES; site++) {
        int32_t order;

        mhcs_sampler_draw(sampler, address(site), &order);
        assert_in_range(order, 0, SHARED_SITES - 1);
        assert_false(numbered[order]);
        numbered[order] = true;
    }
    free(sampler);
}

int main(void)
{
    const char *const given = getenv("MHCSHADOW_TEST_SEED");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_passes_at_one_in_64_sample_every_site),
        cmocka_unit_test(samples_of_the_sites_pass_a_chi_square_test),
        cmocka_unit_test(every_place_in_a_window_is_as_likely),
        cmocka_unit_test(one_in_n_takes_exactly_one_of_each_window),
        cmocka_unit_test(any_probability_is_kept_for_every_call),
        cmocka_unit_test(off_takes_none_and_all_takes_all),
        cmocka_unit_test(the_period_of_the_model_does_not_matter),
        cmocka_unit_test(seeds_differ_and_a_seed_repeats),
        cmocka_unit_test(weights_are_numbered_in_order_of_first_appearance),
        cmocka_unit_test(a_full_table_shares_a_bucket_and_keeps_the_rate),
        cmocka_unit_test(many_threads_take_exactly_one_of_each_window_together),
    };

    seed = given ? strtoull(given, NULL, 10) : mhcs_sampler_seed();
    printf("MHCSHADOW_TEST_SEED=%" PRIu64 "\n", seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
