"""A promise in words, for each audience. The words are in the catalogue; figures are exact.

- public: one or two short sentences;
- technical: the same with p and q, the profile, the adjacency;
- regulator: the public sentence, the unit, and against whom it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import InputError
from discreet.guarantees import Adjacency
from discreet.promises.box import Box
from discreet.promises.shapes import (
    AllOf,
    Counterfactual,
    Difference,
    Formula,
    Groups,
    Posterior,
    PosteriorUnlessRatio,
    Ratio,
    Tolerance,
)
from discreet.promises.table import Table
from discreet.words import catalogue

if TYPE_CHECKING:
    from discreet.promises.promise import Promise

__all__ = ["AUDIENCES", "sentence"]

AUDIENCES = ("public", "technical", "regulator")


def sentence(promise: Promise, audience: str = "public") -> str:
    """Return what is promised, in words for the audience."""
    if audience not in AUDIENCES:
        raise InputError(f"audience is {audience!r}; it must be one of: {', '.join(AUDIENCES)}.")
    said = [f"{_tolerance(promise, promise.tolerance)}."]
    said += _surely(promise)
    if promise.related > 1:
        said.append(_say("related", units=str(promise.related)))
    if audience == "technical":
        said.append(_say("technical", adjacency=promise.adjacency.value, priors=_priors(promise)))
    if audience == "regulator":
        adversary = "adversary_weak" if promise.every_output else "adversary_strong"
        said.append(_say("regulator", unit=str(promise.unit), adversary=_limits(adversary)))
    return " ".join(said)


def _say(name: str, /, **values: str) -> str:
    return catalogue().say(f"promise.{name}", **values)


def _limits(name: str) -> str:
    return catalogue().say(f"statement.limits.{name}")


def _tolerance(promise: Promise, tolerance: Tolerance) -> str:
    match tolerance:
        case AllOf(parts):
            first, *rest = (_tolerance(promise, part) for part in parts)
            return _say("and").join([first, *map(_lower, rest)])
        case Groups(named):
            return _say("and").join(
                _say("group", name=name, text=_lower(_tolerance(promise, part)))
                for name, part in named
            )
    return _one(promise, tolerance)


def _one(promise: Promise, part: Any) -> str:
    ways = "both" if promise.sided == "two" else "up"
    name, priors = _who(promise, part.box)
    values = {
        "event": _event(promise, part.box),
        "Nobody": _say(f"Nobody.{name}", **priors),
        "anyone": _say(f"anyone.{name}", **priors),
    }
    match part:
        case Ratio(ratio, _):
            return _say(f"ratio_{ways}", fold=f"{ratio:g}", **values)
        case Difference(difference, _):
            return _say(f"difference_{ways}", points=f"{100 * difference:.4g}", **values)
        case Posterior(posterior, _):
            return _say("posterior", after=_percent(posterior), **values)
        case PosteriorUnlessRatio(posterior, ratio, _):
            return _say("unless", after=_percent(posterior), fold=f"{ratio:g}", **values)
        case Counterfactual(ratio, _):
            return _say("counterfactual", fold=f"{ratio:g}", unit=str(promise.unit), **values)
        case Formula(text, _):
            return _say("formula", formula=text, **values)
        case Table(rows, _):
            return _say("table", rows=str(len(rows)), **values)
    return _say("function", name=_name(part), **values)


def _event(promise: Promise, box: Box) -> str:
    """What is guessed: that the unit is in, its value, or both."""
    if promise.adjacency is not Adjacency.ADD_REMOVE or box.p0 == 1:
        return catalogue().say("event.sensitive", unit=str(promise.unit))
    name = "event.in_data" if box.q0 == 1 else "event.in_and_sensitive"
    return catalogue().say(name, unit=str(promise.unit))


def _who(promise: Promise, box: Box) -> tuple[str, dict[str, str]]:
    """Which adversaries: everybody, those at one prior, or those in a range of priors."""
    value = promise.adjacency is not Adjacency.ADD_REMOVE or box.p0 == 1
    if value or box.q0 == 1:
        low, high = (box.q0, box.q1) if value else (box.p0, box.p1)
        if low == high:
            return "at", {"before": _percent(low)}
        if (low, high) == (0, 1):
            return "everybody", {}
        return "between", {"low": _percent(low), "high": _percent(high)}
    if (box.p0, box.p1, box.q0, box.q1) == (0, 1, 0, 1):
        return "everybody", {}
    if box.p_fixed and (box.q0, box.q1) == (0, 1):
        return "at_p", {"p": _percent(box.p1)}
    if box.p_fixed and box.q_fixed:
        return "at_both", {"p": _percent(box.p1), "q": _percent(box.q1)}
    return "in_box", {"box": str(box)}


def _surely(promise: Promise) -> list[str]:
    surety = promise.surety
    if surety is None:
        return []
    if surety.reading == "confidence":
        return [_say("confidence", confidence=_percent(surety.confidence or 0.0))]
    return [_say(surety.reading)]


def _priors(promise: Promise) -> str:
    return "; ".join(dict.fromkeys(str(part.box) for _, part in promise.parts))


def _percent(share: float) -> str:
    return f"{100 * share:.10g} %"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _name(part: Any) -> str:
    function = getattr(part, "function", None)
    return str(getattr(function, "__name__", None) or type(part).__name__)
