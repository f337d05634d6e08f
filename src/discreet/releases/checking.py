"""A spec without the protected data: checked by declared columns, or tried on a twin of the data.

On a twin it is seen what limits and bounds cost, beside what the noise costs. A limit of few rows a
unit needs little noise and leaves rows out; a limit of many does the opposite. Neither can be seen
in the protected data without paying. On a twin, a file that is public or invented and looks alike,
both can: for each limit,

    bias    the root mean square of (without noise) − (without noise, limits and bounds),
    noise   that of (with noise) − (without noise),
    error   that of (with noise) − (without noise, limits and bounds),

over all values of a statistic. Where a row has a standard error, its noise has that standard
deviation and the mean 0, and error² = bias² + noise²; otherwise both are over some draws. The noise
of a mean, a variance, a share, a rate or a change is simulated by the laws of the calls instead,
from the whole numbers that were measured once: a thousand times, with the same seed for each limit.
Its mean is taken to be 0 too, as it nearly is unless the bounds cut it off. What was found for a
bounding is kept, so limits of `rows` and `groups` that bound alike have the same figures wherever
they are shown; and so has each statistic that two limits bound alike, at the same price. The
recommended limit has the least geometric mean of the errors of all statistics, so that no unit of
measurement counts more than another; an error counts as a thousandth of the statistic's largest at
least, and as a tenth where it comes from draws, so that none decides alone because its draws
happened to be right. What draws alone tell apart decides nothing beside errors that are computed.

Which rows count is drawn, too. Where limits leave out rows, they are drawn several times, so that
bias and error are those of all draws, and how far these are apart tells how much of it is chance.

The values without noise are those of the same release at a budget so large that no noise is left.
Quantiles are drawn at any budget, so theirs are counted instead: the least value that the share of
the rows, or more, lies at or below. A group without rows has none.

A statistic to which no row of the twin adds has a bias of zero at every limit, whatever limits
leave out of the data. It is named, and counts for no recommendation.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import accumulate
from pathlib import Path
from statistics import mean, stdev
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from discreet.errors import DataError, InputError, PolicyError, SpecError
from discreet.frames import JsonReady, Tabular, columns_from
from discreet.releases.charge import assumed_account, spent_of
from discreet.releases.contributions import Contribution
from discreet.releases.drawing import (
    Drawn,
    Observe,
    draw,
    measures_of,
    meeting,
    passes,
    with_found_keys,
)
from discreet.releases.engines import is_csv, opened
from discreet.releases.engines.base import Column, Counting, Engine, Query, fields
from discreet.releases.formula import Formula, Term, kind_declared, resolve
from discreet.releases.planning import Plan, Planned, alike, plan_of
from discreet.releases.pricing import require_own
from discreet.releases.rows import (
    Schema,
    columns_read,
    columns_seen,
    hints,
    joined,
    read_as,
    sampled,
    shaped,
    texts_joined,
)
from discreet.releases.source import Source, options_of
from discreet.releases.spec import Spec, load
from discreet.releases.statistics.base import Measured
from discreet.releases.statistics.cut import limits_of
from discreet.releases.statistics.derived import Derived, Maker
from discreet.releases.statistics.quantile import Quantile
from discreet.releases.statistics.quantiles import Ranked
from discreet.releases.statistics.values import Answer, Noisy, Result, decimal
from discreet.releases.tables import RESERVED
from discreet.words import say

_NAMES = re.compile(
    r"(.*[_ -])?(id|person|patient|user|customer|client|resident|pupil|student|employee|member"
    r"|personen|patienten|kunden?|nutzer|mitglieds?|einwohner|schüler|versicherten?|mitarbeiter"
    r"|personne|usager|assuré|adhérent|élève|salarié|habitant|identifiant"
    r"|persona|paciente|usuario|cliente|alumno|empleado|afiliado|identificador)"
    r"([_ .-]?(id|no|number|key|nr|nummer|kennung|schlüssel|num|numéro|número)\.?)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Checked(Tabular):
    """A spec that keeps every rule which can be checked without data, with its cost.

    `basis` says where the columns come from: `declared` (given, or by the types of the source), a
    `header`, or `assumed` (that every column which the spec names is there, of a kind that fits).
    """

    plan: Plan
    basis: Literal["declared", "header", "assumed"]
    columns: Mapping[str, Column]
    hints: tuple[str, ...] = ()

    @property
    def spent(self) -> dict[str, Any]:
        """What the release would charge."""
        return spent_of(self.plan.pricing.charges)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of it; where it matters, for which account it is priced."""
        assumed = assumed_account(self.plan.spec, self.plan.pricing.charges)
        said = (*self.plan.as_written, *self.plan.notes, *self.hints)
        return tuple(dict.fromkeys(said if assumed is None else (assumed, *said)))

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON-ready values."""
        return {
            "checked": True,
            "account": self.plan.spec.account,
            "basis": self.basis,
            "columns": [{"name": name, "kind": kind} for name, kind in self.columns.items()],
            "spent": self.spent,
            "cut": self.plan.cut(),
            "warnings": list(self.plan.warnings),
            "notes": list(self.notes),
            **self.plan.to_dict(),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the mechanism calls, with what each costs."""
        return columns_from(call.to_dict() for call in self.plan.pricing.calls)

    def __repr__(self) -> str:
        return f"Checked({self.plan.spec.account!r}, columns {self.basis})"


