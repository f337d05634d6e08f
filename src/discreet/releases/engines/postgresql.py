"""PostgreSQL: a table or view of a server, `postgresql://user@host/database?table=schema.visits`.

Everything happens in one connection and one transaction (repeatable read, so that every pass sees
the same rows), which is rolled back when the engine is closed: tables, views and functions of the
release are temporary, and a crash leaves none of them. The role needs to read the table and to make
temporary tables. Texts are compared byte by byte (collation C), whatever the column's collation.

Numbers. PostgreSQL refuses a cast that overflows, or that comes out as zero and is not; functions
of the session keep the rule of the dialects instead. The limits, exact:

    2^1024 − 2^970   from here on a number is rounded to infinity
    2^-1075          up to here it is rounded to zero

Bounding. The server sorts single integers two to four times as fast as rows, so a key is one where
units are whole numbers that leave room for a priority; texts are sorted by their hash first, which
tells most of them apart. The rest is a window of the server's own.

Priorities. `random()` is a statistical generator, seeded by the server for each session; a pooled
session may have been seeded by somebody else. So each draw is hashed together with 63 secret bits
of this query: whatever the state of the generator was, the priorities look independent.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal, localcontext
from typing import Any, ClassVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import ibis

from discreet.errors import DataError, InputError, SpecError
from discreet.releases.engines.base import TEXTS, Column, Query, named, quoted
from discreet.releases.engines.bounding import PRIORITY, best_numbered, first_in_order
from discreet.releases.engines.expressions import (
    BLANKS,
    DAY,
    INFINITE,
    LONGEST,
    NUMERAL,
    UNIT,
    HashedDialect,
    Value,
    of_unit,
    packed,
    prioritized,
)
from discreet.releases.engines.sql import SOURCE, Answer, SQLEngine
from discreet.words import say

try:
    import psycopg
    from psycopg import sql as parts
except ImportError:  # pragma: no cover - depends on what is installed
    raise InputError("engines.postgresql.not_installed") from None

_OLDEST = 140000
# Whole numbers alone are sorted fastest in memory; rows, in pieces that fit a processor's cache.
_MEMORY = {True: "256MB", False: "4MB"}
# To compile a query with all its functions takes longer than it saves, and so does it to pass many
# rows from one process of the server to another.
_PLANNING = {
    "jit_inline_above_cost": "-1",
    "jit_optimize_above_cost": "-1",
    "parallel_tuple_cost": "1",
}
# Keys are one integer if it has room for so many bits of priority.
_LEAST_PRIORITY = 16
_HASH = "_hash"

# Base types by their names in pg_type: how a column is read, what Ibis is told, what a spec is.
_TYPES: dict[str, tuple[str, str, Column]] = {
    "int2": ("{}::int8", "int64", "integer"),
    "int4": ("{}::int8", "int64", "integer"),
    "int8": ("{}::int8", "int64", "integer"),
    "float4": ("{}::float4", "float32", "number"),
    "float8": ("{}::float8", "float64", "number"),
    "numeric": ("{}::numeric", "decimal", "number"),
    "bool": ("{}::bool", "boolean", "truth"),
    "date": ("{}::date", "date", "moment"),
    "timestamp": ("{}::timestamp", "timestamp", "moment"),
    "timestamptz": ("{}::timestamptz", "timestamp('UTC')", "moment"),
    "time": ('{}::text collate "C"', "string", "moment"),
    "timetz": ('{}::text collate "C"', "string", "moment"),
    "uuid": ('{}::text collate "C"', "string", "text"),
    "citext": ('{}::text collate "C"', "string", "text"),
}
_TEXT = ('{}::text collate "C"', "string")


def _exactly(top: int, bottom: int) -> str:
    """Return a sum of two powers of two, the second taken away, as a decimal."""
    with localcontext() as context:
        context.prec = 1200
        return format(Decimal(2) ** top - (Decimal(2) ** bottom if bottom else 0), "f")


_FUNCTIONS = f"""
create function pg_temp.float_of(x numeric) returns float8 language sql immutable as $$
  select case
    when x = 'NaN' then null
    when abs(x) >= {_exactly(1024, 970)} then sign(x)::float8 * 'inf'::float8
    when abs(x) <= {_exactly(-1075, 0)} then 0
    else x::float8 end $$;
