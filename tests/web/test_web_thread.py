"""The promise goes along: every screen shows it, begins with it, and leads on with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from browsers import until
from discreet.budgets import choose
from discreet.budgets.keeping import rectangle
from discreet.promises import promise_in
from discreet.web.examples import begin, known
from discreet.web.release.dry_run import look, read
from discreet.web.release.spec_form import written
from discreet.web.sentences import Asked, Condition, asked_of
from discreet.web.thread import Thread, shown_to
from discreet.web.workfolder import Workfolder

KEYS = {"posterior": 0.12, "p": 0.05, "about": "membership"}
THREAD = Thread.saying(tolerance=KEYS)
SENTENCE = "Nobody who starts at 5 % becomes more than 12 % sure that one person is in the data"


def told(text: str) -> str:
    """Return the line of the promise in a page, without its markup."""
    line = re.search(r'<aside class="thread"[^>]*?( hidden)?>(.*?)</aside>', text, re.DOTALL)
    assert line is not None
    return "" if line[1] else " ".join(re.sub("<[^>]*>", "", line[2]).split())


@pytest.mark.parametrize("path", ["/tolerate", "/cost", "/series", "/release", "/explain"])
def test_every_screen_shows_the_promise_and_every_menu_carries_it(client: Any, path: str) -> None:
    text = client.get(THREAD.to(path)).text
    assert told(text) == f"{SENTENCE} ε = 0.9520"
    links = re.findall(r'<li><a href="(/[^"]*)"', text.partition("</nav>")[0])
    assert len(links) >= 6
    assert all("promise=tolerance" in one for one in links), links


@pytest.mark.parametrize(
    "path", ["/tolerate", "/cost", "/series", "/release", "/explain", "/attack"]
)
def test_a_promise_whose_budget_an_account_decides_goes_along(client: Any, path: str) -> None:
    """With a confidence and no δ it has no ε of its own, and every menu dropped it."""
    thread = Thread.saying(tolerance=KEYS | {"confidence": 0.95})
    assert thread.budget() == {}
    text = client.get(thread.to(path)).text
    assert told(text).startswith(f"{SENTENCE} with probability 95 %; its ε or ρ")
    links = re.findall(r'<li><a href="(/[^"]*)"', text.partition("</nav>")[0])
    assert all("confidence%3A+0.95" in one for one in links), links
    if path in ("/series", "/explain"):
        assert 'name="confidence" value="95"' in text
        assert 'name="before" value="5"' in text
    if path == "/explain":  # it began with ε = 1
        (rho,) = re.findall(r'name="rho" value="([\d.]+)"', text)
        most = rectangle(promise_in(thread.keys()), "zcdp", 0.0)["rho"]
        assert most * (1 - 1e-3) < float(rho) <= most
        assert re.search(r'<option value="concentrated"[^>]* selected>', text)


def test_each_screen_begins_with_the_promise(client: Any) -> None:
    series = client.get(THREAD.to("/series")).text
    assert 'name="before" value="5"' in series
    assert 'name="limit" value="12"' in series
    assert 'name="budget" value="0.07933"' in series  # a twelfth of .95201, rounded down
    explain = client.get(THREAD.to("/explain")).text
    assert 'name="epsilon" value="0.9520"' in explain
    assert 'name="before" value="5"' in explain
    value = Thread.saying(tolerance={"posterior": 0.12, "q": 0.05, "about": "value"})
    explain = client.get(value.to("/explain")).text
    assert 'name="before" value="100"' in explain  # known to be in
    assert 'name="value" value="5"' in explain
    for path in ("/explain", "/explain/me"):
        shown = client.get(value.to(path)).text
        assert "12 in 100" in shown
        assert "7.9 in 100" not in shown
    typed = client.get(THREAD.to("/explain", epsilon=2)).text
    assert 'name="epsilon" value="2"' in typed  # what a person typed goes before
    cost = client.get(Thread.saying(budget={"epsilon": 0.5}).to("/cost")).text
    assert 'name="epsilon" value="0.5"' in cost


@pytest.mark.parametrize(
    "condition",
    [
        Condition(),
        Condition(worry="value", known=80.0),
        Condition(worry="both", before=5.0),
        Condition("unless", "both", after=25.0, fold=3.0),
        Condition("ratio", "in", fold=2.5),
        Condition("difference", "value", points=20.0, known=100.0),
        Condition("formula", "both"),
    ],
)
def test_a_sentence_comes_back_as_it_went(condition: Condition) -> None:
    asked = Asked((condition,))
    found = asked_of(Thread.saying(tolerance=asked.to_mapping()).keys())
    assert found is not None
    assert found.to_mapping() == asked.to_mapping()
    both = Asked((condition, Condition("ratio", fold=4.0)), delta=1e-6, confidence=0.95)
    found = asked_of(Thread.saying(tolerance=both.to_mapping()).keys())
    assert found is not None
    assert found.to_mapping() == both.to_mapping()


@pytest.mark.parametrize(
    "promise",
    [
        "tolerance: {table: /etc/hostname}",
        "tolerance: {all: [{table: t.csv}]}",
        "tolerance: {ratio: [}",
        "tolerance: 3",
        "budget: {epsilon: x}",
        "budget: {epsilon: -1}",
        "account: {}",
        "x" * 5000,
    ],
)
def test_a_promise_that_cannot_be_read_is_left_behind(client: Any, promise: str) -> None:
    assert Thread.of({"promise": promise}).promise == ""
    answer = client.get("/series", params={"promise": promise})
    assert answer.status_code == 200
    assert told(answer.text) == ""


def test_what_is_left_is_counted_in_releases(client: Any, tmp_path: Any) -> None:
    from discreet.ledger import Ledger
    from discreet.releases import release

    folder = Workfolder(tmp_path)
    spec = read(folder, written(begin(folder, "hospital")))
    ledger = Ledger.open(spec.ledger_url)
    ledger.open_account(
        spec.account,
        unit="person",
        adjacency="add-remove",
        filter="pure",
        promise=spec.promise_keys,
        approver="A",
        reason="B",
    )
    thread = Thread.in_spec(spec.to_dict() | {"ledger": "sqlite:///example.db"})
    first = shown_to(thread, folder)
    assert first is not None
    assert (first.sentence, first.left) == (SENTENCE, "nothing spent yet")
    release(spec)
    second = shown_to(thread, folder)
    assert second is not None
    assert second.left == "3 of 4 releases like the last left"
    account = ledger.account(spec.account)
    same = Thread.of_account("example.db", ledger, account)
    assert choose(same.keys()).epsilon == choose(KEYS).epsilon
    assert shown_to(same, folder) == second.model_copy(update={"query": shown_to(same).query})
    # Once it is withdrawn, no screen tells it as if it held, and participants are told no figures.
    (promise,) = ledger.promises(spec.account)
    ended = {"approver": "B. Board", "reason": "required by law"}
    ledger.withdraw(spec.account, promise.registered.id, **ended)
    third = shown_to(thread, folder)
    assert third is not None
    assert third.sentence.startswith("Withdrawn on 20")
    assert (third.budget, third.left) == ("", "")
    page = client.get(thread.to("/explain/me"))
    assert "This promise was withdrawn on" in page.text
    assert "required by law" in page.text
    assert "in 100" not in page.text


@pytest.mark.parametrize("name", known())
def test_a_situation_is_ready_to_be_charged(tmp_path: Any, name: str) -> None:
    folder = Workfolder(tmp_path)
    spec = begin(folder, name)
    assert begin(folder, name) == spec  # the same file, not another one
    assert len(known()[name].data()) < 24_000
    found = look(folder, read(folder, written(spec)))
    assert found.outlook.account is None
    assert found.outlook.promises[0].fits_again == (0 if known()[name].synthetic else 3)
    path = tmp_path / spec["source"]
    path.write_text("mine,own\n1,2\n", encoding="utf-8")
    assert begin(folder, name)["source"] == f"example-{name}-2.csv"
    assert path.read_text(encoding="utf-8").startswith("mine")  # nothing is overwritten


def test_an_example_that_is_not_there(client: Any) -> None:
    answer = client.post("/release/example/bank")
    assert answer.status_code == 422
    assert "hospital" in answer.json()["message"]


# -- in a browser

expect = import_module("playwright.sync_api").expect


@pytest.mark.slow
def test_the_menu_undo_and_redo_follow_the_promise(page_at: Callable[..., Any]) -> None:
    page = page_at("/tolerate")
    until(page, "document.querySelectorAll('.chart svg').length > 0")
    page.wait_for_timeout(1100)  # changes within a second are one step
    line = page.locator("#thread")
    page.fill("[name=after]", "20")
    expect(line).to_contain_text("more than 20 % sure")
    expect(line).to_contain_text("ε = 1.5581")
    page.click("#undo")
    expect(page.locator("[name=after]")).to_have_value("12")
    expect(line).to_contain_text("more than 12 % sure")
    page.click("#redo")
    expect(line).to_contain_text("more than 20 % sure")
    page.get_by_role("link", name="Series", exact=True).click()
    expect(page.locator("[name=limit]")).to_have_value("20")
    expect(line).to_contain_text("more than 20 % sure")
    page.fill("[name=years]", "2")
    until(page, "document.getElementById('belief-chart').querySelector('svg') !== null")
    until(page, "location.search.includes('years=2')")
    assert "promise=" in page.url
    page.get_by_role("link", name="Explain", exact=True).click()
    expect(page.locator("[name=epsilon]")).to_have_value("1.5581")
    page.get_by_role("link", name="Series", exact=True).click()
    expect(page.locator("[name=years]")).to_have_value("2")  # as this tab left it
    page.get_by_role("link", name="Tolerate", exact=True).click()
    page.fill("[name=after]", "30")
    expect(line).to_contain_text("more than 30 % sure")
    page.get_by_role("link", name="Series", exact=True).click()
    expect(page.locator("[name=limit]")).to_have_value("30")  # under another promise, anew
    assert line.evaluate("part => getComputedStyle(part).position") == "sticky"


@pytest.mark.slow
def test_the_promise_that_is_typed_goes_along_to_other_data(
    page_at: Callable[..., Any], site: Any
) -> None:
    (site.folder / "along.csv").write_text("person,county\n")
    page = page_at(THREAD.to("/series", years=2))
    onward = page.get_by_role("link", name="Release data under it")
    expect(onward).to_have_attribute("href", re.compile("series=24$"))
    page.fill("[name=years]", "3")
    expect(onward).to_have_attribute("href", re.compile("series=36$"))
    onward.click()
    page.get_by_role("link", name="along.csv").click()
    expect(page.locator("[name='series.releases']")).to_have_value("36")
    page.fill("[name='tolerance.posterior']", "20 %")
    expect(page.locator("#thread")).to_contain_text("more than 20 % sure")
    for part, name in (("#files a[href*='along.csv']", "href"), ("#upload", "action")):
        expect(page.locator(part)).to_have_attribute(
            name, re.compile(r"posterior%3A\+0.2%2C.*=36$")
        )


@pytest.mark.slow
def test_an_example_goes_the_whole_way(
    page_at: Callable[..., Any], accessible: Callable[..., None], shoot: Callable[[Any, str], None]
) -> None:
    page = page_at("/tolerate", 360)
    page.get_by_role("button", name="Try it Census").click()
    page.wait_for_url("**/release?spec=*")
    expect(page.locator("[aria-current=step]")).to_have_text("Account")
    page.fill("#approver", "A. Curator")
    page.fill("#reason", "to try it")
    page.click("text=Show what it promises")
    page.click("button:text-is('Open the account')")
    page.click("text=Go on to the charge")
    expect(page.locator("[aria-current=step]")).to_have_text("Charge")
    page.click("#make button")
    page.wait_for_url("**/made/*")
    expect(page.locator("#thread")).to_contain_text("3 of 4 releases like the last left")
    shoot(page, "example-made-360")
    accessible(page)
    page.get_by_role("link", name="Ledger", exact=True).click()
    expect(page.locator("#thread")).to_contain_text("3 of 4 releases")
    page.get_by_role("link", name="Explain", exact=True).click()
    expect(page.locator("#thread")).to_contain_text("3 of 4 releases")
    accessible(page)
