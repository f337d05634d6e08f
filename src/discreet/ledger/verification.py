"""Recompute a ledger from its first entry to its last, and say everything that is wrong.

Nothing stored is trusted: not the hashes, not the sums that entries carry, not the columns used for
looking things up. The sums are folded again from the charges by the functions that wrote them.

What it detects: any entry changed, removed from the middle, inserted or reordered; sums, costs,
caps or promises that do not follow; spending past a cap or a promise; an output without a
reservation; a clock that ran backwards; a damaged file. What it cannot detect by itself: entries
cut off at the end, and a whole chain written anew by someone who can write the file. For both,
compare with a head kept elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NoReturn

from discreet.errors import DiscreetError, InputError, PolicyError
from discreet.frames import JsonReady, Tabular, columns_from
from discreet.ledger.accounts import Account
from discreet.ledger.amounts import Amount, Charge
from discreet.ledger.backend import Damaged
from discreet.ledger.entries import BEFORE_THE_FIRST, UNREADABLE, Entry, digest, read_moment
from discreet.ledger.plans import Part, Plan
from discreet.ledger.promises import MadePromise, Registered, Standing, made_promises
from discreet.ledger.store import FIRST, FORMAT, Row, Rows, Store
from discreet.words import say

# What an altered entry may raise while it is read; whichever it is, the entry does not follow.
_UNREADABLE = (DiscreetError, *UNREADABLE)


_AMOUNTS = ("cost", "spent", "remaining")
_TABLED = ("seq", "at", "kind", "purpose", *_AMOUNTS, "who", "approver", "reason", "release_id")


@dataclass(frozen=True, slots=True)
class Sheet(Tabular):
    """An account with its entries, what is unfinished, and the head of the chain."""

    account: Account
    entries: tuple[Entry, ...]
    unfinished: tuple[Entry, ...]
    head: str
    promises: tuple[Standing, ...] = ()
    plans: tuple[Plan, ...] = ()
    restored: tuple[Entry, ...] = ()
    """Where someone answered for lost entries of the ledger: perhaps of this account."""

    @property
    def withdrawn(self) -> tuple[MadePromise, ...]:
        """The promises that were withdrawn, oldest first, with what became of them."""
        return tuple(one for one in made_promises(self.entries) if one.withdrawn is not None)

    @property
    def listed(self) -> list[Entry]:
        """Every entry that concerns the account, in order."""
        return sorted((*self.entries, *self.restored), key=lambda entry: entry.seq)

    def to_dict(self) -> dict[str, Any]:
        """Return the sheet as JSON-ready values."""
        return self.account.to_dict() | {
            "promises": [one.to_dict() for one in self.promises],
            "withdrawn": [one.to_dict() for one in self.withdrawn],
            "plans": [one.to_dict() for one in self.plans],
            "entries": [entry.to_dict() for entry in self.listed],
            "unfinished": [entry.release_id for entry in self.unfinished],
            "head": self.head,
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the entries of the account, without their hashes; `to_dict` has all of them."""
        return columns_from((entry.to_dict() for entry in self.listed), _TABLED)

    def __repr__(self) -> str:
        return f"Sheet({self.account!r}, {len(self.entries)} entries)"


