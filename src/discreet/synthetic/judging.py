"""`assess`: a candidate judged from its files, or the budgets of a spec tried in memory.

It reads the original without charging it: its results are confidential and are written nowhere. The
one way to publish a file that they chose is `no_guarantee`: then every candidate is charged before
the first is drawn, and the file says that it carries no guarantee. The region is secret: it enters
no ledger, no description and no statement.

Where a unit has more records than the spec allows it, those that count are drawn at random anew for
every file, so the counts of an earlier file are known only approximately; where no unit has, they
are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.guarantees import PureDP, parameters
from discreet.releases.engines import opened
from discreet.synthetic import files, source
from discreet.synthetic.assessment import Assessment, Search, assess_counts, search
from discreet.synthetic.cells import Cells
from discreet.synthetic.law import Synthesizer, whole
from discreet.synthetic.pipeline import Synthesis, loaded
from discreet.synthetic.region import Region

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.releases.confirmation import Confirm
    from discreet.synthetic.spec import SyntheticSpec

__all__ = ["assess"]


def assess(
    original: Any,
    candidate: Any = None,
    *,
    region: Region | str | None = None,
    epsilons: Sequence[float] | None = None,
    candidates: int = 10,
    data: Any = None,
    no_guarantee: bool = False,
    confirm: Confirm | None = None,
    who: str | None = None,
    **how: Any,
) -> Assessment | Search | Synthesis:
    """Judge the record-level risk of a candidate, or find the largest budget that is acceptable.

    - `assess(counts, candidate_counts, epsilon=…)`: counts over the same cells; see `assess_counts`
      for everything else it takes, such as `log_likelihood` for a file of another synthesizer.
    - `assess(spec, candidate)`: a file (CSV, Parquet, or the folder of a release) or a table in
      memory, made from the spec's source. A file of ours is read with its description; for another
      give `synthesizer` or `log_likelihood`.
    - `assess(spec, epsilons=[…], region=…)`: draw `candidates` files at each budget, in memory, and
      find the largest budget whose candidates all stay inside the region. Nothing is written,
      unless with `no_guarantee`: then all of them are charged first, and the chosen one is written,
      marked as having no guarantee.

    `data` is a table to use instead of the spec's source.
    """
    is_spec = isinstance(original, (str, Path, Mapping)) or hasattr(original, "ledger_url")
    if no_guarantee and (epsilons is None or not is_spec):
        raise InputError(
            "no_guarantee writes a file chosen among candidates: it needs a spec, and epsilons to "
            "draw the candidates at."
        )
    if candidate is not None and epsilons is not None:
        raise InputError("Give either a candidate or epsilons to draw candidates at, not both.")
    if not is_spec:
        if epsilons is not None:
            return search(original, epsilons, region=_wanted(region), candidates=candidates, **how)
        return assess_counts(original, candidate, region=region, **how)
    asked = loaded(original)
    cells = asked.cells()
    if epsilons is None:
        return _one(asked, cells, data, candidate, region, how)
    how |= {"region": _wanted(region), "candidates": whole("candidates", candidates)}
    if no_guarantee:
        return _chosen(asked, cells, data, sorted(set(epsilons)), how, confirm, who)
    return _searched(asked, cells, _counted(asked, cells, data), epsilons, how)


def _one(
    asked: SyntheticSpec,
    cells: Cells,
    data: Any,
    candidate: Any,
    region: Region | str | None,
    how: dict[str, Any],
) -> Assessment:
    if candidate is None:
        raise InputError("Give a candidate file, or epsilons to draw candidates at.")
    if isinstance(candidate, (str, Path)):
        path = Path(candidate)
        if not how.keys() & {"synthesizer", "log_likelihood", "epsilon"}:
            how["synthesizer"] = _described(path, cells)
        file = path / "table.parquet" if path.is_dir() else path
        found = opened(str(file), lambda name: Path(name).resolve())
    else:
        found = opened(None, Path, candidate)
    with closing(found) as engine:
        counted = source.candidate_counts(engine, cells)
    return assess_counts(_counted(asked, cells, data), counted, region=region, cells=cells, **how)


def _described(candidate: Path, cells: Cells) -> Synthesizer:
    """Return how a file of ours was made, from the description beside it."""
    said = files.read_description(candidate)
    if said.get("columns") != cells.to_dict()["columns"]:
        raise InputError(
            "The candidate was made over other columns or levels than the spec's; give the spec "
            "that it was made from."
        )
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
    from discreet.releases.recovery import charged_for
    from discreet.synthetic.releasing import Desk, budget_of, law_for

    laws = [law_for(asked, epsilon, cells) for epsilon in epsilons]
    total = _all_of([law.epsilon for law in laws], how["candidates"])
    charged = PureDP(total, adjacency=asked.protect.adjacency)  # type: ignore[arg-type]
    drawn, desk = len(laws) * how["candidates"], Desk.of(asked)
    promise = budget_of(asked, desk.ledger.found(asked.account))[1]
    with closing(opened(asked.source, asked.path, data)) as engine:
        source.check_columns(engine, asked)
        purpose = f"{asked.purpose} (guarantee: none; one of {drawn} candidates)"
        entry = desk.reserve(
            charged, purpose=purpose, who=who, promise=promise, confirm=confirm, guaranteed=False
        )
        with charged_for(f"the charge of {entry.release_id} stays spent"):
            counts = source.original_counts(engine, asked, cells)
    found = _searched(asked, cells, counts, epsilons, how)
    law = found.synthesizer
    if found.chosen is None or law is None:
        return found
    written = desk.publish(entry, law, cells, found.chosen, charged, guaranteed=False)
    spent, left = parameters(epsilon=total), desk.remaining()
    return Synthesis(entry.release_id, law, None, cells, asked.n, spent, left, written, found)


def _all_of(epsilons: Sequence[float], candidates: int) -> float:
    """Return the ε of all candidates together: the exact sum, rounded up to a float."""
    exact = sum(map(Fraction, epsilons)) * candidates
    total = float(exact)
    return total if Fraction(total) >= exact else math.nextafter(total, math.inf)


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
        cells=cells,
        **how,
    )


def _counted(asked: SyntheticSpec, cells: Cells, data: Any) -> NDArray[np.int64]:
    with closing(opened(asked.source, asked.path, data)) as engine:
        source.check_columns(engine, asked)
        return source.original_counts(engine, asked, cells)


def _wanted(region: Region | str | None) -> Region | str:
    if region is None:
        raise InputError("Give the acceptable region, such as 'RR <= 10 if R <= 0.1'.")
    return region
