"""The cells of a categorical table: the cross of public levels, without the impossible ones.

Columns and their levels are public facts, given by hand or by a file; they are never read from the
data. A cell is one level a column; cells are numbered in the order of the levels, the last column
running fastest. Structural zeros (a pregnant man) are left out: they get no weight and no record.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DataError, InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_MOST_CELLS = 5_000_000
_MOST_WEIGHT = 1_000_000

Impossible = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cells:
    """The possible cells of a table over some columns.

    >>> cells = Cells.of({"sex": ["f", "m"], "pregnant": ["no", "yes"]},
    ...                  impossible=[{"sex": "m", "pregnant": "yes"}])
    >>> cells.size, cells.label(2)
    (3, {'sex': 'm', 'pregnant': 'no'})
    """

    levels: Mapping[str, tuple[str, ...]]
    possible: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        levels: Mapping[str, Iterable[Any]],
        *,
        impossible: Sequence[Impossible] = (),
    ) -> Cells:
        """Return the cells of these columns and levels, without the impossible ones."""
        if not levels:
            raise InputError("synthetic.no_columns")
        named = {str(column): tuple(str(v) for v in values) for column, values in levels.items()}
        for column, values in named.items():
            if not values:
                raise InputError("synthetic.no_levels", column=column)
            if "" in values:
                raise InputError("synthetic.empty_level", column=column)
            if len(set(values)) != len(values):
                raise InputError("synthetic.level_twice", column=column)
        shape = tuple(map(len, named.values()))
        if math.prod(shape) > _MOST_CELLS:
            raise InputError("synthetic.too_many_cells", cells=math.prod(shape), most=_MOST_CELLS)
        allowed = np.ones(shape, dtype=bool)
        for rule in impossible:
            allowed[_places(rule, named)] = False
        possible = np.flatnonzero(allowed)
        if possible.size == 0:
            raise InputError("synthetic.no_cell_left")
        return cls(named, possible)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(self.levels)

    @property
    def size(self) -> int:
        """How many cells are possible."""
        return int(self.possible.size)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many levels each column has."""
        return tuple(map(len, self.levels.values()))

    def coordinates(self) -> dict[str, NDArray[np.int64]]:
        """Return, for each column, the number of the level of every possible cell."""
        return dict(zip(self.levels, np.unravel_index(self.possible, self.shape), strict=True))

    def label(self, cell: int) -> dict[str, str]:
        """Return the levels of a cell, by column."""
        at = np.unravel_index(int(self.possible[cell]), self.shape)
        return {c: self.levels[c][int(i)] for c, i in zip(self.levels, at, strict=True)}

    def select(self, where: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the numbers of the cells that have these levels."""
        chosen = np.zeros(self.shape, dtype=bool)
        chosen[_places(where, self.levels)] = True
        return np.flatnonzero(chosen.ravel()[self.possible])

    def groups(self, known: Sequence[str]) -> NDArray[np.int64]:
        """Number the cells so that those which agree on the known columns share a number."""
        if known:
            _places({column: self.levels.get(column, ()) for column in known}, self.levels)
        if set(known) == set(self.columns):
            raise InputError("synthetic.every_column_known")
        number = np.zeros(self.size, dtype=np.int64)
        for column, at in self.coordinates().items():
            if column in known:
                number = number * len(self.levels[column]) + at
        return number

    def weights(self, levels: Mapping[str, Mapping[Any, int]]) -> tuple[int, ...]:
        """Return a whole number for each cell: the product of the weights of its levels.

        Columns and levels that are not named have the weight 1.
        """
        found = [1] * self.size
        for column, given in levels.items():
            given = {str(level): weight for level, weight in given.items()}
            _places({column: list(given)}, self.levels)
            for level, weight in given.items():
                if isinstance(weight, bool) or not isinstance(weight, int) or weight < 1:
                    raise InputError("synthetic.bad_weight", column=column, level=level)
            by_level = [given.get(level, 1) for level in self.levels[column]]
            at = self.coordinates()[column].tolist()
            found = [w * by_level[i] for w, i in zip(found, at, strict=True)]
        common = math.gcd(*found)
        if max(found) > _MOST_WEIGHT * min(found):
            raise InputError("synthetic.uneven_weights", most=_MOST_WEIGHT)
        return tuple(weight // common for weight in found)

    def count(
        self, columns: Mapping[str, Sequence[Any]], counts: Sequence[int]
    ) -> NDArray[np.int64]:
        """Return counts over the cells, from rows of levels with how often each occurs.

        Rows with a level that is not listed, or in an impossible cell, are left out.
        """
        if set(columns) != set(self.columns):
            raise DataError("synthetic.other_columns", columns=", ".join(self.columns))
        weight = np.asarray(counts, dtype=np.int64)
        number = np.zeros(weight.size, dtype=np.int64)
        known = np.ones(weight.size, dtype=bool)
        for column, values in self.levels.items():
            place = {value: i for i, value in enumerate(values)}
            at = np.array([place.get(v, -1) for v in columns[column]], dtype=np.int64)
            known &= at >= 0
            number = number * len(values) + np.maximum(at, 0)
        full = np.zeros(math.prod(self.shape), dtype=np.int64)
        np.add.at(full, number[known], weight[known])
        return full[self.possible]

    def to_dict(self) -> dict[str, Any]:
        """Return the columns and levels, which are public."""
        return {"columns": {c: list(v) for c, v in self.levels.items()}, "cells": self.size}

    def __repr__(self) -> str:
        crossed = " × ".join(f"{c}[{len(v)}]" for c, v in self.levels.items())
        return f"Cells({crossed}, {self.size} possible)"


def _places(where: Impossible, named: Mapping[str, tuple[str, ...]]) -> Any:
    """Return the part of the cross that has these levels, as an index of it."""
    if not isinstance(where, Mapping) or not where:
        raise InputError("synthetic.not_levels")
    for column in where:
        if column not in named:
            columns = ", ".join(named)
            raise InputError("synthetic.unknown_column", column=str(column), columns=columns)
    chosen = []
    for column, levels in named.items():
        given = where.get(column, levels)
        one = isinstance(given, str) or not isinstance(given, Iterable)
        wanted = [str(v) for v in ([given] if one else given)]
        for level in wanted:
            if level not in levels:
                raise InputError("synthetic.unknown_level", column=column, level=level)
        chosen.append([levels.index(level) for level in wanted])
    return np.ix_(*chosen)


@dataclass(frozen=True, slots=True)
class Distances:
    """Total variation between original and synthetic shares: whole table, columns, pairs.

    It is half the sum of absolute differences: 0 where the shares agree, 1 where nothing overlaps.
    The figures describe the original data: they are confidential.
    """

    table: float
    marginals: Mapping[str, float]
    pairs: Mapping[tuple[str, str], float]

    def to_dict(self) -> dict[str, Any]:
        """Return the distances, JSON-ready."""
        return {
            "table": self.table,
            "marginals": dict(self.marginals),
            "pairs": [
                {"columns": list(pair), "distance": value} for pair, value in self.pairs.items()
            ],
        }


def distances(original: ArrayLike, synthetic: ArrayLike, cells: Cells) -> Distances:
    """Return how far the synthetic shares lie from the original's: per column, pair and cell.

    >>> distances([3, 1], [2, 2], Cells.of({"smoker": ["no", "yes"]})).table
    0.25
    """
    shares = []
    for name, counts in (("original", original), ("synthetic", synthetic)):
        array = np.asarray(counts, dtype=np.float64)
        if array.shape != (cells.size,):
            raise InputError("synthetic.one_count_a_cell", name=name, cells=cells.size)
        if not array.sum() > 0:
            raise InputError("synthetic.nothing_to_compare", name=name)
        shares.append(array / array.sum())
    gap = shares[0] - shares[1]
    at = cells.coordinates()
    pairs = {
        (a, b): half_sum(np.bincount(at[a] * len(cells.levels[b]) + at[b], weights=gap))
        for a, b in combinations(at, 2)
    }
    marginals = {column: half_sum(np.bincount(own, weights=gap)) for column, own in at.items()}
    return Distances(half_sum(gap), marginals, pairs)


def half_sum(gap: NDArray[Any]) -> float:
    """Return the total variation between two lists of shares, from their differences."""
    return float(np.abs(gap).sum() / 2)
