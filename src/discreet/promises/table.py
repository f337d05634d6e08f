"""A tolerance given as a table of priors and ratios, read conservatively between the points.

The points form a grid: every p with every q. Inside a cell of the grid the ratio is the least of
its corners, so a table never allows more than its author wrote at the nearest points. Outside the
grid there is a hole, and a tolerance that asks about priors in a hole is refused.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from discreet.errors import ToleranceError
from discreet.promises.box import EVERY_PRIOR, Box
from discreet.promises.shapes import Tolerance, check_ratio

__all__ = ["Table"]

Row = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Table(Tolerance):
    """Rows (p, q, ratio) on a full grid; p = 0 or q = 0 may be given as the limit at 0.

    >>> table = Table(((0, 1, 10), (0.1, 1, 3), (1, 1, 1.5)), Box(0, 1, 1, 1))
    >>> table.ratio_at(0.05, 1.0)
    3.0
    """

    rows: tuple[Row, ...]
    box: Box = EVERY_PRIOR

    def __post_init__(self) -> None:
        rows = tuple(
            sorted((_prior("p", p), _prior("q", q), check_ratio(r)) for p, q, r in self.rows)
        )
        if not rows:
            raise ToleranceError("the table is empty; give rows of p, q and ratio.")
        object.__setattr__(self, "rows", rows)
        seen: set[tuple[float, float]] = set()
        for p, q, _ in rows:
            if (p, q) in seen:
                raise ToleranceError(f"the table gives p = {p:g}, q = {q:g} twice; keep one row.")
            seen.add((p, q))
        for p in self._axis(0):
            for q in self._axis(1):
                if (p, q) not in seen:
                    raise ToleranceError(
                        f"the table has a hole: there is no row for p = {p:g}, q = {q:g}. "
                        "Give every p with every q."
                    )
        ps, qs = self._axis(0), self._axis(1)
        covered = Box(ps[0], ps[-1], qs[0], qs[-1])
        inside = (
            covered.p0 <= self.box.p0
            and self.box.p1 <= covered.p1
            and covered.q0 <= self.box.q0
            and self.box.q1 <= covered.q1
        )
        if not inside:
            raise ToleranceError(
                f"the table covers {covered}, the tolerance speaks of {self.box}: outside the "
                f"table there is a hole. Add rows, or restrict the priors with --box "
                f"{covered.p0:g} {covered.p1:g} {covered.q0:g} {covered.q1:g}."
            )

    @classmethod
    def from_csv(cls, text: str, box: Box | None = None) -> Table:
        """Read a table from CSV with the header p,q,ratio."""
        try:
            lines = list(csv.reader(io.StringIO(text), strict=True))
        except csv.Error as error:
            raise ToleranceError(f"the table is not CSV ({error}).") from None
        lines = [line for line in lines if any(cell.strip() for cell in line)]
        header = [cell.strip().lower() for cell in lines[0]] if lines else []
        if header != ["p", "q", "ratio"]:
            found = ",".join(header)[:60]
            raise ToleranceError(
                f"the table's header is {found!r}; it must be p,q,ratio, a prior and the ratio "
                "tolerated there on each line."
            )
        return cls.from_rows(lines[1:], box)

    @classmethod
    def from_rows(cls, rows: Iterable[Any], box: Box | None = None) -> Table:
        """Read a table from rows [p, q, ratio] or mappings with these keys."""
        out: list[Row] = []
        for number, row in enumerate(rows, start=1):
            cells = [row.get(key) for key in ("p", "q", "ratio")] if isinstance(row, dict) else row
            if not isinstance(cells, (list, tuple)) or len(cells) != 3:
                raise ToleranceError(f"row {number} of the table does not have p, q and ratio.")
            try:
                p, q, ratio = (float(cell) for cell in cells)
            except (TypeError, ValueError, OverflowError):
                raise ToleranceError(
                    f"row {number} of the table holds something that is not a number."
                ) from None
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
            raise ToleranceError(f"p = {p:g}, q = {q:g} lies outside the table.")
        return min(held)

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        return {"table": [list(row) for row in self.rows]} | self.box.to_mapping()

    def __str__(self) -> str:
        return f"the ratio is at most that of a table of {len(self.rows)} priors ({self.box})"


def _spans(axis: list[float]) -> list[tuple[float, float]]:
    return list(pairwise(axis)) if len(axis) > 1 else [(axis[0], axis[0])]


def _prior(name: str, value: float) -> float:
    if math.isnan(value) or not 0 <= value <= 1:
        raise ToleranceError(
            f"the table has {name} = {value:g}; a prior is a probability between 0 and 1."
        )
    return float(value)
