"""A candidate judged, record by record; and the largest budget whose candidates are acceptable.

McClure and Reiter (2012, section 4) propose to look at R and RR of every record together, over a
range of intruders' priors, and to accept a file if all stay in a region. Two warnings come with it:

- the region must stay secret, and so must the results: both describe the original data;
- a file that was *chosen* by such a check no longer satisfies differential privacy, whatever made
  it: the choice looked at the data. `search` keeps its candidates in memory for that reason.

Over all priors the judgement is exact (`region.py`); over a list of priors it is made at each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.frames import Tabular, columns_from, html_grid
from discreet.guarantees import finite_or_null
from discreet.synthetic.cells import Cells, Distances, distances
from discreet.synthetic.law import Synthesizer, whole
from discreet.synthetic.records import (
    Alternatives,
    LogLikelihood,
    RecordRisk,
    as_counts,
    check_prior,
    risk,
)
from discreet.synthetic.region import Region

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CAUTION",
    "CONFIDENTIAL",
    "Assessment",
    "Outside",
    "Search",
    "assess_counts",
    "draw_copies",
    "search",
]

CONFIDENTIAL = "Confidential: these figures describe the original data. Do not publish them."
CAUTION = (
    "A file, or an epsilon, that is chosen because of these figures carries no guarantee: the "
    "choice looked at the original data."
)
_SHOWN = (0.01, 0.1, 0.5, 0.9)
_BLOCK = 2_000_000


@dataclass(frozen=True, slots=True)
class Outside:
    """A cell whose records leave the region, and the intervals of priors at which they do.

    Of a list of priors, an interval runs over those of the list that lie in it.
    """

    cell: int
    records: int
    priors: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assessment(Tabular):
    """The judgement of one candidate. Confidential."""

    risk: RecordRisk
    epsilon: float | None
    acceptable: bool | None
    outside: tuple[Outside, ...]
    distances: Distances | None
    cells: Cells | None
    shown: tuple[float, ...] = _SHOWN

    @property
    def records_outside(self) -> int:
        """How many records leave the region at some prior."""
        return sum(found.records for found in self.outside)

    def to_dict(self, most: int = 20) -> dict[str, Any]:
        """Return the judgement, JSON-ready, with the `most` worst cells."""
        return {
            "confidential": CONFIDENTIAL,
            "caution": CAUTION,
            "epsilon": self.epsilon,
            "acceptable": self.acceptable,
            "risk": {
                "records": int(self.risk.records.sum()),
                "cells": int(self.risk.at_risk.sum()),
                "alternatives": self.risk.alternatives,
                "largest_shift": finite_or_null(self.risk.largest_shift),
                **({"unbounded": True} if math.isinf(self.risk.largest_shift) else {}),
                "priors": [self._at(prior) for prior in self.shown],
                "records_outside": self.records_outside,
                "cells_outside": len(self.outside),
                "outside": [self._named(found) for found in self.outside[:most]],
                "worst": [self._worst(int(cell)) for cell in self._ranked(most)],
            },
            "utility": None if self.distances is None else self.distances.to_dict(),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the largest and average risk at each prior. Confidential."""
        return columns_from(self._at(prior) for prior in self.shown)

    def _at(self, prior: float) -> dict[str, float]:
        occupied = self.risk.at_risk
        absolute = self.risk.absolute(prior)[occupied]
        records = self.risk.records[occupied]
        return {
            "prior": prior,
            "largest": float(absolute.max()),
            "largest_relative": float(self.risk.relative(prior)[occupied].max()),
            "average": float(absolute @ records / records.sum()),
        }

    def _ranked(self, most: int) -> NDArray[np.int64]:
        shift = np.where(self.risk.at_risk, self.risk.shift, -math.inf)
        worst = np.argsort(-shift, kind="stable")[: min(most, int(self.risk.at_risk.sum()))]
        return worst.astype(np.int64)

    def _label(self, cell: int) -> Any:
        return cell if self.cells is None else self.cells.label(cell)

    def _worst(self, cell: int) -> dict[str, Any]:
        half = float(self.risk.absolute(0.5)[cell])
        return {
            "cell": self._label(cell),
            "records": int(self.risk.records[cell]),
            "from_half": half,
        }

    def _named(self, found: Outside) -> dict[str, Any]:
        return {
            "cell": self._label(found.cell),
            "records": found.records,
            "priors": [{"lower": low, "upper": high} for low, high in found.priors],
        }

    def _repr_html_(self) -> str:
        rows = [[f"{value:.4g}" for value in self._at(prior).values()] for prior in self.shown]
        header = ["prior", "largest R", "largest RR", "average R"]
        return html_grid(f"{self!r}. {CONFIDENTIAL}", header, rows)

    def __repr__(self) -> str:
        verdict = {True: "acceptable", False: "not acceptable", None: "no region given"}
        return f"Assessment({verdict[self.acceptable]}, {self.records_outside} records outside)"


