"""The page: from the command to a page that can be used, and from a drag to numbers and chart.

A step of a drag is measured inside Chromium: from the pointer's movement until the new numbers and
the new chart are on the screen, the server's work included. The start is a whole process, from
`discreet serve` to the first answer of the first screen; importing FastAPI and Altair alone, which
any page like this needs, stands beside it.
"""

from __future__ import annotations

import http.cookiejar
import json
import shutil
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.contest import Contender, Prepared, Size, Task

TITLE = "The page"
ABOUT = (
    "A step of a drag: from the pointer's movement to new numbers and charts on the screen, in "
    "Chromium on the same machine (the median of the steps; the accuracy column has the limit that "
    "19 in 20 keep). The start: from the command to the first page that answers. The first paint, "
    "as Chromium records it, in a context that has seen nothing yet: from the address to the first "
    "words on the screen (the accuracy column has all that was sent); beside it a page of one line "
    "from a server of ten, which is what the machine itself takes."
)
START = Task("start", "from nothing to a page that answers / to the end of the imports alone")
PAINT = Task("paint", "the first page painted, in a browser that has seen nothing of it yet")
DRAG = Task("drag", "one step of a drag, what is tolerated to numbers and chart")
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]

_WATCH = """handle => {
  window.steps = [];
  let moved = 0;
  window.addEventListener("pointermove", () => { moved = moved || performance.now(); }, true);
  new MutationObserver(() => {
    if (!moved) return;
    const from = moved;
    moved = 0;
    requestAnimationFrame(() => {
      window.steps.push(performance.now() - from);
      window.answered?.();
    });
  }).observe(handle, { attributes: true, attributeFilter: ["aria-valuenow"] });
}"""


_COMING = """() => {
  window.coming = new Promise((done) => {
    window.answered = done;
    setTimeout(done, 20000);
  });
}"""
_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
_SENT = """() => ["resource", "navigation"].flatMap((kind) => performance.getEntriesByType(kind))
  .reduce((sum, one) => sum + one.transferSize, 0)"""


def _served(folder: Path) -> tuple[Any, str]:
    """Start the page; return its process and the address that opens it."""
    words = ["serve", "--no-browser", "--port", "0", "--json", "--folder", str(folder)]
    process = subprocess.Popen(
        [sys.executable, "-m", "discreet", *words], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = ""
    while not said.rstrip().endswith("}"):
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the page did not start")
        said += line
    return process, str(json.loads(said)["url"])


def _ended(process: Any) -> None:
    process.terminate()
    process.wait(20)


def _start(folder: Path) -> Prepared:
    def run() -> float:
        start = time.perf_counter()
        process, address = _served(folder)
        try:
            jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
            browser = urllib.request.build_opener(jar)
            browser.open(address, timeout=60).read()  # the address becomes a cookie
            answer = browser.open(address.split("/?")[0] + "/tolerate", timeout=60).read()
            seconds = time.perf_counter() - start
            assert b'id="epsilon"' in answer
        finally:
            _ended(process)
        return seconds

    return Prepared(run, seconds=lambda value: float(value))


def _imports() -> Prepared:
    def run() -> None:
        subprocess.run([sys.executable, "-c", "import fastapi, altair"], check=True)

    run()
    return Prepared(run)


def _drag(folder: Path, chromium: str, steps: int) -> Prepared:
    from playwright.sync_api import sync_playwright

    process, address = _served(folder)
    tools = sync_playwright().start()
    browser = tools.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    handle = page.wait_for_selector(".handle", timeout=60_000)
    page.wait_for_timeout(500)
    taken: list[float] = []

    def run() -> None:
        handle.scroll_into_view_if_needed()
        box = handle.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        handle.evaluate(_WATCH)
        page.mouse.move(x, y)
        page.mouse.down()
        for step in range(1, steps + 1):
            # The page tells when it has answered: asking again and again would take its time.
            page.evaluate(_COMING)
            away = step if step <= steps / 2 else steps - step  # and back, within the axis
            page.mouse.move(x, y - away)
            page.evaluate("() => window.coming")
            if page.evaluate("() => window.steps.length") < step:
                raise RuntimeError("a step of the drag was not answered")
        page.mouse.up()
        # The first step loads what is loaded once.
        taken[:] = [ms / 1000 for ms in page.evaluate("window.steps")][1:]

    def close() -> None:
        browser.close()
        tools.stop()
        _ended(process)

    def slowest() -> str:
        late = sorted(taken)[int(0.95 * (len(taken) - 1))]
        return f"19 in 20 within {1000 * late:.0f} ms"

    return Prepared(run, accuracy=slowest, seconds=lambda _: statistics.median(taken), close=close)


class _OneLine(BaseHTTPRequestHandler):
    """The smallest page that is painted."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b"<!doctype html><title>one line</title><p>one line</p>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return


def _paint(folder: Path, chromium: str, *, ours: bool) -> Prepared:
    from playwright.sync_api import sync_playwright

    process, address = _served(folder)
    small = ThreadingHTTPServer(("127.0.0.1", 0), _OneLine)
    threading.Thread(target=small.serve_forever, daemon=True).start()
    tools = sync_playwright().start()
    browser = tools.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
    entered = browser.new_context()
    first = entered.new_page()
    first.goto(address, wait_until="networkidle")  # the address works once: it becomes a cookie
    cookies, home = entered.cookies(), address.split("/?")[0] + "/tolerate"
    first.close()
    if not ours:
        home = f"http://127.0.0.1:{small.server_port}/"
    sent: list[int] = []

    def run() -> float:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.add_cookies(cookies)
        page = context.new_page()
        page.goto(home, wait_until="networkidle")
        sent.append(page.evaluate(_SENT))
        milliseconds = float(page.evaluate(_PAINTED))
        context.close()
        return milliseconds / 1000

    def close() -> None:
        browser.close()
        tools.stop()
        small.shutdown()
        _ended(process)

    return Prepared(
        run,
        accuracy=lambda: f"{max(sent) / 1000:.0f} kB",
        seconds=lambda value: float(value),
        close=close,
    )


def _chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


def _no_page() -> str | None:
    if find_spec("discreet.web") is None or find_spec("fastapi") is None:
        return "the page is not installed"
    return None


def _no_browser() -> str | None:
    if _chromium() is None or find_spec("playwright") is None:
        return "there is no Chromium, or no Playwright, on this machine"
    return _no_page()


def contenders(size: Size) -> list[Contender]:
    """Return the start, and a drag."""
    steps = 6 if size.quick else 121

    def drag() -> Prepared:
        return _drag(size.data, str(_chromium()), steps)

    return [
        Contender(
            START,
            "discreet serve",
            lambda: _start(size.data),
            ours=True,
            turns=1,
            repeats=1 if size.quick else 3,
            needs=_no_page,
        ),
        Contender(
            START,
            'python -c "import fastapi, altair"',
            _imports,
            package="fastapi",
            turns=1,
            repeats=1 if size.quick else 3,
            needs=_no_page,
        ),
        *(
            Contender(
                PAINT,
                name,
                lambda ours=ours: _paint(size.data, str(_chromium()), ours=ours),  # type: ignore[misc]
                ours=ours,
                turns=1,
                repeats=1 if size.quick else 9,
                needs=_no_browser,
            )
            for name, ours in (("Discreet", True), ("a page of one line", False))
        ),
        Contender(DRAG, "Discreet", drag, ours=True, turns=1, needs=_no_browser),
    ]
