#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verbs that answer with an exit code, check and diff, as a user runs them."""
import os
import re
import subprocess

from case import MAKE_CASE, Case, main, run


class Gate(Case):
    def make_in(self, folder, case):
        os.makedirs(folder, exist_ok=True)
        subprocess.run([MAKE_CASE, folder, case], check=True)
        return folder

    def rules(self, text):
        with open("rules.txt", "w", encoding="ascii") as file:
            file.write(text)
        return "rules.txt"


class Check(Gate):
    def test_a_clean_run_is_within_one_ratio_for_all(self):
        out = self.assert_report("check_clean", 0, "check", "--max-ratio", "4", self.make("clean"))
        self.assertIn("PASSED: of 14 sites and phases 14 within", out)

    def test_one_bad_site_is_over_and_named_with_its_rule(self):
        rules = self.rules("# SITE       PHASE   LIMITS\n"
                           "hc_head_fn   *       skip\n"
                           "layers.0.*   decode  R <= 2, rows >= 200\n"
                           "*            *       R <= 1.5, p99 <= 8e-3\n")
        out = self.assert_report("check_one_site", 1, "check", "--rules", rules, self.make("one_site"))
        self.assertRegex(out, r"OVER +layers.1.hc_ffn_fn prefill: R 6\.\d+ > 1.5 \(rules.txt:4\)")
        self.assertRegex(out, r"THIN +layers.0.hc_attn_fn decode: rows 64 < 200 \(rules.txt:3\)")

    def test_a_site_without_a_rule_is_an_error(self):
        rules = self.rules("layers.* * R <= 4\n")
        out = self.assert_report("check_no_rule", 2, "check", "--rules", rules, self.make("clean"))
        self.assertIn("hc_head_fn decode: no rule matches it", out)

    def test_the_first_rule_decides(self):
        self.make("one_site")
        lenient, strict = "layers.1.hc_ffn_fn * R <= 9\n", "* * R <= 4\n"
        self.assertEqual(run("check", "--rules", self.rules(lenient + strict), self.dir)[0], 0)
        self.assertEqual(run("check", "--rules", self.rules(strict + lenient), self.dir)[0], 1)

    def test_a_rule_that_decides_nothing_is_mentioned(self):
        rules = self.rules("* * R <= 4\nlayers.9.* * R <= 1\n")
        code, out, _ = run("check", "--rules", rules, self.make("clean"))
        self.assertEqual(code, 0)
        self.assertIn("rules.txt:2: the rule for layers.9.* * decided nothing", out)

    def test_nan_in_production_is_over_whatever_the_averages_say(self):
        out = self.assert_report("check_nan_row", 1, "check", "--max-ratio=100", self.make("nan_row"))
        self.assertIn("nonfinite 1 > 0", out)
        rules = self.rules("* * R <= 100, nonfinite <= 1, rows >= 63\n")
        self.assertEqual(run("check", "--rules", rules, self.dir)[0], 0)

    def test_too_few_rows_are_insufficient_unless_a_rule_asks_for_fewer(self):
        self.assert_report("check_few", 3, "check", "--max-ratio=4", self.make("few"))
        rules = self.rules("* * R <= 4, rows >= 16\n")
        self.assertEqual(run("check", "--rules", rules, self.dir)[0], 0)

    def test_skipping_everything_is_no_pass(self):
        code, out, _ = run("check", "--rules", self.rules("* * skip\n"), self.make("clean"))
        self.assertEqual(code, 3)
        self.assertIn("INSUFFICIENT", out)

    def test_a_figure_without_a_value_is_no_pass(self):
        self.make("clean")
        code, out, _ = run("check", "--rules", self.rules("* * comb <= 1\n"), self.dir)
        self.assertEqual(code, 3)
        self.assertIn("hc_head_fn prefill: comb has no value here", out)
        self.assertEqual(run("check", "--max-ratio=4", self.make_in("other", "unknown_path"))[0], 3)

    def test_damage_is_no_pass(self):
        self.make("clean")
        self.write(b"hello", "rank2.arrows.zst")
        code, out, _ = run("check", "--max-ratio=4", self.dir)
        self.assertEqual(code, 3)
        self.assertIn("DAMAGED", out)

    def test_bad_rules_are_a_usage_error_with_their_lines(self):
        self.make("clean")
        code, out, err = run("check", "--rules", self.rules("* * R <= 4\n* * R < 4\n"), self.dir)
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(err, 'rules.txt:2: "<": a limit has <= (rows: >=)\n')
        code, out, err = run("check", "--rules", "absent.txt", self.dir)
        self.assertEqual((code, err), (2, "mhcshadow-report: absent.txt: No such file or directory\n"))

    def test_one_way_of_limits_has_to_be_given(self):
        self.make("clean")
        for arguments in ((), ("--max-ratio=4", "--rules", self.rules("* * R <= 4\n")),
                          ("--max-ratio=0",), ("--max-ratio=x",), ("--max-ratio=nan",)):
            self.assertEqual(run("check", *arguments, self.dir)[0], 2, arguments)


