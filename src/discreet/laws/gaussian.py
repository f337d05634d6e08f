"""The Gaussian mechanism: noise N(0, σ²) on a statistic of L2 sensitivity Δ.

Notation. σ the standard deviation, Δ the L2 sensitivity, ρ = Δ²/2σ².

Law (Dwork and Roth 2014, App. A; Bun and Steinke 2016, Prop. 1.6): the mechanism is ρ-zCDP, and its
privacy loss is exactly L ~ N(ρ, 2ρ); over independent releases ρ adds. Its whole curve is
    δ(ε) = Φᶜ((ε−ρ)/√2ρ) − e^ε Φᶜ((ε+ρ)/√2ρ)          (Balle and Wang 2018, Thm 8).

The law is for planning and for reading other people's releases; Discreet's own releases draw the
discrete Gaussian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import InputError
from discreet.laws.checks import probability
from discreet.laws.concentrated import OfSigma
from discreet.laws.normal import tail, upper_point
from discreet.laws.registry import Kind, register

__all__ = ["Gaussian"]


@dataclass(frozen=True, slots=True)
class Gaussian(OfSigma):
    """Gaussian noise of standard deviation `sigma`.

    >>> round(Gaussian(10.0).rho, 9)
    0.005
    """

    @property
    def sd(self) -> float:
        """Standard deviation of the noise."""
        return self.sigma

    @property
    def prob_exact(self) -> float:
        """Zero: a continuous value is never exact."""
        return 0.0

    def tail(self, t: float) -> float:
        """P(N ≥ t), which is P(N ≤ −t), for any t."""
        return tail(t / self.sigma)

    def cdf(self, x: float) -> float:
        """P(N ≤ x)."""
        return self.tail(-x)

    def quantile(self, prob: float) -> float:
        """The x with P(N ≤ x) = prob, by bisection on the tail."""
        prob = probability("prob", prob)
        if prob == 0.5:
            return 0.0
        side = upper_point(min(prob, 1 - prob)) * self.sigma
        return side if prob > 0.5 else -side

    def prob_within(self, t: float) -> float:
        """P(|N| ≤ t)."""
        return math.erf(t / (self.sigma * math.sqrt(2))) if t > 0 else 0.0

    def half_width(self, confidence: float = 0.95) -> float:
        """The t with P(|N| ≤ t) = confidence, by bisection on the tail."""
        return upper_point((1 - probability("confidence", confidence)) / 2) * self.sigma

    def prob_crosses(self, distance: float) -> float:
        """Probability that noise carries a value across a limit `distance` away."""
        if not distance > 0:
            raise InputError(f"distance is {distance!r}; it must be positive.")
        return self.tail(distance)

    def explain(self) -> str:
        """Say in one sentence what the noise does."""
        return (
            f"Each value gets Gaussian noise of standard deviation {self.sigma:.3g}: half of the "
            f"time it is off by less than {self.half_width(0.5):.2g}."
        )


register(
    Kind(
        name="gaussian",
        budget="rho",
        make=Gaussian.of_rho,
        label="Gaussian noise",
        python="laws.Gaussian.of_rho({})",
        given_by=("sigma",),
        loss_by_name=True,
    )
)
