"""What becomes of a promise after a report, and what a release made later says of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any

import jsonschema
import pytest
from forging import edited, rewritten, verified
from stories import BASE, Made, made, opened

import discreet
from discreet.errors import DiscreetError
from discreet.guarantees import PureDP
from discreet.reports import verifier
from discreet.reports.facts import statement_schema

KEYS = {"posterior": 0.12, "p": 0.05, "about": "membership", "every_output": True}
PAGES = ("statement.md", "report.html")


@dataclass(frozen=True)
class Story:
    """Releases before and after a withdrawal, reports of the account before and after each step."""

    first: Made
    third: Made
    ledger: str
    before: Path
    before_release: Path
    granted: Path
    withdrawn: Path
    after: Path
    head_of_others: str
    promise: str
    sentence: str


def _copied(folder: Path, name: str) -> Path:
    return Path(copytree(folder, folder.with_name(name)))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    with pytest.MonkeyPatch.context() as one:  # charts take most of a report's time
        one.setattr("discreet.reports.folder.pictures", lambda statement: {})
        yield _story(tmp_path_factory)


def _story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    home = tmp_path_factory.mktemp("withdrawn")
    ledger = opened(home, promise=KEYS, cap=None)
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    ledger.open_account("others", cap=PureDP(1.0), approver="A", reason="test", **terms)
    first = made(home, BASE | {"budget": {"epsilon": 0.3}})
    made(home, BASE | {"budget": {"epsilon": 0.4}, "purpose": "the second"})
    url = first.ledger

    def account(name: str) -> Path:
        return _copied(discreet.report(account="people", ledger=url).folder, name)

    before = account("before")
    before_release = _copied(discreet.report(first.release_id, ledger=url).folder, "report-before")
    third = BASE | {"budget": {"epsilon": 0.4}, "purpose": "the third"}
    with pytest.raises(DiscreetError, match="would break a promise"):
        made(home, third)
    ledger.grant("people", add=PureDP(0.5), approver="G. Granter", reason="more is needed")
    granted = account("granted")
    (promise,) = ledger.account("people").promises
    ledger.withdraw("people", promise, approver="B. Approver", reason="the law changed")
    withdrawn = account("only-withdrawn")
    later = made(home, third)
    ledger.charge("others", PureDP(0.5), purpose="not to be told", who="someone")
    others = discreet.report(account="others", ledger=url).statement.facts["spending"]["head"]
    after = discreet.report(account="people", ledger=url)
    for one in (first, later):
        discreet.report(one.release_id, ledger=url)
    (one,) = after.statement.facts["promises"]
    return Story(
        first, later, url, before, before_release, granted, withdrawn, after.folder, others,
        promise, one["sentence"],
    )  # fmt: skip


def _text(folder: Path, name: str) -> str:
    return verifier.plain((folder / name).read_text(encoding="utf-8"))


def _facts(folder: Path) -> Any:
    return json.loads((folder / "statement.json").read_text(encoding="utf-8"))


def answered(folder: Path, ledger: str | None = None, **more: Any) -> dict[str, Any]:
    rows = None if ledger is None else partial(verifier.sqlite_rows, ledger)
    return verifier.examined(folder, ledger=rows, **more).answer()


# -- whose promise it was


def test_a_release_after_the_withdrawal_opens_with_no_promise(told: Story) -> None:
    """It was never under that one, which is told after, as an earlier one."""
    folder = told.third.folder
    none, gone = "No promise about beliefs is in force.", "An earlier promise was kept until it was"
    for name in ("statement.md", "report/statement.md", "report/report.html"):
        text = _text(folder, name)
        assert text.index(none) < text.index(gone) < text.index(told.sentence)
        assert "approved by B. Approver (the law changed)" in text
        assert "This promise was" not in text
    (one,) = _facts(folder / "report")["promises"]
    assert (one["covers"], one["kept"]) == (False, True)
    jsonschema.validate(_facts(folder / "report"), statement_schema())
    page = _text(folder / "report", "participant.html")
    assert page.index(none) < page.index(gone)
    record = " ".join((folder / "report" / "registry.yaml").read_text("utf-8").split())
    for words in (none, "An earlier promise was kept", "B. Approver", "the law changed"):
        assert words in record


def test_a_statement_is_titled_by_what_it_is(told: Story) -> None:
    """Of a promise only where one speaks of what it is about."""
    for name in ("statement.md", "report/statement.md"):
        title = _text(told.third.folder, name).partition(": ")[0]
        assert title == "# What may be learned from this release"
        title = _text(told.first.folder, name).partition(": ")[0]
        assert title == "# What this release promises"
    assert _text(told.before, "statement.md").startswith("# What is promised of everything ")
    for folder in (told.withdrawn, told.after):
        title = "# What may be learned from everything charged to account people"
        assert _text(folder, "statement.md").startswith(title)


def test_a_release_before_the_withdrawal_opens_with_its_promise(told: Story) -> None:
    for name in PAGES:
        text = _text(told.first.folder / "report", name)
        assert "No promise about beliefs is in force" not in text
        assert "This promise was kept until it was withdrawn on" in text
        assert text.index(told.sentence) < text.index("approved by B. Approver: the law changed")
    assert _facts(told.first.folder / "report")["promises"][0]["covers"] is True


def test_an_account_tells_under_which_promise_each_release_was_made(told: Story) -> None:
    facts = _facts(told.after)
    charged = [row for row in facts["history"] if row["kind"] == "reserve"]
    assert [row["promises"] for row in charged] == [[told.promise], [told.promise], []]
    (entry,) = [row["entry"] for row in facts["history"] if row["kind"] == "promise"]
    (table,) = [
        one for one in verifier.tables_written((told.after / "statement.md").read_text("utf-8"))
        if len(one[0]) == 10
    ]  # fmt: skip
    assert [row[8] for row in table] == [str(entry), str(entry), "none"]
    assert [row[5] for row in table] == [row["who"] for row in charged]
    assert "| charged by |" in (told.after / "statement.md").read_text("utf-8")
    opening = next(row for row in facts["history"] if row["kind"] == "open")
    assert opening["cap"] == next(iter(facts["spending"]["approvals"]))["cap"]
    # The day of an entry alone does not tell which of two came first.
    for row, cells in zip(charged, table, strict=True):
        assert cells[1] == f"{row['at'][:10]} {row['at'][11:19]} UTC"
    assert "covers" not in facts["promises"][0]
    assert _text(told.after, "statement.md").index("No promise about beliefs is in force.") > 0


def test_every_report_of_the_story_verifies(told: Story) -> None:
    reports = [told.before, told.granted, told.withdrawn, told.after]
    reports += [one.folder / "report" for one in (told.first, told.third)]
    for folder in reports:
        code, out = verified(folder)
        assert (code, [line for line in out.splitlines() if line.startswith("WRONG")]) == (0, [])


def _covers(said: Any) -> None:
    said["promises"][0]["covers"] = True


def _under(said: Any) -> None:
    history = [row for row in said["history"] if row["kind"] == "reserve"]
    history[-1]["promises"] = history[0]["promises"]


@pytest.mark.parametrize(
    ("which", "name", "forge"),
    [
        ("third", "statement.json", _covers),
        ("after", "statement.json", _under),
        ("third", "statement.md", ("No promise about beliefs is in force.", "Here is more.")),
        ("third", "report.html", ("No promise about beliefs is in force.", "Here is more.")),
        ("third", "participant.html", ("No promise about beliefs is in force.", "More.")),
        ("after", "statement.md", ("An earlier promise was kept until it was withdrawn", "Kept")),
        ("after", "report.html", ("approved by B. Approver (", "approved by C. Approver (")),
        ("after", "statement.md", (" | none | ", " | 3 | ")),
        ("third", "registry.yaml", ("B. Approver", "C. Approver")),
    ],
)
def test_a_release_passed_off_as_promised_is_found(
    told: Story, tmp_path: Path, which: str, name: str, forge: Any
) -> None:
    """Without the ledger, the manifest written anew."""
    source = told.after if which == "after" else told.third.folder / "report"
    folder = Path(copytree(source, tmp_path / "report"))
    if callable(forge):
        edited(folder / name, forge)
    else:
        text = (folder / name).read_text(encoding="utf-8")
        assert forge[0] in text
        (folder / name).write_text(text.replace(*forge, 1), encoding="utf-8")
    rewritten(folder)
    assert answered(folder)["problems"]


# -- who approved a promise

NOBODY = "came with a release or a plan, and nobody is recorded as its approver"


@pytest.mark.parametrize("withdrawn", [True, False])
def test_only_a_promise_of_the_opening_is_said_to_be_approved_by_who_opened(
    tmp_path: Path, withdrawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that came with a release has no approver in the ledger, and no report names one."""
    monkeypatch.setattr("discreet.reports.folder.pictures", lambda statement: {})
    ledger = opened(tmp_path, promise={"posterior": 0.9, "p": 0.05, "about": "membership"})
    if withdrawn:
        (first,) = ledger.account("people").promises
        ledger.withdraw("people", first, approver="B. Approver", reason="the law changed")
    later = {"posterior": 0.2, "p": 0.1, "about": "membership"}
    one = made(tmp_path, BASE | {"promise": later})
    told = f"test; {'the promise' if withdrawn else 'promise 2 of 2'} {NOBODY}"
    named = "Cap" if withdrawn else "Promise and cap"
    for folder in (
        discreet.report(one.release_id, ledger=one.ledger).folder,
        discreet.report(account="people", ledger=one.ledger).folder,
    ):
        day = _facts(folder)["spending"]["approvals"][0]["at"][:10]
        line = f"A. Approver; account opened on {day}: {told}"
        assert f"|{named} approved by {line}|" in _text(folder, "report.html")
        page = (folder / "report.html").read_text(encoding="utf-8")
        assert f"{day}:</span> test;" in page  # no break, and no space, before the colon
        assert f"- **Approved by**: {line}\n" in (folder / "statement.md").read_text("utf-8")
        assert answered(folder)["problems"] == []
        for name, old, new in (
            ("report.html", f"{named} approved by", "Promise approved by"),
            ("report.html", NOBODY, "was approved by A. Approver"),
            ("statement.md", f"; {told[6:]}", ""),
        ):
            before = (folder / name).read_text(encoding="utf-8")
            assert old in before
            (folder / name).write_text(before.replace(old, new), encoding="utf-8")
            rewritten(folder)
            problems = answered(folder)["problems"]
            assert [each for each in problems if "tells who approved" in each]
            (folder / name).write_text(before, encoding="utf-8")


