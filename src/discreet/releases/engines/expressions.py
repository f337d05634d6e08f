"""From a query to relational expressions (Ibis): the same for every engine.

    source ─ rows with a unit and known keys ─ bounded ─ grouped by cell

`rows` has the unit's columns, the cell's number, one whole number a field (null for nothing) and a
priority. A sort moves every column that it carries, so before the sort of the bounding the fields,
and the cell where it plays no part, are packed below the priority into one integer; `packed` says
why that is exact and leaves no tie to the data. What needs more than 31 bits is not packed.

Dialects. Where Ibis or SQL leaves a choice open that would change a number (numbers in texts,
division, random draws, wide sums), an expression asks the engine's `Dialect`. The rule, with
DuckDB's way of keeping it, is here; the others keep it in their own files. A text is a number if,
without blanks around it, it is written so (case does not matter):

    [+][-] digits [. [digits]] [e [+|-] digits]     or .digits, or inf, infinity, nan

where digits may be parted by single underscores. It is the nearest double; beyond the largest it is
infinite, and too near to zero it is zero. Anything else is nothing, and so is a text of more than a
thousand characters: engines fail on some that are longer, and no row may make one fail.

A text is a date if it is written 2026-01-31, and a moment if it is a date or is written

    date T hh:mm [:ss [. digits]] [Z | ±hh[:mm] | ±hhmm]

with T or a blank, up to nine digits (those after the sixth are dropped) and an offset below 15
hours. A moment is told in UTC: with an offset it is converted, without one it is taken as written.
As a date a moment is its day there. One that is outside the years 1 to 9999 is nothing.

Keys. A key is a text; a column of the data may be a number. A column of whole numbers is compared
as whole numbers and one of floats as floats, each against the one spelling that a number has;
everything else as text, byte by byte. So no row has two cells, and no engine's way of printing
numbers plays a part. A float that is NaN is a missing one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from operator import and_, or_, xor
from typing import Any, ClassVar, TypeAlias

import ibis

from discreet.releases.engines.base import (
    TEXTS,
    Bins,
    Cells,
    Column,
    Counting,
    Cutting,
    Field,
    KeySet,
    Labels,
    Number,
    Query,
    Steps,
    Summing,
    Tally,
    fields,
)
from discreet.releases.engines.bounding import GROUP, PRIORITY, Materialize, bounded

CODE = "_code"
_WIDEST = 31
MOST_PRIORITY = 62
"""The most bits of a priority."""

Table: TypeAlias = Any
Best: TypeAlias = Callable[[Table, Query, int, Mapping[str, int]], Table | None]
Value: TypeAlias = Any
Listed: TypeAlias = list[list[Any]]
"""The numbers of cells, and their keys in the types of the data, column by column."""
Keys: TypeAlias = int | Listed | Table
"""The keys of a set of cells: the first of whole numbers, a list, or a table in the engine."""

# ---------------------------------------------------------------------- dialects

BLANKS = " \t\n\v\f\r"
_DIGITS = "[0-9]+(_[0-9]+)*"
LONGEST = 1000
"""The most characters of a text that is a number."""
_BEFORE, _AFTER = f"^[{BLANKS}]*[+]?-?", f"[{BLANKS}]*$"
NUMERAL = rf"{_BEFORE}({_DIGITS}([.]({_DIGITS})?)?|[.]{_DIGITS})([eE][+-]?{_DIGITS})?{_AFTER}"
_END = "|"
"""What is put behind a text: engines differ on whether its end may be before a line end."""
WHOLE = f"^-?[0-9]{{1,18}}[{_END}]$"
_DATED = (
    "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
    "-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
)
DAY = f"^{_DATED}$"
_TIME = "((?:[01][0-9]|2[0-3]):[0-5][0-9])(?:(:[0-5][0-9])(?:([.][0-9]{1,6})[0-9]{0,3})?)?"
_OFFSET = "(?:Z|([+-](?:0[0-9]|1[0-4]))(?::?([0-5][0-9]))?)?"
MOMENT = f"^({_DATED})(?:[T ]{_TIME}{_OFFSET})?[{_END}]$"
"""Its groups are day, time, seconds, digits of them, and the hours and minutes of the offset."""
_MOMENTS = (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))
INFINITE = rf"{_BEFORE}[iI][nN][fF]([iI][nN][iI][tT][yY])?{_AFTER}"


class Dialect:
    """How one engine is spoken to; this one is DuckDB's."""

    name: ClassVar[str] = "duckdb"
    numbered: ClassVar[bool] = False
    """Whether rows are ranked by their number within a unit, instead of by a look back."""
    few_keys: ClassVar[int] = 0
    """Up to so many keys are written into a query; to give the engine a table takes longer."""

    def number(self, value: Value, kind: Column) -> Value:
        """Return a column of numbers or texts as a float, null for a text that is none."""
        if kind not in TEXTS:
            return value.cast("float64")
        return ibis.ifelse(value.length() <= LONGEST, value.try_cast("float64"), None)

    def whole(self, value: Value) -> Value:
        """Return a text as a whole number, null for one that is not written like -7 or 03."""
        written = (value + _END).re_search(WHOLE)
        return ibis.ifelse(written, value, ibis.null("string")).cast("int64")

    def day(self, value: Value) -> Value:
        """Return a text as a date, that of a moment; null for one that is neither."""
        day = self._dated(value)
        return ibis.ifelse(value.length() == 10, day, self.moment(value).try_cast("date"))

    def _dated(self, value: Value) -> Value:
        """Return a text of ten characters as a date, null for one not written 2026-01-31."""
        return ibis.ifelse(value.re_search(DAY), value, ibis.null("string")).try_cast("date")

    def moment(self, value: Value) -> Value:
        """Return a text as a moment in UTC, null for one that is not written as one, or a date."""
        parts = [(value + _END).re_extract(MOMENT, n).nullif("") for n in range(1, 7)]
        usual = (None, "00:00", ":00", "", "+00", "00")
        day, time, seconds, digits, hours, minutes = map(ibis.coalesce, parts, usual)
        whole = day + " " + time + seconds + digits + hours + ":" + minutes
        return within_years(self._in_utc(whole))

    def _in_utc(self, value: Value) -> Value:
        """Return a text 2026-01-31 10:00:00.5+02:00 as a moment in UTC, if its day exists."""
        return value.try_cast("timestamp('UTC')").try_cast("timestamp")

    def ratio(self, x: Value, step: float, low: int, high: int) -> Value:
        """Return x/step as a float; what lies outside low … high may be moved, staying outside."""
        return x / step

    def text(self, value: Value) -> Value:
        """Return a column that is no float as a text."""
        return value.cast("string")

    def bytewise(self, text: Value) -> Value:
        """Return a text that is compared byte by byte, whatever it was made of."""
        return text

    def draw(self, bits: int) -> Value:
        """Return a whole number of so many random bits, drawn for each row."""
        return _first_bits(ibis.random(), bits)

    def digest(self, text: Value) -> Value:
        """Return the SHA-256 of a text, as 64 hexadecimal digits."""
        return text.hexdigest("sha256")

    def summable(self, value: Value, size: int) -> Value:
        """Return whole numbers of at most that size in a type whose sum does not overflow."""
        return value


