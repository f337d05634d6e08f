"""A mechanism from outside the package: a yes-or-no answer that is flipped by chance.

The statistic is one bit, such as "is anyone ill?". It is released as it is with probability
e^ε/(1 + e^ε) and flipped otherwise. That is ε-DP, and the privacy loss is ε or −ε.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet import PureDP
from discreet.laws import Kind, Mechanism, register
from discreet.laws.checks import positive
from discreet.laws.mechanism import TwoPoint
from discreet.noise import bernoulli, register_sampler


@dataclass(frozen=True, slots=True)
class FlippedBit(Mechanism):
    """One bit, flipped with probability 1/(1 + e^ε)."""

    epsilon: float

    def __post_init__(self) -> None:
        """Refuse a budget that is not positive."""
        positive("epsilon", self.epsilon)

    @property
    def loss(self) -> TwoPoint:
        """The law of the privacy loss; without it, guarantees would be added up."""
        return TwoPoint(self.epsilon)

    @property
    def prob_exact(self) -> float:
        """The probability that the released bit is the true one."""
        return 1 / (1 + math.exp(-self.epsilon))

    def guarantee(self) -> PureDP:
        """Return what one release satisfies."""
        return PureDP(self.epsilon)

    def steps(self, m: int) -> FlippedBit:
        """Return a mechanism whose loss is that of m units at once."""
        return FlippedBit(m * self.epsilon)

    def explain(self) -> str:
        """Say in one sentence what the noise does."""
        return f"The answer is flipped {1 - self.prob_exact:.0%} of the time."


@register_sampler(FlippedBit)
def flips(law: FlippedBit, size: int) -> Sequence[int]:
    """Return 1 for each bit to flip; rounding keeps the bit a little less often than ε allows."""
    kept = Fraction(math.nextafter(law.prob_exact, 0.0))
    return [0 if bernoulli(kept) else 1 for _ in range(size)]


register(
    Kind(
        name="flipped-bit",
        budget="epsilon",
        make=lambda budget, sensitivity: FlippedBit(budget),
        says="an answer that is flipped by chance",
        python="FlippedBit({})",
    )
)
