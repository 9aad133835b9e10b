#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch under the library, with its own cuBLAS: results bit-identical, eager calls and replays seen, and the
errors."""
import importlib.util
import os
import sys

import e2e
import gpu

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_client.py")


def check(precision):
    def without():
        return e2e.client([CLIENT, precision, "3"], check=False)

    plain = without()
    if plain.returncode == 77:
        print(plain.stdout.strip())
        sys.exit(77)
    if not e2e.usable(plain, precision):
        return
    with e2e.scratch() as traces:
        run = e2e.client([CLIENT, precision, "3"], traces, check=False, SAMPLE="1/2", SHAPES="auto", MEM_MB=256)
        e2e.expect(run.returncode == 0, f"{precision}: runs {run.stderr}")
        e2e.same_results(plain, run, precision, without)
        gpu.keep(traces, f"torch-{precision}")
        _, facts = e2e.dump(traces)
        count, found = e2e.counters(facts), gpu.report(traces)
    gpu.fact(precision, plain.stdout.strip())
    e2e.expect(
        count["sampled"] > 0 and count["replay_sampled"] > 0, f"{precision}: calls and replays are sampled: {count}"
    )
    e2e.expect(
        count["captured"] + count["failed"] + count["replay_failed"] + count["unfollowed"] == 0,
        f"{precision}: and none is missed",
    )
    gpu.fact(f"{precision}.verdict", f"{found['conclusion']['status']}: {found['conclusion']['sentence']}")
    for path in found["paths"]:
        gpu.figure(f"{precision}.rms_rel", path["against"]["operands"]["rms_rel"])
        gpu.figure(f"{precision}.expected_high", path["against"]["operands"]["expected_high"])


if not importlib.util.find_spec("torch"):
    print("no PyTorch in this Python")
    sys.exit(77)
for name in ("bf16", "bf16-no-reduction", "fp16", "tf32", "fp32"):
    check(name)
e2e.finish()
