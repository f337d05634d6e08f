"""Margins that add up: noisy tables on sets of attributes, made into one consistent estimate.

It is pure mathematics on whole numbers that were already made noisy; it lies in this room because
nothing but a release uses it, and it imports no engine, sampler or spec.

Notation. Attribute i has n_i public categories; N_C is the product of n_i over a set C. A margin on
B is a table μ_B of whole numbers; it is measured as y_B = μ_B + independent noise of variance s_B
in every cell. The residual of A is r_A = (⊗_{i∈A} (I − J/n_i)) μ_A, and

    μ_C = Σ_{A⊆C} r_A, each spread evenly over the attributes of C that A lacks.

Each measured B ⊇ A gives an unbiased estimate of μ_A: add y_B up over B∖A. Its residual has the
same shape of covariance for every B and the variance v_B = s_B N_{B∖A}, and residuals of different
A are uncorrelated. So the best linear unbiased estimate weighs by 1/v_B, A by A.

Tree. One attribute may have levels (county in state). A margin then has a level as well, from 0
(the whole) to the finest, and the residual of A is estimated for every node of the tree. The
weights of A are the same in all of its cells, so for each A there is one tree, with a variance for
each level: going up, a node's own measurement is weighed against the sum of its children by inverse
variance; going down, what is missing is spread over the children in proportion to their variances.
That is the best linear unbiased estimate, whatever the shape of the tree.

Adding up. Estimates of μ_A, at the finest level that A is measured at, are rounded to multiples of
lcm{N_C : C ⊇ A published}/10^k, which every later division leaves whole. What is published are
whole numbers over 10^k, decimals, and they add up exactly whatever was rounded before. k is so
large that rounding moves no cell by more than a hundredth of its standard error.

Apart. Where of each measured margin nothing but its own residual is used, it costs less in ρ
(below), and each A is measured by itself: in the weights above only B = A counts.

Split. Noise of variance s_B costs a share of the budget: s_B = price_B/share_B in ρ, and
price_B/share_B² in ε. In ρ the sum of the variances of all published cells is convex in the shares;
`Design.split` minimises it and tells how far from the least it may be. In ε it is not convex: the
best of several starts is taken, and nothing is claimed. A tree enters there as a balanced one.

Wider sets. In ε, m tables at equal shares have m² times the variance of one at the whole budget,
and a table on B tells a cell on C ⊆ B with N_{B∖C} times its own. So it can be better to measure a
few tables on larger sets than all that are published. If each published C, of weight w_C, is read
from the smallest B that contains it, the sum of variances is Σ_B N_B W_B/share_B², with W_B = Σ w_C
over those C; at shares that go with (N_B W_B)^{1/3} it is least, (Σ_B (N_B W_B)^{1/3})³. From the
largest published sets on, two are united as long as there are two, each time those that leave the
least sum; the sets with the least sum of all, and the set of all attributes, may be measured. What
is measured there is no more than a call whose table is not published. In ρ, m tables have m times
the variance, and no wider set was found that gains a hundredth.

Noisy margins of which the residuals alone are published: what that costs in ρ.

Notation as in `adding_up`. A margin on A is measured as y = μ + z with independent discrete
Gaussian noise of scale σ in its N cells, and nothing but the residual P y is published, where
P = ⊗_{i∈A} (I − J/n_i). Let d, of whole numbers, be what one unit changes in μ, and v = P d.

Theorem. P y is (ρ + κ)-zCDP with ρ = max ‖v‖²/(2σ²) and κ = Σ_{i∈A} log((1+τ_i)/(1−τ_i)), where
τ_i = θ(2π²σ²/n_i)^{N/n_i} − 1 and θ(s) = Σ_{k∈ℤ} e^{−s k²}.

Proof. Write g(x) = e^{−‖x‖²/(2σ²)}. The noise z has the probability g(z)/c in ℤ^N, and ‖z‖² =
‖P z‖² + ‖z − P z‖². So P z takes the value x with probability g(x) h(x)/c, where h(x) is the sum of
g over all z − P z with P z = x: a shift of the lattice K = {k ∈ ℤ^N : P k = 0}. Where h lies
between two numbers whose ratio is e^κ at the most,

    E[(p(x)/p(x − v))^{α−1}] ≤ e^{κ(α−1)} E[(g(x)/g(x − v))^{α−1}]
                             = e^{κ(α−1)} e^{(α−1)‖v‖²/(2σ²)} E[e^{−(α−1)⟨z, v⟩/σ²}]
                             ≤ e^{κ(α−1)} e^{(α−1)α‖v‖²/(2σ²)},

for ⟨P z, v⟩ = ⟨z, v⟩, and E[e^{t z_j}] = e^{t²σ²/2} Σ_k g(k − tσ²)/Σ_k g(k) ≤ e^{t²σ²/2}, since no
shift of a lattice has a larger sum of g than the lattice itself (Canonne, Kamath and Steinke 2020).
So the divergence of order α is at most α‖v‖²/(2σ²) + κ, for every α > 1, and κ ≤ κα.

h. K contains L = 1 ⊗ ℤ^{N/n_1}, which is all of K in its span. Sum g first over a coset of L: its
basis is orthogonal, of N/n_1 vectors of length √n_1, so by Poisson summation the sum is within a
factor 1 ± τ_1 of a constant times g of what is orthogonal to L. These parts form the lattice
P_1 ℤ^{n_1} ⊗ K', K' the kernel for the other attributes, which contains P_1 ℤ^{n_1} ⊗ 1 ⊗ ℤ^{…}.
The dual of that, scaled by √n_2, lies in ℤ^{N/n_2}, since the dual of P ℤ^n is the vectors of ℤ^n
that add up to 0; so its sum is within 1 ± τ_2; and so on through A.

‖v‖². For two cells that differ in the attributes S, ⟨P e, P e'⟩ = Π ∏_{i∈S} −1/(n_i − 1), where
Π = ∏_{i∈A} (1 − 1/n_i) = ‖P e‖². If d has one sign, pairs of cells count with a positive product:
it is largest for cells that differ in two attributes, those with the fewest categories. If d may
have both signs (a unit is replaced, or numbers may be negative), the size of a product counts: it
is largest for cells that differ in one attribute. So ‖v‖² ≤ Π (L2² + (L1² − L2²) t), with t that
largest share; and never more than L2².
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.releases.quotients import Sum, Within

SPARE = Fraction(1, 2**20)
"""What κ may add to ρ at the most, as a share of it; noise is calibrated for so much more."""


def squared_change(
    l1: Fraction, l2_squared: Fraction, sizes: Sequence[int], *, signed: bool = False
) -> Fraction:
    """Return the most that one unit changes a residual, as the square of its length.

    `signed` where it may add in some cells and take away in others.

    >>> squared_change(Fraction(1), Fraction(1), (4, 5))
    Fraction(3, 5)
    """
    share = math.prod((Fraction(n - 1, n) for n in sizes), start=Fraction(1))
    fewest = sorted(n - 1 for n in sizes)[: 1 if signed else 2]
    alike = Fraction(0)
    if share and len(fewest) == (1 if signed else 2):
        alike = Fraction(1, math.prod(fewest))
    return min(l2_squared, share * (l2_squared + (l1**2 - l2_squared) * alike))


def excess(sigma: float, sizes: Sequence[int]) -> float:
    """Return κ, rounded up; infinite where the noise is too small for the bound to say anything.

    >>> excess(10.0, (4, 5)) < 1e-80
    True
    """
    cells, total = math.prod(sizes), 0.0
    for size in sizes:
        s = 2 * math.pi**2 * sigma**2 / size * (1 - 1e-12)
        if s < 1:
            return math.inf
        # θ − 1 is 2(e^{−s} + e^{−4s} + …), below 2e^{−s}/(1 − e^{−3s}).
        beyond = 2 * math.exp(-s) / (1 - math.exp(-3 * s))
        off = math.expm1(cells / size * math.log1p(beyond)) * (1 + 1e-9)
        if off >= 1:
            return math.inf
        total += math.log1p(off) - math.log1p(-off)
    return total * (1 + 1e-9)


def fits(sigma: float, squared: Fraction, sizes: Sequence[int]) -> bool:
    """Return whether κ stays within what noise calibrated for (1 + SPARE) squared leaves for it."""
    return excess(sigma, sizes) <= float(squared * SPARE) / (2 * sigma**2) * (1 - 1e-9)


Margin: TypeAlias = tuple[str, ...]
"""A set of attributes in the order of the design; of a tree it has one level at most."""

Floats: TypeAlias = NDArray[np.float64]
Whole: TypeAlias = NDArray[Any]
"""Whole numbers: 64 bits, or Python's own where those do not suffice."""
Told: TypeAlias = list[list[tuple[Margin, float]]]

