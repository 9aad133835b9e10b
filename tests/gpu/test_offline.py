#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mhcshadow-microtest by the GPU's cuBLAS, beside the same by the CPU: what each precision costs, with and without
leave to sum in reduced precision."""
import json
import subprocess

import e2e
import gpu

SIZE = ["--layers", "2", "--hidden", "512", "--rows", "32"] if gpu.SIMULATED else ["--layers", "8", "--rows", "64"]


def run(device):
    command = [e2e.CLIENT, "--synthetic", "--json", "--device", device, *SIZE]
    result = subprocess.run(command, text=True, capture_output=True, check=False)
    e2e.expect(result.returncode in (0, 1), f"{device}: status {result.returncode} {result.stderr}")
    return json.loads(result.stdout) if result.returncode in (0, 1) else None


on_gpu, on_cpu = run("gpu"), run("cpu")
if on_gpu and on_cpu:
    gpu.fact("offline", on_gpu["run"]["gpu"])
    for path, cost in on_gpu["paths"].items():
        name = path.replace(" ", "-")
        gpu.figure(f"{name}.gpu.raw", cost["raw"])
        gpu.figure(f"{name}.gpu.comb", cost["comb"])
        gpu.figure(f"{name}.gpu.ratio", cost["ratio"])
        gpu.fact(f"{name}.gpu", cost["status"])
        if path in on_cpu["paths"]:
            gpu.figure(f"{name}.cpu.raw", on_cpu["paths"][path]["raw"])
            e2e.expect(0.5 < cost["raw"] / on_cpu["paths"][path]["raw"] < 2, f"{path}: GPU and CPU err alike")
e2e.finish()
