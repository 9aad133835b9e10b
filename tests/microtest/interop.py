# SPDX-License-Identifier: Apache-2.0
"""Files of the safetensors package are read as our own are, and it reads ours.

    interop.py MICROTEST MAKE_CHECKPOINT VENV

It is installed from PyPI into VENV at the first run. Exit 77 (skipped) where that can't be done.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import pypi

pypi.run_with(sys.argv[3], ["numpy", "ml_dtypes", "safetensors"])
import ml_dtypes
import numpy
import safetensors.numpy

MICROTEST, MAKE_CHECKPOINT = sys.argv[1:3]
del sys.argv[1:4]


def sites(model, *options):
    command = [MICROTEST, "--json", "--model", model, "--rows", "4", "--list", "all", *options]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["sites"]


class Interop(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.ours = self.path("ours.safetensors")
        subprocess.run([MAKE_CHECKPOINT, "--layers", "2", "--hidden", "64", self.ours], check=True)
        self.tensors = safetensors.numpy.load_file(self.ours)

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_the_package_reads_ours(self):
        self.assertEqual(self.tensors["layers.1.hc_ffn_fn"].shape, (24, 256))
        self.assertEqual(self.tensors["hc_head_fn"].dtype, numpy.float32)
        absmax = {site["site"]: site["absmax"] for site in sites(self.ours)}
        for name, value in absmax.items():
            self.assertAlmostEqual(value, float(abs(self.tensors[name]).max()), delta=1e-7)

    def test_we_read_the_packages(self):
        theirs = self.path("theirs.safetensors")
        safetensors.numpy.save_file(self.tensors, theirs, {"format": "pt"})
        self.assertEqual(sites(theirs), sites(self.ours))

    def test_shards_of_the_package_are_one_checkpoint(self):
        shards = [{n: t for n, t in self.tensors.items() if ("layers.1" in n) == second} for second in (False, True)]
        model, where = self.path("model"), {}
        os.mkdir(model)
        for i, tensors in enumerate(shards):
            shard = f"model-{i + 1:05}-of-00002.safetensors"
            safetensors.numpy.save_file(tensors, os.path.join(model, shard), {"format": "pt"})
            where.update({name: shard for name in tensors})
        with open(os.path.join(model, "model.safetensors.index.json"), "w", encoding="utf-8") as f:
            json.dump({"metadata": {"total_size": 1}, "weight_map": where}, f)
        self.assertEqual(sites(model), sites(self.ours))

    def test_half_precision_is_read(self):
        for dtype, narrow in (("f16", numpy.float16), ("bf16", ml_dtypes.bfloat16)):
            stored = {n: t.astype(narrow) if n.endswith("_fn") else t for n, t in self.tensors.items()}
            file = self.path(f"{dtype}.safetensors")
            safetensors.numpy.save_file(stored, file)
            for site in sites(file):
                self.assertEqual(site["dtype"], dtype)
                values = stored[site["site"]].astype(numpy.float32)
                self.assertAlmostEqual(site["absmax"], float(abs(values).max()), delta=1e-7)
                self.assertAlmostEqual(site["rms"], float(numpy.sqrt((values.astype(float) ** 2).mean())), delta=1e-7)

    def test_activations_of_the_package_are_rows(self):
        rows = numpy.random.default_rng(1).standard_normal((2, 3, 4, 64)).astype(numpy.float16)
        dump = self.path("dump.safetensors")
        safetensors.numpy.save_file({"layers.1.x": rows, "other": rows[0]}, dump)
        six = subprocess.run([MICROTEST, "--json", "--model", self.ours, "--states", dump, "--tensor", "layers.1.x"],
                             capture_output=True, text=True, check=True).stdout
        self.assertEqual(json.loads(six)["run"]["rows"], 6)


if __name__ == "__main__":
    unittest.main()
