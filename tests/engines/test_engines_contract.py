"""The same rows, the same numbers on every engine; bad values are nothing or clipped."""

from __future__ import annotations

import datetime
import math
import threading
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pyarrow as pa
import pytest

from discreet.releases.contributions import Contribution
from discreet.releases.engines import sql
from discreet.releases.engines.base import (
    Bins,
    Counting,
    Cutting,
    Engine,
    Grid,
    KeySet,
    Labels,
    Number,
    Query,
    Steps,
    Summing,
    Tally,
)
from soaking import chequered

Opened = Callable[[pa.Table], Engine]
ONE = Contribution()
COST = Number("cost", 0, 1000, Fraction(1, 10))


@pytest.fixture
def visits() -> pa.Table:
    return pa.table(
        {
            "person": ["a", "a", "b", "c", None, "d", "e"],
            "county": ["north", "south", "north", None, "north", "east", "north"],
            "ward": [1, 2, 1, 1, 1, 1, 7],
            "cost": [10.04, 250.0, -3.0, 5.0, 5.0, 5.0, None],
        }
    )


def _bounds(rows: int, groups: int | None = None, deep: int | None = None) -> Contribution:
    return Contribution.of(rows, groups, deep, adjacency="add-remove", grouped=True)


def test_all_measures_at_once(opened: Opened, visits: pa.Table) -> None:
    engine = opened(visits)
    assert engine.columns == {
        "person": "text",
        "county": "text",
        "ward": "integer",
        "cost": "number",
    }
    cells = KeySet(("county", "ward"), tuple((c, w) for c in ("north", "south") for w in "12"))
    measures = (Counting("n"), Counting("present", COST), Summing("sum", COST), Tally("t", COST))
    found = engine.measure(Query(("person",), cells, _bounds(2), measures))
    # Kept: a north 1 (10.0), a south 2 (clipped to 100), b north 1 (clipped to 0); e is in ward 7.
    assert found["n"] == found["present"] == [2, 0, 0, 1]
    assert found["sum"] == [100, 0, 0, 1000]
    assert [sum(cell) for cell in found["t"]] == [2, 0, 0, 1]  # type: ignore[arg-type]
    assert found["t"][0][0] == found["t"][0][100] == found["t"][3][1000] == 1  # type: ignore[index]


def test_progress_changes_no_number(
    opened: Opened, visits: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "_LOOK", 0.001)
    told: list[tuple[str, int, int]] = []
    engine: Any = opened(visits)
    query = Query(("person",), KeySet(("ward",), (("1",), ("2",))), _bounds(2), (Counting("n"),))
    watched = engine.watched(lambda *now: told.append(now))
    assert watched.measure(query) == engine.measure(query) == {"n": [4, 1]}
    assert all(what and 0 <= done < total for what, done, total in told)
    assert not any(thread.name.endswith("(look)") for thread in threading.enumerate())


@pytest.mark.parametrize("unit", [(), ("person",)])
def test_a_grid_has_the_cells_that_have_rows(
    opened: Opened, visits: pa.Table, unit: tuple[str, ...]
) -> None:
    """The numbers of its product of keys, whose combinations are never listed."""
    engine = opened(visits)
    lists = (("north", "south", "nowhere"), ("2", "1", "07"))
    listed = KeySet(("county", "ward"), tuple(product(*lists)))
    measures = (Counting("n"), Summing("sum", COST))
    dense = engine.measure(Query(unit, listed, _bounds(2), measures))
    sparse = engine.measure(Query(unit, Grid(listed.columns, lists), _bounds(2), measures))
    for name in ("n", "sum"):
        assert [sparse[name].get(cell, 0) for cell in range(len(listed))] == dense[name]
    assert sorted(sparse["n"]) == [1, 3]


