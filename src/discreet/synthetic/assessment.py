"""A candidate judged, record by record; and the largest budget whose candidates are acceptable.

McClure and Reiter (2012, section 4) propose to look at R and RR of every record together, over a
range of intruders' priors, and to accept a file if all stay in a region. Two warnings come with it:

- the region must stay secret, and so must the results: both describe the original data;
- a file that was *chosen* by such a check no longer satisfies differential privacy, whatever made
  it: the choice looked at the data. `search` keeps its candidates in memory for that reason.

Over all priors the judgement is exact (`region.py`); over a list of priors it is made at each.

`assess` reads the original without charging it: its results are written nowhere. The one way to
publish a file that they chose is `no_guarantee`: then every candidate is charged before the first
is drawn, and the file says that it carries no guarantee. Where a unit has more records than the
spec allows it, those that count are drawn at random anew for every file, so the counts of an
earlier file are known only approximately; where no unit has, they are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import InputError
from discreet.frames import JsonReady, Tabular, columns_from, html_grid
from discreet.guarantees import PureDP, finite_or_null, parameters
from discreet.lazily import missing
from discreet.numerics import double_above
from discreet.synthetic import files
from discreet.synthetic.cells import Cells, Distances, distances
from discreet.synthetic.identification import Confidential, Intruder, Linkage, linked, seen_by
from discreet.synthetic.inference import utility
from discreet.synthetic.law import Synthesizer, draw_copies, whole
from discreet.synthetic.records import (
    RecordRisk,
    as_counts,
    check_prior,
    expected_risk_increase,
    risk,
)
from discreet.synthetic.region import Region
from discreet.words import say

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.releases.charge import Confirm
    from discreet.releases.engines.base import Engine
    from discreet.synthetic.pipeline import Synthesis
    from discreet.synthetic.spec import SyntheticSpec

_SHARES = (0.01, 0.1, 0.3, 0.5)
_SHOWN = (0.01, 0.1, 0.5, 0.9)
_BLOCK = 2_000_000
_MOST_FOR_UTILITY = 200_000


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
    intruders: tuple[dict[str, Any], ...] = ()
    candidate: NDArray[np.int64] | None = None

    def lost(self) -> list[dict[str, Any]] | None:
        """U of M&R for each level of each column: digits of squared error that the file loses.

        None where the law of the file is not known, or the data are so large that it takes long.
        """
        law, cells, s, x = self.risk.law, self.cells, self.candidate, self.risk.records
        if law is None or cells is None or s is None or x.sum() > _MOST_FOR_UTILITY:
            return None
        return [
            {
                "column": column,
                "level": level,
                "lost": utility(x, s, cell=cells.select({column: level}).tolist(), synthesizer=law),
            }
            for column, levels in zip(cells.columns, cells.levels, strict=True)
            for level in levels
            if 0 < cells.select({column: level}).size < cells.size
        ]

    @property
    def records_outside(self) -> int:
        """How many records leave the region at some prior."""
        return sum(found.records for found in self.outside)

    def to_dict(self, most: int = 20) -> dict[str, Any]:
        """Return the judgement, JSON-ready, with the `most` worst cells."""
        return {
            "confidential": say("synthetic.confidential"),
            "caution": say("synthetic.caution"),
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
                "worst": [self._worst(int(cell)) for cell in self.riskiest(most)],
                "intruders": [dict(one) for one in self.intruders],
            },
            "utility": None
            if self.distances is None
            else {**self.distances.to_dict(), "lost": self.lost()},
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

    def riskiest(self, most: int) -> NDArray[np.int64]:
        """Return the cells whose records are most at risk, the worst first."""
        shift = np.where(self.risk.at_risk, self.risk.shift, -math.inf)
        worst = np.argsort(-shift, kind="stable")[: min(most, int(self.risk.at_risk.sum()))]
        return worst.astype(np.int64)

    def label(self, cell: int) -> dict[str, str] | int:
        """Return the levels of a cell by column, or its number where columns are not known."""
        return cell if self.cells is None else self.cells.label(cell)

    def _worst(self, cell: int) -> dict[str, Any]:
        half = float(self.risk.absolute(0.5)[cell])
        return {
            "cell": self.label(cell),
            "records": int(self.risk.records[cell]),
            "from_half": half,
        }

    def _named(self, found: Outside) -> dict[str, Any]:
        return {
            "cell": self.label(found.cell),
            "records": found.records,
            "priors": [{"lower": low, "upper": high} for low, high in found.priors],
        }

    def _repr_html_(self) -> str:
        rows = [[f"{value:.4g}" for value in self._at(prior).values()] for prior in self.shown]
        names = ("prior", "largest", "largest_relative", "average")
        return _table(self, names, rows)

    def __repr__(self) -> str:
        verdict = {True: "acceptable", False: "unacceptable", None: "no_region"}[self.acceptable]
        outside = f"{self.records_outside} {say('synthetic.assessment.records_outside')}"
        return f"Assessment({say(f'synthetic.assessment.{verdict}')}, {outside})"


def _table(
    result: Assessment | Search, names: Sequence[str], rows: list[list[str]], *first: str
) -> str:
    """Return a table for a notebook that says that it is confidential."""
    header = [*first, *(say(f"synthetic.assessment.{name}") for name in names)]
    return html_grid(f"{result!r}. {say('synthetic.confidential')}", header, rows)


def assess_counts(
    original: ArrayLike,
    candidate: ArrayLike,
    *,
    region: Region | str | None = None,
    priors: Sequence[float] | None = None,
    prior_range: tuple[float, float] = (0.0, 1.0),
    known: Sequence[str] = (),
    intruders: Mapping[str, Any] | None = None,
    cells: Cells | None = None,
    **how: Any,
) -> Assessment:
    """Judge a candidate against its original, both counted over the same cells.

    `region` is what is acceptable; `priors` the intruder's priors to judge it at, or `prior_range`
    an interval of them, judged exactly (all priors, if neither is given). `known` names the columns
    that the intruder knows of the target. `intruders` are more of them, by name: what each knows
    and believes (`identification.Intruder`). `how` goes on to `risk`: the law of the candidate, the
    `alternatives`, and `sampled`, the chance that the intruder gives the target to be in the data.
    """
    accepted = Region.parse(region) if isinstance(region, str) else region
    if (known or intruders) and cells is None:
        raise InputError("synthetic.known_without_cells")
    groups = cells.groups(known) if known and cells is not None else None
    found = risk(original, candidate, groups=groups, **how)
    s = as_counts("candidate", candidate)
    views: tuple[dict[str, Any], ...] = ()
    if intruders and cells is not None:
        if found.law is None:
            raise InputError("synthetic.no_law")
        declared = [Intruder.of(name, given) for name, given in intruders.items()]
        views = tuple(seen_by(one, found.records, s, cells, found.law) for one in declared)
    at = None if priors is None else np.sort(check_prior(list(priors)))
    outside: tuple[Outside, ...] = ()
    if accepted is not None and at is None:
        outside = _over_range(found, accepted, prior_range)
    elif accepted is not None and at is not None:
        outside = _at_points(found, accepted, at)
    gap = None if cells is None else distances(found.records, s, cells)
    return Assessment(
        found,
        None if found.law is None else found.law.epsilon,
        None if accepted is None else not outside,
        outside,
        gap,
        cells,
        _SHOWN if priors is None or len(priors) > 20 else tuple(priors),
        views,
        s,
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
class Search(Confidential, Tabular):
    """What became of the candidates of each budget. Confidential; nothing of it is written.

    `chosen` is the first candidate of the largest acceptable budget, one row of counts a copy.
    """

    shows: ClassVar = ("epsilon", "acceptable", "candidates", "risk", "utility")

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
    def risk(self) -> dict[str, Any]:
        """What was found at each budget."""
        return {"budgets": self.rows}

    @property
    def utility(self) -> float | None:
        """The distance from the original at the chosen budget."""
        chosen = (row["distance"] for row in self.rows if row["epsilon"] == self.epsilon)
        return next(chosen, None)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return what was found at each budget. Confidential."""
        return columns_from(self.rows)

    def _repr_html_(self) -> str:
        rows = [[f"{value:g}" for value in row.values()] for row in self.rows]
        names = ("inside", "records_outside", "largest", "prior", "distance")
        return _table(self, names, rows, "epsilon")

    def __repr__(self) -> str:
        best = "none" if self.epsilon is None else f"{self.epsilon:g}"
        return f"Search(largest acceptable epsilon: {best}, of {len(self.rows)})"


