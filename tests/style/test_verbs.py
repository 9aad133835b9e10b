#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every verb of mhcshadow-report has its man page, with an example, and both say the same of it."""
import os
import re
import sys

from sources import ROOT


def read(*path):
    path = os.path.join(ROOT, *path)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


table = re.search(r"#define MHCS_VERBS\(X\)(.*?)\n\n", read("tools/report/report.h"), re.S)[1]
verbs = re.findall(r"X\((\w+)\)", table)
built = re.findall(r"'(\w+)'", re.search(r"report_verbs = \[(.*?)\]", read("tools/report/meson.build"), re.S)[1])
overview = read("doc/mhcshadow-report.1")
failures = [] if sorted(verbs) == sorted(built) else [f"tools/report/meson.build has the verbs {built}, report.h {verbs}"]
for verb in verbs:
    page = read(f"doc/mhcshadow-report-{verb}.1")
    about = re.search(r'\.about =((?:\s*"[^"]*")+)', read(f"tools/report/{verb}.c"))
    about = "".join(re.findall(r'"([^"]*)"', about[1])) if about else None
    if f".Nd {about}\n" not in page:
        failures.append(f'doc/mhcshadow-report-{verb}.1: NAME does not say what tools/report/{verb}.c has as .about, "{about}"')
    if f".Sh EXAMPLES" not in page or f"mhcshadow-report {verb}" not in page:
        failures.append(f"doc/mhcshadow-report-{verb}.1 has no example")
    if f".Xr mhcshadow-report-{verb} 1" not in overview:
        failures.append(f"doc/mhcshadow-report.1 does not name mhcshadow-report-{verb}")
print("\n".join(failures))
sys.exit(1 if failures or not verbs else 0)
