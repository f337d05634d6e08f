"""Promises of an account: registered once, checked at every charge, ended only by a withdrawal.

A promise is registered when the account is opened with it, or with the first release whose spec
makes it. From then on it is a limit on everything charged (`budgets.keeping`), kept in the
account's standing; its keys are in the entry that registered it. Equal keys are one promise with
one name, so twelve monthly specs make one. Promises with separate confidences do not hold jointly.

Up to format 2 of the ledger a tolerance was looked at when its own release was charged, and by no
later charge; with a δ it was kept for membership alone, though its sentence spoke of every prior.
When such a ledger is upgraded, its stored releases are looked for, and each sentence is registered
as the promise that it is, kept or not: nothing more is charged to an account until a promise that
is not kept was withdrawn. Files are only looked for: what is not found here binds nothing.

A tolerance of that time held for every output, or, with a δ, with its confidence (99 % where none
was said). It spoke of increases; so where a promise for every output is kept in that reading alone,
that reading is the promise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.errors import DiscreetError, InputError, PolicyError, ToleranceError
from discreet.frames import JsonReady
from discreet.guarantees import Adjacency, Guarantee
from discreet.ledger.accounts import Account
from discreet.ledger.amounts import EXACT, ZERO, Amount
from discreet.ledger.witness import released_below
from discreet.numerics import exact, float_down, float_up
from discreet.promises import CONFIDENCE, EVERY_OUTPUT, Promise, Surety, delta_in, promise_in
from discreet.promises.promise import name_of
from discreet.reading import json_values, text_of
from discreet.rounding import percent
from discreet.words import say

if TYPE_CHECKING:
    from discreet.ledger.chain import Chain
    from discreet.ledger.entries import Entry

_LARGEST = 2**30  # of a stored release


@dataclass(frozen=True, slots=True)
class Registered:
    """A promise of an account: its name, its keys, and the most that may be charged under it."""

    id: str
    keys: Mapping[str, Any]
    limit: Amount

    def promise(self, account: Account) -> Promise:
        """Return it as a promise about the account's unit."""
        return replace(read_promise(self.keys, account.adjacency), unit=account.subject)

    def stored(self) -> dict[str, Any]:
        """Return the facts that its entry keeps."""
        return {"id": self.id, "keys": _told(self.keys), "limit": self.limit.stored()}

    @classmethod
    def restored(cls, said: Mapping[str, Any], account: Account) -> Registered:
        """Read back what `stored` wrote; refuse a name that is not that of the keys."""
        found = cls(str(said["id"]), said["keys"], Amount.restored(said["limit"]))
        names = read_promise(found.keys, account.adjacency).id, name_of(_heard(found.keys))
        if found.id not in names:
            raise PolicyError("ledger.promise_name", id=found.id)
        return found


def _told(keys: Any) -> Any:
    """Return keys for an entry, which is JSON and has no infinity: it is written as a word."""
    match keys:
        case Mapping():
            return {name: _told(value) for name, value in keys.items()}
        case list() | tuple():
            return [_told(value) for value in keys]
    return "inf" if keys == math.inf else keys


def _heard(keys: Any) -> Any:
    """Read back what `_told` wrote."""
    match keys:
        case Mapping():
            if isinstance(keys.get("table"), str):
                raise InputError("ledger.promise_table_file")
            return {name: _heard(value) for name, value in keys.items()}
        case list():
            return [_heard(value) for value in keys]
    return math.inf if keys == "inf" else keys


def read_promise(keys: Mapping[str, Any], adjacency: Adjacency) -> Promise:
    """Return the promise that an entry of the ledger, or a stored release, has the keys of."""
    return promise_in({**_heard(keys), "adjacency": adjacency.value}, stored=True)


def named(promise: Promise, account: Account) -> tuple[str, Promise]:
    """Return the name of a promise on an account, and the promise as the account would keep it."""
    from discreet.budgets.keeping import on_account

    if promise.adjacency is not account.adjacency:
        raise PolicyError(
            "ledger.promise_adjacency_account",
            adjacency=promise.adjacency.value,
            account=account.name,
            of_account=account.adjacency.value,
        )
    settled = on_account(promise, account.filter.value, _delta(account))
    try:
        return settled.id, settled
    except InputError:
        raise InputError("ledger.promise_function") from None


