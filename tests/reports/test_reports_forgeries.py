"""Ten forgeries that once passed, hostile folders, and an account that was told short."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import kept
import pytest
from forging import edited, rechained, rewritten, verified_alone
from stories import BASE, Made, opened, own_report
from stories import made as story
from typer.testing import CliRunner

from discreet.errors import PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.reports import verifier
from discreet.reports.folder import Report, report


@pytest.fixture
def both(pure: Made, tmp_path: Path) -> tuple[Made, Report]:
    """A release and its report that a test may change."""
    return own_report(pure, tmp_path)


@pytest.fixture
def made(both: tuple[Made, Report]) -> Made:
    return both[0]


@pytest.fixture
def found(both: tuple[Made, Report]) -> Report:
    return both[1]


def answered(folder: Path, head: str | None = None, ledger: str | None = None) -> dict[str, Any]:
    rows = None if ledger is None else partial(verifier.sqlite_rows, ledger)
    answer = verifier.examined(folder, head, rows).answer()
    assert answer["verified"] == (not answer["problems"])
    return answer


def problems(folder: Path, head: str | None = None, ledger: str | None = None) -> list[str]:
    return list(answered(folder, head, ledger)["problems"])


def test_the_folder_is_all_that_is_needed(found: Report, tmp_path: Path) -> None:
    alone = tmp_path / "sent"
    shutil.copytree(found.folder, alone)
    shutil.rmtree(found.folder.parents[1])
    code, out = verified_alone(alone, "--json")
    assert code == 0
    answer = json.loads(out)
    assert set(answer) == {
        "verified", "promise_kept", "complete_up_to", "vouched_up_to", "unproven", "problems",
        "verdict", "next",
    }  # fmt: skip
    assert answer["problems"] == []
    assert answer["promise_kept"] is True


def _spending(**changes: Any) -> Callable[[Any], None]:
    return lambda said: said["spending"].update(changes)


def _no_beliefs(said: Any) -> None:
    said["risk"]["beliefs"] = []
    said["learned"]["rows"] = []


def _fewer_beliefs(said: Any) -> None:
    """Leave the last prior out, wherever it is told."""
    last = said["learned"]["rows"].pop()["prior"]
    risk = said["risk"]
    risk["beliefs"] = [row for row in risk["beliefs"] if row["p"] * row["q"] != last]


def _certain(said: Any) -> None:
    for row in said["risk"]["beliefs"]:
        row |= {"p": 0.0, "lower": 0.0, "upper": 0.0, "joined": 0.0}


def _weaker(said: Any) -> None:
    said["unit"]["adjacency"] = said["risk"]["total"]["adjacency"] = "replace"
    said["learned"]["adjacency"] = "replace"


def printed(path: Path, shown: str, instead: str) -> None:
    """Print something else in a file, wherever it has this."""
    before = path.read_text(encoding="utf-8")
    after = re.sub(shown, instead, before, flags=re.DOTALL)
    assert after != before
    path.write_text(after, encoding="utf-8")


FORGERIES: dict[str, tuple[Callable[[Any], Any], str]] = {  # and the check that each is for
    "the list of hashes emptied": (
        lambda said: said["hashes"].update(files={}),
        "the hashes of all released files are stated",
    ),
    "no risk": (lambda said: said.update(risk=None, learned=None), "beliefs are stated: the rel"),
    "no beliefs": (_no_beliefs, "a belief is stated at every prior"),
    "fewer beliefs": (_fewer_beliefs, "a belief is stated at every prior"),
    "beliefs at p = 0": (_certain, "a belief is stated at every prior"),
    "another worst case": (
        lambda said: said["risk"]["worst"]["ratio"].update(value=1.01),
        "the worst ratio",
    ),
    "another approver": (_spending(approved_by="The Minister"), "spending: approved by"),
    "another guarantee": (
        lambda said: said["guarantee"].update(epsilon=0.01),
        "statement and release: guarantee",
    ),
    "another variant": (
        lambda said: said["guarantee"].update(variant="perfect anonymity"),
        "the statement names the variant that its parameters have",
    ),
    "another bound of values": (
        lambda said: said["biases"][1].update(
            text=said["biases"][1]["text"].replace("0 to 20 ", "0 to 200 ")
        ),
        "the statement tells the bounds of values that the spec declares",
    ),
    "a statistic that seems to lose nothing": (
        lambda said: said["biases"][0].update(
            text=said["biases"][0]["text"].split(":")[0] + ": No limit leaves out a row or a unit."
        ),
        "the statement tells which statistics lose rows to limits",
    ),
    "another cap": (lambda said: said["spending"]["cap"].update(epsilon=1.3), "spending: cap"),
    "fewer charges": (_spending(charges=[]), "spending: charges"),
    "a weaker adjacency": (_weaker, "unit, adjacency and filter are the account's"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_statement_is_found_though_the_manifest_fits(found: Report, what: str) -> None:
    change, check = FORGERIES[what]
    edited(found.folder / "statement.json", change)
    rewritten(found.folder)
    assert any(told.startswith(check) for told in problems(found.folder))


HASH = r"[0-9a-f]{64}"
PAGES = ("report.html", "statement.md")
RECORD = ("registry.yaml",)
OTHER = rf"\g<1>{'a' * 64}"
PRAISED = r"\g<1>perfect anonymity"
PRINTED: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "ε in the registry": (RECORD, r"(epsilon: )[\d.]+", r"\g<1>0.0003", "and the parameters"),
    "ε twice": (RECORD, r"( +epsilon: )(\S+\n)", r"\1\2\g<1>0.0003\n", "and the parameters"),
    "ε in its text": (RECORD, r"(spends\s+ε\s+=\s+)\S+", r"\g<1>0.0003.", "the text for a reg"),
    "the registry's variant": (RECORD, "Pure DP", "Perfect DP", "the variant and the parameters"),
    "the registry's head": (RECORD, rf"(head\s+){HASH}", OTHER, "every hash"),
    "the hash of a file": (PAGES, rf"(table.csv[^\n]{{1,20}}?){HASH}", OTHER, "every hash"),
    "the hash of another": (
        PAGES, rf"(table.csv.{{1,40}}?)({HASH})(.{{1,90}}?)({HASH})", r"\1\4\3\2",
        "print the hashes of the released files",
    ),
    "the head": (PAGES, rf"(<code>|covers\*\*: `){HASH}", OTHER, "every hash"),
    "an entry as the head": (
        PAGES[1:], rf"({HASH})(`\n[^\n]*covers\*\*: `){HASH}", r"\1\2\1",
        "print the head of the ledger",
    ),
    "the bounds of values": (PAGES, "0 to 20 count", "0 to 200 count", "tells the biases"),
    "the tile": (PAGES[:1], "(<dt>Variant[^<]*</dt><dd>)[^<]*", PRAISED, "the facts on"),
    "the variant": (PAGES[1:], r"(\*\*Variant\*\*: )[^\n]*", PRAISED, "names the variant"),
}  # fmt: skip


@pytest.mark.parametrize("what", PRINTED)
def test_what_is_printed_is_compared_though_the_manifest_fits(found: Report, what: str) -> None:
    names, shown, instead, check = PRINTED[what]
    for name in names:
        printed(found.folder / name, shown, instead)
    rewritten(found.folder)
    assert any(check in told for told in problems(found.folder))


@pytest.mark.parametrize("name", PAGES)
def test_what_became_of_a_charge_is_that_of_the_ledger(tmp_path: Path, name: str) -> None:
    """A release that was lost does not pass for one that was stored."""
    made = kept.history(tmp_path)
    folder = report(account="people", ledger=made.ledger).folder
    assert problems(folder) == []
    printed(folder / name, "lost: charged, and never stored", "stored")
    rewritten(folder)
    assert problems(folder) == [f"{name}: charges and decisions"]


def test_a_large_loss_is_not_told_as_nearly_nothing(found: Report, tmp_path: Path) -> None:
    """What is published looks nearly the same only where it is at most twice as likely."""
    near = "So it looks nearly the same whether one person is in the data or not."
    far = "But it can still look different if one person is left out of the data."
    opened(tmp_path, cap=PureDP(4.0))
    for epsilon, said in ((0.6, near), (2.0, far)):
        made_one = story(tmp_path, BASE | {"budget": {"epsilon": epsilon}})
        folder = report(made_one.release_id, ledger=made_one.ledger).folder
        assert problems(folder) == []
        text = (folder / "statement.md").read_text(encoding="utf-8")
        assert said in text
        assert (near in text) == (said == near)
    for name in (*PAGES, "statement.json"):
        printed(folder / name, re.escape(far), near)
    rewritten(folder)
    assert problems(folder) == ["“nearly the same” is said of little loss"]


@pytest.mark.parametrize(
    "name", ["participant.html", "report.html", "statement.md", "registry.yaml"]
)
def test_another_text_is_found_by_the_manifest_and_then_by_the_ledger(
    found: Report, made: Made, name: str
) -> None:
    path = found.folder / name
    text = path.read_text(encoding="utf-8")
    more = text.replace("</p></footer>", " All is well.</p></footer>")
    path.write_text(more if more != text else f"{text}All is well.\n", encoding="utf-8")
    assert f"file {name} was changed after the report was made" in problems(found.folder)
    rewritten(found.folder)
    assert problems(found.folder) == []
    (told,) = problems(found.folder, ledger=made.ledger)
    assert "not this one" in told


@pytest.mark.parametrize(
    ("shown", "instead"),
    [
        (r"(of this release</dt><dd>)[\d.]+", r"\g<1>0.000123"),
        (r"(Spent by the account so far</dt><dd>)[^<]*", r"\g<1>ε = 0.000123"),
        (r"(May still be spent</dt><dd>)[^<]*", r"\g<1>ε = 123"),
        (r"(<small>within the cap, )[^<]*", r"\g<1>ε = 0.000123"),
        (r"(Protected unit</dt><dd>)[^<(]*", r"\g<1>one household "),
        (r"(What was released.*?<td class=\"figure\">)[^<]*", r"\g<1>123456"),
        (r"<dl class=\"facts\">", r"<dl>"),
    ],
)
def test_a_figure_on_the_first_page_is_that_of_the_statement(
    found: Report, shown: str, instead: str
) -> None:
    """Though the manifest was written anew to fit, and without the ledger."""
    path = found.folder / "report.html"
    before = path.read_text(encoding="utf-8")
    after = re.sub(shown, instead, before, count=1, flags=re.DOTALL)
    assert after != before
    path.write_text(after, encoding="utf-8")
    rewritten(found.folder)
    assert any("report.html" in told for told in problems(found.folder))


def test_a_file_more_is_found_and_a_dot_file_is_left_aside(found: Report) -> None:
    (found.folder / ".DS_Store").write_bytes(b"0")
    assert problems(found.folder) == []
    (found.folder / "more.html").write_text("more")
    rewritten(found.folder)
    assert problems(found.folder) == ["file more.html is none of a report's"]


# -- the ledger


def test_the_ledger_gets_one_entry_for_one_manifest(made: Made) -> None:
    first = report(made.release_id, ledger=made.ledger)
    again = report(made.release_id, ledger=made.ledger)
    assert (first.manifest, first.entry) == (again.manifest, again.entry)
    ledger = Ledger.open(made.ledger)
    told = [e.said["manifest"] for e in ledger.entries("people") if e.kind == "report"]
    assert told[-1] == first.manifest
    assert len(told) == len(set(told))
    noted = report(made.release_id, ledger=made.ledger, note="more")
    assert noted.entry == ledger.entries()[-1].seq
    assert ledger.verify().verified
    assert problems(noted.folder, ledger=made.ledger) == []


def test_a_report_of_what_was_not_stored_is_found_by_the_ledger(made: Made) -> None:
    ledger = Ledger.open(made.ledger)
    ledger.record_report("people", "never-released", "0" * 64)
    assert any("was not stored" in problem for problem in ledger.verify().problems)


def test_a_ledger_that_cannot_be_written_is_reported_from_all_the_same(
    made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(*_: Any) -> Any:
        raise PolicyError("read only")

    monkeypatch.setattr(Ledger, "record_report", refused)
    found = report(made.release_id, ledger=made.ledger, note="never recorded")
    assert found.entry is None
    answer = answered(found.folder, ledger=made.ledger)
    told = answer["unproven"] + answer["problems"]
    assert any("recorded" in line or "not this one" in line for line in told)


def test_an_account_told_short_is_found_in_the_ledger(approximate: Made, tmp_path: Path) -> None:
    """The last charge passed off as another account's: the folder alone says it cannot tell."""
    made, found = own_report(approximate, tmp_path)
    ledger = Ledger.open(made.ledger)
    ledger.charge("people", PureDP(0.5), purpose="more", who="x")
    entries = ledger.entries()

    def hidden(said: Any) -> None:
        later = entries[len(said["chain"]) :]
        said["chain"] += [{"seq": e.seq, "hash": e.hash, "body": None} for e in later]
        said["head"] = entries[-1].hash

    edited(found.folder / "evidence.json", hidden)
    last = entries[-1]
    before = found.statement.facts["spending"]["head"]
    edited(found.folder / "statement.json", _spending(head=last.hash, entries=last.seq))
    for name in ("report.html", "statement.md", "registry.yaml"):
        printed(found.folder / name, re.escape(before), last.hash)
    rewritten(found.folder)
    answer = answered(found.folder, last.hash)
    assert answer["verified"]
    assert answer["complete_up_to"]["entry"] < last.seq
    assert any("hashes only" in line for line in answer["unproven"])
    told = problems(found.folder, ledger=made.ledger)
    assert f"entry {last.seq} is the account's, and the report leaves it out" in told


