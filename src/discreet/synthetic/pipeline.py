"""From one spec to a charged synthetic file.

    spec ──> reserve ──> count (engine) ──> draw (exact) ──> files ──> commit ──> shown

Each file is drawn once, after its charge. What is counted stays in memory, and no number of it
leaves but the drawn file: the description holds what the spec says and nothing that was read.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.frames import Tabular, html_grid
from discreet.guarantees import PureDP, parameters
from discreet.lazily import missing
from discreet.releases.engines.opening import opened
from discreet.statements import PRIORS
from discreet.synthetic import source, wording
from discreet.synthetic.assessment import Search, draw_copies
from discreet.synthetic.cells import Cells
from discreet.synthetic.law import Synthesizer
from discreet.synthetic.records import worst_case

if TYPE_CHECKING:
    from discreet.releases.confirmation import Confirm, Say
    from discreet.synthetic.spec import SyntheticSpec

__all__ = ["Synthesis", "loaded", "synthesize"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Synthesis(Tabular):
    """A synthetic file as released, or (`release_id` None) what it would cost.

    `judged` is there for a file that was chosen among candidates: it has no guarantee then.
    """

    release_id: str | None
    synthesizer: Synthesizer
    guarantee: PureDP | None
    cells: Cells
    n: int | None
    spent: Mapping[str, Any]
    remaining: Mapping[str, Any] | None
    files: tuple[Path, ...]
    judged: Search | None = None
    notes: tuple[str, ...] = ()

    @property
    def statement(self) -> Path | None:
        """Where the statement is."""
        return next((path for path in self.files if path.name == "statement.md"), None)

    @property
    def prior_share(self) -> float | None:
        """The share of the file that comes from the blur, Kα/(n + Kα); None if n is not public."""
        if self.n is None:
            return None
        blur = self.synthesizer.cells * float(self.synthesizer.alpha)
        return blur / (self.n + blur)

    def to_dict(self) -> dict[str, Any]:
        """Return the release, JSON-ready. Its risk is the worst case of any file: no data in it."""
        law, promise = self.synthesizer, self.guarantee
        return {
            "release_id": self.release_id,
            "epsilon": law.epsilon,
            "guarantee": "none" if promise is None else promise.to_dict(),
            **({"reason": wording.NO_GUARANTEE} if promise is None else {}),
            "spent": dict(self.spent),
            "remaining": None if self.remaining is None else dict(self.remaining),
            "synthesizer": law.to_dict(),
            "risk": None if promise is None else {"worst_case": self._worst_case()},
            "acceptable": None if self.judged is None else self.judged.acceptable,
            "utility": {"prior_share": self.prior_share, "alpha": float(law.alpha)},
            "files": [str(path) for path in self.files],
            "statement": None if self.statement is None else str(self.statement),
            "notes": list(self.notes),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the synthetic records, read from the stored table; none in a dry run."""
        table = next((path for path in self.files if path.name == "table.csv"), None)
        if table is None:
            return {}
        with table.open(encoding="utf-8", newline="") as lines:
            names, *rows = csv.reader(lines)
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}

    def _worst_case(self) -> list[dict[str, Any]]:
        if self.guarantee is None:
            return []
        return worst_case(self.synthesizer.epsilon, PRIORS)

    def _repr_html_(self) -> str:
        rows = [[f"{row['prior']:g}", f"{row['posterior']:.4g}"] for row in self._worst_case()]
        return html_grid(repr(self), ["prior", "posterior at most"], rows)

    def __repr__(self) -> str:
        what = self.release_id or "not drawn"
        return f"Synthesis({what}, epsilon={self.synthesizer.epsilon:g}, {self.cells!r})"


def synthesize(
    spec: SyntheticSpec | str | Path | Mapping[str, Any],
    *,
    data: Any = None,
    folder: str | Path | None = None,
    dry_run: bool = False,
    confirm: Confirm | None = None,
    say: Say | None = None,
    who: str | None = None,
) -> Synthesis:
    """Draw a synthetic file from a spec, charged to its account before anything is read.

    `data` is a pandas, Polars or Arrow table to use instead of the spec's source. `dry_run` spends
    nothing and reads the schema only. `confirm` is asked before a second run of the same spec,
    which is a new, charged file; without it such a run is refused.
    """
    asked = loaded(spec, folder)
    from discreet.releases.recovery import charged_for
    from discreet.synthetic.releasing import Desk, budget_of, law_for

    cells, desk = asked.cells(), Desk.of(asked)
    epsilon, promise = budget_of(asked, desk.ledger.found(asked.account))
    law = law_for(asked, epsilon, cells)
    charge = law.guarantee(asked.protect.adjacency)
    spent = parameters(epsilon=law.epsilon)
    with closing(opened(asked.source, asked.path, data)) as engine:
        source.check_columns(engine, asked)
        if dry_run:
            left, notes = desk.preview(charge, promise)
            return Synthesis(None, law, charge, cells, asked.n, spent, left, (), notes=notes)
        entry = desk.reserve(
            charge, purpose=asked.purpose, who=who, promise=promise, confirm=confirm, say=say
        )
        with charged_for(f"the charge of {entry.release_id} stays spent"):
            counts = source.original_counts(engine, asked, cells)
    written = desk.publish(entry, law, cells, draw_copies(law, counts), charge)
    return Synthesis(
        entry.release_id, law, charge, cells, asked.n, spent, desk.remaining(), written
    )


def loaded(
    spec: SyntheticSpec | str | Path | Mapping[str, Any], folder: str | Path | None = None
) -> SyntheticSpec:
    """Return the spec itself, or read it from a file or a mapping."""
    try:
        from discreet.synthetic.spec import SyntheticSpec, load
    except ModuleNotFoundError as fault:
        raise missing("A spec", fault) from None
    return spec if isinstance(spec, SyntheticSpec) else load(spec, folder=folder)
