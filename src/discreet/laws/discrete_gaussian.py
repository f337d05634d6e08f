"""The discrete Gaussian mechanism: integer noise N with P(N = n) ∝ e^{-n²/2σ²}.

Notation. σ the parameter (the standard deviation is never above it), Δ the L2 sensitivity,
Z = Σ_n e^{-n²/2σ²}.

Law (Canonne, Kamath and Steinke 2020): Δ²/2σ²-zCDP (Thm 4), variance at most σ² (Cor. 9), and at
noise n the loss of a shift by Δ in one value is (Δ² − 2nΔ)/2σ²: a lattice of step Δ/σ². For a
vector of values, the worst shift of a given length is not known when Δ > 1; zCDP covers it.

Figures of accuracy are sums of the law until its terms fall below 1e-22 of the first; for σ > 2000
the integral takes the place of a tail's sum, off by a few parts in 10⁷.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from discreet.laws.calibration import gaussian_scale
from discreet.laws.gaussian import Gaussian, OfSigma
from discreet.laws.mechanism import Continuous, DiscreteNormalLoss, WholeNoise
from discreet.laws.registry import Kind, register
from discreet.numerics import normal_tail, upper_normal
from discreet.rounding import exact_text
from discreet.words import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_REACH = 10.1  # e^{-10.1²/2} < 1e-22
_MOST = 2_000.0
_SMOOTH = 50.0  # from here on lattice and line differ by less than one step


@lru_cache(maxsize=64)
def _normaliser(sigma: float) -> float:
    """Z = Σ e^{-n²/2σ²}; for σ ≥ 2 it is σ√2π to double precision (Poisson summation)."""
    if sigma >= 2:
        return sigma * math.sqrt(2 * math.pi) * (1 + 2 * math.exp(-2 * (math.pi * sigma) ** 2))
    reach = math.ceil(_REACH * sigma) + 2
    return 1 + 2 * math.fsum(math.exp(-n * n / (2 * sigma * sigma)) for n in range(1, reach))


def _normal_tail(t: float, one: float, other: float) -> float:
    """P(|X + Y| ≥ t) for normal noise of these standard deviations."""
    return 2 * normal_tail(t / math.hypot(one, other))


NORMAL = Continuous(1.0, lambda alpha: upper_normal(alpha / 2), _normal_tail)


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(OfSigma, WholeNoise):
    """Discrete Gaussian noise of parameter `sigma` for integer statistics.

    >>> d = DiscreteGaussian(3.0)
    >>> round(d.sd, 9), round(d.prob_exact, 4)
    (3.0, 0.133)
    """

    released_as = "gaussian"
    paid_in = "rho"
    continuous = NORMAL

    @classmethod
    def of_scale(cls, scale: float) -> DiscreteGaussian:
        """Return the law of this σ."""
        return cls(scale)

    @classmethod
    def least_scale(cls, l1: Fraction, l2_squared: Fraction, budget: float) -> float:
        """Return √(Δ₂²/2ρ), rounded up."""
        return gaussian_scale(l2_squared, budget)

    @property
    def scale(self) -> float:
        """σ."""
        return self.sigma

    @property
    def loss(self) -> DiscreteNormalLoss | None:
        """A lattice of losses for sensitivity 1; zCDP alone covers a larger one."""
        return DiscreteNormalLoss(float(self.sigma)) if self.sensitivity == 1 else None

    @property
    def normaliser(self) -> float:
        """Z = Σ_n e^{-n²/2σ²}."""
        return _normaliser(self.sigma)

    @property
    def sd(self) -> float:
        """Standard deviation of the noise."""
        if self.sigma >= 6:  # the difference from σ² is below 4π²σ⁴e^{-2π²σ²}
            return self.sigma
        reach = math.ceil(_REACH * self.sigma) + 2
        squares = math.fsum(n * n * self._weight(n) for n in range(1, reach))
        return math.sqrt(2 * squares / self.normaliser)

    @property
    def prob_exact(self) -> float:
        """Probability that the released value is the true one."""
        return 1 / self.normaliser

    def _weight(self, n: int) -> float:
        return math.exp(-n * n / (2 * self.sigma * self.sigma))

    def log_density(self, n: int) -> float:
        """Return log P(N = n)."""
        return -((n / self.sigma) ** 2) / 2 - math.log(self.normaliser)

    def tail(self, m: int) -> float:
        """P(N ≥ m), which is P(N ≤ −m), for any integer m."""
        if m <= 0:
            return 1 - self.tail(1 - m)
        if self.sigma > _MOST:
            return normal_tail((m - 0.5) / self.sigma)
        last = m + math.ceil(_REACH * self.sigma) + 2
        return math.fsum(self._weight(n) for n in range(m, last)) / self.normaliser

    def cumulant(self, t: float) -> float:
        """A bound of log E e^{tN}: σ²t²/2 (Canonne, Kamath and Steinke 2020, Lemma 8)."""
        return (self.sigma * t) ** 2 / 2

    @staticmethod
    def log_characteristic(scale: NDArray[Any], theta: NDArray[Any]) -> NDArray[Any]:
        """Return log Σ_k e^{−σ²(θ+2πk)²/2}, less that at θ = 0 (Poisson summation)."""
        import numpy as np

        theta = theta - 2 * math.pi * np.rint(theta.real / (2 * math.pi))
        if float(scale.max(initial=0.0)) < 0.5:
            # Few whole numbers, summed up; Poisson's sum would be long.
            steps = [(n, np.exp(-(n**2) / (2 * np.maximum(scale, 0.02) ** 2))) for n in range(1, 8)]
            above = sum(weight * np.cos(n * theta) for n, weight in steps)
            whole = sum(weight for _, weight in steps)
            return np.asarray(np.log1p(2 * above) - np.log1p(2 * whole))
        far = 1 if float(scale.min(initial=1.0)) >= 1 else 3
        turns = [2 * math.pi * k for k in range(-far, far + 1) if k]
        above = sum(np.exp(-(scale**2) * turn * (theta + turn / 2)) for turn in turns)
        below = sum(np.exp(-(scale**2) * turn**2 / 2) for turn in turns)
        return np.asarray(-((scale * theta) ** 2) / 2 + np.log1p(above) - np.log1p(below))

    def simulated(self, size: int, chance: np.random.Generator) -> NDArray[np.int64]:
        """Whole numbers by their chances, or rounded ones where the step no longer shows."""
        import numpy as np

        if self.sigma > 1000:
            return np.rint(chance.normal(0, self.sigma, size)).astype(np.int64)
        far = math.ceil(12 * self.sigma) + 1
        steps = np.arange(-far, far + 1)
        density = np.exp(-(steps**2) / (2 * self.sigma**2))
        return chance.choice(steps, size, p=density / density.sum())

    def covers(self, confidence: float) -> int:
        """Return the least t for a small σ; for a large one that of the continuous law, and 1."""
        if self.sigma > _SMOOTH:
            return math.ceil(Gaussian(self.sigma).half_width(confidence)) + 1
        return self.half_width(confidence)

    def explain(self) -> str:
        """Say in one sentence what the noise does."""
        return say("laws.discrete_gaussian.explain", exact=exact_text(self.prob_exact), sd=self.sd)


register(
    Kind(
        name="discrete-gaussian",
        budget="rho",
        make=DiscreteGaussian.of_rho,
        says="laws.discrete_gaussian.label",
        python="laws.DiscreteGaussian.of_rho({})",
        given_by={"sigma": DiscreteGaussian},
        slow_below=1e-4,
        released=DiscreteGaussian,
    )
)
