#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The made-up checkpoint has the names, shapes and statistics of DeepSeek-V4's, and is repeatable.

Usage: test_checkpoint.py mhcshadow-make-checkpoint
"""
import array
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def make(path, *options):
    return subprocess.run([PROGRAM, *options, path], capture_output=True, text=True)


def read(path):
    """Name -> (shape, values) of a safetensors file of F32 tensors."""
    with open(path, "rb") as f:
        (length,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(length))
        tensors = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            assert entry["dtype"] == "F32", name
            begin, end = entry["data_offsets"]
            f.seek(8 + length + begin)
            tensors[name] = (entry["shape"], array.array("f", f.read(end - begin)))
    return tensors


class Checkpoint(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def make(self, name, *options):
        result = make(self.path(name), *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return read(self.path(name))

    def test_names_and_shapes(self):
        wanted = {"hc_head_fn": [4, 256], "hc_head_base": [4], "hc_head_scale": [1]}
        for layer in range(2):
            for site in ("attn", "ffn"):
                wanted[f"layers.{layer}.hc_{site}_fn"] = [24, 256]
                wanted[f"layers.{layer}.hc_{site}_base"] = [24]
                wanted[f"layers.{layer}.hc_{site}_scale"] = [3]
        tensors = self.make("small", "--layers", "2", "--hidden", "64")
        self.assertEqual({name: shape for name, (shape, _) in tensors.items()}, wanted)
        self.assertEqual(os.path.getsize(self.path("small")) % 4, 0)

    def test_statistics_of_fn_are_those_of_the_real_checkpoint(self):
        tensors = self.make("real", "--layers", "2")
        rms_of = {}
        for name, (shape, values) in tensors.items():
            if not name.endswith("_fn"):
                continue
            rms_of[name] = (sum(v * v for v in values) / len(values)) ** 0.5
            # The head's few weights carry an absmax of their own; its rms may exceed a little.
            self.assertTrue(0.033 <= rms_of[name] <= 0.047, (name, rms_of[name]))
            self.assertTrue(0.63 <= max(map(abs, values)) <= 1.06, name)
            # One weight in 2048 is rare; about half of those are beyond five times the rms.
            rare = sum(abs(v) > 5 * rms_of[name] for v in values) / len(values)
            self.assertTrue(1e-4 < rare < 3.5e-4, (name, rare))
            mean = sum(values) / len(values)
            self.assertLess(abs(mean), 5 * rms_of[name] / len(values) ** 0.5, name)
            # A full fp32 mantissa: the last bit of bf16's, TF32's and fp32's is set half the time.
            bits = struct.unpack(f"<{len(values)}I", values.tobytes())
            for bit in (16, 13, 0):
                share = sum(b >> bit & 1 for b in bits[:20000]) / 20000
                self.assertTrue(0.48 < share < 0.52, (name, bit, share))
        self.assertEqual(len(set(rms_of.values())), len(rms_of))

    def test_scale_and_base_are_plausible(self):
        tensors = self.make("many", "--layers", "40", "--hidden", "64")
        for column, wanted in enumerate((2.076, 0.0187, 0.246)):
            values = [v[column] for n, (s, v) in tensors.items() if n.endswith("_scale") and s == [3]]
            self.assertEqual(len(set(values)), 80)
            self.assertTrue(all(0.6 * wanted < v < 1.6 * wanted for v in values))
            self.assertTrue(0.95 * wanted < sum(values) / 80 < 1.05 * wanted)
        bases = [v for n, (_, vs) in tensors.items() if n.endswith("_base") for v in vs]
        self.assertTrue(all(abs(v) < 3.5 for v in bases))
        self.assertTrue(0.9 < (sum(v * v for v in bases) / len(bases)) ** 0.5 < 1.1)

    def test_the_seed_decides_and_fewer_layers_are_the_first_ones(self):
        one = self.make("one", "--layers", "3", "--hidden", "64")
        self.assertEqual(one, self.make("again", "--layers", "3", "--hidden", "64", "--seed", "1"))
        other = self.make("other", "--layers", "3", "--hidden", "64", "--seed", "2")
        fewer = self.make("fewer", "--layers", "1", "--hidden", "64")
        for name, tensor in one.items():
            self.assertNotEqual(tensor, other[name])
            if name in fewer:
                self.assertEqual(tensor, fewer[name])

    def test_bad_options_and_places_are_named(self):
        for options, text in (
            (["--hidden", "3"], "3 is not a number from 64"),
            (["--layers", "x"], "x is not a number"),
            (["second"], "only one file"),
        ):
            result = make(self.path("none"), *options)
            self.assertEqual(result.returncode, 64)
            self.assertIn(text, result.stderr)
        result = make("/nonexistent/x")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nonexistent/x: No such file or directory", result.stderr)
        os.mkdir(self.path("folder"))
        result = make(self.path("folder"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("folder: Is a directory", result.stderr)
        self.assertEqual(os.listdir(self.folder.name), ["folder"])


if __name__ == "__main__":
    unittest.main()
