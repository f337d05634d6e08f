"""The Gaussian mechanism: noise N(0, σ²) on a statistic of L2 sensitivity Δ.

Notation. σ the standard deviation, Δ the L2 sensitivity, ρ = Δ²/2σ².

Law (Dwork and Roth 2014, App. A; Bun and Steinke 2016, Prop. 1.6): the mechanism is ρ-zCDP, and its
privacy loss is exactly L ~ N(ρ, 2ρ); over independent releases ρ adds. Its whole curve is
    δ(ε) = Φᶜ((ε−ρ)/√2ρ) − e^ε Φᶜ((ε+ρ)/√2ρ)          (Balle and Wang 2018, Thm 8).

Both Gaussian laws, this one and the discrete one, are given by σ and private by ρ (`OfSigma`;
Canonne, Kamath and Steinke 2020, Thm 4, for the discrete one). The law is for planning and for
reading other people's releases; Discreet's own releases draw the discrete Gaussian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from discreet.guarantees import ZCDP
from discreet.laws.checks import positive, probability
from discreet.laws.mechanism import Noise, NormalLoss
from discreet.laws.registry import Kind, register
from discreet.numerics import normal_tail, upper_normal
from discreet.rounding import up
from discreet.words import say


@dataclass(frozen=True, slots=True)
class OfSigma(Noise):
    """Noise that is given by its σ, and private by its ρ."""

    sigma: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        positive("sigma", self.sigma)
        positive("sensitivity", self.sensitivity)

    @classmethod
    def of_rho(cls, rho: float, sensitivity: float = 1.0) -> Self:
        """Return the least noise that is ρ-zCDP; σ is rounded up."""
        positive("rho", rho)
        return cls(up(positive("sensitivity", sensitivity) / math.sqrt(2 * rho), 4), sensitivity)

    @property
    def rho(self) -> float:
        """ρ = Δ²/2σ², to the nearest."""
        ratio = self.sensitivity / self.sigma
        return ratio * ratio / 2

    def steps(self, m: int) -> Self:
        """Return the same noise, seen from data sets that are m neighbours apart."""
        return type(self)(self.sigma, float(m) * self.sensitivity)

    def two_steps_nonnegative(self) -> Self:
        """Return it two steps apart: contributions without negative values lie within √2 Δ."""
        return type(self)(self.sigma, up(math.sqrt(2), 1) * self.sensitivity)

    @property
    def zcdp(self) -> float:
        """ρ, to the nearest."""
        return self.rho

    def guarantee(self) -> ZCDP:
        """ρ-zCDP, ρ rounded up."""
        return ZCDP(up(self.rho, 4))


@dataclass(frozen=True, slots=True)
class Gaussian(OfSigma):
    """Gaussian noise of standard deviation `sigma`.

    >>> round(Gaussian(10.0).rho, 9)
    0.005
    """

    @property
    def loss(self) -> NormalLoss:
        """N(ρ, 2ρ)."""
        return NormalLoss(self.rho)

    @property
    def sd(self) -> float:
        """Standard deviation of the noise."""
        return self.sigma

    def log_density(self, x: float) -> float:
        """Return the logarithm of the density."""
        return -((x / self.sigma) ** 2) / 2 - math.log(self.sigma * math.sqrt(2 * math.pi))

    def tail(self, t: float) -> float:
        """P(N ≥ t), which is P(N ≤ −t), for any t."""
        return normal_tail(t / self.sigma)

    def quantile(self, prob: float) -> float:
        """The x with P(N ≤ x) = prob, by bisection on the tail."""
        prob = probability("prob", prob)
        if prob == 0.5:
            return 0.0
        side = upper_normal(min(prob, 1 - prob)) * self.sigma
        return side if prob > 0.5 else -side

    def half_width(self, confidence: float = 0.95) -> float:
        """The t with P(|N| ≤ t) = confidence, by bisection on the tail."""
        return upper_normal((1 - probability("confidence", confidence)) / 2) * self.sigma

    def explain(self) -> str:
        """Say in one sentence what the noise does."""
        return say("laws.gaussian.explain", sigma=self.sigma, half=self.half_width(0.5))


register(
    Kind(
        name="gaussian",
        budget="rho",
        make=Gaussian.of_rho,
        says="laws.gaussian.label",
        python="laws.Gaussian.of_rho({})",
        given_by={"sigma": Gaussian},
        loss_by_name=True,
        usual=True,
    )
)
