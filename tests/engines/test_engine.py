# SPDX-License-Identifier: Apache-2.0
"""The snippets of doc/engines.md, run as they stand there, give the report's own numbers.

    test_engine.py ENGINE REPORT MAKE_TRACE DOCUMENT VENV PACKAGE...

ENGINE is what follows "with_" in a snippet's name. Exit 77 (skipped) where the packages can't be had, or Spark has no Java.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import pypi  # pylint: disable=wrong-import-position

ENGINE, REPORT, MAKE_TRACE, DOCUMENT, VENV, *PACKAGES = sys.argv[1:]
REPORT, MAKE_TRACE = os.path.abspath(REPORT), os.path.abspath(MAKE_TRACE)
if ENGINE == "spark" and not shutil.which("java"):
    print("SKIPPED: no java for Spark")
    sys.exit(77)
pypi.run_with(VENV, PACKAGES)

NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
# Two ordinary processes; one whose errors are 0, and one whose errors are infinite or NaN. So few rows that the last percentile is the
# largest value, which with this seed lies below the middle of its bucket.
PROCESSES = (["seed=7", "calls=3"], ["seed=4", "calls=2", "operands_rel=5e-3"], ["seed=3", "calls=2", "operands_rel=0"],
             ["seed=5", "calls=2", "operands_rel=1e300"])


def write_snippets(folder, traces):
    """Each block of the document into the file that its first line names."""
    blocks = re.findall(r"```\w+\n(?:#|--) ([\w.]+)\n(.*?)```", pathlib.Path(DOCUMENT).read_text(encoding="utf-8"), re.DOTALL)
    for name, text in blocks:
        (folder / name).write_text(text.replace("/var/tmp/mhc", str(traces)), encoding="utf-8")


def table_line(folder, label):
    """The numbers of the first line of the summary that has this label."""
    done = subprocess.run([REPORT, "summary", folder], capture_output=True, text=True, check=False)
    line = next(line for line in done.stdout.splitlines() if line.strip().startswith(label))
    return line.replace(label, "").split()


def run_snippet(folder):
    done = subprocess.run([sys.executable, f"with_{ENGINE}.py"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"with_{ENGINE}.py fails:\n{done.stderr}")
    print(done.stdout)
    return done.stdout


def check_percentiles(output, report):
    engine = [f"{float(number):.3e}" for number in re.findall(rf"(?<![\w/.])({NUMBER})(?![\w/])", output)[:4]]
    report = [f"{float(number):.3e}" for number in report]
    assert engine == report, f"{ENGINE} has p50, p90, p99, p99.9 of {engine}, the report {report}"
    print(f"p50, p90, p99, p99.9 of {ENGINE}: {engine}, as the report")


def check_processes(output, paths):
    """Every process with a finite error, worst first, each as a report of it alone has it."""
    found = re.findall(rf"{re.escape(str(paths[0].parent))}/([\w.-]+)\D+?(\d+), ?(?:rms=)?({NUMBER}), ?(?:largest=)?({NUMBER})", output.replace("n=", ""))
    assert [name for name, *_ in found] == [paths[i].name for i in (1, 0, 2)], found
    for name, _, rms, largest in found:
        report = table_line(paths[0].parent / name, "rel, all coefficients")
        report = [float(report[0]), float(report[5])]
        engine = [float(f"{float(number):.3e}") for number in (rms, largest)]
        assert engine == report, f"{name}: rms and max are {engine} for {ENGINE}, {report} for the report"
    print(f"rms and max of {len(found)} processes: as the report")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        traces = folder / "traces"
        traces.mkdir()
        paths = []
        for arguments in PROCESSES:
            done = subprocess.run([MAKE_TRACE, traces, *arguments], check=True, capture_output=True, text=True)
            paths.append(pathlib.Path(done.stdout.strip()))
        os.truncate(paths[0], paths[0].stat().st_size - 10)  # as of a process that still writes
        write_snippets(folder, traces)
        output = run_snippet(folder)
        report = table_line(traces, "rel, all coefficients")
        assert report[4] == report[5], report
        check_percentiles(output, report[1:5])
        check_processes(output, paths)


main()
