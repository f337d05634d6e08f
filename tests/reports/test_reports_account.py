"""The report of an account: every release, promise and withdrawal, in a folder that verifies."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import kept
import pytest
from forging import edited, rechained, rewritten, verified, verified_alone
from stories import Made, opened

import discreet
from discreet.cli import main
from discreet.errors import InputError, PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.reports import Report, verifier
from discreet.reports.stored import ledger_folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Made, Report]:
    """An account with everything that can be in it, and its report."""
    made = kept.history(tmp_path_factory.mktemp("history"))
    return made, discreet.report(account="people", ledger=made.ledger)


@pytest.fixture
def made(base: tuple[Made, Report], tmp_path: Path) -> Made:
    """A copy that a test may change."""
    return base[0].copied(tmp_path)


@pytest.fixture
def found(base: tuple[Made, Report], made: Made) -> Report:
    """Its report."""
    first, report = base
    return replace(report, folder=made.home / report.folder.relative_to(first.home))


def test_what_was_promised_once_is_still_told_of(made: Made, found: Report) -> None:
    """A withdrawn promise limits no value any more, and its prior stays in the table."""
    (promise,) = found.statement.facts["promises"]
    assert promise["withdrawn"]
    rows = found.statement.facts["learned"]["rows"]
    assert [row["prior"] for row in rows] == [0.01, 0.1, 0.3, 0.5, 0.05]
    assert not any(row["own"] for row in rows)
    assert "Values" in [one["name"] for one in found.statement.facts["not_covered"]]
    assert "<strong>Values.</strong>" in (found.folder / "report.html").read_text("utf-8")
    assert answered(found.folder, made.ledger)["problems"] == []


def test_the_first_page_says_that_there_is_no_delta(found: Report, tmp_path: Path) -> None:
    """As the page of a release does, and checked; not where there is one."""
    page = found.folder / "report.html"
    told = "<small>δ = 0: it holds for every possible output; pure filter</small>"
    text = page.read_text(encoding="utf-8")
    assert text.count(told) == 1
    page.write_text(text.replace(told, "<small>pure filter</small>"), encoding="utf-8")
    rewritten(found.folder)
    facts = "the facts on the first page of report.html are those of the statement"
    assert facts in answered(found.folder)["problems"]
    rho = discreet.report(account="people", ledger=kept.concentrated(tmp_path).ledger)
    assert "δ = 0:" not in rho.html.read_text(encoding="utf-8")
    assert answered(rho.folder)["problems"] == []


def answered(folder: Path, ledger: str | None = None, head: str | None = None) -> dict[str, Any]:
    rows = None if ledger is None else partial(verifier.sqlite_rows, ledger)
    return verifier.examined(folder, head, rows).answer()


def test_it_lists_every_release_promise_and_withdrawal(made: Made, found: Report) -> None:
    ledger = Ledger.open(made.ledger)
    entries = [entry for entry in ledger.entries("people") if entry.kind != "report"]
    told = found.statement.facts["history"]
    assert [row["entry"] for row in told] == [entry.seq for entry in entries]
    kinds = {"open", "promise", "withdraw", "grant", "reserve", "commit", "plan", "slot", "charge"}
    assert {row["kind"] for row in told} == kinds
    texts = [(found.folder / name).read_text("utf-8") for name in ("statement.md", "report.html")]
    sentence = found.statement.facts["promises"][0]["sentence"]
    for text in texts:
        for entry in entries:
            for name in (entry.release_id, entry.plan_id, entry.said.get("reason")):
                assert name is None or name in text
        assert sentence in text
        assert "never stored" in text
        assert "not to be told" not in text


def test_it_verifies_alone_and_with_the_ledger_and_is_recorded(made: Made, found: Report) -> None:
    code, out = verified(found.folder, "--json")
    answer = json.loads(out)
    assert (code, answer["problems"]) == (0, [])
    assert answer["complete_up_to"]["entry"] == found.statement.facts["spending"]["entries"]
    answer = answered(found.folder, made.ledger)
    assert answer["problems"] == []
    assert answer["unproven"] == [
        "that this chain was not written anew: needs a head kept elsewhere"
    ]
    ledger = Ledger.open(made.ledger)
    last = ledger.entries()[-1]
    assert (last.kind, last.said["reported"], last.seq) == ("report", None, found.entry)
    assert last.said["manifest"] == found.manifest
    assert ledger.verify().verified
    again = discreet.report(account="people", ledger=made.ledger)
    assert (again.manifest, again.entry) == (found.manifest, found.entry)
    of_release = discreet.report(made.release_id, ledger=made.ledger)
    assert answered(of_release.folder, made.ledger)["problems"] == []


def _told_short(said: Any) -> None:
    said["history"] = [row for row in said["history"] if row["kind"] != "withdraw"]


FORGERIES = {
    "a withdrawal left out": _told_short,
    "a release left out": lambda said: said["history"].pop(5),
    "another approver": lambda said: said["history"][0].update(approver="The Minister"),
    "less spent": lambda said: said["spending"]["account_now"].update(epsilon=0.1),
    "another guarantee": lambda said: said["guarantee"].update(epsilon=0.1),
    "another account": lambda said: said["identity"].update(account="others"),
    "a promise that was never withdrawn": lambda said: said["promises"][0].update(withdrawn=None),
    "no beliefs": lambda said: said.update(risk=None, learned=None),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_account_is_found_though_the_manifest_fits(found: Report, what: str) -> None:
    edited(found.folder / "statement.json", FORGERIES[what])
    rewritten(found.folder)
    assert answered(found.folder)["problems"]


def test_an_entry_rewritten_with_its_whole_chain_is_found_by_the_ledger(
    made: Made, found: Report
) -> None:
    def cheaper(body: Any) -> None:
        if body["kind"] == "open":
            body["reason"] = "another"

    rechained(found.folder, cheaper)

    def told(said: Any) -> None:
        for rows in (said["history"], said["spending"]["approvals"]):
            rows[0].update(reason="another")

    edited(found.folder / "statement.json", told)
    rewritten(found.folder)
    raises = "tells who approved the account, and raises of its cap"
    shown = [f"the first page of report.html {raises}", f"statement.md {raises}"]
    shown += [f"{name}: charges and decisions" for name in ("report.html", "statement.md")]
    assert answered(found.folder)["problems"] == shown
    for name in ("report.html", "statement.md"):
        text = (found.folder / name).read_text(encoding="utf-8")
        cell = r"(?:</span>)?(?:</td><td>| \| )"
        new, decision = re.subn(
            rf"(account opened; cap: [^|/]*{cell}A. Approver{cell})test", r"\1another", text
        )
        day = r'(?:<span class="whole">)?[\d-]+:(?:</span>)?'
        new, fact = re.subn(rf"(account opened on {day} )test", r"\1another", new)
        assert (decision, fact) == (1, 1)
        (found.folder / name).write_text(new, encoding="utf-8")
    rewritten(found.folder)
    assert answered(found.folder)["problems"] == []  # said: needs a head, or the ledger
    assert any("not written anew" in told for told in answered(found.folder)["unproven"])
    assert answered(found.folder, made.ledger)["problems"]


@pytest.fixture
def restored(tmp_path: Path) -> Made:
    """A ledger that lost a charge, and for which someone answered."""
    found = kept.membership(tmp_path)
    book, file = Ledger.open(found.ledger), tmp_path / "ledger.db"
    copy = file.read_bytes()
    book.grant("people", add=PureDP(0.5), approver="B", reason="more")
    lost = book.head
    file.write_bytes(copy)
    assert book.restore(approver="C. [Chair]", reason="disk | of 3 May, 40 % lost") == [lost]
    book.grant("people", add=PureDP(0.25), approver="B", reason="again")
    return found


@pytest.mark.parametrize("of", ["account", "release"])
def test_entries_that_were_lost_are_told_and_nothing_after_is_called_complete(
    restored: Made, of: str, tmp_path: Path
) -> None:
    book = Ledger.open(restored.ledger)
    (entry,) = [one for one in book.entries() if one.kind == "restore"]
    (head,) = entry.said["lost"]
    name = None if of == "account" else restored.release_id
    account = "people" if of == "account" else None
    found = discreet.report(name, account=account, ledger=restored.ledger)
    for file in ("report.html", "statement.md", "statement.json"):
        assert head in (found.folder / file).read_text(), file
    for ledger in (None, restored.ledger):
        answer = answered(found.folder, ledger)
        assert answer["problems"] == []
        assert "Charges may be missing" in answer["verdict"]
        assert any("C. [Chair]" in line for line in answer["unproven"])
        assert answer["complete_up_to"]["entry"] == entry.seq - 1
    lines = list(verifier.lines_of(verifier.examined(found.folder)))
    assert any(line.startswith(f"?     entry {entry.seq} of the ledger: ") for line in lines)
    for file in ("report.html", "statement.md", "participant.html"):
        if (found.folder / file).is_file():
            forged = tmp_path / f"forged-{file}"
            shutil.copytree(found.folder, forged)
            one = r"(?m)^Charges may be .*$|<p[^>]*>(Charges may|Part of the rec).*?</p>"
            (forged / file).write_text(re.sub(one, "", (forged / file).read_text()))
            rewritten(forged)
            page, where = file.partition(".")[0], f"(entry {entry.seq} of the ledger)"
            told = f"the page {page} tells that the ledger was restored {where}"
            assert answered(forged)["problems"] == [told]
    if of == "account":
        decided = found.statement.facts["spending"]["restored"]
        assert [row["reason"] for row in decided] == ["disk | of 3 May, 40 % lost"]


def test_a_head_that_was_lost_is_named_as_lost_with_who_answered_for_it(restored: Made) -> None:
    """It is of no later entry: an entry of the folder says that it was lost."""
    found = discreet.report(account="people", ledger=restored.ledger)
    (one,) = found.statement.facts["spending"]["restored"]
    (head,) = one["lost"]
    day = one["at"][:10]
    who = f"(entry {one['entry']}, on {day}, by C. [Chair]: disk | of 3 May, 40 % lost)"
    for ledger in (None, restored.ledger):
        answer = answered(found.folder, ledger, head)
        assert not answer["verified"]
        assert f"The head that was given{verifier.LOST}{who}" in answer["verdict"]
        assert answer["next"] == verifier.ASK_LOST
        assert "may be of a later entry" not in str(answer)
    # A witness saw both histories, and the folder tells which entry answers for that.
    chain = json.loads((found.folder / "evidence.json").read_text())["chain"]
    with (restored.home / "two.json").open("w") as file:
        for seq, digest in (
            (one["entry"], head),
            (one["entry"] - 1, chain[one["entry"] - 2]["hash"]),
        ):
            said = {"ledger_id": chain[0]["hash"], "head": digest, "seq": seq}
            file.write(json.dumps(said) + "\n")
    answer = verifier.examined(found.folder, witness=restored.home / "two.json").answer()
    told = f"the witness saw entry {one['entry']}, then an entry {one['entry'] - 1}: in between "
    told += f"the ledger was restored from an older copy {who}"
    assert told in answer["unproven"]


@pytest.mark.parametrize("told", [True, False])
def test_an_earlier_report_shows_since_which_entry_a_ledger_was_turned_back(
    tmp_path: Path, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last entry settles what a head without a number cannot."""
    monkeypatch.setattr("discreet.reports.folder.pictures", lambda statement: {})
    made = kept.membership(tmp_path)
    book, file = Ledger.open(made.ledger), tmp_path / "ledger.db"
    first = _kept_apart(made, "first")
    copy, ends = file.read_bytes(), len(book.entries())
    book.grant("people", add=PureDP(0.5), approver="B", reason="more")
    older = _kept_apart(made, "older")
    head = json.loads((older / "statement.json").read_text())["spending"]["head"]
    file.write_bytes(copy)
    if told:
        book.restore(approver="C", reason="disk")
    else:
        monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "another host"))
    book.grant("people", add=PureDP(0.25), approver="B", reason="again")
    book.grant("people", add=PureDP(0.25), approver="B", reason="and again")
    newer = _kept_apart(made, "newer")
    assert answered(newer)["verified"]
    since = f"The ledger was written anew or turned back since entry {ends + 1}: "
    for given in (None, head):
        answer = verifier.examined(newer, given, earlier=older).answer()
        assert not answer["verified"]
        assert answer["verdict"].startswith(since)
        assert ("by C: disk)" in answer["verdict"]) is told
        assert "may be of a later entry" not in str(answer)
    code, out = verified_alone(newer, "--earlier", str(older))
    assert (code, out.startswith(since)) == (1, True)
    # One from before agrees, and vouches for the entries up to its last.
    answer = verifier.examined(newer, earlier=first).answer()
    assert answer["verified"]
    kept_up_to = len(json.loads((first / "evidence.json").read_text())["chain"])
    assert answer["vouched_up_to"] == kept_up_to
    exchanged = verifier.examined(first, earlier=newer).answer()
    assert exchanged["verified"]
    assert any("exchange them" in one for one in exchanged["unproven"])
    # One whose own chain was altered shows nothing, and one that is none is refused.
    edited(older / "evidence.json", lambda s: s["chain"][1].update(hash="a" * 64))
    answer = verifier.examined(newer, earlier=older).answer()
    assert answer["verdict"].startswith("The earlier report cannot be read: its own chain")
    assert verifier.main([str(newer), "--earlier", str(tmp_path)]) == 2
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(newer), "--earlier", str(tmp_path)])
    assert ended.value.code == 2


