#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verbs that answer with an exit code, as a user runs them."""
import os
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
        self.assertRegex(out, r"OVER +layers.1.hc_ffn_fn prefill: R 5\.\d+ > 1.5 \(rules.txt:4\)")
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


if __name__ == "__main__":
    main()