def test_an_entry_in_the_middle_passed_off_as_anothers_is_found_by_its_number(
    approximate: Made, tmp_path: Path
) -> None:
    """The account's entries are numbered, and each carries the hash of the one before it."""
    _, found = own_report(approximate, tmp_path)
    said = json.loads((found.folder / "evidence.json").read_text(encoding="utf-8"))
    own = [n for n, row in enumerate(said["chain"]) if '"account":' in (row["body"] or "")]
    for place in own[:-1]:
        copy = tmp_path / f"without-{place}"
        shutil.copytree(found.folder, copy)
        edited(copy / "evidence.json", lambda s, at=place: s["chain"][at].update(body=None))
        rewritten(copy)
        assert any("is the account's next" in line or "KeyError" in line for line in problems(copy))


def test_later_charges_are_told_as_unproven(approximate: Made, tmp_path: Path) -> None:
    made, found = own_report(approximate, tmp_path)
    Ledger.open(made.ledger).charge("people", PureDP(0.1), purpose="later", who="x")
    answer = answered(found.folder, ledger=made.ledger)
    assert answer["verified"]
    later = "1 later entry of the account is not in this report (1 charge, ε = 0.1; spent in all "
    later += "ε = 1.1, δ = 1e-05)"
    assert answer["unproven"] == [later, ANEW]  # a ledger can be written anew too
    last = found.statement.facts["spending"]["entries"]
    alone = answered(found.folder)
    assert alone["complete_up_to"]["entry"] == last
    assert f"what was charged after entry {last}: that needs the ledger" in alone["unproven"]


