"""Drives headless Chromium over its remote protocol, through the two pipes that Chromium offers for it."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class PageError(Exception):
    """JavaScript that threw, or a condition that did not come true in time."""


def find_chromium():
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    """One browser with one page."""

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="mako-studio-browser-")
        read_theirs, self.write_end = os.pipe()
        self.read_end, write_theirs = os.pipe()

        def place():
            high = [os.dup2(read_theirs, 60), os.dup2(write_theirs, 61)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
             "--disable-extensions", "--force-color-profile=srgb", "--hide-scrollbars=false", f"--user-data-dir={self.folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=place, pass_fds=(3, 4))
        os.close(read_theirs)
        os.close(write_theirs)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.logged = []
        self.requests = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.size(1280, 800)

    def close(self):
        try:
            self.session = None
            self.send("Browser.close")
        except (OSError, PageError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.folder, ignore_errors=True)

    # The protocol

    def send(self, method, timeout=60, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        end = time.monotonic() + timeout
        while True:
            answer = self.receive(end - time.monotonic())
            if answer is None:
                raise PageError(f"{method}: no answer in {timeout} s")
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise PageError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self, timeout):
        end = time.monotonic() + max(0, timeout)
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_end], [], [], max(0, end - time.monotonic()))
            if not ready:
                return None
            piece = os.read(self.read_end, 1 << 20)
            if not piece:
                raise PageError("Chromium ended")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        self.note(message)
        return message

    def note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.logged.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.logged.append(" ".join(str(one.get("value", one.get("description"))) for one in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            entry = parameters["entry"]
            if entry.get("source") != "network":
                self.logged.append(entry["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.logged.append("a dialog opened: " + parameters["message"])

    # The page

    def size(self, width, height, scale=1):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def prefer(self, theme):
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def open(self, address):
        self.send("Page.navigate", url=address)

    def run(self, expression):
        """The value of JavaScript, waited for where it is a promise."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise PageError(f"{expression[:120]}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def wait(self, expression, timeout=20, what=None):
        """Waits until JavaScript gives something true, and returns it."""
        end = time.monotonic() + timeout
        while True:
            try:
                value = self.run(f"(async () => {{ const found = await ({expression}); return found instanceof Node ? true : found; }})()")
            except PageError:
                value = None
                if time.monotonic() > end:
                    raise
            if value:
                return value
            if time.monotonic() > end:
                raise PageError(f"not within {timeout} s: {what or expression}; the page shows: {self.text()[:400]!r}")
            time.sleep(0.02)

    def text(self, selector="main"):
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def count(self, selector):
        return self.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def click(self, selector, double=False):
        box = self.wait(f"""(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;
            e.scrollIntoView({{ block: 'nearest' }}); const r = e.getBoundingClientRect();
            return r.width ? [r.x + r.width / 2, r.y + r.height / 2] : null; }})()""", what=f"{selector} to click")
        for clicks in ((1, 2) if double else (1,)):
            for kind in ("mousePressed", "mouseReleased"):
                self.send("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=clicks)

    KEYS = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36,
            "End": 35, "PageDown": 34, "PageUp": 33, "F2": 113, "Delete": 46, "Insert": 45, "Backspace": 8, " ": 32}

    def press(self, key, control=False, alt=False, shift=False):
        modifiers = alt * 1 + control * 2 + shift * 8
        event = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": self.KEYS.get(key, ord(key[0].upper()))}
        if len(key) == 1 and not control and not alt:
            event["text"] = key
        elif key == "Enter":
            event["text"] = "\r"
        self.send("Input.dispatchKeyEvent", type="keyDown", **event)
        event.pop("text", None)
        self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    def write(self, text):
        self.send("Input.insertText", text=text)

    def fill(self, selector, text):
        self.wait(f"!!document.querySelector({json.dumps(selector)})", what=selector)
        self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.focus(); e.select?.(); }})()")
        self.write(text)

    def picture(self, path):
        answer = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=False)
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))
