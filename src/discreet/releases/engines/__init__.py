"""Engines: where the rows are. Only whole-number aggregates leave them.

The source of a spec leads to its engine by its scheme, which one registration names:

    visits.csv, visits.parquet, duckdb:///file.db?table=t      DuckDB
    postgresql://user@host/database?table=schema.visits        PostgreSQL
    spark://health.visits, spark://data/visits.parquet         Spark

An engine of ours is loaded only when its scheme is asked for. One from outside registers what opens
a source, and has what `base.Engine` says:

    @register_engine("rows", example="rows://name")
    def open_rows(source, path_of):
        return Rows(...)

Where the entry points `discreet.engines` of its package name it, a spec finds it by its scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from discreet.errors import SpecError
from discreet.outside import load_from_outside
from discreet.releases.engines.base import Engine
from discreet.releases.source import Declared, GivenSource, Source, options_of

__all__ = ["CSV", "ENGINES", "file_of", "is_csv", "opened", "register_engine"]

CSV = (".csv", ".csv.gz", ".csv.zst")
"""How the names of CSV files end."""

PathOf: TypeAlias = Callable[[str], Path]
"""Makes a path of a spec absolute."""

Opener = TypeVar("Opener", bound=Callable[[str, PathOf], Engine])


@dataclass(frozen=True, slots=True)
class _Offered:
    example: str
    open: Callable[[str, PathOf], Engine]


ENGINES: dict[str, _Offered] = {}
"""What opens a source, by its scheme."""


def register_engine(*schemes: str, example: str) -> Callable[[Opener], Opener]:
    """Return a decorator for what opens sources of these schemes: `(source, path_of) -> Engine`.

    `example` is such a source, as a refusal of any other shows it.
    """

    def registered(opener: Opener) -> Opener:
        for scheme in schemes:
            ENGINES[scheme] = _Offered(example, opener)
        return opener

    return registered


def _ours(module: str, name: str) -> Callable[[str, PathOf], Engine]:
    """Return what opens a source with an engine of this package, loaded when it is needed."""

    def opener(source: str, path_of: PathOf) -> Engine:
        found: Engine = _class(module, name).open(source, path_of)
        return found

    return opener


def _class(module: str, name: str) -> Any:
    return getattr(import_module(f"{__name__}.{module}"), name)


register_engine("", example="visits.csv, visits.parquet")(_ours("duckdb", "DuckDB"))
register_engine("duckdb", example="duckdb:///file.db?table=t")(_ours("duckdb", "DuckDB"))
register_engine("postgresql", "postgres", example="postgresql://user@host/database?table=schema.t")(
    _ours("postgresql", "PostgreSQL")
)
register_engine("spark", example="spark://table")(_ours("spark", "Spark"))


def opened(
    source: GivenSource,
    path_of: PathOf,
    data: Any = None,
    mentioned: Mapping[str, Any] | None = None,
    *,
    schema_only: bool = False,
) -> Engine:
    """Open the data if they are given, else the source; `path_of` makes a spec's path absolute.

    Of the data, only columns that are `mentioned` in the spec are converted.
    """
    options = options_of(source)
    engine: Engine
    if type(data).__module__.startswith("pyspark."):
        engine = _class("spark", "Spark").of(data)
    elif data is not None:
        engine = _class("duckdb", "DuckDB").of(data, mentioned, schema_only=schema_only)
    else:
        engine = _found(options, path_of, mentioned)
    if not options.types:
        return engine
    try:
        return in_types(engine, options.types)
    except BaseException:
        engine.close()
        raise


def _found(options: Source, path_of: PathOf, mentioned: Mapping[str, Any] | None) -> Engine:
    source = options.path
    if source is None:
        raise SpecError("engines.no_source")
    scheme = source.split("://", 1)[0] if "://" in source else ""
    if scheme == "":
        read: Engine = _class("duckdb", "DuckDB").open(source, path_of, options, mentioned)
        return read
    if options.of_a_file:
        raise SpecError("engines.no_options", source=source)
    if scheme not in ENGINES:
        load_from_outside("engines")
    if scheme not in ENGINES:
        known = dict.fromkeys(offered.example for offered in ENGINES.values())
        raise SpecError("engines.unknown_scheme", scheme=scheme, known=", ".join(known))
    return ENGINES[scheme].open(source, path_of)


def in_types(engine: Engine, types: Mapping[str, Declared]) -> Engine:
    """Return an engine whose columns have the types that a spec declares."""
    typed = getattr(engine, "typed", None)
    if typed is None:
        raise SpecError("engines.no_derived")
    found: Engine = typed(types)
    return found


def is_csv(source: str) -> bool:
    """Whether a source is a CSV file, by its name."""
    return "://" not in source and source.lower().endswith(CSV)


def file_of(source: str) -> str | None:
    """Return the file that a source names, as the spec has it; None if it is no file."""
    if "://" not in source:
        return source
    scheme, _, rest = source.partition(":///")
    return rest.partition("?")[0] if scheme == "duckdb" and rest else None