ANEW = "that this chain was not written anew: needs a head kept elsewhere"


def test_an_old_head_vouches_for_the_entries_up_to_it_and_no_further(
    approximate: Made, tmp_path: Path
) -> None:
    """Whoever goes back to an old copy and writes on has every head from before the copy."""
    made, found = own_report(approximate, tmp_path)
    hashes = [entry.hash for entry in Ledger.open(made.ledger).entries()]
    count = found.statement.facts["spending"]["entries"]
    shown = [n for n, row in enumerate(evidence_of(found), 1) if row["body"] is not None]
    old = shown[-2]
    assert old < count
    for ledger in (None, made.ledger):
        answer = answered(found.folder, hashes[old - 1], ledger)
        assert answer["verified"]
        assert answer["vouched_up_to"] == old
        rest = verifier.span(old + 1, count)
        assert any(f"{rest} may have been written anew" in one for one in answer["unproven"])
        newest = answered(found.folder, hashes[count - 1], ledger)
        assert newest["vouched_up_to"] == count
        assert not any("written anew" in one for one in newest["unproven"])
        alone = answered(found.folder, None, ledger)
        assert alone["vouched_up_to"] is None
        assert ANEW in alone["unproven"]
    said = verified_alone(found.folder, "--head", f" {hashes[old - 1].upper()} ")[1]
    assert f"anew: the head vouches for the entries up to {old}." in said
    assert said.count("The account is complete up to entry") == 1
    assert verified_alone(found.folder)[1].rstrip().endswith("if this chain was not written anew.")


