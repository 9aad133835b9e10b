# SPDX-License-Identifier: Apache-2.0
"""Packages of PyPI for tests that hold us against other people's programs: one virtual environment for each build folder."""
import fcntl
import os
import subprocess
import sys


def run_with(venv, packages):
    """Goes on in `venv`'s Python with these packages, which are installed where they are missing. Where that can't be done the test
    is skipped, and says why."""
    python = os.path.join(venv, "bin", "python")
    if os.path.realpath(sys.prefix) == os.path.realpath(venv):
        return
    os.makedirs(venv, exist_ok=True)
    with open(venv + ".lock", "w", encoding="ascii") as lock:  # tests run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        for package in packages:
            stamp = os.path.join(venv, "has-" + package)
            if not os.path.exists(stamp):
                install(venv, python, package)
                open(stamp, "w", encoding="ascii").close()
    os.execv(python, [python, *sys.argv])


def install(venv, python, package):
    wheels = ["--only-binary", ":all:", "--no-binary", "pyspark"]  # which has none
    commands = [[python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--timeout", "20", "--retries", "1", *wheels, package]]
    if not os.path.exists(os.path.join(venv, "pyvenv.cfg")):
        commands.insert(0, [sys.executable, "-m", "venv", venv])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"SKIPPED: no {package} from PyPI:", (done.stderr or done.stdout).strip().splitlines()[-1])
            sys.exit(77)
