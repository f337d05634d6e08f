"""A spec without the protected data: checked by declared columns, or tried on a twin of the data.

On a twin it is seen what limits and bounds cost, beside what the noise costs. A limit of few rows a
unit needs little noise and leaves rows out; a limit of many does the opposite. Neither can be seen
in the protected data without paying. On a twin, a file that is public or invented and looks alike,
both can: for each limit,

    bias    the root mean square of (without noise) − (without noise, limits and bounds),
    noise   that of (with noise) − (without noise),
    error   that of (with noise) − (without noise, limits and bounds),

over all values of a statistic. Where a row has a standard error, its noise has that standard
deviation and the mean 0, and error² = bias² + noise²; otherwise both are over some draws. The
recommended limit has the least geometric mean of the errors of all statistics, so that no unit of
measurement counts more than another; an error counts as a thousandth of the statistic's largest at
least, and as a tenth where it comes from draws, so that none decides alone because its draws
happened to be right.

The values without noise are those of the same release at a budget so large that no noise is left.
Quantiles are drawn at any budget, so theirs are counted instead: the least value that the share of
the rows, or more, lies at or below. A group without rows has none.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from discreet.errors import InputError, PolicyError, SpecError
from discreet.frames import JsonReady, Tabular, columns_from
from discreet.releases.charge import assumed_account, spent_of
from discreet.releases.drawing import draw, with_found_keys
from discreet.releases.engines import is_csv, opened
from discreet.releases.engines.base import Column, Engine, fields
from discreet.releases.formula import kind_declared
from discreet.releases.planning import Plan, Planned, alike, plan_of
from discreet.releases.pricing import require_own
from discreet.releases.rows import Schema, columns_read, hints, joined, read_as, sampled, shaped
from discreet.releases.source import Source, options_of
from discreet.releases.spec import Spec, load
from discreet.releases.statistics.base import Answer, Measured, Noisy, decimal
from discreet.releases.statistics.quantile import Quantile
from discreet.releases.statistics.quantiles import Ranked
from discreet.releases.tables import RESERVED

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
        seen = _seen(asked)
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


def _seen(spec: Spec) -> list[str]:
    """The columns that statistics and the unit see, which a spec may make itself."""
    names = list(spec.protect.column)
    for statistic in (table for entry in spec.named() for table in entry.tables()):
        names += statistic.grouped_by
        names += [field.column for one in statistic.measures() for field in fields(one)]
    return names


def _read(spec: Spec, seen: Iterable[str]) -> Iterator[str]:
    """Yield the columns of the source that a spec reads for them, as far as it says which."""
    looked_up = {name for join in spec.join for name in join.columns}
    by = (name for join in spec.join for name in join.by)
    return (name for name in columns_read(spec, (*seen, *by)) if name not in looked_up)


# ---------------------------------------------------------------------- on a twin

LIMITS = (1, 2, 5, 10, 20, 50)
"""The limits that are tried where none are named."""

_MOST = 1_000_000
_NO_NOISE = {
    "budget": {"epsilon": 1e30},
    "tolerance": None,
    "promise": None,
    "series": None,
    "mechanism": "geometric",
}
_WIDE = 2.0**40

_Rows: TypeAlias = dict[tuple[Any, ...], tuple[float, float | None]]
"""By what names a row: its value, and the standard deviation of its noise where that is known."""
Values: TypeAlias = dict[str, _Rows]


@dataclass(frozen=True, slots=True)
class Rehearsal(JsonReady, Tabular):
    """What each limit would cost on a twin: bias, noise and error of every statistic."""

    shows: ClassVar = (
        *("limit", "recommended", "recommended_by", "best", "repeats", "alike", "even", "rows"),
    )
    recommended_by: ClassVar[str] = "geometric-mean-of-errors"

    rows: tuple[Mapping[str, Any], ...]
    recommended: int
    limit: int
    repeats: int
    alike: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """For a limit others that do the same, and were not tried: no more rows can count."""
    even: tuple[int, ...] = ()
    """Limits that only the draws tell from the best: the spec's own is recommended among them."""

    @property
    def best(self) -> dict[str, int]:
        """For each statistic the limit with its least error, the smallest of several."""
        found: dict[str, Mapping[str, Any]] = {}
        for row in self.rows:
            if row["error"] < found.get(row["statistic"], {"error": math.inf})["error"]:
                found[row["statistic"]] = row
        return {name: row["limit"] for name, row in found.items()}

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
) -> Rehearsal:
    """Make the release on a twin with different limits of rows, and compare bias with noise.

    `twin` is a file, or data as for `release(data=…)`: public or invented, never the protected
    ones. Nothing is charged or stored, and no ledger is needed. `changes` set keys of the spec, as
    in `release`.
    """
    asked = load(spec, folder=folder, keys_from=keys_from, changes=changes)
    require_own(asked)
    if asked.protect.rows is None:
        raise InputError("releases.rehearse.record")
    if repeats < 1 or (limits is not None and not all(1 <= n <= _MOST for n in limits)):
        raise InputError("releases.rehearse.numbers", most=_MOST)
    tried = sorted({*(limits or LIMITS), asked.protect.rows})
    if asked.per_unit:
        raise InputError("releases.rehearse.per_unit")
    if any(not join.public for join in asked.join):
        raise InputError("releases.rehearse.joined")
    seen = sampled(shaped(joined(_opened(asked, twin), asked), asked), asked)
    with closing(seen):
        engine: Any = _Remembering(seen)
        truth = _exact(_truth(asked, engine), engine)
        plans = {n: plan_of(_with(asked, {"protect.rows": n}), engine.columns) for n in tried}
        # Of limits that do the same, the spec's own is tried, or else the smallest.
        groups = alike(plans, sorted(tried, key=lambda limit: limit != asked.protect.rows))
        tried = sorted(first for first, *_ in groups)
        rows = [row for n in tried for row in _tried(asked, engine, truth, plans[n], n, repeats)]
    same = {first: others for first, *others in groups if others}
    own, cells = asked.protect.rows, {name: repeats * len(true) for name, true in truth.items()}
    even = _best(rows, tried, cells)
    recommended = own if own in even else even[0]
    return Rehearsal(
        tuple(rows), recommended, own, repeats, same, tuple(sorted(even)) if even[1:] else ()
    )