# -- what is out now, beside what it allowed

BEYOND = "What is out now goes beyond what it allowed (ε = 1.1 of ε = 0.952008)."


def test_every_report_says_that_what_is_out_now_goes_beyond_a_withdrawn_promise(
    told: Story,
) -> None:
    for folder in (told.after, told.third.folder / "report", told.first.folder / "report"):
        for name in PAGES:
            assert BEYOND in _text(folder, name)
        (one,) = _facts(folder)["promises"]
        assert (one["kept"], one["exceeded"]) == (True, True)
        assert (
            "what is out now goes beyond what it allowed (ε = 1.1 of ε = 0.95"
            in verified(folder)[1]
        )
    for made_of in (told.third, told.first):
        shown = _text(made_of.folder / "report", "participant.html")
        assert "What is out now goes beyond what it allowed." in shown
    for folder, exceeded in ((told.before, None), (told.withdrawn, False)):
        assert _facts(folder)["promises"][0]["exceeded"] is exceeded
        assert "goes beyond what it allowed" not in _text(folder, "statement.md")
        later = answered(folder, told.ledger)["verdict"], verified(folder, "--ledger", told.ledger)
        assert "what is out now goes beyond what it allowed" in later[1][1]


def test_a_withdrawn_promise_that_stands_first_is_told_in_the_past(told: Story) -> None:
    folder = told.first.folder / "report"
    day = _facts(folder)["promises"][0]["withdrawn"]["at"][:10]
    text = (folder / "statement.md").read_text(encoding="utf-8")
    assert text.split("\n")[2].startswith(f"In force until {day}: **{told.sentence}** {BEYOND}")
    for name in ("report.html", "participant.html"):
        assert f"|In force until {day}: {told.sentence[:60]}" in _text(folder, name)


