"""How often the privacy loss passes a limit, from whatever is known about a release.

Notation. P1, P2 and Q are the laws of the release with the unit in and sensitive, in and not
sensitive, and absent. One step lies between Q and either of the others, two steps between P1 and
P2; m steps are m neighbours apart. (ε, δ) is any point of the curve of the step in question.

Rises. With S = {P1 > e^x Q}: P1(S) ≤ e^ε Q(S) + δ and P1(S) ≥ e^x Q(S) give Q(S) ≤ δ/(e^x − e^ε).
Every law that is within (ε, δ) of Q, and so P1 and P2 alike, has there at most
    T(x) = δ/(1 − e^{ε−x}),                        smallest over the curve.
For two steps the same holds between P1 and P2, and under Q, as long as the δ of two steps is at
least that of one at the same ε.

Falls. With S' = {Q > e^x P1}: Q(S') ≤ δ/(1 − e^{ε−x}); under P2, which is two steps away from P1
and one from Q, P2(S') ≤ e^ε Q(S') + δ, so
    F(x) = δ (e^x(1 + e^ε) − e^ε)/(e^x − e^ε),     smallest over the curve.

With t = e^{-x} and z = e^ε, T ≤ c is δ(z) ≤ c(1 − zt), convex against a line, so the points that
give T ≤ c are an interval: T falls and then rises along the curve, and so does F. Whatever point a
search ends at is valid. ρ-zCDP has T(x) = e^{-(x−ρ)²/4ρ} (`loss_bounds`). Everything is rounded
up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.guarantees import (
    ZCDP,
    ApproxDP,
    Guarantee,
    PrivacyCurve,
    ProbabilisticDP,
    PureDP,
)
from discreet.numerics import lowest_between
from discreet.rounding import up

if TYPE_CHECKING:
    from discreet.composition.loss import PrivacyLoss

__all__ = ["chance_of_fall", "chance_of_rise"]

Subject: TypeAlias = "Guarantee | PrivacyLoss"
_Bound: TypeAlias = Callable[[float, float, float], float]
_TINY = 5e-324


def chance_of_rise(subject: Subject, x: float, least: Subject | None = None) -> float:
    """Return T(x): a bound of how often the loss of these steps is above x.

    `least` is the loss of one step, whose δ must not be above the one that is used.

    >>> chance_of_rise(PureDP(1.0), 1.0), chance_of_rise(ApproxDP(1.0, 0.01), 1.0)
    (0.0, 1.0)
    """
    return _chance(subject, x, _rise, least)


def chance_of_fall(subject: Subject, x: float) -> float:
    """Return F(x): a bound of how often −loss is above x, also when the truth is two steps away."""
    return _chance(subject, x, _fall, None)


def _rise(epsilon: float, delta: float, x: float) -> float:
    if delta == 0:
        return 0.0 if epsilon <= x else 1.0
    return up(delta / -math.expm1(epsilon - x)) if epsilon < x else 1.0


def _fall(epsilon: float, delta: float, x: float) -> float:
    if delta == 0:
        return 0.0 if epsilon <= x else 1.0
    if epsilon >= x or epsilon > 700:
        return 1.0
    # e^x(1 + z) − z over e^x − z, both divided by e^x
    near = math.exp(epsilon - x)
    return up(delta * (1 + math.exp(epsilon) - near) / -math.expm1(epsilon - x))


def _chance(subject: Subject, x: float, bound: _Bound, least: Subject | None) -> float:
    if math.isinf(x):
        return 0.0
    match subject:
        case PureDP():
            return bound(subject.epsilon, 0.0, x)
        case ApproxDP():
            return min(1.0, bound(subject.epsilon, subject.delta, x))
        case ProbabilisticDP():
            return min(1.0, bound(subject.epsilon, subject.delta, x))
        case ZCDP():
            return _concentrated(subject, x, bound)
    if not isinstance(subject, PrivacyCurve):
        from discreet.beliefs.loss_bounds import pure_epsilon

        if pure_epsilon(subject) <= x:
            return 0.0
    return _along(_delta_of(subject, least), x, bound)


def _delta_of(subject: Subject, least: Subject | None) -> Callable[[float], float]:
    own = _function(subject)
    if least is None or isinstance(least, PureDP | ApproxDP | ProbabilisticDP | ZCDP):
        return own  # group privacy, and ρ, grow with the steps
    other = _function(least)
    return lambda epsilon: max(own(epsilon), other(epsilon))


def _function(subject: Any) -> Callable[[float], float]:
    found: Callable[[float], float] = (
        subject.delta_at if isinstance(subject, PrivacyCurve) else subject.delta
    )
    return found


def _along(delta_at: Callable[[float], float], x: float, bound: _Bound) -> float:
    """The least bound over the curve to the left of x."""
    if x <= 0:
        return 1.0

    def at(epsilon: float) -> float:
        return min(1.0, bound(epsilon, min(1.0, max(0.0, delta_at(epsilon))), x))

    # On a logarithmic scale the smallest values, which matter, do not drown.
    def logarithm(epsilon: float) -> float:
        value = at(epsilon)
        return math.log(value) if value > 0 else -1e6

    place, value = lowest_between(logarithm, 0.0, x)
    return 0.0 if value <= -1e6 else min(1.0, at(place), at(0.0))


def _concentrated(subject: ZCDP, x: float, bound: _Bound) -> float:
    rho = subject.rho
    if rho == 0:
        return 0.0 if x >= 0 else 1.0
    if x <= rho or math.isinf(rho):
        return 1.0
    if bound is _rise:
        chance = math.exp(-((x - rho) ** 2) / (4 * rho))
        return min(1.0, up(max(chance, _TINY), 64))  # never certain, however small
    from discreet.composition.concentrated import zcdp_delta

    return _along(lambda epsilon: zcdp_delta(rho, epsilon), x, bound)
