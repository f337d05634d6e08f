"""The whole way of a release.

    spec ─ plan ─ reserve ─ bound and aggregate ─ noise ─ files ─ commit

The charge is in the ledger, durably, before a row is read; noise is drawn once; the files appear
whole or not at all; the commit records their hash. A crash at any point may lose the release, never
the charge. The next run finds what was left: files that are whole are committed, and a reservation
without files is told as what it is, spent.
"""

from __future__ import annotations

import getpass
import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from discreet import __version__
from discreet.beliefs.notebook import html_grid
from discreet.errors import DataError, PolicyError, SpecError
from discreet.guarantees import parameters
from discreet.ledger import Account, Ledger
from discreet.releases import outputs
from discreet.releases.drawing import Progress, draw
from discreet.releases.engines.base import Engine
from discreet.releases.planning import Plan, plan_of
from discreet.releases.spec import Spec, load
from discreet.releases.statement import SUBJECTS, learnable, statement
from discreet.releases.tables import Table
from discreet.rounding import up

__all__ = ["Preview", "Release", "release"]

Confirm: TypeAlias = Callable[[str], bool]
Say: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Preview:
    """What a release would cost, and how accurate it would be; nothing was read or spent."""

    spent: dict[str, Any]
    remaining: dict[str, Any] | None
    plan: Plan
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON-ready values."""
        return {
            "release_id": None,
            "dry_run": True,
            "spent": self.spent,
            "remaining": self.remaining,
            "files": [],
            "statement": None,
            **self.plan.to_dict(),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"Preview({self.plan.spec.account!r}, {_said(self.spent)})"


@dataclass(frozen=True, slots=True)
class Release:
    """A release that was made: its charge, its files, its table."""

    release_id: str
    spent: dict[str, Any]
    remaining: dict[str, Any]
    files: tuple[Path, ...]
    statement: Path
    plan: Plan
    table: Table = field(repr=False)
    head: str

    def to_dict(self) -> dict[str, Any]:
        """Return the release as JSON-ready values, without its table."""
        return {
            "release_id": self.release_id,
            "spent": self.spent,
            "remaining": self.remaining,
            "files": [str(path) for path in self.files],
            "statement": str(self.statement),
            "head": self.head,
            **self.plan.to_dict(),
        }

    def __repr__(self) -> str:
        return f"Release({self.release_id!r}, {_said(self.spent)}, {len(self.table)} rows)"

    def _repr_html_(self) -> str:
        columns = self.table.to_dict()
        rows = zip(*columns.values(), strict=True)
        shown = [["" if cell is None else str(cell) for cell in row] for row in islice(rows, 20)]
        return html_grid(repr(self), list(columns), shown)


def _said(amount: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in amount.items() if value is not None)


def release(
    spec: str | Path | Mapping[str, Any] | Spec,
    *,
    data: Any = None,
    folder: str | Path | None = None,
    dry_run: bool = False,
    confirm: Confirm | None = None,
    say: Say | None = None,
    progress: Progress | None = None,
    who: str | None = None,
    plan_id: str | None = None,
) -> Release | Preview:
    """Make the release that a spec describes; with `dry_run`, say what it would cost.

    `data` is a pandas, Polars or Arrow table to use instead of the spec's source. `confirm` is
    asked before a second run of the same spec, which is a new, charged release; without it such a
    run is refused. `plan_id` takes the next slot of a registered plan instead of a new charge.
    """
    asked = spec if isinstance(spec, Spec) else load(spec, folder=folder)
    engine = _engine(asked, data)
    try:
        plan = plan_of(asked, engine.columns)
        ledger = Ledger.open(asked.ledger_url)
        if dry_run:
            return _preview(plan, ledger)
        return _Run(
            plan, engine, ledger, confirm, say or _quiet, progress, who or _user(), plan_id
        ).go()
    finally:
        engine.close()


def _quiet(_: str) -> None:
    """Say nothing."""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _engine(spec: Spec, data: Any) -> Engine:
    from discreet.releases.engines.duckdb import DuckDB

    if data is not None:
        return DuckDB.of(data)
    if spec.source is None:
        raise SpecError("source is missing; name a file, or give the data.")
    return DuckDB.open(spec.source, spec.path(_file_of(spec.source)))


def _file_of(source: str) -> str:
    if source.startswith("duckdb:///"):
        return source.removeprefix("duckdb:///").split("?", 1)[0]
    return source


def _preview(plan: Plan, ledger: Ledger) -> Preview:
    spec = plan.spec
    notes = ["Nothing was read but the schema, and nothing was spent."]
    remaining = None
    try:
        account = _account(plan, ledger)
    except PolicyError as refusal:
        notes.append(str(refusal))
    else:
        remaining = _left(account)
        if _runs(ledger, spec):
            notes.append(_again(ledger, spec))
    return Preview(_charge_dict(plan), remaining, plan, tuple(notes))


def _account(plan: Plan, ledger: Ledger) -> Account:
    spec = plan.spec
    account = ledger.account(
        spec.account, unit=spec.protect.unit, adjacency=spec.protect.adjacency, filter=plan.filter
    )
    account.require(unit=spec.protect.unit, adjacency=spec.protect.adjacency)
    return account


def _charge_dict(plan: Plan) -> dict[str, Any]:
    """Return the charge as {epsilon, delta, rho}; null for what does not apply."""
    charges = plan.pricing.charges
    if len(charges) == 1:
        only = charges[0]
        return parameters(
            getattr(only, "epsilon", None), getattr(only, "delta", None), getattr(only, "rho", None)
        )
    # Several charges come only with a budget in ρ, where (ε, δ) of keys enters as ε²/2 and δ.
    rho = up(math.fsum(getattr(c, "rho", getattr(c, "epsilon", 0.0) ** 2 / 2) for c in charges))
    return parameters(None, math.fsum(getattr(c, "delta", 0.0) for c in charges), rho)


def _left(account: Account) -> dict[str, Any]:
    left = account.remaining
    if left is None:
        return parameters() | {"unbounded": True}
    numbers = left.floats("down")
    return parameters(numbers.get("epsilon"), numbers.get("delta"), numbers.get("rho"))


def _runs(ledger: Ledger, spec: Spec) -> int:
    entries = ledger.entries(spec.account)
    return sum(1 for e in entries if e.said.get("spec_hash") == spec.hash and e.kind != "plan")


def _again(ledger: Ledger, spec: Spec) -> str:
    return (
        f"This spec was already released {_runs(ledger, spec)} time(s) on account "
        f"{spec.account!r}; running it again is a new release with new noise and a new charge."
    )


@dataclass(frozen=True)
class _Run:
    """One release on its way."""

    plan: Plan
    engine: Engine
    ledger: Ledger
    confirm: Confirm | None
    say: Say
    progress: Progress | None
    who: str
    plan_id: str | None

    @property
    def spec(self) -> Spec:
        return self.plan.spec

    def go(self) -> Release:
        spec, output = self.spec, self.spec.path(self.spec.output)
        account = _account(self.plan, self.ledger)
        outputs.prepare(output)
        self._recover(output)
        if self.plan_id is None and _runs(self.ledger, spec):
            self._ask(_again(self.ledger, spec))
        tolerated = self.plan.tolerated
        entry = self.ledger.reserve(
            account,
            self.plan.pricing.charges,
            purpose=spec.purpose,
            who=self.who,
            spec_hash=spec.hash,
            tolerance_check=None if tolerated is None else tolerated.check,
            plan_id=self.plan_id,
            unit=spec.protect.unit,
        )
        release_id = str(entry.release_id)
        try:
            table = draw(self.plan, self.engine, progress=self.progress)
        except DataError as error:
            raise DataError(
                f"{error} Nothing was released; the charge of {release_id} stays spent."
            ) from None
        after = self.ledger.account(spec.account)
        said = self._stored(release_id, entry.hash, after, table)
        words = statement(said, after.total)
        where = outputs.store(output, release_id, said, table, words)
        try:
            self.ledger.commit(release_id, outputs.hash_of(where))
        except PolicyError:
            # Another run published this slot of the plan first: of two draws only one may stay.
            shutil.rmtree(where, ignore_errors=True)
            raise
        return Release(
            release_id=release_id,
            spent=said["spent"],
            remaining=said["remaining"],
            files=tuple(sorted(path for path in where.iterdir())),
            statement=where / outputs.STATEMENT,
            plan=self.plan,
            table=table,
            head=self.ledger.head,
        )

    def _ask(self, notice: str) -> None:
        self.say(notice)
        if self.confirm is None or not self.confirm(notice):
            raise PolicyError(
                f"{notice} Nothing was spent. Confirm it (--yes) if that is what you want."
            )

    def _recover(self, output: Path) -> None:
        """Finish what a crash left: commit whole files, and say what was spent for nothing."""
        for entry in self.ledger.unfinished(self.spec.account):
            name = str(entry.release_id)
            where = output / name
            if (where / outputs.RELEASE).is_file():
                self.ledger.commit(name, outputs.hash_of(where))
                self.say(f"Release {name} was cut off after its files were stored; recorded now.")
            else:
                self.say(
                    f"Release {name} was charged on {entry.at[:19]} and has no files here; it was "
                    "cut off, or is still being made. Its charge stays spent."
                )

    def _stored(self, release_id: str, head: str, after: Account, table: Table) -> dict[str, Any]:
        """Return the stored release: everything that a report or a statement is made from."""
        spec, total = self.spec, after.total
        spent = after.spent.floats("up")
        subject = SUBJECTS[spec.protect.unit]
        return {
            "format": 1,
            "release_id": release_id,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "account": spec.account,
            "purpose": spec.purpose,
            "unit": spec.protect.model_dump(mode="json", exclude_none=True),
            "spent": _charge_dict(self.plan),
            "account_spent": parameters(spent.get("epsilon"), spent.get("delta"), spent.get("rho")),
            "remaining": _left(after),
            "head": head,
            "spec": _told_spec(spec),
            "spec_hash": spec.hash,
            "made_with": {"discreet": __version__, "opendp": version("opendp")},
            "interval": spec.interval,
            "plan": self.plan.to_dict(),
            "learnable": learnable(total, subject),
            "explanations": {p.name: p.statistic.explain() for p in self.plan.statistics},
            "table": table.to_dict(),
        }


def _told_spec(spec: Spec) -> dict[str, Any]:
    """Return the spec without where the data are kept, nor a ledger whose URL may hold a password.

    A ledger in a file beside the spec stays: with it a report finds the account.
    """
    said = spec.to_dict()
    said.pop("source", None)
    prefix = "sqlite:///"
    ledger = str(said.get("ledger", ""))
    if not ledger.startswith(prefix) or ledger.startswith(prefix + "/"):
        said.pop("ledger", None)
    return said