def test_a_head_of_an_entry_that_is_a_hash_here_vouches_for_nothing(
    approximate: Made, tmp_path: Path
) -> None:
    made, _ = own_report(approximate, tmp_path)
    ledger = Ledger.open(made.ledger)
    terms: dict[str, Any] = {"unit": "person", "filter": "pure", "cap": PureDP(1.0)}
    ledger.open_account("strangers", approver="A", reason="r", **terms)
    head = ledger.head
    ledger.charge("people", PureDP(0.001), purpose="more", who="x")
    found = report(made.release_id, ledger=made.ledger)
    answer = answered(found.folder, head)
    assert answer["verified"]
    assert answer["vouched_up_to"] is None
    assert any("that are shown as hashes" in line for line in answer["unproven"])
    assert answered(found.folder, head, made.ledger)["vouched_up_to"] is not None


@pytest.mark.parametrize("head", ["", "abc", "g" * 64, "0" * 63, "0" * 65])
def test_what_is_no_head_is_bad_input(found: Report, head: str) -> None:
    from discreet.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["verify", str(found.folder), "--head", head])
    assert ended.value.code == 2
    assert verifier.main([str(found.folder), "--head", head]) == 2


def evidence_of(found: Report) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((found.folder / "evidence.json").read_text())["chain"]
    return rows


