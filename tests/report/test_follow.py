#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`summary --follow` keeps up with traces that grow, and ends with what it showed last."""
import os
import re
import signal
import subprocess
import threading

from case import REPORT, Case, main, run

DEADLINE_S = 60


class Follow(Case):
    def follow(self, *arguments):
        """Starts following; a hang is ended, which the test then sees as a missing summary."""
        process = subprocess.Popen([REPORT, "summary", "--follow", *arguments], stdout=subprocess.PIPE, encoding="utf-8",
                                   env={**os.environ, "LC_ALL": "C"})
        deadline = threading.Timer(DEADLINE_S, process.kill)
        deadline.start()
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(deadline.cancel)
        return process

    def summary(self, process):
        """The next one, up to its last words."""
        lines = []
        while line := process.stdout.readline():
            lines.append(line)
            if lines.count("Verdict\n") and line.rstrip().endswith(".") and "thresholds:" not in line and any(
                    word in lines for word in ("  PASS\n", "  FAIL\n", "  WARN\n", "  INSUFFICIENT\n")):
                return "".join(lines).lstrip("\n")
        self.fail("no summary came: " + "".join(lines))

    def rows(self, summary):
        return int(re.search(r"rows: (\d+) compared", summary)[1])

    def test_a_file_that_is_being_written_is_read_on_from_where_it_was_torn(self):
        self.make("long_run")
        whole, expected = self.content(), run(self.dir)
        path = self.write(whole[:len(whole) * 2 // 3])
        torn = run(self.dir)[1]
        process = self.follow(self.dir)
        first = self.summary(process)
        self.assertTrue(torn.startswith(first))
        with open(path, "ab") as file:
            file.write(whole[len(whole) * 2 // 3:])
        second = self.summary(process)
        self.assertLess(self.rows(first), self.rows(second))
        self.assertTrue(expected[1].startswith(second))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), expected[0])

    def test_new_files_of_a_directory_are_read_from_their_first_byte_on(self):
        self.make("clean")
        both = run(self.dir)
        rank1 = self.content(1)
        os.remove(self.rank(1))
        process = self.follow(self.dir)
        self.assertIn("(1 trace)", self.summary(process))
        for end in (0, 100, len(rank1)):
            self.write(rank1[:end], "rank1.arrows.zst")
        while "(2 traces)" not in (summary := self.summary(process)) or self.rows(summary) < 896:
            pass
        self.assertTrue(both[1].startswith(summary))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), both[0])

    def test_the_exit_code_is_that_of_the_last_summary(self):
        for case, code in (("tf32", 1), ("few", 3)):
            os.makedirs(case)
            self.dir = case
            process = self.follow(self.make(case))
            self.summary(process)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(), code)

    def test_a_path_that_is_not_there_is_a_usage_error(self):
        process = self.follow("/nonexistent")
        self.assertEqual((process.wait(), process.stdout.read()), (2, ""))


if __name__ == "__main__":
    main()
