#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace holds coefficients and error figures, never x or fn."""
import subprocess

import e2e

with e2e.scratch() as work, e2e.scratch() as traces:
    model = e2e.checkpoint(work, layers=2)
    e2e.client(["--checkpoint", model, "--precision", "fp32", "--prefill-steps", "1", "--prefill-tokens", "64", "--decode-steps", "1"],
               traces, SAMPLE="all", ROWS=64)
    rows, _ = e2e.dump(traces)
    (file,) = e2e.trace_files(traces)
    with open(file, "rb") as f:
        raw = f.read()
    content = subprocess.run(["zstd", "-dcq", file], capture_output=True, check=True).stdout
    with open(model, "rb") as f:
        weights = f.read()
    # Eight neighbouring weights, taken all over the file: fn would show, compressed or not.
    windows = [weights[at:at + 32] for at in range(len(weights) // 2, len(weights) - 32, 4096)]
    e2e.expect(len(windows) > 50 and not any(w in content or w in raw for w in windows), f"none of {len(windows)} pieces of fn in the trace")
    # One row of x is 4 * hidden values; what a row leaves in the trace is a tenth of that at the most.
    per_row = len(content) / len(rows)
    e2e.expect(per_row < 4 * e2e.HIDDEN * 4 / 10, f"{per_row:.0f} bytes a row, x has {4 * e2e.HIDDEN * 4}")
    wide = [k for k, v in rows[0].items() if isinstance(v, list)]
    e2e.expect(sorted(wide) == ["operands", "production"] and all(len(rows[0][k]) <= 24 for k in wide), f"the only lists are {wide}")
e2e.finish()
