/* SPDX-License-Identifier: Apache-2.0 */
/* Which GEMMs of a graph are sampled when: rate, coverage, and what there is no place for.
 * MHCSHADOW_TEST_SEED repeats a run. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "shadow/turns.h"

#define SITES_MAX 256

static uint64_t seed;

struct run {
    struct mhcs_turns turns;
    uint32_t order[SITES_MAX];
    uint64_t next, launch;
    uint64_t sampled, dropped;
    uint32_t counts[SITES_MAX];
    uint64_t last[SITES_MAX]; /* launch after that of its last turn */
    uint64_t longest;         /* launches from one turn of a site to its next */
    uint32_t most;            /* sites in one launch */
};

static void start(struct run *run, uint32_t sites, uint32_t group, double p)
{
    memset(run, 0, sizeof(*run));
    run->next = mhcs_turns_init(&run->turns, sites, group, p, seed, run->order);
}

/* One launch that has room for `room` sites. */
static void launch(struct run *run, uint32_t room)
{
    const uint64_t now = run->launch++;
    uint32_t due, dropped, taken;

    if (now < run->next) {
        return;
    }
    due = mhcs_turns_due(&run->turns, now, &dropped);
    taken = due < room ? due : room;
    run->dropped += dropped + due - taken;
    for (uint32_t i = 0; i < taken; i++) {
        const uint32_t site = run->order[run->turns.cursor + i];

        for (uint32_t j = 0; j < i; j++) {
            assert_int_not_equal(run->order[run->turns.cursor + j], site);
        }
        run->longest =
            now + 1 - run->last[site] > run->longest ? now + 1 - run->last[site] : run->longest;
        run->last[site] = now + 1;
        run->counts[site]++;
    }
    run->sampled += taken;
    run->most = taken > run->most ? taken : run->most;
    run->next = mhcs_turns_taken(&run->turns, now, due, taken);
    assert_true(run->next > now);
}

static void every_site_is_sampled_within_two_rounds_and_at_the_rate_that_was_set(void **state)
{
    static const struct {
        uint32_t sites, group;
        double p;
    } cases[] = {{86, 4, 1.0 / 64}, {123, 4, 1.0 / 64}, {1, 4, 1.0 / 64},
                 {3, 4, 0.1},       {86, 8, 0.03},      {5, 4, 0.3}};

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const uint32_t sites = cases[c].sites;
        const double round = 1 / cases[c].p;
        static struct run run;
        double expected;

        start(&run, sites, cases[c].group, cases[c].p);
        for (int i = 0; i < 100 * round; i++) {
            launch(&run, cases[c].group);
        }
        expected = (double)run.launch * cases[c].p * sites;
        if (fabs((double)run.sampled - expected) > 2 * cases[c].group + 1) {
            fail_msg("seed %" PRIu64 ": %" PRIu64 " sampled, %.0f expected", seed, run.sampled,
                     expected);
        }
        /* A stretch more, by which a turn can come late. */
        assert_true((double)run.longest <= 2 * round + 2 * run.turns.stretch + 2);
        assert_true(run.most <= cases[c].group);
        assert_int_equal(run.dropped, 0);
        for (uint32_t i = 0; i < sites; i++) {
            assert_in_range(run.counts[i], 98, 101);
        }
    }
}

static void what_finds_no_turn_is_dropped_and_counted(void **state)
{
    static struct run run;

    start(&run, 86, 4, 1);
    for (int i = 0; i < 1000; i++) {
        launch(&run, 4);
    }
    assert_in_range(run.sampled, 3900, 4000); /* the last of a round come alone */
    assert_in_range(run.sampled + run.dropped, 86 * 999, 86 * 1000);
    for (uint32_t i = 0; i < 86; i++) {
        assert_in_range(run.counts[i], 44, 47);
    }
}

static void sites_that_found_no_slot_come_first_next_time(void **state)
{
    static struct run run;

    start(&run, 20, 4, 0.2); /* a turn each launch */
    for (int i = 0; i < 2000; i++) {
        launch(&run, 1);
    }
    assert_in_range(run.sampled, 1990, 2000);
    for (uint32_t i = 0; i < 20; i++) {
        assert_in_range(run.counts[i], 99, 101);
    }
}

/* A launch that no one looked at for long, as when the budget is spent. */
static void a_late_turn_is_not_followed_by_a_flood(void **state)
{
    static struct run run;

    start(&run, 86, 4, 1.0 / 64);
    run.launch = 1000000;
    for (int i = 0; i < 10; i++) {
        launch(&run, 4);
    }
    assert_in_range(run.sampled, 8, 24);
    assert_in_range(run.dropped, 1300000, 1400000);
}

/* No pattern of the launches can follow the turns: they fall on odd and even ones alike. */
static void turns_fall_anywhere_in_their_stretch(void **state)
{
    static struct run run;
    uint32_t odd = 0, turns = 0;

    start(&run, 4, 4, 1.0 / 16);
    while (turns < 1000) {
        if (run.launch >= run.next) {
            turns++;
            odd += run.launch % 2;
        }
        launch(&run, 4);
    }
    assert_in_range(odd, 500 - 80, 500 + 80); /* 5 standard deviations */
}

static void without_a_rate_there_is_no_turn(void **state)
{
    uint32_t order[4];
    struct mhcs_turns turns;

    assert_int_equal(mhcs_turns_init(&turns, 4, 4, 0, seed, order), MHCS_TURNS_NEVER);
    assert_int_equal(mhcs_turns_init(&turns, 0, 4, 1, seed, order), MHCS_TURNS_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_site_is_sampled_within_two_rounds_and_at_the_rate_that_was_set),
        cmocka_unit_test(what_finds_no_turn_is_dropped_and_counted),
        cmocka_unit_test(sites_that_found_no_slot_come_first_next_time),
        cmocka_unit_test(a_late_turn_is_not_followed_by_a_flood),
        cmocka_unit_test(turns_fall_anywhere_in_their_stretch),
        cmocka_unit_test(without_a_rate_there_is_no_turn),
    };
    const char *given = getenv("MHCSHADOW_TEST_SEED");

    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    print_message("MHCSHADOW_TEST_SEED=%" PRIu64 "\n", seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
