"""The participant's page: never below the truth, checked by the verifier, without a server."""

from __future__ import annotations

import json
import math
import re
from importlib import import_module
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from forging import rewritten
from kept import APPROVED
from reading_grade import HARDEST, grade
from stories import BASE, Made, made, opened, own_report

import browsers
from discreet.beliefs import Prior, explain, join
from discreet.composition import loss_of
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.reports import verifier
from discreet.reports.folder import Report, report
from discreet.reports.participant import (
    PLACES,
    _joining,
    joining_words,
    participant_table,
)
from discreet.reports.verifier import examined
from discreet.words import catalogue


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


TOTALS = [PureDP(0.16), PureDP(0.95), ApproxDP(1.0, 1e-6), ZCDP(0.1)]


def bounds(total: Guarantee, sure: float, x: float) -> dict[str, float]:
    """What each column has to bound, and the question that two of them answer."""
    how: Any = {"confidence": min(sure, 1 - 1e-12)}
    return {
        "in": explain(total, Prior(x), **how).posterior.upper,  # type: ignore[union-attr]
        "value": explain(total, Prior(1, x), **how).posterior.upper,  # type: ignore[union-attr]
        "joining": loss_of(total).right_guess(x),
    }


@pytest.mark.parametrize("total", TOTALS, ids=str)
def test_every_row_is_the_bound_rounded_up_to_two_figures(total: Guarantee) -> None:
    sure = 1.0 if isinstance(total, PureDP) else 0.99
    table = participant_table(total, sure)
    assert list(PLACES) == list(range(1, 100))  # even steps: 33 is there as 30 is
    for place in PLACES:
        for name, bound in bounds(total, sure, place / 100).items():
            row = table["now"][name][place - 1]
            step = 1 if 10 <= 100 * bound <= 99 else 0.1 if bound < 0.999 else 0.01
            assert 100 * bound - 1e-9 <= row <= 100 * bound + step + 1e-9
            assert row <= 100


@pytest.mark.parametrize("total", TOTALS, ids=str)
def test_what_they_think_of_one_who_joins_is_bounded_by_the_column_of_values(
    total: Guarantee,
) -> None:
    """The page answers its third question with that column: it may be above, never below."""
    sure = 0.99
    table = participant_table(total, 1.0 if isinstance(total, PureDP) else sure)
    for place in PLACES:
        (believed,) = join(total, place / 100, confidence=sure).joined
        assert 100 * believed <= table["now"]["value"][place - 1] + 1e-9


@pytest.mark.parametrize("total", TOTALS, ids=str)
def test_the_verifier_recomputes_every_row_and_no_other_passes(total: Guarantee) -> None:
    sure = 1.0 if isinstance(total, PureDP) else 0.99
    said = {"kind": total.kind, "adjacency": "add-remove"}
    said |= {name: getattr(total, name, None) for name in ("epsilon", "delta", "rho")}
    table = participant_table(total, sure)["now"]
    for name in ("in", "value", "joining"):
        rows = table[name]
        assert verifier.shown_otherwise(name, rows, said, sure) == []
        for place in (1, 5, 30, 98):
            step = 1 if 10 <= rows[place - 1] <= 99 else 0.1
            searched = name == "joining" and total.kind == "concentrated"  # with a wider bound
            more = () if searched else (rows[place - 1] + 2 * step,)
            for wrong in (rows[place - 1] - step, *more):
                altered = [*rows[: place - 1], wrong, *rows[place:]]
                assert verifier.shown_otherwise(name, altered, said, sure) == [place]


@pytest.fixture
def yearly(tmp_path: Path) -> Path:
    """Two of twelve months under a promise: the folder of the second month's report."""
    opened(tmp_path)
    keys = {"posterior": 0.12, "p": 0.05, "about": "membership"}
    spec = BASE | {"tolerance": keys, "series": {"releases": 12}}
    made(tmp_path, spec)
    second = made(tmp_path, spec | {"about": {"name": "the second month"}})
    return report(second.release_id, ledger=second.ledger).folder