@pytest.mark.parametrize("which", ["first", "third", "after"])
@pytest.mark.parametrize(
    ("name", "forge"),
    [
        ("statement.md", (BEYOND, "")),
        ("report.html", (BEYOND, "")),
        ("participant.html", ("What is out now goes beyond what it allowed.", "")),
        ("statement.md", (BEYOND, BEYOND.replace("0.952008", "1.2"))),
        ("report.html", ("ε = 1.1 of", "ε = 0.9 of")),
        ("statement.md", ("In force until", "Until")),
        ("statement.json", lambda said: said["promises"][0].update(exceeded=False)),
    ],
)
def test_a_report_that_hides_what_goes_beyond_a_promise_is_found(
    told: Story, tmp_path: Path, which: str, name: str, forge: Any
) -> None:
    source = told.after if which == "after" else getattr(told, which).folder / "report"
    folder = Path(copytree(source, tmp_path / "report"))
    if callable(forge):
        edited(folder / name, forge)
    elif not (folder / name).exists():
        return
    else:
        text = verifier.text_of(folder / name)
        plain = re.sub(r'<span class="whole">([^<]*)</span>', r"\1", text)
        if forge[0] not in plain:
            assert (forge[0], which) in (("In force until", "third"), ("In force until", "after"))
            return
        (folder / name).write_text(plain.replace(*forge), encoding="utf-8")
    rewritten(folder)
    assert answered(folder)["problems"]


