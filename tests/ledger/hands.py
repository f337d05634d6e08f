"""What tests do to a ledger behind its back: SQL of their own, and acts amid its transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.engine import make_url

from discreet.ledger.accounts import Account
from discreet.ledger.chain import Chain

SQLITE_TRIGGERS = ("append", "no_UPDATE", "no_DELETE")


@contextmanager
def amid_charges(act: Callable[[Account], None]) -> Iterator[None]:
    """Act inside the transaction of every charge, between the sum and the entry.

    What is given to `act` is the account as the charge leaves it.
    """
    afford = Chain.afford

    def acting(self: Chain, *args: Any) -> Any:
        found = afford(self, *args)
        act(found[1])
        return found

    Chain.afford = acting  # type: ignore[method-assign]
    try:
        yield
    finally:
        Chain.afford = afford  # type: ignore[method-assign]


class Hand:
    """A hand on the database at a URL, with every right there."""

    def __init__(self, url: str) -> None:
        self.kind = make_url(url).get_backend_name()
        self._engine = create_engine(url, poolclass=NullPool)

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """Give a transaction that is committed at the end."""
        with self._engine.begin() as connection:
            yield connection

    def execute(self, statement: str, **values: object) -> list[tuple[object, ...]]:
        """Run one statement with the guards in place."""
        with self.connected() as connection:
            done = connection.execute(text(statement), values)
            return [tuple(row) for row in done] if done.returns_rows else []

    @contextmanager
    def past_the_guards(self) -> Iterator[None]:
        """Take the triggers away for a while."""
        if self.kind == "sqlite":
            saved = self.execute("SELECT sql FROM sqlite_master WHERE type='trigger'")
            for name in SQLITE_TRIGGERS:
                self.execute(f"DROP TRIGGER discreet_entries_{name}")
        else:
            self.execute("ALTER TABLE discreet_entries DISABLE TRIGGER ALL")
        yield
        if self.kind == "sqlite":
            for (sql,) in saved:
                self.execute(str(sql))
        else:
            for name in ("append", "no_change"):
                self.execute(
                    f"ALTER TABLE discreet_entries ENABLE ALWAYS TRIGGER discreet_entries_{name}"
                )
