# SPDX-License-Identifier: Apache-2.0
"""The library in front of NVIDIA's own cuBLAS, as far as that runs without a GPU: an unmodified client's references bind to
us, each real function is found, and its answers are handed through.

    test_nvidia.py MAJOR LIBRARY RESOLVE SOURCE_ROOT TOOLKIT VENV CC...

The toolkit's library if it is of this major, else that of PyPI's nvidia-cublas-cuMAJOR, fetched into VENV.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

MAJOR, LIBRARY, RESOLVE, ROOT, TOOLKIT, VENV = sys.argv[1:7]
LIBRARY, RESOLVE = os.path.abspath(LIBRARY), os.path.abspath(RESOLVE)
CC = sys.argv[7:]


def fetch():
    """From PyPI, some 600 MB, once for each build folder."""
    pattern = os.path.join(VENV, "lib", "python3*", "site-packages", "nvidia", "cublas", "lib", f"libcublas.so.{MAJOR}")
    if not glob.glob(pattern):
        for command in ([sys.executable, "-m", "venv", VENV],
                        [os.path.join(VENV, "bin", "pip"), "install", "--quiet", "--no-deps", "--only-binary", ":all:", f"nvidia-cublas-cu{MAJOR}"]):
            run = subprocess.run(command, text=True, capture_output=True, check=False)
            if run.returncode != 0:
                print(f"skipped: {' '.join(command)}: {run.stderr.strip().splitlines()[-1:]}")
                sys.exit(77)
    return glob.glob(pattern)


def find():
    found = [path for path in (os.path.join(TOOLKIT, lib, f"libcublas.so.{MAJOR}") for lib in ("lib64", "lib")) if os.path.exists(path)]
    if not found and VENV:
        found = fetch()
    if not found:
        print(f"skipped: no libcublas.so.{MAJOR} in {TOOLKIT}")
        sys.exit(77)
    return os.path.realpath(os.path.dirname(found[0]))


LIBRARIES = find()
CUBLAS, CUBLASLT = (os.path.join(LIBRARIES, f"{name}.so.{MAJOR}") for name in ("libcublas", "libcublasLt"))


class Nvidia(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="mhcshadow-nvidia-")
        cls.client = os.path.join(cls.folder.name, "client")
        sources = [os.path.join(ROOT, "tests", "preload", name) for name in ("nvidia_client.c", "caller.c")]
        subprocess.run([*CC, "-std=gnu17", "-I", ROOT, "-isystem", os.path.join(TOOLKIT, "include"), *sources, CUBLAS, CUBLASLT,
                        "-o", cls.client, f"-Wl,-rpath,{LIBRARIES}"], check=True)
        cls.plain = cls.run_client({})

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_client(cls, settings):
        env = {"PATH": os.environ["PATH"], **settings}
        return subprocess.run([cls.client], env=env, cwd=cls.folder.name, text=True, capture_output=True, timeout=120, check=True)

    def test_every_versioned_reference_binds_to_us(self):
        with tempfile.TemporaryDirectory() as traces:
            run = self.run_client({"LD_PRELOAD": LIBRARY, "LD_DEBUG": "bindings", "MHCSHADOW_DIR": traces})
        names = re.findall(r"^(cublas\w+): \d+$", run.stdout, re.M)
        names = sorted({name for name in names if "Create" not in name})
        self.assertGreaterEqual(len(names), 25)
        for name in names:
            node = "libcublasLt.so" if name.startswith("cublasLt") else "libcublas.so"
            binding = f"binding file {self.client} [0] to {LIBRARY} [0]: normal symbol `{name}' [{node}.{MAJOR}]"
            self.assertTrue(binding in run.stderr, binding)

    def test_without_a_driver_every_answer_is_handed_through_and_counted(self):
        with tempfile.TemporaryDirectory() as traces:
            run = self.run_client({"LD_PRELOAD": LIBRARY, "MHCSHADOW_SAMPLE": "all", "MHCSHADOW_DIR": traces})
            self.assertEqual(run.stdout, self.plain.stdout)
            self.assertIn("cublasCreate_v2: 1\n", run.stdout)
            self.assertIn("cublasGemmEx: 1\n", run.stdout)
            self.assertNotIn("no loaded library has it", run.stderr)
            (trace,) = os.listdir(traces)
            with open(os.path.join(traces, trace), "rb") as content:
                counters = json.loads(re.findall(rb'\{"counters":(\{.*?\{.*?\}.*?\})\}', content.read())[-1])
        calls = int(re.search(r"(\d+) calls", run.stdout).group(1))
        # The first may come while the library's own thread looks for the driver.
        self.assertLessEqual(counters["reasons"].get("arming", 0), 1)
        counters["failed"] += counters["reasons"].get("arming", 0)
        self.assertEqual((counters["seen"], counters["matched"], counters["failed"]), (calls, calls // 2, calls // 2))

    def test_each_real_function_is_found_and_descriptors_are_read(self):
        run = subprocess.run([RESOLVE, CUBLAS, CUBLASLT], text=True, capture_output=True, timeout=120, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


if __name__ == "__main__":
    print(f"libraries of {LIBRARIES}")
    unittest.main(argv=sys.argv[:1], verbosity=2)
