"""A chain shows every change to what it holds; a head kept elsewhere shows the rest."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import InputError, InternalError, PolicyError
from discreet.guarantees import Guarantee, PureDP
from discreet.ledger import Ledger
from discreet.ledger.entries import canonical, digest
from discreet.ledger.store import REPEATED, Row, Store
from discreet.ledger.verification import recomputed

SAID = {"purpose": "a table", "who": "ci", "spec_hash": "5" * 64}
CHARGED = {"purpose": "a täble", "who": "ci"}
TRIGGERS = ("append", "no_UPDATE", "no_DELETE")
Opened = Callable[..., Ledger]


@pytest.fixture
def full(opened: Opened) -> Ledger:
    """A ledger with every kind of entry, and a period."""
    ledger = opened(cap=PureDP(2.0), period="month", period_cap=PureDP(1.0))
    entry = ledger.reserve("clinic", PureDP(0.1), **SAID)
    ledger.commit(str(entry.release_id), "a" * 64)
    ledger.charge("clinic", PureDP(0.2), release_id="elsewhere", **CHARGED)
    ledger.grant("clinic", add=PureDP(0.5), approver="B", reason="more")
    plan = ledger.register_plan("clinic", [(PureDP(0.1), 2)], PureDP(0.2), **CHARGED)
    slot = ledger.next_slot(plan, "first")
    ledger.commit(slot.release_id, "b" * 64)
    ledger.next_slot(plan)
    return ledger


def path_of(ledger: Ledger) -> Path:
    return Path(ledger.url.removeprefix("sqlite:///"))


@contextmanager
def by_hand(ledger: Ledger) -> Iterator[sqlite3.Connection]:
    """Open the file as someone with a database tool would, past the triggers."""
    with closing(sqlite3.connect(path_of(ledger))) as connection:
        saved = connection.execute("SELECT sql FROM sqlite_master WHERE type='trigger'").fetchall()
        for name in TRIGGERS:
            connection.execute(f"DROP TRIGGER discreet_entries_{name}")
        yield connection
        for (sql,) in saved:
            connection.execute(sql)
        connection.commit()


def rows_of(ledger: Ledger) -> list[Row]:
    store = Store(ledger.url)
    return store.read(lambda connection: list(store.rows(connection)))


def test_an_untouched_ledger_is_verified(full: Ledger) -> None:
    found = full.verify()
    assert found.verified
    assert found.problems == ()
    assert found.entries == 10
    assert found.head == full.head
    assert {e.kind for e in full.entries()} == {
        "begin", "open", "reserve", "commit", "charge", "grant", "plan", "slot",
    }  # fmt: skip


def test_a_hash_is_sha256_of_the_text_and_anyone_can_recompute_it(full: Ledger) -> None:
    import hashlib

    with closing(sqlite3.connect(path_of(full))) as connection:
        rows = connection.execute("SELECT body, hash FROM discreet_entries ORDER BY seq").fetchall()
    before = "0" * 64
    for body, said in rows:
        assert hashlib.sha256(body.encode()).hexdigest() == said
        assert json.loads(body)["previous"] == before
        before = said


def test_any_byte_of_any_entry_changed_is_detected(full: Ledger) -> None:
    rows = rows_of(full)
    assert recomputed(rows).verified
    tried = 0
    for at, row in enumerate(rows):
        raw = row.body.encode()
        for position in range(len(raw)):
            for flip in (0x01, 0x80):
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
    assert tried > 5_000


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
    assert found.problems == ("entry 6: does not carry the hash of the entry before it",)


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
    for n, row in enumerate(rows[at:]):
        said = json.loads(row.body)
        if n == 0:
            change(said)
        said["previous"] = before
        body = canonical(said)
        before = digest(body)
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
        ("begin", lambda s: s.update(format=2), "another format"),
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


def test_the_table_refuses_to_be_changed(full: Ledger) -> None:
    with closing(sqlite3.connect(path_of(full))) as connection:
        for statement in (
            "UPDATE discreet_entries SET body = '{}' WHERE seq = 3",
            "DELETE FROM discreet_entries WHERE seq = 10",
            "DELETE FROM discreet_entries",
            "INSERT INTO discreet_entries SELECT 12, kind, account, 'x', plan_id, slot, body, 'h' "
            "FROM discreet_entries WHERE seq = 3",
            "INSERT OR REPLACE INTO discreet_entries SELECT * FROM discreet_entries WHERE seq = 3",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="entries of a ledger"):
                connection.execute(statement)
    assert full.verify().verified


@pytest.mark.parametrize("column", ["kind", "account", "release_id", "plan_id", "body", "hash"])
def test_edits_by_hand_are_detected_in_every_column_of_every_entry(
    full: Ledger, column: str
) -> None:
    for seq in range(1, 11):
        with by_hand(full) as connection:
            (before,) = connection.execute(
                f"SELECT {column} FROM discreet_entries WHERE seq = ?",  # noqa: S608
                (seq,),
            ).fetchone()
            edit = f"UPDATE discreet_entries SET {column} = ? WHERE seq = ?"  # noqa: S608
            connection.execute(edit, (f"{before or ''}x", seq))
            connection.commit()
            assert not full.verify().verified
            connection.execute(edit, (before, seq))
    assert full.verify().verified


def test_nothing_is_spent_on_an_entry_that_was_altered(full: Ledger) -> None:
    with by_hand(full) as connection:
        connection.execute(
            "UPDATE discreet_entries SET body = replace(body, '\"0.5\"', '\"0.1\"') WHERE seq = 10"
        )
    with pytest.raises(PolicyError, match=r"Entry 10 .* does not match its hash"):
        full.reserve("clinic", PureDP(0.1), **SAID)
    assert not full.verify().verified


def test_a_removed_trigger_is_reported(full: Ledger) -> None:
    with closing(sqlite3.connect(path_of(full))) as connection:
        connection.execute("DROP TRIGGER discreet_entries_no_UPDATE")
        connection.commit()
    assert full.verify().problems == ("the trigger discreet_entries_no_UPDATE was removed",)


def test_a_clock_that_ran_backwards_is_reported(full: Ledger) -> None:
    def earlier(said: dict[str, Any]) -> None:
        moment = datetime.fromisoformat(said["at"]) - timedelta(hours=1)
        said["at"] = moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    found = recomputed(rewrite(rows_of(full), 4, earlier))
    assert found.problems == ("entry 5: is earlier than the one before it: a clock ran backwards",)


# -- the file


def test_the_file_is_its_owners_alone(full: Ledger) -> None:
    assert stat.S_IMODE(os.stat(path_of(full)).st_mode) == 0o600
    assert [p.name for p in path_of(full).parent.iterdir()] == ["ledger.db"]


def test_reading_makes_no_file(ledger: Ledger) -> None:
    with pytest.raises(PolicyError):
        ledger.account("clinic")
    with pytest.raises(PolicyError):
        ledger.reserve("clinic", PureDP(0.1), **SAID)
    assert not path_of(ledger).exists()


def test_a_newer_format_is_refused_before_anything_is_read(full: Ledger) -> None:
    with closing(sqlite3.connect(path_of(full))) as connection:
        connection.execute("UPDATE discreet_format SET version = 2")
        connection.commit()
    for use in (
        lambda: full.account("clinic"),
        lambda: full.reserve("clinic", PureDP(0.1), **SAID),
        full.verify,
    ):
        with pytest.raises(PolicyError, match=r"format 2 .* knows format 1"):
            use()


def test_a_damaged_file_is_not_verified_and_not_spent_on(full: Ledger) -> None:
    path = path_of(full)
    whole = path.read_bytes()
    path.write_bytes(b"not a database at all " * 300)
    found = full.verify()
    assert not found.verified
    assert "damaged" in found.problems[0]
    with pytest.raises(InputError, match="damaged or not a ledger"):
        full.reserve("clinic", PureDP(0.1), **SAID)
    path.write_bytes(whole[: len(whole) // 2])
    assert not full.verify().verified
    path.write_bytes(b"")
    assert not full.verify().verified
    with pytest.raises(PolicyError, match="not open"):
        full.reserve("clinic", PureDP(0.1), **SAID)
    path.write_bytes(whole)
    assert full.verify().verified


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path}/nowhere/ledger.db")
    with pytest.raises(InputError, match="No ledger can be made"):
        ledger.open_account(
            "a", unit="person", adjacency="add-remove", filter="pure", cap=None, approver="a",
            reason="b",
        )  # fmt: skip


def test_nobody_else_writes_between_the_sum_and_the_entry(full: Ledger) -> None:
    tried = []

    def meanwhile(total: Guarantee) -> None:
        with closing(sqlite3.connect(path_of(full), timeout=0, isolation_level=None)) as other:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            tried.append(total)

    full.reserve("clinic", PureDP(0.1), tolerance_check=meanwhile, **SAID)
    assert len(tried) == 1


def test_a_ledger_in_use_for_too_long_says_so_in_plain_words(
    full: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.ledger.store.PATIENCE", 0.2)
    monkeypatch.setattr("discreet.ledger.sqlite.BUSY_SECONDS", 0.05)
    impatient = Ledger.open(full.url)
    with closing(sqlite3.connect(path_of(full), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InternalError, match="in use by others") as caught:
            impatient.reserve("clinic", PureDP(0.1), **SAID)
        assert "locked" not in str(caught.value)
        assert caught.value.__cause__ is None
        other.execute("ROLLBACK")
    impatient.verify()


def test_every_commit_is_synced_and_leaves_one_file(full: Ledger) -> None:
    store = Store(full.url)

    def pragmas(connection: Any) -> tuple[Any, ...]:
        names = ("synchronous", "journal_mode")
        return tuple(connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names)

    assert store.read(pragmas) == (3, "delete")
