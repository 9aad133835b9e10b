#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of the verbs, computed anew from the traces with zstd, pyarrow and numpy: none of our code but the writer's is in
common. OpenMetrics is read by Prometheus' own parser.

    test_figures.py REPORT MAKE_CASE GOLDEN_DIR VENV PACKAGE...
"""
import glob
import io
import json
import math
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import pypi  # pylint: disable=wrong-import-position

pypi.run_with(sys.argv[4], sys.argv[5:])

# pylint: disable=wrong-import-position
import numpy as np
import pyarrow as pa
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from case import MAKE_CASE, Case, main, run

NUMBER = r"[-+.\de]+"


def table(folder):
    """All rows of the folder's traces, as other people's programs see them."""
    parts = []
    for name in sorted(glob.glob(os.path.join(folder, "*.zst"))):
        plain = subprocess.run(["zstd", "-dcq", name], stdout=subprocess.PIPE, check=False).stdout
        parts.append(pa.ipc.open_stream(io.BytesIO(plain)).read_all())
    return pa.concat_tables(parts)


def column(rows, name):
    """Null is NaN; lists are two-dimensional."""
    values = rows.column(name).combine_chunks()
    if pa.types.is_fixed_size_list(values.type):
        return np.array([[math.nan] * 24 if row is None else row for row in values.to_pylist()], dtype=np.float64)
    if pa.types.is_floating(values.type):
        return np.array([math.nan if v is None else v for v in values.to_pylist()], dtype=np.float64)
    return np.array(values.to_pylist())


def rms(values):
    return math.sqrt(np.mean(np.square(values)))


class Figures(Case):
    def make_in(self, folder, case):
        os.makedirs(folder)
        subprocess.run([MAKE_CASE, folder, case], check=True)
        return folder

    def assert_near(self, got, expected, tolerance=1e-9):
        self.assertLessEqual(abs(got - expected), tolerance * abs(expected), f"{got} is not {expected}")


class Export(Figures):
    def test_json_lines_hold_every_value_of_every_column(self):
        for case in ("clean", "tf32", "nan_row"):
            folder = self.make_in(case, case)
            rows = table(folder)
            lines = [json.loads(line) for line in run("export", "--format=jsonl", folder)[1].splitlines()]
            self.assertEqual(set(lines[0]) - {"host", "pid", "label", "phase"}, set(rows.column_names))
            for name in rows.column_names:
                values = rows.column(name)
                if pa.types.is_timestamp(values.type):
                    values = values.cast(pa.int64())
                for line, value in zip(lines, values.to_pylist()):
                    if isinstance(value, list):
                        expected = [None if not math.isfinite(v) else np.float32(v) for v in value]
                        got = [None if v is None else np.float32(v) for v in line[name]]
                    elif isinstance(value, float):
                        expected = np.float32(value) if math.isfinite(value) else None
                        got = None if line[name] is None else np.float32(line[name])
                    else:
                        expected, got = value, line[name]
                    self.assertEqual(got, expected, name)

    def test_the_json_reports_statistics_are_those_of_the_rows(self):
        folder = self.make_in("a", "one_site")
        rows, report = table(folder), json.loads(run("export", folder)[1])
        for reference in ("operands", "checkpoint"):
            for metric in ("rel", "rel_post", "backward", "comb_err", "y_cosdist", "bias"):
                values = column(rows, f"{reference}_{metric}")
                stat, values = report["errors"][reference][metric], np.abs(values[np.isfinite(values)])
                self.assertEqual(stat["count"], len(values))
                self.assert_near(stat["rms"], rms(values))
                self.assert_near(stat["max"], values.max())
                for key, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
                    self.assert_near(stat[key], np.sort(values)[math.ceil(share * len(values)) - 1], 1 / 64)
        names, tokens = column(rows, "site_name"), column(rows, "tokens")
        for line in report["sites"]:
            values = column(rows, "operands_rel")[(names == line["site"]) & ((tokens <= 64) == (line["phase"] == "decode"))]
            self.assert_near(line["operands"]["rel"]["rms"], rms(values))
            self.assertEqual(line["operands"]["rel"]["octaves"],
                             [[2.0**e, n] for e, n in sorted(zip(*np.unique(np.floor(np.log2(values)), return_counts=True)))])

    def test_prometheus_reads_openmetrics_and_counts_as_we_do(self):
        folder = self.make_in("a", "one_site")
        rows, code_out = table(folder), run("export", "--format=openmetrics", folder)[1]
        families = {family.name: family for family in text_string_to_metric_families(code_out)}
        self.assertEqual(families["mhcshadow_report_status"].type, "stateset")
        self.assertEqual(families["mhcshadow_report_relative_error"].type, "histogram")
        for sample in families["mhcshadow_report_relative_error"].samples:
            values = column(rows, sample.labels["against"] + "_rel")
            self.assertEqual(sample.value, np.sum(values <= float(sample.labels["le"])), sample)
        names, tokens = column(rows, "site_name"), column(rows, "tokens")
        for sample in families["mhcshadow_report_site_relative_error_rms"].samples:
            here = (names == sample.labels["site"]) & ((tokens <= 64) == (sample.labels["phase"] == "decode"))
            self.assert_near(sample.value, rms(column(rows, sample.labels["against"] + "_rel")[here]))


class Gates(Figures):
    def test_diff_has_the_ratio_and_the_chance_of_plain_arithmetic(self):
        folders = [self.make_in("a", "clean"), self.make_in("b", "captured")]
        tables = [table(folder) for folder in folders]
        values = [column(rows, "operands_rel")[column(rows, "tokens") > 64] for rows in tables]
        mean = [np.mean(v**2) for v in values]
        error = [np.std(v**2, ddof=1) / math.sqrt(len(v)) / m for v, m in zip(values, mean)]
        z = abs(math.log(mean[1] / mean[0])) / math.hypot(*error)
        line = re.search(r"all sites +prefill +(\d+) +(\d+) +(\S+) +(\S+) +(\S+) +(\S+)", run("diff", *folders)[1])
        self.assertEqual(line.groups(), (str(len(values[0])), str(len(values[1])), f"{math.sqrt(mean[0]):.3e}",
                                         f"{math.sqrt(mean[1]):.3e}", f"{math.sqrt(mean[1] / mean[0]):.2f}",
                                         f"{math.erfc(z / math.sqrt(2)):.2f}"))

    def test_check_compares_the_figures_of_the_rows(self):
        folder = self.make_in("a", "one_site")
        rows = table(folder)
        here = (column(rows, "site_name") == "layers.1.hc_ffn_fn") & (column(rows, "tokens") > 64)
        rel, comb = column(rows, "checkpoint_rel")[here], column(rows, "checkpoint_comb_err")[here]
        with open("rules", "w", encoding="ascii") as file:
            file.write("layers.1.hc_ffn_fn prefill rel <= 0, max <= 0, comb <= 0, operands.rel <= 0\n* * skip\n")
        out = run("check", "--rules", "rules", folder)[1]
        for name, value in (("rel", rms(rel)), ("max", rel.max()), ("comb", rms(comb)),
                            ("operands.rel", rms(column(rows, "operands_rel")[here]))):
            self.assertIn(f"prefill: {name} {value:.4g} > 0 ", out)


class Views(Figures):
    def test_top_shows_the_rows_with_the_largest_values(self):
        folder = self.make_in("a", "one_site")
        rows = table(folder)
        values, calls, tokens = column(rows, "checkpoint_y_rel"), column(rows, "call"), column(rows, "row")
        production = column(rows, "production")
        order = np.argsort(-values)[:10]
        shown = re.findall(r"y_rel (\S+) against the checkpoint\n +call (\d+), token row (\d+).*?pre +(.*?)\n",
                           run("top", "--by=y_rel", "--rows=10", folder)[1], re.DOTALL)
        self.assertEqual([(v, int(c), int(t)) for v, c, t, _ in shown], [(f"{values[i]:.3e}", calls[i], tokens[i]) for i in order])
        for i, (*_, pre) in zip(order, shown):
            self.assertEqual(pre.split()[:4], [f"{v:.4g}" for v in production[i][:4]])


    def test_hist_counts_the_rows_of_each_bin(self):
        folder = self.make_in("a", "one_site")
        values = column(table(folder), "checkpoint_rel")
        out = run("hist", folder)[1]
        edges = np.array([2.0**e * (1 + s / 32) for e in range(-30, 0) for s in (0, 6, 13, 22)])
        bins = re.findall(rf"^ +({NUMBER}) +({NUMBER}) +(\d+)  ", out, re.MULTILINE)
        self.assertEqual(sum(int(count) for *_, count in bins), len(values))
        for low, high, count in bins:
            low, high = (edges[np.argmin(np.abs(edges - float(edge)))] for edge in (low, high))
            self.assertEqual(int(count), np.sum((values >= low) & (values < high)))

    def test_hist_has_the_percentiles_and_their_standard_errors(self):
        folder = self.make_in("a", "clean")
        values = np.sort(column(table(folder), "checkpoint_rel"))
        shown = {name: (float(value), float(error)) for name, value, error in
                 re.findall(rf"^  (rms|p\d+) +({NUMBER}) +({NUMBER})", run("hist", folder)[1], re.MULTILINE)}
        self.assert_near(shown["rms"][0], rms(values), 1e-3)
        self.assert_near(shown["rms"][1], np.std(values**2, ddof=1) / math.sqrt(len(values)) / (2 * rms(values)), 1e-3)
        random = np.random.default_rng(1)
        for name, share in (("p10", 0.1), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            rank = math.ceil(share * len(values)) - 1
            self.assert_near(shown[name][0], values[rank], 1 / 64 + 1e-3)
            again = [np.sort(random.choice(values, len(values)))[rank] for _ in range(400)]
            self.assertLess(abs(math.log(shown[name][1] / np.std(again))), math.log(1.8), name)

    def test_the_expected_distribution_is_that_of_rounded_gaussian_rows(self):
        random = np.random.default_rng(2)
        c = random.standard_normal((200000, 24)).astype(np.float32)
        bits = c.view(np.uint32)
        rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
        rel = np.linalg.norm(rounded - c, axis=1) / np.linalg.norm(c, axis=1)
        out = run("hist", "--against=operands", "--site=layers.*", self.make_in("a", "clean"))[1]
        shown = dict(re.findall(rf"^  (rms|p\d+) +{NUMBER} +{NUMBER} +({NUMBER})$", out, re.MULTILINE))
        self.assert_near(float(shown["rms"]), rms(rel), 0.01)
        for name, share in (("p1", 0.01), ("p10", 0.1), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            self.assert_near(float(shown[name]), np.quantile(rel, share), 0.03)


    def test_drift_adds_up_the_errors_of_comb(self):
        folder = self.make_in("a", "with_maps")
        rows = table(folder)
        names, comb = column(rows, "site_name"), column(rows, "checkpoint_comb_err")
        sites = [f"layers.{i}.hc_{role}_fn" for i in range(3) for role in ("attn", "ffn")]
        errors = [rms(comb[names == site]) for site in sites]
        lines = re.findall(rf"^(layers\S+) +\d+ +({NUMBER}) +({NUMBER}) +({NUMBER}) +({NUMBER}) +({NUMBER}) +({NUMBER})$",
                           run("drift", folder)[1], re.MULTILINE)
        self.assertEqual([line[0] for line in lines], sites)
        product, gain = comb_products(rows, sites)
        for i, line in enumerate(lines):
            self.assert_near(float(line[3]), math.sqrt(sum(e * e for e in errors[:i + 1])), 1e-3)
            self.assert_near(float(line[4]), sum(errors[:i + 1]), 1e-3)
            self.assert_near(float(line[5]), product[i], 2e-3)
            self.assert_near(float(line[6]), gain[i], 6e-3)

    def test_drift_compares_each_window_with_all_others(self):
        folder = self.make_in("a", "step")
        rows = table(folder)
        heads = column(rows, "role") == "head"
        expected = np.where(heads, np.nan, 1.0)
        report = json.loads(run("export", folder)[1])
        high = report["paths"][0]["against"]["checkpoint"]["expected_high"]
        times = rows.column("time").cast(pa.int64()).to_numpy()
        q = (column(rows, "checkpoint_rel") / high) ** 2 * expected
        out = run("drift", folder)[1]
        width = float(re.search(r"windows of (\S+) s", out)[1])
        shown = re.findall(rf"^2023-11-14T22:13:(\d+\.\d+) +(\d+) +({NUMBER})", out, re.MULTILINE)
        base = 1700000000 - 20
        for start, count, ratio in shown:
            here = (times >= (base + float(start)) * 1e9 - 1e6) & (times < (base + float(start) + width) * 1e9 - 1e6)
            self.assertLess(abs(int(count) - np.sum(here)), 113)
            self.assertLess(abs(float(ratio) / math.sqrt(np.nanmean(q[here])) - 1), 0.08)


def mix64(z):
    """splitmix64's, as in kernels/kernels.h."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & (1 << 64) - 1
    return z ^ (z >> 31)


