#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verbs that show a view of the errors: top, hist, drift."""
import re

from case import Case, main, run


class Top(Case):
    def test_the_worst_rows_are_shown_with_their_coefficients(self):
        out = self.assert_report("top_one_site", 1, "top", "--rows=2", self.make("one_site"))
        self.assertEqual(len(re.findall(r"^ +\d+  layers\.1\.hc_ffn_fn in ", out, re.M)), 2)

    def test_nan_comes_first(self):
        out = self.assert_report("top_nan_row", 1, "top", "--rows=1", self.make("nan_row"))
        self.assertIn("1  layers.2.hc_attn_fn in prefill: NaN or Inf in production alone", out)

    def test_a_head_shows_its_four_coefficients(self):
        blocks = run("top", "--rows=448", self.make("tf32"))[1].split("\n\n")
        for block in blocks:
            if re.match(r" +\d+  site", block):
                self.assertEqual("      post" not in block, "site6" in block, block)

    def test_the_order_of_traces_and_the_number_of_threads_change_nothing(self):
        self.make("one_site")
        outs = {run("top", "--rows=20", "--threads", threads, *paths)[1]
                for threads in "124" for paths in ((self.rank(0), self.rank(1)), (self.rank(1), self.rank(0)))}
        self.assertEqual(len(outs), 1)

    def test_mistakes_are_named(self):
        self.make("few")
        for option, said in (("--by=colour", "--by colour"), ("--rows=0", "--rows 0"), ("--against=x", "--against x")):
            code, out, err = run("top", option, self.dir)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(said, err)


class Hist(Case):
    def test_a_clean_run_lies_beside_what_is_expected(self):
        out = self.assert_report("hist_clean", 0, "hist", "--against=operands", self.make("clean"))
        self.assertIn("rel against the operands: 896 rows at 14 sites and phases", out)

    def test_one_site_in_one_phase_can_be_asked_for(self):
        out = self.assert_report("hist_one_site", 1, "hist", "--site=layers.1.hc_ffn*", "--phase=decode", self.make("one_site"))
        self.assertIn(": 64 rows at 1 sites and phases", out)

    def test_other_metrics_have_no_expectation(self):
        out = self.assert_report("hist_y", 0, "hist", "--metric=y_rel", self.make("clean"))
        self.assertIn("No expected distribution: for rel alone is it known", out)

    def test_an_unknown_path_has_no_expectation_and_is_still_shown(self):
        code, out, _ = run("hist", self.make("unknown_path"))
        self.assertEqual(code, 3)
        self.assertIn("No expected distribution: a declared path has no expectation", out)
        self.assertIn("p50", out)

    def test_a_selection_without_rows_says_so(self):
        code, out, _ = run("hist", "--site=nowhere", self.make("clean"))
        self.assertEqual(code, 3)
        self.assertIn("No row of these has a value", out)

    def test_a_narrow_terminal_leaves_out_what_is_expected(self):
        self.make("clean")
        for width in (60, 80, 100):
            out = run("hist", "--width", str(width), self.dir)[1]
            self.assertLessEqual(max(map(len, out.splitlines())), width)

    def test_mistakes_are_named(self):
        self.make("few")
        for options, said in ((["--metric=colour"], "--metric colour"), (["--phase=x"], "--phase x"), (["--against=x"], "--against x"),
                              (["--metric=ulp", "--phase=decode"], "--site and --phase are for rel alone")):
            code, out, err = run("hist", *options, self.dir)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(said, err)


class Drift(Case):
    def test_a_clean_run_has_no_trend_and_no_window_that_stands_out(self):
        out = self.assert_report("drift_clean", 0, "drift", self.make("clean"))
        self.assertIn("  0 of ", out)
        self.assertEqual(out.count(": no trend\n"), 2)
        self.assertIn("No product: the traces do not tell scale and base", out)

    def test_a_step_is_seen_in_the_windows_behind_it_and_as_a_trend(self):
        out = self.assert_report("drift_step", 0, "drift", self.make("step"))
        self.assertIn("): A TREND", out)
        windows = [line for line in out.splitlines() if line.startswith("2023-")]
        # Calls are 10 ms apart: the 30th call of the seven sites begins at 2.1 s, and a window is 0.13 s.
        for line in windows[1:-1]:
            if not "22:13:21.96" < line[11:22] < "22:13:22.10":
                self.assertEqual("*" in line, line[11:22] >= "22:13:22.10", line)

    def test_over_the_layers_the_product_needs_the_maps(self):
        out = self.assert_report("drift_maps", 0, "drift", self.make("with_maps"))
        self.assertRegex(out, r"by the product of measured comb matrices \d")

    def test_neutral_maps_are_said_to_be(self):
        out = run("drift", self.make("tf32"))[1]
        self.assertIn("these are the maps of a neutral layer", " ".join(out.split()))

    def test_without_an_expectation_the_rms_is_shown(self):
        code, out, _ = run("drift", self.make("unknown_path"))
        self.assertEqual(code, 3)
        self.assertIn("rms rel, for no path has an expectation", out)

    def test_the_order_of_traces_and_the_number_of_threads_change_nothing(self):
        self.make("one_site")
        outs = {run("drift", "--threads", threads, *paths)[1]
                for threads in "124" for paths in ((self.rank(0), self.rank(1)), (self.rank(1), self.rank(0)))}
        self.assertEqual(len(outs), 1)


if __name__ == "__main__":
    main()
