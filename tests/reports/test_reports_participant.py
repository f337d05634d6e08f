"""The participant's page: never below the truth, checked by the verifier, without a server."""

from __future__ import annotations

import json
import math
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from forging import rewritten
from kept import APPROVED
from stories import BASE, Made, made, opened, own_report

import browsers
from discreet.beliefs import Prior, explain
from discreet.composition import loss_of
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.reports.folder import Report, report
from discreet.reports.participant import PLACES, participant_table
from discreet.reports.verifier import examined


def problems(folder: Path) -> list[str]:
    found: list[str] = examined(folder).answer()["problems"]
    return found


def table_of(folder: Path) -> dict[str, Any]:
    page = (folder / "participant.html").read_text(encoding="utf-8")
    (said,) = re.findall(r'id="table">(.*?)</script>', page)
    found: dict[str, Any] = json.loads(said)
    return found


@pytest.fixture
def found(pure: Made, tmp_path: Path) -> Report:
    return own_report(pure, tmp_path)[1]


@pytest.mark.parametrize("total", [PureDP(0.5), ApproxDP(1.0, 1e-6), ZCDP(0.1)], ids=str)
def test_every_row_is_the_bound_rounded_up(total: Guarantee) -> None:
    sure = 1.0 if isinstance(total, PureDP) else 0.99
    table = participant_table(total, sure)
    for place, percentage in enumerate(PLACES):
        x = percentage / 100
        wanted = {
            "in": explain(total, Prior(x), confidence=min(sure, 1 - 1e-12)).posterior.upper,
            "value": explain(total, Prior(1, x), confidence=min(sure, 1 - 1e-12)).posterior.upper,
            "joining": loss_of(total).right_guess(x),
        }
        for name, bound in wanted.items():
            row = table[name][place]
            assert row["p"] == x
            assert min(1.0, bound) - 1e-12 <= row["most"] <= bound + 1e-6
            many, of = (int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", row["after"]))
            assert many / of >= row["most"] - 1e-12
            assert row["marks"][0] <= 100 * x + 1e-9
            assert row["marks"][1] >= 100 * row["most"] - 1e-9


@pytest.mark.parametrize("part", ["in", "value", "joining"])
@pytest.mark.parametrize("key", ["most", "after", "marks", "p"])
def test_a_row_that_says_less_is_found(found: Report, part: str, key: str) -> None:
    path = found.folder / "participant.html"
    page, table = path.read_text(encoding="utf-8"), table_of(found.folder)
    assert problems(found.folder) == []
    before = json.dumps(table, separators=(",", ":"))
    row = table[part][9]
    row[key] = {
        "most": row["most"] - 0.001,
        "after": "1 in 100",
        "marks": [row["marks"][0], row["marks"][1] - 1],
        "p": table[part][8]["p"],
    }[key]
    path.write_text(page.replace(before, json.dumps(table, separators=(",", ":"))), "utf-8")
    rewritten(found.folder)  # the manifest fits again
    told = problems(found.folder)
    assert any("participant.html" in one for one in told), told


def test_a_page_without_its_table_or_its_promise_is_found(found: Report) -> None:
    path = found.folder / "participant.html"
    page = path.read_text(encoding="utf-8")
    for altered in (
        page.replace('id="table"', 'id="tables"'),
        page.replace("25 %", "2 %"),
        page.replace('"joining":[', '"joining":null,"other":['),
    ):
        assert altered != page
        path.write_text(altered, encoding="utf-8")
        rewritten(found.folder)
        assert problems(found.folder)
    path.unlink()
    rewritten(found.folder)
    assert problems(found.folder)


def test_it_is_one_file_that_asks_for_nothing(found: Report) -> None:
    page = (found.folder / "participant.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:|//)|fetch\(|import """, page)
    assert "default-src 'none'" in page
    assert len(page) < 40_000
    for name in ("report.html", "statement.md"):
        assert "participant.html" in (found.folder / name).read_text(encoding="utf-8")


@pytest.mark.slow
def test_on_a_phone_from_disk(browser: Any, found: Report) -> None:
    expect = import_module("playwright.sync_api").expect
    errors: list[str] = []
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.goto((found.folder / "participant.html").as_uri())
    table = table_of(found.folder)
    thirty = table["in"][PLACES.index(30)]
    expect(page.locator("#after")).to_have_text(thirty["after"])
    assert page.locator("#figures .before").count() == thirty["marks"][0]
    assert page.locator("#figures .before, #figures .after").count() == thirty["marks"][1]
    page.focus("#suspect")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#after")).to_have_text(table["in"][PLACES.index(35)]["after"])
    assert page.get_attribute("#suspect", "aria-valuetext") == "35 in 100"
    page.check("[name=about][value=value]")
    expect(page.locator("#after")).to_have_text(table["value"][PLACES.index(35)]["after"])
    page.focus("#without")
    page.keyboard.press("End")
    expect(page.locator("#in")).to_have_text(table["joining"][-1]["after"])
    expect(page.locator("#out")).to_have_text(table["joining"][-1]["before"])
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    answer = page.locator("#after").bounding_box()
    assert answer["y"] < 2500
    # Axe is put in by evaluation, which the page's own policy does not forbid to the browser.
    browsers.accessible(page)
    page.emulate_media(color_scheme="dark")
    browsers.accessible(page, colours=True)
    context.close()
    assert not errors
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto((found.folder / "participant.html").as_uri())
    expect(plain.locator("#after")).to_have_text(thirty["after"])
    assert plain.locator("#suspect").is_hidden()
    plain.locator("summary").click()
    expect(plain.locator("tbody tr")).to_have_count(len(PLACES))
    plain.context.close()


def test_a_series_says_what_holds_so_far_and_when_all_is_out(tmp_path: Path) -> None:
    """Someone who decides whether to join needs the end of the year, not its first month."""
    opened(tmp_path)
    spec = BASE | {"budget": {"epsilon": 1.2}, "series": {"releases": 12}}
    first = made(tmp_path, spec)
    page = report(first.release_id, ledger=first.ledger).folder / "participant.html"
    shown = re.sub(r"<[^>]*>", " ", page.read_text(encoding="utf-8"))
    now, end = (explain(PureDP(e), Prior(0.3)).posterior.upper for e in (0.1, 1.2))
    assert "number 1 of 12" in shown
    assert f"at most {math.ceil(100 * now)} in 100. When all 12 are out" in shown
    assert f"it can be at most {math.ceil(100 * end)} in 100" in shown
    assert "With everything that was published so far:" in shown


def _told(made: Made) -> list[str]:
    """What the report's page and the participant's page say of a series."""
    folder = report(made.release_id, ledger=made.ledger).folder
    pages = [(folder / name).read_text("utf-8") for name in ("report.html", "participant.html")]
    return [re.search(r"This is number [^<]*", page)[0] for page in pages]  # type: ignore[index]


def test_a_series_is_counted_by_its_promise_whatever_file_is_read(tmp_path: Path) -> None:
    """Each month reads another file under another name: it is one series of the account."""
    ledger = opened(tmp_path, cap=PureDP(9.0))
    promise = {"posterior": 0.62, "p": 0.3, "about": "membership"}
    spec = BASE | {"tolerance": promise, "series": {"releases": 2}}
    first = made(tmp_path, spec)
    assert all("number 1 of 2 that we plan to" in text for text in _told(first))
    assert all(text.endswith("it can be at most 62 in 100.") for text in _told(first))
    second = made(tmp_path, spec | {"about": {"name": "the second month"}})
    for k, one in enumerate((first, second), 1):
        for text in _told(one):
            assert f"number {k} of 2 that we planned to publish, and all 2 are out" in text
            assert text.endswith("at most 62 in 100.")
    ledger.withdraw("people", next(iter(ledger.show("people").account.promises)), **APPROVED)
    weaker = spec | {"tolerance": promise | {"posterior": 0.9}}
    assert all("number 1 of 2 that we plan to" in text for text in _told(made(tmp_path, weaker)))


def test_no_future_belief_passes_what_a_promise_allows(tmp_path: Path) -> None:
    """What is left of a series or of the cap counts no further than the promise of the account."""
    ledger = opened(tmp_path, cap=PureDP(9.0))
    promise = {"posterior": 0.62, "p": 0.3, "about": "membership"}
    ledger.charge("people", PureDP(0.4), purpose="made elsewhere", who="x")
    series = made(tmp_path, BASE | {"tolerance": promise, "series": {"releases": 2}})
    assert all(text.endswith("it can be at most 62 in 100.") for text in _told(series))
    one = made(tmp_path, BASE | {"budget": {"epsilon": 0.1}})
    page = report(one.release_id, ledger=one.ledger).folder / "participant.html"
    assert "approved is used, it can be at most 62 in 100" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("report.html", "number 1 of 12", "number 2 of 12"),
        ("participant.html", "number 1 of 12", "number 1 of 2"),
        ("participant.html", "This is number 1 of 12 that we plan to publish.", ""),
        (
            "participant.html",
            "out, it can be at most 59 in 100",
            "out, it can be at most 58 in 100",
        ),
    ],
)
def test_a_series_that_is_told_otherwise_is_a_problem(
    tmp_path: Path, name: str, old: str, new: str
) -> None:
    opened(tmp_path)
    one = made(tmp_path, BASE | {"budget": {"epsilon": 1.2}, "series": {"releases": 12}})
    folder = report(one.release_id, ledger=one.ledger).folder
    assert problems(folder) == []
    page = folder / name
    text = page.read_text(encoding="utf-8")
    assert old in text
    page.write_text(text.replace(old, new), encoding="utf-8")
    rewritten(folder)
    assert any("series" in line for line in problems(folder))


