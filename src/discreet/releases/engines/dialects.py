"""What engines say differently: numbers in texts, division, random draws, wide sums.

Expressions are written once, for Ibis; where Ibis or SQL leaves a choice open that would change a
number, the expression asks the engine's `Dialect`. What follows is the rule, and DuckDB's way of
keeping it; the others keep it in their own files.

A text is a number if, without blanks around it, it is written so (case does not matter):

    [+][-] digits [. [digits]] [e [+|-] digits]     or .digits, or inf, infinity, nan

where digits may be parted by single underscores. It is the nearest double; beyond the largest it is
infinite, and too near to zero it is zero. Anything else is nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import ibis

from discreet.releases.engines.base import Column

__all__ = ["BLANKS", "INFINITE", "NUMERAL", "Dialect", "Reading", "unit_interval"]

Value: TypeAlias = Any

BLANKS = " \t\n\v\f\r"
_DIGITS = "[0-9]+(_[0-9]+)*"
_BEFORE, _AFTER = f"^[{BLANKS}]*[+]?-?", f"[{BLANKS}]*$"
NUMERAL = rf"{_BEFORE}({_DIGITS}([.]({_DIGITS})?)?|[.]{_DIGITS})([eE][+-]?{_DIGITS})?{_AFTER}"
INFINITE = rf"{_BEFORE}[iI][nN][fF]([iI][nN][iI][tT][yY])?{_AFTER}"


class Dialect:
    """How one engine is spoken to; this one is DuckDB's."""

    name: ClassVar[str] = "duckdb"
    numbered: ClassVar[bool] = False
    """Whether rows are ranked by their number within a unit, instead of by a look back."""

    def number(self, value: Value, kind: Column) -> Value:
        """Return a column of numbers or texts as a float, null for a text that is none."""
        return value.try_cast("float64") if kind == "text" else value.cast("float64")

    def ratio(self, x: Value, step: float, low: int, high: int) -> Value:
        """Return x/step as a float; what lies outside low … high may be moved, staying outside."""
        return x / step

    def text(self, value: Value) -> Value:
        """Return a column that is no float as a text."""
        return value.cast("string")

    def draw(self) -> Value:
        """Return a random float of [0, 1), drawn for each row."""
        return ibis.random()

    def summable(self, value: Value, size: int) -> Value:
        """Return whole numbers of at most that size in a type whose sum does not overflow."""
        return value


def unit_interval(bits: Value) -> Value:
    """Return 64 random bits as a float of [0, 1): 53 of them, exactly."""
    return ((bits >> 11) & (2**53 - 1)).cast("float64") / 2.0**53


@dataclass(frozen=True, slots=True)
class Reading:
    """The columns of a source, and how its engine is spoken to."""

    kinds: Mapping[str, Column]
    dialect: Dialect
