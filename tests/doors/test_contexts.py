#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streams of every kind, handles, threads, contexts and devices, and their ends: the same results as without the library, no
fault, and every call counted once."""
import os
import re

import e2e

SETTINGS = {"SHAPES": "24x64", "SAMPLE": "all", "MEM_MB": "16", "HEADROOM_MB": "0", "ROWS": "1"}
EVERY_ORDER = ["lazy", "eager", "random:5", "threads:5"]  # for what the order of the device's work may change

# What may keep a call from being recorded: more of them than there are slots, threads that meet while one of them arms, the
# context's end.
MODES = {
    "streams": (),
    "handles": ("no_slot",),
    "shared-handle": ("no_slot", "arming"),
    "contexts": ("no_slot", "arming"),
    "devices": ("no_slot", "arming"),
    "destroy": ("lost",),  # in flight
    "reset": ("lost",),
    "stale": ("stream", "lost"),
    "generations": ("lost",),
}
CONTEXTS = {"contexts": 3, "devices": 3, "destroy": 5, "reset": 5, "stale": 2, "generations": 20 if e2e.GPU else 100}


def check(mode, order):
    what = f"{mode}, {order}"
    arguments = [mode, str(CONTEXTS[mode])] if mode == "generations" else [mode]

    def without():
        return e2e.client(arguments, order=order, check=False)

    plain = without()
    if plain.returncode == 77 and e2e.GPU:
        print(f"left out {what}: {plain.stdout.strip()}")
        return
    if not e2e.usable(plain, what):
        return
    with e2e.scratch() as traces:
        run = e2e.client(arguments, traces, order, check=False, **SETTINGS)
        e2e.expect(run.returncode == 0 and not e2e.faults(run),
                   f"{what}: no fault, no race {run.stderr if run.returncode else e2e.faults(run)}")
        if run.returncode != 0:
            return
        e2e.same_results(plain, run, what, without)
        e2e.expect_whole(traces, f"{what}: the trace")
        rows, facts = e2e.dump(traces)
    made = int(re.search(r"made (\d+)", run.stdout).group(1))
    count = e2e.counters(facts)
    reasons = count["reasons"]
    e2e.expect(count["seen"] == count["matched"] == made, f"{what}: {made} calls are seen: {count}")
    e2e.expect(made == count["sampled"] + sum(reasons.values()), f"{what}: each is sampled, or has a reason")
    e2e.expect(set(reasons) <= set(MODES[mode]), f"{what}: no other reason than {MODES[mode]}: {reasons}")
    e2e.expect(count["sampled"] > 0 or "lost" in MODES[mode], f"{what}: some are sampled")
    e2e.expect(len({row["call"] for row in rows}) == count["sampled"],
               f"{what}: {count['sampled']} samples are recorded")
    armed = [event for f in facts for event in f.get("events", ()) if event["event"] == "armed"]
    e2e.expect(len(armed) == CONTEXTS.get(mode, 1), f"{what}: an engine for each context: {len(armed)}")
    if mode == "devices":
        e2e.expect({row["device"] for row in rows} == {0, 1, 2}, f"{what}: samples of each device")


if os.environ["MHCSHADOW_TEST_FEW"] == "1":
    os.environ["SIMCUDA_CC"] = "5.0"  # copies in place of kernels, whose interpreter is slow then
for mode in MODES:
    for order in e2e.orders(EVERY_ORDER if mode in ("streams", "destroy", "reset") else ["lazy", "threads:5"]):
        check(mode, order)
e2e.finish()
