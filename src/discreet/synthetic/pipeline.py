"""From one spec to a synthetic file, charged like every release, and to the judgement of a file.

Each file is drawn once, after its charge (`releases.charge`). What is counted stays in memory, and
no number of it leaves but the drawn file: the description holds what the spec says and nothing that
was read.

`assess` reads the original without charging it: its results are written nowhere. The one way to
publish a file that they chose is `no_guarantee`: then every candidate is charged before the first
is drawn, and the file says that it carries no guarantee. Where a unit has more records than the
spec allows it, those that count are drawn at random anew for every file, so the counts of an
earlier file are known only approximately; where no unit has, they are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.budgets import choose
from discreet.errors import InputError
from discreet.frames import JsonReady, Tabular, columns_from, html_grid
from discreet.guarantees import Adjacency, PureDP
from discreet.lazily import missing
from discreet.numerics import double_above
from discreet.promises import delta_in
from discreet.rounding import FIGURES, number, percent, up
from discreet.statements import PRIORS, compared_lines, learned_lines, promise_lines
from discreet.statements.tables import flat, stated_amount, titled
from discreet.synthetic import files
from discreet.synthetic.assessment import Assessment, Region, Search, assess_counts, search
from discreet.synthetic.cells import Cells
from discreet.synthetic.law import Synthesizer, draw_copies, whole
from discreet.synthetic.records import Linkage, expected_risk_increase, linked, worst_case
from discreet.words import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.releases.charge import Confirm, Outlook, Paid, Say
    from discreet.releases.engines.base import Engine
    from discreet.synthetic.spec import SyntheticSpec

_SHARES = (0.01, 0.1, 0.3, 0.5)

NO_GUARANTEE = say("synthetic.no_guarantee")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Synthesis(Tabular):
    """A synthetic file as released, or (`release_id` None) what it would cost.

    `judged` is there for a file that was chosen among candidates: it has no guarantee then.
    `outlook` is what the charge would do, in a dry run; `written` how the source is taken to be,
    and `in_short` the same in a job.
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
    written: tuple[str, ...] = ()
    in_short: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know before the file is drawn."""
        return () if self.outlook is None else (*self.written, *self.outlook.notes)

    @property
    def unasked(self) -> tuple[str, ...]:
        """The notes that are told where nobody is asked whether to go on."""
        return () if self.outlook is None else (*self.in_short, *self.outlook.unasked)

    @property
    def statement(self) -> Path | None:
        """Where the statement is."""
        return next((path for path in self.files if path.name == "statement.md"), None)

    @property
    def prior_share(self) -> float | None:
        """The share of the file that comes from the blur; None if n is not public."""
        return self.synthesizer.prior_share(self.n)

    def expected_shares(self, shares: Sequence[float] = _SHARES) -> list[dict[str, float]]:
        """Return what true shares of one cell would look like in the file: none if n is not public.

        With θ = (n·share + α)/(n + Kα), a share in the file has mean θ and varies as a binomial. Of
        unequal weights, α is the average.
        """
        if self.n is None:
            return []
        law, blurred = self.synthesizer, float(self.synthesizer.alphas.mean())
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
            "risk": None if promise is None else {"worst_case": worst_case(law.epsilon, PRIORS)},
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

    def _repr_html_(self) -> str:
        worst = () if self.guarantee is None else worst_case(self.synthesizer.epsilon, PRIORS)
        rows = [[f"{row['prior']:g}", f"{row['posterior']:.4g}"] for row in worst]
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
    asked = _loaded(spec, folder, keys_from)
    from discreet.ledger import Ledger
    from discreet.releases.charge import Charging
    from discreet.releases.planning import as_written
    from discreet.releases.pricing import allowance, as_pure

    if delta_in(asked.promise_keys or {}):
        raise InputError("synthetic.delta_under_pure")
    cells, ledger = asked.cells(), Ledger.open(asked.ledger_url)
    law = _law_for(asked, as_pure(allowance(asked, ledger.found(asked.account))), cells)
    charge = law.guarantee(asked.protect.adjacency)
    wanted = Charging(asked, ledger, charge)
    spent = wanted.spent
    with closing(_opened(asked.source, asked.path, data)) as engine:
        files.check_columns(engine, asked)
        if dry_run or say is not None:
            seen = wanted.outlook(confirm if dry_run else True)
            seen = replace(seen, notes=(*seen.notes, *_under_replace(asked, law, seen)))
            more: dict[str, Any] = {"outlook": seen}
            if data is None:
                short = as_written(asked.source, in_short=True)
                more |= {"written": as_written(asked.source), "in_short": short}
            dry = Synthesis(None, law, charge, cells, asked.n, spent, seen.remaining, (), **more)
            if dry_run or say is None:
                return dry
            for note in dry.unasked:
                say(note)
        with wanted.paid(confirm, say, who) as paid:
            counts = files.original_counts(engine, asked, cells)
            made, left = _published(paid, asked, law, cells, draw_copies(law, counts))
    return Synthesis(paid.release_id, law, charge, cells, asked.n, spent, left, made)


def _law_for(spec: SyntheticSpec, epsilon: float, cells: Cells) -> Synthesizer:
    """Return the synthesizer of a spec at a budget."""
    return Synthesizer.of(epsilon, cells=cells.size, **spec.drawn(cells))


def _under_replace(spec: SyntheticSpec, law: Synthesizer, seen: Outlook) -> Iterator[str]:
    """Say that a promise about a value allows more under `replace`, where it does.

    The draws have the same ε there (`law`), and a value changed for another is one step, not two.
    """
    if spec.budget is not None or Adjacency.of(spec.protect.adjacency) is Adjacency.REPLACE:
        return
    own, account = spec.promised(), seen.account
    bound = () if account is None else (one.registered.promise(account) for one in seen.promises)
    promises = tuple(bound) if own is None else (own,)
    if all(one.about == "value" and one.confidence is None for one in promises):
        there = (choose(replace(one, adjacency=Adjacency.REPLACE)).epsilon for one in promises)
        epsilon = min(there, default=0.0)
        if epsilon > up(law.epsilon):
            said = {"epsilon": number(epsilon, "down", FIGURES), "now": number(law.epsilon, "up")}
            yield say("synthetic.under_replace", **said)


def _published(
    paid: Paid, spec: SyntheticSpec, law: Synthesizer, cells: Cells, drawn: NDArray[np.int64]
) -> tuple[tuple[Path, ...], Mapping[str, Any]]:
    """Publish a file that was paid for; return its files, and what the account still allows."""
    facts, promised = paid.facts(), paid.charging.guaranteed
    said = {"kind": "synthetic", **facts, **_description(spec, law, cells, facts, promised)}
    words = _statement(spec, law, cells, facts, promised)
    return paid.publish(files.written(cells, list(drawn), said, words)), facts["remaining"]


def _loaded(
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


# -- a file judged


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
    if region is not None:
        region = Region.parse(region) if isinstance(region, str) else region
        region.check_met(how.get("priors"), how.get("prior_range", (0.0, 1.0)))
    if not is_spec:
        if epsilons is not None:
            return search(original, epsilons, region=region, candidates=candidates, **how)
        return assess_counts(original, candidate, region=region, **how)
    asked = _loaded(original)
    if epsilons is None and candidate is None:
        raise InputError("synthetic.no_candidate")
    if link:
        unit, known = asked.protect.column, tuple(how.get("known", ()))
        if not unit or not known:
            raise InputError("synthetic.linked_needs")
        true = _opened(asked.source, asked.path, data)
        with closing(true), closing(_candidate(candidate)) as made:
            return linked(true, made, unit, known, how.get("sampled"))
    cells = asked.cells()
    how |= {"region": region, "cells": cells}
    if epsilons is None:
        if isinstance(candidate, (str, Path)) and not how.keys() & _LAWS:
            how["synthesizer"] = _described(Path(candidate), cells)
        with closing(_candidate(candidate)) as engine:
            counted = files.candidate_counts(engine, cells)
        return assess_counts(_counted(asked, cells, data), counted, **how)
    how |= {"candidates": whole("candidates", candidates), **asked.drawn(cells)}
    if no_guarantee:
        return _chosen(asked, cells, data, sorted(set(epsilons)), how, confirm, who)
    return search(_counted(asked, cells, data), epsilons, **how)


_LAWS = {"synthesizer", "log_likelihood", "epsilon"}


def _opened(source: Any, path: Callable[[str], Path], data: Any = None) -> Engine:
    """Open the rows of a file or of data, with what the `release` extra brings."""
    from discreet.releases.engines import opened

    return opened(source, path, data)


def _counted(asked: SyntheticSpec, cells: Cells, data: Any) -> NDArray[np.int64]:
    with closing(_opened(asked.source, asked.path, data)) as engine:
        files.check_columns(engine, asked)
        return files.original_counts(engine, asked, cells)


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

    # One invented record in each cell: what cannot be judged is refused before the charge.
    once = {"n_synthetic": 1, "copies": 1, "candidates": 1}
    search([1] * cells.size, epsilons[:1], **how | once)
    laws = [_law_for(asked, epsilon, cells) for epsilon in epsilons]
    # All candidates together: the exact sum, rounded up to a float.
    total = double_above(sum(Fraction(law.epsilon) for law in laws) * how["candidates"])
    charge = PureDP(total, adjacency=asked.protect.adjacency)  # type: ignore[arg-type]
    drawn, ledger = len(laws) * how["candidates"], Ledger.open(asked.ledger_url)
    allowance(asked, ledger.found(asked.account))  # refuses a spec that asks for nothing
    purpose = say("synthetic.assessment.purpose", purpose=asked.purpose, candidates=drawn)
    wanted = Charging(asked, ledger, charge, purpose=purpose, guaranteed=False)
    with closing(_opened(asked.source, asked.path, data)) as engine:
        files.check_columns(engine, asked)
        with wanted.paid(confirm, None, who) as paid:
            found = search(files.original_counts(engine, asked, cells), epsilons, **how)
            law = found.synthesizer
            if found.chosen is None or law is None:
                return found
            written, left = _published(paid, asked, law, cells, found.chosen)
    spent = wanted.spent
    return Synthesis(paid.release_id, law, None, cells, asked.n, spent, left, written, found)


@dataclass(frozen=True, slots=True)
class ExpectedRisk(JsonReady, Tabular):
    """How much risk rises on average, falls counted as 0, before any data: not confidential."""

    n: int
    n_synthetic: int
    expected: tuple[dict[str, float], ...]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the rise for each budget, share and prior."""
        return columns_from(self.expected)


