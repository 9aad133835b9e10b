#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mhcshadow-report as a user runs it: output against golden files, bad input."""
import os
import re
import subprocess

from case import VERBS, Case, call, main, run


class Verdicts(Case):
    def test_a_clean_run_of_two_ranks_passes(self):
        out = self.assert_report("summary_clean", 0, self.make("clean"))
        self.assertIn("PASS", out)
        self.assertEqual(out, run("summary", self.dir)[1])

    def test_tf32_where_fp32_was_declared_is_over_threshold(self):
        out = self.assert_report("summary_tf32", 1, self.make("tf32"))
        self.assertIn("behaves like rounding of operands to TF32", " ".join(out.split()))

    def test_one_bad_site_is_over_threshold_and_named(self):
        out = self.assert_report("summary_one_site", 1, self.make("one_site"))
        self.assertIn("layers.1.hc_ffn_fn", out)

    def test_nan_in_production_is_over_threshold(self):
        self.assert_report("summary_nan_row", 1, self.make("nan_row"))

    def test_an_isolated_wrong_row_warns_and_exits_0(self):
        out = self.assert_report("summary_wrong_row", 0, self.make("wrong_row"))
        self.assertIn("WARN", out)

    def test_padding_is_left_out_and_counted(self):
        out = self.assert_report("summary_padded", 0, self.make("padded"))
        self.assertIn("\n  PASS\n", out)
        rows, padding = re.search(r"rows: (\d+) compared .*rows left out: padding (\d+)", out, re.S).groups()
        self.assertEqual(int(rows) + int(padding), 7 * 4 * 16)
        self.assertIn("sampled 28, dropped 2, failed 1", re.sub(r"\s+", " ", out))

    def test_weights_that_are_not_the_checkpoints_warn_and_are_named(self):
        out = self.assert_report("summary_wrong_weights", 0, self.make("wrong_weights"))
        self.assertIn("layers.1.hc_attn_fn*: row 5 (post[1]) is negated", out)
        self.assertIn("\n  WARN\n", out)

    def test_too_few_rows_are_insufficient(self):
        self.assert_report("summary_few", 3, self.make("few"))

    def test_an_unknown_path_is_not_judged(self):
        self.assert_report("summary_unknown_path", 3, self.make("unknown_path"))

    def test_captured_calls_are_warned_of(self):
        out = self.assert_report("summary_captured", 0, self.make("captured"))
        self.assertIn("--disable-cuda-graph", out)

    def test_a_killed_process_left_a_whole_trace(self):
        self.make("killed")
        self.assertEqual(run(self.dir)[0], 0)
        self.assertEqual(run("verify", self.dir)[0], 0)

    def test_a_trace_that_reached_its_size_limit_says_so(self):
        code, out, _ = run(self.make("size_cap"))
        self.assertEqual(code, 0)
        self.assertIn("MHCSHADOW_MAX_MB", out)


class Layers(Case):
    def test_lines_are_in_order_of_layers(self):
        self.assert_report("layers_one_site", 1, "layers", self.make("one_site"))

    def test_lines_can_be_sorted_and_cut(self):
        out = self.assert_report("layers_sorted", 1, "layers", "--sort", "R", "--top=3",
                                 self.make("one_site"))
        self.assertTrue(out.splitlines()[2].startswith("layers.1.hc_ffn_fn"), out)

    def test_a_column_that_does_not_exist_is_a_usage_error(self):
        self.make("few")
        for arguments in (("--sort", "colour"), ("--top", "0"), ("--top", "x"), ("--top", "-1")):
            code, out, err = run("layers", *arguments, self.dir)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(arguments[1], err)


