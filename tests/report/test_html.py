#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The HTML report as a document: well formed, self-contained, of the right figures, and usable without eyes or mouse.

test_html_browser.py looks at it in a browser.
"""
import html.parser
import itertools
import os
import re

from case import Case, main, run

VOID = {"meta", "link", "br"}


class Page(html.parser.HTMLParser):
    """Elements with their attributes, text and ancestors; complains about tags that do not nest."""

    def __init__(self, source):
        super().__init__()
        self.elements, self._open, self.source = [], [], source
        self.feed(source)
        self.close()
        assert not self._open, f"left open: {self._open}"
        for element in self.elements:
            element["text"] = "".join(element["text"])

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": [], "above": [e["tag"] for e in self._open], **dict(attrs)}
        assert len(dict(attrs)) == len(attrs), f"an attribute twice: {attrs}"
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        assert "svg" in [e["tag"] for e in self._open], f"<{tag}/> outside of SVG"
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self._open and self._open[-1]["tag"] == tag, f"</{tag}> closes {self._open[-1:]}"
        self._open.pop()

    def handle_data(self, data):
        for element in self._open:
            element["text"].append(data)

    def all(self, tag, **attributes):
        """Elements of a tag; class_="cell" is one of its classes."""
        wanted = attributes.pop("class_", None)
        return [e for e in self.elements if e["tag"] == tag and all(e.get(k) == v for k, v in attributes.items()) and
                (wanted is None or wanted in (e.get("class") or "").split())]


def words(text):
    return " ".join(text.split())


class PageCase(Case):
    def page(self, case, code=0, *arguments):
        self.make(case)
        got, out, err = run("html", *arguments, self.dir)
        self.assertEqual((got, err), (code, ""))
        return Page(out)

    def cells(self, page):
        """(site or layer and role, phase, verdict, R, rows) of each cell of the map."""
        marks = [e["text"] for e in page.all("title") if e["above"][-1] == "g"]
        return [m for m in (re.fullmatch(r"(.+), (prefill|decode): (\w+), R (\S+), (\d+) rows", text) for text in marks) if m]


class Html(PageCase):
    def test_pages_are_well_formed_and_ask_for_nothing(self):
        for case, code in (("clean", 0), ("one_site", 1), ("nan_row", 1), ("unknown_path", 3), ("few", 3), ("tf32", 1), ("no_rows", 3), ("killed", 0), ("fleet", 1)):
            with self.subTest(case=case):
                self.dir = case
                os.mkdir(case)
                page = self.page(case, code)
                identifiers = [e["id"] for e in page.elements if "id" in e]
                self.assertEqual(len(identifiers), len(set(identifiers)), "an id twice")
                for element in page.elements:
                    self.assertNotIn(element["tag"], ("script", "img", "iframe", "object", "base"))
                    self.assertNotIn("src", element)
                    self.assertFalse([name for name in element if name.startswith("on")], element)
                    href = element.get("href", "#main")
                    self.assertTrue(href == "data:," or href[1:] in identifiers, href)
                    for reference in ("aria-labelledby", "aria-describedby"):
                        self.assertIn(element.get(reference, "main"), identifiers)
                self.assertNotRegex(page.source, r"url\(|@import|http")
                self.assertNotRegex(page.source, r"\bnan\b|-nan|\binf\b", "a figure that is none")

    def test_text_of_a_trace_is_never_markup(self):
        page = self.page("fleet", 1)
        self.assertIn('<script>alert(1)</script> "canary"', [e["text"] for e in page.all("dd")])
        self.assertTrue("node-7<b>& 4711" in page.all("html")[0]["text"])
        self.assertEqual((page.all("script"), page.all("b")), ([], []))

    def test_the_verdict_is_the_summarys_and_comes_first(self):
        for case, code, verdict in (("clean", 0, "PASS"), ("one_site", 1, "FAIL"), ("wrong_row", 0, "WARN"), ("few", 3, "INSUFFICIENT")):
            with self.subTest(case=case):
                self.dir = case
                os.mkdir(case)
                page = self.page(case, code)
                self.assertEqual(page.all("h2")[0]["text"], f"Verdict: {verdict}")
                self.assertEqual(page.all("title")[0]["text"], f"mhcshadow: {verdict}")
                means = page.all("p", class_="means")[0]["text"]
                self.assertTrue(words(run(self.dir)[1]).endswith(f"{verdict} {words(means)}"), means)

    def test_the_map_has_a_cell_for_each_line_of_layers_with_its_figures(self):
        page = self.page("one_site", 1)
        lines = re.findall(r"^(\S+) +(prefill|decode) +(\d+) +(\S+) .* (PASS|WARN|FAIL|INSUFFICIENT)", run("layers", self.dir)[1], re.M)
        self.assertEqual(len(lines), 14)

        def place(site):
            layer = re.fullmatch(r"layers\.(\d+)\.hc_(attn|ffn)_fn", site)
            return f"layer {layer[1]} {layer[2]}" if layer else site

        expected = sorted((place(site), phase, verdict, ratio, rows) for site, phase, rows, ratio, verdict in lines)
        self.assertEqual(sorted(cell.groups() for cell in self.cells(page)), expected)
        self.assertEqual(len([e for e in page.all("g", class_="cell") if e.get("tabindex")]), 14)

    def test_layers_that_were_not_seen_have_empty_columns(self):
        page = self.page("gap")
        self.assertEqual(len(self.cells(page)), 7, "attn and ffn of layers 0, 1 and 5, and the head, in prefill")
        self.assertEqual(len(page.all("rect", class_="nothing")), 6 * 4 + 2 - 7)
        self.assertEqual([e["text"] for e in page.all("text") if re.fullmatch("[0-5]", e["text"])][:6], list("012345"))

    def test_without_a_checkpoint_sites_have_cells_of_their_own(self):
        page = self.page("tf32", 1)
        self.assertEqual([cell[1] for cell in self.cells(page)], [f"site{i}" for i in range(7)])

    def test_charts_count_the_rows_that_the_report_counts(self):
        page = self.page("clean")
        rows = int(re.search(r"rows: (\d+) compared", run(self.dir)[1])[1])
        bars = [int(re.search(r": (\d+) rows", e["text"])[1]) for e in page.all("title") if "expected" in e["text"] and " to " in e["text"]]
        self.assertEqual(sum(bars), 2 * rows, "every row is in a bar of each reference")
        expected = [float(n) for n in re.findall(r"rows, expected ([\d.e+]+)</title>", page.source)]
        self.assertAlmostEqual(sum(expected), 2 * rows, delta=0.1 * rows, msg="as many are expected, but for bars without a row")
        for chart in ("sizes", "drift"):
            points = re.findall(r"<title>(?:\d+ to \d+ tokens|after [\d.]+ \w+), \w+: R \S+, (\d+) rows</title>",
                                page.source.split(f'id="{chart}-operands-t"')[1].split("</svg>")[0])
            self.assertEqual(sum(int(n) for n in points), rows, chart)

    def test_every_process_has_its_counts(self):
        page = self.page("fleet", 1)
        self.assertEqual(len(page.all("g", class_="fate")) - 1, 64, "and the legend")
        self.assertTrue("node-7<b>& 4711: 28 of 32 due calls checked" in [e["text"] for e in page.all("title")])
        rows = re.search(r"<caption><span>calls by process.*?</table>", page.source, re.S)[0].split("<tr>")
        self.assertEqual(re.findall(r">([^<\n]+)</t[hd]>", rows[1]),
                         ["host pid", "label", "rows", "seen", "matched", "sampled", "dropped", "captured", "failed"])
        self.assertEqual(len(rows), 2 + 64)
        self.assertEqual(re.findall(r">([^<\n]+)</td>", rows[2])[1:], ["348", "90000", "3600", "28", "3", "1", "0"])

    def test_what_limits_the_run_is_said_at_the_top(self):
        for case, said in (("captured", "Note: most calls that were due were captured into CUDA graphs"), ("clean", None)):
            os.mkdir(case)
            self.dir = case
            page = self.page(case)
            top = page.source.split("<h2 id=\"map-h\">")[0]
            self.assertEqual("class=\"notice\"" in top, said is not None)
            self.assertTrue(said is None or said in top)

    def test_weights_that_are_not_the_checkpoints_are_named_at_the_top(self):
        page = self.page("wrong_weights")
        self.assertEqual([e["text"] for e in page.all("li") if "div" in e["above"]], ["layers.1.hc_attn_fn*: row 5 (post[1]) is negated"])

    def test_a_run_without_rows_says_what_to_check(self):
        for case, said in (("no_rows", "Is the library loaded in the worker processes?"), ("all_captured", "none was due yet")):
            os.mkdir(case)
            self.dir = case
            page = self.page(case, 3)
            self.assertEqual(page.all("h2")[0]["text"], "Verdict: INSUFFICIENT")
            self.assertIn(said, words(" ".join(e["text"] for e in page.all("pre"))))
            self.assertEqual([e["id"] for e in page.all("section")], ["verdict", "coverage", "provenance"])

    def test_nan_and_infinity_are_marked_over_time_and_by_size(self):
        page = self.page("nan_row", 1)
        self.assertEqual(len(page.all("g", class_="nonfinite")), 2)

    def test_the_same_traces_give_the_same_bytes_in_any_order(self):
        self.make("clean")
        pages = {run("html", *order)[1] for order in itertools.permutations([self.rank(0), self.rank(1)])}
        pages.add(run("html", self.rank(1), self.dir)[1])
        pages.add(run("html", "--threads=2", self.dir)[1])
        self.assertEqual(len(pages), 1)
        self.assertEqual(run("html", "-o", "page.html", self.dir)[1], "")
        with open("page.html", encoding="ascii") as file:
            self.assertEqual({file.read()}, pages)

    def test_a_page_that_can_not_be_written_is_no_success(self):
        self.make("clean")
        for name, why in (("/dev/full", "No space left on device"), ("no/such/page.html", "No such file or directory")):
            code, out, err = run("html", "-o", name, self.dir)
            self.assertEqual((code, out, err), (3, "", f"mhcshadow-report: {name}: {why}\n"))


class Access(PageCase):
    def test_every_mark_can_be_reached_and_has_a_name_that_is_shown(self):
        page = self.page("one_site", 1)
        marks = page.all("g", class_="mark")
        self.assertGreater(len(marks), 80)
        for mark in marks:
            self.assertEqual((mark["tabindex"], mark["role"]), ("0", "img"))
        names = [e["text"] for e in page.all("title") if e["above"][-1] == "g"]
        shown = [e["text"] for e in page.all("text", class_="value")]
        self.assertEqual(names, shown)
        self.assertEqual(len(names), len(marks))
        self.assertLess(max(map(len, shown)), 64, "what fits the strip at the top of a chart")

    def test_every_chart_has_a_name_a_description_a_way_past_it_and_a_table(self):
        page = self.page("clean")
        charts = page.all("svg")
        self.assertEqual(len(charts), 8)
        for chart in charts:
            name = chart["aria-labelledby"][:-2]
            self.assertEqual(len(page.all("a", class_="skip", href=f"#{name}-end")), 1)
            self.assertTrue(page.all("title", id=f"{name}-t")[0]["text"] and page.all("desc", id=f"{name}-d")[0]["text"])
        folded = [e for e in page.all("table") if "details" in e["above"]]
        self.assertEqual(len(folded), 8)

    def test_headings_and_tables_are_made_for_a_screen_reader(self):
        page = self.page("one_site", 1)
        levels = [int(e["tag"][1]) for e in page.elements if re.fullmatch(r"h[1-6]", e["tag"])]
        self.assertEqual((levels[0], levels.count(1)), (1, 1))
        self.assertTrue(all(b - a <= 1 for a, b in zip(levels, levels[1:])), "a level is left out")
        self.assertEqual(page.all("html")[0]["lang"], "en")
        self.assertEqual(page.all("a")[0]["href"], "#main", "the first link leads past the list of sections")
        for table in page.all("table"):
            self.assertEqual(table["above"][-1], "div")
        self.assertEqual(len(page.all("caption")), len(page.all("table")))
        self.assertTrue(all("scope" in e for e in page.all("th")))
        for region in page.all("div", class_="scroll"):
            self.assertTrue(region["tabindex"] == "0" and region["role"] == "region" and region["aria-label"])

    def test_text_has_a_contrast_of_4_5_in_light_and_dark(self):
        css = self.page("clean").all("style")[0]["text"]
        light, dark = (dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in re.findall(r":root \{(.*?)\}", css, re.S))
        self.assertEqual(set(light), set(dark))

        def luminance(colour):
            parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
            parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

        def contrast(a, b):
            low, high = sorted((luminance(a), luminance(b)))
            return (high + 0.05) / (low + 0.05)

        for theme, colours in (("light", light), ("dark", dark)):
            for text in ("text", "quiet", "link", "pass", "warn", "fail"):
                for ground in ("ground", "raised"):
                    self.assertGreaterEqual(contrast(colours[text], colours[ground]), 4.5, f"{theme}: {text} on {ground}")
            for step in range(7):
                sign = colours["on-low" if step < 4 else "on-mid" if step < 6 else "on-high"]
                self.assertGreaterEqual(contrast(sign, colours[f"r{step}"]), 4.5, f"{theme}: the sign on step {step}")
            for mark in ("bar", "fail", "prefill", "decode"):
                self.assertGreaterEqual(contrast(colours[mark], colours["ground"]), 3, f"{theme}: {mark} in charts")


if __name__ == "__main__":
    main()
