/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of several processes, merged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/report/random.h"
#include "tools/report/facts.h"

static void add(struct mhcs_facts *facts, const char *json)
{
    assert_int_equal(mhcs_facts_add(facts, json), 0);
}

static void counters_of_a_file_are_cumulative_and_files_add_up(void **unused)
{
    struct mhcs_facts file[3] = {0}, facts = {0};

    add(&file[0], "{\"counters\":{\"seen\":10,\"matched\":5,\"reasons\":{\"no_slot\":1}}}");
    add(&file[0],
        "{\"counters\":{\"seen\":30,\"matched\":9,\"reasons\":{\"no_slot\":2},\"checked\":3}}");
    add(&file[1], "{\"counters\":{\"seen\":7,\"matched\":4,\"captured\":3,\"checked\":2,"
                  "\"checked_cublas\":1}}");
    for (int i = 0; i < 3; i++) { /* the last one is without counters */
        assert_int_equal(mhcs_facts_merge(&facts, &file[i]), 0);
        mhcs_facts_free(&file[i]);
    }
    assert_true(facts.counted);
    assert_int_equal(facts.counter[MHCS_SEEN], 37);
    assert_int_equal(facts.counter[MHCS_MATCHED], 13);
    assert_int_equal(facts.counter[MHCS_CAPTURED], 3);
    assert_int_equal(facts.reason[MHCS_REASON_NO_SLOT], 2);
    assert_int_equal(facts.checked, 5);
    assert_int_equal(facts.checked_cublas, 1);
    mhcs_facts_free(&facts);
}

static void equal_facts_are_one_line_and_different_ones_are_counted(void **unused)
{
    struct mhcs_facts facts = {0};
    const struct mhcs_distinct *gpu = &facts.fact[MHCS_FACT_GPU];

    add(&facts, "{\"format\":\"mhcshadow\",\"host\":\"b\",\"pid\":2,\"gpu\":{\"name\":\"H200\"}}");
    add(&facts, "{\"format\":\"mhcshadow\",\"host\":\"a\",\"pid\":10,\"gpu\":{\"name\":\"H200\"}}");
    add(&facts, "{\"format\":\"mhcshadow\",\"host\":\"a\",\"pid\":9,\"gpu\":{\"name\":\"B200\"}}");
    mhcs_facts_sort(&facts);
    assert_int_equal(gpu->count, 2);
    assert_string_equal(gpu->value[0].text, "B200");
    assert_int_equal(gpu->value[1].files, 2);
    assert_int_equal(facts.processes, 3);
    assert_string_equal(facts.process[0], "a 9");
    assert_string_equal(facts.process[1], "a 10");
    mhcs_facts_free(&facts);
}

static void a_simulation_and_a_neutral_model_are_noticed(void **unused)
{
    struct mhcs_facts facts = {0};

    add(&facts, "{\"format\":\"mhcshadow\",\"gpu\":{\"name\":\"Sim\",\"simulated\":true},"
                "\"model\":{\"source\":\"none\",\"hc_eps\":1e-6,\"norm_eps\":1e-6,"
                "\"iterations\":20}}");
    assert_true(facts.simulated);
    assert_true(facts.neutral_model);
    assert_string_equal(facts.fact[MHCS_FACT_MODEL].value[0].text,
                        "no checkpoint: maps with scale 1, base 0, NOT the model's own; "
                        "hc_eps 1e-06, norm_eps 1e-06, 20 Sinkhorn sweeps");
    mhcs_facts_free(&facts);
}

