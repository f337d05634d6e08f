"""The promise: what may be learned at the most, how surely, and of whom.

A promise has these parts.

- *What is guessed, and how much may be learned*: the tolerance, a risk profile r*(p, q) over its
  box of priors (`tolerance`). p is the prior of being in the data, q that of the sensitive value.
- *How surely*: for every output (pure DP alone can do that); with a confidence C, for each unit,
  over the noise; or on average, for values: the chance that the best guess is right.
- *Why those priors*: where they follow from public figures, the basis in words.
- *Both ways or one*: two-sided, ratios and differences also bound how far a belief may fall.
  Posterior limits and profiles speak of increases in any case. With a confidence, two-sided
  means that both directions share the failure probability.
- *Of whom*: the unit, which data sets are neighbours, how many units are related, or how strongly
  their data depend on each other (`dependence`; for every output alone).

Where nothing is said of how surely, it follows from what is released: every output for pure DP,
else 99 % (`settled`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from discreet.errors import InputError, ToleranceError
from discreet.guarantees import Adjacency
from discreet.promises.box import Box
from discreet.promises.dependence import Dependence, of_dependent_units
from discreet.promises.formula import refuse_comma
from discreet.promises.shapes import Formula, Function
from discreet.promises.shapes.posterior import percent
from discreet.promises.tolerance import Tolerance, Wording
from discreet.promises.unit import PERSON, Unit
from discreet.words import say

CONFIDENCE = 0.99
"""How surely a promise holds that cannot hold for every output, where nothing is said."""

AUDIENCES = ("public", "technical", "regulator")
Reading: TypeAlias = Literal["every_output", "confidence", "on_average"]
Sided: TypeAlias = Literal["one", "two"]


@dataclass(frozen=True, slots=True)
class Surety:
    """How surely a promise holds.

    `answers` goes with "on average": how many answers the guessed value can have.
    """

    reading: Reading
    confidence: float | None = None
    answers: int | None = None

    def __post_init__(self) -> None:
        if self.reading == "confidence":
            c = self.confidence
            if isinstance(c, bool) or not isinstance(c, (int, float)) or not 0 < c < 1:
                raise InputError("promises.confidence", confidence=c)
            object.__setattr__(self, "confidence", float(c))
        n = self.answers
        if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 2):
            raise InputError("promises.answers", answers=n)

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys that say so."""
        if self.reading == "confidence":
            return {"confidence": self.confidence}
        out: dict[str, Any] = {self.reading: True}
        return out if self.answers is None else out | {"answers": self.answers}


EVERY_OUTPUT = Surety("every_output")


