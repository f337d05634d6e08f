"""Every screen in its main states: accessible, nothing sideways, from a phone to a wall, on paper.

One page is opened for a state, then looked at by day and by night, on a desk, on a phone, with
letters twice as large and colours forced, very wide, and as it would be printed; pictures of each
are kept (see `shoot` in conftest.py). What is left by a request that failed is looked at in
test_web_failures_browser.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from states import MADE, STATES, pages

import discreet
from browsers import until
from discreet.ledger import Ledger
from soaking import soaked, some_of

pytestmark = pytest.mark.slow
# Charts that can be seen are drawn, and no number is faded, unless it is said why.
DRAWN = """(!document.querySelector('.stale') || document.querySelector('.notice').textContent)
  && [...document.querySelectorAll('.chart')].every(
    (one) => !one.checkVisibility() || one.querySelector('svg'))"""
BLANKS = "main form input:not([type=radio], [type=checkbox], [type=range], [type=file]):visible"
NAMES = (*pages(), *STATES, *MADE)
# Words that nobody could read before: none of them comes back, on any screen.
UNREADABLE = re.compile(
    "Said as|so sure, from one belief|Binds|nothing as it is|Adds up by|Most rows a group"
    "|think of yourself|1,000,000 in 1,000,000|Failed to fetch|a true count|[0-9]e[+][0-9]"
)


def open_all(page: Any, which: str) -> None:
    page.evaluate(f"document.querySelectorAll('{which}').forEach((one) => {{ one.open = true; }})")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_accessible_and_fits(
    page_at: Callable[..., Any],
    accessible: Callable[..., None],
    shoot: Callable[[Any, str], None],
    states: dict[str, str],
    name: str,
) -> None:
    page = page_at(states[name], shared=True, failing=name == "nowhere")
    until(page, DRAWN)
    shoot(page, f"{name}-1280")
    assert not UNREADABLE.search(page.locator("main").inner_text())
    # The values of a chart are a table of hundreds of rows, the same everywhere: one is enough.
    open_all(page, "details" if name == "attack" else "details:not(.tools)")
    turn = NAMES.index(name)
    dark = name not in pages() and turn % 2 and not soaked()
    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(color_scheme="dark" if dark else "light")
    if name in pages() or turn % 4 > 1 or soaked():
        accessible(page)
    until(page, f"({CUT}).length === 0")  # a chart follows a screen that becomes narrow
    assert page.evaluate(OUTSIDE) == []
    shoot(page, f"{name}-360")
    for look in LOOKS if name in pages() or soaked() else some_of(QUICK, turn):
        look(page, accessible)
        shoot(page, f"{name}-{look.__name__}")


def by_night(page: Any, accessible: Callable[..., None]) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="dark")
    accessible(page, colours=True, size=True)
    page.emulate_media(color_scheme="light")


def in_large_letters(page: Any, accessible: Callable[..., None]) -> None:
    # Half as wide is the same as letters twice as large.
    page.emulate_media(forced_colors="active")
    page.set_viewport_size({"width": 640, "height": 450})
    accessible(page, size=True)
    page.emulate_media(forced_colors="none")


def on_a_tablet(page: Any, accessible: Callable[..., None]) -> None:
    page.set_viewport_size({"width": 768, "height": 1024})
    until(page, "document.documentElement.scrollWidth <= 768")


def on_a_wall(page: Any, accessible: Callable[..., None]) -> None:
    page.set_viewport_size({"width": 3840, "height": 2160})
    until(page, "document.documentElement.scrollWidth <= 3840")
    letters = page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
    assert letters >= 24  # as large against the screen as on a desk
    assert page.locator("main").bounding_box()["width"] >= 3840 / 2


def on_paper(page: Any, accessible: Callable[..., None]) -> None:
    page.set_viewport_size({"width": 794, "height": 1123})
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("nav").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    until(page, "document.documentElement.scrollWidth <= 794")  # once the charts have followed


# How a page is looked at beside a phone: the screens in every way; a state that a screen can come
# to in one of those in which no rule is checked again, and in all in `make soak`. Of those states
# rules are checked in every other two, one by day and one by night.
QUICK = (on_a_tablet, on_paper)
LOOKS = (by_night, in_large_letters, on_a_wall, *QUICK)


# Released values that one would have to scroll for.
OUTSIDE = """[...document.querySelectorAll('.released tbody :is(th, td)')]
  .filter((one) => one.getBoundingClientRect().right > innerWidth).map((one) => one.textContent)"""
# Words of charts that are cut off.
CUT = """[...document.querySelectorAll('.chart svg')].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter((one) => {
    const { left, right, width } = one.getBoundingClientRect();
    return width && (right > frame.right + 1 || left < frame.left - 1);
  }).map((one) => one.textContent);
})"""


@pytest.mark.parametrize("name", pages())
def test_on_a_phone_and_a_form_in_which_everything_is_wrong(
    page_at: Callable[..., Any],
    accessible: Callable[..., None],
    shoot: Callable[[Any, str], None],
    states: dict[str, str],
    name: str,
) -> None:
    page = page_at(states[{"release": "release-ready"}.get(name, name)], 360, shared=True)
    until(page, DRAWN)
    assert page.evaluate(CUT) == []
    shoot(page, f"{name}-phone")
    for blank in page.locator(BLANKS).all():
        blank.fill("?")
    if page.locator("form:has([data-problem])").count() and page.locator(BLANKS).count():
        until(page, "!!document.querySelector('main [aria-invalid]')")
    accessible(page)
    shoot(page, f"{name}-wrong-360")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="dark")
    accessible(page, colours=True)


@pytest.mark.parametrize("path", ["/tolerate", "/cost"])
def test_on_a_phone_the_answer_is_in_sight_where_one_types(
    page_at: Callable[..., Any], shoot: Callable[[Any, str], None], path: str
) -> None:
    page = page_at(path, 375)
    until(page, "document.querySelectorAll('.chart svg').length > 0")
    page.evaluate("window.scrollTo(0, 0)")
    bar = page.locator("#bar")
    bar.wait_for(state="visible")
    before = bar.inner_text()
    box = bar.bounding_box()
    assert box["y"] + box["height"] <= 900
    assert box["height"] >= 24
    page.locator(".sentence input").first.fill("7")
    until(page, f"document.getElementById('bar').textContent !== {before!r}")
    shoot(page, f"bar-{path[1:]}-375")
    bar.click()
    until(page, "document.getElementById('bar').hidden")  # the answer itself is there
    page.set_viewport_size({"width": 1280, "height": 900})
    page.evaluate("window.scrollTo(0, 0)")
    assert bar.is_hidden()


def test_forced_colours_show_the_current_screen(page_at: Callable[..., Any]) -> None:
    page = page_at("/cost", forced_colors="active")
    styles = "getComputedStyle(document.querySelector('nav a{}')).borderBottom{}"
    assert page.evaluate(styles.format("[aria-current]", "Width")) == "3px"
    assert page.evaluate(styles.format("[aria-current]", "Style")) == "solid"
    assert page.evaluate(styles.format(":not([aria-current])", "Width")) == "0px"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_out_of_date_can_still_be_read(
    page_at: Callable[..., Any], accessible: Callable[..., None], scheme: str
) -> None:
    page = page_at("/tolerate", scheme=scheme)
    until(page, "document.querySelectorAll('.chart svg').length > 0")
    page.evaluate(
        "document.querySelectorAll('#results, #profile').forEach(p => p.classList.add('stale'))"
    )
    accessible(page, colours=True)


@pytest.mark.parametrize("name", pages())
def test_without_a_script_it_is_accessible_too(
    page_at: Callable[..., Any],
    accessible: Callable[..., None],
    shoot: Callable[[Any, str], None],
    states: dict[str, str],
    site: Any,
    name: str,
) -> None:
    # Axe is a script itself: so scripts may run, and none of the page's own arrives.
    page = page_at("/static/discreet.css", failing=True, shared=True)
    page.route("**/static/*.js*", lambda route: route.abort())
    page.goto(site.url + states[{"release": "release-ready"}.get(name, name)])
    assert page.locator("html.live").count() == 0
    accessible(page, colourless=True)  # it has those that it has with a script
    shoot(page, f"{name}-without-script")
    page.unroute("**/static/*.js*")


def test_in_an_empty_folder_and_before_a_charge(
    fresh: Callable[..., Any], accessible: Callable[..., None]
) -> None:
    page = fresh()
    home = page.url.removesuffix("/tolerate")
    for path in ("/ledger", "/release", "/synthetic"):
        page.goto(home + path)
        accessible(page)
    page.get_by_role("button", name="Try it Survey").click()
    page.fill("#approver", "A. Curator")
    page.click("text=Show what it promises")
    assert page.locator("#reason[aria-invalid]").count() == 1  # it says nothing yet
    accessible(page)
    page.fill("#reason", "review")
    page.click("text=Show what it promises")
    page.wait_for_selector("h1:has-text('Open account')")
    accessible(page)
    page.click("button:text-is('Open the account')")
    page.click("text=Go on to the charge")
    page.wait_for_url("**/confirm/*")
    accessible(page)
    page.click("#make button")
    page.wait_for_url("**/made/*")
    accessible(page)


def test_a_door_that_stays_shut_is_accessible_too(
    browser: Any, site: Any, accessible: Callable[..., None]
) -> None:
    page = browser.new_context().new_page()
    assert page.goto(site.url + "/tolerate").status == 403
    accessible(page)
    page.context.close()


def test_a_released_table_of_margins_is_seen_whole(page_at: Callable[..., Any], site: Any) -> None:
    names = ("Landkreis", "Altersgruppe", "Geschlecht")
    keys = {name: [f"{name} A", f"{name} B"] for name in names}
    (site.folder / "margins.csv").write_text(f"person,{','.join(names)}\n")
    Ledger.open(f"sqlite:///{site.folder / 'margins.db'}").open_account(
        "margins", unit="person", adjacency="add-remove", filter="pure", approver="A", reason="R"
    )
    spec = {
        "account": "margins",
        "purpose": "test",
        "source": "margins.csv",
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "budget": {"epsilon": 0.001},
        "statistics": [{"count": "rows", "margins": [[*names[:2]], [names[2]]], "keys": keys}],
        "ledger": "sqlite:///margins.db",
        "output": "out",
    }
    made = discreet.release(spec, folder=site.folder)
    page = page_at(f"/release/made/{made.to_dict()['release_id']}")
    until(page, DRAWN)
    assert (
        page.evaluate(
            "[...document.querySelectorAll('.released-part .scroll')]"
            ".filter((one) => one.scrollWidth > one.clientWidth + 1).length"
        )
        == 0
    )
