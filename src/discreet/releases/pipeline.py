"""The whole way of a release: spec ─ plan ─ charge (`charge`) ─ bound, aggregate, noise ─ files.

What a release says of itself is stored once (`_stored`); its statement says on one page what was
promised, from that alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    ParamSpec,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from discreet.errors import DiscreetError, InputError, PolicyError
from discreet.frames import JsonReady, Tabular, columns_from, html_grid
from discreet.guarantees import Guarantee, added, figures_apart
from discreet.laws import DiscreteGaussian
from discreet.ledger import Ledger, Standing
from discreet.ledger.amounts import charges
from discreet.promises import Promise
from discreet.reading import like
from discreet.releases import outputs
from discreet.releases.charge import (
    Charging,
    Confirm,
    Made,
    Outlook,
    Paid,
    Repeat,
    Say,
    found_again,
)
from discreet.releases.drawing import Progress, chosen_limit, completed, draw, with_found_keys
from discreet.releases.engines import opened
from discreet.releases.planning import Plan, only_bounds, plan_of
from discreet.releases.rows import joined, rows_told, sampled, shaped, texts_joined
from discreet.releases.spec import Spec, load
from discreet.releases.statistics.cut import clipped_told
from discreet.releases.tables import Table
from discreet.rounding import FIGURES, number, up
from discreet.statements import (
    compared_lines,
    gaussian_lines,
    learned_lines,
    promise_lines,
    promises_in,
    values_open,
)
from discreet.statements.presenter import accuracy, cut_lines, figures_spent
from discreet.statements.tables import (
    flat,
    promised_limits,
    sensitive_lines,
    sensitivity_text,
    stated_amount,
    stated_limit,
    titled,
)
from discreet.words import say as text

if TYPE_CHECKING:
    from discreet.releases.spec import InFolder


class _Charged:
    """What a release guarantees by itself, and what its spec promises: `explain` takes both."""

    __slots__ = ()
    plan: Plan

    @property
    def guarantee(self) -> Guarantee:
        """What is charged: all of it together."""
        from discreet.composition import loss_of

        first, *more = (one.guarantee for one in charges(self.plan.pricing.charges))
        return loss_of(first, *more).curve() if more else first

    @property
    def promise(self) -> Promise | None:
        """The promise that the spec makes."""
        return self.plan.spec.promised()

    @property
    def unit_name(self) -> str:
        """What is protected, as sentences call it."""
        return str(self.plan.spec.unit)


_MOST_ROWS = 10**9
"""Of a group that accuracy is told for."""


@dataclass(frozen=True, slots=True)
class Preview(_Charged, Tabular):
    """What a release would cost, and how accurate it would be; nothing was read or spent."""

    plan: Plan
    outlook: Outlook

    @property
    def spent(self) -> dict[str, Any]:
        """What the release would charge."""
        return self.outlook.charging.spent

    @property
    def remaining(self) -> dict[str, Any] | None:
        """What the account allows now; None if it is not open."""
        return self.outlook.remaining

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know before the release, beside the warnings."""
        found = (*self.plan.as_written, *self.plan.notes, *self.outlook.notes)
        return tuple(note for note in found if note != self.outlook.elsewhere)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is probably not meant; a job may stop if there is any."""
        elsewhere = self.outlook.elsewhere
        return (*self.plan.warnings, *([] if elsewhere is None else [elsewhere]))

    @property
    def unasked(self) -> tuple[str, ...]:
        """The warnings and notes that are told where nobody is asked whether to go on."""
        told = (*self.warnings, *self.plan.in_short, *self.plan.notes, *self.outlook.unasked)
        return tuple(dict.fromkeys(told))

    @property
    def refused(self) -> DiscreetError | None:
        """Why the release would be refused; None if it would not."""
        return self.outlook.refused

    @property
    def promises(self) -> tuple[Standing, ...]:
        """Where the account would stand under each of its promises."""
        return self.outlook.promises

    def in_groups_of(self, size: int | None) -> Preview:
        """Return it with accuracy told for groups of about so many rows."""
        if size is not None and (isinstance(size, bool) or not 1 <= size <= _MOST_ROWS):
            raise InputError("releases.size", size=size, most=_MOST_ROWS)
        return replace(self, plan=replace(self.plan, size=size))

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
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "paid": self.outlook.paid,
            "repeated": self.outlook.repeated,
            "key": self.outlook.charging.key,
            "slot": self.outlook.slot,
            "refused": None
            if refused is None
            else {"exit_code": refused.exit_code} | refused.to_dict(),
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
class Release(_Charged, Made, JsonReady):
    """A release that was made: its charge, its files, its table."""

    shows: ClassVar = ("release_id", "spent", "remaining", "files", "statement", "head", "series")

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
    key: str | None = None
    figures: int = field(default=FIGURES, repr=False)
    """With how many figures it says what it spent, so that it seems to pass no limit."""

    def to_dict(self) -> dict[str, Any]:
        """Return the release as JSON-ready values, without its table."""
        slot = None if self.series is None else self.series["slot"]
        own = JsonReady.to_dict(self) | {"repeated": False, "key": self.key, "slot": slot}
        return {**own, **self.plan.to_dict(), "cut": self.plan.cut(self.table)}

    def __repr__(self) -> str:
        return f"Release({self.release_id!r}, {_said(self.spent)}, {len(self.table)} rows)"

    @property
    def _of(self) -> InFolder:
        return self.plan.spec


def _said(amount: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in amount.items() if value is not None)


P = ParamSpec("P")
R = TypeVar("R")


def _by_name(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse an argument that a function does not have in our words, with those that it has."""
    known = list(signature(function).parameters)

    @wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> R:
        for name in named:
            if name not in known:
                told = {"function": function.__name__, "name": name, "known": ", ".join(known)}
                flag = "releases.argument_yes" if name == "yes" else "releases.argument"
                raise InputError(flag, like=like(name, known), **told)
        return function(*given, **named)

    return called


