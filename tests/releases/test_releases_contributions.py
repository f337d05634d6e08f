"""Sensitivities against brute force over every way a unit can contribute."""

from __future__ import annotations

from itertools import product
from operator import sub

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.releases.contributions import Contribution
from soaking import examples


def _vectors(bounds: Contribution, size: int, *, signed: bool) -> list[tuple[int, ...]]:
    """Every vector of cell changes that one unit can make: rows of size 0 … size, or ±."""
    found = set()
    low = -size if signed else 0
    for counts in product(range(bounds.rows_per_group + 1), repeat=bounds.groups):
        if sum(counts) <= bounds.rows:
            for ends in product((low, size), repeat=bounds.groups):
                found.add(tuple(n * end for n, end in zip(counts, ends, strict=True)))
    return list(found)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("signed", [False, True])
@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(
    rows=st.integers(1, 5), groups=st.integers(1, 3), deep=st.integers(1, 3), size=st.integers(1, 3)
)
def test_sensitivities_are_the_largest_there_are(
    adjacency: str, signed: bool, rows: int, groups: int, deep: int, size: int
) -> None:
    bounds = Contribution.of(rows, groups, deep, adjacency=adjacency, grouped=True)
    vectors = _vectors(bounds, size, signed=signed)
    if adjacency == "replace":
        # A second unit may fall in the same groups or in others: pad both with room for that.
        wide = [(*v, *([0] * bounds.groups)) for v in vectors]
        apart = [(*([0] * bounds.groups), *v) for v in vectors]
        pairs = [
            tuple(a - b for a, b in zip(x, y, strict=True)) for x in wide for y in (*wide, *apart)
        ]
    else:
        pairs = list(vectors)
    largest_l1 = max(sum(map(abs, v)) for v in pairs)
    largest_square = max(sum(n * n for n in v) for v in pairs)
    assert largest_l1 == bounds.l1(size)
    assert largest_square == bounds.l2_squared(size, signed=signed)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("signed", [False, True])
@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(
    limits=st.tuples(st.integers(1, 7), st.integers(1, 7), st.integers(1, 4)),
    cells=st.integers(1, 3),
    once=st.booleans(),
)
def test_over_public_cells_they_are_the_largest_there_are(
    adjacency: str, signed: bool, limits: tuple[int, int, int], cells: int, once: bool
) -> None:
    declared = Contribution.of(*limits, adjacency=adjacency, grouped=True)
    bounds = declared.over(cells)
    rows, groups, deep = (declared.rows, declared.groups, declared.rows_per_group)
    if once:
        bounds, deep, rows = bounds.once_per_group(), 1, min(rows, groups)
    vectors = [
        tuple(n * end for n, end in zip(counts, ends, strict=True))
        for counts in product(range(deep + 1), repeat=cells)
        if sum(counts) <= rows and sum(map(bool, counts)) <= groups
        for ends in product((-1, 1) if signed else (1,), repeat=cells)
    ]
    l1 = max(sum(map(abs, v)) for v in vectors)
    square = max(sum(n * n for n in v) for v in vectors)
    if adjacency == "replace":
        apart = [tuple(map(sub, x, y)) for x in vectors for y in vectors]
        assert max(sum(map(abs, v)) for v in apart) <= bounds.l1() == 2 * l1
        assert max(sum(n * n for n in v) for v in apart) <= bounds.l2_squared(signed=signed)
    else:
        assert (l1, square) == (bounds.l1(), bounds.l2_squared(signed=signed))


def test_units_count_once_in_a_group() -> None:
    bounds = Contribution.of(4, 2, 2, adjacency="add-remove", grouped=True).once_per_group()
    assert (bounds.l1(), bounds.l2_squared()) == (2, 2)


def test_without_groups_the_rows_of_one_group_bind() -> None:
    bounds = Contribution.of(10, 5, 3, adjacency="add-remove", grouped=False)
    assert (bounds.rows, bounds.groups, bounds.l1(), bounds.l2_squared()) == (3, 1, 3, 9)


def test_a_record_counts_once() -> None:
    bounds = Contribution.of(None, None, None, adjacency="replace", grouped=True)
    assert (bounds.l1(), bounds.l2_squared()) == (2, 2)
