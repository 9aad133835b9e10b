# SPDX-License-Identifier: Apache-2.0
"""What libmhcshadow.so is as a file: what it exports, needs and binds. Preloaded into every process
a server starts, it may bring in nothing of its own.

    test_library.py LIBRARY HOOK_NAMES EXPORTS_MAP
"""
import os
import re
import shlex
import subprocess
import sys
import unittest

LIBRARY, HOOK_NAMES, EXPORTS_MAP = sys.argv[1:4]


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}).stdout


def hook_names():
    return sorted(output(*shlex.split(os.environ.get("MESON_EXE_WRAPPER", "")), HOOK_NAMES).split())


class Library(unittest.TestCase):
    def test_it_exports_the_hooked_names_alone(self):
        defined = output("nm", "-D", "--defined-only", LIBRARY).splitlines()
        self.assertEqual(sorted(line.split()[-1] for line in defined), hook_names())

    def test_its_version_script_lists_the_hooked_names_alone(self):
        with open(EXPORTS_MAP, encoding="utf-8") as script:
            text = re.sub(r"/\*.*?\*/", "", script.read(), flags=re.S)
        exported = re.search(r"^\{\s*global:(.*?)local:\s*\*;\s*\};\s*$", text.strip(), re.S)
        self.assertIsNotNone(exported, "not an anonymous node")
        self.assertEqual(sorted(exported.group(1).replace(";", " ").split()), hook_names())

    def test_it_needs_libc_and_at_most_libm(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", LIBRARY))
        self.assertIn("libc.so.6", needed)
        # The loader itself counts as libc: aarch64 binds __stack_chk_guard from it.
        extra = [name for name in needed
                 if name not in ("libc.so.6", "libm.so.6") and not name.startswith("ld-linux")]
        self.assertEqual(extra, [])

    def test_it_is_bound_at_once_and_stays(self):
        dynamic = output("readelf", "-dW", LIBRARY)
        self.assertRegex(dynamic, r"\(FLAGS\).*\bBIND_NOW\b")
        self.assertRegex(dynamic, r"\(FLAGS_1\).*\bNODELETE\b")
        self.assertNotRegex(dynamic, r"\((RPATH|RUNPATH|TEXTREL)\)")
        self.assertIn("GNU_RELRO", output("readelf", "-lW", LIBRARY))

    def test_it_binds_nothing_newer_than_glibc_2_34(self):
        undefined = output("nm", "-D", "--undefined-only", LIBRARY)
        versions = re.findall(r"@GLIBC_(\d+(?:\.\d+)+)", undefined)
        self.assertTrue(versions)
        newest = max(tuple(map(int, version.split("."))) for version in versions)
        self.assertLessEqual(newest, (2, 34))
        self.assertNotIn("__isoc23_", undefined)

    def test_it_leaves_alone_what_belongs_to_the_process(self):
        undefined = {line.split()[-1].split("@")[0]
                     for line in output("nm", "-D", "--undefined-only", LIBRARY).splitlines()}
        taken = undefined & {"exit", "_exit", "abort", "_Exit", "quick_exit", "raise", "kill",
                             "signal", "sigaction", "setenv", "putenv", "unsetenv", "setlocale",
                             "stdout", "printf", "puts", "putchar", "atoi", "strtol", "strtod",
                             "sscanf"}
        self.assertEqual(sorted(taken), [])

    def test_it_takes_no_lock_that_a_fork_leaves_held(self):
        # Of the time zone, of the translations: a child forked meanwhile waits for ever at its own
        # next call. dl_iterate_phdr() has one too: interpose/objects.c alone calls it.
        undefined = {line.split()[-1].split("@")[0]
                     for line in output("nm", "-D", "--undefined-only", LIBRARY).splitlines()}
        locking = undefined & {"gmtime", "gmtime_r", "localtime", "localtime_r", "mktime", "timegm",
                               "strftime", "tzset", "strerror", "strerror_r", "__xpg_strerror_r",
                               "perror", "gettext", "dcgettext", "getpwuid", "getaddrinfo"}
        self.assertEqual(sorted(locking), [])

    def test_its_constructors_do_next_to_nothing(self):
        # Two pointers: crtbegin's frame_dummy and libgcc's look at the CPU. None of our own.
        sections = output("readelf", "-SW", LIBRARY)
        sizes = re.findall(r"\.init_array\s+\S+\s+\S+\s+\S+\s+([0-9a-f]+)", sections)
        self.assertLessEqual(sum(int(size, 16) for size in sizes), 16)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
