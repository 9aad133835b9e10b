#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo at a server's size, in every precision, eager and in graphs: results bit-identical with and without the
library, and the errors that the report finds next to those that doc/metrics.md expects."""
import e2e
import gpu

LAYERS, HIDDEN = (2, 64) if gpu.SIMULATED else (43, 4096)
PREFILL_TOKENS, DECODE_STEPS = (40, 4) if gpu.SIMULATED else (512, 24)
PRECISIONS = ("fp32", "tf32", "bf16-f32", "bf16", "fp16")


def run_both(what, arguments, settings):
    """Report of the run under the library; None: there is none."""
    plain = e2e.client(arguments, check=False)
    if not e2e.usable(plain, what):
        return None
    with e2e.scratch() as traces:
        run = e2e.client(arguments, traces, check=False, SHAPES=e2e.shapes(HIDDEN), MEM_MB=256, **settings)
        e2e.expect(run.returncode == 0 and not e2e.faults(run), f"{what}: runs {run.stderr}")
        e2e.same_results(plain, run, what, lambda: e2e.client(arguments, check=False))
        gpu.keep(traces, what)
        return gpu.report(traces)


def print_errors(what, report):
    conclusion = report["conclusion"]
    gpu.fact(f"{what}.verdict", f"{conclusion['status']}: {conclusion['sentence']}")
    for path in report["paths"]:
        for against, found in path["against"].items():
            name = f"{what}.{against}"
            gpu.fact(
                name, f"{path['path']}: looks like {found['class']}, {found['rows']} rows; expected: {found['sources']}"
            )
            for key in ("rms_rel", "expected_low", "expected_high", "ratio"):
                gpu.figure(f"{name}.{key}", found[key])
            errors = report["errors"][against]
            for key, which in (("rel", "p99"), ("rel", "max"), ("bias", "rms"), ("comb_err", "rms"), ("y_rel", "rms")):
                gpu.figure(f"{name}.{key}.{which}", errors[key][which])
    if report["check"]["count"]:
        gpu.figure(f"{what}.self-check.max", report["check"]["max"])


with e2e.scratch() as work:
    model = e2e.checkpoint(work, layers=LAYERS, hidden=HIDDEN)
    for precision in PRECISIONS:
        for decode in ("eager", "graphs"):
            name_of_run = f"{precision}.{decode}"
            found = run_both(
                name_of_run,
                [
                    "--checkpoint",
                    model,
                    "--precision",
                    precision,
                    "--prefill-steps",
                    "2",
                    "--prefill-tokens",
                    str(PREFILL_TOKENS),
                    "--decode-steps",
                    str(DECODE_STEPS),
                    "--decode",
                    decode,
                    "--quiet",
                ],
                {"SAMPLE": "all" if gpu.SIMULATED else "1/8", "ROWS": 8, "MODEL": model},
            )
            if found:
                e2e.expect(
                    found["coverage"]["rows"]["all"] > 0, f"{name_of_run}: {found['coverage']['rows']['all']} rows"
                )
                print_errors(name_of_run, found)
e2e.finish()
