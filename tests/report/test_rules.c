/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of `check`: what is a rule, what is told of what is none, and which one decides. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tools/report/rules.h"

/* What reading returned; *ret_errors is what it said, for the caller to free. */
static int read_text(struct mhcs_rules *ret_rules, const char *text, char **ret_errors)
{
    FILE *in = fmemopen((char *)(uintptr_t)text, strlen(text), "r"), *errors;
    size_t size;
    int ret;

    errors = open_memstream(ret_errors, &size);
    assert_non_null(in);
    assert_non_null(errors);
    ret = mhcs_rules_read(ret_rules, in, "rules", errors);
    fclose(errors);
    fclose(in);
    return ret;
}

static void read_good(struct mhcs_rules *ret_rules, const char *text)
{
    char *errors;

    if (read_text(ret_rules, text, &errors))
        fail_msg("%s", errors);
    assert_string_equal(errors, "");
    free(errors);
}

static void a_rule_has_a_site_a_phase_and_limits(void **unused)
{
    struct mhcs_rules rules;

    read_good(&rules, "# the gate\n\n"
                      "  layers.*\tprefill  R<=1.5 , checkpoint.p99 <= 8e-3,rows >= 200 # why\r\n"
                      "* * skip\n");
    assert_int_equal(rules.count, 2);
    assert_string_equal(rules.rule[0].site, "layers.*");
    assert_int_equal(rules.rule[0].phase, MHCS_PREFILL);
    assert_int_equal(rules.rule[0].line, 3);
    assert_int_equal(rules.rule[0].limits, 4); /* and nonfinite <= 0 */
    assert_int_equal(rules.rule[0].limit[0].figure, MHCS_FIGURE_RATIO);
    assert_int_equal(rules.rule[0].limit[0].reference, MHCS_PRODUCTION);
    assert_true(rules.rule[0].limit[0].bound == 1.5);
    assert_int_equal(rules.rule[0].limit[1].figure, MHCS_FIGURE_P99);
    assert_int_equal(rules.rule[0].limit[1].reference, MHCS_CHECKPOINT);
    assert_int_equal(rules.rule[0].limit[2].figure, MHCS_FIGURE_ROWS);
    assert_true(rules.rule[0].limit[2].bound == 200);
    assert_true(rules.rule[1].skip);
    assert_int_equal(rules.rule[1].phase, -1);
    mhcs_rules_free(&rules);
}

static void a_silent_rule_still_needs_rows_and_finite_values(void **unused)
{
    struct mhcs_rules rules;

    read_good(&rules, "* * R <= 4\n* * rows >= 3, nonfinite <= 7\n");
    assert_int_equal(rules.rule[0].limits, 3);
    assert_int_equal(rules.rule[0].limit[1].figure, MHCS_FIGURE_NONFINITE);
    assert_true(rules.rule[0].limit[1].bound == 0);
    assert_int_equal(rules.rule[0].limit[2].figure, MHCS_FIGURE_ROWS);
    assert_true(rules.rule[0].limit[2].bound == MHCS_MIN_ROWS);
    assert_int_equal(rules.rule[1].limits, 2);
    mhcs_rules_free(&rules);
}

static void the_first_rule_that_matches_decides(void **unused)
{
    struct mhcs_rules rules;

    read_good(&rules, "layers.1.* decode R <= 1\nlayers.?.* * R <= 2\nlayers.* prefill R <= 3\n");
    assert_int_equal(mhcs_rules_find(&rules, "layers.1.hc_ffn_fn", MHCS_DECODE)->line, 1);
    assert_int_equal(mhcs_rules_find(&rules, "layers.1.hc_ffn_fn", MHCS_PREFILL)->line, 2);
    assert_int_equal(mhcs_rules_find(&rules, "layers.21.hc_ffn_fn", MHCS_PREFILL)->line, 3);
    assert_null(mhcs_rules_find(&rules, "layers.21.hc_ffn_fn", MHCS_DECODE));
    assert_null(mhcs_rules_find(&rules, "hc_head_fn", MHCS_PREFILL));
    mhcs_rules_free(&rules);
}

