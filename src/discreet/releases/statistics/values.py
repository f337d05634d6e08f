"""What goes into a statistic's mechanism calls, and what becomes of the noisy numbers.

A `Part` is one call before it is drawn, `Noisy` what it gave. An `Answer` is one row of the table;
a `Result` has all rows of a statistic, cell by cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from discreet.errors import SpecError
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import KeySet, Number

SIZES = (10, 100, 1000)
"""Sizes of a group that accuracy is told for, where it depends on the size."""

_LARGER = (10_000, 100_000, 1_000_000)
_EXPECTED: ContextVar[int | None] = ContextVar("expected", default=None)


@contextmanager
def expecting(size: int | None) -> Iterator[None]:
    """Have accuracy told for groups of the size that is expected, instead of the usual ones."""
    before = _EXPECTED.set(size)
    try:
        yield
    finally:
        _EXPECTED.reset(before)


def sizes_told(usual: tuple[int, ...] = SIZES) -> tuple[int, ...]:
    """Return the sizes of groups that accuracy is told for: the expected one, or the usual ones."""
    expected = _EXPECTED.get()
    return usual if expected is None else (expected,)


class Size(NamedTuple):
    """What the size of a group is: its rows, the sum of their weights, or what is divided by."""

    of: Literal["rows", "weights", "denominator"] = "rows"
    step: Fraction = Fraction(1)
    """What stands for a row."""


def by_size(
    width: Callable[[int], float | Mapping[str, float] | None],
    known: float = math.inf,
    size_of: Size = Size(),  # noqa: B008 - a frozen value
) -> dict[str, Any]:
    """Return the half widths in groups of some sizes, of which two or more say something.

    `known` is how far off a value is at most if nothing is published. `only_bounds` is the largest
    of the sizes that were tried at which the noise leaves no more than that. What is more than a
    number is told as it is.
    """
    sizes: list[dict[str, Any]] = []
    nothing: dict[str, int | float] = {}
    for size in sizes_told((*SIZES, *_LARGER)):
        if size in _LARGER and len(sizes) >= 2:
            break
        found, exact = width(size), size * size_of.step
        told = int(exact) if exact.denominator == 1 else float(exact)
        half = found if found is None or isinstance(found, Mapping) else {"half_width": found}
        if half is None or half["half_width"] >= known:
            nothing = {"only_bounds": told}
        else:
            sizes.append({size_of.of: told, **half})
    by = {} if size_of.of == "rows" else {"by": size_of.of}
    return {"assumed": sizes, **nothing, **by}


LARGEST = 2**52
"""Whole numbers of this size or more are refused: sums of them would not be exact."""


@dataclass(frozen=True, slots=True)
class Part:
    """One mechanism call: noise on numbers, or a choice among scores.

    `l1` and `l2_squared` are what calibration needs. For numbers: the sensitivities. For a choice:
    those of the scores, times what a selection loses (2, or 1 if adding a unit only raises scores),
    so that noise of scale s costs l1/s in ε and l2_squared/(2s²) in ρ either way. `changes` is the
    most that a unit moves a score, in each group that it may touch. `shares` are parts of the
    statistic's budget; without them all its calls get the same, and with a share of 0 none is made.
    `joint` is how many values a choice gives at once, by the exponential mechanism over tuples.
    `blurs`, for each currency: the error of what is published, as a multiple of this call's noise,
    where several calls together make it.
    """

    name: str
    form: Literal["numbers", "choice"]
    l1: Fraction
    l2_squared: Fraction
    resolution: Fraction = Fraction(1)
    changes: tuple[int, ...] = ()
    monotone: bool = False
    shares: Mapping[str, Fraction] | None = None
    joint: int = 0
    blurs: Mapping[str, float] | None = None

    def shared(self, **shares: Fraction) -> Part:
        """Return it with its share of the statistic's budget, for each currency: ε and ρ."""
        return replace(self, shares=shares)

    @classmethod
    def of_numbers(
        cls,
        name: str,
        contribution: Contribution,
        size: int = 1,
        resolution: Fraction = Fraction(1),
        *,
        signed: bool = False,
    ) -> Part:
        """Return noise on numbers, to each of which a row adds at most `size`."""
        l1, l2 = contribution.l1(size), contribution.l2_squared(size, signed=signed)
        return cls(name, "numbers", Fraction(l1), Fraction(l2), resolution)

    @classmethod
    def of_choice(
        cls, name: str, changes: Sequence[int], resolution: Fraction, *, monotone: bool
    ) -> Part:
        """Return a choice in each group; a selection loses ε = kΔ/s, and ε²/8 in ρ."""
        lost = [change if monotone else 2 * change for change in changes]
        square = Fraction(sum(loss**2 for loss in lost), 4)
        return cls(
            name, "choice", Fraction(sum(lost)), square, resolution, tuple(changes), monotone
        )


