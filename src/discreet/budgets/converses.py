"""`proved_by`: the smallest ε that follows from a bound on beliefs, the way back from `choose`.

Notation. A is someone's belief before, X after; the likelihood ratio of the two cases (in or out;
one value or another) is Λ = odds(X)/odds(A). If X ≤ u(A) for every output, data set and unit, then
log Λ ≤ logit u(A) − logit A; if X ≥ l(A), then log Λ ≥ logit l(A) − logit A. That holds for each
prior A that the bound speaks of, so the best of them may be taken: each is a proof by itself, and
no search that stops early can claim too little.

For every output, rises and falls may be taken at different priors (KSZ Corollaries 3.6 to 3.8: what
is proved is what was needed). With probability 1 − δ over the noise, both must come from one prior,
which gives (ε, δ)-probabilistic DP, and so (ε, δ)-DP; or from two, with 2δ (KSZ Theorem 3.5(2)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import InputError
from discreet.frames import JsonReady
from discreet.guarantees import Adjacency
from discreet.numerics import lowest_between
from discreet.promises.keys import promise_from
from discreet.promises.promise import PromiseLike
from discreet.promises.tolerance import Tolerance
from discreet.rounding import decimal_up, up
from discreet.words import say

_FAR = 28.0  # |logit| of the most extreme prior that is tried
_PIECES = 400
_ROUNDING = 1e-14  # beyond what doubles lose in a difference of two probabilities


@dataclass(frozen=True, slots=True)
class Converse(JsonReady):
    """What a belief bound proves: (ε, δ)-DP; and how large the loss is upward and downward.

    `with_twice_delta` is the ε that holds with 2δ.
    """

    epsilon: float
    delta: float
    rises: float
    falls: float
    with_twice_delta: float | None = None
    shows: ClassVar = ("epsilon", "delta", "rises", "falls", "with_twice_delta", "text")

    @property
    def text(self) -> str:
        """What is proved, in words."""
        if math.isinf(self.epsilon):
            return say("budgets.converse.nothing")
        name, shown = "approximate" if self.delta else "pure", decimal_up(self.epsilon, 4)
        return say(f"budgets.converse.{name}", epsilon=shown, delta=self.delta)


def proved_by(promise: PromiseLike | None = None, **keys: Any) -> Converse:
    """Return the smallest ε that follows if a promise about one worry is known to be kept.

    The promise is about membership, or under replace about a value. Take the keys of `choose`; with
    `confidence`, what follows has δ = 1 − confidence.

    >>> round(proved_by(difference=0.2, about="membership").epsilon, 4)
    0.8109
    """
    asked = promise_from(promise, keys)
    central = asked.adjacency is Adjacency.ADD_REMOVE
    parts = [part for _, part in asked.parts]
    if (
        asked.on_average
        or asked.related > 1
        or asked.dependence is not None
        or any((part.box.q0, part.box.q1) != (1.0, 1.0) for part in parts if central)
    ):
        raise InputError("budgets.converse_of_one")
    both_ways = asked.sided == "two"
    ways = [_Way(part, central, both_ways) for part in parts]
    rises = min(_least(way, way.rise) for way in ways)
    falls = min(_least(way, way.fall) for way in ways)
    delta = 0.0 if asked.confidence is None else 1 - asked.confidence
    if delta == 0:
        return Converse(max(rises, falls), 0.0, rises, falls)
    at_one = min(_least(way, way.either) for way in ways)
    return Converse(at_one, delta, rises, falls, max(rises, falls))


@dataclass(frozen=True, slots=True)
class _Way:
    """One tolerance, at the prior A: of being in, or of a value where all are in."""

    part: Tolerance
    central: bool
    both_ways: bool

    def _at(self, prior: float) -> tuple[float, float]:
        return (prior, 1.0) if self.central else (1.0, prior)

    def rise(self, prior: float) -> float:
        """Return the largest log Λ that the bound allows."""
        after = self.part.ratio_at(*self._at(prior)) * prior
        return _apart(after, prior)

    def fall(self, prior: float) -> float:
        """Return the largest −log Λ that the bound allows."""
        least = self.part.least_after(*self._at(prior)) if self.both_ways else None
        return math.inf if least is None else _apart(prior, least)

    def either(self, prior: float) -> float:
        """Return the larger of the two."""
        return max(self.rise(prior), self.fall(prior))


def _apart(high: float, low: float) -> float:
    """Return logit(high) − logit(low), infinite where a limit is no limit."""
    if high >= 1 or low <= 0:
        return math.inf
    return math.log1p((high - low) / (low * (1 - high)))


def _least(way: _Way, loss: Callable[[float], float]) -> float:
    """Return the least loss over the priors of a part, rounded up."""
    box = way.part.box
    ends = (box.p0, box.p1) if way.central else (box.q0, box.q1)

    def at(logit: float) -> float:
        prior = 1 / (1 + math.exp(-logit))
        return loss(min(max(prior, ends[0]), ends[1]))

    low, high = (max(-_FAR, min(_FAR, _logit(end))) for end in ends)
    places = [low + (high - low) * i / _PIECES for i in range(_PIECES + 1)]
    values = [at(place) for place in places]
    best = min(range(len(places)), key=values.__getitem__)
    found = values[best]
    if 0 < best < _PIECES and math.isfinite(found):
        found = min(found, lowest_between(at, places[best - 1], places[best + 1])[1])
    return found if math.isinf(found) else up(found + _ROUNDING)


def _logit(p: float) -> float:
    return -math.inf if p <= 0 else math.inf if p >= 1 else math.log(p) - math.log1p(-p)