class HashedDialect(Dialect):
    """A dialect whose draws are hashed with secret bits, whatever the generator's state was."""

    numbered: ClassVar[bool] = True
    hashed: ClassVar[Callable[[Value, int | bytes], Value]]
    """The engine's hash of a float and a secret, 64 bits."""

    def random(self) -> Value:
        """Return what is hashed, a float drawn for each row."""
        return ibis.random()

    def secret(self) -> int | bytes:
        """Return what it is hashed with, drawn anew for each query."""
        return secrets.randbits(63)

    def draw(self, bits: int) -> Value:
        """Return the first bits of a hashed draw."""
        hashed = type(self).hashed(self.random(), self.secret())
        return (hashed >> (64 - bits)) & (2**bits - 1)


@dataclass(frozen=True, slots=True)
class Reading:
    """The columns of a source, and how its engine is spoken to.

    `numbers` names, for columns of texts, those that hold their numbers already.
    """

    kinds: Mapping[str, Column]
    dialect: Dialect
    numbers: Mapping[str, str]

    def number(self, table: Table, column: str) -> Value:
        """Return a column of numbers or texts as a float, null for a text that is none."""
        ready = self.numbers.get(column)
        if ready in table.columns:
            return table[ready]
        return self.dialect.number(table[column], self.kinds[column])


