"""What can be done inside one transaction: look an account up, spend on it, add an entry.

Everything here sees the ledger at one moment. In a writing transaction nobody else writes until it
ends, so a sum that was read is still the sum when the entry that adds to it is written.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, TypeAlias

from sqlalchemy import Connection

from discreet.errors import PolicyError
from discreet.guarantees import Guarantee
from discreet.ledger.accounts import Account
from discreet.ledger.amounts import Amount
from discreet.ledger.entries import (
    BEFORE_THE_FIRST,
    UNREADABLE,
    Entry,
    canonical,
    digest,
    new_id,
    read_moment,
    say_moment,
)
from discreet.ledger.filters import Chargeable, Filter
from discreet.ledger.migrations import FORMAT
from discreet.ledger.plans import Plan
from discreet.ledger.store import Store

__all__ = ["Chain", "Clock", "ToleranceCheck", "refuse_unknown_account", "refuse_unknown_plan"]

Clock: TypeAlias = Callable[[], datetime]
ToleranceCheck: TypeAlias = Callable[[Guarantee], None]

# Clocks of several machines differ a little. Within this, an entry takes the time of the one before
# it; beyond, a charge is refused, for a clock set back would open a period's cap a second time.
SKEW = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Chain:
    """The chain of a store, inside one transaction."""

    store: Store
    connection: Connection
    clock: Clock
    # The newest entry, once looked up: it stays that until one is added here.
    _newest: list[Entry | None] = field(default_factory=list, repr=False)

    def begin(self) -> None:
        """Lay the tables out and write the first entry, unless that was done."""
        if not self.store.writable(self.connection):
            self.store.lay_out(self.connection)
            self.append("begin", None, {"ledger_id": new_id(), "format": FORMAT})

    def last(self) -> Entry | None:
        """Return the newest entry."""
        if not self._newest:
            self._newest.append(self.store.find(self.connection))
        return self._newest[0]

    @property
    def head(self) -> str:
        """The hash of the newest entry."""
        last = self.last()
        return BEFORE_THE_FIRST if last is None else last.hash

    def found(self, **equal: str | None) -> Entry | None:
        """Return the newest entry whose columns have these values."""
        return self.store.find(self.connection, **equal)

    def all(self, **equal: str | None) -> list[Entry]:
        """Return the entries whose columns have these values, oldest first."""
        return self.store.all(self.connection, **equal)

    def unfinished(self, account: str, latest: int | None = None) -> list[Entry]:
        """Return what an account reserved and never stored, of all or its latest entries."""
        return self.store.unfinished(self.connection, account, latest)

    def account(self, name: str) -> Account | None:
        """Return an account as it stands, or None if it is not open."""
        opening, latest = self.found(account=name, kind="open"), self.found(account=name)
        if opening is None or latest is None:
            return None
        try:
            return Account.restored(name, opening.said["terms"], latest.said["standing"])
        except UNREADABLE:
            raise PolicyError(
                f"What the ledger {self.store.url} says of account {name!r} cannot be read: it was "
                "changed. Nothing is spent on such a ledger; run discreet ledger verify."
            ) from None

    def needed(self, name: str) -> Account:
        """Return an account as it stands; refuse one that is not open."""
        account = self.account(name)
        if account is None:
            refuse_unknown_account(self.store.url, name)
        return account

    def plan(self, plan_id: str) -> Plan:
        """Return a registered plan; refuse one that is not."""
        found = self.all(plan_id=plan_id)
        if not found:
            refuse_unknown_plan(self.store.url, plan_id)
        return Plan.told(found)

    def afford(
        self, before: Account, charge: Chargeable, tolerance_check: ToleranceCheck | None
    ) -> tuple[Amount, Account, datetime]:
        """Return what a release costs, where it leaves the account, and when; or refuse it."""
        behind = self.set_back()
        if behind is not None:
            raise PolicyError(
                f"The clock shows {say_moment(behind)}, well before the ledger's last entry; set "
                "it right. If that entry's clock was the wrong one, a grant (of 0 if need be) with "
                "an approver and a reason sets the ledger back."
            )
        moment = self.moment()
        cost = before.cost(charge)
        after = before.after(cost, moment)
        after.check(charge, before)
        if tolerance_check is not None:
            tolerance_check(after.total)
        return cost, after, moment

    def spend(
        self,
        kind: str,
        before: Account,
        charge: Chargeable,
        tolerance_check: ToleranceCheck | None,
        facts: Mapping[str, Any],
    ) -> Entry:
        """Add a cost to an account and write it down, unless a cap or a tolerance forbids it."""
        cost, after, moment = self.afford(before, charge, tolerance_check)
        return self.append(kind, after, {"cost": cost.stored(), **facts}, moment)

    def append(
        self,
        kind: str,
        account: Account | None,
        facts: Mapping[str, Any],
        moment: datetime | None = None,
    ) -> Entry:
        """Add one entry at the end, with where the account stands after it."""
        last = self.last()
        body: dict[str, Any] = {
            "seq": 1 if last is None else last.seq + 1,
            "at": say_moment(moment or self.moment()),
            "kind": kind,
            "previous": BEFORE_THE_FIRST if last is None else last.hash,
            **facts,
        }
        if account is not None:
            body |= {"account": account.name, "standing": account.standing()}
        text = canonical(body)
        entry = Entry.read(body["seq"], text, digest(text))
        self.store.append(self.connection, entry, text)
        self._newest[:] = [entry]
        return entry

    def moment(self) -> datetime:
        """Return the time of a new entry, never before the last one's."""
        last = self.last()
        return self._now() if last is None else max(self._now(), read_moment(last.at))

    def set_back(self) -> datetime | None:
        """Return the clock's time if it is well before the last entry's, else None."""
        last, now = self.last(), self._now()
        return now if last is not None and read_moment(last.at) - now > SKEW else None

    def _now(self) -> datetime:
        return self.clock().astimezone(UTC)


def refuse_unknown_account(
    url: str,
    name: str,
    unit: str = "person",
    adjacency: str = "add-remove",
    filter: str = "pure",  # noqa: A002  (the users' word)
) -> NoReturn:
    """Refuse an account that is not open, with the command that opens it."""
    caps = " ".join(f"--{c} {c.upper()}" for c in Filter.of(filter).coordinates)
    raise PolicyError(
        f"Account {name!r} is not open in {url}. Open it first: discreet ledger open "
        f"--ledger {shlex.quote(url)} --account {shlex.quote(name)} --unit {unit} "
        f"--adjacency {adjacency} --filter {filter} {caps} --approver NAME --reason WHY"
    )


def refuse_unknown_plan(url: str, plan_id: str) -> NoReturn:
    """Refuse a plan that was never registered."""
    raise PolicyError(
        f"Plan {plan_id!r} is not registered in {url}; register it first with discreet ledger "
        "plan: it is charged in full before its first draw."
    )
