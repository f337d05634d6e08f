"""DuckDB: files (`files`), or Arrow in memory.

Every fault of the engine is told in words of ours: its own messages quote values.

Once the source is open the engine is locked: it reads that file, spills to its own folder, and
nothing else. A view in a DuckDB file that reads another file is refused.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from discreet.errors import DataError, InputError, PolicyError, SpecError

try:
    import duckdb
    import ibis
    import pyarrow as pa
except ImportError:  # pragma: no cover - depends on what is installed
    raise InputError("engines.duckdb.not_installed") from None

from discreet.releases.engines import bounding_arrays, expressions, file_of
from discreet.releases.engines.base import Column, Query, named, quoted
from discreet.releases.engines.bounding import PRIORITY
from discreet.releases.engines.expressions import UNIT, Dialect, Value
from discreet.releases.engines.files import ATTACHED, Relation, relation
from discreet.releases.engines.in_memory import UNTYPED, arrow_table
from discreet.releases.engines.spilling import Spill
from discreet.releases.engines.sql import SOURCE, Answer, SQLEngine
from discreet.releases.source import Source
from discreet.words import say

# From so many rows on, a sample of the units says whether few rows have to be bounded at all.
LARGE, ONE_UNIT_IN, MOST_SHARE = 1_000_000, 128, 0.3
# Bytes of memory that reading a CSV file takes by itself, and that a run takes while it is merged.
_READER, _BLOCKS, _MOST_PARTS = 48 * 10**6, 2**22, 16
# Where the memory does not suffice after all, there are more parts; in the end so many.
_MORE_PARTS, _PARTS_AT_LAST = 4, 256
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
# Units that are whole numbers in a range of at most so many bits are counted in an array, with no
# hashing: 2^23 places take about 80 MB a thread, and the count a third of the time.
_ARRAY_BITS = 23
# Rows come in batches. Where they are divided among places, each has about so many, and a row that
# waits takes about so many bytes.
_BATCH, _PLACE, _WAITING = 1 << 18, 1 << 19, 32
# The schema of a table that is named without one.
_MAIN = "main"
_Table: TypeAlias = tuple[str, str]


class _TooLargeError(DataError):
    """What was asked does not fit in memory at once."""


@contextmanager
def _in_our_words(doing: str) -> Iterator[None]:
    """Tell a fault of the engine without its message, which may quote data."""
    try:
        yield
    except duckdb.PermissionException:
        raise PolicyError("engines.duckdb.outside") from None
    except (duckdb.Error, OSError) as fault:
        # Where rows are on their way as Arrow, the engine's fault comes as an OSError.
        if isinstance(fault, duckdb.OutOfMemoryException) or "Out of Memory" in str(fault):
            raise _TooLargeError("engines.duckdb.no_memory", doing=doing) from None
        raise DataError("engines.duckdb.fault", doing=doing, kind=type(fault).__name__) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeDecodeError):
        raise DataError("engines.duckdb.schema_fault", doing=doing) from None


def _kind(dtype: pa.DataType) -> Column:
    types = pa.types
    if types.is_dictionary(dtype):
        return _kind(dtype.value_type)
    if types.is_integer(dtype):
        return "integer" if dtype != pa.uint64() else "number"
    if types.is_floating(dtype) or types.is_decimal(dtype):
        return "number"
    if types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype):
        return "text"
    if types.is_boolean(dtype):
        return "truth"
    moment = types.is_date(dtype) or types.is_time(dtype) or types.is_timestamp(dtype)
    return "moment" if moment else "other"


def _any_text(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Read types with few texts as text: a key that is none of theirs is a group without rows."""
    columns = connection.execute(f"describe {SOURCE}").fetchall()
    few = [named(name) for name, kind, *_ in columns if kind == "UUID" or kind.startswith("ENUM(")]
    if few:
        texts = ", ".join(f"{name}::varchar as {name}" for name in few)
        again = f"select * replace ({texts}) from ({query})"  # noqa: S608
        connection.execute(f"drop view {SOURCE}")
        connection.execute(f"create view {SOURCE} as {again}")