_LARGEST = 2**62
_FINE = 0.01
_UNUSED = 1e-3
_MOST_WIDE, _MOST_NAMES, _MOST_TOPS = 100_000, 12, 36
"""The most cells and attributes of a set wider than those published; of how many one is sought."""
_NODES, _STEEP = 65, 0.05


def subsets(margin: Margin) -> list[Margin]:
    """Return all sets within a margin, the empty one included."""
    return [part for size in range(len(margin) + 1) for part in combinations(margin, size)]


@dataclass(frozen=True, eq=False)
class Tree:
    """Levels of one attribute, the coarsest first; above them is the whole, as level 0.

    `parents[k]` has, for each node of level k + 1, its node at level k.
    """

    levels: tuple[str, ...] = ()
    parents: tuple[NDArray[np.int64], ...] = ()

    def nodes(self, level: int) -> int:
        """Return how many nodes a level has."""
        return len(self.parents[level - 1]) if level else 1

    def ancestors(
        self, places: NDArray[np.int64], level: int, below: int | None = None
    ) -> NDArray[np.int64]:
        """Return the nodes of a level above (or at) some nodes of a level below, the finest one."""
        for parents in reversed(self.parents[level:below]):
            places = parents[places]
        return places

    def added_up(self, table: Whole, level: int) -> Whole:
        """Return the sums of a table's nodes, one level up."""
        total = np.zeros((self.nodes(level - 1), *table.shape[1:]), dtype=table.dtype)
        np.add.at(total, self.parents[level - 1], table)
        return total

    @cached_property
    def widest(self) -> tuple[int, ...]:
        """The most of the finest nodes below one node, for each level."""
        leaves = np.arange(self.nodes(len(self.levels)))
        levels = range(len(self.levels) + 1)
        return tuple(int(np.bincount(self.ancestors(leaves, k)).max()) for k in levels)


