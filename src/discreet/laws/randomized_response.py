"""Randomized response: each person reports their own category, or another one, by chance.

Notation. K categories, ε the budget, w = e^ε + K − 1.

Law (Warner 1965; Kairouz, Bonawitz and Ramage 2016): the true category is reported with
probability e^ε/w, each other one with 1/w. Local adjacency: one person's answer is changed. The
privacy loss is +ε with probability e^ε/w, −ε with 1/w, and 0 (one of the other K − 2 categories)
otherwise; for K = 2 exactly the law of the geometric mechanism with sensitivity 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.guarantees import Adjacency, PureDP
from discreet.laws.checks import positive, whole
from discreet.laws.mechanism import CategoriesLoss, Mechanism, TwoPoint
from discreet.laws.registry import Kind, register
from discreet.words import say


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Mechanism):
    """Randomized response over `categories` answers, ε-DP for the person who answers.

    >>> survey = RandomizedResponse(math.log(3))
    >>> round(survey.prob_true, 12)
    0.75
    """

    epsilon: float
    categories: int = 2

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        whole("categories", self.categories, low=2)

    @property
    def prob_true(self) -> float:
        """Probability that the reported category is the true one."""
        return 1 / (1 + (self.categories - 1) * math.exp(-self.epsilon))

    @property
    def prob_exact(self) -> float:
        """The same as `prob_true`: the report is the true category."""
        return self.prob_true

    def steps(self, m: int) -> RandomizedResponse:
        """Return what is at least as bad as m changed answers: one with m times the budget.

        Two categories are the worst case of any mε-DP release.
        """
        return self if m == 1 else RandomizedResponse(m * self.epsilon)

    @property
    def loss(self) -> TwoPoint | CategoriesLoss:
        """±ε, and 0 where there are more than two categories."""
        if self.categories == 2:
            return TwoPoint(float(self.epsilon))
        return CategoriesLoss(float(self.epsilon), self.categories)

    def guarantee(self) -> PureDP:
        """ε-DP for each answer, before it leaves the person."""
        return PureDP(self.epsilon, adjacency=Adjacency.LOCAL)

    def explain(self) -> str:
        """Say in one sentence what the noise does."""
        share, others = self.prob_true, self.categories - 1
        if others == 1:
            return say("laws.randomized_response.explain_two", share=share)
        return say("laws.randomized_response.explain_more", share=share, others=others)


register(
    Kind(
        name="randomized-response",
        budget="epsilon",
        make=lambda budget, _: RandomizedResponse(budget),
        says="laws.randomized_response.label",
        python="laws.RandomizedResponse({})",
        loss_by_name=True,
    )
)
