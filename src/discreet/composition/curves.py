"""How large the privacy loss may be, and how often it passes a limit: from (ε, δ) or a whole curve.

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

Tails. P1, P2 and Q are the laws of the release with the unit in and sensitive, in and not
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
search ends at is valid. Everything is rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from discreet.errors import InputError
from discreet.numerics import double_above, lowest, lowest_between, lowest_whole
from discreet.rounding import up

Sided: TypeAlias = Literal["one", "two"]
Strength: TypeAlias = Literal["generic", "curve", "exact"]
#: How often a limit x is passed, from ε, δ and x.
Bound: TypeAlias = Callable[[float, float, float], float]


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

    def at(downs: int) -> float:
        return max(0, times - 2 * downs) * step

    def bound(downs: int) -> float:
        return epsilon_prime(at(downs), min(1.0, delta_at(at(downs))), delta_prime, sided)

    most = (times + 1) // 2
    start, stride = 0, 1 + times // 8
    if hint is not None:
        near = min(most, max(0, math.ceil((times - hint / step) / 2)))
        if bound(near) < math.inf:  # not too far to the left to lead anywhere
            start, stride = near, 1
    downs, value = lowest_whole(bound, start, most, stride)
    if math.isinf(value):
        return CurvePoint(math.inf, math.inf, 1.0)
    return CurvePoint(value, at(downs), min(1.0, delta_at(at(downs))))


def rung(m: int, step: float) -> float:
    """mε₀, not below it."""
    return double_above(m * Fraction(step))


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

    place, value = lowest_between(logarithm, 0.0, x, hint=_near_least(delta_at, x))
    if value <= -1e6:
        return 0.0
    return min(at(place), at(0.0)) if place < x / 64 else at(place)


def _near_least(delta_at: Callable[[float], float], x: float) -> float | None:
    """Where the least of T may lie: x − log(1 + 1/θ), if δ falls like e^{−θε} to the left of x."""
    near = x * 0.999
    ends = delta_at(near), delta_at(x)
    if not 1e-300 < ends[1] < ends[0] < 1:
        return None
    falls = math.log(ends[0] / ends[1]) / (x - near)
    return x - math.log1p(1 / falls)
