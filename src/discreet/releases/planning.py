"""From a spec to a plan: what will be measured, what it costs, how accurate it will be.

Nothing here reads a row. The plan is checked against the schema of the source, priced, and shown by
`--dry-run`; the release itself only carries it out.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from itertools import count
from typing import Any

from discreet.errors import BudgetExceeded, DataError, SpecError
from discreet.guarantees import Guarantee
from discreet.laws.calibration import WIDEST
from discreet.ledger import Account
from discreet.releases.contributions import Contribution
from discreet.releases.engines import is_csv
from discreet.releases.engines.base import Cells, Column, KeySet, Labels, fields
from discreet.releases.formula import columns_in, parse
from discreet.releases.pricing import Asked, Priced, Pricing, allowances, delta_of, priced, share
from discreet.releases.quotients import Spread
from discreet.releases.rows import Seen, column_in, hints, read_as, sample_told
from discreet.releases.source import GivenSource, options_of, path_in, pattern_of
from discreet.releases.spec import PublicFiles, Spec, letters_compared
from discreet.releases.statistics import Statistic
from discreet.releases.statistics.base import Sought
from discreet.releases.statistics.cut import CutUnits, limits_of, not_counted, questions
from discreet.releases.statistics.derived import Beside, Derived, Maker, Released
from discreet.releases.statistics.quantiles import Ranked
from discreet.releases.statistics.values import (
    SIZES,
    Answer,
    Part,
    Result,
    decimal,
    expecting,
    span,
)
from discreet.releases.tables import RESERVED, STATISTIC, Table, decimal_text
from discreet.statements.presenter import quoted, spaced_text
from discreet.words import say

LIMIT = "protect.rows"
"""The name of the call that chooses one of several limits of rows (`drawing.chosen_limit`)."""

LIMIT_CALL = Part.of_choice("choice", [1], Fraction(1), monotone=False)

_SOME = 3  # Cells that stand for all, where accuracy is told for assumed numbers.


@dataclass(frozen=True, slots=True)
class Search:
    """Keys that are found for statistics, the first of which pays, in rows that meet `where`.

    What is found is public. All that is asked about those keys afterwards is planned as for public
    keys, whatever they turn out to be; so costs add up, and the charge is known before a search.
    """

    payer: str
    sought: Sought
    contribution: Contribution
    where: str | None


@dataclass(frozen=True, slots=True)
class Planned:
    """One measured statistic, over which cells (None for one, or still to be found)."""

    statistic: Statistic
    contribution: Contribution
    by: tuple[str, ...]
    cells: Cells | None
    searches: tuple[Search, ...] = ()
    where: str | None = None

    @property
    def open(self) -> bool:
        """Whether its keys are still to be found."""
        return self.cells is None and bool(self.searches)

    @property
    def assumed(self) -> tuple[int | None, ...]:
        """Numbers of keys for which accuracy is told, where it depends on how many are found."""
        if not self.open or not self.statistic.mixes:
            return (None,)
        most = max(search.sought.most or 0 for search in self.searches)
        return (*(size for size in SIZES if size < most), most)

    @property
    def name(self) -> str:
        """Its name in the table."""
        return str(self.statistic.name)

    def rows(self) -> Iterator[dict[str, str]]:
        """Yield the keys of its rows by column; none while they are still to be found."""
        cells, extra = self.shown(self.cells), self.statistic.extra
        columns = (*(() if cells is None else cells.columns), *extra)
        keys: Iterable[tuple[str, ...]] = ((),) if cells is None else cells.keys
        for key in () if self.open else keys:
            for label in getattr(self.statistic, "labels", ()) if extra else ("",):
                yield dict(zip(columns, (*key, label), strict=False))

    def assumed_rows(self, calls: Mapping[str, Priced], most: int | None) -> Released:
        """Return some of its rows before they are released; all of margins."""
        statistic, cells = self.statistic, self.shown(self.cells)
        if cells is not None and not statistic.mixes:
            cells = replace(cells, keys=cells.keys[:most])
        labels = tuple(getattr(statistic, "labels", ()))[: 1 if statistic.extra else 0]
        row = [Answer(labels, None, None, None)]
        size = 1 if cells is None else len(cells)
        result = Result(self.name, cells, statistic.extra, [row] * size)
        return self.released(result, calls, most)

    def released(
        self, result: Result, calls: Mapping[str, Priced], most: int | None = None
    ) -> Released:
        """Return its rows for what is made from them, with the noise that they have."""
        mixed = self.statistic.mixes
        spread = None if mixed else Spread.of(next(iter(calls.values())).to_dict())
        return Released(result, spread, calls, self.statistic, most)

    def shown(self, cells: Cells | None) -> KeySet | None:
        """The cells that it has rows for, of those of its pass."""
        return None if self.statistic.overall else self.statistic.shown(cells)


@dataclass(frozen=True, slots=True)
class Plan:
    """A release, worked out and priced, before a row is read."""

    spec: Spec
    statistics: tuple[Planned, ...]
    pricing: Pricing
    derived: Mapping[str, Maker]
    assumed_numbers: tuple[str, ...] = ()
    assumed_types: Mapping[str, str] = field(default_factory=dict)
    """The columns without a type that formulas read, each with the type that is read in it."""
    limits: Mapping[int, Plan] = field(default_factory=dict)
    """The plans for each limit of rows, where one of them is chosen on the data."""
    beside: Mapping[str, Beside | None] = field(default_factory=dict)
    """What statistics made from others are put in relation to, read before the charge."""
    joined: frozenset[str] = frozenset()
    """The columns of tables that are joined, where these were looked at."""
    texts: Mapping[str, tuple[str, frozenset[str]]] = field(default_factory=dict, repr=False)
    """The texts that columns of keys have in public tables that are joined, with the table."""
    given: bool = False
    """Whether data are given in the place of the source that the spec names."""
    size: int | None = None
    """About how many rows a group is expected to have, for which accuracy is told."""

    @property
    def bounded(self) -> tuple[tuple[Contribution, ...], ...]:
        """What counts of a unit, in each statistic: limits of rows that agree in it do the same."""
        return tuple(
            (one.contribution, *(search.contribution for search in one.searches))
            for one in self.statistics
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of how the data are read."""
        said = [] if self.spec.sample is None else [self._of_sample()]
        said += [*hints(self.spec), *self._named_alike()]
        if self.limits:
            said.append(say("releases.plan.limit_open", rows=max(self.limits)))
            served = [p.statistic for p in self.statistics if not isinstance(p.statistic, CutUnits)]
            if all(one.typical for one in served):
                said.append(say("releases.plan.limit_typical"))
        said += not_counted(self.statistics, self.spec)
        said += self._usual_ranks()
        for one in self.statistics:
            own = one.statistic.note(one.contribution)
            said += [] if own is None else [own]
            if one.assumed[-1] is not None:
                said.append(
                    say("releases.plan.open_keys", statistic=one.name, keys=one.assumed[-1])
                )
        return tuple(said)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may make the release worthless: how columns without a type are read."""
        numbers = dict.fromkeys(self.assumed_numbers, "number")
        read = {name: kind for name, kind in self.assumed_types.items() if name not in numbers}
        found = (*self._untyped("number", numbers), *self._untyped("type", read))
        return (*found, *self._letters(), *self._in_no_row(), *self.empty.values())

    def _untyped(self, how: str, columns: Mapping[str, str]) -> Iterator[str]:
        """Say how columns without a type are read, and the line that declares all of a table."""
        tables: dict[str, dict[str, str]] = {}
        for name, kind in columns.items():
            there = (
                (path_in(join.source) or "", join.own(name))
                for join in self.spec.join
                if name in join.columns or (not join.columns and name in self.joined)
            )
            path, own = next(there, ("", name))
            tables.setdefault(path, {})[own] = kind
        for path, kinds in tables.items():
            declared = "{types: {" + ", ".join(f"{n}: {kind}" for n, kind in kinds.items()) + "}}"
            declared = f"{{path: {path or '…'}, {declared[1:]}"
            line = f"join: {{source: {declared}}}" if path else f"source: {declared}"
            wanted = {
                say(f"releases.formula.types.{kind}"): ", ".join(
                    repr(name) for name, other in kinds.items() if other == kind
                )
                for kind in kinds.values()
            }
            said = {"many": len(kinds), "columns": ", ".join(map(repr, kinds)), "line": line}
            dated = not {"date", "moment"}.isdisjoint(kinds.values())
            said["dates"] = say("releases.plan.assumed_dates") if dated else ""
            if len(wanted) == 1:
                said["wanted"] = next(iter(wanted))
                yield say(f"releases.plan.assumed_{how}", **said)
            else:
                said["wanted"] = "; ".join(f"{what} in {those}" for what, those in wanted.items())
                yield say("releases.plan.assumed_types", **said)

    @property
    def keyed(self) -> dict[str, tuple[str, ...]]:
        """The columns that have public keys, with all keys that statistics name."""
        found: dict[str, dict[str, None]] = {}
        for one in self.statistics:
            for column, keys in one.statistic.public_keys.items():
                found.setdefault(column, {}).update(dict.fromkeys(keys))
        return {column: tuple(keys) for column, keys in found.items()}

    def _in_no_row(self) -> Iterator[str]:
        """Warn of keys of a column from a public table that no row of the table has."""
        for column, keys in self.keyed.items():
            if column not in self.texts:
                continue
            source, there = self.texts[column]
            if none := [repr(key) for key in keys if key not in there]:
                some = ", ".join([*none[:_SOME], *["…"][: len(none) - _SOME]])
                told = {"column": column, "source": source, "number": len(none), "some": some}
                yield say("releases.plan.in_no_row", **told)

    def _usual_ranks(self) -> Iterator[str]:
        """Say how the usual error of quantiles is seen, where a rehearsal can show it."""
        names = [one.name for one in self.statistics if isinstance(one.statistic, Ranked)]
        spec = self.spec
        if spec.protect.rows is None or spec.per_unit or not all(one.public for one in spec.join):
            return
        if names:
            yield say("releases.plan.usual_ranks", statistics=quoted(names))

    def _named_alike(self) -> Iterator[str]:
        """Say where one label stands for the keys of several columns."""
        labels, keys = self.spec.labels, dict[str, set[str]]()
        for one in self.statistics:
            for column, listed in one.statistic.public_keys.items():
                own = labels.get(column, "")
                named = () if isinstance(own, str) else own.keys
                keys.setdefault(column, set()).update(set(listed).difference(named))
        for key, label in labels.items():
            columns = [column for column in sorted(keys) if key in keys[column]]
            if isinstance(label, str) and len(columns) > 1:
                said = {"key": key, "label": label, "columns": ", ".join(columns)}
                yield say("releases.plan.label_of_several", **said, column=columns[0])

    def _letters(self) -> Iterator[str]:
        """Warn where letters beyond ASCII are sought, and nothing says how the file writes them."""
        source = options_of(self.spec.source)
        declared = self.given or "encoding" in source.model_fields_set
        if declared or not is_csv(source.path or ""):
            return
        from discreet.releases.engines.files import shows_encoding

        keys = [one.statistic.public_keys for one in self.statistics]
        letters = letters_compared({**self.spec.to_dict(), "source": source.path, "keys": keys})
        path = self.spec.path(source.path or "")
        if letters is not None and path.is_file() and not shows_encoding(path):
            yield say("releases.plan.letters", file=path.name, letters=letters)

    @property
    def empty(self) -> dict[str, str]:
        """Say for which keys what is made from others is empty: those that nothing stands beside.

        Keys are public, and so is what they are put in relation to.
        """
        said, known = {}, {planned.name: planned for planned in self.statistics}
        for entry in self.spec.named():
            of = self.beside.get(str(entry.name))
            if of is None or not isinstance(entry, Derived):
                continue
            first = known[entry.name_of(next(iter(entry.sources())))]
            keys = (tuple(row[column] for column in of.columns) for row in first.rows())
            if none := [", ".join(key) for key in dict.fromkeys(keys) if key not in of.keys]:
                some = "; ".join([*none[:_SOME], *["…"][: len(none) - _SOME]])
                told = {"source": of.name, "number": len(none), "some": some}
                said[str(entry.name)] = say("releases.plan.empty", statistic=entry.name, **told)
        return said

    @property
    def as_written(self) -> tuple[str, ...]:
        """How keys, and a CSV file, are taken to be written: what is otherwise does not count."""
        return self._written()

    @property
    def in_short(self) -> tuple[str, ...]:
        """The same without the keys that files list, and without how to declare what is not so."""
        return self._written(in_short=True)

    def _written(self, *, in_short: bool = False) -> tuple[str, ...]:
        keys = any(one.by and not one.open for one in self.statistics)
        listed = () if in_short else self._listed()
        told = (*listed, say("releases.plan.public_keys")) if keys else ()
        if self.given:
            return (say("releases.plan.data_given"), *told)
        written = as_written(self.spec.source, in_short=in_short)
        comma = options_of(self.spec.source).decimal == ","
        return (*written, *(self._bounds() if written and comma else ()), *told)

    def _listed(self) -> Iterator[str]:
        """Yield the keys as they were read from files."""
        read = {one.name: one.statistic.public_keys for one in self.statistics}
        files = {
            (column, file): read[one.name][column]
            for one in self.spec.named()
            if one.name in read
            for column, file in one.public_keys.items()
            if isinstance(file, str)
        }
        for (column, file), keys in files.items():
            some = ", ".join([*keys[:_SOME], *["…"][: len(keys) - _SOME]])
            said = {"column": column, "file": file, "number": len(keys), "some": some}
            yield say("releases.plan.listed", **said)

    def _bounds(self) -> Iterator[str]:
        """Yield the bounds as they were read: a spec has decimal points, whatever its file has."""
        named = self.spec.named()
        given = [(one.subject, ends) for one in named if (ends := getattr(one, "bounds", None))]
        told = [
            say("releases.plan.bounds_of", column=column, low=low, high=high)
            for column, ends in dict.fromkeys(given)
            for low, high in [map(spaced_text, ends)]
        ]
        if told:
            yield say("releases.plan.bounds", bounds="; ".join(told))

    def _of_sample(self) -> str:
        found = sample_told(self.spec.to_dict()["sample"], self.pricing.charges[0].to_dict())
        return say("releases.sample.told", design=found["design"], budget=found["budget"])

    def calls(self, name: str) -> Mapping[str, Priced]:
        """Return the calls of one statistic by part, without those that find its keys."""
        return self.pricing.of(name)

    @property
    def searches(self) -> Mapping[Search, Priced]:
        """The searches for keys, each with its call."""
        calls = {
            (call.asked.statistic, call.asked.part.name): call
            for call in self.pricing.calls
            if call.asked.keys
        }
        searches = (search for planned in self.statistics for search in planned.searches)
        return {one: calls[one.payer, one.sought.part] for one in searches}

    def with_keys(self, found: Mapping[Search, KeySet]) -> Plan:
        """Return it with the keys that were found.

        A statistic whose calls depend on how many there are splits what it pays among them again;
        with no key it makes none. What is charged stays the same.
        """
        statistics, pricing = [], self.pricing
        for one in self.statistics:
            if one.open and all(search in found for search in one.searches):
                keys = [found[search] for search in one.searches]
                statistic, cells = one.statistic.over(keys)
                if statistic is not one.statistic:
                    parts = statistic.parts(one.contribution) if cells else ()
                    pricing = pricing.split_again(one.name, parts)
                one = replace(one, statistic=statistic, cells=cells)
            statistics.append(one)
        return replace(self, statistics=tuple(statistics), pricing=pricing)

    def confidence(self, name: str) -> float:
        """The confidence of a statistic's calls: a union bound over them gives the interval."""
        return 1 - (1 - self.spec.interval) / max(len(self.calls(name)), 1)

    def columns(self) -> tuple[str, ...]:
        """The group columns of the table, in order of first mention."""
        names = (name for one in self.statistics for name in (*one.by, *one.statistic.extra))
        return tuple(dict.fromkeys(names))

    def accuracy(self) -> list[dict[str, Any]]:
        """Return how accurate each statistic will be: exactly, or for what is assumed."""
        with expecting(self.size):
            return [
                line
                for planned in self.statistics
                for keys in planned.assumed
                for line in self._accuracies(planned, keys)
            ] + list(self._of_derived())

    def _of_derived(self) -> Iterator[dict[str, Any]]:
        """Yield how accurate what is made from others will be, where their cells are known."""
        known = {planned.name: planned for planned in self.statistics}
        for entry in self.spec.named():
            if not isinstance(entry, Derived):
                continue
            sources = [known[entry.name_of(key)] for key in entry.sources()]
            if all(self.calls(one.name) and not one.open for one in sources):
                most = _SOME if entry.sized else None
                some = [one.assumed_rows(self.calls(one.name), most) for one in sources]
                said = {"statistic": str(entry.name), "interval": self.spec.interval}
                name = str(entry.name)
                make, beside = self.derived[name], self.beside[name]
                found = entry.accuracy_of(make, some, self.spec.interval, beside)
                if found:
                    yield said | found

    def _accuracies(self, planned: Planned, keys: int | None) -> Iterator[dict[str, Any]]:
        """Yield the lines of one statistic, if so many keys of each open column are found."""
        if keys is not None:
            found = {one: one.sought.assumed(keys) for one in planned.searches}
            plan = self.with_keys(found)
            (same,) = (one for one in plan.statistics if one.name == planned.name)
            numbers = {one.sought.columns[0]: len(own) for one, own in found.items()}
            each = (say("releases.plan.keys_of", number=n, column=c) for c, n in numbers.items())
            told = ", ".join(each)
            for line in plan._accuracies(same, None):
                name = say("releases.plan.if_found", name=line["statistic"], keys=told)
                yield line | {"statistic": name, "keys": numbers}
            return
        calls = self.calls(planned.name)
        said: dict[str, Any] = {"statistic": planned.name, "interval": self.spec.interval}
        chosen = any(call.asked.part.form == "choice" for call in calls.values())
        cells = planned.shown(planned.cells)
        if cells is not None and not chosen:
            said["cells"] = len(cells)
        if calls:  # without keys there are none
            for line in planned.statistic.accuracies(calls, self.spec.interval):
                yield said | line

    def explanations(self) -> dict[str, str]:
        """What each statistic does, in one sentence; those made from others come last."""
        made = {str(e.name): e.explain() for e in self.spec.named() if e.name in self.derived}
        made |= {name: f"{made[name]} {empty}" for name, empty in self.empty.items()}
        return {p.name: self._explained(p) for p in self.statistics} | made

    def _explained(self, planned: Planned) -> str:
        """Return what a statistic does, and over which rows."""
        met = [text for text in (self.spec.where, planned.where) if text is not None]
        said = [planned.statistic.explain()]
        for search in () if isinstance(planned.statistic, CutUnits) else planned.searches:
            columns = ", ".join(search.sought.columns)
            said.append(say("releases.explain.found", columns=columns))
        if self.spec.per_unit:
            said.append(say("releases.explain.per_unit"))
        if met:
            said.append(
                say("releases.explain.where", condition=" and ".join(f"({t})" for t in met))
            )
        return " ".join(said)

    def cut(self, table: Table | None = None) -> list[dict[str, Any]] | None:
        """Return how many units are cut, by the table; before it, which questions are asked.

        None where the spec does not pay for it, and something may be cut.
        """
        if self.spec.cut is None:
            return None if any(questions(self.statistics, self.spec)) else []
        asked = (p.statistic for p in self.statistics if isinstance(p.statistic, CutUnits))
        return [
            one.told({} if table is None else table.row_of(one.name), self.spec.cut)
            for one in asked
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return cost, sensitivities and accuracy as JSON-ready values."""
        one = {"gathered": True} if self.spec.per_unit else {}  # all rows of a unit are one
        return {
            "calls": [call.to_dict() for call in self.pricing.calls],
            "accuracy": self.accuracy(),
            "mechanism": self.pricing.why,
            "contributions": {
                p.name: p.contribution.to_dict() | one | limits_of(p, self.spec)
                for p in self.statistics
            },
        }


def only_bounds(spec: Spec, columns: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Say which values in a released table have all of their bounds as interval."""
    ranked = {str(entry.name) for entry in spec.named() if isinstance(entry, Ranked)}
    for (name, low, high), found in Counter(filter(None, whole_bounds(spec, columns))).items():
        said = {"statistic": name, "values": found, "low": low, "high": high}
        line = say("releases.plan.only_bounds", **said)
        nearer = say("releases.plan.only_bounds_ranked", **said) if name in ranked else ""
        yield f"{line} {nearer}".rstrip()


def whole_bounds(
    spec: Spec, columns: Mapping[str, Sequence[Any]]
) -> list[tuple[str, str, str] | None]:
    """Return statistic and bounds of each row whose interval is all of them; None for the others.

    Such an interval tells nothing.
    """
    tables = [table for entry in spec.named() for table in (entry, *entry.tables())]
    bounded = {
        (str(table.name), *(decimal_text(end) for end in span(number)))
        for table in tables
        if (number := table.stays_within)
    }
    ends = (columns[name] for name in (STATISTIC, "interval_low", "interval_high"))
    return [row if row in bounded else None for row in zip(*ends, strict=True)]


_WRITTEN = {
    "encoding": "windows-1252",
    "delimiter": "';'",
    "decimal": "','",
    "thousands": "'.'",
    "types": "{day: '%d.%m.%Y'}",
}
"""Examples of what a spec may declare of a CSV file."""


def as_written(given: GivenSource, *, in_short: bool = False) -> tuple[str, ...]:
    """Say how a CSV file is taken to be written; nothing of another source.

    Unless it is said `in_short`, it also says how to declare what is different.
    """
    source = options_of(given)
    if not is_csv(source.path or ""):
        return ()
    number = f"1234{source.decimal}5"
    if source.grouping:
        grouped = f"1{source.grouping[0]}234{source.decimal}5"
        number = say("releases.plan.grouped", number=number, grouped=grouped)
    said = {"encoding": source.encoding.upper(), "delimiter": source.delimiter}
    forms = [form for form in dict.fromkeys(source.types.values()) if pattern_of(form)]
    dates = ", ".join(f"{datetime(2026, 1, 31, 10):{form}}" for form in forms or ["%Y-%m-%d"])
    declared = source.model_fields_set
    open_ = [name for name in _WRITTEN if name not in declared]
    if "decimal" in declared and "thousands" in open_:  # a file may have none
        open_.remove("thousands")
    fields = [f"{name}: {_WRITTEN[name]}" for name in open_]
    told_how = fields and not in_short
    declare = say("releases.plan.declare", fields=", ".join(fields)) if told_how else ""
    told = said | {"number": number, "dates": dates, "declare": declare}
    return (say("releases.plan.as_written", **told),)


def plan_of(
    spec: Spec,
    columns: Mapping[str, Column],
    account: Account | None = None,
    *,
    rows: int | None = None,
    slot: Guarantee | None = None,
    source: Mapping[str, Column] | None = None,
) -> Plan:
    """Work out a spec against the columns that there are, and price it for an account.

    `source` are the columns before the spec's formulas were applied, if they were.
    `rows` is a limit of rows in the place of the declared one, or of the largest to choose among.
    `slot` is what the slot of a plan has paid for: it is the budget of a spec that gives none.
    """
    assumed = _check_columns(spec, columns, source or ())
    for entry in spec.named():
        if entry.where is not None and isinstance(entry, Derived):
            raise SpecError("releases.rows.made_where", statistic=entry.name)
    statistics, asked = _planned(spec, rows)
    if slot is None or spec.budget is not None or spec.promise_keys is not None:
        budgets = allowances(spec, account, asked)
        if spec.series is not None:
            budgets = [share(budget, spec.series.releases) for budget in budgets]
    if slot is not None and spec.budget is None:
        budgets = [slot]  # paid for, whatever became of the account's promises
    if not asked:
        raise SpecError("releases.derived.nothing_released")
    budget, statistics, pricing = _least_error(spec, statistics, asked, budgets)
    _check_thresholds(spec, pricing)
    known = {planned.name: planned for planned in statistics}
    entries = {str(one.name): one for one in spec.named() if isinstance(one, Derived)}
    derived = {name: entry.made(spec, known) for name, entry in entries.items()}
    beside = {name: entry.against(spec, known) for name, entry in entries.items()}
    read = {} if source is None else read_as(spec, source)
    plan = Plan(spec, statistics, pricing, derived, assumed, read, beside=beside)
    _check_storable(plan)
    choice = spec.protect.rows_choice
    if choice is None or rows is not None:
        return plan
    limits = {
        limit: plan_of(spec, columns, account, rows=limit, slot=budget) for limit in choice.choose
    }
    for first, *same in alike(limits, limits):
        if same:
            listed = ", ".join(map(str, same))
            raise SpecError("releases.plan.choice_alike", first=first, same=listed)
    if any(_prices(one) != _prices(plan) for one in limits.values()):
        raise SpecError("releases.plan.choice_changes_charge")
    return replace(plan, limits=limits)


def alike(plans: Mapping[int, Plan], limits: Iterable[int]) -> list[list[int]]:
    """Return limits of rows, those together with which the same rows count."""
    found: dict[Any, list[int]] = {}
    for limit in limits:
        found.setdefault(plans[limit].bounded, []).append(limit)
    return list(found.values())


def _least_error(
    spec: Spec, planned: tuple[Planned, ...], asked: list[Asked], budgets: Iterable[Guarantee]
) -> tuple[Guarantee, tuple[Planned, ...], Pricing]:
    """Return the budget under which the noise is least, and the prices under it."""
    ways, refused = [], None
    for budget in budgets:
        try:
            ways.append((budget, *_priced(spec, planned, asked, budget)))
        except BudgetExceeded as error:
            refused = error
    if refused is not None and not ways:
        raise refused
    return min(ways, key=lambda way: way[2].spread)


def _priced(
    spec: Spec, statistics: tuple[Planned, ...], asked: list[Asked], budget: Guarantee
) -> tuple[tuple[Planned, ...], Pricing]:
    """Price the calls, again where a statistic splits its share otherwise to be accurate enough."""
    for tries in count():
        pricing = priced(asked, budget, spec)
        found = {}
        for one in statistics:
            tighter = one.statistic.tightened(pricing.of(one.name), tries)
            if tighter is not None:
                found[one.name] = replace(one, statistic=tighter)
        if not found:
            break
        statistics = tuple(found.get(one.name, one) for one in statistics)
        parts = {
            (name, part.name): part
            for name, one in found.items()
            for part in one.statistic.parts(one.contribution)
        }
        first = {a.statistic: a for a in asked if a.statistic in found and not a.keys}
        asked = [a for a in asked if a.statistic not in found or a.keys]
        asked += [replace(first[name], part=part) for (name, _), part in parts.items()]
    return statistics, pricing


def _prices(plan: Plan) -> list[Any]:
    """Return what a plan charges, in all and for each call."""
    return [plan.pricing.charges, [(c.mechanism, c.epsilon, c.rho) for c in plan.pricing.calls]]


def _check_storable(plan: Plan) -> None:
    """Refuse what could not be drawn or stored: found after the charge, it would be for nothing."""
    for call in plan.pricing.calls:
        if call.asked.part.form == "numbers" and call.scale > WIDEST:
            raise SpecError("releases.plan.noise_too_wide", statistic=call.asked.statistic)
    try:
        json.dumps(plan.to_dict(), allow_nan=False)
    except (OverflowError, ValueError):
        raise SpecError("releases.plan.not_storable") from None


def _check_thresholds(spec: Spec, pricing: Pricing) -> None:
    """Refuse a δ of keys beyond the budget's, or too large for the noise to cover.

    A key that only one unit has is published with probability at most δ/G. Where it is not, the
    release is likelier without the unit, by 1/(1−δ/G) at most; one step of the noise, e^{1/b}, must
    cover that.
    """
    for call in pricing.calls:
        one = call.asked
        if one.keys and one.delta / one.keys > -math.expm1(-1 / call.scale):
            name, delta = one.statistic, one.delta
            raise SpecError("releases.plan.keys_delta_large", statistic=name, delta=delta)
    given = None if spec.budget is None else spec.budget.delta
    total = delta_of(call.asked for call in pricing.calls)
    if given is not None and total > decimal(given):
        raise SpecError("releases.plan.keys_delta", needs=float(total), has=given)


def _planned(spec: Spec, rows: int | None) -> tuple[tuple[Planned, ...], list[Asked]]:
    statistics: list[Planned] = []
    asked: list[Asked] = []
    payers: dict[Any, Search] = {}
    for entry in spec.named():
        for table in entry.tables():
            statistic = table.resolved(PublicFiles(spec))
            name, by = str(statistic.name), statistic.grouped_by
            where = entry.where or statistic.where
            if any(name == planned.name for planned in statistics):
                raise SpecError("releases.spec.name_twice", name=name)
            spec.refuse_unit_column(by, f"statistic {name!r}")
            contribution = spec.protect.contribution(grouped=bool(by), rows=rows)
            searches = []
            for sought in statistic.sought:
                search = Search(name, sought, contribution, where)
                beside = () if sought.most else tuple(statistic.public_keys.items())
                same = (sought.columns, sought.most, where, beside)
                searches.append(payers.setdefault(same, search))
                if searches[-1] is search:
                    asked.append(_key_call(search))
            cells = None if searches else statistic.over(())[1]
            if cells is not None:
                contribution = contribution.over(len(cells))
            if statistic.counts_units:
                contribution = contribution.once_per_group()
            parts = statistic.parts(contribution)
            if statistic.within is not None and (len(parts) > 1 or parts[0].form == "choice"):
                raise SpecError("releases.plan.no_within", statistic=name)
            weight = decimal(statistic.weight or 1.0)
            asked += [
                Asked(name, part, weight / (1 if part.shares else len(parts)), statistic.within)
                for part in parts
            ]
            statistics.append(Planned(statistic, contribution, by, cells, tuple(searches), where))
    choice = spec.protect.rows_choice
    if choice is not None:
        if spec.sample is not None:
            raise SpecError("releases.plan.choice_sample")
        if any(one.within is not None for one in asked):
            raise SpecError("releases.plan.choice_within")
        asked.append(Asked(LIMIT, LIMIT_CALL, decimal(choice.weight)))
    if spec.cut is not None:
        found = list(questions(statistics, spec, spec.cut))
        if not found and not any(questions(statistics, spec)):
            raise SpecError("releases.cut.nothing")
        weight = decimal(spec.cut.weight) / max(len(found), 1)
        for one, question in found:
            statistics.append(replace(one, statistic=question))
            asked += [
                Asked(str(question.name), p, weight) for p in question.parts(one.contribution)
            ]
    return tuple(statistics), asked


def _key_call(search: Search) -> Asked:
    once, price = search.contribution.once_per_group(), search.sought.price
    part = Part.of_numbers(search.sought.part, once)
    return Asked(search.payer, part, decimal(price.weight), None, price.delta, once.groups)


def _check_columns(
    spec: Spec, columns: Mapping[str, Column], source: Iterable[str]
) -> tuple[str, ...]:
    """Refuse a spec that names columns which are not there, or of a kind that cannot be used.

    Return the columns without a type that statistics take for numbers, those of the source where a
    derived column only has another name for one.
    """
    assumed: list[str] = []
    seen = Seen(spec, columns, {*source, *spec.let} if spec.per_unit else ())

    def found(column: str, name: str) -> Column:
        why = None if column in columns else seen.elsewhere(column)
        if why is None and spec.per_unit and column not in columns:
            listed = ", ".join(columns)
            why = say("releases.rows.no_feature", column=column, columns=listed)
        if why is not None:
            whose = say("releases.plan.whose", statistic=name)
            raise SpecError("releases.spec.fault", where=whose, says=why)
        return column_in(columns, column, name)

    for column in spec.protect.column:
        column_in(columns, column, "protect")
    for statistic in (table for entry in spec.named() for table in entry.tables()):
        name = str(statistic.name)
        for column in statistic.grouped_by:
            if found(column, name) == "other":
                raise DataError("releases.plan.no_groups", column=column)
        for column in (*statistic.grouped_by, *statistic.extra):
            if column in RESERVED:
                raise SpecError("releases.plan.reserved", column=column)
        for read in (one for m in statistic.measures() for one in fields(m)):
            kind = found(read.column, name)
            if isinstance(read, Labels):
                continue
            if kind == "text":
                raise DataError("releases.plan.text_numbers", statistic=name, column=read.column)
            if kind in ("moment", "other"):
                raise DataError("releases.plan.no_numbers", statistic=name, column=read.column)
            if kind == "untyped":
                made = spec.let.get(read.column)
                assumed += [read.column] if made is None else columns_in(parse(made).tree)
    return tuple(dict.fromkeys(assumed))