def check(
    spec: str | Path | Mapping[str, Any] | Spec,
    *,
    columns: Mapping[str, Column] | None = None,
    header: str | Path | None = None,
    folder: str | Path | None = None,
    keys_from: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Checked:
    """Check a spec and price it, with no data and no ledger; what breaks a rule is refused.

    Public files are read: lists of keys, and tables that are joined, where the columns are known.
    `columns` declares the columns and their kinds; `header` is a file that has them, of which no
    row is read. Without either, every column that the spec names is taken to be there.
    """
    asked = load(spec, folder=folder, keys_from=keys_from, changes=changes)
    require_own(asked)
    basis: Literal["declared", "header", "assumed"] = "declared"
    assumed: dict[str, Column] = {}
    known: dict[str, Column] = dict(columns or {})
    if columns is None and header is not None:
        basis, known = "header", columns_in(elsewhere(asked, header))
    elif columns is None:
        types = options_of(asked.source).types
        known = {name: kind_declared(kind) for name, kind in types.items()}
        seen = columns_seen(asked)
        # What a formula reads is needed, whether a statistic uses the formula or not.
        assumed = dict.fromkeys(_read(asked, (*seen, *asked.let, *asked.per_unit)), "untyped")
        if not types or not (is_csv(asked.located or "") or assumed.keys() <= types.keys()):
            csv = is_csv(asked.located or "")
            kinds: dict[str, Column] = {
                name: "untyped" if csv and name in assumed else "number" for name in seen
            }
            plan = plan_of(asked.as_shaped(), kinds | known)
            if csv:
                named = columns_read(asked, (*asked.let, *asked.per_unit))
                read = read_as(asked, {**dict.fromkeys(named, "untyped"), **assumed, **known})
                source = set(_read(asked, read))  # of a table that is joined nothing is known
                plan = replace(plan, assumed_types={n: read[n] for n in read if n in source})
            return Checked(plan, "assumed", assumed | known, tuple(hints(asked)))
    # A protected table that is joined is data, as the source is: with assumed columns it is closed.
    hidden = [join for join in asked.join if assumed and not join.public]
    looked_up: dict[str, Column] = {name: "untyped" for join in hidden for name in join.columns}
    opening = [join for join in asked.join if join not in hidden]
    by = {name: assumed[name] for join in opening for name in join.by if name in assumed}
    there = by | looked_up | known
    both = joined(Schema(there), asked, opening).columns
    looked_up |= {name: kind for name, kind in both.items() if name not in there}
    every = assumed | looked_up | known
    plan = plan_of(asked, shaped(Schema(every), asked).columns, source=every)
    plan = replace(plan, texts=texts_joined(asked, plan.keyed))
    own = {name: kind for name, kind in assumed.items() if name not in looked_up}
    return Checked(plan, basis, own | known)


def elsewhere(spec: Spec, path: str | Path) -> Source:
    """Return another file, read as the spec says that its source is written."""
    return options_of(spec.source).model_copy(update={"path": str(path)})


def proposed_source(path: str) -> Source:
    """Return a file as a source; of a CSV file, as its header line shows that it is written."""
    from discreet.releases.engines.files import written_as

    source = Source(path=path)
    return written_as(Path(path), source) if is_csv(path) and Path(path).is_file() else source


def proposed_unit(columns: Iterable[str]) -> str | None:
    """Return the column that names one person, by its own name; None if none looks like it."""
    return next((name for name in columns if _NAMES.fullmatch(name)), None)


def columns_in(source: str | Source) -> dict[str, Column]:
    """Return the columns of a source and their kinds, from its header or schema alone."""
    with closing(opened(source, lambda name: Path(name).resolve())) as engine:
        return dict(engine.columns)


def _read(spec: Spec, seen: Iterable[str]) -> Iterator[str]:
    """Yield the columns of the source that a spec reads for them, as far as it says which."""
    looked_up = {name for join in spec.join for name in join.columns}
    by = (name for join in spec.join for name in join.by)
    return (name for name in columns_read(spec, (*seen, *by)) if name not in looked_up)


# ---------------------------------------------------------------------- on a twin

LIMITS = (1, 2, 5, 10, 20, 50)
"""The limits that are tried where none are named."""

FURTHER = (*LIMITS, 70, 100, 150, 200, 300, 500, 700, 1000)
"""Where none are named, the next of these is tried too, as long as the one before it is best."""

GROUPS = (1, 2, 3, 5, 10, 20)
"""The limits of groups that are tried where the spec has one, up to what the twin's units touch."""

_MOST = 1_000_000
_NO_NOISE = {
    "budget": {"epsilon": 1e30},
    "tolerance": None,
    "promise": None,
    "series": None,
    "mechanism": "geometric",
}
_WIDE = 2.0**40
_NAMED = 10
"""The most columns of a twin that are named where another is not there."""
_TIMES, _LEAST_TIMES = 1000, 10
"""How often noise is simulated, in all cells together and in each at least."""
_DRAWS = 120
"""How often at least values that are chosen at once are simulated, in all cells together."""

_CHOSEN = 5
"""How often at most the rows that count are drawn anew, where limits leave out some."""
_LUCK = "luck"
"""What a row has of how far its error may be off by chance; it is not told."""
_FEW = 2.5
"""The t-quantile at 97.5 % of a difference of means of about `_CHOSEN` draws each."""
_CLEAR = 0.05
"""How far apart limits may be about even: the sum of logarithms of errors that are not drawn."""

_Rows: TypeAlias = dict[tuple[Any, ...], tuple[float, float | None]]
"""By what names a row: its value, and the standard deviation of its noise where that is known."""
Values: TypeAlias = dict[str, _Rows]


@dataclass(frozen=True, slots=True)
class Rehearsal(JsonReady, Tabular):
    """What each limit would cost on a twin: bias, noise and error of every statistic."""

    shows: ClassVar = (
        *("limit", "choices", "least", "recommended", "recommended_by", "best"),
        *("repeats", "alike", "even", "rows"),
        *("groups", "least_together", "recommended_together", "by_groups"),
        *("even_together", "try_next", "empty", "missing", "spent", "releases"),
    )
    recommended_by: ClassVar[str] = "geometric-mean-of-errors"

    rows: tuple[Mapping[str, Any], ...]
    recommended: int
    limit: int
    repeats: int
    alike: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """For a limit others that do the same, and were not tried: no more rows can count."""
    even: tuple[int, ...] = ()
    """Limits that only chance tells from the best: the spec's own is recommended among them."""
    groups: int | None = None
    by_groups: tuple[Mapping[str, Any], ...] = ()
    """The same rows for limits of groups, each with the limit of rows that is best beside it."""
    recommended_together: Mapping[str, int] = field(default_factory=dict)
    """The limits of `groups` and of `rows` with the least error, where both were tried; the spec's
    own, where only chance tells it from those."""
    choices: tuple[int, ...] = ()
    """The limits among which the spec lets the release choose; `limit` is the largest."""
    least: int = 0
    """The limit with the least error, whether it is the spec's own or not."""
    least_together: Mapping[str, int] = field(default_factory=dict)
    """The same of `groups` and `rows` together."""
    even_together: tuple[Mapping[str, int], ...] = ()
    """Pairs of `groups` and `rows` that only chance tells from the best."""
    empty: tuple[str, ...] = ()
    """Statistics to which no row of the twin adds: their figures tell nothing of any limit."""
    missing: tuple[str, ...] = ()
    """Derived and declared columns that are missing in every row of the twin."""
    spent: Mapping[str, Any] = field(default_factory=dict)
    """What the release would charge, and pays for the noise that is shown."""
    releases: int | None = None
    """Of how many releases that is the part of one, as the spec's `series` says."""

    @property
    def best(self) -> dict[str, int]:
        """For each statistic the limit with its least error, the smallest of several."""
        found: dict[str, Mapping[str, Any]] = {}
        for row in (row for row in self.rows if row["statistic"] not in self.empty):
            if row["error"] < found.get(row["statistic"], {"error": math.inf})["error"]:
                found[row["statistic"]] = row
        return {name: row["limit"] for name, row in found.items()}

    @property
    def try_next(self) -> int | None:
        """A larger limit to try, where the largest that was tried is best; None if none can be."""
        largest = max((row["limit"] for row in self.rows), default=_MOST)
        biased = any(row["bias"] for row in self.rows if row["limit"] == largest)
        may_help = biased and self.least == largest < _MOST and largest not in self.alike
        return min(2 * largest, _MOST) if may_help else None

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row for each limit and statistic."""
        return columns_from(self.rows)

    def __repr__(self) -> str:
        return f"Rehearsal(recommended={self.recommended}, {len(self.rows)} rows)"


def rehearse(
    spec: str | Path | Mapping[str, Any] | Spec,
    twin: Any,
    *,
    limits: Sequence[int] | None = None,
    repeats: int = 10,
    folder: str | Path | None = None,
    keys_from: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Rehearsal:
    """Make the release on a twin with different limits of rows, and compare bias with noise.

    `twin` is a file, or data as for `release(data=…)`: public or invented, never the protected
    ones. Nothing is charged or stored, and no ledger is needed. `changes` set keys of the spec, as
    in `release`. `progress` is told before each limit: (what, tried, limits).
    """
    asked = load(spec, folder=folder, keys_from=keys_from, changes=changes)
    require_own(asked)
    if asked.protect.rows is None:
        raise InputError("releases.rehearse.record")
    if repeats < 1 or (limits is not None and not all(1 <= n <= _MOST for n in limits)):
        raise InputError("releases.rehearse.numbers", most=_MOST)
    choice = asked.protect.rows_choice
    choices = choice.choose if choice else ()
    tried = sorted({*(limits or (*LIMITS, *choices)), asked.protect.rows})
    if asked.per_unit:
        raise InputError("releases.rehearse.per_unit")
    if any(not join.public for join in asked.join):
        raise InputError("releases.rehearse.joined")
    seen = sampled(shaped(joined(_opened(asked, twin), asked), asked), asked)
    with closing(seen):
        engine: Any = _Remembering(seen)
        freed = _truth(asked, engine)
        truth = _exact(freed, engine)
        empty = tuple(_in_no_row(plan_of(freed, engine.columns), engine, truth))
        missing = tuple(_in_every_row_missing(asked, engine))
        trial = _Trial(engine, truth, tuple(tried), repeats, empty, progress)
        rows, same = trial.of_limits(asked)
        while limits is None and (larger := trial.next_of(rows)):
            trial = replace(trial, limits=tuple(sorted((*trial.limits, larger))))
            rows, same = trial.of_limits(asked)
        beside = trial.of_groups(asked, rows)
        spent = spent_of(plan_of(asked, engine.columns).pricing.charges)
    own = asked.protect.rows
    even = trial.best(rows, own)
    recommended = own if own in even and not choices else even[0]
    alike_enough = tuple(sorted(even)) if even[1:] else ()
    found = Rehearsal(
        *(_shown(rows), recommended, own, repeats, same, alike_enough),
        choices=choices,
        least=even[0],
        empty=empty,
        missing=missing,
        spent=spent,
        releases=None if asked.series is None else asked.series.releases,
    )
    groups = asked.protect.groups
    if groups is None or len(beside) < 2:
        return found
    return _with_groups(found, trial, beside, groups)


@dataclass(frozen=True, slots=True)
class _Trial:
    """What limits are tried on: the twin, its values without limits, and how often."""

    engine: Any
    truth: Values
    limits: tuple[int, ...]
    repeats: int
    empty: tuple[str, ...]
    """The statistics to which no row adds: they tell nothing of limits."""
    progress: Callable[[str, int, int], None] | None = None
    known: dict[Any, list[dict[str, Any]]] = field(default_factory=dict)
    """What was found, by what bounds the rows: limits of `groups` may share it."""
    figures: dict[Any, dict[str, Any]] = field(default_factory=dict)
    """The same of single statistics, by their own bounds and the noise of their calls."""

    def of_limits(self, spec: Spec) -> tuple[list[dict[str, Any]], dict[int, Sequence[int]]]:
        """Return what each limit of rows costs, and for a limit others that do the same."""
        columns, own = self.engine.columns, spec.protect.rows
        plans = {n: plan_of(_with(spec, {"protect.rows": n}), columns) for n in self.limits}
        # Of limits that do the same, the spec's own is tried, or else the smallest.
        found = alike(plans, sorted(self.limits, key=lambda limit: limit != own))
        tried = sorted(first for first, *_ in found)
        rows: list[dict[str, Any]] = []
        for place, n in enumerate(tried):
            if self.progress is not None:
                self.progress(say("releases.rehearse.trying", limit=n), place, len(tried))
            rows += [row | {"limit": n} for row in self._tried(spec, plans[n], n)]
        return rows, {first: others for first, *others in found if others}

    def next_of(self, rows: Sequence[Mapping[str, Any]]) -> int | None:
        """Return the next of `FURTHER` above the best limit, unless it was tried."""
        best = self.best(rows, _MOST)[0]
        larger = next((n for n in FURTHER if n > best), None)
        return None if larger in self.limits else larger

    def _tried(self, spec: Spec, plan: Plan, limit: int) -> list[dict[str, Any]]:
        if plan.bounded not in self.known:
            found = _tried(spec, self.engine, self.truth, plan, limit, self.repeats)
            own = _depends_on(plan)
            self.known[plan.bounded] = [
                self.figures.setdefault((row["statistic"], own[row["statistic"]]), row)
                for row in found
            ]
        return self.known[plan.bounded]

    def of_groups(self, spec: Spec, rows: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
        """Return the same for limits of groups: the spec's own, whose `rows` are known, and others.

        One that leaves out as little as the one before, where no limit of rows does, leaves out no
        group: it is the last of them, and not told.
        """
        own, most = spec.protect.groups, max(self.limits)
        if own is None:
            return {}
        plans = {
            n: plan_of(
                _with(spec, {"protect.groups": n, "protect.rows": most}), self.engine.columns
            )
            for n in {*GROUPS, own}
        }
        found: dict[int, list[dict[str, Any]]] = {}
        before: list[float] | None = None
        enough = False
        for n in sorted(first for first, *_ in alike(plans, sorted(plans, key=lambda n: n != own))):
            if enough and n != own:
                continue
            here = rows if n == own else self.of_limits(_with(spec, {"protect.groups": n}))[0]
            widest = max(row["limit"] for row in here)
            left_out = [row["bias"] for row in here if row["limit"] == widest]
            enough = enough or left_out == before
            before = left_out
            if n == own or not enough:
                found[n] = here
        return found

    def best(self, rows: Sequence[Mapping[str, Any]], own: Any) -> list[Any]:
        """Return the best limit, and behind it those that only chance may tell from it.

        It is the spec's own where nothing tells limits apart.
        """
        telling = [row for row in rows if row["statistic"] not in self.empty]
        cells = {name: self.repeats * len(true) for name, true in self.truth.items()}
        tried = list(dict.fromkeys(row["limit"] for row in telling))
        return _best(telling, tried, cells) if tried else [own]


def _with_groups(
    found: Rehearsal, trial: _Trial, beside: Mapping[int, list[dict[str, Any]]], own: int
) -> Rehearsal:
    """Return it with limits of groups, each with its best limit of rows, and the best of all."""
    limits = {
        n: found.recommended if n == own else trial.best(rows, found.limit)[0]
        for n, rows in beside.items()
    }
    by_groups = [
        {"groups": n} | row
        for n, rows in beside.items()
        for row in rows
        if row["limit"] == limits[n]
    ]
    every = [row | {"limit": (n, row["limit"])} for n, rows in beside.items() for row in rows]
    now = (own, found.limit)
    even = trial.best(every, now)
    groups, limit = now if now in even and not found.choices else even[0]
    return replace(
        found,
        even_together=_pairs(even) if even[1:] else (),
        groups=own,
        by_groups=_shown(by_groups),
        least_together=_pairs(even[:1])[0],
        recommended_together={"groups": groups, "rows": limit},
    )


def _pairs(limits: Iterable[tuple[int, int]]) -> tuple[dict[str, int], ...]:
    return tuple({"groups": groups, "rows": rows} for groups, rows in sorted(limits))


def _opened(spec: Spec, twin: Any) -> Engine:
    """Open the twin; refuse the source of the spec, or a copy of it, which is protected.

    Of the columns whose types the source declares, a twin need not have those that the spec does
    not use.
    """
    if not isinstance(twin, str | Path):
        return _typed(spec, options_of(spec.source), spec.path, twin, spec.to_dict())
    name = str(twin)
    if spec.is_source(name, lambda path: Path(path).resolve()):
        raise PolicyError("releases.rehearse.protected")
    return _typed(spec, elsewhere(spec, name), lambda path: Path(path).resolve())


def _typed(spec: Spec, source: Source, path_of: Any, *given: Any) -> Engine:
    with closing(opened(source.model_copy(update={"types": {}}), path_of, *given)) as plain:
        columns = list(plain.columns)
    used = (*columns_seen(spec), *spec.let, *spec.per_unit)
    missing = next((name for name in _read(spec, used) if name not in columns), None)
    if missing is not None:
        csv = not given and is_csv(source.path or "")
        more = ", …" if columns[_NAMED:] else ""
        there = ", ".join(map(repr, columns[:_NAMED])) + more
        said = {"column": missing, "columns": there, "delimiter": source.delimiter}
        raise DataError(f"releases.rehearse.no_column{'_csv' if csv else ''}", **said)
    types = {name: kind for name, kind in source.types.items() if name in columns}
    return opened(source.model_copy(update={"types": types}), path_of, *given)


class _Remembering:
    """An engine that is asked the same question once: a limit is measured for all of its draws."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.columns = engine, engine.columns
        self.measure: Callable[[Any], Any] = cache(engine.measure)
        self.filtered: Callable[[Any], Any] = cache(
            lambda condition: _Remembering(engine.filtered(condition))
        )

    def again(self, losing: Container[Contribution]) -> _Remembering:
        """Return one that draws anew which rows count, for statistics that lose some."""
        found = _Remembering(self.engine)
        anew, known = found.measure, self.measure
        found.measure = lambda asked: (anew if asked.contribution in losing else known)(asked)
        found.filtered = cache(lambda condition: self.filtered(condition).again(losing))
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


def _with(spec: Spec, changes: Mapping[str, Any]) -> Spec:
    return load(spec, changes={"cut": None, **changes})


def _truth(spec: Spec, engine: Engine) -> Spec:
    """Return the spec without noise and limits, its bounds as wide as each statistic can take."""
    none = {f"protect.{key}": _MOST for key in ("rows", "groups", "rows_per_group")}
    found = _with(spec, _NO_NOISE | none)
    for place, entry in enumerate(spec.to_dict()["statistics"], start=1):
        if "bounds" not in entry:
            continue
        wide = _WIDE * float(entry.get("resolution", 1.0))
        wider = load(found, changes={f"statistics.{place}.bounds": [-wide, wide]})
        try:
            plan_of(wider, engine.columns)
        except SpecError:
            continue
        found = wider
    return found


def _in_no_row(plan: Plan, engine: Engine, truth: Values) -> Iterator[str]:
    """Yield the statistics to which no row adds: it has no cell there, or no value of them."""
    found: set[str] = set()
    for group in passes(plan.statistics):
        asked = {
            (planned.name, place): Counting(f"{planned.name}/{place}", read)
            for planned in group
            for place, read in enumerate(
                (None, *(one for m in planned.statistic.measures() for one in fields(m)))
            )
        }
        if group[0].open:  # its keys were found, or there are none
            found |= {one.name for one in group if one.name not in truth}
            continue
        query = Query((), group[0].cells, group[0].contribution, tuple(asked.values()))
        counted = meeting(engine, group[0].where).measure(query)
        for (name, _), count in asked.items():
            cells = counted[count.name]
            if not sum(cells.values() if isinstance(cells, dict) else cells):
                found.add(name)
    yield from (one.name for one in plan.statistics if one.name in found)
    for entry in plan.spec.named():
        if isinstance(entry, Derived):
            made_from = {entry.name_of(key) for key in entry.sources()}
            yield from () if made_from.isdisjoint(found) else (str(entry.name),)


def _in_every_row_missing(spec: Spec, engine: Any) -> Iterator[str]:
    """Yield the derived columns, and those of a declared type, that no row has a value of."""

    def rows(of: Any) -> Any:
        return of.measure(Query((), None, Contribution(), (Counting("rows"),)))["rows"][0]

    used = set(_read(spec, (*columns_seen(spec), *spec.let)))
    declared = (name for name in options_of(spec.source).types if name in used)
    for name in (*spec.let, *declared) if rows(engine) else ():
        there = Term("not", (Term("is null", (Term("column", value=name),)),))
        if not rows(engine.filtered(resolve(Formula(name, there), engine.columns))):
            yield name


class _Counted:
    """Quantiles whose values are counted, whatever is drawn for them."""

    def __init__(self, statistic: Quantile | Ranked) -> None:
        self._statistic = statistic
        self._tallied: list[list[int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._statistic, name)

    def _seen(self, measured: Measured) -> Measured:
        (tally,) = self._statistic.measures()
        self._tallied = measured[tally.name]
        return measured

    def scores(self, part: str, measured: Measured) -> list[list[int]]:
        return self._statistic.scores(part, self._seen(measured))

    def chosen(self, part: str, measured: Measured, choose: Any, scale: float) -> list[int]:
        return self._statistic.chosen(part, self._seen(measured), choose, scale)

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        drawn = self._statistic.rows(noisy, interval)
        return [
            [
                one._replace(value=self._value(share, counts))
                for share, one in zip(self._shares, answers, strict=True)
            ]
            for counts, answers in zip(self._tallied, drawn, strict=True)
        ]

    @property
    def _shares(self) -> list[Fraction]:
        own = self._statistic
        return [own.share] if isinstance(own, Quantile) else [decimal(at) for at in own.shares]

    def _value(self, share: Fraction, counts: Sequence[int]) -> Fraction | None:
        upto, number = list(accumulate(counts)), self._statistic.number
        if not upto[-1]:
            return None
        return (number.low + bisect_left(upto, share * upto[-1])) * number.resolution


def _counted(planned: Planned) -> Planned:
    own = planned.statistic
    if not isinstance(own, Quantile | Ranked):
        return planned
    counted: Any = _Counted(own)
    return replace(planned, statistic=counted)


def _exact(spec: Spec, engine: Engine, observe: Observe | None = None) -> Values:
    """Return the values of a spec at a budget that leaves no noise."""
    plan = with_found_keys(plan_of(spec, engine.columns), engine)
    plan = replace(plan, statistics=tuple(map(_counted, plan.statistics)))
    return _values(plan, engine, observe)


def _values(plan: Plan, engine: Engine, observe: Observe | None = None) -> Values:
    """Return the values of one draw."""
    columns = draw(plan, engine, observe=observe).columns
    names = [name for name in columns if name not in RESERVED]
    found: Values = {}
    for place, value in enumerate(columns["value"]):
        try:
            number = float(value or "")
        except ValueError:  # the name of a best candidate, or nothing
            continue
        key = tuple(columns[name][place] for name in names)
        error = columns["std_error"][place]
        spread = None if error is None else float(error)
        found.setdefault(str(columns["statistic"][place]), {})[key] = number, spread
    return found


def _tried(
    spec: Spec, engine: _Remembering, truth: Values, plan: Plan, limit: int, repeats: int
) -> list[dict[str, Any]]:
    seen: dict[str, dict[str, Sequence[int]]] = {}

    def observe(drawn: Drawn) -> None:
        if drawn.true is not None:
            seen.setdefault(drawn.planned.name, {})[drawn.call.asked.part.name] = drawn.true

    without = _with(spec, _NO_NOISE | {"protect.rows": limit})
    losing = {one.contribution for one in plan.statistics if limits_of(one, spec)["left_out"]}
    times = next(n for n in range(min(repeats, _CHOSEN), 0, -1) if repeats % n == 0 or n == 1)
    engines: list[Any] = [engine, *(engine.again(losing) for _ in range(times - 1) if losing)]
    exact, *others = (_exact(without, one, observe if one is engine else None) for one in engines)
    moved = {
        planned.name: _simulated(plan, planned, seen.get(planned.name, {}))
        for planned in plan.statistics
    } | dict(_made(plan, seen))
    spreads = {
        name: dict(zip(exact[name], found, strict=True))
        for name, found in moved.items()
        if found and len(exact.get(name, ())) == len(found)
    }
    # Of each choice of the rows that count: what it gives without noise, and with, several times.
    chosen = []
    simulations = max(_DRAWS, _DRAWS // 10 * repeats)
    for without_noise, one in zip([exact, *others], engines, strict=True):
        simulated = dict(_ranked(plan, one, without_noise, -(-simulations // len(engines))))
        noisy: list[Values] = []
        while len(noisy) < repeats // len(engines):
            noisy.append(_with_spreads(_values(plan, one), spreads))
            if all(name in simulated or _is_known(rows) for name, rows in noisy[0].items()):
                break  # more draws would tell nothing more
        chosen.append((without_noise, noisy, simulated))
    counted = {one.name: one.contribution.total for one in plan.statistics}
    rows = []
    for name, true in truth.items():
        if name not in exact:
            continue
        told: list[dict[str, list[float]]] = []
        draws: list[float] = []
        drawn = False
        for still, noisy, simulated in chosen:
            here, found = still.get(name, {}), [one.get(name, {}) for one in noisy]
            drawn = drawn or (name not in simulated and not all(map(_is_known, found)))
            off = [_off(one, here, true) for one in simulated.get(name, found)]
            noise, error = ([square for one in off for square in one[k]] for k in (0, 1))
            told.append({"bias": _off(here, here, true)[1], "noise": noise, "error": error})
            draws += [_root_mean(error) for _, error in off]
        sizes = {
            part: _root_mean([square for one in told for square in one[part]])
            for part in ("bias", "noise", "error")
        }
        said = {"limit": limit, "counted": counted.get(name), "statistic": name, "drawn": drawn}
        luck = max(_luck([_root_mean(one["error"]) for one in told]), _luck(draws))
        rows.append(said | sizes | {_LUCK: luck})
    return rows


def _is_known(rows: _Rows) -> bool:
    """Whether the noise of all values is known by its law."""
    return all(spread is not None for _, spread in rows.values())


def _ranked(
    plan: Plan, engine: Engine, exact: Values, times: int
) -> Iterator[tuple[str, list[_Rows]]]:
    """Yield what many releases might publish of each statistic whose values are chosen at once."""
    for group in passes(plan.statistics):
        for planned in group:
            statistic, still = planned.statistic, exact.get(planned.name, {})
            if not isinstance(statistic, Ranked) or planned.open or not still:
                continue
            tallied = measures_of(plan, engine, group)[statistic.measure_name("leaves")]
            calls, chance = plan.calls(planned.name), np.random.default_rng(0)
            many = max(_LEAST_TIMES, times // len(tallied))
            every = statistic.simulated(tallied, calls, plan.spec.interval, many, chance)
            values = [[answer.value or 0 for cell in one for answer in cell] for one in every]
            if all(len(one) == len(still) for one in values):
                pairs = [zip(still, map(float, one), strict=True) for one in values]
                yield planned.name, [{key: (value, None) for key, value in one} for one in pairs]


def _luck(errors: Sequence[float]) -> float:
    """Return how far the logarithm of a root mean square of errors is off, as they are apart."""
    squares = [error**2 for error in errors]
    if len(squares) < 2 or not any(squares):
        return 0.0
    return stdev(squares) / math.sqrt(len(squares)) / (2 * mean(squares))


def _shown(rows: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    return tuple({name: value for name, value in row.items() if name != _LUCK} for row in rows)


def _simulated(plan: Plan, planned: Planned, measured: Mapping[str, Sequence[int]]) -> list[float]:
    """Return how far the noise moves each value of a mean or a variance, by the laws of its calls.

    Others, and those without cells, have none.
    """
    statistic, calls = planned.statistic, plan.calls(planned.name)
    cells = len(next(iter(measured.values()), ()))
    if not statistic.typical or measured.keys() != calls.keys() or not cells:
        return []
    times = _times(cells)
    chance = np.random.default_rng(0)
    noisy, still = {}, {}
    for name, call in calls.items():
        noise = call.law.simulated(times * cells, chance).tolist()
        values = [one + off for one, off in zip([*measured[name]] * times, noise, strict=True)]
        noisy[name], still[name] = Noisy(values, 0, call.sd), Noisy(measured[name], 0, 0.0)
    true, found = (
        np.array([float(one.value or 0) for (one,) in statistic.rows(each, plan.spec.interval)])
        for each in (still, noisy)
    )
    squares = (found.reshape(times, cells) - true) ** 2
    return [float(one) for one in np.sqrt(squares.mean(axis=0))]


def _times(cells: int) -> int:
    """How often noise is simulated in each of so many cells."""
    return max(_LEAST_TIMES, _TIMES // cells)


def _made(
    plan: Plan, measured: Mapping[str, Mapping[str, Sequence[int]]]
) -> Iterator[tuple[str, list[float]]]:
    """Yield the same for what is made from others, as it is made from their simulated numbers."""
    known = {one.name: one for one in plan.statistics}
    for entry in plan.spec.named():
        if not isinstance(entry, Derived):
            continue
        name, sources = str(entry.name), [known[entry.name_of(key)] for key in entry.sources()]
        if any(
            one.open or measured.get(one.name, {}).keys() != plan.calls(one.name).keys()
            for one in sources
        ):
            continue
        make, chance = plan.derived[name], np.random.default_rng(0)
        numbers = {one.name: measured[one.name] for one in sources}
        true = _made_once(plan, make, sources, numbers, None)
        if not true.size or np.isnan(true).any():
            continue
        found = [_made_once(plan, make, sources, numbers, chance) for _ in range(_times(true.size))]
        squares = np.nanmean((np.array(found) - true) ** 2, axis=0)
        if not np.isnan(squares).any():
            yield name, [float(one) for one in np.sqrt(squares)]


def _made_once(
    plan: Plan,
    make: Maker,
    sources: Sequence[Planned],
    measured: Mapping[str, Mapping[str, Sequence[int]]],
    chance: np.random.Generator | None,
) -> Any:
    """Return the values made from numbers with the noise of their laws; NaN where there is none."""
    released = {}
    for one in sources:
        calls, noisy = plan.calls(one.name), {}
        confidence = plan.confidence(one.name)
        for part, numbers in measured[one.name].items():
            call, values = calls[part], list(numbers)
            if chance is not None:
                noise = call.law.simulated(len(values), chance).tolist()
                values = [number + off for number, off in zip(values, noise, strict=True)]
            noisy[part] = Noisy(values, call.half_width(confidence), call.sd, call.law)
        rows = one.statistic.rows(noisy, plan.spec.interval)
        result = Result(one.name, one.shown(one.cells), one.statistic.extra, rows)
        released[one.name] = one.released(result, calls)
    made = make(released, plan.spec.interval).rows
    found = (answer.value for cell in made for answer in cell)
    return np.array([math.nan if value is None else float(value) for value in found])


def _depends_on(plan: Plan) -> dict[str, Any]:
    """Return what the figures of each statistic depend on: what bounds its rows, and its noise."""
    found: dict[str, Any] = {}
    for one in plan.statistics:
        noise = sorted((n, call.mechanism, call.scale) for n, call in plan.calls(one.name).items())
        bounds = (one.contribution, *(search.contribution for search in one.searches))
        found[one.name] = (bounds, tuple(noise))
    for entry in plan.spec.named():
        if isinstance(entry, Derived):
            sources = (found[entry.name_of(key)] for key in entry.sources())
            found[str(entry.name)] = tuple(sources)
    return found


def _with_spreads(values: Values, spreads: Mapping[str, Mapping[Any, float]]) -> Values:
    found: Values = {}
    for name, rows in values.items():
        known = spreads.get(name, {})
        found[name] = {key: (value, known.get(key, sd)) for key, (value, sd) in rows.items()}
    return found


def _off(found: _Rows, exact: _Rows, true: _Rows) -> tuple[list[float], list[float]]:
    """Return the mean squares of noise and of error, of the values that all have."""
    noise, error = [], []
    for key, (value, spread) in found.items():
        if key in exact and key in true:
            bias = exact[key][0] - true[key][0]
            drawn = value - exact[key][0]
            noise.append(drawn**2 if spread is None else spread**2)
            error.append((bias + drawn) ** 2 if spread is None else bias**2 + spread**2)
    return noise, error


def _root_mean(squares: Sequence[float]) -> float:
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else 0.0


def _best(
    rows: Sequence[Mapping[str, Any]], tried: Sequence[int], draws: Mapping[str, int]
) -> list[int]:
    """Return the best limit, and behind it those that only chance may tell from it.

    The logarithm of a root mean square of n draws is off by about 1/√(2n), so the difference of two
    by 1/√n, or by more if the draws are farther apart; twice that, over all statistics whose error
    is drawn and differs, is put down to chance: between limits that are so near in these, the
    errors of the others decide. Only chance tells limits apart if those do not differ either: by
    more than `_CLEAR` in all, or than what the simulations, and the choice of the rows that count,
    leave open.
    """
    largest: dict[str, float] = {}
    least: dict[str, float] = {}
    errors: dict[str, set[float]] = {}
    for row in rows:
        name = row["statistic"]
        largest[name] = max(largest.get(name, 0.0), row["error"])
        least[name] = 0.1 if row["drawn"] else 1e-3
        errors.setdefault(name, set()).add(row["error"])
    drawn = {row["statistic"] for row in rows if row["drawn"]}

    def cost(limit: int, by_draws: bool) -> float:
        here = ((row["error"], row["statistic"]) for row in rows if row["limit"] == limit)
        return math.fsum(
            math.log(max(error / largest[name], least[name]))
            for error, name in here
            if largest[name] and (name in drawn) is by_draws
        )

    differ = [name for name in drawn if len(errors[name]) > 1]
    known, luck = ({one: cost(one, by_draws) for one in tried} for by_draws in (False, True))
    first = min(tried, key=lambda one: known[one] + luck[one])
    seen = {(row["limit"], row["statistic"]): row.get(_LUCK, 0.0) ** 2 for row in rows}

    def chance(one: Any) -> float:
        apart = (
            max(1 / draws[name], seen.get((first, name), 0.0) + seen.get((one, name), 0.0))
            for name in differ
        )
        return 2 * math.sqrt(math.fsum(apart))

    near = {one for one in tried if abs(luck[one] - luck[first]) <= chance(one)}
    total = {one: known[one] + luck[first if one in near else one] for one in tried}
    best, *others = sorted(tried, key=total.__getitem__)

    def is_even(limit: int) -> bool:
        found = {one: _known_by_name(rows, one, drawn) for one in (best, limit)}
        apart = (
            found[one][name][1] ** 2
            for one in found
            for name in found[one]
            if found[best][name][0] != found[limit][name][0]
        )
        sure = max(_CLEAR if differ else 0.0, _FEW * math.sqrt(math.fsum(apart)))
        by_chance = bool(drawn) or sure > 0
        return by_chance and {best, limit} <= near and abs(known[limit] - known[best]) <= sure

    return [best, *filter(is_even, others)]


def _known_by_name(
    rows: Iterable[Mapping[str, Any]], limit: int, drawn: Container[str]
) -> dict[str, tuple[float, float]]:
    """Return the errors at a limit that are not drawn, each with how far its logarithm is off."""
    return {
        row["statistic"]: (row["error"], row.get(_LUCK, 0.0))
        for row in rows
        if row["limit"] == limit and row["statistic"] not in drawn
    }
