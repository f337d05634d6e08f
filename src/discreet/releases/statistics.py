"""From a statistic of the spec to mechanism calls, and from noisy numbers to its rows of the table.

Each statistic says what it measures, how many mechanism calls that takes and how sensitive each is
(`parts`), how it reads the noisy whole numbers (`answers`), and what it does in one sentence
(`explain`). Whole numbers are multiples of the resolution; values are exact fractions until they
are printed. No value depends on anything but noisy numbers and the spec.

Mechanism calls: a count, sum, histogram or randomized column takes one; a mean two (sum and count),
a variance three (and squares). Means and variances are computed from deviations y − centre, the
centre in the middle of the bounds: that halves the sensitivity of the sum.

Intervals hold over the noise alone, with at least the stated probability (a union bound where there
are several calls): they say how far the released value is from the same statistic of the bounded
and clipped data. They do not cover what bounding and clipping left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from discreet.errors import SpecError
from discreet.laws.gaussian import Gaussian
from discreet.releases import questions as asked
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import (
    Bins,
    Counting,
    Labels,
    Measure,
    Number,
    Summing,
    Tally,
)
from discreet.releases.statistic import (
    Answer,
    Compiled,
    Measured,
    Noisy,
    OfRows,
    Part,
    number_of,
    resolution_of,
)

__all__ = ["CountOf", "HistogramOf", "Moments", "RandomizedOf", "SumOf", "compiled"]


def _numbers(
    name: str,
    contribution: Contribution,
    size: int,
    resolution: Fraction = Fraction(1),
    *,
    signed: bool = False,
) -> Part:
    return Part(
        name,
        "numbers",
        Fraction(contribution.l1(size)),
        Fraction(contribution.l2_squared(size, signed=signed)),
        resolution,
    )


class _Numbers(OfRows):
    """What statistics without a choice share."""

    def scores(self, part: str, measured: Measured) -> list[list[int]]:
        """No choice is made."""
        return []


@dataclass(frozen=True)
class CountOf(_Numbers):
    """Rows, or units."""

    entry: asked.Count

    @property
    def counts_units(self) -> bool:
        """Whether one row a unit and group is enough."""
        return self.entry.count == "units"

    def measures(self) -> tuple[Measure, ...]:
        """The rows kept."""
        return (Counting(f"{self.entry.name}/count"),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One call."""
        return (_numbers("count", contribution, 1),)

    def numbers(self, part: str, measured: Measured) -> list[int]:
        """The counts."""
        return list(measured[f"{self.entry.name}/{part}"])

    def answers(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """A count and its interval."""
        return _plain(noisy["count"], Fraction(1))

    def assumed(self, size: int) -> dict[str, list[int]]:
        """Any count: the noise does not depend on it."""
        return {"count": [size]}

    def explain(self) -> str:
        """Say it."""
        return f"How many {self.entry.count} there are, after bounding."


@dataclass(frozen=True)
class SumOf(_Numbers):
    """A sum in whole multiples of the resolution."""

    entry: asked.Sum
    number: Number

    def measures(self) -> tuple[Measure, ...]:
        """The sum of the rows kept."""
        return (Summing(f"{self.entry.name}/sum", self.number),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One call; a row adds at most the larger bound."""
        low, high = self.number.low, self.number.high
        size = max(abs(low), abs(high), 1)
        return (_numbers("sum", contribution, size, self.number.resolution, signed=low < 0 < high),)

    def numbers(self, part: str, measured: Measured) -> list[int]:
        """The sums, in multiples."""
        return list(measured[f"{self.entry.name}/{part}"])

    def answers(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """A sum and its interval, exact multiples of the resolution."""
        return _plain(noisy["sum"], self.number.resolution)

    def assumed(self, size: int) -> dict[str, list[int]]:
        """Any sum: the noise does not depend on it."""
        return {"sum": [0]}

    def explain(self) -> str:
        """Say it."""
        low, high = self.entry.bounds
        return (
            f"The sum of {self.entry.sum}, each value clipped to {low:g} … {high:g} and rounded to "
            f"a multiple of {self.entry.resolution:g}."
        )


@dataclass(frozen=True)
class Moments(_Numbers):
    """Mean or variance, from deviations about the middle of the bounds."""

    entry: Any
    column: str
    number: Number
    second: bool

    @property
    def centre(self) -> int:
        """The middle of the bounds, in multiples."""
        return (self.number.low + self.number.high) // 2

    @property
    def reach(self) -> int:
        """The largest deviation."""
        return max(self.number.high - self.centre, self.centre - self.number.low, 1)

    def measures(self) -> tuple[Measure, ...]:
        """Count, sum of deviations and, for a variance, of their squares."""
        name = self.entry.name
        found: tuple[Measure, ...] = (
            Counting(f"{name}/count", self.number),
            Summing(f"{name}/sum", self.number, self.centre),
        )
        return (
            (*found, Summing(f"{name}/squares", self.number, self.centre, 2))
            if self.second
            else found
        )

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """Two calls, or three."""
        step = self.number.resolution
        calls = (
            _numbers("count", contribution, 1),
            _numbers("sum", contribution, self.reach, step, signed=True),
        )
        if not self.second:
            return calls
        return (*calls, _numbers("squares", contribution, self.reach**2, step**2))

    def numbers(self, part: str, measured: Measured) -> list[int]:
        """The counts, sums or squares."""
        return list(measured[f"{self.entry.name}/{part}"])

    def answers(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """The mean or variance of each cell; of an empty one only the bounds are known."""
        counts = noisy["count"]
        rows = []
        for place, count in enumerate(counts.values):
            least, most = count - counts.half_width, count + counts.half_width
            first = _ratio(noisy["sum"], place, count, least, most, self.reach, signed=True)
            if not self.second:
                rows.append([self._mean(*first)])
                continue
            square = self.reach**2
            second = _ratio(noisy["squares"], place, count, least, most, square, signed=False)
            rows.append([self._variance(first, second)])
        return rows

    def _mean(self, value: Fraction, low: Fraction, high: Fraction) -> Answer:
        step = self.number.resolution
        return Answer((), *((self.centre + x) * step for x in (value, low, high)))

    def _variance(self, first: tuple[Fraction, ...], second: tuple[Fraction, ...]) -> Answer:
        mean, low, high = first
        squares = [low**2, high**2]
        least, most = (Fraction(0) if low <= 0 <= high else min(squares)), max(squares)
        unit, largest = self.number.resolution**2, Fraction(self.reach**2)

        def inside(x: Fraction) -> Fraction:
            return min(max(x, Fraction(0)), largest) * unit

        return Answer(
            (), inside(second[0] - mean**2), inside(second[1] - most), inside(second[2] - least)
        )

    def assumed(self, size: int) -> dict[str, list[int]]:
        """A group of that size, spread evenly over the bounds."""
        found = {"count": [size], "sum": [0]}
        return found | {"squares": [size * self.reach**2 // 3]} if self.second else found

    def explain(self) -> str:
        """Say it."""
        low, high = self.entry.bounds
        what = "variance" if self.second else "mean"
        return (
            f"The {what} of {self.column}, each value clipped to {low:g} … {high:g}: noisy sums "
            "divided by a noisy count, kept within what the bounds allow."
        )


@dataclass(frozen=True)
class _Tallied(_Numbers):
    """Counts of the values of one field: a row has one value, so all are as sensitive as one."""

    entry: asked.Histogram | asked.Randomized

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One call."""
        return (_numbers("count", contribution, 1),)

    def numbers(self, part: str, measured: Measured) -> list[int]:
        """The counts, value after value."""
        return [count for cell in measured[f"{self.entry.name}/{part}"] for count in cell]


@dataclass(frozen=True)
class HistogramOf(_Tallied):
    """Counts between public edges."""

    entry: asked.Histogram

    @property
    def extra(self) -> tuple[str, ...]:
        """The column of the bins."""
        return (self.entry.histogram,)

    def measures(self) -> tuple[Measure, ...]:
        """A tally of the bins."""
        field = Bins(self.entry.histogram, self.entry.edges)
        return (Tally(f"{self.entry.name}/count", field),)

    def answers(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """A row a bin."""
        return _labelled(_plain(noisy["count"], Fraction(1)), _bin_names(self.entry.edges))

    def assumed(self, size: int) -> dict[str, list[int]]:
        """Any counts: the noise does not depend on them."""
        return {"count": [size] * (len(self.entry.edges) - 1)}

    def explain(self) -> str:
        """Say it."""
        return f"How many rows have {self.entry.histogram} between each two edges."


@dataclass(frozen=True)
class RandomizedOf(_Tallied):
    """True answers, estimated from a column of answers that were randomized before.

    That a person answered at all is protected like any count.
    """

    entry: asked.Randomized

    @property
    def extra(self) -> tuple[str, ...]:
        """The column of the answers."""
        return (self.entry.randomized,)

    def measures(self) -> tuple[Measure, ...]:
        """A tally of the answers as given."""
        field = Labels(self.entry.randomized, self.entry.answers)
        return (Tally(f"{self.entry.name}/count", field),)

    def answers(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """The unbiased estimate of how many hold each answer truly.

        An answer is given truly with probability π and else as one of the k−1 others, each with
        λ = (1−π)/(k−1). So E[given_j] = λN + (π−λ)·true_j. The interval is the normal one with the
        largest variance that the coins can have (¼ each) and the variance of the noise.
        """
        k = len(self.entry.answers)
        keep = resolution_of(self.entry.keep)
        lie = (1 - keep) / (k - 1)
        z = Gaussian(1.0).half_width(interval)
        given = noisy["count"]
        rows = []
        for start in range(0, len(given.values), k):
            cell = given.values[start : start + k]
            total = sum(cell)
            coins = max(total, 0) * 0.25
            noise = given.sd**2 * ((1 - float(lie)) ** 2 + (k - 1) * float(lie) ** 2)
            half = Fraction(z * math.sqrt(coins + noise)) / (keep - lie)
            true = [(count - lie * total) / (keep - lie) for count in cell]
            rows.append([Answer((), x, x - half, x + half) for x in true])
        return _labelled(rows, self.entry.answers)

    def assumed(self, size: int) -> dict[str, list[int]]:
        """A group of that size, its answers spread evenly."""
        k = len(self.entry.answers)
        return {"count": [size // k] * k}

    def explain(self) -> str:
        """Say it."""
        return (
            "How many hold each answer truly, estimated without bias from "
            f"{self.entry.randomized}, where each was kept with probability {self.entry.keep:g}."
        )


def _plain(noisy: Noisy, resolution: Fraction) -> list[list[Answer]]:
    width, top, bottom = noisy.half_width, resolution.numerator, resolution.denominator
    if bottom == 1:
        return [[Answer((), v * top, (v - width) * top, (v + width) * top)] for v in noisy.values]
    return [
        [Answer((), *(Fraction(n * top, bottom) for n in (v, v - width, v + width)))]
        for v in noisy.values
    ]


def _labelled(rows: list[list[Answer]], labels: Sequence[str]) -> list[list[Answer]]:
    """Gather rows into cells of len(labels) rows each, and name them."""
    flat = [answer for cell in rows for answer in cell]
    count = len(labels)
    return [
        [
            Answer((label,), answer.value, answer.low, answer.high)
            for label, answer in zip(labels, flat[start : start + count], strict=True)
        ]
        for start in range(0, len(flat), count)
    ]


def _ratio(
    noisy: Noisy, place: int, count: int, least: int, most: int, reach: int, *, signed: bool
) -> tuple[Fraction, Fraction, Fraction]:
    """Return sum/count and the range it may have, all within what the bounds allow."""
    bottom, top = Fraction(-reach if signed else 0), Fraction(reach)
    total, width = noisy.values[place], noisy.half_width

    def inside(x: Fraction) -> Fraction:
        return min(max(x, bottom), top)

    value = inside(Fraction(total, max(count, 1)))
    if least < 1:
        return value, bottom, top
    corners = [Fraction(s, n) for s in (total - width, total + width) for n in (least, most)]
    return value, inside(min(corners)), inside(max(corners))


def _bin_names(edges: Sequence[float]) -> list[str]:
    last = len(edges) - 2
    return [
        f"[{low:.15g}, {high:.15g}{']' if place == last else ')'}"
        for place, (low, high) in enumerate(pairwise(edges))
    ]


def compiled(entry: Any) -> Compiled:
    """Return a statistic of the spec, ready to be measured; refuse what cannot be."""
    from discreet.releases.choices import best_of, quantile_of

    if isinstance(entry, asked.Count):
        return CountOf(entry)
    if isinstance(entry, asked.Sum):
        return SumOf(entry, number_of(entry, entry.sum))
    if isinstance(entry, asked.Mean):
        return Moments(entry, entry.mean, number_of(entry, entry.mean), False)
    if isinstance(entry, asked.Variance):
        number = number_of(entry, entry.variance)
        if number.size > 2**31:
            raise SpecError(
                f"statistic {entry.name!r}: the bounds are more than 2^31 times the resolution "
                f"{entry.resolution:g}, and squares would overflow; choose a coarser one."
            )
        return Moments(entry, entry.variance, number, True)
    if isinstance(entry, asked.Histogram):
        return HistogramOf(entry)
    if isinstance(entry, asked.Randomized):
        return RandomizedOf(entry)
    if isinstance(entry, asked.Quantile):
        return quantile_of(entry)
    return best_of(entry)