def register(promise: Promise, account: Account) -> Registered:
    """Return a promise as this account would keep it; its δ is the account's cap on δ."""
    from discreet.budgets.keeping import rectangle

    name, settled = named(promise, account)
    most = rectangle(settled, account.filter.value, _delta(account))
    return Registered(name, settled.to_mapping(of_whom=False), Amount.of(**most))


def widened(one: Registered, account: Account) -> Amount | None:
    """Return the limit of a promise at the account's new cap on δ; None if it would not hold."""
    from discreet.budgets.keeping import holds

    cap = _cap(account)
    if not one.limit.delta and one.promise(account).every_output:
        return one.limit  # no δ keeps it, whatever the cap
    lead, delta = float_up(one.limit.lead), _delta(account)
    if not holds(one.promise(account), account.filter.value, lead, delta):
        return None
    return replace(one.limit, delta=cap)


def _cap(account: Account) -> Decimal:
    """The most δ that an account may spend; 0 where it has no cap, or none on δ."""
    return ZERO if account.cap is None or account.cap.delta is None else account.cap.delta


def _delta(account: Account) -> float:
    return float_up(_cap(account))


def derived_cap(account: Account, promises: Sequence[Promise], delta: float | None) -> Amount:
    """Return the cap that promises, one at least, leave an account: the least of all limits."""
    rule = account.filter
    if delta is not None and "delta" not in rule.coordinates:
        raise InputError("ledger.pure_has_no_delta")
    given = account.cap
    if delta is None:
        delta = 0.0 if given is None or given.delta is None else float_down(given.delta)
    cap = (
        rule.limit(Amount.of(delta=delta), lead=False) if "delta" in rule.coordinates else rule.zero
    )
    limits = []
    for promise in promises:
        if delta > 0 and promise.every_output:
            raise InputError("ledger.every_output_with_delta", delta=delta)
        limits.append(register(promise, replace(account, cap=cap)).limit)
    if given is not None:
        limits.append(given if given.delta is None else replace(given, delta=exact(delta)))
    return reduce(Amount.least, limits)


@dataclass(frozen=True, slots=True)
class MadePromise:
    """A promise that an account made at some time, and what became of it."""

    registered: Registered
    sentence: str
    at: str
    kept: bool
    withdrawn: Mapping[str, str] | None = None
    """When it was withdrawn, who approved that and why; None while it binds."""
    exceeded: bool | None = None
    """Whether what is charged by now is beyond the limit of one that was withdrawn; else None."""

    def to_dict(self) -> dict[str, Any]:
        """Return the promise and what became of it, as JSON-ready values; the limit exactly."""
        return self.registered.stored() | {
            "sentence": self.sentence,
            "at": self.at,
            "kept": self.kept,
            "withdrawn": None if self.withdrawn is None else dict(self.withdrawn),
            "exceeded": self.exceeded,
        }


def made_promises(entries: Sequence[Entry]) -> tuple[MadePromise, ...]:
    """Return every promise in an account's entries, oldest first, with what became of it."""
    found: dict[str, MadePromise] = {}
    opening = next((entry for entry in entries if entry.kind == "open"), None)
    if opening is None:
        return ()
    telling = [entry for entry in entries if entry.kind in ("promise", "withdraw", "grant")]
    for entry in (*telling, entries[-1]):
        now = Account.restored(str(entry.account), opening.said["terms"], entry.said["standing"])
        for name, limit in now.promises.items():
            if name in found:
                limited = replace(found[name].registered, limit=limit)
                found[name] = replace(found[name], registered=limited)
        if entry.kind == "promise":
            one = Registered.restored(entry.said["promise"], now)
            found[one.id] = MadePromise(one, one.promise(now).sentence(), entry.at, True)
        for name, made in found.items():
            if made.withdrawn is None:  # as it was when it ended, or as it is now
                kept = now.spent.within(made.registered.limit)
                found[name] = replace(made, kept=kept)
        if entry.kind == "withdraw":
            told = {name: str(entry.said[name]) for name in ("at", "approver", "reason")}
            name = str(entry.said["promise_id"])
            found[name] = replace(found[name], withdrawn=told)
    return tuple(
        one
        if one.withdrawn is None
        else replace(one, exceeded=not now.spent.within(one.registered.limit))
        for one in found.values()
    )


