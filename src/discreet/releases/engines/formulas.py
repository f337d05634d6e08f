"""Columns in declared types, as Ibis expressions: total on every row, the same on every engine."""

from __future__ import annotations

from typing import Any, TypeAlias

import ibis

from discreet.errors import DataError
from discreet.releases.engines.base import TEXTS, Column
from discreet.releases.engines.expressions import Reading, comparable
from discreet.releases.source import Declared

__all__ = ["KINDS", "declared"]

Table: TypeAlias = Any
Value: TypeAlias = Any

KINDS: dict[Declared, Column] = {
    "text": "text",
    "number": "number",
    "integer": "integer",
    "date": "moment",
    "boolean": "truth",
}
"""What an engine calls the types that a spec declares."""
_WHOLE = "^-?(0|[1-9][0-9]{0,17})$"
_YES, _NO = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


def declared(source: Table, name: str, wanted: Declared, reading: Reading) -> tuple[Value, Column]:
    """Return a column in a declared type, null where a value is not of it, and its kind."""
    value, kind = source[name], reading.kinds[name]
    if kind in TEXTS:
        return _from_text(value, wanted, kind, reading), KINDS[wanted]
    own = {"integer": {"integer", "number", "text"}, "number": {"number"}, "truth": {"boolean"}}
    moments = {"text", "date"} if value.type().is_date() or value.type().is_timestamp() else set()
    if wanted not in (moments if kind == "moment" else own.get(kind, ())):
        raise DataError("engines.type_other", column=name, wanted=wanted, kind=kind)
    if wanted == "text":
        return reading.dialect.text(comparable(value, kind, reading)), "text"
    if wanted == "number" and kind == "integer":
        return value.cast("int64").cast("float64"), "number"
    return (value.cast("date") if wanted == "date" else value), KINDS[wanted]


def _from_text(value: Value, wanted: Declared, kind: Column, reading: Reading) -> Value:
    if wanted == "number":
        return reading.dialect.number(value, kind)
    if wanted == "integer":
        return ibis.ifelse(value.re_search(_WHOLE), value, ibis.null("string")).cast("int64")
    if wanted == "date":
        return reading.dialect.day(value)
    if wanted == "boolean":
        small = lowered(value)
        return ibis.cases((small.isin(_YES), True), (small.isin(_NO), False))
    return value


def lowered(value: Value) -> Value:
    """Return a text with its letters A to Z made small: engines differ on all others."""
    return value.translate(_UPPER, _LOWER)
