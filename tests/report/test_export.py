#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mhcshadow-report export: every format is what its readers expect, and holds what the traces do."""
import csv
import io
import json
import os
import re
import subprocess
import unittest

from case import REPORT, SANITIZED, Case, main, run


def no_constants(text):
    raise ValueError(f"{text} is not JSON")


def parse(text):
    """Strictly: Python would take NaN and Infinity."""
    return json.loads(text, parse_constant=no_constants)


class Export(Case):
    def export(self, form, *paths, code=0):
        got, out, err = run("export", "--format", form, *(paths or [self.dir]))
        self.assertEqual(got, code, err)
        if code == 0:
            self.assertEqual(err, "")
        return out


class Json(Export):
    def test_the_report_is_one_object_with_format_and_version(self):
        self.make("few")
        out = self.export("json")
        self.assert_golden("export_json", out)
        self.assertEqual(out, run("export", self.dir)[1], "json is the default")
        report = parse(out)
        self.assertEqual((report["format"], report["version"]), ("mhcshadow-report", 1))

    def test_it_has_the_summarys_numbers(self):
        self.make("one_site")
        report, summary = parse(self.export("json")), run(self.dir)[1]
        self.assertEqual(report["conclusion"]["status"], "FAIL")
        self.assertIn(report["conclusion"]["sentence"], " ".join(summary.split()))
        for label, key in (("rel, all coefficients", "rel"), ("comb", "comb_err"), ("y, 1 - cosine", "y_cosdist")):
            stat = report["errors"]["operands"][key]
            shown = [f"{stat[name]:.3e}" for name in ("rms", "p50", "p90", "p99", "p99_9", "max")]
            self.assertRegex(summary, re.escape(label) + r" +" + " +".join(map(re.escape, shown)))
        self.assertEqual(report["coverage"]["calls"]["matched"], 5400)
        self.assertEqual([t["rows"] for t in report["traces"]], [448, 448])

    def test_it_says_where_what_was_found_lies(self):
        self.make("nan_row")
        extent = parse(self.export("json"))["conclusion"]["extent"]
        self.assertEqual((extent["sites"], extent["worst"]["site"], extent["worst"]["phase"]),
                         (1, "layers.2.hc_attn_fn", "prefill"))
        self.make("clean")
        self.assertEqual(parse(self.export("json"))["conclusion"]["extent"], {"sites": 0})

    def test_its_histograms_count_every_row(self):
        self.make("clean")
        report = parse(self.export("json"))
        for line in report["sites"]:
            for reference in ("operands", "checkpoint"):
                stat = line[reference]["rel"]
                self.assertEqual(stat["zeros"] + sum(n for _, n in stat["octaves"]), stat["count"])
                self.assertEqual(stat["count"] + stat["undefined"], line["rows"])
        self.assertEqual(sum(b["rows"] for b in report["timeline"]["bins"] if b["against"] == "operands"), 896)

    def test_layers_are_those_of_drift(self):
        self.make("with_maps")
        layers, drift = parse(self.export("json"))["layers"], run("drift", self.dir)[1]
        self.assertEqual((layers["against"], layers["no_product"], len(layers["sites"])), ("checkpoint", None, 6))
        for link in layers["sites"]:
            shown = " +".join(re.escape(f"{link[key]:.3e}") for key in ("comb_err", "y_rel", "root", "sum", "product"))
            self.assertRegex(drift, rf"{re.escape(link['site'])} +64 +{shown}")

    def test_files_in_any_order_give_the_same_bytes(self):
        self.make("clean")
        self.assertEqual(self.export("json", self.rank(0), self.rank(1)),
                         self.export("json", self.rank(1), self.rank(0)))

    def test_without_rows_it_is_still_json(self):
        report = parse(self.export("json", code=3))
        self.assertEqual(report["conclusion"]["status"], "INSUFFICIENT")
        self.make("no_rows")
        report = parse(self.export("json", code=3))
        self.assertEqual((report["conclusion"]["status"], report["run"]["first"]), ("INSUFFICIENT", None))

    def test_damage_goes_to_standard_error_and_into_the_object(self):
        self.make("clean")
        self.write(b"hello", "rank2.arrows.zst")
        code, out, err = run("export", self.dir)
        self.assertEqual(code, 3)
        self.assertIn("rank2.arrows.zst", err)
        self.assertEqual([t["readable"] for t in parse(out)["traces"]], [True, True, False])


