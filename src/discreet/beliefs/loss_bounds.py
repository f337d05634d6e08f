"""The bound ε' on the privacy loss, from whatever is known about a release.

Notation. L = log P(y)/Q(y) is the privacy loss of an output y, P and Q the laws of the release on
two neighbouring data sets; ε' bounds |L| (two-sided) or L (one-sided: only increases of belief
count) outside an event of probability δ', whichever of the two laws is the true one.

Three strengths, each tighter than the one before:

- *generic*: from the guarantee alone, pure DP, one (ε, δ), or ρ-zCDP; survives post-processing;
- *curve*: the best point of the whole curve δ(ε); survives post-processing;
- *exact*: from the law of the privacy loss (KSZ Theorem 3.1), at its maximum over all that a unit
  may contribute; holds for the output as released, not for every post-processing of it. Where that
  maximum is not proved, the curve is quoted instead and the result says so.

Without a choice, the strongest that survives post-processing is taken. Bounds are rounded up.

*One (ε, δ)*, KSZ Theorem 3.9: (ε, δ)-DP implies (ε', δ')-probabilistic DP for every δ' > δ with
    ε' = log(δ'e^ε + δ) − log(δ' − δ).
One-sided, by the first half of its proof alone:
    ε' = ε + log δ' − log(δ' − δ).

*ρ-zCDP*, directly on the loss. E[e^{(α−1)L}] ≤ e^{α(α−1)ρ} for every α > 1 (the definition), so by
Markov's inequality, at the best α,
    P(L > ε') ≤ e^{-(ε'−ρ)²/4ρ}                        for ε' > ρ,
and, since P(L < −ε') ≤ e^{-ε'} Q(−L > ε') with the neighbours' roles exchanged,
    P(|L| > ε') ≤ (1 + e^{-ε'}) e^{-(ε'−ρ)²/4ρ}.
One-sided this is ε' = ρ + 2√(ρ log 1/δ'). It needs nothing but ρ-zCDP, so it survives
post-processing. It equals what the tight conversion to (ε, δ)-DP of Canonne, Kamath and Steinke
(2020, Prop. 12) gives through Theorem 3.9 of KSZ, minimised over δ: for a given ε', the line
through their δ that touches the Chernoff bound is one of those that are tried.
The paper's route (KSZ Example 4.1): ε = ρ + 2√(ρ log 1/δ) for some δ (Bun and Steinke 2016,
Prop. 1.3), then Theorem 3.9, minimised over δ. It is looser; `--method paper` asks for it.

*A curve δ(E)*. Every point (E, δ(E)) gives a valid ε'(E) by Theorem 3.9; the smallest of them is
the bound to quote. With x = e^E, δ is convex in x (a supremum of the lines P(S) − xQ(S)), so
    {x : ε'(E) ≤ t} = {x : δ(x)(1 + e^{-t}) − δ'(1 − xe^{-t}) ≤ 0}
is an interval for every t: ε'(E) falls and then rises, and Brent's search finds its minimum.
Whatever point the search ends at is a valid bound, so stopping early costs tightness only, never
safety. Only E with δ(E) < δ' are of use; to the left of them ε' is infinite.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

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
from discreet.numerics import bracket, lowest
from discreet.rounding import up
from discreet.words import say

if TYPE_CHECKING:
    from discreet.composition.loss import PrivacyLoss

__all__ = [
    "CurvePoint",
    "LossBound",
    "Subject",
    "at_delta",
    "best_point",
    "best_rung",
    "by_the_papers_route",
    "epsilon_prime",
    "loss_bound",
    "method_text",
    "on_the_loss",
    "pure_epsilon",
]

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
        raise InputError("beliefs.strength", strength=strength)
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


def method_text(name: str) -> str:
    """Return how a bound is named; solvers ask for the same name at every step."""
    return _text(f"beliefs.method.{name}", os.environ.get("DISCREET_LANGUAGE"))


@lru_cache(maxsize=64)
def _text(name: str, language: str | None) -> str:
    return say(name)


def pure_epsilon(loss: PrivacyLoss) -> float:
    """Return the ε of the plan as pure DP, infinite where some probability gives all away."""
    return loss.largest() if loss.delta(math.inf) == 0 else math.inf


def _certain(epsilon: float, strength: Strength = "generic") -> LossBound:
    return LossBound(epsilon, 0.0, strength, True, method_text("pure"), (epsilon, 0.0))


def _approximate(stated: ApproxDP, delta_prime: float, sided: str) -> LossBound:
    if stated.delta == 0:
        return _certain(stated.epsilon)
    if stated.delta >= delta_prime:
        _refuse_too_small(stated.delta, delta_prime)
    bound = epsilon_prime(stated.epsilon, stated.delta, delta_prime, sided)
    return LossBound(
        bound,
        delta_prime,
        "generic",
        True,
        method_text("one_point"),
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
        _refuse_too_small(stated.delta, delta_prime)
    method = method_text("probabilistic")
    return LossBound(stated.epsilon, stated.delta, "exact", False, method)


def _concentrated(
    stated: ZCDP, delta_prime: float, sided: str, delta: float | None, papers_route: bool
) -> LossBound:
    if papers_route:
        bound = by_the_papers_route(stated.rho, delta_prime, sided)
        return LossBound(bound, delta_prime, "generic", True, method_text("papers_route"))
    if delta is not None:
        from discreet.composition import zcdp_epsilon

        point = ApproxDP(zcdp_epsilon(stated.rho, delta), delta, adjacency=stated.adjacency)
        return _approximate(point, delta_prime, sided)
    bound = on_the_loss(stated.rho, delta_prime, sided)
    return LossBound(bound, delta_prime, "generic", True, method_text("concentrated"))


def _curve(
    stated: PrivacyCurve,
    delta_prime: float,
    sided: str,
    delta: float | None,
    hint: float | None,
) -> LossBound:
    if delta is not None:
        return _approximate(at_delta(stated, delta), delta_prime, sided)
    found = best_point(stated.delta_at, delta_prime, sided, hint=hint)
    return _on_curve(found, delta_prime)


def at_delta(stated: PrivacyCurve, delta: float) -> ApproxDP:
    """Return the point (ε, δ) of a curve that is only known as a function of ε."""
    low, high = 0.0, 1.0
    while stated.delta_at(high) > delta:
        low, high = high, 2 * high
        if high > 1e9:
            raise GuaranteeError("beliefs.curve_never_falls_to", curve=stated.name, delta=delta)
    if stated.delta_at(low) <= delta:
        return ApproxDP(low, delta, adjacency=stated.adjacency)
    high, _ = bracket(lambda x: stated.delta_at(x) <= delta, high, low, relative=1e-13)
    return ApproxDP(high, delta, adjacency=stated.adjacency)


def _on_curve(found: CurvePoint, delta_prime: float) -> LossBound:
    if math.isinf(found.epsilon_prime):
        raise GuaranteeError("beliefs.curve_never_below", failure=delta_prime)
    if found.delta == 0:
        return _certain(found.epsilon_prime, "curve")
    return LossBound(
        found.epsilon_prime,
        delta_prime,
        "curve",
        True,
        say("beliefs.method.curve", epsilon=found.epsilon, delta=found.delta),
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
            return LossBound(bound, delta_prime, "exact", False, method_text("exact"))
        note = say("beliefs.exact_not_proved")
    if delta is not None:
        point = ApproxDP(loss.epsilon(delta), delta, adjacency=Adjacency.of(loss.adjacency))
        return _approximate(point, delta_prime, sided)
    from discreet.composition.walk import WalkLoss

    if isinstance(loss, WalkLoss):
        found = best_rung(loss.delta, loss.step, loss.times, delta_prime, sided, hint=hint)
    else:
        found = best_point(loss.delta, delta_prime, sided, hint=hint)
    largest = pure_epsilon(loss)
    if largest <= found.epsilon_prime:
        found = CurvePoint(largest, largest, 0.0)
    return replace(_on_curve(found, delta_prime), note=note)


def _refuse_too_small(delta: float, delta_prime: float) -> None:
    """Raise the error for a confidence that δ does not allow."""
    raise GuaranteeError("beliefs.delta_above_failure", failure=delta_prime, delta=delta)


def epsilon_prime(epsilon: float, delta: float, delta_prime: float, sided: str = "two") -> float:
    """Return ε' of Theorem 3.9, never below the true value; infinite where δ' ≤ δ.

    >>> round(epsilon_prime(1.8, 1e-5, 0.05), 6)
    1.800233
    """
    two = check_sided(sided)
    check_failure(delta_prime)
    if delta == 0:
        return epsilon
    if delta >= delta_prime:
        return math.inf
    # (δ' − δ)/δ' loses nothing by cancellation: the difference of two close doubles is exact.
    share = delta / delta_prime
    tail = -(math.log1p(-share) if share < 0.5 else math.log((delta_prime - delta) / delta_prime))
    both = math.log1p(delta * math.exp(-epsilon) / delta_prime) if two else 0.0
    return up(epsilon + both + tail)


def on_the_loss(rho: float, delta_prime: float, sided: str = "two") -> float:
    """Return ε' with P(|L| > ε') ≤ δ' (one-sided: P(L > ε')) for every ρ-zCDP release.

    >>> round(on_the_loss(0.07, 0.01, "one"), 4)
    1.2055
    """
    two = check_sided(sided)
    check_failure(delta_prime)
    if rho == 0 or math.isinf(rho):
        return rho
    size = -math.log(delta_prime)
    bound = rho + 2 * math.sqrt(rho * size)
    if not two:
        return up(bound)
    # Newton's method on x − ρ − 2√(ρ(size + log(1 + e^-x))), rising and concave: from the left, as
    # the one-sided bound is, it climbs to the root.
    for _ in range(100):
        small = math.exp(-bound)
        root = math.sqrt(rho * (size + math.log1p(small)))
        if root == 0:  # δ' is 1 and e^-ρ too small for a number: the bound is ρ itself
            break
        step = (rho + 2 * root - bound) / (1 + rho * small / (1 + small) / root)
        bound += step
        if step <= 2e-16 * bound:
            break
    return up(bound)


def by_the_papers_route(rho: float, delta_prime: float, sided: str = "two") -> float:
    """Return ε' as KSZ Example 4.1 computes it; looser than `on_the_loss`.

    >>> round(1 / (1 + math.exp(-by_the_papers_route(0.07, 0.01))), 3)
    0.83
    """
    check_failure(delta_prime)
    if rho == 0 or math.isinf(rho):
        return rho

    def bound(epsilon: float) -> float:
        if epsilon <= rho:
            return math.inf
        delta = up(math.exp(-((epsilon - rho) ** 2) / (4 * rho)))
        return epsilon_prime(epsilon, min(1.0, delta), delta_prime, sided)

    return lowest(bound)[1]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The bound ε', and the point (ε, δ) of the curve that gave it."""

    epsilon_prime: float
    epsilon: float
    delta: float


