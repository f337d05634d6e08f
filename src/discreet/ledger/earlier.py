"""Releases made before accounts kept promises: what they said becomes a promise of the account.

Up to format 2 a tolerance was looked at when its own release was charged, and by no later charge;
with a δ it was kept for membership alone, though its sentence spoke of every prior. When such a
ledger is upgraded, its stored releases are looked for, and each sentence is registered as the
promise that it is, kept or not: nothing more is charged to an account until a promise that is not
kept was withdrawn. Files are only looked for: what is not found here binds nothing.

A tolerance of that time held for every output, or, with a δ, with its confidence (99 % where none
was said). It spoke of increases; so where a promise for every output is kept in that reading alone,
that reading is the promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, InputError, PolicyError, ToleranceError
from discreet.frames import JsonReady
from discreet.ledger.accounts import Account
from discreet.ledger.chain import Chain
from discreet.ledger.promises import Registered, register
from discreet.promises import CONFIDENCE, EVERY_OUTPUT, Promise, Surety, delta_in, promise_in
from discreet.reading import json_values, text_of
from discreet.words import say

_LARGEST = 2**30
_DEPTHS = ("", "*/", "*/*/", "*/*/*/")


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
    for depth in _DEPTHS:
        for path in sorted(base.glob(f"{depth}*/release.json")):
            folder = path.parent
            if not any(part.startswith(".") for part in folder.relative_to(base).parts):
                told = _told(folder, path)
                found.setdefault(told.release_id, told)
    return list(found.values())


def _told(folder: Path, path: Path) -> _Told:
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
    mine = [(told, chain.all(release_id=told.release_id)) for told in stored]
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
    promise = promise_in(keys, told.folder)
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