def _kept_apart(made: Made, name: str) -> Path:
    found = discreet.report(account="people", ledger=made.ledger).folder
    return Path(shutil.copytree(found, made.home / f"kept-{name}"))


def test_a_restore_that_is_hidden_or_came_later_is_found_in_the_ledger(restored: Made) -> None:
    found = discreet.report(account="people", ledger=restored.ledger)
    chain = json.loads((found.folder / "evidence.json").read_text())["chain"]
    place = next(row["seq"] for row in chain if '"restore"' in str(row["body"]))
    edited(found.folder / "evidence.json", lambda s: s["chain"][place - 1].update(body=None))
    rewritten(found.folder)
    told = answered(found.folder, restored.ledger)["problems"]
    assert f"entry {place} is the account's, and the report leaves it out" in told
    assert any("shown as a hash" in line for line in answered(found.folder)["unproven"])
    # before it came
    book, file = Ledger.open(restored.ledger), restored.home / "ledger.db"
    found = discreet.report(account="people", ledger=restored.ledger)
    copy = file.read_bytes()
    book.grant("people", add=PureDP(0.5), approver="B", reason="more")
    file.write_bytes(copy)
    book.restore(approver="C", reason="once more")
    last = book.entries()[-1].seq
    told = answered(found.folder, restored.ledger)["unproven"]
    assert any(line.startswith(f"entry {last} of the ledger, after this report") for line in told)


