"""Everything about a ledger that only SQLite needs to be told.

One file holds everything. The journal mode is DELETE and not WAL: with a write-ahead log the latest
charges lie in a second file, and copying or restoring `ledger.db` without it would silently forget
them; WAL also does not work on network file systems. In DELETE mode a transaction is committed when
its journal is unlinked, and only `synchronous = EXTRA` also syncs the folder after that, so that a
power cut right after a commit cannot bring the journal, and the state before the charge, back
(SQLite manual, "PRAGMA synchronous"). It is FULL with that one sync more.

Connections are kept between transactions, for opening one costs as much as a charge. Before each
use it is seen to that the file is still the one that was opened (it may have been restored from a
copy), and nothing that was read of it before is remembered.

A writer takes its lock at once (BEGIN IMMEDIATE): it never reads a sum that someone else is about
to change. Triggers refuse UPDATE and DELETE, and an INSERT anywhere but at the end.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, event, text
from sqlalchemy.exc import DBAPIError, DisconnectionError

from discreet.errors import DiscreetError, InputError, InternalError
from discreet.ledger.backend import Damaged, kept_engine
from discreet.words import say as text_of

# One attempt waits this long for the lock before the store draws a new pause and tries again.
BUSY_SECONDS = 2.0
PATIENCE = 60.0
_FILE = "discreet_file"  # kept with a connection: which file it has open

_REFUSE = """
CREATE TRIGGER discreet_entries_no_{verb} BEFORE {verb} ON discreet_entries
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END
"""
_APPEND = """
CREATE TRIGGER discreet_entries_append BEFORE INSERT ON discreet_entries
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM discreet_entries)
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are only added at its end'); END
"""
_TRIGGERS = {
    "discreet_entries_append": _APPEND,
    **{f"discreet_entries_no_{verb}": _REFUSE.format(verb=verb) for verb in ("DELETE", "UPDATE")},
}


class SQLite:
    """A ledger in one SQLite file."""

    mark = r":\1"

    def __init__(self, url: URL) -> None:
        path = url.database
        if not path or path == ":memory:" or url.query:
            raise InputError("ledger.sqlite_url", url=url.render_as_string())
        # Absolute from the start: the process may change its folder later.
        self.path = Path(path).absolute()
        at = url.set(database=str(self.path))
        self.engine = kept_engine(self, at, connect_args={"timeout": BUSY_SECONDS})
        _watch(self.engine, self.path)

    def exists(self) -> bool:
        """Whether there is a file; reading never makes one."""
        return os.path.exists(self.path)  # unlike Path.exists, False where it may not look

    def create(self) -> None:
        """Make the file, readable by its owner alone.

        Only a file that is not there yet is opened: closing any descriptor of a database drops the
        locks that this process holds on it (POSIX).
        """
        try:
            if not self.exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            return
        except OSError as problem:
            why = problem.strerror
            raise InputError("ledger.cannot_make", path=self.path, strerror=why) from None

    def options(self, *, write: bool) -> dict[str, Any]:
        """Say which kind of BEGIN: SQLite knows no levels of isolation, only whole transactions."""
        return {"discreet_write": write}

    def guard(self, connection: Connection) -> None:
        """Add the triggers that make the table append-only."""
        for sql in _TRIGGERS.values():
            connection.execute(text(sql))

    def unguard(self, connection: Connection) -> None:
        """Remove the triggers until the table is guarded again."""
        for name in _TRIGGERS:
            connection.execute(text(f"DROP TRIGGER IF EXISTS {name}"))

    def lock(self, connection: Connection) -> None:
        """Nothing to do: BEGIN IMMEDIATE has taken the one write lock that there is."""

    def later(self, connection: Connection, statement: str, values: dict[str, Any]) -> None:
        """Run it now: nothing is won by waiting."""
        connection.exec_driver_sql(statement, values)

    def settle(self, connection: Connection) -> None:
        """Nothing to add: SQLite's COMMIT syncs before the lock is let go."""

    def laid_out(self, connection: Connection) -> bool:
        """Whether the tables are there."""
        query = "SELECT 1 FROM sqlite_master WHERE name = 'discreet_format'"
        return connection.exec_driver_sql(query).scalar() is not None

    def damage(self, connection: Connection) -> list[str]:
        """Return what SQLite itself finds wrong with the file, and guards that are missing."""
        found = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check"))]
        problems = [
            text_of("ledger.file_damaged_line", line=line) for line in found if line != "ok"
        ]
        query = text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        there = {str(name): str(sql) for name, sql in connection.execute(query)}
        for name, sql in _TRIGGERS.items():
            if there.get(name, "").split() != sql.split():
                problems.append(text_of("ledger.guard_changed", name=name))
        return problems

    def refused(self, problem: DBAPIError) -> bool:
        """Nothing can be looked up: where a commit fails, what is read may not be on disk."""
        return False

    def patience(self, problem: DBAPIError) -> float:
        """Return how long to go on where another process held the lock."""
        code = getattr(problem.orig, "sqlite_errorcode", 0) & 0xFF
        return PATIENCE if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) else 0.0

    def said(self, problem: DBAPIError) -> DiscreetError:
        """Return the failure in words of ours, with what it means for the charge."""
        code = getattr(problem.orig, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return Damaged("ledger.file_damaged", path=self.path)
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return InputError("ledger.cannot_open", path=self.path)
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            return InternalError("ledger.disk_full", path=self.path)
        if self.patience(problem):
            return InternalError("ledger.file_busy", path=self.path, patience=PATIENCE)
        name = type(problem.orig).__name__
        return InternalError("ledger.file_unusable", path=self.path, name=name, code=code)


def _watch(engine: Engine, path: Path) -> None:
    """Use no file but the one at the path, and nothing that was read of it before."""

    def file() -> tuple[int, int] | None:
        try:
            found = os.stat(path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def note(dialect: object, record: Any, *_: object) -> None:
        # Before it is opened: if it is replaced right now, that is seen before the first use.
        record.info[_FILE] = file()

    def take_up(connection: Any, record: Any, proxy: object) -> None:
        if record.info[_FILE] != file():
            raise DisconnectionError
        cursor = connection.cursor()
        cursor.execute("PRAGMA shrink_memory")
        cursor.execute("PRAGMA schema_version").fetchone()  # reads the file
        if cursor.execute("PRAGMA journal_mode").fetchone() == ("wal",):
            # Left on by another tool: a copy of the file alone would lack its newest entries.
            with suppress(sqlite3.OperationalError):  # others are reading
                cursor.execute("PRAGMA journal_mode = DELETE")
        cursor.close()

    event.listen(engine, "do_connect", note)
    event.listen(engine, "connect", _connected)
    event.listen(engine, "checkout", take_up)
    event.listen(engine, "begin", _begin)


def _connected(connection: Any, record: object) -> None:
    # The driver must not begin transactions by itself: `_begin` says which kind.
    connection.isolation_level = None
    # Bytes that are no UTF-8 come from tampering; they are kept so that their hash is wrong.
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = EXTRA")
    cursor.execute("PRAGMA recursive_triggers = ON")
    cursor.close()


def _begin(connection: Connection) -> None:
    if not connection.get_execution_options().get("discreet_write", False):
        connection.exec_driver_sql("BEGIN")
        return
    # SQLite's own wait sleeps longer the longer it has waited, so that late comers win and someone
    # may starve among many writers. Short random naps give each the same chance at every release.
    driver: Any = connection.connection.driver_connection
    until = time.monotonic() + BUSY_SECONDS
    driver.execute("PRAGMA busy_timeout = 0")
    while True:
        try:
            driver.execute("BEGIN IMMEDIATE")
            break
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                connection.exec_driver_sql("BEGIN IMMEDIATE")  # once more, to be told why
                break
        time.sleep(random.uniform(0.001, 0.012))  # noqa: S311  (a nap, not a secret)
    # From here on only readers can be in the way, and they are let out before others are let in.
    driver.execute(f"PRAGMA busy_timeout = {1000 * BUSY_SECONDS:.0f}")
