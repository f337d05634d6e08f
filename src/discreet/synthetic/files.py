"""The files of a synthetic release: an original counted, a file written, a published one read.

`OUTPUT/RELEASE_ID/` holds `table.csv` and `table.parquet` (one row a synthetic record, sorted by
cell, with a `copy` column if there are several), `release.json` (what an analyst and `assess` need)
and `statement.md`; whole or not at all. Originals and candidates are counted over the cells by an
engine of releases: only counts leave it.

The analyst's side (`read`) needs the published folder alone: no original, no ledger, and no more
than NumPy. A share is that of any set of cells, such as all who smoke; for it the synthesizer is a
yes/no one with the weights |A|α and (K − |A|)α, so `inference.posterior` is exact given how many
synthetic records fell in the set.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DataError, InputError
from discreet.reading import json_values
from discreet.releases.outputs import RELEASE, STATEMENT
from discreet.releases.tables import harmless
from discreet.synthetic.cells import Cells
from discreet.synthetic.law import JEFFREYS, Posterior, Synthesizer, posterior
from discreet.synthetic.records import COPY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.releases.contributions import Contribution
    from discreet.releases.engines.base import Engine
    from discreet.synthetic.spec import SyntheticSpec

_CHUNK = 500_000

# -- counting an original or a candidate


def check_columns(engine: Engine, spec: SyntheticSpec) -> None:
    """Refuse a spec that names a column which the source does not have; reads the schema only."""
    for column in (*spec.columns, *spec.protect.column):
        if column not in engine.columns:
            raise DataError("synthetic.no_such_column", column=column)


def original_counts(engine: Engine, spec: SyntheticSpec, cells: Cells) -> NDArray[np.int64]:
    """Count the records of every cell, each unit bounded to what the spec allows it."""
    bounds = spec.protect.contribution(grouped=True)
    return _measured(engine, cells, cells.levels, spec.protect.column, bounds)


def candidate_counts(engine: Engine, cells: Cells) -> NDArray[np.int64]:
    """Count a candidate file over the cells; refuse one with other columns or other levels."""
    columns = [column for column in engine.columns if column != COPY]
    if sorted(columns) != sorted(cells.columns):
        raise DataError("synthetic.candidate_columns", columns=", ".join(cells.columns))
    # The levels as they are, or as CSV has them.
    for levels in (cells.levels, _harmless_levels(cells)):
        counts = _measured(engine, cells, levels)
        if counts.sum() == _measured(engine).sum():
            return counts
    raise DataError("synthetic.candidate_outside")


def _measured(
    engine: Engine,
    cells: Cells | None = None,
    texts_of: Mapping[str, Sequence[str]] | None = None,
    unit: tuple[str, ...] = (),
    bounds: Contribution | None = None,
) -> NDArray[np.int64]:
    """Count the records of every cell, with these texts for the levels; without cells, of all."""
    from discreet.releases.contributions import Contribution
    from discreet.releases.engines.base import Counting, KeySet, Query

    keys = None
    if cells is not None and texts_of is not None:
        texts = [[texts_of[c][i] for i in at.tolist()] for c, at in cells.coordinates().items()]
        keys = KeySet(cells.columns, tuple(zip(*texts, strict=True)))
    asked = Query(unit, keys, bounds or Contribution(), (Counting("records"),))
    return np.array(engine.measure(asked)["records"], dtype=np.int64)


# -- writing a file, and reading what lies beside it


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
        raise InputError("synthetic.no_description", file=RELEASE) from None
    found = json_values(text, str(path))
    if not isinstance(found, dict) or "synthesizer" not in found:
        raise InputError("synthetic.not_a_description", file=path)
    return found


def _write_table(folder: Path, cells: Cells, copies: Sequence[NDArray[np.int64]]) -> None:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as parquet

    names = [*cells.columns, *([COPY] if len(copies) > 1 else [])]
    types = [pa.int64() if name == COPY else pa.string() for name in names]
    schema = pa.schema(list(zip(names, types, strict=True)))
    safe = pa.schema(list(zip(map(harmless, names), types, strict=True)))
    plain = arrow_csv.WriteOptions(quoting_style="needed")
    with (
        parquet.ParquetWriter(folder / "table.parquet", schema) as whole,
        arrow_csv.CSVWriter(folder / "table.csv", safe, write_options=plain) as text,
    ):
        for columns in _records(cells, cells.levels, copies):
            whole.write_table(pa.Table.from_arrays([*map(pa.array, columns)], schema=schema))
        for columns in _records(cells, _harmless_levels(cells), copies):
            text.write_table(pa.Table.from_arrays([*map(pa.array, columns)], schema=safe))


def _harmless_levels(cells: Cells) -> dict[str, list[str]]:
    """The levels as CSV has them: none is a formula."""
    return {c: [str(harmless(level)) for level in own] for c, own in cells.levels.items()}


def _records(
    cells: Cells, texts: Mapping[str, Sequence[str]], copies: Sequence[NDArray[np.int64]]
) -> Iterator[list[Any]]:
    """Yield the columns of the records, a chunk at a time, with these texts for the levels."""
    columns = [(np.array(texts[c], dtype=object), at) for c, at in cells.coordinates().items()]
    for number, counts in enumerate(copies, start=1):
        ends = np.cumsum(counts)
        for start in range(0, int(ends[-1]), _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, int(ends[-1])))
            cell = np.searchsorted(ends, rows, side="right")
            own = [levels[at[cell]] for levels, at in columns]
            yield own + ([np.full(rows.size, number)] if len(copies) > 1 else [])


# -- the analyst's side


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntheticFile:
    """A published synthetic file: its counts over the cells, and how it was made."""

    cells: Cells
    counts: NDArray[np.int64]
    synthesizer: Synthesizer
    n: int | None

    def share(
        self,
        where: Mapping[str, Any],
        *,
        n: int | None = None,
        prior: tuple[float, float] = JEFFREYS,
    ) -> Posterior:
        """Return the posterior of the population's share with these levels.

        `n` is the size of the original; it may be left out if the file's description holds it.
        `prior` is what the analyst believes of the share beforehand, Beta(a, b); by default
        Jeffreys's (½, ½), which says next to nothing of it.
        """
        size = self.n if n is None else n
        if size is None:
            raise InputError("synthetic.no_size")
        cell = self.cells.select(where).tolist()
        return posterior(self.counts, n=size, cell=cell, synthesizer=self.synthesizer, prior=prior)

    def __repr__(self) -> str:
        return f"SyntheticFile({self.cells!r}, {int(self.counts.sum())} records)"


def read(folder: str | Path) -> SyntheticFile:
    """Read the folder of a synthetic release."""
    place = Path(folder)
    said = read_description(place)
    cells = Cells.of(said["columns"], impossible=said.get("impossible", []))
    try:
        with (place / "table.csv").open(encoding="utf-8", newline="") as lines:
            rows = csv.reader(lines)
            header = next(rows, [])
            # A text that CSV has otherwise is read back; one of an earlier version is as it is.
            plain = [
                dict(zip(texts, cells.levels[column], strict=True))
                for column, texts in _harmless_levels(cells).items()
            ]
            tally = Counter(
                tuple(known.get(text, text) for known, text in zip(plain, row, strict=False))
                for row in rows
            )
    except (OSError, UnicodeDecodeError, csv.Error):
        raise DataError("synthetic.unreadable_table", file=place / "table.csv") from None
    names = tuple(header[: len(cells.columns)])
    if names not in (cells.columns, tuple(map(harmless, cells.columns))):
        raise DataError("synthetic.table_columns")
    law = Synthesizer.from_dict(said["synthesizer"])
    whole = tally.total() == law.draws and all(len(row) == len(cells.columns) for row in tally)
    if whole:
        columns = dict(zip(cells.columns, zip(*tally, strict=True), strict=True))
        counts = cells.count(columns, list(tally.values()))
    if not whole or int(counts.sum()) != law.draws:
        raise DataError("synthetic.not_published_file")
    return SyntheticFile(cells, counts, law, said.get("n"))
