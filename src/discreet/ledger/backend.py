"""What a database must tell the ledger about itself: the seam between SQL and one product."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from discreet.errors import DiscreetError, InputError

__all__ = ["Backend", "Damaged"]


class Damaged(InputError):
    """The database itself cannot be read: it is damaged, or it is not a ledger."""


class Backend(Protocol):
    """One kind of database, at one place."""

    engine: Engine

    def exists(self) -> bool:
        """Whether there is a database to read."""

    def create(self) -> None:
        """Make the database, if that is ours to do."""

    def guard(self, connection: Connection) -> None:
        """Make the table of entries append-only."""

    def lock(self, connection: Connection) -> None:
        """Let no other writer in until this transaction ends."""

    def damage(self, connection: Connection) -> list[str]:
        """Return what the database itself finds wrong, and guards that are missing."""

    def busy(self, problem: DBAPIError) -> bool:
        """Whether another writer was in the way, so that another attempt is worth it."""

    def said(self, problem: DBAPIError) -> DiscreetError:
        """Return the failure in words of ours, with what it means for the charge."""
