"""Whole journeys, as a person would make them, with the network cut; each step photographed.

The browser of these tests resolves no name (see `ARGUMENTS` in browsers.py), and a request to any
other address than the page's own fails the test.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from browsers import WAIT, until
from discreet.budgets import choose

expect = import_module("playwright.sync_api").expect
pytestmark = pytest.mark.slow
PERSON = "Zebulon-Quagmire"
ROWS = "".join(f"{PERSON}-{i},{'north' if i % 3 else 'south'}\n" for i in range(300))
CSV = f"patient,county\n{ROWS}".encode()
# Steps whose accessibility nothing but a journey comes by (see test_web_looks.py for the rest).
CHECKED = ("spec", "account", "dry-run", "confirm", "made", "ledger")
FILES = ("table.csv", "table.parquet", "statement.md", "report.html", "spec.yaml")


def drawn(page: Any) -> Any:
    """Wait until the charts are there, and no number is faded."""
    page.wait_for_selector(".chart svg")
    until(page, "!document.querySelector('.stale')")
    return page


class Keys:
    """A person without a mouse: Tab to what has these words, type, press Enter."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def to(self, holds: str) -> None:
        """Press Tab until an expression about the focused element holds; it must be seen to be."""
        for _ in range(90):
            self.page.keyboard.press("Tab")
            if self.page.evaluate(f"(e => {holds})(document.activeElement)"):
                outline = "getComputedStyle(document.activeElement).outlineStyle"
                assert self.page.evaluate(outline) != "none", holds
                return
        pytest.fail(f"not reached by Tab: {holds}")

    def fill(self, name: str, text: str) -> None:
        self.to(f"e.name === '{name}'")
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def press(self, words: str) -> None:
        self.to(f"e.textContent.trim().startsWith('{words}')")
        self.page.keyboard.press("Enter")


def downloads(page: Any) -> dict[str, bytes]:
    """Press every link to a file of a release; return what was stored, by name."""
    found = {}
    links = page.locator("a[href*='/release/made/'][download], .files a")
    for place in range(links.count()):
        with page.expect_download() as coming:
            links.nth(place).click()
        name = coming.value.suggested_filename
        found[name.split("-", 1)[1]] = Path(coming.value.path()).read_bytes()
    return found