@dataclass(frozen=True, slots=True)
class Noisy:
    """What one mechanism call gave: its numbers, cell by cell, and how far they may be off.

    `law` is the law of the noise on numbers. A choice has none, and numbers that are assumed have
    none either: of their noise only what it stays within is known.
    """

    values: Sequence[int]
    half_width: int
    sd: float
    law: Any = None


class Answer(NamedTuple):
    """One row of the table: extra labels, a value, its interval and its standard error.

    `published` is the whole number beside the value, where a statistic has one.
    """

    labels: tuple[str, ...]
    value: Fraction | int | None
    low: Fraction | int | None
    high: Fraction | int | None
    std_error: Fraction | int | None = None
    published: Fraction | int | None = None

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval, where it has both ends."""
        return None if self.low is None or self.high is None else float(self.high - self.low) / 2

    @property
    def farthest(self) -> float | None:
        """How far the value lies from the farther end of its interval, where it has both ends."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return float(max(self.high - self.value, self.value - self.low))


@dataclass(frozen=True)
class PlainRows(Sequence[Sequence[Answer]]):
    """Cells of one row each: whole multiples of a step, and as many to both sides.

    A row is made when it is looked at; a table of very many cells is printed from the multiples.
    """

    values: Sequence[int]
    half_width: int
    step: Fraction
    std_error: Fraction

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        value, width = self.values[place], self.half_width
        top, bottom = self.step.numerator, self.step.denominator
        exact, low, high = (
            n * top if bottom == 1 else Fraction(n * top, bottom)
            for n in (value, value - width, value + width)
        )
        return [Answer((), exact, low, high, self.std_error)]

    def multiples(self, field: str) -> Sequence[int] | None:
        """Return a field of the rows in multiples of the step; None for one that has none."""
        away = {"value": 0, "low": -self.half_width, "high": self.half_width}.get(field)
        return None if away is None else [value + away for value in self.values]


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of one statistic, a list for each of its cells (None for one cell)."""

    name: str
    cells: KeySet | None
    extra: tuple[str, ...]
    rows: Sequence[Sequence[Answer]]


def multiples(
    column: str,
    bounds: tuple[float, float],
    resolution: float,
    statistic: str | None,
    most: int = 2 * LARGEST,
    too_many: str = "releases.statistics.many_multiples",
) -> Number:
    """Return a column in whole multiples of a resolution; refuse none of them, and too many."""
    step = decimal(resolution)
    low, high = math.ceil(decimal(bounds[0]) / step), math.floor(decimal(bounds[1]) / step)
    said = {"statistic": statistic, "resolution": resolution}
    if low > high:
        raise SpecError("releases.statistics.no_multiple", low=bounds[0], high=bounds[1], **said)
    if max(abs(low), abs(high)) >= LARGEST:
        raise SpecError("releases.statistics.too_fine", **said)
    if high - low >= most:
        raise SpecError(too_many, size=high - low + 1, most=most, **said)
    return Number(column, low, high, step)


def span(number: Number) -> tuple[Fraction, Fraction]:
    """Return the least and the largest value of a column that is clipped."""
    return number.low * number.resolution, number.high * number.resolution


def decimal(value: float) -> Fraction:
    """Return a number as the decimal that was written: 0.01 is one hundredth."""
    return Fraction(repr(float(value)))


def plain_rows(noisy: Noisy, resolution: Fraction = Fraction(1)) -> PlainRows:
    """Return noisy numbers with their intervals, exact multiples of a resolution, one a cell."""
    error = rounded(noisy.sd * float(resolution))
    return PlainRows(noisy.values, noisy.half_width, resolution, error)


def rounded(error: float) -> Fraction:
    """Return a standard error to four digits, as it is printed."""
    return decimal(float(f"{error:.4g}"))


def labelled(rows: Sequence[Sequence[Answer]], labels: Sequence[str]) -> list[list[Answer]]:
    """Gather rows into cells of len(labels) rows each, and name them."""
    flat = (answer for cell in rows for answer in cell)
    return [
        [answer._replace(labels=(label,)) for label, answer in zip(labels, cell, strict=True)]
        for cell in zip(*[flat] * len(labels), strict=True)
    ]
