"""What an engine is asked: rows in, whole-number aggregates out.

A `Query` names the unit, the public cells, the bounds of contribution and what to measure; an
`Engine` answers with one list of whole numbers a measure, one number a cell (a list a cell for
`Tally`, one number for `Cutting`), zeros included. Over a `Grid`, which may have more cells than
fit in memory, the answer is {number of the cell: number}, for cells that have rows. Nothing else
leaves it: no row, no unit, no key that was not asked for.

A `Field` turns a column into a whole number from 0 to size−1, or nothing:
- `Number`: clipped to [low, high]·resolution and rounded; text that is no number, NaN and null are
  nothing; ±infinity is clipped;
- `Bins`: the place between rising edges; outside them is nothing;
- `Steps`: the highest step of a ladder that the value reaches; below and above it is nothing;
- `Labels`: the place in a list of texts, compared exactly; other texts are nothing.
A row whose field is nothing adds nothing to that measure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeAlias

from discreet.releases.contributions import Contribution

Column: TypeAlias = Literal["integer", "number", "text", "untyped", "moment", "truth", "other"]
"""What an engine says of a column's type: enough to check a spec against, without data.

A column of a CSV file, or of pandas objects, is `untyped`: a text that the spec may use as a number
or a date.
"""

TEXTS: frozenset[Column] = frozenset({"text", "untyped"})
"""The kinds of columns whose values are texts."""


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric column in whole multiples of a resolution, from `low` to `high` of them."""

    column: str
    low: int
    high: int
    resolution: Fraction

    @property
    def size(self) -> int:
        """How many values it may take."""
        return self.high - self.low + 1

    @property
    def ends(self) -> tuple[float, float, float]:
        """The value that weighs most, one that weighs little, and one far outside."""
        step, width = float(self.resolution), self.high - self.low
        few = min(3, width)
        if abs(self.high) >= abs(self.low):
            most, little, away = self.high, self.low + few, 9 * width
        else:
            most, little, away = self.low, self.high - few, -9 * width
        return most * step, little * step, most * step + away * step

    @property
    def script(self) -> str:
        """The field in a script for OpenDP (`noise.standalone`)."""
        return f"multiple({self.column!a}, {self.low}, {self.high}, {float(self.resolution)!r})"


@dataclass(frozen=True, slots=True)
class Bins:
    """A numeric column as the place between rising edges: [e0, e1), …, the last one closed."""

    column: str
    edges: tuple[float, ...]

    @property
    def size(self) -> int:
        """How many places there are."""
        return len(self.edges) - 1

    @property
    def ends(self) -> tuple[float, float, float]:
        """The value that weighs most, one that weighs little, and one far outside."""
        low, high = self.edges[0], self.edges[-1]
        most, little = (self.edges[-2] + high) / 2, (low + self.edges[1]) / 2
        return most, little, high + 9 * (high - low)

    @property
    def script(self) -> str:
        """The field in a script for OpenDP (`noise.standalone`)."""
        return f"between({self.column!a}, {list(self.edges)!r})"