@dataclass(frozen=True, slots=True)
class Restored(JsonReady):
    """An entry by which someone answered for a ledger that was restored from an older copy."""

    seq: int
    at: str
    approver: str
    reason: str
    lost: tuple[str, ...]
    """The heads that were lost: charges may be missing."""


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a ledger is what it was when it was written."""

    verified: bool
    head: str
    hashes: tuple[str, ...]
    problems: tuple[str, ...] = ()
    since_head: int | None = None
    lost: tuple[str, ...] = ()
    """Heads that were seen before and are not in the chain: nothing is charged on it."""
    witnessed: int | None = None
    """The last entry whose head is in the folder that is shared (`DISCREET_WITNESS`)."""
    follows: bool = True
    """Whether there are entries, each of which follows from the ones before it."""
    restored: tuple[Restored, ...] = ()
    """Where someone answered for lost entries, oldest first; a chain with them can be verified."""
    head_answered: bool = False
    """Whether nothing is wrong but that the head asked for is one that someone answered for."""

    @property
    def entries(self) -> int:
        """How many entries the chain has."""
        return len(self.hashes)

    @property
    def vouched_up_to(self) -> int | None:
        """The last entry that a head kept elsewhere vouches for, with all before it; or None."""
        head = None if self.since_head is None else self.entries - self.since_head
        known = [seq for seq in (head, self.witnessed) if seq is not None]
        return max(known, default=None) if self.verified else None

    @property
    def reach(self) -> str:
        """How far that is, and what may have been done to the entries after it; "" without any."""
        last = self.vouched_up_to
        if last is None:
            return ""
        by, later = "witness" if last == self.witnessed else "head", self.entries - last
        name = f"ledger.vouched.{by}_{'some' if later else 'all'}"
        return say(name, reach=last, later=later, entries=self.entries)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON-ready values."""
        return {
            "verified": self.verified,
            "head": self.head,
            "entries": [{"seq": n, "hash": h} for n, h in enumerate(self.hashes, 1)],
            "problems": list(self.problems),
            "since_head": self.since_head,
            "vouched_up_to": self.vouched_up_to,
            "restored": [one.to_dict() for one in self.restored],
        }

    def __repr__(self) -> str:
        state = "verified" if self.verified else f"{len(self.problems)} problems"
        return f"Verification({state}, {self.entries} entries, head {self.head[:12]}…)"


@dataclass(slots=True)
class _Fold:
    """Everything that the chain has said so far, recomputed."""

    expected: str | None = None
    count: int = 0
    head: str = BEFORE_THE_FIRST
    hashes: list[str] = field(default_factory=list)
    at: str = ""
    format: int = 0
    since_head: int | None = None
    now: str = ""
    own: dict[str, tuple[int, str]] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    reserved: dict[str, tuple[str, str | None, int | None]] = field(default_factory=dict)
    outputs: set[str] = field(default_factory=set)
    plans: dict[str, tuple[str, int]] = field(default_factory=dict)
    slots_taken: set[tuple[str, int]] = field(default_factory=set)
    slots_stored: set[tuple[str, int]] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    restored: list[Restored] = field(default_factory=list)

    def wrong(self, what: str, **values: str) -> None:
        found = say(f"ledger.wrong.{what}", **values)
        self.problems.append(say("ledger.wrong_entry", seq=self.count, what=found))

    def row(self, row: Row) -> None:
        """Take one stored row: the chain first, then what it says."""
        self.count += 1
        if not isinstance(row.body, str) or not isinstance(row.hash, str):
            self.wrong("not_text")
            self.head = "not a hash"
            self.hashes.append(self.head)
            return
        if digest(row.body) != row.hash:
            self.wrong("hash")
        try:
            said = json.loads(row.body)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            self.wrong("unreadable")
        else:
            self.now = row.hash
            self.chained(row, said)
            try:
                self.follows(said)
            except _UNREADABLE:
                self.wrong("unfollowed")
        self.head = row.hash
        self.hashes.append(row.hash)
        if self.head == self.expected:
            self.since_head = 0
        elif self.since_head is not None:
            self.since_head += 1

    def chained(self, row: Row, said: Mapping[str, Any]) -> None:
        if row.seq != self.count or said.get("seq") != self.count:
            self.wrong("number")
        if said.get("previous") != self.head:
            self.wrong("previous")
        for name, repeated in row.repeated.items():
            if repeated != said.get(name):
                self.wrong("column", name=name)

    def follows(self, said: Mapping[str, Any]) -> None:
        kind = said["kind"]
        read_moment(said["at"])
        if said["at"] < self.at and kind != "grant":
            self.wrong("clock")
        self.at = said["at"]
        if (kind == "begin") != (self.count == 1):
            self.wrong("beginning")
        if kind == "begin":
            self.format = said["format"]
            if self.format not in range(FIRST, FORMAT + 1):
                self.wrong("begin_format")
            return
        if kind == "upgrade":
            if said["from"] != self.format or said["to"] not in range(said["from"] + 1, FORMAT + 1):
                self.wrong("upgrade_format")
            self.format = said["to"]
            return
        if kind == "restore":
            told = {name: str(said[name]) for name in ("at", "approver", "reason")}
            self.restored.append(Restored(self.count, lost=tuple(map(str, said["lost"])), **told))
            return
        name = said["account"]
        self.own_chain(name, said)
        if kind == "open":
            self.opened(name, said)
            return
        after, problems = following(self.accounts[name], said)
        for problem in problems:
            self.wrong(problem)
        self.linked(kind, name, said)
        self.accounts[name] = after

    def own_chain(self, name: str, said: Mapping[str, Any]) -> None:
        """Each account is a chain of its own: its entries are numbered, each knows the last."""
        number, last = self.own.get(name, (0, BEFORE_THE_FIRST))
        if self.format >= 4 and said.get("account_seq") != number + 1:
            self.wrong("account_number")
        if self.format >= 4 and said.get("account_previous") != last:
            self.wrong("account_previous")
        self.own[name] = (number + 1, self.now)

    def opened(self, name: str, said: Mapping[str, Any]) -> None:
        account = Account.restored(name, said["terms"], said["standing"])
        if name in self.accounts:
            self.wrong("opened_twice")
            return
        if account.spent != account.filter.zero:
            self.wrong("opened_spent")
        self.accounts[name] = account

    def linked(self, kind: str, name: str, said: Mapping[str, Any]) -> None:
        release_id, plan_id = said.get("release_id"), said.get("plan_id")
        if kind == "plan":
            slots = sum(Part.from_dict(part).times for part in said["parts"])
            self.plans[said["plan_id"]] = (name, slots)
        elif kind == "report":
            if said["reported"] is not None and said["reported"] not in self.outputs:
                self.wrong("report_of_nothing")
        elif kind == "commit":
            if self.reserved.get(str(release_id)) != (name, plan_id, said.get("slot")):
                self.wrong("output_unreserved")
            if release_id in self.outputs:
                self.wrong("second_output")
            self.outputs.add(str(release_id))
            if plan_id is not None:
                if (plan_id, said["slot"]) in self.slots_stored:
                    self.wrong("second_output_of_slot")
                self.slots_stored.add((plan_id, said["slot"]))
        elif kind in ("reserve", "charge", "slot"):
            if release_id in self.reserved:
                self.wrong("charged_twice")
            self.reserved[str(release_id)] = (name, plan_id, said.get("slot"))
            if kind == "slot":
                owner, slots = self.plans[str(plan_id)]
                if owner != name or not 1 <= said["slot"] <= slots:
                    self.wrong("no_such_slot")
                slot = (str(plan_id), said["slot"])
                # Before format 4 a slot could be taken again while no output of it was stored.
                if slot in (self.slots_taken if self.format >= 4 else self.slots_stored):
                    self.wrong("slot_twice")
                self.slots_taken.add(slot)