def _another_name(body: Any) -> None:
    """Change what no statement repeats."""
    if "who" in body:
        body["who"] = "another"


def test_a_chain_written_anew_is_found_by_a_head_kept_elsewhere(
    approximate: Made, tmp_path: Path
) -> None:
    _, found = own_report(approximate, tmp_path)
    head = found.statement.facts["spending"]["head"]
    rechained(found.folder, _another_name)
    rewritten(found.folder)
    assert problems(found.folder) == []
    assert problems(found.folder, head) == [f"the head kept elsewhere, {head}, is in the chain"]


def test_a_head_that_is_newer_than_the_report_is_neither_agreement_nor_forgery(
    approximate: Made, tmp_path: Path
) -> None:
    """Making the report adds an entry after the evidence; only the ledger tells the two apart."""
    made, found = own_report(approximate, tmp_path)
    head = Ledger.open(made.ledger).entries()[-1].hash
    assert head != found.statement.facts["spending"]["head"]
    answer = answered(found.folder, head)
    assert not answer["verified"]
    assert answer["verdict"] == (
        "The head that was given is not in this folder; else every figure that was checked agrees."
        " The wording was not checked."
    )
    assert "--witness" in answer["next"]
    assert "--ledger" in answer["next"]
    assert answered(found.folder, head, made.ledger)["verified"]
    assert answered(found.folder, found.statement.facts["spending"]["head"])["verified"]