@pytest.mark.parametrize("which", ["first", "third", "after"])
def test_what_goes_beyond_a_promise_is_compared_wherever_it_is_told(
    told: Story, tmp_path: Path, which: str
) -> None:
    source = told.after if which == "after" else getattr(told, which).folder / "report"
    folder = Path(copytree(source, tmp_path / "report"))
    text = (folder / "report.html").read_text(encoding="utf-8")
    places = [found.start(1) for found in re.finditer(r"(1)\.1</span> of <span", text)]
    assert len(places) > 1
    for at in places:
        (folder / "report.html").write_text(f"{text[:at]}2{text[at + 1 :]}", encoding="utf-8")
        rewritten(folder)
        assert answered(folder)["problems"]


def test_after_a_withdrawal_the_end_is_told_of_a_value_too(told: Story) -> None:
    """It is the largest figure, and with no promise in force none is spoken of alone."""
    for folder in (told.withdrawn, told.after, told.third.folder / "report"):
        for name in PAGES:
            (more,) = re.findall(r"More may follow\.[^\n|]*", _text(folder, name))
            assert more.count("in the data.") == 1
            known_in = "that one person, known to be in the data, has the sensitive value."
            assert more.count(known_in) == 1
            assert more.count("all that is approved is used, it can be at most") == 3


