#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every defect that is planted in the simulated cuBLAS is named by the report, with what it does and where; clean runs pass.

The whole way: client, library, trace, report. MHCSHADOW_TEST_LONG=1: each defect in every precision that shows it, with three
seeds, and 200 clean runs; prints the confusion matrix. MHCSHADOW_TEST_SEED: another set of runs.
"""
import collections
import json
import os
import random
import re
import subprocess

import e2e

LONG = os.environ.get("MHCSHADOW_TEST_LONG") == "1"
FEW = os.environ["MHCSHADOW_TEST_FEW"] == "1"
SEED = int(os.environ.get("MHCSHADOW_TEST_SEED", "1"))

WRONG, NONFINITE, PARTIALS = "wrong-values", "non-finite", "partial-sums-bf16"
ALL = ("fp32", "tf32", "bf16-f32", "bf16", "fp16")
F32_OUT = ("fp32", "tf32", "bf16-f32")  # what bits a result went through shows in fp32 alone

# (defect, precisions that show it, the class that the report gives it, words of the sentence). An fp32 run comes first.
PLANTED = [
    ("cut-sums", ("fp32",), "accumulation", "whose sums are cut off instead of rounded"),
    ("fp16-sums", F32_OUT, "accumulation-fp16", "16 bits"),
    ("tf32-operands", ("fp32",), "operands-tf32", "NVIDIA_TF32_OVERRIDE"),
    ("bf16-operands", ("fp32", "tf32"), "operands-bf16", "rounding of operands to bf16"),
    ("bf16-partials", F32_OUT + ("bf16",), PARTIALS, ""),
    ("split-by-tokens", F32_OUT + ("bf16",), PARTIALS, "in calls of fewer than 64 token rows"),
    ("bf16-output", F32_OUT + ("fp16",), "output-bf16", "narrower than declared"),
    ("fp16-output", ("fp32", "bf16-f32"), "output-fp16", "narrower than declared"),
    # What stands there is what was in memory; in place of a 16-bit result that may be NaN.
    ("rows-unwritten", F32_OUT, WRONG, "the token rows behind a call's last whole tile of 16 hold "),
    ("rows-summed", ALL, WRONG, "odd token rows in calls of 1024 or more token rows hold the right sums plus others of their size"),
    ("sm-column", ALL, WRONG, "hold wrong values beside right ones in coefficient 13 (comb[1][1])"),
    ("rows-of-comb", ALL, WRONG, "right values at the wrong coefficients in coefficients 9 to 22"),
    ("nan-partial", ALL, NONFINITE, "token rows 0, 32, ... (every 32nd)"),
    ("weights-memory", ALL, "wrong-weights", "in coefficient 5 (post[1])"),
]
# A server that may sum in bf16 passes, and is told that it does.
ALLOWED = {(defect, "bf16") for defect in ("bf16-partials", "split-by-tokens")}
# Short sums hardly err; an SM's 16 rows must be among the sampled ones.
SETTINGS = {"cut-sums": {"hidden": 512}, "sm-column": {"prefill": 200, "rows": 64, "decode": 12}}
WHERE = {"sm-column": r"token rows (4[89]|5\d) to (5\d|6[0-3])"}


def judge(work, precision, defect="", hidden=64, layers=3, seed=1, weights=1, prefill=1203, decode=6, rows=32, reference="host", model=True):
    """(status, class, sentence) of a run."""
    file = e2e.checkpoint(work, layers=layers, hidden=hidden, seed=weights)
    settings = {"MODEL": file} if model else {}
    os.environ["SIMCUDA_DEFECT"] = defect
    try:
        with e2e.scratch() as traces:
            e2e.client(["--checkpoint", file, "--quiet", "--precision", precision, "--seed", str(seed), "--prefill-tokens", str(prefill),
                        "--decode-steps", str(decode)], traces, SAMPLE="all", ROWS=rows, SHAPES=e2e.shapes(hidden), REFERENCE=reference,
                       **settings)
            out = subprocess.run([*e2e.RUNNER, e2e.REPORT, "export", "--format=json", traces], capture_output=True, text=True).stdout
    finally:
        del os.environ["SIMCUDA_DEFECT"]
    conclusion = json.loads(out)["conclusion"]
    return conclusion["status"], conclusion["class"], conclusion["sentence"]


matrix = collections.defaultdict(collections.Counter)  # planted: named


def planted(work):
    for number, (defect, precisions, wanted, words) in enumerate(PLANTED):
        for precision in precisions if LONG else precisions[:1]:
            for seed in range(SEED, SEED + (3 if LONG else 1)):
                reference = "kernel" if number % 5 == 4 and not FEW else "host"
                status, named, sentence = judge(work, precision, defect, seed=seed, reference=reference, **SETTINGS.get(defect, {}))
                allowed = (defect, precision) in ALLOWED
                good = named == wanted and status == ("PASS" if allowed else "FAIL") and (allowed or words in sentence)
                good = good and re.search(WHERE.get(defect, ""), sentence)
                matrix[defect][named if status != "PASS" or allowed else "PASS"] += 1
                e2e.expect(good, f"{defect} in {precision}, seed {seed}: {status} {named}" + ("" if good else f": {sentence}"))


def clean_run(number):
    """Its settings: every precision with sizes of model and calls, weights, rows and references as they fall."""
    draw = random.Random(f"{SEED} {number}")
    settings = {"precision": ALL[number % len(ALL)], "hidden": draw.choice((64, 64, 128, 256, 512)), "layers": draw.choice((1, 2, 3, 5)),
                "seed": draw.randrange(1 << 30), "weights": draw.randrange(1, 6), "prefill": draw.choice((1, 65, 200, 1024, 1203, 2048)),
                "decode": draw.choice((4, 6, 12)), "rows": draw.choice((16, 32, 64)), "model": draw.random() < 0.8,
                "reference": "kernel" if number % 10 == 3 and not FEW else "host"}
    if settings["reference"] == "kernel":  # the simulation is slow
        settings.update(hidden=64, layers=2, rows=16)
    return settings


def clean(work):
    for number in range(200 if LONG else 5 if FEW else 20):
        settings = clean_run(number)
        status, named, sentence = judge(work, **settings)
        matrix["none"]["PASS" if status == "PASS" else named] += 1
        e2e.expect(status == "PASS", f"clean run {number}: {status}" + ("" if status == "PASS" else f" {named}: {sentence} {settings}"))


def print_matrix():
    print("planted              runs  named")
    for defect, named in matrix.items():
        print(f"{defect:20} {sum(named.values()):5}  " + ", ".join(f"{name} {count}" for name, count in named.most_common()))


with e2e.scratch() as scratch:
    planted(scratch)
    clean(scratch)
print_matrix()
e2e.finish()