def test_a_witness_agrees_with_an_honest_report_and_finds_a_ledger_turned_back(
    approximate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Making the report adds an entry, so the newest head is never in the folder."""
    shared, honest = tmp_path / "witness", tmp_path / "honest"
    shared.mkdir()
    made, _ = own_report(approximate, tmp_path)
    ledger, path = Ledger.open(made.ledger), made.home / "ledger.db"
    copy = path.read_bytes()
    monkeypatch.setenv("DISCREET_WITNESS", str(shared))
    for cost in (0.001, 0.002):
        ledger.charge("people", PureDP(cost), purpose="more", who="x")
    found = report(made.release_id, ledger=made.ledger)
    shutil.copytree(found.folder, honest)
    ends, (file,) = found.statement.facts["spending"]["entries"], shared.glob("*.json")
    newest = json.loads(file.read_text().splitlines()[-1])
    assert newest == {"ledger_id": ledger.id, "head": ledger.head, "seq": ends + 1}
    for place in (shared, file):
        answer = json.loads(verified_alone(honest, "--witness", str(place), "--json")[1])
        assert (answer["verified"], answer["vouched_up_to"]) == (True, ends)
        assert any("which the witness saw after this report" in one for one in answer["unproven"])
    rows = partial(verifier.sqlite_rows, made.ledger)
    answer = verifier.examined(honest, None, rows, shared).answer()
    assert answer["verified"]
    assert not any("the witness" in one for one in answer["unproven"])
    code, said = verified_alone(honest, "--all", "--witness", str(shared))
    assert code == 0
    assert f"the witness saw entries up to {ends + 1}; this report ends at entry {ends}" in said
    # After it: the witness saw two histories, and which of them this report tells is not known.
    with (tmp_path / "two.json").open("w") as kept:
        own = found.statement.facts["spending"]["head"]
        for seq, head in ((ends, own), (ends + 2, "a" * 64), (ends + 1, "b" * 64)):
            kept.write(json.dumps({"ledger_id": ledger.id, "head": head, "seq": seq}) + "\n")
    answer = verifier.examined(honest, witness=tmp_path / "two.json").answer()
    saw = f"the witness saw entry {ends + 2}, then an entry {ends + 1}: if an older copy of the "
    saw += "ledger was put in its place in between"
    assert any(one.startswith(saw) for one in answer["unproven"])
    # Turned back: two charges hidden, others made; what the agency forgets it cannot take back.
    monkeypatch.delenv("DISCREET_WITNESS")
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "another host"))
    path.write_bytes(copy)
    for cost in (0.003, 0.004):
        ledger.charge("people", PureDP(cost), purpose="another", who="x")
    cheat = report(made.release_id, ledger=made.ledger).folder
    assert verified_alone(cheat)[0] == 0
    with file.open("a") as kept:
        kept.write("\n" + json.dumps({"ledger_id": ledger.id, "head": ledger.head, "seq": ends}))
    code, said = verified_alone(cheat, "--witness", str(shared))
    assert code == 1
    assert "is the one that the witness saw" in said
    # That is the ledger's fault, and a folder made again from it would be no better.
    first = len(verifier.witnessed(file, ledger.id)) and ends - 1
    saw = f"first entry {first}: the ledger was restored from an older copy, or its end was cut"
    assert said.startswith(f"The witness saw other entries than this report has, {saw}")
    assert "; or the entries in this folder were made up. Within this folder, every" in said
    assert said.splitlines()[1] == verifier.KEEP_IT
    answer = verifier.examined(cheat, None, rows, shared).answer()
    assert answer["verdict"].startswith(f"The witness saw other entries than the ledger has, {saw}")
    assert "made up" not in answer["verdict"]
    assert answer["next"] == verifier.KEEP_IT
    # The witness also decides between an honest report and the ledger that was turned back.
    answer = verifier.examined(honest, None, rows, shared).answer()
    lacks = f"The ledger lacks entries of this report, the first of them entry {first}. It was "
    assert answer["verdict"].startswith(lacks)
    assert "vouches for this report's entries. Within this folder" in answer["verdict"]
    assert verifier.NOT_HELD in "".join(answer["problems"])
    assert answer["next"] == verifier.KEEP_IT
    answer = verifier.examined(honest, ledger.head, rows).answer()
    assert answer["verdict"].startswith("Do not rely on this folder: its entries from")
    assert "which has the head kept elsewhere" in answer["verdict"]
    # A witness that has nothing of this ledger does not vouch for it; and there must be one.
    (tmp_path / "empty").mkdir()
    code, said = verified_alone(honest, "--witness", str(tmp_path / "empty"))
    assert code == 1
    assert said.startswith("The witness has no head of this ledger")
    assert said.splitlines()[1].startswith("Check what was given as --witness. If it is the right")
    answer = verifier.examined(honest, None, None, Path(os.devnull)).answer()
    assert answer["verdict"].startswith("The witness cannot be read: ")
    assert verifier.main([str(honest), "--witness", str(tmp_path / "mistyped")]) == 2


def test_a_ledger_that_was_cut_is_at_fault_and_the_folder_is_kept(
    pure: Made, tmp_path: Path
) -> None:
    """A folder that is made again from such a ledger would hide the fault."""
    made, found = own_report(pure, tmp_path)
    rows, ends = verifier.sqlite_rows(made.ledger), found.statement.facts["spending"]["entries"]
    for left in (2, ends - 1):
        cut = rows[:left]
        answer = verifier.examined(found.folder, None, lambda cut=cut: cut).answer()
        assert answer["problems"] == [
            f"the ledger begins with this chain, but not from entry {left + 1} on"
        ]
        lacks = f"The ledger lacks entries of this report, the first of them entry {left + 1}. It"
        assert answer["verdict"] == (
            f"{lacks} {verifier.TURNED_BACK}{verifier.OR_MADE_UP}. Within this folder, every figure"
            " that was checked agrees. Every promise is kept. The wording was not checked."
        )
        assert answer["next"].startswith("Keep this folder as it is, and do not have it made again")
        assert "--head" in answer["next"]
        head = found.statement.facts["spending"]["head"]
        sure = verifier.examined(found.folder, head, lambda cut=cut: cut).answer()
        assert "made up" not in sure["verdict"]
        assert sure["next"] == verifier.KEEP_IT
    other = Ledger.open(opened(tmp_path).url)
    answer = answered(found.folder, ledger=other.url)
    assert "the first of them entry 1. It is another ledger, or one" in answer["verdict"]
    assert answer["next"].startswith("Check what was given as --ledger. If it is the right one, ")
    # Where the folder is at fault too, both are told.
    (found.folder / "more.html").write_text("more")
    answer = verifier.examined(found.folder, None, lambda: rows[:2]).answer()
    assert answer["verdict"].startswith("Do not rely on this folder: more.html is none of a report")
    assert "The ledger lacks entries of this report" in answer["verdict"]
    assert answer["next"] == f"{verifier.ASK_AGAIN} {verifier.KEEP_TOO}"


def test_a_ledger_that_was_changed_is_at_fault_and_not_the_folder(
    pure: Made, tmp_path: Path
) -> None:
    made, found = own_report(pure, tmp_path)
    Ledger.open(made.ledger).charge("others", PureDP(0.01), purpose="more", who="x")
    *rows, (seq, body, digest) = verifier.sqlite_rows(made.ledger)
    for changed in (body.replace('"purpose":"more"', '"purpose":"less"'), "{", "[]"):
        told = [*rows, (seq, changed, digest)]
        answer = verifier.examined(found.folder, None, lambda told=told: told).answer()
        assert answer["problems"]
        assert answer["verdict"].startswith("The ledger itself was changed after it was written")
        assert "Do not rely" not in answer["verdict"]
        assert "Ask whoever keeps the ledger to verify it" in answer["next"]


def test_entries_cut_off_do_not_pass_with_a_newer_head(approximate: Made, tmp_path: Path) -> None:
    """A report from before the last charge, told as the newest; and a ledger cut off to fit."""
    made, found = own_report(approximate, tmp_path)
    cut = tmp_path / "cut.db"
    shutil.copy(made.home / "ledger.db", cut)
    ledger = Ledger.open(made.ledger)
    ledger.charge("people", PureDP(0.5), purpose="more", who="x")
    head = ledger.entries()[-1].hash
    assert not answered(found.folder, head)["verified"]
    both = answered(found.folder, head, f"sqlite:///{cut}")
    assert both["problems"] == [f"the ledger has the head kept elsewhere, {head}"]
    assert both["verdict"].startswith("The ledger does not have the head that was given: it was ")
    assert both["verdict"].endswith("Within this folder, everything agrees.")
    assert both["next"] == verifier.KEEP_IT
    whole = answered(found.folder, head, made.ledger)
    (later,) = whole["unproven"]
    assert later.startswith("1 later entry of the account is not in this report (1 charge, ε = 0.5")


def test_a_head_kept_elsewhere_finds_a_chain_that_was_written_anew(
    found: Report, made: Made
) -> None:
    """It is that of the account's last entry: others' are hashes alone, and vouch for nothing."""
    head = found.statement.facts["spending"]["head"]
    assert not any("written anew" in line for line in answered(found.folder, head)["unproven"])
    rechained(found.folder, _another_name)
    rewritten(found.folder)
    assert any("is in the chain" in line for line in answered(found.folder, head)["problems"])
    assert problems(found.folder, ledger=made.ledger)


# -- what is no report


def test_a_hostile_statement_is_a_problem_and_never_a_traceback(found: Report) -> None:
    statement = found.folder / "statement.json"
    text = statement.read_text(encoding="utf-8")
    deep = "[" * 200_000 + "]" * 200_000
    numbers = ("1" * 5000, "1e999", "-1e308", "NaN", "Infinity", "null", '"x"', "[]", "{}")
    hostile = [deep, "", "\0", '{"risk": ' + deep + "}", "\ufeff" + text, '{"a":1,"a":2}', "[1]"]
    upper = str(found.statement.facts["risk"]["beliefs"][0]["upper"])
    assert upper in text
    hostile += [text.replace(upper, number) for number in numbers]
    for said in hostile:
        statement.write_text(said, encoding="utf-8")
        assert problems(found.folder)
        rewritten(found.folder)
        assert problems(found.folder)
    assert verified_alone(found.folder)[0] == 1


@pytest.mark.parametrize("number", ["1" * 5000, "1e999999999", "-1", "NaN", "1e-999999", "x", ""])
def test_hostile_amounts_in_the_chain_are_problems(found: Report, number: str) -> None:
    def change(body: Any) -> None:
        if "cost" in body:
            body["cost"] = {"epsilon": number}
            body["standing"]["spent"] = {"epsilon": number}

    rechained(found.folder, change)
    rewritten(found.folder)
    assert problems(found.folder)


def test_links_devices_and_what_is_missing_are_problems(found: Report, tmp_path: Path) -> None:
    assert problems(tmp_path / "nowhere")
    assert problems(found.html)
    elsewhere = tmp_path / "page.html"
    shutil.copy(found.html, elsewhere)
    found.html.unlink()
    found.html.symlink_to(elsewhere)
    assert "report.html is no file" in problems(found.folder)
    found.html.unlink()
    os.mkfifo(found.html)
    assert "report.html is no file" in problems(found.folder)
    found.html.unlink()
    assert "file report.html is missing" in problems(found.folder)
    shutil.rmtree(found.folder / "released")
    assert problems(found.folder)


@pytest.mark.parametrize("place", ["nowhere.db", "postgresql://me:secret@host/db", "report.html"])
def test_a_ledger_that_cannot_be_read_is_a_problem_and_none_of_the_folder(
    found: Report, place: str
) -> None:
    """The value that was given is named, with what to do; the folder is checked all the same."""
    where = place if "://" in place else str(found.folder / place)
    alone, answer = answered(found.folder), answered(found.folder, ledger=where)
    (told,) = answer["problems"]
    assert told.startswith("the ledger cannot be read: ")
    assert "secret" not in str(answer)
    assert where in told or "://" in where
    assert (answer["unproven"], answer["promise_kept"]) == (alone["unproven"], True)
    rest = alone["verdict"][1:]
    assert answer["verdict"] == f"T{told[1:]}. Without it: {alone['verdict'][0].lower()}{rest}"
    assert answer["next"].startswith("Correct what was given as --ledger")
    code, out = verified_alone(found.folder, "--ledger", where)
    assert code == 1
    assert "Do not rely" not in out
    (found.folder / "more.html").write_text("more")
    assert answered(found.folder, ledger=where)["verdict"].startswith("Do not rely on this folder")


def test_a_missing_file_is_told_once(found: Report) -> None:
    (found.folder / "evidence.json").unlink()
    assert problems(found.folder) == ["file evidence.json is missing"]


def test_the_command_says_what_the_script_says(found: Report, made: Made) -> None:
    import typer

    from discreet.cli.reports import verify as command

    app = typer.Typer(add_completion=False)
    app.command()(command)
    arguments = [str(found.folder), "--ledger", made.ledger, "--json"]
    run = CliRunner().invoke(app, arguments)
    assert run.exit_code == 0, run.output
    code, out = verified_alone(found.folder, "--ledger", made.ledger, "--json")
    assert code == 0
    assert json.loads(run.stdout) == json.loads(out)
    found.html.write_text("forged")
    assert CliRunner().invoke(app, arguments).exit_code == 1
    assert "WRONG" in CliRunner().invoke(app, [str(found.folder)]).stdout


@pytest.mark.parametrize(
    "changed",
    [
        {"at most 62 in 100": "at most 42 in 100", "at most 33 in 100": "at most 31 in 100"},
        {"at most 62 in 100": "at most 35 in 100", "at most 81 in 100": "at most 36 in 100"},
        {"at most 62 in 100": "at most 42 in 100"},
    ],
)
def test_the_sentences_of_both_pages_have_recomputed_figures(
    tmp_path: Path, changed: dict[str, str]
) -> None:
    opened(tmp_path, cap=PureDP(1.5))
    keys = {"posterior": 0.25, "unless_ratio": 3, "about": "membership"}
    made_one = story(tmp_path, BASE | {"tolerance": keys, "series": {"releases": 12}})
    folder = report(made_one.release_id, ledger=made_one.ledger).folder
    assert problems(folder) == []
    first = (folder / "report.html").read_text(encoding="utf-8").split('<section id="curator"')[0]
    assert "for values too, in participant.html" in first
    assert any("needs the ledger" in line for line in answered(folder)["unproven"])
    for name in ("report.html", "statement.md"):
        text = (folder / name).read_text(encoding="utf-8")
        for old, new in changed.items():
            assert old in text
            text = text.replace(old, new)
        (folder / name).write_text(text, encoding="utf-8")
    rewritten(folder)
    what = "what may still follow has the figures of statement.json and evidence.json, but not "
    (told,) = (one for one in problems(folder) if one.startswith(what))
    by = "by statement.json and evidence.json it is"
    ends = {f"{new}”: {by} {old.removeprefix('at most ')}" for old, new in changed.items()}
    assert any(map(told.endswith, ends))


def test_accuracy_that_is_told_too_small_is_found(found: Report) -> None:
    row = found.statement.facts["accuracy"][0]
    for name in ("report.html", "statement.md"):
        path = found.folder / name
        text = path.read_text(encoding="utf-8")
        told = re.search(r"count_rows_1(?:</th><td>| \| )([\d.]+)(?=</td>| \| 95 %)", text)
        assert told is not None
        assert float(told[1]) >= row["half_width"]
        path.write_text(text[: told.start(1)] + "0.5" + text[told.end(1) :], encoding="utf-8")
    rewritten(found.folder)
    wrong = "how far each statistic is off"
    told_of = [one for one in problems(found.folder) if "percentage" not in one]
    assert told_of == [f"report.html: {wrong}", f"statement.md: {wrong}"]
