"""From a promise to limits on the privacy loss: a ≤ ε* for one step, b ≤ 2ε* for two.

Notation. ε* is the largest ε whose pure-DP bound keeps the promise over its whole box. One step is
the unit in or out, two steps are one of its values for another. With a and b bounds on the losses
of one step and of two,
    r ≤ 1/(pq + e^{-b}(1−q)p + e^{-a}(1−p)),
which is K&R's bound at ε* or below wherever a ≤ ε* and b ≤ 2ε*. With q = 1 only a counts, with
p = 1 only b; under replace and local one step *is* the change of a value, so only a counts and is
never doubled. Wood et al.'s counterfactual compares a unit that is in with one that is out through
two steps: b ≤ log R (a ≤ log R where the statistic counts the sensitive ones alone).

Two-sided ratios and differences must hold downward as well: ε* is the least of both.

Related units. If the data of K units depend on each other, one that leaves may change the others:
one step becomes 2K − 1 of them and two become 2K; under replace one becomes K.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.beliefs.one_prior import epsilon_for_ratio
from discreet.errors import ToleranceError
from discreet.guarantees import Adjacency
from discreet.promises.promise import Promise
from discreet.promises.tolerance import Solved, Tolerance
from discreet.words import say

if TYPE_CHECKING:
    from discreet.budgets.finding import Search

GAP = 1e-6  # between what is proved and the best prior, absolute below 1 and relative above


@dataclass(frozen=True, slots=True)
class Limits:
    """How large the loss may be: of one step (`one`) and of two (`two`); None where it is free.

    The limits are rounded down; no true limit is above its `upper`. `steps` says how many
    neighbours apart one step and two are. `value_known` says that q is 1 throughout.
    """

    one: float | None
    two: float | None
    one_upper: float
    two_upper: float
    steps: tuple[int, int]
    binding: Solved
    value_known: bool

    @property
    def pure(self) -> float:
        """The largest ε of pure DP within the limits."""
        both = ((self.one, self.steps[0]), (self.two, self.steps[1]))
        return min((limit / m for limit, m in both if limit is not None), default=math.inf)

    @property
    def pure_upper(self) -> float:
        """No larger ε of pure DP keeps the promise."""
        return self.raised().pure

    def raised(self) -> Limits:
        """Return limits that are not below the true ones: what passes them breaks the promise."""
        one = None if self.one is None else self.one_upper
        return replace(self, one=one, two=None if self.two is None else self.two_upper)


def limits_of(promise: Promise) -> Limits:
    """Return how large the losses may be under a promise; refuse one that leaves no room."""
    central = promise.adjacency is Adjacency.ADD_REMOVE
    ones, twos, solved = [], [], []
    for name, part in promise.parts:
        found = _solve(part, promise.sided == "two")._replace(name=name)
        needs_one, needs_two = part.counts(central)
        scale = part.scale(central)
        ones += [(scale * found.lower, scale * found.upper)] if needs_one else []
        twos += [(2 * scale * found.lower, 2 * scale * found.upper)] if needs_two else []
        solved.append((scale * found.lower, found))
    least, worst = min(solved, key=lambda pair: pair[0])
    if any(not each.certified for _, each in solved):
        why = next(each.reason for _, each in solved if not each.certified)
        worst = worst._replace(certified=False, reason=why)
    if least <= 0:
        raise ToleranceError("budgets.no_room", p=worst.p, q=worst.q)
    K = promise.related
    if promise.dependence is not None:
        # A change of another unit is a change of its value: two steps under add-remove.
        near, far = (2 if central else 1), 1
        lowered = promise.dependence.lowered
        ones = [(lowered(low, near), lowered(high, near)) for low, high in ones]
        twos = [(lowered(low, far), lowered(high, far)) for low, high in twos]
        if min((low for low, _ in ones + twos), default=math.inf) <= 0:
            raise ToleranceError("budgets.no_room", p=worst.p, q=worst.q)
    return Limits(
        one=min((low for low, _ in ones), default=None),
        two=min((low for low, _ in twos), default=None),
        one_upper=min((high for _, high in ones), default=math.inf),
        two_upper=min((high for _, high in twos), default=math.inf),
        steps=(2 * K - 1, 2 * K) if central else (K, 2 * K),
        binding=worst,
        value_known=central and not twos,
    )


def _solve(part: Tolerance, both_ways: bool) -> Solved:
    """Return ε* of one tolerance: how far belief may rise and, two-sided, how far it may fall."""
    found = _rises(part)
    fall = part.falls() if both_ways else None
    if fall is None:
        return found
    upper = min(found.upper, fall.upper)
    return (found if fall.lower >= found.lower else fall)._replace(upper=upper)


def _rises(part: Tolerance) -> Solved:
    """By its closed form where it has one, else by the search."""
    known = part.closed_form()
    if known is not None:
        return known
    from discreet.budgets.finding import look
    from discreet.budgets.search import search, search_monotone

    formula = part.expression()
    if formula is not None:
        return sought(part, search(formula, part.box), say("budgets.method.search"))
    if all(part.monotone()):
        return sought(part, search_monotone(part), say("budgets.method.monotone"))
    found = sought(part, look(part), say("budgets.method.looked"))
    return found._replace(certified=False, reason=say("budgets.not_proved"))


def sought(part: Tolerance, found: Search, method: str) -> Solved:
    """Return what a search found; whether the worst prior is one, and not only a limit of some."""
    attained = part.box.contains(found.p, found.q) and not math.isinf(found.upper)
    if attained:
        ratio = part.ratio_at(found.p, found.q)
        attained = ratio > 1 and math.isclose(
            epsilon_for_ratio(found.p, found.q, ratio), found.upper
        )
    solved = Solved(found.lower, found.upper, found.p, found.q, attained, method)
    if found.lower == found.upper or found.upper - found.lower <= GAP * max(1.0, found.lower):
        return solved
    width = found.upper - found.lower
    name = "budgets.stopped" if math.isinf(width) else "budgets.stopped_within"
    return solved._replace(certified=False, reason=say(name, width=width))