static void a_ratio_alone_is_one_rule_for_everything(void **unused)
{
    struct mhcs_rules rules;

    assert_int_equal(mhcs_rules_of_ratio(&rules, 4), 0);
    assert_int_equal(rules.count, 1);
    assert_true(mhcs_rules_find(&rules, "any site", MHCS_DECODE)->limit[0].bound == 4);
    assert_int_equal(rules.rule[0].limits, 3);
    mhcs_rules_free(&rules);
}

static void what_is_no_rule_is_told_with_its_line(void **unused)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"a", "there is no phase"},
        {"* warmup R <= 3", "\"warmup\" is no phase"},
        {"* *", "the rule has no limit"},
        {"* * R", "\"R\" is no limit"},
        {"* * R < 3", "\"<\": a limit has <="},
        {"* * R == 3", "\"==\": a limit has <="},
        {"* * R <= ", "\"\" is not a number"},
        {"* * R <= three", "\"three\" is not a number"},
        {"* * R <= 3x", "\"3x\" is not a number"},
        {"* * R <= -1", "\"-1\" is not a number of 0 or more"},
        {"* * R <= nan", "\"nan\" is not a number"},
        {"* * R >= 3", "R takes <=, not >="},
        {"* * rows <= 3", "rows takes >=, not <="},
        {"* * relative <= 3",
         "no figure is called \"relative\"; there are rows, nonfinite, R, rel"},
        {"* * production.rel <= 3", "no figure is called \"production.rel\""},
        {"* * R <= 3,", "before or behind a comma"},
        {"* * ,R <= 3", "before or behind a comma"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct mhcs_rules rules;
        char text[80], *errors;

        snprintf(text, sizeof(text), "* prefill skip\n%s\n", bad[i].text);
        assert_int_equal(read_text(&rules, text, &errors), -EINVAL);
        if (strncmp(errors, "rules:2: ", 9) || !strstr(errors, bad[i].says))
            fail_msg("\"%s\" gave: %s", bad[i].text, errors);
        free(errors);
        mhcs_rules_free(&rules);
    }
}

static void all_bad_lines_are_told_at_once(void **unused)
{
    struct mhcs_rules rules;
    char *errors;

    assert_int_equal(read_text(&rules, "a\n* * R <= 2\n* * R\n", &errors), -EINVAL);
    assert_non_null(strstr(errors, "rules:1: "));
    assert_non_null(strstr(errors, "rules:3: "));
    free(errors);
    mhcs_rules_free(&rules);
}

static void too_many_limits_are_refused(void **unused)
{
    struct mhcs_rules rules;
    char text[400] = "* * R <= 1", *errors;

    while (strlen(text) + 10 < sizeof(text))
        strcat(text, ", R <= 1");
    assert_int_equal(read_text(&rules, text, &errors), -EINVAL);
    assert_non_null(strstr(errors, "more than 14 limits"));
    free(errors);
    mhcs_rules_free(&rules);
}

static void a_file_without_rules_is_an_error(void **unused)
{
    struct mhcs_rules rules;
    char *errors;

    assert_int_equal(read_text(&rules, "# nothing\n", &errors), -EINVAL);
    assert_non_null(strstr(errors, "no rule in it"));
    free(errors);
    mhcs_rules_free(&rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_has_a_site_a_phase_and_limits),
        cmocka_unit_test(a_silent_rule_still_needs_rows_and_finite_values),
        cmocka_unit_test(the_first_rule_that_matches_decides),
        cmocka_unit_test(a_ratio_alone_is_one_rule_for_everything),
        cmocka_unit_test(what_is_no_rule_is_told_with_its_line),
        cmocka_unit_test(all_bad_lines_are_told_at_once),
        cmocka_unit_test(too_many_limits_are_refused),
        cmocka_unit_test(a_file_without_rules_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
