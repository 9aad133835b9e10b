#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MHCSHADOW_SAMPLE=1/64 over 100 forward passes of 86 calls reaches every site, evenly."""
import collections

import e2e

PASSES, LAYERS, HIDDEN = 100, 43, 64

with e2e.scratch() as work, e2e.scratch() as traces:
    model = e2e.checkpoint(work, layers=LAYERS, hidden=HIDDEN)
    e2e.client(["--checkpoint", model, "--precision", "bf16", "--prefill-steps", "0", "--decode-steps", str(PASSES)],
               traces, "eager", SAMPLE="1/64", ROWS=1, SHAPES=e2e.shapes(HIDDEN))
    rows, facts = e2e.dump(traces)
    rows = [r for r in rows if r["role"] != "head"]
    count = e2e.counters(facts)
    e2e.expect(count["matched"] == PASSES * (2 * LAYERS + 1), f"all calls matched: {count}")
    e2e.expect(count["dropped"] == 0 and count["failed"] == 0, "none lost")
    calls = collections.Counter(site for _, site in {(r["call"], r["site"]) for r in rows})
    e2e.expect(len(calls) == 2 * LAYERS, f"{len(calls)} of {2 * LAYERS} sites sampled, {min(calls.values())} .. {max(calls.values())} calls each")
    expected = PASSES / 64
    statistic = sum((calls.get(site, 0) - expected) ** 2 / expected for site in range(2 * LAYERS))
    # 99 % point of chi-square with 85 degrees of freedom.
    e2e.expect(statistic < 118.24, f"chi-square {statistic:.1f} < 118.24 (85 degrees of freedom)")
e2e.finish()