_trimmed = ibis.udf.scalar.builtin(name="ltrim", signature=(("string", "string"), "string"))(
    lambda text, signs: None
)


class _Written(Dialect):
    """DuckDB's dialect, with the decimal mark and the thousands sign of a CSV file.

    A declared type may be that of a folder's name. DuckDB leaves out the folders that a condition
    excludes only where no function in it could fail, as one of regular expressions could: texts are
    read leniently, and compared with what was read.
    """

    def __init__(self, options: Source) -> None:
        self._decimal, self._grouping = options.decimal, options.grouping

    def number(self, value: Value, kind: Column) -> Value:
        if kind != "untyped":
            return super().number(value, kind)
        plain = self._ungrouped(value)
        if self._decimal == ",":
            # What still has a point is not written as declared.
            plain = ibis.ifelse(plain.contains("."), ibis.null("string"), plain.replace(",", "."))
        return super().number(plain, kind)

    def _ungrouped(self, value: Value) -> Value:
        """Return a text without the signs between thousands, if they stand where they belong."""
        signs, mark = f"[{self._grouping}]", f"[{self._decimal}]"
        if not self._grouping:
            return value
        grouped = rf"^[ ]*[+-]?[0-9]{{1,3}}({signs}[0-9]{{3}})+({mark}[0-9]*)?[ ]*$"
        return ibis.ifelse(value.re_search(grouped), value.re_replace(signs, ""), value)

    def whole(self, value: Value) -> Value:
        value = self._ungrouped(value)

        def digits(text: Value) -> Value:
            return text.replace("-", "")

        read = value.try_cast("int64")
        same = _trimmed(digits(read.cast("string")), "0") == _trimmed(digits(value), "0")
        return ibis.ifelse(same & (digits(value).length() <= 18), read, ibis.null("int64"))

    def _dated(self, value: Value) -> Value:
        read = value.try_cast("date")
        return ibis.ifelse(read.cast("string") == value, read, ibis.null("date"))


