#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the prefix of the CUDA toolkit: $CUDA_HOME, nvcc on PATH, /usr/local/cuda."""
import os
import shutil
import sys

nvcc = shutil.which("nvcc")
places = [
    os.environ.get("CUDA_HOME", ""),
    os.path.dirname(os.path.dirname(os.path.realpath(nvcc))) if nvcc else "",
    "/usr/local/cuda",
]
for place in filter(None, places):
    if os.access(os.path.join(place, "bin", "nvcc"), os.X_OK):
        print(place)
        sys.exit(0)
sys.exit("no CUDA toolkit found: set CUDA_HOME, or run ./quickstart, which can fetch one")