def within_years(value: Value) -> Value:
    """Return a date or moment, null for one outside the years 1 to 9999."""
    if value.type().is_timestamp():
        low, high = (ibis.literal(end, "timestamp") for end in _MOMENTS)
        if value.type().timezone is not None:
            low, high = low.cast(value.type()), high.cast(value.type())
    else:
        low, high = (ibis.literal(end.date(), "date") for end in _MOMENTS)
    return ibis.ifelse((value >= low) & (value <= high), value, ibis.null(value.type()))


# ---------------------------------------------------------------------- keys


def key_column(place: int) -> str:
    """The name of a column of the table of keys."""
    return f"_key_{place}"


def present(value: Value) -> Value:
    """Say whether a unit or a key is there: not null, and not NaN."""
    there = value.notnull()
    return there & ~value.isnan() if value.type().is_floating() else there


def comparable(value: Value, kind: Column, reading: Reading) -> Value:
    """Return a column of the data as keys are compared: numbers as they are, else as text."""
    if kind == "integer":
        return value.cast("int64")
    if value.type().is_floating():
        return value.cast("float64") + 0.0  # so that −0.0 is 0.0
    return reading.dialect.text(value)


def spelled(value: Any, source: Value) -> str:
    """Return the text of a key that was found, as it would be written in a spec."""
    if source.type().is_float32():
        return repr(_single(str(value)))
    return repr(value) if source.type().is_floating() else str(value)


def _single(text: str) -> float:
    """Return the shortest decimal that is the same number in 32 bits."""
    from numpy import errstate, float32

    with errstate(over="ignore"):
        return float(str(float32(text)))


Typed: TypeAlias = int | float | str | None


def typed_keys(texts: Iterable[str], source: Value, kind: Column) -> dict[str, Typed]:
    """Return keys in the type in which they are compared; None where no row could have one.

    Against a column of floats "18" is 18.0, unless "18.0" is a key too: no row has two keys.
    """
    found = {text: _typed(text, source, kind) for text in texts}
    if kind != "integer" and source.type().is_floating():
        spelled_out = {value for value in found.values() if value is not None}
        for text in [text for text, value in found.items() if value is None and _whole(text)]:
            same = _typed(f"{text}.0", source, kind)
            found[text] = None if same in spelled_out else same
    return found


def _typed(text: str, source: Value, kind: Column) -> Typed:
    """Return one of them as it is spelled.

    Against a column of whole numbers "7" is 7, and "07" or "seven" is nothing; against one of
    floats "0.5" is 0.5, and so is no other spelling of it.
    """
    if kind == "integer":
        return int(text) if _whole(text) else None
    if not source.type().is_floating():
        return text
    try:
        number = float(text)
    except ValueError:
        return None
    if number != number or repr(number + 0.0) != text:
        return None
    if not source.type().is_float32():
        return number
    if _single(text) != number:
        return None
    from numpy import float32

    return float(float32(text))


def told(keys: KeySet, source: Table, kinds: Mapping[str, Column]) -> int | Listed:
    """Return the first of keys that are one whole number after the other, else the keys."""
    if len(keys.columns) == 1 and kinds[keys.columns[0]] == "integer" and keys.keys:
        first = keys.keys[0][0]
        start = int(first) if _whole(first) else 0
        if all(key == (str(start + i),) for i, key in enumerate(keys.keys)):
            return start
    return joinable(keys, source, kinds)