static void events_are_told_once_and_not_beside_their_counters(void **unused)
{
    struct mhcs_facts facts = {0};

    add(&facts, "{\"events\":[{\"event\":\"armed\",\"mode\":\"host\",\"slots\":8},"
                "{\"event\":\"fallback\",\"mode\":\"host\",\"reason\":\"96 MB free\"},"
                "{\"event\":\"fallback\",\"mode\":\"host\",\"reason\":\"96 MB free\"},"
                "{\"event\":\"notice\",\"reason\":\"no_slot\",\"text\":\"no slot was free\"},"
                "{\"event\":\"notice\",\"reason\":\"novel\",\"text\":\"something new\"},"
                "{\"event\":\"disarmed\",\"reason\":\"cuMemAlloc failed\"}]}");
    mhcs_facts_sort(&facts);
    assert_int_equal(facts.events.count, 3);
    assert_string_equal(facts.events.value[0].text, "disarmed: cuMemAlloc failed");
    assert_string_equal(facts.events.value[1].text, "fell back to \"host\": 96 MB free");
    assert_int_equal(facts.events.value[1].files, 2);
    assert_string_equal(facts.events.value[2].text, "something new");
    assert_string_equal(facts.fact[MHCS_FACT_ENGINE].value[0].text,
                        "reference runs as \"host\", 8 slots");
    mhcs_facts_free(&facts);
}

static void odd_facts_are_ignored(void **unused)
{
    static const char *const odd[] = {
        "",
        "not json",
        "[]",
        "null",
        "{\"format\":1,\"command\":7,\"gpu\":[],\"settings\":{},\"environment\":[1]}",
        "{\"sites\":7,\"events\":{\"a\":1},\"counters\":[1]}",
        "{\"counters\":{\"seen\":-5,\"matched\":1e300,\"sampled\":\"x\"}}",
        "{\"sites\":[1,{\"k\":\"x\"}],\"events\":[null,{}]}",
    };
    struct mhcs_facts facts = {0};

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        add(&facts, odd[i]);
    for (int i = 0; i < MHCS_COUNTERS; i++)
        assert_int_equal(facts.counter[i], 0);
    mhcs_facts_free(&facts);
}

static void terminal_escapes_do_not_come_through(void **unused)
{
    struct mhcs_facts facts = {0};

    add(&facts, "{\"format\":\"mhcshadow\",\"label\":\"\\u001b[2Jboo\\n\\u00e9\"}");
    assert_string_equal(facts.fact[MHCS_FACT_LABEL].value[0].text, "?[2Jboo???");
    mhcs_facts_free(&facts);
}

/* Runs 0000 to 0999 in some order, split over some files; which values are kept must not tell. */
static void add_runs(struct mhcs_facts *facts, uint64_t *state)
{
    enum { RUNS = 1000, FILES = 5 };
    struct mhcs_facts file[FILES] = {0};
    size_t order[RUNS], merged[FILES];
    char json[64];

    shuffle(state, order, RUNS);
    for (size_t i = 0; i < RUNS; i++) {
        snprintf(json, sizeof(json), "{\"format\":\"mhcshadow\",\"label\":\"run %04zu\"}",
                 order[i]);
        add(&file[pick(state, FILES)], json);
    }
    shuffle(state, merged, FILES);
    for (size_t i = 0; i < FILES; i++) {
        assert_int_equal(mhcs_facts_merge(facts, &file[merged[i]]), 0);
        mhcs_facts_free(&file[merged[i]]);
    }
    mhcs_facts_sort(facts);
}

static void only_so_many_different_values_are_kept_whatever_their_order(void **unused)
{
    uint64_t state = test_seed("values");

    for (int i = 0; i < 20; i++) {
        struct mhcs_facts facts = {0};
        const struct mhcs_distinct *labels = &facts.fact[MHCS_FACT_LABEL];

        add_runs(&facts, &state);
        assert_int_equal(facts.processes, 1000);
        assert_int_equal(labels->count, MHCS_DISTINCT_MAX);
        assert_int_equal(labels->further, 1000 - MHCS_DISTINCT_MAX);
        assert_string_equal(labels->value[0].text, "run 0000");
        assert_string_equal(labels->value[MHCS_DISTINCT_MAX - 1].text, "run 0255");
        mhcs_facts_free(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_of_a_file_are_cumulative_and_files_add_up),
        cmocka_unit_test(equal_facts_are_one_line_and_different_ones_are_counted),
        cmocka_unit_test(a_simulation_and_a_neutral_model_are_noticed),
        cmocka_unit_test(events_are_told_once_and_not_beside_their_counters),
        cmocka_unit_test(odd_facts_are_ignored),
        cmocka_unit_test(terminal_escapes_do_not_come_through),
        cmocka_unit_test(only_so_many_different_values_are_kept_whatever_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
