#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone, and every source says its licence in its first line."""
import os
import subprocess
import sys

from sources import ROOT, sources

compiler, toolkit = sys.argv[1], sys.argv[2]
failures = []
for file in sources("c", "h", "cu", "cuh", "py", "sh", "build"):
    with open(file, encoding="utf-8") as f:
        if "SPDX-License-Identifier: Apache-2.0" not in f.readline() + f.readline():
            failures.append(f"{file}: no SPDX line")
for file in sources("h"):
    # Bodies and lists are parts of another file: they have no guard, or ask for a definition.
    with open(file, encoding="utf-8") as f:
        text = f.read()
    if "#ifndef" not in text or '#error "define ' in text:
        continue
    run = subprocess.run([compiler, "-std=gnu17", "-D_GNU_SOURCE", "-I", ROOT, "-I", os.path.join(ROOT, "tests/simcuda"), "-isystem",
                          os.path.join(toolkit, "include"), "-fsyntax-only", "-Werror", "-include", file, "-x", "c", os.devnull],
                         text=True, capture_output=True)
    if run.returncode:
        failures.append(f"{file} does not compile alone:\n{run.stderr}")
print("\n".join(failures))
sys.exit(1 if failures else 0)