def joinable(keys: KeySet, source: Table, kinds: Mapping[str, Column]) -> Listed:
    """Return the numbers of the cells and their keys; those that no row could have are left out."""
    columns: Listed = [list(range(len(keys)))]
    for place, column in enumerate(keys.columns):
        texts, compared = [key[place] for key in keys.keys], source[column]
        known = typed_keys(dict.fromkeys(texts), compared, kinds[column])
        columns.append([known[text] for text in texts])
    if any(None in column for column in columns):
        kept = [row for row in zip(*columns, strict=True) if None not in row]
        columns = [[row[i] for row in kept] for i in range(len(columns))]
    return columns


def _whole(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) <= 19
    return plain and str(int(text)) == text and -(2**63) <= int(text) < 2**63


# ---------------------------------------------------------------------- rows, fields and sums


def _unit_column(place: int) -> str:
    return f"_unit_{place}"


UNIT = _unit_column(0)
"""The column of units in `rows`, where there is one."""


def _field_column(place: int) -> str:
    return f"_field_{place}"


def one(condition: Value) -> Value:
    """Return 1 where a condition is met, and 0 where it is not or is null."""
    return ibis.ifelse(condition, ibis.literal(1, "int64"), ibis.literal(0, "int64"))


def _number(table: Table, column: str, reading: Reading) -> tuple[Value, Value]:
    """Return a column as a float, and whether it is a number at all: not null, not NaN."""
    value, kind = table[column], reading.kinds[column]
    if kind == "truth":
        return one(value).cast("float64"), value.notnull()
    if kind == "integer":
        return value.cast("int64").cast("float64"), value.notnull()
    value = reading.number(table, column)
    return value, value.notnull() & ~value.isnan()


def _label(table: Table, field: Labels, reading: Reading) -> Value:
    value, kind = table[field.column], reading.kinds[field.column]
    compared = comparable(value, kind, reading)
    known = typed_keys(dict.fromkeys(field.labels), value, kind)
    labels = ((known[label], i) for i, label in enumerate(field.labels))
    cases = [(compared == label, i) for label, i in labels if label is not None]
    return ibis.cases(*cases).cast("int64") if cases else ibis.null("int64")


def _place(table: Table, field: Field, reading: Reading) -> Value:
    """Return a field as a whole number from 0 to size−1, null for nothing."""
    if isinstance(field, Labels):
        return _label(table, field, reading)
    x, there = _number(table, field.column, reading)
    ratio = reading.dialect.ratio
    nothing = ibis.null("int64")
    if isinstance(field, Bins):
        place = ibis.literal(-1, "int64")
        for edge in field.edges[:-1]:
            place = place + one(x >= edge)
        inside = (x >= field.edges[0]) & (x <= field.edges[-1])
        return ibis.ifelse(there & inside, place, nothing)
    if isinstance(field, Steps):
        # Clipped before it becomes an integer, which infinity does not fit.
        near = ibis.greatest(field.start - field.step, ibis.least(field.cap + field.step, x))
        step = (ratio(near - field.start, field.step, -1, field.size) + 1e-6).floor()
        inside = (step >= 0) & (x <= field.cap + field.step * 1e-6)
        return ibis.ifelse(there & inside, ibis.least(field.size - 1, step), nothing)
    return ibis.ifelse(there, _plus(multiple(x, field, reading), -field.low), nothing)


def multiple(x: Value, field: Number, reading: Reading) -> Value:
    """Return a number that is there in multiples of a resolution, clipped to a field's ends.

    It is clipped before it becomes an integer (±inf and 1e308 do not fit one), so that it lies
    within [low, high] exactly: both are integers below 2^52, where adding a half is exact.
    """
    step, low, high = float(field.resolution), float(field.low), float(field.high)
    near = reading.dialect.ratio(x, step, field.low, field.high)
    return (ibis.greatest(low, ibis.least(high, near)) + 0.5).floor()


def _plus(value: Value, whole: int) -> Value:
    return value + whole if whole else value


