"""Data given from Python: every kind of frame, only the columns used, no value in any message."""

from __future__ import annotations

import traceback
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import DataError, DiscreetError, InputError, PolicyError
from discreet.releases import Release, preview, release
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.engines.in_memory import arrow_table

SECRET = "SECRETvalue"  # noqa: S105

KINDS: dict[str, Any] = {
    "arrow": lambda t: t,
    "batches": lambda t: pa.Table.to_reader(t),
    "pandas": lambda t: t.to_pandas(),
    "pandas with an index": lambda t: t.to_pandas().set_index("person"),
    "polars": pl.from_arrow,
    "polars, lazy": lambda t: pl.from_arrow(t).lazy(),
    "duckdb": lambda t: duckdb.connect().from_arrow(t),
    "ibis": lambda t: ibis.memtable(t),
    "ibis, computed": lambda t: ibis.memtable(t).mutate(more=1).filter(ibis._.cost >= 0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_is_read_alike(kind, spec, people, account, tmp_path):
    account()
    spec["budget"] = {"epsilon": 50.0}
    spec["protect"]["rows"] = 3
    made = release(spec, data=KINDS[kind](people), folder=tmp_path)
    assert isinstance(made, Release)
    assert [round(v) for v in made.to_columns()["value"]] == pytest.approx([80, 40, 0], abs=3)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_columns_that_a_spec_names(kind, spec, people):
    table = arrow_table(KINDS[kind](people), spec)
    assert set(table.column_names) == {"person", "county"}
    assert table.num_rows == 120


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"batches"}))
def test_rows_are_counted_without_any_column(kind, people):
    assert arrow_table(KINDS[kind](people), {}).num_rows == 120


@pytest.mark.parametrize("kind", ["polars, lazy", "duckdb", "ibis"])
def test_a_dry_run_computes_nothing_that_is_lazy(kind, spec, people, tmp_path):
    table = arrow_table(KINDS[kind](people), spec, schema_only=True)
    assert (table.num_rows, set(table.column_names)) == (0, {"person", "county"})
    assert preview(spec, data=KINDS[kind](people), folder=tmp_path).spent["epsilon"] == 1


class Odd:
    def __repr__(self) -> str:
        return SECRET

    __str__ = __repr__


MIXED: dict[str, list[Any]] = {
    "numbers and text": [1, SECRET],
    "objects": [Odd(), Odd()],
    "huge": [10**400, 1],
    "lists and text": [[SECRET], SECRET],
    "decimals": [Decimal("1e400"), SECRET],
}


def _mixed(values: list[Any], column: str) -> pd.DataFrame:
    frame = pd.DataFrame({"person": ["a", "b"], "county": ["north", "south"]})
    frame[column] = pd.Series(values, dtype=object)
    return frame


@pytest.mark.parametrize("name", MIXED)
def test_a_mixed_column_that_is_not_used_does_not_matter(name, spec, account, tmp_path):
    account()
    data = _mixed(MIXED[name], "remarks")
    assert preview(spec, data=data, folder=tmp_path).refused is None
    assert isinstance(release(spec, data=data, folder=tmp_path), Release)


@pytest.mark.parametrize("column", ["person", "county"])
@pytest.mark.parametrize("name", MIXED)
def test_no_value_of_a_column_of_objects_decides_anything(name, column, spec, account, tmp_path):
    """What has no text is null, and so belongs to nobody, or to no cell."""
    account()
    data = _mixed(MIXED[name], column)
    assert preview(spec, data=data, folder=tmp_path).refused is None
    assert isinstance(release(spec, data=data, folder=tmp_path), Release)


def test_objects_are_read_as_they_would_be_written():
    values = [
        "a", 7, 2.5, True, None, float("nan"), pd.NA, pd.NaT, b"b", b"\xff", Decimal("1e2"), Odd(),
        date(2026, 5, 1), datetime(2026, 5, 1, 2, 3), pd.Timestamp("2026-05-01"), [1], "\ud800",
        10**5000, np.int64(3), np.float64(2.0), np.bool_(True),
    ]  # fmt: skip
    wanted = [
        "a", "7", "2.5", "true", None, None, None, None, "b", None, "1E+2", None,
        "2026-05-01", "2026-05-01 02:03:00", "2026-05-01 00:00:00", None, None,
        None, "3", "2.0", "true",
    ]  # fmt: skip
    for column in (pd.Series(values, dtype=object), pd.Series(values[:8] * 3, dtype=object)):
        made = arrow_table(pd.DataFrame({"x": column}))["x"]
        assert made.type == pa.large_string()
        assert made.to_pylist() == (wanted if len(column) == len(values) else wanted[:8] * 3)
    opened = DuckDB.of(pd.DataFrame({"x": pd.Series([1, "a"], dtype=object), "y": [1, 2]}))
    assert dict(opened.columns) == {"x": "untyped", "y": "integer"}, "as in a CSV file"
    opened.close()
    some = pd.Categorical(["a", 7, None, Odd()])
    assert arrow_table(pd.DataFrame({"x": some}))["x"].to_pylist() == ["a", "7", None, None]
    # Texts alone take the short way, which must read them alike.
    assert arrow_table(pd.DataFrame({"x": ["a", None, "é"]}))["x"].to_pylist() == ["a", None, "é"]


