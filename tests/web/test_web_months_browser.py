"""A curator's months in a browser: the first, the next, one that the promise refuses, a raise.

On the way, what people have stumbled over: files with other signs between columns, names with
umlauts, a sum over a column of words, keys that a tick hides, a cap of nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from states import COUNTS, spec_link

from discreet.guarantees import PureDP
from discreet.ledger import Ledger

expect = import_module("playwright.sync_api").expect
pytestmark = pytest.mark.slow
ROWS = "".join(f"p{i},{'north' if i % 3 else 'south'},{i}\n" for i in range(300))
PROMISE = "tolerance%3A%20%7Bposterior%3A%200.12%2C%20p%3A%200.05%2C%20about%3A%20membership%7D"


def test_months_under_one_promise(
    page_at: Callable[..., Any], shoot: Callable[[Any, str], None]
) -> None:
    page = page_at(f"/release?promise={PROMISE}")
    begin, look = page.url, page.locator("#look-body")
    go_on = page.get_by_role("button", name="Go on to the charge")

    def upload(name: str, text: str, encoding: str = "utf-8") -> None:
        sent = {"name": name, "mimeType": "text/csv", "buffer": text.encode(encoding)}
        page.set_input_files("#data", files=[sent])
        page.click("#upload button")

    def fill(**fields: str) -> None:
        for name, text in fields.items():
            page.fill(f"[name='{name.replace('__', '.')}']", text)

    head = "patient,county,cost\n"
    upload("odd.csv", (head + ROWS).replace(",", ";"))
    page.wait_for_url("**source=odd.csv*")
    expect(page.locator("#spec")).to_have_value(re.compile(r"delimiter: ['\"]?;"))
    page.go_back()
    # A file of an older program: its curator says so, unless its header line does.
    upload("month-1998.csv", (head + ROWS).replace("north", "Köln"), "latin-1")
    page.wait_for_url("**source=month-1998.csv*")
    page.select_option("[name='source.encoding']", "latin-1")
    expect(page.locator("#spec")).to_have_value(re.compile("encoding: latin-1"))
    page.goto(begin)
    upload("Zürich.csv", head + ROWS)
    page.wait_for_url("**source=Z%C3%BCrich.csv*")
    fill(account="months", purpose="January", protect__rows="1", series__releases="2")
    page.get_by_text("Mechanism, intervals").click()
    fill(ledger="sqlite:///months.db")
    page.locator("[data-puts='f-statistics.1.by'][data-value=county]").click()
    keys = page.locator("input:visible[name='statistics.1.keys.county']")
    keys.fill("north, south")
    page.locator("[name='statistics.1.find']").check()
    expect(keys).to_have_count(0)
    page.locator("[name='statistics.1.find']").uncheck()
    expect(keys).to_have_value("north, south")
    # A CSV file has no types: that a column is taken for numbers is told before there is a charge,
    # and a column that is declared to hold words is refused.
    page.get_by_role("button", name="+ sum", exact=True).click()
    page.wait_for_selector("[name='statistics.2.what']")
    fill(statistics__2__what="county", statistics__2__bounds="0, 10", statistics__2__resolution="1")
    expect(look).to_contain_text("'county' has no declared type, and is read as numbers")
    assert "--ledger" not in look.inner_text()  # no flags of the command line
    shoot(page, "months-sum-over-words")
    fill(source__types="county")
    expect(page.locator("[id='p-source.types']")).to_contain_text("what it is")
    fill(source__types="county: text")
    expect(page.locator("#look-problem")).to_contain_text("column 'county'")
    expect(look.get_by_role("button")).to_have_count(0)
    fill(source__types="")
    page.locator("[name=remove][value='2']").click()
    expect(page.locator("[name='statistics.2.kind']")).to_have_count(0)
    # The account opens with the promise, said in beliefs before it is made; not with nothing.
    page.fill("#approver", "A. Curator")
    page.fill("#reason", "data protection review")
    page.uncheck("#look-body [name=promise]")
    page.locator("summary", has_text="limit").last.click()
    page.fill("#cap-epsilon", "0")
    page.click("text=Show what it promises")
    expect(page.locator("#look-body [role=alert]")).to_be_visible()
    page.check("#look-body [name=promise]")
    page.fill("#cap-epsilon", "")
    page.click("text=Show what it promises")
    expect(page.locator("h1")).to_contain_text("Open account months")
    expect(page.locator("main")).to_contain_text("Nobody who starts at 5 % becomes more than 12 %")
    page.click("button:text-is('Open the account')")
    for month, left in (("January", "1 of 2"), ("February", "0 of 2")):
        expect(look.locator(".number")).to_be_visible()
        fill(purpose=month)
        expect(page.locator("#spec")).to_have_value(re.compile(month))
        go_on.click()
        page.wait_for_url("**/confirm/*")
        page.click("#make button")
        page.wait_for_url("**/made/*")
        expect(page.locator("#thread")).to_contain_text(f"{left} releases like the last left")
        page.get_by_role("link", name="Release the next one: same spec, other file").click()
        page.wait_for_url("**/release?spec=*")
    # The promise is used up: no larger cap would help, and none is offered.
    expect(look.locator("#refusal")).to_contain_text("would break a promise")
    assert "raise the cap" not in look.inner_text()
    assert "more like it" not in look.inner_text()
    expect(go_on).to_have_count(0)
    shoot(page, "months-refused")


def test_a_cap_that_refuses_is_raised_and_the_release_is_made(
    page_at: Callable[..., Any], site: Any, states: dict[str, str]
) -> None:
    ledger = Ledger.open(f"sqlite:///{site.folder / 'raised.db'}")
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    ledger.open_account("raised", cap=PureDP(0.25), approver="A", reason="b", **terms)
    link = spec_link(account="raised", ledger="sqlite:///raised.db", statistics=[COUNTS])
    page = page_at(link)
    expect(page.locator("#look-body")).to_contain_text("Over budget.")
    page.get_by_role("link", name="To the ledger").click()
    page.get_by_text("Raise a cap").click()
    page.get_by_label("More ε").fill("0.5")
    page.get_by_label("Approved by").fill("A. Lead")
    page.get_by_label("Reason").fill("another quarter")
    page.get_by_role("button", name="Show what it comes to").click()
    page.get_by_role("button", name="Raise the cap to ε = 0.75").click()
    page.get_by_role("cell", name="cap raised by ε = 0.5").wait_for()
    page.get_by_role("link", name="Release", exact=True).click()  # as this tab left it
    page.get_by_role("button", name="Go on to the charge").click()
    page.click("#make button")
    page.wait_for_url("**/made/*")
    assert [entry.kind for entry in ledger.entries()][-2:] == ["reserve", "commit"]