@dataclass(frozen=True, slots=True)
class Standing(JsonReady):
    """Where an account stands under one of its promises."""

    shows: ClassVar = ("sentence", "kept", "left", "share_used", "fits_again", "reached")

    registered: Registered
    sentence: str
    spent: Amount
    cost: Amount | None = None
    recorded: bool = True
    reached: tuple[float, float] | None = None
    """The promise's own prior, and how sure someone there may be by now; None without one."""
    room: Amount | None = None
    """What the cap and every promise of the account leave; None without any, or if not known."""

    @property
    def kept(self) -> bool:
        """Whether everything charged is within the limit."""
        return self.spent.within(self.registered.limit)

    @property
    def left(self) -> float:
        """The further ε, or ρ, that fits at no further δ; rounded down."""
        if not self.kept:
            return 0.0
        rest = self.registered.limit.minus(self.spent)
        return float_down(rest.lead)

    @property
    def share_used(self) -> float:
        """How much of the limit is used, of the coordinate that is used most; rounded up."""
        limit, spent = self.registered.limit.coordinates(), self.spent.coordinates()
        shares = [
            spent[name] / most if most else (Decimal(1) if spent[name] else Decimal(0))
            for name, most in limit.items()
        ]
        return float_up(max(shares))

    @property
    def used(self) -> str:
        """How much of the limit is used, in percent: 100 % only where next to nothing is left."""
        whole = percent(1.0, "up")
        shown = (percent(self.share_used, "up", digits) for digits in range(4))
        if self.share_used >= 1:
            return percent(self.share_used, "up")
        return next((text for text in shown if not text.startswith("100")), whole)

    @property
    def used_up(self) -> bool:
        """Whether next to nothing is left: `used` says 100 % or more."""
        return self.share_used >= 1 or self.used == percent(1.0, "up")

    @property
    def fits_again(self) -> int | None:
        """How many more releases like `cost` fit; None where it is not known, or costs nothing.

        They fit within this promise, and within the cap and the others.
        """
        if self.cost is None:
            return None
        if not self.kept:
            return 0
        left = self.registered.limit.minus(self.spent)
        rest = (left if self.room is None else left.least(self.room)).coordinates()
        counts = [
            int(EXACT.divide_int(rest[name], each))
            for name, each in self.cost.coordinates().items()
            if each > 0
        ]
        return min(counts, default=None)

    @property
    def fits_alone(self) -> bool:
        """Whether one more like `cost` fits within this promise alone."""
        left = self.registered.limit.minus(self.spent)
        return self.kept and self.cost is not None and self.cost.within(left)

    def to_dict(self) -> dict[str, Any]:
        """Return `{id, sentence, kept, left, share_used, fits_again, reached, limit}`."""
        name = self.registered.id if self.recorded else None
        limit = self.registered.limit.to_dict("down")
        return {"id": name} | super(Standing, self).to_dict() | {"limit": limit}


@dataclass(frozen=True, slots=True)
class _Under:
    """A total under a promise, which says who depends on whom."""

    guarantee: Guarantee
    promise: Promise


def reached(promise: Promise, total: Guarantee) -> tuple[float, float] | None:
    """Return the promise's own prior and the posterior that a total allows there, rounded up.

    Units that depend on each other are counted together, as in the promise.
    """
    from discreet.beliefs import Prior, explain

    own = promise.own_prior
    if own is None or promise.on_average:
        return None
    prior, under = Prior(*own), _Under(total, promise)
    try:
        found = explain(under, prior, confidence=promise.confidence or 1.0, sided=promise.sided)
    except DiscreetError:  # no bound at this confidence
        return prior.pq, 1.0
    return prior.pq, 1.0 if found.posterior is None else found.posterior.upper


# -- what releases promised before accounts did


@dataclass(frozen=True, slots=True)
class Earlier(JsonReady):
    """What an earlier release promised, and whether its account keeps it."""

    release_id: str
    account: str
    promise_id: str | None = None
    sentence: str | None = None
    kept: bool | None = None
    reason: str | None = None
    """Why it is no promise of the account; None where it is one."""


