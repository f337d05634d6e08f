"""A tolerance given as a table of priors and ratios, read conservatively between the points.

The points form a grid: every p with every q. Inside a cell of the grid the ratio is the least of
its corners, so a table never allows more than its author wrote at the nearest points. Outside the
grid there is a hole, and a tolerance that asks about priors in a hole is refused.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.errors import ToleranceError
from discreet.promises.box import EVERY_PRIOR, Box
from discreet.promises.shapes.ratio import constant_ratio
from discreet.promises.tolerance import Key, Solved, Tolerance, Wording, check_ratio
from discreet.words import say

Row = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Table(Tolerance):
    """Rows (p, q, ratio) on a full grid; p = 0 or q = 0 may be given as the limit at 0.

    >>> table = Table(((0, 1, 10), (0.1, 1, 3), (1, 1, 1.5)), Box(0, 1, 1, 1))
    >>> table.ratio_at(0.05, 1.0)
    3.0
    """

    keys = (Key("table", str, metavar="FILE"),)

    rows: tuple[Row, ...]
    box: Box = EVERY_PRIOR

    def __post_init__(self) -> None:
        rows = tuple(
            sorted((_prior("p", p), _prior("q", q), check_ratio(r)) for p, q, r in self.rows)
        )
        if not rows:
            raise ToleranceError("promises.table_empty")
        object.__setattr__(self, "rows", rows)
        seen: set[tuple[float, float]] = set()
        for p, q, _ in rows:
            if (p, q) in seen:
                raise ToleranceError("promises.table_twice", p=p, q=q)
            seen.add((p, q))
        for p in self._axis(0):
            for q in self._axis(1):
                if (p, q) not in seen:
                    raise ToleranceError("promises.table_hole", p=p, q=q)
        ps, qs = self._axis(0), self._axis(1)
        covered = Box(ps[0], ps[-1], qs[0], qs[-1])
        inside = (
            covered.p0 <= self.box.p0
            and self.box.p1 <= covered.p1
            and covered.q0 <= self.box.q0
            and self.box.q1 <= covered.q1
        )
        if not inside:
            raise ToleranceError("promises.table_too_small", covered=covered, box=self.box)

    @classmethod
    def from_keys(cls, given: Mapping[str, Any], box: Box, folder: Path | None) -> Tolerance:
        """Return it from `table`: the name of a CSV file, or rows."""
        from discreet.promises.keys import list_of, read_text

        value = given["table"]
        if isinstance(value, str):
            return cls.from_csv(read_text((folder or Path()) / value), box)
        return cls.from_rows(list_of("table", value), box)

    @classmethod
    def from_csv(cls, text: str, box: Box | None = None) -> Table:
        """Read a table from CSV with the header p,q,ratio."""
        try:
            lines = list(csv.reader(io.StringIO(text), strict=True))
        except csv.Error as error:
            raise ToleranceError("promises.table_not_csv", error=error) from None
        lines = [line for line in lines if any(cell.strip() for cell in line)]
        header = [cell.strip().lower() for cell in lines[0]] if lines else []
        if header != ["p", "q", "ratio"]:
            found = ",".join(header)[:60]
            raise ToleranceError("promises.table_header", header=found)
        return cls.from_rows(lines[1:], box)

    @classmethod
    def from_rows(cls, rows: Iterable[Any], box: Box | None = None) -> Table:
        """Read a table from rows [p, q, ratio] or mappings with these keys."""
        out: list[Row] = []
        for number, row in enumerate(rows, start=1):
            cells = [row.get(key) for key in ("p", "q", "ratio")] if isinstance(row, dict) else row
            if not isinstance(cells, (list, tuple)) or len(cells) != 3:
                raise ToleranceError("promises.table_row", row=number)
            try:
                p, q, ratio = (float(cell) for cell in cells)
            except (TypeError, ValueError, OverflowError):
                raise ToleranceError("promises.table_number", row=number) from None
            out.append((p, q, ratio))
        return cls(tuple(out), box or EVERY_PRIOR)

    def _axis(self, column: int) -> list[float]:
        return sorted({row[column] for row in self.rows})

    def cells(self) -> Iterator[tuple[Box, float]]:
        """Yield the cells that meet the box, each with its least ratio."""
        ratio = {(p, q): r for p, q, r in self.rows}
        for p0, p1 in _spans(self._axis(0)):
            for q0, q1 in _spans(self._axis(1)):
                low_p, high_p = max(p0, self.box.p0), min(p1, self.box.p1)
                low_q, high_q = max(q0, self.box.q0), min(q1, self.box.q1)
                if low_p > high_p or low_q > high_q or high_p == 0 or high_q == 0:
                    continue
                least = min(ratio[p, q] for p in (p0, p1) for q in (q0, q1))
                yield Box(low_p, high_p, low_q, high_q), least

    def ratio_at(self, p: float, q: float) -> float:
        """Return r*(p, q): the least ratio of the cells that hold the prior."""
        held = [least for box, least in self.cells() if box.contains(p, q)]
        if not held:
            raise ToleranceError("promises.table_outside", p=p, q=q)
        return min(held)

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        return {"table": [list(row) for row in self.rows]} | self.box.to_mapping()

    def closed_form(self) -> Solved:
        """Return the least of the cells: on each the ratio is constant."""
        cells = [constant_ratio(ratio, box) for box, ratio in self.cells()]
        upper = min(cell.upper for cell in cells)
        return min(cells)._replace(upper=upper, method=say("promises.method.cells"))

    def least_ratio(self) -> float:
        """Return the least ratio of all cells."""
        return min(ratio for _, ratio in self.cells())

    def sentence(self, words: Wording) -> str:
        """Return the promise in words."""
        return words.fill("promises.sentence.table", rows=str(len(self.rows)))

    def __str__(self) -> str:
        return say("promises.short.table", rows=len(self.rows), box=self.box)


def _spans(axis: list[float]) -> list[tuple[float, float]]:
    return list(pairwise(axis)) if len(axis) > 1 else [(axis[0], axis[0])]


def _prior(name: str, value: float) -> float:
    if math.isnan(value) or not 0 <= value <= 1:
        raise ToleranceError("promises.table_prior", name=name, value=value)
    return float(value)
