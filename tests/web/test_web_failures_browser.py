"""A request that fails is told where one looks, and nothing that is out of date can be used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any
from urllib.parse import quote

import pytest

from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.web.release.spec_form import written

expect = import_module("playwright.sync_api").expect
pytestmark = pytest.mark.slow


@pytest.fixture
def ready(site: Any) -> str:
    """The link of a spec that could be charged."""
    if not (site.folder / "failing.csv").exists():
        (site.folder / "failing.csv").write_text("patient,county\na,north\n", encoding="utf-8")
        Ledger.open(f"sqlite:///{site.folder / 'failing.db'}").open_account(
            "failing",
            unit="person",
            adjacency="add-remove",
            filter="pure",
            cap=PureDP(100.0),
            approver="A",
            reason="B",
        )
    spec = {
        "account": "failing",
        "purpose": "test",
        "source": "failing.csv",
        "protect": {"unit": "person", "column": "patient", "rows": 1},
        "tolerance": {"posterior": 0.12, "p": 0.05, "about": "membership"},
        "statistics": [{"count": "rows"}],
        "ledger": "sqlite:///failing.db",
        "output": "out-failing",
    }
    return f"/release?spec={quote(written(spec), safe='')}"


def test_a_number_that_cannot_be_leaves_no_charge_to_go_on_to(
    page_at: Callable[..., Any], ready: str
) -> None:
    page = page_at(ready)
    field = page.locator("[name='tolerance.posterior']")
    expect(page.locator("#look-body .number")).to_be_visible()
    field.fill("12")
    assert page.locator("#look-body").evaluate("part => part.inert")  # at once, not when answered
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.locator("[id='p-tolerance.posterior']")).to_contain_text("0.12")
    expect(page.locator("text=Go on to the charge")).to_have_count(0)
    assert "posterior: 12\n" in page.input_value("#spec")
    field.fill("12 %")
    expect(page.locator("text=Go on to the charge")).to_be_visible()
    expect(page.locator(".wrong")).to_have_count(0)
    assert field.get_attribute("aria-invalid") is None
    assert not page.locator("#look-body").evaluate("part => part.inert")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"status": 500, "body": "<main><p>Internal error.</p></main>"}, "Internal error"),
        ({"status": 403, "body": "<main><p>Open the address.</p></main>"}, "Open the address"),
        ({"status": 502, "body": ""}, "The request failed"),
        (None, "does not answer"),
    ],
)
def test_a_look_that_fails_is_told_and_nothing_old_is_left(
    browser: Any, site: Any, ready: str, answer: dict[str, Any] | None, words: str
) -> None:
    context = browser.new_context()
    context.add_cookies([dict(cookie) for cookie in site.cookies])
    page = context.new_page()
    page.goto(site.url + ready)
    expect(page.locator("text=Go on to the charge")).to_be_visible()
    failing = (
        (lambda route: route.abort())
        if answer is None
        else (lambda route: route.fulfill(content_type="text/html", **answer))
    )
    page.route("**/release/look", failing)
    page.fill("[name='tolerance.posterior']", "0.2")
    expect(page.locator("#look-problem")).to_contain_text(words)
    expect(page.locator("text=Go on to the charge")).to_have_count(0)
    assert page.locator("#yaml-form").evaluate("part => part.inert")
    assert page.locator(".head .state").is_hidden()
    page.unroute("**/release/look")
    page.fill("[name='tolerance.posterior']", "0.15")
    expect(page.locator("text=Go on to the charge")).to_be_visible()
    assert page.locator("#look-problem").inner_text() == ""
    assert not page.locator("#yaml-form").evaluate("part => part.inert")
    assert "posterior: 0.15" in page.input_value("#spec")
    context.close()


def test_a_half_typed_number_leaves_nothing_to_release_under(
    page_at: Callable[..., Any],
) -> None:
    page = page_at("/tolerate")
    page.wait_for_selector(".handle")
    blank = page.locator("[name=after]")
    blank.fill("")
    expect(blank).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#p-after")).to_contain_text("Fill in this field")
    assert page.locator("#results").evaluate("part => part.inert")
    assert page.locator(".head .state").is_hidden()
    blank.press_sequentially("15,5")
    expect(page.locator("#p-after")).to_contain_text("without commas")
    blank.fill("15.5")
    expect(page.locator(".wrong")).to_have_count(0)
    assert not page.locator("#results").evaluate("part => part.inert")
    assert "after=15.5" in page.locator("#state-link").get_attribute("href")


def test_a_server_that_is_gone_is_told_in_our_words(browser: Any, site: Any) -> None:
    context = browser.new_context()
    context.add_cookies([dict(cookie) for cookie in site.cookies])
    page = context.new_page()
    page.goto(f"{site.url}/explain")
    expect(page.locator("#headline")).to_be_visible()
    page.route("**/api/**", lambda route: route.abort())
    page.fill("[name=epsilon]", "2")
    expect(page.locator("[data-problem]")).to_contain_text("does not answer")
    assert "fetch" not in page.locator("[data-problem]").inner_text()
    assert page.locator("#results").evaluate("part => part.inert")
    context.close()
