#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The noise table of doc/metrics.md, measured through the whole way, from the trace, within 15 %."""
import math

import e2e

HIDDEN = 4096

# path: (declared path, lowest and highest rms rel against operands, lowest and highest p99 of an element's error in bf16 ulps)
TABLE = {
    "fp32": ("f32*f32->f32/f32", (0.6e-6, 1.6e-6), (0, 0.01)),
    "tf32": ("f32*f32->f32/tf32", (2.1e-4, 2.1e-4), (2.6, 2.6)),
    "bf16": ("bf16*bf16->bf16/f32", (1.66e-3, 1.66e-3), (0.5, 0.5)),
    # Exact products in tensor cores: less accumulation error than fp32 has is no defect.
    "bf16-f32": ("bf16*bf16->f32/f32", (0, 1.6e-6), (0, 0.01)),
    "fp16": ("f16*f16->f16/f32", (2.07e-4, 2.07e-4), None),
}
SLACK = 0.15


def ulps(row):
    """Per element, the ulp that of the element itself: the table's column."""
    for got, want in zip(row["production"], row["operands"]):
        yield abs(got - want) / 2.0 ** (math.frexp(want)[1] - 8)


with e2e.scratch() as work:
    model = e2e.checkpoint(work, layers=3, hidden=HIDDEN)
    for precision, (path, (low, high), ulp) in TABLE.items():
        with e2e.scratch() as traces:
            e2e.client(["--checkpoint", model, "--precision", precision, "--prefill-steps", "1", "--prefill-tokens", "40",
                        "--decode-steps", "0"], traces, SAMPLE="all", ROWS=40, SHAPES=e2e.shapes(HIDDEN))
            rows = [r for r in e2e.dump(traces)[0] if r["role"] != "head"]
        e2e.expect(all(r["path"].startswith(path) for r in rows), f"{precision}: declared as {rows[0]['path']}")
        rel = math.sqrt(sum(r["operands_rel"] ** 2 for r in rows) / len(rows))
        e2e.expect(low * (1 - SLACK) <= rel <= high * (1 + SLACK),
                   f"{precision}: rms rel {rel:.3e}, expected {low:.2e} .. {high:.2e}, {len(rows)} rows")
        if ulp:
            elements = sorted(u for r in rows for u in ulps(r))
            p99 = elements[math.ceil(0.99 * len(elements)) - 1]
            e2e.expect(ulp[0] * (1 - SLACK) <= p99 <= ulp[1] * (1 + SLACK),
                       f"{precision}: ulp p99 {p99:.3g}, expected {ulp[0]} .. {ulp[1]}")
        checked = [r["check"] for r in rows if r["check"] is not None]
        e2e.expect(checked and max(checked) < 1.6e-6, f"{precision}: fp32 reference within {max(checked, default=9):.2e} of fp64")
e2e.finish()
