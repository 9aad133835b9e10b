#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client linked against NVIDIA's libraries runs on the simulated ones, bound symbol by symbol.

Usage: test_bindings.py DEMO DEMO_OF_THE_TOOLKIT FOLDER_OF_THE_SIMULATION mhcshadow-make-checkpoint
Both demos have the same objects; the second was linked against the toolkit's cudart and cuBLAS.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

DEMO, OF_THE_TOOLKIT, SIMULATION, MAKE_CHECKPOINT = sys.argv[1:5]
del sys.argv[1:5]


def imports(program):
    """The CUDA functions a program needs, with their versions: {"cublasSgemm_v2@libcublas.so.13"}."""
    names = subprocess.run(
        ["nm", "-D", "--undefined-only", program], check=True, capture_output=True, text=True
    ).stdout
    return set(re.findall(r"\bU ((?:cublas|cuda)\S+)", names))


def version_needs(program):
    """{("libcublas.so.13", "libcublas.so.13")}: which version of which library ld.so will ask for."""
    text = subprocess.run(
        ["readelf", "-W", "-V", program], check=True, capture_output=True, text=True
    ).stdout
    needs, library = set(), None
    for line in text.splitlines():
        if found := re.search(r"\bFile: (\S+)", line):
            library = found.group(1)
        elif (found := re.search(r"\bName: (\S+)\s+Flags", line)) and library.startswith("libcu"):
            needs.add((library, found.group(1)))
    return needs


class Bindings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not version_needs(OF_THE_TOOLKIT) <= {
            ("libcublas.so.13", "libcublas.so.13"),
            ("libcudart.so.13", "libcudart.so.13"),
        }:
            print("skipped: the toolkit's runtime is not that of CUDA 13, the simulated one is")
            sys.exit(77)

    def test_both_links_ask_for_the_same_versioned_functions(self):
        wanted = imports(OF_THE_TOOLKIT)
        self.assertIn("cublasSgemm_v2@libcublas.so.13", wanted)
        self.assertIn("cublasGemmEx@libcublas.so.13", wanted)
        self.assertEqual(imports(DEMO), wanted)
        self.assertEqual(version_needs(DEMO), version_needs(OF_THE_TOOLKIT))

    def test_the_toolkits_client_runs_on_the_simulation(self):
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = os.path.join(folder, "model.safetensors")
            subprocess.run(
                [MAKE_CHECKPOINT, "--layers", "1", "--hidden", "64", checkpoint], check=True
            )
            options = ["--checkpoint", checkpoint, "--precision", "tf32", "--quiet"]
            wanted = subprocess.run(
                [DEMO, *options], check=True, capture_output=True, text=True
            ).stdout
            environment = dict(os.environ, LD_LIBRARY_PATH=SIMULATION, LD_DEBUG="bindings")
            result = subprocess.run(
                [OF_THE_TOOLKIT, *options], env=environment, capture_output=True, text=True
            )
        self.assertEqual((result.returncode, result.stdout), (0, wanted))
        for library, function in (
            ("libcublas.so.13", "cublasSgemm_v2"),
            ("libcublas.so.13", "cublasGemmEx"),
            ("libcudart.so.13", "cudaMemcpyAsync"),
        ):
            path = re.escape(os.path.join(SIMULATION, library))
            self.assertRegex(
                result.stderr,
                rf"binding file \S+{re.escape(os.path.basename(OF_THE_TOOLKIT))} \[0\] to "
                rf"{path} \[0\]: normal symbol `{function}' \[{library}\]",
            )


if __name__ == "__main__":
    unittest.main()
