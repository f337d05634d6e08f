"""A promise in words, for each audience. The words are in the catalogue; figures are exact.

- public: one or two short sentences;
- technical: the same with p and q, the profile, the adjacency;
- regulator: the public sentence, the unit, and against whom it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import InputError
from discreet.guarantees import Adjacency
from discreet.promises.box import Box
from discreet.promises.shapes.posterior import percent
from discreet.promises.tolerance import Wording
from discreet.words import say

if TYPE_CHECKING:
    from discreet.promises.promise import Promise

AUDIENCES = ("public", "technical", "regulator")


def sentence(promise: Promise, audience: str = "public") -> str:
    """Return what is promised, in words for the audience."""
    if audience not in AUDIENCES:
        raise InputError("promises.audience", audience=audience, audiences=", ".join(AUDIENCES))
    said = [f"{promise.tolerance.told(lambda box: _words(promise, box))}."]
    surety = promise.surety
    if surety is not None:
        confidence = percent(surety.confidence or 0.0)
        said.append(say(f"promises.surely.{surety.reading}", confidence=confidence))
    if promise.related > 1:
        said.append(say("promises.related", units=promise.related))
    if promise.dependence is not None:
        said.append(promise.dependence.sentence())
    said += promise.basis
    if audience == "technical":
        boxes = "; ".join(dict.fromkeys(str(part.box) for _, part in promise.parts))
        adjacency = promise.adjacency.value
        said.append(say("promises.technical", adjacency=adjacency, priors=boxes))
    if audience == "regulator":
        against = say(f"statement.limits.adversary_{'weak' if promise.every_output else 'strong'}")
        said.append(say("promises.regulator", unit=str(promise.unit), adversary=against))
    return " ".join(said)


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
