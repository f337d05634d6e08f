"""Bounding: the rule against brute force, and what one unit can change, for every priority.

The engine is given priorities as a column. Row i carries the number 2^i, so that the sum of a cell
says exactly which rows were kept in it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.releases.contributions import Contribution
from discreet.releases.engines import bounding_arrays, duckdb, sql
from discreet.releases.engines.base import (
    Bins,
    Counting,
    KeySet,
    Labels,
    Measure,
    Number,
    Query,
    Steps,
    Summing,
    Tally,
)
from discreet.releases.engines.duckdb import DuckDB
from soaking import examples, soaked

GROUPS = ("a", "b", "c", "d")
UNITS = range(1, 5)
BIT = Number("bit", 0, 2**40, Fraction(1))
COST = Number("cost", -3, 5, Fraction(1))
CELLS = KeySet(("group",), tuple((g,) for g in GROUPS))

Row = tuple[int, str, int, int]
"""Unit, group, cost, priority; priorities are distinct, and name the row."""


@st.composite
def tables(draw: Any, most: int = 20) -> list[Row]:
    """Rows of up to four units in up to four groups, with distinct priorities in any order."""
    count = draw(st.integers(1, most))
    units = draw(st.lists(st.sampled_from(UNITS), min_size=count, max_size=count))
    groups = draw(st.lists(st.sampled_from(GROUPS), min_size=count, max_size=count))
    costs = draw(st.lists(st.integers(-6, 9), min_size=count, max_size=count))
    order = draw(st.permutations(range(count)))
    return list(zip(units, groups, costs, order, strict=True))


def _over_all(R: int, G: int, c: int, adjacency: str = "add-remove") -> Contribution:
    return Contribution.of(R, G, c, adjacency=adjacency, grouped=True).over(len(GROUPS))


bounds_of = st.builds(
    _over_all,
    st.integers(1, 6),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from(["add-remove", "replace"]),
)


def _measured(
    worlds: list[list[Row]],
    bounds: Contribution,
    measures: tuple[Measure, ...],
    *,
    apart: int | None = None,
) -> list[dict[str, Any]]:
    """Measure several data sets in one query: each world has units and cells of its own.

    Units are texts, or whole numbers that are so far apart.
    """
    rows = [(w, *row) for w, world in enumerate(worlds) for row in world]
    texts = pa.array([f"{r[0]}/{r[1]}" for r in rows], pa.string())
    whole = pa.array([(8 * r[0] + r[1] - 9) * (apart or 0) for r in rows], pa.int64())
    table = pa.table(
        {
            "world": pa.array([str(r[0]) for r in rows], pa.string()),
            "unit": texts if apart is None else whole,
            "group": pa.array([r[2] for r in rows], pa.string()),
            "cost": pa.array([r[3] for r in rows], pa.int64()),
            "priority": pa.array([r[4] for r in rows], pa.int64()),
            "bit": pa.array([2 ** r[4] for r in rows], pa.int64()),
        }
    )
    cells = KeySet(
        ("world", "group"), tuple((str(w), g) for w in range(len(worlds)) for g in GROUPS)
    )
    engine = DuckDB.of(table)
    try:
        found = engine.measure(Query(("unit",), cells, bounds, measures, priority="priority"))
    finally:
        engine.close()
    size = len(GROUPS)
    return [
        {name: values[w * size : (w + 1) * size] for name, values in found.items()}
        for w in range(len(worlds))
    ]


def _kept(
    worlds: list[list[Row]],
    bounds: Contribution,
    bit: Number = BIT,
    *,
    apart: int | None = None,
) -> list[set[int]]:
    return [
        {i for total in found["bits"] for i in range(40) if total >> i & 1}
        for found in _measured(worlds, bounds, (Summing("bits", bit),), apart=apart)
    ]


def _rule(rows: list[Row], R: int, G: int, c: int) -> set[int]:
    """The rule, word by word: rank groups by their best row, keep G; c best in each; R best."""
    kept: set[int] = set()
    for unit in {r[0] for r in rows}:
        groups: dict[str, list[int]] = defaultdict(list)
        for who, group, _, priority in rows:
            if who == unit:
                groups[group].append(priority)
        best = sorted(groups.values(), key=min)[:G]
        deep = [priority for group in best for priority in sorted(group)[:c]]
        kept |= set(sorted(deep)[:R])
    return kept


@pytest.mark.slow
@pytest.mark.parametrize("G", [1, 2, 4])
@settings(derandomize=True, deadline=None, max_examples=examples(40))
@given(st.lists(tables(), min_size=5, max_size=5), st.integers(1, 6), st.integers(1, 4))
def test_the_engine_keeps_what_the_rule_keeps(
    G: int, worlds: list[list[Row]], R: int, c: int
) -> None:
    bounds = _over_all(R, G, c)
    assert _kept(worlds, bounds) == [_rule(world, R, G, c) for world in worlds]


@pytest.mark.slow
@pytest.mark.parametrize("G", [1, 2, 4])
@settings(derandomize=True, deadline=None, max_examples=20 if soaked() else 5)
@given(st.lists(tables(), min_size=5, max_size=5), st.integers(1, 6), st.integers(1, 4))
def test_the_other_way_keeps_the_same_rows(G: int, worlds: list[list[Row]], R: int, c: int) -> None:
    """Where few units have many rows: all rows, less theirs, plus what they keep."""
    bounds = _over_all(R, G, c)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb, "LARGE", 0)
        patch.setattr(duckdb, "ONE_UNIT_IN", 1)
        patch.setattr(duckdb, "MOST_SHARE", 2.0)
        taken: list[bool] = []
        patch.setattr(DuckDB, "_without_the_rest", _counted(taken))
        assert _kept(worlds, bounds) == [_rule(world, R, G, c) for world in worlds]
        rows = _measured(worlds, bounds, (Counting("rows"), Summing("sum", COST)))
    assert len(taken) == 2
    assert rows == _measured(worlds, bounds, (Counting("rows"), Summing("sum", COST)))


@pytest.mark.slow
@pytest.mark.parametrize("apart", [1, 2**20])
@settings(derandomize=True, deadline=None, max_examples=40 if soaked() else 8)
@given(st.lists(tables(), min_size=5, max_size=5), st.integers(1, 6))
def test_sorted_keys_keep_the_same_rows(apart: int, worlds: list[list[Row]], R: int) -> None:
    """Where units are whole numbers: one sort of unit, priority and payload in one integer."""
    bounds = _over_all(R, R, R)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb, "LARGE", 0)
        patch.setattr(duckdb, "MOST_SHARE", -1.0)
        taken: list[bool] = []
        patch.setattr(
            bounding_arrays, "first_of_units", _counted(taken, bounding_arrays.first_of_units)
        )
        small = Number("bit", 0, 2**20, Fraction(1))
        assert _kept(worlds, bounds, small, apart=apart) == [_rule(w, R, R, R) for w in worlds]
        rows = _measured(worlds, bounds, (Counting("rows"), Summing("sum", COST)), apart=apart)
    assert len(taken) == 2
    assert rows == _measured(worlds, bounds, (Counting("rows"), Summing("sum", COST)))


@pytest.mark.slow
@pytest.mark.parametrize("waiting", ["in memory", "in files"])
@settings(derandomize=True, deadline=None, max_examples=20 if soaked() else 4)
@given(st.lists(tables(), min_size=5, max_size=5), st.integers(1, 6))
def test_units_divided_among_places_keep_the_same_rows(
    waiting: str, worlds: list[list[Row]], R: int
) -> None:
    """Where units are texts, or too far apart for one integer, or all rows do not fit."""
    bounds = _over_all(R, R, R)
    with pytest.MonkeyPatch.context() as patch:
        taken = _placed(patch, waiting)
        small = Number("bit", 0, 2**20, Fraction(1))
        for apart in (2**58, None):  # far apart, and texts
            assert _kept(worlds, bounds, small, apart=apart) == [_rule(w, R, R, R) for w in worlds]
    assert len(taken) == 2


def _placed(patch: pytest.MonkeyPatch, waiting: str) -> list[bool]:
    """Have rows divided among places of four rows, and note that they were."""
    patch.setattr(duckdb, "LARGE", 0)
    patch.setattr(duckdb, "MOST_SHARE", -1.0)
    patch.setattr(duckdb, "_PLACE", 4)
    if waiting == "in files":
        patch.setattr(DuckDB, "_memory", lambda _: 0)
    taken: list[bool] = []
    patch.setattr(bounding_arrays, "looking_back", _counted(taken, bounding_arrays.looking_back))
    return taken


@pytest.mark.parametrize("waiting", ["in memory", "in files"])
def test_units_that_are_texts_are_divided_among_places(waiting: str) -> None:
    texts = ["", "a", "é", "𝒳"]
    table = pa.table({"unit": [texts[i % 4] for i in range(41)], "group": ["g"] * 41})
    with pytest.MonkeyPatch.context() as patch:
        taken = _placed(patch, waiting)
        bounds = Contribution.of(4, 4, 4, adjacency="add-remove", grouped=True)
        engine = DuckDB.of(table)
        for cells in (KeySet(("group",), (("g",),)), None):
            query = Query(("unit",), cells, bounds, (Counting("n"),))
            assert engine.measure(query) == {"n": [16]}
        left = [file for file in engine._spilled.rglob("*") if file.is_file()]
        engine.close()
    assert taken
    assert [file.name for file in left] == ["lock"]


def _counted(taken: list[bool], way: Any = DuckDB._without_the_rest) -> Any:
    """The way itself, noting that it was taken."""

    def noted(*arguments: Any, **more: Any) -> Any:
        taken.append(True)
        return way(*arguments, **more)

    return noted


def test_a_sample_of_the_units_chooses_the_way() -> None:
    """Few rows of units above the limit: the other way; many: the sort. The bounds hold in both."""
    cells = KeySet(("group",), (("a",),))
    for limit, other in ((2, False), (40, True)):
        table = pa.table({"unit": [i // 30 for i in range(3000)], "group": ["a"] * 3000})
        engine = DuckDB.of(table)
        bounds = Contribution.of(limit, None, None, adjacency="add-remove", grouped=True)
        query = Query(("unit",), cells, bounds, (Counting("rows"),))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(duckdb, "LARGE", 0)
            patch.setattr(duckdb, "ONE_UNIT_IN", 4)
            assert engine._few_bind(query) is other
            assert engine.measure(query)["rows"] == [100 * min(30, limit)]
        engine.close()


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=examples(25))
@given(tables(), bounds_of)
def test_what_is_kept_of_a_unit_depends_on_it_alone(rows: list[Row], bounds: Contribution) -> None:
    alone = [[row for row in rows if row[0] == unit] for unit in UNITS]
    together, *each = _kept([rows, *alone], bounds)
    for mine, kept in zip(alone, each, strict=True):
        assert together & {row[3] for row in mine} == kept


MEASURES: dict[Measure, tuple[int, bool]] = {
    # The largest size of one row, and whether it can be negative.
    Counting("rows"): (1, False),
    Summing("sum", COST): (5, True),
    Counting("present", COST): (1, False),
    Summing("deviations", COST, 1): (4, True),
    Summing("squares", COST, 1, 2): (16, False),
    Tally("bins", Bins("cost", (-3.0, 0.0, 2.0, 5.0))): (1, False),
    Tally("values", COST): (1, False),
    Tally("labels", Labels("group", GROUPS)): (1, False),
    Tally("steps", Steps("cost", 0.0, 2.0, 3, 5.0)): (1, False),
}


def _flat(values: Any) -> list[int]:
    return [n for v in values for n in (v if isinstance(v, list) else [v])]


def _changes(here: Any, there: Any) -> list[int]:
    return [a - b for a, b in zip(_flat(here), _flat(there), strict=True)]


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=examples(40))
@given(tables(12), bounds_of, tables(8))
def test_one_unit_changes_no_statistic_by_more_than_is_said(
    rows: list[Row], bounds: Contribution, others: list[Row]
) -> None:
    """Add-remove: without each unit. Replace: with other rows for it, all else as it was."""
    neighbours = [[row for row in rows if row[0] != unit] for unit in UNITS]
    if bounds.adjacency == "replace":
        for unit, neighbour in zip(UNITS, neighbours, strict=True):
            neighbour += [(unit, g, cost, 20 + i) for i, (_, g, cost, _) in enumerate(others)]
    here, *found = _measured([rows, *neighbours], bounds, tuple(MEASURES))
    for there in found:
        for measure, (size, signed) in MEASURES.items():
            change = _changes(here[measure.name], there[measure.name])
            assert sum(map(abs, change)) <= bounds.l1(size), measure
            assert sum(n * n for n in change) <= bounds.l2_squared(size, signed=signed), measure


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=examples(25))
@given(tables(), bounds_of)
def test_one_unit_changes_the_count_of_units_by_one_a_group(
    rows: list[Row], bounds: Contribution
) -> None:
    once = bounds.once_per_group()
    neighbours = [[row for row in rows if row[0] != unit] for unit in UNITS]
    here, *found = _measured([rows, *neighbours], once, (Counting("units"),))
    for unit, there in zip(UNITS, found, strict=True):
        change = _changes(here["units"], there["units"])
        touched = len({row[1] for row in rows if row[0] == unit})
        assert all(n in (0, 1) for n in change)
        assert sum(change) == min(touched, bounds.rows, bounds.groups)
        assert sum(change) <= once.l1()


def test_drawn_priorities_keep_as_many_and_differ_from_run_to_run() -> None:
    """2,000 units with 8 rows in one cell keep 3 each; two draws never agree (below 1e-300)."""
    units = [u for u in range(2_000) for _ in range(8)]
    table = pa.table(
        {"unit": units, "group": ["a"] * len(units), "cost": [i % 6 for i in range(len(units))]}
    )
    bounds = Contribution.of(3, 1, 3, adjacency="add-remove", grouped=True)
    engine = DuckDB.of(table)
    query = Query(("unit",), CELLS, bounds, (Counting("n"), Tally("values", COST)))
    first, second = engine.measure(query), engine.measure(query)
    engine.close()
    assert first["n"] == second["n"] == [6_000, 0, 0, 0]
    assert first["values"] != second["values"]


def test_each_row_is_as_likely_to_be_kept() -> None:
    """Of 6 rows 2 are kept: each place in 3,000 units is kept 1,000 times, give or take 6.5 sd.

    A place is kept Bin(3000, 1/3) times, sd 25.8; six places beyond 168: below 1e-9.
    """
    units = [u for u in range(3_000) for _ in range(6)]
    table = pa.table(
        {"unit": units, "group": ["a"] * len(units), "cost": [i % 6 for i in range(len(units))]}
    )
    bounds = Contribution.of(2, 1, 2, adjacency="add-remove", grouped=True)
    engine = DuckDB.of(table)
    tally = engine.measure(Query(("unit",), CELLS, bounds, (Tally("values", COST),)))["values"][0]
    engine.close()
    assert tally[:3] == [0, 0, 0]
    assert all(abs(n - 1_000) < 168 for n in tally[3:])


def test_equal_priorities_are_decided_by_a_coin_and_not_by_the_value() -> None:
    """4,000 units with two rows of one priority and of values 0 and 5: each is kept about half.

    Bin(4000, 1/2) has sd 31.6; beyond 200 (6.3 sd) with probability below 1e-9.
    """
    coin = random.Random(11)  # noqa: S311
    units = [u for u in range(4_000) for _ in range(2)]
    drawn = [coin.getrandbits(30) for _ in range(4_000)]
    table = pa.table(
        {
            "unit": units,
            "group": ["a"] * len(units),
            "cost": [0, 5] * 4_000,
            "priority": [drawn[u] for u in units],
        }
    )
    engine = DuckDB.of(table)
    bounds = Contribution.of(1, 1, 1, adjacency="add-remove", grouped=True)
    query = Query(("unit",), CELLS, bounds, (Tally("values", COST),), priority="priority")
    tally = engine.measure(query)["values"][0]
    engine.close()
    assert tally[3] + tally[8] == 4_000
    assert abs(tally[3] - 2_000) < 200


def test_each_row_is_as_likely_to_be_kept_of_sorted_keys() -> None:
    """As above, with few bits of priority, so that lots are drawn for most units.

    Six places of Bin(3000, 1/3), each off by 168 or more with probability below 1e-10.
    """
    units = [u for u in range(3_000) for _ in range(6)]
    table = pa.table(
        {"unit": units, "group": ["a"] * len(units), "cost": [i % 6 for i in range(len(units))]}
    )
    bounds = Contribution.of(2, 2, 2, adjacency="add-remove", grouped=True)
    tall = Number("cost", 0, 2**28, Fraction(1))
    for room in (62, 12, 1):
        engine = DuckDB.of(table)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(duckdb, "LARGE", 0)
            patch.setattr(sql, "MOST_PRIORITY", room)
            patch.setattr(duckdb.bounding_arrays, "LEAST_PRIORITY", 1)
            kept = engine._kept_rows(
                Query(("unit",), CELLS, bounds, (Summing("s", tall),)),
                [engine._keys(CELLS)],
            )
            counts = engine._answer(kept.group_by("_field_0").agg(n=kept.count()), "")
        engine.close()
        assert sum(counts["n"]) == 6_000
        assert all(abs(n - 1_000) < 168 for n in counts["n"])


@pytest.mark.parametrize("unit", [("unit",), ("unit", "day")])
def test_units_of_several_columns_are_bounded_each(unit: tuple[str, ...]) -> None:
    table = pa.table(
        {
            "unit": [1, 1, 1, 1, None, 2],
            "day": ["m", "m", "t", "t", "m", None],
            "group": ["a"] * 6,
        }
    )
    engine = DuckDB.of(table)
    bounds = Contribution.of(1, 1, 1, adjacency="add-remove", grouped=True)
    count = engine.measure(Query(unit, CELLS, bounds, (Counting("n"),)))["n"][0]
    engine.close()
    assert count == 2  # one row of unit 1 and one of unit 2; or one of (1, m) and one of (1, t)