def assess_counts(
    original: ArrayLike,
    candidate: ArrayLike,
    *,
    region: Region | str | None = None,
    priors: Sequence[float] | None = None,
    prior_range: tuple[float, float] = (0.0, 1.0),
    alternatives: Alternatives = "all",
    known: Sequence[str] = (),
    cells: Cells | None = None,
    synthesizer: Synthesizer | None = None,
    epsilon: float | None = None,
    copies: int = 1,
    log_likelihood: LogLikelihood | None = None,
) -> Assessment:
    """Judge a candidate against its original, both counted over the same cells.

    `region` is what is acceptable; `priors` the intruder's priors to judge it at, or `prior_range`
    an interval of them, judged exactly (all priors, if neither is given). `known` names the columns
    that the intruder knows of the target. The law of the candidate is given as to `risk`.
    """
    accepted = Region.parse(region) if isinstance(region, str) else region
    if known and cells is None:
        raise InputError("To say which columns are known, give the cells with their columns.")
    groups = cells.groups(known) if known and cells is not None else None
    found = risk(
        original,
        candidate,
        synthesizer=synthesizer,
        epsilon=epsilon,
        copies=copies,
        alternatives=alternatives,
        groups=groups,
        log_likelihood=log_likelihood,
    )
    at = None if priors is None else np.sort(check_prior(list(priors)))
    outside: tuple[Outside, ...] = ()
    if accepted is not None and at is None:
        outside = _over_range(found, accepted, prior_range)
    elif accepted is not None and at is not None:
        outside = _at_points(found, accepted, at)
    gap = (
        None
        if cells is None
        else distances(found.records, as_counts("candidate", candidate), cells)
    )
    return Assessment(
        found,
        synthesizer.epsilon if synthesizer is not None else epsilon,
        None if accepted is None else not outside,
        outside,
        gap,
        cells,
        _SHOWN if priors is None or len(priors) > 20 else tuple(priors),
    )


def _over_range(
    found: RecordRisk, region: Region, span: tuple[float, float]
) -> tuple[Outside, ...]:
    intervals = region.outside(found.shift, *span)
    return tuple(
        Outside(cell, int(found.records[cell]), tuple(intervals[cell]))
        for cell in np.flatnonzero(found.at_risk).tolist()
        if intervals[cell]
    )


