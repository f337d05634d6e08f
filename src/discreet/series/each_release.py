"""One release of a plan: its share of the budget, its accuracy, and what adds up over all of them.

A split is a list of weights, the largest of which is 1; release j gets the weight w_j times the
budget of the largest. Weights divide what adds up: ε for pure and approximate DP, ρ for zCDP and
Gaussian noise.

What accumulates depends on the unit of protection (KSZ Examples 4.1 and 4.2, note 1). A guarantee
for a partition (one person's day, one person's month) speaks of one period's data of one person.
What an adversary may learn about one period is bounded by that period's release alone. Whoever is
there in many periods is exposed by all of them together. A guarantee for a whole person, or a
household, speaks of all their data in all releases at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import InputError
from discreet.frames import JsonReady
from discreet.laws.checks import whole
from discreet.laws.registry import by_budget
from discreet.promises.unit import Unit
from discreet.words import say


@dataclass(frozen=True, slots=True)
class Split:
    """The share of each release, as weights whose largest is 1.

    >>> Split.growing(3, 2.0).weights
    (0.25, 0.5, 1.0)
    """

    name: str
    weights: tuple[float, ...]

    @classmethod
    def equal(cls, releases: int) -> Split:
        """The same for each of so many releases."""
        return cls("equal", (1.0,) * whole("releases", releases))

    @classmethod
    def weighted(cls, weights: Sequence[float]) -> Split:
        """Given weights, one a release, all positive."""
        if not weights:
            raise InputError("series.no_weights")
        for w in weights:
            number = isinstance(w, (int, float)) and not isinstance(w, bool)
            if not number or not 0 < w < math.inf:
                raise InputError("series.weight_not_positive", weight=w)
        largest = max(weights)
        return cls("weighted", tuple(w / largest for w in weights))

    @classmethod
    def growing(cls, releases: int, factor: float) -> Split:
        """Each release gets `factor` times the one before (below 1 it shrinks)."""
        Split.equal(releases)
        if math.isnan(factor) or not 0 < factor < math.inf:
            raise InputError("series.growth_not_positive", factor=factor)
        exponents = [j * math.log(factor) for j in range(releases)]
        largest = max(exponents)
        if min(exponents) - largest < -30:
            raise InputError("series.growth_too_steep", factor=factor, releases=releases)
        return cls("growing", tuple(math.exp(x - largest) for x in exponents))

    def counted(self) -> list[tuple[float, int]]:
        """Return the distinct weights and how often each occurs, in order of first use."""
        counts: dict[float, int] = {}
        for w in self.weights:
            counts[w] = counts.get(w, 0) + 1
        return list(counts.items())


@dataclass(frozen=True, slots=True)
class Accuracy(JsonReady):
    """How far off one released value is; None for what the mechanism has not."""

    mechanism: str
    sensitivity: float
    sd: float | None
    prob_exact: float | None
    within_95: float | None
    words: str


def accuracy_of(name: str, budget: float, sensitivity: float = 1) -> Accuracy:
    """Return the accuracy of one release with the named mechanism at a budget."""
    law = by_budget(name, budget, sensitivity)
    sd, within = law.sd, law.half_width(0.95)
    return Accuracy(
        mechanism=name,
        sensitivity=sensitivity,
        sd=None if sd is None else float(sd),
        prob_exact=law.prob_exact,
        within_95=None if within is None else float(within),
        words=law.explain(),
    )


@dataclass(frozen=True, slots=True)
class Accumulation(JsonReady):
    """What adds up over the releases of a plan, and what does not."""

    unit: str
    accumulates: str
    does_not_accumulate: str


def accumulation(unit: Unit, releases: int, period: str = "period") -> Accumulation:
    """Say what accumulates over so many releases for the unit that is protected."""
    if unit.is_person:
        return Accumulation(
            unit=str(unit),
            accumulates=say("series.accumulates.person", unit=unit, releases=releases),
            does_not_accumulate=say("series.does_not_accumulate.person", unit=unit),
        )
    return Accumulation(
        unit=str(unit),
        accumulates=say("series.accumulates.period", releases=releases, period=period),
        does_not_accumulate=say("series.does_not_accumulate.period", unit=unit, period=period),
    )
