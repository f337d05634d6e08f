"""The table of a release: exact values, printed once, the same in every file.

`statistic, group…, value, std_error, interval_low, interval_high, published`. A value is an exact
fraction; a count or a sum prints as the decimal that it is, a quotient to a few digits beyond its
resolution, an interval rounded outward. `published` is a whole number beside the value, where a
statistic has one.

In CSV no text is a formula: a spreadsheet would compute one. A text that begins like a formula and
is no number gets an apostrophe before it, and so does a text that begins with one: a program takes
one apostrophe away and has the text. Parquet and JSON have every text as it is.
"""

from __future__ import annotations

import csv
import gc
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from discreet.frames import Tabular

if TYPE_CHECKING:
    from discreet.releases.statistics.values import Answer, PlainRows, Result

_DIGITS = 6
_MOST_DIGITS = 30
_SAME = ("std_error", "published")  # of rows that were not made, in all of them
_PLAIN = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?")


def decimal_text(value: Fraction | int, side: int = 0) -> str:
    """Return a fraction as a decimal: exactly if it is one, else to six digits.

    `side` is −1 to round down, 1 to round up, 0 to the nearest.

    >>> decimal_text(Fraction(12345, 100)), decimal_text(Fraction(1, 3)), decimal_text(Fraction(7))
    ('123.45', '0.333333', '7')
    """
    return str(value.numerator) if value.denominator == 1 else _broken(value, side)


@lru_cache(maxsize=1024)
def _broken(value: Fraction, side: int) -> str:
    """Return the decimal of a number that is not whole; a standard error is that of many cells."""
    digits = _places(value.denominator)
    if digits is None or digits > _MOST_DIGITS:
        size = abs(value)
        leading = math.floor(math.log10(size)) if size else 0
        digits = max(0, _DIGITS - 1 - leading)
    whole = _to_side(value * 10**digits, side)
    return _placed(whole, digits) if digits else str(whole)


def _to_side(value: Fraction, side: int) -> int:
    return round(value) if side == 0 else math.floor(value) if side < 0 else math.ceil(value)


def _places(denominator: int) -> int | None:
    """How many decimals a fraction of that denominator has; None if it never ends."""
    twos = fives = 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    return max(twos, fives) if denominator == 1 else None


@contextmanager
def uncollected() -> Iterator[None]:
    """Make many small values without Python's search for cycles, of which they have none."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of numbers: its name, what a row calls it, and to which side it is rounded."""

    name: str
    field: str
    side: int = 0

    def printed(self, rows: Iterable[Answer]) -> list[str | None]:
        """Return the number of each row as it is printed; None for none."""
        values = list(map(attrgetter(self.field), rows))
        # A standard error is that of many cells: one object, printed once.
        others = {id(value): value for value in values if type(value) is not int}
        texts = {
            key: None if value is None else decimal_text(value, self.side)
            for key, value in others.items()
        }
        return [str(v) if type(v) is int else texts[id(v)] for v in values]

    def printed_of(self, rows: PlainRows) -> Sequence[str | None]:
        """Return the number of each row as it is printed, for rows that were not made."""
        whole = rows.multiples(self.field)
        if whole is not None:
            return _multiples(whole, rows.step, self.side)
        if self.field in _SAME:
            return self.printed(rows[0]) * len(rows) if rows else []
        return self.printed(row for (row,) in rows)


def _multiples(whole: Sequence[int], step: Fraction, side: int) -> list[str | None]:
    """Return multiples of a step as decimals."""
    places = _places(step.denominator)
    if places is None or places > _MOST_DIGITS:
        return [decimal_text(n * step, side) for n in whole]
    times = step.numerator * 10**places // step.denominator
    if times != 1:
        whole = [n * times for n in whole]
    if places == 0:
        return list(map(str, whole))
    return [_placed(n, places).rstrip("0").rstrip(".") for n in whole]


