"""The thread: the promise that goes along from screen to screen, and the account that keeps it.

Every link carries it: `promise`, a line of YAML in the words of a spec (`tolerance: …` or `budget:
…`), the number of releases of the `series` that it is kept over, and, once there is one, the
`account` and its `ledger`. Every screen shows it in words, and begins with it where its form says
nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from pydantic import BaseModel

from discreet.errors import DiscreetError, InputError
from discreet.guarantees import stated
from discreet.promises import Promise, promise_in
from discreet.promises.keys import files_in
from discreet.promises.unit import Unit
from discreet.reading import yaml_values
from discreet.statements.presenter import amount_text, budget_text
from discreet.words import say

if TYPE_CHECKING:
    from discreet.budgets import Choice
    from discreet.ledger import Account, Ledger, Standing
    from discreet.web.workfolder import Workfolder

STEPS = ("promise", "data", "account", "charge", "released")
"""The way to a first release."""

_LONGEST = 4_000
_COUNT = re.compile("[1-9][0-9]{0,5}")


def link(path: str, state: Mapping[str, Any]) -> str:
    """Return a path with the state as its query; what is empty is left out.

    >>> link("/tolerate", {"after": 12.0, "before": 5, "fold": None, "formula": "3 + 1/p"})
    '/tolerate?after=12&before=5&formula=3+%2B+1%2Fp'
    """
    pairs = {name: text for name, value in state.items() if (text := typed(value))}
    return f"{path}?{urlencode(pairs)}" if pairs else path


def typed(value: Any) -> str:
    """Return a value as a person would type it; of none, and of a box that is empty, nothing."""
    if value is None or isinstance(value, bool):
        return "true" if value else ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


class Told(BaseModel):
    """The thread as a page shows it: the promise, its budget, what is left, what links carry."""

    sentence: str
    budget: str
    left: str
    query: str


@dataclass(frozen=True, slots=True)
class Thread:
    """What goes along: a promise as a line of YAML, an account, the file of its ledger.

    `series` is over how many releases the promise is kept; empty for one.
    """

    promise: str = ""
    ledger: str = ""
    account: str = ""
    series: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Thread:
        """Return what a link brought along; what is too long or cannot be read is left behind."""
        given = {one.name: query.get(one.name, "") for one in fields(cls)}
        found = cls(**{name: text if len(text) <= _LONGEST else "" for name, text in given.items()})
        found = found.over(found.series)
        return found if _words(found.promise) is not None else replace(found, promise="")

    @classmethod
    def saying(cls, ledger: str = "", account: str = "", **promise: Mapping[str, Any]) -> Thread:
        """Return the thread of a tolerance or a budget, in the words of a spec.

        >>> Thread.saying(tolerance={"ratio": 3.0, "q": 1.0}).promise
        'tolerance: {ratio: 3.0, about: membership, every_output: true}'
        """
        import yaml

        lines = []
        for name, values in promise.items():
            said = _said(values) if name == "tolerance" else dict(values)
            text = yaml.safe_dump(said, default_flow_style=True, sort_keys=False, width=10**6)
            lines.append(f"{name}: {text}")
        return cls("".join(lines).strip(), ledger, account)

    @classmethod
    def in_spec(cls, values: Mapping[str, Any]) -> Thread:
        """Return the thread of a spec's values, which need not be valid."""
        name = next((n for n in ("tolerance", "promise", "budget") if values.get(n)), None)
        ledger = str(values.get("ledger") or "")
        found = cls(
            ledger=ledger.removeprefix("sqlite:///") if ledger.startswith("sqlite:///") else "",
            account=str(values.get("account") or ""),
        )
        series = values.get("series")
        if isinstance(series, Mapping):
            found = found.over(series.get("releases"))
        said = None if name is None else values[name]
        if not isinstance(said, Mapping):
            return found
        key = "budget" if name == "budget" else "tolerance"
        protect = values.get("protect")
        adjacency = protect.get("adjacency") if isinstance(protect, Mapping) else None
        if key == "tolerance" and adjacency not in (None, "add-remove"):
            said = {**said, "adjacency": adjacency}  # it decides what the promise allows
        if key == "tolerance" and isinstance(protect, Mapping):
            said = {**said, **unit_keys(protect.get("unit"), protect.get("name"))}
        promise = cls.saying("", "", **{key: said}).promise
        return replace(found, promise=promise if _words(promise) is not None else "")

    @classmethod
    def of_account(cls, name: str, ledger: Ledger, account: Account) -> Thread:
        """Return the thread of an account in the ledger of that name: its first promise."""
        first, _ = standing_of(ledger, account)
        if first is None:
            return cls(ledger=name, account=account.name)
        keys = first.registered.promise(account).to_mapping(of_whom=False)
        of_whom = unit_keys(account.unit, account.unit_name)
        return cls.saying(name, account.name, tolerance=keys | of_whom)

    def over(self, releases: object) -> Thread:
        """Return the same promise, kept over so many releases; of an odd number, nothing."""
        said = str(releases)
        return replace(self, series=said if _COUNT.fullmatch(said) else "")

    def to(self, path: str, **state: Any) -> str:
        """Return a path that takes the thread along, with more of a state."""
        return link(path, state | asdict(self))

    def keys(self) -> dict[str, Any]:
        """Return the keys of its promise; nothing for a budget."""
        return dict(promise_of(self.promise).get("tolerance", {}))

    @property
    def whom(self) -> str:
        """What its promise calls the unit, where it is no person or has a name; else nothing."""
        return named_unit(self.keys())

    def budget(self) -> dict[str, Any]:
        """Return the budget that its promise comes to, or that it is: ε, and δ if there is one.

        Nothing for one that an account decides.
        """
        keys = self.keys()
        if not keys:
            return dict(promise_of(self.promise).get("budget", {}))
        epsilon = _epsilon(keys)
        if epsilon is None:
            return {}
        return {"epsilon": epsilon} | ({"delta": keys["delta"]} if keys.get("delta") else {})

    def most(self) -> dict[str, Any]:
        """Return the budget, or where an account decides it, what that of its promise allows: ρ."""
        from discreet.budgets.keeping import rectangle, rule_for

        keys = self.keys()
        if not keys or _epsilon(keys) is not None:
            return self.budget()
        try:
            most = rectangle(promise_in(keys), rule_for(sure=True, delta=None, rho=False), 0.0)
        except DiscreetError:
            return {}
        return {"rho": most["rho"]}