def expected_risk(
    spec: SyntheticSpec | str | Path | Mapping[str, Any],
    epsilons: Sequence[float] | None = None,
    shares: Sequence[float] | None = None,
    priors: Sequence[float] | None = None,
) -> ExpectedRisk:
    """Return the table of expected risk (ER, M&R Table 1) for one yes-or-no question of a file.

    The spec gives the public size of the data, how many records are drawn and, unless `epsilons`
    are given, the budget. No row is read. ER is E[max(R − w, 0)]: a belief that falls counts as 0.
    """
    asked = _loaded(spec)
    if asked.n is None:
        raise InputError("synthetic.expected_needs_n")
    drawn = asked.n_synthetic * asked.copies
    given = None if asked.budget is None else asked.budget.epsilon
    budgets = epsilons or ([] if given is None else [given])
    if not budgets:
        raise InputError("synthetic.expected_needs_epsilon")
    cells = asked.cells()
    blur = cells.weights(asked.weights) if asked.weights else (1, 1)
    if len(blur) != 2:
        raise InputError("synthetic.expected_weights")
    law: dict[str, Any] = {"n": asked.n, "n_synthetic": drawn}
    law |= {"weights": blur, "records": asked.records(cells)}
    rows = tuple(
        {
            "epsilon": float(epsilon),
            "share": share,
            "prior": prior,
            "increase": expected_risk_increase(share, epsilon=epsilon, prior=prior, **law),
        }
        for prior in priors or (0.5,)
        for share in shares or _SHARES
        for epsilon in sorted(budgets)
    )
    return ExpectedRisk(asked.n, drawn, rows)