class Diff(Gate):
    def test_a_run_is_the_same_as_itself(self):
        out = self.assert_report("diff_same", 0, "diff", self.make("clean"), self.dir)
        self.assertIn("SAME", out)

    def test_a_site_that_grew_is_named_with_its_factor(self):
        a, b = self.make_in("a", "clean"), self.make_in("b", "one_site")
        out = self.assert_report("diff_grew", 1, "diff", a, b)
        # make_case adds five times the error to the error: six times in all.
        self.assertRegex(out, r"layers\.1\.hc_ffn_fn +prefill +64 +64 .* 6\.00 .*GREW")
        self.assertIn("sites and phases 2", out)
        code, out, _ = run("diff", b, a)
        self.assertEqual(code, 0)
        self.assertIn("SHRANK", out)
        code, out, _ = run("diff", "--all", a, b)
        self.assertEqual(out.count(" same\n"), 24)

    def test_nan_that_was_not_there_is_growth(self):
        a, b = self.make_in("a", "clean"), self.make_in("b", "nan_row")
        code, out, _ = run("diff", a, b)
        self.assertEqual(code, 1)
        self.assertIn("most at layers.2.hc_attn_fn in prefill against the operands, 1.00 times, with NaN or "
                      "Inf in production (rows: 1)", " ".join(out.split()))

    def test_unlike_models_are_refused_unless_forced(self):
        a, b = self.make_in("a", "clean"), self.make_in("b", "tf32")
        code, out, err = run("diff", a, b)
        self.assertEqual((code, out), (2, ""))
        for words in ("unlike", "--force", "no checkpoint", "deepseek_v4"):
            self.assertIn(words, err)
        out = self.assert_report("diff_forced", 0, "diff", "--force", a, b)
        self.assertIn("A alone has them", out)
        self.assertIn("only in B: site0 prefill", out)

    def test_unlike_shapes_are_refused(self):
        a, b = self.make_in("a", "clean"), self.make_in("b", "other_width")
        code, _, err = run("diff", a, b)
        self.assertEqual(code, 2)
        self.assertIn("K = 28672", err)

    def test_what_differs_between_the_runs_is_told(self):
        a, b = self.make_in("a", "clean"), self.make_in("b", "captured")
        self.assertRegex(run("diff", a, b)[1], r"What differs\n  \(the declared")
        c = self.make_in("c", "f32_output")
        out = run("diff", a, c)[1]
        self.assertRegex(out, r"declared +A  bf16\*bf16->bf16/f32\n +B  bf16\*bf16->f32/f32")

    def test_too_few_rows_are_insufficient(self):
        a, b = self.make_in("a", "clean"), self.make_in("b", "few")
        code, out, _ = run("diff", a, b)
        self.assertEqual(code, 3)
        self.assertIn("INSUFFICIENT", out)

    def test_damage_on_a_side_is_no_clean_answer(self):
        a, b = self.make_in("a", "clean"), self.make_in("b", "clean")
        self.write(b"hello", "b/rank2.arrows.zst")
        self.assertEqual(run("diff", a, b)[0], 3)

    def test_two_runs_have_to_be_named(self):
        self.make("clean")
        for paths in ((), (".",), (".", ".", ".")):
            self.assertEqual(run("diff", *paths)[0], 2)
        code, _, err = run("diff", ".", "absent")
        self.assertEqual((code, err), (2, "mhcshadow-report: absent: No such file or directory\n"))

    def test_the_order_of_ranks_changes_nothing(self):
        a = self.make_in("a", "clean")
        there = run("diff", a, self.make_in("b", "one_site"))
        os.rename("b/rank0.arrows.zst", "b/rank9.arrows.zst")
        self.assertEqual(re.sub(r"\bb\b", "", there[1]), re.sub(r"\bb\b", "", run("diff", a, "b")[1]))


if __name__ == "__main__":
    main()
