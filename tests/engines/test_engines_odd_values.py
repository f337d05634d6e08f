"""No value of a row decides whether an answer comes: engines clip it, or leave it out.

Two tables that differ in one row with an odd value are measured alike; what differs is no more than
that row may add. So sensitivities hold, whatever the value is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.errors import DataError, PolicyError
from discreet.releases.contributions import Contribution
from discreet.releases.engines import in_types
from discreet.releases.engines import opened as opened_source
from discreet.releases.engines.base import (
    Bins,
    Counting,
    Engine,
    KeySet,
    Labels,
    Measure,
    Number,
    Query,
    Steps,
    Summing,
    Tally,
)
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.formula import parse, resolve

ONE = Contribution()

TEXTS = [
    "1" * 140_000,
    "1" * 990 + "e9999",
    "0." + "0" * 900 + "1e-9999",
    "1_" * 60_000 + "1",
    "-" * 5_000,
    "1e99999999999",
    "-1e-99999999999",
    "inf",
    "-Infinity",
    "NaN",
    "",
    "1e308",
    "+-" * 9,
    "9" * 400,
]
NUMBERS: list[tuple[Any, pa.DataType]] = [
    *((x, pa.float64()) for x in (math.inf, -math.inf, math.nan, 1e308, -1e308, 5e-324, -0.0)),
    *((x, pa.int64()) for x in (2**63 - 1, -(2**63))),
    (3.4e38, pa.float32()),
    (Decimal("9" * 38), pa.decimal128(38, 0)),
    (Decimal("-0." + "9" * 38), pa.decimal128(38, 38)),
    (None, pa.float64()),
]


# A query takes Spark a second of the processor. So there `make test` has all odd values in one
# table, and `make soak` also each in a table of its own, as for the other engines.
EACH = [
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres")),
    pytest.param("spark", marks=[pytest.mark.xdist_group("spark_running"), pytest.mark.soak]),
]
# What one row may add to each measure of a column.
MOST = {"rows": 1, "values": 1, "sum": 4, "squares": 16, "bins": 1, "steps": 1}


@dataclass(frozen=True)
class Odd:
    """Odd values of one column, and a plain one of the same type."""

    values: Sequence[Any]
    dtype: pa.DataType
    plain: Any


def _measures(column: str, tally: str = "") -> list[Measure]:
    field = Number(column, -4, 4, Fraction(1, 2))
    tallies = {
        "bins": Tally(f"bins {column}", Bins(column, (-1.0, 0.0, 1.0))),
        "steps": Tally(f"steps {column}", Steps(column, 0.0, 0.1, 11, 1.0)),
    }
    return [
        Counting(f"rows {column}"),
        Counting(f"values {column}", field),
        Summing(f"sum {column}", field),
        Summing(f"squares {column}", field, 0, 2),
        *([tallies[tally]] if tally else []),
    ]


def _moved(opened: Any, *columns: Odd) -> None:
    """Compare two tables. In each group there are two plain rows, and in one table an odd row."""
    names = [f"x{i}" for i in range(len(columns))]
    places = range(max(len(column.values) for column in columns))
    keys = KeySet(("k",), tuple((f"{side}{i}",) for i in places for side in "ab"))

    def measured(with_odd: bool) -> list[Any]:
        rows = ["a", "b", "c"] if with_odd else ["a", "b"]
        data: dict[str, Any] = {
            "p": [f"{row}{i}" for i in places for row in rows],
            "k": [f"{'b' if row == 'b' else 'a'}{i}" for i in places for row in rows],
        }
        for name, column in zip(names, columns, strict=True):
            odd = [*column.values, *[column.plain] * (len(places) - len(column.values))]
            values = [odd[i] if row == "c" else column.plain for i in places for row in rows]
            data[name] = pa.array(values, column.dtype)
        engine = opened(pa.table(data))
        found = [
            engine.measure(Query((), None, ONE, tuple(m for n in names for m in _measures(n))))
        ]
        for tally in ("bins", "steps"):
            asked = tuple(measure for name in names for measure in _measures(name, tally))
            found.append(engine.measure(Query(("p",), keys, ONE, asked)))
        engine.close()
        return found

    for before, after in zip(measured(False), measured(True), strict=True):
        assert set(before) == set(after)
        for name in before:
            cells = [(x, y) if isinstance(x, list) else ([x], [y])
                     for x, y in zip(before[name], after[name], strict=True)]  # fmt: skip
            moved = [sum(abs(x - y) for x, y in zip(*cell, strict=True)) for cell in cells]
            most, whole = MOST[name.split()[0]], len(moved) == 1
            assert sum(moved) <= most * len(places), name
            assert whole or all(
                one + other <= most for one, other in zip(moved[::2], moved[1::2], strict=True)
            ), name


def _odd_number(odd: Any, dtype: pa.DataType) -> Odd:
    return Odd([odd], dtype, Decimal(0) if pa.types.is_decimal(dtype) else 0)


def test_no_odd_value_stops_the_others(opened: Any) -> None:
    """All of them in one table, each in groups of its own, a column for each type."""
    kinds: dict[pa.DataType, list[Any]] = {}
    for odd, dtype in NUMBERS:
        kinds.setdefault(dtype, []).append(odd)
    numbers = [Odd(odd, t, _odd_number(0, t).plain) for t, odd in kinds.items()]
    _moved(opened, Odd(TEXTS, pa.string(), "1"), *numbers)


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: f"{text[:12]}…{len(text)}")
@pytest.mark.parametrize("opened", EACH, indirect=True)
def test_no_text_stops_a_column_of_numbers(opened: Any, text: str) -> None:
    _moved(opened, Odd([text], pa.string(), "1"))


@pytest.mark.parametrize(("odd", "dtype"), NUMBERS, ids=lambda value: str(value)[:14])
@pytest.mark.parametrize("opened", EACH, indirect=True)
def test_no_number_stops_a_column_of_numbers(opened: Any, odd: Any, dtype: pa.DataType) -> None:
    _moved(opened, _odd_number(odd, dtype))


@pytest.mark.parametrize(
    ("pattern", "texts", "right"),
    [
        ("%d.%m.%Y", ["31.01.2026", "31.1.2026", "1.2.2026"], ["2026-01-31"] * 2 + ["2026-02-01"]),
        ("%m/%d/%Y", ["01/31/2026", "12/1/2026"], ["2026-01-31", "2026-12-01"]),
        ("%Y%m%d", ["20260131", "2026131"], ["2026-01-31", None]),
        (
            "%d.%m.%Y",
            ["31.02.2026", "32.01.2026", "00.01.2026", "2026-01-31", "31-01-2026", " 1.2.2026"],
            [None] * 6,
        ),
        (
            "%d.%m.%Y",
            ["1.2.2026\n", "1.2.20266", "1.2.26", "", None, "x", "1.2.0000", "٣.١.٢٠٢٦", "9" * 400],
            [None] * 9,
        ),
        ("%d (%m) [%Y]", ["1 (2) [2026]", "1 2 2026"], ["2026-02-01", None]),
        (
            "%Y-%m-%dT%H:%M:%SZ",
            ["2013-01-31T10:00:00Z", "2013-01-31T10:00:00", "2013-01-31T24:00:00Z", "2013-01-31"],
            ["2013-01-31 10:00:00", None, None, None],
        ),
        (
            "%d.%m.%Y %H:%M",
            ["1.2.2026 9:05", "31.01.2026 23:59", "1.2.2026 9:60", "31.02.2026 9:05", "1.2.2026"],
            ["2026-02-01 09:05:00", "2026-01-31 23:59:00", None, None, None],
        ),
        ("%Y%m%d%H%M%S", ["20260131235958"], ["2026-01-31 23:59:58"]),
    ],
)
def test_dates_in_a_declared_way_are_the_same_days_everywhere(
    opened: Any, pattern: str, texts: list[str | None], right: list[str | None]
) -> None:
    engine = in_types(opened(pa.table({"day": pa.array(texts, pa.string())})), {"day": pattern})
    assert dict(engine.columns) == {"day": "moment"}
    days = sorted({day for day in right if day is not None} | {"2026-03-03"})
    counted = engine.measure(
        Query((), KeySet(("day",), tuple((day,) for day in days)), ONE, (Counting("n"),))
    )["n"]
    engine.close()
    assert counted == [right.count(day) for day in days]


WRITTEN = {
    "2013-01-01T10:00:00Z": "2013-01-01 10:00:00",
    "2013-01-01 10:00:00": "2013-01-01 10:00:00",
    "2013-01-01T10:00": "2013-01-01 10:00:00",
    "2013-01-01": "2013-01-01 00:00:00",
    "2013-01-01T00:30:00+02:00": "2012-12-31 22:30:00",
    "2013-01-01T00:30:00.25+0200": "2012-12-31 22:30:00.25",
    "2012-12-31 23:00-0130": "2013-01-01 00:30:00",
    "2012-12-31 23:59:59+00": "2012-12-31 23:59:59",
    "2012-12-31T23:59:59.999999999Z": "2012-12-31 23:59:59.999999",
    "2024-02-29T12:00:00.5-12": "2024-03-01 00:00:00.5",
    "0001-01-01T00:00:00": "0001-01-01 00:00:00",
    "9999-12-31T23:59:59.9999999": "9999-12-31 23:59:59.999999",
    "0001-01-01T01:00:00-01:30": "0001-01-01 02:30:00",
}
"""Texts that are moments, each as it is told in UTC."""
NOT_WRITTEN = [
    *("0001-01-01T01:00:00+02:00", "9999-12-31T23:00:00-02:00", "0000-01-01T10:00:00Z"),
    *("2013-02-29T10:00:00Z", "2013-02-30", "2013-13-01T10:00", "2013-04-31 10:00:00+02:00"),
    *("2013-01-01T24:00:00", "2013-01-01T10:60", "2013-01-01T10:00:60Z"),
    *("2013-01-01T10:00+15:00", "2013-01-01T10", "2013-01-01T10:00:00+2"),
    *("2013-01-01T10:00:00+02:", "2013-01-01T10:00:00+02:60", "2013-01-01T10:00.5"),
    *("2013-01-01T10:00:00.", "2013-01-01T10:00:00.1234567891", "2013-01-01T10:00:00123"),
    *("2013-01-01T10:00:00Z\n", "2013-01-01\n", "2013-01-01T10:00:00Z|", "2013-01-01|"),
    *(" 2013-01-01", "2013-01-01 10:00:00 ", "2013-01-01  10:00", "2013-01-01T10:00:00 Z"),
    *("2013-01-01+02:00", "2013-01-01Z", "2013-01-01t10:00:00", "2013-01-01T10:00:00z"),
    *("2013-1-1T10:00", "13-01-01T10:00", "20130101T100000", "٢٠١٣-٠١-٠١", "2013-01-01T١٠:٠٠"),
    *("infinity", "now", "epoch", "", "9" * 400),
]  # fmt: skip


def test_a_text_written_as_a_moment_counts_as_its_day_everywhere(opened: Any) -> None:
    texts = [*WRITTEN, *NOT_WRITTEN, None]
    plain = opened(pa.table({"at": pa.array(texts, pa.string())}))

    def counted(declared: str, *keys: str) -> list[int]:
        typed = in_types(plain, {"at": declared})
        assert dict(typed.columns) == {"at": "moment"}
        cells = KeySet(("at",), tuple((key,) for key in (*keys, "2013-03-03")))
        return typed.measure(Query((), cells, ONE, (Counting("n"),)))["n"]  # type: ignore[return-value]

    days = [told[:10] for told in WRITTEN.values()]
    once = sorted(set(days))
    assert counted("date", *once) == [*map(days.count, once), 0]
    moments = list(WRITTEN.values())
    once = sorted(set(moments))
    assert counted("moment", *once) == [*map(moments.count, once), 0]
    parsed = {text: datetime.fromisoformat(told) for text, told in WRITTEN.items()}
    for formula, met in {
        "month(at) = 12": lambda moment: moment.month == 12,
        "hour(at) = 22": lambda moment: moment.hour == 22,
        "at < '2013-01-01'": lambda moment: moment < datetime(2013, 1, 1),
        "date(at) is null": None,
    }.items():
        wanted = len(NOT_WRITTEN) + 1 if met is None else sum(map(met, parsed.values()))
        for declared in ({}, {"at": "moment"}):
            # A column of a CSV file has no type, and is read as its place needs.
            engine = in_types(plain, declared)
            columns = dict(engine.columns) if declared else {"at": "untyped"}
            term = resolve(parse(formula), columns, wanted="boolean")
            found = engine.filtered(term).measure(Query((), None, ONE, (Counting("n"),)))["n"]
            assert found == [wanted], (formula, declared)
    plain.close()


def test_a_whole_number_ends_where_its_text_ends_everywhere(opened: Any) -> None:
    texts = ["5\n", "6", " 7", "8 ", "9\r\n", "-3"]
    engine = in_types(opened(pa.table({"n": texts})), {"n": "integer"})
    cells = KeySet(("n",), tuple((key,) for key in ("5", "6", "7", "8", "9", "-3")))
    counted = engine.measure(Query((), cells, ONE, (Counting("n"),)))["n"]
    engine.close()
    assert counted == [0, 1, 0, 0, 0, 1]


MOMENTS = [
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp(unit, "UTC") for unit in ("s", "ms", "us", "ns")),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    pa.duration("s"),
    pa.duration("ns"),
]


@pytest.mark.parametrize("dtype", MOMENTS, ids=str)
@pytest.mark.parametrize("place", ["least", "most"])
def test_no_moment_in_memory_stops_units_groups_and_keys(dtype: pa.DataType, place: str) -> None:
    """Out of all ranges, it is clipped. A span of time is no group, and may name a unit."""
    bits = dtype.bit_width - 1
    ends = {"least": (-(2**bits), -(2**bits) + 1), "most": (2**bits - 1, 2**bits - 2)}[place]
    whole = pa.array([0, *ends], pa.int32() if bits == 31 else pa.int64())
    engine = DuckDB.of(pa.table({"t": whole.view(dtype), "p": ["a", "b", "c"]}))
    assert engine.measure(Query(("t",), None, ONE, (Counting("n"),)))["n"] in ([1], [2])
    if not pa.types.is_duration(dtype):
        cells = KeySet(("t",), (("x",),))
        assert engine.measure(Query(("p",), cells, ONE, (Counting("n"),))) == {"n": [0]}
        assert sum(engine.find_keys(("p",), ("t",), ONE).units) == 3
    engine.close()


def _csv(folder: Path, content: bytes) -> DuckDB:
    (folder / "data.csv").write_bytes(content)
    return opened_source("data.csv", lambda name: (folder / name).resolve())  # type: ignore[return-value]


HEADER = b"id,x,note\n"
FIELD = Number("x", -4, 4, Fraction(1, 2))
LINES = {
    "too short": b"b\n",
    "too long": b"b,1,n,more,and more\n",
    "not UTF-8": b"b\xff,1,n\n",
    "not UTF-8 where nothing is used": b"b,1,\xff\xfe\n",
    "three megabytes": b"b," + b"1" * 3_000_000 + b",n\n",
    "a quotation mark inside": b'b,1"2,n\n',
    "text after a quotation": b'b,"1"2,n\n',
    "a NUL": b"b,1\0,n\n",
    "a quotation mark that is never closed": b'b,1,"n\n',
    "a line break in quotation marks": b'b,1,"n\nm"\n',
    "a lone carriage return": b"b,1,n\rm\n",
    "empty": b"\n",
}


@pytest.mark.parametrize("where", [1, 15_000])
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_no_line_of_a_csv_stops_a_release_or_touches_others(
    line: bytes, where: int, tmp_path: Path
) -> None:
    """Near the header or far below it, in a column that is used or not: it counts once or not."""
    others = [b"u%d,1,n\n" % row for row in range(20_000)]
    engine = _csv(tmp_path, HEADER + b"".join([*others[:where], line, *others[where:]]))
    assert dict(engine.columns) == dict.fromkeys(("id", "x", "note"), "untyped")
    found = engine.measure(Query(("id",), None, ONE, (Counting("n"), Summing("s", FIELD))))
    assert 0 <= found["n"][0] - 20_000 <= 1  # type: ignore[operator]
    assert abs(found["s"][0] - 2 * 20_000) <= 4  # type: ignore[operator]


def test_a_header_is_read_and_no_line_below_it(tmp_path: Path) -> None:
    for rows in (b"\xff\xfe", b'"', b"a,b,c,d,e", b"\0" * 100):
        for end in (b"\n", b"\r\n"):
            engine = _csv(tmp_path, b"\xef\xbb\xbfid,x" + end + rows)
            assert list(engine.columns) == ["id", "x"]
            engine.close()


SECRET = "zebra7351"  # noqa: S105


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (f"{SECRET};north;3\n", "separated by semicolons"),
        (f"{SECRET}\tnorth\t3\n", "separated by tabs"),
        (f"{SECRET}|north|3\n", "separated by vertical bars"),
        (f"{SECRET},{SECRET},3\n", "a name of its own"),
        (f"{SECRET},{SECRET.upper()},3\n", "upper and lower case"),
        (f"{SECRET},,3\n", "a name of its own"),
        (f'{SECRET},"3', "header line"),
        ("", "no header line"),
    ],
)
def test_no_header_is_quoted(content: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=why) as told:
        _csv(tmp_path, content.encode())
    assert SECRET not in str(told.value).lower()


def test_no_message_of_the_engine_is_passed_on() -> None:
    import duckdb

    from discreet.releases.engines.duckdb import _in_our_words

    with pytest.raises(DataError, match="could not read") as told, _in_our_words("read it"):
        duckdb.sql(f"select cast('{SECRET}' as integer)").fetchall()
    assert SECRET not in str(told.value)


def test_a_view_that_reads_another_file_is_refused(tmp_path: Path) -> None:
    import duckdb

    (tmp_path / "other.csv").write_text(f"id\n{SECRET}\n", encoding="utf-8")
    with duckdb.connect(tmp_path / "f.db") as made:
        made.execute("create table t as select 1 as id, interval 1 day as lasted")
        made.execute(
            f"create view inside as from t; create view other as from '{tmp_path}/other.csv'"
        )

    def engine(table: str) -> Engine:
        return opened_source(f"duckdb:///f.db?table={table}", lambda name: tmp_path / name)

    for table in ("t", "inside"):
        found = engine(table)
        assert dict(found.columns) == {"id": "integer", "lasted": "other"}
        found.close()
    with pytest.raises(PolicyError, match="reads another file"):
        engine("other")


def test_a_type_with_few_texts_takes_any_key(tmp_path: Path) -> None:
    """A key that is no UUID, or none of an ENUM's, is a group without rows, and no fault."""
    import duckdb

    with duckdb.connect(tmp_path / "f.db") as made:
        made.execute("create type level as enum ('low', 'high')")
        made.execute('create table t (id integer, "a ""u" uuid, e level)')
        made.execute("insert into t values (1, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'low')")
    engine = opened_source("duckdb:///f.db?table=t", lambda name: tmp_path / name)
    assert dict(engine.columns) == {"id": "integer", 'a "u': "text", "e": "text"}
    own = {'a "u': "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "e": "low"}
    for column, key in own.items():
        name = '"' + column.replace('"', '""') + '"'
        counted = f"count(*) filter ({name} = 'x') as x, count(*) filter ({name} = '{key}') as own"
        found = engine._arrow(f"select {counted} from _source")  # noqa: S608
        assert found.to_pylist() == [{"x": 0, "own": 1}]
    engine.close()


@pytest.mark.parametrize(
    "statement", ["from '{}'", "attach '{}'", "set threads = 1", "load httpfs"]
)
def test_an_open_engine_is_locked(statement: str, tmp_path: Path) -> None:
    import duckdb

    other = tmp_path / "other.csv"
    other.write_text("id\n1\n", encoding="utf-8")
    for engine in (_csv(tmp_path, b"id,x\na,1\n"), DuckDB.of(pa.table({"id": [1]}))):
        with pytest.raises(duckdb.Error, match=r"(?i)permission|locked"):
            engine._connection.execute(statement.format(other))
        engine.close()


def test_what_does_not_fit_in_memory_is_still_spilled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two million texts of forty characters are sorted in 60 MB."""
    import duckdb

    real = duckdb.connect
    monkeypatch.setattr(
        duckdb,
        "connect",
        lambda config: real(config=config | {"memory_limit": "60MB", "threads": "1"}),
    )
    with real() as made:
        made.execute(
            f"copy (select i % 900_000 || repeat('x', 40) as id, 1 as x "  # noqa: S608
            f"from range(2_000_000) t(i)) to '{tmp_path}/data.parquet'"
        )
    engine = opened_source("data.parquet", lambda name: tmp_path / name)
    assert engine.measure(Query(("id",), None, ONE, (Counting("n"),))) == {"n": [900_000]}
    engine.close()


def test_labels_of_an_odd_text(opened: Any) -> None:
    table = pa.table({"x": ["a", "b" * 100_000, "\x01", None]})
    query = Query((), None, ONE, (Tally("t", Labels("x", ("a", "c"))),))
    assert opened(table).measure(query) == {"t": [[1, 0]]}
