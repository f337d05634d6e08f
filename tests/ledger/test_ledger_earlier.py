"""An upgrade finds what earlier releases promised: kept or not, it binds from then on."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hands import Hand
from test_ledger_cli import APPROVED, Discreet
from test_ledger_verification import rewrite, rows_of

from discreet.errors import InputError
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.ledger import Amount, BrokenPromise, Earlier, Ledger
from discreet.ledger.entries import canonical
from discreet.ledger.store import FORMAT

TWELVE = {"posterior": 0.12, "p": 0.05, "values_known": True, "every_output": True}
RATIO = {"ratio": 3, "delta": 1e-6}
KNOWN = {"ratio": 3, "values_known": True}
SAID = {"purpose": "a table", "who": "ci", "spec_hash": "5" * 64}


class Past:
    """A ledger, and releases beside it, as Discreet 0.1.0 left them."""

    def __init__(self, ledger: Ledger, hand: Hand, folder: Path) -> None:
        self.ledger, self.hand, self.folder = ledger, hand, folder
        self.names: dict[str, str] = {}

    def release(self, name: str, charge: Guarantee, tolerance: object, below: str = "out") -> str:
        """Charge a release and store it; return its id."""
        entry = self.ledger.reserve(name, charge, **SAID)
        self.ledger.commit(str(entry.release_id), "a" * 64)
        self.store(str(entry.release_id), name, {"account": name, "tolerance": tolerance}, below)
        return str(entry.release_id)

    def store(self, release_id: str, name: str, spec: object, below: str = "out") -> Path:
        said = {
            "format": 1, "release_id": release_id, "account": name, "spent": {}, "spec": spec,
        }  # fmt: skip
        path = self.folder / below / release_id / "release.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(said))
        return path

    def end(self, version: int = 2) -> None:
        """Write the ledger as that format is: the first entry says so, and the tables."""
        rows = []
        for row in rows_of(self.ledger):
            said = json.loads(row.body)
            for name in ("account_seq", "account_previous"):
                said.pop(name, None)
            rows.append(replace(row, body=canonical(said)))
        rows = rewrite(rows, 0, lambda said: said.update(format=version))
        shutil.rmtree(Path(os.environ["DISCREET_STATE"]) / "heads")  # it had no witness
        change = "UPDATE discreet_entries SET body = :body, hash = :hash WHERE seq = :seq"
        with self.hand.past_the_guards():
            for row in rows:
                self.hand.execute(change, body=row.body, hash=row.hash, seq=row.seq)
        self.hand.execute("UPDATE discreet_format SET version = :to", to=version)
        assert self.ledger.verify().verified


@pytest.fixture
def past(opened: Callable[..., Ledger], hand: Hand, tmp_path: Path) -> Past:
    """Promises that are not kept: (a) with a δ, (b) by a third charge; and (c) one that is."""
    ledger = opened("delta", filter="basic", cap=ApproxDP(5.0, 1e-6))
    opened("twelve", cap=PureDP(5.0))
    opened("kept", cap=PureDP(5.0))
    past = Past(ledger, hand, tmp_path)
    past.names["a"] = past.release("delta", ApproxDP(1.0984, 1e-6), RATIO)
    past.names["b1"] = past.release("twelve", PureDP(0.4), TWELVE)
    past.names["b2"] = past.release("twelve", PureDP(0.4), TWELVE, "monthly/february")
    ledger.charge("twelve", PureDP(0.4), purpose="elsewhere", who="ci")
    past.names["c"] = past.release("kept", PureDP(1.0), KNOWN)
    past.end()
    return past


def by_id(found: tuple[Earlier, ...]) -> dict[str, Earlier]:
    return {one.release_id: one for one in found}


def test_what_is_kept_and_what_is_not_is_told(past: Past, tmp_path: Path) -> None:
    done = past.ledger.upgrade(tmp_path)
    assert (done.before, done.after, done.looked_in) == (2, FORMAT, tmp_path.resolve())
    found = by_id(done.releases)
    told = {name: found[release_id] for name, release_id in past.names.items()}
    assert {name: one.kept for name, one in told.items()} == {
        "a": False, "b1": False, "b2": False, "c": True,
    }  # fmt: skip
    assert told["b1"].promise_id == told["b2"].promise_id
    # With a δ the sentence was of every prior, with 99 %: ε is below ½ log 3.
    assert told["a"].sentence is not None
    assert "in the data and has the sensitive value" in told["a"].sentence
    assert "99 %" in told["a"].sentence
    limit = past.ledger.account("delta").promises[str(told["a"].promise_id)]
    assert Amount.of(epsilon=0.5487, delta=1e-6).within(limit)
    assert limit.within(Amount.of(epsilon=0.5488, delta=1e-6))
    # One entry for each promise, with the releases that it was found in.
    entries = [e for e in past.ledger.entries() if e.kind in ("upgrade", "promise")]
    assert [e.kind for e in entries] == ["upgrade", "promise", "promise", "promise"]
    assert [e.said.get("found_in") for e in entries[1:]] == [
        [past.names["a"]], [past.names["b1"], past.names["b2"]], [past.names["c"]],
    ]  # fmt: skip
    assert past.ledger.verify().verified


def test_nothing_is_charged_until_each_broken_promise_is_withdrawn(
    past: Past, tmp_path: Path
) -> None:
    ledger = past.ledger
    plan_id = ""
    found = by_id(ledger.upgrade(tmp_path).releases)
    with pytest.raises(BrokenPromise, match="already beyond") as caught:
        ledger.charge("twelve", PureDP(1e-6), purpose="p", who="w")
    assert caught.value.exit_code == 3
    with pytest.raises(BrokenPromise):
        ledger.register_plan("delta", [PureDP(1e-6)], PureDP(1e-6), purpose="p", who="w")
    for name, account in (("a", "delta"), ("b1", "twelve")):
        promise = str(found[past.names[name]].promise_id)
        ledger.withdraw(account, promise, approver="B", reason="it was not kept")
        plan_id = ledger.register_plan(account, [PureDP(0.1)], PureDP(0.1), purpose="p", who="w")
        ledger.next_slot(plan_id)
    # One that is kept binds like any other: log 3 in all.
    ledger.charge("kept", PureDP(0.0986), purpose="p", who="w")
    with pytest.raises(BrokenPromise, match="would break"):
        ledger.charge("kept", PureDP(0.0001), purpose="p", who="w")
    assert ledger.verify().verified


def test_a_slot_is_not_drawn_either_while_a_promise_is_broken(
    opened: Callable[..., Ledger], hand: Hand, tmp_path: Path
) -> None:
    ledger = opened("series", cap=PureDP(5.0))
    past = Past(ledger, hand, tmp_path)
    plan_id = ledger.register_plan("series", [(PureDP(0.4), 3)], PureDP(1.2), purpose="p", who="w")
    slot = ledger.next_slot(plan_id, "2026-01")
    ledger.commit(slot.release_id, "a" * 64)
    past.store(slot.release_id, "series", {"tolerance": TWELVE})
    past.end()
    (found,) = ledger.upgrade(tmp_path).releases
    assert found.kept is False
    for use in (
        lambda: ledger.next_slot(plan_id),
        lambda: ledger.reserve("series", PureDP(0.4), plan_id=plan_id, **SAID),
    ):
        with pytest.raises(BrokenPromise, match="already beyond"):
            use()
    assert ledger.next_slot(plan_id, "2026-01").stored  # what was stored is only found again
    ledger.withdraw("series", str(found.promise_id), approver="B", reason="it was not kept")
    assert ledger.next_slot(plan_id).number == 2


def test_the_command_line_lists_them_and_says_what_to_do(
    past: Past, url: str, tmp_path: Path
) -> None:
    discreet = Discreet(url)
    where = ("--output", tmp_path)
    said = discreet.json("upgrade", *where)
    assert (said["from"], said["to"], said["verified"]) == (2, FORMAT, True)
    assert {one["release_id"] for one in said["releases"]} == set(past.names.values())
    for one in said["releases"]:
        assert set(one) >= {"release_id", "account", "promise_id", "sentence", "kept"}
    head = said["head"]
    # A second time nothing is new; with --output the same is told again.
    code, words = discreet("upgrade", *where)
    assert code == 0
    assert words.count("NOT KEPT") == 3
    assert words.count("discreet ledger withdraw --ledger") == 2
    assert "Nothing more is charged to these accounts until each of these is withdrawn" in words
    assert discreet.json("upgrade")["releases"] == []
    assert past.ledger.head == head
    assert discreet("charge", "--account", "twelve", "--epsilon", 0.01)[0] == 3
    broken = next(o for o in said["releases"] if o["account"] == "twelve")["promise_id"]
    discreet.json("withdraw", "--account", "twelve", "--promise", broken, *APPROVED)
    assert discreet("charge", "--account", "twelve", "--epsilon", 0.01)[0] == 0
    again = [o for o in discreet.json("upgrade", *where)["releases"] if o["account"] == "twelve"]
    assert {o["reason"] for o in again} == {"It was withdrawn."}
    assert discreet.json("show", "--account", "twelve")["promises"] == []


def test_without_a_folder_it_looks_beside_a_file_and_says_so_elsewhere(
    past: Past, url: str, hand: Hand
) -> None:
    code, words = Discreet(url)("upgrade")
    assert code == 0
    if hand.kind == "sqlite":
        assert words.count("NOT KEPT") == 3
    else:
        assert "not looked for; give their folder with --output" in words
    with pytest.raises(InputError, match="There is no folder"):
        past.ledger.upgrade("nowhere/at/all")


def test_what_cannot_be_a_promise_is_listed_with_a_reason(
    opened: Callable[..., Ledger], hand: Hand, tmp_path: Path
) -> None:
    ledger = opened("clinic", cap=PureDP(50.0))
    past = Past(ledger, hand, tmp_path)
    one = PureDP(0.1)
    why = {
        past.release("clinic", one, {"posterior": 1, "p": 0.05}): "limits nothing",
        past.release("clinic", one, {"table": "risk.csv"}): "cannot be read",
        past.release("clinic", one, {"ratio": "three"}): "ratio",
        past.release("clinic", one, {"ration": 3}): "no key 'ration'",
        past.release("clinic", one, [3]): "not a mapping",
    }
    torn = past.release("clinic", one, TWELVE)
    path = tmp_path / "out" / torn / "release.json"
    path.write_text("{")
    why[torn] = "not JSON"
    empty = past.release("clinic", one, TWELVE)
    (tmp_path / "out" / empty / "release.json").write_text("[]")
    why[empty] = "does not describe a release"
    # None of these is a promise of this ledger, and nobody is told of them.
    past.release("clinic", one, None)
    past.store("0" * 26, "clinic", {"tolerance": TWELVE})
    past.release("clinic", one, {"ratio": 1.01}, ".hidden")
    past.release("clinic", one, {"ratio": 1.01}, "one/two/three/four")
    past.end()
    found = ledger.upgrade(tmp_path).releases
    assert {one.release_id for one in found} == set(why)
    for told in found:
        assert (told.promise_id, told.sentence, told.kept) == (None, None, None)
        assert why[told.release_id] in str(told.reason)
    assert ledger.account("clinic").promises == {}
    assert ledger.verify().verified


@pytest.mark.parametrize(
    ("terms", "charge", "tolerance", "kept", "words"),
    [
        # It was said that belief grows at most 3-fold, and grow it does not.
        ({}, PureDP(1.2), {"ratio": 3, "p": 0.05, "q": 1}, True, "grows at most 3-fold"),
        ({}, PureDP(1.3), {"ratio": 3, "p": 0.05, "q": 1}, False, "up or down"),
        ({}, PureDP(0.5), {"ratio": 3}, True, "every possible output"),
        # On an account of (ε, δ) a tolerance without a δ was for every output.
        (
            {"filter": "basic", "cap": ApproxDP(5.0, 1e-6)},
            PureDP(0.5),
            {"ratio": 3},
            True,
            "every possible output",
        ),
        (
            {"filter": "basic", "cap": ApproxDP(5.0, 1e-6)},
            ApproxDP(0.5, 1e-6),
            {"ratio": 3},
            False,
            "every possible output",
        ),
        (
            {"filter": "basic", "cap": ApproxDP(5.0, 1e-6)},
            ApproxDP(0.5, 1e-6),
            {"ratio": 3, "delta": 1e-6, "confidence": 0.999, "sided": "one"},
            True,
            "99.9 %",
        ),
        # No cap on δ, or one so large that no budget keeps it: then nothing does.
        ({"filter": "basic", "cap": None}, ApproxDP(0.5, 1e-6), RATIO, False, "99 %"),
        (
            {"filter": "basic", "cap": ApproxDP(5.0, 0.02)},
            ApproxDP(0.1, 1e-9),
            RATIO,
            False,
            "99 %",
        ),
        ({"filter": "zcdp", "cap": ZCDP(1.0)}, PureDP(0.1), TWELVE, False, "every possible"),
        ({"filter": "zcdp", "cap": ZCDP(1.0)}, PureDP(0.1), RATIO, True, "99 %"),
    ],
)
def test_a_tolerance_is_read_as_it_was_meant(
    opened: Callable[..., Ledger],
    hand: Hand,
    tmp_path: Path,
    terms: dict[str, Any],
    charge: Guarantee,
    tolerance: dict[str, Any],
    kept: bool,
    words: str,
) -> None:
    ledger = opened(**({"cap": PureDP(5.0), "unit_name": "one patient"} | terms))
    past = Past(ledger, hand, tmp_path)
    past.release("clinic", charge, tolerance)
    past.end()
    (found,) = ledger.upgrade(tmp_path).releases
    assert (found.kept, found.reason) == (kept, None)
    assert words in str(found.sentence)
    assert "one patient" in str(found.sentence)
    (standing,) = ledger.promises("clinic")
    assert (standing.registered.id, standing.kept) == (found.promise_id, kept)
    assert ledger.verify().verified