def fields_of(query: Query) -> list[Field]:
    """Return the fields that a query needs, each once."""
    asked = (m for m in query.measures if not isinstance(m, Cutting))
    return list(dict.fromkeys(field for measure in asked for field in fields(measure)))


def _rows(
    source: Table, query: Query, reading: Reading, keys: Sequence[Keys], *, unit: bool
) -> Table:
    """Return the rows that may count, with cell and fields, and units and a given priority."""
    rows = with_unit(source, query.unit)
    wanted: dict[str, Value] = {}
    if unit:
        wanted |= {_unit_column(i): rows[name] for i, name in enumerate(query.unit)}
    wanted |= {
        _field_column(i): _place(rows, field, reading) for i, field in enumerate(fields_of(query))
    }
    if unit and query.priority is not None:
        wanted[PRIORITY] = rows[query.priority]
    return _in_cells(rows, wanted, query, reading, keys)


def _in_cells(
    rows: Table, wanted: Mapping[str, Value], query: Query, reading: Reading, keys: Sequence[Keys]
) -> Table:
    """Return the rows that lie in a cell, with its number and the wanted columns."""
    if query.cells is None:
        return rows.select(**{GROUP: ibis.literal(0, "int64")}, **wanted)
    names = query.cells.columns
    by = [comparable(rows[name], reading.kinds[name], reading) for name in names]
    return _numbered(rows, by, wanted, query.cells, keys)


def _by(place: int) -> str:
    return f"_by_{place}"


def _code(factor: int) -> str:
    return f"{CODE}_{factor}"


def _numbered(
    rows: Table,
    by: Sequence[Value],
    wanted: Mapping[str, Value],
    cells: Cells,
    keys: Sequence[Keys],
) -> Table:
    """Return the number of each row's cell with wanted columns; rows that have none are left out.

    `by` are the values of the cells' columns, `keys` the keys of each factor of the cells.
    """
    ends = list(accumulate((len(factor.columns) for factor in cells.factors), initial=0))
    tables = {n: known for n, known in enumerate(keys) if not isinstance(known, (int, list))}
    if tables:
        rows = rows.select(**{_by(i): value for i, value in enumerate(by)}, **wanted)
        for number, known in tables.items():
            names = [_by(place) for place in range(ends[number], ends[number + 1])]
            named = {f"{name}_key": known[key_column(i)] for i, name in enumerate(names)}
            table = known.select(**{_code(number): known[CODE]}, **named)
            rows = rows.join(table, [rows[name] == table[f"{name}_key"] for name in names])
        by = [rows[_by(i)] for i in range(len(by))]
        wanted = {name: rows[name] for name in wanted}
    whole, met = ibis.literal(0, "int64"), []
    for number, (factor, known) in enumerate(zip(cells.factors, keys, strict=True)):
        own = by[ends[number] : ends[number + 1]]
        if isinstance(known, int):
            met.append(own[0].between(known, known + len(factor) - 1))
            code = _plus(own[0], -known)
        elif isinstance(known, list):
            cases = [
                (reduce(and_, (value == one for value, one in zip(own, key, strict=True))), cell)
                for cell, *key in zip(*known, strict=True)
            ]
            met.append(reduce(or_, [case for case, _ in cases]) if cases else ibis.literal(False))
            code = ibis.cases(*cases).cast("int64") if cases else ibis.null("int64")
        else:
            code = rows[_code(number)]
        whole = whole * len(factor) + code if number else code
    return (rows.filter(met) if met else rows).select(**{GROUP: whole}, **wanted)


