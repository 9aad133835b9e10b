#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's compute-sanitizer finds nothing in the kernels, nor in a client under the library; where it is installed."""
import glob
import os
import shutil
import subprocess
import sys

import e2e

SNAPSHOT, VECTORS = (os.environ[f"MHCSHADOW_TEST_{name}"] for name in ("SNAPSHOT", "VECTORS_PROGRAM"))
FEW_VECTORS = ("tiny.json", "one_sweep.json")


def find():
    folders = [os.path.join(place, "bin") for place in sorted(glob.glob("/usr/local/cuda*"), reverse=True)]
    return shutil.which("compute-sanitizer", path=os.pathsep.join([os.environ["PATH"], *folders]))


def check(kind, what, program, **env):
    command, env = [TOOL, "--tool", kind, "--error-exitcode", "99", *program], {**os.environ, **env}
    try:
        run = subprocess.run(command, env=env, text=True, capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        print(f"left out {kind}, {what}: it takes more than a minute", flush=True)
        return
    output = run.stdout + run.stderr
    if "Device not supported" in output:
        print("compute-sanitizer does not support this device")
        sys.exit(77)
    e2e.expect(run.returncode == 0, f"{kind}, {what} {output[-3000:] if run.returncode else ''}")


TOOL = find()
if not TOOL:
    print("no compute-sanitizer here")
    sys.exit(77)
with e2e.scratch() as work, e2e.scratch() as traces:
    for file in FEW_VECTORS:
        shutil.copy(os.path.join(os.environ["MHCSHADOW_TEST_VECTORS"], file), work)
    settings = {"DIR": traces, "SHAPES": "24x64", "SAMPLE": "all", "HEADROOM_MB": "0"}
    check("memcheck", "a client under the library", [e2e.CLIENT, "work", "5"], LD_PRELOAD=e2e.LIBRARY,
          **{f"MHCSHADOW_{name}": value for name, value in settings.items()})
    e2e.expect(len(e2e.trace_files(traces)) == 1, "which left a trace")
    for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
        check(tool, "snapshot and fingerprint", [SNAPSHOT])
        check(tool, "reference and comparator", [VECTORS], MHCSHADOW_TEST_VECTORS=work)
e2e.finish()
