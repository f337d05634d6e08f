"""From a promise to limits on the privacy loss: a ≤ ε* for one step, b ≤ 2ε* for two.

Notation. ε* is the largest ε whose pure-DP bound keeps the promise over its whole box. One step is
the unit in or out, two steps are one of its values for another. With a and b bounds on the losses
of one step and of two,
    r ≤ 1/(pq + e^{-b}(1−q)p + e^{-a}(1−p)),
which is K&R's bound at ε* or below wherever a ≤ ε* and b ≤ 2ε*. With q = 1 only a counts, with
p = 1 only b; under replace and local one step *is* the change of a value, so only a counts and is
never doubled. Wood et al.'s counterfactual compares a unit that is in with one that is out through
two steps: b ≤ log R (a ≤ log R where the statistic counts the sensitive ones alone).

Two-sided ratios and differences must hold downward as well (`falls`): ε* is the least of both.

Related units. If the data of K units depend on each other, one that leaves may change the others:
one step becomes 2K − 1 of them and two become 2K; under replace one becomes K.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from discreet.budgets.closed_forms import closed_form, constant_ratio
from discreet.budgets.falls import Fall, difference_falls, ratio_falls
from discreet.budgets.one_prior import epsilon_for_ratio
from discreet.errors import InputError, ToleranceError
from discreet.guarantees import Adjacency
from discreet.promises.promise import Promise
from discreet.promises.shapes import Counterfactual, Difference, Function, Ratio, Tolerance
from discreet.promises.table import Table

__all__ = ["Limits", "Solved", "limits_of"]


@dataclass(frozen=True, slots=True)
class Solved:
    """lower ≤ ε* ≤ upper of one tolerance, the prior that binds it, and how that is known."""

    lower: float
    upper: float
    p: float
    q: float
    attained: bool
    method: str
    certified: bool = True
    reason: str | None = None
    name: str | None = None


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
        found = replace(_solve(part, promise.sided == "two"), name=name)
        needs_one, needs_two = _needs(part, central)
        scale = _scale(part, central)
        ones += [(scale * found.lower, scale * found.upper)] if needs_one else []
        twos += [(2 * scale * found.lower, 2 * scale * found.upper)] if needs_two else []
        solved.append((scale * found.lower, found))
    least, worst = min(solved, key=lambda pair: pair[0])
    if any(not each.certified for _, each in solved):
        why = next(each.reason for _, each in solved if not each.certified)
        worst = replace(worst, certified=False, reason=why)
    if least <= 0:
        raise ToleranceError(
            f"at p = {worst.p:g}, q = {worst.q:g} this promise leaves no room: the budget would "
            "be 0. Allow a little more there, or leave those priors out with a box."
        )
    K = promise.related
    return Limits(
        one=min((low for low, _ in ones), default=None),
        two=min((low for low, _ in twos), default=None),
        one_upper=min((high for _, high in ones), default=math.inf),
        two_upper=min((high for _, high in twos), default=math.inf),
        steps=(2 * K - 1, 2 * K) if central else (K, 2 * K),
        binding=worst,
        value_known=central and not twos,
    )


def _scale(part: Any, central: bool) -> float:
    """Under replace one step takes the place of two; a counterfactual is log R in any case."""
    if central or (isinstance(part, Counterfactual) and part.counts_sensitive_only):
        return 1.0
    return 2.0


def _needs(part: Any, central: bool) -> tuple[bool, bool]:
    """Whether the loss of one step counts for a tolerance, and that of two."""
    if not central:
        return True, False
    if isinstance(part, Counterfactual):
        return part.counts_sensitive_only, not part.counts_sensitive_only
    return part.box.p0 != 1, part.box.q0 != 1


def _solve(part: Any, both_ways: bool) -> Solved:
    found = _rises(part)
    if not both_ways:
        return found
    fall: Fall | None = None
    match part:
        case Ratio(ratio, box):
            fall = ratio_falls(ratio, box)
        case Difference(difference, box):
            fall = difference_falls(difference, box)
    if fall is None:
        return found
    upper = min(found.upper, fall.upper)
    if fall.lower >= found.lower:
        return replace(found, upper=upper)
    attained = part.box.contains(fall.p, fall.q)
    method = "closed form: how far belief may fall"
    return Solved(fall.lower, upper, fall.p, fall.q, attained, method)


def _rises(part: Any) -> Solved:
    found = closed_form(part)
    if found is not None:
        return Solved(*found)
    match part:
        case Table():
            cells = [constant_ratio(ratio, box) for box, ratio in part.cells()]
            least = min(cells)
            upper = min(cell.upper for cell in cells)
            return Solved(least.lower, upper, *least[2:5], "closed form on each cell")
        case Function():
            return _solve_function(part)
        case Tolerance() if hasattr(part, "expression"):
            from discreet.budgets.search import search

            shape: Any = part
            sought = search(shape.expression(), shape.box)
            return _sought(part, sought, "branch and bound")
    raise InputError(f"{part!r} is not a tolerance that a budget can be chosen for.")


def _solve_function(part: Function) -> Solved:
    from discreet.budgets.search import look, search_monotone

    if part.monotone_p and part.monotone_q:
        return _sought(part, search_monotone(part), "branch and bound, monotone as declared")
    found = _sought(part, look(part), "looked for, not proved")
    return replace(
        found,
        certified=False,
        reason="nothing is known of the function between the priors that were tried; declare "
        "monotone_p and monotone_q, or write it as a formula.",
    )


def _sought(part: Any, found: Any, method: str) -> Solved:
    return Solved(found.lower, found.upper, found.p, found.q, _attained(part, found), method)


def _attained(part: Any, found: Any) -> bool:
    """Say whether the worst prior is one, and not only a limit of some."""
    if not part.box.contains(found.p, found.q) or math.isinf(found.upper):
        return False
    ratio = part.ratio_at(found.p, found.q)
    if not ratio > 1:
        return False
    return math.isclose(epsilon_for_ratio(found.p, found.q, ratio), found.upper)