def kept_rows(
    source: Table,
    query: Query,
    reading: Reading,
    keys: Sequence[Keys],
    materialize: Materialize,
    best: Best | None = None,
) -> Table:
    """Return the rows that count: cell and fields, after bounding.

    `best` is an engine's own way to keep the best rows of each unit, for the plainest case: one
    column of units, everything else in one integer beside it (the bits of each column are told),
    and only the rows limited. It returns such integers, or None.
    """
    if not query.unit:
        return _rows(source, query, reading, keys, unit=False)
    rows = _rows(source, query, reading, keys, unit=True)
    units = [_unit_column(i) for i in range(len(query.unit))]
    contribution = query.contribution
    if query.cells is None:
        # One group: what binds is how many rows it may have.
        most = min(contribution.rows, contribution.rows_per_group)
        contribution = replace(contribution, rows=most, groups=most, rows_per_group=most)
    fields = [_field_column(i) for i in range(len(fields_of(query)))]
    sizes = {name: field.size + 1 for name, field in zip(fields, fields_of(query), strict=True)}
    if contribution.only_rows:
        # Groups are not ranked and not limited: the cell is only carried along.
        sizes[GROUP] = 1 if query.cells is None else len(query.cells)
    bits = {name: max(1, (size - 1).bit_length()) for name, size in sizes.items()}
    numbered = reading.dialect.numbered

    def kept_of(rows: Table) -> Table:
        return bounded(rows, units, contribution, materialize, numbered=numbered)

    width = sum(bits.values())
    if width > _WIDEST:
        return kept_of(prioritized(rows, reading, MOST_PRIORITY)).select(GROUP, *fields)
    beside = [] if GROUP in bits else [GROUP]
    kept = None
    if best is not None and not beside and len(units) == 1:
        kept = best(rows, query, contribution.rows, bits)
    if kept is None:
        ranked = prioritized(rows, reading, 63 - width)
        kept = kept_of(ranked.select(*units, *beside, **{PRIORITY: packed(ranked, bits)}))
    return _unpacked(kept, bits, beside)


def prioritized(rows: Table, reading: Reading, bits: int) -> Table:
    """Return rows with a priority of so many bits, drawn where none is given."""
    if PRIORITY not in rows.columns:
        priority = reading.dialect.draw(bits)
    elif rows[PRIORITY].type().is_floating():
        priority = _first_bits(rows[PRIORITY], bits)
    else:
        priority = rows[PRIORITY].cast("int64")
    return rows.mutate(**{PRIORITY: priority})


def _first_bits(share: Value, bits: int) -> Value:
    """Return the first bits of a float of [0, 1)."""
    return ibis.least(2**bits - 1, (share * float(2**bits)).floor()).cast("int64")


def of_unit(rows: Table, least: int, room: int) -> Value:
    """Return a whole-numbered unit, from zero on, and below it its priority of so many bits."""
    return ((rows[UNIT].cast("int64") - least) << room) | rows[PRIORITY]


def packed(rows: Table, bits: Mapping[str, int]) -> Value:
    """Return priority and payload in one integer: the priority above, the payload below it.

    The payload is the fields (0 for nothing, else plus one) and perhaps the cell, bit beside bit,
    and it is combined by exclusive or with the lowest bits of the priority. Rows of different
    priority are sorted by it. For two rows of the same priority what decides is the highest bit in
    which their payloads differ, turned over or not by a random bit: a coin, and not the data. The
    priority is `prioritized`, with the bits that the payload leaves.
    """
    width, priority = sum(bits.values()), rows[PRIORITY]
    if not width:
        return priority
    return (priority << width) | (payload(rows, bits) ^ (priority & ((1 << width) - 1)))


def payload(rows: Table, bits: Mapping[str, int]) -> Value:
    """Return fields and cell, bit beside bit."""
    pieces, shift = [], 0
    for name, size in bits.items():
        # 64 bits wide from the start: an engine shifts in the width of what it is given.
        one = rows[name].cast("int64")
        one = one if name == GROUP else ibis.coalesce(one + 1, 0)
        pieces.append(one << shift if shift else one)
        shift += size
    return reduce(or_, pieces) if pieces else ibis.literal(0, "int64")


def _unpacked(kept: Table, bits: Mapping[str, int], beside: Sequence[str]) -> Table:
    width, shift = sum(bits.values()), 0
    columns: dict[str, Value] = {}
    if width:
        payload = (kept[PRIORITY] ^ (kept[PRIORITY] >> width)) & ((1 << width) - 1)
    for name, size in bits.items():
        part = payload >> shift if shift else payload
        part = part & ((1 << size) - 1) if shift + size < width else part
        columns[name] = part if name == GROUP else part.nullif(0) - 1
        shift += size
    return kept.select(*beside, **columns)