def test_rows_as_units(opened: Opened, visits: pa.Table) -> None:
    engine = opened(visits)
    cells = KeySet(("county",), (("south",), ("north",), ("nowhere",)))
    found = engine.measure(Query((), cells, ONE, (Counting("n"), Summing("sum", COST))))
    assert found == {"n": [1, 4, 0], "sum": [1000, 150, 0]}
    whole = engine.measure(Query((), None, ONE, (Counting("n"), Summing("sum", COST, 3, 2))))
    squares = sum((v - 3) ** 2 for v in (100, 1000, 0, 50, 50, 50))
    assert whole == {"n": [7], "sum": [squares]}


def test_keys_found_stay_inside_until_they_are_paid_for(opened: Opened, visits: pa.Table) -> None:
    engine = opened(visits)
    found = engine.find_keys(("person",), ("county", "ward"), _bounds(2))
    assert sorted(found.units) == [1, 1, 1, 2]
    assert "north" not in repr(found)
    best = max(range(4), key=lambda place: found.units[place])
    others = [place for place in range(4) if place != best]
    assert engine.reveal(found, [best]) == KeySet(("county", "ward"), (("north", "1"),))
    revealed = engine.reveal(found, others).keys
    assert revealed == (("east", "1"), ("north", "7"), ("south", "2"))
    assert engine.reveal(found, []).keys == ()


ODD: list[tuple[str | None, int | None]] = [
    ("12.34", 123),
    (" 7 ", 70),
    ("\t7\r\n", 70),
    ("+5", 50),
    ("+-5", 0),
    ("1_0", 100),
    ("1_", None),
    (".5", 5),
    ("5.", 50),
    (".", None),
    ("1e1", 100),
    ("1E+1", 100),
    ("1e", None),
    ("1d", None),
    ("5f", None),
    ("0x10", None),
    ("0x1p3", None),
    ("1e308", 1000),
    ("-1e308", 0),
    ("1e400", 1000),
    ("-1e400", 0),
    ("1e-400", 0),
    ("1e999999999999", 1000),
    ("-1e999999999999", 0),
    ("1e-999999999999", 0),
    ("0e999999999999", 0),
    ("5e-324", 0),
    ("inf", 1000),
    ("-Infinity", 0),
    ("INF", 1000),
    ("infinit", None),
    ("nan", None),
    ("-NaN", None),
    ("", None),
    (" ", None),
    ("1 2", None),
    ("--1", None),
    ("\u00a07", None),
    ("\u0663", None),
    ("twelve", None),
    ("true", None),
    ("1,5", None),
    ("2026-01-31", None),
    ("'; drop table t; --", None),
    ("9" * 1_000, 1000),
    ("9" * 1_001, None),
    ("x" * 10_000, None),
    (str(2**63), 1000),
    (str(-(2**63)), 0),
    ("0.05", 1),
    ("0.15", 1),
    ("0.25", 3),
    ("0.35", 3),
    (None, None),
]


def test_text_in_a_number_column_is_a_number_or_nothing(opened: Opened) -> None:
    texts = [text for text, _ in ODD]
    engine = opened(pa.table({"row": list(range(len(ODD))), "cost": pa.array(texts, pa.string())}))
    cells = KeySet(("row",), tuple((str(i),) for i in range(len(ODD))))
    found = engine.measure(Query((), cells, ONE, (Counting("n", COST), Summing("s", COST))))
    told = zip(texts, found["n"], found["s"], strict=True)
    wanted = [(text, int(m is not None), m or 0) for text, m in ODD]
    assert [one for one, other in zip(told, wanted, strict=True) if one != other] == []


NUMBERS: dict[str, tuple[pa.Array, list[int]]] = {
    "float": (pa.array([math.nan, math.inf, -math.inf, 1e308, None, -0.0]), [0, 0, 1000, 1000]),
    "edges": (pa.array([1.7976931348623157e308, 5e-324, -5e-324]), [0, 0, 1000]),
    "long": (pa.array([2**63 - 1, -(2**63), 0, 5], pa.int64()), [0, 0, 50, 1000]),
    "short": (pa.array([7, -7, None], pa.int16()), [0, 70]),
    "unsigned": (pa.array([2**64 - 1, 5], pa.uint64()), [50, 1000]),
    "truth": (pa.array([True, False, None]), [0, 10]),
    "single": (pa.array([1.5, None, math.nan], pa.float32()), [15]),
    "decimal": (pa.array([Decimal("1.25"), Decimal("-9.99"), None]), [0, 13]),
    "wide decimal": (pa.array([Decimal("9" * 28 + ".5")], pa.decimal128(38, 1)), [1000]),
    "dictionary": (pa.array(["3", "x"]).dictionary_encode(), [30]),
}


