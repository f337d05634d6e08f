"""The sum of a column, in whole multiples of its resolution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Measure, Summing
from discreet.releases.statistics.base import (
    Answer,
    Bounded,
    ColumnName,
    Noisy,
    Part,
    ScriptLines,
    plain_rows,
    register,
)
from discreet.words import say


@register("sum")
class Sum(Bounded):
    """The sum of a column, clipped and in whole multiples of its resolution."""

    sum: ColumnName

    @property
    def adds(self) -> tuple[Fraction, Fraction]:
        """A row adds a multiple of the resolution within the bounds."""
        step = self.number.resolution
        return self.number.low * step, self.number.high * step

    def measures(self) -> tuple[Measure, ...]:
        """The sum of the rows kept."""
        return (Summing(self.measure_name("sum"), self.number),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One call; a row adds at most the larger bound."""
        low, high, step = self.number.low, self.number.high, self.number.resolution
        size = max(abs(low), abs(high), 1)
        return (Part.of_numbers("sum", contribution, size, step, signed=low < 0 < high),)

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> Sequence[Sequence[Answer]]:
        """A sum and its interval, exact multiples of the resolution."""
        return plain_rows(noisy["sum"], self.number.resolution)

    def explain(self) -> str:
        """Say what is added up."""
        low, high = self.bounds
        return say(
            "releases.explain.sum", column=self.sum, low=low, high=high, step=self.resolution
        )

    def script(self, lines: ScriptLines) -> Iterator[str]:
        """Add up, and add noise."""
        yield f"field = {self.number.script}"
        yield f"noisy = {lines.drawn('sum')}(sums(kept, len(cells), field))"
        yield lines.each
        yield f"    {lines.add(f'value * {lines.fraction(self.number.resolution)}')}"
