"""An entry of the chain: what it says, how it is written, and its hash.

The body of an entry is one canonical JSON text (sorted keys, no spaces, UTF-8): number, moment,
kind, account, what happened, where the account stands after it, and the hash of the entry before.
Its hash is SHA-256 of that text. So each hash stands for the whole history up to it, and anyone
can recompute it with nothing but a SHA-256.

Kinds: `begin` (the ledger itself), `upgrade` (its format), `open`, `promise`, `withdraw`, `grant`,
`reserve`, `commit`, `charge`, `plan`, `slot`, `restore` (someone answered for lost entries),
`report` (the hash of a report's manifest; the release that it is about stands under `reported`, for
a release may be reported more than once; null if it is about the account).

An account is a chain of its own inside the ledger: its entries are numbered (`account_seq`), and
each carries the hash of the account's entry before it (`account_previous`).
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from discreet.errors import InputError, PolicyError
from discreet.ledger.accounts import left_under, remaining_dict
from discreet.ledger.amounts import Amount

BEFORE_THE_FIRST = "0" * 64
# What an altered text may raise while it is read.
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u to misread
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def new_id() -> str:
    """Return 26 random characters, 130 bits: the name of a release or a plan."""
    bits = secrets.randbits(130)
    return "".join(_ALPHABET[bits >> shift & 31] for shift in range(0, 130, 5))


def checked_id(name: str) -> str:
    """Return a name given from outside, if it is one that can also name a folder."""
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise InputError("ledger.release_id", name=name)
    return name


def canonical(body: Mapping[str, Any]) -> str:
    """Return the one JSON text of a body."""
    return json.dumps(
        body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest(text: str) -> str:
    """Return SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def say_moment(moment: datetime) -> str:
    """Return a moment in UTC with microseconds, so that text order is time order."""
    return f"{moment.astimezone(UTC).isoformat(timespec='microseconds')[:26]}Z"


def read_moment(text: str) -> datetime:
    """Read back what `say_moment` wrote, and nothing else."""
    moment = datetime.fromisoformat(text)
    if say_moment(moment) != text:
        raise ValueError
    return moment


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its place in the chain, and what it says."""

    seq: int
    hash: str
    said: Mapping[str, Any]

    @classmethod
    def read(cls, seq: int, body: str, hash: str) -> Entry:  # noqa: A002
        """Read a stored row; refuse one that does not match its hash."""
        return _read(seq, body, hash)

    def check(self) -> None:
        """Read everything that every entry has, so that what cannot be read is found here."""
        datetime.fromisoformat(self.said["at"])
        names = (self.said["kind"], self.account, self.release_id, self.plan_id, self.output_hash)
        if not all(name is None or isinstance(name, str) for name in names):
            raise TypeError
        if not isinstance(self.slot, int | None):
            raise TypeError
        if "promise" in self.said:
            Amount.restored(self.said["promise"]["limit"])
        for amount in (self.cost, self.remaining, self.spent):
            if amount is not None:
                amount.floats("up")

    @property
    def kind(self) -> str:
        """What happened: open, promise, withdraw, grant, reserve, commit, charge, plan, slot, …"""
        return str(self.said["kind"])

    @property
    def at(self) -> str:
        """When, in UTC."""
        return str(self.said["at"])

    @property
    def account(self) -> str | None:
        """Whose account."""
        return self.said.get("account")

    @property
    def release_id(self) -> str | None:
        """Which release, if it is about one."""
        return self.said.get("release_id")

    @property
    def plan_id(self) -> str | None:
        """Which registered plan, if it is about one."""
        return self.said.get("plan_id")

    @property
    def slot(self) -> int | None:
        """Which slot of the plan, counted from 1."""
        return self.said.get("slot")

    @property
    def output_hash(self) -> str | None:
        """The hash of the stored output, once there is one."""
        return self.said.get("output_hash")

    @property
    def guaranteed(self) -> bool:
        """Whether what it is about carries a guarantee; False for a file chosen by looking."""
        return self.said.get("guaranteed") is not False

    @property
    def cost(self) -> Amount | None:
        """What this entry charged, exactly; None for one that charges nothing."""
        return self._amount(self.said.get("cost"))

    @property
    def spent(self) -> Amount | None:
        """What the account had spent after this entry, exactly."""
        return self._amount(self.said.get("standing", {}).get("spent"))

    @property
    def cap(self) -> Amount | None:
        """The lifetime cap after this entry; None without one."""
        return self._amount(self.said.get("standing", {}).get("cap"))

    @property
    def remaining(self) -> Amount | None:
        """What the cap and all promises still allowed after this entry; None without any."""
        promised = self.said.get("standing", {}).get("promises", {}).values()
        limits = (self.cap, *map(self._amount, promised))
        return None if self.spent is None else left_under(limits, self.spent)

    @staticmethod
    def _amount(stored: Mapping[str, str] | None) -> Amount | None:
        return None if stored is None else Amount.restored(stored)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON-ready values, amounts as numbers, with its hash."""
        kept = ("standing", "account_seq", "account_previous")
        out = {k: v for k, v in self.said.items() if k not in kept}
        if self.cost is not None:
            out["cost"] = self.cost.to_dict("up")
        if "add" in out:
            out["add"] = Amount.restored(out["add"]).to_dict("down")
        if "promise" in out:
            limit = Amount.restored(out["promise"]["limit"]).to_dict("down")
            out["promise"] = dict(out["promise"]) | {"limit": limit}
        if self.spent is not None:
            out["spent"] = self.spent.to_dict("up")
            out["remaining"] = remaining_dict(self.remaining)
        return out | {"hash": self.hash}

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        name = "" if self.release_id is None else f", release {self.release_id}"
        return f"Entry({self.seq}, {self.kind}, account {self.account!r}{name})"


@lru_cache(maxsize=512)
def _read(seq: int, body: str, hash: str) -> Entry:  # noqa: A002
    """Read a row, once: the newest are asked for at each charge, and a row says one thing."""
    if not isinstance(body, str) or digest(body) != hash:
        raise PolicyError("ledger.entry_changed", seq=seq)
    try:
        entry = Entry(seq, hash, MappingProxyType(json.loads(body)))
        entry.check()
    except UNREADABLE:
        raise PolicyError("ledger.entry_unreadable", seq=seq) from None
    return entry
