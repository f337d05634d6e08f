"""What is Spark's own: tables, nested units, starting and stopping, and silence."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import DataError, InputError
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Counting, KeySet, Number, Query, Summing
from discreet.releases.engines.duckdb import DuckDB

spark = pytest.importorskip("discreet.releases.engines.spark")

ONE = Contribution()
CELLS = KeySet(("k",), (("a",), ("b",)))


def test_a_table_of_the_catalogue_is_read_and_no_view_stays(
    spark_running: Any, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"k": ["a", "a", "b"], "u": [1, 1, 2]}), tmp_path / "t.parquet")
    spark_running.sql(f"create table visits using parquet location '{tmp_path}'")
    try:
        engine = spark.Spark.open("spark://visits", tmp_path.joinpath)
        found = engine.measure(Query(("u",), CELLS, ONE, (Counting("n"),)))
        session = engine._session
        engine.close()
        assert found == {"n": [1, 1]}
        assert [table.name for table in session.catalog.listTables()] == ["visits"]
    finally:
        spark_running.sql("drop table visits")
    with pytest.raises(DataError, match="is there such a table"):
        spark.Spark.open("spark://visits", tmp_path.joinpath)


def test_a_view_of_the_running_session_and_a_frame_are_read_where_they_are(
    spark_running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.releases.engines import opened

    frame = spark_running.createDataFrame(pa.table({"k": ["a", "a", "b"], "u": [1, 1, 2]}))
    frame.createOrReplaceTempView("my_view")
    query = Query(("u",), CELLS, ONE, (Counting("n"),))
    monkeypatch.setattr(DuckDB, "of", lambda *_: pytest.fail("pulled into DuckDB"))
    for engine in (
        spark.Spark.open("spark://my_view", tmp_path.joinpath),
        opened(None, tmp_path.joinpath, frame),
    ):
        assert isinstance(engine, spark.Spark)
        assert engine.measure(query) == {"n": [1, 1]}
        engine.close()
    left = spark_running.catalog.listTables("global_temp")
    assert not [table.name for table in left if table.name.startswith("discreet_")]
    spark_running.catalog.dropTempView("my_view")


def test_workers_windows_and_one_task_keep_the_same_rows(
    spark_running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With priorities given, all ways of bounding give DuckDB's integers, for numbers and texts."""
    drawn = random.Random(7)  # noqa: S311
    units = [drawn.choice([None, *range(-300, 300)]) for _ in range(5_000)]
    table = pa.table(
        {
            "k": [drawn.choice("ab") for _ in units],
            "u": pa.array(units, pa.int32()),
            "name": [None if unit is None else f"ünit {unit}" for unit in units],
            "priority": [drawn.random() for _ in units],
            "v": [drawn.uniform(-1, 12) for _ in units],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    value = Number("v", 0, 100, Fraction(1, 10))
    bounds = Contribution(rows=3, groups=3, rows_per_group=3)
    measures = (Counting("n"), Summing("s", value))
    with_duckdb = DuckDB.of(table)
    for way in ("workers", "windows", "one task", "one task, few rows"):
        in_one = way.startswith("one task")
        monkeypatch.setattr(spark, "ONE_TASK", 2**22 if in_one else 0)
        monkeypatch.setattr(spark, "FEW_ROWS", 2**20 if way.endswith("few rows") else 0)
        engine = spark.Spark.open("spark://t.parquet", tmp_path.joinpath)
        assert engine._workers_sort() is not in_one
        assert engine._few_rows is way.endswith("few rows")
        engine._sorting = way == "workers"
        for unit in ("u", "name"):
            query = Query((unit,), CELLS, bounds, measures, priority="priority")
            assert engine.measure(query) == with_duckdb.measure(query)
        used = [view for view in engine._views if view.startswith("_best")]
        assert len(used) == (2 if way == "workers" else 0)
        engine.close()
    with_duckdb.close()


def test_draws_of_windows_and_of_one_task_are_fair_and_new_in_each_query(
    spark_running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 6,000 units with four rows one is kept, from each place alike; fails once in 10^8 runs.

    The text of a query stays the same, and Spark's code of it with it; the secret does not.
    """
    size = 6_000
    table = pa.table({"k": ["0", "1", "2", "3"] * size, "u": [n // 4 for n in range(4 * size)]})
    pq.write_table(table, tmp_path / "t.parquet")
    cells = KeySet(("k",), tuple((k,) for k in "0123"))
    query = Query(("u",), cells, ONE, (Counting("n"),))
    asked: list[str] = []
    fetch = spark.Spark._fetch

    def seen(engine: Any, sql: str) -> Any:
        asked.append(sql)
        return fetch(engine, sql)

    monkeypatch.setattr(spark.Spark, "_fetch", seen)
    for few_rows in (2**20, 0):
        monkeypatch.setattr(spark, "FEW_ROWS", few_rows)
        engine = spark.Spark.open("spark://t.parquet", tmp_path.joinpath)
        asked.clear()
        found = [engine.measure(query)["n"] for _ in range(3)]
        engine.close()
        for kept in found:
            assert sum(kept) == size
            assert all(abs(n - size / 4) < 260 for n in kept)  # Hoeffding: 24 · 2e^(-2·260²/6000)
        secrets = [re.findall(r"UNHEX\('([0-9A-Fa-f]{32})'\)", sql) for sql in asked]
        assert len({*map(tuple, secrets)}) == 3
        assert len({re.sub(r"UNHEX\('\w+'\)", "?", sql) for sql in asked}) == 1


def test_few_bytes_are_bounded_in_one_stage(spark_running: Any, tmp_path: Path) -> None:
    """Also where they are many files; few public keys need no job of their own."""
    for n in range(3):
        table = pa.table({"k": ["a", "b"], "u": [n, n + 1]})
        pq.write_table(table, tmp_path / f"{n}.parquet")
    engine = spark.Spark.open(f"spark://{tmp_path}", tmp_path.joinpath)
    context = spark_running.sparkContext
    context.setJobGroup("few", "few")
    try:
        assert engine.measure(Query(("u",), CELLS, ONE, (Counting("n"),)))["n"] in (
            [n, 4 - n] for n in range(1, 4)
        )
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        engine.close()
    tracker = context.statusTracker()
    stages = [tracker.getJobInfo(job).stageIds for job in tracker.getJobIdsForGroup("few")]
    assert [len(of_job) for of_job in stages] == [1]


def test_workers_without_libraries_are_not_asked_and_this_is_said(
    spark_running: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def lacking(places: int, *, tasks: bool = False) -> Any:
        def divided(batches: Any) -> Any:
            import a_library_that_is_not_there  # noqa: F401

            yield from batches

        return divided

    pq.write_table(pa.table({"k": ["a", "a"], "u": [1, 1]}), tmp_path / "t.parquet")
    monkeypatch.setattr(spark.bounding_arrays, "parted", lacking)
    monkeypatch.setattr(spark, "ONE_TASK", 0)
    monkeypatch.setattr(sys, "executable", "another Python")
    engine = spark.Spark.open("spark://t.parquet", tmp_path.joinpath)
    assert engine.measure(Query(("u",), CELLS, ONE, (Counting("n"),))) == {"n": [1, 0]}
    assert engine._sorting is False
    assert ["no PyArrow" in said for said in caplog.messages] == [True]
    engine.close()


def test_nested_units_are_refused(spark_running: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": ["a"], "u": [[1, 2]]}), tmp_path / "t.parquet")
    engine = spark.Spark.open("spark://t.parquet", tmp_path.joinpath)
    assert engine.columns["u"] == "other"
    with pytest.raises(DataError, match="cannot tell units apart"):
        engine.measure(Query(("u",), CELLS, ONE, (Counting("n"),)))
    engine.close()


def test_a_folder_may_have_blanks_and_percents_in_its_name(
    spark_running: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "two words, 20%20"
    folder.mkdir()
    pq.write_table(pa.table({"k": ["a"], "u": [1]}), folder / "t.parquet")
    engine = spark.Spark.open("spark://t.parquet", folder.joinpath)
    assert engine.measure(Query(("u",), CELLS, ONE, (Counting("n"),))) == {"n": [1, 0]}
    engine.close()


def test_a_broken_file_is_told_without_its_content(spark_running: Any, tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_text("a secret that is no Parquet")
    with pytest.raises(DataError, match="Spark could not") as told:
        spark.Spark.open("spark://t.parquet", tmp_path.joinpath)
    assert "secret" not in str(told.value)


def test_without_java_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(spark.SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(spark.shutil, "which", lambda _: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(InputError, match="install a Java runtime"):
        spark._session()


_ALONE = """
import warnings
from pathlib import Path
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Counting, KeySet, Number, Query, Summing
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.engines import opened
engine = opened("spark://t.parquet", Path.cwd().joinpath)
bounds = Contribution.of(1, 1, 1, adjacency="add-remove", grouped=True)
cells = KeySet(("k",), (("a",), ("b",)))
print(engine.measure(Query(("u",), cells, bounds, (Counting("n"),))))
engine.close()
"""


def _unasked(said: str) -> list[str]:
    # Java itself says which of its modules are young; Spark says nothing.
    return [line for line in said.splitlines() if "incubator" not in line]


def test_the_session_that_was_started_is_silent(
    spark_running: Any, spark_said: Path, tmp_path: Path
) -> None:
    """From its start on; that it leaves nothing is looked at when it is stopped."""
    pq.write_table(pa.table({"k": ["a", "a", "b"], "u": ["x", "x", "y"]}), tmp_path / "t.parquet")
    engine = spark.Spark.open("spark://t.parquet", tmp_path.joinpath)
    assert engine.measure(Query(("u",), CELLS, ONE, (Counting("n"),))) == {"n": [1, 1]}
    engine.close()
    assert _unasked(spark_said.read_text()) == []


@pytest.mark.slow
@pytest.mark.soak  # as the test above, from its start to its end in a process of its own
def test_a_session_of_its_own_is_silent_and_leaves_nothing(
    spark_settings: dict[str, str], tmp_path: Path
) -> None:
    pq.write_table(pa.table({"k": ["a", "a", "b"], "u": ["x", "x", "y"]}), tmp_path / "t.parquet")
    (tmp_path / "scratch").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _ALONE],
        cwd=tmp_path,
        env=os.environ | spark_settings | {"TMPDIR": str(tmp_path / "scratch")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "{'n': [1, 1]}\n", done.stderr
    assert _unasked(done.stderr) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scratch", "t.parquet"]
    left = [path.name for path in (tmp_path / "scratch").iterdir()]
    assert [name for name in left if not name.startswith("hsperfdata")] == []


def test_a_data_frame_and_a_view_of_the_running_session_stay_on_spark(spark_running: Any) -> None:
    """Text units, a key and a date; a view is found by its name, and nothing is left behind."""
    import datetime

    from discreet.releases.engines import opened

    rows = [
        (f"pärson {i % 7}", "nörth" if i % 2 else "south", datetime.date(2026, 1, 1 + i % 3))
        for i in range(40)
    ]
    frame = spark_running.createDataFrame(rows, ["person", "county", "day"])
    frame.createOrReplaceTempView("visits_here")
    cells = KeySet(("county", "day"), (("nörth", "2026-01-01"), ("south", "2026-01-02")))
    bounds = Contribution(rows=100, groups=100, rows_per_group=100)
    query = Query(("person",), cells, bounds, (Counting("n"),))
    wanted = [sum((c, str(d)) == key for _, c, d in rows) for key in cells.keys]
    before = {view.name for view in spark_running.catalog.listTables()}
    for engine in (opened(None, Path, frame), opened("spark://visits_here", Path)):
        assert type(engine).__name__ == "Spark"
        assert engine.measure(query)["n"] == wanted
        engine.close()
    assert {view.name for view in spark_running.catalog.listTables()} == before
