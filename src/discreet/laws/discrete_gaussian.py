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
from functools import lru_cache

from discreet.laws.checks import probability
from discreet.laws.gaussian import OfSigma
from discreet.laws.mechanism import DiscreteNormalLoss
from discreet.laws.registry import Kind, register
from discreet.numerics import last_whole, normal_tail
from discreet.words import say

_REACH = 10.1  # e^{-10.1²/2} < 1e-22
_MOST = 2_000.0


@lru_cache(maxsize=64)
def _normaliser(sigma: float) -> float:
    """Z = Σ e^{-n²/2σ²}; for σ ≥ 2 it is σ√2π to double precision (Poisson summation)."""
    if sigma >= 2:
        return sigma * math.sqrt(2 * math.pi) * (1 + 2 * math.exp(-2 * (math.pi * sigma) ** 2))
    reach = math.ceil(_REACH * sigma) + 2
    return 1 + 2 * math.fsum(math.exp(-n * n / (2 * sigma * sigma)) for n in range(1, reach))


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(OfSigma):
    """Discrete Gaussian noise of parameter `sigma` for integer statistics.

    >>> d = DiscreteGaussian(3.0)
    >>> round(d.sd, 9), round(d.prob_exact, 4)
    (3.0, 0.133)
    """

    whole_numbers = True

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

    def quantile(self, prob: float) -> int:
        """Smallest whole x with P(N ≤ x) ≥ prob."""
        prob = probability("prob", prob)
        far = math.ceil(40 * self.sigma) + 1
        return 1 + last_whole(lambda x: self.cdf(x) < prob, -far, far)

    def half_width(self, confidence: float = 0.95) -> int:
        """Smallest whole t with P(|N| ≤ t) ≥ confidence."""
        level = (1 - probability("confidence", confidence)) / 2
        far = math.ceil(40 * self.sigma) + 1
        return 1 + last_whole(lambda t: self.tail(t + 1) > level, -1, far)

    def explain(self) -> str:
        """Say in one sentence what the noise does."""
        return say("laws.discrete_gaussian.explain", exact=self.prob_exact, sd=self.sd)


register(
    Kind(
        name="discrete-gaussian",
        budget="rho",
        make=DiscreteGaussian.of_rho,
        says="laws.discrete_gaussian.label",
        python="laws.DiscreteGaussian.of_rho({})",
        given_by={"sigma": DiscreteGaussian},
        slow_below=1e-4,
    )
)