def _no_secret(error: BaseException) -> None:
    said = "".join(traceback.format_exception(error)) + repr(error) + str(error.__dict__)
    assert SECRET not in said
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__


@pytest.mark.parametrize("make", [pd.DataFrame, lambda rows, columns: pa.Table.from_arrays(
    [pa.array(list(c)) for c in zip(*rows, strict=True)], names=columns)])  # fmt: skip
def test_a_column_that_is_there_twice(make, spec, account, tmp_path):
    account()
    rows = [["a", "north", SECRET, 1], ["b", "south", SECRET, 2]]
    unused = make(rows, columns=["person", "county", "x", "x"])
    assert isinstance(release(spec, data=unused, folder=tmp_path), Release)
    used = make(rows, columns=["person", "county", "county", "x"])
    with pytest.raises(DataError, match="two columns called 'county'") as caught:
        release(spec, data=used, folder=tmp_path, dry_run=True)
    _no_secret(caught.value)


def test_objects_of_polars_are_no_units(spec, people, tmp_path):
    # Through Arrow they are addresses in memory: each row would be a unit of its own.
    data = pl.DataFrame({
        "person": pl.Series([Odd(), Odd()], dtype=pl.Object), "county": ["north", "south"],
    })  # fmt: skip
    with pytest.raises(DataError, match="'person'") as caught:
        preview(spec, data=data, folder=tmp_path)
    _no_secret(caught.value)


LAZY: dict[str, Any] = {
    "polars": lambda: pl.LazyFrame({"person": [SECRET], "county": ["n"]}).with_columns(
        pl.col("person").cast(pl.Int64)
    ),
    "duckdb": lambda: duckdb.connect().sql(
        f"select cast('{SECRET}' as integer) as person, 'n' as county"
    ),
    "ibis": lambda: ibis.memtable(pa.table({"person": [SECRET], "county": ["n"]})).mutate(
        person=ibis._.person.cast("int64")
    ),
}


@pytest.mark.parametrize("kind", LAZY)
def test_a_fault_of_a_lazy_frame_quotes_nothing(kind, spec, account, tmp_path):
    ledger = account()
    with pytest.raises(DiscreetError, match="cannot be read") as caught:
        release(spec, data=LAZY[kind](), folder=tmp_path)
    _no_secret(caught.value)
    assert ledger.account("people").spent.floats("up")["epsilon"] == 0


@pytest.mark.parametrize("data", [[1, 2], {"person": [SECRET]}, SECRET, 3])
def test_what_is_no_table(data, spec, tmp_path):
    with pytest.raises(InputError, match="give a pandas, Polars or Arrow table") as caught:
        preview(spec, data=data, folder=tmp_path)
    _no_secret_in_words(caught.value)


def _no_secret_in_words(error: BaseException) -> None:
    assert SECRET not in str(error)


def test_data_are_the_second_argument_and_others_are_told(spec, people, account, tmp_path):
    account()
    assert preview(spec, people, folder=tmp_path).refused is None
    assert isinstance(release(spec, people, folder=tmp_path), Release)
    with pytest.raises(InputError, match="no argument 'yes'") as yes:
        release(spec, people, folder=tmp_path, yes=True)
    assert "confirm=True" in str(yes.value.next)
    with pytest.raises(InputError, match=r"no argument 'foldr'\. The nearest is 'folder'"):
        preview(spec, people, foldr=tmp_path)


def test_a_column_with_other_capitals_is_told_as_the_nearest(spec, people, tmp_path):
    spec["statistics"] = [{"mean": "Cost", "bounds": [0, 20], "resolution": 1}]
    with pytest.raises(DataError, match="no column 'Cost', but it has 'cost'"):
        preview(spec, people.to_pandas(), folder=tmp_path)
    spec["statistics"] = [{"mean": "wages", "bounds": [0, 20], "resolution": 1}]
    with pytest.raises(DataError, match="no column 'wages'") as none:
        preview(spec, people.to_pandas(), folder=tmp_path)
    assert "discreet init" not in str(none.value)
    assert "discreet init" in none.value.on_the_command_line


def test_data_that_are_given_beside_a_source_are_said_to_be_used(spec, people, tmp_path):
    notes = preview(spec, people, folder=tmp_path).notes
    assert not any("data=" in note for note in notes)
    notes = preview({**spec, "source": "nobody.csv"}, people, folder=tmp_path).notes
    assert sum("the source that the spec names is not read" in note for note in notes) == 1
    assert not any("CSV file" in note for note in notes)


def test_a_second_run_is_confirmed_by_true(spec, people, account, tmp_path):
    account()
    release(spec, data=people, folder=tmp_path)
    for answer in (None, False, lambda _: False):
        with pytest.raises(PolicyError):
            release(spec, data=people, folder=tmp_path, confirm=answer)
    assert isinstance(release(spec, data=people, folder=tmp_path, confirm=True), Release)
    assert isinstance(release(spec, data=people, folder=tmp_path, confirm=lambda _: True), Release)
