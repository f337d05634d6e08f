"""Survey weights: weighted counts, sums and means, with public bounds of the weights.

    - {count: rows, weight_by: pweight, bounds: [0, 400]}
    - {mean: income, bounds: [0, 90000], resolution: 10,
       weight_by: {column: pweight, bounds: [0, 400], design_effect: 1.8, sample: 12000}}

A row adds its weight, or its weight times its value. So one unit may change a number by the largest
weight times what it may change without weights, and the noise is that much larger, while the number
itself grows by the average weight only: relative to it the noise is (largest/average) times as
large. Weights are clipped to their bounds and rounded to their resolution.

A weight is part of its row. Weights that were calibrated, raked or post-stratified on these data
change for everybody when one person joins; no sensitivity above holds then, and such weights are
refused by declaration (`calibrated: true`).

A mean is Σw(y − m)/Σw, with m the middle of the bounds, as without weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from discreet.errors import PolicyError, SpecError
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Measure, Number, Summing
from discreet.releases.models import Closed
from discreet.releases.statistics.base import Added, Bounds, Measured, register
from discreet.releases.statistics.moments import Mean
from discreet.releases.statistics.values import LARGEST, Answer, Noisy, Part, Size, multiples, span
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.pricing import Priced


class Weights(Closed):
    """A column of weights, and what is public about it."""

    column: Annotated[str, "column"]
    bounds: Bounds = Field(
        description="Weights are clipped to these; they must not come from data."
    )
    resolution: float = Field(default=0.01, gt=0)
    calibrated: bool = Field(
        default=False, description="Whether the weights were fitted to these data: then refused."
    )
    design_effect: float | None = Field(default=None, gt=0)
    sample: int | None = Field(default=None, ge=1, description="How many were sampled: public.")
    population: float | None = Field(default=None, gt=0)


@register("weight_by")
class Weighted(Added):
    """A count, a sum or a mean in which a row counts as often as its weight says."""

    refines: ClassVar[tuple[str, ...]] = ("count", "sum", "mean")

    weight_by: Weights | str = Field(description="The column of weights, or it with its bounds.")
    count: Literal["rows", "units"] | None = None
    sum: str | None = None
    mean: str | None = None
    bounds: Bounds | None = Field(
        default=None, description="Of the values; of the weights in a count."
    )
    resolution: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _whole(self) -> Weighted:
        if [self.count, self.sum, self.mean].count(None) != 2:
            raise SpecError("releases.weights.one_of")
        values = [self.bounds is not None, self.resolution is not None]
        if self.count is None and not (isinstance(self.weight_by, Weights) and all(values)):
            raise SpecError("releases.weights.two_bounds")
        if self.count is not None and isinstance(self.weight_by, Weights) == any(values):
            raise SpecError("releases.weights.bounds")
        if self.weights.bounds[0] < 0:
            raise SpecError("releases.weights.negative", low=self.weights.bounds[0])
        return self

    @property
    def weights(self) -> Weights:
        """The weights, however they were written."""
        if isinstance(self.weight_by, Weights):
            return self.weight_by
        if self.bounds is None:
            raise SpecError("releases.weights.bounds")
        step = 0.01 if self.resolution is None else self.resolution
        return Weights(column=self.weight_by, bounds=self.bounds, resolution=step)

    @property
    def subject(self) -> str:
        """What is counted, added up or averaged."""
        return str(self.count or self.sum or self.mean)

    def check_policy(self) -> None:
        """Refuse weights that depend on everybody's data."""
        if self.weights.calibrated:
            raise PolicyError("releases.weights.calibrated", statistic=self.name)

    # ------------------------------------------------------------------ numbers

    @cached_property
    def factor(self) -> Number:
        """The weights in whole multiples of their resolution."""
        said = self.weights
        return multiples(said.column, said.bounds, said.resolution, self.name)

    @cached_property
    def number(self) -> Number | None:
        """The values in whole multiples of theirs; None for a count."""
        if self.count is not None or self.bounds is None or self.resolution is None:
            return None
        found = multiples(self.subject, self.bounds, self.resolution, self.name)
        if max(abs(found.low), abs(found.high), found.size) * self.factor.high >= LARGEST:
            raise SpecError("releases.weights.too_fine", statistic=self.name)
        return found

    @cached_property
    def plain(self) -> Mean:
        """The mean without weights: deviations are from the same middle."""
        shared = ("mean", "bounds", "resolution", "by", "keys", "name")
        return Mean.model_validate({name: getattr(self, name) for name in shared})

    @property
    def largest(self) -> tuple[int, Fraction, bool]:
        """The largest weight multiplies what a row adds."""
        size, step, signed = super().largest
        return size * max(self.factor.high, 1), step * self.factor.resolution, signed

    @property
    def typical(self) -> bool:
        """A mean."""
        return self.mean is not None

    @property
    def adds(self) -> tuple[Fraction, Fraction] | None:
        """A row adds its weight, or its weight times its value."""
        values = super().adds
        if self.mean is not None or values is None:
            return None
        ends = [weight * value for weight in span(self.factor) for value in values]
        return min(ends), max(ends)

    def measures(self) -> tuple[Measure, ...]:
        """Sums of weights, and of weights times values."""
        count, total = self.measure_name("count"), self.measure_name("sum")
        if self.number is None:
            return (Summing(count, self.factor),)
        if self.sum is not None:
            return (Summing(total, self.number, weight=self.factor),)
        return (
            Summing(count, self.number, power=0, weight=self.factor),
            Summing(total, self.number, self.plain.centre, weight=self.factor),
        )

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One call, or two for a mean; the largest weight multiplies what a row adds."""
        if self.mean is None:
            return super().parts(contribution)
        most, unit = max(self.factor.high, 1), self.factor.resolution
        reach, step = self.plain.reach * most, self.plain.step * unit
        return (
            Part.of_numbers("count", contribution, most, unit),
            Part.of_numbers("sum", contribution, reach, step, signed=True),
        )

    def numbers(self, part: str, measured: Measured) -> list[int]:
        """The whole numbers that noise goes on."""
        if self.mean is not None:
            return self.plain.numbers(part, measured)
        return super().numbers(part, measured)

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> Sequence[Sequence[Answer]]:
        """A number and its interval; a mean within its bounds."""
        if self.mean is not None:
            return self.plain.rows(noisy, interval)
        return super().rows(noisy, interval)

    # ------------------------------------------------------------------ accuracy and words

    def assumed(self, size: int) -> dict[str, list[int]] | None:
        """For a mean, as without weights, in a group whose weights add up to as much."""
        return None if self.mean is None else self.plain.assumed(self._total(size))

    def _total(self, size: int) -> int:
        """The sum of that many weights in the middle of their bounds."""
        return size * (self.factor.low + self.factor.high) // 2

    @property
    def size_of(self) -> Size:
        """The sum of the weights: which rows have which weight is not known."""
        low, high = span(self.factor)
        return Size("weights", (low + high) / 2)

    def off_by(self, size: int, calls: Mapping[str, Priced], interval: float) -> float:
        """As without weights, for a group of their sum."""
        return self.plain.off_by(self._total(size), calls, interval)

    def accuracy(self, calls: Mapping[str, Priced], interval: float) -> dict[str, Any]:
        """How far the noise moves it, and the sampling error where the design is declared."""
        said, sampling = super().accuracy(calls, interval), self.sampling_sd
        return said if sampling is None else said | {"sampling_sd": sampling}

    @property
    def sampling_sd(self) -> float | None:
        """The largest standard deviation of the sampling error, by the declared design.

        √(effect/n) times the largest standard deviation of one value: half the width of the bounds
        for a mean, half the population for a count.
        """
        said = self.weights
        if said.design_effect is None or said.sample is None:
            return None
        if self.mean is not None and self.bounds is not None:
            one = (self.bounds[1] - self.bounds[0]) / 2
        elif self.count is not None and said.population is not None:
            one = said.population / 2
        else:
            return None
        return one * math.sqrt(said.design_effect / said.sample)

    def note(self, contribution: Contribution) -> str:
        """Say what the weights cost."""
        values = {"largest": self.weights.bounds[1], "rows": contribution.l1()}
        return say("releases.weights.cost", statistic=self.name, **values)

    def clipped(self) -> list[tuple[str, float, float]]:
        """The weights, and the values."""
        own = [(self.weights.column, *self.weights.bounds)]
        return own + ([(self.subject, *self.bounds)] if self.number and self.bounds else [])

    def explain(self) -> str:
        """Say what is weighted by what, and what is assumed of the weights."""
        low, high = self.weights.bounds
        kind = "count" if self.count else "sum" if self.sum else "mean"
        values = {"column": self.weights.column, "low": low, "high": high, "what": self.subject}
        said = say(f"releases.weights.explain_{kind}", **values)
        return f"{said} {say('releases.weights.assumed')}"