@dataclass(frozen=True, slots=True)
class Upgraded:
    """What an upgrade did: both formats, where releases were looked for, and what they promised."""

    before: int
    after: int
    looked_in: Path | None = None
    releases: tuple[Earlier, ...] = ()


@dataclass(frozen=True, slots=True)
class _Told:
    """A stored release: its name, its folder, and its tolerance or why that cannot be read."""

    release_id: str
    folder: Path
    keys: Any = None
    problem: str | None = None


def stored_below(base: Path) -> list[_Told]:
    """Return the stored releases in a folder and up to three levels below, where they said more."""
    found: dict[str, _Told] = {}
    for folder in released_below(base):
        if not any(part.startswith(".") for part in folder.relative_to(base).parts):
            told = _read_release(folder)
            found.setdefault(told.release_id, told)
    return list(found.values())


def _read_release(folder: Path) -> _Told:
    path = folder / "release.json"
    try:
        said = json_values(text_of(path, "the release", most=_LARGEST), str(path))
    except InputError as problem:
        return _Told(folder.name, folder, problem=str(problem))
    spec = said.get("spec") if isinstance(said, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(said.get("release_id"), str):
        return _Told(folder.name, folder, problem=say("ledger.not_a_release", path=path))
    keys = spec.get("tolerance")
    return _Told(said["release_id"], folder, spec.get("promise") if keys is None else keys)


def bound(chain: Chain, stored: Iterable[_Told]) -> tuple[Earlier, ...]:
    """Register what stored releases of this ledger promised; return what became of each."""
    mine = [(told, chain.rows.all(release_id=told.release_id)) for told in stored]
    ours = sorted((entries[0].seq, told) for told, entries in mine if entries)
    charged = {told.release_id: str(entries[0].account) for told, entries in mine if entries}
    new: dict[tuple[str, str], tuple[Registered, list[str]]] = {}
    found: list[Earlier] = []
    for _, told in ours:
        if told.keys is None and told.problem is None:
            continue
        account = chain.needed(charged[told.release_id])
        try:
            promise, one = _kept_as(told, account)
        except DiscreetError as problem:
            found.append(Earlier(told.release_id, account.name, reason=str(problem)))
            continue
        known = {each.id: each for each in chain.registered(account, all_of_them=True)}
        one = known.get(one.id, one)
        if one.id not in known:
            new.setdefault((account.name, one.id), (one, []))[1].append(told.release_id)
        kept = account.spent.within(one.limit)
        sentence = replace(promise, unit=account.subject).sentence()
        gone = one.id in known and one.id not in account.promises
        reason = say("ledger.was_withdrawn") if gone else None
        found.append(Earlier(told.release_id, account.name, one.id, sentence, kept, reason))
    for (name, _), (one, releases) in new.items():
        chain.promise(chain.needed(name), [one], facts={"found_in": releases})
    return tuple(found)


def _kept_as(told: _Told, account: Account) -> tuple[Promise, Registered]:
    """Return what a release promised, and its limit on the account; refuse what bounds nothing."""
    if told.problem is not None or not isinstance(told.keys, Mapping):
        raise InputError(told.problem or "ledger.tolerance_unreadable")
    keys = {**told.keys, "adjacency": account.adjacency.value}
    promise = promise_in(keys, told.folder, stored=True)
    if promise.surety is None:
        sure = Surety("confidence", CONFIDENCE) if delta_in(keys) else EVERY_OUTPUT
        promise = replace(promise, surety=sure)
    found = _limited(promise, account)
    if promise.every_output and "sided" not in keys and not account.spent.within(found.limit):
        one_sided = replace(promise, sided="one")
        rises = _limited(one_sided, account)
        if account.spent.within(rises.limit):
            return one_sided, rises
    return promise, found


def _limited(promise: Promise, account: Account) -> Registered:
    """Return the promise with its limit; one that no budget keeps has the limit 0."""
    from discreet.budgets.keeping import BoundsNothing

    try:
        return register(promise, account)
    except BoundsNothing:
        raise
    except (PolicyError, ToleranceError):
        return Registered(promise.id, promise.to_mapping(of_whom=False), account.filter.zero)
