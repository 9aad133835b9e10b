#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What mhcshadow-report shows on a terminal, and what it leaves to one."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from case import REPORT, Case, main, run


class Terminal(Case):
    def on_a_terminal(self, *arguments, columns=0, **environment):
        """What the tool writes when stdout is a terminal of so many columns; 0: it does not say."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        environment = {**os.environ, "LC_ALL": "C", "TERM": "xterm", "NO_COLOR": "1", **environment}
        with subprocess.Popen([REPORT, *arguments, self.dir], stdout=slave, stdin=subprocess.DEVNULL, env=environment) as process:
            os.close(slave)
            output = b""
            try:
                while chunk := os.read(master, 65536):
                    output += chunk
            except OSError:  # EIO: the other side is closed
                pass
            process.wait()
        os.close(master)
        return output.decode().replace("\r\n", "\n")

    def assert_width(self, output, width):
        """No line is wider, and some line makes use of it."""
        widest = max(map(len, output.splitlines()))
        self.assertLessEqual(widest, width, output)
        self.assertGreater(widest, width - 10)

    def test_colour_is_for_terminals_without_no_color(self):
        self.make("clean")
        plain = run(self.dir)[1]
        self.assertNotIn("\033", plain)
        self.assertEqual(self.on_a_terminal(), plain)
        self.assertEqual(self.on_a_terminal(NO_COLOR="", TERM="dumb"), plain)
        coloured = self.on_a_terminal(NO_COLOR="")
        self.assertIn("\033[1;32mPASS", coloured)
        self.assertEqual(re.sub(r"\033\[[0-9;]*m", "", coloured), plain)

        self.assertEqual(run("--color=always", self.dir)[1], coloured)
        self.assertEqual(self.on_a_terminal("--color=never", NO_COLOR=""), plain)

    def test_output_fits_the_terminal(self):
        self.make("one_site")
        for columns in (60, 80, 100):
            self.assert_width(self.on_a_terminal(columns=columns), columns)
            self.assert_width(self.on_a_terminal("--width=90", columns=columns), 90)
            self.assert_width(self.on_a_terminal(columns=200, COLUMNS=str(columns)), columns)
            self.assert_width(run(f"--width={columns}", self.dir)[1], columns)
        self.assert_width(self.on_a_terminal(), 100)
        self.assertEqual(run(self.dir, COLUMNS="60"), run(self.dir), "only a terminal has a width")

    def test_a_narrow_table_keeps_what_matters_most(self):
        self.make("one_site")
        for width in (60, 75, 90):
            out = run("layers", f"--width={width}", self.dir)[1].splitlines()
            self.assertEqual(out[1].split()[:2] + out[1].split()[-1:], ["site", "phase", "verdict"])
            self.assertIn("FAIL", next(line for line in out if line.startswith("layers.1.hc_ffn_fn")))
            self.assertLessEqual(max(map(len, out)), width)

    def test_bars_are_of_block_characters_where_the_locale_has_them(self):
        self.make("one_site")
        wide = ("layers", "--width=130", self.dir)
        blocks = run(*wide, LC_ALL="C.UTF-8")[1]
        longest = next(line for line in blocks.splitlines() if "\u2588" * 20 in line)
        self.assertTrue(longest.startswith("layers.1.hc_ffn_fn"))
        for plain in (run(*wide)[1], run("layers", "--ascii", *wide[1:], LC_ALL="C.UTF-8")[1]):
            self.assertTrue(plain.isascii())
            self.assertEqual(re.sub("[\u2580-\u258f]+|[#:]+$", "", blocks, flags=re.M), re.sub("[#:]+$", "", plain, flags=re.M))

    def test_a_small_share_is_no_empty_bar(self):
        self.make("one_site")
        lines = run("layers", "--width=130", self.dir)[1].splitlines()
        for line in lines[2:lines.index("")]:
            self.assertRegex(line, r"(PASS|FAIL) +[#:]+$")

    def test_a_long_reading_shows_its_progress_on_standard_error_and_wipes_it(self):
        self.make("few")
        trace = self.content()
        facts, mark = trace.index(b"\x58\x2a\x4d\x18"), trace.index(b"\x57\x2a\x4d\x18")
        master, slave = pty.openpty()
        with subprocess.Popen([REPORT, "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=slave) as process:
            os.close(slave)
            process.stdin.write(trace[:facts])
            shown, deadline = b"", time.monotonic() + 60
            while not shown and time.monotonic() < deadline:  # the same facts again and again, until it takes long enough
                process.stdin.write(trace[facts:mark])
                process.stdin.flush()
                if select.select([master], [], [], 0.01)[0]:
                    shown = os.read(master, 1000)
            process.stdin.write(trace[mark:])
            process.stdin.close()
            try:
                while chunk := os.read(master, 1000):
                    shown += chunk
            except OSError:  # EIO: the other side is closed
                pass
        os.close(master)
        self.assertRegex(shown, rb"^\rread .*B, .* rows, .* rows/s\033\[K")
        self.assertTrue(shown.endswith(b"\r\033[K"))


if __name__ == "__main__":
    main()
