"""A statistic from outside the package: the portion of rows in which a column has a value."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Counting, Labels, Measure
from discreet.releases.statistics import register
from discreet.releases.statistics.base import ColumnName, Grouped
from discreet.releases.statistics.values import Answer, Noisy, Part


@register("portion")
class Portion(Grouped):
    """The portion of rows in which a column has a value; its fields are its keys in a spec."""

    portion: ColumnName
    value: str

    def measures(self) -> tuple[Measure, ...]:
        """Return what the engine counts: rows with the value, and all rows."""
        field = Labels(self.portion, (self.value,))
        return Counting(self.measure_name("hits"), field), Counting(self.measure_name("all"))

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """Return the mechanism calls: two; a row adds at most one to each number."""
        return Part.of_numbers("hits", contribution), Part.of_numbers("all", contribution)

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """Return the quotient in each cell, with the widest interval that the noise allows."""
        hits, rows = noisy["hits"], noisy["all"]
        off = [(0, 0), (-hits.half_width, rows.half_width), (hits.half_width, -rows.half_width)]
        return [
            [Answer((), *(self._ratio(h + x, n + y) for x, y in off))]
            for h, n in zip(hits.values, rows.values, strict=True)
        ]

    @staticmethod
    def _ratio(hits: int, rows: int) -> Fraction:
        return min(max(Fraction(hits, max(rows, 1)), Fraction(0)), Fraction(1))

    def assumed(self, size: int) -> dict[str, list[int]]:
        """Return the numbers of a group of that size for which accuracy is shown."""
        return {"hits": [size // 2], "all": [size]}

    def accuracy(self, calls: Mapping[str, Any], interval: float) -> dict[str, Any]:
        """Return how accurate it is, by the size of the group."""
        return self.accuracy_by_size(calls, interval)

    def explain(self) -> str:
        """Say what it is."""
        return f"The portion of rows whose {self.portion} is {self.value}."
