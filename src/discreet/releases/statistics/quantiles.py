"""Several quantiles at one price, with intervals in units of the value: a choice, then counts.

The multiples of the resolution within the bounds are the leaves. All shares are chosen at once, so
that as many rows lie between the chosen values as between the shares (`Jointly`; below are the
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
parts are off, which is the score. How far an interval reaches is told for rows that lie evenly and
do not tie, and values that are right: T at the end of a cell is then known, and its noise is nearly
normal. The interval begins with the first cell with T + w ≥ 0 at its end.

Several places among sorted rows, chosen at once: the exponential mechanism over all tuples.

The multiples of the resolution are the leaves; E_c rows lie at the leaf c, and L_c below it. A
leaf has `FINE` places; the i-th has the rank F = min(L_c + i·g, L_c + E_c), g public: so rows that
tie are divided between places in steps of g rows. A tuple of m places, sorted, divides the n rows
in m+1 parts of n_k = F_k − F_{k−1} rows. With a number N of rows and t_k the part of them that is
wanted in the k-th, T_k = t_k·N rounded, the score of a tuple and of N is
    u = −Σ_k min(|n_k − T_k|, c)     with c a public limit.
The i-th place of a leaf has the weight 1/i, whatever the data are. So the places among a few rows
that tie weigh about as much as all those behind them: with equal weights, a leaf of ten rows would
nearly always be taken at its end, and a share that lies within it be given to its neighbour.

Sensitivity. A row that is added at the leaf c leaves the ranks of places before it, adds 1 to those
of places behind it, and of the places of its leaf adds 1 to those with L_c + i·g > L_c + E_c, the
last ones: g is whole. So it adds 1 to one n_k and leaves the others: u moves by at most 1, and by
r for r rows. A selection by e^{ηu} times weights that are public loses 2ηr, and the range of its
loss is no longer than that: (2ηr)²/8 in ρ. Nothing is paid for the number of places, and m shares
are chosen at the price of one, where a mechanism for each share by itself would need m times the
budget. A tuple in Z^m, in whatever order, has e^{ηu} times the weights of its places; what is
published is sorted.

Where the budget pays for more, η is 20/g, which loses less than is paid for. With m shares the best
tuple is off by m·g rows at most, and has e^{−20m} times weights of 2^−13 or more: e^{−29.1m}. One
with a place that is far off has two parts that count as off by c = 22(m+1)/η; all of them together
have e^{−44(m+1)} times all weights, below 2^16·9.7 for each place: e^{−44 − 30.6m}. With
a larger η every tuple would soon count as off by c, and the values would be chosen blindly.

Sampling. Places of equal rank are a group, and w is the weight of all its places. Tuples
with k places up to the group g, the last of them in g, add up to
    E_k(g) = Σ_{r=1..k} w^r/r! · Π_{i=k−r+2..k} K_i(0) · C_{k−r}(g),
    C_k(g) = Σ_{h<g} E_k(h) K_{k+1}(F_g − F_h),   C_0(g) = K_1(F_g),
    K_i(x) = e^{−η min(|x−T_i|, c)},
over m!, where r of them lie in g. The last group is drawn by E_m(g)·K_{m+1}(n − F_g), then r, then
r places of the group, then the group before it by E_{m−r}(h)·K(F_g − F_h), and so on. All sums are
of positive terms, in logarithms, so that a probability has a small relative error whatever it is:
`error` bounds it, and η is smaller by twice of it, which pays for 4 times of it in the loss of each
group of rows that a unit touches. Each draw is one of OpenDP's, on logarithms in whole multiples of
2^−40.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from math import lgamma
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, field_validator, model_validator

from discreet.errors import SpecError
from discreet.guarantees import Adjacency
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Measure, Number, Tally
from discreet.releases.models import Closed, as_tuple
from discreet.releases.statistics.base import (
    DRAWN,
    Bounded,
    Clipped,
    ColumnName,
    Grouped,
    Measured,
    Resolution,
    register,
)
from discreet.releases.statistics.quantile import Share
from discreet.releases.statistics.values import Answer, Noisy, Part, decimal, multiples, sizes_told
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.pricing import Priced

FINE = 2**13
"""The places of a leaf."""

_NONE = -1e300  # The logarithm of nothing, for sums.

Floats: TypeAlias = NDArray[np.float64]
Wholes: TypeAlias = NDArray[np.int64]
Choose: TypeAlias = Callable[[Floats], int]
"""Draws an index with probabilities whose logarithms are given, up to a constant."""


def error(shares: int) -> float:
    """Bound how far the logarithm of the probability of a tuple is off, by rounding.

    A logarithm is below 22(m+1)² + 14m in size, weights adding up to less than e^14, so that an
    operation is off by at most 2^−52 times twice as much; a value passes through less than 100 + m
    operations in each of m+1 steps, and each of 3m + 1 draws divides it by a sum of others.
    Weights are sums of 1/i, off by less than 2^−39 of themselves.
    """
    return float(shares + 1) ** 4 * 2.0**-36


def _added(a: Floats, b: Floats) -> Floats:
    """Return log(e^a + e^b) of finite numbers: as `logaddexp`, in a third of the time."""
    high = np.maximum(a, b)
    found = np.minimum(a, b)
    found -= high
    np.exp(found, out=found)
    found += 1.0
    np.log(found, out=found)
    found += high
    return found


def _sums(values: Floats, at: Floats, slope: float, first: Wholes, last: Wholes) -> Floats:
    """Return log Σ exp(values[i] + slope·(at[i] − at[first])) over first ≤ i < last, for each.

    By doubling: sums over 1, 2, 4, … neighbours, each as seen from the first of them.
    """
    found, place, left = np.full(len(first), _NONE), first.copy(), last - first
    seen = at[np.minimum(first, len(at) - 1)]
    step, most = 1, int(left.max(initial=0))
    while step <= most:
        here = np.flatnonzero(left & step)
        taken = place[here]
        more = values[taken] + slope * (at[taken] - seen[here])
        found[here] = _added(found[here], more)
        place[here] += step
        size = len(values) - step
        if size > 0:
            away = slope * (at[step : step + size] - at[:size])
            values = _added(values[:size], values[step : step + size] + away)
        step *= 2
    return np.where(last > first, found, -np.inf)


@lru_cache(maxsize=4)
def _weights(size: int) -> tuple[Floats, Floats]:
    """Return the weights of the places of a leaf, and of each with all behind it."""
    single = 1 / np.arange(1.0, size + 1)
    return single, np.cumsum(single[::-1])[::-1]


def places(counts: Sequence[int], step: int) -> tuple[Wholes, Wholes, Floats]:
    """Return the leaf, the rank and the weight of the places, where they differ, in order.

    >>> leaf, rank, weight = places([0, 5, 0], 2)
    >>> leaf.tolist(), rank.tolist(), weight.round(2).tolist()
    ([0, 1, 1, 1, 2], [0, 2, 4, 5, 5], [9.59, 1.0, 0.5, 8.09, 9.59])
    """
    tied = np.asarray(counts, dtype=np.int64)
    upto = np.cumsum(tied)
    differ = np.clip(-(-tied // step), 1, FINE)
    leaf = np.repeat(np.arange(len(tied)), differ)
    ends = np.cumsum(differ)
    nth = np.arange(1, len(leaf) + 1) - np.repeat(ends - differ, differ)
    rank = np.minimum(upto[leaf] - tied[leaf] + nth * step, upto[leaf])
    single, behind = _weights(FINE)
    weight = single[nth - 1]
    weight[ends - 1] = behind[differ - 1]
    return leaf, rank, weight


@dataclass(frozen=True)
class Jointly:
    """The law of the places, for counts of the leaves, wanted parts of one N, η, and g."""

    counts: Sequence[int]
    wanted: tuple[int, ...]
    slope: float
    step: int

    @property
    def farthest(self) -> float:
        """η·c: a part that is off by more than c rows counts as off by c."""
        return 22.0 * len(self.wanted)

    @cached_property
    def _places(self) -> tuple[Wholes, Wholes, Floats]:
        return places(self.counts, self.step)

    @cached_property
    def _starts(self) -> Wholes:
        _, rank, _ = self._places
        return np.flatnonzero(np.diff(rank, prepend=-1))

    @cached_property
    def _ranks(self) -> Floats:
        return self._places[1][self._starts].astype(np.float64)

    @cached_property
    def _sizes(self) -> Floats:
        return np.log(np.add.reduceat(self._places[2], self._starts))

    def score(self, chosen: Sequence[tuple[int, int]]) -> int:
        """Return −Σ|n_k − T_k| of sorted places, each given by its leaf and its number there."""
        below = [0, *accumulate(self.counts)]
        upto = [0, *(min(below[c] + i * self.step, below[c + 1]) for c, i in chosen), below[-1]]
        parts = (b - a for a, b in pairwise(upto))
        return -sum(abs(part - wanted) for part, wanted in zip(parts, self.wanted, strict=True))

    def _kernel(self, part: int, rows: Any) -> Any:
        """log K of a part, from 0, that has so many rows."""
        return -np.minimum(self.slope * np.abs(rows - self.wanted[part]), self.farthest)

    def _arriving(self, part: int, before: Floats) -> Floats:
        """log C: of the groups before each, the sums with the rows between as the part."""
        ranks, own = self._ranks, np.arange(len(before))
        target, far = ranks - self.wanted[part], self.farthest / self.slope
        a, b, c = (
            np.minimum(np.searchsorted(ranks, target + away, side="right"), own)
            for away in (-far, 0.0, far)
        )
        ends = np.concatenate([a, own])
        flat = _sums(before, ranks, 0.0, np.concatenate([0 * own, c]), ends).reshape(2, -1)
        rising = _sums(before, ranks, self.slope, a, b)
        falling = _sums(before, ranks, -self.slope, b, c)
        last = len(ranks) - 1
        terms = [
            np.logaddexp(*flat) - self.farthest,
            rising - self.slope * (target - ranks[np.minimum(a, last)]),
            falling - self.slope * (ranks[np.minimum(b, last)] - target),
        ]
        found: Floats = np.logaddexp.reduce(terms)
        return found

    def _ending(self, chosen: int, arriving: Sequence[Floats], group: Any) -> Floats:
        """Return the terms of log E with so many places chosen: by r, in one group or in all."""
        terms, within = [], 0.0
        for r in range(1, chosen + 1):
            terms.append(r * self._sizes[group] - lgamma(r + 1) + within)
            terms[-1] = terms[-1] + arriving[chosen - r][group]
            within += float(self._kernel(chosen - r, 0))
        return np.array(terms)

    @cached_property
    def _steps(self) -> tuple[list[Floats], list[Floats]]:
        """log C and log E, by how many places are chosen."""
        arriving, ending = [self._kernel(0, self._ranks)], [np.empty(0)]
        for chosen in range(1, len(self.wanted)):
            every = self._ending(chosen, arriving, slice(None))
            ending.append(np.logaddexp.reduce(every, axis=0))
            if chosen + 1 < len(self.wanted):
                arriving.append(self._arriving(chosen, ending[-1]))
        return arriving, ending

    @property
    def total(self) -> float:
        """The logarithm of the sum of all weights."""
        last = len(self.wanted) - 1
        rows = sum(self.counts) - self._ranks
        return float(np.logaddexp.reduce(self._steps[1][last] + self._kernel(last, rows)))

    def draw(self, choose: Choose) -> list[int]:
        """Return the leaves of the places, rising."""
        leaf, _, weight = self._places
        arriving, ending = self._steps
        left, above, behind = len(self.wanted) - 1, len(self._starts), float(sum(self.counts))
        found: list[int] = []
        while left:
            rows = behind - self._ranks[:above]
            group = choose(ending[left][:above] + self._kernel(left, rows))
            several = 1 + choose(self._ending(left, arriving, group))
            first, *more = self._starts[group : group + 2].tolist()
            within = np.log(weight[first : more[0] if more else None])
            found += [int(leaf[first + choose(within)]) for _ in range(several)]
            left, above, behind = left - several, group, float(self._ranks[group])
        return sorted(found)


MOST_LEAVES = 2**16
"""The most multiples of the resolution."""

# The parts of the budget for counts, with one share and with several: one is chosen well for less.
_COUNTED = {"epsilon": (Fraction(1, 3), Fraction(1, 10)), "rho": (Fraction(2, 5), Fraction(1, 5))}
_CELL = {"epsilon": Fraction(3, 5), "rho": Fraction(3, 5) ** 2}  # Of these, for the number of rows.
_SCORED = 2**32  # What a row adds to a score.
_SIZES = (-2, -1, 0, 1, 2)  # Numbers of rows to choose among, ...
_APART = 1.1  # ... in standard deviations of the noisy one.
_HIDDEN = 11.0  # How many rows noise hides between two points, in deviations of the number of rows.
_POINTS = 20  # About so many on either side of the values, shared among them.
_STEEPEST = 20.0  # η·g at most: see above.
_MANY = 10**6  # Rows among which no point beside a value is kept from its place by another value.
_EVENLY = 2**40  # Leaves of rows that lie evenly, none of which tie.
_WHOLE = 0.45  # The part of the rows that half of an interval over nearly all of them has.
_LEAST_SD = 0.05  # of noise, for tails
_OF_SIZE = 12
"""How many draws of a simulation share a noisy number of rows."""
_SLOPES = np.geomspace(0.02, 20, 100)  # t, in standard deviations of the noise.


def _step(rows: int) -> int:
    """Return g, from the noisy number of rows."""
    return max(1, -(-2 * rows // FINE))


def _normal(deviations: Floats) -> Floats:
    """Return the probability that a standard normal number is no larger, for each."""
    return np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in deviations])


@lru_cache(maxsize=64)
def _width(law: Any, share: float, failure: float) -> Callable[[Floats, Floats], Floats]:
    """Return w of L and R: passed by a sum of noise with probability at most `failure`."""
    slopes = _SLOPES / max(
        law.sd, _LEAST_SD
    )  # Where noise is almost always 0, any of these will do.
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
    def typical(self) -> bool:
        """Of the rows that are kept."""
        return True

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
    def stays_within(self) -> Number:
        """The column itself."""
        return self.number

    @property
    def leaves(self) -> int:
        """How many multiples there are."""
        return self.number.size

    def measures(self) -> tuple[Measure, ...]:
        """A tally of the values."""
        return (Tally(self.measure_name("leaves"), self.number),)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """How many rows there are; the values, as one choice in each group; the cells."""
        twice = 2 if contribution.adjacency is Adjacency.REPLACE else 1
        changes = [twice * _SCORED * rows for rows in contribution.filled]
        values = Part.of_choice("values", changes, Fraction(1, _SCORED), monotone=False)
        counted = {name: parts[len(self.shares) > 1] for name, parts in _COUNTED.items()}
        sized = {name: part * _CELL[name] for name, part in counted.items()}
        rest = {name: 1 - part - sized[name] for name, part in counted.items()}
        return (
            Part.of_numbers("size", contribution).shared(**sized),
            replace(values, joint=len(self.shares)).shared(**rest),
            Part.of_numbers("counts", contribution).shared(**counted),
        )

    # ------------------------------------------------------------------ values

    def laws(self, counts: Sequence[int], size: int, sd: float, slope: float) -> list[Jointly]:
        """The laws of the values, one for each number of rows about the noisy one."""
        step, found = _step(size), []
        slope = min(slope, _STEEPEST / step)
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
            found += self._choosing(counts, rows, size.sd, slope)(choose)
        return found

    def _choosing(
        self, counts: Sequence[int], size: int, sd: float, slope: float
    ) -> Callable[[Choose], list[int]]:
        """Return what draws the leaves of the shares of one cell."""
        if slope <= 0:
            return lambda choose: sorted(choose(np.zeros(self.leaves)) for _ in self.shares)
        laws = self.laws(counts, size, sd, slope)
        totals = np.array([law.total for law in laws])
        return lambda choose: laws[choose(totals)].draw(choose)

    def simulated(
        self,
        tallied: Sequence[Sequence[int]],
        calls: Mapping[str, Priced],
        interval: float,
        times: int,
        chance: np.random.Generator,
    ) -> Iterator[list[list[Answer]]]:
        """Yield answers as that many releases might have them; what protects is drawn in `noise`.

        The law of the values takes long, so each noisy number of rows serves for several draws.
        """

        def drawn(name: str, numbers: Sequence[int]) -> Noisy:
            call = calls[name]
            noise = call.law.simulated(len(numbers), chance).tolist()
            values = [number + off for number, off in zip(numbers, noise, strict=True)]
            return Noisy(values, 0, call.sd, call.law)

        def choose(weights: Floats) -> int:
            return int(np.argmax(weights + chance.gumbel(size=len(weights))))

        noisy: dict[str, Noisy] = {}
        seen = {self.measure_name("leaves"): tallied, self.measure_name(DRAWN): noisy}
        slope, sd = self._slope(calls["values"].scale), calls["size"].sd
        for start in range(0, times, _OF_SIZE):
            noisy["size"] = drawn("size", self.numbers("size", seen))
            cells = zip(tallied, noisy["size"].values, strict=True)
            choosing = [self._choosing(counts, rows, sd, slope) for counts, rows in cells]
            for _ in range(min(_OF_SIZE, times - start)):
                leaves = [leaf for one in choosing for leaf in one(choose)]
                noisy["values"] = Noisy(leaves, 0, calls["values"].sd)
                noisy["counts"] = drawn("counts", self.numbers("counts", seen))
                yield self.rows(noisy, interval)

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
        chosen, size = self._leaves_of(drawn, cell), drawn["size"]
        return self._cut(chosen, self.leaves, size.values[cell], size.sd)

    def _cut(self, chosen: Mapping[int, int], leaves: int, rows: int, sd: float) -> list[int]:
        """Return where cells begin, from what was chosen among so many leaves."""
        values = {**chosen, 0: 0, len(self.shares) + 1: leaves - 1}
        shares = (0.0, *self.shares, 1.0)
        rows, hidden = max(rows, 1), _HIDDEN * sd
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
            rows.append(Answer((f"{share:.15g}",) if self.extra else (), *values))
        return rows

    def accuracy(self, calls: Mapping[str, Priced], interval: float) -> dict[str, Any]:
        """By how many ranks a value may miss its share, where no rows have the same value."""
        size, values, failure = calls["size"], calls["values"], (1 - interval) / 2
        apart, shares = max(1, round(_APART * size.sd)), len(self.shares)
        beyond = max(apart / 2, size.half_width(1 - failure) - _SIZES[-1] * apart)
        tuples = math.log(len(_SIZES)) + shares * math.log(self.leaves) - math.lgamma(shares + 1)
        # Where no rows tie there are no more of them than leaves.
        most = self.leaves + size.half_width(1 - failure)
        slope = min(self._slope(values.scale), _STEEPEST / _step(most))
        off = math.inf if slope <= 0 else beyond + (tuples - math.log(failure)) / slope
        off = max(max(share, 1 - share) for share in self.shares) * off + 1
        sizes = [{"rows": n, "rank_share": min(1.0, off / n)} for n in sizes_told()]
        usual = sizes_told((100, 1_000, 10_000))
        reach = {n: self._reach(n, calls, interval) for n in usual}
        said = {
            "interval_ranks": self._reach(_MANY, calls, interval),
            "interval_assumed": [
                {"rows": n, "rank_share": 1.0 if far > _WHOLE * n else far / n}
                for n, far in reach.items()
            ],
        }
        return {"candidates": self.leaves, "ranks": off, "ties": True, "assumed": sizes} | said

    def _reach(self, rows: int, calls: Mapping[str, Priced], interval: float) -> float:
        """Half the usual width of an interval in ranks, if so many rows lie evenly.

        It is the mean over noise and shares, of which some are tried. Beyond the points beside a
        value there is none up to the next value's; the few intervals that reach there count as if
        they reached the farthest point.
        """
        sd, counts = calls["size"].sd, calls["counts"]
        chosen = {own: int(share * _EVENLY) for own, share in enumerate(self.shares, start=1)}
        edges = self._cut(chosen, _EVENLY, rows, sd)
        ranks = np.asarray(edges, dtype=np.float64) / _EVENLY * rows
        cells = np.arange(len(edges), dtype=np.float64)
        found = []
        for share in self.shares[:: -(-len(self.shares) // _POINTS)]:
            width = _width(counts.law, share, (1 - interval) / 2)(cells, cells[::-1])
            spread = np.sqrt(cells * (1 - share) ** 2 + cells[::-1] * share**2)
            spread *= max(counts.sd, _LEAST_SD)
            below = ranks - share * rows
            away = np.clip(below, -_HIDDEN * sd, _HIDDEN * sd)
            # The probability that it begins at a cell or before, and that it ends there or behind.
            begun = np.maximum.accumulate(_normal((width + below) / spread)[1:-1])
            ended = np.maximum.accumulate(_normal((width - below) / spread)[-2:0:-1])
            low = away[:-1] @ np.diff(begun, prepend=0.0, append=1.0)
            high = away[:0:-1] @ np.diff(ended, prepend=0.0, append=1.0)
            found.append(float(high - low) / 2)
        return math.fsum(found) / len(found)


class Several(Closed):
    """Which quantiles, of which column, among which values."""

    of: ColumnName
    at: Annotated[tuple[Share, ...], BeforeValidator(as_tuple)] = Field(
        min_length=1, max_length=99, description="Shares of the rows, rising."
    )
    bounds: Clipped
    resolution: Resolution

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
    def bounds(self) -> tuple[float, float]:
        """What the values are clipped to."""
        return self.quantiles.bounds

    @property
    def extra(self) -> tuple[str, ...]:
        """The column of the shares."""
        return ("at",)

    @cached_property
    def number(self) -> Number:
        """The column in whole multiples of the resolution."""
        asked = self.quantiles
        return multiples(asked.of, asked.bounds, asked.resolution, self.name, MOST_LEAVES)

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

    most_multiples: ClassVar[int] = MOST_LEAVES

    median: ColumnName

    @property
    def shares(self) -> tuple[float, ...]:
        """One half."""
        return (0.5,)