@dataclass(frozen=True, slots=True)
class Spread:
    """The noise in each cell of a measured margin: its variance, and its law for intervals."""

    variance: float
    law: Any = None

    @classmethod
    def of(cls, law: Any) -> Spread:
        """Return the noise of a law; what is next to none counts as a little."""
        return cls(max(law.sd**2, 1e-30), law)


@dataclass(frozen=True, slots=True)
class Errors:
    """How far the cells of a published margin are off: alike in all cells of a node.

    `law` is that of a cell's error; where nodes differ, that of a tree whose nodes do not, and each
    has it in its own size.
    """

    sd: Floats
    law: Sum | None

    def half_width(self, confidence: float) -> Floats:
        """Return what the error of a cell of each node stays within, with that probability."""
        if self.law is None:
            raise AssertionError("the law of the noise is not known")
        if not self.law.sd:  # next to no noise
            return np.zeros_like(self.sd)
        return np.asarray(self.sd * (self.law.half_width(confidence) / self.law.sd))


@dataclass(frozen=True, eq=False)
class Design:
    """Attributes with their numbers of categories, a tree, and the margins that are published."""

    sizes: Mapping[str, int]
    published: tuple[Margin, ...]
    tree: Tree = field(default_factory=Tree)
    weights: Mapping[Margin, float] = field(default_factory=dict)
    apart: bool = False
    """Whether of a measured margin nothing but its own residual is used (see above)."""

    def _level(self, margin: Margin) -> int:
        return next((k for k, name in enumerate(self.tree.levels, 1) if name in margin), 0)

    def _plain(self, margin: Margin) -> Margin:
        return tuple(name for name in margin if name in self.sizes)

    def _count(self, plain: Iterable[str]) -> int:
        return math.prod(self.sizes[name] for name in plain)

    def cells(self, margin: Margin) -> int:
        """Return how many cells a margin has."""
        return self.tree.nodes(self._level(margin)) * self._count(self._plain(margin))

    def shape(self, margin: Margin) -> tuple[int, ...]:
        """Return the shape of a margin's table: nodes of the tree first, one where it has none."""
        plain = self._plain(margin)
        return (self.tree.nodes(self._level(margin)), *(self.sizes[name] for name in plain))

    def gathered(self, margin: Margin) -> int:
        """Return the most cells of the finest table that one cell of a margin gathers."""
        others = (size for name, size in self.sizes.items() if name not in margin)
        return self.tree.widest[self._level(margin)] * math.prod(others)

    @property
    def finest_size(self) -> int:
        """How many cells the finest table has: of all attributes, at the finest level."""
        return self.tree.nodes(len(self.tree.levels)) * self._count(self.sizes)

    def finest(self, margin: Margin) -> NDArray[np.int64]:
        """Return the cell of a margin that each cell of the finest table lies in."""
        return self.inside(margin, (*self.tree.levels[-1:], *self.sizes))

    def inside(self, margin: Margin, fine: Margin) -> NDArray[np.int64]:
        """Return the cell of a margin that each cell of a finer one lies in."""
        node, *places = np.unravel_index(np.arange(self.cells(fine)), self.shape(fine))
        named = zip(self._plain(fine), places, strict=True)
        at = [place for name, place in named if name in margin]
        node = self.tree.ancestors(node, self._level(margin), self._level(fine))
        return np.asarray(np.ravel_multi_index((node, *at), self.shape(margin)), dtype=np.int64)

    @cached_property
    def measurable(self) -> tuple[Margin, ...]:
        """What may be measured: the published sets and all sets below them, at every level."""
        found = {self._at(part, level) for m in self.published for part, level in self._below(m)}
        order = {name: place for place, name in enumerate((*self.tree.levels, *self.sizes))}
        return tuple(sorted(found, key=lambda m: (len(m), [order[name] for name in m])))

    @cached_property
    def wider(self) -> tuple[Margin, ...]:
        """What may be measured besides, in ε: sets that contain several of the published ones."""
        tops = sorted(map(self.wide, self._tops(self.measurable)))
        names = (*self.tree.levels, *self.sizes)
        united = self._united([frozenset(top) for top in tops])
        found = {one for one in (*united, frozenset(names)) if self._narrow(one)}
        ordered = sorted(tuple(name for name in names if name in one) for one in found)
        deep = [sum(name in self.tree.levels for name in one) for one in ordered]
        margins = (
            self._at(self._plain(one), level) for one, level in zip(ordered, deep, strict=True)
        )
        return tuple(margin for margin in margins if margin not in self.measurable)

    def _narrow(self, wide: frozenset[str]) -> bool:
        """Return whether a set is small enough to be measured though it is not published."""
        return len(wide) <= _MOST_NAMES and self._size(wide) <= _MOST_WIDE

    def _united(self, sets: list[frozenset[str]]) -> list[frozenset[str]]:
        """Return the sets to read all margins from, united two by two, with the least errors."""
        if len(sets) > _MOST_TOPS:
            return []
        margins = [frozenset(self.wide(margin)) for margin in self.published]
        weights = np.array([self.weights.get(margin, 1.0) for margin in self.published])

        def error(sets: Sequence[frozenset[str]]) -> float:
            sizes = np.array([self._size(one) for one in sets])
            inside = np.array([[margin <= one for one in sets] for margin in margins])
            read = np.where(inside, sizes, np.inf).argmin(axis=1)
            return float(np.cbrt(sizes * np.bincount(read, weights, len(sets))).sum())

        best, least = sets, error(sets)
        while len(sets) > 1:
            ways = []
            for one in {a | b for a, b in combinations(sets, 2)}:
                if self._narrow(one):
                    united = [*(other for other in sets if not other <= one), one]
                    ways.append((error(united), sorted(one), united))
            if not ways:
                break
            now, _, sets = min(ways, key=lambda way: way[:2])
            if now < least:
                best, least = sets, now
        return best

    def _below(self, margin: Margin) -> list[tuple[Margin, int]]:
        levels = range(self._level(margin) + 1)
        return [(part, level) for part in subsets(self._plain(margin)) for level in levels]

    def _at(self, plain: Margin, level: int) -> Margin:
        return (*self.tree.levels[level - 1 : level], *plain) if level else plain

    def counted(
        self, margin: Margin, places: Mapping[str, NDArray[np.int64]], values: Sequence[int]
    ) -> list[int]:
        """Return a margin of a table of which cells have values: its places by attribute."""
        shape, level = self.shape(margin), self._level(margin)
        at = [places[name] for name in self._plain(margin)]
        if level:
            nodes = self.tree.ancestors(places[self.tree.levels[-1]], level)
        else:
            nodes = np.zeros(len(values), dtype=np.int64)
        cells = np.ravel_multi_index((nodes, *at), shape)
        exact = max(map(abs, values), default=0) * len(values) <= _LARGEST
        numbers = np.array(values, dtype=np.int64 if exact else object)
        total = np.zeros(math.prod(shape), dtype=numbers.dtype)
        np.add.at(total, cells, numbers)
        return [int(number) for number in total]

    # ------------------------------------------------------------------ the estimate

    @cached_property
    def _residuals(self) -> dict[Margin, int]:
        """The sets whose residuals make up what is published, with their finest levels."""
        found: dict[Margin, int] = {}
        for margin in self.published:
            for part in subsets(self._plain(margin)):
                found[part] = max(found.get(part, 0), self._level(margin))
        return found

    @cached_property
    def _steps(self) -> dict[Margin, int]:
        """What estimates of each set are rounded to multiples of, over 10^k."""
        plain = {self._plain(margin) for margin in self.published}
        return {
            part: math.lcm(*(self._count(one) for one in plain if set(part) <= set(one)))
            for part in self._residuals
        }

    def digits(self, errors: Mapping[Margin, Errors]) -> int:
        """Return k: published values are whole numbers over 10^k."""
        least = min((float(error.sd.min()) for error in errors.values()), default=1.0)
        moves = max(
            sum(self._steps[part] for part in subsets(plain)) / (2 * self._count(plain))
            for plain in map(self._plain, self.published)
        )
        fine = _FINE * max(least, 1e-9)
        return max(0, math.ceil(math.log10(moves / fine)))

    def _told(self, part: Margin, noise: Mapping[Margin, Spread]) -> Told:
        """Return, for each level, what tells μ of a set: measured margins with their variances."""
        told: Told = [[] for _ in range(len(self.tree.levels) + 1)]
        for margin, spread in noise.items():
            plain = self._plain(margin)
            if part in self._tells(plain):
                others = self._count(name for name in plain if name not in part)
                told[self._level(margin)].append((margin, spread.variance * others))
        while told and not told[-1]:
            told.pop()
        return told

    def _tells(self, wide: Margin) -> list[Margin]:
        """Return the sets whose residuals a measured margin tells."""
        return [wide] if self.apart else subsets(wide)

    def _precise(self, told: Told) -> tuple[list[float], list[Floats]]:
        """Return each level's own precision, and each node's with all that is below it."""
        own = [math.fsum(1 / variance for _, variance in level) for level in told]
        precise = [np.full(self.tree.nodes(len(told) - 1), own[-1])]
        for level in range(len(told) - 1, 0, -1):
            precise.insert(0, own[level - 1] + 1 / self.tree.added_up(1 / precise[0], level))
        return own, precise

    def _estimated(
        self, part: Margin, tables: Mapping[Margin, Whole], noise: Mapping[Margin, Spread]
    ) -> Floats:
        """Return the estimate of μ of a set, at the finest level at which it is told."""
        told, tree = self._told(part, noise), self.tree
        own, precise = self._precise(told)
        broad = (slice(None), *(None for _ in part))
        means = []
        for level, measured in enumerate(told):
            shape = (tree.nodes(level), *(self.sizes[name] for name in part))
            mean = np.zeros(shape)
            for margin, variance in measured:
                gone = [k for k, n in enumerate(self._plain(margin), 1) if n not in part]
                table = tables[margin].reshape(self.shape(margin)).sum(axis=tuple(gone))
                if self.apart:
                    mean += self._residual(part, table)
                else:
                    mean += table.astype(np.float64) / (variance * own[level])
            means.append(mean)
        sums: list[Whole] = []
        for level in range(len(told) - 1, 0, -1):
            total = tree.added_up(means[level], level)
            sums.insert(0, total)
            share = (own[level - 1] / precise[level - 1])[broad]
            means[level - 1] = share * means[level - 1] + (1 - share) * total
        found = means[0]
        for level in range(1, len(told)):
            parents, spread = tree.parents[level - 1], 1 / precise[level]
            share = (spread / tree.added_up(spread, level)[parents])[broad]
            found = means[level] + share * (found - sums[level - 1])[parents]
        return found

    def _residual(self, part: Margin, table: Whole) -> Floats:
        """Return the residual of a table, worked out in whole numbers.

        Nothing else of the table may be used, not even by rounding.
        """
        cells = self._count(part)
        if int(np.abs(table).max(initial=0)) * cells * 2 ** len(part) >= _LARGEST:
            table = table.astype(object)
        for axis, name in enumerate(part, 1):
            table = table * self.sizes[name] - table.sum(axis=axis, keepdims=True)
        return np.asarray(table.astype(np.float64) / cells)

    def _variances(self, part: Margin, noise: Mapping[Margin, Spread]) -> list[Floats]:
        """Return the variance of a set's residual for the nodes of each level."""
        told, tree = self._told(part, noise), self.tree
        _, precise = self._precise(told)
        found = [1 / precise[0]]
        for level in range(1, len(told)):
            parents, spread = tree.parents[level - 1], 1 / precise[level]
            total = tree.added_up(spread, level)
            share = spread / total[parents]
            found.append(spread + share**2 * (found[-1] - total)[parents])
        return found

    def combined(
        self, tables: Mapping[Margin, Whole], noise: Mapping[Margin, Spread], digits: int
    ) -> dict[Margin, Whole]:
        """Return every published margin, cell by cell, as whole numbers over 10^digits."""
        parts: dict[Margin, list[Whole]] = {}
        for part, finest in self._residuals.items():
            step = self._steps[part]
            multiples = np.rint(self._estimated(part, tables, noise) * (10.0**digits / step))
            size = float(np.abs(multiples).max(initial=0)) * step * 4.0 ** (len(part) + 1)
            exact = multiples.astype(np.int64)
            if size * multiples.size >= _LARGEST:
                exact = np.vectorize(int, otypes=[object])(multiples)
            residual = exact * step
            for axis, name in enumerate(part, 1):
                residual = residual - residual.sum(axis=axis, keepdims=True) // self.sizes[name]
            levels = [residual]
            for level in range(len(self._told(part, noise)) - 1, 0, -1):
                levels.insert(0, self.tree.added_up(levels[0], level))
            parts[part] = levels[: finest + 1]
        return {margin: self._spread(margin, parts) for margin in self.published}

    def _spread(self, margin: Margin, parts: Mapping[Margin, Sequence[Whole]]) -> Whole:
        plain, level = self._plain(margin), self._level(margin)
        total: Whole = np.zeros(self.shape(margin), dtype=np.int64)
        for part in subsets(plain):
            shape = (-1, *(self.sizes[name] if name in part else 1 for name in plain))
            others = self._count(name for name in plain if name not in part)
            total = total + (parts[part][level] // others).reshape(shape)
        return total.reshape(-1)

    # ------------------------------------------------------------------ errors

    def errors(self, noise: Mapping[Margin, Spread]) -> dict[Margin, Errors]:
        """Return how far every published margin is off, from the noise of what is measured."""
        variances = {part: self._variances(part, noise) for part in self._residuals}
        shares, found = self._shares(noise), {}
        laws: dict[bytes, Sum] = {}
        for margin in self.published:
            plain, level = self._plain(margin), self._level(margin)
            total = np.zeros(self.tree.nodes(level))
            for part in subsets(plain):
                inside = math.prod(1 - 1 / self.sizes[name] for name in part)
                outside = self._count(name for name in plain if name not in part)
                total += variances[part][level] * (inside / outside**2)
            law = self._law(margin, noise, shares)
            if law is not None:
                law = laws.setdefault(law.alike, law)
            found[margin] = Errors(np.sqrt(total), law)
        return found

    @cached_property
    def _balanced(self) -> dict[str, float]:
        """The attributes, and each level of the tree as one: how many nodes are in a node above."""
        ratio = [
            self.tree.nodes(level) / self.tree.nodes(level - 1)
            for level in range(1, len(self.tree.levels) + 1)
        ]
        return dict(zip(self.tree.levels, ratio, strict=True)) | dict(self.sizes)

    @lru_cache(maxsize=4096)  # noqa: B019 - a design is as short-lived as its release
    def wide(self, margin: Margin) -> Margin:
        """Return a margin as a set of the balanced attributes."""
        return (*self.tree.levels[: self._level(margin)], *self._plain(margin))

    def _size(self, wide: Iterable[str]) -> float:
        return math.prod(self._balanced[name] for name in wide)

    def _shares(self, noise: Mapping[Margin, Spread]) -> dict[Margin, dict[Margin, float]]:
        """Return, for each set, the weights of the measured margins that tell it."""
        precise: dict[Margin, dict[Margin, float]] = {}
        for margin, spread in noise.items():
            wide = self.wide(margin)
            for part in self._tells(wide):
                tells = self._size(part) / (spread.variance * self._size(wide))
                precise.setdefault(part, {})[margin] = tells
        totals = {part: math.fsum(tells.values()) for part, tells in precise.items()}
        return {
            part: {margin: value / totals[part] for margin, value in tells.items()}
            for part, tells in precise.items()
        }

    def _law(
        self,
        margin: Margin,
        noise: Mapping[Margin, Spread],
        shares: Mapping[Margin, Mapping[Margin, float]],
        less: tuple[Margin, float] | None = None,
    ) -> Sum | None:
        """Return the law of a cell's error; None where that of the noise is not given.

        The part of a measured cell depends only on the attributes in which the two cells agree.
        `less` is a coarser margin and θ: then it is the error of the cell less θ times the cell of
        that margin that it lies in.
        """
        wide, found = self.wide(margin), []
        for one, spread in noise.items():
            if spread.law is None:
                return None
            other = self.wide(one)
            common = tuple(name for name in wide if name in other)
            factors, many = self._factors(wide, common, shares, one)
            if less is not None:
                coarse = self.wide(less[0])
                fewer = tuple(name for name in common if name in coarse)
                place = {part: at for at, part in enumerate(subsets(fewer))}
                at = [place[tuple(n for n in part if n in fewer)] for part in subsets(common)]
                factors = factors - less[1] * self._factors(coarse, fewer, shares, one)[0][at]
            rest = self._size(name for name in other if name not in wide)
            found.append((spread.law, factors, many * rest))
        return Sum(found)

    def _factors(
        self,
        wide: Margin,
        common: Margin,
        shares: Mapping[Margin, Mapping[Margin, float]],
        one: Margin,
    ) -> tuple[Floats, Floats]:
        """Return how much of a measured cell is in a cell, by what they agree in, and how many."""
        signs, many = _patterns(tuple(self._balanced[name] for name in common))
        weights = np.array([shares[part].get(one, 0.0) for part in subsets(common)])
        return signs @ weights / self._size(wide), many

    def part_of(
        self, margin: Margin, whole: Margin, noise: Mapping[Margin, Spread], confidence: float
    ) -> Within:
        """Return what the error of A − θB stays within: B the cell of `whole` that A lies in.

        The law is computed at some θ. Between them |A − θB| moves by no more than the error of B,
        which has a small part of the failure probability.
        """
        level, shares = 1 - confidence, self._shares(noise)
        own = self._law(whole, noise, shares)
        nodes = np.linspace(0, 1, _NODES)
        laws = [self._law(margin, noise, shares, (whole, float(theta))) for theta in nodes]
        if own is None or None in laws:
            raise AssertionError("the law of the noise is not known")
        steep = own.half_width(1 - _STEEP * level)
        width = 1 - (1 - _STEEP) * level
        return Within(nodes, np.array([law.half_width(width) for law in laws if law]), steep)

    # ------------------------------------------------------------------ the split of a budget

    def split(
        self, prices: Mapping[Margin, float], power: int, *, steps: int = 5000
    ) -> tuple[dict[Margin, float], float, float]:
        """Return the shares of margins worth measuring, the relative gap, and what is reached.

        Noise on a margin has the variance price/share^power, in any unit. What is reached is the
        sum of all published cells' variances. The gap is a bound on how much more than the least it
        is; for a power of 2, where none is known, it is infinite.
        """
        return self._split(prices, power, steps, [])

    def _split(
        self, prices: Mapping[Margin, float], power: int, steps: int, known: list[Floats]
    ) -> tuple[dict[Margin, float], float, float]:
        best: tuple[float, Floats, float] | None = None
        measured = list(prices)
        gain, cost = self._objective(measured)
        price = np.array([prices[margin] for margin in measured])
        for start in [*self._starts(measured, prices, power), *known]:
            found = _descended(gain, cost, price, power, start, steps)
            if best is None or found[0] < best[0]:
                best = found
        if best is None:
            raise AssertionError("there is always a start")
        shares = best[1]
        keep = self._used(dict(zip(measured, shares.tolist(), strict=True)))
        if len(keep) < len(measured):
            own = np.array([share for m, share in zip(measured, shares, strict=True) if m in keep])
            fewer = {margin: prices[margin] for margin in measured if margin in keep}
            return self._split(fewer, power, steps, [own / own.sum()] if power > 1 else [])
        gap = best[2] if power == 1 else math.inf
        return dict(zip(measured, shares.tolist(), strict=True)), gap, best[0]

    def _objective(self, measured: Sequence[Margin]) -> tuple[Floats, Floats]:
        """Return G and c: the variances of all published cells add up to Σ_A c_A/(G t)_A."""
        cost: dict[Margin, float] = {}
        for margin in self.published:
            wide, weight = self.wide(margin), self.weights.get(margin, 1.0)
            for part in subsets(wide):
                inside = math.prod(1 - 1 / self._balanced[name] for name in part)
                if not inside:  # one category: nothing to be told
                    continue
                outside = self._size(name for name in wide if name not in part) ** -2
                cost[part] = cost.get(part, 0.0) + weight * self._size(wide) * inside * outside
        row = {part: place for place, part in enumerate(cost)}
        gain = np.zeros((len(row), len(measured)))
        for column, margin in enumerate(measured):
            wide = self.wide(margin)
            for part in self._tells(wide):
                if part in row:
                    gain[row[part], column] = self._size(part) / self._size(wide)
        return gain, np.array(list(cost.values()))

    def _used(self, shares: Mapping[Margin, float]) -> set[Margin]:
        """Return the margins with more than next to no share, and those that alone tell another."""
        used = {m for m, share in shares.items() if share > _UNUSED / len(shares)}
        wide = {margin: set(self.wide(margin)) for margin in shares}
        for top in self._tops(self.measurable):
            tell = [
                m for m in shares if m == top or (not self.apart and wide[m] >= set(self.wide(top)))
            ]
            if not used & set(tell):
                used.add(max(tell, key=lambda m: shares[m]))
        return used

    def _tops(self, measured: Sequence[Margin]) -> set[Margin]:
        """Return the margins that no other contains: only they tell their own residual."""
        if self.apart:
            return set(measured)
        wide = {margin: set(self.wide(margin)) for margin in measured}
        return {one for one in measured if not any(wide[one] < other for other in wide.values())}

    def _starts(
        self, measured: Sequence[Margin], prices: Mapping[Margin, float], power: int
    ) -> list[Floats]:
        even = np.full(len(measured), 1 / len(measured))
        if power == 1:
            return [even]
        convex = self.split({margin: math.sqrt(p) for margin, p in prices.items()}, 1)[0]
        starts = [even]
        sets = (measured, [m for m in measured if m in self.measurable])
        wider = [m for m in self.wider if m in prices and len(self.wide(m)) < len(self._balanced)]
        tops = [dict.fromkeys(self._tops(own), 1.0) for own in (*sets, [*sets[1], *wider])]
        for known in (convex, *tops):
            start = np.array([max(known.get(m, 0.0), 1e-6) for m in measured]) ** (2 / 3)
            starts.append(start / start.sum())
        return starts


def _descended(
    gain: Floats, cost: Floats, price: Floats, power: int, share: Floats, steps: int
) -> tuple[float, Floats, float]:
    """Return the least value found from a start, its shares, and the gap."""
    value = gap = math.inf
    for _ in range(steps):
        told = gain @ (share**power / price)
        value = float((cost / told).sum())
        slope = (gain.T @ (cost / told**2)) * share ** (power - 1) / price
        # Σ share·slope is the value, since that is homogeneous. For a convex one of degree −1 the
        # least is at least value²/max slope.
        gap = float(slope.max()) / value - 1
        if gap < 1e-6:
            break
        share = share * slope ** (1 / (1 + power))
        share = share / share.sum()
    return value, share, max(0.0, gap)


@lru_cache(maxsize=1024)
def _patterns(sizes: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Return, for each set of attributes that agree, the signs of every residual, and how many."""
    places = tuple(str(place) for place in range(len(sizes)))
    every = subsets(places)
    signs = np.array(
        [
            [math.prod(sizes[int(i)] - 1 if i in agree else -1.0 for i in part) for part in every]
            for agree in every
        ]
    )
    many = [math.prod(sizes[int(i)] - 1 for i in places if i not in agree) for agree in every]
    return signs, np.array(many, dtype=np.float64)
