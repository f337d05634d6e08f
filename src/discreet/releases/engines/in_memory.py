"""Data that are given from Python: the columns that a spec names, as one Arrow table.

pandas, Polars (lazy too), Arrow, DuckDB relations and Ibis expressions. Only columns that the spec
mentions are converted, and only the schema of what is lazy where nothing else is asked for. What a
library says of a failed conversion quotes values, so it is never shown.

A pandas column of objects has no type but that of each value. It is read as text, as a column of a
CSV file is, and a value that has no text is null: no row decides what the column is.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import DataError, SpecError
from discreet.releases.engines.base import named

UNTYPED = {b"discreet": b"untyped"}
"""What marks a column whose values have no type in common."""

_NO_COLUMN = "_row"


def arrow_table(
    data: Any, mentioned: Mapping[str, Any] | None = None, *, schema_only: bool = False
) -> pa.Table:
    """Return data as an Arrow table of the columns whose names occur in a spec, or of all.

    `schema_only` leaves the rows of what is lazy where they are.
    """
    names, taken = _reader(data, schema_only)
    used = [name for name in dict.fromkeys(names) if mentioned is None or occurs(name, mentioned)]
    counted = Counter(names)
    for name in used:
        if counted[name] > 1:
            raise DataError("data.column_twice", column=name)
    found = taken(used)
    for place, (name, column) in enumerate(zip(found.column_names, found.columns, strict=True)):
        limits = _limits(column.type)
        if limits is not None:
            found = found.set_column(place, name, _within(column, *limits))
    if found.num_columns:
        return found
    return pa.table({_NO_COLUMN: pa.nulls(found.num_rows, pa.bool_())})


PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400


def _limits(dtype: pa.DataType) -> tuple[int, int] | None:
    """Return the least and the greatest moment or span that the engine can take.

    It counts microseconds in 64 bits, and fails on what is beyond; a value of a row must not.
    """
    if pa.types.is_date(dtype):
        most = 10**8 if pa.types.is_date32(dtype) else _DAY * 10**11
        return -most, most
    if pa.types.is_time(dtype):
        return 0, _DAY * PER_SECOND[dtype.unit] - 1
    if pa.types.is_timestamp(dtype) or pa.types.is_duration(dtype):
        most = 9_200_000_000_000 * min(PER_SECOND[dtype.unit], 10**6)
        return -most, most
    return None


def _within(column: pa.ChunkedArray, least: int, most: int) -> pa.ChunkedArray:
    """Return a column clipped to its limits."""
    whole = pa.int32() if column.type.bit_width == 32 else pa.int64()
    low, high = pa.scalar(least, whole), pa.scalar(most, whole)
    chunks = []
    for chunk in column.chunks:
        below = pc.min_element_wise(chunk.view(whole), high, skip_nulls=False)
        chunks.append(pc.max_element_wise(below, low, skip_nulls=False).view(column.type))
    return pa.chunked_array(chunks, column.type)


Taken = Callable[[Sequence[str]], pa.Table]


def _reader(data: Any, schema_only: bool) -> tuple[list[str], Taken]:
    """Return the names of the columns, and what reads some of them."""
    if _is(data, "pandas", "DataFrame"):
        return _pandas(data)
    if _is(data, "polars", "DataFrame", "LazyFrame"):
        return _polars(data, schema_only)
    if _is(data, "duckdb", "DuckDBPyRelation"):
        return list(data.columns), lambda used: _relation(data, used, schema_only)
    if _is(data, "ibis.expr.types", "Table"):
        return list(data.columns), lambda used: _ibis(data, used, schema_only)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        with _in_our_words():
            table = pa.table(data)
        return table.column_names, table.select
    raise SpecError("data.unknown_kind", kind=type(data).__name__)


def _is(data: Any, module: str, *kinds: str) -> bool:
    """Whether data are of a kind of a library; one that was never imported has made none."""
    library = sys.modules.get(module)
    return library is not None and isinstance(data, tuple(getattr(library, k) for k in kinds))


def _pandas(frame: Any) -> tuple[list[str], Taken]:
    index = {str(level): level for level in frame.index.names if level is not None}
    names = [str(name) for name in frame.columns]

    def taken(used: Sequence[str]) -> pa.Table:
        columns, fields = [], []
        for name in used:
            values = (
                frame.iloc[:, names.index(name)]
                if name in names
                else frame.index.get_level_values(index[name]).to_series()
            )
            with _in_our_words(name):
                objects = "object" in (str(values.dtype), str(_of_categories(values.dtype)))
                columns.append(_written(values) if objects else pa.array(values, from_pandas=True))
            fields.append(pa.field(name, columns[-1].type, metadata=UNTYPED if objects else None))
        if not used:
            return _rows(len(frame))
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))

    return [*names, *(level for level in index if level not in names)], taken


def _of_categories(dtype: Any) -> Any:
    return getattr(getattr(dtype, "categories", None), "dtype", None)


def _written(values: Any) -> pa.Array:
    """Return a pandas column of objects as text."""
    plain = values.astype(object)
    try:
        return pa.array(plain, pa.large_string(), from_pandas=True)  # texts, as nearly all are
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        missing = plain.isna()
        texts = (None if gone else _text(v) for v, gone in zip(plain, missing, strict=True))
        return pa.array(texts, pa.large_string())


def _text(value: Any) -> str | None:
    """Return a value as it would be written in a CSV file; None if it would not."""
    try:
        value = value.item() if type(value).__module__ == "numpy" else value
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, bytes):
            return value.decode("utf-8")
        if isinstance(value, (str, int, float, Decimal, date, time)):
            return str(value).encode("utf-8").decode("utf-8")  # no lone surrogate passes
    except Exception:  # noqa: S110  (a whole number of too many digits, an object that refuses)
        pass
    return None


def _polars(frame: Any, schema_only: bool) -> tuple[list[str], Taken]:
    import polars

    lazy = isinstance(frame, polars.LazyFrame)
    with _in_our_words():
        schema = frame.collect_schema()

    def taken(used: Sequence[str]) -> pa.Table:
        for name in used:
            if schema[name] == polars.Object:  # Arrow would get addresses in memory
                raise DataError("data.mixed_column", column=name)
        chosen = frame.select(used)
        with _in_our_words():
            if lazy:
                chosen = (chosen.head(0) if schema_only else chosen).collect()
            if used:
                # Its own texts are views, which older versions of Arrow cannot compute with.
                return chosen.to_arrow(compat_level=polars.CompatLevel.oldest())
            rows = frame.select(polars.len())
            return _rows(0 if schema_only else (rows.collect() if lazy else rows).item())

    return list(schema), taken


def _relation(relation: Any, used: Sequence[str], schema_only: bool) -> pa.Table:
    listed = ", ".join(map(named, used))
    with _in_our_words():
        chosen = relation.project(listed or f"true as {_NO_COLUMN}")
        return (chosen.limit(0) if schema_only else chosen).to_arrow_table()


def _ibis(table: Any, used: Sequence[str], schema_only: bool) -> pa.Table:
    import ibis

    with _in_our_words():
        chosen = table.select(*used) if used else table.select(**{_NO_COLUMN: ibis.literal(True)})
        return (chosen.limit(0) if schema_only else chosen).to_pyarrow()


def _rows(count: int) -> pa.Table:
    """A table of no columns with so many rows."""
    return pa.table({_NO_COLUMN: pa.nulls(count, pa.bool_())}).select([])


@contextmanager
def _in_our_words(column: str | None = None) -> Iterator[None]:
    """Tell a failed conversion without its message, which may quote values."""
    try:
        yield
    except Exception as fault:
        if column is not None:
            raise DataError("data.mixed_column", column=column) from None
        raise DataError("data.unreadable", kind=type(fault).__name__) from None


def occurs(name: str, mentioned: Mapping[str, Any]) -> bool:
    """Whether a name occurs in a text of a spec, as a word of it; too often does no harm.

    Written with other capitals it is the column that is told as the nearest.
    """
    whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    return any(whole.search(text) for text in _texts(mentioned))


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield str(key)
            yield from _texts(below)
    elif isinstance(value, (list, tuple)):
        for below in value:
            yield from _texts(below)
