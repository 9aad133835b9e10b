#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the library costs a mixing GEMM that it samples, or does not, and the launch of a graph of them: figures of
cost.c."""
import os
import re

import e2e
import gpu

K = 256 if gpu.SIMULATED else 16384
TOKENS = [1] if gpu.SIMULATED else [1, 64, 1024]
DELAY_MB = 0 if gpu.SIMULATED else 4096  # about a millisecond, in which 16 sampled calls are queued

# (name, ms behind a round, rounds, settings)
KINDS = [
    ("not-sampled", 0, 31, {"SAMPLE": "1/1000000000"}),
    ("sampled", 20, 31, {"SAMPLE": "all"}),
    ("sampled-by-cublas", 20, 31, {"SAMPLE": "all", "REFERENCE": "cublas"}),
    ("sampled-on-the-host", 200, 9, {"SAMPLE": "all", "REFERENCE": "host"}),
]


def measure(how, tokens, kind, pause, rounds, settings):
    what = f"{how}.{tokens}-tokens.{kind}"
    os.environ["MEASURE_ROUNDS"] = "1" if gpu.SIMULATED else str(rounds)
    with e2e.scratch() as traces:
        run = e2e.client(
            [how, str(K), str(tokens), str(DELAY_MB), str(pause)],
            traces,
            check=False,
            timeout=60,
            SHAPES=f"24x{K}",
            ROWS=16,
            MEM_MB=256,
            HEADROOM_MB=0,
            **settings,
        )
        e2e.expect(run.returncode == 0, f"{what}: runs {run.stderr if run.returncode else ''}")
        if run.returncode:
            return
        _, facts = e2e.dump(traces)
    for name, value, unit in re.findall(r"^figure (\S+) +(\S+) (\S*)$", run.stdout, re.M):
        gpu.figure(f"{what}.{name}", float(value), unit)
    if settings["SAMPLE"] != "all":
        return
    count = e2e.counters(facts)
    sampled, dropped = (
        count[name] for name in (("sampled", "dropped") if how == "eager" else ("replay_sampled", "replay_dropped"))
    )
    e2e.expect(
        sampled > 0 and (gpu.SIMULATED or dropped == 0), f"{what}: all were sampled: {sampled}, dropped {dropped}"
    )


for token_count in TOKENS:
    for name_of_kind, ms, times, values in KINDS:
        measure("eager", token_count, name_of_kind, ms, times, values)
    for name_of_kind, ms, times, values in KINDS[:2]:
        measure("graph", token_count, name_of_kind, ms, times, values)
e2e.finish()