def test_it_says_as_of_when_it_is(made: Made, found: Report) -> None:
    last = Ledger.open(made.ledger).entries()[found.statement.facts["spending"]["entries"] - 1]
    assert found.statement.facts["spending"]["as_of"] == last.at
    for name in ("report.html", "statement.md"):
        path = found.folder / name
        text = path.read_text()
        told = re.sub(r"</?span[^>]*>", "", text)
        assert f"{last.at[:10]} {last.at[11:19]} UTC" in told, name
        path.write_text(text.replace(f"{last.at[11:19]} UTC", "00:00:00 UTC"))
        rewritten(found.folder)
        assert any("of when" in line for line in answered(found.folder)["problems"])
        path.write_text(text)
        rewritten(found.folder)


@pytest.mark.parametrize("keys", [{"ratio": 3}, [{"ratio": 3, "q": 1}, {"ratio": 3, "p": 1}]])
def test_the_end_is_told_about_values_where_a_promise_is_about_them(
    tmp_path: Path, keys: Any
) -> None:
    """A promise about both, and one on being in beside one on a value."""
    terms: dict[str, Any] = {"unit": "person", "filter": "pure", "promise": keys}
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.open_account("people", approver="A", reason="r", **terms)
    ledger.charge("people", PureDP(0.01), purpose="x", who="y")
    found = discreet.report(account="people", ledger=ledger.url)
    assert answered(found.folder)["problems"] == []
    for name in ("report.html", "statement.md"):
        path = found.folder / name
        text = path.read_text()
        (told,) = re.findall(r"[^<>\n]*More may follow\.[^<>\n]*", text)
        values = told[
            told.index("that one person, known to be in the data, has the sensitive value.") :
        ]
        assert "can be at most" in values
        path.write_text(text.replace(values, values.replace("So far", "By now").replace("3", "2")))
        rewritten(found.folder)
        assert answered(found.folder)["problems"]
        path.write_text(text)


