"""Joins: columns of public tables, looked up for each row by a key.

    join:
      - {source: planes.csv, by: tailnum, public: true}

A public table has one row for each key. Each row of the protected data gets the columns of its key,
or nulls; so rows stay as many as they were, and what one unit may add stays what it was. The table
is read whole before anything is charged, and may be refused by what is in it: it is public.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any

from discreet.errors import PolicyError, SpecError
from discreet.releases.engines import file_of, opened
from discreet.releases.engines.base import Column, Engine, KeySet
from discreet.releases.keys import MOST_CELLS, is_source
from discreet.releases.rows import Join
from discreet.releases.source import path_in
from discreet.releases.spec import Spec

__all__ = ["Looked", "joined"]


@dataclass(frozen=True, slots=True)
class Looked:
    """A public table: its keys, and the columns that are taken from it, with their kinds."""

    keys: KeySet
    kinds: dict[str, Column]
    values: dict[str, list[Any]]


def joined(engine: Engine, spec: Spec) -> Engine:
    """Return an engine with the columns of the public tables that a spec joins."""
    found: Any = engine
    for join in spec.join:
        if not hasattr(found, "looked_up"):
            raise SpecError("engines.no_derived")
        found = found.looked_up(_public(join, spec, found.columns), drop=join.unmatched == "drop")
    return found  # type: ignore[no-any-return]


def _public(join: Join, spec: Spec, columns: Any) -> Looked:
    located = path_in(join.source)
    name = None if located is None else file_of(located)
    if located is None or name is None:
        raise SpecError("releases.rows.public_file", source=located)
    if is_source(spec, spec.path(name)):
        raise PolicyError("releases.rows.public_source", source=located)
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
        keys, values = table.public_rows(join.by, taken)  # type: ignore[attr-defined]
        kinds = {column: table.columns[column] for column in taken}
    if len(keys) > MOST_CELLS:
        raise SpecError("releases.rows.public_size", source=located, most=MOST_CELLS)
    if len(set(keys)) != len(keys):
        raise SpecError("releases.rows.public_twice", source=located, by=", ".join(join.by))
    return Looked(KeySet(tuple(join.by), tuple(keys)), kinds, values)
