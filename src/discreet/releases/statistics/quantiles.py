"""Several quantiles at one price, with intervals in units of the value: a tree of noisy counts.

The multiples of the resolution within the bounds are the leaves. b neighbouring leaves are one node
of the level above, and so on up to a first level of at most b nodes; b is the least branching for
which there are as few levels as with 8. A row is counted once in each level, so a level is as
sensitive as one count, and the h levels share the budget of the statistic.

Counts. Every level estimates what the levels below it do. Going up, a node's own noisy count and
the sum of its children's estimates are averaged by their variances; going down, the children get
what their parent has more or less than they, by least squares with no count below zero (a
projection on a simplex). The counts of leaves add up to a distribution function, from which every
quantile is read, so quantiles rise with their shares.

Intervals. Let T(c) = (1−α)·#(y ≤ c) − α·#(y > c), and T₋(c) the same with y < c and y ≥ c. A value
q is an α-quantile if and only if T₋(q) ≤ 0 ≤ T(q). Along the path from the root to c every row is
to the left or to the right of the path in exactly one level, or in c itself. So T(c) is estimated
without bias by a sum of noisy counts, one for each neighbour of the path, with coefficients 1−α on
the left and −α on the right, all of independent noise. With κ a bound of the noise's cumulants, and
L and R the numbers of neighbours on either side,
    P(error > w) ≤ e^{−tw + Lκ(t(1−α)) + Rκ(tα)}     for every t > 0,
so w(c) = min over t of (log(2/β) + Lκ(t(1−α)) + Rκ(tα))/t is passed with probability at most β/2 on
either side, at each fixed c. The interval reaches from the first c with T + w ≥ 0 to the last one
with T₋ − w ≤ 0. A quantile of the data is one fixed c; it lies within unless one of two errors is
passed: with probability at least 1−β, and nothing has to be paid for the number of leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, field_validator, model_validator

from discreet.errors import SpecError
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Measure, Number, Tally
from discreet.releases.models import Closed, Pair, as_tuple
from discreet.releases.statistics.base import (
    SIZES,
    Answer,
    Bounded,
    ColumnName,
    Grouped,
    Measured,
    Noisy,
    Part,
    multiples,
    ordered,
    register,
)
from discreet.releases.statistics.quantile import Share
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.pricing import Priced

__all__ = ["MOST_LEAVES", "Median", "Quantiles", "Tree", "tree_of"]

MOST_LEAVES = 2**16
"""The most multiples of the resolution."""

_BRANCHING = 8  # The least error of nine deciles, measured over 2 to 101.
_SLOPES = np.geomspace(0.02, 20, 100)  # t, in standard deviations of the noise.

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Tree:
    """The shape: how many children a node has, and how many nodes each level, the leaves last."""

    branching: int
    sizes: tuple[int, ...]

    def blocks(self, level: Floats) -> Floats:
        """Return a level with a row for each parent; where the last one has fewer, zeros."""
        short = -len(level) % self.branching
        return np.pad(level, (0, short)).reshape(-1, self.branching)

    def counts(self, leaves: Sequence[int], level: int) -> list[int]:
        """Return the counts of one level, 0 the first, from those of the leaves."""
        below = self.branching ** (len(self.sizes) - 1 - level)
        padded = np.pad(np.asarray(leaves, dtype=np.int64), (0, -len(leaves) % below))
        found: list[int] = padded.reshape(-1, below).sum(axis=1).tolist()
        return found

    def fitted(self, noisy: Sequence[Floats], variances: Sequence[float]) -> Floats:
        """Return counts of the leaves, none below zero, that fit the noisy counts of all levels."""
        up, spread = [noisy[-1]], [np.full(self.sizes[-1], variances[-1])]
        for level, own in zip(noisy[-2::-1], variances[-2::-1], strict=True):
            below, wide = self.blocks(up[-1]).sum(axis=1), self.blocks(spread[-1]).sum(axis=1)
            up.append((wide * level + own * below) / (wide + own))
            spread.append(wide * own / (wide + own))
        found = np.maximum(up.pop(), 0.0)
        spread.pop()
        for level, wide in zip(up[::-1], spread[::-1], strict=True):
            found = _projected(self.blocks(level), self.blocks(wide), found).ravel()[: len(level)]
        return found

    def _beside(self, levels: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return, for each leaf, the sums of the neighbours left and right of its path."""
        left, right = np.zeros(1), np.zeros(1)
        for place, level in enumerate(levels):
            blocks = self.blocks(level) if place else level[None, :]
            before = np.cumsum(blocks, axis=1) - blocks
            after = blocks.sum(axis=1, keepdims=True) - before - blocks
            left = (left[:, None] + before).ravel()[: len(level)]
            right = (right[:, None] + after).ravel()[: len(level)]
        return left, right

    @cached_property
    def neighbours(self) -> tuple[Floats, Floats]:
        """How many neighbours the path to each leaf has on the left, and on the right."""
        return self._beside([np.ones(size) for size in self.sizes])

    def interval(
        self, noisy: Sequence[Floats], share: float, width: Callable[[Floats, Floats], Floats]
    ) -> tuple[int, int]:
        """Return the first and the last leaf that may be the quantile; `width` is w of L and R."""
        (left, right), (lefts, rights) = self._beside(noisy), self.neighbours
        at = noisy[-1]
        above = (1 - share) * (left + at) - share * right + width(lefts + 1, rights)
        below = (1 - share) * left - share * (right + at) - width(lefts, rights + 1)
        first, last = np.flatnonzero(above >= 0), np.flatnonzero(below <= 0)
        low = int(first[0]) if first.size else len(at) - 1
        high = int(last[-1]) if last.size else 0
        return min(low, high), max(low, high)


