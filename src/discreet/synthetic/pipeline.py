"""From one spec to a synthetic file, charged like every release (`releases.charge`).

Each file is drawn once, after its charge. What is counted stays in memory, and no number of it
leaves but the drawn file: the description holds what the spec says and nothing that was read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError
from discreet.frames import Tabular, html_grid
from discreet.guarantees import PureDP
from discreet.lazily import missing
from discreet.promises import delta_in
from discreet.releases.engines import opened
from discreet.rounding import number
from discreet.statements import PRIORS, learned_lines, promise_lines
from discreet.statements.tables import flat
from discreet.synthetic import files
from discreet.synthetic.assessment import Search
from discreet.synthetic.cells import Cells
from discreet.synthetic.law import Synthesizer, draw_copies
from discreet.synthetic.records import worst_case
from discreet.words import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.releases.charge import Confirm, Outlook, Paid, Say
    from discreet.synthetic.spec import SyntheticSpec

_SHARES = (0.01, 0.1, 0.3, 0.5)

NO_GUARANTEE = say("synthetic.no_guarantee")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Synthesis(Tabular):
    """A synthetic file as released, or (`release_id` None) what it would cost.

    `judged` is there for a file that was chosen among candidates: it has no guarantee then.
    `outlook` is what the charge would do, in a dry run.
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
    outlook: Outlook | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know before the file is drawn."""
        return () if self.outlook is None else self.outlook.notes

    @property
    def statement(self) -> Path | None:
        """Where the statement is."""
        return next((path for path in self.files if path.name == "statement.md"), None)

    @property
    def prior_share(self) -> float | None:
        """The share of the file that comes from the blur, Kα/(n + Kα); None if n is not public."""
        if self.n is None:
            return None
        blur = float(self.synthesizer.alphas.sum())
        return blur / (self.n + blur)

    def expected_shares(self, shares: Sequence[float] = _SHARES) -> list[dict[str, float]]:
        """Return what true shares of one cell would look like in the file: none if n is not public.

        With θ = (n·share + α)/(n + Kα), a share in the file has mean θ and varies as a binomial.
        """
        if self.n is None:
            return []
        law, blurred = self.synthesizer, float(self.synthesizer.alpha)
        found = []
        for share in shares:
            mean = (self.n * share + blurred) / (self.n + law.cells * blurred)
            sd = math.sqrt(mean * (1 - mean) / law.draws)
            found.append({"share": share, "expected": mean, "within_95": 1.96 * sd})
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the release, JSON-ready. Its risk is the worst case of any file: no data in it."""
        law, promise = self.synthesizer, self.guarantee
        return {
            "release_id": self.release_id,
            "epsilon": law.epsilon,
            "guarantee": "none" if promise is None else promise.to_dict(),
            **({"reason": NO_GUARANTEE} if promise is None else {}),
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
        table = next((path for path in self.files if path.name == "table.parquet"), None)
        if table is None:
            return {}
        import pyarrow.parquet as pq

        found = pq.read_table(table).to_pydict()
        return {name: [str(value) for value in values] for name, values in found.items()}

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
    keys_from: str | Path | None = None,
) -> Synthesis:
    """Draw a synthetic file from a spec, charged to its account before anything is read.

    `data` is a pandas, Polars or Arrow table to use instead of the spec's source. `dry_run` spends
    nothing and reads the schema only. `confirm` is asked before a second run of the same spec,
    which is a new, charged file; without it such a run is refused. Files of keys lie below the
    spec's folder, or below `keys_from`.
    """
    asked = loaded(spec, folder, keys_from)
    from discreet.ledger import Ledger
    from discreet.releases.charge import Charging
    from discreet.releases.pricing import allowance, as_pure

    if delta_in(asked.promise_keys or {}):
        raise InputError("synthetic.delta_under_pure")
    cells, ledger = asked.cells(), Ledger.open(asked.ledger_url)
    law = law_for(asked, as_pure(allowance(asked, ledger.found(asked.account))), cells)
    charge = law.guarantee(asked.protect.adjacency)
    wanted = Charging(asked, ledger, charge)
    spent = wanted.spent
    with closing(opened(asked.source, asked.path, data)) as engine:
        files.check_columns(engine, asked)
        if dry_run:
            seen = wanted.outlook()
            now = seen.remaining
            return Synthesis(None, law, charge, cells, asked.n, spent, now, (), outlook=seen)
        with wanted.paid(confirm, say, who) as paid:
            counts = files.original_counts(engine, asked, cells)
            written, left = published(paid, asked, law, cells, draw_copies(law, counts))
    return Synthesis(paid.release_id, law, charge, cells, asked.n, spent, left, written)


