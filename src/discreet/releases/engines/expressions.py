"""From a query to relational expressions (Ibis): the same for every engine.

    source ─ rows with a unit and known keys ─ bounded ─ grouped by cell

`rows` has the unit's columns, the cell's number, one whole number a field (null for nothing) and a
priority. Before the sort of the bounding, cell and fields are packed into one
integer, bit beside bit, and unpacked after it: a sort moves every column that it carries. The
priority stays a column of its own, so that no packed bit ever breaks a tie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import ibis

from discreet.releases.engines.base import (
    Bins,
    Column,
    Counting,
    Field,
    KeySet,
    Labels,
    Query,
    Steps,
    Summing,
    Tally,
)
from discreet.releases.engines.bounding import GROUP, PRIORITY, Materialize, bounded

__all__ = [
    "CODE",
    "comparable",
    "fields_of",
    "grouped_first",
    "has_null",
    "joinable",
    "kept_rows",
    "key_column",
    "measured",
    "tallied",
]

CODE = "_code"
_PACKED = "_packed"
_WIDEST = 62

Table: TypeAlias = Any
Value: TypeAlias = Any


def key_column(place: int) -> str:
    """The name of a column of the table of keys."""
    return f"_key_{place}"


def _unit_column(place: int) -> str:
    return f"_unit_{place}"


def _field_column(place: int) -> str:
    return f"_field_{place}"


def comparable(value: Value, kind: Column) -> Value:
    """Return a column of the data as keys are compared: whole numbers as they are, else as text."""
    return value.cast("int64") if kind == "integer" else value.cast("string")


def joinable(keys: KeySet, kinds: Mapping[str, Column]) -> list[tuple[int, tuple[Any, ...]]]:
    """Return (cell number, key) in the types of the data, without keys that no row could have.

    Keys are texts. Against a column of whole numbers, "7" is 7; "07" or "seven" matches nothing.
    """
    typed: list[dict[str, Any]] = []
    for place, column in enumerate(keys.columns):
        texts = {key[place] for key in keys.keys}
        whole = kinds[column] == "integer"
        typed.append({t: int(t) for t in texts if _whole(t)} if whole else {t: t for t in texts})
    return [
        (code, tuple(values[text] for values, text in zip(typed, key, strict=True)))
        for code, key in enumerate(keys.keys)
        if all(text in values for values, text in zip(typed, key, strict=True))
    ]


def _whole(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) <= 19
    return plain and str(int(text)) == text and -(2**63) <= int(text) < 2**63


def _number(table: Table, column: str, kind: Column) -> tuple[Value, Value]:
    """Return a column as a float, and whether it is a number at all: not null, not NaN."""
    value = table[column]
    if kind in ("integer", "truth"):
        return value.cast("int64").cast("float64"), value.notnull()
    value = value.try_cast("float64") if kind == "text" else value.cast("float64")
    return value, value.notnull() & ~value.isnan()


def _place(table: Table, field: Field, kinds: Mapping[str, Column]) -> Value:
    """Return a field as a whole number from 0 to size−1, null for nothing."""
    if isinstance(field, Labels):
        text = table[field.column].cast("string")
        cases = ibis.cases(*((text == label, i) for i, label in enumerate(field.labels)))
        return cases.cast("int64")
    x, there = _number(table, field.column, kinds[field.column])
    nothing = ibis.null("int64")
    if isinstance(field, Bins):
        place = ibis.literal(-1, "int64")
        for edge in field.edges[:-1]:
            place = place + (x >= edge).cast("int64")
        inside = (x >= field.edges[0]) & (x <= field.edges[-1])
        return ibis.ifelse(there & inside, place, nothing)
    if isinstance(field, Steps):
        # Clipped before it becomes an integer, which infinity does not fit.
        near = ibis.greatest(field.start - field.step, ibis.least(field.cap + field.step, x))
        step = ((near - field.start) / field.step + 1e-6).floor()
        inside = (step >= 0) & (x <= field.cap + field.step * 1e-6)
        return ibis.ifelse(there & inside, ibis.least(field.size - 1, step), nothing)
    # In multiples of the resolution, clipped before it becomes an integer (±inf and 1e308 do not
    # fit one), so that it lies within [low, high] exactly: both are integers below 2^52, where
    # adding a half is exact.
    step, low, high = float(field.resolution), float(field.low), float(field.high)
    multiple = (ibis.greatest(low, ibis.least(high, x / step)) + 0.5).floor()
    return ibis.ifelse(there, _plus(multiple, -field.low), nothing)


def _plus(value: Value, whole: int) -> Value:
    return value + whole if whole else value


def fields_of(query: Query) -> list[Field]:
    """Return the fields that a query needs, each once."""
    fields: list[Field] = []
    for measure in query.measures:
        if measure.field is not None and measure.field not in fields:
            fields.append(measure.field)
    return fields


def _priority(table: Table, query: Query) -> Value:
    return ibis.random() if query.priority is None else table[query.priority]


def _rows(
    source: Table, query: Query, kinds: Mapping[str, Column], keys: Table | None, *, unit: bool
) -> Table:
    """Return the rows that may count, with units, cell, fields and (with units) a priority."""
    present = [source[column].notnull() for column in query.unit]
    rows = source.filter(present) if present else source
    wanted: dict[str, Value] = {}
    if unit:
        wanted |= {_unit_column(i): rows[name] for i, name in enumerate(query.unit)}
    wanted |= {
        _field_column(i): _place(rows, field, kinds) for i, field in enumerate(fields_of(query))
    }
    if unit:
        wanted[PRIORITY] = _priority(rows, query)
    if query.cells is None or keys is None:
        return rows.select(**{GROUP: ibis.literal(0, "int64")}, **wanted)
    by = query.cells.columns
    texts = {f"_by_{i}": comparable(rows[name], kinds[name]) for i, name in enumerate(by)}
    rows = rows.select(**texts, **wanted)
    matches = [rows[f"_by_{i}"] == keys[key_column(i)] for i in range(len(by))]
    joined = rows.join(keys, matches)
    return joined.select(**{GROUP: joined[CODE]}, **{name: joined[name] for name in wanted})


def kept_rows(
    source: Table,
    query: Query,
    kinds: Mapping[str, Column],
    keys: Table | None,
    materialize: Materialize,
) -> Table:
    """Return the rows that count: cell and fields, after bounding."""
    if not query.unit:
        return _rows(source, query, kinds, keys, unit=False)
    rows = _rows(source, query, kinds, keys, unit=True)
    units = [_unit_column(i) for i in range(len(query.unit))]
    contribution = query.contribution
    if query.cells is None:
        # One group: what binds is how many rows it may have.
        most = min(contribution.rows, contribution.rows_per_group)
        contribution = replace(contribution, rows=most, groups=most, rows_per_group=most)
    alone = contribution.rows_per_group >= contribution.rows <= contribution.groups
    sizes = [len(query.cells) if query.cells is not None else 1]
    sizes += [field.size + 1 for field in fields_of(query)]
    bits = [max(1, (size - 1).bit_length()) for size in sizes]
    names = [GROUP, *(_field_column(i) for i in range(len(sizes) - 1))]
    if not alone or sum(bits) > _WIDEST:
        kept = bounded(rows, units, contribution, materialize)
        return kept.select(*names)
    packed = rows.select(*units, PRIORITY, **{_PACKED: _packed(rows, names, bits)})
    return _unpacked(bounded(packed, units, contribution, materialize), names, bits)


def _packed(rows: Table, names: Sequence[str], bits: Sequence[int]) -> Value:
    """Return the cell and the fields in one integer; a field that is nothing is 0, else plus 1."""
    # 64 bits wide from the start: an engine shifts in the width of what it is given.
    together, shift = rows[names[0]].cast("int64"), bits[0]
    for name, width in zip(names[1:], bits[1:], strict=True):
        together = together | (ibis.coalesce(rows[name].cast("int64") + 1, 0) << shift)
        shift += width
    return together.cast("int32") if shift <= 31 else together


def _unpacked(kept: Table, names: Sequence[str], bits: Sequence[int]) -> Table:
    together, shift = kept[_PACKED].cast("int64"), 0
    columns: dict[str, Value] = {}
    for name, width in zip(names, bits, strict=True):
        part = (together >> shift) & ((1 << width) - 1)
        columns[name] = part if name == GROUP else part.nullif(0) - 1
        shift += width
    return kept.select(**columns)


def _aggregates(table: Table, query: Query, columns: Sequence[Value]) -> dict[str, Value]:
    """Return the sums of a query, over fields that stand in `columns`."""
    fields = fields_of(query)
    sums: dict[str, Value] = {}
    for measure in query.measures:
        if isinstance(measure, Counting):
            if measure.field is None:
                sums[measure.name] = table.count()
            else:
                sums[measure.name] = columns[fields.index(measure.field)].count()
        elif isinstance(measure, Summing):
            place = columns[fields.index(measure.field)]
            distance = _plus(place, measure.field.low - measure.centre)
            power = distance if measure.power == 1 else distance * distance
            sums[measure.name] = power.sum()
    return sums


def measured(kept: Table, query: Query) -> Table:
    """Return one row a cell, with the counts and sums."""
    columns = [kept[_field_column(i)] for i in range(len(fields_of(query)))]
    return kept.group_by(**{CODE: kept[GROUP]}).agg(**_aggregates(kept, query, columns))


def tallied(kept: Table, query: Query, tally: Tally) -> Table:
    """Return one row a cell and value of a field, with how many rows have it."""
    place = kept[_field_column(fields_of(query).index(tally.field))]
    there = kept.filter(place.notnull())
    return there.group_by(**{CODE: there[GROUP], "_place": there[place.get_name()]}).agg(
        **{tally.name: there.count()}
    )


def grouped_first(
    source: Table, query: Query, kinds: Mapping[str, Column], keys: Table | None
) -> Table:
    """Return the counts and sums where rows are units: grouped by raw keys, and matched after.

    Nothing has to be bounded, so the data are grouped as they are, which is as fast as a plain
    GROUP BY, and only the few groups are matched with the public keys.
    """
    if query.cells is None or keys is None:
        return measured(_rows(source, query, kinds, None, unit=False), query)
    by = query.cells.columns
    fields = {
        _field_column(i): _place(source, field, kinds) for i, field in enumerate(fields_of(query))
    }
    rows = source.select(**{f"_by_{i}": source[name] for i, name in enumerate(by)}, **fields)
    columns = [rows[name] for name in fields]
    sums = _aggregates(rows, query, columns)
    raw = rows.group_by([f"_by_{i}" for i in range(len(by))]).agg(**sums)
    matches = [
        comparable(raw[f"_by_{i}"], kinds[name]) == keys[key_column(i)] for i, name in enumerate(by)
    ]
    joined = raw.join(keys, matches)
    return joined.group_by(CODE).agg(**{name: joined[name].sum() for name in sums})


def has_null(source: Table, column: str, kind: Column, numeric: bool) -> Table:
    """Return one row: whether a column has a null (for a number, or something that is none)."""
    there = _number(source, column, kind)[1] if numeric else source[column].notnull()
    return source.agg(_any=(~there).any())
