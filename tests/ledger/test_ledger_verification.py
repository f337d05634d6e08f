"""A chain shows every change to what it holds; a head kept elsewhere shows the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hands import Hand
from sqlalchemy.exc import DBAPIError

from discreet.errors import InputError, PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.ledger.entries import canonical, digest
from discreet.ledger.store import FORMAT, Row
from discreet.ledger.store import REPEATED as COLUMNS
from discreet.ledger.verification import recomputed
from soaking import soaked, some_of

SAID = {"purpose": "a table", "who": "ci", "spec_hash": "5" * 64}
REPEATED = COLUMNS[FORMAT]
Opened = Callable[..., Ledger]


def rows_of(ledger: Ledger) -> list[Row]:
    return ledger._store.read(lambda rows: list(rows.stored()))


def test_an_untouched_ledger_is_verified(full: Ledger) -> None:
    found = full.verify()
    assert found.verified
    assert found.problems == ()
    assert found.entries == 10
    assert found.head == full.head
    assert {e.kind for e in full.entries()} == {
        "begin", "open", "reserve", "commit", "charge", "grant", "plan", "slot",
    }  # fmt: skip


def test_a_hash_is_sha256_of_the_text_and_anyone_can_recompute_it(full: Ledger, hand: Hand) -> None:
    import hashlib

    before = "0" * 64
    for body, said in hand.execute("SELECT body, hash FROM discreet_entries ORDER BY seq"):
        assert hashlib.sha256(str(body).encode()).hexdigest() == said
        assert json.loads(str(body))["previous"] == before
        before = str(said)


@pytest.mark.slow
@pytest.mark.parametrize("url", ["sqlite"], indirect=True)  # the rows are the same in both
def test_any_byte_of_any_entry_changed_is_detected(full: Ledger) -> None:
    rows = rows_of(full)
    assert recomputed(rows).verified
    tried = 0
    for at, row in enumerate(rows):
        raw = row.body.encode()
        for position in range(len(raw)):
            for flip in some_of((0x01, 0x80), position):
                changed = bytearray(raw)
                changed[position] ^= flip
                body = changed.decode("utf-8", "surrogateescape")
                edited = [*rows[:at], replace(row, body=body), *rows[at + 1 :]]
                assert not recomputed(edited).verified
                tried += 1
        for position in range(64):
            other = "0" if row.hash[position] != "0" else "1"
            wrong = row.hash[:position] + other + row.hash[position + 1 :]
            assert not recomputed([*rows[:at], replace(row, hash=wrong), *rows[at + 1 :]]).verified
        for name in REPEATED:
            for value in ("x", 7, None, b"x"):
                if value != row.repeated[name]:
                    edited = replace(row, repeated=row.repeated | {name: value})
                    assert not recomputed([*rows[:at], edited, *rows[at + 1 :]]).verified
        for value in (None, 7, b"{}", "", "[]", "{}", "[" * 100_000, "NaN"):
            assert not recomputed([*rows[:at], replace(row, body=value), *rows[at + 1 :]]).verified
    assert tried > (5_000 if soaked() else 2_500)


def test_entries_removed_repeated_or_exchanged_are_detected(full: Ledger) -> None:
    rows = rows_of(full)
    for at in range(len(rows) - 1):
        assert not recomputed(rows[:at] + rows[at + 1 :]).verified
        assert not recomputed([*rows[: at + 1], *rows[at:]]).verified
        assert not recomputed([*rows[:at], rows[at + 1], rows[at], *rows[at + 2 :]]).verified


def test_an_entry_replaced_with_its_own_hash_is_detected_by_the_next(full: Ledger) -> None:
    rows = rows_of(full)
    forged = rewrite(rows, 4, lambda said: said.update(purpose="something else"))
    found = recomputed([*rows[:4], forged[4], *rows[5:]])
    assert found.problems == (
        "entry 6: does not carry the hash of the entry before it",
        "entry 6: does not carry the hash of the account's entry before it",
    )


def test_a_cut_off_end_is_seen_only_against_a_head(full: Ledger) -> None:
    rows, head = rows_of(full), full.head
    for kept in range(1, len(rows)):
        assert recomputed(rows[:kept]).verified
        found = recomputed(rows[:kept], head)
        assert not found.verified
        assert "not in the chain" in found.problems[0]
    older = rows[3].hash
    assert recomputed(rows, older).since_head == len(rows) - 4
    assert full.verify(head).since_head == 0
    with pytest.raises(InputError, match="64 hexadecimal"):
        full.verify("abc")


def rewrite(rows: list[Row], at: int, change: Callable[[dict[str, Any]], None]) -> list[Row]:
    """Change one entry and write the whole chain after it anew, hashes and all."""
    out, before = list(rows[:at]), rows[at - 1].hash if at else "0" * 64
    own = {str(row.repeated["account"]): row.hash for row in rows[:at]}
    for n, row in enumerate(rows[at:]):
        said = json.loads(row.body)
        if n == 0:
            change(said)
        said["previous"] = before
        if "account_previous" in said:
            said["account_previous"] = own.get(str(said["account"]), "0" * 64)
        body = canonical(said)
        before = own[str(said.get("account"))] = digest(body)
        repeated = {name: said.get(name) for name in REPEATED}
        out.append(Row(row.seq, repeated, body, before))
    return out


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("reserve", lambda s: s["charge"][0].update(epsilon=0.05), "cost what its charges cost"),
        ("reserve", lambda s: s["cost"].update(epsilon="0.05"), "cost what its charges cost"),
        ("charge", lambda s: s["standing"]["spent"].update(epsilon="0.1"), "leave the account"),
        ("grant", lambda s: s["add"].update(epsilon="5"), "leave the account"),
        ("open", lambda s: s["standing"]["cap"].update(epsilon="0.2"), "past a cap"),
        ("open", lambda s: s["standing"]["spent"].update(epsilon="1"), "something spent"),
        ("open", lambda s: s["terms"].update(filter="zcdp"), "does not follow"),
        ("open", lambda s: s.update(account="other"), "does not follow"),
        ("commit", lambda s: s.update(release_id="x" * 26), "was not reserved"),
        ("slot", lambda s: s.update(slot=3), "does not have"),
        ("plan", lambda s: s["parts"][0].update(times=1), "slot that its plan does not have"),
        ("charge", lambda s: s.update(at="2020-01-01T00:00:00.000000Z"), "clock ran backwards"),
        ("charge", lambda s: s.update(kind="begin"), "where a ledger begins"),
        ("begin", lambda s: s.update(format=FORMAT + 1), "another format"),
        ("charge", lambda s: s.update(kind="refund"), "leave the account"),
    ],
)
def test_a_rewritten_chain_must_still_add_up_and_never_has_the_old_head(
    full: Ledger, kind: str, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    rows = rows_of(full)
    at = next(n for n, row in enumerate(rows) if row.repeated["kind"] == kind)
    found = recomputed(rewrite(rows, at, change))
    assert not found.verified
    assert any(words in problem for problem in found.problems)


def test_a_chain_rewritten_with_care_is_seen_only_against_a_head(full: Ledger) -> None:
    rows = rows_of(full)
    forged = rewrite(rows, 2, lambda said: said.update(purpose="something else"))
    assert recomputed(forged).verified
    assert not recomputed(forged, full.head).verified


def test_the_table_refuses_to_be_changed(full: Ledger, hand: Hand) -> None:
    columns = "kind, account, 'x', plan_id, slot, body, 'h'"
    names = "seq, kind, account, release_id, plan_id, slot, body, hash"
    for statement in (
        "UPDATE discreet_entries SET body = '{}' WHERE seq = 3",
        "UPDATE discreet_entries SET body = '{}' WHERE seq = 300",
        "DELETE FROM discreet_entries WHERE seq = 10",
        "DELETE FROM discreet_entries",
        *(
            f"INSERT INTO discreet_entries ({names}) SELECT {seq}, {columns} "  # noqa: S608
            "FROM discreet_entries WHERE seq = 3"
            for seq in (12, 0, -1)
        ),
        "INSERT OR REPLACE INTO discreet_entries SELECT * FROM discreet_entries WHERE seq = 3"
        if hand.kind == "sqlite"
        else "TRUNCATE discreet_entries",
    ):
        if hand.kind == "sqlite" and "300" in statement:
            continue  # nothing to change, and so nothing to refuse
        with pytest.raises(DBAPIError, match="entries of a ledger"):
            hand.execute(statement)
    assert full.verify().verified


@pytest.mark.parametrize("column", ["kind", "account", "release_id", "plan_id", "body", "hash"])
def test_edits_by_hand_are_detected_in_every_column_of_every_entry(
    full: Ledger, hand: Hand, column: str
) -> None:
    edit = f"UPDATE discreet_entries SET {column} = :value WHERE seq = :seq"  # noqa: S608
    look = f"SELECT {column} FROM discreet_entries ORDER BY seq"  # noqa: S608
    with hand.past_the_guards():
        for seq, (before,) in enumerate(hand.execute(look), 1):
            # As long as it was: columns have widths, and a server keeps to them.
            text = str(before or "")
            value = ("y" if text.startswith("x") else "x") + text[1:]
            hand.execute(edit, value=value, seq=seq)
            assert any("entry" in problem for problem in full.verify().problems)
            hand.execute(edit, value=before, seq=seq)
    assert full.verify().verified


def test_nothing_is_spent_on_an_entry_that_was_altered(full: Ledger, hand: Hand) -> None:
    with hand.past_the_guards():
        hand.execute(
            "UPDATE discreet_entries SET body = replace(body, '\"0.5\"', '\"0.1\"') WHERE seq = 10"
        )
    with pytest.raises(PolicyError, match=r"Entry 10 .* does not match its hash"):
        full.reserve("clinic", PureDP(0.1), **SAID)
    assert not full.verify().verified


def test_guards_taken_away_are_reported(full: Ledger, hand: Hand) -> None:
    with hand.past_the_guards():
        problems = full.verify().problems
    assert len(problems) == (3 if hand.kind == "sqlite" else 2)
    assert all("the trigger discreet_entries_" in problem for problem in problems)
    assert full.verify().verified


def test_a_newer_format_is_refused_before_anything_is_read(full: Ledger, hand: Hand) -> None:
    hand.execute("UPDATE discreet_format SET version = version + 1")
    for use in (
        lambda: full.account("clinic"),
        lambda: full.reserve("clinic", PureDP(0.1), **SAID),
        full.verify,
    ):
        with pytest.raises(PolicyError, match=rf"format {FORMAT + 1} .* knows format {FORMAT}"):
            use()


def test_a_clock_that_ran_backwards_is_reported(full: Ledger) -> None:
    def earlier(said: dict[str, Any]) -> None:
        moment = datetime.fromisoformat(said["at"]) - timedelta(hours=1)
        said["at"] = moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    found = recomputed(rewrite(rows_of(full), 4, earlier))
    assert found.problems == ("entry 5: is earlier than the one before it: a clock ran backwards",)
