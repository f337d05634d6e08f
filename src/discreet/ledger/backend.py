"""What a database must tell the ledger about itself: the seam between SQL and one product."""

from __future__ import annotations

import os
import weakref
from typing import Any, Protocol

from sqlalchemy import URL, Connection, Engine, Pool, QueuePool, create_engine
from sqlalchemy.exc import DBAPIError

from discreet.errors import DiscreetError, InputError

KEPT = 4
"""So many connections are kept between transactions; more at the same time are closed."""


class Damaged(InputError):
    """The database itself cannot be read: it is damaged, or it is not a ledger."""


class Backend(Protocol):
    """One kind of database, at one place."""

    engine: Engine
    mark: str
    """How the driver marks a value in a statement; `\\1` is its name."""

    def exists(self) -> bool:
        """Whether there is a ledger to read."""

    def create(self) -> None:
        """Make what must be there before the first transaction can lock it."""

    def options(self, *, write: bool) -> dict[str, Any]:
        """Return the execution options of a transaction: its isolation."""

    def laid_out(self, connection: Connection) -> bool:
        """Whether the tables are there."""

    def guard(self, connection: Connection) -> None:
        """Make the table of entries append-only."""

    def unguard(self, connection: Connection) -> None:
        """Let the table be changed, by a migration, until it is guarded again."""

    def lock(self, connection: Connection) -> None:
        """Let no other writer in until this transaction ends."""

    def later(self, connection: Connection, statement: str, values: dict[str, Any]) -> None:
        """Run a statement that returns nothing, before the next one or before the end."""

    def settle(self, connection: Connection) -> None:
        """Commit, let the next writer in, and return once everything committed is on disk."""

    def damage(self, connection: Connection) -> list[str]:
        """Return what the database itself finds wrong, and guards that are missing."""

    def refused(self, problem: DBAPIError) -> bool:
        """Whether a server refused what it was sent: what it had done by then can be looked up."""

    def patience(self, problem: DBAPIError) -> float:
        """Return for how many seconds further attempts are worth it; 0 if none is."""

    def said(self, problem: DBAPIError) -> DiscreetError:
        """Return the failure in words of ours, with what it means for the charge."""


_open: weakref.WeakSet[Engine] = weakref.WeakSet()
_of_parents: list[Pool] = []


def kept_engine(owner: Backend, url: URL, **options: Any) -> Engine:
    """Return an engine that keeps a few connections; they are closed with their owner."""
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=KEPT,
        pool_use_lifo=True,
        max_overflow=-1,
        **options,
    )
    weakref.finalize(owner, engine.dispose)
    _open.add(engine)
    return engine


def _after_fork() -> None:
    """Neither use nor close what a parent opened: it has the same sessions and locks."""
    for engine in list(_open):
        _of_parents.append(engine.pool)
        engine.dispose(close=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