def tree_of(size: int) -> Tree:
    """Return the tree over so many leaves.

    >>> tree_of(1001)
    Tree(branching=6, sizes=(5, 28, 167, 1001))
    """
    height, reach = 1, _BRANCHING
    while reach < size:
        height, reach = height + 1, reach * _BRANCHING
    branching = 1
    while branching**height < size:
        branching += 1
    sizes = [size]
    for _ in range(height - 1):
        sizes.append(-(-sizes[-1] // branching))
    return Tree(branching, tuple(reversed(sizes)))


def _projected(counts: Floats, variances: Floats, totals: Floats) -> Floats:
    """Return in each row the counts ≥ 0 with that total that are nearest, weighed by 1/variance.

    They are max(0, x − λv), with λ from the counts that stay above zero: those whose x/v is largest
    (Held, Wolfe and Crowder 1974). A variance of 0 is a child that is not there.
    """
    there = variances > 0
    ratio = np.where(there, counts / np.where(there, variances, 1.0), -np.inf)
    order = np.argsort(-ratio, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(counts, order, axis=1), axis=1)
    weights = np.cumsum(np.take_along_axis(variances, order, axis=1), axis=1)
    slopes = (sums - totals[:, None]) / weights
    stay = np.take_along_axis(ratio, order, axis=1) > slopes
    last = np.maximum(stay.sum(axis=1) - 1, 0)
    slope = np.take_along_axis(slopes, last[:, None], axis=1)
    return np.maximum(counts - slope * variances, 0.0)


def _width(law: Any, share: float, failure: float) -> Callable[[Floats, Floats], Floats]:
    """Return w of L and R: passed by a sum of noise with probability at most `failure`."""
    slopes = _SLOPES / max(law.sd, 0.05)  # Where noise is almost always 0, any of these will do.
    terms = [(t, law.cumulant(t * (1 - share)), law.cumulant(t * share)) for t in slopes]
    finite = [term for term in terms if math.isfinite(term[1] + term[2])]

    def width(left: Floats, right: Floats) -> Floats:
        pairs, back = np.unique(np.stack([left, right]), axis=1, return_inverse=True)
        bounds = [(-math.log(failure) + pairs[0] * a + pairs[1] * b) / t for t, a, b in finite]
        found: Floats = np.min(bounds, axis=0)[back.ravel()]
        return found

    return width


class _Ranked(Grouped):
    """Quantiles by a tree; what they are of, and at which shares, is said by those below."""

    @property
    def number(self) -> Number:
        """The column in whole multiples of the resolution."""
        raise NotImplementedError

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares of the rows."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _no_within(self) -> _Ranked:
        if self.within is not None:
            raise SpecError("releases.plan.no_within", statistic=self.name or self.kind)
        return self

    @cached_property
    def tree(self) -> Tree:
        """The tree over the multiples; too many are refused."""
        size = self.number.size
        if size > MOST_LEAVES:
            said = {"statistic": self.name, "size": size, "most": MOST_LEAVES}
            raise SpecError("releases.statistics.many_multiples", **said)
        return tree_of(size)

    @property
    def levels(self) -> list[str]:
        """The names of its calls."""
        return [f"level-{level}" for level in range(1, len(self.tree.sizes) + 1)]

    def measures(self) -> tuple[Measure, ...]:
        """A tally of the values, from which all levels are made."""
        return (Tally(self.measure_name("leaves"), self.number),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One call a level: a row is counted once in each."""
        return tuple(Part.of_numbers(level, contribution) for level in self.levels)

    def numbers(self, part: str, measured: Measured) -> list[int]:
        """The counts of one level, cell by cell."""
        level = self.levels.index(part)
        cells = measured[self.measure_name("leaves")]
        return [count for leaves in cells for count in self.tree.counts(leaves, level)]

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """A row a share, with its interval."""
        calls = [noisy[level] for level in self.levels]
        sizes = self.tree.sizes
        levels = [
            np.asarray(call.values, dtype=np.float64).reshape(-1, size)
            for call, size in zip(calls, sizes, strict=True)
        ]
        return [self._cell(cell, calls[0].law, interval) for cell in zip(*levels, strict=True)]

    def _cell(self, noisy: Sequence[Floats], law: Any, interval: float) -> list[Answer]:
        tree, low, step = self.tree, self.number.low, self.number.resolution
        upto = np.cumsum(tree.fitted(noisy, [1.0] * len(noisy)))
        ends = [
            tree.interval(noisy, share, _width(law, share, (1 - interval) / 2))
            for share in self.shares
        ]
        # Made wider where they do not rise with the share; the value lies within its interval.
        lows = np.minimum.accumulate([end[0] for end in ends][::-1])[::-1]
        highs = np.maximum.accumulate([end[1] for end in ends])
        rows = []
        for share, first, last in zip(self.shares, lows, highs, strict=True):
            place = min(int(np.searchsorted(upto, share * upto[-1])), len(upto) - 1)
            values = (low + int(j) for j in (np.clip(place, first, last), first, last))
            rows.append(Answer(self.labels(share), *(value * step for value in values)))
        return rows

    def labels(self, share: float) -> tuple[str, ...]:
        """The share as a text, where the table has a column for it."""
        return (f"{share:.15g}",) if self.extra else ()

    def accuracy(self, calls: Mapping[str, Priced], interval: float) -> dict[str, Any]:
        """By how many ranks a value may miss its share, in the worst place for it.

        A value lies within its interval, and an end of that is off by at most its own w and that
        of all leaves at once.
        """
        law, size = next(iter(calls.values())).law, self.number.size
        left, right = self.tree.neighbours
        off = 0.0
        for share in self.shares:
            failures = ((1 - interval) / 2, (1 - interval) / (2 * size))
            widths = (_width(law, share, failure) for failure in failures)
            off = max(off, sum(float(width(left + 1, right + 1).max()) for width in widths))
        sizes = [{"rows": n, "rank_share": min(1.0, off / n)} for n in SIZES]
        return {"candidates": size, "ranks": off, "assumed": sizes}


class Several(Closed):
    """Which quantiles, of which column, among which values."""

    of: ColumnName
    at: Annotated[tuple[Share, ...], BeforeValidator(as_tuple)] = Field(
        min_length=1, max_length=999, description="Shares of the rows, rising."
    )
    bounds: Pair = Field(description="Values are clipped to these; they must not come from data.")
    resolution: float = Field(gt=0, description="Values are rounded to multiples of this.")

    @field_validator("bounds")
    @classmethod
    def _ordered(cls, bounds: tuple[float, float]) -> tuple[float, float]:
        return ordered(bounds)

    @field_validator("at")
    @classmethod
    def _rising(cls, at: tuple[float, ...]) -> tuple[float, ...]:
        if list(at) != sorted(set(at)):
            raise SpecError("releases.spec.shares_rise")
        return at


@register("quantiles")
class Quantiles(_Ranked):
    """Values that about given shares of the rows lie below, all from one tree of noisy counts."""

    quantiles: Several

    @model_validator(mode="after")
    def _no_column_at(self) -> Quantiles:
        if "at" in self.by:
            raise SpecError("releases.plan.reserved", column="at")
        return self

    @property
    def subject(self) -> str:
        """The column."""
        return self.quantiles.of

    @property
    def extra(self) -> tuple[str, ...]:
        """The column of the shares."""
        return ("at",)

    @cached_property
    def number(self) -> Number:
        """The column in whole multiples of the resolution."""
        asked = self.quantiles
        return multiples(asked.of, asked.bounds, asked.resolution, self.name)

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares asked for."""
        return self.quantiles.at

    def explain(self) -> str:
        """Say which quantiles they are."""
        asked = self.quantiles
        at = ", ".join(f"{share:.4g}" for share in asked.at)
        return say("releases.explain.quantiles", column=asked.of, at=at, step=asked.resolution)


@register("median")
class Median(Bounded, _Ranked):
    """The value that half of the rows lie below, with an interval."""

    median: ColumnName

    @property
    def shares(self) -> tuple[float, ...]:
        """One half."""
        return (0.5,)

    def explain(self) -> str:
        """Say what it is."""
        return say("releases.explain.median", column=self.median, step=self.resolution)
