"""Keys: which row belongs to which cell. A key is a text; a column of the data may be a number.

A column of whole numbers is compared as whole numbers and one of floats as floats, each against the
one spelling that a number has; everything else as text, byte by byte. So no row has two cells, and
no engine's way of printing numbers plays a part. A float that is NaN is a missing one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from discreet.releases.engines.base import Column, KeySet
from discreet.releases.engines.dialects import Reading

__all__ = ["comparable", "joinable", "key_column", "present", "spelled", "typed"]

Table: TypeAlias = Any
Value: TypeAlias = Any


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


def typed(text: str, source: Value, kind: Column) -> int | float | str | None:
    """Return a key in the type in which it is compared; None where no row could have it.

    A key is a text. Against a column of whole numbers "7" is 7, and "07" or "seven" is nothing;
    against one of floats "0.5" is 0.5, and so is no other spelling of it.
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


def joinable(
    keys: KeySet, source: Table, kinds: Mapping[str, Column]
) -> list[tuple[int, tuple[Any, ...]]]:
    """Return (cell number, key) in the types of the data, without keys that no row could have."""
    found: list[dict[str, Any]] = []
    for place, column in enumerate(keys.columns):
        texts = {key[place] for key in keys.keys}
        pairs = ((text, typed(text, source[column], kinds[column])) for text in texts)
        found.append({text: value for text, value in pairs if value is not None})
    return [
        (code, tuple(values[text] for values, text in zip(found, key, strict=True)))
        for code, key in enumerate(keys.keys)
        if all(text in values for values, text in zip(found, key, strict=True))
    ]


def _whole(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) <= 19
    return plain and str(int(text)) == text and -(2**63) <= int(text) < 2**63
