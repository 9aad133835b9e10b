#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many records a second mhcshadow-report reads from warm cache, and in how much memory.

usage: bench_report.py REPORT MAKE_TRACE [MILLIONS...]   (1; a million records are 400 MB)

The traces have 87 sites and prefill, with a checkpoint, as which every column counts, and without. The best of some runs is shown: of
a summary with all threads and with one, of verify, and of zstd -dc, which only decompresses. Beside the time that passed there is the
time of the processors, which tells more where other programs run too. Prints, and judges nothing.
"""
import os
import subprocess
import sys
import tempfile
import time

RUNS = 5


def measure(command):
    """The least wall and processor time in seconds, and the largest memory in MB."""
    wall, processors, memory = [], [], []
    for _ in range(RUNS):
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"bench_report: {command} gave {process.returncode}")
        wall.append(time.monotonic() - begin)
        processors.append(usage.ru_utime + usage.ru_stime)
        memory.append(usage.ru_maxrss / 1024)
    return min(wall), min(processors), max(memory)


def bench(report, make_trace, millions, checkpoint):
    sites, rows = 87, 16
    calls = round(millions * 1e6 / (sites * rows))
    records = calls * sites * rows
    with tempfile.TemporaryDirectory() as folder:
        trace = subprocess.run([make_trace, folder, "layers=43", f"rows={rows}", f"calls={calls}", f"checkpoint={checkpoint}"],
                               check=True, capture_output=True, text=True).stdout.strip()
        commands = {"summary": [report, trace], "summary, one thread": [report, "summary", "--threads=1", trace],
                    "verify": [report, "verify", trace], "zstd -dc": ["zstd", "-dc", trace]}
        measured = {name: measure(command) for name, command in commands.items()}
        print(f"{records} records, {os.path.getsize(trace) / 1e6:.0f} MB, with{'' if checkpoint else 'out'} checkpoint, "
              f"{len(os.sched_getaffinity(0))} cores")
        print(f"  {'M records per':22}{'s':>6}{'core s':>9}{'of zstd':>9}{'peak MB':>9}")
        for name, (wall, processors, memory) in measured.items():
            print(f"  {name:22}{records / wall / 1e6:6.2f}{records / processors / 1e6:9.2f}"
                  f"{measured['zstd -dc'][1] / processors:9.2f}{memory:9.0f}", flush=True)


if __name__ == "__main__":
    for argument in sys.argv[3:] or ["1"]:
        for checkpoint in (1, 0):
            bench(sys.argv[1], sys.argv[2], float(argument), checkpoint)
