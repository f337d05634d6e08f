"""What only a ledger in a file has: permissions, damage, the locks of SQLite."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hands import amid_charges
from sqlalchemy import event

from discreet.errors import InputError, InternalError, PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Account, Ledger
from discreet.ledger.chain import Chain
from discreet.ledger.entries import new_id
from discreet.ledger.store import Store

Opened = Callable[..., Ledger]
SAID = {"purpose": "a table", "who": "ci", "spec_hash": "5" * 64}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ledger.db'}"


def path_of(ledger: Ledger) -> Path:
    return Path(ledger.url.removeprefix("sqlite:///"))


def test_the_file_is_its_owners_alone(full: Ledger) -> None:
    assert stat.S_IMODE(os.stat(path_of(full)).st_mode) == 0o600
    assert [p.name for p in path_of(full).parent.iterdir()] == ["ledger.db"]


def test_reading_makes_no_file(ledger: Ledger) -> None:
    with pytest.raises(PolicyError):
        ledger.account("clinic")
    with pytest.raises(PolicyError):
        ledger.reserve("clinic", PureDP(0.1), **SAID)
    assert not path_of(ledger).exists()


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

    def meanwhile(after: Account) -> None:
        with closing(sqlite3.connect(path_of(full), timeout=0, isolation_level=None)) as other:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            tried.append(after.spent)

    with amid_charges(meanwhile):
        entry = full.reserve("clinic", PureDP(0.1), **SAID)
    assert tried == [entry.spent]


def test_a_ledger_in_use_for_too_long_says_so_in_plain_words(
    full: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.ledger.sqlite.PATIENCE", 0.2)
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


def test_a_removed_trigger_is_named(full: Ledger) -> None:
    with closing(sqlite3.connect(path_of(full))) as connection:
        connection.execute("DROP TRIGGER discreet_entries_no_UPDATE")
        connection.commit()
    assert full.verify().problems == (
        "the trigger discreet_entries_no_UPDATE was removed or changed",
    )


def test_a_charge_on_a_long_ledger_asks_no_more_of_the_database(opened: Opened) -> None:
    """Counted in steps of SQLite's machine, which no load on this one changes."""
    ledger, steps = opened(cap=PureDP(100.0)), [0]

    def step() -> None:
        steps[0] += 1

    event.listen(
        ledger._store.backend.engine,
        "connect",
        lambda connection, record: connection.set_progress_handler(step, 10),
    )

    def cost() -> int:
        before = steps[0]
        entry = ledger.reserve("clinic", PureDP(0.01), **SAID)
        ledger.commit(str(entry.release_id), "a" * 64)
        return steps[0] - before

    def lengthen(entries: int) -> None:
        def write(chain: Chain) -> None:
            for _ in range(entries):
                said = {"release_id": new_id(), "charge": [], **SAID}
                chain.append("commit", chain.needed("clinic"), said)

        ledger._written(write)

    lengthen(50)
    short = cost()
    lengthen(1500)
    assert cost() <= 1.1 * short
