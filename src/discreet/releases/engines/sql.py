"""What every engine that speaks SQL does alike; each engine's own file has only what differs.

Ibis compiles the expressions to the engine's SQL, and the engine runs it: it keeps tables of its
own (`_keep`, `_give`) until it is closed, and answers with small tables of whole numbers
(`_fetch`). Every fault of an engine is told in words of ours: its own messages quote values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from fractions import Fraction
from functools import lru_cache
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import ibis

from discreet.errors import DataError
from discreet.releases.contributions import Contribution
from discreet.releases.engines import expressions, formulas
from discreet.releases.engines.base import (
    TEXTS,
    Column,
    Counting,
    Cutting,
    Found,
    Grid,
    KeySet,
    Query,
    Summing,
    Tally,
)
from discreet.releases.engines.expressions import (
    CODE,
    MOST_PRIORITY,
    Dialect,
    Keys,
    Reading,
    comparable,
    joinable,
    key_column,
    present,
    spelled,
    told,
)
from discreet.releases.formula import KINDS, Term
from discreet.releases.rows import Gathered
from discreet.releases.source import Declared
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.rows import Looked

SOURCE = "_source"

# Seconds between two looks at how far the engine is.
_LOOK = 0.2

Table: TypeAlias = Any
Answer: TypeAlias = Mapping[str, Sequence[Any]]
"""A small table that left the engine: the values of each column."""


def number_of(column: str) -> str:
    """The name under which the numbers of a column of texts are told beside it."""
    return f"{column}\0number"


@lru_cache(maxsize=256)
def _compiled(operation: Any, dialect: str) -> str:
    """Return the SQL of an expression; an audit asks the same of some dozens of data sets."""
    return str(ibis.to_sql(operation.to_expr(), dialect=dialect))


class SQLEngine(ABC):
    """One source, opened for one release."""

    nested_units: ClassVar[bool] = False
    """Whether units may be told apart by a column of lists or structures."""

    def __init__(
        self, columns: Mapping[str, Column], schema: ibis.Schema, dialect: Dialect
    ) -> None:
        self._columns = dict(columns)
        self._reading = Reading(self._columns, dialect, {})
        self._source = ibis.table(schema, name=SOURCE)
        self._names: list[str] = []
        self._base: SQLEngine = self
        self._found: dict[int, Table] = {}
        self._waiting: list[Callable[[], None]] = []
        self._progress: Callable[[str, int, int], None] | None = None

    def watched(self, progress: Callable[[str, int, int], None]) -> Self:
        """Return the engine; it tells what it does and how far that is: (what, done, total)."""
        found = copy(self)
        found._progress = progress
        return found

    def derived(
        self, source: Table, columns: Mapping[str, Column], numbers: Mapping[str, str] | None = None
    ) -> Self:
        """Return an engine on rows that are computed from those of this one, which closes both."""
        found = copy(self)
        found._source, found._columns = source, dict(columns)
        known = {**self._reading.numbers, **(numbers or {})}
        found._reading = Reading(found._columns, self._reading.dialect, known)
        found._base = self
        return found

    def typed(self, types: Mapping[str, Declared]) -> Self:
        """Return an engine whose columns have declared types; what is not of its type is null."""
        changed: dict[str, Table] = {}
        columns = dict(self._columns)
        for name, wanted in types.items():
            if name not in columns:
                raise DataError("engines.type_no_column", column=name)
            changed[name], columns[name] = formulas.declared(
                self._source, name, wanted, self._reading
            )
        return self.derived(self._source.mutate(**changed), columns)

    def every_row(
        self, on: Sequence[str], columns: Sequence[str]
    ) -> tuple[list[tuple[str, ...]], dict[str, list[Any]]]:
        """Return the rows of a table that another one looks up: keys as texts, and columns.

        Rows without a key are left out. It is for another engine, and not for publication.
        """
        table = expressions.with_unit(self._source, on)
        keys = {
            key_column(i): comparable(table[name], self._columns[name], self._reading)
            for i, name in enumerate(on)
        }
        values = {
            name: formulas.given(table[name], self._columns[name], self._reading)
            for name in columns
        }
        # A text is read as a number here, as its file is written, and once for each key.
        values |= {
            number_of(name): self._reading.number(table, name)
            for name in columns
            if self._columns[name] in TEXTS
        }
        named = {f"_value_{i}": value for i, value in enumerate(values.values())}
        found = self._answer(table.select(**keys, **named), say("engines.doing.read_rows"))
        texts = [
            [spelled(value, column) for value in found[key_column(i)]]
            for i, column in enumerate(self._source[name] for name in on)
        ]
        taken = {name: list(found[f"_value_{i}"]) for i, name in enumerate(values)}
        return list(zip(*texts, strict=True)), taken

    def looked_up(self, other: Looked, *, drop: bool) -> Self:
        """Return an engine with columns that another table has for the keys of each row."""
        on = other.by
        keys, given = self._looked_table(other)
        rows = self._source.mutate(
            **{
                f"_on_{i}": comparable(self._source[name], self._columns[name], self._reading)
                for i, name in enumerate(on)
            }
        )
        same = [rows[f"_on_{i}"] == keys[key_column(i)] for i in range(len(on))]
        both = rows.join(keys, same, how="inner" if drop else "left")
        values = {
            name: formulas.taken(both[given[name]], kind, self._reading)
            for name, kind in other.kinds.items()
        }
        numbers = {name: self._name("_number") for name in other.kinds if number_of(name) in given}
        values |= {new: both[given[number_of(name)]] for name, new in numbers.items()}
        own = {name: both[name] for name in self._source.columns}
        columns = {**self._columns, **other.kinds}
        return self.derived(both.select(**own, **values), columns, numbers)

    def computed(self, terms: Mapping[str, Term]) -> Self:
        """Return an engine with columns that formulas make of those there are."""
        values = {
            name: formulas.compiled(term, self._source, self._reading)
            for name, term in terms.items()
        }
        kinds = {name: KINDS[term.type] for name, term in terms.items()}
        return self.derived(self._source.mutate(**values), {**self._columns, **kinds})

    def filtered(self, condition: Term) -> Self:
        """Return an engine on the rows that meet a condition."""
        met = formulas.compiled(condition, self._source, self._reading)
        return self.derived(self._source.filter(met), self._columns)

    def sampled(self, unit: Sequence[str], rate: Fraction) -> Self:
        """Return an engine on a secret sample: all rows of a unit, or none, with that chance."""
        rows = expressions.with_unit(self._source, unit)
        met = expressions.drawn(rows, unit, rate, self._reading)
        return self.derived(rows.filter(met), self._columns)

    def units(self, unit: Sequence[str]) -> int:
        """Return how many units there are. For drawing from them: the number is not published."""
        names = expressions.with_unit(self._source, unit).select(*unit).distinct()
        found = self._answer(names.agg(_units=names.count()), say("engines.doing.sample"))
        return int(found["_units"][0])

    def sampled_units(self, unit: Sequence[str], most: int) -> Self:
        """Return an engine on a secret sample of so many units, all rows of each."""
        rows = expressions.with_unit(self._source, unit)
        if most == 0:
            return self.derived(rows.limit(0), self._columns)
        rows = rows.mutate(_mark=expressions.marked(rows, unit, self._reading))
        marks = rows.select("_mark").distinct().order_by("_mark").limit(1, offset=most - 1)
        last = self._answer(marks, say("engines.doing.sample"))["_mark"][0]
        return self.derived(rows.filter(rows["_mark"] <= last).drop("_mark"), self._columns)

    def per_unit(self, unit: Sequence[str], features: Mapping[str, Gathered]) -> Self:
        """Return an engine with one row for each unit: its columns, and what is gathered of it."""
        self._check_unit(unit)
        rows = expressions.with_unit(self._source, unit)
        of_rows = {
            f"_of_{name}": formulas.compiled(feature.term, rows, self._reading)
            for name, feature in features.items()
        }
        rows = rows.select(*unit, **of_rows)
        values = {
            name: formulas.gathered(feature, rows[f"_of_{name}"], self._reading)
            for name, feature in features.items()
        }
        kinds = {name: self._columns[name] for name in unit}
        kinds |= {name: feature.kind for name, feature in features.items()}
        return self.derived(rows.group_by(list(unit)).agg(**values), kinds)

    @staticmethod
    @abstractmethod
    def _in_our_words(doing: str) -> AbstractContextManager[None]:
        """Tell a fault of the engine without its message, which may quote data."""

    def _share(self) -> float | None:
        """Return which share of its query the engine has done; None if it cannot tell."""
        return None

    @contextmanager
    def _doing(self, doing: str) -> Iterator[None]:
        """Tell how far the query of this block is, and its faults in words of ours."""
        over = Event()

        def look(progress: Callable[[str, int, int], None]) -> None:
            while not over.wait(_LOOK):
                share = self._share()
                progress(doing, *((0, 1) if share is None else (int(999 * share), 1000)))

        with self._in_our_words(doing):
            if self._progress is None:
                yield
                return
            watcher = Thread(target=look, args=(self._progress,), daemon=True)
            watcher.start()
            try:
                yield
            finally:
                over.set()
                watcher.join()

    @abstractmethod
    def _give(self, name: str, schema: ibis.Schema, columns: Sequence[Sequence[Any]]) -> None:
        """Give the engine a small table of int64, float64 and string columns."""

    @abstractmethod
    def _keep(self, name: str, sql: str) -> None:
        """Store the result of a query inside the engine, until it is closed."""

    @abstractmethod
    def _fetch(self, sql: str) -> Answer:
        """Return the result of a query."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the data, and of everything that was stored."""

    def _quicker(self, query: Query, keys: Sequence[Keys]) -> dict[str, Any] | None:
        """Return the sums by a way that is quicker for these data, if the engine has one."""
        return None

    def _best(self, rows: Table, query: Query, most: int, bits: Mapping[str, int]) -> Table | None:
        """Return the `most` best rows of each unit by a way of the engine's own, if it has one.

        The query has one column of units. All columns of `rows` but unit and priority are told
        with their bits; what is returned has them packed below the priority.
        """
        return None

    def _room(self, unit: str, width: int) -> tuple[int, int]:
        """Return the least unit, and how many bits units and payload leave in a positive integer.

        The units are whole numbers.
        """
        units = self._source[unit]
        ends = self._source.agg(_low=units.min(), _high=units.max())
        found = self._answer(ends, say("engines.doing.count_rows"))
        low, high = (int(found[name][0] or 0) for name in ("_low", "_high"))
        return low, min(MOST_PRIORITY, 63 - width - (high - low).bit_length())

    @property
    def columns(self) -> Mapping[str, Column]:
        """The columns and their types, read from the schema alone."""
        return self._columns

    def measure(self, query: Query) -> dict[str, Any]:
        """Bound, aggregate, and return every measure by name."""
        self._check_unit(query.unit)
        keys = [] if query.cells is None else [self._keys(one) for one in query.cells.factors]
        sums = _sums(query)
        tallies = [m for m in query.measures if isinstance(m, Tally)]
        answers = self._cut(query, keys)
        if not sums and not tallies:
            return answers
        if not tallies:
            if not query.unit:
                return answers | self._whole(self._source, query, keys)
            quick = self._quicker(query, keys)
            if quick is not None:
                return answers | quick
        kept = self._kept_rows(query, keys)
        if len(tallies) + bool(sums) > 1:
            kept = self._stored(kept)
        if sums:
            answers |= self._summed(kept, query)
        for tally in tallies:
            expression = expressions.tallied(kept, query, tally)
            table = self._answer(expression, say("engines.doing.tally"))
            cells = 1 if query.cells is None else len(query.cells)
            counts = [[0] * tally.field.size for _ in range(cells)]
            columns = (table[CODE], table["_place"], table[tally.name])
            for code, place, number in zip(*columns, strict=True):
                counts[code][place] = int(number)
            answers[tally.name] = counts
        return answers

    def _cut(self, query: Query, keys: Sequence[Keys]) -> dict[str, Any]:
        """Count the units that are cut, for each question of that kind."""
        asked = [m for m in query.measures if isinstance(m, Cutting)]
        if not asked:
            return {}
        counts = expressions.cut_units(self._source, query, self._reading, keys, asked)
        found = self._answer(counts, say("engines.doing.cut"))
        return {m.name: [int(found[m.name][0])] for m in asked}

    def _kept_rows(self, query: Query, keys: Sequence[Keys]) -> Table:
        return expressions.kept_rows(
            self._source, query, self._reading, keys, self._stored, self._best
        )

    def _summed(self, kept: Table, query: Query) -> dict[str, Any]:
        expression = expressions.measured(kept, query, self._reading)
        return self._dense(expression, query, say("engines.doing.aggregate_bounded"))

    def _whole(self, source: Table, query: Query, keys: Sequence[Keys]) -> dict[str, Any]:
        """Aggregate rows of which all count."""
        grouped = expressions.grouped_first(source, query, self._reading, keys)
        return self._dense(grouped, query, say("engines.doing.aggregate"))

    def find_keys(
        self, unit: tuple[str, ...], by: tuple[str, ...], contribution: Contribution
    ) -> Found:
        """Count the units of every key in the data, each unit bounded; the keys stay inside."""
        self._check_unit(unit)
        texts = {
            key_column(i): comparable(self._source[name], self._columns[name], self._reading)
            for i, name in enumerate(by)
        }
        there = [present(self._source[name]) for name in (*by, *unit)]
        distinct = self._source.filter(there).select(**texts).distinct()
        keys = self._stored(distinct.mutate(**{CODE: ibis.row_number()}))
        size = int(
            self._answer(keys.agg(_n=keys.count()), say("engines.doing.count_keys"))["_n"][0]
        )
        # The texts stay in the engine: the query below only needs how many there are.
        cells = KeySet(by, ((),) * size)
        query = Query(unit, cells, contribution.once_per_group(), (Counting("_units"),))
        kept = self._kept_rows(query, [keys])
        found = Found(by, tuple(self._summed(kept, query)["_units"]))
        self._found[id(found)] = keys
        return found

    def reveal(self, found: Found, places: Sequence[int]) -> KeySet:
        """Return the keys at those places: call it only for keys that were paid for."""
        keys = self._found[id(found)]
        paid = self._given({CODE: "int64"}, lambda: [list(places)])
        table = self._answer(keys.semi_join(paid, [CODE]), say("engines.doing.reveal"))
        columns = [
            [spelled(value, column) for value in table[key_column(i)]]
            for i, column in enumerate(self._source[name] for name in found.columns)
        ]
        return KeySet(found.columns, tuple(sorted(zip(*columns, strict=True))))

    def _check_unit(self, unit: Sequence[str]) -> None:
        for column in unit:
            if self._columns[column] == "other" and not self.nested_units:
                raise DataError("engines.unit_column", column=column)

    def _key_types(self, columns: Sequence[str]) -> dict[str, str]:
        types = {CODE: "int64"}
        for i, name in enumerate(columns):
            floating = self._source[name].type().is_floating()
            whole = self._columns[name] == "integer"
            types[key_column(i)] = "int64" if whole else "float64" if floating else "string"
        return types

    def _keys(self, cells: KeySet) -> Keys:
        found = told(cells, self._source, self._columns)
        if isinstance(found, int) or len(cells) <= self._reading.dialect.few_keys:
            return found
        return self._given(self._key_types(cells.columns), lambda: found)

    def _looked_table(self, other: Looked) -> tuple[Table, dict[str, str]]:
        """Return another table by its keys, and the name that each of its columns has there.

        A protected one is read with the first answer.
        """
        types = {name: formulas.GIVEN.get(kind, "string") for name, kind in other.kinds.items()}
        types |= {number_of(name): "float64" for name, k in other.kinds.items() if k in TEXTS}
        names = {name: f"_value_{i}" for i, name in enumerate(types)}

        def columns() -> list[list[Any]]:
            keys, values = other.read()
            found = joinable(KeySet(other.by, tuple(keys)), self._source, self._columns)
            return [*found, *([values[name][code] for code in found[0]] for name in types)]

        own = self._key_types(other.by) | {names[name]: kind for name, kind in types.items()}
        return self._given(own, columns, later=other.protected), names

    def _given(
        self,
        types: Mapping[str, str],
        columns: Callable[[], Sequence[Sequence[Any]]],
        *,
        later: bool = False,
    ) -> Table:
        name, schema = self._name("_given"), ibis.schema(types)

        def give() -> None:
            values = columns()
            with self._doing(say("engines.doing.keys")):
                self._give(name, schema, values)

        if later:
            self._waiting.append(give)
        else:
            give()
        return ibis.table(schema, name=name)

    def _stored(self, expression: Table) -> Table:
        """Store an expression inside the engine: what is drawn in it is drawn once."""
        name = self._name("_stored")
        with self._doing(say("engines.doing.read_rows")):
            self._keep(name, self._sql(expression))
        return ibis.table(expression.schema(), name=name)

    def _name(self, prefix: str) -> str:
        self._names.append(f"{prefix}_{len(self._names) + 1}")
        return self._names[-1]

    def _give_waiting(self) -> None:
        while self._waiting:
            self._waiting.pop(0)()

    def _sql(self, expression: Table) -> str:
        self._give_waiting()
        return _compiled(expression.op(), self._reading.dialect.name)

    def _answer(self, expression: Table, doing: str) -> Answer:
        sql = self._sql(expression)
        with self._doing(doing):
            return self._fetch(sql)

    def _dense(self, expression: Table, query: Query, doing: str) -> dict[str, Any]:
        """Return one number a cell, zeros where no row was; of a grid, those where one was."""
        table = self._answer(expression, doing)
        answers: dict[str, Any] = {}
        for name in _sums(query):
            there = {
                code: int(value or 0) for code, value in zip(table[CODE], table[name], strict=True)
            }
            if not isinstance(query.cells, Grid):
                cells = 1 if query.cells is None else len(query.cells)
                answers[name] = [there.get(cell, 0) for cell in range(cells)]
            else:
                answers[name] = there
        return answers


def _sums(query: Query) -> list[str]:
    return [m.name for m in query.measures if isinstance(m, (Counting, Summing))]