def _at_points(
    found: RecordRisk, region: Region, priors: NDArray[np.float64]
) -> tuple[Outside, ...]:
    out = []
    occupied = np.flatnonzero(found.at_risk)
    step = max(1, _BLOCK // priors.size)
    for start in range(0, occupied.size, step):
        block = occupied[start : start + step]
        part = RecordRisk(found.shift[block], found.records[block], found.alternatives)
        broken = ~region.contains(part.absolute(priors), part.relative(priors))
        for i in np.flatnonzero(broken.any(axis=1)).tolist():
            # Runs of neighbouring priors, so that a thousand do not become a thousand lines.
            ends = np.flatnonzero(np.diff(broken[i].astype(np.int8), prepend=0, append=0))
            at = tuple(
                (float(priors[a]), float(priors[b - 1])) for a, b in ends.reshape(-1, 2).tolist()
            )
            out.append(Outside(int(block[i]), int(part.records[i]), at))
    return tuple(out)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Search(Tabular):
    """What became of the candidates of each budget. Confidential; nothing of it is written.

    `chosen` is the first candidate of the largest acceptable budget, one row of counts a copy.
    """

    rows: tuple[dict[str, Any], ...]
    epsilon: float | None
    candidates: int
    chosen: NDArray[np.int64] | None = field(default=None)
    synthesizer: Synthesizer | None = None

    @property
    def acceptable(self) -> bool:
        """Whether the candidates of some budget all stayed inside."""
        return self.epsilon is not None

    @property
    def drawn(self) -> float:
        """The ε of all candidates together: what they cost if one of them is ever written."""
        return math.fsum(row["epsilon"] * self.candidates for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the search, JSON-ready, without the candidates."""
        return {
            "confidential": CONFIDENTIAL,
            "caution": CAUTION,
            "epsilon": self.epsilon,
            "acceptable": self.acceptable,
            "candidates": self.candidates,
            "risk": {"budgets": [dict(row) for row in self.rows]},
            "utility": next(
                (row["distance"] for row in self.rows if row["epsilon"] == self.epsilon), None
            ),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return what was found at each budget. Confidential."""
        return columns_from(self.rows)

    def _repr_html_(self) -> str:
        rows = [[f"{value:g}" for value in row.values()] for row in self.rows]
        header = ["epsilon", "inside", "records outside", "largest R", "distance"]
        return html_grid(f"{self!r}. {CONFIDENTIAL}", header, rows)

    def __repr__(self) -> str:
        best = "none" if self.epsilon is None else f"{self.epsilon:g}"
        return f"Search(largest acceptable epsilon: {best}, of {len(self.rows)})"


def search(
    original: ArrayLike,
    epsilons: Sequence[float],
    *,
    region: Region | str,
    n_synthetic: int,
    candidates: int = 10,
    copies: int = 1,
    records: int = 1,
    cells: Cells | None = None,
    draw: Callable[[Synthesizer, NDArray[np.int64]], NDArray[np.int64]] | None = None,
    **how: Any,
) -> Search:
    """Draw candidates at each budget, in memory, and find the largest whose candidates all pass.

    `how` goes on to `assess_counts` (priors, prior_range, alternatives, known). Nothing is written
    and nothing is charged here; to write the chosen file every candidate has to be charged, and
    the file carries no guarantee (`assess` with `no_guarantee`).
    """
    x = as_counts("original", original)
    if not epsilons:
        raise InputError("epsilons is empty; give the budgets to try.")
    accepted = Region.parse(region) if isinstance(region, str) else region
    whole("candidates", candidates)
    take = draw or draw_copies
    rows, best = [], None
    for epsilon in sorted(set(epsilons)):
        law = Synthesizer.of(
            epsilon, n_synthetic=n_synthetic, cells=x.size, copies=copies, records=records
        )
        files = [take(law, x) for _ in range(candidates)]
        judged = [
            assess_counts(x, file.sum(axis=0), region=accepted, synthesizer=law, cells=cells, **how)
            for file in files
        ]
        gaps = [_gap(x, file.sum(axis=0)) for file in files]
        inside = sum(bool(one.acceptable) for one in judged)
        rows.append(
            {
                "epsilon": float(epsilon),
                "inside": inside,
                "records_outside": max(one.records_outside for one in judged),
                "largest": max(float(np.nanmax(one.risk.absolute(0.5))) for one in judged),
                "distance": math.fsum(gaps) / len(gaps),
            }
        )
        if inside == candidates:
            best = (float(epsilon), files[0], law)
    if best is None:
        return Search(tuple(rows), None, candidates)
    return Search(tuple(rows), best[0], candidates, best[1], best[2])


def draw_copies(law: Synthesizer, original: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draw a file, exactly: one row of counts a copy.

    The weights x_k + α are whole numbers over a common denominator, and each record falls where a
    uniform whole number from the operating system says: no floating-point number is involved.
    """
    from discreet.noise import multinomial

    weights = law.integer_weights(original)
    drawn = [multinomial(law.n_synthetic, weights) for _ in range(law.copies)]
    return np.array(drawn, dtype=np.int64)


def _gap(x: NDArray[np.int64], s: NDArray[np.int64]) -> float:
    return float(np.abs(x / x.sum() - s / s.sum()).sum() / 2)
