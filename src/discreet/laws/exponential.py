"""The exponential mechanism: choose a candidate with probability proportional to e^{εu/2Δ}.

Notation. u the score of a candidate, Δ its sensitivity, m the number of candidates, ε the budget.

Law (McSherry and Talwar 2007): ε-DP. If all scores move the same way when a person is added (a
monotonic score), e^{εu/Δ} is ε-DP as well. Its loss has range ε, not 2ε (it lies in some [t−ε, t]),
which makes it ε²/8-zCDP (Cesar and Rogers 2021, Lemma 3.2).
Accuracy (Dwork and Roth 2014, Cor. 3.12): the chosen score falls short of the best by more than
s(log m + t) with probability at most e^{-t}, where s = 2Δ/ε (Δ/ε if monotonic).
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.guarantees import PureDP
from discreet.laws.checks import positive
from discreet.laws.mechanism import Mechanism
from discreet.laws.registry import Kind, register
from discreet.words import say

__all__ = ["Exponential"]


@dataclass(frozen=True, slots=True)
class Exponential(Mechanism):
    """A choice among candidates by a score of the given sensitivity.

    >>> round(Exponential(1.0).zcdp, 12)
    0.125
    """

    epsilon: float
    sensitivity: float = 1.0
    monotonic: bool = False
    rho_divisor = 8

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        positive("sensitivity", self.sensitivity)

    @property
    def scale(self) -> float:
        """s: the score difference that changes the odds of two candidates by a factor of e."""
        return (1 if self.monotonic else 2) * self.sensitivity / self.epsilon

    def steps(self, m: int) -> Exponential:
        """Return the same choice, seen from data sets that are m neighbours apart."""
        return Exponential(m * self.epsilon, m * self.sensitivity, self.monotonic)

    def guarantee(self) -> PureDP:
        """ε-DP."""
        return PureDP(self.epsilon)

    def explain(self) -> str:
        """Say in one sentence what the choice does."""
        return say("laws.exponential.explain", scale=self.scale)


register(
    Kind(
        name="exponential",
        budget="epsilon",
        make=Exponential,
        says="laws.exponential.label",
        python="laws.Exponential({})",
        planned=False,
    )
)
