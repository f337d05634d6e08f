"""What is decided inside one transaction: an account looked up, a charge, an output, a slot.

Everything here sees the ledger at one moment. In a writing transaction nobody else writes until it
ends, so a sum that was read is still the sum when the entry that adds to it is written. Each
decision either refuses, having written nothing, or adds its entry. It may be made again if the
ledger was busy, so it does nothing but read and write the ledger. What an entry says beside that
(who, why) was checked before.
"""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial, reduce
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias

from discreet.errors import (
    BrokenPromise,
    BudgetExceeded,
    DiscreetError,
    InputError,
    PolicyError,
)
from discreet.guarantees import Adjacency
from discreet.ledger.accounts import Account
from discreet.ledger.amounts import Amount, Charge, Chargeable, Filter, lacks_delta, said_to_fit
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
from discreet.ledger.plans import LostRelease, Plan, Slot
from discreet.ledger.promises import Registered, Standing, named, reached, register, widened
from discreet.ledger.store import FORMAT, Rows
from discreet.ledger.verification import refuse_altered
from discreet.promises import Promise, public_shares
from discreet.reading import nearest
from discreet.words import say

Clock: TypeAlias = Callable[[], datetime]
Which: TypeAlias = Literal["lifetime", "period"]

# Clocks of several machines differ a little. Within this, an entry takes the time of the one before
# it; beyond, a charge is refused, for a clock set back would open a period's cap a second time.
SKEW = timedelta(minutes=10)
_CRUMBS = Decimal("1e-9")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a release wants of an account, or of a slot of a plan; without a charge, any slot."""

    account: str
    charge: tuple[Charge, ...]
    unit: str | None = None
    promise: Promise | None = None
    plan_id: str | None = None
    key: str | None = None
    retry: bool = False
    spec_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Foreseen:
    """An account as a release would leave it, and where it would stand under each promise."""

    account: Account
    promises: tuple[Standing, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """The chain of a ledger, inside one transaction."""

    rows: Rows
    clock: Clock
    # Accounts whose newest entries were recomputed in this transaction.
    _checked: set[str] = field(default_factory=set, repr=False)

    @property
    def url(self) -> str:
        """Where the ledger is."""
        return self.rows.store.url

    @property
    def head(self) -> str:
        """The hash of the newest entry."""
        last = self.rows.find()
        return BEFORE_THE_FIRST if last is None else last.hash

    def lost(self, heads: Iterable[str]) -> list[str]:
        """Return the heads that were seen, are not in the chain, and were not answered for."""
        missing = set(heads)
        missing -= self.rows.held(missing)
        if not missing:
            return []
        answered = {head for entry in self.rows.all(kind="restore") for head in entry.said["lost"]}
        return sorted(missing - answered)

    # -- accounts

    def account(self, name: str) -> Account | None:
        """Return an account as it stands, or None if it is not open."""
        opening, latest = self.rows.find(account=name, kind="open"), self.rows.find(account=name)
        if opening is None or latest is None:
            return None
        try:
            return Account.restored(name, opening.said["terms"], latest.said["standing"])
        except UNREADABLE:
            self._refuse_changed(name)

    def _refuse_changed(self, name: str) -> NoReturn:
        raise PolicyError("ledger.account_unreadable", url=self.url, name=name) from None

    def needed(self, name: str) -> Account:
        """Return an account as it stands; refuse one that is not open."""
        account = self.account(name)
        if account is None:
            refuse_unknown_account(self.url, name, self.rows.accounts())
        return account

    def open(
        self, account: Account, promises: tuple[Promise, ...], approved: Mapping[str, str]
    ) -> Account:
        """Open an account with its promises, in a ledger that may be new."""
        if not self.rows.writable():
            self.rows.lay_out()
            self.append("begin", None, {"ledger_id": new_id(), "format": FORMAT})
        told = {"account": account.name, "url": self.url}
        if self.account(account.name) is not None:
            raise PolicyError("ledger.already_open", **told)
        for entry in self.rows.all(kind="open"):
            if _read_as(str(entry.account)) & _read_as(account.name):
                raise PolicyError("ledger.reads_like_another", other=entry.account, **told)
        self.append("open", account, {"terms": account.terms(), **approved})
        new = [register(promise, account) for promise in promises]
        return self.promise(account, {one.id: one for one in new}.values(), facts=approved)

    def grant(self, name: str, add: Amount, which: Which, approved: Mapping[str, str]) -> Account:
        """Raise a cap; a promise that could not stand a larger δ refuses it.

        Every promise is a limit at the cap on δ. Where it holds at the same ε, or ρ, with the
        larger δ, its limit follows the cap; where it does not, the cap stays.
        """
        before = self.needed(name)
        after = before.granted(add, which)
        for one in self.registered(before) if which == "lifetime" and add.delta else ():
            limit = widened(one, after)
            if limit is None:
                sentence = one.promise(before).sentence()
                raise PolicyError(
                    "ledger.delta_breaks_promise", name=name, sentence=sentence, id=one.id
                )
            after = after.promising(one.id, limit)
        facts = {"add": add.stored(), "which": which, **approved}
        self.append("grant", after, facts, self.set_back())
        return after

    def withdraw(self, name: str, promise_id: str, approved: Mapping[str, str]) -> Account:
        """End a promise; what was released under it says so from then on."""
        after = self.needed(name).withdrawn(promise_id)
        self.append("withdraw", after, {"promise_id": promise_id, **approved})
        return after

    # -- promises

    def registered(self, account: Account, *, all_of_them: bool = False) -> list[Registered]:
        """Return the account's promises, oldest first; those withdrawn too, if asked for."""
        found: dict[str, Registered] = {}
        try:
            for entry in self.rows.all(account=account.name, kind="promise"):
                one = Registered.restored(entry.said["promise"], account)
                found[one.id] = replace(one, limit=account.promises.get(one.id, one.limit))
        except UNREADABLE:
            self._refuse_changed(account.name)
        if not account.promises.keys() <= found.keys():
            self._refuse_changed(account.name)
        return [one for one in found.values() if all_of_them or one.id in account.promises]

    def standings(
        self, account: Account, cost: Amount | None = None, new: Iterable[Registered] = ()
    ) -> tuple[Standing, ...]:
        """Return where an account stands under each of its promises, those that are new last."""
        fresh = {one.id: one for one in new}
        old = {name: limit for name, limit in account.promises.items() if name not in fresh}
        found = []
        for one in (*self.registered(replace(account, promises=old)), *fresh.values()):
            promise, recorded = one.promise(account), one.id not in fresh
            own = reached(promise, account.total)
            said, spent, room = promise.sentence(), account.spent, account.remaining
            found.append(Standing(one, said, spent, cost, recorded, own, room))
        return tuple(found)

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
        charge: Chargeable = (),
        new: Iterable[Registered] = (),
    ) -> None:
        """Refuse what leaves the account beyond one of its promises; without a charge, a slot."""
        broken = account.broken()
        if not broken:
            return
        known = [*self.registered(before), *new]
        one = min((e for e in known if e.id in broken), key=lambda each: each.limit.lead)
        said = f"“{one.promise(account).sentence()}” ({one.id})"
        cost = account.filter.cost(charge) if charge else account.filter.zero
        amounts = cost.needed_beside(before.spent, one.limit)
        told = {"account": account.name, "said": said, **amounts}
        if charge == () or not before.spent.within(one.limit):
            passed = "passed" if one.id in before.promises else "too_late"
            raise BrokenPromise(f"ledger.promise_{passed}", **told)
        caps = [] if before.cap is None else [before.cap]
        least = reduce(Amount.least, (*(each.limit for each in known), *caps))
        rest, left = least.minus(before.spent), one.limit.minus(before.spent)
        crumbs = _crumbs(one.limit)
        fits = None if rest.lead <= crumbs else account.filter.fitting(charge, rest)
        short = rest.lead > crumbs and lacks_delta(cost, rest)
        why = "would_break" if fits else "lacks_delta" if short else "used_up"
        too_late = why == "used_up" and before.spent != account.filter.zero
        raise BrokenPromise(
            f"ledger.promise_{why}",
            **told,
            left=say("ledger.nothing") if left.lead <= crumbs else left.limit_text(),
            said_to_fit=said_to_fit(fits),
            series=self.paid_slots(account.name)
            or (say("ledger.series_from_the_first") if too_late else ""),
        )

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

    # -- charges, and outputs

    def charge(self, kind: str, wanted: Wanted, said: Mapping[str, Any]) -> Entry:
        """Charge a release to its account, once; find that of a key again, if it is stored.

        A charge of a release that was made elsewhere is found again by its output's hash.
        """
        before = self.needed(wanted.account)
        before.require(unit=wanted.unit)
        if (made := self.made(wanted)) is not None:
            return made
        if (earlier := self.rows.find(release_id=said["release_id"])) is not None:
            if _same_output(earlier, kind, wanted.account, said):
                return earlier
            told = {"release_id": said["release_id"], "at": earlier.at[:19]}
            raise PolicyError("ledger.charged_before", **told)
        return self.spend(kind, before, wanted.charge, wanted.promise, said)

    def made(self, wanted: Wanted) -> Entry | None:
        """Return the charge, or the slot, of the key's stored release; None if there is none.

        Outside a plan, a key of another spec is refused, one whose release was lost, unless it may
        be charged again, and a new one while a plan has slots that it may be meant for.
        """
        if wanted.plan_id is not None:
            return self.plan(wanted.plan_id).made(wanted.key)
        if wanted.key is None:
            return None
        charged = self.rows.all(account=wanted.account, kind="reserve")
        mine = [e for e in charged if e.said.get("idempotency_key") == wanted.key]
        told = {"key": wanted.key, "account": wanted.account}
        if not mine:
            plans = [
                one for one in self.plans(wanted.account) if one.free or one.has_key(wanted.key)
            ]
            if plans:
                raise PolicyError("ledger.key_beside_plan", plan=plans[0].plan_id, **told)
            return None
        last = mine[-1]
        if last.said.get("spec_hash") != wanted.spec_hash:
            raise PolicyError("ledger.key_of_another", release=last.release_id, **told)
        for one in reversed(mine):
            if any(e.kind == "commit" for e in self.rows.all(release_id=one.release_id)):
                return one
        if not wanted.retry:
            raise LostRelease("ledger.key_lost", at=last.at[:19], taken=last, **told)
        return None

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

    def commit(self, release_id: str, output_hash: str) -> Entry:
        """Record the output of a release, once; of a slot, the first of its draws."""
        found = self.rows.all(release_id=release_id)
        if not found or found[0].kind not in ("reserve", "slot"):
            raise PolicyError("ledger.not_reserved", release_id=release_id, url=self.url)
        first, *rest = found
        if rest and rest[0].output_hash == output_hash:
            return rest[0]
        if rest:
            raise PolicyError("ledger.other_output", release_id=release_id)
        facts: dict[str, Any] = {"release_id": release_id, "output_hash": output_hash}
        if first.kind == "slot":
            plan = self.plan(str(first.plan_id))
            if first.slot in plan.outputs:
                raise PolicyError("ledger.slot_published", slot=first.slot, plan_id=plan.plan_id)
            facts |= {"plan_id": plan.plan_id, "slot": first.slot}
        return self.append("commit", self.needed(str(first.account)), facts)

    def foreseen(self, wanted: Wanted) -> Foreseen:
        """Refuse what `charge` or `take` would refuse now; say where the account would be left."""
        after, cost, new = self.needed(wanted.account), None, list[Registered]()
        if wanted.plan_id is None:
            after.require(unit=wanted.unit)
            if self.made(wanted) is None:
                cost, after, _, new = self.afford(after, wanted.charge, wanted.promise)
        else:
            plan = self.plan(wanted.plan_id)
            after = self.needed(plan.account)
            number = self._slot(plan, wanted, after)
            if number not in plan.outputs:
                after, new = self._cover(plan, number, after, wanted)
        return Foreseen(after, self.standings(after, cost, new))

    # -- plans, and their slots

    def plan(self, plan_id: str) -> Plan:
        """Return a registered plan; refuse one that is not."""
        found = self.rows.all(plan_id=plan_id)
        if not found:
            raise PolicyError("ledger.unknown_plan", plan_id=plan_id, url=self.url)
        return Plan.told(found)

    def plans(self, account: str) -> list[Plan]:
        """Return the plans of an account, oldest first."""
        found = self.rows.all(account=account, kind="plan")
        return [self.plan(str(entry.plan_id)) for entry in found]

    def only_plan(self, account: str, key: str | None) -> str:
        """Return the plan that has the key, or else the only one with a free slot."""
        plans = self.plans(account)
        found = [one for one in plans if one.has_key(key)] or [one for one in plans if one.free]
        if not found:
            refusal = PolicyError("ledger.no_free_plan", account=account)
            raise self._nothing_left(self.needed(account), refusal)
        if len(found) > 1:
            names = ", ".join(one.plan_id for one in found)
            raise InputError("ledger.several_plans", account=account, plans=names)
        return found[0].plan_id

    def _slot(self, plan: Plan, wanted: Wanted, account: Account) -> int:
        try:
            return plan.next(wanted.key, retry=wanted.retry)
        except BudgetExceeded as refusal:
            raise self._nothing_left(account, refusal) from None

    def _nothing_left(self, account: Account, refusal: DiscreetError) -> DiscreetError:
        """Return a refusal for want of slots; if nothing is left for more, with what says so."""
        told, kind = {"says": refusal.message, "account": account.name}, type(refusal)
        for one in self.registered(account):
            if _is_used_up(one.limit, account.spent):
                said = f"“{one.promise(account).sentence()}” ({one.id})"
                return kind("ledger.nothing_under_promise", said=said, **told)
        if account.cap is not None and _is_used_up(account.cap, account.spent):
            return kind("ledger.nothing_under_cap", cap=account.cap, **told)
        return refusal

    def paid_slots(self, account: str) -> str:
        """Say which releases of plans are paid for and free, for who is refused another charge."""
        free = [one for one in self.plans(account) if one.free]
        return "".join(say("ledger.free_slots", plan=one.plan_id, free=one.free) for one in free)

    def registered_before(self, account: str, said: Mapping[str, Any]) -> str | None:
        """Return the plan that a key was used for; refuse a key of another plan."""
        key = said.get("idempotency_key")
        for entry in () if key is None else self.rows.all(account=account, kind="plan"):
            if entry.said.get("idempotency_key") == key:
                if any(entry.said[name] != said[name] for name in ("parts", "charge", "method")):
                    raise PolicyError("ledger.plan_key_of_another", key=key, plan=entry.plan_id)
                return entry.plan_id
        return None

    def take(self, wanted: Wanted, said: Mapping[str, Any]) -> Slot:
        """Take a fresh slot, or find the key's; one whose output is stored is only found again."""
        plan = self.plan(str(wanted.plan_id))
        account = self.needed(plan.account)
        number = self._slot(plan, wanted, account)
        covers = plan.charge(number)
        entry = plan.stored(number)
        if entry is None:
            if wanted.charge:
                before = account
                account, new = self._cover(plan, number, account, wanted)
                self.promise(before, new)
            else:
                self.refuse_broken(account, account)
            entry = self.append("slot", account, {"slot": number, **said})
        return Slot(plan.plan_id, number, plan.slots, covers, entry, plan.outputs.get(number))

    def _cover(
        self, plan: Plan, number: int, account: Account, wanted: Wanted
    ) -> tuple[Account, list[Registered]]:
        """Refuse a release that its slot does not cover, or whose promise the account passes."""
        account.require(unit=wanted.unit)
        plan.cover(account, number, wanted.account, wanted.charge)
        promising, new = self.promising(account, wanted.promise)
        self.refuse_broken(promising, account, new=new)
        return promising, new

    # -- entries

    def append(
        self,
        kind: str,
        account: Account | None,
        facts: Mapping[str, Any],
        moment: datetime | None = None,
    ) -> Entry:
        """Add one entry at the end, with where the account stands after it."""
        last = self.rows.find()
        body: dict[str, Any] = {
            "seq": 1 if last is None else last.seq + 1,
            "at": say_moment(moment or self.moment()),
            "kind": kind,
            "previous": self.head,
            **facts,
        }
        if account is not None:
            if account.name not in self._checked:
                refuse_altered(self.rows, account.name)
                self._checked.add(account.name)
            own = self.rows.find(account=account.name)
            body |= {
                "account": account.name,
                "standing": account.standing(),
                "account_seq": 1 if own is None else self._own_number(own) + 1,
                "account_previous": BEFORE_THE_FIRST if own is None else own.hash,
            }
        text = canonical(body)
        entry = Entry.read(body["seq"], text, digest(text))
        self.rows.append(entry, text)
        return entry

    def _own_number(self, entry: Entry) -> int:
        """Return which entry of its account this is; those of older formats are counted."""
        number = entry.said.get("account_seq")
        return number if isinstance(number, int) else len(self.rows.all(account=entry.account))

    def moment(self) -> datetime:
        """Return the time of a new entry, never before the last one's."""
        last = self.rows.find()
        return self._now() if last is None else max(self._now(), read_moment(last.at))

    def set_back(self) -> datetime | None:
        """Return the clock's time if it is well before the last entry's, else None."""
        last, now = self.rows.find(), self._now()
        return now if last is not None and read_moment(last.at) - now > SKEW else None

    def _now(self) -> datetime:
        return self.clock().astimezone(UTC)


