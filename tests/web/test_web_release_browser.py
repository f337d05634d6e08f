"""Release in a browser: form and YAML, without a script, two tabs, hostile files.

The whole way, from a file to the downloads, is in test_web_journeys.py.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.web.release.spec_form import written

expect = import_module("playwright.sync_api").expect
pytestmark = pytest.mark.slow
PERSON = "Zebulon-Quagmire"
ROWS = "".join(f"{PERSON}-{i},{'north' if i % 3 else 'south'},{i}\n" for i in range(300))
CSV = f"patient,county,cost\n{ROWS}".encode()


def upload(page: Any, name: str, body: bytes) -> None:
    page.set_input_files("#data", files=[{"name": name, "mimeType": "text/csv", "buffer": body}])
    page.click("#upload button")


def prepared(folder: Path, name: str, *, cap: float = 1.0, **changes: Any) -> str:
    """Put data, a ledger and an account of that name into the folder; return the spec's link."""
    (folder / f"{name}.csv").write_bytes(CSV)
    ledger = Ledger.open(f"sqlite:///{folder / name}.db")
    terms = {"unit": "person", "adjacency": "add-remove", "approver": "A", "reason": "B"}
    ledger.open_account(name, filter="pure", cap=PureDP(cap), **terms)
    spec = {
        "account": name,
        "purpose": "monthly open data",
        "source": f"{name}.csv",
        "protect": {"unit": "person", "column": "patient", "rows": 1},
        "budget": {"epsilon": 0.5},
        "statistics": [
            {"count": "rows", "by": ["county"], "keys": {"county": ["north", "south", "west"]}}
        ],
        "ledger": f"sqlite:///{name}.db",
        "output": f"out-{name}",
    } | changes
    return f"/release?spec={quote(written(spec), safe='')}"


def test_form_and_yaml_change_each_other_while_typing(
    page_at: Callable[..., Any], site: Any, shoot: Callable[[Any, str], None]
) -> None:
    page = page_at(prepared(site.folder, "sides", cap=0.6))
    charge = page.locator("#look-body .number strong")
    expect(charge).to_have_text("ε = 0.5")
    page.fill("[name='budget.epsilon']", "0.25")
    expect(charge).to_have_text("ε = 0.25")
    text = page.input_value("#spec")
    assert "epsilon: 0.25" in text
    page.fill("#spec", text.replace("0.25", "0.125"))
    expect(page.locator("[name='budget.epsilon']")).to_have_value("0.125")
    expect(charge).to_have_text("ε = 0.125")
    assert "0.125" in page.url
    page.fill("#spec", "account: [")
    expect(page.locator("#look-problem")).to_contain_text("a closing bracket is missing")
    expect(page.locator("[name='budget.epsilon']")).to_have_value("0.125")  # the form stays
    page.fill("#spec", text)
    page.select_option("[name='promise']", "tolerance")
    expect(page.locator("[name='tolerance.posterior']")).to_be_visible()
    page.fill("[name='tolerance.posterior']", "0.25")
    page.fill("[name='tolerance.unless_ratio']", "3")
    expect(page.locator("#look-body")).to_contain_text("Over budget")
    shoot(page, "release-over-budget")
    page.get_by_role("button", name="+ count", exact=True).click()
    expect(page.locator("[name='statistics.2.kind']")).to_be_visible()
    page.focus("[name='statistics.2.kind']")
    page.keyboard.press("q")  # quantile
    expect(page.locator("[name='statistics.2.at']")).to_be_visible()
    expect(page.locator("[name='statistics.2.kind']")).to_be_focused()
    page.focus("[name='remove'][value='2']")
    page.keyboard.press("Enter")
    expect(page.locator("[name='statistics.2.kind']")).to_have_count(0)
    expect(page.locator("[name='remove']")).to_be_focused()


def test_what_is_typed_before_the_script_is_there_counts(
    page_at: Callable[..., Any], site: Any
) -> None:
    page = page_at("/release")
    waiting: list[Any] = []
    page.route("**/static/release.js*", lambda route: waiting.append(route))
    address = page.url.split("/release")[0] + prepared(site.folder, "early")
    with page.expect_request("**/static/release.js*"):
        page.goto(address, wait_until="commit")
    page.fill("[name='budget.epsilon']", "0.25")
    (script,) = waiting
    script.continue_()
    expect(page.locator("#look-body .number strong")).to_have_text("ε = 0.25")