def test_the_cap_has_figures_enough_that_what_is_spent_and_left_add_up_to_it(
    tmp_path: Path,
) -> None:
    """Six of each do not: 0.763191 and 0.863190 are more than 1.62638."""
    ledger = opened(tmp_path, cap=PureDP(1.6263813))
    ledger.charge("people", PureDP(0.7631907), purpose="x", who="someone")
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    folder = discreet.report(account="people", ledger=url).folder
    text = (folder / "statement.md").read_text(encoding="utf-8")
    for line in (
        "The account now**: ε = 0.763191",
        "Cap**: ε = 1.626381",
        "Remaining**: ε = 0.863190",
    ):
        assert f"- **{line}\n" in text
    assert "within the cap, ε = 1.626381" in _text(folder, "report.html")
    assert not answered(folder, url)["problems"]
    used, most = ledger.account("people").spent.beside(ledger.account("people").cap)
    assert (used, most) == ("ε = 0.763191", "ε = 1.626381")


# -- what the ledger has after the report


@pytest.mark.parametrize("of_account", [True, False])
def test_the_ledger_tells_what_became_of_the_promise_after_the_report(
    told: Story, of_account: bool
) -> None:
    folder = told.before if of_account else told.before_release
    answer = answered(folder, told.ledger)
    assert (answer["verified"], answer["promise_kept"]) == (True, None)
    assert answer["verdict"] == (
        "Everything agrees. No promise is in force. After this report: 1 promise withdrawn; "
        "1 grant; 1 charge, ε = 0.4."
    )
    assert answer["next"] == verifier.ASK_NEW
    told_of = "\n".join(answer["unproven"])
    assert f"promise {told.promise} was withdrawn on 20" in told_of
    assert "(B. Approver: the law changed)" in told_of
    assert "the cap was raised by ε = 0.5 on 20" in told_of
    assert "kept until it was withdrawn on 20" in told_of
    later = "4 later entries of the account are not in this report"
    assert f"{later} (1 charge, ε = 0.4; spent in all ε = 1.1)" in told_of
    code, out = verified(folder, "--ledger", told.ledger)
    assert code == 0
    assert out.splitlines()[:2] == [answer["verdict"], verifier.ASK_NEW]
    assert "promise kept:" not in out
    assert "WRONG" not in out


def test_a_promise_in_force_is_checked_against_what_the_ledger_has_now(
    told: Story, tmp_path: Path
) -> None:
    """Once among others that were withdrawn: those in force are kept."""
    for folder in (told.withdrawn, told.after):
        answer = answered(folder, told.ledger)
        assert answer["promise_kept"] is None
        assert "No promise is in force." in answer["verdict"]
    home = tmp_path / "again"
    home.mkdir()
    ledger = opened(home, promise=[KEYS, KEYS | {"posterior": 0.9}], cap=None)
    url = f"sqlite:///{home / 'ledger.db'}"
    ledger.charge("people", PureDP(0.5), purpose="x", who="someone")
    folder = discreet.report(account="people", ledger=url).folder
    assert "Every promise is kept." in answered(folder, url)["verdict"]
    name = verifier.name_of(_facts(folder)["promises"][0]["keys"])
    ledger.withdraw("people", name, approver="B", reason="test")
    answer = answered(folder, url)
    assert answer["promise_kept"] is True
    assert "Every promise in force is kept." in answer["verdict"]
    # A ledger that was written around the rules: the promise left is broken by now.
    rows = [
        (seq, body.replace('"0.5"', '"5"') if seq > 4 else body, digest)
        for seq, body, digest in verifier.sqlite_rows(url)
    ]
    assert verifier.examined(folder, ledger=lambda: rows).answer()["problems"]


def test_a_charge_beyond_a_promise_after_the_report_breaks_it(told: Story, tmp_path: Path) -> None:
    chain = verifier.Chain("people", None)
    rows = verifier.sqlite_rows(told.ledger)
    evidence = json.loads((told.granted / "evidence.json").read_text(encoding="utf-8"))["chain"]
    assert all(good for good, *_ in chain.check(evidence))
    since = verifier.Since(chain.account)
    assert all(good for good, *_ in since.read(rows, chain))
    since.account.made[told.promise]["withdrawn"] = None  # as if nobody had withdrawn it
    found = verifier.check_promises(
        _facts(told.granted), {}, chain.account, since.account, told.granted
    )
    assert [one[0] for one in found if "promise broken" in one[1]] == [False]


