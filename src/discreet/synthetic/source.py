"""From a source to counts over the cells, through the engine of releases: only counts leave it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DataError, InputError, SpecError
from discreet.synthetic.cells import Cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.releases.engines.duckdb import DuckDB
    from discreet.synthetic.spec import SyntheticSpec

__all__ = [
    "COPY",
    "candidate_counts",
    "check_columns",
    "opened",
    "original_counts",
    "source_path",
]

COPY = "copy"


@contextmanager
def opened(source: str | None, path: Path | None, data: Any = None) -> Iterator[DuckDB]:
    """Open a file, a table of a DuckDB file, or data in memory (pandas, Polars, Arrow)."""
    try:
        from discreet.releases.engines.duckdb import DuckDB
    except ModuleNotFoundError:
        raise InputError("Reading data needs DuckDB and Ibis; install discreet[release].") from None
    if source is None and data is None:
        raise SpecError("source is missing; name a file, or give the data.")
    if data is not None or source is None:
        engine = DuckDB.of(data)
    else:
        engine = DuckDB.open(source, path or Path(source))
    try:
        yield engine
    finally:
        engine.close()


def source_path(spec: SyntheticSpec) -> Path | None:
    """Return where the spec's source lies; a DuckDB URL names its file before the `?`."""
    if spec.source is None:
        return None
    name = spec.source.removeprefix("duckdb:///").split("?")[0]
    return spec.path(name if spec.source.startswith("duckdb:///") else spec.source)


def check_columns(engine: DuckDB, spec: SyntheticSpec) -> None:
    """Refuse a spec that names a column which the source does not have; reads the schema only."""
    for column in (*spec.columns, *spec.protect.column):
        if column not in engine.columns:
            raise DataError(f"the source has no column {column!r}; the spec names one it lacks.")


def original_counts(engine: DuckDB, spec: SyntheticSpec, cells: Cells) -> NDArray[np.int64]:
    """Count the records of every cell, each unit bounded to what the spec allows it."""
    if spec.nulls == "refuse":
        column = engine.missing((*spec.columns, *spec.protect.column), ())
        if column is not None:
            raise DataError(
                f"column {column!r} has missing values and the spec says nulls: refuse. Fill them, "
                "or say nulls: drop."
            )
    protect = spec.protect
    unit = () if protect.unit == "record" else protect.column
    return _measured(engine, cells, unit, (protect.rows, protect.groups, protect.rows_per_group))


def candidate_counts(engine: DuckDB, cells: Cells) -> NDArray[np.int64]:
    """Count a candidate file over the cells; refuse one with other columns or other levels."""
    columns = [column for column in engine.columns if column != COPY]
    if sorted(columns) != sorted(cells.columns):
        raise DataError(
            f"the candidate's columns differ from the original's, which are "
            f"{', '.join(cells.columns)}. Give a file with exactly these."
        )
    counts = _measured(engine, cells, (), (None, None, None))
    if int(counts.sum()) != _rows(engine):
        raise DataError(
            "the candidate has records outside the possible cells, so the synthesizer of this spec "
            "did not make it. Give the spec that it was made from."
        )
    return counts


def _measured(
    engine: DuckDB,
    cells: Cells,
    unit: tuple[str, ...],
    bounds: tuple[int | None, int | None, int | None],
) -> NDArray[np.int64]:
    from discreet.releases.contributions import Contribution
    from discreet.releases.engines.base import Counting, KeySet, Query

    at = cells.coordinates()
    texts = [
        [levels[i] for i in place.tolist()] for levels, place in zip(cells.levels, at, strict=True)
    ]
    keys = KeySet(cells.columns, tuple(zip(*texts, strict=True)))
    contribution = Contribution.of(*bounds, adjacency="add-remove", grouped=True)
    answer = engine.measure(Query(unit, keys, contribution, (Counting("records"),)))
    return np.array(answer["records"], dtype=np.int64)


def _rows(engine: DuckDB) -> int:
    from discreet.releases.contributions import Contribution
    from discreet.releases.engines.base import Counting, Query

    found = engine.measure(Query((), None, Contribution(), (Counting("records"),)))
    return int(np.sum(found["records"]))
