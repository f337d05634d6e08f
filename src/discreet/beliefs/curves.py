"""The best bound that a whole privacy curve δ(E) gives.

Notation. δ(E) bounds the δ of a mechanism at every E ≥ 0; ε', δ' as in `approximate`.

Every point (E, δ(E)) gives a valid ε'(E) by KSZ Theorem 3.9; the smallest of them is the bound to
quote. With x = e^E, δ is convex in x (it is a supremum of the lines P(S) − xQ(S)), so the set
    {x : ε'(E) ≤ t} = {x : δ(x)(1 + e^{-t}) − δ'(1 − xe^{-t}) ≤ 0}
is an interval for every t: ε'(E) falls and then rises, and a golden-section search finds its
minimum. Whatever point the search ends at is a valid bound, so stopping early costs tightness only,
never safety. Only E with δ(E) < δ' are of use; to the left of them ε' is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from discreet.beliefs.approximate import epsilon_prime

__all__ = ["CurvePoint", "best_point", "lowest"]

_GOLDEN = (math.sqrt(5) - 1) / 2
_FAR = 1e6  # beyond it a loss of any use to anybody is long passed


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


def lowest(
    bound: Callable[[float], float], *, hint: float | None = None, tolerance: float = 1e-11
) -> tuple[float, float]:
    """Return where a bound that falls and then rises is smallest on [0, ∞), and its value there.

    The bound may be infinite at the left, and is at least its argument (as ε' is at least ε): no
    point beyond a value already found can be better. Returns `(inf, inf)` if it is nowhere finite.
    """
    low = 0.0
    best, value = 0.0, bound(0.0)
    if hint is not None and hint > 0:
        at_hint = bound(hint)
        if at_hint < value:
            best, value = hint, at_hint
            # A narrow bracket around the hint, widened until the bound rises on both sides.
            width = 0.02 * hint
            left, right = max(0.0, hint - width), hint + width
            while left > 0 and bound(left) <= value:
                width *= 2
                left = max(0.0, left - width)
            while bound(right) <= value and right < value:
                width *= 2
                right = right + width
            return _golden(bound, left, min(right, value), best, value, tolerance)
    step = 1.0
    while math.isinf(value) and step <= _FAR:
        best, value = step, bound(step)
        low, step = (step, 2 * step) if math.isinf(value) else (low, step)
    if math.isinf(value):
        return math.inf, math.inf
    return _golden(bound, low, value, best, value, tolerance)


def _golden(
    bound: Callable[[float], float],
    low: float,
    high: float,
    best: float,
    value: float,
    tolerance: float,
) -> tuple[float, float]:
    c, d = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_c, at_d = bound(c), bound(d)
    while high - low > tolerance * max(high, 1e-12):
        if at_c < value:
            best, value = c, at_c
        if at_d < value:
            best, value = d, at_d
        if at_c < at_d:
            high, d, at_d = d, c, at_c
            c = high - _GOLDEN * (high - low)
            at_c = bound(c)
        else:  # a tie of infinities is at the left
            low, c, at_c = c, d, at_d
            d = low + _GOLDEN * (high - low)
            at_d = bound(d)
        if not low <= c <= d <= high:
            break
    return best, value
