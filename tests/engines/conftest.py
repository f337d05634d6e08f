"""One contract for every engine: each test runs on DuckDB, on PostgreSQL and on Spark, for real.

`opened` makes an engine out of a table. PostgreSQL is the server that the tests start; Spark is
started once, on two workers. It keeps tables as small as these in one task; where rows have to be
exchanged, tests are asked of it a second time (`EXCHANGING`).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.releases.engines.base import Engine
from discreet.releases.engines.duckdb import DuckDB

Opened = Callable[[pa.Table], Engine]
# Two workers; and a Java that compiles in a hurry, since what is compiled here runs a few times.
SPARK = {
    "SPARK_MASTER": "local[2]",
    "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def _type_in_postgresql(dtype: pa.DataType) -> str:
    if pa.types.is_dictionary(dtype):
        return _type_in_postgresql(dtype.value_type)
    if pa.types.is_decimal(dtype):
        return f"numeric({dtype.precision}, {dtype.scale})"
    known = {
        "bool": "boolean",
        "int8": "smallint",
        "int16": "smallint",
        "int32": "integer",
        "int64": "bigint",
        "uint64": "numeric",
        "float": "real",
        "double": "double precision",
        "string": "text",
        "large_string": "text",
        "date32[day]": "date",
        "timestamp[us]": "timestamp",
        "timestamp[us, tz=UTC]": "timestamptz",
        "list<item: int64>": "bigint[]",
    }
    return known[str(dtype)]


@pytest.fixture(scope="session")
def in_postgresql(postgres: Any) -> Iterator[Callable[..., str]]:
    """Put a table into PostgreSQL; return the source that names it."""
    import psycopg

    name = postgres.database()
    connection = psycopg.connect(postgres.url(name), autocommit=True)
    numbers = itertools.count(1)

    def put(table: pa.Table) -> str:
        target = f"t{next(numbers)}"
        columns = ", ".join(
            '"' + f.name.replace('"', '""') + f'" {_type_in_postgresql(f.type)}'
            for f in table.schema
        )
        connection.execute(f"create table {target} ({columns})")
        with connection.cursor().copy(f"copy {target} from stdin") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
        return f"{postgres.url(name)}?table=public.{target}"

    yield put
    connection.close()
    postgres.drop(name)


@pytest.fixture(scope="session")
def spark_settings() -> dict[str, str]:
    """Give the environment that Spark is started in by tests."""
    return SPARK


@pytest.fixture(scope="session")
def spark_said(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the file to which everything goes that Spark says beside its answers."""
    return tmp_path_factory.mktemp("said") / "lines"


@pytest.fixture(scope="session")
def spark_running(spark_said: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start Spark once, on two workers; when it is stopped, nothing of it is left."""
    spark = pytest.importorskip("discreet.releases.engines.spark")
    scratch = tmp_path_factory.mktemp("scratch")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SPARK.items():
            patch.setenv(name, value)
        patch.setattr("tempfile.tempdir", str(scratch))
        with _told_to(spark_said):
            session, end = spark._session()
        patch.setattr("tempfile.tempdir", None)
        assert list(scratch.iterdir())
        yield session
        end()
    assert list(scratch.iterdir()) == []


@contextmanager
def _told_to(path: Path) -> Iterator[None]:
    """Let programs that are started here say what they say to a file."""
    kept = {place: os.dup(place) for place in (1, 2)}
    with path.open("wb") as file:
        for place in kept:
            os.dup2(file.fileno(), place)
    try:
        yield
    finally:
        for place, old in kept.items():
            os.dup2(old, place)
            os.close(old)


def _open_duckdb(request: pytest.FixtureRequest, folder: Path) -> Opened:
    return DuckDB.of


def _open_postgresql(request: pytest.FixtureRequest, folder: Path) -> Opened:
    put = request.getfixturevalue("in_postgresql")
    from discreet.releases.engines.postgresql import PostgreSQL

    return lambda table: PostgreSQL.open(put(table))


def _open_spark(request: pytest.FixtureRequest, folder: Path) -> Opened:
    request.getfixturevalue("spark_running")
    from discreet.releases.engines.spark import Spark

    numbers = itertools.count(1)

    def opened(table: pa.Table) -> Engine:
        name = f"t{next(numbers)}.parquet"
        pq.write_table(table, folder / name)
        return Spark.open(f"spark://{name}", folder.joinpath)

    return opened


def _open_exchanging(request: pytest.FixtureRequest, folder: Path) -> Opened:
    in_one_task = _open_spark(request, folder)
    from discreet.releases.engines import spark

    def opened(table: pa.Table) -> Engine:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spark, "ONE_TASK", 0)
            return in_one_task(table)

    return opened


ENGINES = {
    "duckdb": _open_duckdb,
    "postgresql": _open_postgresql,
    "spark": _open_spark,
    "spark exchanging": _open_exchanging,
}
ONCE = [
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres")),
    pytest.param("spark", marks=pytest.mark.xdist_group("spark_running")),
]
EXCHANGING = "spark exchanging"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Ask every engine, and Spark twice where a test says that rows are exchanged."""
    own = any(mark.args[0] == "opened" for mark in metafunc.definition.iter_markers("parametrize"))
    if "opened" in metafunc.fixturenames and not own:
        asked: list[Any] = list(ONCE)
        if twice := metafunc.definition.get_closest_marker("exchanging"):
            soak = [pytest.mark.soak] if twice.kwargs.get("soak") else []
            marks = [pytest.mark.xdist_group("spark_running"), *soak]
            asked.append(pytest.param(EXCHANGING, marks=marks))
        metafunc.parametrize("opened", asked, indirect=True, scope="session")


@pytest.fixture(scope="session")
def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Opened]:
    """Make an engine out of a table; all are closed at the end."""
    make = ENGINES[request.param](request, tmp_path_factory.mktemp(request.param))
    engines: list[Engine] = []

    def kept(table: pa.Table) -> Engine:
        engine = make(table)
        engines.append(engine)
        return engine

    yield kept
    for engine in engines:
        engine.close()