def text_of(folder: Path, name: str = "participant.html") -> str:
    page = (folder / name).read_text(encoding="utf-8")
    page = re.sub(r"<style>.*?</style>|<script.*?</script>|</?b\b[^>]*>", "", page, flags=re.S)
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


@pytest.mark.parametrize("stage", ["now", "end"])
@pytest.mark.parametrize("part", ["in", "value", "joining"])
def test_a_row_that_says_less_is_found(yearly: Path, part: str, stage: str) -> None:
    path = yearly / "participant.html"
    page, table = path.read_text(encoding="utf-8"), table_of(yearly)
    assert problems(yearly) == []
    before = json.dumps(table, separators=(",", ":"))
    assert before in page
    table[stage][part][8] -= 0.1
    path.write_text(page.replace(before, json.dumps(table, separators=(",", ":"))), "utf-8")
    rewritten(yearly)  # the manifest fits again
    told = problems(yearly)
    assert any(f"participant.html, {part}" in one for one in told), told


def test_a_page_that_hides_its_end_or_begins_otherwise_is_found(yearly: Path) -> None:
    path = yearly / "participant.html"
    page, table = path.read_text(encoding="utf-8"), table_of(yearly)
    whole = json.dumps(table, separators=(",", ":"))
    hidden = json.dumps(table | {"end": None}, separators=(",", ":"))
    for altered in (
        page.replace(whole, hidden),
        page.replace('"start":30', '"start":3'),
        page.replace("# in 100", "# in 1000"),
        page.replace('<b data-of="end.joining">73 in 100', '<b data-of="end.joining">37 in 100'),
        page.replace('<b data-of="now.chosen">34 in 100', '<b data-of="now.chosen">31 in 100'),
        page.replace('data-of="end.chosen"', 'data-of="now.chosen"'),
    ):
        assert altered != page
        path.write_text(altered, encoding="utf-8")
        rewritten(yearly)
        assert any("participant.html" in one for one in problems(yearly))


