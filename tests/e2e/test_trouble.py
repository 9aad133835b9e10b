#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad settings, no place to write, a full disk: one clear sentence, and the application runs on unchanged."""
import os
import subprocess

import e2e

with e2e.scratch() as work:
    model = e2e.checkpoint(work)
    arguments = ["--checkpoint", model, "--precision", "bf16", "--prefill-steps", "1", "--prefill-tokens", "40", "--decode-steps", "1"]
    plain = e2e.last_line(e2e.client(arguments))

    def trial(what, directory, words, **settings):
        run = e2e.client(arguments, directory, SAMPLE=settings.pop("SAMPLE", "all"), **settings)
        e2e.expect(e2e.last_line(run) == plain, f"{what}: the application runs on")
        lines = [line for line in run.stderr.splitlines() if line.startswith("mhcshadow")]
        e2e.expect(len(lines) == 1 and all(word in lines[0] for word in words), f"{what}: {lines}")

    with e2e.scratch() as traces:
        missing = os.path.join(traces, "not", "there")
        trial("missing directory", missing, [missing, "No such file or directory"])
        blocked = os.path.join(traces, "file")
        open(blocked, "w").close()
        trial("a file for a directory", blocked, [blocked, "Not a directory"])
        trial("odd value", traces, ["MHCSHADOW_ROWS", "many", "16"], ROWS="many")
        trial("odd name", traces, ["MHCSHADOW_SAMPEL", "MHCSHADOW_SAMPLE"], SAMPEL="1/2")

    with e2e.scratch() as traces:
        # A disk of a few pages, in a mount namespace of its own: the header fits, a batch does not.
        probe = ["unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "-o", "size=12k", "none", traces]
        if subprocess.run(probe, capture_output=True).returncode:
            print("skipped: full disk (no right to mount a tmpfs here)")
        else:
            kept = os.path.join(work, "kept")
            script = f'mount -t tmpfs -o size=12k none "{traces}" && LD_PRELOAD="$LIBRARY" "$@" && cp -r "{traces}" "{kept}"'
            run = e2e.client(arguments, traces,
                             wrapper=["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh"], SAMPLE="all")
            e2e.expect(e2e.last_line(run) == plain, "full disk: the application runs on")
            lines = [line for line in run.stderr.splitlines() if line.startswith("mhcshadow")]
            e2e.expect(len(lines) == 1 and "No space left on device" in lines[0], f"full disk: {lines}")
            e2e.expect_whole(kept, "full disk: what was kept")

    with e2e.scratch() as traces:
        for seed in ["1", "2"]:
            e2e.client([*arguments, "--seed", seed], traces, SAMPLE="all", LABEL=f"rank {seed}")
        run = subprocess.run([*e2e.RUNNER, e2e.REPORT, traces], text=True, capture_output=True)
        e2e.expect(run.returncode == 0 and "rank 1" in run.stdout and "rank 2" in run.stdout,
                   f"two ranks in one directory:\n{run.stdout}")
e2e.finish()