def _placed(whole: int, places: int) -> str:
    """Return a whole number divided by a power of ten."""
    text = str(abs(whole)).rjust(places + 1, "0")
    return f"{'-' if whole < 0 else ''}{text[:-places]}.{text[-places:]}"


STATISTIC = "statistic"
NUMBERS = (
    NumberColumn("value", "value"),
    NumberColumn("std_error", "std_error"),
    NumberColumn("interval_low", "low", -1),
    NumberColumn("interval_high", "high", 1),
    NumberColumn("published", "published"),
)
"""The columns of numbers. Files, stored releases, audits and pages take them from here."""

BESIDE = {"published_low": -1, "published_high": 1, "outer_low": -1, "outer_high": 1}
"""Columns that a table has where they say something, with the side to which each is rounded: the
interval of `published`, and one that also covers what was cut."""

VALUES = tuple(column.name for column in NUMBERS)
NUMERIC = (*VALUES, *BESIDE)
"""All columns of numbers."""

SIDES = {column.name: column.side for column in NUMBERS} | BESIDE

_TOGETHER = (
    ("value", "interval_low", "interval_high"),
    ("std_error",),
    ("published", "published_low", "published_high"),
    ("outer_low", "outer_high"),
)


def evenly(table: Mapping[str, Sequence[str | None]]) -> dict[str, Sequence[str | None]]:
    """Return a table as people are shown it: the numbers of a statistic with as many decimals each.

    They are those of the number that has most, but no more than six figures of the largest need,
    or three. What is cut by that is rounded as the column is: values to the nearest, intervals out.
    """
    parts: dict[str | None, list[int]] = {}
    for at, name in enumerate(table[STATISTIC]):
        parts.setdefault(name, []).append(at)
    shown: dict[str, Any] = dict(table)
    for names in _TOGETHER:
        own = {name: list(table[name]) for name in names if name in table}
        if not any(text and "." in text for column in own.values() for text in column):
            continue
        shown |= own
        for places in parts.values():
            texts = [text for column in own.values() for at in places if (text := column[at])]
            if digits := _shared_decimals(texts):
                for name, column in own.items():
                    for at in places:
                        if text := column[at]:
                            column[at] = _with_decimals(text, digits, SIDES[name])
    return shown


def _shared_decimals(texts: Sequence[str]) -> int:
    if not all(map(_PLAIN.fullmatch, texts)):  # as whoever wrote the folder could have it
        return 0
    most = max((len(text.partition(".")[2]) for text in texts), default=0)
    leading = max((x.adjusted() for x in map(Decimal, texts) if x), default=0)
    return min(most, max(3, _DIGITS - 1 - leading))


def _with_decimals(text: str, digits: int, side: int) -> str:
    return _placed(_to_side(Fraction(text) * 10**digits, side), digits)


AT = "at"
"""The column of the shares that quantiles have, in place of a group."""


def is_shares(column: Sequence[str | None]) -> bool:
    """Whether the column `at` has shares; it may be a column of groups that has the same name."""
    try:
        return all(0 < float(text) < 1 for text in column if text is not None)
    except ValueError:
        return False


RESERVED = (STATISTIC, *NUMERIC)
"""Names that no group may have: the groups' columns stand between them."""


_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def csv_text(
    header: Sequence[str],
    columns: Sequence[Sequence[str | None]],
    texts: int,
    end: str = "\n",
    separator: str = ",",
) -> str:
    """Return columns as CSV; the first `texts` of them are texts, none of which is a formula."""
    out = io.StringIO()
    # Of keys there are few, each in many rows.
    said = [{text: harmless(text) for text in set(column)} for column in columns[:texts]]
    safe = [map(known.__getitem__, column) for known, column in zip(said, columns, strict=False)]
    # The writer quotes a text with a line end in it only where it is its own.
    ends = any("\r" in text for known in (header, *said) for text in known if text)
    writer = csv.writer(
        out,
        delimiter=separator,
        lineterminator=end,
        quoting=csv.QUOTE_ALL if ends else csv.QUOTE_MINIMAL,
    )
    writer.writerow(map(harmless, header))
    writer.writerows(zip(*safe, *columns[texts:], strict=True))
    return out.getvalue()


