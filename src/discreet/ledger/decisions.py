"""What is decided inside the one writing transaction: a charge, an output, a slot of a plan.

Each function is given the chain as it stands while no other writer is let in, and either refuses,
having written nothing, or adds its entry. It may be run again if the ledger was busy, so it does
nothing but read and write the chain. What an entry says beside that (who, why) was checked before.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, TypeAlias

from discreet.errors import PolicyError
from discreet.ledger.accounts import Account
from discreet.ledger.amounts import Amount
from discreet.ledger.chain import Chain
from discreet.ledger.entries import Entry
from discreet.ledger.filters import Charge
from discreet.ledger.plans import Plan, Slot
from discreet.ledger.promises import Registered, Standing, register, widened
from discreet.promises import Promise

Which: TypeAlias = Literal["lifetime", "period"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a release wants of an account, or of a slot of a plan; without a charge, any slot."""

    account: str | None
    charge: tuple[Charge, ...] | None
    unit: str | None = None
    promise: Promise | None = None
    plan_id: str | None = None
    key: str | None = None
    retry: bool = False


@dataclass(frozen=True, slots=True)
class Foreseen:
    """An account as a release would leave it, and where it would stand under each promise."""

    account: Account
    promises: tuple[Standing, ...]


def opened(
    chain: Chain, account: Account, promises: tuple[Promise, ...], approved: Mapping[str, str]
) -> Account:
    """Open an account with its promises, in a ledger that may be new."""
    chain.begin()
    if chain.account(account.name) is not None:
        raise PolicyError("ledger.already_open", account=account.name, url=chain.store.url)
    for entry in chain.all(kind="open"):
        if _read_as(str(entry.account)) == _read_as(account.name):
            raise PolicyError(
                "ledger.reads_like_another",
                account=account.name,
                other=entry.account,
                url=chain.store.url,
            )
    chain.append("open", account, {"terms": account.terms(), **approved})
    new = [register(promise, account) for promise in promises]
    return chain.promise(account, {one.id: one for one in new}.values(), facts=approved)


def granted(
    chain: Chain, name: str, add: Amount, which: Which, approved: Mapping[str, str]
) -> Account:
    """Raise a cap; a promise that could not stand a larger δ refuses it.

    Every promise is a limit at the cap on δ. Where it holds at the same ε, or ρ, with the larger δ,
    its limit follows the cap; where it does not, the cap stays.
    """
    before = chain.needed(name)
    after = before.granted(add, which)
    more = which == "lifetime" and add.delta
    if more:
        for one in chain.registered(before):
            limit = widened(one, after)
            if limit is None:
                raise PolicyError(
                    "ledger.delta_breaks_promise",
                    name=name,
                    sentence=one.promise(before).sentence(),
                    id=one.id,
                )
            after = after.promising(one.id, limit)
    chain.append(
        "grant", after, {"add": add.stored(), "which": which, **approved}, chain.set_back()
    )
    return after


def withdrawn(chain: Chain, name: str, promise_id: str, approved: Mapping[str, str]) -> Account:
    """End a promise; what was released under it says so from then on."""
    after = chain.needed(name).withdrawn(promise_id)
    chain.append("withdraw", after, {"promise_id": promise_id, **approved})
    return after


# Letters of other alphabets that are read as Latin ones: a part of Unicode's confusables.
_AS_LATIN = str.maketrans(
    "авекмнорстухһіјѕԁԛԝѵӏ" + "αβεηικνορτυχγ" + "օսհոգցզ",
    "abekmhopctyxhijsdqwvl" + "abenikvoptuxy" + "ouhnqgq",
)


