"""A request that fails is told where one looks, and nothing that is out of date can be used.

Which requests there are is found, not listed: every page is opened, what it asks for is changed,
and each request that a script makes fails in every way.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import pytest
from states import PROMISE, STATES, pages, spec_link
from test_web_words import SCRIPTS

from browsers import accessible as checked
from browsers import until
from discreet.web.guards import Guard
from discreet.words import say
from soaking import some_of

expect = import_module("playwright.sync_api").expect
pytestmark = pytest.mark.slow
Answer = Callable[[int, str], dict[str, Any]]

# Scripts ask through discreet.js, by an address of ours or that of a form.
ADDRESS = re.compile(r'\b(?:live\(\w+, |fetched\(|ask\()"(/[^"]+)"')
REQUEST = re.compile(r"\b(?:fetch|import|XMLHttpRequest|EventSource|WebSocket|sendBeacon)\(")
FAILURES = {500: 360, 403: 1280, 421: 360, None: 1280}  # how wide it is seen; None: no answer
WORDS = {500: "internal error", 403: "discreet serve", 421: "loopback", None: "does not answer"}
# What could still be pressed, beside the fields of what is asked and what begins anew.
USABLE = """[...document.querySelectorAll(
    'main :is(a[href], button, textarea, [role=slider]), .head .state :is(a, button)')]
  .filter((one) => one.checkVisibility({ visibilityProperty: true })
    && !one.closest('[inert], #bar, .situations, form:has([data-problem]), #spec-form'))
  .map((one) => one.id || one.textContent.trim())"""
# The place where it is said, or else the foot of the screen, is in sight.
IN_SIGHT = """(() => {
  const told = [...document.querySelectorAll('main :is([role=alert], [role=status]), #bar')];
  return told.some((one) => {
    const { top, bottom, height } = one.getBoundingClientRect();
    return one.textContent && one.checkVisibility() && height && top >= 0 && bottom <= innerHeight;
  });
})()"""


@pytest.fixture(scope="module")
def doors() -> Answer:
    """What the door itself answers with a status, to a script that asks for JSON or for a page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from starlette.testclient import TestClient

    async def broken(*_: Any) -> None:
        raise RuntimeError("a value from the data")

    def answer(status: int, accept: str) -> dict[str, Any]:
        host = "elsewhere.example" if status == 421 else "127.0.0.1"
        door = Guard(broken, token="secret" if status == 403 else None)
        found = TestClient(door, base_url=f"http://{host}").get("/x", headers={"Accept": accept})
        assert found.status_code == status
        kind = found.headers["content-type"]
        return {"status": status, "body": found.text, "content_type": kind}

    return answer


@contextmanager
def failing(page: Any, doors: Answer, kind: int | None) -> Iterator[Any]:
    """While this lasts, what scripts ask for fails in that way; the paths are what was asked."""
    asked: set[str] = set()

    def fail(route: Any) -> None:
        if route.request.resource_type != "fetch":
            route.continue_()
            return
        asked.add(urlsplit(route.request.url).path)
        if kind is None:
            route.abort("connectionrefused")
        else:
            route.fulfill(**doors(kind, route.request.headers["accept"]))

    page.route("**/*", fail)
    yield asked
    page.unroute("**/*")


def changes(page: Any) -> list[Callable[[], None]]:
    """How what a page asks can be changed: the number typed first, and the kind of a sentence."""
    form = page.locator("form:has([data-problem]), #spec-form")
    field = form.locator("input:not([type=radio], [type=checkbox], [type=hidden]):visible").first
    kind = form.locator("select[data-reshape], select[data-shape]").first
    first = field.input_value() if field.count() else ""
    other = f"{float(first) + 1:g}" if re.fullmatch(r"[\d.]+", first) else f"{first}x"

    def typed() -> None:
        if field.get_attribute("type") == "range":
            field.press("ArrowRight")
        else:
            field.fill(first if field.input_value() == other else other)

    def chosen() -> None:
        values = kind.locator("option").evaluate_all("all => all.map(one => one.value)")
        kind.select_option(next(one for one in values if one != kind.input_value()))

    return [typed, chosen] if kind.count() else [typed] if field.count() else []


