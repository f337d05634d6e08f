"""From a source to counts over the cells, through an engine of releases: only counts leave it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import DataError
from discreet.synthetic.cells import Cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.releases.engines.base import Engine
    from discreet.synthetic.spec import SyntheticSpec

__all__ = ["COPY", "candidate_counts", "check_columns", "original_counts"]

COPY = "copy"


def check_columns(engine: Engine, spec: SyntheticSpec) -> None:
    """Refuse a spec that names a column which the source does not have; reads the schema only."""
    for column in (*spec.columns, *spec.protect.column):
        if column not in engine.columns:
            raise DataError(f"the source has no column {column!r}; the spec names one it lacks.")


def original_counts(engine: Engine, spec: SyntheticSpec, cells: Cells) -> NDArray[np.int64]:
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


def candidate_counts(engine: Engine, cells: Cells) -> NDArray[np.int64]:
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
    engine: Engine,
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


def _rows(engine: Engine) -> int:
    from discreet.releases.contributions import Contribution
    from discreet.releases.engines.base import Counting, Query

    found = engine.measure(Query((), None, Contribution(), (Counting("records"),)))
    return int(np.sum(found["records"]))