create function pg_temp.numeral(t text) returns float8 language sql immutable as $$
  select case
    when t ~ '[eE]-?0*[1-9][0-9]{{4,}}$' then case  -- beyond a numeric's exponents
      when t ~ '^-?[0.]*[eE]' or t ~ '[eE]-' then 0
      when t ~ '^-' then '-inf'::float8 else 'inf'::float8 end
    else pg_temp.float_of(t::numeric) end $$;
create function pg_temp.number_of(t text) returns float8 language sql immutable as $$
  select case
    when length(t) > {LONGEST} then null
    when t ~ {quoted(NUMERAL)} then pg_temp.numeral(translate(t, {quoted("_+" + BLANKS)}, ''))
    when t ~ {quoted(INFINITE)} then case when t ~ '-' then '-inf'::float8 else 'inf'::float8 end
    end $$;
create function pg_temp.day_of(t text) returns date language sql immutable as $$
  select case when t ~ {quoted(DAY)} then case
    when right(t, 2)::int <= extract(day from
      make_date(left(t, 4)::int, substr(t, 6, 2)::int, 1) + interval '1 month' - interval '1 day')
    then make_date(left(t, 4)::int, substr(t, 6, 2)::int, right(t, 2)::int) end end $$;
create function pg_temp.moment_of(t text) returns timestamp language sql stable as $$
  select case when pg_temp.day_of(left(t, 10)) is not null
    then t::timestamptz at time zone 'UTC' end $$;
-- What is made of constants alone has the collation of the database; a name has C, and C prevails.
create function pg_temp.by_bytes() returns name language sql immutable as $$ select ''::name $$;
create function pg_temp.bytewise(t text, by name) returns text language sql immutable as $$
  select t $$;
create function pg_temp.ratio(x float8, step float8) returns float8 language sql immutable as $$
  select case when abs(x) < step * 1e-300 then 0 else x / step end $$;
"""  # noqa: S608 - composed of constants


class _Spoken(HashedDialect):
    """PostgreSQL's dialect."""

    name: ClassVar[str] = "postgres"
    hashed = ibis.udf.scalar.builtin(
        name="hashfloat8extended", signature=(("float64", "int64"), "int64")
    )(lambda x, seed: None)

    def number(self, value: Value, kind: Column) -> Value:
        if kind in TEXTS:
            return _number_of(value)
        return _float_of(value) if value.type().is_decimal() else value.cast("float64")

    def day(self, value: Value) -> Value:
        return ibis.ifelse(value.length() == 10, _day_of(value), self.moment(value).cast("date"))

    def _in_utc(self, value: Value) -> Value:
        return _moment_of(value)

    def bytewise(self, text: Value) -> Value:
        return _bytewise(text, _by_bytes())

    def ratio(self, x: Value, step: float, low: int, high: int) -> Value:
        # PostgreSQL refuses a quotient that overflows, or that comes out as zero and is not.
        near = ibis.greatest((low - 1) * step, ibis.least((high + 1) * step, x))
        return _ratio(near, step) if step >= 1 else near / step

    def digest(self, text: Value) -> Value:
        return _encode(_sha256(_convert_to(text, "UTF8")), "hex")


# Functions of the session, and one of the server, under the names by which Ibis calls them.
_called = ibis.udf.scalar.builtin
_convert_to = _called(name="convert_to", signature=(("string", "string"), "binary"))(
    lambda text, encoding: None
)
_sha256 = _called(name="sha256", signature=(("binary",), "binary"))(lambda data: None)
_encode = _called(name="encode", signature=(("binary", "string"), "string"))(
    lambda data, form: None
)
_number_of = _called(name="number_of", database="pg_temp", signature=(("string",), "float64"))(
    lambda text: None
)
_float_of = _called(name="float_of", database="pg_temp", signature=(("decimal",), "float64"))(
    lambda x: None
)
_day_of = _called(name="day_of", database="pg_temp", signature=(("string",), "date"))(
    lambda text: None
)
_moment_of = _called(name="moment_of", database="pg_temp", signature=(("string",), "timestamp"))(
    lambda text: None
)
_ratio = _called(name="ratio", database="pg_temp", signature=(("float64", "float64"), "float64"))(
    lambda x, step: None
)
_by_bytes = _called(name="by_bytes", database="pg_temp", signature=((), "string"))(lambda: None)
_bytewise = _called(name="bytewise", database="pg_temp", signature=(("string",) * 2, "string"))(
    lambda text, by: None
)
_hash_text = _called(name="hashtextextended", signature=(("string", "int64"), "int64"))(
    lambda text, seed: None
)


