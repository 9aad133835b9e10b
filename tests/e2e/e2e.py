# SPDX-License-Identifier: Apache-2.0
"""What the whole-way tests share: a client on the simulated GPU, with or without the library, and its traces.

Every test is a program: exit 0 passed, 1 failed, 77 skipped. The build folder's paths come from meson by environment.
tests/gpu/run starts some of them on a real GPU.
"""
import glob
import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
import traceback

LIBRARY = os.environ["MHCSHADOW_TEST_LIBRARY"]
CLIENT = os.environ["MHCSHADOW_TEST_CLIENT"]
MAKE_CHECKPOINT = os.environ["MHCSHADOW_TEST_MAKE_CHECKPOINT"]
REPORT = os.environ["MHCSHADOW_TEST_REPORT"]
TRACE_DUMP = os.environ["MHCSHADOW_TEST_TRACE_DUMP"]

# A cross build's programs run in qemu-user.
RUNNER = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))

# By tests/gpu/run: "gpu", or "simulated" where the simulation takes the place of one.
GPU = os.environ.get("MHCSHADOW_TEST_GPU")
GPU_TIMEOUT = 60 if GPU else math.inf  # s, of a client

HIDDEN = 512  # of most tests: small, for the simulation's sake


def shapes(hidden):
    return f"24x{4 * hidden},4x{4 * hidden}"


SHAPES = shapes(HIDDEN)


def scratch():
    """A directory that goes away with the object."""
    return tempfile.TemporaryDirectory(prefix="mhcshadow-e2e-")


def checkpoint(directory, layers=2, hidden=HIDDEN, seed=1):
    file = os.path.join(directory, f"model-{layers}x{hidden}-{seed}.safetensors")
    if not os.path.exists(file):
        subprocess.run([*RUNNER, MAKE_CHECKPOINT, "--layers", str(layers), "--hidden", str(hidden), "--seed", str(seed), file],
                       check=True, stdout=subprocess.DEVNULL)
    return file


def client(arguments, traces=None, order="lazy", library=LIBRARY, check=True, wrapper=(), timeout=240, **settings):
    """Runs the client; with `traces` under the library, with the settings as MHCSHADOW_<NAME>. A `wrapper` gets the
    client's command line as its arguments and preloads $LIBRARY itself."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MHCSHADOW_")}
    env.update(SIMCUDA_ORDER=order, SIMCUDA_QUIET="1")
    if traces is not None:
        env.update({"LIBRARY" if wrapper else "LD_PRELOAD": library}, MHCSHADOW_DIR=traces, MHCSHADOW_SHAPES=SHAPES)
        # The simulation's host time says nothing about a server's.
        env.update(MHCSHADOW_BUDGET="0")
        env.update({f"MHCSHADOW_{name}": str(value) for name, value in settings.items()})
    command = [*wrapper, *RUNNER, CLIENT, *arguments]
    try:
        timeout = min(timeout, GPU_TIMEOUT)
        run = subprocess.run(command, env=env, text=True, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired as hang:  # a failure: the slowest of these runs takes seconds
        run = subprocess.CompletedProcess(command, 124, "", f"{CLIENT} is killed after {hang.timeout:.0f} s")
    if check and run.returncode:
        print(run.stderr, flush=True)
        run.check_returncode()
    return run


def orders(names):
    """The orders of the simulation's work that a test goes through. A GPU has one, its own."""
    return {"gpu": ["gpu"], "simulated": list(names)[:1]}.get(GPU, list(names))


def usable(plain, what):
    """Whether a client that ran without the library can be compared with. NVIDIA's libraries may refuse or crash where
    the simulation does not: that is then said, and no failure of ours."""
    if GPU and plain.returncode != 0:
        end = f"{plain.returncode} {plain.stderr.strip()[-300:]}"
        print(f"left out {what}: without the library the client ends with {end}", flush=True)
    else:
        expect(plain.returncode == 0, f"{what}: the client runs {plain.stderr}")
    return plain.returncode == 0


def same_results(plain, run, what, again):
    """Bit for bit. Where cuBLAS does not repeat itself, as `again`, a further run without the library, shows, that is
    said."""
    if GPU and run.stdout != plain.stdout and again().stdout != plain.stdout:
        print(f"left out {what}: results change from run to run without the library too", flush=True)
    else:
        expect(run.stdout == plain.stdout, f"{what}: the same results, bit for bit")


def faults(run):
    """What the simulation complains of; not that it is to be a GPU which the library's kernels are too new for."""
    return [line for line in run.stderr.splitlines() if line.startswith("simcuda:") and "PTX is for" not in line]


def last_line(run):
    """The client's own summary: its output checksum and the calls it made."""
    return run.stdout.strip().splitlines()[-1]


def trace_files(directory):
    return sorted(glob.glob(os.path.join(directory, "*.arrows.zst")))


def dump(directory):
    """(rows, facts) of all traces in a directory; rows are dicts by column name."""
    rows, facts = [], []
    for file in trace_files(directory):
        out = subprocess.run([*RUNNER, TRACE_DUMP, file], text=True, capture_output=True, check=True).stdout
        for event in map(json.loads, out.splitlines()):
            if event["event"] == "facts":
                facts.append(event["facts"])
            elif event["event"] == "batch":
                names, columns = event["columns"].keys(), event["columns"].values()
                rows += [dict(zip(names, values)) for values in zip(*columns)]
    return rows, facts


def expect_whole(directory, what, torn=False):
    """By `mhcshadow-report verify`; `torn`: a kill may have torn off the end."""
    run = subprocess.run([*RUNNER, REPORT, "verify", directory], text=True, capture_output=True, check=False)
    whole = run.returncode == 0
    expect(whole or (torn and "TORN" in run.stdout), f"{what} is whole {'' if whole else run.stdout}")


def counters(facts):
    return [f["counters"] for f in facts if "counters" in f][-1]


failures = 0


def expect(condition, what):
    """Counts and prints; the test goes on, so that one run shows everything that is wrong."""
    global failures
    if not condition:
        failures += 1
    print(("ok       " if condition else "NOT OK   ") + what, flush=True)


def run_each(tests):
    """Functions named as statements of behaviour; what one raises does not stop the others."""
    for test in tests:
        print(f"-- {test.__name__.replace('_', ' ')}", flush=True)
        try:
            test()
        except Exception:  # pylint: disable=broad-except
            expect(False, traceback.format_exc())


def finish():
    sys.exit(1 if failures else 0)