def _read_as(name: str) -> str:
    """Return what a name is taken for by eye: case, width, spaces and alphabets do not count."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    return "".join(plain.translate(_AS_LATIN).split())


def charged(chain: Chain, kind: str, wanted: Wanted, said: Mapping[str, Any]) -> Entry:
    """Charge a release to its account, once."""
    before = chain.needed(str(wanted.account))
    before.require(unit=wanted.unit)
    if chain.found(release_id=said["release_id"]) is not None:
        raise PolicyError("ledger.charged_before", release_id=said["release_id"])
    return chain.spend(kind, before, wanted.charge or (), wanted.promise, said)


def stored(chain: Chain, release_id: str, output_hash: str) -> Entry:
    """Record the output of a release, once; of a slot, the first of its draws."""
    found = chain.all(release_id=release_id)
    if not found or found[0].kind not in ("reserve", "slot"):
        refuse_unreserved(chain.store.url, release_id)
    first, *rest = found
    if rest and rest[0].output_hash == output_hash:
        return rest[0]
    if rest:
        raise PolicyError("ledger.other_output", release_id=release_id)
    facts: dict[str, Any] = {"release_id": release_id, "output_hash": output_hash}
    if first.kind == "slot":
        plan = chain.plan(str(first.plan_id))
        if first.slot in plan.outputs:
            raise PolicyError("ledger.slot_published", slot=first.slot, plan_id=plan.plan_id)
        facts |= {"plan_id": plan.plan_id, "slot": first.slot}
    return chain.append("commit", chain.needed(str(first.account)), facts)


def refuse_unreserved(url: str, release_id: str) -> NoReturn:
    """Refuse an output that nothing was charged for."""
    raise PolicyError("ledger.not_reserved", release_id=release_id, url=url)


def taken(chain: Chain, wanted: Wanted, said: Mapping[str, Any]) -> Slot:
    """Take a fresh slot, or find the key's; one whose output is stored is only found again."""
    plan = chain.plan(str(wanted.plan_id))
    number = plan.next(wanted.key, retry=wanted.retry)
    covers, account = plan.charge(number), chain.needed(plan.account)
    found = plan.stored(number)
    if found is not None:
        return Slot(plan.plan_id, number, plan.slots, covers, found, plan.outputs[number])
    if wanted.charge is None:
        chain.refuse_broken(account, account, None)
    else:
        before = account
        account, new = _cover(chain, plan, number, account, wanted)
        chain.promise(before, new)
    entry = chain.append("slot", account, {"slot": number, **said})
    return Slot(plan.plan_id, number, plan.slots, covers, entry)


def registered_before(chain: Chain, account: str, said: Mapping[str, Any]) -> str | None:
    """Return the plan that a key was used for; refuse a key of another plan."""
    key = said.get("idempotency_key")
    if key is None:
        return None
    for entry in chain.all(account=account, kind="plan"):
        if entry.said.get("idempotency_key") == key:
            if any(entry.said[name] != said[name] for name in ("parts", "charge", "method")):
                raise PolicyError("ledger.plan_key_of_another", key=key, plan=entry.plan_id)
            return entry.plan_id
    return None


def foreseen(chain: Chain, wanted: Wanted) -> Foreseen:
    """Refuse what `charged` or `taken` would refuse now; say where the account would be left."""
    before = chain.needed(str(wanted.account))
    if wanted.plan_id is None:
        before.require(unit=wanted.unit)
        cost, after, _, new = chain.afford(before, wanted.charge or (), wanted.promise)
        return _foreseen(chain, after, cost, new)
    plan = chain.plan(wanted.plan_id)
    number = plan.next(wanted.key, retry=wanted.retry)
    account, new = chain.needed(plan.account), []
    if number not in plan.outputs:
        account, new = _cover(chain, plan, number, account, wanted)
    return _foreseen(chain, account, None, new)


def _foreseen(chain: Chain, after: Account, cost: Amount | None, new: list[Registered]) -> Foreseen:
    fresh = {one.id for one in new}
    known = replace(after, promises={k: v for k, v in after.promises.items() if k not in fresh})
    return Foreseen(after, tuple(chain.standings(known, cost, new)))


def _cover(
    chain: Chain, plan: Plan, number: int, account: Account, wanted: Wanted
) -> tuple[Account, list[Registered]]:
    """Refuse a release that its slot does not cover, or whose promise the account passes."""
    account.require(unit=wanted.unit)
    plan.cover(account, number, str(wanted.account), wanted.charge or ())
    promising, new = chain.promising(account, wanted.promise)
    chain.refuse_broken(promising, account, None, new)
    return promising, new