def following(before: Account, said: Mapping[str, Any]) -> tuple[Account, list[str]]:
    """Return an account after one more of its entries, recomputed, and what is wrong with that."""
    kind, after, problems = said["kind"], before, []
    if kind == "grant":
        after = before.granted(Amount.restored(said["add"]), said["which"])
        after = _widened(after, said)
    elif kind == "promise":
        one = Registered.restored(said["promise"], before)
        if one.id in before.promises:
            problems.append("promised_twice")
        after = before.promising(one.id, one.limit)
    elif kind == "withdraw":
        after = before.withdrawn(said["promise_id"])
    elif kind in ("reserve", "charge", "plan"):
        parts = [Charge.from_dict(part) for part in said["charge"]]
        cost = before.cost(parts)
        if cost.stored() != said["cost"]:
            problems.append("cost")
        after = before.after(cost, read_moment(said["at"]))
        try:
            after.check(parts, before)
        except DiscreetError:
            problems.append("past_cap")
        if after.broken():
            problems.append("breaks_promise")
    elif kind == "slot" and before.broken():
        problems.append("slot_beyond_promise")
    if after.standing() != said["standing"]:
        problems.append("standing")
    return after, problems


def _widened(after: Account, said: Mapping[str, Any]) -> Account:
    """A grant of δ may widen a promise to the new cap on δ, and never its ε or ρ."""
    for name, stored in said["standing"].get("promises", {}).items():
        old, new = after.promises[name], Amount.restored(stored)
        cap = None if after.cap is None else after.cap.delta
        if new != old and new == replace(old, delta=cap) and said["which"] == "lifetime":
            after = after.promising(name, new)
    return after