class DuckDB(SQLEngine):
    """One source, opened for one release."""

    nested_units = True
    _in_our_words = staticmethod(_in_our_words)

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        counting: duckdb.DuckDBPyConnection,
        spill: Spill,
        untyped: Collection[str] | None = (),
        options: Source | None = None,
        lines: Relation | None = None,
    ) -> None:
        self._connection, self._counting, self._lines = connection, counting, lines
        self._parts = 1 if lines is None else _parts(connection, lines.bytes or 0)
        self._part, self._passed = 1, -1.0
        self._spilled = spill.path
        # Also if a signal cuts in before anyone can close it.
        self._remove = weakref.finalize(self, spill.remove)
        with self._in_our_words(say("engines.doing.columns")):
            schema = self._arrow(f"from {SOURCE} limit 0").schema
        columns: dict[str, Column] = {
            entry.name: "untyped" if untyped is None or entry.name in untyped else _kind(entry.type)
            for entry in schema
        }
        written = _Written(options or Source())
        super().__init__(columns, ibis.Schema.from_pyarrow(_readable(schema)), written)

    @classmethod
    def open(
        cls,
        source: str,
        path_of: Callable[[str], Path],
        options: Source | None = None,
        mentioned: Mapping[str, Any] | None = None,
    ) -> DuckDB:
        """Open a source by its name in the spec; `path_of` makes a path of the spec absolute."""
        options = options or Source()
        path = path_of(file_of(source) or source)
        with _in_our_words(say("engines.doing.open")):
            found = relation(source, path, options, mentioned)
        return cls._opened(found, options)

    @classmethod
    def of(
        cls, data: Any, mentioned: Mapping[str, Any] | None = None, *, schema_only: bool = False
    ) -> DuckDB:
        """Open data in memory, through Arrow: the columns that are mentioned in a spec, or all."""
        return cls._opened(arrow_table(data, mentioned, schema_only=schema_only))

    @classmethod
    def _opened(cls, given: Relation | pa.Table, options: Source | None = None) -> DuckDB:
        # What does not fit in memory is spilled to a private folder, removed when it is closed.
        spill = Spill()
        try:
            connection = _connected(spill.path)
            counting = connection.cursor()
            untyped: Collection[str] | None = ()
            lines = given if isinstance(given, Relation) and given.bytes is not None else None
            with _in_our_words(say("engines.doing.open")):
                # A moment with an offset is the same key on every machine.
                connection.execute("set TimeZone = 'UTC'")
                connection.execute("set arrow_large_buffer_size = true")  # texts of 2 GB, and more
                for one in (connection, counting):
                    # In a notebook this needs widgets; without them progress is not known.
                    with suppress(duckdb.Error):
                        one.execute("set enable_progress_bar = true")
                        one.execute("set enable_progress_bar_print = false")
                counting.execute(f"set perfect_ht_threshold = {_ARRAY_BITS}")
                if isinstance(given, Relation):
                    untyped = given.untyped
                    for name, table in given.given.items():
                        connection.register(name, table)
                        counting.register(name, table)
                    query = given.query
                    if given.attach is not None and given.table is not None:
                        connection.execute(given.attach)
                        query = f"select * from {_only(connection, given.table)}"  # noqa: S608
                    _lock(connection, None if given.attach or given.given else given.path)
                    try:
                        connection.execute(f"create view {SOURCE} as {query}")
                    except duckdb.CatalogException:
                        if given.table is None:
                            raise
                        raise SpecError("engines.duckdb.table_unknown", table=given.table) from None
                    _any_text(connection, query)
                else:
                    untyped = [field.name for field in given.schema if field.metadata == UNTYPED]
                    connection.register(SOURCE, given)
                    counting.register(SOURCE, given)
                    _lock(connection, None)
            return cls(connection, counting, spill, untyped, options, lines)
        except BaseException:
            spill.remove()
            raise

    def close(self) -> None:
        """Let go of the data, and remove what was spilled."""
        self._counting.close()
        self._connection.close()
        self._remove()

    def _share(self) -> float | None:
        # Of the two connections one is at work; the other says that it is not, by -1. Of rows that
        # come in batches the share that came is known better.
        done = max(one.query_progress() for one in (self._connection, self._counting)) / 100
        done = done if self._passed < 0 else self._passed
        return min(done, 1.0) if done >= 0 else None

    def measure(self, query: Query) -> dict[str, Any]:
        """Bound, aggregate, and return every measure by name.

        What the engine itself cannot sort in its memory is done in parts, each of some units: all
        that is measured of a unit depends on its own rows, so what the parts give is added up.
        """
        parts = 1 if self._sorts_apart(query) else self._parts
        while query.unit:
            self._give_waiting()
            before = len(self._names)
            try:
                return self._in_parts(query, parts)
            except _TooLargeError:
                self._drop_since(before)
                parts *= _MORE_PARTS
                if parts > _PARTS_AT_LAST:
                    raise
        return super().measure(query)

    def _in_parts(self, query: Query, parts: int) -> dict[str, Any]:
        if parts == 1:
            return super().measure(query)
        answers: dict[str, Any] = {}
        for part in range(parts):
            before = len(self._names)
            rows = expressions.part_of(self._source, query.unit, part, parts)
            engine = self.derived(rows, self._columns)
            engine._part = self._part * parts
            for name, found in engine._in_parts(query, 1).items():
                answers[name] = _added(answers[name], found) if name in answers else found
            self._drop_since(before)
        return answers

    def _sorts_apart(self, query: Query) -> bool:
        """Say whether rows are sorted by `_best`, which needs no memory of the engine's."""
        one_group = query.cells is None or query.contribution.only_rows
        return one_group and len(query.unit) == 1 and _plain(self._source[query.unit[0]].type())

    def _drop_since(self, before: int) -> None:
        """Drop the tables that were named since, so that what comes next has the memory."""
        for name in self._names[before:]:
            self._connection.execute(f"DROP TABLE IF EXISTS {name}")

    def _quicker(self, query: Query, keys: Sequence[Any]) -> dict[str, Any] | None:
        return self._without_the_rest(query, keys) if self._few_bind(query) else None

    def _best(self, rows: Any, query: Query, most: int, bits: Mapping[str, int]) -> Any | None:
        """Keep the best rows of each unit with NumPy, which sorts plain numbers many times faster.

        A key is one integer where units are whole numbers that leave room for a few bits of
        priority, and all keys are sorted at once if they fit. Otherwise units and ranks are divided
        among places, by unit, and bounded place by place.
        """
        count, kind = self._rows_about(), self._source[query.unit[0]].type()
        if count < LARGE or not _plain(kind):
            return None
        width = sum(bits.values())
        at_once = count * 8 <= self._memory() // 8
        if kind.is_integer() and at_once:
            low, room = self._room(query.unit[0], width)
            if room >= bounding_arrays.LEAST_PRIORITY:
                rows = expressions.prioritized(rows, self._reading, room)
                above = rows.mutate(**{PRIORITY: expressions.of_unit(rows, low, room)})
                keys = above.select(**{PRIORITY: expressions.packed(above, bits)})
                return self._sorted(keys, count, most, width + room, width)
        return self._by_place(rows, query, count, most, bits)

    def _sorted(self, keys: Any, count: int, most: int, below: int, width: int) -> Any:
        """Return the keys that are kept of all keys, sorted at once."""
        with self._reading_rows(keys, count) as batches:
            found = bounding_arrays.gathered(
                (batch.column(0).to_numpy() for batch in batches), count
            )
            kept = map(pa.array, bounding_arrays.first_of_units(found, most, below, width))
            return self._held(kept, at_once=True)

    def _by_place(
        self, rows: Any, query: Query, count: int, most: int, bits: Mapping[str, int]
    ) -> Any:
        """Return the ranks that are kept, of units divided among places by their hash.

        What waits for its turn is held in memory if it fits, and else in files of the engine's own
        folder. Priorities that are not given are drawn there.
        """
        places, texts, drawn = count // _PLACE + 1, rows[UNIT].type().is_string(), None
        if query.priority is None:
            drawn = secrets.randbits(128), sum(bits.values())
            rank = expressions.payload(rows, bits).cast("int32")
        else:
            rows = expressions.prioritized(rows, self._reading, 63 - sum(bits.values()))
            rank = expressions.packed(rows, bits)
        place = (
            {"_place": expressions.place_of([rows[UNIT]], places).cast("int32")} if texts else {}
        )
        unit = rows[UNIT] if texts else rows[UNIT].cast("int64")
        ranked = rows.select(**{UNIT: unit, PRIORITY: rank}, **place)
        at_once = count * _WAITING <= self._memory() // 4
        blocks = bounding_arrays.Blocks(
            None if at_once else self._spilled / self._name("blocks"), places
        )
        with self._reading_rows(ranked, count) as batches:
            for batch in bounding_arrays.parted(places)(batches):
                blocks.write(batch)
        bounded = bounding_arrays.looking_back(most, texts=texts, drawn=drawn)
        doing = say("engines.doing.bound")

        def kept() -> Iterator[pa.Array]:
            for place in range(places):
                if self._progress is not None:
                    self._progress(doing, place, places)
                yield from (one.column(0) for one in bounded(blocks.read(place)))

        with self._in_our_words(doing):
            return self._held(kept(), at_once=at_once)

    def _held(self, kept: Iterable[pa.Array], *, at_once: bool) -> Any:
        """Make a table of what is kept, in memory or such that the engine can spill it."""
        if at_once:
            name = "_kept"  # it replaces that of the query before, which was answered
            table = pa.table({PRIORITY: pa.chunked_array(list(kept), pa.int64())})
            self._connection.register(name, table)
        else:
            name = self._name("_kept")
            self._counting.execute(f"create table {name} ({PRIORITY} bigint)")
            for one in kept:
                self._counting.register("_more", pa.table({PRIORITY: one}))
                self._counting.execute(f"insert into {name} from _more")
                self._counting.unregister("_more")
        return ibis.table({PRIORITY: "int64"}, name=name)

    @contextmanager
    def _reading_rows(self, rows: Any, count: int) -> Iterator[Iterator[pa.RecordBatch]]:
        """Give about so many rows in batches; no more than a few are held on the way."""
        sql = self._sql(rows)

        def passing() -> Iterator[pa.RecordBatch]:
            for batch in self._connection.sql(sql).to_arrow_reader(_BATCH):
                self._passed += batch.num_rows / count
                yield batch

        try:
            self._passed = 0.0
            with self._doing(say("engines.doing.read_rows")):
                yield passing()
        finally:
            self._passed = -1.0

    def _rows_about(self) -> int:
        """Return how many rows there are; of a CSV file, about how many."""
        doing = say("engines.doing.count_rows")
        if self._lines is not None:
            with self._in_our_words(doing):
                return self._lines.rows_about() // self._part
        rows = self._source.agg(_n=self._source.count())
        return int(self._answer(rows, doing)["_n"][0])

    def _memory(self) -> int:
        return _limit_of(self._connection)[1]

    def _few_bind(self, query: Query) -> bool:
        """Say whether few rows belong to units that bounding can touch, judged by a sample.

        The answer decides the way and not the result, which is the same by both.
        """
        once = self._lines is not None and self._sorts_apart(query)  # a CSV file is read once
        if once or self._rows_about() < LARGE:
            return False
        most = query.contribution.untouched
        sample = expressions.sampled_share(
            self._source, query.unit, self._columns, most, ONE_UNIT_IN
        )
        found = self._answer(sample, say("engines.doing.sample"))
        above, everything = (int(found[name][0]) for name in ("_above", "_all"))
        return above < MOST_SHARE * everything

    def _without_the_rest(self, query: Query, keys: Sequence[Any]) -> dict[str, Any]:
        """Aggregate all rows, take away those of the units with many, and add what they may keep.

        A unit with no more rows than any bound keeps all of them, so only the others have to be
        bounded. All of it is sums of whole numbers, which cancel exactly.
        """
        unit = query.unit
        above = expressions.units_above(self._source, unit, query.contribution.untouched)
        name = self._name("_stored")
        with self._doing(say("engines.doing.read_rows")):
            self._counting.execute(f"create table {name} as {self._sql(above)}")
        many = ibis.table(above.schema(), name=name)
        theirs = self._source.semi_join(many, list(unit))
        theirs = self._stored(theirs.select(*expressions.columns_of(query)))
        rows = expressions.with_unit(self._source, unit)
        kept = expressions.kept_rows(theirs, query, self._reading, keys, self._stored)
        everyone, many_have = (self._whole(of, query, keys) for of in (rows, theirs))
        rest = {name: _added(found, many_have[name], -1) for name, found in everyone.items()}
        return {name: _added(rest[name], n) for name, n in self._summed(kept, query).items()}

    def _give(self, name: str, schema: ibis.Schema, columns: Sequence[Sequence[Any]]) -> None:
        given = pa.table(dict(zip(schema, columns, strict=True)), schema=schema.to_pyarrow())
        # A table of its own has statistics: keys in a narrow range are looked up in an array.
        self._connection.register(f"{name}_arrow", given)
        self._connection.execute(f"create table {name} as from {name}_arrow")
        self._connection.unregister(f"{name}_arrow")

    def _keep(self, name: str, sql: str) -> None:
        self._connection.execute(f"create temp table {name} as {sql}")

    def _arrow(self, sql: str) -> pa.Table:
        return self._connection.sql(sql).to_arrow_table()

    def _fetch(self, sql: str) -> Answer:
        return self._arrow(sql).to_pydict()  # type: ignore[no-any-return]


