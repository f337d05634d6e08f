"""The geometric mechanism: integer noise N with P(N = n) = tanh(ε/2Δ) e^{-ε|n|/Δ}.

Notation. ε the budget, Δ the sensitivity of an integer statistic, a = e^{-ε/Δ}, N the noise.

Law (Ghosh, Roughgarden and Sundararajan 2012; K&R Definition 1):
    P(N = n) = (1−a)/(1+a) a^{|n|},   sd = √2 √a/(1−a) = 1/(√2 sinh(ε/2Δ)),
    P(N = 0) = tanh(ε/2Δ),            P(N ≤ −m) = a^m/(1+a) for m ≥ 1.

It is the two-sided geometric, or discrete Laplace, law. Everything here is exact up to rounding;
figures of accuracy are not safety bounds and are not rounded to a side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.guarantees import PureDP
from discreet.laws.calibration import laplace_scale
from discreet.laws.checks import positive, probability, whole
from discreet.laws.mechanism import Continuous, StepsLoss, TwoPoint, WholeNoise
from discreet.laws.registry import Kind, register
from discreet.rounding import exact_text
from discreet.words import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def _laplace_tail(t: float, one: float, other: float) -> float:
    """P(|X + Y| ≥ t) = (s² e^{−t/s} − r² e^{−t/r})/(s² − r²), for Laplace noise of scales s > r."""
    wide, narrow = max(one, other), min(one, other)
    gap = (wide - narrow) / wide
    if gap < 1e-9:
        return (1 + t / (2 * narrow)) * math.exp(-t / wide)
    if narrow < 1e-9 * wide:
        return math.exp(-t / wide) / (1 - (narrow / wide) ** 2)
    ratio = 2 * math.log1p(-gap)  # log of (narrow/wide)²
    return math.exp(-t / wide) * math.expm1(ratio - t * gap / narrow) / math.expm1(ratio)


LAPLACE = Continuous(0.5, lambda alpha: -math.log(alpha), _laplace_tail)


@dataclass(frozen=True, slots=True)
class Geometric(WholeNoise):
    """Two-sided geometric noise for integer statistics.

    >>> g = Geometric(1.2993)
    >>> round(g.sd, 2), round(g.prob_exact, 2)
    (1.02, 0.57)
    >>> round(Geometric(2.1972245773).prob_crosses(1), 4)
    0.1
    """

    epsilon: float
    sensitivity: int = 1
    released_as = "geometric"
    paid_in = "epsilon"
    continuous = LAPLACE

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        whole("sensitivity", self.sensitivity)

    @classmethod
    def of_scale(cls, scale: float) -> Geometric:
        """Return the law of exactly this scale."""
        above, below = scale.as_integer_ratio()
        return cls(float(below), above)

    @classmethod
    def least_scale(cls, l1: Fraction, l2_squared: Fraction, budget: float) -> float:
        """Return Δ₁/ε, rounded up."""
        return laplace_scale(l1, budget)

    @property
    def scale(self) -> float:
        """Δ/ε, the scale of the discrete Laplace law."""
        return self.sensitivity / self.epsilon

    @property
    def sd(self) -> float:
        """Standard deviation of the noise."""
        half = self.epsilon / (2 * self.sensitivity)
        return 1 / (math.sqrt(2) * math.sinh(half)) if half < 700 else 0.0

    @property
    def prob_exact(self) -> float:
        """Probability that the released value is the true one."""
        return math.tanh(self.epsilon / (2 * self.sensitivity))

    def steps(self, m: int) -> Geometric:
        """Return the same noise, seen from data sets that are m neighbours apart."""
        return Geometric(m * self.epsilon, m * self.sensitivity)

    @property
    def loss(self) -> TwoPoint | StepsLoss:
        """±ε for sensitivity 1, a lattice of losses for more."""
        if self.sensitivity == 1:
            return TwoPoint(float(self.epsilon))
        return StepsLoss(float(self.epsilon), int(self.sensitivity))

    def guarantee(self) -> PureDP:
        """ε-DP."""
        return PureDP(self.epsilon)

    def log_density(self, n: int) -> float:
        """Return log P(N = n)."""
        return math.log(self.prob_exact) - self.epsilon * abs(n) / self.sensitivity

    def tail(self, m: int) -> float:
        """P(N ≥ m), which is P(N ≤ −m), for any integer m."""
        rate = self.epsilon / self.sensitivity
        if m >= 1:
            return math.exp(-rate * m) / (1 + math.exp(-rate))
        return 1 - self.tail(1 - m)

    def prob_reversed(self, gap: int) -> tuple[float, float]:
        """Return how likely two counts `gap` apart are published in reverse order, and as equal.

        Each has noise of its own. With s = 2a²/(1−a²), the difference of two noises has
        P(D = d) = ((1−a)/(1+a))² a^d (d + 1 + s) for d ≥ 0; its tail is the sum of that.

        >>> tuple(round(x, 4) for x in Geometric(1.0).prob_reversed(2))
        (0.0823, 0.0958)
        """
        d, rate = whole("gap", gap), self.epsilon / self.sensitivity
        a, less = math.exp(-rate), -math.expm1(-rate)
        s = -2 * a * a / math.expm1(-2 * rate)
        equal = self.prob_exact**2 * math.exp(-rate * d) * (d + 1 + s)
        beyond = math.exp(-rate * (d + 1)) * (less * (d + 2 + s) + a) / (1 + a) ** 2
        return beyond, equal

    def cumulant(self, t: float) -> float:
        """log E e^{tN}, which is log((cosh ε/Δ − 1)/(cosh ε/Δ − cosh t)); infinite from ε/Δ on."""
        rate, t = self.epsilon / self.sensitivity, abs(t)
        if t >= rate:
            return math.inf
        # 2 sinh²(r/2) above, 2 sinh((r+t)/2) sinh((r−t)/2) below; sinh(x) = e^x (1 − e^{−2x})/2.
        below = math.log(-math.expm1(-(rate + t))) + math.log(-math.expm1(-(rate - t)))
        return 2 * math.log(-math.expm1(-rate)) - below

    @property
    def finite_below(self) -> float:
        """ε/Δ."""
        return self.epsilon / self.sensitivity

    @staticmethod
    def log_characteristic(scale: NDArray[Any], theta: NDArray[Any]) -> NDArray[Any]:
        """−log(1 + (sin(θ/2)/sinh(1/2s))²)."""
        import numpy as np

        ratio = np.sin(theta / 2) / np.sinh(np.minimum(0.5 / scale, 700.0))
        return np.asarray(-np.log1p(ratio**2))

    def simulated(self, size: int, chance: np.random.Generator) -> NDArray[np.int64]:
        """The difference of two geometric numbers."""
        stop = -math.expm1(-self.finite_below)
        return chance.geometric(stop, size) - chance.geometric(stop, size)

    def quantile(self, prob: float) -> int:
        """Smallest whole x with P(N ≤ x) ≥ prob."""
        prob = probability("prob", prob)
        rate = self.epsilon / self.sensitivity
        # P(N ≤ −m) = a^m/(1+a), and its mirror image; then the rounding of the logarithm
        away = -math.log(min(prob, 1 - prob) * (1 + math.exp(-rate))) / rate
        x = -math.floor(away) - 1 if prob < 0.5 else math.floor(away) - 1
        step = _step(x)
        while self.cdf(x) < prob:
            x += step
        while self.cdf(x - step) >= prob:
            x -= step
        return x

    def half_width(self, confidence: float = 0.95) -> int:
        """Smallest whole t with P(|N| ≤ t) ≥ confidence."""
        probability("confidence", confidence)
        rate = self.epsilon / self.sensitivity
        guess = math.log(2 / ((1 - confidence) * (1 + math.exp(-rate)))) / rate - 1
        t = max(0, math.floor(guess) - 1)
        step = _step(t)
        while self.prob_within(t) < confidence:
            t += step
        return t

    def explain(self) -> str:
        """Say in one sentence what the noise does."""
        return say("laws.geometric.explain", exact=exact_text(self.prob_exact), sd=self.sd)


def _step(x: int) -> int:
    """1, or where noise is so large that doubles cannot tell neighbours apart, what they can."""
    return max(1, abs(x) >> 48)


def _of(epsilon: float, sensitivity: float) -> Geometric:
    return Geometric(epsilon, whole("sensitivity", sensitivity))


register(
    Kind(
        name="geometric",
        budget="epsilon",
        make=_of,
        says="laws.geometric.label",
        python="laws.Geometric({})",
        given_by={"scale": lambda scale, size: _of(size / positive("scale", scale), size)},
        loss_by_name=True,
        usual=True,
        released=Geometric,
    )
)