def _opened(spec: Spec, twin: Any) -> Engine:
    """Open the twin; refuse the source of the spec, or a copy of it, which is protected."""
    if not isinstance(twin, str | Path):
        return opened(spec.source, spec.path, twin, spec.to_dict())
    name = str(twin)
    if spec.is_source(name, lambda path: Path(path).resolve()):
        raise PolicyError("releases.rehearse.protected")
    return opened(elsewhere(spec, name), lambda path: Path(path).resolve())


class _Remembering:
    """An engine that is asked the same question once: a limit is measured for all of its draws."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.columns = engine, engine.columns
        self.measure = cache(engine.measure)
        self.filtered = cache(lambda condition: _Remembering(engine.filtered(condition)))

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


def _exact(spec: Spec, engine: Engine) -> Values:
    """Return the values of a spec at a budget that leaves no noise."""
    plan = with_found_keys(plan_of(spec, engine.columns), engine)
    return _values(replace(plan, statistics=tuple(map(_counted, plan.statistics))), engine)


def _values(plan: Plan, engine: Engine) -> Values:
    """Return the values of one draw."""
    columns = draw(plan, engine).columns
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
    spec: Spec, engine: Engine, truth: Values, plan: Plan, limit: int, repeats: int
) -> list[dict[str, Any]]:
    exact = _exact(_with(spec, _NO_NOISE | {"protect.rows": limit}), engine)
    noisy = [_values(plan, engine) for _ in range(repeats)]
    counted = {one.name: one.contribution.total for one in plan.statistics}
    rows = []
    for name, true in truth.items():
        if name in exact:
            off = [_off(one.get(name, {}), exact[name], true) for one in noisy]
            noise, error = ([square for one in off for square in one[k]] for k in (0, 1))
            _, bias = _off(exact[name], exact[name], true)
            squares = {"bias": bias, "noise": noise, "error": error}
            sizes = {part: _root_mean(found) for part, found in squares.items()}
            drawn = any(spread is None for at in noisy for _, spread in at.get(name, {}).values())
            told = {"limit": limit, "counted": counted.get(name), "statistic": name, "drawn": drawn}
            rows.append(told | sizes)
    return rows


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
    by 1/√n; twice that, over all statistics whose error is drawn, is put down to chance.
    """
    largest: dict[str, float] = {}
    least: dict[str, float] = {}
    for row in rows:
        name = row["statistic"]
        largest[name] = max(largest.get(name, 0.0), row["error"])
        least[name] = 0.1 if row["drawn"] else 1e-3

    def cost(limit: int) -> float:
        here = ((row["error"], row["statistic"]) for row in rows if row["limit"] == limit)
        return math.fsum(
            math.log(max(error / largest[name], least[name]))
            for error, name in here
            if largest[name]
        )

    drawn = {row["statistic"] for row in rows if row["drawn"]}
    chance = 2 * math.sqrt(math.fsum(1 / draws[name] for name in drawn))
    best, *others = sorted(tried, key=cost)
    return [best, *(one for one in others if cost(one) < cost(best) + chance)]