def _connected(spill: Path) -> duckdb.DuckDBPyConnection:
    """Return an engine of its own, which spills what is above its share of memory."""
    config = {
        "temp_directory": str(spill),
        "preserve_insertion_order": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        # Small tables stand to the right. Of a CSV file the engine takes the few lines that it
        # guesses for the smaller side, and would hold all of them.
        "disabled_optimizers": "join_order,build_side_probe_side",
    }
    most = os.environ.get("DISCREET_MEMORY")
    try:
        return duckdb.connect(config=config | ({"memory_limit": most} if most else {}))
    except duckdb.Error:
        if not most:
            raise
        raise InputError("engines.duckdb.memory", most=most) from None


def _meant(connection: duckdb.DuckDBPyConnection, database: str, table: str) -> list[_Table]:
    """Return the tables and views of a file that `table`, or `schema.table`, may mean."""
    asked = _folded(table)
    return [
        (schema, name)
        for kind in ("table", "view")
        for schema, name, _ in _listed(connection, database, kind)
        if asked == _folded(f"{schema}.{name}") or (schema == _MAIN and asked == _folded(name))
    ]


def _listed(
    connection: duckdb.DuckDBPyConnection, database: str, kind: str
) -> list[tuple[str, str, str]]:
    """Return schema, name and SQL of the tables, or the views, of a file."""
    listed = f"select schema_name, {kind}_name, sql from duckdb_{kind}s()"  # noqa: S608
    found = f"{listed} where database_name = {quoted(database)} and not internal"
    return [(schema, name, sql or "") for schema, name, sql in connection.sql(found).fetchall()]


