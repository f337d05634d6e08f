"""What a database must tell the ledger about itself: the seam between SQL and one product."""

from __future__ import annotations

from typing import Any, Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from discreet.errors import DiscreetError, InputError


class Damaged(InputError):
    """The database itself cannot be read: it is damaged, or it is not a ledger."""


class Backend(Protocol):
    """One kind of database, at one place."""

    engine: Engine

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

    def settle(self, connection: Connection) -> None:
        """Commit, let the next writer in, and return once everything committed is on disk."""

    def damage(self, connection: Connection) -> list[str]:
        """Return what the database itself finds wrong, and guards that are missing."""

    def patience(self, problem: DBAPIError) -> float:
        """Return for how many seconds further attempts are worth it; 0 if none is."""

    def said(self, problem: DBAPIError) -> DiscreetError:
        """Return the failure in words of ours, with what it means for the charge."""
