"""Neighbouring data sets, made up from a plan alone: keys, bounds, candidates and limits.

A pair is two data sets that differ in one unit, the target: with and without it, or, where units
are replaced, as one thing and as another. Everyone else, the crowd, is within the limits and has
one row, so that a right release treats the crowd alike on both sides.

What each pair is there to find:

    one row              a scale that is too small, reused noise
    whole person         sensitivity of a row instead of a unit; sums that do not stay whole
    heavy contributor    bounding that does not bind
    crowding out         a cap shared with others: the target's rows push out theirs
    empty group          empty cells that are dropped, keys published too early
    beyond the bounds    values that are not clipped
    nulls                missing values, keys and units that count after all
    alone                a data set that is empty without the target

Values of the target lie where they weigh most: at the bound that is farther from zero, in the
first candidate. The crowd stands just above the other bound, and leaves the first candidate about
as many rows behind as the target may add.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.releases.engines.base import TEXTS, Column, fields
from discreet.releases.planning import Plan

Row = dict[str, Any]
# It stands first in the file and in the order of names: sums made in order would show it.
TARGET = "0-target"
_MOST_KEYS = 24
_MOST_ROWS = 400


@dataclass(frozen=True, slots=True)
class Pair:
    """Two data sets by name, and what sets them apart."""

    name: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Data sets by name, and the pairs of them that are neighbours.

    `coupled` pairs have others whose rows are cut down at random too: their aggregates compare only
    under the same priorities.
    """

    data: Mapping[str, list[Row]]
    pairs: tuple[Pair, ...]
    coupled: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class _Maker:
    plan: Plan
    columns: Mapping[str, Column]
    keys: Mapping[str, list[str]]
    private: Mapping[str, list[str]]
    strong: Mapping[str, Any]
    weak: Mapping[str, Any]
    beyond: Mapping[str, Any]

    @property
    def unit(self) -> tuple[str, ...]:
        return self.plan.spec.protect.column

    @property
    def most(self) -> int:
        """T of the largest statistic."""
        return max(p.contribution.total for p in self.plan.statistics)

    @property
    def deep(self) -> int:
        """c of the narrowest statistic."""
        return min(p.contribution.rows_per_group for p in self.plan.statistics)

    @property
    def cells(self) -> int:
        """How many groups a walk along the keys meets before it comes back."""
        return max((len(keys) for keys in self.keys.values()), default=1)

    def row(self, who: str, cell: int, values: Mapping[str, Any], *, private: bool = False) -> Row:
        unit = dict.fromkeys(self.unit, f"{who}")
        groups: Row = {}
        for column, keys in self.keys.items():
            own = self.private.get(column, [])
            groups[column] = own[cell % len(own)] if private and own else keys[cell % len(keys)]
        return unit | groups | self._typed(values)

    def _typed(self, values: Mapping[str, Any]) -> Row:
        """Numbers as the column holds them: as text where the source is text."""
        free = {name: value for name, value in values.items() if name not in self.keys}
        return {
            name: repr(value) if self.columns[name] in TEXTS and isinstance(value, float) else value
            for name, value in free.items()
        }

    def crowd(self, values: Mapping[str, Any], rival: Mapping[str, Any]) -> list[Row]:
        """The others, one row each, nobody in the last group.

        Of their labels as many are the rivals' as not, but for the first T: so a choice between
        them is behind by what the target may add.
        """
        used = max(1, self.cells - 1)
        size = min(_MOST_ROWS, max(6, self.most, 2 * used))
        mixed = dict(values) | {n: v for n, v in rival.items() if isinstance(v, str)}
        rows = [
            self.row(f"other-{i}", i % used, mixed if i >= self.most and i % 2 else values)
            for i in range(size)
        ]
        calls = self.plan.searches.values()
        threshold = max((call.threshold or 0 for call in calls), default=0)
        spread = max((call.scale for call in calls), default=0.0)
        enough = math.ceil(threshold + 12 * spread)  # so many units that a key is surely published
        for cell in range(used if threshold else 0):
            rows += [self.row(f"more-{cell}-{i}", cell, values) for i in range(enough)]
        return rows

    def whole(self, values: Mapping[str, Any]) -> list[Row]:
        """The target with all that it may contribute: c rows in each group, one after the other."""
        rows = min(self.most, _MOST_ROWS)
        return [self.row(TARGET, i // self.deep, values) for i in range(rows)]

    def heavy(self, values: Mapping[str, Any]) -> list[Row]:
        rows = min(_MOST_ROWS, 4 * self.most + 8)
        return [self.row(TARGET, i, values) for i in range(rows)]

    def heavy_crowd(self) -> list[Row]:
        """Others beyond their limits as well."""
        rows = min(40, 2 * self.most + 4)
        return [
            self.row(f"heavy-{who}", who + i, self.strong if i % 2 else self.weak)
            for i in range(rows)
            for who in range(4)
        ]

    def one_group(
        self, cell: int, values: Mapping[str, Any], *, private: bool = False
    ) -> list[Row]:
        rows = min(_MOST_ROWS, 4 * self.most + 8)
        if not private or not self.private:
            return [self.row(TARGET, cell, values) for _ in range(rows)]
        # Eight rows in each of the keys that nobody else has.
        own = max(len(keys) for keys in self.private.values())
        return [self.row(TARGET, i // 8, values, private=True) for i in range(8 * own)]

    def nulls(self, *who: str) -> list[Row]:
        """Rows with nothing in their fields, in their keys, or no number, of three units or one."""
        nothing = self.row(who[0], 0, dict.fromkeys(self.strong))
        keyless = self.row(who[-1], 0, self.strong) | dict.fromkeys(self.keys)
        not_a_number = {
            name: (float("nan") if kind == "number" else "n/a")
            for name, kind in self.columns.items()
            if name in self.strong and name not in self.keys
        }
        unread = self.row(who[len(who) // 2], 0, self.strong) | not_a_number
        return [nothing, unread, keyless]


def neighbours(plan: Plan, columns: Mapping[str, Column]) -> Neighbours:
    """Return the data sets and pairs of an audit of this plan."""
    make = _maker(plan, columns)
    strong, weak = make.strong, make.weak
    low, high = make.crowd(weak, strong), make.crowd(strong, weak)
    nobody = [make.row("nobody", 0, make.strong) | dict.fromkeys(make.unit) for _ in range(5)]
    if not make.unit:
        nobody = []
    gaps = [*low, *make.nulls("gap-1", "gap-2", "gap-3"), *nobody]
    crowds = {"crowd": low, "far crowd": high, "crowd with nulls": gaps, "nobody": []}
    targets = {
        "one row": ("crowd", [make.row(TARGET, 0, strong)]),
        "whole person": ("crowd", make.whole(strong)),
        "heavy contributor": ("crowd", make.heavy(strong)),
        "crowding out": ("far crowd", make.one_group(0, weak)),
        "empty group": ("crowd", make.one_group(make.cells - 1, strong, private=True)),
        "beyond the bounds": ("crowd", make.whole(make.beyond)),
        "nulls": ("crowd with nulls", [*make.whole(strong), *make.nulls(TARGET)]),
        "alone": ("nobody", make.whole(strong)),
    }
    replace = plan.spec.protect.adjacency == "replace"
    if not make.unit:  # a record is one row
        targets = {name: (crowd, rows[:1]) for name, (crowd, rows) in targets.items()}
    other = make.whole(weak) if make.unit else make.whole(weak)[:1]
    data: dict[str, list[Row]] = {}
    pairs = []
    for name, (crowd, rows) in targets.items():
        data[name] = rows + crowds[crowd]
        right = f"{crowd}, another person" if replace else crowd
        data.setdefault(right, (other if replace else []) + crowds[crowd])
        pairs.append(Pair(name, name, right))
    if not make.unit:
        return Neighbours(data, tuple(pairs))
    data["heavy crowd"] = (other if replace else []) + make.heavy_crowd()
    data["heavy among heavy"] = make.heavy(strong) + make.heavy_crowd()
    coupled = Pair("heavy among heavy", "heavy among heavy", "heavy crowd")
    return Neighbours(data, tuple(pairs), (coupled,))


def _maker(plan: Plan, columns: Mapping[str, Column]) -> _Maker:
    keys: dict[str, list[str]] = {}
    private: dict[str, list[str]] = {}
    strong: dict[str, Any] = {}
    weak: dict[str, Any] = {}
    beyond: dict[str, Any] = {}
    for planned in plan.statistics:
        for column in planned.by:
            known = keys.setdefault(column, [])
            sought = [one.sought for one in planned.searches if column in one.sought.columns]
            if sought:
                some = [*sought[0].listed] or ["common-1", "common-2"]
                known += [key for key in some[:2] if key not in known]
                own = max(1, min(8, planned.contribution.groups))
                private[column] = some[2 : 2 + own] or [f"private-{i}" for i in range(own)]
                continue
            public = planned.statistic.public_keys.get(column, ())
            for key in public if planned.cells is None else planned.cells.column(column):
                if key not in known and len(known) < _MOST_KEYS:
                    known.append(key)
        for field in (field for m in planned.statistic.measures() for field in fields(m)):
            for values, end in zip((strong, weak, beyond), field.ends, strict=True):
                values.setdefault(field.column, end)
    return _Maker(plan, columns, keys, private, strong, weak, beyond)