def best_point(
    delta_at: Callable[[float], float],
    delta_prime: float,
    sided: str = "two",
    *,
    hint: float | None = None,
) -> CurvePoint:
    """Return the smallest ε' over the curve; `hint` is an ε near the best point, if one is known.

    >>> point = best_point(lambda e: 0.0 if e >= 1 else 1.0, 0.01)
    >>> round(point.epsilon_prime, 9)
    1.0
    """

    def bound(epsilon: float) -> float:
        return epsilon_prime(epsilon, min(1.0, delta_at(epsilon)), delta_prime, sided)

    epsilon, value = lowest(bound, hint=hint)
    if math.isinf(value):
        return CurvePoint(math.inf, math.inf, 1.0)
    return CurvePoint(value, epsilon, min(1.0, delta_at(epsilon)))


def best_rung(
    delta_at: Callable[[float], float],
    step: float,
    times: int,
    delta_prime: float,
    sided: str = "two",
    *,
    hint: float | None = None,
) -> CurvePoint:
    """Return the smallest ε' over a curve that is linear in e^ε between the rungs (k − 2ℓ)ε₀.

    ε' is log of (δ'e^ε + δ)/(δ' − δ) (one-sided: without the second δ): between rungs a ratio of
    two lines in e^ε, hence monotone, so the smallest is at a rung, or at ε = 0.
    """

    def bound(rung: int) -> float:
        epsilon = max(0, rung) * step
        return epsilon_prime(epsilon, min(1.0, delta_at(epsilon)), delta_prime, sided)

    rung, value, stride = times, math.inf, 2 * (1 + times // 8)
    if hint is not None:
        near = min(times, round(hint / step))
        near -= (near - times) % 2
        value = bound(near)
        rung, stride = (near, 2) if value < math.inf else (rung, stride)
    if math.isinf(value):  # no hint, or one too far left to lead anywhere
        value = bound(rung)
    while stride >= 2:
        for nearer in (rung - stride, rung + stride):
            if -1 <= nearer <= times and (other := bound(nearer)) < value:
                rung, value, stride = nearer, other, 2 * stride
                break
        else:
            stride = 2 * (stride // 4)
    if math.isinf(value):
        return CurvePoint(math.inf, math.inf, 1.0)
    epsilon = max(0, rung) * step
    return CurvePoint(value, epsilon, min(1.0, delta_at(epsilon)))
