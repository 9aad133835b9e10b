#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/gpu/run, as far as it can be tested without a GPU.

Usage: test_run.py RUN --build DIR --out DIR
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

RUN, BUILD = sys.argv[1], sys.argv[3]
del sys.argv[1:]
sys.path.insert(0, os.path.dirname(os.path.abspath(RUN)))
import places  # pylint: disable=wrong-import-position
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(RUN))))


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = os.path.join(self.folder.name, "out")

    def run_items(self, *arguments, run=RUN, build=BUILD, **env):
        return subprocess.run(
            [sys.executable, run, "--build", build, "--out", self.out, *arguments],
            env=dict(os.environ, **env),
            text=True,
            capture_output=True,
            check=False,
        )

    def results(self):
        with open(os.path.join(self.out, "results.json"), encoding="utf-8") as file:
            return json.load(file)

    def read(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return file.read()

    def test_without_a_gpu_it_says_so(self):
        run = self.run_items(CUDA_VISIBLE_DEVICES="")
        self.assertEqual(run.returncode, 77, run.stderr)
        self.assertIn("no GPU here", run.stdout)
        self.assertFalse(os.path.exists(self.out))

    def test_the_simulation_is_not_taken_for_a_gpu(self):
        run = self.run_items(LD_LIBRARY_PATH=os.path.join(BUILD, "tests", "simcuda"))
        self.assertEqual(run.returncode, 2)
        self.assertIn("LD_LIBRARY_PATH leads to the simulation", run.stderr)

    def test_what_is_found_is_written_down_and_called_simulated(self):
        run = self.run_items("--simulated", "--only", "driver,captures,torch")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertTrue(run.stdout.endswith("2 passed, 0 failed, 1 skipped\n"), run.stdout)
        results = self.results()
        self.assertTrue(results["simulated"])
        self.assertEqual(
            {name: item["status"] for name, item in results["items"].items()},
            {"driver": "ok", "captures": "ok", "torch": "skipped"},
        )
        driver = results["items"]["driver"]
        self.assertEqual(driver["figures"]["functions.missing"], {"value": 0, "unit": ""})
        self.assertEqual(driver["figures"]["call.cuCtxGetCurrent"]["unit"], "ns")
        self.assertIn("kernel.mhcs_snapshot", [name for name, _ in driver["facts"]])
        self.assertGreater(results["items"]["captures"]["ok"], 0)
        self.assertTrue(self.read("summary.txt").startswith("SIMULATED GPU"))
        self.assertIn("SKIPPED  torch", self.read("summary.txt"))
        self.assertIn("ok       global: the capture stays valid", self.read("log.txt"))

    def test_what_fails_or_hangs_stops_nothing_else(self):
        # The model's passes pause for more than half a minute in all; the others take seconds.
        run = self.run_items(
            "--simulated",
            "--only",
            "kernel-times,captures,snapshot,model",
            "--limit",
            "15",
            SIMCUDA_DEFECT="rows-of-comb",
        )
        self.assertEqual(run.returncode, 1, run.stdout)
        items = self.results()["items"]
        self.assertEqual((items["captures"]["status"], items["captures"]["why"]), ("failed", "status 1"))
        self.assertIn("every sample is near its reference", items["captures"]["not_ok"][0])
        self.assertEqual(items["model"]["status"], "failed")
        self.assertIn("killed after", items["model"]["why"])
        self.assertEqual((items["kernel-times"]["status"], items["snapshot"]["status"]), ("ok", "ok"))
        self.assertIn("NOT OK global: every sample is near its reference", self.read("summary.txt"))

    def test_a_packed_build_runs_elsewhere(self):
        packed, tree = os.path.join(self.folder.name, "tree", "packed"), os.path.join(self.folder.name, "tree")
        shutil.copytree(os.path.join(SOURCE, "tests"), os.path.join(tree, "tests"))
        run = self.run_items("--pack", packed)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("libcjson.so.1", os.listdir(os.path.join(packed, "lib")))
        run = self.run_items(
            "--simulated",
            "--only",
            "snapshot,captures,offline",
            run=os.path.join(tree, "tests", "gpu", "run"),
            build=packed,
        )
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn(os.path.join(packed, "tests", "simcuda"), self.results()["library_path"])

    def test_unknown_items_and_builds_are_named(self):
        run = self.run_items("--only", "driver,nothing")
        self.assertEqual(run.returncode, 2)
        self.assertIn("no item nothing", run.stderr)
        run = self.run_items("--simulated", build=self.folder.name)
        self.assertEqual(run.returncode, 2)
        self.assertIn(f"no interpose/libmhcshadow.so in {self.folder.name}: build first", run.stderr)


class PlacesOfARealGpu(unittest.TestCase):
    """With one made up."""

    def with_gpu(self, cuda=()):
        driver = os.path.join(BUILD, "tests", "simcuda", "libcuda.so.1")
        gpu = {"count": 1, "name": "NVIDIA H200", "driver": 13000, "path": driver}
        with unittest.mock.patch.object(places, "probe", return_value=gpu):
            return places.Places(BUILD, cuda, False)

    def test_libraries_that_are_missing_are_named(self):
        with unittest.mock.patch.object(places, "candidates", return_value=["/nonexistent"]):
            self.assertEqual(list(self.with_gpu().lacks), ["cublas"])
            self.assertIn("no lib", self.with_gpu().lacks["cublas"])

    def test_nothing_runs_on_the_simulation_by_mistake(self):
        self.assertIn("would run on the simulated libcuda.so.1", self.with_gpu().cannot_load("DRIVER"))
        with unittest.mock.patch.object(places, "candidates", return_value=[]):
            self.assertIn("would run on the simulated libcu", self.with_gpu().cannot_load("DEMO"))
        self.assertIsNone(self.with_gpu().cannot_load("MAKE_CHECKPOINT"))

    def test_the_folder_that_is_given_comes_first(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("libcublas.so.13", "libcublasLt.so.13", "libcudart.so.13"):
                open(os.path.join(folder, name), "wb").close()
            found = self.with_gpu([folder])
        self.assertEqual((found.library_path.split(":")[0], found.lacks), (folder, {}))


if __name__ == "__main__":
    unittest.main()