@pytest.mark.parametrize(
    ("width", "scheme", "named"),
    [
        (1280, "light", "day"),
        # On a phone, an example goes the whole way in test_web_thread.py.
        pytest.param(375, "dark", "night", marks=pytest.mark.soak),
    ],
)
def test_from_a_sentence_to_a_downloaded_statement(
    page_at: Callable[..., Any],
    accessible: Callable[..., None],
    shoot: Callable[[Any, str], None],
    site: Any,
    width: int,
    scheme: str,
    named: str,
) -> None:
    page = page_at("/", width, scheme=scheme)
    step = 0

    def seen(what: str) -> None:
        nonlocal step
        step += 1
        shoot(page, f"journey-{width}-{scheme}-{step}-{what}")
        if what in CHECKED and (width > 900 or what in ("dry-run", "made", "ledger")):
            accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, what
        assert PERSON not in page.content(), what
        # Nobody is told off; a tolerance that comes along is said once, and that it is all used.
        told = page.locator("[role=alert]:not(:empty), .notice:not(:empty)").all_inner_texts()
        told = [one for one in told if not one.startswith("No further release fits")]
        assert len(told) == (what == "data"), (what, told)

    drawn(page)
    page.wait_for_selector(".handle")
    seen("tolerate")
    page.fill("[name=after]", "20")
    until(page, "document.getElementById('epsilon').innerText === '1.5581'")
    seen("tolerated")
    page.get_by_role("link", name="See what that does").click()
    drawn(page)
    assert page.locator("#costs tbody td").first.inner_text() == "1.5581"
    seen("cost")
    page.get_by_role("link", name="Release data under A").click()
    page.wait_for_url("**/release?promise=*")
    expect(page.locator(".notice").first).to_contain_text("Your tolerance stays")
    seen("data")
    name = f"journey-{named}.csv"
    page.set_input_files("#data", files=[{"name": name, "mimeType": "text/csv", "buffer": CSV}])
    page.click("#upload button")
    page.wait_for_url("**source=*")
    assert page.input_value("[name='tolerance.posterior']") == "20 %"
    assert page.input_value("[name='tolerance.p']") == "5 %"
    expect(page.locator("#look-body")).to_contain_text("Still missing")
    assert page.locator("#look-body .notice").count() == 0  # nothing was typed, nothing is wrong
    seen("spec")
    for field, typed in {
        "account": f"people-of-the-{named}",
        "purpose": "monthly open data",
        "protect.column": "patient",
        "protect.rows": "1",
        "statistics.1.by": "county",
    }.items():
        page.fill(f"[name='{field}']", typed)
    page.press("[name='statistics.1.by']", "Tab")
    page.fill("[name='statistics.1.keys.county']", "north, south")
    page.get_by_text("Mechanism, intervals").click()
    page.fill("[name='ledger']", f"sqlite:///{named}.db")
    page.wait_for_selector("#approver")
    expect(page.locator("#spec")).to_have_value(re.compile(f"sqlite:///{named}.db"))
    page.fill("#approver", "A. Curator")
    page.fill("#reason", "data protection review")
    seen("account")
    page.click("text=Show what it promises")
    page.wait_for_selector("h1:has-text('Open account')")
    seen("opening")
    page.click("button:text-is('Open the account')")
    page.wait_for_selector("text=Go on to the charge")
    seen("dry-run")
    page.click("text=Go on to the charge")
    page.wait_for_url("**/confirm/*")
    seen("confirm")
    page.click("#make button")
    page.wait_for_url("**/made/*")
    seen("made")
    made = page.url
    assert page.locator("main :disabled").count() == 0  # the spec is text that can be read
    assert page.locator("#spec").inner_text().startswith("#")
    forms = page.locator("main form:not(.vega-bindings)")  # a chart brings an empty one
    assert forms.count() == 0  # nothing on the page can change anything
    table = page.locator("#main table").last.inner_text()
    page.reload()
    assert page.locator("#main table").last.inner_text() == table
    page.go_back()
    page.wait_for_url("**/made/*")
    assert page.url == made
    found = downloads(page)
    assert set(found) >= set(FILES)
    assert found["table.csv"].startswith(b"statistic,county,value")
    assert b"<html" in found["report.html"]
    spec = yaml.safe_load(found["spec.yaml"])
    assert spec["account"] == f"people-of-the-{named}"
    kept = choose({"posterior": 0.2, "p": 0.05, "q": 1.0}).epsilon
    assert choose(spec["tolerance"]).epsilon == kept
    assert found["table.parquet"][:4] == b"PAR1"
    assert b"What this release promises" in found["statement.md"]
    assert not any(PERSON.encode() in body for body in found.values())
    page.get_by_role("link", name="Ledger", exact=True).click()
    page.wait_for_url("**/ledger*")
    seen("ledger")
    page.click("text=Verify the chain")
    expect(page.locator("#verified")).to_contain_text("Verified.")