def harmless(text: str | None) -> str | None:
    """Return a text that no spreadsheet computes; a number is no formula."""
    if not text or text.startswith(("'", "\t", "\r")):
        return f"'{text}" if text else text
    if not text.lstrip().startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


@dataclass(frozen=True, slots=True)
class Table(Tabular):
    """The released table, column by column, values as printed."""

    columns: Mapping[str, Sequence[str | None]]

    def __len__(self) -> int:
        return len(self.columns[STATISTIC])

    def beside(self, name: str, ends: Sequence[Fraction | int | None]) -> Table:
        """Return it with one of the columns `BESIDE`; with none if it says nothing."""
        if not any(end is not None for end in ends):
            return self
        side = BESIDE[name]
        printed = [None if end is None else decimal_text(end, side) for end in ends]
        return Table({**self.columns, name: printed})

    def row_of(self, statistic: str | None) -> dict[str, str | None]:
        """The first row of a statistic, as printed; empty where it has none."""
        names = self.columns[STATISTIC]
        at = names.index(statistic) if statistic in names else None
        return {} if at is None else {name: own[at] for name, own in self.columns.items()}

    def rows(self) -> Iterator[tuple[str | None, ...]]:
        """The rows, as printed."""
        return zip(*self.columns.values(), strict=True)

    def to_csv(self) -> str:
        """Return the table as CSV, in which no text is a formula."""
        texts = [name for name in self.columns if name not in NUMERIC]
        order = [*texts, *(name for name in self.columns if name in NUMERIC)]
        return csv_text(order, [self.columns[name] for name in order], len(texts))

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns: texts, and values as numbers."""
        return {
            name: [None if v is None else float(v) for v in values]
            if self._numeric(name)
            else list(values)
            for name, values in self.columns.items()
        }

    def doubles(self) -> list[str]:
        """Return the columns that have numbers."""
        return [name for name in self.columns if self._numeric(name)]

    def _numeric(self, name: str) -> bool:
        """Whether a column has numbers; `at` does, unless it is a column of groups."""
        return is_shares(self.columns[AT]) if name == AT else name in NUMERIC

    def to_arrow(self) -> Any:
        """Return the table as Arrow: texts, and numbers as doubles."""
        import pyarrow as pa

        texts = {name: pa.array(values, pa.string()) for name, values in self.columns.items()}
        return pa.table(
            {n: t.cast(pa.float64()) if self._numeric(n) else t for n, t in texts.items()}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the columns, values as the decimals that are printed."""
        return {name: list(values) for name, values in self.columns.items()}


def table_of(results: Sequence[Result], groups: Sequence[str]) -> Table:
    """Return the table of some statistics, with these columns of groups."""
    columns: dict[str, list[str | None]] = {name: [] for name in (STATISTIC, *groups, *VALUES)}
    for result in results:
        keys: Sequence[tuple[str, ...]] = ((),) if result.cells is None else result.cells.keys
        by = () if result.cells is None else result.cells.columns
        found: Any = result.rows
        plain = hasattr(found, "multiples")
        # In a plain table a cell is a row.
        cells = () if plain else zip(keys, found, strict=True)
        rows = [(key, row) for key, cell in cells for row in cell]
        of_rows = keys if plain else [key for key, _ in rows]
        columns[STATISTIC] += [result.name] * len(of_rows)
        for group in groups:
            if group in by:
                place = by.index(group)
                columns[group] += [key[place] for key in of_rows]
            elif group in result.extra:
                place = result.extra.index(group)
                columns[group] += [row.labels[place] for _, row in rows]
            else:
                columns[group] += [None] * len(of_rows)
        answers = [row for _, row in rows]
        for column in NUMBERS:
            printed = column.printed_of(found) if plain else column.printed(answers)
            columns[column.name] += printed
    return Table(columns)
