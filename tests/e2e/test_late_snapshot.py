#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A library that reads x and C later instead of in stream order is found out: buffers are reused at once."""
import os

import e2e

LATE = os.environ["MHCSHADOW_TEST_LATE_LIBRARY"]

with e2e.scratch() as work:
    model = e2e.checkpoint(work)
    arguments = ["--checkpoint", model, "--precision", "bf16", "--prefill-steps", "1", "--prefill-tokens", "40", "--decode-steps", "0"]
    for order in ["lazy", "eager", "random:1"]:
        for library, races in [(e2e.LIBRARY, False), (LATE, True)]:
            with e2e.scratch() as traces:
                run = e2e.client(arguments, traces, order, library=library, check=False, SAMPLE="all")
                e2e.expect(("race" in run.stderr) == races,
                           f"{order}: {os.path.basename(library)}: a race is {'reported' if races else 'not reported'} {run.stderr[:300]}")
e2e.finish()
