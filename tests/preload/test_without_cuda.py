# SPDX-License-Identifier: Apache-2.0
"""The whole library in a program that calls cuBLAS where there is no CUDA: every call passes, what
was not checked is counted, and the reason is said once.

    test_without_cuda.py LIBRARY CALLS [DEEPBIND_PLUGIN STATIC_PLUGIN SEEN_PLUGIN]
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARY, CALLS, *PLUGINS = map(os.path.abspath, sys.argv[1:])
RUNNER = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))


class WithoutCuda(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def run_calls(self, shape, *plugins, **settings):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("MHCSHADOW")}
        environment.update({"LD_PRELOAD": LIBRARY, "MHCSHADOW_DIR": self.folder,
                            "ASAN_OPTIONS": "verify_asan_link_order=0", **settings})
        result = subprocess.run([*RUNNER, CALLS, shape, *plugins], env=environment, cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30,
                                check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.gemms = int(result.stdout)
        return result.stderr.splitlines()

    def counters(self):
        """The last counters of the one trace in the folder; its facts stand there in plain JSON."""
        traces = os.listdir(self.folder)
        self.assertEqual(len(traces), 1, traces)
        with open(os.path.join(self.folder, traces[0]), "rb") as trace:
            return json.loads(re.findall(rb'\{"counters":(\{.*?\{.*?\}.*?\})\}', trace.read())[-1])

    def test_mixing_gemms_pass_and_are_counted_as_failed(self):
        said = self.run_calls("mixing", MHCSHADOW_SAMPLE="all")
        self.assertEqual(len(said), 1, said)
        self.assertIn("libcuda.so.1 is not loaded", said[0])
        counters = self.counters()
        self.assertEqual([counters[name] for name in
                          ("seen", "matched", "sampled", "dropped", "captured", "failed")],
                         [self.gemms, self.gemms, 0, 0, 0, self.gemms])

    @unittest.skipUnless(PLUGINS, "sanitizers refuse RTLD_DEEPBIND")
    def test_plugins_that_go_past_the_hooks_are_named(self):
        deepbind, static, seen = PLUGINS
        said = self.run_calls("mixing", *PLUGINS, MHCSHADOW_SAMPLE="all")
        self.assertEqual(len([line for line in said if f"{deepbind} calls cuBLAS past" in line]), 1, said)
        self.assertEqual(len([line for line in said if f"{static} has cuBLAS linked in statically" in line]), 1, said)
        self.assertEqual([line for line in said if seen in line], [])
        with open(os.path.join(self.folder, os.listdir(self.folder)[0]), "rb") as trace:
            self.assertEqual(len(re.findall(rb'"reason":"bypassed"', trace.read())), 2)
        self.assertEqual(self.counters()["matched"], self.gemms + 1)  # the last plugin's

    def test_ordinary_gemms_leave_no_trace(self):
        self.assertEqual(self.run_calls("ordinary", MHCSHADOW_SAMPLE="nonsense"), [])
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_inert_library_leaves_no_trace(self):
        self.assertEqual(self.run_calls("mixing", MHCSHADOW="0", MHCSHADOW_SAMPLE="nonsense"), [])
        self.assertEqual(os.listdir(self.folder), [])

    def test_no_sampling_leaves_no_trace(self):
        self.assertEqual(self.run_calls("mixing", MHCSHADOW_SAMPLE="off"), [])
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_misunderstood_environment_is_named_once_and_harms_nothing(self):
        said = self.run_calls("mixing", MHCSHADOW_SAMPEL="all", MHCSHADOW_ROWS="many",
                              MHCSHADOW_CUPTI="1", MHCSHADOW_SAMPLE="all")
        for words in (r"MHCSHADOW_SAMPEL .* nearest is MHCSHADOW_SAMPLE", r"MHCSHADOW_ROWS=many",
                      r"MHCSHADOW_CUPTI=1 asks for"):
            self.assertEqual(len([line for line in said if re.search(words, line)]), 1, said)
        self.assertEqual(len(said), 4, said)

    def test_the_log_goes_to_the_file_it_is_given(self):
        log = os.path.join(self.folder, "log")
        self.assertEqual(self.run_calls("mixing", MHCSHADOW_SAMPLE="all",
                                        MHCSHADOW_LOG=f"warn:{log}.%p"), [])
        logs = [name for name in os.listdir(self.folder) if re.fullmatch(r"log\.\d+", name)]
        self.assertEqual(len(logs), 1)
        with open(os.path.join(self.folder, logs[0]), encoding="utf-8") as lines:
            self.assertIn("libcuda.so.1", lines.read())

    def test_a_folder_that_is_not_there_harms_nothing(self):
        said = self.run_calls("mixing", MHCSHADOW_SAMPLE="all",
                              MHCSHADOW_DIR=self.folder + "/missing")
        self.assertEqual(len([line for line in said if "/missing" in line]), 1, said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
