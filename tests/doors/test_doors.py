#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Through every door and in every form: the application's results stay bit-identical, every GEMM is counted and sampled, and
what was sampled is what the application computed with."""
import os

import e2e

SETTINGS = {"SHAPES": "24x64,4x64", "SAMPLE": "all", "MEM_MB": "64", "HEADROOM_MB": "0", "ROWS": "2"}

# Processes that share the hooks: each makes fewer mixing GEMMs than there are slots, so that none is dropped.
PARTS = {"every": 25, "few": 5}


class Form:
    """Calls of as many tokens: they tell the samples of one call from another's."""

    def __init__(self):
        self.names, self.gemms, self.refused, self.tolerance = [], 0, 0, 0


def read_client(run):
    """({tokens: Form}, number of ordinary calls)"""
    forms = {}
    *mixing, (_, ordinary) = [line.split() for line in run.stdout.splitlines()]
    for name, tokens, gemms, tolerance, result in mixing:
        form = forms.setdefault(int(tokens), Form())
        form.names.append(name)
        form.gemms += int(gemms)
        form.refused += int(gemms) if result.startswith("refused-") else 0
        form.tolerance = max(form.tolerance, float(tolerance))
    return forms, int(ordinary)


def check(order, arguments):
    """Returns the worst error."""
    def without():
        return e2e.client(arguments, check=False)

    plain = without()
    if not e2e.usable(plain, f"{order} {arguments}"):
        return 0
    forms, ordinary = read_client(plain)
    what = f"{order}, {next(iter(forms.values())).names[0]} and so on"
    gemms = sum(form.gemms for form in forms.values())
    refused = sum(form.refused for form in forms.values())
    if refused:
        e2e.expect(e2e.GPU, f"{what}: cuBLAS refuses {[form.names for form in forms.values() if form.refused]}")
    with e2e.scratch() as traces:
        run = e2e.client(arguments, traces, order, check=False, **SETTINGS)
        e2e.expect(run.returncode == 0 and not e2e.faults(run), f"{what}: no fault, no race {run.stderr}")
        e2e.same_results(plain, run, what, without)
        rows, facts = e2e.dump(traces)
    count = e2e.counters(facts)
    e2e.expect((count["seen"], count["matched"]) == (gemms + ordinary, gemms), f"{what}: {gemms} matched and {ordinary} more seen: {count}")
    recorded = len({row["call"] for row in rows})
    e2e.expect(count["sampled"] == gemms - refused == recorded, f"{what}: all are sampled and recorded")

    unseen = {tokens for tokens, form in forms.items() if form.refused < form.gemms}
    for row in rows:
        form = forms[row["tokens"]]
        unseen.discard(row["tokens"])
        if not row["operands_rel"] <= form.tolerance:
            e2e.expect(False, f"{what}: {form.names}: an error of {row['operands_rel']} is beyond {form.tolerance}")
    e2e.expect(not unseen, f"{what}: no form without a sample: {[forms[tokens].names for tokens in unseen]}")
    return max((row["operands_rel"] for row in rows), default=0)


ORDERS = {"lazy": "every", "eager": "few", "random:3": "few"}
if os.environ["MHCSHADOW_TEST_FEW"] == "1":  # what is in flight at exit would take the simulation longer than an exit may
    ORDERS, PARTS = dict.fromkeys(ORDERS, "few"), {"few": 25}
for order in e2e.orders(ORDERS):
    extent = ORDERS.get(order, "every")
    worst = max(check(order, [extent, str(part), str(PARTS[extent])]) for part in range(PARTS[extent]))
    e2e.expect(0 < worst < 0.02, f"{order}: every sample is near its reference (worst {worst:.3e})")
e2e.finish()