def unit_keys(kind: object, name: object) -> dict[str, Any]:
    """Return the keys by which a promise names its unit: none for one person, or what is odd."""
    said: dict[str, Any] = {"unit": kind if kind != "person" else None, "unit_name": name or None}
    keys = {key: value for key, value in said.items() if value is not None}
    try:
        Unit.of(str(keys.get("unit", "person")), keys.get("unit_name"))
    except DiscreetError:  # a draft need not be valid
        return {}
    return keys


def named_unit(keys: Mapping[str, Any]) -> str:
    """Return what the unit of a promise is called; nothing for one person, and for an odd one."""
    said = unit_keys(keys.get("unit") or "person", keys.get("unit_name"))
    return str(Unit.of(said.get("unit", "person"), said.get("unit_name"))) if said else ""


def _epsilon(keys: Mapping[str, Any]) -> float | None:
    """The ε of a promise; None if it holds with a confidence and no δ, where an account has it."""
    from discreet.budgets import choose

    if promise_in(keys).confidence is not None and not keys.get("delta"):
        return None
    return choose(keys).epsilon


def _said(tolerance: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tolerance with the words of a spec, where it has words: q = 1, and δ = 0."""
    said = {key: value for key, value in tolerance.items() if key != "q" or value != 1}
    if "q" not in said and "q" in tolerance:
        said["about"] = "membership"
    surely = {"delta", "confidence", "on_average", "every_output"} & tolerance.keys()
    return said if surely else {**said, "every_output": True}


def promise_of(text: str | None) -> dict[str, Any]:
    """Return the promise that came along from another screen; of nothing, nothing."""
    if not text:
        return {}
    try:
        values = yaml_values(text, say("web.spec.is")) if len(text) <= _LONGEST else None
    except DiscreetError:
        values = None
    if (
        not isinstance(values, dict)
        or len(values) != 1
        or not values.keys() <= {"tolerance", "budget"}
        or not isinstance(next(iter(values.values())), dict)
    ):
        raise InputError("web.release.odd_promise")
    return values


@lru_cache(maxsize=256)
def _words(promise: str) -> tuple[str, str] | None:
    """Return the sentence of a promise and its budget; None if it cannot be read."""
    try:
        values = promise_of(promise)
        if not values:
            return "", ""
        if files_in(values):  # only a spec may name one, and is confined to the folder
            return None
        if "budget" in values:
            stated(**values["budget"])
            return say("web.thread.budget"), amount_text(values["budget"], "up")
        found, budget = promise_in(values["tolerance"]), _epsilon(values["tolerance"])
        if budget is None:
            return _sentence(found), say(
                "web.thread.by_account", share=100 * (found.confidence or 0)
            )
        return _sentence(found), f"ε = {budget_text(budget)}"
    except (DiscreetError, TypeError, ValueError, AttributeError):
        return None


def _sentence(promise: Promise) -> str:
    """Return what is promised, without how surely: that is told where there is room."""
    return replace(promise, surety=None).sentence().removesuffix(".")


def standing_of(ledger: Ledger, account: Account) -> tuple[Standing | None, int]:
    """Return how an account stands under its first promise, and how many releases it made.

    What still fits is counted in releases like the last one.
    """
    sheet = ledger.show(account)
    costs = [entry.cost for entry in sheet.entries if entry.cost is not None]
    first = next(iter(sheet.promises), None)
    if first is not None and costs:
        first = replace(first, cost=costs[-1])
    return first, len(costs)


def shown_to(
    thread: Thread, folder: Workfolder | None = None, choice: Choice | None = None
) -> Told | None:
    """Return the thread as a page shows it; None where there is none yet.

    `choice` is what its promise comes to, where that is known already.
    """
    if choice is None:
        words = _words(thread.promise) or ("", "")
    else:
        words = _sentence(choice.promise), f"ε = {budget_text(choice.epsilon)}"
    left = ""
    if folder is not None and thread.ledger and thread.account:
        try:
            ended = withdrawal(thread, folder)
            if ended is not None:
                words = say("web.thread.withdrawn", **ended), ""
            left, kept = _left(thread, folder)
        except DiscreetError:  # the screen says what is wrong with it
            left, kept = "", None
        words = words if kept is None or words[0] else kept
    if not words[0]:
        return None
    query = link("", asdict(thread)).removeprefix("?")
    return Told(sentence=words[0], budget=words[1], left=left, query=query)


def _opened(thread: Thread, folder: Workfolder) -> tuple[Ledger, Account] | None:
    """Return the ledger and the account that the thread names, where they are there."""
    from discreet.ledger import Ledger

    if not folder.inside(thread.ledger, "ledger").is_file():
        return None
    ledger = Ledger.open(folder.ledger_url(thread.ledger))
    account = ledger.found(thread.account)
    return None if account is None else (ledger, account)


def withdrawal(thread: Thread, folder: Workfolder) -> dict[str, str] | None:
    """Return when, by whom and why the account withdrew the promise of the thread, if it did."""
    from discreet.ledger.promises import made_promises

    opened = _opened(thread, folder) if thread.ledger and thread.account else None
    keys = thread.keys()
    if opened is None or not keys:
        return None
    ledger, account = opened
    own = _sentence(promise_in(keys))
    made = [
        one
        for one in made_promises(ledger.entries(account.name))
        if _sentence(one.registered.promise(account)) == own
    ]
    if not made or any(one.withdrawn is None for one in made):
        return None
    told = dict(made[-1].withdrawn or {})
    return told | {"at": told["at"][:10], "sentence": own}


def _left(thread: Thread, folder: Workfolder) -> tuple[str, tuple[str, str] | None]:
    opened = _opened(thread, folder)
    if opened is None:
        return "", None
    ledger, account = opened
    found, made = standing_of(ledger, account)
    if found is None:
        return "", None
    said = _sentence(found.registered.promise(account))
    limit = amount_text(found.registered.limit.to_dict("down"), "down")
    more = found.fits_again
    if more is None:
        return say("web.thread.nothing_spent"), (said, limit)
    return say("web.thread.left", left=more, releases=more + made), (said, limit)
