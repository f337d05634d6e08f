"""One promise from the sentence to the verifier: the same facts in every file, and edits found."""

from __future__ import annotations

import hashlib
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from forging import edited, rechained, rewritten, verified
from kept import STORIES
from stories import BASE, Made, made, opened, own_report, reported

from discreet.beliefs import explain
from discreet.guarantees import ApproxDP
from discreet.ledger import Amount, Ledger
from discreet.reports.folder import Report, report
from soaking import chequered

FORMULAS = ("formula",)
BARE = ("numbers",)


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """A story, made when it is first asked for."""
    found: dict[str, Made] = {}

    def tell(name: str) -> Made:
        if name not in found:
            found[name] = STORIES[name](tmp_path_factory.mktemp(name))
        return found[name]

    return tell


# -- the same facts everywhere


class Tables(HTMLParser):
    """The tables of a page, as rows of cells; and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.text, self.inside = "", False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.inside:
            self.tables[-1][-1][-1] += data


def in_markdown(text: str) -> tuple[list[list[str]], str]:
    """The table of what may be learned, and the sentence below it."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("| believed before"))
    last = next(i for i in range(first, len(lines)) if not lines[i].startswith("|"))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[first:last]]
    return [rows[0], *rows[2:]], lines[last + 1]


def in_page(text: str) -> list[list[str]]:
    tables = Tables(text).tables
    return next(table for table in tables if table[0][0] == "believed before")


def shares(row: list[str]) -> list[float | None]:
    return [None if cell == "–" else float(cell.removesuffix(" %")) for cell in row]


def agree(made: Made, found: Report) -> list[list[str]]:
    """Assert that four files state the same facts; return their table."""
    released, sure = in_markdown((made.folder / "statement.md").read_text(encoding="utf-8"))
    again, sure_again = in_markdown((found.folder / "statement.md").read_text(encoding="utf-8"))
    html = found.html.read_text(encoding="utf-8")
    assert released == again == in_page(html)
    assert sure == sure_again
    assert sure in Tables(html).text
    facts = json.loads((found.folder / "statement.json").read_text(encoding="utf-8"))
    learned, unit = facts["learned"], facts["unit"]["subject"]
    for sentence in [one["sentence"] for one in facts["promises"]]:
        for text in (made.folder / "statement.md", found.folder / "statement.md"):
            assert f"**{sentence}**" in text.read_text(encoding="utf-8")
        assert sentence in Tables(html).text
    assert unit in sure
    level = "every possible output" if learned["holds_with"] == 1 else "with probability"
    assert level in sure
    if learned["holds_with"] < 1:
        assert f"{100 * learned['holds_with']:g} %" in sure
    events = {
        "membership": f"that {unit} is in the data, at most",
        "value": f"a value of {unit}, known to be in, at most",
        "both": f"that {unit} is in the data with the value, at most",
        "guess": "on average, a guess of a value",
    }
    columns = [name for name in events if any(row[name] is not None for row in learned["rows"])]
    header, *rows = released
    assert len(header) == 1 + len(columns)
    for cell, name in zip(header[1:], columns, strict=True):
        assert events[name] in cell
    assert len(rows) == len(learned["rows"])
    for shown, row in zip(rows, sorted(learned["rows"], key=itemgetter("prior")), strict=True):
        for cell, name in zip(shares(shown), ["prior", *columns], strict=True):
            if row[name] is None:
                assert cell is None
            else:  # rounded up, by less than the last figure shown
                assert cell is not None
                assert -1e-9 <= cell - 100 * row[name] < 0.1
    return released


@pytest.mark.parametrize("name", [name for name in STORIES if name != "both"])
def test_every_file_states_the_same_facts(told: Callable[[str], Made], name: str) -> None:
    agree(*reported(told(name)))


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("membership", "| 5 % | 12 % |"),
        ("value", "| 5 % |"),
        ("approximate", "| 5 % | 20 % |"),
        ("replaced", "| 10 % | 30 % |"),
        ("synthetic", "| 10 % | 50 % |"),
        ("both", "| 5 % | – | – |"),
    ],
)
def test_the_promises_own_prior_has_a_row_in_its_place(
    told: Callable[[str], Made], name: str, row: str
) -> None:
    _, found = reported(told(name))
    rows, _ = in_markdown((found.folder / "statement.md").read_text(encoding="utf-8"))
    (own,) = (cells for cells in rows[1:] if f"| {' | '.join(cells)} |".startswith(row))
    priors = [float(cells[0].removesuffix(" %")) for cells in rows[1:]]
    assert priors == sorted(priors)
    if name == "value":
        assert own[2] == "12 %"


