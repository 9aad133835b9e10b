# SPDX-License-Identifier: Apache-2.0
"""LD_PRELOAD reaches every shell, compiler and Python that a server starts: there the library must
leave no trace but its own mapping.

    test_inert.py LIBRARY
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARY = os.path.abspath(sys.argv[1])

# Enough to make a library that looks at it too early speak up.
SETTINGS = {"MHCSHADOW_SAMPLE": "nonsense", "MHCSHADOW_LOG": "debug", "MHCSHADOW_UNKNOWN": "1"}

# In the process itself: threads, then every file that is mapped.
LOOK_SH = """set -- /proc/self/task/*; echo $#
while read range perms offset device inode path; do case $path in /*) echo "$path";; esac
done </proc/self/maps"""
LOOK_PYTHON = """
import os
print(len(os.listdir("/proc/self/task")))
print("".join(sorted({line.split(maxsplit=5)[5] for line in open("/proc/self/maps")
                      if "/" in line.split(maxsplit=5)[-1]})), end="")
"""


class Inert(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def run_in_folder(self, command, preload):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": self.folder,
                       "TMPDIR": self.folder, "PYTHONDONTWRITEBYTECODE": "1"}
        if preload:
            environment.update(SETTINGS, LD_PRELOAD=LIBRARY, MHCSHADOW_DIR=self.folder)
        return subprocess.run(command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=20, check=False)

    def assert_same(self, command):
        """Without and with the library; returns the latter's result."""
        plain = self.run_in_folder(command, False)
        files = sorted(os.listdir(self.folder))
        preloaded = self.run_in_folder(command, True)
        self.assertEqual(preloaded.returncode, plain.returncode)
        self.assertEqual(preloaded.stderr, plain.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), files)
        return plain, preloaded

    def assert_only_the_library_is_new(self, command):
        plain, preloaded = self.assert_same(command)
        threads, *before = plain.stdout.splitlines()
        threads_now, *now = preloaded.stdout.splitlines()
        self.assertEqual((threads, threads_now), ("1", "1"))
        self.assertGreater(len(before), 2)
        extra = {path for path in set(now) - set(before) if "/libm.so" not in path
                 and "/libm-" not in path}
        self.assertEqual(extra, {LIBRARY})

    def test_a_shell_runs_as_ever(self):
        for command in ("true", "false", "exit 7", "echo out; echo err >&2", "kill -9 $$"):
            plain, preloaded = self.assert_same(["sh", "-c", command])
            self.assertEqual(preloaded.stdout, plain.stdout)

    def test_a_shell_maps_the_library_and_no_other(self):
        self.assert_only_the_library_is_new(["sh", "-c", LOOK_SH])

    def test_python_maps_the_library_and_no_other(self):
        self.assert_only_the_library_is_new([sys.executable, "-c", LOOK_PYTHON])

    def test_a_child_of_a_child_runs_as_ever(self):
        plain, preloaded = self.assert_same(
            [sys.executable, "-c", "import subprocess; print(subprocess.check_output(['sh', '-c', "
                                   "'echo from the shell; exit 0']))"])
        self.assertEqual(preloaded.stdout, plain.stdout)

    def test_a_compiler_makes_the_same_file(self):
        compiler = shutil.which("gcc") or shutil.which("cc")
        if not compiler:
            self.skipTest("no C compiler")
        with open(os.path.join(self.folder, "a.c"), "w", encoding="utf-8") as source:
            source.write("int square(int x) { return x * x; }\n")
        made = []
        for preload in (False, True):
            result = self.run_in_folder([compiler, "-O2", "-c", "a.c", "-o", "a.o"], preload)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
            with open(os.path.join(self.folder, "a.o"), "rb") as made_file:
                made.append(made_file.read())
        self.assertEqual(made[0], made[1])
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.c", "a.o"])

    def test_a_compiler_reports_errors_as_ever(self):
        compiler = shutil.which("gcc") or shutil.which("cc")
        if not compiler:
            self.skipTest("no C compiler")
        with open(os.path.join(self.folder, "b.c"), "w", encoding="utf-8") as source:
            source.write("int broken(\n")
        self.assert_same([compiler, "-c", "b.c"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
