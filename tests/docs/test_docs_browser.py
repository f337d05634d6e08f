"""The site in a browser, opened from disk without a network: it fits a phone, and search finds."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PAGES = (
    "index", "start", "guides/curator", "guides/participant", "concepts", "papers", "comparison",
    "json", "cli", "extending", "reference/ledger",
)  # fmt: skip

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

playwright = import_module("playwright.sync_api")
axe = import_module("axe_playwright_python.sync_playwright")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium on this machine"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as tools:
        found = tools.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield found
        found.close()


def test_pages_fit_a_phone_and_ask_nothing_of_the_network(browser: Any, site: Path) -> None:
    page = browser.new_context(offline=True, viewport={"width": 375, "height": 800}).new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 375, name
    assert not [url for url in asked if url.startswith(("http:", "https:", "ws:", "//"))]


def test_search_finds_from_disk(browser: Any, site: Path) -> None:
    page = browser.new_context(offline=True, viewport={"width": 1280, "height": 800}).new_page()
    page.goto((site / "guides" / "curator.html").as_uri())
    field = page.locator("input.md-search__input")
    field.click()
    field.press_sequentially("certified", delay=20)
    page.locator(".md-search-result__item").first.wait_for(timeout=20_000)
    assert page.locator(".md-search-result__item").count() >= 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_read_by_everyone(browser: Any, site: Path, scheme: str) -> None:
    page = browser.new_context(
        offline=True, viewport={"width": 1280, "height": 900}, color_scheme=scheme
    ).new_page()
    for name in ("index", "start", "guides/participant", "concepts", "extending", "cli"):
        page.goto((site / f"{name}.html").as_uri())
        found = axe.Axe().run(page, options={"runOnly": RULES})
        assert found.violations_count == 0, (name, found.generate_report())
