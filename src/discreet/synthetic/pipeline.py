"""From one spec to a charged synthetic file, and from a candidate to its judgement.

    spec ──> reserve ──> count (engine) ──> draw (exact) ──> write ──> commit

Charge before draw: the ledger records ε durably before anything of the data is used; a crash may
lose the file, never the charge. Each file is drawn once. What is counted stays in memory.

`assess` reads the original without charging it: its results are confidential and are written
nowhere. The one way to publish a file chosen by them is `no_guarantee`: then every candidate is
charged before the first is drawn, and the file says that it carries no guarantee. The region is
secret: it enters no ledger, no description and no statement.
"""

from __future__ import annotations

import getpass
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.guarantees import PureDP, parameters
from discreet.rounding import up
from discreet.synthetic import files, source, wording
from discreet.synthetic.assessment import Assessment, Search, assess_counts, draw_copies, search
from discreet.synthetic.cells import Cells
from discreet.synthetic.law import Synthesizer, whole
from discreet.synthetic.region import Region

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.ledger import Entry, Ledger
    from discreet.synthetic.spec import SyntheticSpec

__all__ = ["Synthesis", "assess", "synthesize"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Synthesis:
    """A synthetic file as released, or (`release_id` None) what it would cost."""

    release_id: str | None
    synthesizer: Synthesizer
    guarantee: PureDP | None
    cells: Cells
    n: int | None
    spent: Mapping[str, Any]
    remaining: Mapping[str, Any]
    paths: tuple[Path, ...]
    judged: Search | None = None

    @property
    def prior_share(self) -> float | None:
        """The share of the file that comes from the blur, Kα/(n + Kα); None if n is not public."""
        if self.n is None:
            return None
        blur = self.synthesizer.cells * float(self.synthesizer.alpha)
        return blur / (self.n + blur)

    def to_dict(self) -> dict[str, Any]:
        """Return the release, JSON-ready."""
        where = {path.name: str(path) for path in self.paths}
        law = self.synthesizer
        return {
            "release_id": self.release_id,
            "epsilon": law.epsilon,
            "guarantee": "none" if self.guarantee is None else self.guarantee.to_dict(),
            **({"reason": wording.NO_GUARANTEE} if self.guarantee is None else {}),
            "spent": dict(self.spent),
            "remaining": dict(self.remaining),
            "synthesizer": law.to_dict(),
            "risk": None
            if self.guarantee is None
            else {"worst_case": self._worst_case(), "adjacency": self.guarantee.adjacency.value},
            "acceptable": None if self.judged is None else self.judged.acceptable,
            "utility": {"prior_share": self.prior_share, "alpha": float(law.alpha)},
            "files": sorted(where.values()),
            "statement": where.get("statement.md"),
        }

    def _worst_case(self) -> list[dict[str, Any]]:
        from discreet.synthetic.records import worst_case

        return worst_case(self.synthesizer.epsilon, wording.PRIORS)

    def __repr__(self) -> str:
        what = self.release_id or "not drawn"
        return f"Synthesis({what}, epsilon={self.synthesizer.epsilon:g}, {self.cells!r})"


def synthesize(
    spec: SyntheticSpec | str | Path | Mapping[str, Any],
    data: Any = None,
    *,
    dry_run: bool = False,
    who: str | None = None,
) -> Synthesis:
    """Draw a synthetic file from a spec, charged to its account before anything is drawn.

    `data` replaces the spec's `source`: a pandas, Polars or Arrow table. `dry_run` spends nothing
    and reads the schema only.
    """
    asked = _loaded(spec)
    cells = asked.cells()
    budget, check = _budget(asked)
    law = _law(asked, budget, cells)
    promise = law.guarantee(asked.protect.adjacency)
    with source.opened(asked.source, source.source_path(asked), data) as engine:
        source.check_columns(engine, asked)
        ledger = _ledger(asked)
        if dry_run:
            left = _remaining(ledger, asked)
            return Synthesis(None, law, promise, cells, asked.n, promise.to_dict(), left, ())
        entry = _reserved(ledger, asked, promise, asked.purpose, who, check)
        counts = source.original_counts(engine, asked, cells)
    drawn = draw_copies(law, counts)
    paths = _published(ledger, entry, asked, law, cells, drawn)
    left = _remaining(ledger, asked)
    spent = parameters(epsilon=law.epsilon)
    return Synthesis(entry.release_id, law, promise, cells, asked.n, spent, left, tuple(paths))


def assess(
    original: Any,
    candidate: Any = None,
    *,
    region: Region | str | None = None,
    epsilons: Sequence[float] | None = None,
    candidates: int = 10,
    data: Any = None,
    no_guarantee: bool = False,
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
    """
    if no_guarantee and (epsilons is None or not _is_spec(original)):
        raise InputError(
            "no_guarantee writes a file chosen among candidates: it needs a spec, and epsilons to "
            "draw the candidates at."
        )
    if not _is_spec(original):
        if epsilons is not None:
            return search(original, epsilons, region=_wanted(region), candidates=candidates, **how)
        return assess_counts(original, candidate, region=region, **how)
    asked = _loaded(original)
    cells = asked.cells()
    if epsilons is None:
        return _one(asked, cells, data, candidate, region, how)
    if candidate is not None:
        raise InputError("Give either a candidate or epsilons to draw candidates at, not both.")
    if no_guarantee:
        return _written(asked, cells, data, epsilons, candidates, _wanted(region), who, how)
    counts = _counted(asked, cells, data)
    return _searched(asked, cells, counts, epsilons, candidates, _wanted(region), how)


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
        if "synthesizer" not in how and "log_likelihood" not in how:
            described = files.read_description(path)
            if described.get("columns") != cells.to_dict()["columns"]:
                raise InputError(
                    "The candidate was made over other columns or levels than the spec's; give the "
                    "spec that it was made from."
                )
            how["synthesizer"] = Synthesizer.from_dict(described["synthesizer"])
        file = path / "table.parquet" if path.is_dir() else path
        with source.opened(str(file), file.resolve()) as engine:
            counted = source.candidate_counts(engine, cells)
    else:
        with source.opened(None, None, candidate) as engine:
            counted = source.candidate_counts(engine, cells)
    return assess_counts(_counted(asked, cells, data), counted, region=region, cells=cells, **how)


def _written(
    asked: SyntheticSpec,
    cells: Cells,
    data: Any,
    epsilons: Sequence[float],
    candidates: int,
    region: Region | str,
    who: str | None,
    how: dict[str, Any],
) -> Search | Synthesis:
    """Charge every candidate, draw them all, and write the chosen one without a guarantee."""
    tried = sorted(set(epsilons))
    laws = [_law(asked, epsilon, cells) for epsilon in tried]
    total = up(math.fsum(law.epsilon for law in laws) * whole("candidates", candidates))
    promise = PureDP(total, adjacency=asked.protect.adjacency)  # type: ignore[arg-type]
    ledger = _ledger(asked)
    with source.opened(asked.source, source.source_path(asked), data) as engine:
        source.check_columns(engine, asked)
        purpose = f"{asked.purpose} (guarantee: none; {len(laws) * candidates} candidates)"
        entry = _reserved(ledger, asked, promise, purpose, who, None)
        counts = source.original_counts(engine, asked, cells)
    found = _searched(asked, cells, counts, tried, candidates, region, how)
    if found.chosen is None or found.synthesizer is None:
        return found
    law = found.synthesizer
    paths = _published(ledger, entry, asked, law, cells, found.chosen, guaranteed=False)
    spent, left = parameters(epsilon=total), _remaining(ledger, asked)
    return Synthesis(entry.release_id, law, None, cells, asked.n, spent, left, tuple(paths), found)


def _searched(
    asked: SyntheticSpec,
    cells: Cells,
    counts: NDArray[np.int64],
    epsilons: Sequence[float],
    candidates: int,
    region: Region | str,
    how: dict[str, Any],
) -> Search:
    return search(
        counts,
        epsilons,
        region=region,
        n_synthetic=asked.n_synthetic,
        candidates=candidates,
        copies=asked.copies,
        records=asked.records,
        cells=cells,
        **how,
    )


def _published(
    ledger: Ledger,
    entry: Entry,
    asked: SyntheticSpec,
    law: Synthesizer,
    cells: Cells,
    drawn: NDArray[np.int64],
    *,
    guaranteed: bool = True,
) -> list[Path]:
    release_id = str(entry.release_id)
    paths, digest = files.write(
        asked.path(asked.output),
        release_id,
        cells,
        list(drawn),
        wording.describe(asked, law, cells, release_id, guaranteed=guaranteed),
        wording.statement(asked, law, cells, guaranteed=guaranteed),
    )
    ledger.commit(release_id, digest)
    return paths


def _counted(asked: SyntheticSpec, cells: Cells, data: Any) -> NDArray[np.int64]:
    with source.opened(asked.source, source.source_path(asked), data) as engine:
        source.check_columns(engine, asked)
        return source.original_counts(engine, asked, cells)


def _is_spec(value: Any) -> bool:
    return isinstance(value, (str, Path, Mapping)) or hasattr(value, "ledger_url")


def _loaded(spec: SyntheticSpec | str | Path | Mapping[str, Any]) -> SyntheticSpec:
    try:
        from discreet.synthetic.spec import SyntheticSpec, load
    except ModuleNotFoundError:
        raise InputError("A spec needs pydantic; install discreet[release].") from None
    return spec if isinstance(spec, SyntheticSpec) else load(spec)


def _wanted(region: Region | str | None) -> Region | str:
    if region is None:
        raise InputError("Give the acceptable region, such as 'RR <= 10 if R <= 0.1'.")
    return region


def _law(asked: SyntheticSpec, epsilon: float, cells: Cells) -> Synthesizer:
    return Synthesizer.of(
        epsilon,
        n_synthetic=asked.n_synthetic,
        cells=cells.size,
        copies=asked.copies,
        records=asked.records,
    )


def _budget(asked: SyntheticSpec) -> tuple[float, Any]:
    """Return ε, and the check of the account's whole spending if a tolerance asks for one."""
    if asked.budget is not None and asked.budget.epsilon is not None:
        return asked.budget.epsilon, None
    raise InputError("a tolerance cannot be read yet; give budget: {epsilon: …}.")


def _ledger(asked: SyntheticSpec) -> Ledger:
    from discreet.ledger import Ledger

    return Ledger.open(asked.ledger_url)


def _reserved(
    ledger: Ledger,
    asked: SyntheticSpec,
    promise: PureDP,
    purpose: str,
    who: str | None,
    check: Any,
) -> Entry:
    return ledger.reserve(
        asked.account,
        promise,
        purpose=purpose,
        who=who or _user(),
        spec_hash=asked.hash,
        tolerance_check=check,
        unit=asked.protect.unit,
    )


def _remaining(ledger: Ledger, asked: SyntheticSpec) -> dict[str, Any]:
    from discreet.ledger.accounts import remaining_dict

    protect = asked.protect
    account = ledger.account(asked.account, unit=protect.unit, adjacency=protect.adjacency)
    account.require(unit=protect.unit, adjacency=protect.adjacency)
    return remaining_dict(account.remaining)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
