"""Registered plans: a series fixed, and charged in full, before its first draw.

Tighter accounting than the account's filter (optimal composition, a mechanism's whole curve, exact
laws) holds only for a plan that no output can change. So the plan's parts and its total are written
down and the total is charged at once; nothing is refunded if the series ends early. Each release
then takes the next slot, at no further cost.

A slot that was taken is spent, whether or not its release was stored: nothing is drawn twice for
one charge. An idempotency key ("2026-11") ties a slot to an occasion: the same key finds the
stored release again. A key whose release was lost is refused, unless it is told to take another
slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.errors import BudgetExceeded, DiscreetError, InputError, PolicyError
from discreet.frames import json_ready
from discreet.guarantees import CRUMB, ZCDP, Guarantee, stated
from discreet.laws import Mechanism
from discreet.laws.registry import kind_of, names
from discreet.ledger.accounts import Account
from discreet.ledger.amounts import ZERO, Amount, Charge, Chargeable, Filter, charges
from discreet.ledger.entries import Entry, read_moment
from discreet.numerics import bracket, float_down
from discreet.reading import line
from discreet.words import say

PlanPart: TypeAlias = "Part | Guarantee | Charge | tuple[Guarantee | Charge, int]"

_CLOSE = 1e-9  # How near the largest equal part comes to what would not fit.


class LostRelease(PolicyError):
    """A key that was charged or took a slot, with no release stored: it is being made, or lost."""

    def __init__(self, name: str, /, *, taken: Entry, **values: Any) -> None:
        super().__init__(name, **values)
        self.taken = read_moment(taken.at)
        self.release_id = taken.release_id


@dataclass(frozen=True, slots=True)
class Part:
    """So many releases of a plan that promise the same each; `note` is kept as it is."""

    charge: Charge
    times: int = 1
    note: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.times, bool) or not isinstance(self.times, int) or self.times < 1:
            raise InputError("ledger.times", times=self.times)
        if self.note is not None:
            line("note", self.note)

    def to_dict(self) -> dict[str, Any]:
        """Return the part as JSON-ready values."""
        out = self.charge.to_dict() | {"times": self.times}
        return out if self.note is None else out | {"note": self.note}

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Part:
        """Read back what `to_dict` wrote."""
        return cls(Charge.from_dict(said), said["times"], said.get("note"))


@dataclass(frozen=True, slots=True)
class Slot:
    """One release of a plan: which, what it may promise, and whether it was already stored."""

    plan_id: str
    number: int
    of: int
    charge: Charge
    entry: Entry
    output_hash: str | None = None

    @property
    def release_id(self) -> str:
        """The release that this slot was given to; a new one at each draw."""
        return str(self.entry.release_id)

    @property
    def stored(self) -> bool:
        """Whether its output is stored: then there is nothing to draw."""
        return self.output_hash is not None

    def __repr__(self) -> str:
        state = "stored" if self.stored else "to be drawn"
        return f"Slot({self.number} of {self.of}, {self.charge.guarantee}, {state})"


@dataclass(frozen=True, slots=True)
class Plan:
    """A registered plan as the chain tells it."""

    plan_id: str
    account: str
    parts: tuple[Part, ...]
    method: str
    cost: Amount
    taken: tuple[Entry, ...]
    outputs: Mapping[int, str]
    releases: Mapping[int, str]

    @classmethod
    def told(cls, entries: Sequence[Entry]) -> Plan:
        """Read a plan from its entries: the registration first, then slots and outputs."""
        first, *rest = entries
        if first.kind != "plan" or first.cost is None:
            raise PolicyError("ledger.plan_unregistered")
        stored = [entry for entry in rest if entry.kind == "commit"]
        return cls(
            plan_id=str(first.plan_id),
            account=str(first.account),
            parts=tuple(Part.from_dict(part) for part in first.said["parts"]),
            method=first.said["method"],
            cost=first.cost,
            taken=tuple(entry for entry in rest if entry.kind == "slot"),
            outputs={int(e.said["slot"]): str(e.output_hash) for e in stored},
            releases={int(e.said["slot"]): str(e.release_id) for e in stored},
        )

    @property
    def slots(self) -> int:
        """How many releases the plan has."""
        return sum(part.times for part in self.parts)

    @property
    def free(self) -> int:
        """How many of its releases are paid for and not taken."""
        return self.slots - len({entry.slot for entry in self.taken})

    def _of_key(self, key: str | None) -> list[Entry]:
        """Return the takings of slots for a key."""
        return [e for e in self.taken if key is not None and e.said.get("idempotency_key") == key]

    def has_key(self, key: str | None) -> bool:
        """Whether a slot was taken for a key."""
        return bool(self._of_key(key))

    def made(self, key: str | None) -> Entry | None:
        """Return the taking of the slot with the key's stored release, if there is one."""
        stored = [e for e in self._of_key(key) if e.release_id in self.releases.values()]
        return stored[-1] if stored else None

    def paid(self, key: str | None, *, retry: bool = False) -> Guarantee:
        """Return what the next slot for a key may promise; if none can be taken, what one did."""
        try:
            number = self.next(key, retry=retry)
        except DiscreetError:  # a charge says why
            number = next((e.slot for e in reversed(self._of_key(key)) if e.slot), self.slots)
        return self.charge(number).guarantee

    def charge(self, number: int) -> Charge:
        """Return what the slot of that number may promise."""
        passed = 0
        for part in self.parts:
            passed += part.times
            if number <= passed:
                return part.charge
        raise InputError("ledger.no_such_slot", slots=self.slots, number=number)

    def next(self, key: str | None, *, retry: bool = False) -> int:
        """Return the number of the slot to use: that of the key's stored release, or a fresh one.

        A key whose release was never stored is refused, unless it may take another slot.
        """
        made, last = self.made(key), next(reversed(self._of_key(key)), None)
        if made is not None and made.slot is not None:
            return made.slot
        if last is not None and not retry:
            raise LostRelease(
                "ledger.slot_lost",
                key=key,
                plan=self.plan_id,
                number=last.slot,
                at=last.at[:19],
                taken=last,
            )
        begun = {entry.slot for entry in self.taken}
        fresh = next((n for n in range(1, self.slots + 1) if n not in begun), None)
        if fresh is None:
            raise BudgetExceeded("ledger.plan_used_up", slots=self.slots, plan=self.plan_id)
        return fresh

    def takings(self) -> list[dict[str, Any]]:
        """Return every slot that was taken, by number: when, for which key, and what became of it.

        One whose release is not stored is being made, or was lost.
        """
        done = {*self.releases.values()}
        rows = [
            {
                "slot": entry.slot,
                "at": entry.at,
                "key": entry.said.get("idempotency_key"),
                "release_id": entry.release_id,
                "stored": entry.release_id in done,
            }
            for entry in self.taken
        ]
        return sorted(rows, key=lambda row: row["slot"] or 0)

    def stored(self, number: int) -> Entry | None:
        """Return the taking of a slot whose output was stored: of several draws, that one."""
        release_id = self.releases.get(number)
        return next((e for e in self.taken if e.release_id == release_id), None)

    def cover(self, account: Account, number: int, name: str, charge: Chargeable) -> None:
        """Refuse a release that is another account's, or promises less than its slot."""
        if name != self.account:
            raise PolicyError(
                "ledger.plan_of_another", plan_id=self.plan_id, account=self.account, name=name
            )
        covers, asked = self.charge(number), charges(charge)
        for one in asked:
            account.require(adjacency=one.guarantee.adjacency)
        # The total may rest on the law of a mechanism, and then on that one alone.
        another = covers.mechanism is not None and {covers.mechanism} != {
            one.mechanism for one in asked
        }
        if another or not _costs_no_more(asked, covers):
            said = " and ".join(str(one.guarantee) for one in asked)
            named = covers.mechanism
            by = say("ledger.by_mechanism", mechanism=named) if named else ""
            raise PolicyError(
                "ledger.slot_covers_less",
                number=number,
                plan_id=self.plan_id,
                guarantee=covers.guarantee,
                by=by,
                said=said,
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-ready values."""
        return {
            "plan_id": self.plan_id,
            "account": self.account,
            "parts": json_ready(self.parts),
            "method": self.method,
            "cost": self.cost.to_dict("up"),
            "slots": self.slots,
            "stored": len(self.outputs),
            "free": self.free,
            "taken": self.takings(),
        }

    def __repr__(self) -> str:
        return f"Plan({self.plan_id}, {len(self.outputs)} of {self.slots} stored)"


def parts_of(given: Iterable[PlanPart]) -> tuple[Part, ...]:
    """Return the parts of a plan, whatever form they came in; never none."""
    found = tuple(part if isinstance(part, Part) else _part(part) for part in given)
    if not found:
        raise InputError("ledger.plan_empty")
    return found


def _part(given: Guarantee | Charge | tuple[Guarantee | Charge, int]) -> Part:
    what, times = given if isinstance(given, tuple) else (given, 1)
    return Part(what if isinstance(what, Charge) else Charge(what), times)


def _costs_no_more(asked: tuple[Charge, ...], covers: Charge) -> bool:
    """Whether a release is no dearer than the slot that it takes, in the slot's own terms.

    A slot of ρ takes ε-DP as ε²/2. One of ε does not take a ρ, however small: its total may rest on
    losses that are never above ε.
    """
    rule = Filter.ZCDP if isinstance(covers.guarantee, ZCDP) else Filter.BASIC
    if rule is Filter.BASIC and any(isinstance(one.guarantee, ZCDP) for one in asked):
        return False
    return rule.cost(asked).within(rule.cost(covers))


def check_total(account: Account, parts: Iterable[Part], cost: Amount) -> None:
    """Refuse a total below that of a single part: no composition makes a release cheaper."""
    for part in parts:
        account.require(adjacency=part.charge.guarantee.adjacency)
        if account.filter is not Filter.ZCDP and isinstance(part.charge.guarantee, ZCDP):
            continue  # its cost has no coordinate here; the total, an (ε, δ) of its curve, has
        if not account.cost(part.charge).within(cost):
            raise PolicyError("ledger.total_too_small", cost=cost, guarantee=part.charge.guarantee)


def planned_before(entries: Iterable[Entry], key: str | None, releases: int) -> Guarantee | None:
    """Return what each release of the plan with a key has, if it is a plan of so many alike."""
    for entry in entries:
        if key is not None and entry.kind == "plan" and entry.said.get("idempotency_key") == key:
            parts = [Part.from_dict(part) for part in entry.said["parts"]]
            if [part.times for part in parts] == [releases]:
                return parts[0].charge.guarantee
    return None


def equal_part(
    account: Account, releases: int, delta: float | None = None, method: str | None = None
) -> Guarantee:
    """Return the largest budget of which K fit under the account's cap and all its promises.

    It is rounded down. How K of them add up is what `composed` charges: a K-th of what is left,
    unless they are composed at one δ.
    """
    limits = [limit for limit in (account.cap, *account.promises.values()) if limit is not None]
    if not limits:
        raise InputError("ledger.plan_unlimited", account=account.name)
    if isinstance(releases, bool) or releases < 1:
        raise InputError("ledger.times", times=releases)
    spent = account.spent
    left = min(limit.minus(spent).lead if spent.within(limit) else ZERO for limit in limits)
    each = float_down(Fraction(left) / releases)
    if each * releases < CRUMB:
        raise BudgetExceeded("ledger.plan_nothing_left", account=account.name)
    epsilon, rho = (None, each) if account.filter is Filter.ZCDP else (each, None)
    share = stated(epsilon, rho=rho, adjacency=account.adjacency)
    if delta is None:
        return share

    def fits(each: float) -> bool:
        part = Part(Charge(stated(each, adjacency=account.adjacency)), releases)
        total = spent.plus(account.cost(composed(account, [part], delta, method)[0]))
        return all(total.within(limit) for limit in limits)

    # What does not fit is refused with its reason when it is charged.
    if releases == 1 or not fits(each):
        return share
    most, _ = bracket(fits, each, float(left), relative=_CLOSE)
    return stated(most, adjacency=account.adjacency)


def composed(
    account: Account, parts: Sequence[Part], delta: float | None, method: str | None
) -> tuple[tuple[Charge, ...], str, str]:
    """Return the total of a plan, and the accounting that gave it: its method, and in words.

    Without a δ of its own a plan costs the sum of its parts under the account's filter. On a
    `basic` account it may be composed at one δ by a tighter theorem, or by the law of a mechanism
    that its parts name.
    """
    if delta is None and method in (None, "basic"):
        total = account.filter.zero
        for part in parts:
            total = total.plus(account.cost(part.charge).times(part.times))
        name = "zcdp" if account.filter is Filter.ZCDP else "basic"
        said = say(f"composition.theorem.{name}.known")
        return account.filter.charges(total, account.adjacency), "basic", said
    if account.filter is not Filter.BASIC or delta is None:
        raise InputError("ledger.plan_needs_delta")
    if method == "paper":
        raise InputError("ledger.plan_paper")
    from discreet.composition import compose

    if method == "curve" and any(_nameless(part.charge) for part in parts):
        raise InputError("ledger.plan_curve")
    for part in parts:
        account.require(adjacency=part.charge.guarantee.adjacency)
    subjects = [(_subject(part.charge), part.times) for part in parts]
    found = compose(subjects, delta=delta, method=method, adjacency=account.adjacency)
    # No composition makes a release cheaper (`check_total`).
    most = (getattr(part.charge.guarantee, "epsilon", 0.0) for part in parts)
    spent = Amount.of(epsilon=max(found.epsilon, *most), delta=found.delta)
    return account.filter.charges(spent, account.adjacency), found.method, found.theorem


def _nameless(charge: Charge) -> bool:
    """Whether nothing is known of a release but its (ε, δ), which has no curve of its own."""
    return charge.mechanism is None and not isinstance(charge.guarantee, ZCDP)


def _subject(charge: Charge) -> Guarantee | Mechanism:
    """Return what is composed: the law of the mechanism if its name fixes it, else the promise."""
    g = charge.guarantee
    if charge.mechanism not in names() or not kind_of(charge.mechanism, planned=False).loss_by_name:
        return g
    kind = kind_of(charge.mechanism)
    amount = getattr(g, kind.budget, None)
    if amount is None or getattr(g, "delta", None):
        raise InputError(
            "ledger.noise_by_other", kind=kind.name, sign=kind.sign, budget=kind.budget
        )
    law: Mechanism = kind.make(amount, 1)
    return law