@pytest.mark.parametrize(("column", "multiples"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_every_type_are_clipped(
    opened: Opened, column: pa.Array, multiples: list[int]
) -> None:
    engine = opened(pa.table({"cost": column}))
    found = engine.measure(Query((), None, ONE, (Tally("t", COST),)))["t"][0]
    assert isinstance(found, list)
    assert sorted(i for i, n in enumerate(found) for _ in range(n)) == multiples


@pytest.mark.parametrize("resolution", [Fraction(1, 100), Fraction(1), Fraction(10) ** 6])
def test_tiny_and_huge_values_meet_any_resolution(opened: Opened, resolution: Fraction) -> None:
    number = Number("x", -7, 9, resolution)
    values = [5e-324, -5e-324, 1e-310, 1e308, -1e308, 1.7976931348623157e308, 0.0]
    engine = opened(pa.table({"x": values}))
    found = engine.measure(Query((), None, ONE, (Tally("t", number),)))
    assert found["t"] == [
        [1 if i == 0 else 4 if i == 7 else 2 if i == 16 else 0 for i in range(17)]
    ]


def test_bins_labels_and_steps_leave_out_what_is_outside(opened: Opened) -> None:
    column = [-1.0, 0.0, 9.99, 10.0, 20.0, 20.1, math.nan, math.inf, None, -5e-324, 5e-324]
    labels = ["a", "A", "b", "a ", "", None, "a", "b", "c", "it's", "\\n"]
    engine = opened(pa.table({"x": column, "l": labels}))
    measures = (
        Tally("bins", Bins("x", (0.0, 10.0, 20.0))),
        Tally("labels", Labels("l", ("a", "b", "it's", "\\n", "\n"))),
        Tally("steps", Steps("x", 0.0, 10.0, 2, 20.0)),
        Tally("wide", Steps("x", 0.0, 0.1, 200, 20.0)),
    )
    found = engine.measure(Query((), None, ONE, measures))
    assert found["bins"] == [[3, 2]]
    assert found["labels"] == [[2, 2, 1, 1, 0]]
    assert found["steps"] == [[4, 2]]
    assert sum(found["wide"][0]) == 6  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [0.01, 0.1, 0.05])
def test_every_price_of_a_ladder_reaches_its_own_step(opened: Opened, step: float) -> None:
    prices = [round(i * step, 2) for i in range(101)]
    ladder = Steps("bid", 0.0, step, 101, prices[-1])
    found = opened(pa.table({"bid": prices})).measure(Query((), None, ONE, (Tally("t", ladder),)))
    assert found["t"] == [[1] * 101]


def _counted(engine: Engine, column: str, keys: list[str]) -> Any:
    cells = KeySet((column,), tuple((key,) for key in keys))
    return engine.measure(Query((), cells, ONE, (Counting("n"),)))["n"]


def test_keys_compare_as_text_exactly(opened: Opened) -> None:
    long = "k" * 10_000
    data = ["a", "A", "a ", "ä", "a\u0308", "1", "01", None, "", long, "\U0001f984", "a'b\\c%s"]
    engine = opened(pa.table({"k": data}))
    keys = ["a", "ä", "1", "null", "", long, long[:-1], "\U0001f984", "a'b\\c%s", "x\0y"]
    assert _counted(engine, "k", keys) == [1, 1, 1, 0, 1, 1, 0, 1, 1, 0]


def test_keys_of_whole_numbers_are_their_plain_text(opened: Opened) -> None:
    engine = opened(pa.table({"k": pa.array([1, 1, -5, 2**40, 2**63 - 1], pa.int64())}))
    keys = ["1", "01", "-5", "1.0", "x", str(2**40), str(2**70), str(2**63 - 1)]
    assert _counted(engine, "k", keys) == [2, 0, 1, 0, 0, 1, 0, 1]


@pytest.mark.parametrize("dtype", [pa.float64(), pa.float32()], ids=str)
def test_keys_of_floats_have_one_spelling(opened: Opened, dtype: pa.DataType) -> None:
    data = [0.1, 1.0, -0.0, 0.0, 1e20, math.inf, math.nan, None, 1e-7]
    engine = opened(pa.table({"k": pa.array(data, dtype), "u": list(range(9))}))
    keys = ["0.1", "0.10", "1", "1.0", "0.0", "-0.0", "1e+20", "inf", "nan", "1e-07", "x"]
    assert _counted(engine, "k", keys) == [1, 0, 0, 1, 2, 0, 1, 1, 0, 1, 0]
    label = Tally("t", Labels("k", ("0.1", "nan", "0.0")))
    assert engine.measure(Query((), None, ONE, (label,)))["t"] == [[1, 0, 2]]
    found = engine.find_keys(("u",), ("k",), _bounds(1))
    revealed = engine.reveal(found, range(len(found.units)))
    assert revealed.keys == tuple(
        (k,) for k in sorted(["0.1", "1.0", "0.0", "1e+20", "inf", "1e-07"])
    )
    assert sum(found.units) == 7


def test_decimals_dates_moments_and_truth_values_can_be_keys(opened: Opened) -> None:
    day, moment = datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31, 10, 0, 0, 500_000)
    table = pa.table(
        {
            "day": [day, datetime.date(1, 1, 1), None],
            "at": pa.array([moment, moment.replace(microsecond=0), None], pa.timestamp("us")),
            "zoned": pa.array([moment, None, None], pa.timestamp("us", tz="UTC")),
            "in": [True, False, None],
            "price": pa.array([Decimal("1.50"), Decimal("0.01"), None], pa.decimal128(12, 2)),
        }
    )
    engine = opened(table)
    assert list(engine.columns.values()) == ["moment", "moment", "moment", "truth", "number"]
    assert _counted(engine, "day", ["2026-01-31", "0001-01-01", "2026-1-31"]) == [1, 1, 0]
    assert _counted(engine, "at", ["2026-01-31 10:00:00.5", "2026-01-31 10:00:00"]) == [1, 1]
    assert _counted(engine, "zoned", ["2026-01-31 10:00:00.5+00"]) == [1]
    assert _counted(engine, "in", ["true", "false", "True"]) == [1, 1, 0]
    assert _counted(engine, "price", ["1.50", "1.5", "0.01"]) == [1, 0, 1]