GivenSpec: TypeAlias = str | Path | Mapping[str, Any] | Spec


class _Run(TypedDict, total=False):
    folder: str | Path | None
    confirm: Confirm | None
    say: Say | None
    progress: Progress | None
    before_charge: Callable[[Preview], None] | None
    who: str | None
    plan_id: str | None
    next_slot: bool
    retry: bool
    keys_from: str | Path | None
    changes: Mapping[str, Any] | None


# Only a key finds a release again.
@overload
def release(
    spec: GivenSpec,
    data: Any = None,
    *,
    dry_run: Literal[False] = False,
    key: None = None,
    **run: Unpack[_Run],
) -> Release: ...
@overload
def release(
    spec: GivenSpec,
    data: Any = None,
    *,
    dry_run: Literal[True],
    key: str | None = None,
    **run: Unpack[_Run],
) -> Preview: ...
@overload
def release(
    spec: GivenSpec,
    data: Any = None,
    *,
    dry_run: Literal[False] = False,
    key: str | None,
    **run: Unpack[_Run],
) -> Release | Repeat: ...
@overload
def release(
    spec: GivenSpec, data: Any = None, *, dry_run: bool, key: str | None = None, **run: Unpack[_Run]
) -> Release | Preview | Repeat: ...
@_by_name
def release(
    spec: GivenSpec,
    data: Any = None,
    *,
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
    the only plan of the account with a free one. A `key` ties that slot, or the charge, to an
    occasion ("2026-11"): the same key again finds the stored release, and charges nothing. If its
    release was lost, `retry` takes another slot for the key, or charges it again. Files of keys lie
    below the spec's folder, or below `keys_from`. `changes` are keys of the spec that are set at
    run time, such as `{"source": "november.csv", "protect.rows": 2}`; the stored release names
    them.
    """
    asked = load(spec, folder=folder, keys_from=keys_from, changes=changes)
    ledger = Ledger.open(asked.ledger_url)
    if next_slot and plan_id is None:
        plan_id = ledger.only_plan(asked.account, key)
    if not dry_run and (found := found_again(asked, ledger, key, plan_id, say)) is not None:
        return found
    engine = opened(asked.source, asked.path, data, asked.to_dict(), schema_only=dry_run)
    try:
        own, engine = {*engine.columns}, joined(engine, asked)
        source, engine = engine.columns, shaped(engine, asked)
        slot = None if plan_id is None else _slot_budget(asked, ledger, plan_id, key, retry)
        account = ledger.found(asked.account)
        plan = plan_of(asked, engine.columns, account, slot=slot, source=source)
        given = data is not None and asked.located is not None
        texts = texts_joined(asked, plan.keyed)
        plan = replace(plan, given=given, joined=frozenset({*source} - own), texts=texts)
        how: dict[str, Any] = {"plan_id": plan_id, "key": key, "retry": retry}
        charging = Charging(asked, ledger, plan.pricing.charges, **how)
        if dry_run:
            return Preview(plan, charging.outlook(confirm))
        if (before_charge or say) is not None:
            look = Preview(plan, charging.outlook(confirm=True))
            if look.refused is None:  # else the charge says why
                if before_charge is not None:
                    before_charge(look)
                elif say is not None:
                    for warning in look.warnings:
                        say(warning)
        with charging.paid(confirm, say, who) as paid:
            if paid.repeated:
                return paid.repeat(say)
            if plan.limits:
                limit = chosen_limit(plan, plan.limits, engine)
                plan = plan.limits[limit]
                if say is not None:
                    say(text("releases.plan.limit_chosen", rows=limit))
            rows = sampled(engine, asked)
            plan = with_found_keys(plan, rows, progress)
            table = completed(plan, draw(plan, rows, progress=progress))
            if say is not None:
                for sentence in only_bounds(asked, table.columns):
                    say(sentence)
            told = _stored(plan, paid, table)
            files = paid.publish(outputs.written(told, table, statement(told)))
    finally:
        engine.close()
    series = told.get("series")
    return Release(
        release_id=paid.release_id,
        spent=told["spent"],
        remaining=told["remaining"],
        files=files,
        statement=files[0].parent / outputs.STATEMENT,
        plan=plan,
        table=table,
        head=ledger.head,
        series=series and {**series, "free": ledger.plan(series["plan_id"]).free},
        key=key,
        figures=figures_spent(told),
    )


def _slot_budget(
    asked: Spec, ledger: Ledger, plan_id: str, key: str | None, retry: bool
) -> Guarantee | None:
    """Return what the slot of a plan has paid for; None where the charge says why there is none."""
    try:
        return ledger.plan(plan_id).paid(key, retry=retry)
    except PolicyError:
        if asked.budget is None and asked.promise_keys is None:
            raise
    return None


@_by_name
def preview(
    spec: GivenSpec,
    data: Any = None,
    *,
    folder: str | Path | None = None,
    plan_id: str | None = None,
    next_slot: bool = False,
    key: str | None = None,
    retry: bool = False,
    keys_from: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    confirm: Confirm | None = None,
    size: int | None = None,
) -> Preview:
    """Say what a release would cost, what would be left, and how accurate it would be.

    It is refused where `release` with the same arguments would be. `confirm` allows a second run
    of the same spec, as there; nobody is asked. Where accuracy depends on how many rows a group
    has, it is told for `size` rows, or else for several sizes.
    """
    look = release(
        spec,
        data=data,
        folder=folder,
        dry_run=True,
        plan_id=plan_id,
        next_slot=next_slot,
        key=key,
        retry=retry,
        keys_from=keys_from,
        changes=changes,
        confirm=confirm,
    )
    return look.in_groups_of(size)


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
        **({"empty": plan.empty} if plan.empty else {}),
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


# ---------------------------------------------------------------------- the statement


def _say(name: str, **values: Any) -> str:
    return text(f"release_statement.{name}", **values)


def statement(said: Mapping[str, Any]) -> str:
    """Return the statement of a release as Markdown; what people wrote stays a text in it."""
    unit, subject, plan = said["unit"], flat(said["unit_name"]), said["plan"]
    left, sensitive = said["remaining"], said["spec"].get("sensitive")
    spent = said["account_spent"]
    limits = [added(spent, left), *promised_limits(said["promises"])]
    columns = unit.get("column") or []
    named = subject
    if columns:
        names = {"names": flat(", ".join(columns)), "many": len(columns)}
        named = text("statements.unit_columns", unit=subject, **names)
    beyond = unit["unit"] if unit["unit"] in ("person", "household") else "record"
    bounds = plan["contributions"].values()
    most = {name: max(one[name] for one in bounds) for name in ("rows", "groups")}
    gathered = any(one.get("gathered") for one in bounds)
    spec = Spec.model_validate({"ledger": "-", **said["spec"]})
    told, measured = [*rows_told(spec)], [one for entry in spec.named() for one in entry.tables()]
    clipped = [line for one in measured for _, line in clipped_told(one)]
    why = plan["mechanism"][:1].upper() + plan["mechanism"][1:]
    bound = promises_in(said["promises"], unit["adjacency"])
    promised = [
        part
        for line in (
            *promise_lines(said["promises"], stated_amount(spent, *limits)),
            *sensitive_lines(said["promises"], unit["adjacency"], sensitive),
            *map(flat, compared_lines(said["promises"], said["learned"])),
        )
        for part in (line, "")
    ]
    lines = [
        titled("release_statement.title", said["promises"], flat(said["purpose"])),
        "",
        *promised,
        _say("learned"),
        "",
        text("statement.learned.lead", unit=subject),
        "",
        *learned_lines(said["learned"]),
        "",
        _say("spent"),
        "",
        _say("made", release=said["release_id"], at=said["made"]),
        _say(
            "unit",
            unit=named,
            neighbours=_say(f"neighbours.{unit['adjacency']}"),
        ),
        *_planned(said),
        _say("this", amount=stated_amount(said["spent"], *limits)),
        _say("so_far", account=flat(said["account"]), amount=stated_amount(spent, *limits)),
        _say("remaining", amount=_say("no_cap") if left.get("unbounded") else stated_limit(left)),
        *([] if sensitive is None else [_say("sensitive", words=flat(sensitive))]),
        _say("head", head=said["head"]),
        "",
        _say("how"),
        "",
        _say("gathered" if gathered else "bounded", unit=subject, mechanism=why, **most),
        "",
        *([flat(" ".join(told)), ""] if told else []),
        _say("calls"),
        "|---|---|---|---|---|---|---|---|",
        *(_call(call, limits) for call in plan["calls"]),
        "",
        *gaussian_lines(said.get("gaussian_mu")),
        *_found(plan),
        _say("intervals", interval=said["interval"]),
        *(f"- {flat(line)}" for line in cut_lines(said)),
        *(f"- {flat(line)}" for line in dict.fromkeys(clipped)),
        *(f"- {flat(line)}" for line in said.get("empty", {}).values()),
        "",
        _say("unprotected"),
        "",
        *([_say("of_values", unit=subject)] if bound and values_open(bound) else []),
        _say("of_groups", unit=subject),
        _say("elsewhere"),
        _say("later"),
        _say("beyond", unit=subject, what=_say(f"beyond_{beyond}")),
        "",
    ]
    return "\n".join(lines)


def _planned(said: Mapping[str, Any]) -> list[str]:
    """Return which slot of a plan a release takes, or of how many it is one; nothing if alone."""
    slot, series = said.get("series"), said["spec"].get("series")
    if slot:
        return [_say("slot", **slot)]
    return [_say("series", of=series["releases"])] if series else []


def _found(plan: Mapping[str, Any]) -> list[str]:
    """Return a line for each search for keys: what was found is shown, and nothing else counts."""
    searches = [call for call in plan["calls"] if "threshold" in call]
    said = [
        _say("found", statistic=flat(c["statistic"]), part=flat(c["part"]), units=c["threshold"])
        for c in searches
    ]
    return [*said, ""] if said else []


def _call(call: Mapping[str, Any], limits: Sequence[Mapping[str, Any]]) -> str:
    def price(value: float | None) -> str:
        return "" if value is None else number(value, "up", figures_apart(call, *limits))

    names = (flat(call["statistic"]), flat(call["part"]), call["mechanism"])
    sizes = (sensitivity_text(call, 4), f"{call['scale']:.4g}")
    cells = (*names, *sizes, *(price(call.get(name)) for name in ("epsilon", "delta", "rho")))
    return f"| {' | '.join(cells)} |"