# -- what is not covered


def test_after_the_withdrawal_being_in_the_data_is_told_as_not_covered(told: Story) -> None:
    for folder, open_to in (
        (told.before, False), (told.withdrawn, True), (told.third.folder / "report", True),
    ):  # fmt: skip
        names = [one["name"] for one in _facts(folder)["not_covered"]]
        assert ("Being in the data" in names) == open_to
        text = _text(folder, "statement.md")
        assert ("**Being in the data.** No promise in force covers whether" in text) == open_to


def _emptied(folder: Path, keep: set[str]) -> None:
    """All lines on what is not covered, but for some, taken out of every file."""
    path = folder / "statement.json"
    edited(path, lambda said: said.update(
        not_covered=[one for one in said["not_covered"] if one["name"] in keep]
    ))  # fmt: skip
    for name in ("report.html", "participant.html", "statement.md"):
        if not (folder / name).exists():
            continue
        text = (folder / name).read_text(encoding="utf-8")
        if name.endswith("md"):
            head, tail = text.split("## What is not covered")
            lines = [
                line for line in tail.split("\n")
                if not line.startswith("- **") or any(f"**{one}.**" in line for one in keep)
            ]  # fmt: skip
            text = f"{head}## What is not covered" + "\n".join(lines)
        else:
            for item in re.findall(r"<li><strong>.*?</li>", text):
                if not any(f"<strong>{one}.</strong>" in item for one in keep):
                    text = text.replace(item, "")
        (folder / name).write_text(text, encoding="utf-8")
    rewritten(folder)


@pytest.mark.parametrize(
    "without",
    [None, "Being in the data", "Values", "Groups", "A later decision", "More than one"],
)
@pytest.mark.parametrize("which", ["after", "third"])
def test_what_is_not_covered_cannot_be_left_out_of_all_files(
    told: Story, tmp_path: Path, which: str, without: str | None
) -> None:
    """Without the ledger: which items there are follows from what the chain says."""
    source = told.after if which == "after" else told.third.folder / "report"
    folder = Path(copytree(source, tmp_path / "report"))
    names = {one["name"] for one in _facts(folder)["not_covered"]}
    _emptied(folder, names)
    assert not answered(folder)["problems"]
    _emptied(folder, names - {without} if without else set())
    found = answered(folder)["problems"]
    assert len(found) == 1
    assert "names all that is not covered" in found[0]
    lacking = names if without is None else {without}
    assert {*found[0].partition("but not: ")[2].split(", ")} == lacking


@pytest.mark.parametrize("name", ["participant.html", "report.html", "statement.md"])
def test_a_line_on_what_is_not_covered_left_out_of_one_file_is_found(
    told: Story, tmp_path: Path, name: str
) -> None:
    folder = Path(copytree(told.third.folder / "report", tmp_path / "report"))
    text = (folder / name).read_text(encoding="utf-8")
    item = re.search(r"<li><strong>Being.*?</li>|- \*\*Being[^\n]*\n", text)
    assert item is not None
    (folder / name).write_text(text.replace(item[0], ""), encoding="utf-8")
    rewritten(folder)
    assert answered(folder)["problems"]


def test_the_line_on_wording_names_the_files_that_there_are(told: Story) -> None:
    names = {"report.html", "statement.md", "statement.json", "participant.html", "registry.yaml"}
    for folder in (told.after, told.third.folder / "report"):
        (line,) = [one for one in answered(folder)["unproven"] if "the true ones" in one]
        assert {name for name in names if name in line} == {
            name for name in names if (folder / name).exists()
        }


# -- a head from the report of another account


