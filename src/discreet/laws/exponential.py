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
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import InputError
from discreet.guarantees import PureDP
from discreet.laws.checks import positive, whole
from discreet.laws.mechanism import Mechanism
from discreet.laws.registry import Kind, register
from discreet.words import say


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

    def probabilities(self, scores: Sequence[float]) -> tuple[float, ...]:
        """Return the probability of each candidate, for scores that are known or supposed.

        >>> Exponential(2.0).probabilities([0.0, math.log(3)])  # 1 : 3
        (0.25, 0.75)
        """
        if not scores or not all(math.isfinite(score) for score in scores):
            raise InputError("laws.scores")
        top = max(scores)
        weights = [math.exp((score - top) / self.scale) for score in scores]
        total = math.fsum(weights)
        return tuple(weight / total for weight in weights)

    def lead_for_even_odds(self, candidates: int) -> float:
        """Return the lead with which the best is as likely as all others together, if those tie."""
        return self.scale * math.log(max(1, whole("candidates", candidates) - 1))

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