# -- what a file says of itself


def _description(
    spec: SyntheticSpec, law: Synthesizer, cells: Cells, facts: Mapping[str, Any], promised: bool
) -> dict[str, Any]:
    """Return how a file was made and what it promises; `facts` are those of its charge."""
    said, adjacency = spec.to_dict(), spec.protect.adjacency
    # Where the data and the account are kept is nobody's business.
    left_out = {"source", "ledger", "output"}
    if not promised:
        left_out |= {"budget", "tolerance", "promise"}
    names = ("neighbours", "adversary", "every_file", "public", "others") if promised else ()
    values = {"unit": facts["unit_name"], "adjacency": adjacency}
    return {
        "guarantee": law.guarantee(adjacency).to_dict() if promised else "none",
        **({} if promised else {"reason": NO_GUARANTEE}),
        "learned": facts["learned"] if promised else None,
        "spec": {key: value for key, value in said.items() if key not in left_out},
        "synthesizer": law.to_dict(),
        "n": spec.n,
        **cells.to_dict(),
        "impossible": said.get("impossible", []),
        "worst_case": worst_case(law.epsilon, PRIORS) if promised else None,
        "assumptions": [say(f"synthetic.assumption.{name}", **values) for name in names],
    }


def _blur(share: float | None) -> str:
    """Say how much of a file is blur, and what that does to what is computed from it."""
    said = say("synthetic.statement.blur_unknown")
    if share is not None:
        parts = {"share": percent(share, "up", 1), "kept": percent(1 - share, "down", 1)}
        said = say("synthetic.statement.blur", **parts)
    return f"{said} {say('synthetic.statement.models')}"


