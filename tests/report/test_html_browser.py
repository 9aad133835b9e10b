#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The HTML report in headless Chromium, of one rank and of 64, on a desktop and on a phone, light and dark. Skipped (77) where there
is no Chromium. MHCSHADOW_SCREENSHOTS=DIR keeps what was seen."""
import os
import re
import subprocess
import tempfile
import unittest

from browser import Browser, find_or_skip
from case import MAKE_CASE, main, run

CHROMIUM = find_or_skip()
DESKTOP, PHONE = 1280, 390
TAB = ("Tab", 9)

# What can be seen of an element, as JavaScript.
SHOWN = "getComputedStyle(%s).visibility === 'visible'"


class Seen(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # Chromium's helpers may outlive it by a moment
        cls.addClassCleanup(holder.cleanup)
        cls.pages = holder.name
        for case in ("nan_row", "fleet"):  # 1 rank, 64 ranks
            os.mkdir(os.path.join(cls.pages, case))
            subprocess.run([MAKE_CASE, os.path.join(cls.pages, case), case], check=True)
            run("html", "-o", os.path.join(cls.pages, case + ".html"), os.path.join(cls.pages, case))
        cls.browser = Browser(CHROMIUM, os.path.join(cls.pages, "profile"))
        cls.addClassCleanup(cls.browser.close)

    def show(self, case, width, dark=False):
        self.browser.open(os.path.join(self.pages, case + ".html"), width, dark)
        keep = os.environ.get("MHCSHADOW_SCREENSHOTS")
        if keep:
            self.browser.screenshot(os.path.join(keep, f"{case}-{width}-{'dark' if dark else 'light'}.png"))

    def test_nothing_is_cut_off_or_complained_of_at_any_width(self):
        for case, cells in (("nan_row", 7), ("fleet", 2 * 87)):
            for width in (DESKTOP, PHONE):
                for dark in (False, True):
                    with self.subTest(case=case, width=width, dark=dark):
                        self.show(case, width, dark)
                        ask = self.browser.ask
                        self.assertLessEqual(ask("document.documentElement.scrollWidth"), width)
                        self.assertEqual(ask("[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, svg, .skip') &&"
                                             " e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"), [])
                        self.assertEqual(ask("document.querySelectorAll('#map g.mark.cell').length"), cells)
                        self.assertEqual(ask("[...document.querySelectorAll('svg')].filter(e => e.getBoundingClientRect().height < 40).length"), 0)
                        self.assertEqual(self.browser.complaints, [])

    def test_the_verdict_is_on_the_first_screen_of_a_phone(self):
        self.show("fleet", PHONE)
        self.assertEqual(self.browser.ask("document.querySelector('.status').innerText"), "FAIL")
        for selector in (".status", ".means"):
            self.assertLess(self.browser.ask(f"document.querySelector('{selector}').getBoundingClientRect().bottom"), 844)

    def test_dark_is_dark_and_light_is_light(self):
        def ground():
            colour = self.browser.ask("getComputedStyle(document.body).backgroundColor")
            return sum(map(int, re.findall(r"\d+", colour))) / 3

        self.show("nan_row", DESKTOP, dark=True)
        self.assertLess(ground(), 64)
        self.show("nan_row", DESKTOP, dark=False)
        self.assertGreater(ground(), 192)

    def test_a_cell_can_be_hit_with_a_finger_and_text_in_charts_be_read(self):
        self.show("fleet", PHONE)
        side = self.browser.ask("Math.min(...[...document.querySelectorAll('#map g.cell rect')].map(e => e.getBoundingClientRect().height))")
        self.assertGreater(side, 12)
        scale = self.browser.ask("Math.min(...[...document.querySelectorAll('svg')].map(e => e.getBoundingClientRect().width / 360))")
        self.assertGreater(scale * 10, 9, "pixels of the smallest text")

    def test_text_in_charts_stays_within_them(self):
        for case in ("nan_row", "fleet"):
            self.show(case, PHONE)
            self.assertEqual(self.browser.ask("""
                [...document.querySelectorAll('svg text')].filter(e => {
                    const box = e.getBBox();
                    return box.x < -1 || box.x + box.width > 361 || box.y < -1;
                }).map(e => e.textContent)"""), [])

    def test_the_tab_key_walks_through_a_chart_and_shows_one_value_at_a_time(self):
        self.show("nan_row", DESKTOP)
        self.browser.press(*TAB)
        self.assertEqual(self.browser.ask("document.activeElement.innerText"), "Skip to the verdict")
        self.browser.ask("document.querySelector('#map .skip').focus()")
        seen = []
        for _ in range(3):
            self.browser.press(*TAB)
            seen.append(self.browser.ask("document.activeElement.querySelector('.value').textContent"))
            shown = self.browser.ask(f"[...document.querySelectorAll('.value')].filter(e => {SHOWN % 'e'}).map(e => e.textContent)")
            self.assertEqual(shown, seen[-1:])
        self.assertEqual(len(set(seen)), 3)
        self.assertRegex(seen[0], r"^layer 0 attn, prefill: \w+, R ")

    def test_a_chart_can_be_skipped(self):
        self.show("nan_row", DESKTOP)
        self.browser.ask("document.querySelector('#map .skip').focus()")
        self.assertTrue(self.browser.ask("document.activeElement.getBoundingClientRect().left >= 0"), "the link is seen when it has the focus")
        self.browser.ask("document.activeElement.click()")
        self.browser.press(*TAB)
        self.assertEqual(self.browser.ask("document.activeElement.closest('svg')"), None)

    def test_what_is_pointed_at_is_shown(self):
        self.show("nan_row", DESKTOP)
        x, y = self.browser.ask("(() => { const c = document.querySelector('#map g.cell rect'); c.scrollIntoView({block: 'center'});"
                                " const b = c.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.assertTrue(self.browser.ask(SHOWN % "document.querySelector('#map g.cell .value')"))


if __name__ == "__main__":
    main()
