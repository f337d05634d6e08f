"""Joins: columns of other tables, looked up for each row by a key.

    join:
      - {source: planes.csv, by: tailnum, public: true}
      - {source: repairs.parquet, by: tailnum, rows: 2}

A public table has one row for each key. Each row of the protected data gets the columns of its key,
or nulls; so rows stay as many as they were, and what one unit may add stays what it was. The table
is read whole before anything is charged, and may be refused by what is in it: it is public.

A protected table holds rows of the same units, which its key names: the columns `by` have those of
the unit among them. Of the rows with one key, `rows` are kept, drawn at random with the operating
system's randomness, once in a release; each row of the source is there once for each of them, or
once with nulls. So what is joined for a unit is a function of its own rows in both tables and of
random numbers of its own: a unit that is added or removed, with its rows in both tables, adds or
removes its joined rows, and leaves the law of all others as it is. These rows are bounded by
`protect`, as the rows of one table are; so the sensitivity is the one of `protect`, whatever `rows`
is here. Of this table, too, only the schema is read before the charge.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeAlias

from discreet.errors import PolicyError, SpecError
from discreet.releases.engines import file_of, opened
from discreet.releases.engines.base import Column, Engine
from discreet.releases.keys import is_source
from discreet.releases.rows import Join
from discreet.releases.source import path_in
from discreet.releases.spec import Spec
from discreet.releases.statistics.base import MOST_CELLS

Rows: TypeAlias = tuple[list[tuple[str, ...]], dict[str, list[Any]]]
"""The keys of a table's rows as texts, and the values of its columns."""


@dataclass(frozen=True, slots=True)
class Looked:
    """Another table: by which columns it is looked up, those that are taken, and its rows.

    A protected table is read when the first question is asked, after the charge.
    """

    by: tuple[str, ...]
    kinds: dict[str, Column]
    read: Callable[[], Rows]
    protected: bool


def joined(engine: Engine, spec: Spec) -> Engine:
    """Return an engine with the columns of the tables that a spec joins."""
    found: Any = engine
    for join in spec.join:
        if not hasattr(found, "looked_up"):
            raise SpecError("engines.no_derived")
        if join.public:
            _check_public(join, spec)
        elif not spec.protect.column or not set(spec.protect.column) <= set(join.by):
            unit = ", ".join(spec.protect.column)
            raise SpecError("releases.rows.protected_by", source=path_in(join.source), unit=unit)
        looked = _looked(join, spec, found.columns)
        found = found.looked_up(looked, drop=join.unmatched == "drop")
    return found  # type: ignore[no-any-return]


def _check_public(join: Join, spec: Spec) -> None:
    located = path_in(join.source)
    name = None if located is None else file_of(located)
    if located is None or name is None:
        raise SpecError("releases.rows.public_file", source=located)
    if is_source(spec, spec.path(name)):
        raise PolicyError("releases.rows.public_source", source=located)


def _looked(join: Join, spec: Spec, columns: Any) -> Looked:
    located = path_in(join.source)
    with closing(opened(join.source, spec.path)) as table:
        for column in join.by:
            if column not in table.columns:
                raise SpecError("releases.rows.public_column", source=located, column=column)
            if column not in columns:
                raise SpecError("releases.rows.on_column", column=column)
        rest = [column for column in table.columns if column not in join.by]
        taken = list(join.columns or (c for c in rest if table.columns[c] != "other"))
        for column in taken:
            if column not in rest or table.columns[column] == "other":
                raise SpecError("releases.rows.public_column", source=located, column=column)
            if column in columns:
                raise SpecError("releases.rows.column_twice", source=located, column=column)
        kinds = {column: table.columns[column] for column in taken}
        rows = _public_rows(table, join, taken) if join.public else None

    def read() -> Rows:
        if rows is not None:
            return rows
        with closing(opened(join.source, spec.path)) as table:
            return _drawn(table.every_row(join.by, taken), join.rows or 1)  # type: ignore[attr-defined]

    return Looked(tuple(join.by), kinds, read, protected=rows is None)


def _public_rows(table: Any, join: Join, taken: list[str]) -> Rows:
    keys, values = table.every_row(join.by, taken)
    located = path_in(join.source)
    if len(keys) > MOST_CELLS:
        raise SpecError("releases.rows.public_size", source=located, most=MOST_CELLS)
    if len(set(keys)) != len(keys):
        raise SpecError("releases.rows.public_twice", source=located, by=", ".join(join.by))
    return keys, values


def _drawn(rows: Rows, most: int) -> Rows:
    """Return of the rows with one key as many as count, each set of them as likely as any other."""
    keys, values = rows
    order, seen, kept = list(range(len(keys))), Counter[tuple[str, ...]](), []
    secrets.SystemRandom().shuffle(order)
    for place in order:
        if seen[keys[place]] < most:
            seen[keys[place]] += 1
            kept.append(place)
    taken = {name: [column[place] for place in kept] for name, column in values.items()}
    return [keys[place] for place in kept], taken