def test_an_empty_table_has_empty_cells(opened: Opened) -> None:
    table = pa.table(
        {"p": pa.array([], pa.string()), "k": pa.array([], pa.string()), "cost": pa.array([], "f8")}
    )
    engine = opened(table)
    cells = KeySet(("k",), (("a",), ("b",)))
    measures = (Counting("n"), Summing("s", COST), Tally("t", Labels("k", ("a", "b"))))
    wanted = {"n": [0, 0], "s": [0, 0], "t": [[0, 0], [0, 0]]}
    assert engine.measure(Query(("p",), cells, _bounds(2), measures)) == wanted
    assert engine.measure(Query((), None, ONE, measures[:2])) == {"n": [0], "s": [0]}
    assert len(engine.find_keys(("p",), ("k",), _bounds(2)).units) == 0


def test_sums_beyond_a_machine_word_are_exact(opened: Opened) -> None:
    """Two to the 52nd less one, four thousand times over, passes 2^63; so do squares."""
    edge = Number("x", 0, 2**52 - 1, Fraction(1))
    small = Number("x", 0, 2**31 - 1, Fraction(1))
    engine = opened(pa.table({"x": pa.array([2**52 - 1] * 4_000, pa.int64())}))
    measures = (Summing("s", edge), Summing("squares", small, 0, 2))
    found = engine.measure(Query((), None, ONE, measures))
    assert found["s"] == [(2**52 - 1) * 4_000]
    assert found["squares"] == [(2**31 - 1) ** 2 * 4_000]