def _aggregates(
    table: Table, query: Query, columns: Sequence[Value], reading: Reading
) -> dict[str, Value]:
    """Return the sums of a query, over fields that stand in `columns`."""
    places = dict(zip(fields_of(query), columns, strict=True))
    sums: dict[str, Value] = {}
    for measure in query.measures:
        if isinstance(measure, Counting):
            if measure.field is None:
                sums[measure.name] = table.count()
            else:
                sums[measure.name] = places[measure.field].count()
        elif isinstance(measure, Summing):
            field, weight = measure.field, measure.weight
            distance = _plus(places[field], field.low - measure.centre)
            size = max(field.high - measure.centre, measure.centre - field.low) ** measure.power
            power = distance if measure.power == 1 else distance * distance
            if measure.power == 0:
                power = ibis.ifelse(distance.notnull(), ibis.literal(1, "int64"), None)
            if weight is not None:
                power, size = power * _plus(places[weight], weight.low), size * weight.high
            sums[measure.name] = reading.dialect.summable(power, size).sum()
    return sums


def measured(kept: Table, query: Query, reading: Reading) -> Table:
    """Return one row a cell, with the counts and sums."""
    columns = [kept[_field_column(i)] for i in range(len(fields_of(query)))]
    return kept.group_by(**{CODE: kept[GROUP]}).agg(**_aggregates(kept, query, columns, reading))


def cut_units(
    source: Table, query: Query, reading: Reading, keys: Sequence[Keys], asked: Sequence[Cutting]
) -> Table:
    """Return one row: for each question, how many units are cut.

    A unit keeps all of its rows if and only if it has at most R of them, in at most G groups, with
    at most c in each. A row is asked for its own numbers, whether or not the bounding keeps it.
    """
    rows = with_unit(source, query.unit)
    outside = {m.name: _outside(rows, m.field, reading) for m in asked if m.field is not None}
    units = {_unit_column(i): rows[name] for i, name in enumerate(query.unit)}
    rows = _in_cells(rows, units | outside, query, reading, keys)
    if not query.unit:
        return rows.agg(**{name: ibis.coalesce(rows[name].sum(), 0) for name in outside})
    within = rows.group_by([*units, GROUP])
    groups = within.agg(_n=rows.count(), **{name: rows[name].max() for name in outside})
    own = groups.group_by(list(units)).agg(
        _rows=groups["_n"].sum(),
        _groups=groups.count(),
        _most=groups["_n"].max(),
        **{name: groups[name].max() for name in outside},
    )
    bounds = query.contribution
    wide = own["_groups"] > bounds.groups
    deep = (own["_rows"] > bounds.rows) | (own["_most"] > bounds.rows_per_group)
    lost = {m.name: one(wide | deep if m.repeats else wide) for m in asked if m.field is None}
    cut = {m.name: lost[m.name] if m.field is None else own[m.name] for m in asked}
    return own.agg(**{name: ibis.coalesce(value.sum(), 0) for name, value in cut.items()})


def _outside(table: Table, field: Number, reading: Reading) -> Value:
    """Return 1 where a number lies outside a field, else 0."""
    x, there = _number(table, field.column, reading)
    low, high = float(field.low * field.resolution), float(field.high * field.resolution)
    return one(there & ((x < low) | (x > high)))


def tallied(kept: Table, query: Query, tally: Tally) -> Table:
    """Return one row a cell and value of a field, with how many rows have it."""
    place = kept[_field_column(fields_of(query).index(tally.field))]
    there = kept.filter(place.notnull())
    return there.group_by(**{CODE: there[GROUP], "_place": there[place.get_name()]}).agg(
        **{tally.name: there.count()}
    )


