# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium over its debugging pipe: enough to look at a page as a person would."""
import base64
import itertools
import json
import os
import shutil
import subprocess
import sys


def find_or_skip():
    """The program, or the end of this test."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    print("SKIPPED: no chromium here; ./quickstart test --long installs it")
    sys.exit(77)


class Browser:
    """One page at a time. `complaints` has what the console said and every request but the page's own."""

    def __init__(self, program, profile):
        to_child, self._to = os.pipe()
        self._from, from_child = os.pipe()

        def move_pipes():  # Chromium reads 3 and writes 4
            reading, writing = os.dup(to_child), os.dup(from_child)  # which may be 3 or 4 themselves
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self._process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=move_pipes)
        os.close(to_child)
        os.close(from_child)
        self._number = itertools.count(1)
        self._rest = b""
        self._session = None
        self._page = None
        self.complaints = []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def close(self):
        self.call("Browser.close")
        self._process.wait(timeout=30)
        os.close(self._to)
        os.close(self._from)

    def _read(self):
        while b"\0" not in self._rest:
            data = os.read(self._from, 1 << 20)
            if not data:
                raise RuntimeError("chromium has ended")
            self._rest += data
        message, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(message)
        self._note(message)
        return message

    def _note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
            self.complaints.append(f"{method}: {json.dumps(params)[:400]}")
        if method == "Network.requestWillBeSent" and params["request"]["url"] not in (self._page, "data:,"):
            self.complaints.append("asks for " + params["request"]["url"][:200])

    def call(self, method, **params):
        number = next(self._number)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path, width, dark=False):
        """Shows a file at a width in CSS pixels; 390 is a phone's."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self._page = "file://" + os.path.abspath(path)
        self.call("Page.navigate", url=self._page)
        while self._read().get("method") != "Page.loadEventFired":
            pass

    def ask(self, expression):
        """The value of a JavaScript expression on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)

    def screenshot(self, path):
        """The whole page, as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
