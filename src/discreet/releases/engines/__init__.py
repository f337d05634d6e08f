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

One whose sources are files says which (`file=`): protected data are recognized by it.

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

FileOf: TypeAlias = Callable[[str], str | None]
"""Returns the file that a source names, as the spec has it; None if it is no file."""

Opener = TypeVar("Opener", bound=Callable[[str, PathOf], Engine])


def _no_file(source: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class _Offered:
    example: str
    open: Callable[[str, PathOf], Engine]
    file: FileOf


ENGINES: dict[str, _Offered] = {}
"""What opens a source, by its scheme."""


def register_engine(
    *schemes: str, example: str, file: FileOf = _no_file
) -> Callable[[Opener], Opener]:
    """Return a decorator for what opens sources of these schemes: `(source, path_of) -> Engine`.

    `example` is such a source, as a refusal of any other shows it. `file` says which file a source
    names: the same file is then not taken for public data, nor for another source.
    """

    def registered(opener: Opener) -> Opener:
        for scheme in schemes:
            ENGINES[scheme] = _Offered(example, opener, file)
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


def _attached(source: str) -> str | None:
    return source.partition(":///")[2].partition("?")[0] or None


def _stored(source: str) -> str | None:
    """Return the file of a source on Spark; a name with no path in it is a table's."""
    name = source.partition("://")[2]
    here = name.removeprefix("file://").removeprefix("file:")
    is_file = "://" not in here and ("/" in here or here.lower().endswith(".parquet"))
    return here if is_file else None


register_engine("", example="visits.csv, visits.parquet", file=str)(_ours("duckdb", "DuckDB"))
register_engine("duckdb", example="duckdb:///file.db?table=t", file=_attached)(
    _ours("duckdb", "DuckDB")
)
register_engine("postgresql", "postgres", example="postgresql://user@host/database?table=schema.t")(
    _ours("postgresql", "PostgreSQL")
)
register_engine("spark", example="spark://table", file=_stored)(_ours("spark", "Spark"))


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
    offered = _offered(source)
    if "://" not in source:
        read: Engine = _class("duckdb", "DuckDB").open(source, path_of, options, mentioned)
        return read
    if options.of_a_file:
        raise SpecError("engines.no_options", source=source)
    if offered is None:
        known = dict.fromkeys(one.example for one in ENGINES.values())
        scheme = source.partition("://")[0]
        raise SpecError("engines.unknown_scheme", scheme=scheme, known=", ".join(known))
    return offered.open(source, path_of)


def _offered(source: str) -> _Offered | None:
    """Return what a source's scheme leads to."""
    scheme = source.partition("://")[0] if "://" in source else ""
    if scheme not in ENGINES:
        load_from_outside("engines")
    return ENGINES.get(scheme)


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
    offered = _offered(source)
    return None if offered is None else offered.file(source)
