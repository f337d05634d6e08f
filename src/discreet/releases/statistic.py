"""What every statistic is once it is compiled: mechanism calls, and a reading of noisy numbers.

A statistic says what it measures, the parts that noise goes on or that choose, and how their noisy
outcome becomes rows of the table. `statistics` has those that count and add, `choices` those that
choose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeAlias

from discreet.errors import SpecError
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Measure, Number

__all__ = [
    "Answer",
    "Compiled",
    "Measured",
    "Noisy",
    "OfRows",
    "Part",
    "number_of",
    "resolution_of",
]

_LARGEST = 2**52


@dataclass(frozen=True, slots=True)
class Part:
    """One mechanism call: noise on numbers, or a choice among scores.

    `l1` and `l2_squared` are what calibration needs. For numbers: the sensitivities. For a choice:
    those of the scores, times what a selection loses (2, or 1 if adding a unit only raises scores),
    so that noise of scale s costs l1/s in ε and l2_squared/(2s²) in ρ either way.
    """

    name: str
    form: Literal["numbers", "choice"]
    l1: Fraction
    l2_squared: Fraction
    resolution: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Noisy:
    """What one mechanism call gave: its numbers, cell by cell, and how far they may be off."""

    values: Sequence[int]
    half_width: int
    sd: float


@dataclass(frozen=True, slots=True)
class Answer:
    """One row of the table: extra labels, a value, and its interval."""

    labels: tuple[str, ...]
    value: Fraction | int | None
    low: Fraction | int | None
    high: Fraction | int | None


Measured: TypeAlias = Mapping[str, Any]


class Compiled(Protocol):
    """A statistic, ready to be measured."""

    @property
    def entry(self) -> Any:
        """The statistic as the spec has it."""

    @property
    def counts_units(self) -> bool:
        """Whether one row a unit and group is enough."""

    @property
    def extra(self) -> tuple[str, ...]:
        """Columns of the table beside `by`: the bins, the answers."""

    def measures(self) -> tuple[Measure, ...]:
        """What the engine has to measure."""

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """The mechanism calls it takes."""

    def numbers(self, part: str, measured: Measured) -> list[int]:
        """The whole numbers that noise goes on, in cell order."""

    def scores(self, part: str, measured: Measured) -> list[list[int]]:
        """The scores of each choice to be made, in cell order."""

    def answers(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """The rows of the table, a list a cell."""

    def assumed(self, size: int) -> dict[str, list[int]]:
        """Numbers of one assumed group of that size, for accuracy before anything is read."""

    def explain(self) -> str:
        """What it does, in one sentence."""


class OfRows:
    """What statistics share that look at rows and add no column to the table."""

    @property
    def counts_units(self) -> bool:
        """Rows are counted."""
        return False

    @property
    def extra(self) -> tuple[str, ...]:
        """No column of its own."""
        return ()


def resolution_of(value: float) -> Fraction:
    """Return a resolution as the decimal that was written: 0.01 is one hundredth."""
    return Fraction(repr(value))


def number_of(entry: Any, column: str) -> Number:
    """Return a bounded column in whole multiples of its resolution; refuse what overflows."""
    step = resolution_of(entry.resolution)
    low = math.ceil(resolution_of(float(entry.bounds[0])) / step)
    high = math.floor(resolution_of(float(entry.bounds[1])) / step)
    if low > high:
        raise SpecError(
            f"statistic {entry.name!r}: no multiple of the resolution {entry.resolution:g} lies "
            f"within the bounds {entry.bounds[0]:g} and {entry.bounds[1]:g}; choose a finer one."
        )
    if max(abs(low), abs(high)) >= _LARGEST:
        raise SpecError(
            f"statistic {entry.name!r}: the bounds are more than 2^52 times the resolution "
            f"{entry.resolution:g}; choose a coarser one, so that sums stay whole numbers."
        )
    return Number(column, low, high, step)
