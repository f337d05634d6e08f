"""Several quantiles at one price, with intervals in units of the value: choices, then counts.

The multiples of the resolution within the bounds are the leaves. The share nearest the middle is
chosen first; it splits the rows in two, in which the shares below and above it are chosen, and so
on (Kaplan, Schnapp and Stemmer 2022): m shares take h = ⌈log₂(m+1)⌉ levels of choices instead of m
choices, each made as for one `quantile`.

Splits. Where the leaf c is chosen, the rows of c are split as well: half of what the node has of
each goes to either side. So a row lies in nodes of a level with weights that add up to 1, in
multiples of 2^−h. Of the shares α₀ < α < α₁, where α₀ and α₁ are at the ends of a node, α is the
quantile at t = (α − α₀)/(α₁ − α₀) of its rows, up to what the ends are off.

Sensitivity. Scores count ranks as those of `quantile` do, with weights. A row of weight w moves a
score in its node by at most max(t, 1−t)·w, so scores over max(t, 1−t) by w at most; r rows move the
scores of the nodes that they lie in by r together, whatever was chosen in the levels before. So a
level costs as much as one choice whose score moves by r. Where a unit is replaced, r rows go and r
come: 2r. Scores are whole: t is taken in multiples of 2^−24, and over max(t, 1−t) is rounded down.

Intervals. The chosen leaves, and points beside them, cut the leaves into cells; a noisy count of
the rows is drawn for each. Points lie where the chosen values put about as many rows as the noise
hides; they follow from what was drawn, and no row plays a part. Let T(c) = (1−α)·#(y ≤ c) −
α·#(y > c), and T₋(c) the same with y < c and y ≥ c. A value q is an α-quantile if and only if
T₋(q) ≤ 0 ≤ T(q). In a cell from f to l that holds q, T₋(f) ≤ T₋(q) ≤ 0 ≤ T(q) ≤ T(l). Both ends
are estimated without bias by the noisy counts, with coefficients 1−α on the left and −α on the
right. With κ a bound of the noise's cumulants, L and R the numbers of cells on either side,
    P(error > w) ≤ e^{−tw + Lκ(t(1−α)) + Rκ(tα)}     for every t > 0,
so w = min over t of (log(2/β) + Lκ(t(1−α)) + Rκ(tα))/t is passed with probability at most β/2 on
either side. The interval reaches from the first cell with T + w ≥ 0 at its end to the last one with
T₋ − w ≤ 0 at its start. The cell of q is one fixed cell once the cells are drawn; it lies within
unless one of two errors is passed: with probability at least 1−β, and nothing has to be paid for
the number of cells. A value outside its interval is moved to the end: so ties, which splits halve
however many there are, do not carry a quantile further than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, field_validator, model_validator

from discreet.errors import SpecError
from discreet.guarantees import Adjacency
from discreet.noise.standalone import ranks
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
    decimal,
    multiples,
    ordered,
    register,
)
from discreet.releases.statistics.quantile import Share
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.pricing import Priced

MOST_LEAVES = 2**16
"""The most multiples of the resolution."""

_COUNTED = Fraction(1, 5)  # The part of the budget for counts: for intervals.
_SIZED = Fraction(1, 10)  # The noise of a cell, over that of the number of rows.
_FINEST, _SCORED = 2**24, 2**32
_HIDDEN = 1.6  # How many rows noise hides between two points, in deviations of the number of rows.
_POINTS = 20  # About so many on either side of the values, shared among them.
_SLOPES = np.geomspace(0.02, 20, 100)  # t, in standard deviations of the noise.

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Node:
    """A choice: which share it is for, between which two, and at which part t of the rows there.

    Shares have numbers from 1; 0 and the number after the last are the ends of all rows.
    """

    low: int
    high: int
    own: int
    at: Fraction

    @property
    def moves(self) -> int:
        """How much a row moves a score, before it is stretched."""
        a, b = self.at.as_integer_ratio()
        return max(a, b - a)


def levels_of(shares: Sequence[Fraction]) -> tuple[tuple[Node, ...], ...]:
    """Return the choices level by level, each as near the middle of its rows as it can be.

    >>> [[node.own for node in level] for level in levels_of([Fraction(i, 10) for i in (1, 5, 9)])]
    [[2], [1, 3]]
    """
    all_of, found = (Fraction(0), *shares, Fraction(1)), []
    waiting = [(0, len(all_of) - 1)]
    while waiting := [(low, high) for low, high in waiting if high - low > 1]:
        level = []
        for low, high in waiting:
            width = all_of[high] - all_of[low]
            parts = {own: (all_of[own] - all_of[low]) / width for own in range(low + 1, high)}
            own = min(parts, key=lambda own: (abs(parts[own] - Fraction(1, 2)), own))
            at = min(max(round(parts[own] * _FINEST), 1), _FINEST - 1)
            level.append(Node(low, high, own, Fraction(at, _FINEST)))
        found.append(tuple(level))
        waiting = [ends for n in level for ends in ((n.low, n.own), (n.own, n.high))]
    return tuple(found)


def _width(law: Any, share: float, failure: float) -> Callable[[Floats, Floats], Floats]:
    """Return w of L and R: passed by a sum of noise with probability at most `failure`."""
    slopes = _SLOPES / max(law.sd, 0.05)  # Where noise is almost always 0, any of these will do.
    terms = [(t, law.cumulant(t * (1 - share)), law.cumulant(t * share)) for t in slopes]
    finite = [term for term in terms if math.isfinite(term[1] + term[2])]

    def width(left: Floats, right: Floats) -> Floats:
        bounds = [(-math.log(failure) + left * a + right * b) / t for t, a, b in finite]
        found: Floats = np.min(bounds, axis=0)
        return found

    return width


class _Ranked(Grouped):
    """Quantiles by choices in turn; of what, and at which shares, is said by those below."""

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

    @property
    def leaves(self) -> int:
        """How many multiples there are."""
        return self.number.size

    @cached_property
    def levels(self) -> dict[str, tuple[Node, ...]]:
        """Its choices, by the names of their calls."""
        levels = levels_of([decimal(share) for share in self.shares])
        return {f"level-{place}": level for place, level in enumerate(levels, start=1)}

    @property
    def halves(self) -> int:
        """2^h: the weight of a row."""
        return int(2 ** len(self.levels))

    def measures(self) -> tuple[Measure, ...]:
        """A tally of the values."""
        return (Tally(self.measure_name("leaves"), self.number),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """The levels, each as one choice in each group; how many rows there are; the cells."""
        if self.leaves > MOST_LEAVES:
            said = {"statistic": self.name, "size": self.leaves, "most": MOST_LEAVES}
            raise SpecError("releases.statistics.many_multiples", **said)
        scored = self.halves * _SCORED
        twice = 2 if contribution.adjacency is Adjacency.REPLACE else 1
        changes = [twice * scored * rows for rows in contribution.filled]
        whole = Part.of_choice("", changes, Fraction(1, scored), monotone=False)
        sized = {"epsilon": _COUNTED * _SIZED, "rho": _COUNTED * _SIZED**2}
        rest = {name: (1 - _COUNTED - sized[name]) / len(self.levels) for name in sized}
        return (
            *(replace(whole, name=name).shared(**rest) for name in self.levels),
            Part.of_numbers("size", contribution).shared(**sized),
            Part.of_numbers("counts", contribution).shared(epsilon=_COUNTED, rho=_COUNTED),
        )

    # ------------------------------------------------------------------ choices

    def _splits(self, drawn: Mapping[str, Noisy], cell: int) -> tuple[dict[int, int], ...]:
        """Return where each share splits the rows, in parts of a leaf, and the leaf it chose."""
        whole = self.halves
        at, chosen = {0: 0, len(self.shares) + 1: self.leaves * whole}, dict[int, int]()
        for name, level in self.levels.items():
            if name not in drawn:
                break
            for place, node in enumerate(level, start=cell * len(level)):
                low, high = at[node.low], at[node.high]
                leaf = low // whole + drawn[name].values[place]
                first, last = max(low, leaf * whole), min(high, (leaf + 1) * whole)
                at[node.own], chosen[node.own] = (first + last) // 2, leaf
        return at, chosen

    def scores(self, part: str, measured: Measured) -> list[list[int]]:
        """The scores of the leaves of every node: cell by cell, and node by node in each."""
        found, whole = [], self.halves
        for cell, counts in enumerate(measured[self.measure_name("leaves")]):
            at, _ = self._splits(self.drawn(measured), cell)
            for node in self.levels[part]:
                low, high = at[node.low], at[node.high]
                first, last = low // whole, (high - 1) // whole
                weighed = [whole * count for count in counts[first : last + 1]]
                weighed[0] -= (low - first * whole) * counts[first]
                weighed[-1] -= ((last + 1) * whole - high) * counts[last]
                stretch = _SCORED // node.moves
                found.append([stretch * score for score in ranks(weighed, node.at)])
        return found

    # ------------------------------------------------------------------ counts

    def numbers(self, part: str, measured: Measured) -> list[int]:
        """The rows of each group, or of its cells."""
        tallied = measured[self.measure_name("leaves")]
        if part == "size":
            return [sum(counts) for counts in tallied]
        found = []
        for cell, counts in enumerate(tallied):
            edges = self._edges(self.drawn(measured), cell)
            found += [sum(counts[a:b]) for a, b in pairwise(edges)]
        return found

    def _edges(self, drawn: Mapping[str, Noisy], cell: int) -> list[int]:
        """Return where the cells begin, and the number of leaves: all from what was drawn."""
        _, chosen = self._splits(drawn, cell)
        leaves, last = self.leaves, len(self.shares) + 1
        values, shares = {**chosen, 0: 0, last: leaves - 1}, (0.0, *self.shares, 1.0)
        size = drawn["size"]
        rows, hidden = max(size.values[cell], 1), _HIDDEN * size.sd
        steps = max(2, min(4, _POINTS // len(self.shares)))
        edges = {0, leaves}
        for own, value in chosen.items():
            edges |= {value, value + 1}
            for beside in (own - 1, own + 1):
                gap = abs(values[beside] - value)
                part = hidden / (rows * abs(shares[beside] - shares[own]))
                for step in range(steps):
                    away = math.ceil(min(1.0, part / 2**step) * gap)
                    edges.add(value - away if beside < own else value + away + 1)
        return sorted(edge for edge in edges if 0 <= edge <= leaves)

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """A row a share, with its interval."""
        counts, found, start = noisy["counts"], [], 0
        for cell in range(len(noisy["size"].values)):
            edges = self._edges(noisy, cell)
            end = start + len(edges) - 1
            counted = np.asarray(counts.values[start:end], dtype=np.float64)
            _, chosen = self._splits(noisy, cell)
            found.append(self._answers(chosen, edges, counted, counts.law, interval))
            start = end
        return found

    def _answers(
        self,
        chosen: Mapping[int, int],
        edges: list[int],
        counted: Floats,
        law: Any,
        interval: float,
    ) -> list[Answer]:
        upto = np.concatenate([[0.0], np.cumsum(counted)])
        cells = np.arange(len(edges), dtype=np.float64)
        ends = []
        for share in self.shares:
            below = (1 - share) * upto - share * (upto[-1] - upto)
            width = _width(law, share, (1 - interval) / 2)(cells, cells[::-1])
            first = np.flatnonzero((below + width)[1:] >= 0)
            last = np.flatnonzero((below - width)[:-1] <= 0)
            low = edges[first[0]] if first.size else edges[-2]
            high = edges[last[-1] + 1] - 1 if last.size else 0
            ends.append((min(low, high), max(low, high)))
        # Made wider where they do not rise with the share; the value lies within its interval.
        rows = []
        for own, share in enumerate(self.shares, start=1):
            low, high = min(end[0] for end in ends[own - 1 :]), max(end[1] for end in ends[:own])
            places = (min(max(chosen[own], low), high), low, high)
            values = ((self.number.low + place) * self.number.resolution for place in places)
            rows.append(Answer(self.labels(share), *values))
        return rows

    def labels(self, share: float) -> tuple[str, ...]:
        """The share as a text, where the table has a column for it."""
        return (f"{share:.15g}",) if self.extra else ()

    def accuracy(self, calls: Mapping[str, Priced], interval: float) -> dict[str, Any]:
        """By how many ranks a value may miss its share, where few rows have the same value.

        By what its own choice does, and the choices that it lies between, one in each level above.
        """
        confidence, size = 1 - (1 - interval) / len(self.shares), self.leaves
        off = 0.0
        for name, level in self.levels.items():
            call = calls[name]
            most = max(float(max(node.at, 1 - node.at)) for node in level)
            step = float(call.asked.part.resolution)
            off += most * step * call.score_within(size, confidence)
        sizes = [{"rows": n, "rank_share": min(1.0, off / n)} for n in SIZES]
        return {"candidates": size, "ranks": off, "ties": True, "assumed": sizes}


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
    """Values that about given shares of the rows lie below, chosen in turn."""

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