def search(
    original: ArrayLike,
    epsilons: Sequence[float],
    *,
    region: Region | str | None,
    n_synthetic: int,
    candidates: int = 10,
    copies: int = 1,
    records: int = 1,
    weights: Sequence[int] | None = None,
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
        raise InputError("synthetic.no_epsilons")
    if region is None:
        raise InputError("synthetic.no_region")
    accepted = Region.parse(region) if isinstance(region, str) else region
    whole("candidates", candidates)
    take = draw or draw_copies
    # The risk is shown at the largest prior that is judged; of a range, at its middle.
    shown = max(how.get("priors") or [sum(how.get("prior_range", (0.0, 1.0))) / 2])
    rows, best = [], None
    for epsilon in sorted(set(epsilons)):
        law = Synthesizer.of(
            epsilon,
            n_synthetic=n_synthetic,
            cells=x.size,
            copies=copies,
            records=records,
            weights=weights,
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
                "largest": max(float(np.nanmax(one.risk.absolute(shown))) for one in judged),
                "prior": shown,
                "distance": math.fsum(gaps) / len(gaps),
            }
        )
        if inside == candidates:
            best = (float(epsilon), files[0], law)
    if best is None:
        return Search(tuple(rows), None, candidates)
    return Search(tuple(rows), best[0], candidates, best[1], best[2])


