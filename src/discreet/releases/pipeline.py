"""The whole way of a release.

    spec ─ plan ─ reserve ─ bound and aggregate ─ noise ─ files ─ commit ─ shown

The charge is in the ledger, durably, before a row is read; noise is drawn once; the files are
written where nobody looks, the commit records their hash, and then they are shown. A crash at any
point may lose the release, never the charge; the next run finds what was left (`recovery`).
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import __version__
from discreet.errors import DiscreetError, InputError, PolicyError
from discreet.frames import Tabular, columns_from
from discreet.guarantees import parameters
from discreet.ledger import Account, Amount, Entry, Ledger, Slot, Standing
from discreet.ledger.accounts import remaining_dict
from discreet.ledger.promises import register
from discreet.promises import delta_in
from discreet.releases import outputs
from discreet.releases.confirmation import Confirm, Say, confirmed, quiet, user
from discreet.releases.drawing import Progress, draw
from discreet.releases.engines.base import Engine
from discreet.releases.engines.opening import opened
from discreet.releases.planning import Plan, plan_of
from discreet.releases.recovery import Repeat, charged_for, recover, repeat_of
from discreet.releases.spec import Spec, load
from discreet.releases.statement import statement
from discreet.releases.tables import Table
from discreet.rounding import percent, up
from discreet.statements import learned

if TYPE_CHECKING:
    from discreet import Report

__all__ = ["Preview", "Release", "release"]


@dataclass(frozen=True, slots=True)
class Preview(Tabular):
    """What a release would cost, and how accurate it would be; nothing was read or spent."""

    spent: dict[str, Any]
    remaining: dict[str, Any] | None
    plan: Plan
    notes: tuple[str, ...]
    refused: DiscreetError | None = None
    promises: tuple[Standing, ...] = ()
    account: Account | None = None
    after: Account | None = None
    again: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON-ready values."""
        return {
            "release_id": None,
            "dry_run": True,
            "spent": self.spent,
            "remaining": self.remaining,
            "remaining_after": None if self.after is None else remaining_dict(self.after.remaining),
            "promises": [one.to_dict() for one in self.promises],
            "files": [],
            "statement": None,
            **self.plan.to_dict(),
            "notes": list(self.notes),
            "refused": None
            if self.refused is None
            else {"exit_code": self.refused.exit_code, "message": str(self.refused)},
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the mechanism calls, with what each costs."""
        return columns_from(call.to_dict() for call in self.plan.pricing.calls)

    def __repr__(self) -> str:
        return f"Preview({self.plan.spec.account!r}, {_said(self.spent)})"


@dataclass(frozen=True, slots=True)
class Release(Tabular):
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

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the released table: texts, and values as numbers."""
        return self.table.to_columns()

    def to_arrow(self) -> Any:
        """Return the released table as Arrow: texts, and numbers as doubles."""
        return self.table.to_arrow()

    def report(self, *, note: str | None = None) -> Report:
        """Write the report of this release, as `discreet.report` does."""
        import discreet

        spec = self.plan.spec
        output = spec.path(spec.output)
        return discreet.report(self.release_id, ledger=spec.ledger_url, output=output, note=note)


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
    key: str | None = None,
) -> Release | Preview | Repeat:
    """Make the release that a spec describes; with `dry_run`, say what it would cost.

    `data` is used instead of the spec's source: a pandas, Polars (also lazy) or Arrow table, a
    DuckDB relation or an Ibis expression. `confirm` (a function, or True) is asked before a second
    run of the same spec, which is a new, charged release; without it such a run is refused.
    `plan_id` takes the next slot of a registered plan instead of a new charge; a `key` ties that
    slot to an occasion ("2026-11"): the same key again finds the stored release.
    """
    if key is not None and plan_id is None:
        raise InputError("A key belongs to a slot of a registered plan: name the plan as well.")
    asked = spec if isinstance(spec, Spec) else load(spec, folder=folder)
    engine = opened(asked.source, asked.path, data, asked.to_dict(), schema_only=dry_run)
    try:
        ledger = Ledger.open(asked.ledger_url)
        plan = plan_of(asked, engine.columns, ledger.found(asked.account))
        if dry_run:
            return _preview(plan, ledger, plan_id, key)
        return _Run(
            plan, engine, ledger, confirm, say or quiet, progress, who or user(), plan_id, key
        ).go()
    finally:
        engine.close()


