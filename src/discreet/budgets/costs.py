"""`cost`: what promises cost in accuracy, side by side, before anything is asked of the data.

Notation. N is geometric noise of the largest ε that keeps a promise; c a true count, L a limit; a
rate is a count over a public denominator.

- The error of a count is N; that of a rate is N over the denominator. In a table with k cells, each
  cell is off by no more than t with probability P(|N| ≤ t), all of them with P(|N| ≤ t)^k, and the
  sum of them has standard deviation √k times that of one.
- A decision turns out other than the truth if noise carries c across L (K&R Example 3), or if noise
  in two counts reverses their order. How likely that is depends on the truth, which is not asked
  for: it is shown for *hypothetical* true values on both sides of the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from discreet.budgets.choice import Choice, choose
from discreet.errors import InputError
from discreet.frames import JsonReady, Results, json_ready
from discreet.guarantees import Adjacency, PureDP
from discreet.laws.checks import positive, whole
from discreet.laws.geometric import Geometric
from discreet.laws.mechanism import distance_across
from discreet.promises.promise import EVERY_OUTPUT, Promise, PromiseLike
from discreet.words import say

_SURE = 0.95


@dataclass(frozen=True, slots=True)
class Asked:
    """What a cost is asked for: a rate and its target, tables, gaps between two groups."""

    denominator: int = 1
    per: float = 1.0
    target: float | None = None
    away: tuple[float, ...] = ()
    gaps: tuple[int, ...] = ()
    cells: tuple[int, ...] = (10, 1000)

    def __post_init__(self) -> None:
        whole("denominator", self.denominator)
        positive("per", self.per)
        for name in ("gaps", "cells"):
            for number in getattr(self, name):
                whole(name, number)
        for distance in self.away:
            positive("away", distance)
        if self.target is None:
            if self.away:
                raise InputError("budgets.away_without_target")
        elif math.isnan(self.target) or not 0 <= self.target < math.inf:
            raise InputError("budgets.bad_target", target=self.target)

    @property
    def limit(self) -> int:
        """The largest count that meets the target."""
        return math.floor(self._count(self.target or 0.0))

    def _count(self, rate: float) -> float:
        # A millionth of a count is forgiven: 6.0 of 1,000 is no less than 0.006.
        return rate * self.denominator / self.per + 1e-6

    def truths(self) -> Iterator[tuple[str, float, int]]:
        """Return hypothetical rates above the target and below, and the count nearest to each."""
        for distance in self.away:
            rate = (self.target or 0.0) + distance
            yield "above", rate, max(self.limit + 1, round(self._count(rate)))
        for distance in self.away:
            rate = (self.target or 0.0) - distance
            if rate >= 0:
                yield "below", rate, min(self.limit, round(self._count(rate)))


@dataclass(frozen=True, slots=True)
class Switch(JsonReady):
    """The chance that a decision turns out other than the truth, for one hypothetical truth.

    For a target: the true rate, its count, and the `distance` that noise must bridge. For a rank:
    two counts `distance` apart; `tied` is the part in which they come out equal.
    """

    decision: str
    distance: int
    chance: float
    rate: float | None = None
    count: int | None = None
    tied: float | None = None

    @property
    def truth(self) -> str:
        """The hypothetical truth in words."""
        what = "rank" if self.decision == "rank" else "rate"
        return say(f"budgets.switch.{what}", **self.to_dict())


@dataclass(frozen=True, slots=True)
class Cost:
    """What one promise, or one budget, costs: errors, and chances of a wrong decision."""

    of: Choice | PureDP
    asked: Asked
    sensitivity: int = 1

    @property
    def epsilon(self) -> float:
        """The largest ε that keeps the promise, or the budget itself."""
        return self.of.epsilon

    @property
    def name(self) -> str:
        """What it is the cost of, in short."""
        return str(self.of.tolerance) if isinstance(self.of, Choice) else f"ε = {self.epsilon:g}"

    @property
    def sentence(self) -> str | None:
        """The promise in words; None for a budget."""
        return self.of.promise.sentence() if isinstance(self.of, Choice) else None

    @property
    def law(self) -> Geometric | None:
        """The noise of a count; None where the promise limits nothing."""
        return None if math.isinf(self.epsilon) else Geometric(self.epsilon, self.sensitivity)

    @property
    def errors(self) -> dict[str, Any]:
        """The errors of a count, of a rate, and of tables; ± at 95 %."""
        law, unit = self.law, self.asked.per / self.asked.denominator

        def within(confidence: float) -> int:
            return 0 if law is None else law.half_width(confidence)

        sd, exact = (0.0, 1.0) if law is None else (law.sd, law.prob_exact)
        return {
            "count": {"rmse": sd, "within_95": within(_SURE), "prob_exact": exact},
            "rate": {"rmse": sd * unit, "within_95": within(_SURE) * unit},
            "tables": [
                {
                    "cells": cells,
                    "each_within_95": within(_SURE),
                    "all_within_95": within(_SURE ** (1 / cells)),
                    "sum_rmse": sd * math.sqrt(cells),
                }
                for cells in self.asked.cells
            ],
        }

    @property
    def switch(self) -> tuple[Switch, ...]:
        """The chance of a wrong decision for each hypothetical truth."""
        law, found = self.law, []
        for side, rate, count in self.asked.truths():
            far = distance_across(count, self.asked.limit)
            chance = 0.0 if law is None else law.prob_crosses(far)
            found.append(Switch(side, far, chance, rate, count))
        for gap in self.asked.gaps:
            other, tied = (0.0, 0.0) if law is None else law.prob_reversed(gap)
            found.append(Switch("rank", gap, other + tied, tied=tied))
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as JSON-ready values."""
        said: dict[str, Any] = json_ready(
            {
                "sentence": self.sentence,
                "epsilon": self.epsilon,
                "errors": self.errors,
                "switch": self.switch,
            }
        )
        return said

    def __repr__(self) -> str:
        return f"Cost(epsilon={self.epsilon:.6g}, rmse={self.errors['count']['rmse']:.3g})"