def test_columns_are_pressed_instead_of_typed(page_at: Callable[..., Any], site: Any) -> None:
    page = page_at(prepared(site.folder, "chips"))
    field = page.locator("[name='statistics.1.by']")
    chip = page.locator("[data-puts='f-statistics.1.by'][data-value='cost']")
    chip.click()
    expect(field).to_have_value("county, cost")
    expect(page.locator("[name='statistics.1.keys.cost']")).to_be_visible()
    expect(chip).to_be_focused()
    expect(chip).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    expect(field).to_have_value("county")
    expect(page.locator("[name='statistics.1.keys.cost']")).to_have_count(0)
    page.locator("[data-puts='f-protect.column'][data-value='county']").click()
    expect(page.locator("[name='protect.column']")).to_have_value("county")
    page.locator("[data-puts='f-protect.column'][data-value='patient']").click()
    expect(page.locator("[name='protect.column']")).to_have_value("patient")
    expect(page.locator("#errors svg")).to_be_visible()
    page.click("#look-body .tools summary")
    expect(page.locator("#look-body .values tr").nth(1)).to_contain_text("count_rows_1")
    with page.expect_download() as coming:
        page.click("#look-body .tools button:text-is('SVG')")
    assert Path(coming.value.path()).read_text(encoding="utf-8").startswith("<svg")


def test_every_kind_of_statistic_has_an_accessible_form(
    page_at: Callable[..., Any], site: Any, accessible: Callable[[Any], None]
) -> None:
    bounds = {"bounds": [0, 500], "resolution": 1}
    entries = [
        {"count": "units", "by": ["county"], "keys": {"discover": {"delta": 1e-6}}},
        {"mean": "cost", **bounds, "weight": 2},
        {"quantile": "cost", "at": 0.5, **bounds},
        {"histogram": "cost", "edges": [0, 100, 500]},
        {"best": "price", "score": "revenue", "of": "cost", "cap": 9, "candidates": [1.0, 2.0]},
        {"randomized": "county", "answers": ["north", "south"], "keep": 0.75},
        {"count": "rows", "by": ["county"], "keys": {"county": [" odd"]}},
    ]
    link = prepared(
        site.folder, "kinds", statistics=entries, budget={"epsilon": 0.5, "delta": 1e-5}
    )
    page = page_at(link, 375)
    assert page.locator("#fields fieldset.part").count() == 3 + len(entries)
    expect(page.locator("[name='statistics.7.yaml']")).to_be_visible()
    expect(page.locator("#look-body")).to_contain_text("Refused.")  # the account is a pure one
    accessible(page)


def test_without_a_script_the_whole_way_is_the_same(
    page_at: Callable[..., Any], site: Any, accessible: Callable[[Any], None]
) -> None:
    page = page_at(prepared(site.folder, "plain"), javascript=False)
    page.fill("[name='budget.epsilon']", "0.25")
    page.press("[name='budget.epsilon']", "Enter")
    expect(page.locator("#look-body .number strong")).to_have_text("ε = 0.25")
    page.click("text=Go on to the charge")
    page.click("#make button")
    page.wait_for_url("**/made/*")
    expect(page.locator("h1")).to_have_text("Released")


def test_a_second_tab_on_the_same_ledger(
    page_at: Callable[..., Any], site: Any, shoot: Callable[[Any, str], None]
) -> None:
    link = prepared(site.folder, "tabs")
    first, second = page_at(link), page_at(link)
    for page in (first, second):
        page.click("text=Go on to the charge")
        page.wait_for_url("**/confirm/*")
    first.click("#make button")
    first.wait_for_url("**/made/*")
    second.click("#make button")
    expect(second.locator("[role='alert']")).to_contain_text("has changed since")
    shoot(second, "release-second-tab")
    assert second.locator("#make").count() == 0  # a charge that is no longer true cannot be made
    second.get_by_role("link", name="Look at the charge again").click()
    expect(second.locator("#look-body")).to_contain_text("already released 1 time")
    second.click("text=Go on to the charge")
    second.check("[name='again']")
    second.click("#make button")
    second.wait_for_url("**/made/*")
    assert first.url != second.url
    second.goto(site.url + link)
    expect(second.locator("#look-body")).to_contain_text("Over budget")


def test_hostile_files(
    page_at: Callable[..., Any],
    site: Any,
    tmp_path: Path,
    shoot: Callable[[Any, str], None],
    accessible: Callable[[Any], None],
) -> None:
    page = page_at("/release", shared=False)
    alerts: list[str] = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    script = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    upload(page, f"{script}.csv", f'patient,"{script}","=1+1"\n{PERSON},a,b\n'.encode())
    page.wait_for_url("**/release?source=*")
    assert page.locator("#columns option").nth(1).get_attribute("value") == script
    assert page.locator("main img, main script").count() == 0
    shoot(page, "release-hostile-header")
    for name, body in (
        ("a.csv", b"a,b\0\n1,2\n"),
        ("b.csv", b"\x1f\x8b\x08" + b"0" * 9),
    ):
        page.goto(f"{site.url}/release")
        upload(page, name, body)
        expect(page.locator("[role='alert']").first).not_to_be_empty()
        accessible(page)
    shoot(page, "release-refused-file")
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(200 * 2**20)
    page.goto(f"{site.url}/release")
    page.set_input_files("#data", str(large))
    page.click("#upload button")
    expect(page.locator("#upload-problem")).to_contain_text("larger than 64 MB")
    assert not alerts
    assert PERSON not in page.content()
