"""Counts of rows between public edges, and what all tallies share.

A row has one value, so counting each value is as sensitive as one count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from discreet.errors import SpecError
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Bins, Labels, Measure, Tally
from discreet.releases.models import Whole, as_tuple
from discreet.releases.statistics.base import ColumnName, Grouped, ScriptLines, register
from discreet.releases.statistics.values import Answer, Noisy, Part, Size, labelled, plain_rows


class Tallied(Grouped):
    """Counts of the values of one field: a row a value, named in a column of the table."""

    @property
    def field(self) -> Bins | Labels:
        """The field whose values are counted."""
        raise NotImplementedError

    @property
    def labels(self) -> Sequence[str]:
        """What the values are called."""
        raise NotImplementedError

    @property
    def extra(self) -> tuple[str, ...]:
        """The column of the values."""
        return (self.field.column,)

    def measures(self) -> tuple[Measure, ...]:
        """A tally."""
        return (Tally(self.measure_name("count"), self.field),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One call."""
        return (Part.of_numbers("count", contribution),)

    def script(self, lines: ScriptLines) -> Iterator[str]:
        """Tally, and add noise."""
        yield from self.tally_script(lines, "given")

    def tally_script(self, lines: ScriptLines, values: str) -> Iterator[str]:
        """Tally, add noise, and put `values` of the noisy numbers `given` in the table."""
        size = self.field.size
        yield f"tallied = tally(kept, len(cells), {self.field.script}, {size})"
        yield f"noisy = {lines.drawn('count')}([n for cell in tallied for n in cell])"
        yield f"labels = {list(self.labels)!a}"
        yield "for place, key in enumerate(cells):"
        yield f"    given = noisy[{size} * place : {size} * place + {size}]"
        yield f"    for label_, value in zip(labels, {values}, strict=True):"
        yield f"        {lines.add('value', f'{self.field.column!a}: label_')}"


@register("histogram")
class Histogram(Tallied):
    """Counts of rows between public edges."""

    histogram: ColumnName
    edges: Annotated[tuple[Whole, ...], BeforeValidator(as_tuple)] = Field(
        min_length=2, max_length=1001
    )

    @field_validator("edges")
    @classmethod
    def _rising(cls, edges: tuple[float, ...]) -> tuple[float, ...]:
        if any(not low < high for low, high in pairwise(edges)):
            raise SpecError("releases.spec.edges_rise")
        return edges

    @property
    def field(self) -> Bins:
        """The place between the edges."""
        return Bins(self.histogram, self.edges)

    @property
    def labels(self) -> list[str]:
        """The intervals, the last one closed."""
        last = len(self.edges) - 2
        return [
            f"[{low:.15g}, {high:.15g}{']' if place == last else ')'}"
            for place, (low, high) in enumerate(pairwise(self.edges))
        ]

    @property
    def adds(self) -> tuple[Fraction, Fraction]:
        """A row adds one to its bin."""
        return Fraction(0), Fraction(1)

    @property
    def size_of_whole(self) -> Size:
        """The rows of a bin."""
        return Size()

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """A row a bin."""
        return labelled(plain_rows(noisy["count"]), self.labels)
