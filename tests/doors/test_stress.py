#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many threads, streams, devices and doors at once, every mixing GEMM due: the application's results stay bit-identical, and
what became of its calls is counted to the call.

    test_stress.py CALLS-PER-THREAD ORDER...
"""
import os
import sys
import time

import e2e

SETTINGS = {"SHAPES": "24x16,4x16", "SAMPLE": "all", "MEM_MB": "16", "HEADROOM_MB": "0", "ROWS": "1"}


def made(run):
    """What the client counted: {"seen": ..., "matched": ...}"""
    words = run.stdout.splitlines()[-1].split()
    return dict(zip(words[::2], map(int, words[1::2])))


def check(what, plain, run, again, traces):
    e2e.expect(run.returncode == 0 and not e2e.faults(run),
               f"{what}: no fault, no race {run.stderr if run.returncode else e2e.faults(run)}")
    e2e.same_results(plain, run, what, again)
    client = made(run)
    rows, facts = e2e.dump(traces)
    count = e2e.counters(facts)
    e2e.expect((count["seen"], count["matched"]) == (client["seen"], client["matched"]),
               f"{what}: the client's own count: {client}")
    rest = count["dropped"] + count["captured"] + count["failed"]
    e2e.expect(count["matched"] == count["sampled"] + rest, f"{what}: each matched one is accounted for: {count}")
    e2e.expect(sum(count["reasons"].values()) == rest, f"{what}: and each that was not sampled has a reason")
    e2e.expect(count["sampled"] > 0 and count["reasons"]["gemm"] > 0,
               f"{what}: some were sampled, some refused by cuBLAS")
    e2e.expect(len(rows) == len({row["call"] for row in rows}) == count["sampled"],
               f"{what}: {count['sampled']} samples are recorded, once each")
    worst = max(row["operands_rel"] for row in rows)
    e2e.expect(worst < 0.02, f"{what}: every sample is near its reference (worst {worst:.3e})")
    e2e.expect_whole(traces, f"{what}: the trace")


calls, orders = sys.argv[1], sys.argv[2:]
if os.environ["MHCSHADOW_TEST_FEW"] == "1":
    calls = str(int(calls) // 5)
    os.environ["SIMCUDA_CC"] = "5.0"  # copies in place of kernels, whose interpreter is slow then
for order in e2e.orders(orders):
    for end in ["ended", "alive"] if order == orders[-1] or e2e.GPU else ["ended"]:
        what = f"{order}, threads {end} at exit"

        def without():
            return e2e.client([calls, end], order=order, check=False)

        plain = without()
        if not e2e.usable(plain, what):
            continue
        with e2e.scratch() as traces:
            begin = time.monotonic()
            run = e2e.client([calls, end], traces, order, check=False, timeout=3600, **SETTINGS)
            print(f"         {made(run)['calls']} calls in {time.monotonic() - begin:.0f} s")
            check(what, plain, run, without, traces)
e2e.finish()
