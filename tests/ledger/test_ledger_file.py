"""What only a ledger in a file has: permissions, damage, the locks of SQLite."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hands import amid_charges
from sqlalchemy import event

from discreet.errors import InputError, InternalError, PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Account, Amount, Ledger
from discreet.ledger.chain import Chain
from discreet.ledger.entries import new_id
from discreet.ledger.store import Rows, Store

Opened = Callable[..., Ledger]
SAID = {"purpose": "a table", "who": "ci", "spec_hash": "5" * 64}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ledger.db'}"


def path_of(ledger: Ledger) -> Path:
    return Path(ledger.url.removeprefix("sqlite:///"))


@pytest.mark.parametrize("given", [5, "sqlite:///ledger.db", None])
def test_a_ledger_is_opened_by_its_url(given: Any) -> None:
    with pytest.raises(InputError, match=r"Ledger\.open"):
        Ledger(given)


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

    def pragmas(rows: Rows) -> tuple[Any, ...]:
        names = ("synchronous", "journal_mode")
        return tuple(rows.connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names)

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
    ledger._store.backend.engine.dispose()  # the connections that are made from now on count

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


# -- the connection that is kept


def test_a_file_that_was_put_in_the_place_of_the_ledger_is_the_one_that_is_used(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a new file, and by other bytes in the same one, with as many changes behind it."""
    ledger = opened()
    path, other = path_of(ledger), tmp_path / "other.db"
    shutil.copy(path, other)
    ledger.reserve("clinic", PureDP(0.1), **SAID)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("DISCREET_STATE", str(tmp_path / "other host"))
        Ledger.open(f"sqlite:///{other}").reserve("clinic", PureDP(0.2), **SAID)
    first, second = path.read_bytes(), other.read_bytes()
    assert first[24:28] == second[24:28], "SQLite's counter of changes tells them not apart"
    assert ledger.spent("clinic") == Amount.of(epsilon=0.1)
    path.write_bytes(second)
    assert ledger.spent("clinic") == Amount.of(epsilon=0.2)
    (tmp_path / "new.db").write_bytes(first)
    (tmp_path / "new.db").replace(path)
    assert ledger.spent("clinic") == Amount.of(epsilon=0.1)
    ledger.reserve("clinic", PureDP(0.3), **SAID)
    assert Ledger.open(ledger.url).spent("clinic") == Amount.of(epsilon=0.4)


def test_a_forked_process_uses_no_connection_of_its_parent(opened: Opened) -> None:
    ledger = opened()
    script = """
import os, sys
from discreet.guarantees import PureDP
from discreet.ledger import Ledger

ledger, said = Ledger.open(sys.argv[1]), {"purpose": "p", "who": "w", "spec_hash": "0"}

def mine():
    return ledger._store.read(lambda rows: id(rows.connection.connection.driver_connection))

ledger.reserve("clinic", PureDP(0.1), **said)
before = mine()
assert mine() == before
child = os.fork()
ledger.reserve("clinic", PureDP(0.1), **said)
if child == 0:
    assert mine() != before
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
ledger.reserve("clinic", PureDP(0.1), **said)
assert mine() == before
"""
    done = subprocess.run(
        [sys.executable, "-c", script, ledger.url], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert ledger.spent("clinic") == Amount.of(epsilon=0.1).times(4)
    assert ledger.verify().verified