def test_an_account_with_every_column_of_beliefs_verifies(tmp_path: Path) -> None:
    """Its table of beliefs is as wide as that of decisions."""
    made = kept.both(tmp_path)
    assert answered(discreet.report(account="people", ledger=made.ledger).folder)["verified"]


def test_a_release_told_as_an_account_is_found(made: Made) -> None:
    folder = discreet.report(made.release_id, ledger=made.ledger).folder
    shutil.rmtree(folder / "released")
    for name in ("participant.html", "registry.yaml"):
        (folder / name).unlink()
    rewritten(folder)
    assert answered(folder)["problems"]


def test_an_account_with_nothing_spent_and_one_that_is_altered(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    empty = discreet.report(account="people", ledger=url)
    assert answered(empty.folder, url)["problems"] == []
    ledger.charge("people", PureDP(0.5), purpose="x", who="someone")
    later = answered(empty.folder, url)
    assert later["problems"] == []
    told = "1 later entry of the account is not in this report (1 charge, ε = 0.5; spent in all "
    assert f"{told}ε = 0.5)" in later["unproven"]
    with pytest.raises(PolicyError):
        discreet.report(account="nobody", ledger=url)


def test_two_ledgers_in_one_folder_do_not_overwrite_each_others_report(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two", "one"):
        url = f"sqlite:///{tmp_path / name}.db"
        ledger = Ledger.open(url)
        if not found or name != "one":
            terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
            ledger.open_account("people", cap=PureDP(3.0), approver=name, reason="test", **terms)
        found.append(discreet.report(account="people", ledger=url))
        assert found[-1].folder.name.startswith("account-people-")
    one, two, again = found
    assert (
        (one.folder, one.manifest) == (again.folder, again.manifest) != (two.folder, two.manifest)
    )
    for made, name in ((one, "one"), (two, "two")):
        assert answered(made.folder, f"sqlite:///{tmp_path / name}.db")["problems"] == []


def test_the_command_and_what_it_refuses(made: Made, tmp_path: Path) -> None:
    def run(*arguments: str) -> int:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return int(ended.value.code or 0)

    where = ("--ledger", made.ledger)
    assert run("report", "--account", "people", *where, "--output", str(tmp_path)) == 0
    (folder,) = tmp_path.glob("account-people-*")
    assert run("verify", str(folder), *where) == 0
    for given in ([], ["--account", "people"], [made.release_id, "--account", "people"]):
        assert run("report", *given) == 2
    with pytest.raises(InputError, match="on a server"):
        ledger_folder("postgresql://host/privacy")
