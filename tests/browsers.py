"""The system's Chromium or Chrome, for tests that look at pages: one for all tests of a worker.

Loaded as a plugin by `tests/conftest.py`, so any test may ask for

    browser        Chromium, headless, in which no name of the network is found
    offline        a function that gives pages without a network, for files on disk

Waiting ends when what is waited for is there. The limits below only say when a test has failed, and
are long enough for a machine that is busy with other tests.
"""

from __future__ import annotations

import base64
import shutil
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # the network is cut
    # Pages live for a second: one process draws them all, and compiles their scripts in a hurry.
    "--process-per-site", "--disable-site-isolation-trials", "--js-flags=--no-opt --no-maglev",
]  # fmt: skip
WAIT = 90.0
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
COLOURS = ["color-contrast", "link-in-text-block"]
SIZES = ["target-size", "scrollable-region-focusable", "bypass", "region"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Give the system's Chromium; its pages wait with patience."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    playwright = import_module("playwright.sync_api")
    playwright.expect.set_options(timeout=1000 * WAIT)
    with playwright.sync_playwright() as tools:
        found = tools.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture(scope="session")
def disk(browser: Any) -> Iterator[Any]:
    """Give the context of pages that are opened from disk.

    One page stays open, and with it the process that draws them all: to start one is dear.
    """
    context = browser.new_context(offline=True)
    context.set_default_timeout(1000 * WAIT)
    context.new_page().goto(Path(__file__).as_uri())
    yield context
    context.close()


@pytest.fixture
def offline(disk: Any) -> Iterator[Callable[..., Any]]:
    """Give pages without a network: `offline(375, 800, "dark")`; they are closed at the end."""
    pages: list[Any] = []

    def opened(width: int = 1280, height: int = 900, scheme: str = "light") -> Any:
        page = disk.new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        return page

    yield opened
    for page in pages:
        page.close()


def picture(page: Any, path: Path) -> None:
    """Keep a picture of the whole page, packed in a hurry: half the time goes into packing."""
    session = page.context.new_cdp_session(page)
    size = session.send("Page.getLayoutMetrics")["cssContentSize"]
    asked = {"captureBeyondViewport": True, "optimizeForSpeed": True, "clip": size | {"scale": 1}}
    found = session.send("Page.captureScreenshot", asked)
    session.detach()
    path.write_bytes(base64.b64decode(found["data"]))


def until(page: Any, holds: str) -> None:
    """Wait until an expression holds (Playwright's own waiting needs eval, which is forbidden)."""
    end = time.monotonic() + WAIT
    while not page.evaluate(holds):
        if time.monotonic() > end:
            pytest.fail(f"never: {holds}")
        page.wait_for_timeout(40)


def accessible(
    page: Any,
    rules: tuple[str, ...] = RULES,
    *,
    colours: bool = False,
    size: bool = False,
    colourless: bool = False,
) -> None:
    """Check a page with axe-core: no violation of any rule, or of some alone.

    `colours` are all that the scheme of a page, light or dark, can change; `size` is what a screen
    of another size can. `colourless` leaves colours, half of the work, to another test.
    """
    axe = import_module("axe_playwright_python.base")
    some = COLOURS * colours + SIZES * size
    off = {rule: {"enabled": False} for rule in COLOURS * colourless}
    about: object = {"type": "rule", "values": some} if some else list(rules)
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe.AXE_SCRIPT)
    found = page.evaluate(
        "asked => axe.run(asked).then((all) => ({ violations: all.violations }))",
        # Style sheets are fetched for a rule that is off by itself.
        {"runOnly": about, "rules": off, "resultTypes": ["violations"], "preload": False},
    )
    assert not found["violations"], (page.url, axe.AxeResults(found).generate_report())