@dataclass(frozen=True, slots=True)
class Labels:
    """A column as the place in a list of texts."""

    column: str
    labels: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many places there are."""
        return len(self.labels)

    @property
    def ends(self) -> tuple[str, str, str]:
        """The value that weighs most, one that weighs little, and one far outside."""
        return self.labels[0], self.labels[-1], "not a label"

    @property
    def script(self) -> str:
        """The field in a script for OpenDP (`noise.standalone`)."""
        return f"label({self.column!a}, {list(self.labels)!a})"


@dataclass(frozen=True, slots=True)
class Steps:
    """A numeric column as the step of a ladder that it reaches: start, start + step, …, up to cap.

    Below the start and above the cap is nothing. A millionth of a step of slack lets 0.29 reach
    the step of twenty-nine hundredths, which no double is exactly.
    """

    column: str
    start: float
    step: float
    size: int
    cap: float

    @property
    def ends(self) -> tuple[float, float, float]:
        """The value that weighs most, one that weighs little, and one far outside."""
        return self.cap, self.start, self.cap * 10

    @property
    def script(self) -> str:
        """The field in a script for OpenDP (`noise.standalone`)."""
        return f"ladder({self.column!a}, {self.start!r}, {self.step!r}, {self.size}, {self.cap!r})"


Field: TypeAlias = Number | Bins | Labels | Steps


@dataclass(frozen=True, slots=True)
class Counting:
    """How many of the rows kept; with a field, of those where it is something."""

    name: str
    field: Field | None = None


@dataclass(frozen=True, slots=True)
class Summing:
    """Σ w·(y − centre)^power over the rows kept, y the field in multiples of its resolution.

    Without a weight, w is 1; a row without a weight adds nothing.
    """

    name: str
    field: Number
    centre: int = 0
    power: Literal[0, 1, 2] = 1
    weight: Number | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """How many of the rows kept have each value of a field."""

    name: str
    field: Field


@dataclass(frozen=True, slots=True)
class Cutting:
    """How many units the query cuts, over all cells: one number.

    Without a field, the units of which a row is left out; with `repeats` off, a second row in the
    same group is no loss. With a field, the units with a number outside it, in a row that could
    count.
    """

    name: str
    field: Number | None = None
    repeats: bool = True


Measure: TypeAlias = Counting | Summing | Tally | Cutting


def fields(measure: Measure) -> tuple[Field, ...]:
    """Return the fields that a measure is made of."""
    both = (measure.field, measure.weight if isinstance(measure, Summing) else None)
    return tuple(field for field in both if field is not None)


@dataclass(frozen=True, slots=True)
class KeySet:
    """The cells: tuples of texts over some columns, in the order in which they are published."""

    columns: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def factors(self) -> tuple[KeySet, ...]:
        """The sets of keys that it is the product of: itself."""
        return (self,)

    def column(self, name: str) -> Iterable[str]:
        """The keys of one column, some more than once."""
        place = self.columns.index(name)
        return (key[place] for key in self.keys)


@dataclass(frozen=True, slots=True)
class Grid:
    """Every combination of the keys of some columns, numbered and never listed.

    The last column moves fastest, as in the product of the lists.
    """

    columns: tuple[str, ...]
    lists: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return math.prod(map(len, self.lists))

    @property
    def factors(self) -> tuple[KeySet, ...]:
        """The keys of each column."""
        pairs = zip(self.columns, self.lists, strict=True)
        return tuple(KeySet((column,), tuple((key,) for key in keys)) for column, keys in pairs)

    def column(self, name: str) -> Iterable[str]:
        """The keys of one column."""
        return self.lists[self.columns.index(name)]


Cells: TypeAlias = KeySet | Grid


@dataclass(frozen=True, slots=True)
class Query:
    """One pass over the data: rows bounded once, and everything measured on what is kept.

    `unit` is empty where each row is its own unit: then nothing is bounded. `cells` is None where
    there is one cell. `priority` names a column to take priorities from instead of drawing them; it
    is there for tests of the bounding and has no place in a release.
    """

    unit: tuple[str, ...]
    cells: Cells | None
    contribution: Contribution
    measures: tuple[Measure, ...]
    priority: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Keys that are in the data, still inside the engine: only how many units each has."""

    columns: tuple[str, ...]
    units: Sequence[int]


def quoted(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def named(column: str) -> str:
    """Return the name of a column as SQL has it."""
    return '"' + column.replace('"', '""') + '"'


class Engine(Protocol):
    """Where the rows are.

    What it cannot do it refuses in a clear sentence, by the schema alone: no value of a row may
    decide whether an answer comes. What a row has and no field can take is nothing, and what is too
    large is clipped; so a row changes what it adds itself, and sensitivities hold.
    """

    @property
    def columns(self) -> Mapping[str, Column]:
        """The columns and their types, read from the schema alone."""

    def measure(self, query: Query) -> dict[str, Any]:
        """Bound, aggregate, and return every measure by name."""

    def find_keys(
        self, unit: tuple[str, ...], by: tuple[str, ...], contribution: Contribution
    ) -> Found:
        """Count the units of every key in the data, each unit bounded; the keys stay inside."""

    def reveal(self, found: Found, places: Sequence[int]) -> KeySet:
        """Return the keys at those places: call it only for keys that were paid for."""

    def close(self) -> None:
        """Let go of the data."""
