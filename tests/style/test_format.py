#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C and CUDA file is as .clang-format says. Other releases than 14 (Debian 12) format differently: skipped there."""
import re
import shutil
import subprocess
import sys

from sources import sources

tool = shutil.which("clang-format-14") or shutil.which("clang-format")
version = subprocess.run([tool, "--version"], text=True, capture_output=True).stdout if tool else "none"
if not re.search(r"version 14\.", version):
    print(f"skipped: needs clang-format 14, found {version.strip()}")
    sys.exit(77)
run = subprocess.run([tool, "--dry-run", "-Werror", *sources("c", "h", "cu", "cuh")], text=True, capture_output=True)
print("\n".join(run.stderr.splitlines()[:40]))
sys.exit(run.returncode)
