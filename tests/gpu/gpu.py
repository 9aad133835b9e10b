# SPDX-License-Identifier: Apache-2.0
"""What the tests of tests/gpu share besides e2e: the lines that run reads."""
import json
import os
import subprocess

import e2e

SIMULATED = e2e.GPU == "simulated"


def figure(name, value, unit=""):
    print(f"figure {name:40} {value:12.6g} {unit}", flush=True)


def fact(name, text):
    print(f"fact {name} {text}", flush=True)


def report(traces):
    """What mhcshadow-report makes of them, as `export --format=json` has it."""
    run = subprocess.run([e2e.REPORT, "export", "--format=json", traces], text=True, capture_output=True, check=False)
    return json.loads(run.stdout)


def keep(traces, name):
    """Where tests/gpu/run collects what a person may want to see: $MHCSHADOW_TEST_KEEP."""
    folder = os.environ.get("MHCSHADOW_TEST_KEEP")
    if folder:
        for number, file in enumerate(e2e.trace_files(traces)):
            with open(file, "rb") as trace, open(os.path.join(folder, f"{name}.{number}.arrows.zst"), "wb") as kept:
                kept.write(trace.read())