def _only(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """Return the one table that is meant, as SQL names it."""
    found = _meant(connection, ATTACHED, table)
    if not found:
        raise SpecError("engines.duckdb.table_unknown", table=table)
    if len(found) > 1:
        raise SpecError("engines.duckdb.table_ambiguous", table=table)
    return _whole(ATTACHED, found[0])


def _whole(database: str, table: _Table) -> str:
    return ".".join(map(named, (database, *table)))


def _folded(name: str) -> bytes:
    """Return a name as the engine compares names: only letters of ASCII lose their case."""
    return name.encode().lower()


def same_table(one: tuple[Path, str], other: tuple[Path, str]) -> bool:
    """Whether two tables of DuckDB files are one, are views of the same, or have the same rows."""
    spill, (path, table), (where, second) = Spill(), one, other
    try:
        with _in_our_words(say("engines.doing.open")), _connected(spill.path) as connection:
            connection.execute(f"attach {quoted(str(path))} as _one (read_only)")
            same_file = path.samefile(where)
            beside = "_one" if same_file else "_other"
            if not same_file:
                connection.execute(f"attach {quoted(str(where))} as _other (read_only)")
            # Whichever of several is meant is refused by who reads it: here all of them count.
            pairs = product(_meant(connection, "_one", table), _meant(connection, beside, second))
            for first, next_ in pairs:
                if same_file and _made_of(connection, first) & _made_of(connection, next_):
                    return True
                if _same_rows(connection, _whole("_one", first), _whole(beside, next_)):
                    return True
            return False
    finally:
        spill.remove()


def _made_of(connection: duckdb.DuckDBPyConnection, table: _Table) -> set[tuple[bytes, bytes]]:
    """Return a table, and all that it may mention if it is a view.

    A view may mention a table of `main`, of its own schema, or of one that it names.
    """
    views, tables = (
        {
            (_folded(schema), _folded(name)): _folded(sql)
            for schema, name, sql in _listed(connection, "_one", kind)
        }
        for kind in ("view", "table")
    )
    found, waiting = set[tuple[bytes, bytes]](), [(_folded(table[0]), _folded(table[1]))]
    while waiting:
        found.add(view := waiting.pop())
        words = views.get(view, b"").decode()
        open_to = {_folded(_MAIN), view[0]}
        waiting += [
            one
            for one in (views | tables).keys() - found
            if _says(words, one[1]) and (one[0] in open_to or _says(words, one[0]))
        ]
    return found


def _says(words: str, name: bytes) -> bool:
    return re.search(rf"(?<!\w){re.escape(name.decode())}(?!\w)", words) is not None


def _same_rows(connection: duckdb.DuckDBPyConnection, one: str, other: str) -> bool:
    """Whether two tables have the same columns and the same rows, in any order and of any type."""

    def columns(table: str) -> list[str]:
        return sorted(str(name) for name, *_ in connection.sql(f"describe {table}").fetchall())

    def texts(table: str) -> str:
        return f"select {', '.join(f'{named(c)}::varchar' for c in names)} from {table}"  # noqa: S608

    def number(query: str) -> int:
        (found,) = connection.sql(f"select count(*) from ({query})").fetchall()[0]  # noqa: S608
        return int(found)

    try:
        names = columns(one)
        if [c.casefold() for c in names] != [c.casefold() for c in columns(other)]:
            return False
        if number(f"from {one}") != number(f"from {other}"):
            return False
        return number(f"{texts(one)} except all {texts(other)}") == 0
    except duckdb.CatalogException:
        return False  # whichever is missing is refused by who reads it


def _plain(kind: Any) -> bool:
    """Say whether values are texts, or whole numbers of at most 64 bits with a sign."""
    return bool(kind.is_string() or (kind.is_integer() and not kind.is_uint64()))


def _limit_of(connection: duckdb.DuckDBPyConnection) -> tuple[str, int]:
    """Return how much memory the engine may take: as it says it, and in bytes."""
    ((said,),) = connection.execute("select current_setting('memory_limit')").fetchall()
    number, unit = said.split()
    return said, int(float(number) * 1024 ** _UNITS.index(unit))


def _parts(connection: duckdb.DuckDBPyConnection, size: int) -> int:
    """Return in how many parts a CSV file of that size is sorted; refuse too little memory for it.

    A sort that is spilled is merged with a block of each of its runs in memory; a run is as long as
    the memory is large. So what can be sorted at once grows with its square.
    """
    said, most = _limit_of(connection)
    room = most - _READER
    parts = math.ceil(size * _BLOCKS / room**2) if room > 0 else math.inf
    if parts > _MOST_PARTS:
        least = _READER + math.sqrt(size * _BLOCKS / _MOST_PARTS)
        words = {"most": said, "size": round(size / 1e6), "least": math.ceil(least / 1e6) + 1}
        raise InputError("engines.duckdb.little_memory", **words)
    return int(parts)


def _added(first: Any, second: Any, sign: int = 1) -> Any:
    """Return first ± second, cell by cell: of numbers, of lists, or of the cells that have rows."""
    if isinstance(first, list):
        return [_added(a, b, sign) for a, b in zip(first, second, strict=True)]
    if isinstance(first, dict):
        return first | {cell: first.get(cell, 0) + sign * n for cell, n in second.items()}
    return first + sign * second


def _lock(connection: duckdb.DuckDBPyConnection, path: Path | None) -> None:
    """Let the engine read one file or folder beside what is attached, and lock its settings."""
    if path is not None:
        allowed = "allowed_directories" if path.is_dir() else "allowed_paths"
        connection.execute(f"set {allowed} = [{quoted(str(path))}]")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")


def _readable(schema: pa.Schema) -> pa.Schema:
    """Return the schema with types that Ibis knows; a column of another type is never computed."""
    known: dict[Column, pa.DataType] = {"text": pa.string(), "other": pa.string()}
    return pa.schema([(entry.name, known.get(_kind(entry.type), entry.type)) for entry in schema])
