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


if __name__ == "__main__":
    main()