def _surely(promise: Promise) -> str:
    surety = promise.surety or EVERY_OUTPUT
    return say(f"budgets.surely.{surety.reading}", confidence=surety.confidence or 1.0)


_UNLIKE: dict[str, Callable[[Promise], str]] = {
    "about": lambda one: one.about,
    "surely": _surely,
    "sided": lambda one: say(f"budgets.sided.{one.sided}"),
    "adjacency": lambda one: one.adjacency.value,
    "unit": lambda one: str(one.unit),
}


class Costs(Results[Cost]):
    """What several promises cost, in order."""

    __slots__ = ()
    named = "promises"

    @property
    def unlike(self) -> str | None:
        """What the promises differ in beside how much may be learned: then ε does not rank them."""
        promises = [one.of.promise for one in self if isinstance(one.of, Choice)]
        differ = []
        for name, said in _UNLIKE.items():
            values = list(dict.fromkeys(said(one) for one in promises))
            if len(values) > 1:
                differ.append(say(f"budgets.unlike.{name}", values=", ".join(values)))
        return say("budgets.unlike.are", differ="; ".join(differ)) if differ else None

    @property
    def no_gain(self) -> str | None:
        """Say of a confidence that it gains nothing here, where a promise has one."""
        chosen = [one.of for one in self if isinstance(one.of, Choice)]
        sure = any(one.promise.confidence is not None for one in chosen)
        return say("budgets.no_gain") if sure else None

    def to_dict(self) -> dict[str, Any]:
        """Return the costs as JSON-ready values."""
        return super().to_dict() | {"unlike": self.unlike, "no_gain": self.no_gain}

    def __repr__(self) -> str:
        return f"Costs({', '.join(f'{one.epsilon:.4g}' for one in self)})"


def cost(
    *promises: PromiseLike | Choice | PureDP,
    delta: float | None = None,
    sensitivity: int = 1,
    denominator: int = 1,
    per: float = 1.0,
    target: float | None = None,
    away: Sequence[float] = (),
    gaps: Sequence[int] = (),
    cells: Sequence[int] = (10, 1000),
    **keys: Any,
) -> Costs:
    """Return what each promise, or budget, costs in accuracy; it asks for no true value.

    `denominator` is public, and `per` what a rate is of: 1000 for deaths per 1,000 births. `target`
    is a rate, met by what is at it or below; `away` are distances of hypothetical true rates from
    it, taken on both sides. `gaps` are hypothetical differences of two counts whose order matters.

    >>> durham = {"denominator": 4012, "per": 1000, "target": 6.0, "away": [0.25, 0.5]}
    >>> one, = cost({"posterior": 0.5, "unless_ratio": 5, "q": 1}, **durham)
    >>> round(one.epsilon, 3), round(one.switch[0].chance, 4), one.switch[0].count
    (2.197, 0.1, 25)
    """
    asked = Asked(denominator, per, target, tuple(away), tuple(gaps), tuple(cells))
    given: tuple[Any, ...] = promises or (None,)
    found = []
    for one in given:
        choice = one
        if not isinstance(one, (Choice, PureDP)):
            choice = choose(
                cast("PromiseLike | None", one), delta=delta, sensitivity=sensitivity, **keys
            )
        guarantee = choice if isinstance(choice, PureDP) else choice.guarantee
        if guarantee.adjacency is Adjacency.LOCAL:
            raise InputError("budgets.cost_of_local")
        moved = choice.sensitivity if isinstance(choice, Choice) else sensitivity
        found.append(Cost(choice, asked, moved))
    return Costs(found)
