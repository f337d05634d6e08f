"""How far belief may fall: the largest ε under which a ratio or a difference holds downward too.

Notation. u = e^ε, s = pq, and D(p, q; u) = pq + u²(1−q)p + u(1−p), the denominator of K&R's lower
bound r ≥ 1/D. A promise that belief falls at most r̃-fold asks for D ≤ r̃, one that it falls by at
most b for D ≤ s/(s−b) wherever s > b.

- D falls in q and is linear in p, so a ratio is worst at q = q0 and one end of p.
- At a given s, D rises in p. A difference is therefore worst on two edges of the box, p = p1 and
  q = q0. On each D = K − Ms for some K and M, and the promise is
      f(s) = −Ms² + (K + Mb − 1)s − Kb ≤ 0,
  a parabola whose largest value is at one end or at its vertex.

D rises with u, so the largest u is found between one that was seen to keep the promise and one that
was seen to break it. Both are checked in exact fractions: no rounding can make the answer unsafe.
With v = u − 1, ε = log1p(v), small budgets lose no digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from discreet.numerics import bracket
from discreet.promises.box import Box
from discreet.rounding import down, up

__all__ = ["Fall", "difference_falls", "ratio_falls"]


class Fall(NamedTuple):
    """lower ≤ ε ≤ upper, and the prior that binds it."""

    lower: float
    upper: float
    p: float
    q: float


_PLENTY = 1e100  # a fall so deep is no limit to anybody: that of this one is safe all the same
_ANY = Fall(math.inf, math.inf, 1.0, 1.0)


def ratio_falls(ratio: float, box: Box) -> Fall:
    """Return the largest ε under which belief falls at most `ratio`-fold over the box.

    >>> round(ratio_falls(3, Box(0.5, 0.5, 1, 1)).lower, 6)
    1.609438
    """
    return min(_ratio_at(ratio, p, box.q0) for p in (box.p0, box.p1))


def _ratio_at(ratio: float, p: float, q: float) -> Fall:
    A, B, more = p * (1 - q), 1 - p, ratio - 1
    if A == B == 0 or math.isinf(ratio):
        return _ANY._replace(p=p, q=q)
    if ratio > _PLENTY:  # D is at most u²
        return Fall(math.log(_PLENTY) / 2, math.inf, p, q)
    guess = 2 * more / (2 * A + B + math.sqrt((2 * A + B) ** 2 + 4 * A * more))
    exact_p, exact_q, exact_r = Fraction(p), Fraction(q), Fraction(ratio)

    def keeps(v: float) -> bool:
        u = 1 + Fraction(v)
        D = exact_p * exact_q + u * u * (1 - exact_q) * exact_p + u * (1 - exact_p)
        return exact_r >= D

    return Fall(*_around(keeps, guess), p, q)


def difference_falls(difference: float, box: Box) -> Fall:
    """Return the largest ε under which belief falls by at most `difference` over the box.

    >>> fall = difference_falls(0.2, Box())
    >>> round(fall.lower, 6), fall.p, round(fall.q, 6)
    (0.405465, 1.0, 0.6)
    """
    if difference >= box.p1 * box.q1:
        return _ANY._replace(p=box.p1, q=box.q1)
    b = Fraction(difference)
    ends = [Fraction(end) for end in (box.p0, box.p1, box.q0, box.q1)]

    def worst(v: Fraction) -> tuple[Fraction, float, float]:
        p0, p1, q0, q1 = ends
        u = 1 + v
        found = []
        for s, f in _largest(u * u * p1 + u * (1 - p1), u * u - 1, b, p1 * q0, p1 * q1):
            found.append((f, float(p1), float(s / p1)))
        if q0 > 0:
            M = v * (q0 - u * (1 - q0)) / q0
            for s, f in _largest(u, M, b, p0 * q0, p1 * q0):
                found.append((f, float(s / q0), float(q0)))
        return max(found, default=(Fraction(-1), float(p1), float(q1)))

    def keeps(v: float) -> bool:
        return worst(Fraction(v))[0] <= 0

    low, high = 0.0, 1.0
    while keeps(high):
        low, high = high, high * 4
        if high > 1e300:
            return _ANY._replace(p=box.p1, q=box.q1)
    low, high = bracket(keeps, low, high, relative=1e-15)
    _, p, q = worst(Fraction(high))
    return Fall(down(math.log1p(low), 4), up(math.log1p(high), 4), p, q)


def _largest(
    K: Fraction, M: Fraction, b: Fraction, low: Fraction, high: Fraction
) -> list[tuple[Fraction, Fraction]]:
    """Where f(s) may be largest between two products, and its value there; none below s = b."""
    low = max(low, b)
    if low > high:
        return []
    places = [low, high]
    if M > 0 and low < (vertex := (K + M * b - 1) / (2 * M)) < high:
        places.append(vertex)
    return [(s, -M * s * s + (K + M * b - 1) * s - K * b) for s in places]


def _around(keeps: Callable[[float], bool], guess: float) -> tuple[float, float]:
    """Return bounds of ε from a guess of v: one seen to keep the promise, one seen to break it."""
    low = high = guess
    step = 2.0**-52
    while not keeps(low):
        low, step = low * (1 - step), 2 * step
    step = 2.0**-52
    while keeps(high):
        high, step = high * (1 + step), 2 * step
    return down(math.log1p(low), 4), up(math.log1p(high), 4)
