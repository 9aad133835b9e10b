#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What every verb owes: help, exit codes, and one sentence for each mistake."""
import json
import os
import re
import subprocess
import tempfile
from random import Random

from case import REPORT, VERBS, Case, call, main, run


# The exit code of every verb for the traces of every state (diff compares them with themselves). A mistake on the command line is
# always 2.
STATES = ("clean", "over", "damaged", "insufficient")
EXITS = {
    "summary": (0, 1, 3, 3),
    "layers": (0, 1, 3, 3),
    "top": (0, 1, 3, 3),
    "hist": (0, 1, 3, 3),
    "drift": (0, 1, 3, 3),
    "diff": (0, 0, 3, 3),
    "export": (0, 0, 3, 0),
    "html": (0, 1, 3, 3),
    "check": (0, 1, 3, 3),
    "verify": (0, 0, 3, 0),
}


class Exits(Case):
    def make_state(self, state):
        """A directory with traces of that state."""
        os.makedirs(state)
        self.dir = state
        self.make({"clean": "clean", "over": "tf32", "damaged": "long_run", "insufficient": "few"}[state])
        if state == "damaged":
            data = bytearray(self.content())
            data[len(data) // 2] ^= 0x10
            self.write(bytes(data))

    def test_every_verb_has_the_exit_codes_of_the_table(self):
        self.assertEqual(list(EXITS), VERBS, "the table has every verb, in order")
        for state in STATES:
            self.make_state(state)
        for verb, codes in EXITS.items():
            for state, expected in zip(STATES, codes):
                with self.subTest(verb=verb, state=state):
                    code, out, err = run(*call(verb, state))
                    self.assertEqual(code, expected, out + err)

    def test_every_verb_calls_mistakes_by_their_name_and_exits_2(self):
        for verb in VERBS:
            for option, path, said in (("--colour", ".", "--colour"), ("--width=9", ".", "--width 9"),
                                       ("--color=red", ".", "--color red"), ("--threads=0", ".", "--threads 0"),
                                       ("--ascii", "/nonexistent", "/nonexistent: No such file")):
                with self.subTest(verb=verb, option=option, path=path):
                    code, out, err = run(*call(verb, path), option)
                    self.assertEqual((code, out), (2, ""))
                    self.assertIn(said, err)


class Order(Case):
    """Which trace is read first, and by which thread, is chance."""
    TRIALS = 3

    def make_trial(self, traces, random):
        """A directory with the traces under names that sort in another order."""
        folder = tempfile.mkdtemp(dir=self.dir)
        names = random.sample(range(len(traces)), len(traces))
        for name, trace in zip(names, traces):
            with open(os.path.join(folder, f"rank{name}.arrows.zst"), "wb") as file:
                file.write(trace)
        return folder

    def without_names(self, verb, out):
        """What is said, but for which file it is said of."""
        if verb == "verify":  # a line per file
            return sorted(line.split(": ", 1)[1] for line in out.splitlines())
        if verb == "export":
            document = json.loads(out)
            document["traces"] = sorted(str({**trace, "name": ""}) for trace in document["traces"])
            return document
        return re.sub(r"rank\d\.arrows", "rank.arrows", out)

    def test_every_verb_says_the_same_in_any_order_and_with_any_number_of_threads(self):
        seed = int(os.environ.get("MHCSHADOW_TEST_SEED", "1"))
        print(f"MHCSHADOW_TEST_SEED={seed}")
        random = Random(seed)
        traces = []
        for case in ("clean", "one_site", "long_run", "wrong_weights"):
            self.make(case)
            for name in sorted(os.listdir(".")):
                with open(name, "rb") as file:
                    traces.append(file.read())
                os.remove(name)
        expected = {}
        for _ in range(self.TRIALS):
            os.chdir(self.make_trial(traces, random))
            for verb in VERBS:
                code, out, err = run(*call(verb, "."), f"--threads={random.randint(1, 5)}")
                result = (code, self.without_names(verb, out), err)
                with self.subTest(verb=verb):
                    self.assertEqual(expected.setdefault(verb, result), result)
            os.chdir("..")


class Usage(Case):
    def test_an_unknown_verb_lists_the_verbs(self):
        code, out, err = run("sumary")
        self.assertEqual((code, out), (2, ""))
        for verb in VERBS:
            self.assertIn(verb, err)

    def test_no_argument_is_a_usage_error(self):
        for arguments in ((), *((verb,) for verb in VERBS)):
            code, out, err = run(*arguments)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("--help", err)

    def test_help_tells_of_verbs_and_exit_codes(self):
        code, out, _ = run("--help")
        self.assertEqual(code, 0)
        for word in (*VERBS, "Exit status", "Example"):
            self.assertIn(word, out)
        for verb in VERBS:
            code, out, _ = run(verb, "--help")
            self.assertEqual(code, 0)
            self.assertIn(f"mhcshadow-report {verb}", out)
            for word in ("--salvage", "Exit status", f"Example:\n  mhcshadow-report {verb} "):
                self.assertIn(word, out)

    def test_a_report_that_can_not_be_written_is_no_success(self):
        self.make("clean")
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([REPORT, self.dir], stdout=full, stderr=subprocess.PIPE,
                                  check=False, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("No space left on device", done.stderr)

    def test_the_version_is_told(self):
        self.assertRegex(run("--version")[1], r"^mhcshadow-report \d+\.\d+")


if __name__ == "__main__":
    main()
