"""The Laplace mechanism: noise with density e^{-|x|/b}/(2b), scale b = Δ/ε.

Notation. ε the budget, Δ the L1 sensitivity, b = Δ/ε.

Law (Dwork, McSherry, Nissim and Smith 2006):
    sd = √2 b,   P(|N| ≤ t) = 1 − e^{-t/b},   P(N ≤ −t) = ½ e^{-t/b} for t ≥ 0.

A continuous value is never exact. The law is for planning and for reading other people's releases;
Discreet's own releases draw the discrete law (`geometric`), since a floating-point Laplace sampler
leaks through its low bits (Mironov 2012).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import InputError
from discreet.guarantees import PureDP
from discreet.laws.checks import positive, probability
from discreet.laws.registry import Kind, register

__all__ = ["Laplace"]


@dataclass(frozen=True, slots=True)
class Laplace:
    """Laplace noise of scale `sensitivity / epsilon`.

    >>> Laplace(2.0).sd == math.sqrt(2) / 2
    True
    """

    epsilon: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        positive("sensitivity", self.sensitivity)

    @property
    def scale(self) -> float:
        """b = Δ/ε."""
        return self.sensitivity / self.epsilon

    @property
    def sd(self) -> float:
        """Standard deviation of the noise."""
        return math.sqrt(2) * self.scale

    @property
    def prob_exact(self) -> float:
        """Zero: a continuous value is never exact."""
        return 0.0

    def steps(self, m: int) -> Laplace:
        """Return the same noise, seen from data sets that are m neighbours apart."""
        return Laplace(m * self.epsilon, m * self.sensitivity)

    def guarantee(self) -> PureDP:
        """ε-DP."""
        return PureDP(self.epsilon)

    def tail(self, t: float) -> float:
        """P(N ≥ t), which is P(N ≤ −t), for any t."""
        x = math.exp(-abs(t) / self.scale) / 2
        return x if t >= 0 else 1 - x

    def cdf(self, x: float) -> float:
        """P(N ≤ x)."""
        return self.tail(-x)

    def quantile(self, prob: float) -> float:
        """The x with P(N ≤ x) = prob."""
        prob = probability("prob", prob)
        side = -self.scale * math.log(2 * min(prob, 1 - prob))
        return side if prob > 0.5 else -side

    def prob_within(self, t: float) -> float:
        """P(|N| ≤ t)."""
        return -math.expm1(-t / self.scale) if t > 0 else 0.0

    def half_width(self, confidence: float = 0.95) -> float:
        """The t with P(|N| ≤ t) = confidence."""
        probability("confidence", confidence)
        return -self.scale * math.log1p(-confidence)

    def prob_crosses(self, distance: float) -> float:
        """Probability that noise carries a value across a limit `distance` away."""
        if not distance > 0:
            raise InputError(f"distance is {distance!r}; it must be positive.")
        return self.tail(distance)

    def explain(self) -> str:
        """Say in one sentence what the noise does."""
        return (
            f"Each value gets Laplace noise of scale {self.scale:.3g}: half of the time it is off "
            f"by less than {self.half_width(0.5):.2g}, and {self.sd:.2g} is the standard deviation."
        )


register(
    Kind(
        name="laplace",
        budget="epsilon",
        make=Laplace,
        label="Laplace noise",
        python="laws.Laplace({})",
        given_by=("scale",),
        loss_by_name=True,
    )
)
