"""The exponential mechanism: choose a candidate with probability proportional to e^{εu/2Δ}.

Notation. u the score of a candidate, Δ its sensitivity, m the number of candidates, ε the budget.

Law (McSherry and Talwar 2007): ε-DP. If all scores move the same way when a person is added (a
monotonic score), e^{εu/Δ} is ε-DP as well. Its loss has range ε, not 2ε (it lies in some [t−ε, t]),
which makes it ε²/8-zCDP (Cesar and Rogers 2021, Lemma 3.2).
Accuracy (Dwork and Roth 2014, Cor. 3.12): the chosen score falls short of the best by more than
s(log m + t) with probability at most e^{-t}, where s = 2Δ/ε (Δ/ε if monotonic).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.guarantees import PureDP
from discreet.laws.checks import positive, probability, whole
from discreet.laws.registry import Kind, register
from discreet.rounding import up

__all__ = ["Exponential"]


@dataclass(frozen=True, slots=True)
class Exponential:
    """A choice among candidates by a score of the given sensitivity.

    >>> round(Exponential(1.0).rho, 12)
    0.125
    """

    epsilon: float
    sensitivity: float = 1.0
    monotonic: bool = False

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        positive("sensitivity", self.sensitivity)

    @property
    def scale(self) -> float:
        """s: the score difference that changes the odds of two candidates by a factor of e."""
        return (1 if self.monotonic else 2) * self.sensitivity / self.epsilon

    @property
    def rho(self) -> float:
        """ε²/8, the ρ of its zCDP."""
        return up(self.epsilon * self.epsilon / 8, 2)

    def steps(self, m: int) -> Exponential:
        """Return the same choice, seen from data sets that are m neighbours apart."""
        return Exponential(m * self.epsilon, m * self.sensitivity, self.monotonic)

    def guarantee(self) -> PureDP:
        """ε-DP."""
        return PureDP(self.epsilon)

    def shortfall(self, candidates: int, confidence: float = 0.95) -> float:
        """How far the chosen score may fall short of the best, at that confidence."""
        whole("candidates", candidates)
        doubt = 1 - probability("confidence", confidence)
        return self.scale * (math.log(candidates) - math.log(doubt))

    def explain(self) -> str:
        """Say in one sentence what the choice does."""
        return (
            "One candidate is chosen by chance, the better ones far more likely: a score lower by "
            f"{self.scale:.3g} makes a candidate 2.7 times less likely."
        )


register(
    Kind(
        name="exponential",
        budget="epsilon",
        make=Exponential,
        label="the exponential mechanism",
        python="laws.Exponential({})",
        planned=False,
    )
)
