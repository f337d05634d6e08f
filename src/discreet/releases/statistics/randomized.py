"""True answers, estimated from a column of answers that were randomized before.

An answer is given truly with probability π and else as one of the k−1 others, each with
λ = (1−π)/(k−1). So E[given_j] = λN + (π−λ)·true_j. That a person answered at all is protected like
any count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from discreet.errors import SpecError
from discreet.laws.gaussian import Gaussian
from discreet.noise.standalone import unbiased
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Labels
from discreet.releases.models import distinct_keys
from discreet.releases.statistics.base import (
    Answer,
    ColumnName,
    Noisy,
    Proportion,
    ScriptLines,
    decimal,
    labelled,
    register,
)
from discreet.releases.statistics.histogram import Tallied
from discreet.words import say


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
        """The unbiased estimate of how many hold each answer truly.

        The interval is the normal one with the largest variance that the coins can have (¼ each)
        and the variance of the noise.
        """
        k = len(self.answers)
        keep = decimal(self.keep)
        lie = (1 - keep) / (k - 1)
        z = Gaussian(1.0).half_width(interval)
        given = noisy["count"]
        noise = given.sd**2 * ((1 - float(lie)) ** 2 + (k - 1) * float(lie) ** 2)
        rows = []
        for start in range(0, len(given.values), k):
            cell = given.values[start : start + k]
            half = Fraction(z * math.sqrt(max(sum(cell), 0) * 0.25 + noise)) / (keep - lie)
            rows.append([Answer((), x, x - half, x + half) for x in unbiased(cell, keep)])
        return labelled(rows, self.answers)

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