@contextmanager
def _in_our_words(doing: str) -> Iterator[None]:
    """Tell a fault of the engine without its message, which may quote data."""
    try:
        yield
    except psycopg.Error as fault:
        code = fault.sqlstate or say("engines.postgresql.no_code")
        raise DataError(
            "engines.postgresql.fault", doing=doing, kind=type(fault).__name__, code=code
        ) from None


class PostgreSQL(SQLEngine):
    """One table of a server, opened for one release."""

    nested_units = True
    _in_our_words = staticmethod(_in_our_words)

    def __init__(self, connection: psycopg.Connection[Any], name: str) -> None:
        self._connection = connection
        with self._in_our_words(say("engines.doing.prepare")):
            self._prepare()
        oid, relation = self._relation(name)
        with self._in_our_words(say("engines.doing.columns")):
            found = connection.execute(_COLUMNS, [oid]).fetchall()
        read = {column: _read(base, category) for column, base, category in found}
        view = parts.SQL("create temp view {} as select {} from {}").format(
            parts.Identifier(SOURCE),
            parts.SQL(", ").join(
                parts.SQL(how[0] + " as {}").format(parts.Identifier(c), parts.Identifier(c))
                for c, how in read.items()
            ),
            relation,
        )
        with self._in_our_words(say("engines.doing.read")):
            connection.execute(view)
            connection.execute("set local search_path = pg_catalog, pg_temp")
        columns: dict[str, Column] = {name: how[2] for name, how in read.items()}
        schema = ibis.schema({name: how[1] for name, how in read.items()})
        super().__init__(columns, schema, _Spoken())

    @classmethod
    def open(cls, source: str, path_of: object = None) -> PostgreSQL:
        """Open a source by its URL."""
        url, table = _apart(source)
        try:
            connection = psycopg.connect(url, connect_timeout=20, client_encoding="utf8")
        except psycopg.OperationalError:
            # Its message may hold the user's password in a wrong place.
            raise DataError("engines.postgresql.no_connection", server=_shown(url)) from None
        except psycopg.Error:
            raise SpecError("engines.postgresql.url") from None
        try:
            if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
                # Bytes of a row that are no text would decide whether keys can be read.
                raise DataError("engines.postgresql.no_encoding", server=_shown(url))
            return cls(connection, table)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Let go of the data: the transaction is rolled back, and nothing of it stays."""
        self._connection.close()

    def _prepare(self) -> None:
        connection = self._connection
        if connection.info.server_version < _OLDEST:
            raise DataError("engines.postgresql.old")
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        settings = {"TimeZone": "UTC", "DateStyle": "ISO, YMD"} | _PLANNING
        for name, value in settings.items():
            connection.execute("select set_config(%s, %s, true)", [name, value])
        try:
            connection.execute(_FUNCTIONS)
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction):
            raise DataError("engines.postgresql.no_temporary") from None

    def _relation(self, name: str) -> tuple[int, parts.Composable]:
        """Return a table's number and its whole name."""
        whole = ".".join(map(named, name.split(".", 1)))
        with self._in_our_words(say("engines.doing.find_table")):
            found = self._connection.execute(
                "select c.oid, n.nspname, c.relname, "
                "pg_catalog.has_any_column_privilege(c.oid, 'select') from pg_catalog.pg_class c "
                "join pg_catalog.pg_namespace n on n.oid = c.relnamespace "
                "where c.oid = pg_catalog.to_regclass(%s)",
                [whole],
            ).fetchone()
        if found is None:
            raise SpecError("engines.postgresql.no_table", table=name)
        if not found[3]:
            raise DataError("engines.postgresql.no_select", table=name)
        return int(found[0]), parts.Identifier(found[1], found[2])

    def _best(self, rows: Any, query: Query, most: int, bits: Mapping[str, int]) -> Any | None:
        units, width = self._source[query.unit[0]].type(), sum(bits.values())
        low, room = self._room(query.unit[0], width) if units.is_integer() else (0, 0)
        alone = room >= _LEAST_PRIORITY
        self._run(f"set local work_mem = '{_MEMORY[alone]}'")
        if alone:
            # The payload may be wider than the priority. Its upper bits are then turned over by
            # those of the unit, which a secret turns over: no tie is left to the data.
            secret = secrets.randbits(63 - width - room) << room
            rows = prioritized(rows, self._reading, room)
            above = rows.mutate(**{PRIORITY: of_unit(rows, low, room) ^ secret})
            # A subquery with an order is computed as it stands: one column is sorted.
            keys = above.select(**{PRIORITY: packed(above, bits)}).order_by(PRIORITY)
            return first_in_order(keys, most, width + room)
        if not units.is_string():
            return None
        rows = prioritized(rows, self._reading, 63 - width)
        keys = {_HASH: _hash_text(rows[UNIT], 0), PRIORITY: packed(rows, bits)}
        texts = rows.select(UNIT, **keys).order_by(_HASH, UNIT, PRIORITY)
        return best_numbered(texts, [_HASH, UNIT], most)

    def _give(self, name: str, schema: ibis.Schema, columns: Sequence[Sequence[Any]]) -> None:
        types = {"int64": "int8", "float64": "float8", "string": 'text collate "C"'}
        spec = ", ".join(f'"{column}" {types[str(dtype)]}' for column, dtype in schema.items())
        # Composed of names of our own.
        self._run(f"create temp table {name} ({spec}) on commit drop")
        with self._connection.cursor().copy(f"copy {name} from stdin".encode()) as copy:
            for row in zip(*columns, strict=True):
                if not any(isinstance(value, str) and "\0" in value for value in row):
                    copy.write_row(row)  # a text with a NUL is nowhere in PostgreSQL
        self._run(f"analyze {name}")

    def _keep(self, name: str, sql: str) -> None:
        self._run(f"create temp table {name} on commit drop as {sql}")

    def _fetch(self, sql: str) -> Answer:
        done = self._run(sql)
        names = [column.name for column in done.description or ()]
        rows = done.fetchall()
        return {name: [row[i] for row in rows] for i, name in enumerate(names)}

    def _run(self, sql: str) -> psycopg.Cursor[Any]:
        return self._connection.execute(sql.encode())


