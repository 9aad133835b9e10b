#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decode passes that run as CUDA graphs, whose buffers are used anew within the graph, are seen like those made
call by call."""
import collections
import os

import e2e

LATE = os.environ.get("MHCSHADOW_TEST_LATE_LIBRARY")
FEW = os.environ["MHCSHADOW_TEST_FEW"] == "1"
SITES = 5  # of two layers, with the head

# What a row says about the errors of its GEMM.
FIGURES = ["rms", "operands", "operands_rel", "operands_comb_err", "operands_y_rel", "operands_y_cosdist",
           "defect_reference", "nonfinite"]


def adds_up(count):
    """At "all" no call is skipped; of a launch some GEMMs are, whose turn comes with a later one."""
    called = sum(count[name] for name in ("sampled", "dropped", "captured", "in_graphs", "failed"))
    replayed = sum(count[name] for name in ("replay_sampled", "replay_dropped", "replay_failed"))
    return called == count["matched"] and 0 < replayed <= count["replayed"]


def test_transparent(arguments):
    for streams in [1, 2]:
        graphs = [*arguments, "--decode", "graphs", "--streams", str(streams)]
        plain = e2e.last_line(e2e.client(graphs))
        for order in e2e.orders(["lazy", "eager", "random:1", "threads"]):
            with e2e.scratch() as traces:
                run = e2e.client(graphs, traces, order, SAMPLE="all")
                name = f"{streams} streams, {order}"
                rows, facts = e2e.dump(traces)
                count = e2e.counters(facts)
                e2e.expect(e2e.last_line(run) == plain, f"{name}: same checksum: {plain}")
                e2e.expect(e2e.faults(run) == [],
                           f"{name}: no race, no stale handle, nothing that capture forbids {run.stderr[:300]}")
                e2e.expect(any(r["graph"] for r in rows), f"{name}: {sum(r['graph'] for r in rows)} rows from graphs")
                unchecked = sum(count[key] for key in ("captured", "failed", "replay_failed", "unfollowed"))
                e2e.expect(adds_up(count) and unchecked == 0,
                           f"{name}: every GEMM of every launch is accounted for: {count}")


def test_coverage(arguments):
    """1/8 of the replays of two graphs, each launched more often than 16 times."""
    with e2e.scratch() as traces:
        graphs = [*arguments, "--decode", "graphs", "--prefill-steps", "0", "--decode-steps", "48",
                  "--decode-tokens", "2"]
        e2e.client(graphs, traces, SAMPLE="1/8", ROWS=1)
        rows, facts = e2e.dump(traces)
        count = e2e.counters(facts)
    seen = collections.Counter((r["tokens"], r["site_name"]) for r in rows if r["graph"])
    e2e.expect(len(seen) == 2 * SITES,
               f"every site of either graph sampled, each {min(seen.values())} to {max(seen.values())} times")
    e2e.expect(count["replay_dropped"] == 0 and abs(count["replay_sampled"] - 48 * SITES / 8) <= 2 * 4 + 2,
               f"at the rate that was set: {count['replay_sampled']} of {count['replayed']}")


def test_equal_errors(arguments):
    """The same tokens once call by call, over the rows that a graph has, and once in graphs."""
    rows = {}
    for how in ["padded", "graphs"]:
        with e2e.scratch() as traces:
            e2e.client([*arguments, "--decode", how], traces, "eager", SAMPLE="all", ROWS=64, MEM_MB=64)
            rows[how], _ = e2e.dump(traces)

    def key(row):
        return row["site_name"], row["tokens"], row["row"], tuple(map(str, row["production"]))

    eager = {key(r): [str(r[figure]) for figure in FIGURES] for r in rows["padded"]}
    replayed = [r for r in rows["graphs"] if r["graph"]]
    different = [r for r in replayed if eager.get(key(r)) != [str(r[figure]) for figure in FIGURES]]
    e2e.expect(len(replayed) > 0 and different == [],
               f"{len(replayed)} rows of replays, {len(different)} unlike those of calls")


def test_late(arguments):
    """The simulation alone can tell."""
    for order in ["lazy", "eager", "random:1"]:
        with e2e.scratch() as traces:
            run = e2e.client([*arguments, "--decode", "graphs", "--prefill-steps", "0"], traces, order, library=LATE,
                             check=False, SAMPLE="all")
            e2e.expect("race" in run.stderr, f"{order}: reading the buffers after the launch is reported as a race")


def test_off(arguments):
    graphs = [*arguments, "--decode", "graphs"]
    plain = e2e.last_line(e2e.client(graphs))
    with e2e.scratch() as traces:
        run = e2e.client(graphs, traces, SAMPLE="all", GRAPHS="0")
        rows, facts = e2e.dump(traces)
        count = e2e.counters(facts)
    e2e.expect(e2e.last_line(run) == plain, "MHCSHADOW_GRAPHS=0: same checksum")
    inserted = count["in_graphs"] + count["replays"] + sum(r["graph"] for r in rows)
    e2e.expect(inserted == 0 and count["captured"] > 0,
               f"MHCSHADOW_GRAPHS=0: captured calls are counted, and nothing is inserted: {count}")


with e2e.scratch() as work:
    common = ["--checkpoint", e2e.checkpoint(work), "--precision", "bf16", "--prefill-steps", "1", "--prefill-tokens",
              "24", "--decode-steps", "2" if FEW else "6", "--decode-tokens", "8", "--pause",
              os.environ["MHCSHADOW_TEST_PAUSE"]]
    test_transparent(common)
    test_coverage(common)
    test_equal_errors(common)
    if not e2e.GPU:
        test_late(common)
    test_off(common)
e2e.finish()