def _gap(x: NDArray[np.int64], s: NDArray[np.int64]) -> float:
    return float(np.abs(x / x.sum() - s / s.sum()).sum() / 2)


# -- from files and specs


def assess(
    original: Any,
    candidate: Any = None,
    *,
    region: Region | str | None = None,
    epsilons: Sequence[float] | None = None,
    candidates: int = 10,
    data: Any = None,
    link: bool = False,
    no_guarantee: bool = False,
    confirm: Confirm | None = None,
    who: str | None = None,
    **how: Any,
) -> Assessment | Search | Synthesis | Linkage:
    """Judge the record-level risk of a candidate, or find the largest budget that is acceptable.

    - `assess(counts, candidate_counts, epsilon=…)`: counts over the same cells; see `assess_counts`
      for everything else it takes, such as `log_likelihood` for a file of another synthesizer.
    - `assess(spec, candidate)`: a file (CSV, Parquet, or the folder of a release) or a table in
      memory, made from the spec's source. A file of ours is read with its description; for another
      give `synthesizer` or `log_likelihood`.
    - `assess(spec, candidate, link=True, known=[…])`: a partially synthetic file, whose rows name
      the unit they were made from: how often the known columns link a row to the right person.
    - `assess(spec, epsilons=[…], region=…)`: draw `candidates` files at each budget, in memory, and
      find the largest budget whose candidates all stay inside the region. Nothing is written,
      unless with `no_guarantee`: then all of them are charged first, and the chosen one is written,
      marked as having no guarantee.

    `data` is a table to use instead of the spec's source.
    """
    is_spec = isinstance(original, (str, Path, Mapping)) or hasattr(original, "ledger_url")
    if no_guarantee and (epsilons is None or not is_spec):
        raise InputError("synthetic.no_guarantee_needs")
    if candidate is not None and epsilons is not None:
        raise InputError("synthetic.candidate_and_epsilons")
    if epsilons is not None and (link or how.get("intruders")):
        raise InputError("synthetic.of_one_candidate")
    if link and region is not None:
        raise InputError("synthetic.region_of_links")
    if not is_spec:
        if epsilons is not None:
            return search(original, epsilons, region=region, candidates=candidates, **how)
        return assess_counts(original, candidate, region=region, **how)
    asked = _loaded(original)
    if link:
        if candidate is None:
            raise InputError("synthetic.no_candidate")
        return linked(
            asked,
            lambda: _opened(asked.source, asked.path, data),
            lambda: _candidate(candidate),
            tuple(how.get("known", ())),
            how.get("sampled"),
        )
    cells = asked.cells()
    if epsilons is None:
        return _one(asked, cells, data, candidate, region, how)
    how |= {"region": region, "candidates": whole("candidates", candidates)}
    if no_guarantee:
        return _chosen(asked, cells, data, sorted(set(epsilons)), how, confirm, who)
    return _searched(asked, cells, _counted(asked, cells, data), epsilons, how)


def _opened(source: Any, path: Callable[[str], Path], data: Any = None) -> Engine:
    """Open the rows of a file or of data, with what the `release` extra brings."""
    from discreet.releases.engines import opened

    return opened(source, path, data)


def _loaded(spec: SyntheticSpec | str | Path | Mapping[str, Any]) -> SyntheticSpec:
    try:
        from discreet.synthetic.pipeline import loaded
    except ModuleNotFoundError as fault:
        raise missing("A spec", fault) from None
    return loaded(spec)


def _one(
    asked: SyntheticSpec,
    cells: Cells,
    data: Any,
    candidate: Any,
    region: Region | str | None,
    how: dict[str, Any],
) -> Assessment:
    if candidate is None:
        raise InputError("synthetic.no_candidate")
    if isinstance(candidate, (str, Path)):
        path = Path(candidate)
        if not how.keys() & {"synthesizer", "log_likelihood", "epsilon"}:
            how["synthesizer"] = _described(path, cells)
    with closing(_candidate(candidate)) as engine:
        counted = files.candidate_counts(engine, cells)
    return assess_counts(_counted(asked, cells, data), counted, region=region, cells=cells, **how)


def _candidate(candidate: Any) -> Engine:
    """Open a candidate: a file, the folder of a release, or a table in memory."""
    if not isinstance(candidate, (str, Path)):
        return _opened(None, Path, candidate)
    path = Path(candidate)
    file = path / "table.parquet" if path.is_dir() else path
    return _opened(str(file), lambda name: Path(name).resolve())