_COLUMNS = """
select a.attname, b.typname, b.typcategory::text
from pg_catalog.pg_attribute a
join pg_catalog.pg_type t on t.oid = a.atttypid
join pg_catalog.pg_type b on b.oid = case when t.typtype = 'd' then t.typbasetype else t.oid end
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped order by a.attnum
"""


def _read(base: str, category: str) -> tuple[str, str, Column]:
    if base in _TYPES:
        return _TYPES[base]
    # Texts (S) and enumerations (E) are text; what else there is can only tell units apart.
    return (*_TEXT, "text" if category in ("S", "E") else "other")


def _apart(source: str) -> tuple[str, str]:
    """Return the URL of the database, and the table."""
    try:
        split = urlsplit(source)
        options = parse_qsl(split.query, keep_blank_values=True)
    except ValueError:
        raise SpecError("engines.postgresql.no_url") from None
    table = dict(options).get("table", "")
    if not table:
        raise SpecError("engines.postgresql.table_missing")
    rest = urlencode([(k, v) for k, v in options if k != "table"], quote_via=quote)
    return urlunsplit(split._replace(query=rest)), table


def _shown(url: str) -> str:
    """Return host and database, without user, password and options."""
    found = re.match(r"^[^/]*//(?:[^@/]*@)?([^/?]*)(/[^?]*)?", url)
    return "".join(part or "" for part in found.groups()) if found else "?"
