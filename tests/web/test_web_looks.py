"""Every screen in its main states: accessible, nothing sideways, from a phone to a wall, on paper.

One page is opened for a state, then looked at by day and by night, wide and narrow, very wide, and
as it would be printed; pictures of each are kept (see `shoot` in conftest.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from browsers import until
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.web.release.spec_form import written

pytestmark = pytest.mark.slow
UNLESS = "/tolerate?kind=unless&after=25&fold=3"
SPEC = {
    "account": "looked-at",
    "purpose": "monthly open data",
    "source": "looked.csv",
    "protect": {"unit": "person", "column": "patient", "rows": 1},
    "budget": {"epsilon": 0.5},
    "statistics": [
        {"count": "rows", "by": ["county"], "keys": {"county": ["north", "south"]}},
        {"mean": "cost", "bounds": [0, 500], "resolution": 1},
    ],
    "ledger": "sqlite:///looked.db",
    "output": "out-looked",
}
OVER = SPEC | {"budget": {"epsilon": 9}}
STATES = {
    "tolerate": "/tolerate",
    "tolerate-profile": f"{UNLESS}&worry=in",
    "tolerate-map": f"{UNLESS}&worry=both",
    "tolerate-two": f"{UNLESS}&worry=in&kind2=difference&worry2=value&points2=20&known2=100",
    "tolerate-refused": "/tolerate?kind=posterior&before=5&after=2",
    "cost": "/cost",
    "cost-budgets": "/cost?kind=epsilon&epsilon=0.5&kind2=epsilon&epsilon2=2&count=100&limit=90",
    "series": "/series",
    "series-promise": "/series?mechanism=epsilon&budget=0.01&about=difference&limit=20",
    "series-refused": "/series?budget=-1",
    "explain": "/explain",
    "explain-delta": "/explain?kind=approximate&epsilon=2&delta=1e-6&audience=regulator&value=10",
    "explain-me": "/explain/me?epsilon=0.5",
    "explain-me-replace": "/explain/me?epsilon=0.5&adjacency=replace",
    "release": "/release",
    "release-along": "/release?promise=tolerance%3A%20%7Bratio%3A%203%7D",
    "release-begun": "/release?source=looked.csv",
    "release-ready": f"/release?spec={quote(written(SPEC), safe='')}",
    "release-over": f"/release?spec={quote(written(OVER), safe='')}",
    "release-unreadable": "/release?spec=account%3A%20%5B",
    "release-not-made": "/release/made/nothing-of-the-kind",
    "ledger": "/ledger?ledger=looked.db",
    "ledger-verified": "/ledger?ledger=looked.db&verify=true",
    "ledger-unknown": "/ledger?ledger=unknown.db",
}
CHARTS = {
    "tolerate": 1,
    "tolerate-map": 3,
    "cost": 1,
    "series": 1,
    "explain": 2,
    "explain-me-replace": 1,
}


@pytest.fixture
def looked(site: Any) -> None:
    """Data, a ledger and an account that the states speak of."""
    data = site.folder / "looked.csv"
    if data.exists():
        return
    data.write_text("patient,county,cost\n" + "x,north,3\n" * 9, encoding="utf-8")
    Ledger.open(f"sqlite:///{site.folder / 'looked.db'}").open_account(
        "looked-at",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(3.0),
        approver="A. Curator",
        reason="review",
    )


def drawn(page: Any, name: str) -> None:
    """Wait until the charts of a screen are there, and no number is faded."""
    refused = name.endswith("refused")
    wanted = CHARTS.get(name, CHARTS.get(name.split("-", maxsplit=1)[0], 0))
    if not refused:
        until(
            page,
            f"document.querySelectorAll('.chart svg').length >= {wanted}"
            " && !document.querySelector('.stale')",
        )


@pytest.mark.usefixtures("looked")
@pytest.mark.parametrize("name", STATES)
def test_it_is_accessible_and_fits(
    page_at: Callable[..., Any],
    accessible: Callable[..., None],
    shoot: Callable[[Any, str], None],
    name: str,
) -> None:
    page = page_at(STATES[name])
    drawn(page, name)
    shoot(page, f"{name}-1280-light")
    for part in page.locator("details").all():
        part.evaluate("part => { part.open = true; }")
    accessible(page)
    page.emulate_media(color_scheme="dark")
    accessible(page, colours=True)
    page.set_viewport_size({"width": 375, "height": 812})
    accessible(page)
    shoot(page, f"{name}-375-dark")
    page.emulate_media(color_scheme="light")
    accessible(page, colours=True)
    page.set_viewport_size({"width": 3840, "height": 2160})
    page.reload()
    drawn(page, name)
    assert page.evaluate("document.documentElement.scrollWidth") <= 3840
    letters = page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
    assert letters >= 24  # as large against the screen as on a desk
    wide = page.locator("main").bounding_box()
    assert wide["width"] >= 3840 / 2
    shoot(page, f"{name}-3840")
    page.set_viewport_size({"width": 794, "height": 1123})
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("nav").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.evaluate("document.documentElement.scrollWidth") <= 794
    shoot(page, f"{name}-print")


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