def test_a_head_of_a_later_entry_of_another_account_is_settled_by_the_witness(
    told: Story, tmp_path: Path
) -> None:
    folder, head = told.after, told.head_of_others
    evidence = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))["chain"]
    own, hashes = len(evidence), [row["hash"] for row in evidence]
    rows = verifier.sqlite_rows(told.ledger)
    (later,) = [seq for seq, _, digest in rows if digest == head]
    assert later > own
    answer = answered(folder, head=head)
    assert not answer["verified"]
    assert "every charge to another account" in answer["next"]

    def witness(seqs: list[int]) -> Path:
        path = tmp_path / f"{len(seqs)}.json"
        lines = [{"ledger_id": rows[0][2], "head": rows[s - 1][2], "seq": s} for s in seqs]
        path.write_text("".join(f"{json.dumps(one)}\n" for one in lines), encoding="utf-8")
        return path

    answer = answered(folder, head=head, witness=witness([own - 2, own, later]))
    assert (answer["verified"], answer["vouched_up_to"]) == (True, own)
    assert any(f"is of entry {later}, as the witness saw" in one for one in answer["unproven"])
    unseen = answered(folder, head=head, witness=witness([own - 2, own]))
    assert not unseen["verified"]
    assert unseen["next"] == verifier.ASK_UNSEEN
    # A witness that has the head in the place of an entry of the report still finds it out.
    path = tmp_path / "other.json"
    path.write_text(
        json.dumps({"ledger_id": hashes[0], "head": head, "seq": own}) + "\n", encoding="utf-8"
    )
    assert not answered(folder, head=head, witness=path)["verified"]
    assert answered(folder, told.ledger, head=head)["verified"]


# -- what may still be spent


def test_what_may_still_be_spent_is_what_cap_and_promises_leave(told: Story) -> None:
    """A grant raises the cap, and no promise."""
    spending, left = _facts(told.granted)["spending"], 0.252008
    assert spending["cap"]["epsilon"] == pytest.approx(1.452008, abs=1e-6)
    assert spending["remaining"]["epsilon"] == pytest.approx(left, abs=1e-6)
    page, text = (_text(told.granted, name) for name in ("report.html", "statement.md"))
    assert "May still be spent|" in page
    assert "within the cap, ε = 1.45200, and every promise in force" in page
    for shown in (page, text):
        assert "ε = 0.252008" in shown
        assert "ε = 0.752008" not in shown
    assert _facts(told.withdrawn)["spending"]["remaining"]["epsilon"] == pytest.approx(
        left + 0.5, abs=1e-6
    )
    assert "and every promise in force" not in _text(told.withdrawn, "report.html")


def test_without_a_cap_a_promise_still_limits_what_may_be_spent(tmp_path: Path) -> None:
    opened(tmp_path, cap=None)
    one = made(tmp_path, BASE | {"tolerance": KEYS, "series": {"releases": 2}})
    folder = discreet.report(account="people", ledger=one.ledger).folder
    spending = _facts(folder)["spending"]
    assert spending["remaining"]["epsilon"] == pytest.approx(0.476, abs=1e-3)
    assert answered(folder)["problems"] == []


def test_a_promise_that_was_spent_to_the_end_does_not_look_broken_after_it_was_withdrawn(
    tmp_path: Path,
) -> None:
    ledger = opened(tmp_path, promise=KEYS, cap=None)
    ((name, limit),) = ledger.account("people").promises.items()
    ledger.charge("people", PureDP(limit.to_dict("down")["epsilon"]), purpose="x", who="y")
    ledger.withdraw("people", name, approver="B", reason="test")
    ledger.grant("people", add=PureDP(0.5), approver="B", reason="test")
    ledger.charge("people", PureDP(0.5), purpose="z", who="y")
    folder = discreet.report(account="people", ledger=f"sqlite:///{tmp_path / 'ledger.db'}").folder
    page = verifier.plain((folder / "report.html").read_text(encoding="utf-8"))
    allowed = float(re.findall(r"This promise allowed ε = (\S+) for", page)[0])
    spent = [float(x) for x in re.findall(r"ε = (0\.9\d+)", page)]
    assert spent
    assert max(spent) <= allowed
