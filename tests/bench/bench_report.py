#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many records a second mhcshadow-report reads from warm cache, and in how much memory.

usage: bench_report.py REPORT MAKE_TRACE [MILLIONS...]   (1; a million records are 400 MB)

The trace has 87 sites, prefill and a checkpoint, so that every column counts. The best of some runs is shown: of a summary with one
thread and with all, of verify, and of zstd -dc, which only decompresses. Prints, and judges nothing.
"""
import os
import subprocess
import sys
import tempfile
import time

RUNS = 5


def measure(command):
    """Best wall time in seconds, and its peak memory in MB."""
    best = (float("inf"), 0)
    for _ in range(RUNS):
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"bench_report: {command} gave {process.returncode}")
        best = min(best, (time.monotonic() - begin, usage.ru_maxrss / 1024))
    return best


def bench(report, make_trace, millions):
    sites, rows = 87, 16
    calls = round(millions * 1e6 / (sites * rows))
    records = calls * sites * rows
    with tempfile.TemporaryDirectory() as folder:
        trace = subprocess.run([make_trace, folder, "layers=43", f"rows={rows}", f"calls={calls}"], check=True, capture_output=True,
                               text=True).stdout.strip()
        plain, _ = measure(["zstd", "-dc", trace])
        print(f"{records} records, {os.path.getsize(trace) / 1e6:.0f} MB, {len(os.sched_getaffinity(0))} cores")
        print(f"  {'':24}{'s':>8}{'M records/s':>13}{'of zstd -dc':>13}{'peak MB':>9}")
        for name, command in (("summary, all threads", [report, trace]), ("summary, one thread", [report, "summary", "--threads=1", trace]),
                              ("verify, all threads", [report, "verify", trace]), ("zstd -dc", ["zstd", "-dc", trace])):
            seconds, memory = measure(command)
            print(f"  {name:24}{seconds:8.2f}{records / seconds / 1e6:13.2f}{plain / seconds:13.2f}{memory:9.0f}", flush=True)


if __name__ == "__main__":
    for argument in sys.argv[3:] or ["1"]:
        bench(sys.argv[1], sys.argv[2], float(argument))
