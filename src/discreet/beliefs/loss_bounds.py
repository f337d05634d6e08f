"""The bound ε' on the privacy loss, from whatever is known about a release: one dispatch for all.

Three strengths, each tighter than the one before:

- *generic*: from the guarantee alone, pure DP, one (ε, δ), or ρ-zCDP; survives post-processing;
- *curve*: the best point of the whole curve δ(ε) (`curves`); survives post-processing;
- *exact*: from the law of the privacy loss (KSZ Theorem 3.1), at its maximum over all that a unit
  may contribute; holds for the output as released, not for every post-processing of it. Where that
  maximum is not proved, the curve is quoted instead and the result says so.

Without a choice, the strongest that survives post-processing is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from discreet.beliefs import approximate, concentrated, curves
from discreet.beliefs.belief import Strength
from discreet.beliefs.confidence import check_failure, check_sided
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
from discreet.rounding import up

if TYPE_CHECKING:
    from discreet.composition.loss import PrivacyLoss

__all__ = ["LossBound", "Subject", "at_delta", "loss_bound", "pure_epsilon"]

Subject: TypeAlias = "Guarantee | PrivacyLoss"


@dataclass(frozen=True, slots=True)
class LossBound:
    """|L| ≤ ε' (or L ≤ ε') with probability at least 1 − `failure`, and where that comes from.

    `point` is the (ε, δ)-DP promise that it came from, where it came from one.
    """

    epsilon_prime: float
    failure: float
    strength: Strength
    survives: bool
    method: str
    point: tuple[float, float] | None = None
    note: str | None = None


def loss_bound(
    subject: Subject,
    delta_prime: float,
    sided: str = "two",
    *,
    strength: Strength | None = None,
    delta: float | None = None,
    papers_route: bool = False,
    hint: float | None = None,
) -> LossBound:
    """Return the bound on the privacy loss that fails with probability at most δ'.

    `delta` fixes one point of a curve; without it the best point is taken. `papers_route` is KSZ's
    own for zCDP. `hint` is an ε near the best point of the curve, where one is known.
    """
    check_failure(delta_prime)
    check_sided(sided)
    if strength not in (None, "generic", "curve", "exact"):
        raise InputError(f"strength is {strength!r}; it must be generic, curve or exact.")
    match subject:
        case PureDP():
            return _certain(subject.epsilon)
        case ApproxDP():
            return _approximate(subject, delta_prime, sided)
        case ProbabilisticDP():
            return _probabilistic(subject, delta_prime, sided, strength)
        case ZCDP():
            return _concentrated(subject, delta_prime, sided, delta, papers_route)
        case PrivacyCurve():
            return _curve(subject, delta_prime, sided, delta, hint)
    return _loss(subject, delta_prime, sided, strength, delta, hint)


def pure_epsilon(loss: PrivacyLoss) -> float:
    """Return the ε of the plan as pure DP, infinite where some probability gives all away."""
    return loss.largest() if loss.delta(math.inf) == 0 else math.inf


def _certain(epsilon: float, strength: Strength = "generic") -> LossBound:
    return LossBound(epsilon, 0.0, strength, True, "pure DP: for every output", (epsilon, 0.0))


def _approximate(stated: ApproxDP, delta_prime: float, sided: str) -> LossBound:
    if stated.delta == 0:
        return _certain(stated.epsilon)
    if stated.delta >= delta_prime:
        approximate.refuse_too_small(stated.delta, delta_prime)
    bound = approximate.epsilon_prime(stated.epsilon, stated.delta, delta_prime, sided)
    return LossBound(
        bound,
        delta_prime,
        "generic",
        True,
        "KSZ Theorem 3.9 from one (ε, δ)",
        (stated.epsilon, stated.delta),
    )


def _probabilistic(
    stated: ProbabilisticDP, delta_prime: float, sided: str, strength: Strength | None
) -> LossBound:
    if stated.delta == 0:
        return _certain(stated.epsilon)
    if strength in ("generic", "curve"):
        return _approximate(stated.as_approx(), delta_prime, sided)
    if stated.delta > delta_prime:
        approximate.refuse_too_small(stated.delta, delta_prime)
    return LossBound(
        stated.epsilon, stated.delta, "exact", False, "KSZ Theorem 3.2 (probabilistic DP)"
    )


def _concentrated(
    stated: ZCDP, delta_prime: float, sided: str, delta: float | None, papers_route: bool
) -> LossBound:
    if papers_route:
        bound = concentrated.papers_route(stated.rho, delta_prime, sided)
        method = "KSZ Example 4.1: ε = ρ + 2√(ρ log 1/δ), Theorem 3.9, best δ"
        return LossBound(bound, delta_prime, "generic", True, method)
    if delta is not None:
        from discreet.composition import zcdp_epsilon

        point = ApproxDP(zcdp_epsilon(stated.rho, delta), delta, adjacency=stated.adjacency)
        return _approximate(point, delta_prime, sided)
    bound = concentrated.on_the_loss(stated.rho, delta_prime, sided)
    return LossBound(bound, delta_prime, "generic", True, "on the privacy loss of any ρ-zCDP")


def _curve(
    stated: PrivacyCurve,
    delta_prime: float,
    sided: str,
    delta: float | None,
    hint: float | None,
) -> LossBound:
    if delta is not None:
        return _approximate(at_delta(stated, delta), delta_prime, sided)
    found = curves.best_point(stated.delta_at, delta_prime, sided, hint=hint)
    return _on_curve(found, delta_prime)


def at_delta(stated: PrivacyCurve, delta: float) -> ApproxDP:
    """Return the point (ε, δ) of a curve that is only known as a function of ε."""
    low, high = 0.0, 1.0
    while stated.delta_at(high) > delta:
        low, high = high, 2 * high
        if high > 1e9:
            raise GuaranteeError(f"the curve {stated.name!r} never falls to delta = {delta:g}.")
    if stated.delta_at(low) <= delta:
        return ApproxDP(low, delta, adjacency=stated.adjacency)
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if stated.delta_at(middle) <= delta else (middle, high)
    return ApproxDP(high, delta, adjacency=stated.adjacency)


def _on_curve(found: curves.CurvePoint, delta_prime: float) -> LossBound:
    if math.isinf(found.epsilon_prime):
        raise GuaranteeError(
            f"the privacy curve never falls below {delta_prime:g}, so no belief bound fails with "
            "so small a probability; lower the confidence."
        )
    if found.delta == 0:
        return _certain(found.epsilon_prime, "curve")
    point = f"ε = {found.epsilon:.6g}, δ = {found.delta:.3g}"
    return LossBound(
        found.epsilon_prime,
        delta_prime,
        "curve",
        True,
        f"KSZ Theorem 3.9 at the best point of the curve ({point})",
        (found.epsilon, found.delta),
    )


def _loss(
    loss: PrivacyLoss,
    delta_prime: float,
    sided: str,
    strength: Strength | None,
    delta: float | None,
    hint: float | None,
) -> LossBound:
    note = None
    if strength == "exact":
        if loss.exact_proved:
            bound = up(loss.exact_epsilon(delta_prime, "two" if sided == "two" else "one"))
            method = "KSZ Theorem 3.1: the law of the privacy loss, largest over contributions"
            return LossBound(bound, delta_prime, "exact", False, method)
        note = (
            "the exact bound needs a maximum over contributions that is not proved here; "
            "the curve is quoted instead."
        )
    if delta is not None:
        point = ApproxDP(loss.epsilon(delta), delta, adjacency=Adjacency.of(loss.adjacency))
        return _approximate(point, delta_prime, sided)
    from discreet.composition.walk import WalkLoss

    if isinstance(loss, WalkLoss):
        found = curves.best_rung(loss.delta, loss.step, loss.times, delta_prime, sided, hint=hint)
    else:
        found = curves.best_point(loss.delta, delta_prime, sided, hint=hint)
    largest = pure_epsilon(loss)
    if largest <= found.epsilon_prime:
        found = curves.CurvePoint(largest, largest, 0.0)
    return replace(_on_curve(found, delta_prime), note=note)
