"""The analyst's side: read a published synthetic file and infer shares from it, corrected.

Everything comes from the published folder (`table.csv` and `release.json`): no original, no ledger,
and no more than NumPy. A share is that of any set of cells, such as all who smoke; for it the
synthesizer is a yes/no one with the weights |A|α and (K − |A|)α, so `inference.posterior` is exact
given how many synthetic records fell in the set.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import DataError, InputError
from discreet.synthetic.cells import Cells
from discreet.synthetic.files import read_description
from discreet.synthetic.inference import Posterior, posterior
from discreet.synthetic.law import Synthesizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SyntheticFile", "read"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntheticFile:
    """A published synthetic file: its counts over the cells, and how it was made."""

    cells: Cells
    counts: NDArray[np.int64]
    synthesizer: Synthesizer
    n: int | None

    def share(
        self,
        where: Mapping[str, str | Sequence[str]],
        *,
        n: int | None = None,
        prior: tuple[float, float] | None = None,
    ) -> Posterior:
        """Return the posterior of the population's share with these levels.

        `n` is the size of the original; it may be left out if the file's description holds it.
        """
        size = self.n if n is None else n
        if size is None:
            raise InputError(
                "The size of the original is not published with this file; give n, from a public "
                "source."
            )
        return posterior(
            self.counts,
            n=size,
            cell=self.cells.select(where).tolist(),
            synthesizer=self.synthesizer,
            prior=prior,
        )

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
            tally = Counter(tuple(row[: len(cells.columns)]) for row in rows)
    except (OSError, UnicodeDecodeError, csv.Error):
        raise DataError(f"{place / 'table.csv'} cannot be read as CSV in UTF-8.") from None
    if tuple(header[: len(cells.columns)]) != cells.columns:
        raise DataError("table.csv has other columns than its description says.")
    law = Synthesizer.from_dict(said["synthesizer"])
    whole = tally.total() == law.draws and all(len(row) == len(cells.columns) for row in tally)
    if whole:
        columns = dict(zip(cells.columns, zip(*tally, strict=True), strict=True))
        counts = cells.count(columns, list(tally.values()))
    if not whole or int(counts.sum()) != law.draws:
        raise DataError(
            "table.csv does not hold the records that its description says; it is not the "
            "published file."
        )
    return SyntheticFile(cells, counts, law, said.get("n"))
