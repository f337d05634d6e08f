"""What a synthetic release leaves on disk: records, description, statement; whole or not at all.

`OUTPUT/RELEASE_ID/` holds `table.csv` and `table.parquet` (one row a synthetic record, sorted by
cell, with a `copy` column if there are several), `release.json` (what an analyst and `assess` need)
and `statement.md`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.reading import json_values
from discreet.releases.outputs import RELEASE, STATEMENT
from discreet.synthetic.cells import Cells
from discreet.synthetic.source import COPY

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_description", "written"]

_CHUNK = 500_000


def written(
    cells: Cells, copies: Sequence[NDArray[np.int64]], said: dict[str, Any], words: str
) -> Callable[[Path], None]:
    """Return what writes a synthetic release: its records, what it says of itself, its words."""

    def write(folder: Path) -> None:
        _write_table(folder, cells, copies)
        text = json.dumps(said, ensure_ascii=False, allow_nan=False, indent=2)
        (folder / RELEASE).write_text(text + "\n", encoding="utf-8")
        (folder / STATEMENT).write_text(words, encoding="utf-8")

    return write


def read_description(candidate: Path) -> dict[str, Any]:
    """Read the description that lies beside a candidate that we made; refuse if there is none."""
    path = (candidate if candidate.is_dir() else candidate.parent) / RELEASE
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(
            f"There is no readable {RELEASE} beside the candidate, so how it was made is not "
            "known and its risk cannot be computed. For a file from another synthesizer call "
            "discreet.synthetic.assess in Python with its log_likelihood."
        ) from None
    found = json_values(text, str(path))
    if not isinstance(found, dict) or "synthesizer" not in found:
        raise InputError(f"{path} does not describe a synthetic file.")
    return found


def _write_table(folder: Path, cells: Cells, copies: Sequence[NDArray[np.int64]]) -> None:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as parquet

    names = [*cells.columns, *([COPY] if len(copies) > 1 else [])]
    schema = pa.schema([(name, pa.int64() if name == COPY else pa.string()) for name in names])
    plain = arrow_csv.WriteOptions(quoting_style="needed")
    with (
        parquet.ParquetWriter(folder / "table.parquet", schema) as whole,
        arrow_csv.CSVWriter(folder / "table.csv", schema, write_options=plain) as text,
    ):
        for columns in _records(cells, copies):
            batch = pa.table(dict(zip(names, columns, strict=True)), schema=schema)
            whole.write_table(batch)
            text.write_table(batch)


def _records(cells: Cells, copies: Sequence[NDArray[np.int64]]) -> Iterator[list[Any]]:
    """Yield the columns of the records, a chunk at a time."""
    at = cells.coordinates()
    levels = [np.array(values, dtype=object) for values in cells.levels]
    for number, counts in enumerate(copies, start=1):
        ends = np.cumsum(counts)
        for start in range(0, int(ends[-1]), _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, int(ends[-1])))
            cell = np.searchsorted(ends, rows, side="right")
            columns: list[Any] = [
                names[place[cell]] for names, place in zip(levels, at, strict=True)
            ]
            yield columns + ([np.full(rows.size, number)] if len(copies) > 1 else [])
