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

from discreet.guarantees import PureDP
from discreet.laws.checks import positive, probability
from discreet.laws.mechanism import LaplaceLoss, Noise
from discreet.laws.registry import Kind, register
from discreet.words import say


@dataclass(frozen=True, slots=True)
class Laplace(Noise):
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

    def steps(self, m: int) -> Laplace:
        """Return the same noise, seen from data sets that are m neighbours apart."""
        return Laplace(m * self.epsilon, m * self.sensitivity)

    @property
    def loss(self) -> LaplaceLoss:
        """Atoms at ±ε, a density between."""
        return LaplaceLoss(float(self.epsilon))

    def guarantee(self) -> PureDP:
        """ε-DP."""
        return PureDP(self.epsilon)

    def log_density(self, x: float) -> float:
        """Return the logarithm of the density."""
        return -abs(x) / self.scale - math.log(2 * self.scale)

    def tail(self, t: float) -> float:
        """P(N ≥ t), which is P(N ≤ −t), for any t."""
        x = math.exp(-abs(t) / self.scale) / 2
        return x if t >= 0 else 1 - x

    def quantile(self, prob: float) -> float:
        """The x with P(N ≤ x) = prob."""
        prob = probability("prob", prob)
        side = -self.scale * math.log(2 * min(prob, 1 - prob))
        return side if prob > 0.5 else -side

    def half_width(self, confidence: float = 0.95) -> float:
        """The t with P(|N| ≤ t) = confidence."""
        probability("confidence", confidence)
        return -self.scale * math.log1p(-confidence)

    def explain(self) -> str:
        """Say in one sentence what the noise does."""
        half = self.half_width(0.5)
        return say("laws.laplace.explain", scale=self.scale, half=half, sd=self.sd)


def _of_scale(scale: float, sensitivity: float) -> Laplace:
    return Laplace(sensitivity / positive("scale", scale), sensitivity)


register(
    Kind(
        name="laplace",
        budget="epsilon",
        make=Laplace,
        says="laws.laplace.label",
        python="laws.Laplace({})",
        given_by={"scale": _of_scale},
        loss_by_name=True,
        slow_below=0.0,
    )
)