class Rows(Export):
    def test_json_lines_are_one_object_a_row_in_the_order_of_the_traces(self):
        self.make("clean")
        rows = [parse(line) for line in self.export("jsonl").splitlines()]
        self.assertEqual(len(rows), 896)
        self.assertEqual([row["pid"] for row in rows], [4711] * 448 + [815] * 448)
        self.assertEqual({row["phase"] for row in rows[:448]} | {row["phase"] for row in rows[448:]},
                         {"prefill", "decode"})
        self.assertEqual([row["call"] for row in rows[:448]], sorted(row["call"] for row in rows[:448]))
        self.assertEqual({len(row["production"]) for row in rows}, {24})

    def test_a_row_looks_as_documented(self):
        self.make("few")
        self.assert_golden("export_jsonl_row", self.export("jsonl").splitlines()[0] + "\n")
        self.assert_golden("export_csv_row", "\n".join(self.export("csv").splitlines()[:2]) + "\n")

    def test_csv_has_the_same_values_under_the_same_names(self):
        self.make("clean")
        lines = [parse(line) for line in self.export("jsonl").splitlines()]
        rows = list(csv.DictReader(io.StringIO(self.export("csv"))))
        self.assertEqual(len(rows), len(lines))
        for row, line in zip(rows, lines):
            for name, value in line.items():
                if isinstance(value, list):
                    for i, element in enumerate(value):
                        text = row[f"{name}_{i}"]
                        self.assertTrue(text == "nan" if element is None else float(text) == element, (name, i, text))
                elif value is None:
                    self.assertIn(row[name], ("", "nan"))
                elif isinstance(value, bool):
                    self.assertEqual(row[name], "true" if value else "false")
                else:
                    self.assertEqual(type(value)(row[name]), value, name)

    def test_a_null_differs_from_nan_in_csv(self):
        self.make("tf32")
        row = next(csv.DictReader(io.StringIO(self.export("csv"))))
        self.assertEqual((row["layer"], row["role"], row["checkpoint_rel"], row["checkpoint_0"]), ("", "", "", ""))
        self.make("nan_row")
        self.assertIn("nan", [row["production_5"] for row in csv.DictReader(io.StringIO(self.export("csv")))])

    def test_text_with_quotes_commas_and_umlauts_survives(self):
        self.make("odd_label")
        label = 'a "quoted", label\\ für\nalle'
        self.assertEqual(parse(self.export("jsonl").splitlines()[0])["label"], label)
        self.assertEqual(next(csv.DictReader(io.StringIO(self.export("csv"), newline="")))["label"], label)
        self.assertIn(label, parse(self.export("perfetto"))["traceEvents"][0]["args"]["name"])

    def test_rows_before_damage_are_exported(self):
        self.make("long_run")
        data = bytearray(self.content())
        data[len(data) // 2] ^= 0x10
        self.write(bytes(data))
        for form in ("jsonl", "csv"):
            code, out, err = run("export", "--format", form, self.dir)
            self.assertEqual((code, out.count("\n") - (form == "csv")), (3, 4096))
            self.assertIn("DAMAGED", err)
        self.assertTrue(parse(self.export("perfetto", code=3))["traceEvents"])

    def test_no_rows_are_no_success(self):
        self.make("no_rows")
        for form in ("jsonl", "csv", "perfetto"):
            code, _, err = run("export", "--format", form, self.dir)
            self.assertEqual(code, 3)
            self.assertIn("no row was exported", err)

    def test_standard_input_is_exported(self):
        self.make("few")
        with open(self.rank(), "rb") as file:
            piped = run("export", "--format=csv", "-", stdin=file)
        self.assertEqual(piped, (0, self.export("csv"), ""))

    @unittest.skipIf(SANITIZED, "a sanitizer's own memory does")
    def test_memory_does_not_grow_with_the_rows(self):
        peaks = {}
        for case in ("long_run", "longer_run"):
            self.make(case)
            for form in ("jsonl", "csv", "perfetto"):
                with subprocess.Popen([REPORT, "export", "--format", form, self.rank()],
                                      stdout=subprocess.DEVNULL) as process:
                    _, status, usage = os.wait4(process.pid, 0)
                    process.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(process.returncode, 0)
                peaks[case, form] = usage.ru_maxrss
        for form in ("jsonl", "csv", "perfetto"):
            self.assertLess(peaks["longer_run", form], 1.1 * peaks["long_run", form] + 1024, peaks)


class Perfetto(Export):
    def test_ranks_are_processes_and_sites_their_tracks(self):
        self.make("clean")
        events = parse(self.export("perfetto"))["traceEvents"]
        names = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M"}
        self.assertEqual(names["process_name", 1, 0], "node-a 4711 (night build)")
        self.assertEqual(names["process_name", 2, 0], "node-b 815 (night build)")
        for pid in (1, 2):
            tracks = [name for (kind, p, _), name in names.items() if kind == "thread_name" and p == pid]
            sites = [f"layers.{i}.hc_{r}_fn" for i in range(3) for r in ("attn", "ffn")] + ["hc_head_fn"]
            self.assertEqual(sorted(tracks), sorted(sites))

    def test_every_sampled_call_is_an_instant_and_a_counter_at_its_time(self):
        self.make("clean")
        events = parse(self.export("perfetto"))["traceEvents"]
        instants = [e for e in events if e["ph"] == "i"]
        self.assertEqual(len(instants), 2 * 28)
        self.assertEqual([e["ts"] for e in instants[:28]],
                         [1700000000000000 + 10000 * e["args"]["call"] for e in instants[:28]])
        self.assertEqual({e["args"]["rows"] for e in instants}, {16})
        rows = [parse(line) for line in self.export("jsonl").splitlines()]
        for event in instants:
            pid, call = {1: 4711, 2: 815}[event["pid"]], event["args"]["call"]
            of = [r["operands_rel"] for r in rows if r["pid"] == pid and r["call"] == call]
            rms = (sum(rel * rel for rel in of) / len(of)) ** 0.5
            self.assertAlmostEqual(event["args"]["operands"]["rms_rel"] / rms, 1, places=7)
        self.assertEqual(len([e for e in events if e["ph"] == "C"]), 2 * 28)

    def test_it_looks_as_documented(self):
        self.make("few")
        self.assert_golden("export_perfetto", self.export("perfetto"))


class Openmetrics(Export):
    def test_it_looks_as_documented(self):
        self.make("few")
        self.assert_golden("export_openmetrics", self.export("openmetrics"))

    def test_the_verdict_is_the_only_state_that_is_set(self):
        for case, status in (("clean", "PASS"), ("one_site", "FAIL"), ("no_rows", "INSUFFICIENT")):
            os.makedirs(case)
            self.dir = case
            self.make(case)
            out = self.export("openmetrics", code=3 if case == "no_rows" else 0)
            self.assertEqual(re.findall(r'status\{mhcshadow_report_status="(\w+)"\} 1\n', out), [status])
            self.assertTrue(out.endswith("\n# EOF\n"))


class Usage(Export):
    def test_an_unknown_format_lists_the_formats(self):
        self.make("few")
        code, out, err = run("export", "--format=yaml", self.dir)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("not json, jsonl, csv, openmetrics or perfetto", " ".join(err.split()))

    def test_an_export_that_can_not_be_written_is_no_success(self):
        self.make("few")
        for form in ("json", "jsonl", "csv", "openmetrics", "perfetto"):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([REPORT, "export", "--format", form, self.dir], stdout=full,
                                      stderr=subprocess.PIPE, check=False, text=True)
            self.assertEqual(done.returncode, 3, form)
            self.assertIn("No space left on device", done.stderr)


if __name__ == "__main__":
    main()
