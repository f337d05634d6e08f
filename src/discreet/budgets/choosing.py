"""`choose`: a tolerance becomes the largest budget that keeps it.

Pure DP, add-remove: the infimum of ε_i over the priors (K&R eq. 13), by a closed form where the
worst prior is known, else by the certified search. Several tolerances: the least of their budgets.

Replace and local: everyone is in, so p = 1, and r ≤ 1/(q + e^{-ε}(1−q)) is the add-remove bound at
p = 1 with ε for 2ε. The budget is twice the add-remove budget at p = 1.

With δ > 0 a tolerance holds with a confidence only, against a strong adversary (q = 1): its ε' at
q = 1 is turned into ε by the inverse of KSZ Theorem 3.9.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.budgets.choice import Binding, Certificate, Choice
from discreet.budgets.closed_forms import closed_form, constant_ratio
from discreet.budgets.one_prior import epsilon_for_ratio
from discreet.errors import InputError, ToleranceError
from discreet.guarantees import Adjacency, ApproxDP, PureDP
from discreet.promises.mapping import from_mapping, promise_of
from discreet.promises.shapes import (
    Counterfactual,
    Formula,
    Function,
    Tolerance,
    leaves,
)
from discreet.promises.table import Table
from discreet.rounding import up

__all__ = ["choose"]

_PAST_MARGIN = 256  # ulps; `largest_epsilon` rounds down by 128 of its argument at most


@dataclass(frozen=True, slots=True)
class _Solved:
    lower: float
    upper: float
    p: float
    q: float
    attained: bool
    method: str
    certified: bool = True
    reason: str | None = None


def choose(
    tolerance: Tolerance | Mapping[str, Any] | str,
    *,
    adjacency: str = "add-remove",
    delta: float = 0.0,
    confidence: float = 0.99,
    sided: str = "two",
    sensitivity: int = 1,
    unit: str = "one person",
) -> Choice:
    """Return the largest budget that keeps a tolerance.

    A string is a formula in p and q; a mapping has the keys of a tolerance file, and may carry
    `delta`, `confidence` and `sided` itself.

    >>> choose("max(0.25/(p*q), 3)")
    Choice(epsilon=0.649641, binding p=1 q=0.0833333, branch and bound)
    """
    if isinstance(tolerance, Mapping):
        promise = promise_of(tolerance)
        delta = delta or promise.delta
        confidence = float(tolerance.get("confidence", confidence))
        sided = str(tolerance.get("sided", sided))
        tolerance = from_mapping(tolerance)
    elif isinstance(tolerance, str):
        tolerance = Formula(tolerance)
    neighbours = Adjacency.of(adjacency)
    if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0 <= delta < 1:
        raise InputError(f"delta is {delta!r}; it must be a probability below 1.")
    solved: list[tuple[str | None, _Solved]] = []
    for name, part in leaves(tolerance):
        solved.append((name, _solve(_as_asked(part, neighbours, delta > 0))))
    name, worst = min(solved, key=lambda item: item[1].lower)
    if any(not one.certified for _, one in solved):
        why = next(one.reason for _, one in solved if not one.certified)
        worst = replace(worst, certified=False, reason=why)
    scale = 1.0 if neighbours is Adjacency.ADD_REMOVE else 2.0
    lower, upper = scale * worst.lower, scale * min(one.upper for _, one in solved)
    if lower <= 0:
        raise ToleranceError(
            f"at p = {worst.p:g}, q = {worst.q:g} this tolerance leaves no room: the budget would "
            "be 0. Allow a little more there, or leave those priors out with --box."
        )
    guarantee: PureDP | ApproxDP = PureDP(lower, adjacency=neighbours)
    loss, sure, method = lower, None, worst.method
    if delta > 0:
        from discreet.beliefs.approximate import largest_epsilon

        sure, method = confidence, f"{method}; then the inverse of KSZ Theorem 3.9"
        # It rises at least as fast as its argument: one lifted past its margin stays above.
        upper = largest_epsilon(up(upper, _PAST_MARGIN), delta, confidence, sided)
        lower = largest_epsilon(lower, delta, confidence, sided)
        guarantee = ApproxDP(lower, delta, adjacency=neighbours)
    return Choice(
        tolerance=tolerance,
        guarantee=guarantee,
        binding=Binding(worst.p, worst.q, worst.attained, name),
        certificate=Certificate(lower, upper, method, worst.certified, worst.reason),
        loss=loss,
        confidence=sure,
        sensitivity=sensitivity,
        unit=unit,
    )


def _as_asked(part: Any, adjacency: Adjacency, strong: bool) -> Any:
    """Restrict the priors to those the adjacency and the promise speak of."""
    if isinstance(part, Counterfactual):
        if adjacency is not Adjacency.ADD_REMOVE:
            raise ToleranceError(
                "the counterfactual compares joining with not joining, which 'replace' and 'local' "
                "do not protect; use --adjacency add-remove, or another tolerance."
            )
        return part
    if adjacency is Adjacency.ADD_REMOVE:
        return replace(part, box=part.box.at_q(1.0, 1.0)) if strong else part
    if part.box.p1 != 1:
        raise ToleranceError(
            f"p is at most {part.box.p1:g} here, but under {adjacency.value!r} everyone is in the "
            "data (p = 1) and only values are protected; give the prior of the value as --q."
        )
    return replace(part, box=replace(part.box, p0=1.0))


def _solve(part: Any) -> _Solved:
    found = closed_form(part)
    if found is not None:
        return _Solved(*found)
    match part:
        case Table():
            cells = [constant_ratio(ratio, box) for box, ratio in part.cells()]
            least = min(cells)
            upper = min(cell.upper for cell in cells)
            return _Solved(least.lower, upper, *least[2:5], "closed form on each cell")
        case Function():
            return _solve_function(part)
        case Tolerance() if hasattr(part, "expression"):
            return _solve_formula(part)
        case _:
            raise InputError(f"{part!r} is not a tolerance that a budget can be chosen for.")


def _solve_formula(part: Any) -> _Solved:
    from discreet.budgets.search import search

    found = search(part.expression(), part.box)
    return _Solved(
        found.lower, found.upper, found.p, found.q, _attained(part, found), "branch and bound"
    )


def _solve_function(part: Function) -> _Solved:
    from discreet.budgets.search import look, search_monotone

    if part.monotone_p and part.monotone_q:
        found = search_monotone(part)
        method = "branch and bound, monotone function"
        return _Solved(found.lower, found.upper, found.p, found.q, _attained(part, found), method)
    found = look(part)
    return _Solved(
        found.lower,
        found.upper,
        found.p,
        found.q,
        _attained(part, found),
        "looked for, not proved",
        certified=False,
        reason="nothing is known of the function between the priors that were tried; declare "
        "monotone_p and monotone_q, or write it as a formula.",
    )


def _attained(part: Any, found: Any) -> bool:
    """Say whether the worst prior is one, and not only a limit of some."""
    if not part.box.contains(found.p, found.q) or math.isinf(found.upper):
        return False
    ratio = part.ratio_at(found.p, found.q)
    if not ratio > 1:
        return False
    return math.isclose(epsilon_for_ratio(found.p, found.q, ratio), found.upper)
