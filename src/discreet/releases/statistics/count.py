"""How many rows, or how many units, there are in each group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Counting, Measure
from discreet.releases.statistics.base import (
    Answer,
    Grouped,
    Noisy,
    Part,
    ScriptLines,
    plain_rows,
    register,
)
from discreet.words import say


@register("count")
class Count(Grouped):
    """How many rows, or how many units."""

    count: Literal["rows", "units"]

    @property
    def counts_units(self) -> bool:
        """Whether one row a unit and group is enough."""
        return self.count == "units"

    @property
    def adds(self) -> tuple[Fraction, Fraction]:
        """Every row adds one."""
        return Fraction(1), Fraction(1)

    def measures(self) -> tuple[Measure, ...]:
        """The rows kept."""
        return (Counting(self.measure_name("count")),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One call."""
        return (Part.of_numbers("count", contribution),)

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> Sequence[Sequence[Answer]]:
        """A count and its interval."""
        return plain_rows(noisy["count"])

    def explain(self) -> str:
        """Say what is counted."""
        return say("releases.explain.count", what=self.count)

    def script(self, lines: ScriptLines) -> Iterator[str]:
        """Count, and add noise."""
        yield f"noisy = {lines.drawn('count')}(counts(kept, len(cells)))"
        yield lines.each
        yield f"    {lines.add('value')}"
