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

from discreet.errors import InputError
from discreet.guarantees import Adjacency, PureDP
from discreet.laws.checks import positive, whole
from discreet.laws.registry import Kind, register

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
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

    def guarantee(self) -> PureDP:
        """ε-DP for each answer, before it leaves the person."""
        return PureDP(self.epsilon, adjacency=Adjacency.LOCAL)

    def sd_of_share(self, people: int, share: float = 0.5) -> float:
        """Standard deviation of the unbiased estimate of a category's share, of `people` answers.

        If a share s holds the category, a report names it with probability s·P + (1−s)·q, where
        P = `prob_true` and q = (1−P)/(K−1); dividing the reported share by P − q undoes that.
        """
        whole("people", people)
        if not 0 <= share <= 1:
            raise InputError(f"share is {share!r}; it must lie between 0 and 1.")
        other = (1 - self.prob_true) / (self.categories - 1)
        reported = share * self.prob_true + (1 - share) * other
        return math.sqrt(reported * (1 - reported) / people) / (self.prob_true - other)

    def explain(self) -> str:
        """Say in one sentence what the noise does."""
        others = f"one of the other {self.categories - 1}" if self.categories > 2 else "the other"
        return (
            f"Each answer is replaced by chance before it leaves the person: it is the true one "
            f"{self.prob_true:.0%} of the time, and otherwise {others}."
        )


register(
    Kind(
        name="randomized-response",
        budget="epsilon",
        make=lambda budget, _: RandomizedResponse(budget),
        label="randomized yes-or-no answers",
        python="laws.RandomizedResponse({})",
        loss_by_name=True,
    )
)
