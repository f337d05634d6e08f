"""How large the privacy loss may be: from (ε, δ), and from the best point of a whole curve δ(E).

Notation. L = log P(y)/Q(y) is the privacy loss of an output y, P and Q the laws of the release on
two neighbouring data sets; ε' bounds |L| (two-sided) or L (one-sided: only increases of belief
count) outside an event of probability δ', whichever of the two laws is the true one.

KSZ Theorem 3.9: (ε, δ)-DP implies (ε', δ')-probabilistic DP for every δ' > δ with
    ε' = log(δ'e^ε + δ) − log(δ' − δ).
One-sided, by the first half of its proof alone:
    ε' = ε + log δ' − log(δ' − δ).

δ(E) bounds the δ of a mechanism at every E ≥ 0. Every point (E, δ(E)) gives a valid ε'(E), and the
smallest of them is the bound to quote. With x = e^E, δ is convex in x (it is a supremum of the
lines P(S) − xQ(S)), so the set
    {x : ε'(E) ≤ t} = {x : δ(x)(1 + e^{-t}) − δ'(1 − xe^{-t}) ≤ 0}
is an interval for every t: ε'(E) falls and then rises, and Brent's search finds its minimum.
Whatever point the search ends at is a valid bound, so stopping early costs tightness only, never
safety. Only E with δ(E) < δ' are of use; to the left of them ε' is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from discreet.errors import InputError
from discreet.rounding import up

__all__ = [
    "CurvePoint",
    "Sided",
    "Strength",
    "best_point",
    "best_rung",
    "check_failure",
    "check_sided",
    "epsilon_prime",
    "lowest",
    "lowest_between",
    "rung",
]

Sided: TypeAlias = Literal["one", "two"]
Strength: TypeAlias = Literal["generic", "curve", "exact"]

_GOLDEN = (math.sqrt(5) - 1) / 2
_NEAR = 2e-8  # where a smooth bound is flat to the last digit
_FAR = 1e12  # beyond it a loss of any use to anybody is long passed


def check_failure(delta_prime: float) -> float:
    """Return a failure probability in (0, 1]; refuse anything else."""
    if math.isnan(delta_prime) or not 0 < delta_prime <= 1:
        raise InputError("composition.failure_outside", failure=delta_prime)
    return delta_prime


def check_sided(sided: str) -> bool:
    """Return whether both directions count; refuse anything but "one" and "two"."""
    if sided not in ("one", "two"):
        raise InputError("composition.sided_unknown", sided=sided)
    return sided == "two"


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


def rung(m: int, step: float) -> float:
    """mε₀, not below it."""
    value = m * step
    return value if Fraction(value) >= m * Fraction(step) else math.nextafter(value, math.inf)


def lowest(
    bound: Callable[[float], float], *, hint: float | None = None, tolerance: float = 1e-9
) -> tuple[float, float]:
    """Return where a bound that falls and then rises is smallest on [0, ∞), and its value there.

    The bound may be infinite at the left, and is at least its argument (as ε' is at least ε): no
    point beyond a value already found can be better. Returns `(inf, inf)` if it is nowhere finite.
    `hint` is a place near the lowest point; from there fewer evaluations are needed.
    """
    if hint is not None and hint > 0:
        value = bound(hint)
        if value < math.inf:
            vertex = _vertex(bound, hint, value)
            if vertex is not None:
                return vertex
            left, right = _around(bound, hint, value)
            return _brent(bound, left, right, hint, value, max(tolerance, _NEAR))
    low, place = 0.0, 0.0
    value = bound(0.0)
    step = 1.0
    while math.isinf(value) and step <= _FAR:
        value = bound(step)
        low, place, step = (step, place, 2 * step) if math.isinf(value) else (low, step, step)
    if math.isinf(value):
        return math.inf, math.inf
    return _brent(bound, low, max(value, place), place, value, tolerance)


def lowest_between(
    bound: Callable[[float], float], low: float, high: float, tolerance: float = 1e-9
) -> tuple[float, float]:
    """Return where a bound that falls and then rises is smallest on [low, high], and its value."""
    start = high - _GOLDEN * (high - low)
    return _brent(bound, low, high, start, bound(start), tolerance)


def _vertex(
    bound: Callable[[float], float], hint: float, value: float
) -> tuple[float, float] | None:
    """Return the lowest point near a good hint by one parabola; None if the hint is not near.

    Within a thousandth of the lowest point of a smooth bound, the value at the vertex is off by
    some 1e-12 of it, and on the safe side as every value of a bound is.
    """
    width = 1e-3 * hint
    left, right = bound(hint - width), bound(hint + width)
    bend = left - 2 * value + right
    if not 0 < bend < math.inf:
        return None
    shift = (left - right) / (2 * bend)
    if not abs(shift) < 1:
        return None
    place = hint + shift * width
    lowest_value = bound(place)
    return (place, lowest_value) if lowest_value <= min(left, value, right) else None


def _around(bound: Callable[[float], float], hint: float, value: float) -> tuple[float, float]:
    """Return ends at which the bound is above its value at the hint."""
    width = 0.002 * hint
    left, right = max(0.0, hint - width), hint + width
    while left > 0 and bound(left) < value:
        width *= 4
        left = max(0.0, left - width)
    width = 0.002 * hint
    while right < value and bound(right) < value:
        width *= 4
        right += width
    return left, right


def _brent(
    bound: Callable[[float], float],
    low: float,
    high: float,
    place: float,
    value: float,
    tolerance: float,
) -> tuple[float, float]:
    """Brent's search (1973, ch. 5): a parabola where it helps, a golden section where not."""
    best, value_best = place, value
    x = place if low < place < high else high - _GOLDEN * (high - low)
    f_x = value if x == place else bound(x)
    w = v = x
    f_w = f_v = f_x
    step = before = 0.0
    for _ in range(200):
        middle, close = (low + high) / 2, tolerance * abs(x) + 1e-300
        if abs(x - middle) <= 2 * close - (high - low) / 2:
            break
        parabola = False
        if abs(before) > close and math.isfinite(f_v) and math.isfinite(f_w):
            r, q = (x - w) * (f_x - f_v), (x - v) * (f_x - f_w)
            p, q = (x - v) * q - (x - w) * r, 2 * (q - r)
            p, q = (-p, q) if q > 0 else (p, -q)
            if abs(p) < abs(q * before / 2) and q * (low - x) < p < q * (high - x):
                before, step, parabola = step, p / q, True
                if min(x + step - low, high - x - step) < 2 * close:
                    step = math.copysign(close, middle - x)
        if not parabola:
            before = (high - x) if x < middle else (low - x)
            step = (1 - _GOLDEN) * before
        u = x + (step if abs(step) >= close else math.copysign(close, step))
        f_u = bound(u)
        if math.isinf(f_u) and math.isinf(f_x):  # both are left of what is finite
            low, x, f_x = max(x, u), max(x, u), f_u
            x = low + _GOLDEN * (high - low)
            f_x = bound(x)
            w = v = x
            f_w = f_v = f_x
        elif f_u <= f_x:
            low, high = (low, x) if u < x else (x, high)
            v, f_v, w, f_w, x, f_x = w, f_w, x, f_x, u, f_u
        else:
            low, high = (u, high) if u < x else (low, u)
            if f_u <= f_w or w == x:
                v, f_v, w, f_w = w, f_w, u, f_u
            elif f_u <= f_v or v in (x, w):
                v, f_v = u, f_u
        if f_x < value_best:
            best, value_best = x, f_x
    return best, value_best
