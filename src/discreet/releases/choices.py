"""Statistics that choose: quantiles, and the best of some candidates.

Notation. A choice has scores u_1 … u_n in whole numbers; the index of a high one is released.

Quantile at α = a/b: candidates are the multiples of the resolution within the bounds, and
    u_j = −|(b−a)·#(y < j) − a·#(y > j)|       (Smith 2011),
which is highest where a share α lies below. A row changes it by at most max(a, b−a), up or down, so
a selection loses twice that. One choice a group: a unit with r_g rows in group g loses
2·max(a, b−a)·r_g/s there, and the sum over its groups is bounded as the rows are.

Best by count: u_j = #(y = j). Best by revenue (McSherry and Talwar 2007; Dwork and Roth 2014, §3.4,
the pumpkin auction): u_j = price_j · #(bid ≥ price_j), bids above the cap left out, in multiples of
the common step of the prices. Adding a row only raises scores, so a selection loses the change
once; replacing a unit is a removal and an addition, and it loses twice that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from discreet.errors import SpecError
from discreet.releases import questions as asked
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Bins, Field, Labels, Measure, Number, Steps, Tally
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

__all__ = ["BestOf", "QuantileOf", "best_of", "quantile_of"]

_MOST = 10_001


class _Choice(OfRows):
    """What statistics that choose share."""

    def numbers(self, part: str, measured: Measured) -> list[int]:
        """No noise goes on numbers."""
        return []

    def assumed(self, size: int) -> dict[str, list[int]]:
        """Nothing can be assumed of scores."""
        return {}


@dataclass(frozen=True)
class QuantileOf(_Choice):
    """A quantile, chosen among the multiples of the resolution."""

    entry: asked.Quantile
    number: Number

    @property
    def share(self) -> Fraction:
        """α = a/b."""
        return resolution_of(self.entry.at)

    @property
    def size(self) -> int:
        """The most that one row changes a score: max(a, b−a)."""
        return max(self.share.numerator, self.share.denominator - self.share.numerator)

    def measures(self) -> tuple[Measure, ...]:
        """A tally of the values."""
        return (Tally(f"{self.entry.name}/choice", self.number),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One choice in each group."""
        l1 = 2 * contribution.l1(self.size)
        return (
            Part(
                "choice",
                "choice",
                Fraction(l1),
                Fraction(contribution.l2_squared(self.size, signed=True)),
                self.number.resolution,
            ),
        )

    def scores(self, part: str, measured: Measured) -> list[list[int]]:
        """The scores of every multiple, a list a group."""
        a, b = self.share.numerator, self.share.denominator
        scores = []
        for counts in measured[f"{self.entry.name}/{part}"]:
            total, below, cell = sum(counts), 0, []
            for count in counts:
                cell.append(-abs((b - a) * below - a * (total - below - count)))
                below += count
            scores.append(cell)
        return scores

    def answers(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """The value chosen in each group; its error is one of rank, so it has no interval."""
        low, step = self.number.low, self.number.resolution
        return [[Answer((), (low + j) * step, None, None)] for j in noisy["choice"].values]

    def explain(self) -> str:
        """Say it."""
        return (
            f"A value of {self.entry.quantile} that about {self.entry.at:.4g} of the rows lie "
            f"below, among the multiples of {self.entry.resolution:g} within the bounds."
        )


@dataclass(frozen=True)
class BestOf(_Choice):
    """The best candidate by count or by revenue."""

    entry: asked.Best
    field: Field
    prices: tuple[int, ...]
    step: Fraction

    @property
    def extra(self) -> tuple[str, ...]:
        """The column of a candidate that is text."""
        return (self.entry.of,) if self.entry.score == "count" else ()

    def measures(self) -> tuple[Measure, ...]:
        """A tally of the candidates."""
        return (Tally(f"{self.entry.name}/choice", self.field),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One choice."""
        l1 = Fraction(contribution.l1(max(self.prices)))
        return (Part("choice", "choice", l1, l1**2 / 4, self.step),)

    def scores(self, part: str, measured: Measured) -> list[list[int]]:
        """The scores of every candidate."""
        (counts,) = measured[f"{self.entry.name}/{part}"]
        if self.entry.score == "count":
            return [list(counts)]
        at_least = list(accumulate(reversed(counts)))[::-1]
        return [[price * n for price, n in zip(self.prices, at_least, strict=True)]]

    def answers(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """The candidate chosen."""
        (place,) = noisy["choice"].values
        if isinstance(self.field, Labels):
            return [[Answer((self.field.labels[place],), None, None, None)]]
        return [[Answer((), self.prices[place] * self.step, None, None)]]

    def explain(self) -> str:
        """Say it."""
        if self.entry.score == "count":
            return f"The most common {self.entry.of} among the candidates, by noisy maximum."
        return (
            f"The {self.entry.best} that would earn the most if asked of everyone whose "
            f"{self.entry.of} is at least that (above {self.entry.cap:g} left out), by noisy "
            "maximum."
        )


def quantile_of(entry: Any) -> Compiled:
    """Return a quantile, ready to be measured."""
    number = number_of(entry, entry.quantile)
    if number.size > _MOST:
        raise SpecError(
            f"statistic {entry.name!r}: there are {number.size:,} multiples of the resolution "
            f"within the bounds; a quantile is chosen among at most {_MOST:,}. Choose a coarser "
            "resolution."
        )
    return QuantileOf(entry, number)


def best_of(entry: Any) -> Compiled:
    """Return a choice of the best candidate, ready to be measured."""
    if entry.score == "count":
        labels = tuple(entry.candidates)
        return BestOf(entry, Labels(entry.of, labels), (1,) * len(labels), Fraction(1))
    prices = _prices(entry)
    cap = resolution_of(float(entry.cap))
    if prices[0] < 0 or prices[-1] > cap:
        raise SpecError(
            f"statistic {entry.name!r}: the candidates must lie between 0 and the cap "
            f"{entry.cap:g}, for a bid above the cap is left out."
        )
    step = Fraction(1, math.lcm(*(price.denominator for price in prices)))
    whole = tuple(int(price / step) for price in prices)
    if whole[-1] >= 2**53:
        raise SpecError(f"statistic {entry.name!r}: the candidates have too many digits.")
    if isinstance(entry.candidates, asked.Grid):
        start, gap = float(entry.candidates.start), float(entry.candidates.step)
        field: Field = Steps(entry.of, start, gap, len(prices), float(cap))
    else:
        # A little slack below each price: 0.29 as a double is a hair below 29 hundredths.
        slack = float(step) / 1_000_000
        field = Bins(entry.of, (*(float(price) - slack for price in prices), float(cap) + slack))
    return BestOf(entry, field, whole, step)


def _prices(entry: Any) -> list[Fraction]:
    candidates = entry.candidates
    if not isinstance(candidates, asked.Grid):
        return sorted(resolution_of(float(price)) for price in candidates)
    start, stop = resolution_of(float(candidates.start)), resolution_of(float(candidates.to))
    step = resolution_of(float(candidates.step))
    count = math.floor((stop - start) / step) + 1 if stop >= start else 0
    if not 2 <= count <= _MOST:
        raise SpecError(
            f"statistic {entry.name!r}: from {candidates.start:g} to {candidates.to:g} in steps of "
            f"{candidates.step:g} there are {max(count, 0):,} candidates; there must be between 2 "
            f"and {_MOST:,}."
        )
    return [start + place * step for place in range(count)]