@pytest.mark.parametrize(("high", "grouped"), chequered([2**10, 2**40, 2**51], [False, True]))
def test_fields_come_out_of_the_bounding_as_they_went_in(
    opened: Opened, grouped: bool, high: int
) -> None:
    """Packed into 32 bits, into 64, and not packed: the same numbers."""
    wide = Number("x", -3, high, Fraction(1))
    data = pa.table(
        {
            "unit": [1, 2, 3, 4],
            "k": ["a", "b", "a", "a"],
            "x": pa.array([high, -3, None, 7], pa.int64()),
            "l": ["yes", "no", "yes", None],
        }
    )
    cells = KeySet(("k",), (("a",), ("b",))) if grouped else None
    measures = (
        Counting("n"),
        Counting("there", wide),
        Summing("sum", wide),
        Tally("labels", Labels("l", ("no", "yes"))),
        Tally("bins", Bins("x", (-3.0, 0.0, 10.0))),
    )
    bounds = Contribution.of(1, None, None, adjacency="add-remove", grouped=grouped)
    found = opened(data).measure(Query(("unit",), cells, bounds, measures))
    if grouped:
        assert found["n"] == [3, 1]
        assert found["there"] == [2, 1]
        assert found["sum"] == [high + 7, -3]
        assert found["labels"] == [[0, 2], [1, 0]]
        assert found["bins"] == [[0, 1], [1, 0]]
    else:
        assert (found["n"], found["there"], found["sum"]) == ([4], [3], [high + 4])
        assert (found["labels"], found["bins"]) == ([[1, 2]], [[1, 1]])


def test_names_of_columns_may_be_anything(opened: Opened) -> None:
    names = ["select", "a b", 'quo"te', "back`tick", "dot.dot", "ä", "a", "it's", "%s"]
    table = pa.table({name: ["x", "y", "y"] for name in names})
    engine = opened(table)
    assert list(engine.columns) == names
    for unit, column in pairwise(names):
        cells = KeySet((column,), (("x",), ("y",)))
        found = engine.measure(Query((unit,), cells, _bounds(1), (Counting("n"),)))
        assert found["n"] == [1, 1]


def test_weights_multiply_alike(opened: Opened, visits: pa.Table) -> None:
    ward = Number("ward", 0, 5, Fraction(1))
    asked = (
        Summing("count", ward),
        Summing("there", COST, power=0, weight=ward),
        Summing("sum", COST, 5, weight=ward),
    )
    # In tenths and clipped: 100 and 1000 of a with weights 1 and 2, 0 of b, 50 of c and of d; e has
    # weight 5 (clipped from 7) and no cost.
    expected = {"count": [11], "there": [6], "sum": [95 + 2 * 995 - 5 + 45 + 45]}
    assert opened(visits).measure(Query(("person",), None, _bounds(2), asked)) == expected


def test_units_that_are_cut_are_counted_alike(opened: Opened, visits: pa.Table) -> None:
    cells = KeySet(("county",), (("north",), ("south",)))
    asked = (Cutting("rows"), Cutting("groups", None, repeats=False), Cutting("cost", COST))
    engine = opened(visits)
    # Only a has two rows there; 250 of a and −3 of b lie outside, and no row of c is in a cell.
    assert engine.measure(Query(("person",), cells, _bounds(1), asked)) == {
        "rows": [1],
        "groups": [1],
        "cost": [2],
    }
    assert engine.measure(Query((), cells, ONE, asked[2:])) == {"cost": [2]}
    assert engine.measure(Query(("person",), None, _bounds(2), asked)) == {
        "rows": [0],
        "groups": [0],
        "cost": [2],
    }