# Letters of other alphabets that are read as Latin ones: a part of Unicode's confusables.
_AS_LATIN = str.maketrans(
    "авекмнорстухһіјѕԁԛԝѵӏ" + "αβεηικνορτυχγ" + "օսհոգցզ",
    "abekmhopctyxhijsdqwvl" + "abenikvoptuxy" + "ouhnqgq",
)


def _same_output(earlier: Entry, kind: str, account: str, said: Mapping[str, Any]) -> bool:
    """Whether a charge says again what an earlier one said, of the very same output."""
    known = (earlier.kind, earlier.account, earlier.output_hash, earlier.said.get("charge"))
    output = said.get("output_hash")
    return output is not None and known == (kind, account, output, said["charge"])


def _read_as(name: str) -> set[str]:
    """Return what a name is taken for by eye: case, width, spaces and alphabets do not count.

    Nor does it count which sign stands between words, nor whether it is a space.
    """
    plain = unicodedata.normalize("NFKC", name).casefold().translate(_AS_LATIN)
    plain = "".join("-" if c in "_.:/" or unicodedata.category(c) == "Pd" else c for c in plain)
    return {sign.join(plain.split()) for sign in ("", "-")}


def refuse_unknown_account(
    url: str,
    name: str,
    known: Iterable[str] | None = None,
    *,
    unit: str = "person",
    unit_name: str | None = None,
    adjacency: str = "add-remove",
    filter: str = "pure",  # noqa: A002  (the users' word)
    promise: Mapping[str, Any] | None = None,
    file: Path | None = None,
    cap: Amount | None = None,
) -> NoReturn:
    """Refuse an account that is not open, with what opens it, or the name of one that is alike.

    `known` are those that are open; None where there is no ledger. What opens it has the promise
    that is given, or else the cap, or else an example. `file` holds the promise: a spec, say.
    """
    which = "promise" if promise is not None else "example" if cap is None else "needed"
    terms = {"unit": unit, "unit_name": unit_name, "adjacency": adjacency, "filter": filter}
    given = {key: value for key, value in terms.items() if value is not None}
    words = ["discreet", "ledger", "open", "--ledger", url, "--account", name]
    words += [word for key, v in given.items() for word in (f"--{key.replace('_', '-')}", v)]
    call = [repr(name), *(f"{key}={v!r}" for key, v in given.items())]
    asked = 0.0 if cap is None else cap.floats("up").get("delta", 0.0)
    delta = {"delta": asked} if asked else {"delta": 1e-6} if filter == "basic" else {}
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
        flags = _promise_flags(promise)
        if flags is None:
            flags, which = ["--file", "FILE" if file is None else str(file)], "file"
        words += flags
        call.append(f"promise={dict(promise)!r}")
        if delta and "delta" not in promise:
            call.append(f"delta={delta['delta']!r}")
        if delta and "--delta" not in words:
            words += ["--delta", repr(delta["delta"])]
    names = "Amount, Ledger" if which == "needed" else "Ledger"
    near = nearest(name, known or ())
    text = "no_ledger" if known is None else "not_open" if near is None else "not_open_near"
    raise PolicyError(
        f"ledger.{text}",
        account=name,
        url=url,
        near=near,
        call=f"from discreet.ledger import {names}; Ledger.open({url!r})"
        f".open_account({', '.join(call)}, approver='…', reason='…')",
        command=shlex.join(words),
        what=say(f"ledger.opened_with_{which}"),
        filter=say(f"ledger.filter_fixed.{Filter(filter)}"),
    )


def _crumbs(limit: Amount) -> Decimal:
    """What rounding leaves over of a limit: nothing that anyone would release."""
    return limit.lead * _CRUMBS


def _is_used_up(limit: Amount, spent: Amount) -> bool:
    return not spent.within(limit) or limit.minus(spent).lead <= _crumbs(limit)


def _promise_flags(promise: Mapping[str, Any]) -> list[str] | None:
    """Return the flags that say a promise; None where only a file can say it."""
    if {"all", "groups", "table", *public_shares.KEYS} & set(promise):
        return None
    words: list[str] = []
    for key, value in promise.items():
        flag = f"--{key.replace('_', '-')}"
        if key == "sentence":
            continue
        if key == "values_known":
            words += ["--about", "membership"] if value else []
        elif isinstance(value, bool):
            words += [flag] if value else []
        elif isinstance(value, (list, tuple)):
            words += [flag, *map(str, value)]
        else:
            words += [flag, str(value)]
    return words