def _described(candidate: Path, cells: Cells) -> Synthesizer:
    """Return how a file of ours was made, from the description beside it."""
    said = files.read_description(candidate)
    if said.get("columns") != cells.to_dict()["columns"]:
        raise InputError("synthetic.candidate_of_another_spec")
    return Synthesizer.from_dict(said["synthesizer"])


def _chosen(
    asked: SyntheticSpec,
    cells: Cells,
    data: Any,
    epsilons: Sequence[float],
    how: dict[str, Any],
    confirm: Confirm | None,
    who: str | None,
) -> Search | Synthesis:
    """Charge every candidate, draw them all, and write the chosen one without a guarantee."""
    from discreet.ledger import Ledger
    from discreet.releases.charge import Charging
    from discreet.releases.pricing import allowance
    from discreet.synthetic.pipeline import Synthesis, law_for, published

    laws = [law_for(asked, epsilon, cells) for epsilon in epsilons]
    total = _all_of([law.epsilon for law in laws], how["candidates"])
    charge = PureDP(total, adjacency=asked.protect.adjacency)  # type: ignore[arg-type]
    drawn, ledger = len(laws) * how["candidates"], Ledger.open(asked.ledger_url)
    allowance(asked, ledger.found(asked.account))  # refuses a spec that asks for nothing
    purpose = say("synthetic.assessment.purpose", purpose=asked.purpose, candidates=drawn)
    wanted = Charging(asked, ledger, charge, purpose=purpose, guaranteed=False)
    with closing(_opened(asked.source, asked.path, data)) as engine:
        files.check_columns(engine, asked)
        with wanted.paid(confirm, None, who) as paid:
            counts = files.original_counts(engine, asked, cells)
            found = _searched(asked, cells, counts, epsilons, how)
            law = found.synthesizer
            if found.chosen is None or law is None:
                return found
            written, left = published(paid, asked, law, cells, found.chosen)
    spent = parameters(epsilon=total)
    return Synthesis(paid.release_id, law, None, cells, asked.n, spent, left, written, found)


def _all_of(epsilons: Sequence[float], candidates: int) -> float:
    """Return the ε of all candidates together: the exact sum, rounded up to a float."""
    return double_above(sum(map(Fraction, epsilons), Fraction(0)) * candidates)


def _searched(
    asked: SyntheticSpec,
    cells: Cells,
    counts: NDArray[np.int64],
    epsilons: Sequence[float],
    how: dict[str, Any],
) -> Search:
    return search(
        counts,
        epsilons,
        n_synthetic=asked.n_synthetic,
        copies=asked.copies,
        records=asked.records,
        weights=cells.weights(asked.weights) if asked.weights else None,
        cells=cells,
        **how,
    )


def _counted(asked: SyntheticSpec, cells: Cells, data: Any) -> NDArray[np.int64]:
    with closing(_opened(asked.source, asked.path, data)) as engine:
        files.check_columns(engine, asked)
        return files.original_counts(engine, asked, cells)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExpectedRisk(JsonReady, Tabular):
    """How much the risk of a record rises on average, before any data: nothing confidential."""

    n: int
    n_synthetic: int
    expected: tuple[dict[str, float], ...]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the rise for each budget, share and prior."""
        return columns_from(self.expected)

    def __repr__(self) -> str:
        return f"ExpectedRisk({len(self.expected)} rows, n = {self.n})"


def expected_risk(
    spec: SyntheticSpec | str | Path | Mapping[str, Any],
    epsilons: Sequence[float] | None = None,
    shares: Sequence[float] | None = None,
    priors: Sequence[float] | None = None,
) -> ExpectedRisk:
    """Return the table of expected risk (ER, M&R Table 1) for one yes-or-no question of a file.

    The spec gives the public size of the data, how many records are drawn and, unless `epsilons`
    are given, the budget. No row is read.
    """
    asked = _loaded(spec)
    if asked.n is None:
        raise InputError("synthetic.expected_needs_n")
    drawn = asked.n_synthetic * asked.copies
    given = None if asked.budget is None else asked.budget.epsilon
    budgets = epsilons or ([] if given is None else [given])
    if not budgets:
        raise InputError("synthetic.expected_needs_epsilon")
    blur = asked.cells().weights(asked.weights) if asked.weights else (1, 1)
    if len(blur) != 2:
        raise InputError("synthetic.expected_weights")
    rows = tuple(
        {
            "epsilon": float(epsilon),
            "share": share,
            "prior": prior,
            "increase": expected_risk_increase(
                share, epsilon=epsilon, n=asked.n, n_synthetic=drawn, prior=prior, weights=blur
            ),
        }
        for prior in priors or (0.5,)
        for share in shares or _SHARES
        for epsilon in sorted(budgets)
    )
    return ExpectedRisk(asked.n, drawn, rows)
