"""Formulas and declared types as Ibis expressions: total on every row, the same on every engine.

Numbers. Every number in a computation is zero or of a size between 1e-116 and 1e150; what is larger
is null, and what is smaller is rounded to a multiple of about 1e-116 by adding and taking away
1e-100, which changes no number above 1e-84. So no engine ever meets an overflow or an underflow,
which some refuse and some do not. All else about doubles is alike everywhere.

Moments. Those outside the years 1 to 9999 are null; how they are read from texts is a matter of the
dialects. Texts are compared byte by byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, or_, sub, truediv
from typing import Any, TypeAlias

import ibis

from discreet.errors import DataError
from discreet.releases.engines.base import TEXTS, Column
from discreet.releases.engines.expressions import Reading, comparable, multiple, one, within_years
from discreet.releases.formula import Term, kind_declared
from discreet.releases.rows import Gathered
from discreet.releases.source import Declared, pattern_of

Table: TypeAlias = Any
Value: TypeAlias = Any

_YES, _NO = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


def declared(source: Table, name: str, wanted: Declared, reading: Reading) -> tuple[Value, Column]:
    """Return a column in a declared type, null where a value is not of it, and its kind."""
    value, kind = source[name], reading.kinds[name]
    if kind in TEXTS:
        return _from_text(value, wanted, kind, reading), kind_declared(wanted)
    own = {"integer": {"integer", "number", "text"}, "number": {"number"}, "truth": {"boolean"}}
    dated = value.type().is_date() or value.type().is_timestamp()
    moments = {"text", "date", "moment"} if dated else set()
    if wanted not in (moments if kind == "moment" else own.get(kind, ())):
        raise DataError("engines.type_other", column=name, wanted=wanted, kind=kind)
    if wanted == "text":
        return reading.dialect.text(comparable(value, kind, reading)), "text"
    if wanted == "number" and kind == "integer":
        return value.cast("int64").cast("float64"), "number"
    return (value.cast("date") if wanted == "date" else value), kind_declared(wanted)


def _from_text(value: Value, wanted: Declared, kind: Column, reading: Reading) -> Value:
    if wanted == "number":
        return _number(reading.dialect.number(value, kind))
    if wanted == "integer":
        return reading.dialect.whole(value)
    if wanted == "date":
        return reading.dialect.day(value)
    if wanted == "moment":
        return reading.dialect.moment(value)
    if wanted == "boolean":
        small = lowered(value)
        return ibis.cases((small.isin(_YES), True), (small.isin(_NO), False))
    pattern = pattern_of(wanted)
    if pattern is None:
        return value
    iso = _iso(value, wanted, *pattern)
    return reading.dialect.moment(iso) if "%H" in pattern[1] else reading.dialect.day(iso)


def _iso(value: Value, wanted: str, pattern: str, parts: tuple[str, ...]) -> Value:
    """Return a date that is written in a declared way as 2026-01-31, a moment with its time.

    What was found is put together again and compared: engines differ on where a text ends.
    """
    found = {part: value.re_extract(pattern, n) for n, part in enumerate(parts, start=1)}
    again: Value = ibis.literal("")
    for piece in re.split("(%.)", wanted):
        again = again + found.get(piece, ibis.literal(piece))
    whole = found["%Y"]
    for part, sign in zip(("%m", "%d", "%H", "%M", "%S"), "-- ::", strict=True):
        if part in found:
            whole = whole + sign + found[part].lpad(2, "0")
    return ibis.ifelse(again == value, whole, ibis.null("string"))


GIVEN: dict[Column, str] = {"integer": "int64", "number": "float64", "truth": "int64"}
"""The types in which an engine is given columns of a public table; texts for all others."""


def given(value: Value, kind: Column, reading: Reading) -> Value:
    """Return a column of a public table as it is given to another engine."""
    if kind in ("truth", "integer"):
        return value.cast("int64")
    if kind == "number":
        return reading.dialect.number(value, kind)
    date_like = kind == "moment" and value.type().is_timestamp()
    return reading.dialect.text(value.cast("date") if date_like else value)


def taken(value: Value, kind: Column, reading: Reading) -> Value:
    """Return a column that was given, in its own type; a moment is its day."""
    if kind == "truth":
        return value == 1
    return reading.dialect.day(value) if kind == "moment" else value


def lowered(value: Value) -> Value:
    """Return a text with its letters A to Z made small: engines differ on all others."""
    return value.translate(_UPPER, _LOWER)


# ---------------------------------------------------------------------- formulas

_LARGEST, _NEAR_ZERO, _WHOLE_NUMBERS = 1e150, 1e-100, 2.0**53
_SIGNS: dict[str, Callable[[Value, Value], Value]] = {
    **{"and": and_, "or": or_, "=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge},
    **{"+": add, "-": sub, "*": mul, "/": truediv},
}
_DTYPES = {
    "integer": "int64",
    "number": "float64",
    "text": "string",
    "date": "date",
    "boolean": "boolean",
}


def compiled(term: Term, source: Table, reading: Reading) -> Value:
    """Return a formula over the rows of a table; its types have been resolved."""
    if term.op == "constant":
        return ibis.literal(term.value, _DTYPES[term.type])
    if term.op == "column":
        return _column(term, source, reading)
    if term.op == "as number" and term.parts[0].op == "column" and term.parts[0].type == "untyped":
        return _number(reading.number(source, term.parts[0].value))
    parts = [compiled(part, source, reading) for part in term.parts]
    return _applied(term, parts, reading)


def _applied(term: Term, parts: list[Value], reading: Reading) -> Value:
    first = parts[0]
    match term.op:
        case "and" | "or":
            return reduce(_SIGNS[term.op], parts)
        case "not":
            return ~first
        case "is null":
            return first.isnull()
        case "in":
            return reduce(or_, (first == part for part in parts[1:]))
        case "=" | "!=" | "<" | "<=" | ">" | ">=":
            return _SIGNS[term.op](_ranked(first, reading), *parts[1:])
        case "+" | "-" | "*" | "/":
            left, right = map(_ordinary, term.parts, parts)
            return _SIGNS[term.op](left, right.nullif(0.0) if term.op == "/" else right)
        case "days":
            later, earlier = map(within_years, parts)
            return later.delta(earlier, unit="day").cast("int64")
        case "if":
            return ibis.ifelse(first, parts[1], parts[2])
        case "bin":
            edges = term.value
            rising = [(first < end, label) for (_, label), (end, _) in pairwise(edges)]
            place = ibis.cases(*rising, else_=edges[-1][1]) if rising else edges[-1][1]
            return ibis.ifelse(first >= edges[0][0], place, ibis.null("string"))
        case "lower":
            return lowered(first)
        case "abs":
            return first.abs()
        case "floor":
            small = ibis.ifelse(first.abs() <= _WHOLE_NUMBERS, first, ibis.null("float64"))
            return small.floor().cast("float64")
        case "as number" if term.parts[0].type == "integer":
            return first.cast("float64")
        case "as date" if term.parts[0].type == "moment":
            return within_years(first).cast("date")
        case "weekday":
            return within_years(first).day_of_week.index().cast("int64") + 1
        case "hour" if first.type().is_date():
            raise DataError("engines.no_hour")
        case "year" | "month" | "day" | "hour":
            return getattr(within_years(first), term.op)().cast("int64")
    return _from_text(first, term.op.removeprefix("as "), "untyped", reading)


def gathered(feature: Gathered, value: Value, reading: Reading) -> Value:
    """Return what is gathered of a column over the rows of each unit, as an aggregate."""
    match feature.gathering:
        case "count":
            return one(value).sum().cast("int64")
        case "any":
            return one(value).max() == 1
        case "all":
            return one(value).min() == 1
        case "min":
            return _ranked(value, reading).min()
        case "max":
            return _ranked(value, reading).max()
    number = feature.number
    assert number is not None  # noqa: S101 - a sum has bounds
    size = max(abs(number.low), abs(number.high))
    whole = ibis.ifelse(value.notnull(), multiple(value, number, reading), ibis.null("int64"))
    total = reading.dialect.summable(whole, size).sum().cast("float64")
    step = number.resolution
    return total * float(step.numerator) / float(step.denominator)


def _ranked(value: Value, reading: Reading) -> Value:
    """Return a value so that the order of texts is that of their bytes."""
    return reading.dialect.bytewise(value) if value.type().is_string() else value


def _column(term: Term, source: Table, reading: Reading) -> Value:
    value = source[term.value]
    if term.type == "integer":
        return value.cast("int64")
    if term.type == "number":
        return _number(reading.number(source, term.value))
    if term.type == "moment" and not (value.type().is_date() or value.type().is_timestamp()):
        raise DataError("engines.no_moment", column=term.value)
    return value


def _number(value: Value) -> Value:
    return ibis.ifelse(value.isnan(), ibis.null("float64"), value)


def _ordinary(term: Term, value: Value) -> Value:
    if term.op == "as number" and term.parts[0].type == "integer":
        return value  # zero, or of a size between 1 and 2^63
    near = (value + _NEAR_ZERO) - _NEAR_ZERO
    return ibis.ifelse(near.abs() <= _LARGEST, near, ibis.null("float64"))
