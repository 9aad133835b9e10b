#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo client on the simulated libraries: its results do not depend on the order of streams.

Usage: test_demo.py mhcshadow-demo mhcshadow-make-checkpoint
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

DEMO, MAKE_CHECKPOINT = sys.argv[1:3]
del sys.argv[1:3]

RUNS = (("random:1", 1), ("random:2", 3), ("eager", 1), ("threads", 1), ("threads", 3))
PRECISIONS = ("bf16", "bf16-f32", "fp16", "tf32", "fp32")


def some(runs, number):
    """Two of the runs, in turn: what orders the streams is the same in every precision."""
    return runs[number % len(runs)], runs[(number + 2) % len(runs)]


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.checkpoint = os.path.join(cls.folder.name, "model.safetensors")
        subprocess.run(
            [MAKE_CHECKPOINT, "--layers", "3", "--hidden", "64", cls.checkpoint], check=True
        )

    def run_demo(self, *options, order="lazy"):
        environment = dict(os.environ, SIMCUDA_ORDER=order, SIMCUDA_QUIET="1")
        return subprocess.run(
            [DEMO, "--quiet", "--prefill-tokens", "100", "--decode-steps", "4", *options],
            capture_output=True,
            text=True,
            env=environment,
        )

    def last_line(self, *options, order="lazy"):
        result = self.run_demo("--checkpoint", self.checkpoint, *options, order=order)
        self.assertEqual((result.returncode, result.stderr), (0, ""), (options, order))
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 1)
        return lines[0]

    def test_orders_and_streams_do_not_change_the_checksum(self):
        for number, precision in enumerate(PRECISIONS):
            wanted = self.last_line("--precision", precision)
            for order, streams in some(RUNS, number):
                options = ("--precision", precision, "--streams", str(streams))
                self.assertEqual(self.last_line(*options, order=order), wanted, (order, streams))

    def test_cast_weights_do_not_change_the_checksum(self):
        for order in ("lazy", "threads"):
            self.assertEqual(self.last_line("--cast", "--streams", "2", order=order), self.last_line())

    def test_decoding_in_graphs_does_not_change_the_checksum(self):
        for number, precision in enumerate(PRECISIONS):
            options = ("--precision", precision, "--decode-steps", "9")
            wanted = self.last_line(*options)
            self.assertEqual(self.last_line(*options, "--decode", "padded"), wanted)
            for order, streams in some((("lazy", 1), *RUNS), number):
                graphs = ("--decode", "graphs", "--streams", str(streams))
                self.assertEqual(self.last_line(*options, *graphs, order=order), wanted, (order, streams))
            self.assertEqual(self.last_line(*options, "--decode", "graphs", "--cast"), wanted)

    def test_precision_seed_and_steps_change_the_checksum(self):
        lines = [self.last_line("--precision", precision) for precision in PRECISIONS]
        lines.append(self.last_line("--seed", "2"))
        lines.append(self.last_line("--layers", "2"))
        checksums = {re.search(r"checksum ([0-9a-f]{16})$", line).group(1) for line in lines}
        self.assertEqual(len(checksums), len(lines))

    def test_calls_are_counted(self):
        # 5 passes of 3 layers with 2 sites, a head each, and 2 others in layer 0.
        self.assertRegex(
            self.last_line(),
            r"^bf16, 3 layers, hidden 64, 1 prefill and 4 decode passes: "
            r"30 mixing GEMMs, 5 of the head, 10 others, checksum [0-9a-f]{16}$",
        )

    def test_errors_name_the_file_and_the_tensor(self):
        with open(self.checkpoint, "rb") as f:
            whole = f.read()
        cut = os.path.join(self.folder.name, "cut.safetensors")
        with open(cut, "wb") as f:
            f.write(whole[:-1])
        renamed = os.path.join(self.folder.name, "renamed.safetensors")
        with open(renamed, "wb") as f:
            f.write(whole.replace(b"layers.1.hc_ffn_scale", b"layers.1.hc_ffn_skale"))
        for options, code, text in (
            ([], 64, "--checkpoint is needed"),
            (["--checkpoint", "/nonexistent"], 1, "/nonexistent: No such file"),
            (["--checkpoint", cut], 1, f"{cut}: tensor hc_head_scale: ends at byte"),
            (["--checkpoint", renamed], 1, "layers.1.hc_ffn_fn: the checkpoint has no scale"),
            (["--checkpoint", self.checkpoint, "--layers", "4"], 1, "has 3 layers, not 4"),
            (["--checkpoint", self.checkpoint, "--precision", "fp8"], 64, "not fp8"),
            (["--checkpoint", self.checkpoint, "--decode", "late"], 64, "not late"),
            (["--checkpoint", self.checkpoint, "--decode-tokens", "65"], 64, "from 1 to 64"),
        ):
            result = self.run_demo(*options)
            self.assertEqual(result.returncode, code, options)
            self.assertIn(text, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_help_explains_every_option(self):
        result = self.run_demo("--help")
        self.assertEqual(result.returncode, 0)
        for option in (
            "checkpoint precision prefill-steps prefill-tokens decode-steps decode-tokens decode layers seed streams "
            "cast pause quiet"
        ).split():
            self.assertIn(f"--{option}", result.stdout)


if __name__ == "__main__":
    unittest.main()
