"""What is decided inside the one writing transaction: a charge, an output, a slot of a plan.

Each function is given the chain as it stands while no other writer is let in, and either refuses,
having written nothing, or adds its entry. It may be run again if the ledger was busy, so it does
nothing but read and write the chain. What an entry says beside that (who, why) was checked before.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from discreet.errors import PolicyError
from discreet.ledger.accounts import Account
from discreet.ledger.chain import Chain, ToleranceCheck
from discreet.ledger.entries import Entry, new_id
from discreet.ledger.filters import Charge
from discreet.ledger.plans import Plan, Slot

__all__ = ["Asked", "charged", "foreseen", "opened", "refuse_unreserved", "stored", "taken"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a release asks of an account, or of a slot."""

    account: str
    charge: tuple[Charge, ...]
    unit: str | None
    tolerance_check: ToleranceCheck | None


def opened(chain: Chain, account: Account, approved: Mapping[str, str]) -> Account:
    """Open an account, in a ledger that may be new."""
    chain.begin()
    if chain.account(account.name) is not None:
        raise PolicyError(
            f"Account {account.name!r} is already open in {chain.store.url}; its unit, adjacency "
            "and filter never change. To raise its cap use discreet ledger grant."
        )
    for entry in chain.all(kind="open"):
        if _read_as(str(entry.account)) == _read_as(account.name):
            raise PolicyError(
                f"Account {account.name!r} reads like {entry.account!r}, which is open in "
                f"{chain.store.url}; one population with two accounts would have two caps. Charge "
                "the one that is open, or give another population a name of its own."
            )
    chain.append("open", account, {"terms": account.terms(), **approved})
    return account


def _read_as(name: str) -> str:
    """Return what a name is taken for by eye: case, width and spaces make no difference."""
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def charged(chain: Chain, kind: str, asked: Asked, said: Mapping[str, Any]) -> Entry:
    """Charge a release to its account, once."""
    before = chain.needed(asked.account)
    before.require(unit=asked.unit)
    if chain.found(release_id=said["release_id"]) is not None:
        raise PolicyError(
            f"Release {said['release_id']!r} was already charged; a second draw is a new release "
            "with a charge of its own."
        )
    return chain.spend(kind, before, asked.charge, asked.tolerance_check, said)


def stored(chain: Chain, release_id: str, output_hash: str) -> Entry:
    """Record the output of a release, once; of a slot, the first of its draws."""
    found = chain.all(release_id=release_id)
    if not found or found[0].kind not in ("reserve", "slot"):
        refuse_unreserved(chain.store.url, release_id)
    first, *rest = found
    if rest and rest[0].output_hash == output_hash:
        return rest[0]
    if rest:
        raise PolicyError(
            f"Release {release_id!r} already has a stored output with another hash; a release is "
            "drawn once. Discard this one."
        )
    facts: dict[str, Any] = {"release_id": release_id, "output_hash": output_hash}
    if first.kind == "slot":
        plan = chain.plan(str(first.plan_id))
        if first.slot in plan.outputs:
            raise PolicyError(
                f"Slot {first.slot} of plan {plan.plan_id} already has a stored output; a slot is "
                "published once. Discard this one."
            )
        facts |= {"plan_id": plan.plan_id, "slot": first.slot}
    return chain.append("commit", chain.needed(str(first.account)), facts)


def refuse_unreserved(url: str, release_id: str) -> NoReturn:
    """Refuse an output that nothing was charged for."""
    raise PolicyError(
        f"Release {release_id!r} was not reserved in {url}; an output without a charge is not "
        "recorded. Discard it."
    )


def taken(
    chain: Chain, plan_id: str, key: str | None, said: Mapping[str, Any], asked: Asked | None
) -> Slot:
    """Take the slot of a key, or the next; one whose output is stored is only found again."""
    plan = chain.plan(plan_id)
    number = plan.next(key)
    covers, account = plan.charge(number), chain.needed(plan.account)
    found = plan.stored(number)
    if found is not None:
        return Slot(plan_id, number, plan.slots, covers, found, plan.outputs[number])
    if asked is not None:
        _cover(plan, number, account, asked)
    entry = chain.append("slot", account, {"slot": number, "release_id": new_id(), **said})
    return Slot(plan_id, number, plan.slots, covers, entry)


def foreseen(chain: Chain, asked: Asked, plan_id: str | None, key: str | None) -> Account:
    """Refuse what `charged` or `taken` would refuse now; return the account as it would be left."""
    before = chain.needed(asked.account)
    if plan_id is None:
        before.require(unit=asked.unit)
        return chain.afford(before, asked.charge, asked.tolerance_check)[1]
    plan = chain.plan(plan_id)
    number = plan.next(key)
    if number not in plan.outputs:
        _cover(plan, number, chain.needed(plan.account), asked)
    return before


def _cover(plan: Plan, number: int, account: Account, asked: Asked) -> None:
    """Refuse a release that its slot does not cover, or whose tolerance the account passes."""
    account.require(unit=asked.unit)
    plan.cover(account, number, asked.account, asked.charge)
    if asked.tolerance_check is not None:
        asked.tolerance_check(account.total)
