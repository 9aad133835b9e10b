# SPDX-License-Identifier: Apache-2.0
"""What the tests of mhcshadow-report share: running it, traces of known cases, golden files.

Every test is run as test_NAME.py REPORT MAKE_CASE GOLDEN_DIR. MHCSHADOW_REFRESH_GOLDEN=1 writes the golden files anew instead
of comparing, of all of them with: MHCSHADOW_REFRESH_GOLDEN=1 meson test --suite report
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

REPORT, MAKE_CASE, GOLDEN = (os.path.abspath(a) for a in sys.argv[1:4])
REFRESH = os.environ.get("MHCSHADOW_REFRESH_GOLDEN") == "1"
SANITIZED = os.environ.get("MHCSHADOW_TEST_SANITIZED") == "1"


def run(*arguments, stdin=subprocess.DEVNULL, **environment):
    """Exit code, stdout, stderr."""
    done = subprocess.run([REPORT, *arguments], stdin=stdin, capture_output=True, encoding="utf-8",
                          env={**os.environ, "LC_ALL": "C", **environment}, check=False)
    return done.returncode, done.stdout, done.stderr


VERBS = re.findall(r"\w+", run("nosuchverb")[2].split("the verbs are")[1])


def call(verb, traces):
    """The least command line of a verb for these traces."""
    return [verb, *{"diff": [traces], "check": ["--max-ratio=4"]}.get(verb, []), traces]


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(holder.name)
        self.dir = "."  # so that paths in the output have one length everywhere

    def make(self, case):
        subprocess.run([MAKE_CASE, self.dir, case], check=True)
        return self.dir

    def rank(self, number=0):
        return os.path.join(self.dir, f"rank{number}.arrows.zst")

    def content(self, number=0):
        with open(self.rank(number), "rb") as file:
            return file.read()

    def write(self, data, name="rank0.arrows.zst"):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def assert_golden(self, name, output):
        # Where frames lie depends on the version of zstd.
        output = re.sub(r"offset \d+", "offset N", re.sub(r"\d+ bytes", "N bytes", output))
        path = os.path.join(GOLDEN, name + ".txt")
        if REFRESH:
            with open(path, "w", encoding="ascii") as file:
                file.write(output)
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), output)

    def assert_report(self, name, code, *arguments):
        """Runs, compares with the golden file, and holds what is true of every output."""
        got, out, err = run(*arguments)
        self.assertEqual((got, err), (code, ""), out)
        self.assert_golden(name, out)
        self.assert_presentable(out, width=1000 if arguments[0] == "verify" else 100)
        return out

    def assert_presentable(self, out, width):
        """`verify` has one line per file, however long."""
        self.assertTrue(out.isascii())
        self.assertNotRegex(out, r"(?<![\d.])-?0\.0{3,}\d*(?![\de])", "a rounded zero")
        self.assertNotIn("\033", out)
        for line in out.splitlines():
            self.assertLessEqual(len(line), width, line)
            self.assertEqual(line, line.rstrip())


def main():
    unittest.main(argv=sys.argv[:1], verbosity=2)
