"""`plan`: from a tolerance over a whole series to the budget of each release.

Notation. The tolerance allows a bound ε* on the privacy loss of all releases together
(`tolerated`), to be kept with probability 1 − δ'. A budget x (ε or ρ, times the weights of the
split) gives a bound ε'(x) (`accumulating`), which rises with x; the plan has the largest x with
ε'(x) ≤ ε*. It is found in a shrinking bracket whose lower end was seen to keep the tolerance, so
that budget, put back through the same bound, keeps the tolerance.

The plan is for releases fixed in advance: one whose budgets are changed after looking at what was
published needs a filter instead (`discreet.composition.filters`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from discreet.beliefs.assumptions import assumptions_for
from discreet.beliefs.belief import Assumptions, Sided, Strength
from discreet.beliefs.confidence import check_sided, failure_of
from discreet.beliefs.loss_bounds import LossBound
from discreet.beliefs.notebook import html_table
from discreet.errors import InputError, ToleranceError
from discreet.guarantees import ZCDP, Adjacency, ApproxDP, PureDP, finite_or_null, parameters
from discreet.rounding import decimal_down, up
from discreet.series.accumulating import Part, adjacency_of, bound_of
from discreet.series.accuracy import Accuracy, accuracy_of, by_budget, in_rho
from discreet.series.splits import Split
from discreet.series.tolerated import Tolerated
from discreet.series.units import Accumulation, PlanUnit, accumulation

__all__ = ["Plan", "plan", "shown_down"]

Budget: TypeAlias = Literal["epsilon", "rho"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The budget of each release of a series, and what all of them add up to.

    `per_release` and `total` are `{epsilon, delta, rho}`; where the split is unequal, `per_release`
    is that of the first release and `budgets` lists all. `epsilon_prime` bounds the privacy loss of
    the whole series with probability `holds_with`.
    """

    releases: int
    tolerated: Tolerated
    per_release: dict[str, Any]
    total: dict[str, Any]
    budgets: tuple[float, ...]
    budget: Budget
    split: str
    method: str
    how: str
    strength: Strength
    survives_post_processing: bool
    epsilon_prime: float
    holds_with: float
    sided: Sided
    accuracy: Accuracy
    accuracy_last: Accuracy
    accumulation: Accumulation
    assumptions: Assumptions
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    sigma: float | None = None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-ready values."""
        return {
            "releases": self.releases,
            "tolerance": self.tolerated.to_dict(),
            "per_release": self.per_release,
            "total": self.total,
            "budgets": list(self.budgets),
            "budget": self.budget,
            "sigma": self.sigma,
            "split": self.split,
            "method": self.method,
            "how": self.how,
            "strength": self.strength,
            "survives_post_processing": self.survives_post_processing,
            "epsilon_prime": finite_or_null(self.epsilon_prime),
            "holds_with": self.holds_with,
            "sided": self.sided,
            "accuracy": self.accuracy.to_dict(),
            "accuracy_last": self.accuracy_last.to_dict(),
            "accumulation": self.accumulation.to_dict(),
            "assumptions": self.assumptions.to_dict(),
            "note": self.note,
        }

    def __repr__(self) -> str:
        name = "ε" if self.budget == "epsilon" else "ρ"
        each = f"{name}={shown_down(self.budgets[0])}"
        if self.split != "equal":
            each += f" … {shown_down(self.budgets[-1])}"
        return (
            f"Plan({self.releases} releases, {each} each, {self.method}, {self.strength}, "
            f"with probability {self.holds_with:g})"
        )

    def _repr_html_(self) -> str:
        rows = [("by", self.how), ("accuracy", self.accuracy.words)]
        rows += [("accumulates", self.accumulation.accumulates)]
        return html_table(repr(self), rows + list(self.assumptions.to_dict().items()))


def shown_down(budget: float, figures: int = 4) -> str:
    """Return a budget with so many figures, rounded down.

    >>> shown_down(0.101366)
    '0.1013'
    """
    if budget <= 0:
        return "0"
    digits = max(0, figures - 1 - math.floor(math.log10(budget)))
    return f"{decimal_down(budget, digits):.{digits}f}"


def plan(
    releases: int | None = None,
    *,
    difference: float | None = None,
    posterior: float | None = None,
    ratio: float | None = None,
    prior: float | None = None,
    delta_total: float | None = None,
    delta_each: float | None = None,
    confidence: float = 0.99,
    sided: Sided = "two",
    mechanism: str | None = None,
    budget: Budget | None = None,
    sensitivity: float = 1,
    strength: Strength | None = None,
    method: str | None = None,
    weights: Sequence[float] | None = None,
    growth: float | None = None,
    adjacency: str | None = None,
    unit: PlanUnit = "user",
    period: str = "period",
) -> Plan:
    """Return the largest per-release budget that keeps a tolerance over all releases.

    `delta_each` is the δ of one release, `delta_total` fixes the δ of the total (without it the
    best point of the curve is taken). With a `mechanism` its own loss is used, at `strength`
    (without a choice, the strongest that survives post-processing). `weights` or `growth` make an
    unequal split. `unit` says whether all of a user's data are protected together or one period's.

    >>> plan(12, difference=0.2, method="basic").budgets[0] < 0.8109302162163288 / 12
    True
    """
    check_sided(sided)
    tolerated = Tolerated(difference, posterior, ratio, prior)
    split = _split(releases, weights, growth)
    kind = _budget_kind(mechanism, budget)
    spent, note = _delta_each(delta_each, mechanism, kind)
    where = _where(mechanism, adjacency)
    failure = failure_of(confidence)
    _check_deltas(spent, delta_total, failure, len(split.weights))

    def parts(x: float) -> list[tuple[Part, int]]:
        if mechanism is not None:
            return [(by_budget(mechanism, x * w, sensitivity), k) for w, k in split.counted()]
        if kind == "rho":
            return [(ZCDP(x * w, adjacency=where), k) for w, k in split.counted()]
        if spent == 0:
            return [(PureDP(x * w, adjacency=where), k) for w, k in split.counted()]
        return [(ApproxDP(x * w, spent, adjacency=where), k) for w, k in split.counted()]

    last: list[float] = []

    def bound(x: float) -> LossBound:
        # The best point of the curve moves with the budget: the last one points to the next.
        hint = last[1] * x / last[0] if last else None
        found = bound_of(
            parts(x), failure, sided, strength=strength, delta=delta_total, method=method, hint=hint
        )
        last[:] = [] if found.point is None else [x, found.point[0]]
        return found

    x, found = _largest(bound, tolerated.epsilon_prime)
    budgets = tuple(x * w for w in split.weights)
    shown = mechanism or ("gaussian" if kind == "rho" else "geometric")
    first = accuracy_of(shown, budgets[0], sensitivity)
    certain = found.failure == 0
    return Plan(
        releases=len(budgets),
        tolerated=tolerated,
        per_release=_parameters(kind, budgets[0], spent),
        total=_total(kind, budgets, spent, found),
        budgets=budgets,
        budget=kind,
        split=split.name,
        method=_method_name(method, mechanism, kind, found),
        how=found.method,
        strength=found.strength,
        survives_post_processing=found.survives,
        epsilon_prime=found.epsilon_prime,
        holds_with=1.0 if certain else confidence,
        sided=sided,
        accuracy=first,
        accuracy_last=accuracy_of(shown, budgets[-1], sensitivity),
        accumulation=accumulation(unit, len(budgets), period),
        assumptions=assumptions_for(
            where,
            strong=True,
            unit=_unit_words(unit, period),
            confidence=None if certain else confidence,
            survives=found.survives,
        ),
        adjacency=where,
        sigma=first.sd if shown == "gaussian" else None,
        note=found.note or note,
    )


def _where(mechanism: str | None, adjacency: str | None) -> Adjacency:
    """The adjacency of the plan: as asked, or as the mechanism is stated, or add-remove."""
    if mechanism is not None:
        return adjacency_of(by_budget(mechanism, 1.0), adjacency)
    return Adjacency.ADD_REMOVE if adjacency is None else Adjacency.of(adjacency)


def _split(releases: int | None, weights: Sequence[float] | None, growth: float | None) -> Split:
    if weights is not None and growth is not None:
        raise InputError("both weights and a growth were given; choose one way to divide.")
    if weights is not None:
        if releases is not None and releases != len(weights):
            raise InputError(
                f"{len(weights)} weights were given for {releases} releases; give one for each."
            )
        return Split.weighted(weights)
    if releases is None:
        raise InputError("how many releases? Give their number, or one weight for each.")
    return Split.equal(releases) if growth is None else Split.growing(releases, growth)


def _budget_kind(mechanism: str | None, budget: Budget | None) -> Budget:
    if budget not in (None, "epsilon", "rho"):
        raise InputError(f"budget is {budget!r}; it must be epsilon or rho.")
    if mechanism is None:
        return budget or "epsilon"
    kind: Budget = "rho" if in_rho(mechanism) else "epsilon"
    if budget not in (None, kind):
        raise InputError(f"the budget of {mechanism} noise is {kind}, not {budget}.")
    return kind


def _delta_each(
    delta_each: float | None, mechanism: str | None, kind: Budget
) -> tuple[float, str | None]:
    if delta_each is None:
        return 0.0, None
    ApproxDP(0.0, delta_each)
    if delta_each > 0 and (mechanism is not None or kind == "rho"):
        what = f"{mechanism} noise" if mechanism is not None else "zCDP"
        return 0.0, f"delta of each release was not used: {what} brings its own curve."
    return delta_each, None


def _check_deltas(each: float, total: float | None, failure: float, releases: int) -> None:
    if total is not None:
        ApproxDP(0.0, total)
        if total == 0 and each > 0:
            raise InputError(
                f"delta of the total is 0 and of each release {each:g}; what is given away adds "
                "up. Give a delta of the total, or none of each."
            )
        if total >= failure:
            raise InputError(
                f"delta of the total is {total:g}; a belief bound that fails with probability "
                f"{failure:g} needs a smaller one. Lower it, or the confidence."
            )
    spent = each * releases
    if each > 0 and (spent >= failure or (total is not None and spent > total)):
        limit = failure if total is None else total
        raise InputError(
            f"{releases} releases at delta = {each:g} add up to {spent:g}, past {limit:g}; lower "
            "the delta of each, or make fewer releases."
        )


def _largest(bound: Callable[[float], LossBound], tolerated: float) -> tuple[float, LossBound]:
    """Return the largest budget seen to keep the tolerance, and its bound."""
    if math.isinf(tolerated):
        raise ToleranceError(
            "the tolerance allows every change of belief, so no budget is largest; state one that "
            "excludes something."
        )
    low, kept = 0.0, None
    high = min(1.0, tolerated)
    found = bound(high)
    while found.epsilon_prime <= tolerated:
        low, kept, high = high, found, 2 * high
        if high > 1e9:
            raise ToleranceError(
                "no budget up to 1e9 passes the tolerance, so none is largest; state one that "
                "excludes something."
            )
        found = bound(high)
    while kept is None:
        low = high / 2
        found = bound(low)
        if found.epsilon_prime <= tolerated:
            kept = found
        elif low < 1e-12 * min(1.0, tolerated):
            raise ToleranceError(
                "no budget above zero keeps the tolerance over the whole series: delta alone "
                "passes it. Lower delta, the number of releases or the confidence."
            )
        else:
            high = low
    above = found if found.epsilon_prime > tolerated else bound(high)
    start, steps = high - low, 0
    while high - low > 4e-15 * high:
        gap = (kept.epsilon_prime - tolerated, above.epsilon_prime - tolerated)
        middle = _between(low, high, gap, start / 2**steps)
        if not low < middle < high:
            break
        found, steps = bound(middle), steps + 1
        if found.epsilon_prime <= tolerated:
            low, kept = middle, found
        else:
            high, above = middle, found
    return low, kept


def _between(low: float, high: float, gap: tuple[float, float], allowed: float) -> float:
    """Where to look next: near the line's root, pushed to the middle; never worse than bisection.

    The step of Oliveira and Takahashi (2020, An enhancement of the bisection method): the line
    through both ends is truncated towards the middle and projected onto what bisection, one step
    behind, would still have `allowed` as the width of the bracket.
    """
    middle, width = (low + high) / 2, high - low
    if math.isinf(gap[1]) or not gap[0] < gap[1]:
        return middle
    line = (low * gap[1] - high * gap[0]) / (gap[1] - gap[0])
    towards = math.copysign(1.0, middle - line)
    push = max(0.1 * width * width / high, 1e-15 * high)
    near = line + towards * push if push <= abs(middle - line) else middle
    room = max(0.0, allowed - width / 2)
    return near if abs(near - middle) <= room else middle - towards * room


def _parameters(kind: Budget, budget: float, delta: float) -> dict[str, Any]:
    if kind == "rho":
        return parameters(rho=budget)
    return parameters(epsilon=budget, delta=delta)


def _total(
    kind: Budget, budgets: tuple[float, ...], delta: float, found: LossBound
) -> dict[str, Any]:
    """What the whole plan promises: the point that was used, or the plain sum."""
    sum_of = up(math.fsum(budgets), 2)
    epsilon, at = found.point or (None, None)
    if kind == "rho":
        return parameters(epsilon=epsilon, delta=at, rho=sum_of)
    if epsilon is None:
        return parameters(epsilon=sum_of, delta=up(delta * len(budgets), 2))
    return parameters(epsilon=epsilon, delta=at)


def _method_name(method: str | None, mechanism: str | None, kind: Budget, found: LossBound) -> str:
    if method is not None:
        return method
    if mechanism is not None and found.strength != "generic":
        return found.strength
    return "zcdp" if kind == "rho" else found.method.split(" ")[0]


def _unit_words(unit: PlanUnit, period: str) -> str:
    return "one user" if unit == "user" else f"one user's {period}"
