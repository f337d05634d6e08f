"""Bounding: with priorities given, every engine keeps exactly the rows that the rule keeps.

Row i of a world carries the number 2^i, so that the sum of a cell says which rows were kept in it.
Many worlds are measured in one query, each with units and cells of its own.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import (
    Bins,
    Counting,
    Engine,
    KeySet,
    Number,
    Query,
    Summing,
    Tally,
)
from discreet.releases.engines.duckdb import DuckDB
from soaking import soaked

Opened = Callable[[pa.Table], Engine]
Row = tuple[int, str, int]
GROUPS = ("a", "b", "c", "d")
BIT = Number("bit", 0, 2**30, Fraction(1))
BOUNDS = [(1, 1, 1), (3, 2, 2), (4, 2, 3), (4, 4, 2), (5, 1, 5), (2, 4, 4), (6, 3, 1)]


@st.composite
def worlds(draw: Any) -> list[Row]:
    """Rows of up to four units in up to four groups; priorities are distinct, and name the row."""
    count = draw(st.integers(1, 20))
    units = draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    groups = draw(st.lists(st.sampled_from(GROUPS), min_size=count, max_size=count))
    order = draw(st.permutations(range(count)))
    return list(zip(units, groups, order, strict=True))


def _rule(rows: list[Row], R: int, G: int, c: int) -> set[int]:
    """The rule, word by word: rank groups by their best row, keep G; c best in each; R best."""
    kept: set[int] = set()
    for unit in {r[0] for r in rows}:
        groups: dict[str, list[int]] = defaultdict(list)
        for who, group, priority in rows:
            if who == unit:
                groups[group].append(priority)
        best = sorted(groups.values(), key=min)[:G]
        deep = [priority for group in best for priority in sorted(group)[:c]]
        kept |= set(sorted(deep)[:R])
    return kept


@pytest.mark.exchanging
@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=1)
@given(st.lists(worlds(), min_size=24, max_size=24).filter(lambda found: max(map(len, found)) > 9))
def test_every_engine_keeps_what_the_rule_keeps(
    opened: Opened, request: pytest.FixtureRequest, found: list[list[Row]]
) -> None:
    # Queries are dear on a cluster, so that all worlds are in one; the first that Hypothesis makes,
    # with one row in each, is left out. Spark is asked for some of the bounds in one task, and for
    # others where rows are exchanged.
    some = {"spark": BOUNDS[2::4], "spark exchanging": BOUNDS[1::4]}
    asked = BOUNDS if soaked() else some.get(request.node.callspec.params["opened"], BOUNDS)
    rows = [(w, *row) for w, world in enumerate(found) for row in world]
    table = pa.table(
        {
            "world": [str(r[0]) for r in rows],
            "unit": [f"{r[0]}/{r[1]}" for r in rows],
            "group": [r[2] for r in rows],
            "priority": pa.array([r[3] for r in rows], pa.int64()),
            "bit": pa.array([2 ** r[3] for r in rows], pa.int64()),
        }
    )
    cells = KeySet(
        ("world", "group"), tuple((str(w), g) for w in range(len(found)) for g in GROUPS)
    )
    engine = opened(table)
    for R, G, c in asked:
        bounds = Contribution.of(R, G, c, adjacency="add-remove", grouped=True)
        query = Query(("unit",), cells, bounds, (Summing("bits", BIT),), priority="priority")
        sums = engine.measure(query)["bits"]
        for w, world in enumerate(found):
            kept = {i for total in sums[4 * w : 4 * w + 4] for i in range(20) if total >> i & 1}  # type: ignore[operator]
            assert kept == _rule(world, R, G, c), (R, G, c)


@pytest.fixture(scope="session")
def large() -> pa.Table:
    """Thirty thousand rows, more in a soak, of a tenth as many units: all that numbers can be."""
    draw = np.random.default_rng(20261116)
    size = 100_000 if soaked() else 30_000
    cost = draw.normal(50, 60, size)
    cost[draw.random(size) < 0.02] = np.nan
    cost[draw.random(size) < 0.01] = np.inf
    cost[draw.random(size) < 0.01] = -1e308
    return pa.table(
        {
            "unit": [f"u{i}" for i in draw.integers(0, size // 10, size)],
            "day": pa.array(draw.integers(1, 8, size), pa.int32()),
            "group": [f"g{i}" for i in draw.integers(0, 60, size)],
            "cost": cost,
            "priority": pa.array(draw.permutation(size), pa.int64()),
        }
    )


@pytest.mark.exchanging(soak=True)  # the rule above is asked where rows are exchanged
@pytest.mark.slow
def test_a_large_table_gives_the_same_integers_everywhere(
    opened: Opened, large: pa.Table, request: pytest.FixtureRequest
) -> None:
    """By rows, by groups and rows, by groups alone; Spark is asked for the second but in a soak."""
    asked = [(5, 5, 5), (6, 2, 4), (3, 9, 1)]
    if "spark" in request.node.callspec.params["opened"] and not soaked():
        asked = asked[1:2]
    cost = Number("cost", -1000, 20_000, Fraction(1, 100))
    cells = KeySet(("group",), tuple((f"g{i}",) for i in range(50)))
    measures = (
        Counting("n"),
        Counting("there", cost),
        Summing("s", cost),
        Summing("squares", cost, 5000, 2),
        Tally("bins", Bins("cost", (-10.0, 0.0, 50.0, 100.0))),
    )
    reference, engine = DuckDB.of(large), opened(large)
    for R, G, c in asked:
        bounds = Contribution.of(R, G, c, adjacency="add-remove", grouped=True)
        query = Query(("unit",), cells, bounds, measures, priority="priority")
        assert engine.measure(query) == reference.measure(query), (R, G, c)
    reference.close()


@pytest.mark.exchanging(soak=True)
def test_drawn_priorities_keep_as_many_and_differ_from_run_to_run(opened: Opened) -> None:
    """2,000 units with 6 rows keep 2 each; two draws never agree (below 1e-300).

    Each of six places is kept Bin(2000, 1/3) times, sd 21; beyond 140 of its mean: below 1e-9.
    """
    units = [u for u in range(2_000) for _ in range(6)]
    random.Random(5).shuffle(units)  # noqa: S311
    seen: dict[int, int] = defaultdict(int)
    place = []
    for unit in units:
        place.append(seen[unit])
        seen[unit] += 1
    table = pa.table({"unit": units, "group": ["a"] * len(units), "place": place})
    field = Number("place", 0, 5, Fraction(1))
    bounds = Contribution.of(2, 1, 2, adjacency="add-remove", grouped=True)
    cells = KeySet(("group",), (("a",), ("b",)))
    engine = opened(table)
    query = Query(("unit",), cells, bounds, (Counting("n"), Tally("values", field)))
    first, second = engine.measure(query), engine.measure(query)
    assert first["n"] == second["n"] == [4_000, 0]
    assert first["values"] != second["values"]
    for run in (first, second):
        assert all(abs(n - 2_000 / 3) < 140 for n in run["values"][0])  # type: ignore[union-attr]


@pytest.mark.exchanging
def test_units_of_several_columns_are_bounded_each(opened: Opened) -> None:
    table = pa.table(
        {
            "unit": pa.array([1, 1, 1, 1, None, 2], pa.int64()),
            "day": ["m", "m", "t", "t", "m", None],
            "group": ["a"] * 6,
        }
    )
    engine = opened(table)
    bounds = Contribution.of(1, 1, 1, adjacency="add-remove", grouped=True)
    cells = KeySet(("group",), (("a",),))
    for unit in (("unit",), ("unit", "day")):
        # One row of unit 1 and one of unit 2; or one of (1, m) and one of (1, t).
        assert engine.measure(Query(unit, cells, bounds, (Counting("n"),)))["n"] == [2]
