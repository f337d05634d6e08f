"""One contract for every source: the same rows, the same numbers; bad values are nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from discreet.errors import DataError, SpecError
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import (
    Bins,
    Counting,
    Engine,
    KeySet,
    Labels,
    Number,
    Query,
    Steps,
    Summing,
    Tally,
)
from discreet.releases.engines.duckdb import DuckDB

ONE = Contribution()
COST = Number("cost", 0, 1000, Fraction(1, 10))


def _csv(table: pa.Table, folder: Path) -> Engine:
    pa_csv.write_csv(table, folder / "t.csv")
    return DuckDB.open("t.csv", folder / "t.csv")


def _parquet(table: pa.Table, folder: Path) -> Engine:
    pq.write_table(table, folder / "t.parquet")
    return DuckDB.open("t.parquet", folder / "t.parquet")


def _file(table: pa.Table, folder: Path) -> Engine:
    with duckdb.connect(folder / "t.db") as connection:
        connection.register("given", table)
        connection.execute("create table visits as select * from given")
    return DuckDB.open("duckdb:///t.db?table=visits", folder / "t.db")


SOURCES: dict[str, Callable[[pa.Table, Path], Engine]] = {
    "csv": _csv,
    "parquet": _parquet,
    "duckdb": _file,
    "arrow": lambda table, _: DuckDB.of(table),
    "pandas": lambda table, _: DuckDB.of(table.to_pandas()),
    "polars": lambda table, _: DuckDB.of(pl.from_arrow(table)),
}
every_source = pytest.mark.parametrize("opened", SOURCES.values(), ids=SOURCES)


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


@every_source
def test_every_source_gives_the_same_numbers(opened: Any, visits: pa.Table, tmp_path: Path) -> None:
    engine = opened(visits, tmp_path)
    cells = KeySet(("county", "ward"), tuple((c, w) for c in ("north", "south") for w in "12"))
    bounds = Contribution.of(2, None, None, adjacency="add-remove", grouped=True)
    measures = (Counting("n"), Counting("present", COST), Summing("sum", COST), Tally("t", COST))
    found = engine.measure(Query(("person",), cells, bounds, measures))
    engine.close()
    # Kept: a north 1 (10.0), a south 2 (clipped to 100), b north 1 (clipped to 0); e is in ward 7.
    assert found["n"] == found["present"] == [2, 0, 0, 1]
    assert found["sum"] == [100, 0, 0, 1000]
    assert [sum(cell) for cell in found["t"]] == [2, 0, 0, 1]
    assert found["t"][0][0] == found["t"][0][100] == found["t"][3][1000] == 1


@every_source
def test_rows_as_units_are_grouped_the_same(opened: Any, visits: pa.Table, tmp_path: Path) -> None:
    engine = opened(visits, tmp_path)
    cells = KeySet(("county",), (("south",), ("north",), ("nowhere",)))
    found = engine.measure(Query((), cells, ONE, (Counting("n"), Summing("sum", COST))))
    whole = engine.measure(Query((), None, ONE, (Counting("n"), Summing("sum", COST))))
    engine.close()
    assert found == {"n": [1, 4, 0], "sum": [1000, 150, 0]}
    assert whole == {"n": [7], "sum": [1250]}


@every_source
def test_keys_found_stay_inside_until_they_are_paid_for(
    opened: Any, visits: pa.Table, tmp_path: Path
) -> None:
    engine = opened(visits, tmp_path)
    bounds = Contribution.of(2, None, None, adjacency="add-remove", grouped=True)
    found = engine.find_keys(("person",), ("county", "ward"), bounds)
    assert sorted(found.units) == [1, 1, 1, 2]
    assert "north" not in repr(found)
    best = max(range(4), key=lambda place: found.units[place])
    revealed = engine.reveal(found, [best])
    engine.close()
    assert revealed == KeySet(("county", "ward"), (("north", "1"),))


ODD: list[tuple[Any, int | None]] = [
    ("12.34", 123),
    (" 7 ", 70),
    ("1e308", 1000),
    ("-1e308", 0),
    ("inf", 1000),
    ("-inf", 0),
    ("1e400", 1000),
    ("nan", None),
    ("", None),
    ("twelve", None),
    ("2026-01-31", None),
    ("0x10", None),
    ("9" * 10_000, 1000),
    (str(2**63), 1000),
    (str(-(2**63)), 0),
]


@pytest.mark.parametrize(("text", "multiple"), ODD, ids=[o[0][:10] for o in ODD])
def test_text_in_a_number_column_is_a_number_or_nothing(text: str, multiple: int | None) -> None:
    engine = DuckDB.of(pa.table({"cost": [text]}))
    found = engine.measure(Query((), None, ONE, (Counting("n", COST), Summing("s", COST))))
    engine.close()
    assert found == {"n": [multiple is not None], "s": [multiple or 0]}


@pytest.mark.parametrize(
    ("column", "multiples"),
    [
        (pa.array([math.nan, math.inf, -math.inf, 1e308, None], pa.float64()), [1000, 0, 1000]),
        (pa.array([2**63 - 1, -(2**63), 0, 5], pa.int64()), [1000, 0, 0, 50]),
        (pa.array([2**64 - 1, 5], pa.uint64()), [1000, 50]),
        (pa.array([True, False, None]), [10, 0]),
        (pa.array([1.5, None], pa.float32()), [15]),
        (pa.array(["3", "x"]).dictionary_encode(), [30]),
    ],
)
def test_numbers_of_every_type_are_clipped(column: pa.Array, multiples: list[int]) -> None:
    engine = DuckDB.of(pa.table({"cost": column}))
    found = engine.measure(Query((), None, ONE, (Tally("t", COST),)))
    engine.close()
    cell = found["t"][0]
    assert isinstance(cell, list)
    assert sorted(i for i, n in enumerate(cell) for _ in range(n)) == sorted(multiples)


def test_bins_labels_and_steps_leave_out_what_is_outside() -> None:
    column = [-1.0, 0.0, 9.99, 10.0, 20.0, 20.1, math.nan, math.inf, None]
    engine = DuckDB.of(pa.table({"x": column, "l": ["a", "A", "b", "a ", "", None, "a", "b", "c"]}))
    measures = (
        Tally("bins", Bins("x", (0.0, 10.0, 20.0))),
        Tally("labels", Labels("l", ("a", "b"))),
        Tally("steps", Steps("x", 0.0, 10.0, 2, 20.0)),
    )
    found = engine.measure(Query((), None, ONE, measures))
    engine.close()
    assert found == {"bins": [[2, 2]], "labels": [[2, 2]], "steps": [[2, 2]]}


@pytest.mark.parametrize("step", [0.01, 0.1, 0.05])
def test_every_price_of_a_ladder_reaches_its_own_step(step: float) -> None:
    prices = [round(i * step, 2) for i in range(101)]
    engine = DuckDB.of(pa.table({"bid": prices}))
    ladder = Steps("bid", 0.0, step, 101, prices[-1])
    found = engine.measure(Query((), None, ONE, (Tally("t", ladder),)))
    engine.close()
    assert found["t"] == [[1] * 101]


def test_keys_compare_as_text_exactly() -> None:
    data = pa.table({"k": ["a", "A", "a ", "ä", "a\u0308", "1", "01", None]})
    engine = DuckDB.of(data)
    keys = ["a", "ä", "1", "null"]
    found = engine.measure(
        Query((), KeySet(("k",), tuple((k,) for k in keys)), ONE, (Counting("n"),))
    )
    engine.close()
    assert found["n"] == [1, 1, 1, 0]


def test_keys_of_a_column_of_whole_numbers_are_their_plain_text() -> None:
    engine = DuckDB.of(pa.table({"k": pa.array([1, 1, -5, 2**40], pa.int64())}))
    keys = ["1", "01", "-5", "1.0", "x", str(2**40), str(2**70)]
    found = engine.measure(
        Query((), KeySet(("k",), tuple((k,) for k in keys)), ONE, (Counting("n"),))
    )
    engine.close()
    assert found["n"] == [2, 0, 1, 0, 0, 1, 0]


def test_dates_and_truth_values_can_be_keys() -> None:
    days = pd.to_datetime(["2026-01-31", "2026-02-01"]).date
    engine = DuckDB.of(pa.table({"day": list(days), "in": [True, False]}))
    cells = KeySet(("day", "in"), (("2026-01-31", "true"), ("2026-02-01", "true")))
    found = engine.measure(Query((), cells, ONE, (Counting("n"),)))
    engine.close()
    assert engine.columns == {"day": "moment", "in": "truth"}
    assert found["n"] == [1, 0]


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("nothing.csv", "no such file"),
        ("t.xlsx", "must end in .csv or .parquet"),
        ("postgresql://host/db", "engines for CSV"),
        ("duckdb:///t.db", "needs its table"),
    ],
)
def test_a_source_that_cannot_be_opened_is_refused(name: str, match: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=match):
        DuckDB.open(name, tmp_path / name.split("/")[-1])


def test_data_that_are_no_table_are_refused() -> None:
    with pytest.raises(SpecError, match="pandas, Polars or Arrow"):
        DuckDB.of([1, 2, 3])


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "header line"),
        (b"a,a\n1,2\n", "header line"),
        (b"\xff\xfe,b\n", "UTF-8"),
    ],
)
def test_a_csv_without_a_header_is_refused(content: bytes, match: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=match):
        DuckDB.open("t.csv", tmp_path / "t.csv")


def test_a_header_alone_is_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("cost,k\n")
    engine = DuckDB.open("t.csv", tmp_path / "t.csv")
    cells = KeySet(("k",), (("a",), ("b",)))
    assert engine.measure(Query((), cells, ONE, (Counting("n"),))) == {"n": [0, 0]}
    assert engine.measure(Query((), None, ONE, (Counting("n"), Summing("s", COST)))) == {
        "n": [0],
        "s": [0],
    }
    engine.close()


def test_sums_beyond_a_machine_word_are_exact() -> None:
    """Two to the 52nd less one, four thousand times over, passes 2^63."""
    edge = Number("x", 0, 2**52 - 1, Fraction(1))
    engine = DuckDB.of(pa.table({"x": pa.array([2**52 - 1] * 4_000, pa.int64())}))
    found = engine.measure(Query((), None, ONE, (Summing("s", edge),)))
    engine.close()
    assert found["s"] == [(2**52 - 1) * 4_000]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("high", [2**10, 2**40, 2**51])
def test_fields_come_out_of_the_sort_as_they_went_in(grouped: bool, high: int) -> None:
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
    engine = DuckDB.of(data)
    bounds = Contribution.of(1, None, None, adjacency="add-remove", grouped=grouped)
    found = engine.measure(Query(("unit",), cells, bounds, measures))
    engine.close()
    if grouped:
        assert found["n"] == [3, 1]
        assert found["there"] == [2, 1]
        assert found["sum"] == [high + 7, -3]
        assert found["labels"] == [[0, 2], [1, 0]]
        assert found["bins"] == [[0, 1], [1, 0]]
    else:
        assert (found["n"], found["there"], found["sum"]) == ([4], [3], [high + 4])
        assert (found["labels"], found["bins"]) == ([[1, 2]], [[1, 1]])


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    engine = DuckDB.of(pa.table({"cost": [1.0]}))
    assert list(tmp_path.iterdir())
    engine.close()
    assert not list(tmp_path.iterdir())
