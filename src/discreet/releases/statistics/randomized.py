"""True answers, estimated from a column of answers that were randomized before.

An answer is given truly with probability π and else as one of the k−1 others, each with
λ = (1−π)/(k−1). So E[given_j] = λN + (π−λ)·true_j. That a person answered at all is protected like
any count.

Interval. Two errors add up: that of the coins, with a standard deviation of √(N/4) at most, and a
weighted sum of the noise, whose law is known. Each has a half width of its own, and the interval's
is the root of the sum of their squares. That of the coins is the normal one and half a person more,
at the largest N that the noise leaves likely. It is not proved that the interval covers as often as
it says; by enumeration it does, for two answers and groups of up to 80 people, where the normal law
fits worst.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from discreet.errors import SpecError
from discreet.laws.gaussian import Gaussian
from discreet.noise.standalone import unbiased
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Labels
from discreet.releases.models import distinct_keys
from discreet.releases.quotients import Array, Sum
from discreet.releases.statistics.base import ColumnName, Proportion, ScriptLines, register
from discreet.releases.statistics.histogram import Tallied
from discreet.releases.statistics.values import Answer, Noisy, decimal, labelled
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.pricing import Priced


@register("randomized")
class Randomized(Tallied):
    """A column of answers that were already randomized; the unbiased estimate of the true ones."""

    randomized: ColumnName
    answers: Annotated[tuple[str, ...], BeforeValidator(distinct_keys)] = Field(min_length=2)
    keep: Proportion = Field(
        gt=0,
        le=1,
        description="Probability that the answer given is the true one; otherwise it is one of "
        "the others, each equally likely. If any answer could be drawn instead, also the true one, "
        "with probability 1 - c, write c + (1 - c)/k for k answers.",
    )

    @model_validator(mode="after")
    def _informative(self) -> Randomized:
        if not self.keep > 1 / len(self.answers):
            raise SpecError("releases.spec.keep_low", keep=self.keep, answers=len(self.answers))
        return self

    @property
    def field(self) -> Labels:
        """The answer."""
        return Labels(self.randomized, self.answers)

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers."""
        return self.answers

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """The unbiased estimate of how many hold each answer truly."""
        k, keep, given = len(self.answers), decimal(self.keep), noisy["count"]
        mixed, rest = self._reaches(given, interval)
        rows = []
        for start in range(0, len(given.values), k):
            cell = given.values[start : start + k]
            half = Fraction(self._half_width(sum(cell) + rest, mixed, interval))
            rows.append([Answer((), x, x - half, x + half) for x in unbiased(cell, keep)])
        return labelled(rows, self.answers)

    @property
    def _lie(self) -> float:
        """The probability with which each answer that is not the true one is given."""
        return float((1 - decimal(self.keep)) / (len(self.answers) - 1))

    @property
    def _mixing(self) -> Array:
        """By what an estimate multiplies the noise of its own answer, and that of each other."""
        return np.array([1 - self._lie, self._lie])

    @property
    def _times(self) -> Array:
        """How many answers there are of both kinds."""
        return np.array([1.0, len(self.answers) - 1.0])

    def _reaches(self, noise: Noisy | Priced, interval: float) -> tuple[float, float]:
        """Return what the noise of an estimate, and that of all answers together, stays within."""
        both = (self._mixing, np.ones(2))
        if noise.law is None:
            mixed, together = (float(noise.half_width * factors @ self._times) for factors in both)
        else:
            sums = (Sum([(noise.law, factors, self._times)]) for factors in both)
            mixed, together = (one.half_width(interval) for one in sums)
        return mixed, together

    def _half_width(self, most: float, noise: float, interval: float) -> float:
        """Return half the width of an interval, from the most people that there can be."""
        coins = Gaussian(1.0).half_width(interval) * math.sqrt(max(most, 0.0) / 4) + 0.5
        return math.hypot(coins, noise) / (self.keep - self._lie)

    def off_by(self, size: int, calls: Mapping[str, Priced], interval: float) -> float:
        """Return the half width of the interval where the noise adds up to nothing."""
        mixed, rest = self._reaches(calls["count"], interval)
        return self._half_width(size + rest, mixed, interval)

    def assumed(self, size: int) -> dict[str, list[int]]:
        """A group of that size; errors depend on no more, as the largest variance is taken."""
        return {"count": [size] + [0] * (len(self.answers) - 1)}

    def note(self, contribution: Contribution) -> str:
        """Say what `keep` means: some surveys draw among all answers, the true one included."""
        k = len(self.answers)
        drawn = {"lie": (1 - self.keep) / (k - 1), "other": self.keep + (1 - self.keep) / k}
        return say("releases.plan.keep", statistic=self.name, keep=self.keep, n=k - 1, **drawn)

    def script(self, lines: ScriptLines) -> Iterator[str]:
        """Tally, add noise, and take out the bias."""
        keep = lines.fraction(decimal(self.keep))
        yield from self.tally_script(lines, f"unbiased(given, {keep})")