def grouped_first(source: Table, query: Query, reading: Reading, keys: Sequence[Keys]) -> Table:
    """Return the counts and sums where rows are units: grouped by raw keys, and matched after.

    Nothing has to be bounded, so the data are grouped as they are, which is as fast as a plain
    GROUP BY, and only the few groups are matched with the public keys.
    """
    if query.cells is None:
        return measured(_rows(source, query, reading, (), unit=False), query, reading)
    fields = {
        _field_column(i): _place(source, field, reading) for i, field in enumerate(fields_of(query))
    }
    columns = {_by(i): name for i, name in enumerate(query.cells.columns)}
    rows = source.select(**{by: source[name] for by, name in columns.items()}, **fields)
    sums = _aggregates(rows, query, [rows[name] for name in fields], reading)
    raw = rows.group_by(list(columns)).agg(**sums)
    by = [comparable(raw[by], reading.kinds[name], reading) for by, name in columns.items()]
    found = _numbered(raw, by, {name: raw[name] for name in sums}, query.cells, keys)
    return found.group_by(**{CODE: found[GROUP]}).agg(**{name: found[name].sum() for name in sums})


def columns_of(query: Query) -> list[str]:
    """Return the columns of the data that a query needs, each once."""
    by = () if query.cells is None else query.cells.columns
    fields = (field.column for field in fields_of(query))
    given = () if query.priority is None else (query.priority,)
    return list(dict.fromkeys((*query.unit, *by, *fields, *given)))


def with_unit(source: Table, unit: Sequence[str]) -> Table:
    """Return the rows that have a unit."""
    return source.filter([present(source[column]) for column in unit]) if unit else source


def drawn(source: Table, unit: Sequence[str], rate: Fraction, reading: Reading) -> Value:
    """Say of each row whether its unit is drawn, with that chance: by a secret that is used once.

    A unit is drawn if the first 52 bits of its mark are below the rate, so all of its rows are
    drawn or none, on every pass of the release.
    """
    return marked(source, unit, reading).substr(0, 13) < f"{int(rate * 2**52):013x}"


def marked(source: Table, unit: Sequence[str], reading: Reading) -> Value:
    """Return the SHA-256 of a new secret and the name of each row's unit."""
    text = ibis.literal(secrets.token_hex(32))
    for column in unit:
        name = reading.dialect.text(source[column])
        text = text.concat(name.length().cast("string"), ":", name, ";")
    return reading.dialect.digest(text)


def part_of(source: Table, unit: Sequence[str], part: int, parts: int) -> Table:
    """Return the rows of one unit in so many."""
    rows = with_unit(source, unit)
    return rows.filter(place_of([rows[column] for column in unit], parts) == part)


def place_of(unit: Sequence[Value], places: int) -> Value:
    """Return one of so many places for each unit, by the hash of its columns."""
    # The sample below is of a share of the hashes as well, so that other bits decide here.
    mixed = (reduce(xor, (column.hash() for column in unit)) >> 8) & (2**32 - 1)
    return mixed % places


def sampled_share(
    source: Table, unit: Sequence[str], kinds: Mapping[str, Column], most: int, one_in: int
) -> Table:
    """Return one row: rows of units with more than `most`, and all, of one unit in so many.

    Whole numbers are sampled by their lowest bits (`one_in` is a power of two), which costs hardly
    more than to read them; anything else by its hash.
    """
    rows = with_unit(source, unit)
    name = rows[unit[0]]
    chosen = name & (one_in - 1) if kinds[unit[0]] == "integer" else name.hash() % one_in
    rows = rows.filter(chosen == 0)
    sizes = rows.group_by(list(unit)).agg(_n=rows.count())
    above = sizes["_n"].sum(where=sizes["_n"] > most)
    return sizes.agg(_above=ibis.coalesce(above, 0), _all=ibis.coalesce(sizes["_n"].sum(), 0))


def units_above(source: Table, unit: Sequence[str], most: int) -> Table:
    """Return the units that have more rows than `most`."""
    rows = with_unit(source, unit)
    sizes = rows.group_by(list(unit)).agg(_n=rows.count())
    return sizes.filter(sizes["_n"] > most).select(*unit)