def test_what_is_said_of_the_data_stands_in_the_release(told: Callable[[str], Made]) -> None:
    text = (told("sensitive").folder / "statement.md").read_text(encoding="utf-8")
    assert "a visit to the clinic" in text
    household = (told("household").folder / "statement.md").read_text(encoding="utf-8")
    assert "one household of up to 4" in household
    assert "one person" not in household
    assert "Anything beyond one household of up to 4: several of them together." in household
    bare = (told("numbers").folder / "statement.md").read_text(encoding="utf-8")
    assert "No promise was made about beliefs" in bare


def test_two_statements_of_one_release_do_not_contradict_each_other(tmp_path: Path) -> None:
    """ε = 0.5, δ = 0.02: one said 49.8 % at 90 %, the other 60 in 100 at 95 %."""
    opened(tmp_path, filter="basic", cap=ApproxDP(4.0, 0.5))
    found = {"count": "rows", "by": ["county"], "keys": {"discover": {"delta": 0.02}}}
    spec = BASE | {"statistics": [found], "budget": {"epsilon": 0.5, "delta": 0.02}}
    one = made(tmp_path, spec)
    stated = report(one.release_id, ledger=one.ledger)
    rows = agree(one, stated)
    assert stated.statement.facts["learned"]["holds_with"] == 0.95
    truth = explain(ApproxDP(0.5, 0.02), 0.3, confidence=0.95).posterior
    assert truth is not None
    shown = next(row for row in rows if row[0] == "30 %")[1]
    assert shown == f"{math.ceil(1000 * truth.upper - 1e-9) / 10:g} %"
    assert verified(stated.folder)[0] == 0


# -- the verifier


@pytest.mark.parametrize("name", STORIES)
def test_the_verifier_recomputes_every_promise(told: Callable[[str], Made], name: str) -> None:
    story, found = reported(told(name))
    code, out = verified(found.folder, "--ledger", str(story.home / "ledger.db"))
    assert code == 0, out
    assert "WRONG" not in out
    promises = found.statement.facts["promises"]
    assert (not promises) == (name in BARE)
    for one in promises:
        if name in FORMULAS:
            assert "?     promise kept at a grid of priors, unproven" in out
        else:
            assert f"ok    promise kept: {one['sentence']}" in out


