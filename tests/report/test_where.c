/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of wrong rows are found, and no pattern where there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/report/random.h"
#include "tools/report/where.h"

/* Sampled rows: as the sampler takes them, one of each equal stretch of a call. */
static void sample_call(struct mhcs_where *where, uint64_t *state, int32_t tokens, int32_t rows,
                        bool (*wrong)(int32_t row, int32_t tokens))
{
    struct mhcs_places places = {.tokens = tokens};

    for (int32_t i = 0; i < rows; i++) {
        const int32_t begin = (int32_t)((int64_t)i * tokens / rows);
        const int32_t end = (int32_t)((int64_t)(i + 1) * tokens / rows);
        const int32_t row = begin + (int32_t)pick(state, (size_t)(end - begin));
        const bool off = wrong(row, tokens);

        places.place[places.count++] =
            (struct mhcs_place){.row = row, .off = off ? 6 : 0, .wrong = MHCS_WRONG_FEW};
        places.off += off;
    }
    mhcs_where_add(where, &places);
}

static bool is_odd(int32_t row, int32_t tokens)
{
    return row % 2 == 1;
}

static bool is_first_of_32(int32_t row, int32_t tokens)
{
    return row % 32 == 0;
}

static bool is_in_tail(int32_t row, int32_t tokens)
{
    return row >= tokens - tokens % 64;
}

static bool is_of_one_tile(int32_t row, int32_t tokens)
{
    return row >= 48 && row < 64;
}

static bool is_anywhere(int32_t row, int32_t tokens)
{
    return mhcs_mix64((uint64_t)row * 7919 + (uint64_t)tokens) % 5 == 0;
}

static const struct {
    bool (*wrong)(int32_t row, int32_t tokens);
    const char *said;
} cases[] = {
    {is_odd, "odd token rows"},
    {is_first_of_32, "token rows 0, 32, ... (every 32nd)"},
    {is_in_tail, "the token rows behind a call's last whole tile of 64"},
    {is_of_one_tile, "token rows 48 to 63"},
    {is_anywhere, "token rows"},
};

static void patterns_are_found_in_sampled_rows(void **unused)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mhcs_where where = {0}, half = {0};
        uint64_t state = test_seed(cases[i].said);
        struct mhcs_pattern pattern;
        char *text;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        assert_non_null(out);
        for (int call = 0; call < 200; call++)
            sample_call(call % 2 ? &where : &half, &state, 100 + (int32_t)pick(&state, 1000), 32,
                        cases[i].wrong);
        mhcs_where_merge(&where, &half);
        pattern = mhcs_where_pattern(&where);
        mhcs_pattern_say(out, &pattern);
        fputs("; ", out);
        mhcs_where_say_coefficients(out, &where);
        fclose(out);
        if (strncmp(text, cases[i].said, strlen(cases[i].said)) != 0 ||
            strcmp(text + strlen(cases[i].said), "; coefficients 1 (pre[1]) and 2 (pre[2])") != 0)
            fail_msg("'%s' instead of '%s'", text, cases[i].said);
        free(text);
    }
}

static bool is_never(int32_t row, int32_t tokens)
{
    return false;
}

/* The second of two wrong rows is in the first one's 32nd part of the rows in one run of 32. */
static void two_rows_make_no_pattern(void **unused)
{
    struct mhcs_where where = {0};
    uint64_t state = test_seed("two rows");

    for (int call = 0; call < 100; call++)
        sample_call(&where, &state, 1000, 32, is_never);
    for (int32_t row = 33; row < 1000; row += 900 / 32 * 32)
        mhcs_where_add(
            &where, &(struct mhcs_places){
                        .tokens = 1000, .count = 1, .off = 1, .place = {{.row = row, .off = 1}}});
    assert_int_equal(mhcs_where_off(&where), 2);
    assert_int_equal(mhcs_where_pattern(&where).kind, MHCS_ANYWHERE);
}

static void parts_merged_in_any_order_are_the_whole(void **unused)
{
    struct mhcs_where parts[8] = {0}, whole = {0}, merged = {0};
    uint64_t state = test_seed("merge");
    size_t order[8];

    for (size_t i = 0; i < 8; i++) {
        const int32_t tokens = 1 + (int32_t)pick(&state, 3000);
        uint64_t same = state;

        sample_call(&parts[i], &state, tokens, 1, is_odd);
        sample_call(&whole, &same, tokens, 1, is_odd);
    }
    shuffle(&state, order, 8);
    for (size_t i = 0; i < 8; i++)
        mhcs_where_merge(&merged, &parts[order[i]]);
    assert_memory_equal(&merged, &whole, sizeof(whole));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_found_in_sampled_rows),
        cmocka_unit_test(two_rows_make_no_pattern),
        cmocka_unit_test(parts_merged_in_any_order_are_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
