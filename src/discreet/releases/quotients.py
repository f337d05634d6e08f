"""Intervals of quotients and differences of noisy numbers, under the laws of their noise.

Released are A = a + N and B = b + M, with independent noise of known laws. Wanted is θ = a/b.

Fieller's way. A − θB = N − θM has a known law for each θ. Those θ for which |A − θB| is not beyond
what N − θM reaches with probability 1 − α are a set that covers a/b with probability 1 − α or more,
whatever a and b are. There is no approximation by a slope at b, which fails where B is small.

Laws. Geometric noise of scale s is the rounded Laplace noise X of scale s, or zero with probability
1 − 1/cosh(1/2s): so |N − X| ≤ ½ or N = 0. Replacing N by 0 makes |N − θM| smaller in law (the other
summand is symmetric and unimodal). Hence P(|N − θM| ≥ t) ≤ P(|X − θY| ≥ t − (1 + θ)/2), and for
Laplace noise of scales s > r
    P(|X + Y| ≥ t) = (s² e^{−t/s} − r² e^{−t/r})/(s² − r²),   (1 + t/2s) e^{−t/s} if r = s.
The distribution function of a discrete Gaussian at n lies between those of the Gaussian of the same
scale at n and n + 1 (upper tails: Canonne, Kamath and Steinke 2020; all of it is tested), so
|N − X| ≤ 1 for the pair with equal ranks, and a normal tail at t − (1 + θ) bounds it. Where one
noise is of each kind, each may take half of α.

Cells of one table. Where A is a part of B and both are made of the same noise, what A − θB stays
within is given for every θ (`Within`), and grows by at most r from one θ to the next. If B > r,
|A − θB| less that has one zero on each side of A/B; else every share is possible.

The set in [0, most]. A is brought into [0, most·B] first, which only enlarges the set there. Then
|A − θB| falls from θ = 0 to A/B while what noise reaches, q(θ), grows. Beyond, θB − A − q(θ)
divided by θ grows, as q(θ)/θ is what N/θ − M reaches, and that shrinks. So each side has one end,
and bisection finds it. With B ≤ 0 every θ is possible, and so are arbitrarily large ones if B is
within the reach of its own noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.numerics import bracket, normal_tail, upper_normal

_FARTHEST = 1e300  # an upper end beyond it is none

Range: TypeAlias = tuple[Fraction | None, Fraction, Fraction | None]


@dataclass(frozen=True, slots=True)
class Spread:
    """The law of the noise in one released number: its kind, scale and step."""

    gaussian: bool
    scale: float
    step: float

    @classmethod
    def of(cls, call: Mapping[str, Any]) -> Spread:
        """Read it from a mechanism call as a release stores it."""
        return cls(call["mechanism"] == "gaussian", float(call["scale"]), float(call["resolution"]))

    @property
    def slack(self) -> float:
        """How far the noise is from the continuous law of the same scale."""
        return self.step if self.gaussian else self.step / 2

    def reaches(self, alpha: float) -> float:
        """What the noise stays within, but for that probability."""
        tail = upper_normal(alpha / 2) if self.gaussian else -math.log(alpha)
        return self.scale * tail + self.slack


def beyond(t: float, one: Spread, other: Spread, factor: float, alpha: float) -> bool:
    """Whether |N − factor·M| is t or more with probability α at most."""
    if one.gaussian != other.gaussian:
        return t > one.reaches(alpha / 2) + factor * other.reaches(alpha / 2)
    t -= one.slack + factor * other.slack
    if t <= 0:
        return False
    if one.gaussian:
        return 2 * normal_tail(t / math.hypot(one.scale, factor * other.scale)) <= alpha
    return _laplace_tail(t, one.scale, factor * other.scale) <= alpha


def _laplace_tail(t: float, one: float, other: float) -> float:
    """P(|X + Y| ≥ t) for independent Laplace noise of these scales, one of which may be zero."""
    wide, narrow = max(one, other), min(one, other)
    gap = (wide - narrow) / wide
    if gap < 1e-9:
        return (1 + t / (2 * narrow)) * math.exp(-t / wide)
    if narrow < 1e-9 * wide:
        return math.exp(-t / wide) / (1 - (narrow / wide) ** 2)
    ratio = 2 * math.log1p(-gap)  # log of (narrow/wide)²
    return math.exp(-t / wide) * math.expm1(ratio - t * gap / narrow) / math.expm1(ratio)


def quotient(
    above: Fraction,
    one: Spread,
    below: Fraction,
    other: Spread,
    confidence: float,
    most: int | None = None,
) -> Range:
    """Return above/below kept in [0, most], and its interval; None for what is not known.

    >>> value, low, high = quotient(Fraction(30), Spread(True, 2, 1), Fraction(100), \
            Spread(True, 2, 1), 0.95, most=1)
    >>> float(value), round(float(low), 3), round(float(high), 3)
    (0.3, 0.247, 0.355)
    """
    limit = None if most is None else Fraction(most)
    if below <= 0:
        return None, Fraction(0), limit
    alpha = 1 - confidence
    top = max(above, Fraction(0))
    top = top if limit is None else min(top, limit * below)
    value, a, b = top / below, float(top), float(below)
    middle = a / b

    def possible(theta: float) -> bool:
        return not beyond(abs(a - theta * b), one, other, theta, alpha)

    low, high = 0.0, limit
    if not possible(0.0):
        _, low = bracket(possible, middle, 0.0, relative=1e-9, least=1e-300)
    if limit is not None:
        if not possible(float(limit)):
            high = Fraction(bracket(possible, middle, float(limit), relative=1e-9)[1])
    elif b > other.reaches(alpha if one.gaussian == other.gaussian else alpha / 2):
        far = max(2 * middle, (one.reaches(alpha) + a) / b)
        while possible(far) and far < _FARTHEST:
            far *= 2
        if far < _FARTHEST:
            high = Fraction(bracket(possible, middle, far, relative=1e-9)[1])
    return value, Fraction(low), high


@dataclass(frozen=True, slots=True)
class Within:
    """What the error of A − θB stays within: known at some θ, and for each step of θ r more."""

    nodes: NDArray[np.float64]
    widths: NDArray[np.float64]
    steep: float

    def at(self, theta: float) -> float:
        """Return it for one θ."""
        return float((self.widths + np.abs(theta - self.nodes) * self.steep).min())


def part(above: Fraction, below: Fraction, within: Within) -> Range:
    """Return above/below kept in [0, 1], and its interval; None for a value that is not known."""
    if below <= 0:
        return None, Fraction(0), Fraction(1)
    top = min(max(above, Fraction(0)), below)
    value, a, b = top / below, float(top), float(below)

    def possible(theta: float) -> bool:
        return abs(a - theta * b) <= within.at(theta)

    ends = [0.0, 1.0]
    for side, end in enumerate(ends):
        if b > within.steep and not possible(end):
            ends[side] = bracket(possible, float(value), end, relative=1e-9, least=1e-9)[1]
    return value, min(Fraction(ends[0]), value), max(Fraction(ends[1]), value)


def difference(one: Spread, other: Spread, confidence: float) -> Fraction:
    """Return what the noise of a difference stays within, with that probability."""
    alpha = 1 - confidence
    far = one.reaches(alpha / 2) + other.reaches(alpha / 2)
    found = bracket(lambda t: beyond(t, one, other, 1.0, alpha), far, 0.0, relative=1e-9)
    return Fraction(found[0])
