"""How often the privacy loss passes a limit, from one (ε, δ) or from the curve of a release.

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
search ends at is valid. Everything is
rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from discreet.numerics import lowest_between
from discreet.rounding import up

__all__ = ["Bound", "fall_at", "least_along", "rise_at"]

#: How often a limit x is passed, from ε, δ and x.
Bound: TypeAlias = Callable[[float, float, float], float]


def rise_at(epsilon: float, delta: float, x: float) -> float:
    """T(x) from one point (ε, δ)."""
    if delta == 0:
        return 0.0 if epsilon <= x else 1.0
    return up(delta / -math.expm1(epsilon - x)) if epsilon < x else 1.0


def fall_at(epsilon: float, delta: float, x: float) -> float:
    """F(x) from one point (ε, δ)."""
    if delta == 0:
        return 0.0 if epsilon <= x else 1.0
    if epsilon >= x or epsilon > 700:
        return 1.0
    # e^x(1 + z) − z over e^x − z, both divided by e^x
    near = math.exp(epsilon - x)
    return up(delta * (1 + math.exp(epsilon) - near) / -math.expm1(epsilon - x))


def least_along(delta_at: Callable[[float], float], x: float, bound: Bound) -> float:
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