def _statement(
    spec: SyntheticSpec, law: Synthesizer, cells: Cells, facts: Mapping[str, Any], promised: bool
) -> str:
    """Return the statement that goes with the file, in Markdown."""
    one = flat(facts["unit_name"])
    copies = "" if law.copies == 1 else say("synthetic.statement.copies", copies=law.copies)
    made = {"records": law.n_synthetic, "copies": copies, "cells": cells.size}
    columns = flat(", ".join(cells.columns))
    bound = facts["promises"] if promised else ()
    lines = [
        titled("synthetic.statement.title", bound, flat(spec.purpose)),
        say("synthetic.statement.records", columns=columns, alpha=float(law.alpha), **made),
        _blur(law.prior_share(spec.n)),
    ]
    if promised:
        size = say("synthetic.statement.size_unknown") if spec.n is None else spec.n
        budget = {
            "epsilon": number(law.epsilon, "up", FIGURES),
            "adjacency": spec.protect.adjacency,
        }
        lines += [
            *promise_lines(facts["promises"], stated_amount(facts["account_spent"])),
            *map(flat, compared_lines(facts["promises"], facts["learned"])),
            say("synthetic.statement.guarantee", unit=one, **budget),
            say("synthetic.statement.learned"),
            say("statement.learned.lead", unit=one),
            "\n".join(learned_lines(facts["learned"])),
            say("synthetic.statement.not_protected", unit=one),
            say("synthetic.statement.analysts", size=size),
        ]
    else:
        lines.append(say("synthetic.statement.none", reason=NO_GUARANTEE))
    return "\n\n".join(lines) + "\n"
