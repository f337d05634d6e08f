"""Several places among sorted rows, chosen at once: the exponential mechanism over all tuples.

The multiples of the resolution are the leaves; E_c rows lie at the leaf c, and L_c below it. A
leaf has `FINE` places; the i-th has the rank F = min(L_c + i·g, L_c + E_c), g public: so rows that
tie are divided between places in steps of g rows. A tuple of m places, sorted, divides the n rows
in m+1 parts of n_k = F_k − F_{k−1} rows. With a number N of rows and t_k the part of them that is
wanted in the k-th, T_k = t_k·N rounded, the score of a tuple and of N is
    u = −Σ_k min(|n_k − T_k|, c)     with c a public limit.

Sensitivity. A row that is added at the leaf c leaves the ranks of places before it, adds 1 to those
of places behind it, and of the places of its leaf adds 1 to those with L_c + i·g > L_c + E_c, the
last ones: g is whole. So it adds 1 to one n_k and leaves the others: u moves by at most 1, and by
r for r rows. A selection with weights e^{ηu} loses 2ηr, and the range of its loss is no longer than
that: (2ηr)²/8 in ρ. Nothing is paid for the number of places. Where every tuple has one weight
(a mechanism for each share by itself would need m times the budget), m shares are chosen at the
price of one. Weights are e^{ηu} for every tuple in Z^m, in whatever order; what is published is
sorted.

Sampling. Places of equal rank are a group, with the number w of its places. The weights of tuples
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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from math import lgamma
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FINE = 2**13
"""The places of a leaf."""

_NONE = -1e300  # The logarithm of nothing, for sums.

Floats: TypeAlias = NDArray[np.float64]
Wholes: TypeAlias = NDArray[np.int64]
Choose: TypeAlias = Callable[[Floats], int]
"""Draws an index with probabilities whose logarithms are given, up to a constant."""


def error(shares: int) -> float:
    """Bound how far the logarithm of the probability of a tuple is off, by rounding.

    A logarithm is below m·(20(m+2) + 21) in size, 2^29 being the most places, so that an operation
    is off by at most 2^−52 times twice as much; a value passes through less than 100 + m operations
    in each of m+1 steps, and each of 3m + 1 draws divides it by a sum of others.
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


def places(counts: Sequence[int], step: int) -> tuple[Wholes, Wholes, Wholes]:
    """Return the leaf, the rank and the number of the places, where they differ, in order.

    >>> leaf, rank, number = places([0, 5, 0], 2)
    >>> leaf.tolist(), rank.tolist(), (FINE - number).tolist()
    ([0, 1, 1, 1, 2], [0, 2, 4, 5, 5], [0, 8191, 8191, 2, 0])
    """
    tied = np.asarray(counts, dtype=np.int64)
    upto = np.cumsum(tied)
    differ = np.clip(-(-tied // step), 1, FINE)
    leaf = np.repeat(np.arange(len(tied)), differ)
    ends = np.cumsum(differ)
    nth = np.arange(1, len(leaf) + 1) - np.repeat(ends - differ, differ)
    rank = np.minimum(upto[leaf] - tied[leaf] + nth * step, upto[leaf])
    number = np.ones(len(leaf), dtype=np.int64)
    number[ends - 1] = FINE + 1 - differ
    return leaf, rank, number


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
        return 20.0 * (len(self.wanted) + 1)

    @cached_property
    def _places(self) -> tuple[Wholes, Wholes, Wholes]:
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
        leaf, _, number = self._places
        arriving, ending = self._steps
        left, above, behind = len(self.wanted) - 1, len(self._starts), float(sum(self.counts))
        found: list[int] = []
        while left:
            rows = behind - self._ranks[:above]
            group = choose(ending[left][:above] + self._kernel(left, rows))
            several = 1 + choose(self._ending(left, arriving, group))
            first, *more = self._starts[group : group + 2].tolist()
            within = np.log(number[first : more[0] if more else None])
            found += [int(leaf[first + choose(within)]) for _ in range(several)]
            left, above, behind = left - several, group, float(self._ranks[group])
        return sorted(found)