READY = {"/release": spec_link(), "/synthetic": STATES["synthetic-ready"]}
READY["/explain/me"] = STATES["explain-me"]


def test_every_request_may_fail(
    page_at: Callable[..., Any],
    doors: Answer,
    states: dict[str, str],
    shoot: Callable[[Any, str], None],
    site: Any,
) -> None:
    seen: set[str] = set()
    turn = 0
    told = "main :is([role=alert], [role=status]):visible"
    page = page_at("/static/discreet.css", failing=True, shared=True)
    for name, path in pages().items():
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(site.url + READY.get(path, path))
        page.wait_for_load_state("networkidle")
        for place, change in enumerate(changes(page)):
            turn += 1  # each kind of failure has its turn; in `make soak` all are tried everywhere
            for kind, width in some_of(list(FAILURES.items()), turn):
                where = f"{name}, change {place}, {kind}"
                page.set_viewport_size({"width": width, "height": 900})
                with failing(page, doors, kind) as asked:
                    change()
                    said = page.locator(told).filter(has_text=WORDS[kind])
                    expect(said.first, where).to_be_visible()
                    until(page, f"{USABLE}.length === 0")
                    assert page.evaluate(IN_SIGHT), where
                    seen |= asked
                if place == 0:
                    shoot(page, f"failed-{name}-{width}-{kind}")
                    dark = kind in (403, None)
                    page.emulate_media(color_scheme="dark" if dark else "light")
                    checked(page, colours=dark)
                change()
                expect(said).to_have_count(0)
                until(page, "!document.querySelector('.stale, main [inert]')")
                assert page.locator("#bar.failed").count() == 0
    wanted = {path for script in SCRIPTS for path in ADDRESS.findall(script.read_text("utf-8"))}
    assert wanted <= seen, wanted - seen


def test_scripts_ask_in_one_way_only() -> None:
    for script in SCRIPTS:
        found = REQUEST.findall(script.read_text("utf-8"))
        assert not found or script.name == "discreet.js", (script.name, found)


def test_without_the_drawing_program_the_numbers_are_there(page_at: Callable[..., Any]) -> None:
    page = page_at("/tolerate?fresh=1", failing=True, offline=False, locale="en-GB")
    page.route("**/vega.js*", lambda route: route.abort())
    page.reload()
    expect(page.locator("#tolerated")).to_contain_text(say("web.script.no_chart"))
    page.fill("[name=after]", "20")
    expect(page.locator("#epsilon")).to_have_text("1.5581")
    page.unroute("**/vega.js*")
    page.reload()
    expect(page.locator("#tolerated svg")).to_be_visible()


def test_what_is_pressed_before_the_answer_leads_where_the_answer_leads(
    page_at: Callable[..., Any],
) -> None:
    page = page_at("/tolerate")
    page.wait_for_selector(".handle")
    held: list[Any] = []
    page.route("**/api/tolerate?*", lambda route: held.append(route))
    page.fill("[name=after]", "20")
    page.locator("#to-release").click(no_wait_after=True)
    until(page, "location.pathname === '/tolerate'")
    assert len(held) == 1
    held[0].continue_()
    page.wait_for_url("**/release?promise=*")
    expect(page.locator("#thread")).to_contain_text("more than 20 % sure")


def test_a_number_that_cannot_be_leaves_no_charge_to_go_on_to(
    page_at: Callable[..., Any], states: dict[str, str]
) -> None:
    page = page_at(spec_link(account="promised", tolerance=PROMISE))
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
    blank.press_sequentially("15,500")
    expect(page.locator("#p-after")).to_contain_text("no sign between thousands")
    blank.fill("15.5")
    expect(page.locator(".wrong")).to_have_count(0)
    assert not page.locator("#results").evaluate("part => part.inert")
    assert "after=15.5" in page.locator("#state-link").get_attribute("href")
