"""What can be done inside one transaction: look an account up, spend on it, add an entry.

Everything here sees the ledger at one moment. In a writing transaction nobody else writes until it
ends, so a sum that was read is still the sum when the entry that adds to it is written.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, NoReturn, TypeAlias

from sqlalchemy import Connection

from discreet.errors import BrokenPromise, InputError, PolicyError
from discreet.guarantees import Adjacency
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
from discreet.ledger.filters import Chargeable, said_to_fit
from discreet.ledger.migrations import FORMAT
from discreet.ledger.plans import Plan
from discreet.ledger.promises import Registered, Standing, named, reached, register
from discreet.ledger.store import Store
from discreet.ledger.verification import RECENT, refuse_altered
from discreet.promises import Promise
from discreet.reading import nearest
from discreet.words import say

Clock: TypeAlias = Callable[[], datetime]

# Clocks of several machines differ a little. Within this, an entry takes the time of the one before
# it; beyond, a charge is refused, for a clock set back would open a period's cap a second time.
SKEW = timedelta(minutes=10)
_CRUMBS = Decimal("1e-9")


@dataclass(frozen=True, slots=True)
class Chain:
    """The chain of a store, inside one transaction."""

    store: Store
    connection: Connection
    clock: Clock
    # The newest entry, once looked up: it stays that until one is added here.
    _newest: list[Entry | None] = field(default_factory=list, repr=False)
    # The entry that began the ledger, once there is one.
    _begun: list[Entry] = field(default_factory=list, repr=False)
    # Accounts whose newest entries were recomputed in this transaction.
    _checked: set[str] = field(default_factory=set, repr=False)

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

    def first(self) -> Entry | None:
        """Return the entry that began the ledger."""
        if not self._begun:
            self._begun.extend(self.store.numbered(self.connection, [1]).values())
        return self._begun[0] if self._begun else None

    def foresee(self, account: str | None, release_id: str | None) -> None:
        """Look up at once what a charge to an account, or the commit of a release, will ask."""
        if account is not None or release_id is not None:
            self.store.foresee(self.connection, RECENT, account, release_id)

    def lost(self, heads: Iterable[str]) -> list[str]:
        """Return the heads that were seen, are not in the chain, and were not answered for."""
        missing = set(heads)
        missing -= self.store.held(self.connection, missing)
        if not missing:
            return []
        answered = {head for entry in self.all(kind="restore") for head in entry.said["lost"]}
        return sorted(missing - answered)

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
            self._refuse_changed(name)

    def _refuse_changed(self, name: str) -> NoReturn:
        raise PolicyError("ledger.account_unreadable", url=self.store.url, name=name) from None

    def needed(self, name: str) -> Account:
        """Return an account as it stands; refuse one that is not open."""
        account = self.account(name)
        if account is None:
            refuse_unknown_account(self.store.url, name, known=self.store.accounts(self.connection))
        return account

    def plan(self, plan_id: str) -> Plan:
        """Return a registered plan; refuse one that is not."""
        found = self.all(plan_id=plan_id)
        if not found:
            refuse_unknown_plan(self.store.url, plan_id)
        return Plan.told(found)

    def plans(self, account: str) -> list[Plan]:
        """Return the plans of an account, oldest first."""
        found = self.all(account=account, kind="plan")
        return [self.plan(str(entry.plan_id)) for entry in found]

    def only_plan(self, account: str, key: str | None) -> str:
        """Return the plan that has the key, or else the only one with a free slot."""
        plans = self.plans(account)
        found = [one for one in plans if one.has_key(key)] or [one for one in plans if one.free]
        if not found:
            raise PolicyError("ledger.no_free_plan", account=account)
        if len(found) > 1:
            names = ", ".join(one.plan_id for one in found)
            raise InputError("ledger.several_plans", account=account, plans=names)
        return found[0].plan_id

    def paid_slots(self, account: str) -> str:
        """Say which releases of plans are paid for and free, for who is refused another charge."""
        free = [one for one in self.plans(account) if one.free]
        return "".join(say("ledger.free_slots", plan=one.plan_id, free=one.free) for one in free)

    def registered(self, account: Account, *, all_of_them: bool = False) -> list[Registered]:
        """Return the account's promises, oldest first; those withdrawn too, if asked for."""
        found: dict[str, Registered] = {}
        try:
            for entry in self.all(account=account.name, kind="promise"):
                one = Registered.restored(entry.said["promise"], account)
                found[one.id] = replace(one, limit=account.promises.get(one.id, one.limit))
        except UNREADABLE:
            self._refuse_changed(account.name)
        if not account.promises.keys() <= found.keys():
            self._refuse_changed(account.name)
        return [one for one in found.values() if all_of_them or one.id in account.promises]

    def standings(
        self, account: Account, cost: Amount | None = None, more: Iterable[Registered] = ()
    ) -> list[Standing]:
        """Return where an account stands under each of its promises, and some that are new."""
        known = self.registered(account)
        new = [one for one in more if one.id not in account.promises]
        return [
            Standing(
                one,
                one.promise(account).sentence(),
                account.spent,
                cost,
                recorded=one.id in account.promises,
                reached=reached(one.promise(account), account.total),
            )
            for one in [*known, *new]
        ]

    def promising(
        self, account: Account, promise: Promise | None
    ) -> tuple[Account, list[Registered]]:
        """Return the account with a promise, and the promise if it is new to the account."""
        if promise is None or named(promise, account)[0] in account.promises:
            return account, []
        new = register(promise, account)
        return account.promising(new.id, new.limit), [new]

    def refuse_broken(
        self,
        account: Account,
        before: Account,
        charge: Chargeable | None,
        new: Iterable[Registered] = (),
    ) -> None:
        """Refuse what leaves the account beyond one of its promises; without a charge, a slot."""
        broken = account.broken()
        if not broken:
            return
        known = [*self.registered(before), *new]
        one = min((e for e in known if e.id in broken), key=lambda each: each.limit.lead)
        said = f"“{one.promise(account).sentence()}” ({one.id})"
        spent, allows = before.spent.beside(one.limit)
        told = {"account": account.name, "said": said, "allows": allows, "spent": spent}
        if charge is None or not before.spent.within(one.limit):
            passed = "passed" if one.id in before.promises else "too_late"
            raise BrokenPromise(f"ledger.promise_{passed}", **told)
        caps = [] if before.cap is None else [before.cap]
        least = one.limit
        for limit in (*(each.limit for each in known), *caps):
            least = least.least(limit)
        rest, left = least.minus(before.spent), one.limit.minus(before.spent)
        # What rounding left over is nothing that anyone would release.
        crumbs = one.limit.lead * _CRUMBS
        fits = None if rest.lead <= crumbs else account.filter.fitting(charge, rest)
        too_late = fits is None and before.spent != account.filter.zero
        raise BrokenPromise(
            "ledger.promise_would_break",
            **told,
            cost=account.filter.cost(charge),
            left=say("ledger.nothing") if left.lead <= crumbs else left.limit_text(),
            said_to_fit=said_to_fit(fits),
            series=self.paid_slots(account.name)
            or (say("ledger.series_from_the_first") if too_late else ""),
        )

    def afford(
        self, before: Account, charge: Chargeable, promise: Promise | None = None
    ) -> tuple[Amount, Account, datetime, list[Registered]]:
        """Return what a release costs, where it leaves the account, when, and what is promised.

        A cap or a promise that would be passed refuses it, the promise that comes with it included.
        """
        behind = self.set_back()
        if behind is not None:
            raise PolicyError("ledger.clock_set_back", now=say_moment(behind))
        moment = self.moment()
        cost = before.cost(charge)
        promising, new = self.promising(before, promise)
        after = promising.after(cost, moment)
        self.refuse_broken(after, before, charge, new)
        after.check(charge, before, partial(self.paid_slots, before.name))
        return cost, after, moment, new

    def spend(
        self,
        kind: str,
        before: Account,
        charge: Chargeable,
        promise: Promise | None,
        facts: Mapping[str, Any],
    ) -> Entry:
        """Add a cost to an account and write it down, unless a cap or a promise forbids it."""
        cost, after, moment, new = self.afford(before, charge, promise)
        self.promise(before, new, moment)
        return self.append(kind, after, {"cost": cost.stored(), **facts}, moment)

    def promise(
        self,
        account: Account,
        new: Iterable[Registered],
        moment: datetime | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Account:
        """Write promises down, an entry each; return the account with them."""
        for one in new:
            account = account.promising(one.id, one.limit)
            self.append("promise", account, {"promise": one.stored(), **(facts or {})}, moment)
        return account

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
            if account.name not in self._checked:
                refuse_altered(self.store, self.connection, account.name)
                self._checked.add(account.name)
            own = self.found(account=account.name)
            body |= {
                "account": account.name,
                "standing": account.standing(),
                "account_seq": 1 if own is None else self._own_number(own) + 1,
                "account_previous": BEFORE_THE_FIRST if own is None else own.hash,
            }
        text = canonical(body)
        entry = Entry.read(body["seq"], text, digest(text))
        self.store.append(self.connection, entry, text)
        self._newest[:] = [entry]
        return entry

    def _own_number(self, entry: Entry) -> int:
        """Return which entry of its account this is; those of older formats are counted."""
        number = entry.said.get("account_seq")
        return number if isinstance(number, int) else len(self.all(account=entry.account))

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
    unit_name: str | None = None,
    promise: Mapping[str, Any] | None = None,
    cap: Amount | None = None,
    known: Iterable[str] = (),
) -> NoReturn:
    """Refuse an account that is not open, with what opens it, or the name of one that is alike.

    It has the promise that is given, or else the cap, or else an example.
    """
    words = ["discreet", "ledger", "open", "--ledger", url, "--account", name, "--unit", unit]
    words += [] if unit_name is None else ["--unit-name", unit_name]
    words += ["--adjacency", adjacency, "--filter", filter]
    which = "promise" if promise is not None else "example" if cap is None else "needed"
    given: dict[str, Any] = {"unit": unit, "unit_name": unit_name}
    given |= {"adjacency": adjacency, "filter": filter}
    call = [repr(name), *(f"{key}={v!r}" for key, v in given.items() if v is not None)]
    delta = {"delta": 1e-6} if filter == "basic" else {}
    if promise is None and cap is not None:
        limits = delta | {key: value for key, value in cap.floats("up").items() if value}
        words += [part for key, value in limits.items() for part in (f"--{key}", repr(value))]
        inside = ", ".join(f"{key}={value!r}" for key, value in limits.items())
        call.append(f"cap=Amount.of({inside})")
    else:
        if promise is None:
            add_remove = adjacency == Adjacency.ADD_REMOVE
            promise = {"posterior": 0.12, ("p" if add_remove else "q"): 0.05}
            promise |= {"about": "membership"} if add_remove else {}
        words += _promise_flags(promise)
        call.append(f"promise={dict(promise)!r}")
        if delta and "--delta" not in words:
            words += ["--delta", "1e-06"]
            call.append("delta=1e-06")
    near = nearest(name, known)
    raise PolicyError(
        "ledger.not_open" if near is None else "ledger.not_open_near",
        account=name,
        url=url,
        near=near,
        call=f"Ledger.open({url!r}).open_account({', '.join(call)}, approver='…', reason='…')",
        command=shlex.join(words),
        what=say(f"ledger.opened_with_{which}"),
    )


def _promise_flags(promise: Mapping[str, Any]) -> list[str]:
    """Return the flags that say a promise."""
    if {"all", "groups", "table"} & set(promise):
        return ["--file", "promise.yaml"]
    words: list[str] = []
    for key, value in promise.items():
        flag = f"--{key.replace('_', '-')}"
        if key == "values_known":
            words += ["--about", "membership"] if value else []
        elif isinstance(value, bool):
            words += [flag] if value else []
        elif isinstance(value, (list, tuple)):
            words += [flag, *map(str, value)]
        else:
            words += [flag, str(value)]
    return words


def refuse_unknown_plan(url: str, plan_id: str) -> NoReturn:
    """Refuse a plan that was never registered."""
    raise PolicyError("ledger.unknown_plan", plan_id=plan_id, url=url)
