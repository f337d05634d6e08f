"""The law of a weighted sum of independent noises, for intervals that hold.

Notation. X is a sum of terms c_j N_j: N_j is integer noise of a known law, c_j its factor, and m_j
terms are alike (m_j need not be whole: a balanced tree may have 60.5 counties in a state). φ is the
characteristic function of X, the product of φ_j(c_j t)^{m_j}. Those of geometric noise of scale s
and of discrete Gaussian noise of scale σ are real and positive:
    φ(θ) = 1/(1 + (sin(θ/2)/sinh(1/2s))²),   φ(θ) ∝ Σ_k e^{−σ²(θ+2πk)²/2} (Poisson summation).

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
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.laws.discrete_gaussian import DiscreteGaussian
from discreet.laws.geometric import Geometric
from discreet.numerics import bracket

Array = NDArray[Any]

_FINE = 0.01
_SMOOTH = 8
_LEAST = 1e-3
_STRONGEST = 8
_NOTHING = -32.0
_AT_ONCE = 2**20


def _geometric(scale: Array, theta: Array) -> Array:
    """The logarithm of φ for geometric noise; θ may be imaginary, below 1/scale."""
    return -np.log1p((np.sin(theta / 2) / np.sinh(np.minimum(0.5 / scale, 700.0))) ** 2)


def _gaussian(sigma: Array, theta: Array) -> Array:
    """The logarithm of φ for discrete Gaussian noise; θ may be imaginary."""
    theta = theta - 2 * math.pi * np.rint(theta.real / (2 * math.pi))
    if float(sigma.max(initial=0.0)) < 0.5:
        # Few whole numbers, summed up; Poisson's sum would be long.
        steps = [(n, np.exp(-(n**2) / (2 * np.maximum(sigma, 0.02) ** 2))) for n in range(1, 8)]
        above = sum(weight * np.cos(n * theta) for n, weight in steps)
        whole = sum(weight for _, weight in steps)
        return np.asarray(np.log1p(2 * above) - np.log1p(2 * whole))
    far = 1 if float(sigma.min(initial=1.0)) >= 1 else 3
    turns = [2 * math.pi * k for k in range(-far, far + 1) if k]
    above = sum(np.exp(-(sigma**2) * turn * (theta + turn / 2)) for turn in turns)
    below = sum(np.exp(-(sigma**2) * turn**2 / 2) for turn in turns)
    return np.asarray(-((sigma * theta) ** 2) / 2 + np.log1p(above) - np.log1p(below))


_FORMULAS: Mapping[type, tuple[Callable[[Array, Array], Array], Callable[[Any], float]]] = {
    Geometric: (_geometric, lambda law: float(law.scale)),
    DiscreteGaussian: (_gaussian, lambda law: float(law.sigma)),
}


class Sum:
    """A weighted sum of independent noises: of each law factors, and how often each is there."""

    def __init__(self, parts: Iterable[tuple[Any, Array, Array]]) -> None:
        found: dict[tuple[Any, bool], list[Array]] = {}
        for law, factors, times in parts:
            formula, scale_of = _FORMULAS[type(law)]
            used = (factors != 0) & (times > 0)
            scale = np.full(int(used.sum()), scale_of(law))
            terms = np.stack([np.abs(factors[used]), times[used], scale, scale * 0 + law.sd**2])
            found.setdefault((formula, bool(scale_of(law) < 0.5)), []).append(terms)
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
        poles = [c * s for formula, (c, _, s, _) in self._terms if formula is _geometric]
        pole = max((float(p.max()) for p in poles if len(p)), default=0.0)
        most = 0.98 / max(pole, self.sd / 16, self._step / 16)
        t = most * 0.75 ** np.arange(12)
        grown = self._log(1j * t).real
        return float(((grown - math.log(level / 2)) / t).min())

    def half_width(self, confidence: float) -> float:
        """Return what |X| stays within, with at least that probability.

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