def _preview(plan: Plan, ledger: Ledger, plan_id: str | None, key: str | None) -> Preview:
    spec = plan.spec
    notes = ["Nothing was read but the schema, and nothing was spent."]
    remaining = refused = after = again = unopened = None
    promises: tuple[Standing, ...] = ()
    account = ledger.found(spec.account)
    if account is None:
        promises = _if_opened(plan)
        try:
            _account(plan, ledger)
        except PolicyError as refusal:
            unopened = str(refusal)
    else:
        remaining = remaining_dict(account.remaining)
        if plan_id is None and ledger.runs(spec.account, spec.hash):
            again = _again(ledger, spec)
            notes.append(again)
        try:
            foreseen = ledger.check(
                _account(plan, ledger),
                plan.pricing.charges,
                promise=plan.promise,
                plan_id=plan_id,
                idempotency_key=key,
                unit=spec.protect.unit,
            )
            after, promises = foreseen.account, foreseen.promises
        except DiscreetError as refusal:
            refused, promises = refusal, ledger.promises(account)
            notes.append(f"It would be refused: {refusal}")
    if refused is None:
        notes += _on_promises(promises, series=spec.series is not None)
    notes += [] if unopened is None else [unopened]
    return Preview(
        spent=_charge_dict(plan),
        remaining=remaining,
        plan=plan,
        notes=tuple(notes),
        refused=refused,
        promises=promises,
        account=account,
        after=after,
        again=again,
    )


def _if_opened(plan: Plan) -> tuple[Standing, ...]:
    """Return where the spec's promise would stand on an account that is opened for it."""
    if plan.promise is None:
        return ()
    spec, delta = plan.spec, delta_in(plan.spec.promise_keys or {})
    cap = Amount.of(epsilon=0.0, delta=delta) if delta else None
    account = Account.opened(
        spec.account,
        unit=spec.protect.unit,
        unit_name=spec.protect.name,
        adjacency=spec.protect.adjacency,
        filter=plan.filter,
        cap=cap if plan.filter == "basic" else None,
    )
    cost = account.cost(plan.pricing.charges)
    new = register(plan.promise, account)
    spent = account.spent.plus(cost)
    return (Standing(new, plan.promise.sentence(), spent, cost, recorded=False),)


def _on_promises(promises: Iterable[Standing], *, series: bool) -> list[str]:
    """Say in words how much of each promise this takes, and how many more like it fit."""
    found = []
    for one in promises:
        share, again = percent(one.share_used, "up"), one.fits_again
        more = "" if again is None else f", and {again:,} more like it would fit"
        found.append(f"Promise: {one.sentence} With this release {share} of it is used{more}.")
        if again == 0 and not series:
            found.append(
                "Nothing will fit under this promise again. If more releases are planned, set "
                "`series: {releases: K}` before the first one: each then takes a K-th."
            )
    return found


def _account(plan: Plan, ledger: Ledger) -> Account:
    spec = plan.spec
    account = ledger.account(
        spec.account,
        unit=spec.protect.unit,
        unit_name=spec.protect.name,
        adjacency=spec.protect.adjacency,
        filter=plan.filter,
        promise=spec.promise_keys,
    )
    account.require(
        unit=spec.protect.unit, adjacency=spec.protect.adjacency, unit_name=spec.protect.name
    )
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