def test_a_page_without_its_table_or_its_promise_is_found(found: Report) -> None:
    path = found.folder / "participant.html"
    page = path.read_text(encoding="utf-8")
    for altered in (
        page.replace('id="table"', 'id="tables"'),
        page.replace("25 %", "2 %"),
        page.replace('"joining":[', '"joining":null,"other":[', 1),
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
def test_on_a_phone_from_disk(browser: Any, yearly: Path) -> None:
    expect = import_module("playwright.sync_api").expect
    errors: list[str] = []
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.goto((yearly / "participant.html").as_uri())
    table = table_of(yearly)

    def shows(place: int, chosen: str) -> None:
        """Every figure on the page follows the one slider and the choice."""
        for one in page.locator("[data-of]").all():
            stage, about = one.get_attribute("data-of").split(".")
            column = chosen if about == "chosen" else about
            most = place if stage == "before" else table[stage][column][place - 1]
            expect(one).to_have_text(f"{most:g} in 100")
        marked = math.ceil(table["end"][chosen][place - 1])
        assert page.locator("#figures .before").count() == place
        assert page.locator("#figures .before, #figures .after").count() == marked
        assert page.get_attribute("#suspect", "aria-valuetext") == f"{place} in 100"
        assert page.input_value("#typed") == str(place)

    shows(30, "in")
    page.focus("#suspect")
    page.keyboard.press("ArrowRight")
    shows(31, "in")
    page.check("[name=about][value=value]")
    shows(31, "value")
    page.fill("#typed", "33")
    shows(33, "value")
    for refused in ("", "0", "250", "4.5"):
        page.fill("#typed", refused)
        page.locator("#typed").blur()
        shows(33, "value")
    page.focus("#suspect")
    page.keyboard.press("End")
    shows(99, "value")
    assert page.locator("input[type=range]").count() == 1  # one worry
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    answer = page.locator("[data-of='end.chosen']").bounding_box()
    assert answer["y"] < 900
    # Axe is put in by evaluation, which the page's own policy does not forbid to the browser.
    page.locator("summary").click()
    browsers.accessible(page)
    page.emulate_media(color_scheme="dark")
    browsers.accessible(page, colours=True)
    context.close()
    assert not errors
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto((yearly / "participant.html").as_uri())
    expect(plain.locator("[data-of='end.chosen']")).to_have_text("53 in 100")
    assert plain.locator("#suspect").is_hidden()
    plain.locator("summary").click()
    expect(plain.locator("tbody tr")).to_have_count(21)
    plain.context.close()


def test_every_number_for_a_participant_is_told_so_far_and_in_the_end(yearly: Path) -> None:
    """Someone who decides whether to join needs the end of the year, not its second month."""
    shown = text_of(yearly)
    assert "This is number 2 of 12 that we plan to publish." in shown
    now, end = (PureDP(e) for e in (0.158669, 0.952008))  # two months of twelve, and all
    for told, so_far, later in (
        (
            "So far: from 30 in 100 to at most {now}. When all 12 are out: to at most {end}.",
            bounds(now, 1.0, 0.3)["in"],
            bounds(end, 1.0, 0.3)["in"],
        ),
        (
            "If the chance of it is 30 in 100 when your data stay out, it is so far at most {now} "
            "if you join. When all 12 are out, it is at most {end}.",
            bounds(now, 1.0, 0.3)["joining"],
            bounds(end, 1.0, 0.3)["joining"],
        ),
        (
            "leaves them at 30 in 100 when your data stay out, it is so far at most {now} if you "
            "join. When all 12 are out, it is at most {end}.",
            join(now, 0.3).joined[0],
            join(end, 0.3).joined[0],
        ),
    ):
        most = {"now": so_far, "end": later}
        wanted = {name: f"{math.ceil(100 * x)} in 100" for name, x in most.items()}
        assert told.format(**wanted) in shown, told
    assert "the larger numbers count" in shown
    # A tenth that joins: 26 in 100 in the end, and 43 for what someone thinks.
    table = table_of(yearly)
    assert (table["end"]["joining"][9], table["end"]["value"][9]) == (26, 43)


def test_the_sentence_on_the_series_follows_the_choice(yearly: Path) -> None:
    """A value can be learned better than being in: one number never stands for the other."""
    table = table_of(yearly)
    assert (table["now"]["value"][29], table["end"]["value"][29]) == (38, 75)
    assert (table["now"]["in"][29], table["end"]["in"][29]) == (34, 53)
    page = (yearly / "participant.html").read_text(encoding="utf-8")
    fixed = re.sub(r"<b data-of=[^<]*</b>|<details>.*?</details>|<script.*?</script>", "", page)
    assert re.findall(r"\d+ in 100", re.sub(r"<style>.*?</style>", "", fixed, flags=re.S)) == [
        "30 in 100", "1 in 100", "99 in 100",
    ]  # fmt: skip  # the slider's own: its place, and its ends


def test_the_end_is_told_with_the_condition_that_it_rests_on(yearly: Path) -> None:
    """A promise may be withdrawn, and a cap raised: what was said of the end would fail."""
    told = "What is said of the end holds as long as the promise stands and the cap is not raised."
    assert grade(told) <= HARDEST
    for name in ("participant.html", "report.html", "statement.md"):
        shown = text_of(yearly, name)
        assert shown.count(told) == 1
        assert "may ever be charged" not in shown
        assert "A named person" in shown
    assert "counts all that is charged to the account while it stands" in shown


@pytest.mark.parametrize("name", ["participant.html", "report.html", "statement.md"])
def test_an_end_without_its_condition_is_found(yearly: Path, tmp_path: Path, name: str) -> None:
    folder = Path(copytree(yearly, tmp_path / "report"))
    text = (folder / name).read_text(encoding="utf-8")
    told = re.search(r"(<p>)?What is said of the end holds [^.]*\.(</p>)?", text)
    assert told is not None
    (folder / name).write_text(text.replace(told[0], ""), encoding="utf-8")
    rewritten(folder)
    assert problems(folder)


def test_the_report_tells_both_too_and_of_what(yearly: Path) -> None:
    for name in ("report.html", "statement.md"):
        shown = text_of(yearly, name)
        told = (
            "Say someone thinks the chance is 5 in 100 that one person is in the data. So far they "
            "can come to think it is at most 5.9 in 100. When all 12 are out, it can be at most 12 "
            "in 100."
        )
        assert told in shown
        assert "When all 12 are out, it can be at most 13 in 100." in shown  # joining


def test_the_column_on_guesses_is_explained_once_and_not_on_the_first_page(yearly: Path) -> None:
    for name in ("report.html", "statement.md", "released/statement.md"):
        shown = text_of(yearly, name)
        assert shown.count("is an average over the noise: someone who guesses a value right") == 1
        assert shown.index("on average, a guess") < shown.index("The column on guesses")
    page = (yearly / "report.html").read_text(encoding="utf-8")
    assert "The column on guesses" not in page.split('id="curator"')[0]


def test_one_denominator_for_all_figures(yearly: Path) -> None:
    for name in ("participant.html", "report.html"):
        assert set(re.findall(r"\d in ([\d,]*\d)", text_of(yearly, name))) <= {"100"}


def test_the_words_are_for_participants(yearly: Path) -> None:
    shown = text_of(yearly)
    assert "every possible output" not in shown
    assert "This holds whatever is published." in shown
    assert not re.search(r"\d{4}-\d\d-\d\dT", shown)
    assert re.search(r"made \d{4}-\d\d-\d\d ", shown)
    texts = catalogue().entry("reports.participant")
    words = {"left": "your data stay out", "joined": "if you join"}
    for name in ("happens_so_far", "thought_so_far", "decides", "knows"):
        values = {"before": "30 in 100", "now": "34 in 100", "end": "53 in 100"}
        told = texts[name].format(when="When all 12 are out", **values, **words)
        assert grade(told) <= HARDEST, told


def test_a_visit_is_not_a_person(tmp_path: Path) -> None:
    """Where one visit is protected, no sentence promises as much of all that one gave."""
    opened(tmp_path, unit="record", unit_name="one visit")
    protect = {"unit": "record", "name": "one visit"}
    one = made(tmp_path, BASE | {"protect": protect, "budget": {"epsilon": 0.5}})
    shown = text_of(report(one.release_id, ledger=one.ledger).folder)
    assert "when the data of one visit stay out, it is so far at most" in shown
    assert "your data" not in shown
    assert "that I am in the data" not in shown


def _folder(made: Made) -> Path:
    return made.folder / "report"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the third of four releases, which the cap lets no other follow."""
    one = _of_four(tmp_path_factory.mktemp("stopped"), 1.1)[-1]
    return report(one.release_id, ledger=one.ledger).folder


def _told(made: Made) -> list[str]:
    """What the report's page and the participant's page say of a series."""
    folder = report(made.release_id, ledger=made.ledger).folder
    return [text_of(folder, name) for name in ("report.html", "participant.html")]


def test_a_series_is_counted_by_its_promise_whatever_file_is_read(tmp_path: Path) -> None:
    """Each month reads another file under another name: it is one series of the account."""
    ledger = opened(tmp_path, cap=PureDP(9.0))
    promise = {"posterior": 0.62, "p": 0.3, "about": "membership"}
    spec = BASE | {"tolerance": promise, "series": {"releases": 2}}
    first = made(tmp_path, spec)
    assert all("number 1 of 2 that we plan to" in text for text in _told(first))
    assert "When all 2 are out, it can be at most 62 in 100." in _told(first)[0]
    assert "When all 2 are out: to at most 62 in 100." in _told(first)[1]
    second = made(tmp_path, spec | {"about": {"name": "the second month"}})
    for k, one in enumerate((first, second), 1):
        for text in _told(one):
            assert f"number {k} of 2 that we planned to publish, and all 2 are out" in text
            assert "at most 62 in 100" in text
            assert "If all that is approved" not in text  # the promise is used up
    ledger.withdraw("people", next(iter(ledger.show("people").account.promises)), **APPROVED)
    weaker = spec | {"tolerance": promise | {"posterior": 0.9}}
    assert all("number 1 of 2 that we plan to" in text for text in _told(made(tmp_path, weaker)))


def test_no_future_belief_passes_what_a_promise_allows(tmp_path: Path) -> None:
    """What is left of a series or of the cap counts no further than the promise of the account."""
    ledger = opened(tmp_path, cap=PureDP(9.0))
    promise = {"posterior": 0.62, "p": 0.3, "about": "membership"}
    ledger.charge("people", PureDP(0.4), purpose="made elsewhere", who="x")
    series = made(tmp_path, BASE | {"tolerance": promise, "series": {"releases": 2}})
    assert "If all that is approved is used, it can be at most 62 in 100." in _told(series)[0]
    assert "If all that is approved is used: to at most 62 in 100." in _told(series)[1]
    for text in _told(series):
        assert "to publish. For now the promise stops them after 1." in text
        assert "When all 2 are out" not in text
    one = made(tmp_path, BASE | {"budget": {"epsilon": 0.1}})
    assert "If all that is approved is used: to at most 62 in 100" in _told(one)[1]


def test_what_a_promise_allows_is_told_where_there_is_no_cap(tmp_path: Path) -> None:
    """Without a cap the promise alone says how far it can go; without either, nothing does."""
    keys = {"posterior": 0.62, "p": 0.3, "about": "membership"}
    opened(tmp_path, cap=None)
    one = made(tmp_path, BASE | {"budget": {"epsilon": 0.1}})
    folder = report(one.release_id, ledger=one.ledger).folder
    assert "More may follow, and nothing limits it" in text_of(folder)
    assert "More may follow, and nothing limits it" in text_of(folder, "report.html")
    assert problems(folder) == []
    made(tmp_path, BASE | {"tolerance": keys, "series": {"releases": 2}})
    shown = _told(one)
    assert "If all that is approved is used: to at most 62 in 100" in shown[1]
    assert "If all that is approved is used, it can be at most 62 in 100" in shown[0]
    assert problems(folder) == []


def test_an_end_that_bounds_nothing_is_told_as_certainty(tmp_path: Path) -> None:
    """A cap with δ = 0.02 bounds no belief with probability 99 %: then it may become certain."""
    opened(tmp_path, filter="basic", cap=ApproxDP(3.0, 0.02))
    one = made(tmp_path, BASE | {"budget": {"epsilon": 0.5, "delta": 1e-6}})
    folder = report(one.release_id, ledger=one.ledger).folder
    assert "If all that is approved is used: to at most 100 in 100." in text_of(folder)
    assert "it can be at most 100 in 100" in text_of(folder, "report.html")
    assert problems(folder) == []


def test_what_they_think_of_one_who_joins_may_fail_by_chance_and_something_bad_may_not() -> None:
    """The bound on a belief holds with the confidence; that on a chance always."""
    for total, times in ((ZCDP(0.01), 1), (PureDP(0.1), 0)):
        table = participant_table(total, 0.99 if times else 1.0)
        shown = _joining(table, "then", joining_words("person", "one person"))
        happens, thought = re.findall(r"<p>(.*?)</p>", shown)
        assert "may fail" not in happens
        assert thought.count("By chance, this may fail in 1 in 100 cases.") == times


def test_an_end_that_may_fail_by_chance_says_so(tmp_path: Path) -> None:
    """Nothing of the cap's δ is spent so far: what holds always by now need not in the end."""
    opened(tmp_path, filter="basic", cap=ApproxDP(3.0, 1e-6))
    one = made(tmp_path, BASE | {"budget": {"epsilon": 0.5}})
    folder = report(one.release_id, ledger=one.ledger).folder
    end = explain(ApproxDP(3.0, 1e-6), Prior(0.3), confidence=0.99).posterior.upper
    wanted = f"{math.ceil(100 * end)} in 100"
    assert f"If all that is approved is used: to at most {wanted}." in text_of(folder)
    for name in ("participant.html", "report.html"):
        assert "By chance, this may fail in 1 in 100 cases." in text_of(folder, name)
    assert problems(folder) == []


def test_where_everyone_is_in_a_value_is_told_so_far_and_in_the_end(tmp_path: Path) -> None:
    opened(tmp_path, adjacency="replace", cap=PureDP(2.0, adjacency="replace"))  # type: ignore[arg-type]
    protect = BASE["protect"] | {"adjacency": "replace"}
    spec = BASE | {"protect": protect, "budget": {"epsilon": 0.4}, "series": {"releases": 4}}
    one = made(tmp_path, spec)
    folder = report(one.release_id, ledger=one.ledger).folder
    table = table_of(folder)
    assert table["now"]["in"] is table["end"]["joining"] is None
    assert table["end"]["value"][29] > table["now"]["value"][29] > 30
    assert "does not hide whether you take part" in text_of(folder)
    assert problems(folder) == []


def test_a_promise_about_a_value_is_told_with_figures_about_a_value(tmp_path: Path) -> None:
    """Those about being in the data are smaller: 7.9 in 100 beside a promise of 12."""
    opened(tmp_path)
    keys = {"posterior": 0.12, "q": 0.05, "about": "value"}
    one = made(tmp_path, BASE | {"tolerance": keys, "series": {"releases": 6}})
    folder = report(one.release_id, ledger=one.ledger).folder
    for text in (text_of(folder, "report.html"), text_of(folder, "statement.md")):
        known_in = "that one person, known to be in the data, has the sensitive value"
        assert f"the chance is 5 in 100 {known_in}. So far" in text
        assert "When all 6 are out, it can be at most 12 in 100." in text
        assert "7.9 in 100" not in text
    assert table_of(folder)["about"] == "value"
    assert "When all 6 are out: to at most 53 in 100." in text_of(folder)  # from 30
    assert problems(folder) == []
    page = (folder / "participant.html").read_text(encoding="utf-8")
    assert "a value of mine, when it is known that I am in them" in page
    other = page.replace('value="in"', 'value="in" checked').replace('"value" checked', '"value"')
    (folder / "participant.html").write_text(other, encoding="utf-8")
    rewritten(folder)
    assert any("begins with rows of its table" in one for one in problems(folder))


def test_a_series_under_a_cap_that_allows_more_is_told_with_the_cap(tmp_path: Path) -> None:
    """Another charge to the account made the end of a series larger than what was told."""
    ledger = opened(tmp_path)  # a cap of 3
    one = made(tmp_path, BASE | {"budget": {"epsilon": 0.6}, "series": {"releases": 6}})
    end = math.ceil(100 * explain(PureDP(3.0), Prior(0.3)).posterior.upper)
    for more in (None, PureDP(1.0)):
        if more is not None:
            ledger.charge("people", more, purpose="made elsewhere", who="x")
        for text in _told(one):
            assert "number 1 of 6 that we plan to publish" in text
            assert "When all 6 are out" not in text
            assert re.search(rf"If all that is approved is used\W .*at most {end} in 100", text)
    assert problems(tmp_path / "out" / one.release_id / "report") == []


def _of_four(home: Path, cap: float) -> list[Made]:
    """A series of four, each of ε = 0.3, up to the third, under a cap that may have been raised."""
    ledger = opened(home, cap=PureDP(1.0))
    ledger.grant("people", add=PureDP(round(cap - 1.0, 3)), **APPROVED)
    spec = BASE | {"budget": {"epsilon": 1.2}, "series": {"releases": 4}}
    return [made(home, spec) for _ in range(3)]


@pytest.mark.parametrize("cap", [1.1, 1.0, 1.199])
def test_a_series_that_the_cap_stops_is_not_told_to_its_end(tmp_path: Path, cap: float) -> None:
    """The figure of the end is that of the cap: with all four out it would be larger."""
    end = math.ceil(100 * explain(PureDP(cap), Prior(0.3)).posterior.upper)
    for k, one in enumerate(_of_four(tmp_path, cap), 1):
        for text in (*_told(one), text_of(_folder(one), "statement.md")):
            assert f"number {k} of 4 that we plan to publish. For now the cap stops them" in text
            assert "stops them after 3." in text
            assert "When all 4 are out" not in text
            assert re.search(rf"If all that is approved is used\W .*at most {end} in 100", text)
        assert problems(_folder(one)) == []


def test_a_series_that_the_cap_lets_end_is_told_to_its_end(tmp_path: Path) -> None:
    for one in _of_four(tmp_path, 1.2):
        for text in (*_told(one), text_of(_folder(one), "statement.md")):
            assert "When all 4 are out" in text
            assert "stops them after" not in text
        assert problems(_folder(one)) == []


@pytest.mark.parametrize("name", ["report.html", "participant.html", "statement.md"])
@pytest.mark.parametrize(
    ("told", "instead"),
    [
        ("If all that is approved is used", "When all 4 are out"),
        ("For now the cap stops them after 3.", ""),
        ("the cap stops them after 3", "the promise stops them after 3"),
        ("the cap stops them after 3", "the cap stops them after 4"),
    ],
)
def test_an_end_that_the_cap_does_not_allow_is_found(
    stopped: Path, tmp_path: Path, name: str, told: str, instead: str
) -> None:
    folder = Path(copytree(stopped, tmp_path / "report"))
    text = (folder / name).read_text(encoding="utf-8")
    assert told in text
    (folder / name).write_text(text.replace(told, instead), encoding="utf-8")
    rewritten(folder)
    assert problems(folder)


def test_a_slot_of_a_plan_tells_its_number(planned: Made) -> None:
    for text in _told(planned):
        assert "This is number 2 of 3 that we plan to publish. The figures here count all" in text
    folder = report(planned.release_id, ledger=planned.ledger).folder
    assert problems(folder) == []
    assert "What may be learned in the end is below" in text_of(folder, "report.html")  # a cap


def test_a_plan_that_uses_up_its_account_is_told_as_the_end(tmp_path: Path) -> None:
    ledger = opened(tmp_path, cap=PureDP(1.5))
    plan = ledger.register_plan("people", [PureDP(0.5)] * 3, PureDP(1.5), purpose="plan", who="x")
    one = made(tmp_path, BASE | {"budget": {"epsilon": 0.5}}, plan_id=plan)
    folder = report(one.release_id, ledger=one.ledger).folder
    text = text_of(folder, "report.html")
    assert "This is number 1 of 3 that we plan to publish. The figures here count all" in text
    assert "This table is about what is out so far" not in text
    assert problems(folder) == []


def test_a_series_that_is_over_tells_what_is_approved_beyond_it(tmp_path: Path) -> None:
    opened(tmp_path)  # a cap of 3
    one = made(tmp_path, BASE | {"budget": {"epsilon": 0.5}, "series": {"releases": 1}})
    end = explain(PureDP(3.0), Prior(0.3)).posterior.upper
    shown = _told(one)[1]
    assert "number 1 of 1 that we planned to publish, and it is out" in shown
    assert f"If all that is approved is used: to at most {math.ceil(100 * end)} in 100" in shown


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("report.html", "number 1 of 12", "number 2 of 12"),
        ("participant.html", "number 1 of 12", "number 1 of 2"),
        ("participant.html", "This is number 1 of 12 that we plan to publish.", ""),
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
    wanted = f"If all that is approved is used: to at most {math.ceil(100 * end)} in 100"
    assert wanted in text_of(page.parent)
    # The promise of this account is used up: whatever its cap is, nothing more may follow.
    assert "is approved" not in (found.folder / "participant.html").read_text(encoding="utf-8")