RECENT = 16
"""So many of the newest entries, of the chain and of the account, are recomputed at each charge."""


def refuse_altered(rows: Rows, account: str) -> None:
    """Refuse to write on a ledger whose newest entries are not what was written.

    The newest entries of the chain must be linked. Those of the account must be linked in the
    account, the last of them and the account's opening also in the chain, and they must lead from
    where the account stood to where it stands. So no edit of one entry can change what is spent; an
    edit further back is found by `verify`.
    """

    def refuse(entry: Entry) -> NoReturn:
        raise PolicyError("ledger.altered", url=rows.store.url, seq=entry.seq) from None

    newest = rows.newest(RECENT)
    for one, after in pairwise(newest):
        if after.seq != one.seq + 1 or after.said.get("previous") != one.hash:
            refuse(after)
    opening = rows.find(account=account, kind="open")
    if opening is None:
        return
    entries = rows.newest(RECENT, account)
    # Before format 4 an account was no chain of its own: then what follows in the ledger is asked.
    alone = [one for one, after in pairwise(entries) if "account_previous" not in after.said]
    alone += [opening, *entries[-1:]]
    linked = rows.numbered([entry.seq + 1 for entry in alone])
    for entry in alone:
        link = linked.get(entry.seq + 1)
        if link is not None and link.said.get("previous") != entry.hash:
            refuse(entry)
    for one, entry in pairwise(entries):
        if not _follows(opening, one, entry):
            refuse(entry)


@lru_cache(maxsize=512)
def _follows(opening: Entry, before: Entry, entry: Entry) -> bool:
    """Whether an entry leads on from the account's one before; their hashes cover all of it."""
    try:
        standing = before.said["standing"]
        account = Account.restored(str(opening.account), opening.said["terms"], standing)
        _, problems = following(account, entry.said)
    except _UNREADABLE:
        return False
    return not problems and entry.said.get("account_previous", before.hash) == before.hash


def verify(store: Store, head: str | None = None) -> Verification:
    """Recompute the chain of a store; with `head`, look also for that hash in it."""
    if head is not None:
        given, head = head, "".join(head.split()).lower()
        if not re.fullmatch(r"[0-9a-f]{64}", head):
            raise InputError("ledger.head_not_a_hash", head=given)
    if not store.exists():
        raise InputError("ledger.nothing_there", url=store.url)

    try:
        # All rows are read before any is recomputed, so that nobody waits for the arithmetic.
        rows, damage, version = store.read(_read)
    except Damaged:
        problems = (say("ledger.database_damaged"),)
        return Verification(False, BEFORE_THE_FIRST, (), problems, follows=False)
    return recomputed(rows, head, damage, version)


def verified(rows: Rows) -> Verification:
    """Recompute the chain inside a transaction that is under way."""
    stored, damage, version = _read(rows)
    return recomputed(stored, None, damage, version)


def _read(rows: Rows) -> tuple[list[Row], list[str], int | None]:
    version, damage = rows.version(), rows.backend.damage(rows.connection)
    return [] if version is None else list(rows.stored()), damage, version


def recomputed(
    rows: Iterable[Row],
    head: str | None = None,
    damage: Iterable[str] = (),
    version: int | None = None,
) -> Verification:
    """Recompute a chain from its stored rows."""
    fold = _Fold(expected=head)
    for row in rows:
        fold.row(row)
    follows = bool(fold.count) and not fold.problems
    fold.problems[:0] = damage
    if fold.count == 0:
        fold.problems.append(say("ledger.empty"))
    elif version is not None and fold.format != version:
        fold.problems.append(say("ledger.format_differs", version=version, format=fold.format))
    alone = not fold.problems
    by = next((one for one in fold.restored if head in one.lost), None)
    if head is not None and fold.since_head is None:
        told = {} if by is None else by.to_dict() | {"at": by.at[:10]}
        how = "missing" if by is None else "answered"
        fold.problems.append(say(f"ledger.head_{how}", **told | {"head": head}))
    return Verification(
        verified=not fold.problems,
        head=fold.head,
        hashes=tuple(fold.hashes),
        problems=tuple(fold.problems),
        since_head=fold.since_head,
        follows=follows,
        restored=tuple(fold.restored),
        head_answered=alone and bool(fold.problems) and by is not None,
    )
