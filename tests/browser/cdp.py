# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, spoken to in the DevTools protocol over its pipe: no port, no WebSocket, nothing to install."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One browser with one page. Errors and messages of the page's console are kept in `console`."""

    def __init__(self, width=1280, height=800, dark=False, scripts=True):
        self.profile = tempfile.TemporaryDirectory(prefix="wprof-browser-", ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def place():
            # The protocol's pipe is descriptors 3 (in) and 4 (out); copies away from there first.
            a, b = os.dup(to_browser), os.dup(from_browser)
            high_a, high_b = os.dup2(a, 50), os.dup2(b, 51)
            os.dup2(high_a, 3)
            os.dup2(high_b, 4)

        self.process = subprocess.Popen(
            [find_browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--remote-debugging-pipe",
             f"--user-data-dir={self.profile.name}", f"--window-size={width},{height}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=place, close_fds=False)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._next = 0
        self.console = []
        self.requests = []
        self._loaded = 0
        target = self._page()
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True}, False)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        if not scripts:
            self.call("Emulation.setScriptExecutionDisabled", {"value": True})
        self.dark(dark)

    def _page(self):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            for target in self.call("Target.getTargets", {}, False)["targetInfos"]:
                if target["type"] == "page":
                    return target["targetId"]
            time.sleep(0.05)
        raise RuntimeError("the browser opened no page")

    def _read(self, timeout):
        end = time.monotonic() + timeout
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(end - time.monotonic(), 0))
            chunk = os.read(self._in, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError("the browser gave no answer")
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(message)
        self._note(message)
        return message

    def _note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded += 1

    def call(self, method, params=None, on_page=True, timeout=60):
        self._next += 1
        message = {"id": self._next, "method": method, "params": params or {}}
        if on_page:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        while True:
            answer = self._read(timeout)
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, path):
        """Loads a file and waits for its load event; gives the seconds that took."""
        self.console.clear()
        self.requests.clear()
        self._loaded = 0
        begin = time.monotonic()
        self.call("Page.navigate", {"url": pathlib.Path(path).resolve().as_uri()})
        while not self._loaded:
            self._read(60)
        return time.monotonic() - begin

    def eval(self, expression):
        result = self.call("Runtime.evaluate",
                           {"expression": expression, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", "exception"))
        return result["result"].get("value")

    def settle(self):
        """Until what was asked for is painted: timers of the page are shorter than this, then two frames pass."""
        self.eval("new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 120))")

    def key(self, key):
        named = {"Escape": 27, "Enter": 13, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39,
                 "Backspace": 8}
        event = {"key": key, "windowsVirtualKeyCode": named.get(key, ord(key[0].upper()))}
        if key not in named:
            event["text"] = key
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", **event})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", "key": key})
        self.settle()

    def type(self, text):
        self.call("Input.insertText", {"text": text})
        self.settle()

    def mouse(self, kind, x, y, button="left", buttons=None):
        event = {"type": kind, "x": x, "y": y, "button": button if kind != "mouseMoved" else "none", "clickCount": 1}
        if buttons is not None:
            event["buttons"] = buttons
        self.call("Input.dispatchMouseEvent", event)

    def click(self, x, y, button="left"):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button)
        self.mouse("mouseReleased", x, y, button)
        self.settle()

    def drag(self, x0, x1, y):
        self.mouse("mouseMoved", x0, y)
        self.mouse("mousePressed", x0, y)
        for step in range(1, 5):
            self.mouse("mouseMoved", x0 + (x1 - x0) * step / 4, y, buttons=1)
        self.mouse("mouseReleased", x1, y)
        self.settle()

    def dark(self, on):
        self.call("Emulation.setEmulatedMedia",
                  {"features": [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]})

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        try:
            self.call("Browser.close", {}, False, timeout=5)
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._out)
        os.close(self._in)
        self.profile.cleanup()
