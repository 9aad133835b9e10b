#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Through every door and in every form: the application's results stay bit-identical, every GEMM is counted, and what was
sampled is what the application computed with."""
import e2e

SETTINGS = {"SHAPES": "24x64,4x64", "SAMPLE": "all", "MEM_MB": "64", "HEADROOM_MB": "0", "ROWS": "2"}


class Form:
    """Calls of as many tokens: they tell the samples of one call from another's."""

    def __init__(self):
        self.names, self.gemms, self.tolerance = [], 0, 0


def read_client(run):
    """({tokens: Form}, number of ordinary calls)"""
    forms = {}
    *mixing, (_, ordinary) = [line.split() for line in run.stdout.splitlines()]
    for name, tokens, gemms, tolerance, _ in mixing:
        form = forms.setdefault(int(tokens), Form())
        form.names.append(name)
        form.gemms += int(gemms)
        form.tolerance = max(form.tolerance, float(tolerance))
    return forms, int(ordinary)


for order, arguments in {"lazy": [], "eager": ["few"], "random:3": ["few"]}.items():
    plain = e2e.client(arguments, check=False)
    e2e.expect(plain.returncode == 0, f"{order}: the client runs {plain.stderr}")
    forms, ordinary = read_client(plain)
    gemms = sum(form.gemms for form in forms.values())
    with e2e.scratch() as traces:
        run = e2e.client(arguments, traces, order, check=False, **SETTINGS)
        e2e.expect(run.returncode == 0 and "simcuda:" not in run.stderr, f"{order}: no fault, no race {run.stderr}")
        e2e.expect(run.stdout == plain.stdout, f"{order}: the same results, bit for bit")
        rows, facts = e2e.dump(traces)
        count = e2e.counters(facts)
        e2e.expect((count["seen"], count["matched"]) == (gemms + ordinary, gemms), f"{order}: {gemms} matched and {ordinary} more seen: {count}")
        e2e.expect(count["sampled"] + count["dropped"] == gemms and count["failed"] == count["captured"] == 0, f"{order}: all are due: {count}")
        e2e.expect(len({row["call"] for row in rows}) == count["sampled"], f"{order}: {count['sampled']} samples are recorded")

        unseen = set(forms)
        for row in rows:
            form = forms[row["tokens"]]
            unseen.discard(row["tokens"])
            if not row["operands_rel"] <= form.tolerance:
                e2e.expect(False, f"{order}: {form.names}: an error of {row['operands_rel']} is beyond {form.tolerance}")
        e2e.expect(len(unseen) <= count["dropped"], f"{order}: forms without a sample: {[forms[tokens].names for tokens in unseen]}")
        worst = max(row["operands_rel"] for row in rows)
        e2e.expect(worst < 0.02, f"{order}: every sample is near its reference (worst {worst:.3e})")
e2e.finish()
