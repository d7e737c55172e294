"""Drives a headless Chromium by the DevTools protocol over a pipe, and serves a folder to it."""

import functools
import http.server
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time

# Executes a program with two of the descriptors as its 3 and 4. A shell takes those below 10 only.
EXECUTE = """import fcntl, os, sys
for number, descriptor in enumerate([fcntl.fcntl(int(text), fcntl.F_DUPFD_CLOEXEC, 10) for text in sys.argv[1:3]], 3):
    os.dup2(descriptor, number)
os.execvp(sys.argv[3], sys.argv[3:])
"""
NAMES = ("chromium", "chromium-browser", "google-chrome")


def find():
    """The path of a Chromium, or None."""
    return os.environ.get("CHROMIUM") or next((path for path in map(shutil.which, NAMES) if path), None)


class Failure(Exception):
    """The browser answers with an error, or not in time."""


class Browser:
    """A browser with a profile of its own, and one page. A context manager."""

    def __init__(self, path, *arguments):
        self.profile = tempfile.mkdtemp(prefix="shiftvit-browser-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-c", EXECUTE, str(to_browser), str(from_browser), path, "--headless=new",
             "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--hide-scrollbars",
             f"--user-data-dir={self.profile}", *arguments, "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "DOM", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                raise Failure("the browser does not answer")
            read = os.read(self.read_end, 1 << 20)
            if not read:
                raise Failure("the browser has ended")
            self.buffer += read
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, seconds=60, **parameters):
        """Calls a method and returns its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        while True:
            answer = self._receive(seconds)
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise Failure(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def open(self, url):
        """Goes to a page."""
        self.call("Page.navigate", url=url)

    def evaluate(self, expression, seconds=60):
        """The value of an expression of JavaScript, which may be a promise."""
        answer = self.call("Runtime.evaluate", seconds, expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failure(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, condition, seconds=60):
        """Waits until an expression is true, and returns its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.evaluate(condition)
            if value:
                return value
            time.sleep(0.05)
        raise Failure(f"not in {seconds} s: {condition}")

    def choose_files(self, selector, paths, index=0):
        """Gives files to an input."""
        handle = self.call("Runtime.evaluate", expression=f"document.querySelectorAll({json.dumps(selector)})[{index}]")
        self.call("DOM.setFileInputFiles", files=[str(path) for path in paths], objectId=handle["result"]["objectId"])

    def drop_files(self, selector, paths, index=0):
        """Drops files or folders on an element."""
        x, y = self.evaluate(f"""(() => {{ const element = document.querySelectorAll({json.dumps(selector)})[{index}];
            element.scrollIntoView({{block: 'center', behavior: 'instant'}});
            const box = element.getBoundingClientRect(); return [box.left + 20, box.top + 20]; }})()""")
        data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)

    def size(self, width, height, scheme="light"):
        """Sets the size of the page in CSS pixels, and its colours."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        """Writes the whole page as a PNG file."""
        import base64
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def trace(self):
        """Begins to note the tasks of all threads."""
        self.call("Tracing.start", transferMode="ReportEvents", categories="toplevel", bufferUsageReportingInterval=0)

    def longest_task(self):
        """Ends that. Returns the milliseconds of CPU of the page's longest task."""
        first = len(self.events)
        self.call("Tracing.end")
        end = time.monotonic() + 60
        while not any(event.get("method") == "Tracing.tracingComplete" for event in self.events[first:]):
            self.events.append(self._receive(max(.1, end - time.monotonic())))
        rows = [row for event in self.events[first:] if event.get("method") == "Tracing.dataCollected"
                for row in event["params"]["value"]]
        threads = {(row["pid"], row["tid"]) for row in rows
                   if row.get("name") == "thread_name" and row["args"]["name"] == "CrRendererMain"}
        tasks = [row["tdur"] / 1000 for row in rows if (row["pid"], row["tid"]) in threads and "tdur" in row]
        if not tasks:
            raise Failure("the trace has no task of the page")
        return max(tasks)

    def problems(self):
        """Exceptions and errors of the console, as far as they have come."""
        self.evaluate("0")
        texts = []
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                texts.append(event["params"]["exceptionDetails"].get("exception", {}).get("description", "an exception"))
            elif event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                texts.append(event["params"]["entry"]["text"])
        return texts


ISOLATION = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}


class _Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm",
                      ".js": "text/javascript"}

    def __init__(self, *arguments, headers, **options):
        self.more_headers = headers
        super().__init__(*arguments, **options)

    def end_headers(self):
        """Adds the headers that `serve` was given."""
        for name, value in self.more_headers.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_):  # pylint: disable=arguments-differ
        """Says nothing."""


def serve(folder, headers=None):
    """Serves a folder on a free port of this machine, until the program ends. Returns the address."""
    handler = functools.partial(_Handler, directory=str(folder), headers=headers or {})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None  # pages that are left close their connections
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"
