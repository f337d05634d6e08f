"""The page in a browser: seen at once, accessible, quiet, and fit for a phone and for paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stories import KINDS, Made, reported

from browsers import accessible
from discreet.reports.folder import report

pytestmark = pytest.mark.slow
Offline = Callable[..., Any]
# The pages of these have the parts of the others, with other amounts.
AGAIN = ("approximate", "concentrated", "records")


def opened(page: Any, made: Made) -> tuple[Any, list[str]]:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(reported(made)[1].html.as_uri())
    return page, asked


@pytest.mark.parametrize(("width", "scheme"), [(375, "light"), (375, "dark"), (1280, "dark")])
def test_no_violations_no_requests_no_sideways_scrolling(
    offline: Offline, pure: Made, width: int, scheme: str
) -> None:
    page, asked = opened(offline(width, 900, scheme), pure)
    assert len(asked) == 1  # the file itself
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    accessible(page, colours=scheme == "dark")


@pytest.mark.parametrize(
    "any_release",
    [pytest.param(kind, marks=[pytest.mark.soak] * (kind in AGAIN)) for kind in KINDS],
    indirect=True,
)
def test_page_one_is_seen_without_scrolling_and_has_no_violations(
    offline: Offline, any_release: Made
) -> None:
    page, asked = opened(offline(), any_release)
    assert len(asked) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    accessible(page)
    cards = page.locator("#facts .facts > div")
    assert cards.count() >= 6
    seen = [cards.nth(place) for place in range(cards.count())]
    seen += [page.locator("#facts table tbody tr").last, page.locator("#facts .plain li").last]
    for part in seen:
        box = part.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 900, part.inner_text()
    names = page.locator("#facts dt").all_inner_texts()
    for fact in (
        "Protected unit",
        "δ of this release",
        "Spent by the account",
        "May still be spent",
    ):
        assert any(fact in name for name in names)
    assert any("ε" in name or "ρ" in name for name in names)


def test_page_one_of_an_account_is_seen_without_scrolling(
    offline: Offline, pure: Made, tmp_path: Path
) -> None:
    copy = pure.copied(tmp_path)
    page = offline()
    page.goto(report(account="people", ledger=copy.ledger).html.as_uri())
    accessible(page)
    cards = page.locator("#facts .facts > div")
    seen = [cards.nth(place) for place in range(cards.count())]
    seen += [page.locator("#facts table tbody tr").last, page.locator("#facts .plain li").last]
    for part in seen:
        box = part.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 900, part.inner_text()
    assert page.locator("#facts .facts small", has_text="δ = 0").count() == 1


_CUT_OFF = """() => [...document.querySelectorAll('figure svg')].flatMap(svg => {
  const all = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const at = text.getBoundingClientRect();
    return at.left < all.left - 1 || at.right > all.right + 1 || at.bottom > all.bottom + 1;
  }).map(text => text.textContent);
})"""


@pytest.mark.parametrize("width", [1280, 360])
def test_no_word_of_a_chart_is_cut_off_and_no_date_is_broken(
    offline: Offline, pure: Made, width: int
) -> None:
    page, _ = opened(offline(width), pure)
    assert page.locator("figure svg text", has_text="earlier or later").count() == 1
    assert page.evaluate(_CUT_OFF) == []
    dates = page.locator(".whole")
    assert dates.count() >= 2  # when it was made, and when each charge was
    heights = dates.evaluate_all("all => all.map(one => one.getClientRects().length)")
    assert set(heights) == {1}


def test_it_prints(offline: Offline, pure: Made, tmp_path: Path) -> None:
    page, _ = opened(offline(700, 1000, "dark"), pure)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    for table in page.locator("table").all():
        box = table.bounding_box()
        assert box["x"] + box["width"] <= 700
    odds = page.locator("#facts table").bounding_box()
    rest = page.locator("#facts .plain").bounding_box()
    assert odds["y"] + odds["height"] <= rest["y"]  # one below the other, not on top of it
    line = page.locator("figure svg [stroke='#eaeef2']").first
    assert line.evaluate("e => getComputedStyle(e).stroke") == "rgb(234, 238, 242)"
    assert page.locator("nav").is_hidden()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"  # white, whatever the screen
    path = tmp_path / "report.pdf"
    page.pdf(path=str(path), format="A4")
    assert path.stat().st_size > 10_000


def test_it_is_walked_by_keyboard(offline: Offline, pure: Made) -> None:
    page, _ = opened(offline(), pure)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.url.endswith("#facts")
