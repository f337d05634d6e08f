"""The whole way of a release: spec ─ plan ─ charge (`charge`) ─ bound, aggregate, noise ─ files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.frames import Tabular, columns_from, html_grid
from discreet.guarantees import ZCDP, Guarantee, parameters
from discreet.laws import DiscreteGaussian
from discreet.ledger import Account, Ledger, Standing
from discreet.numerics import float_up
from discreet.releases import outputs
from discreet.releases.charge import Charging, Confirm, Outlook, Paid, Repeat, Say
from discreet.releases.drawing import Progress, completed, draw, with_found_keys
from discreet.releases.engines import opened
from discreet.releases.joining import joined
from discreet.releases.limits import chosen_limit
from discreet.releases.planning import Plan, plan_of
from discreet.releases.rows import shaped
from discreet.releases.sampling import drawn
from discreet.releases.spec import Spec, load
from discreet.releases.statement import statement
from discreet.releases.statistics.base import decimal
from discreet.releases.tables import Table
from discreet.rounding import up
from discreet.statements.presenter import accuracy

if TYPE_CHECKING:
    from discreet import Report


@dataclass(frozen=True, slots=True)
class Preview(Tabular):
    """What a release would cost, and how accurate it would be; nothing was read or spent."""

    spent: dict[str, Any]
    plan: Plan
    outlook: Outlook

    @property
    def remaining(self) -> dict[str, Any] | None:
        """What the account allows now; None if it is not open."""
        return self.outlook.remaining

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know before the release."""
        return (*self.plan.as_written, *self.plan.notes, *self.outlook.notes)

    @property
    def refused(self) -> DiscreetError | None:
        """Why the release would be refused; None if it would not."""
        return self.outlook.refused

    @property
    def promises(self) -> tuple[Standing, ...]:
        """Where the account would stand under each of its promises."""
        return self.outlook.promises

    @property
    def account(self) -> Account | None:
        """The account as it stands; None if it is not open."""
        return self.outlook.account

    @property
    def after(self) -> Account | None:
        """The account as the release would leave it."""
        return self.outlook.after

    @property
    def again(self) -> str | None:
        """The notice that this spec was released before, if it was."""
        return self.outlook.again

    def to_dict(self) -> dict[str, Any]:
        """Return the preview as JSON-ready values."""
        refused = self.refused
        return {
            "release_id": None,
            "dry_run": True,
            "spent": self.spent,
            "remaining": self.remaining,
            "remaining_after": self.outlook.remaining_after,
            "promises": [one.to_dict() for one in self.promises],
            "files": [],
            "statement": None,
            **self.plan.to_dict(),
            "cut": self.plan.cut(),
            "notes": list(self.notes),
            "paid": self.outlook.paid,
            "refused": None
            if refused is None
            else {"exit_code": refused.exit_code, "message": str(refused)},
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the mechanism calls, with what each costs."""
        return columns_from(call.to_dict() for call in self.plan.pricing.calls)

    def _repr_html_(self) -> str:
        rows = [
            [row["statistic"], str(row.get("cells", "")), accuracy(row)]
            for row in self.plan.accuracy()
        ]
        return html_grid(repr(self), ("statistic", "cells", "accuracy"), rows)

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
    series: dict[str, Any] | None = None
    """Which slot of which plan it took: `plan_id`, `slot`, `of`, and how many are `free`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the release as JSON-ready values, without its table."""
        return {
            "release_id": self.release_id,
            "spent": self.spent,
            "remaining": self.remaining,
            "files": [str(path) for path in self.files],
            "statement": str(self.statement),
            "head": self.head,
            "series": self.series,
            **self.plan.to_dict(),
            "cut": self.plan.cut(self.table),
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
    before_charge: Callable[[Preview], None] | None = None,
    who: str | None = None,
    plan_id: str | None = None,
    next_slot: bool = False,
    key: str | None = None,
    retry: bool = False,
    keys_from: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Release | Preview | Repeat:
    """Make the release that a spec describes; with `dry_run`, say what it would cost.

    `data` is used instead of the spec's source: a pandas, Polars (also lazy) or Arrow table, a
    DuckDB relation or an Ibis expression. A second run of the same spec is a new, charged release:
    `confirm`, True or a function that is asked, allows it; without it such a run is refused.
    `before_charge` is given the preview of what is about to be charged, or to take a slot; if it
    raises, nothing is spent.
    `plan_id` takes the next slot of a registered plan instead of a new charge, `next_slot` that of
    the only plan of the account with a free one; a `key` ties that slot to an occasion ("2026-11"):
    the same key again finds the stored release. If its release was lost, `retry` takes another slot
    for the key. Files of keys lie below the spec's folder, or
    below `keys_from`. `changes` are keys of the spec that are set at run time, such as
    `{"source": "november.csv", "protect.rows": 2}`; the stored release names them.
    """
    asked = load(spec, folder=folder, keys_from=keys_from, changes=changes)
    engine = opened(asked.source, asked.path, data, asked.to_dict(), schema_only=dry_run)
    try:
        engine = shaped(joined(engine, asked), asked)
        ledger = Ledger.open(asked.ledger_url)
        if next_slot and plan_id is None:
            plan_id = ledger.only_plan(asked.account, key)
        slot = None if plan_id is None else _slot_budget(ledger, plan_id, key, retry)
        plan = plan_of(asked, engine.columns, ledger.found(asked.account), slot=slot)
        charging = Charging(
            asked,
            ledger,
            plan.pricing.charges,
            charge_dict(plan),
            promise=plan.promise,
            filter=plan.filter,
            plan_id=plan_id,
            key=key,
            retry=retry,
        )
        if dry_run:
            return Preview(charge_dict(plan), plan, charging.outlook())
        if before_charge is not None and not charging.stored():
            look = Preview(charge_dict(plan), plan, charging.outlook())
            if look.refused is None:  # else the charge says why
                before_charge(look)
        with charging.paid(confirm, say, who) as paid:
            if paid.repeated:
                return paid.repeat(say)
            if plan.limits:
                plan = plan.limits[chosen_limit(plan, plan.limits, engine)]
            rows = drawn(engine, asked)
            plan = with_found_keys(plan, rows, progress)
            table = completed(plan, draw(plan, rows, progress=progress))
            told = _stored(plan, paid, table)
            files = paid.publish(outputs.written(told, table, statement(told)))
    finally:
        engine.close()
    return Release(
        release_id=paid.release_id,
        spent=told["spent"],
        remaining=told["remaining"],
        files=files,
        statement=files[0].parent / outputs.STATEMENT,
        plan=plan,
        table=table,
        head=ledger.head,
        series=None if paid.slot is None else _series(ledger, told["series"]),
    )


def _slot_budget(ledger: Ledger, plan_id: str, key: str | None, retry: bool) -> Guarantee | None:
    """Return what the next slot of a plan has paid for; None where there is none to take."""
    with suppress(DiscreetError):  # why is said at the charge
        found = ledger.plan(plan_id)
        return found.charge(found.next(key, retry=retry)).guarantee
    return None


def _series(ledger: Ledger, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return which slot a release took, and how many more of its plan are free."""
    return {**told, "free": ledger.plan(told["plan_id"]).free}


def preview(
    spec: str | Path | Mapping[str, Any] | Spec,
    *,
    data: Any = None,
    folder: str | Path | None = None,
    plan_id: str | None = None,
    key: str | None = None,
    retry: bool = False,
    keys_from: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Preview:
    """Say what a release would cost, what would be left, and how accurate it would be."""
    found = release(
        spec,
        data=data,
        folder=folder,
        dry_run=True,
        plan_id=plan_id,
        key=key,
        retry=retry,
        keys_from=keys_from,
        changes=changes,
    )
    if not isinstance(found, Preview):
        raise TypeError("a dry run gives a preview")
    return found


def charge_dict(plan: Plan) -> dict[str, Any]:
    """Return the charge as {epsilon, delta, rho}; null for what does not apply."""
    charges = plan.pricing.charges
    if len(charges) == 1:
        only = charges[0]
        return parameters(
            getattr(only, "epsilon", None), getattr(only, "delta", None), getattr(only, "rho", None)
        )
    # Several charges come only with a budget in ρ, where (ε, δ) of keys enters as ε²/2 and δ.
    rho = delta = Fraction(0)
    for one in charges:
        paid = decimal(getattr(one, "epsilon", 0.0)) ** 2 / 2
        rho += decimal(one.rho) if isinstance(one, ZCDP) else paid
        delta += decimal(getattr(one, "delta", 0.0))
    return parameters(None, float_up(delta), float_up(rho))


def _stored(plan: Plan, paid: Paid, table: Table) -> dict[str, Any]:
    """Return the stored release: everything that a report or a statement is made from."""
    facts, spec = paid.facts(), plan.spec
    return facts | {
        "spec": _told_spec(spec),
        "made_with": facts["made_with"] | {"opendp": version("opendp")},
        "interval": spec.interval,
        "plan": plan.to_dict(),
        "cut": plan.cut(table),
        "gaussian_mu": _mu(plan),
        "explanations": plan.explanations(),
        "table": table.to_dict(),
        **({"set": spec.changes} if spec.changes else {}),
    }


def _mu(plan: Plan) -> float | None:
    """Return μ = √(2ρ) of the Gaussian noise in a release, rounded up; None without any."""
    name = DiscreteGaussian.released_as
    rho = math.fsum(call.rho or 0.0 for call in plan.pricing.calls if call.mechanism == name)
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
