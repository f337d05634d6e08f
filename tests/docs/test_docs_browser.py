"""The site in a browser, opened from disk without a network: it fits a phone, and search finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browsers import RULES, WAIT, accessible

PAGES = (
    "index", "start", "guides/curator", "guides/participant", "concepts", "papers", "comparison",
    "json", "cli", "extending", "reference/ledger",
)  # fmt: skip

Offline = Callable[..., Any]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("docs")]


def test_pages_fit_a_phone_and_ask_nothing_of_the_network(offline: Offline, site: Path) -> None:
    page = offline(375, 800)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 375, name
    assert not [url for url in asked if url.startswith(("http:", "https:", "ws:", "//"))]


def test_search_finds_from_disk(offline: Offline, site: Path) -> None:
    page = offline(1280, 800)
    page.goto((site / "guides" / "curator.html").as_uri())
    field = page.locator("input.md-search__input")
    field.click()
    field.press_sequentially("certified", delay=20)
    page.locator(".md-search-result__item").first.wait_for(timeout=1000 * WAIT)
    assert page.locator(".md-search-result__item").count() >= 2


@pytest.mark.parametrize(
    ("scheme", "names"),
    [
        ("light", ("index", "guides/participant", "extending")),
        pytest.param("light", ("start", "concepts", "cli"), marks=pytest.mark.soak),
        ("dark", ("extending",)),  # all kinds of text and code; the rest looks the same
        pytest.param("dark", ("start",), marks=pytest.mark.soak),
    ],
)
def test_pages_can_be_read_by_everyone(
    offline: Offline, site: Path, scheme: str, names: tuple[str, ...]
) -> None:
    page = offline(1280, 900, scheme)
    for name in names:
        page.goto((site / f"{name}.html").as_uri())
        accessible(page, RULES[:-1], colours=scheme == "dark")