def test_by_keyboard_alone_from_a_sentence_to_a_release(
    page_at: Callable[..., Any], site: Any, shoot: Callable[[Any, str], None], tmp_path: Path
) -> None:
    data = tmp_path / "typed.csv"
    data.write_bytes(CSV)
    page = drawn(page_at("/tolerate", shared=False))
    # Asked for long before the key is pressed: the browser takes its time to hand choosers over.
    page.on("filechooser", lambda chooser: chooser.set_files(str(data)))
    keys = Keys(page)
    keys.fill("after", "20")
    until(page, "document.getElementById('epsilon').innerText === '1.5581'")
    keys.press("Release data under this")
    page.wait_for_url("**/release?promise=*")
    keys.to("e.type === 'file'")
    page.keyboard.press("Space")
    until(page, "document.getElementById('data').files.length === 1")
    keys.press("Upload")
    page.wait_for_url("**source=*")
    keys.fill("account", "typed-people")
    keys.fill("purpose", "monthly open data")
    keys.fill("protect.column", "patient")
    keys.fill("protect.rows", "1")
    keys.fill("statistics.1.by", "county")
    page.keyboard.press("Tab")
    page.wait_for_selector("[name='statistics.1.keys.county']")
    page.keyboard.press("Shift+Tab")
    keys.fill("statistics.1.keys.county", "north, south")
    page.wait_for_selector("#approver")
    keys.fill("approver", "A. Curator")
    keys.fill("reason", "review")
    shoot(page, "journey-keyboard-account")
    keys.press("Show what it promises")
    page.wait_for_selector("h1:has-text('Open account')")
    keys.press("Open the account")
    page.wait_for_selector("text=Go on to the charge")
    keys.press("Go on to the charge")
    page.wait_for_url("**/confirm/*")
    keys.press("Charge")
    page.wait_for_url("**/made/*")
    keys.to("e.textContent.trim() === 'Statement'")
    with page.expect_download() as coming:
        page.keyboard.press("Enter")
    assert "What this release promises" in Path(coming.value.path()).read_text(encoding="utf-8")
    shoot(page, "journey-keyboard-made")


def test_one_request_is_in_flight_and_the_newest_wins(page_at: Callable[..., Any]) -> None:
    page = page_at("/tolerate?kind=formula&worry=both&formula=max(0.25/(p*q),3)")
    drawn(page)
    held: list[Any] = []
    page.route("**/api/tolerate?*", lambda route: held.append(route))

    def asked(times: int) -> None:
        """Wait until it was asked so often, and a little longer: it is not asked more often."""
        end = time.monotonic() + WAIT
        while len(held) < times and time.monotonic() < end:
            page.wait_for_timeout(25)
        page.wait_for_timeout(150)
        assert len(held) == times

    page.fill("[name=formula]", "max(0.25/(p*q), 4)")
    asked(1)
    for fold in ("5", "6"):
        page.fill("[name=formula]", f"max(0.25/(p*q), {fold})")
        asked(1)  # two more were typed, and wait
    held[0].continue_()
    asked(2)  # the one in between was never asked
    assert "%2C+6)" in held[1].request.url or "%2C+6%29" in held[1].request.url
    held[1].continue_()
    true = choose({"profile": "max(0.25/(p*q), 6)"}).epsilon
    shown = f"{int(true * 1e4) / 1e4:.4f}"
    until(page, f"document.getElementById('epsilon').innerText === '{shown}'")
    asked(2)
    assert page.input_value("[name=formula]") == "max(0.25/(p*q), 6)"


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_wide_table_scrolls_in_its_own_box_and_shows_that_it_goes_on(
    page_at: Callable[..., Any], motion: str
) -> None:
    page = drawn(page_at("/cost", reduced_motion=motion))
    page.set_viewport_size({"width": 360, "height": 740})
    box = page.locator(".scroll:has(#costs)")
    assert box.evaluate("(one) => one.scrollWidth > one.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert "gradient" in box.evaluate("(one) => getComputedStyle(one).maskImage")
    box.focus()
    page.keyboard.press("ArrowRight")
    until(page, "document.activeElement.scrollLeft > 0")


def test_motion_is_reduced_where_it_is_asked_for(page_at: Callable[..., Any]) -> None:
    page = drawn(page_at("/tolerate", reduced_motion="reduce"))
    page.evaluate("document.getElementById('results').classList.add('stale')")
    moves = "getComputedStyle(document.getElementById('results')).transitionDuration"
    assert page.evaluate(moves) == "0s"
