#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The application's results are bit-identical with and without the library, whatever order the GPU runs in."""
import e2e

# With different numbers of sampled rows, odd ones and more than there are tokens.
ORDERS = {"lazy": 4, "eager": 1, "random:1": 3, "random:2": 256, "threads": 5}

with e2e.scratch() as work:
    model = e2e.checkpoint(work)
    for precision in ["bf16", "tf32", "fp32"]:
        arguments = ["--checkpoint", model, "--precision", precision, "--prefill-steps", "1", "--prefill-tokens", "24",
                     "--decode-steps", "2"]
        plain = e2e.last_line(e2e.client(arguments))
        for order, row_count in ORDERS.items():
            with e2e.scratch() as traces:
                run = e2e.client(arguments, traces, order, SAMPLE="all", ROWS=row_count)
                e2e.expect(e2e.last_line(run) == plain, f"{precision}, {order}: same checksum: {plain}")
                e2e.expect("simcuda:" not in run.stderr, f"{precision}, {order}: no fault and no race {run.stderr}")
                rows, facts = e2e.dump(traces)
                e2e.expect(len(rows) > 0, f"{precision}, {order}: {len(rows)} rows traced")
                count = e2e.counters(facts)
                e2e.expect(count["sampled"] + count["dropped"] == count["matched"] and count["failed"] == 0,
                           f"{precision}, {order}: every matched call is accounted for: {count}")
e2e.finish()
