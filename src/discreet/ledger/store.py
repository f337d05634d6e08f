"""The table of entries, and transactions on it, in SQLAlchemy Core.

One append-only table holds the chain; a second, of one row, the version of this layout, so that an
older Discreet refuses a newer ledger before it reads anything else. What differs between databases
(how a file is made, locked and guarded) is behind `Backend`.

A transaction is a function of a connection. If the lock is held by someone else it is rolled back
and run again after a random pause, up to `PATIENCE` seconds; so a function must do nothing but read
and write the ledger.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    and_,
    exists,
    insert,
    inspect,
    select,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from discreet.errors import InputError, InternalError, PolicyError
from discreet.ledger.backend import Backend
from discreet.ledger.entries import Entry
from discreet.ledger.sqlite import SQLite

__all__ = ["FORMAT", "Row", "Store"]

FORMAT = 1
PATIENCE = 60.0
_T = TypeVar("_T")

_metadata = MetaData()
_format = Table("discreet_format", _metadata, Column("version", Integer, nullable=False))
_entries = Table(
    "discreet_entries",
    _metadata,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("account", String(100)),
    Column("release_id", String(64)),
    Column("plan_id", String(64)),
    Column("slot", Integer),
    Column("body", Text, nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    # At most one reservation, one slot and one output of a release, whatever a program does.
    UniqueConstraint("release_id", "kind", name="discreet_entries_once"),
    Index("discreet_entries_account", "account", "seq"),
    Index("discreet_entries_kind", "account", "kind", "seq"),
    Index("discreet_entries_plan", "plan_id", "seq"),
)
# Columns that repeat what the body says, for looking up; the verification compares them.
REPEATED = ("kind", "account", "release_id", "plan_id", "slot")


@dataclass(frozen=True, slots=True)
class Row:
    """A stored row as it is, for the verification: nothing about it is trusted."""

    seq: Any
    repeated: dict[str, Any]
    body: Any
    hash: Any


class Store:
    """The entries in a database, by URL."""

    def __init__(self, url: str) -> None:
        try:
            parsed = make_url(url)
        except (ArgumentError, ValueError):
            # Not repeated: what cannot be parsed may hold a password.
            raise InputError("The ledger must be a URL such as sqlite:///ledger.db.") from None
        if parsed.get_backend_name() != "sqlite":
            raise InputError(
                f"A ledger on {parsed.get_backend_name()!r} is not supported; use "
                "sqlite:///ledger.db."
            )
        self.url = parsed.render_as_string(hide_password=True)
        self.backend: Backend = SQLite(parsed)

    def read(self, what: Callable[[Connection], _T]) -> _T:
        """Run a function in a transaction that sees one moment of the ledger."""
        return self._patiently(what, write=False)

    def write(self, what: Callable[[Connection], _T]) -> _T:
        """Run a function in the one writing transaction; durable when this returns."""
        return self._patiently(what, write=True)

    def _patiently(self, what: Callable[[Connection], _T], *, write: bool) -> _T:
        until = time.monotonic() + PATIENCE
        pause = 0.005
        while True:
            try:
                return self._once(what, write=write)
            except DBAPIError as problem:
                if not self.backend.busy(problem):
                    raise self.backend.said(problem) from None
            if time.monotonic() > until:
                raise InternalError(
                    f"The ledger {self.url} has been in use by others for {PATIENCE:g} seconds; "
                    "nothing was charged. Try again."
                )
            time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311  (a pause, not a secret)
            pause = min(0.25, 2 * pause)

    def _once(self, what: Callable[[Connection], _T], *, write: bool) -> _T:
        with self.backend.engine.connect() as raw:
            connection = raw.execution_options(discreet_write=write)
            with connection.begin():
                if write:
                    self.backend.lock(connection)
                return what(connection)

    def laid_out(self, connection: Connection) -> bool:
        """Whether the tables are there; refuse those of a newer Discreet."""
        if not inspect(connection).has_table(_format.name):
            return False
        version = connection.execute(select(_format.c.version)).scalar()
        if version != FORMAT:
            raise PolicyError(
                f"The ledger {self.url} has format {version!r} and this Discreet knows format "
                f"{FORMAT}; use the Discreet that wrote it, or a newer one."
            )
        return True

    def lay_out(self, connection: Connection) -> None:
        """Make the tables and what guards them."""
        _metadata.create_all(connection)
        connection.execute(insert(_format).values(version=FORMAT))
        self.backend.guard(connection)

    def append(self, connection: Connection, entry: Entry, body: str) -> None:
        """Add one row at the end."""
        said = {name: entry.said.get(name) for name in REPEATED}
        connection.execute(
            insert(_entries).values(seq=entry.seq, body=body, hash=entry.hash, **said)
        )

    def find(self, connection: Connection, **equal: str | None) -> Entry | None:
        """Return the newest entry whose columns have these values."""
        query = self._rows().where(*self._where(equal)).order_by(_entries.c.seq.desc()).limit(1)
        row = connection.execute(query).first()
        return None if row is None else Entry.read(*row)

    def all(self, connection: Connection, **equal: str | None) -> list[Entry]:
        """Return the entries whose columns have these values, oldest first."""
        query = self._rows().where(*self._where(equal)).order_by(_entries.c.seq)
        return [Entry.read(*row) for row in connection.execute(query)]

    def unfinished(self, connection: Connection, account: str) -> list[Entry]:
        """Return an account's reservations, and slots still to be drawn, without stored output."""
        done = _entries.alias("done")
        itself = done.c.release_id == _entries.c.release_id
        slot = and_(done.c.plan_id == _entries.c.plan_id, done.c.slot == _entries.c.slot)
        query = (
            self._rows()
            .where(_entries.c.account == account, _entries.c.kind.in_(("reserve", "slot")))
            .where(~exists().where(done.c.kind == "commit", itself))
            .where(~exists().where(done.c.kind == "commit", slot))
            .order_by(_entries.c.seq)
        )
        return [Entry.read(*row) for row in connection.execute(query)]

    def rows(self, connection: Connection) -> Iterator[Row]:
        """Yield every row as stored, in the order of the chain."""
        columns = [_entries.c[name] for name in REPEATED]
        query = select(_entries.c.seq, _entries.c.body, _entries.c.hash, *columns)
        for seq, body, digest, *repeated in connection.execute(query.order_by(_entries.c.seq)):
            yield Row(seq, dict(zip(REPEATED, repeated, strict=True)), body, digest)

    @staticmethod
    def _rows() -> Any:
        return select(_entries.c.seq, _entries.c.body, _entries.c.hash)

    @staticmethod
    def _where(equal: dict[str, str | None]) -> list[Any]:
        return [_entries.c[name] == value for name, value in equal.items()]
