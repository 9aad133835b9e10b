#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures in every mode, beside a thread that is sampled, and whatever becomes of their graphs: the same results as
without the library, and every replay followed."""
import e2e

SETTINGS = {"SHAPES": "24x64,4x64", "SAMPLE": "all", "MEM_MB": "64", "HEADROOM_MB": "0", "ROWS": "2"}


def check(mode):
    def without():
        return e2e.client([mode], check=False)

    plain = without()
    if not e2e.usable(plain, mode):
        return
    with e2e.scratch() as traces:
        run = e2e.client([mode], traces, check=False, **SETTINGS)
        e2e.expect(run.returncode == 0 and not e2e.faults(run), f"{mode}: the capture stays valid {run.stderr}")
        e2e.same_results(plain, run, mode, without)
        rows, facts = e2e.dump(traces)
    count = e2e.counters(facts)
    e2e.expect(
        count["in_graphs"] > 0 and count["captured"] + count["unfollowed"] + count["replay_failed"] == 0,
        f"{mode}: every captured GEMM is followed: {count}",
    )
    replayed = sum(row["graph"] for row in rows)
    e2e.expect(0 < replayed < len(rows), f"{mode}: {replayed} rows of replays, {len(rows) - replayed} of calls")
    worst = max(row["operands_rel"] for row in rows)
    e2e.expect(worst < 0.02, f"{mode}: every sample is near its reference (worst {worst:.3e})")


for capture_mode in ("global", "thread-local", "relaxed"):
    check(capture_mode)
e2e.finish()