def name_of(keys: Any) -> str:
    text = json.dumps(keys, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _keys(**changes: Any) -> Callable[[Any], None]:
    return lambda said: said["promises"][0]["keys"].update(changes)


def _one(**changes: Any) -> Callable[[Any], None]:
    return lambda said: said["promises"][0].update(changes)


def _named(said: Any) -> None:
    _keys(posterior=0.5)(said)
    said["promises"][0]["id"] = name_of(said["promises"][0]["keys"])


def _sentence(said: Any) -> None:
    said["promises"][0]["sentence"] = said["promises"][0]["sentence"].replace("12 %", "10 %")


def _words(said: Any) -> None:
    said["promises"][0]["sentence"] = "Nothing at all may be learned by anyone."


def _added(said: Any) -> None:
    keys = {"ratio": 1.01, "every_output": True}
    sentence = "For everyone, the belief changes at most 1.01-fold, up or down."
    more = {"keys": keys, "id": name_of(keys), "sentence": sentence, "about": "both"}
    said["promises"].append(said["promises"][0] | more)


def _cell(name: str, factor: float, both: bool) -> Callable[[Any], None]:
    def change(said: Any) -> None:
        row = next(row for row in said["learned"]["rows"] if row[name] is not None)
        old = row[name]
        row[name] *= factor
        for belief in said["risk"]["beliefs"] if both else ():
            if belief["about"] == name and belief["upper"] == old:
                belief["upper"] *= factor

    return change


def _adjacency(said: Any) -> None:
    said["risk"]["total"]["adjacency"] = said["unit"]["adjacency"] = "replace"
    said["learned"]["adjacency"] = "replace"


GONE = {"at": "2030-01-01T00:00:00.000000Z", "approver": "A. Approver", "reason": "no reason"}
EDITS: dict[str, Callable[[Any], Any]] = {
    "the posterior of the keys": _keys(posterior=0.5),
    "the posterior and the name": _named,
    "a wider box": _keys(p=0.01),
    "all priors instead of one": lambda said: said["promises"][0]["keys"].pop("p"),
    "the confidence": _keys(confidence=0.5),
    "an output less": lambda said: said["promises"][0]["keys"].pop("every_output"),
    "a figure of the sentence": _sentence,
    "the words of the sentence": _words,
    "the limit": _one(limit={"epsilon": "3"}),
    "the name": _one(id="0" * 16),
    "the time": _one(at="2020-01-01T00:00:00.000000Z"),
    "a promise less": lambda said: said["promises"].pop(),
    "a promise more": _added,
    "a withdrawal": _one(withdrawn=GONE),
    "whether it is kept": _one(kept=False),
    "what it is about": _one(about="value"),
    "the adjacency": _adjacency,
    "a cell of the table": _cell("membership", 0.9, both=False),
    "a value in the table": _cell("value", 0.9, both=False),
    "a guess in the table": _cell("guess", 0.9, both=False),
    "a guess, a little": _cell("guess", 0.999999, both=False),
    "a belief in a value": _cell("value", 0.999, both=True),
    "a belief in membership": _cell("membership", 0.999, both=True),
    "how surely the table holds": lambda said: said["learned"].update(holds_with=0.99),
    "whom the table is about": lambda said: said["learned"].update(unit="one family"),
    "the unit": lambda said: said["unit"].update(unit="household", subject="one household"),
}


@pytest.mark.parametrize("what", EDITS)
def test_a_promise_that_is_edited_in_the_statement_is_noticed(
    told: Callable[[str], Made], tmp_path: Path, what: str
) -> None:
    _, found = own_report(told("membership"), tmp_path)
    edited(found.folder / "statement.json", EDITS[what])
    rewritten(found.folder)
    code, out = verified(found.folder)
    assert code == 1, out
    assert "WRONG" in out


@pytest.mark.parametrize(
    ("name", "column"),
    chequered(["concentrated", "both", "approximate"], ["membership", "value", "both", "guess"]),
)
def test_a_belief_that_holds_with_a_confidence_is_recomputed(
    told: Callable[[str], Made], tmp_path: Path, name: str, column: str
) -> None:
    _, found = own_report(told(name), tmp_path)
    if all(row[column] is None for row in found.statement.facts["learned"]["rows"]):
        return
    edited(found.folder / "statement.json", _cell(column, 0.999, both=True))
    rewritten(found.folder)
    code, out = verified(found.folder)
    assert code == 1
    assert re.search(r"WRONG (belief|guess)", out)


def test_a_promise_that_is_edited_in_the_chain_is_noticed(
    told: Callable[[str], Made], tmp_path: Path
) -> None:
    _, found = own_report(told("membership"), tmp_path)

    def change(said: Any) -> None:
        for row in said["chain"]:
            row["body"] = row["body"] and row["body"].replace('"posterior":0.12', '"posterior":0.5')

    edited(found.folder / "evidence.json", change)
    code, out = verified(found.folder)
    assert code == 1
    assert "(promise)" in out.split("WRONG", 1)[1]


def forged(
    found: Report, change: Callable[[dict[str, Any]], Any], words: tuple[str, str] | None = None
) -> None:
    """Change the keys of a promise in the chain, in the statement and in the texts alike."""
    old = found.statement.facts["promises"][0]["id"]
    keys = dict(found.statement.facts["promises"][0]["keys"])
    change(keys)
    new = name_of(keys)

    def entry(body: dict[str, Any]) -> None:
        if body["kind"] == "promise":
            body["promise"] |= {"id": new, "keys": keys}
        limits = body.get("standing", {}).get("promises", {})
        if old in limits:
            limits[new] = limits.pop(old)

    rechained(found.folder, entry)
    for name in ("statement.json", "statement.md", "report.html"):
        path = found.folder / name
        text = path.read_text(encoding="utf-8").replace(old, new)
        path.write_text(text.replace(*words) if words else text, encoding="utf-8")
    edited(found.folder / "statement.json", _one(id=new, keys=keys))
    rewritten(found.folder)


def test_a_weaker_promise_forged_everywhere_is_noticed(
    told: Callable[[str], Made], tmp_path: Path
) -> None:
    copy, found = own_report(told("membership"), tmp_path)
    head = found.statement.facts["spending"]["head"]
    forged(found, lambda keys: keys.update(posterior=0.5))
    code, out = verified(found.folder)
    assert code == 1
    assert "its sentence has its figures" in out.split("WRONG", 1)[1]
    # With the sentence changed as well, the released file still has the promise that was made.
    again = report(copy.release_id, ledger=copy.ledger)
    words = ("more than 12 % sure", "more than 50 % sure")
    forged(again, lambda keys: keys.update(posterior=0.5), words)
    code, out = verified(again.folder)
    assert code == 1
    assert "WRONG no promise that the release was made under is left out" in out
    assert "WRONG the head kept elsewhere" in verified(again.folder, "--head", head)[1]


def test_a_stronger_promise_than_is_kept_is_noticed(
    told: Callable[[str], Made], tmp_path: Path
) -> None:
    _, found = own_report(told("membership"), tmp_path)
    words = ("more than 12 % sure", "more than 11.9 % sure")
    forged(found, lambda keys: keys.update(posterior=0.119), words)
    code, out = verified(found.folder)
    assert code == 1
    assert "WRONG promise broken: Nobody who starts at 5 % becomes more than 11.9 % sure" in out


def test_a_limit_that_does_not_keep_its_promise_is_noticed(
    told: Callable[[str], Made], tmp_path: Path
) -> None:
    """What was spent would keep it; what may yet be spent would not."""
    _, found = own_report(told("concentrated"), tmp_path)
    name = found.statement.facts["promises"][0]["id"]
    wider = {"rho": "0.5", "delta": "0"}

    def entry(body: dict[str, Any]) -> None:
        if body["kind"] == "promise":
            body["promise"]["limit"] = wider
        limits = body.get("standing", {}).get("promises", {})
        limits |= {name: wider} if name in limits else {}

    rechained(found.folder, entry)
    edited(found.folder / "statement.json", _one(limit=wider))
    rewritten(found.folder)
    code, out = verified(found.folder)
    assert code == 1
    assert "WRONG promise broken" in out


def test_a_limit_that_is_not_carried_on_or_is_passed_is_noticed(
    told: Callable[[str], Made], tmp_path: Path
) -> None:
    copy, found = own_report(told("membership"), tmp_path)

    def dropped(body: dict[str, Any]) -> None:
        if body["kind"] in ("reserve", "commit"):
            body["standing"].pop("promises")

    rechained(found.folder, dropped)
    rewritten(found.folder)
    code, out = verified(found.folder)
    assert code == 1
    assert "the limits of promises are carried on" in out.split("WRONG", 1)[1]

    again = report(copy.release_id, ledger=copy.ledger)

    def passed(body: dict[str, Any]) -> None:
        if body["kind"] == "promise":
            body["promise"]["limit"] = {"epsilon": "0.1"}
        for limit in body.get("standing", {}).get("promises", {}).values():
            limit["epsilon"] = "0.1"

    rechained(again.folder, passed)
    edited(again.folder / "statement.json", _one(limit={"epsilon": "0.1"}))
    rewritten(again.folder)
    code, out = verified(again.folder)
    assert code == 1
    assert "the charge is within every promise" in out.split("WRONG", 1)[1]


def test_a_formula_can_be_refuted(told: Callable[[str], Made], tmp_path: Path) -> None:
    _, found = own_report(told("formula"), tmp_path)
    words = ("max(0.25/(p*q), 3)", "max(0.25/(p*q), 2)")
    forged(found, lambda keys: keys.update(profile=words[1]), words)
    code, out = verified(found.folder)
    assert code == 1
    assert "WRONG promise broken" in out


# -- what becomes of a promise


def test_a_withdrawal_is_told_everywhere(told: Callable[[str], Made], tmp_path: Path) -> None:
    copy, first = own_report(told("membership"), tmp_path)
    ledger = Ledger.open(copy.ledger)
    before = first.statement.facts
    name = before["promises"][0]["id"]
    reason = "the <law> changed | at last"
    ledger.withdraw("people", name, approver="B. Approver", reason=reason)
    found = report(copy.release_id, ledger=copy.ledger)
    (gone,) = found.statement.facts["promises"]
    assert gone["withdrawn"]["approver"] == "B. Approver"
    day = gone["withdrawn"]["at"][:10]
    code, out = verified(found.folder, "--ledger", str(copy.home / "ledger.db"))
    assert code == 0, out
    ended = f"promise {name} was kept until it was withdrawn on {day} (B. Approver: {reason})"
    assert f"ok    {ended}" in out
    assert "promise kept" not in out
    alone = [sys.executable, "-I", str(found.folder / "verify.py")]
    short = subprocess.run(alone, capture_output=True, text=True, check=False).stdout
    assert ended in short
    told_so = f"was kept until it was withdrawn on {day}, approved by B. Approver: {reason}"
    text = (found.folder / "statement.md").read_text(encoding="utf-8")
    assert told_so.replace("<", "&lt;").replace("|", "\\|") in text
    assert "<law>" not in text
    assert "**Was tightest for**" in text
    assert "**Tightest for**" not in text
    page = Tables(found.html.read_text(encoding="utf-8")).text
    assert told_so in page
    assert "This promise allowed ε = " in page
    assert "This promise allows" not in page
    # Its prior is no longer the first row: nothing is promised of it.
    assert not any(row["own"] for row in found.statement.facts["learned"]["rows"])
    for change in (_one(withdrawn=None), lambda said: said["promises"].pop()):
        edited(found.folder / "statement.json", change)
        rewritten(found.folder)
        assert verified(found.folder)[0] == 1
        report(copy.release_id, ledger=copy.ledger)


def test_a_promise_made_again_after_its_withdrawal_is_kept_again(
    told: Callable[[str], Made], tmp_path: Path
) -> None:
    from discreet.guarantees import PureDP
    from discreet.promises import promise_in

    copy, first = own_report(told("membership"), tmp_path)
    ledger = Ledger.open(copy.ledger)
    (one,) = first.statement.facts["promises"]
    ledger.withdraw("people", one["id"], approver="B", reason="a mistake")
    again = promise_in(one["keys"])
    weaker = promise_in({"posterior": 0.5, "p": 0.05, "about": "membership", "every_output": True})
    ledger.charge("people", PureDP(0.5), purpose="more", who="x", promise=weaker)
    found = report(copy.release_id, ledger=copy.ledger)
    code, out = verified(found.folder)
    assert code == 0, out
    assert out.count("promise kept") == 1
    assert out.count("until it was withdrawn on") == 1
    assert again.id == one["id"]


def test_a_larger_cap_leaves_a_promise_as_it_is(tmp_path: Path) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    keys = {"ratio": 3, "about": "membership", "confidence": 0.99}
    ledger.open_account(
        "people", unit="person", adjacency="add-remove", filter="basic", promise=keys,
        cap=ApproxDP(0.5, 1e-6), approver="A", reason="test",
    )  # fmt: skip
    one = made(tmp_path, BASE | {"budget": {"epsilon": 0.5}})
    more = Amount.of(epsilon=0.25, delta=0.0)
    ledger.grant("people", add=more, approver="B", reason="more")
    ledger.charge("people", ApproxDP(0.25, 1e-7), purpose="more", who="x")
    found = report(one.release_id, ledger=one.ledger)
    code, out = verified(found.folder)
    assert code == 0, out
    assert out.count("ok    promise kept") == 1