class Input(Case):
    def test_files_in_any_order_give_the_same_report(self):
        self.make("clean")
        there = run(self.rank(0), self.rank(1))
        self.assertEqual(there, run(self.rank(1), self.rank(0)))
        self.assertEqual(there, run(self.dir))
        self.assertEqual(run("verify", self.rank(1), self.rank(0)), run("verify", self.dir))

    def test_a_file_named_twice_counts_once(self):
        self.make("clean")
        os.symlink(self.rank(0), os.path.join(self.dir, "link"))
        self.assertEqual(run(self.dir, self.rank(0), os.path.join(self.dir, "link")),
                         run(self.dir))

    def test_standard_input_is_read(self):
        self.make("clean")
        with open(self.rank(0), "rb") as file:
            piped = run("-", stdin=file)
        self.assertEqual(piped, run(self.rank(0)))
        cat = subprocess.Popen(["cat", self.rank(0)], stdout=subprocess.PIPE)
        self.assertEqual(run("-", stdin=cat.stdout), piped)
        cat.stdout.close()
        cat.wait()

    def test_a_missing_path_is_one_sentence_and_a_usage_error(self):
        for verb in VERBS:
            code, out, err = run(*call(verb, "/nonexistent/trace"))
            self.assertEqual((code, out), (2, ""))
            self.assertEqual(err, "mhcshadow-report: /nonexistent/trace: "
                                  "No such file or directory\n")

    def test_an_unreadable_file_is_a_usage_error(self):
        if os.geteuid() == 0:
            self.skipTest("root may read everything")
        self.make("few")
        os.chmod(self.rank(), 0)
        self.assertEqual(run(self.rank())[0], 2)

    def test_an_empty_directory_says_loudly_what_to_check(self):
        out = self.assert_report("summary_empty_directory", 3, self.dir)
        for words in ("LD_PRELOAD", "MHCSHADOW_DIR", "SGLANG_OPT_USE_TILELANG_MHC_PRE=false",
                      "SGLANG_OPT_DEEPGEMM_HC_PRENORM=false",
                      "SGLANG_OPT_FUSE_MHC_POST_PRE=false", "--disable-cuda-graph"):
            self.assertIn(words, out)
        self.assertEqual(run("layers", self.dir)[0], 3)
        self.assertEqual(run("verify", self.dir)[0], 3)

    def test_a_trace_without_rows_says_loudly_what_to_check(self):
        self.assert_report("summary_no_rows", 3, self.make("no_rows"))

    def test_calls_that_were_all_captured_are_said_to_be(self):
        out = self.assert_report("summary_all_captured", 3, self.make("all_captured"))
        self.assertIn("--disable-cuda-graph", out)
        self.assertNotIn("LD_PRELOAD", out)

    def test_what_is_not_a_trace_is_said_in_one_sentence(self):
        for data in (b"h", b"hello", b"PAR1" + bytes(5000)):
            path = self.write(data, "no.arrows.zst")
            code, out, _ = run(path)
            self.assertEqual(code, 3)
            self.assertIn("no trace could be read", out)
            code, out, _ = run("verify", path)
            self.assertEqual((code, out.count("\n")), (3, 1), out)

    def test_one_bad_file_does_not_hide_the_others(self):
        self.make("clean")
        self.write(b"hello", "rank2.arrows.zst")
        code, out, _ = run(self.dir)
        self.assertEqual(code, 3)
        self.assertIn("PASS", out)
        self.assertIn("1 of 3 traces are damaged or unreadable", " ".join(out.split()))


class Damage(Case):
    def flipped(self, at):
        data = bytearray(self.content())
        data[at] ^= 0x10
        return self.write(bytes(data))

    def marks(self):
        """Offsets of the marks; a batch's data lies 64 bytes behind its mark."""
        return [match.start() - 8 for match in re.finditer(b"MHCSMRK1", self.content())]

    def test_damage_is_located_and_rows_before_it_are_kept(self):
        self.make("long_run")
        third = self.marks()[2]
        self.flipped(third + 64 + 5000)
        self.assert_report("summary_damaged", 3, self.dir)
        out = self.assert_report("verify_damaged", 3, "verify", self.dir)
        self.assertIn(f"offset {third}:", out)
        self.assertIn(" 8192 rows", out)

    def test_salvage_reads_what_lies_behind_damage(self):
        self.make("long_run")
        self.flipped(self.marks()[0] + 64 + 1000)
        plain, salvaged = run("verify", self.dir)[1], run("verify", "--salvage", self.dir)
        self.assertIn(" 0 rows", plain)
        self.assertEqual(salvaged[0], 3)
        self.assertIn("read on behind 1 gap, 1 batches lost", salvaged[1])
        code, out, _ = run("--salvage", self.dir)
        self.assertEqual(code, 3)
        self.assertIn("PASS", out)

    def test_a_torn_tail_warns_and_leaves_the_verdict_its_exit_code(self):
        self.make("long_run")
        self.write(self.content()[:-500])
        out = self.assert_report("summary_torn", 0, self.dir)
        self.assertIn("killed", out)
        self.assertEqual(run("layers", self.dir)[0], 0)
        self.assert_report("verify_torn", 3, "verify", self.dir)

    def test_a_process_killed_before_its_first_byte_leaves_the_verdict_its_exit_code(self):
        self.make("long_run")
        self.write(b"", "mhcshadow.host2.7.1.arrows.zst")
        code, out, err = run(self.dir)
        self.assertEqual(code, 0, err)
        self.assertIn("mhcshadow.host2.7.1.arrows.zst: is empty", out)
        self.assertIn("killed", out)

    def test_whole_traces_verify(self):
        self.assert_report("verify_clean", 0, "verify", self.make("clean"))

    def test_no_prefix_of_a_trace_crashes(self):
        self.make("few")
        data = self.content()
        sizes = [*range(0, 100, 9), *range(100, len(data), len(data) // 12), len(data) - 1]
        for number, size in enumerate(sizes):
            path = self.write(data[:size], "prefix")
            for verb in VERBS[number % 3::3]:  # all read it by the same code
                self.assertIn(run(*call(verb, path))[0], (0, 3), f"{verb}, {size} bytes")


if __name__ == "__main__":
    main()
