"""From the source of a spec to the engine that reads it; an engine is loaded only when it is asked.

visits.csv, visits.parquet, duckdb:///file.db?table=t      DuckDB
postgresql://user@host/database?table=schema.visits        PostgreSQL
spark://health.visits, spark://data/visits.parquet         Spark
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from discreet.errors import InputError, SpecError
from discreet.releases.engines.base import Engine

__all__ = ["opened"]


def opened(
    source: str | None,
    path_of: Callable[[str], Path],
    data: Any = None,
    mentioned: Mapping[str, Any] | None = None,
    *,
    schema_only: bool = False,
) -> Engine:
    """Open the data if they are given, else the source; `path_of` makes a spec's path absolute.

    Of the data, only columns that are `mentioned` in the spec are converted.
    """
    if data is not None:
        return _duckdb().of(data, mentioned, schema_only=schema_only)  # type: ignore[no-any-return]
    if source is None:
        raise SpecError("source is missing; name a file or a table, or give the data.")
    scheme = source.split("://", 1)[0] if "://" in source else ""
    if scheme in ("postgresql", "postgres"):
        from discreet.releases.engines.postgresql import PostgreSQL

        return PostgreSQL.open(source)
    if scheme == "spark":
        from discreet.releases.engines.spark import Spark

        return Spark.open(source, path_of)
    if scheme not in ("", "duckdb"):
        raise SpecError(
            f"source begins with {scheme}://; there are engines for CSV and Parquet files, "
            "duckdb:///file.db?table=t, postgresql://user@host/database?table=schema.t and "
            "spark://table."
        )
    return _duckdb().open(source, path_of(_file_of(source)))  # type: ignore[no-any-return]


def _duckdb() -> Any:
    try:
        from discreet.releases.engines.duckdb import DuckDB
    except ModuleNotFoundError:
        raise InputError("Reading data needs DuckDB and Ibis; install discreet[release].") from None
    return DuckDB


def _file_of(source: str) -> str:
    prefix = "duckdb:///"
    return source.removeprefix(prefix).split("?", 1)[0] if source.startswith(prefix) else source