def _again(ledger: Ledger, spec: Spec) -> str:
    return (
        f"This spec was already released {ledger.runs(spec.account, spec.hash)} time(s) on account "
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
    key: str | None

    @property
    def spec(self) -> Spec:
        return self.plan.spec

    @property
    def output(self) -> Path:
        return self.spec.path(self.spec.output)

    def go(self) -> Release | Repeat:
        account = _account(self.plan, self.ledger)
        outputs.prepare(self.output)
        recover(self.ledger, self.spec.account, self.output, self.say)
        slot, entry = self._charged(account)
        if slot is not None and slot.stored:
            return self._repeated(slot)
        release_id = str(entry.release_id)
        left = (
            f"the charge of {release_id} stays spent"
            if slot is None
            else f"slot {slot.number} of the plan may be drawn again"
        )
        with charged_for(left):
            table = draw(self.plan, self.engine, progress=self.progress)
        after = self.ledger.account(self.spec.account)
        said = self._stored(release_id, entry.hash, after, table)
        if slot is not None:
            said["series"] = {"plan_id": slot.plan_id, "slot": slot.number, "of": slot.of}
        files = outputs.written(said, table, statement(said))
        whole = outputs.store(self.output, release_id, files)
        try:
            self.ledger.commit(release_id, outputs.hash_of(whole))
        except PolicyError:
            if slot is None:
                raise
            # Another run recorded this slot of the plan first: of two draws only one is shown.
            shutil.rmtree(whole, ignore_errors=True)
            if self.key is None:
                raise
            return self._repeated(self._taken(account))
        where = outputs.publish(whole)
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

    def _charged(self, account: Account) -> tuple[Slot | None, Entry]:
        """Charge the release, or take its slot of a plan: durable before anything is read."""
        if self.plan_id is not None:
            slot = self._taken(account)
            return slot, slot.entry
        spec = self.spec
        if self.ledger.runs(spec.account, spec.hash):
            self._ask(_again(self.ledger, spec))
        return None, self.ledger.reserve(
            account,
            self.plan.pricing.charges,
            purpose=spec.purpose,
            who=self.who,
            spec_hash=spec.hash,
            promise=self.plan.promise,
            unit=spec.protect.unit,
        )

    def _taken(self, account: Account) -> Slot:
        return self.ledger.next_slot(
            str(self.plan_id),
            self.key,
            account=account,
            charge=self.plan.pricing.charges,
            purpose=self.spec.purpose,
            who=self.who,
            spec_hash=self.spec.hash,
            promise=self.plan.promise,
            unit=self.spec.protect.unit,
        )

    def _repeated(self, slot: Slot) -> Repeat:
        found = repeat_of(
            self.ledger,
            slot,
            str(self.key),
            self.output,
            spec_hash=self.spec.hash,
            spent=_charge_dict(self.plan),
            remaining=remaining_dict(self.ledger.account(self.spec.account).remaining),
        )
        place = "" if found.files else " Its files are not in this output folder."
        self.say(
            f"Key {self.key!r} was released before as {found.release_id}, slot {slot.number} of "
            f"{slot.of}; nothing was drawn and nothing charged.{place}"
        )
        return found

    def _ask(self, notice: str) -> None:
        self.say(notice)
        confirmed(notice, self.confirm)

    def _stored(self, release_id: str, head: str, after: Account, table: Table) -> dict[str, Any]:
        """Return the stored release: everything that a report or a statement is made from."""
        spec, spent = self.spec, after.spent.floats("up")
        unit = after.called(spec.unit)
        made = self.ledger.made_promises(spec.account)
        promises = [one.registered.promise(after) for one in made if one.withdrawn is None]
        found = learned(after.total, unit, promises)
        return {
            "format": 2,
            "release_id": release_id,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "account": spec.account,
            "purpose": spec.purpose,
            "unit": spec.protect.model_dump(mode="json", exclude_none=True),
            "spent": _charge_dict(self.plan),
            "account_spent": parameters(spent.get("epsilon"), spent.get("delta"), spent.get("rho")),
            "remaining": remaining_dict(after.remaining),
            "head": head,
            "spec": _told_spec(spec),
            "spec_hash": spec.hash,
            "made_with": {"discreet": __version__, "opendp": version("opendp")},
            "interval": spec.interval,
            "plan": self.plan.to_dict(),
            "unit_name": str(unit),
            "promises": [one.to_dict() for one in made],
            "learned": None if found is None else found.to_dict(),
            "gaussian_mu": _mu(self.plan),
            "explanations": {p.name: p.statistic.explain() for p in self.plan.statistics},
            "table": table.to_dict(),
        }


def _mu(plan: Plan) -> float | None:
    """Return μ = √(2ρ) of the Gaussian noise in a release, rounded up; None without any."""
    rho = math.fsum(call.rho or 0.0 for call in plan.pricing.calls if call.mechanism == "gaussian")
    return up(math.sqrt(2 * rho)) if rho else None


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
