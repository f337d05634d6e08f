"""Intervals of quotients, differences and sums of noisy numbers, under the laws of their noise.

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

Beforehand. Let B > 0 and b be the true denominator. A/B − θ > t asks for N − (θ + t)M > tb, and
A/B − θ < −t for N − (θ − t)M < −tb; so |A/B − θ| ≤ t holds with probability 1 − α if q(θ + t) ≤ tb.
q is a norm of (1, θ) for symmetric log-concave noise (Bobkov 2010, Convex bodies and norms
associated to convex measures), hence q(θ) ≤ q_N + θq_M; where each noise may take half of α that is
so by definition. With q_M < b, t = (q_N + θq_M)/(b − q_M) will do for every θ.

Sums. The law of a weighted sum of independent noises, for intervals that hold.

Notation. X is a sum of terms c_j N_j: N_j is integer noise of a known law, c_j its factor, and m_j
terms are alike (m_j need not be whole: a balanced tree may have 60.5 counties in a state). φ is the
characteristic function of X, the product of φ_j(c_j t)^{m_j}. Those of all noise are real and
positive, and known by their laws (`WholeNoise.log_characteristic`).

Interval. X has atoms, so Y = X + δU is inverted in its place: U is the sum of p uniform variables,
in [−1, 1], with the characteristic function (sin(t/p)/(t/p))^p. On a circle of length L,
    P(|Y| ≤ x) = 2x/L + (4/L) Σ_{k≥1} φ(t_k) (sin(δt_k/p)/(δt_k/p))^p sin(t_k x)/t_k, t_k = 2πk/L.
|X| ≤ x + δ wherever |Y| ≤ x. What is left out counts against the interval: terms beyond T, together
at most (2/πp)(p/δT)^p, and what goes round the circle, by Chernoff's bound, 2φ(−it)e^{−ta}. Both
are a thousandth of 1 − confidence. So the interval covers at least with the stated probability, up
to the rounding of doubles, and is wider than the exact one by about a hundredth of the standard
deviation, or of half the largest factor where that is more.

Most terms vanish. No factor of φ is above 1, so a few of them, those with the largest variance,
tell which terms matter; only these are computed with all factors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SpecError
from discreet.laws.mechanism import Continuous, WholeNoise
from discreet.laws.registry import released_law
from discreet.numerics import bracket

Array = NDArray[Any]

_FINE = 0.01
_SMOOTH = 8
_LEAST = 1e-3
_STRONGEST = 8
_NOTHING = -32.0
_AT_ONCE = 2**20


class Sum:
    """A weighted sum of independent noises: of each law factors, and how often each is there."""

    def __init__(self, parts: Iterable[tuple[WholeNoise, Array, Array]]) -> None:
        found: dict[tuple[Any, bool], list[Array]] = {}
        self._steepest = 0.0
        for law, factors, times in parts:
            used = (factors != 0) & (times > 0)
            factor, one = np.abs(factors[used]), np.ones(int(used.sum()))
            terms = np.stack([factor, times[used], law.scale * one, (law.sd or 0.0) ** 2 * one])
            found.setdefault((type(law).log_characteristic, law.scale < 0.5), []).append(terms)
            self._steepest = max(self._steepest, factor.max(initial=0.0) / law.finite_below)
        self._terms = [(key[0], np.hstack(terms)) for key, terms in found.items()]
        self._widths: dict[float, float] = {}

    @cached_property
    def sd(self) -> float:
        """Its standard deviation."""
        return math.sqrt(sum(float((c**2 * m * v).sum()) for _, (c, m, _, v) in self._terms))

    @property
    def _step(self) -> float:
        """The largest factor: what one whole number of noise moves it by at most."""
        return max(float(terms[0].max(initial=0.0)) for _, terms in self._terms)

    @cached_property
    def alike(self) -> bytes:
        """The same for sums whose factors differ by less than a millionth part."""
        rows = np.hstack([terms for _, terms in self._terms])
        told = np.round(np.log(np.maximum(rows, 1e-300)), 6)
        return np.asarray(told[:, np.lexsort(told)]).tobytes()

    def _log(self, t: Array, terms: Iterable[tuple[Any, Array]] | None = None) -> Array:
        """Return the logarithm of φ, by all terms or by some."""
        total = np.zeros(len(t), dtype=t.dtype)
        for formula, (factor, times, scale, _) in self._terms if terms is None else terms:
            each = max(1, _AT_ONCE // max(len(factor), 1))
            for start in range(0, len(t), each):
                some = slice(start, start + each)
                total[some] += times @ formula(scale[:, None], factor[:, None] * t[None, some])
        return total

    @property
    def _strongest(self) -> list[tuple[Any, Array]]:
        """The terms with the largest variance."""
        found = []
        for formula, terms in self._terms:
            order = np.argsort(-(terms[0] ** 2 * terms[1] * terms[3]))[:_STRONGEST]
            found.append((formula, terms[:, order]))
        return found

    def _reach(self, level: float) -> float:
        """Return a with P(|X| ≥ a) ≤ level, by Chernoff's bound."""
        most = 0.98 / max(self._steepest, self.sd / 16, self._step / 16)
        t = most * 0.75 ** np.arange(12)
        grown = self._log(1j * t).real
        return float(((grown - math.log(level / 2)) / t).min())

    def half_width(self, confidence: float) -> float:
        """Return what |X| stays within, with at least that probability.

        >>> from discreet.laws import Geometric
        >>> noise = [(Geometric(1.0), np.ones(1), np.ones(1))]
        >>> math.floor(Sum(noise).half_width(0.95)), Geometric(1.0).half_width(0.95)
        (3, 3)
        """
        if confidence not in self._widths:
            self._widths[confidence] = self._half_width(confidence) if self.sd else 0.0
        return self._widths[confidence]

    def _half_width(self, confidence: float) -> float:
        level, fine = 1 - confidence, _FINE * max(self.sd, self._step / 2)
        left_out = _LEAST * level
        reach = self._reach(left_out)
        length = 2 * reach + 2 * fine
        last = _SMOOTH / fine * (2 / (math.pi * _SMOOTH * left_out)) ** (1 / _SMOOTH)
        t = 2 * math.pi / length * np.arange(1, math.ceil(last * length / (2 * math.pi)) + 1)
        t = t[self._log(t, self._strongest) > _NOTHING]
        smooth = np.abs(np.sinc(t * (fine / _SMOOTH / math.pi))) ** _SMOOTH
        weight = 4 / length * np.exp(self._log(t)) * smooth / t

        def covers(x: float) -> bool:
            return 2 * x / length + float(weight @ np.sin(t * x)) >= 1 - level + 2 * left_out

        return bracket(covers, reach + fine, 0.0, relative=1e-6)[0] + fine