def law_for(spec: SyntheticSpec, epsilon: float, cells: Cells) -> Synthesizer:
    """Return the synthesizer of a spec at a budget."""
    return Synthesizer.of(
        epsilon,
        n_synthetic=spec.n_synthetic,
        cells=cells.size,
        copies=spec.copies,
        records=spec.records,
        weights=cells.weights(spec.weights) if spec.weights else None,
    )


def published(
    paid: Paid, spec: SyntheticSpec, law: Synthesizer, cells: Cells, drawn: NDArray[np.int64]
) -> tuple[tuple[Path, ...], Mapping[str, Any]]:
    """Publish a file that was paid for; return its files, and what the account still allows."""
    told = _Told(spec, law, cells, paid.facts(), paid.charging.guaranteed)
    said: dict[str, Any] = {"kind": "synthetic", **told.facts, **told.description()}
    written = files.written(cells, list(drawn), said, told.statement())
    return paid.publish(written), told.facts["remaining"]


def loaded(
    spec: SyntheticSpec | str | Path | Mapping[str, Any],
    folder: str | Path | None = None,
    keys_from: str | Path | None = None,
) -> SyntheticSpec:
    """Return the spec itself, or read it from a file or a mapping."""
    try:
        from discreet.synthetic.spec import SyntheticSpec, load
    except ModuleNotFoundError as fault:
        raise missing("A spec", fault) from None
    if isinstance(spec, SyntheticSpec):
        return spec
    return load(spec, folder=folder, keys_from=keys_from)


# -- what a file says of itself


@dataclass(frozen=True, slots=True)
class _Told:
    """How a file was made and what it promises; `facts` are those of its charge."""

    spec: SyntheticSpec
    law: Synthesizer
    cells: Cells
    facts: Mapping[str, Any]
    guaranteed: bool

    def description(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        spec, law, promised = self.spec.to_dict(), self.law, self.guaranteed
        stated = law.guarantee(self.spec.protect.adjacency).to_dict() if promised else "none"
        promise: dict[str, Any] = {"guarantee": stated}
        # Where the data and the account are kept is nobody's business.
        left_out = {"source", "ledger", "output"}
        if not promised:
            promise["reason"] = NO_GUARANTEE
            left_out |= {"budget", "tolerance", "promise"}
        return {
            **promise,
            "learned": self.facts["learned"] if promised else None,
            "spec": {key: value for key, value in spec.items() if key not in left_out},
            "synthesizer": law.to_dict(),
            "n": self.spec.n,
            **self.cells.to_dict(),
            "impossible": spec.get("impossible", []),
            "worst_case": worst_case(law.epsilon, PRIORS) if promised else None,
            "assumptions": self._assumptions() if promised else [],
        }

    def _assumptions(self) -> list[str]:
        adjacency = self.spec.protect.adjacency
        names = ("adversary", "every_file", "public", "others")
        first = {"unit": self.facts["unit_name"], "adjacency": adjacency}
        return [
            say("synthetic.assumption.neighbours", **first),
            *(say(f"synthetic.assumption.{name}") for name in names),
        ]

    def statement(self) -> str:
        """Return the statement that goes with the file, in Markdown."""
        spec, law, cells, facts = self.spec, self.law, self.cells, self.facts
        one = flat(facts["unit_name"])
        copies = "" if law.copies == 1 else say("synthetic.statement.copies", copies=law.copies)
        lines = [
            say("synthetic.statement.title", purpose=flat(spec.purpose)),
            say(
                "synthetic.statement.records",
                records=law.n_synthetic,
                copies=copies,
                cells=cells.size,
                columns=flat(", ".join(cells.columns)),
                alpha=float(law.alpha),
            ),
        ]
        if not self.guaranteed:
            return _paragraphs(*lines, say("synthetic.statement.none", reason=NO_GUARANTEE))
        guarantee = say(
            "synthetic.statement.guarantee",
            epsilon=number(law.epsilon, "up", 6),
            adjacency=spec.protect.adjacency,
            unit=one,
        )
        unknown = say("synthetic.statement.size_unknown")
        return _paragraphs(
            *lines,
            *promise_lines(facts["promises"]),
            guarantee,
            say("synthetic.statement.learned"),
            say("statement.learned.lead", unit=one),
            "\n".join(learned_lines(facts["learned"])),
            say("synthetic.statement.not_protected", unit=one),
            say("synthetic.statement.analysts", size=unknown if spec.n is None else spec.n),
        )


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"
