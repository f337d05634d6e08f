"""What a fixed plan of releases adds up to: one account of its privacy loss, or several valid ones.

A part of a plan is a guarantee (what each release promises) or a mechanism of `discreet.laws` (how
it is made), and how often it is used. By `method`, for guarantees:

- basic: Σε, Σδ;
- advanced: the theorem of Dwork, Rothblum and Vadhan as KSZ Theorem 2.8 prints it, alone, though
  for few releases it is worse than basic; `tanh` is its sharper form;
- optimal: each release as bad as its promise allows, exactly where all are equal (Kairouz, Oh and
  Viswanath 2015), by composed worst cases rounded the safe way where they differ; the default;
- paper: KSZ Example 4.1 for zCDP.

Mechanisms bring their own privacy loss. `delta` fixes one point (ε, δ) of whatever curve there is;
without it the best point for the belief is taken. All of it holds for a plan that is fixed before
its first draw; what was published cannot change the rest of the plan.

The same parts, each seen from data sets that are m neighbours apart, add up to the loss of m steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from discreet.beliefs.belief import Strength
from discreet.beliefs.loss_bounds import LossBound, loss_bound
from discreet.budgets.keeping import Kept, kept
from discreet.budgets.limits import Limits
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import (
    ZCDP,
    Adjacency,
    ApproxDP,
    Guarantee,
    PrivacyCurve,
    ProbabilisticDP,
    PureDP,
)
from discreet.promises.promise import Promise
from discreet.rounding import up

__all__ = [
    "METHODS",
    "Part",
    "Parts",
    "adjacency_of",
    "bound_of",
    "guarantee_of",
    "loss_of_plan",
]

#: A guarantee or a mechanism.
Part: TypeAlias = Any

METHODS = ("basic", "advanced", "tanh", "optimal", "paper")
_GUARANTEES = (PureDP, ApproxDP, ProbabilisticDP, ZCDP, PrivacyCurve)
_THEOREMS = {
    "basic": "basic composition",
    "advanced": "advanced composition",
    "tanh": "advanced composition (tanh form)",
    "optimal": "optimal composition",
}


def guarantee_of(part: Part) -> Guarantee:
    """Return what one release promises: the part itself, or the guarantee of the mechanism."""
    if isinstance(part, _GUARANTEES):
        return part
    if callable(getattr(part, "guarantee", None)):
        return cast("Guarantee", part.guarantee())
    raise GuaranteeError(
        f"{type(part).__name__} is neither a guarantee (such as PureDP) nor a mechanism (such as "
        "Geometric); it cannot be part of a series."
    )


def adjacency_of(part: Part, asked: str | None = None) -> Adjacency:
    """Return the adjacency of a guarantee, or the one that a mechanism's sensitivity is under.

    A randomized answer protects what was answered, not whether; a guarantee says its own.
    """
    stated = guarantee_of(part).adjacency
    if asked is None or Adjacency.of(asked) is stated:
        return stated
    if isinstance(part, _GUARANTEES) or stated is not Adjacency.ADD_REMOVE:
        raise GuaranteeError(
            f"{guarantee_of(part)} is stated under {stated.value!r}, not {asked!r}; state it under "
            "the adjacency that is asked for."
        )
    return Adjacency.of(asked)


@dataclass(frozen=True, slots=True)
class Parts:
    """A fixed plan: its parts and how often each is used, and how they are added up.

    `nonnegative` says that no contribution has negative values: two steps of Gaussian noise are
    then 2ρ and not 4ρ.
    """

    parts: tuple[tuple[Part, int], ...]
    method: str | None = None
    strength: Strength | None = None
    delta: float | None = None
    nonnegative: bool = False

    def __post_init__(self) -> None:
        if self.method is not None and self.method not in METHODS:
            raise InputError(f"method is {self.method!r}; it must be one of: {', '.join(METHODS)}.")
        _refuse_mixed([part for part, _ in self.parts])

    @property
    def mechanisms(self) -> bool:
        """Whether the laws of the mechanisms are added up, and not what they promise."""
        laws = not any(isinstance(part, _GUARANTEES) for part, _ in self.parts)
        return laws and self.strength != "generic" and self.method is None

    def total(self, m: int = 1) -> tuple[Any, ...]:
        """Return valid accounts of the loss of m steps; the best of them holds.

        At a fixed δ each is the point (ε, δ) of its curve; further steps go from there.
        """
        if self.delta is None or (self.strength == "exact" and m == 1):
            return self._accounts(m)
        found = (_at_delta(subject, self.delta) for subject in self._accounts(1))
        return tuple(point.steps(m) for point in found if point is not None)

    def keeps(self, promise: Promise, limits: Limits, hint: float | None = None) -> Kept:
        """Say whether the plan keeps a promise, and by which theorem."""
        found = kept(
            promise,
            limits,
            self.total,
            strength=self.strength if self.mechanisms else None,
            papers_route=self.method == "paper",
            hint=hint,
        )
        theorem = None if found.failure == 0 else self.theorem(found.subject)
        if theorem is None:
            return found
        words = f"{_THEOREMS[theorem]}; {found.method}"
        return replace(found, strength="generic", method=words)

    def theorem(self, subject: Any) -> str | None:
        """Return the theorem that an account comes from; None for mechanisms and for ρ."""
        if self.mechanisms or isinstance(subject, ZCDP | ProbabilisticDP):
            return None
        if isinstance(subject, PureDP | ApproxDP) and self.delta is None:
            return "basic"
        return self.method or "optimal"

    def _accounts(self, m: int) -> tuple[Any, ...]:
        parts = [(self._apart(part, m), times) for part, times in self.parts]
        if self.mechanisms:
            from discreet.composition import loss_of

            return (loss_of(*parts),)
        stated = [(guarantee_of(part), times) for part, times in parts]
        if all(isinstance(g, ZCDP) for g, _ in stated):
            return (_concentrated(stated, self.method),)
        if self.method == "paper":
            raise InputError("method 'paper' reproduces KSZ Example 4.1 and needs zCDP releases.")
        if any(isinstance(g, ProbabilisticDP) for g, _ in stated):
            return (_probabilistic(stated),)
        promises = [(_approximate(g), times) for g, times in stated]
        if self.method in ("advanced", "tanh"):
            return (_advanced(promises, printed=self.method == "advanced"),)
        worst = None if self.method == "basic" else _optimal(promises)
        # A worst case that was put on a grid may be rounded further than the plain sum.
        return (_basic(promises),) if worst is None else (worst, _basic(promises))

    def _apart(self, part: Part, m: int) -> Part:
        if m == 2 and self.nonnegative:
            if isinstance(part, ZCDP):
                return replace(part, rho=2 * part.rho)
            if hasattr(part, "sigma"):
                return part.steps(2, nonnegative=True)
        return part if m == 1 else part.steps(m)


def bound_of(
    parts: Sequence[tuple[Part, int]],
    delta_prime: float,
    sided: str = "two",
    *,
    strength: Strength | None = None,
    delta: float | None = None,
    method: str | None = None,
    hint: float | None = None,
) -> LossBound:
    """Return the bound on the loss of all parts together that fails with probability at most δ'.

    >>> bound = bound_of([(PureDP(0.05), 134)], 0.05)
    >>> 1 / (1 + math.exp(-bound.epsilon_prime)) > 0.8
    True
    """
    plan = Parts(tuple(parts), method, strength, delta)
    return loss_of_plan(plan, 1, delta_prime, sided, hint)


def loss_of_plan(
    plan: Parts, m: int, delta_prime: float, sided: str, hint: float | None = None
) -> LossBound:
    """Return the least bound on the loss of m steps that the accounts of a plan give."""
    found: LossBound | None = None
    for subject in plan.total(m):
        try:
            bound = loss_bound(
                subject,
                delta_prime,
                sided,
                strength=plan.strength,
                papers_route=plan.method == "paper",
                hint=hint,
            )
        except GuaranteeError:  # more δ was spent than the confidence leaves
            continue
        if found is None or bound.epsilon_prime < found.epsilon_prime:
            theorem = plan.theorem(subject)
            if theorem is not None:
                words = f"{_THEOREMS[theorem]}; {bound.method}"
                bound = replace(bound, strength="generic", method=words)
            found = bound
    return found or LossBound(math.inf, 0.0, "generic", True, _THEOREMS[plan.method or "basic"])


def _refuse_mixed(parts: Sequence[Part]) -> None:
    if not parts:
        raise InputError("the series is empty; give at least one release.")
    stated = {guarantee_of(part).adjacency.value for part in parts}
    if len(stated) > 1:
        raise GuaranteeError(
            f"the releases are stated under different adjacencies ({', '.join(sorted(stated))}); "
            "restate them under one before they are added up."
        )
    kinds = {isinstance(part, _GUARANTEES) for part in parts}
    if len(kinds) > 1:
        raise GuaranteeError(
            "the series mixes guarantees and mechanisms; give all as mechanisms, or all as the "
            "guarantees they have."
        )


def _approximate(stated: Guarantee) -> ApproxDP:
    match stated:
        case PureDP():
            return ApproxDP(stated.epsilon, 0.0, adjacency=stated.adjacency)
        case ApproxDP():
            return stated
    raise GuaranteeError(
        f"{stated} cannot be added up with the others; give releases of one kind, all pure or "
        "approximate, or all zCDP, or all mechanisms."
    )


def _at_delta(subject: Any, delta: float) -> ApproxDP | None:
    """Return the point of an account at a fixed δ; None where it has spent more."""
    match subject:
        case PureDP():
            return ApproxDP(subject.epsilon, delta, adjacency=subject.adjacency)
        case ApproxDP() | ProbabilisticDP():
            return None if subject.delta > delta else _plain(subject)
        case ZCDP():
            from discreet.composition import zcdp_epsilon

            return ApproxDP(zcdp_epsilon(subject.rho, delta), delta, adjacency=subject.adjacency)
        case PrivacyCurve():
            from discreet.beliefs.loss_bounds import at_delta

            try:
                return at_delta(subject, delta)
            except GuaranteeError:  # the curve never falls so low
                return None
    epsilon = subject.epsilon(delta)
    return None if math.isinf(epsilon) else ApproxDP(epsilon, delta, adjacency=subject.adjacency)


def _plain(subject: ApproxDP | ProbabilisticDP) -> ApproxDP:
    return subject if isinstance(subject, ApproxDP) else subject.as_approx()


def _concentrated(stated: Sequence[tuple[Guarantee, int]], method: str | None) -> ZCDP:
    if method not in (None, "paper"):
        raise InputError(
            f"method is {method!r}; for zCDP releases it must be left out, or be 'paper'."
        )
    rho = up(math.fsum(cast("ZCDP", g).rho * times for g, times in stated), 2)
    return ZCDP(rho, adjacency=stated[0][0].adjacency)


def _probabilistic(stated: Sequence[tuple[Guarantee, int]]) -> ProbabilisticDP:
    """The exceptional events of all releases together: Σε, Σδ."""
    if not all(isinstance(g, ProbabilisticDP) for g, _ in stated):
        raise GuaranteeError(
            "probabilistic and other guarantees cannot be added up together; state all of them as "
            "probabilistic, or all as (ε, δ)."
        )
    each = [cast("ProbabilisticDP", g) for g, _ in stated]
    epsilon = up(math.fsum(g.epsilon * k for g, (_, k) in zip(each, stated, strict=True)), 2)
    delta = up(math.fsum(g.delta * k for g, (_, k) in zip(each, stated, strict=True)), 2)
    return ProbabilisticDP(epsilon, min(1.0, delta), adjacency=each[0].adjacency)


def _basic(promises: Sequence[tuple[ApproxDP, int]]) -> ApproxDP:
    alone = len(promises) == promises[0][1] == 1
    if alone:
        return promises[0][0]
    epsilon = up(math.fsum(g.epsilon * times for g, times in promises), 2)
    delta = up(math.fsum(g.delta * times for g, times in promises), 2)
    return ApproxDP(epsilon, min(1.0, delta), adjacency=promises[0][0].adjacency)


def _optimal(promises: Sequence[tuple[ApproxDP, int]]) -> Any | None:
    """Each release as bad as its promise allows; None where the plain sum is the best there is."""
    from discreet.composition import theorems

    alone = len(promises) == promises[0][1] == 1
    if alone or any(g.epsilon == 0 for g, _ in promises):
        return None
    return theorems.worst_case(_triples(promises), promises[0][0].adjacency)


def _triples(promises: Sequence[tuple[ApproxDP, int]]) -> list[tuple[float, float, int]]:
    return [(g.epsilon, g.delta, times) for g, times in promises]


def _advanced(promises: Sequence[tuple[ApproxDP, int]], *, printed: bool) -> PrivacyCurve:
    """The theorem as a whole curve δ(ε): it is stated as ε(δ), and undone in closed form."""
    from discreet.composition import theorems

    name = _THEOREMS["advanced" if printed else "tanh"]
    delta_at = theorems.advanced_delta(_triples(promises), printed=printed)
    return PrivacyCurve(name, delta_at, adjacency=promises[0][0].adjacency)