def sinkhorn(logits):
    """20 sweeps as doc/metrics.md has them."""
    comb = np.exp(logits - logits.max(axis=1, keepdims=True))
    comb = comb / comb.sum(axis=1, keepdims=True) + 1e-6
    comb = comb / (comb.sum(axis=0, keepdims=True) + 1e-6)
    for _ in range(19):
        comb = comb / (comb.sum(axis=1, keepdims=True) + 1e-6)
        comb = comb / (comb.sum(axis=0, keepdims=True) + 1e-6)
    return comb


def comb_products(rows, sites):
    """Relative difference of the products of comb matrices, and the bound on their gain, up to each site (samples.h, chain.h)."""
    names, rms_factor = column(rows, "site_name"), column(rows, "rms")
    raw = {name: column(rows, name) for name in ("production", "checkpoint")}
    times, calls, tokens = rows.column("time").cast(pa.int64()).to_pylist(), column(rows, "call"), column(rows, "row")
    base = 2.0 * np.eye(4)

    def hash_of(row):
        bits = raw["production"][row][:4].astype(np.float32).view(np.uint64)
        first = mix64((times[row] ^ mix64(int(calls[row]))))
        return mix64(first ^ mix64((int(bits[0]) + mix64(int(bits[1]))) & (1 << 64) - 1) ^ int(tokens[row]))

    chains = [{"production": np.eye(4), "checkpoint": np.eye(4), "gain": 1.0} for _ in range(64)]
    products, gains = [], []
    for site in sites:
        drawn = sorted(np.flatnonzero(names == site), key=hash_of)[:64]
        for i, chain in enumerate(chains):
            row = drawn[i % len(drawn)]
            comb = {name: sinkhorn(raw[name][row][8:].reshape(4, 4) * rms_factor[row] * 0.25 + base) for name in raw}
            for name in raw:
                chain[name] = comb[name].T @ chain[name]
            chain["gain"] *= math.sqrt(comb["checkpoint"].sum(axis=1).max() * comb["checkpoint"].sum(axis=0).max())
        norms = [np.linalg.norm(c["production"] - c["checkpoint"]) / np.linalg.norm(c["checkpoint"]) for c in chains]
        products.append(rms(norms))
        gains.append(max(c["gain"] for c in chains))
    return products, gains


if __name__ == "__main__":
    main()