_FARTHEST = 1e300  # an upper end beyond it is none

Range: TypeAlias = tuple[Fraction | None, Fraction, Fraction | None]


@dataclass(frozen=True, slots=True)
class Spread:
    """The noise in one released number: its law, scale and step."""

    law: type[WholeNoise]
    scale: float
    step: float

    @classmethod
    def of(cls, call: Mapping[str, Any]) -> Spread:
        """Read it from a mechanism call as a release stores it."""
        law = released_law(call["mechanism"])
        if law is None:
            raise SpecError("releases.derived.unknown_noise", mechanism=call["mechanism"])
        return cls(law, float(call["scale"]), float(call["resolution"]))

    def reaches(self, alpha: float) -> float:
        """What the noise stays within, but for that probability."""
        near = self.law.continuous
        if near is None:
            return self.step * self.law.of_scale(self.scale / self.step).covers(1 - alpha)
        return self.scale * near.reach(alpha) + near.apart * self.step


def _together(one: Spread, other: Spread) -> Continuous | None:
    """Return the law by which both noises can be added up; None where each is bounded apart."""
    return one.law.continuous if one.law is other.law else None


def beyond(t: float, one: Spread, other: Spread, factor: float, alpha: float) -> bool:
    """Whether |N − factor·M| is t or more with probability α at most."""
    near = _together(one, other)
    if near is None:
        return t > one.reaches(alpha / 2) + factor * other.reaches(alpha / 2)
    t -= near.apart * (one.step + factor * other.step)
    return t > 0 and near.tail(t, one.scale, factor * other.scale) <= alpha


def quotient(
    above: Fraction,
    one: Spread,
    below: Fraction,
    other: Spread,
    confidence: float,
    most: int | None = None,
) -> Range:
    """Return above/below kept in [0, most], and its interval; None for what is not known.

    >>> from discreet.laws import DiscreteGaussian
    >>> noise = Spread(DiscreteGaussian, 2, 1)
    >>> value, low, high = quotient(Fraction(30), noise, Fraction(100), noise, 0.95, most=1)
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
    elif b > other.reaches(alpha if _together(one, other) else alpha / 2):
        far = max(2 * middle, (one.reaches(alpha) + a) / b)
        while possible(far) and far < _FARTHEST:
            far *= 2
        if far < _FARTHEST:
            high = Fraction(bracket(possible, middle, far, relative=1e-9)[1])
    return value, Fraction(low), high


def error_of_quotient(
    one: Spread, below: Fraction, other: Spread, confidence: float
) -> tuple[float, float] | None:
    """Return x and y: any quotient is off by at most x + y·quotient where it is divided by `below`.

    None where nothing is known.

    >>> from discreet.laws import DiscreteGaussian
    >>> noise = Spread(DiscreteGaussian, 2, 1)
    >>> x, y = error_of_quotient(noise, Fraction(100), noise, 0.95)
    >>> round(x, 3), round(y, 3)
    (0.052, 0.052)
    """
    alpha = 1 - confidence
    each = alpha if _together(one, other) else alpha / 2
    reach = other.reaches(each)
    left = float(below) - reach
    return None if left <= 0 else (one.reaches(each) / left, reach / left)


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