@dataclass(frozen=True, slots=True)
class Promise:
    """What is promised to each unit.

    >>> from discreet.promises.shapes import Ratio
    >>> Promise(Ratio(3)).sentence()
    'For everyone, the belief that one person is in the data and has the sensitive value changes \
at most 3-fold, up or down.'
    """

    tolerance: Tolerance
    surety: Surety | None = None
    sided: Sided = "two"
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    unit: Unit = PERSON
    related: int = 1
    dependence: Dependence | None = None
    basis: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))
        if self.sided not in ("one", "two"):
            raise InputError("beliefs.sided", sided=self.sided)
        k = self.related
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= 1_000_000:
            raise InputError("promises.related_units", related=k)
        if not isinstance(self.tolerance, Tolerance):
            raise InputError("promises.not_a_tolerance", tolerance=self.tolerance)
        if self.dependence is not None:
            if self.related != 1:
                raise InputError("promises.related_and_dependent")
            if self.surety not in (None, EVERY_OUTPUT):
                raise ToleranceError("promises.dependent_every_output")
        for _, part in self.tolerance.leaves():
            self._check(part)

    def _check(self, part: Tolerance) -> None:
        if self.adjacency is not Adjacency.ADD_REMOVE and part.box.p1 != 1:
            values = {"p": part.box.p1, "adjacency": self.adjacency.value}
            raise ToleranceError("promises.everyone_is_in", **values)
        if self.surety is not None and self.surety.reading == "on_average":
            self._check_guess(part)

    def _check_guess(self, part: Tolerance) -> None:
        central = self.adjacency is Adjacency.ADD_REMOVE
        if not part.guessable or (central and part.box.p0 != 1):
            raise ToleranceError("promises.no_guess")
        answers = None if self.surety is None else self.surety.answers
        if answers is not None and part.box.q0 * answers < 1:
            least = {"least": 1 / answers, "q": part.box.q0}
            raise ToleranceError("promises.guess_too_low", answers=answers, **least)

    @property
    def parts(self) -> tuple[tuple[str | None, Tolerance], ...]:
        """The single tolerances, each with the name of its group; under replace with p = 1."""
        found = tuple(self.tolerance.leaves())
        if self.adjacency is Adjacency.ADD_REMOVE:
            return found
        return tuple((name, part.where_all_are_in()) for name, part in found)

    @property
    def about(self) -> Literal["membership", "value", "both"]:
        """What is guessed: membership (q = 1), a value (p = 1), or both."""
        if self.adjacency is not Adjacency.ADD_REMOVE:
            return "value"
        boxes = [part.box for _, part in self.tolerance.leaves()]
        if all(box.q0 == 1 for box in boxes):
            return "membership"
        return "value" if all(box.p0 == 1 for box in boxes) else "both"

    @property
    def each(self) -> tuple[Promise, ...]:
        """Its parts, each as a promise of its own: together they promise the same."""
        return tuple(replace(self, tolerance=part) for _, part in self.tolerance.leaves())

    @property
    def values_open(self) -> bool:
        """Whether it leaves open what is learned of a value of a unit known to be in (p = 1)."""
        return all(part.box.p1 < 1 or part.box.q0 == 1 for _, part in self.parts)

    @property
    def membership_open(self) -> bool:
        """Whether it leaves open what is learned of a unit being in the data (q = 1)."""
        return all(part.box.p0 == 1 or part.box.q1 < 1 for _, part in self.parts)

    @property
    def fixed(self) -> tuple[float | None, float | None]:
        """The p and the q that it fixes; None where it leaves one open, or speaks of several."""
        boxes = [part.box for _, part in self.parts]
        p = {box.p1 if box.p_fixed else None for box in boxes}
        q = {box.q1 if box.q_fixed else None for box in boxes}
        return p.pop() if len(p) == 1 else None, q.pop() if len(q) == 1 else None

    @property
    def own_prior(self) -> tuple[float, float] | None:
        """The one prior (p, q) that it speaks of; None where it speaks of many."""
        p, q = self.fixed
        return None if p is None or q is None else (p, q)

    @property
    def every_output(self) -> bool:
        """Whether it is to hold for every output."""
        return self.surety == EVERY_OUTPUT

    @property
    def on_average(self) -> bool:
        """Whether it is about the chance that a guess is right."""
        return self.surety is not None and self.surety.reading == "on_average"

    @property
    def confidence(self) -> float | None:
        """How often it is to hold for each unit, where that is how it was said."""
        return None if self.surety is None else self.surety.confidence

    def settled(self, *, pure: bool) -> Promise:
        """Return it with how surely said: for every output under pure DP, else 99 %."""
        if self.dependence is not None and not pure:
            raise ToleranceError("promises.dependent_every_output")
        if self.surety is not None:
            return self
        return replace(self, surety=EVERY_OUTPUT if pure else Surety("confidence", CONFIDENCE))

    def with_dependent(self, stated: Any, *, known_in: bool = False) -> Any:
        """Return what a guarantee is for a unit together with those that depend on it."""
        said = (self.adjacency, self.related, self.dependence)
        return of_dependent_units(stated, *said, known_in=known_in)

    def to_mapping(self, *, of_whom: bool = True) -> dict[str, Any]:
        """Return the keys that read back as this promise; what is usual is left out."""
        out = self.tolerance.to_mapping()
        if self.surety is not None:
            out |= self.surety.to_mapping()
        if self.sided != "two":
            out["sided"] = self.sided
        if self.related != 1:
            out["related"] = self.related
        if self.dependence is not None:
            out |= self.dependence.to_mapping()
        if self.basis:
            out["basis"] = list(self.basis)
        if not of_whom:
            return out
        if self.adjacency is not Adjacency.ADD_REMOVE:
            out["adjacency"] = self.adjacency.value
        if self.unit != PERSON:
            out |= {"unit": self.unit.kind, "unit_name": self.unit.name}
        return out

    def to_yaml(self) -> str:
        """Return a YAML text that reads back as an equal promise."""
        import yaml

        return str(yaml.safe_dump(self.to_mapping(), sort_keys=False, allow_unicode=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the keys and the sentence, JSON-ready; a Python function has its sentence only."""
        try:
            keys = self.to_mapping()
        except ToleranceError:
            keys = {}
        found: dict[str, Any] = _finite(keys)
        return found | {"sentence": self.sentence()}

    @property
    def id(self) -> str:
        """A name for it: equal keys give equal names, whatever account they stand in."""
        return name_of(self.to_mapping(of_whom=False))

    def sentence(self, audience: str = "public") -> str:
        """Return what is promised, in words for the audience.

        - public: one or two short sentences;
        - technical: the same with p and q, the profile, the adjacency;
        - regulator: the public sentence, the unit, and against whom it holds.
        """
        if audience not in AUDIENCES:
            raise InputError("promises.audience", audience=audience, audiences=", ".join(AUDIENCES))
        said = [f"{self.tolerance.told(lambda box: _words(self, box))}."]
        surety = self.surety
        if surety is not None:
            confidence = percent(surety.confidence or 0.0)
            said.append(say(f"promises.surely.{surety.reading}", confidence=confidence))
        if self.related > 1:
            said.append(say("promises.related", units=self.related))
        if self.dependence is not None:
            said.append(self.dependence.sentence())
        said += self.basis
        if audience == "technical":
            boxes = "; ".join(dict.fromkeys(str(part.box) for _, part in self.parts))
            adjacency = self.adjacency.value
            said.append(say("promises.technical", adjacency=adjacency, priors=boxes))
        if audience == "regulator":
            against = say(f"statement.limits.adversary_{'weak' if self.every_output else 'strong'}")
            said.append(say("promises.regulator", unit=str(self.unit), adversary=against))
        return " ".join(said)

    def __str__(self) -> str:
        return self.sentence()


def name_of(keys: Mapping[str, Any]) -> str:
    """Return the name that keys give to a promise: a hash of them."""
    text = json.dumps(keys, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _finite(value: Any) -> Any:
    """Return keys for JSON, which has no infinity: null, with `unbounded` in the same object."""
    match value:
        case dict():
            found = {key: _finite(one) for key, one in value.items()}
            return found | {"unbounded": True} if math.inf in value.values() else found
        case list():
            return [_finite(one) for one in value]
    return None if value == math.inf else value


PromiseLike: TypeAlias = Promise | Tolerance | Mapping[str, Any] | str | Callable[..., float] | Any
"""Whatever a promise can be made from: a promise, a tolerance, keys, a formula, a function, or a
result that carries one."""


def promised(thing: PromiseLike, folder: Path | None = None, **changes: Any) -> Promise:
    """Return the promise that something is or carries; `changes` replace parts of it.

    >>> promised("max(0.25/(p*q), 3)", sided="one").sided
    'one'
    """
    if isinstance(thing, Promise):
        found = thing
    elif isinstance(thing, Tolerance):
        found = Promise(thing)
    elif isinstance(thing, Mapping):
        from discreet.promises.keys import promise_in

        found = promise_in(thing, folder)
    elif isinstance(thing, str):
        refuse_comma(thing)
        found = Promise(Formula(thing))
    elif isinstance(carried := getattr(thing, "promise", None), Promise):
        found = carried
    elif callable(thing):
        found = Promise(Function(thing))
    else:
        raise InputError("promises.not_a_promise", thing=thing)
    given = {name: value for name, value in changes.items() if value is not None}
    return replace(found, **given) if given else found


# -- in words


def _words(promise: Promise, box: Box) -> Wording:
    """What the sentence of one tolerance speaks of: what is guessed, and by whom."""
    unit = str(promise.unit)
    value = promise.adjacency is not Adjacency.ADD_REMOVE or box.p0 == 1
    event = "sensitive" if value else "in_data" if box.q0 == 1 else "in_and_sensitive"
    who, priors = _who(value, box)
    return Wording(
        event=say(f"event.{event}", unit=unit),
        nobody=say(f"promises.Nobody.{who}", **priors),
        anyone=say(f"promises.anyone.{who}", **priors),
        unit=unit,
        both_ways=promise.sided == "two",
    )


def _who(value: bool, box: Box) -> tuple[str, dict[str, str]]:
    """Which adversaries: everybody, those at one prior, or those in a range of priors."""
    if value or box.q0 == 1:
        low, high = (box.q0, box.q1) if value else (box.p0, box.p1)
        if low == high:
            return "at", {"before": percent(low)}
        if (low, high) == (0, 1):
            return "everybody", {}
        return "between", {"low": percent(low), "high": percent(high)}
    if (box.p0, box.p1, box.q0, box.q1) == (0, 1, 0, 1):
        return "everybody", {}
    if box.p_fixed and (box.q0, box.q1) == (0, 1):
        return "at_p", {"p": percent(box.p1)}
    if box.p_fixed and box.q_fixed:
        return "at_both", {"p": percent(box.p1), "q": percent(box.q1)}
    return "in_box", {"box": str(box)}
