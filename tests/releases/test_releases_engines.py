"""Every source of DuckDB: the same rows, the same numbers, and what cannot be opened.

What the numbers are, for every kind of column and value, is in tests/engines, for all engines.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from discreet.errors import DataError, SpecError
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import (
    Counting,
    Engine,
    KeySet,
    Number,
    Query,
    Summing,
    Tally,
)
from discreet.releases.engines.duckdb import DuckDB

ONE = Contribution()
COST = Number("cost", 0, 1000, Fraction(1, 10))


def _csv(table: pa.Table, folder: Path) -> Engine:
    pa_csv.write_csv(table, folder / "t.csv")
    return DuckDB.open("t.csv", folder.joinpath)


def _parquet(table: pa.Table, folder: Path) -> Engine:
    pq.write_table(table, folder / "t.parquet")
    return DuckDB.open("t.parquet", folder.joinpath)


def _file(table: pa.Table, folder: Path) -> Engine:
    with duckdb.connect(folder / "t.db") as connection:
        connection.register("given", table)
        connection.execute("create table visits as select * from given")
    return DuckDB.open("duckdb:///t.db?table=visits", folder.joinpath)


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


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("nothing.csv", "no such file"),
        ("t.xlsx", "must end in .csv"),
        ("postgresql://host/db", "engines for CSV"),
        ("duckdb:///t.db", "needs its table"),
        ("duckdb:///t.db?table=", "needs its table"),
        ("duckdb:///t.db?schema=ops&table=visits", "'schema' is not known, only table"),
        ("duckdb:///t.db?tabel=x", "'tabel' is not known, only table"),
        ("duckdb:///t.db?table=visits&nonsense", "'nonsense' is not known, only table"),
        ("duckdb:///t.db?table=visits&table=others", "names a table twice"),
    ],
)
def test_a_source_that_cannot_be_opened_is_refused(name: str, match: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=match):
        DuckDB.open(name, lambda _: tmp_path / name.split("/")[-1])


def test_a_table_of_a_duckdb_file_may_have_a_schema(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "t.db") as connection:
        connection.execute("create schema ops; create schema hr")
        tables = ("june", "ops.june", "ops.may", '"hr.may"', '"a.b"', "hr.may", 'ops."x.y"')
        for place, table in enumerate(tables):
            connection.execute(f"create table {table} as select 1 as c{place}")
        connection.execute("create view ops.seen as select * from june")

    def columns(table: str) -> list[str]:
        engine = DuckDB.open(f"duckdb:///t.db?table={table}", tmp_path.joinpath)
        engine.close()
        return list(engine.columns)

    assert columns("june") == columns("main.june") == columns("MAIN.June") == ["c0"]
    assert columns("ops.june") == columns("Ops.JUNE") == columns("ops.seen") == ["c1"]
    assert (columns("ops.may"), columns("a.b"), columns("ops.x.y")) == (["c2"], ["c4"], ["c6"])
    assert columns("main.hr.may") == ["c3"]
    with pytest.raises(SpecError, match="and another"):
        columns("hr.may")
    for unknown in ("may", "hr.june", "june.ops", "x.y"):
        with pytest.raises(SpecError, match=f"has no table '{unknown}'"):
            columns(unknown)


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
        DuckDB.open("t.csv", tmp_path.joinpath)


def test_a_header_alone_is_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("cost,k\n")
    engine = DuckDB.open("t.csv", tmp_path.joinpath)
    cells = KeySet(("k",), (("a",), ("b",)))
    assert engine.measure(Query((), cells, ONE, (Counting("n"),))) == {"n": [0, 0]}
    assert engine.measure(Query((), None, ONE, (Counting("n"), Summing("s", COST)))) == {
        "n": [0],
        "s": [0],
    }
    engine.close()


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    engine = DuckDB.of(pa.table({"cost": [1.0]}))
    assert list(tmp_path.iterdir())
    engine.close()
    assert not list(tmp_path.iterdir())
