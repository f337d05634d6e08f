"""Several quantiles at one price, with intervals in units of the value: a choice, then counts.

The multiples of the resolution within the bounds are the leaves. All shares are chosen at once, so
that as many rows lie between the chosen values as between the shares (`jointly`, which has the
score and what a row moves it by). The score compares with a number N of rows: a noisy count of them
gives five, and one is chosen along with the values.

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
the number of cells. A value outside its interval is moved to the end.

Accuracy. Where no rows tie, the best score is −|n − N|, and one tuple in M^m/m! has it; with
probability 1 − β/2 the score is no further below than log(5M^m/m!) + log(2/β) over η (McSherry and
Talwar 2007, Thm 6). The share α is missed by no more than max(α, 1−α) times the sum of what all
parts are off, which is the score.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, field_validator, model_validator

from discreet.errors import SpecError
from discreet.guarantees import Adjacency
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
from discreet.releases.statistics.jointly import FINE, Choose, Jointly, error
from discreet.releases.statistics.quantile import Share
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.pricing import Priced

MOST_LEAVES = 2**16
"""The most multiples of the resolution."""

# The parts of the budget for counts and for the number of rows; the rest is for values.
_COUNTED = {"epsilon": Fraction(1, 10), "rho": Fraction(1, 5)}
_CELL = Fraction(3, 5)  # The noise of a cell, over that of the number of rows.
_SIZED = {"epsilon": _COUNTED["epsilon"] * _CELL, "rho": _COUNTED["rho"] * _CELL**2}
_SCORED = 2**32  # What a row adds to a score.
_SIZES = (-2, -1, 0, 1, 2)  # Numbers of rows to choose among, ...
_APART = 1.1  # ... in standard deviations of the noisy one.
_HIDDEN = 11.0  # How many rows noise hides between two points, in deviations of the number of rows.
_POINTS = 20  # About so many on either side of the values, shared among them.
_SLOPES = np.geomspace(0.02, 20, 100)  # t, in standard deviations of the noise.

Floats: TypeAlias = NDArray[np.float64]


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


class Ranked(Grouped):
    """Quantiles chosen at once; of what, and at which shares, is said by those below."""

    @property
    def number(self) -> Number:
        """The column in whole multiples of the resolution."""
        raise NotImplementedError

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares of the rows."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _no_within(self) -> Ranked:
        if self.within is not None:
            raise SpecError("releases.plan.no_within", statistic=self.name or self.kind)
        return self

    @property
    def leaves(self) -> int:
        """How many multiples there are."""
        return self.number.size

    def measures(self) -> tuple[Measure, ...]:
        """A tally of the values."""
        return (Tally(self.measure_name("leaves"), self.number),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """How many rows there are; the values, as one choice in each group; the cells."""
        if self.leaves > MOST_LEAVES:
            said = {"statistic": self.name, "size": self.leaves, "most": MOST_LEAVES}
            raise SpecError("releases.statistics.many_multiples", **said)
        twice = 2 if contribution.adjacency is Adjacency.REPLACE else 1
        changes = [twice * _SCORED * rows for rows in contribution.filled]
        values = Part.of_choice("values", changes, Fraction(1, _SCORED), monotone=False)
        rest = {name: 1 - _COUNTED[name] - _SIZED[name] for name in _SIZED}
        return (
            Part.of_numbers("size", contribution).shared(**_SIZED),
            replace(values, joint=len(self.shares)).shared(**rest),
            Part.of_numbers("counts", contribution).shared(**_COUNTED),
        )

    # ------------------------------------------------------------------ values

    def laws(self, counts: Sequence[int], size: int, sd: float, slope: float) -> list[Jointly]:
        """The laws of the values, one for each number of rows about the noisy one."""
        step, found = max(1, -(-2 * size // FINE)), []
        for away in _SIZES:
            rows = max(0, size + away * max(1, round(_APART * sd)))
            upto = [0, *(round(decimal(share) * rows) for share in self.shares), rows]
            found.append(Jointly(counts, tuple(b - a for a, b in pairwise(upto)), slope, step))
        return found

    def _slope(self, scale: float) -> float:
        """η, from the scale of the call: less than what is paid for by what rounding takes."""
        return _SCORED / scale - 2 * error(len(self.shares))

    def chosen(self, part: str, measured: Measured, choose: Choose, scale: float) -> list[int]:
        """The leaves of the shares, cell by cell."""
        found, size, slope = [], self.drawn(measured)["size"], self._slope(scale)
        for rows, counts in zip(size.values, measured[self.measure_name("leaves")], strict=True):
            if slope <= 0:
                found += sorted(choose(np.zeros(self.leaves)) for _ in self.shares)
                continue
            laws = self.laws(counts, rows, size.sd, slope)
            found += laws[choose(np.array([law.total for law in laws]))].draw(choose)
        return found

    def scores(self, part: str, measured: Measured) -> list[list[int]]:
        """The scores of some tuples, as many as there are leaves, for one number of rows."""
        chance, found = random.Random(self.leaves), []  # noqa: S311
        for rows, counts in zip(
            self.drawn(measured)["size"].values, measured[self.measure_name("leaves")], strict=True
        ):
            law = self.laws(counts, rows, 1.0, 1.0)[0]
            tuples = [
                sorted((chance.randrange(self.leaves), chance.randint(1, 9)) for _ in self.shares)
                for _ in range(self.leaves)
            ]
            found.append([_SCORED * law.score(places) for places in tuples])
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

    def _leaves_of(self, drawn: Mapping[str, Noisy], cell: int) -> dict[int, int]:
        """Return what was chosen in a cell, by the numbers of the shares, from 1."""
        size = len(self.shares)
        return dict(enumerate(drawn["values"].values[cell * size : (cell + 1) * size], start=1))

    def _edges(self, drawn: Mapping[str, Noisy], cell: int) -> list[int]:
        """Return where the cells begin, and the number of leaves: all from what was drawn."""
        chosen = self._leaves_of(drawn, cell)
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
            chosen = self._leaves_of(noisy, cell)
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
        """By how many ranks a value may miss its share, where no rows have the same value."""
        size, values, failure = calls["size"], calls["values"], (1 - interval) / 2
        apart, shares = max(1, round(_APART * size.sd)), len(self.shares)
        beyond = max(apart / 2, size.half_width(1 - failure) - _SIZES[-1] * apart)
        tuples = math.log(len(_SIZES)) + shares * math.log(self.leaves) - math.lgamma(shares + 1)
        slope = self._slope(values.scale)
        off = math.inf if slope <= 0 else beyond + (tuples - math.log(failure)) / slope
        off = max(max(share, 1 - share) for share in self.shares) * off + 1
        sizes = [{"rows": n, "rank_share": min(1.0, off / n)} for n in SIZES]
        return {"candidates": self.leaves, "ranks": off, "ties": True, "assumed": sizes}


class Several(Closed):
    """Which quantiles, of which column, among which values."""

    of: ColumnName
    at: Annotated[tuple[Share, ...], BeforeValidator(as_tuple)] = Field(
        min_length=1, max_length=99, description="Shares of the rows, rising."
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
class Quantiles(Ranked):
    """Values that about given shares of the rows lie below, chosen at once."""

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
class Median(Bounded, Ranked):
    """The value that half of the rows lie below, with an interval."""

    median: ColumnName

    @property
    def shares(self) -> tuple[float, ...]:
        """One half."""
        return (0.5,)

    def explain(self) -> str:
        """Say what it is."""
        return say("releases.explain.median", column=self.median, step=self.resolution)