def test_two_series_of_budgets_in_numbers_are_counted_apart(tmp_path: Path) -> None:
    opened(tmp_path)
    spec = BASE | {"budget": {"epsilon": 1.0}, "series": {"releases": 4}}
    made(tmp_path, spec)
    assert "number 2 of 4" in _told(made(tmp_path, spec | {"about": {"name": "May"}}))[0]
    assert "number 1 of 4" in _told(made(tmp_path, spec | {"purpose": "another table"}))[0]
    assert "number 1 of 4" in _told(made(tmp_path, spec | {"budget": {"epsilon": 0.4}}))[0]


def test_what_is_approved_and_not_yet_spent_is_told(found: Report, tmp_path: Path) -> None:
    opened(tmp_path)
    one = made(tmp_path, BASE | {"budget": {"epsilon": 0.5}})
    page = report(one.release_id, ledger=one.ledger).folder / "participant.html"
    end = explain(PureDP(3.0), Prior(0.3)).posterior.upper  # the cap
    wanted = f"If all that is approved is used, it can be at most {math.ceil(100 * end)} in 100"
    assert wanted in page.read_text(encoding="utf-8")
    # The promise of this account is used up: whatever its cap is, nothing more may follow.
    assert "is approved" not in (found.folder / "participant.html").read_text(encoding="utf-8")
