"""`source:` as a mapping: how a file is written, and the types of its columns."""

from __future__ import annotations

import gzip
import math
import re
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.cli import main as discreet
from discreet.errors import DataError, DiscreetError, InputError, SpecError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import Preview, release
from discreet.releases.checking import check, columns_in, proposed_source
from discreet.releases.contributions import Contribution
from discreet.releases.engines import opened, sql
from discreet.releases.engines.base import (
    Counting,
    Cutting,
    KeySet,
    Number,
    Query,
    Summing,
    Tally,
)
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.rows import condition, shaped
from discreet.releases.source import Source
from discreet.releases.spec import load
from soaking import chequered, examples

ONE = Contribution()
COST = Number("cost", 0, 1_000_000, Fraction(1, 100))


def _spec(**changes: Any) -> dict[str, Any]:
    return {
        "account": "people",
        "purpose": "test",
        "source": "visits.csv",
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "budget": {"epsilon": 1.0},
        "statistics": [{"sum": "cost", "bounds": [0, 100], "resolution": 0.01}],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    } | changes


def _account(folder: Path) -> Ledger:
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    ledger.open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(100.0),
        approver="tester",
        reason="test",
    )
    return ledger


def _numbers(source: Source, folder: Path, field: Number = COST) -> list[int]:
    engine = opened(source, folder.joinpath)
    found = engine.measure(Query((), None, ONE, (Tally("t", field),)))["t"][0]
    engine.close()
    assert isinstance(found, list)
    return [place for place, count in enumerate(found) for _ in range(count)]


# -- types


@pytest.mark.parametrize("kind", ["text", "moment", "other"])
def test_a_sum_over_what_is_no_number_is_refused_before_the_charge(
    kind: str, tmp_path: Path
) -> None:
    columns = {
        "text": pa.array(["1,5", "2,5"]),
        "moment": pa.array([1, 2], pa.int32()).view(pa.date32()),
        "other": pa.array([[1], [2]]),
    }
    pq.write_table(pa.table({"person": ["a", "b"], "cost": columns[kind]}), tmp_path / "v.parquet")
    ledger = _account(tmp_path)
    with pytest.raises(DataError, match="column 'cost'") as told:
        release(_spec(source="v.parquet"), folder=tmp_path)
    assert told.value.exit_code == 2
    assert [entry.kind for entry in ledger.entries()] == ["begin", "open"]


def test_a_column_declared_as_text_is_not_summed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "visits.csv").write_text("person,cost\na,1\n")
    ledger = _account(tmp_path)
    spec = _spec(source={"path": "visits.csv", "types": {"cost": "text"}})
    (tmp_path / "spec.yaml").write_text(str(spec).replace("'", '"'))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        discreet(["release", "spec.yaml", "--yes"])
    assert ended.value.code == 2
    assert "holds text, not numbers" in capsys.readouterr().err
    assert [entry.kind for entry in ledger.entries()] == ["begin", "open"]


def test_a_dry_run_says_which_columns_are_taken_for_numbers(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("person,cost\na,1\n")
    _account(tmp_path)
    plain = release(_spec(), folder=tmp_path, dry_run=True)
    assert ["'cost' has no declared type" in one for one in plain.warnings] == [True]  # type: ignore[union-attr]
    typed = _spec(source={"path": "visits.csv", "types": {"cost": "number"}})
    declared = release(typed, folder=tmp_path, dry_run=True)
    assert declared.warnings == ()  # type: ignore[union-attr]


def _dry(tmp_path: Path, **more: Any) -> Preview:
    found = release(_spec(**more), folder=tmp_path, dry_run=True)
    assert isinstance(found, Preview)
    return found


@pytest.mark.parametrize("columns", [{}, {"columns": ["paid"]}])
def test_a_column_of_a_joined_file_is_declared_there(
    columns: dict[str, Any], tmp_path: Path
) -> None:
    """The line to write named the source of the spec, which has no such column."""
    (tmp_path / "visits.csv").write_text("person,cost\na,1\n")
    (tmp_path / "bills.csv").write_text("person,paid\na,1\n")
    _account(tmp_path)
    table = {"by": ["person"], "rows": 1, **columns}
    paid = {"statistics": [{"sum": "paid", "bounds": [0, 9], "resolution": 1}]}
    (warning,) = _dry(tmp_path, join={"source": "bills.csv", **table}, **paid).warnings
    line = "join: {source: {path: bills.csv, types: {paid: number}}}"
    assert f"write {line}." in warning
    declared = yaml.safe_load(line)["join"] | table
    assert _dry(tmp_path, join=declared, **paid).warnings == ()


def test_all_columns_that_formulas_read_are_in_one_warning(tmp_path: Path) -> None:
    """Each had three lines of its own."""
    (tmp_path / "visits.csv").write_text("person,cost,age,ill\na,1,2,true\n")
    _account(tmp_path)
    more = {
        "let": {"group": "if(age is null or cost > 2 and age > 3 and ill, 'a', 'b')"},
        "where": "cost is not null",
        "statistics": [{"count": "rows", "by": ["group"]}],
    }
    (warning,) = _dry(tmp_path, **more).warnings
    line = re.search(r"write (source: .*\}\}),", warning)
    assert line is not None
    types = yaml.safe_load(line[1])["source"]["types"]
    assert types == {"cost": "number", "age": "number", "ill": "boolean"}
    declared = {"path": "visits.csv", "types": types}
    assert _dry(tmp_path, **more, source=declared).warnings == ()


@pytest.mark.parametrize(
    ("where", "other", "told"),
    [
        ("cost is not null", "cost is not null and cost > 0", False),
        ("cost is not null", None, True),
        ("cost > 0", "cost is not null", True),
    ],
)
def test_rows_that_every_statistic_leaves_out_are_not_told_of(
    where: str, other: str | None, *, told: bool, tmp_path: Path
) -> None:
    """It advised a `where` that the statistic had."""
    (tmp_path / "visits.csv").write_text("person,cost\na,1\n")
    _account(tmp_path)
    second = {"count": "units", "by": ["group"]} | ({} if other is None else {"where": other})
    found = _dry(
        tmp_path,
        let={"group": "if(cost > 2, 'a', 'b')"},
        statistics=[{"count": "rows", "by": ["group"], "where": where}, second],
    )
    assert any("To leave such rows out" in note for note in found.notes) is told


NINE: dict[str, Any] = {"bounds": [0, 9], "resolution": 1}


def test_a_dry_run_says_as_what_formulas_read_columns(tmp_path: Path) -> None:
    """A column that is written otherwise is null in every row, and its condition never met."""
    header = "person,age,day,county,cost,ok,fee"
    (tmp_path / "visits.csv").write_text(f"{header}\na,1,2026-01-01,north,1,true,2\n")
    _account(tmp_path)
    person = {"unit": "person", "column": "person"}
    gathered = {"spent": {"sum": "cost", **NINE}, "well": {"any": "ok"}}
    for changes, read in (
        ({"where": "age > 17 and county = 'north'"}, ["'age'"]),
        ({"let": {"late": "month(day)"}, "where": "late > 3"}, ["'day'"]),
        ({"let": {"band": "bin(age, [0, 18])"}}, ["'age'"]),
        ({"per_unit": gathered, "protect": person}, ["'cost'", "'ok'"]),
        ({"statistics": [{"count": "rows", "where": "fee > 1"}]}, ["'fee'"]),
    ):
        spec = _spec(**{"statistics": [{"count": "rows"}]} | changes)
        told = release(spec, folder=tmp_path, dry_run=True).warnings  # type: ignore[union-attr]
        (named,) = (one.split(" ha", 1)[0] for one in told)
        assert re.findall(r"'\w+'", named) == read, changes
        assert check(spec, folder=tmp_path).plan.warnings == told
        types = {"age": "integer", "day": "date", "cost": "number", "ok": "boolean"}
        source = {"path": "visits.csv", "types": types | {"fee": "number"}}
        assert not release(spec | {"source": source}, folder=tmp_path, dry_run=True).warnings  # type: ignore[union-attr]
        assert not check(spec | {"source": source}, folder=tmp_path).plan.warnings
    renamed = _spec(let={"x": "fee"}, statistics=[{"mean": "x", **NINE}])
    (told,) = release(renamed, folder=tmp_path, dry_run=True).warnings  # type: ignore[union-attr]
    assert "types: {fee: number}" in told


def test_columns_in_declared_types(tmp_path: Path) -> None:
    lines = ["2026-01-31,Yes,5", "2026-02-30,no,-05", "0000-01-01,maybe,1e3", "2026-1-3,0,-7", ",,"]
    (tmp_path / "v.csv").write_text("\n".join(["day,in,n", *lines]) + "\n")
    types = {"day": "date", "in": "boolean", "n": "integer"}
    engine = opened(Source(path="v.csv", types=types), tmp_path.joinpath)  # type: ignore[arg-type]
    assert dict(engine.columns) == {"day": "moment", "in": "truth", "n": "integer"}

    def counted(column: str, *keys: str) -> Any:
        cells = KeySet((column,), tuple((key,) for key in keys))
        return engine.measure(Query((), cells, ONE, (Counting("n"),)))["n"]

    assert counted("day", "2026-01-31", "2026-02-30", "0000-01-01", "2026-01-03") == [1, 0, 0, 0]
    assert counted("in", "true", "false") == [1, 2]
    assert counted("n", "5", "1000", "-7", "-5") == [1, 0, 1, 1]
    engine.close()


_WRITTEN = st.text("0123456789-+ .e_xT:/\n", max_size=22) | st.from_regex(
    r"-?0*[0-9]{15,20}|[0-9]{3,5}-[01]?[0-9]-[0-3]?[0-9]|-?infinity|epoch"
    r"|(0001|[0-9]{4}|9999)-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9]"
    r"(:[0-6][0-9](\.[0-9]{0,10})?)?(Z|[+-][01][0-9](:?[0-6][0-9])?)?\n?",
    fullmatch=True,
)
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d([T ]([01]\d|2[0-3]):\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-](0\d|1[0-4])(:?\d\d)?)?)?",
    re.ASCII,
)


@pytest.mark.parametrize(
    ("let", "proposed"),
    [
        ({"month": "month(at)"}, "date"),
        ({"month": "month(at)", "hour": "hour(at)"}, "moment"),
        ({"hour": "hour(at)", "month": "month(at)"}, "moment"),
    ],
)
def test_the_type_that_a_warning_proposes_for_moments_reads_them(
    let: dict[str, str], proposed: str, tmp_path: Path
) -> None:
    """It proposed dates, and declared so every value was missing."""
    lines = ["2013-01-01T10:00:00Z", "2013-01-31 23:30:00", "2013-02-01T01:30:00.5+02:00", "x"]
    (tmp_path / "visits.csv").write_text("\n".join(["person,at", *(f"a,{at}" for at in lines)]))
    _account(tmp_path)
    asked = {"let": let, "statistics": [{"count": "rows", "by": ["month"]}]}
    (warning,) = _dry(tmp_path, **asked).warnings
    assert "2026-01-31T10:00:00+02:00, which counts as its day in UTC" in warning
    line = re.search(r"write (source: .*\}\}),", warning)
    assert line is not None
    source = yaml.safe_load(line[1])["source"] | {"path": "visits.csv"}
    assert source["types"] == {"at": proposed}
    assert _dry(tmp_path, **asked, source=source).warnings == ()
    for given_source in ("visits.csv", source):
        spec = load(_spec(**asked, source=given_source), folder=tmp_path)
        engine = shaped(opened(spec.source, spec.path), spec)
        cells = KeySet(("month",), (("1",), ("2",)))
        assert engine.measure(Query((), cells, ONE, (Counting("n"),)))["n"] == [3, 0]
        if "hour" in let:
            cells = KeySet(("hour",), (("10",), ("23",), ("1",)))
            assert engine.measure(Query((), cells, ONE, (Counting("n"),)))["n"] == [1, 2, 0]
        engine.close()


@settings(max_examples=examples(60), deadline=None)
@given(texts=st.lists(_WRITTEN, min_size=1, max_size=30))
def test_whole_numbers_and_days_are_those_that_their_patterns_match(texts: list[str]) -> None:
    def moment(text: str) -> datetime | None:
        try:
            found = datetime.fromisoformat(text) if _MOMENT.fullmatch(text) else None
            return found and (found.astimezone(UTC) if found.tzinfo else found).replace(tzinfo=None)
        except (ValueError, OverflowError):
            return None

    table = pa.table({"n": texts, "day": texts, "at": texts})
    engine = DuckDB.of(table).typed({"n": "integer", "day": "date", "at": "moment"})
    found = engine._fetch(engine._sql(engine._source))
    assert found["n"] == [int(t) if re.fullmatch("-?[0-9]{1,18}", t) else None for t in texts]
    moments = [moment(text) for text in texts]
    assert found["at"] == moments
    assert found["day"] == [at and at.date() for at in moments]
    engine.close()


def test_data_in_memory_take_types_too(tmp_path: Path) -> None:
    _account(tmp_path)
    frame = pa.table({"person": ["a", "b"], "cost": ["1.5", "x"]})
    with pytest.raises(DataError, match="holds text"):
        release(_spec(source=None), data=frame, folder=tmp_path, dry_run=True)
    release(_spec(source={"types": {"cost": "number"}}), data=frame, folder=tmp_path, dry_run=True)


@pytest.mark.parametrize(
    ("types", "why"),
    [({"nothing": "text"}, "does not have"), ({"cost": "date"}, "stores it as number")],
)
def test_types_that_cannot_be_are_refused(types: dict[str, Any], why: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"cost": [1.5]}), tmp_path / "v.parquet")
    with pytest.raises(DataError, match=why):
        opened(Source(path="v.parquet", types=types), tmp_path.joinpath)


@pytest.mark.parametrize(
    "wrong",
    [
        *("day", "%d", "%d.%m.%y", "%d.%d.%Y", "%d/%b/%Y", "d.m.Y", 3),
        *("%H:%M", "%d.%m.%Y %H", "%d.%m.%Y %H:%S", "%d.%m.%Y %H:%M %p", "%Y-%m-%dT%H:%M:%S.%f"),
    ],
)
def test_a_type_that_is_none_is_refused_with_those_that_there_are(wrong: Any) -> None:
    with pytest.raises(SpecError, match=r"source.*types\.day") as refused:
        load(_spec(source={"path": "v.csv", "types": {"day": wrong}}))
    assert wrong == 3 or "%d.%m.%Y" in str(refused.value)


GERMAN = {"decimal": ",", "thousands": "."}


@pytest.mark.parametrize(
    ("header", "encoding", "found"),
    [
        ("Größe;Alter", "latin-1", {"encoding": "windows-1252", "delimiter": ";", **GERMAN}),
        ("Größe,Alter", "utf-8", {}),
        ("Größe,Alter", "utf-8-sig", {}),
        ("Größe;Alter", "utf-16", {"encoding": "utf-16", "delimiter": ";", **GERMAN}),
        ("Name,Alter", "latin-1", {}),
        ("Patient,Gebühr (€)", "windows-1252", {"encoding": "windows-1252"}),
    ],
)
def test_the_encoding_is_proposed_from_the_header_and_from_nothing_else(
    header: str, encoding: str, found: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "v.csv").write_bytes(f"{header}\n".encode(encoding) + b"\xe4\xff,1\n")
    source = proposed_source(str(tmp_path / "v.csv"))
    assert source.model_dump(exclude_defaults=True, exclude={"path"}) == found
    assert list(columns_in(source)) == header.replace(";", ",").split(",")


# -- how a file is written


def test_decimal_commas_and_thousands_are_declared(tmp_path: Path) -> None:
    texts = ["1.234,5", "1234,5", "1.5", "12.345", "1.23.456", "7", "0,05"]
    (tmp_path / "v.csv").write_text("\n".join(["person;cost", *(f"a;{t}" for t in texts)]))
    german = Source(path="v.csv", delimiter=";", decimal=",", thousands=".")
    assert _numbers(german, tmp_path) == [5, 700, 123_450, 123_450, 1_000_000]
    plain = Source(path="v.csv", delimiter=";", decimal=",")
    assert _numbers(plain, tmp_path) == [5, 700, 123_450, 123_450, 1_000_000]
    types = Source(path="v.csv", delimiter=";", decimal=",", types={"cost": "number"})
    assert _numbers(types, tmp_path) == [5, 700, 123_450, 123_450, 1_000_000]
    undeclared = Source(path="v.csv", delimiter=";")
    assert _numbers(undeclared, tmp_path) == [150, 700, 1_235]


def _read_by_hand(text: str, sign: str, mark: str) -> float | None:
    """Read a number sign by sign: an oracle without regular expressions."""
    text = text.strip(" ")
    minus, text = text.startswith("-"), text.removeprefix("-")
    whole, _, rest = text.partition(mark)
    first, *groups = (whole if whole or not rest else "0").split(sign)
    digits = all(one.isascii() and one.isdigit() for one in (first, *groups))
    spaced = not groups or (1 <= len(first) <= 3 and all(len(one) == 3 for one in groups))
    if not digits or not spaced or not (rest == "" or (rest.isascii() and rest.isdigit())):
        return None
    found = int(first + "".join(groups)) + (int(rest) / 10 ** len(rest) if rest else 0)
    return -found if minus else found


@settings(max_examples=examples(30), deadline=None)
@given(
    texts=st.lists(st.text("0123456789.,-", min_size=1, max_size=9), min_size=1, max_size=40),
    sign=st.sampled_from([".", None]),
)
def test_a_point_between_thousands_is_read_where_decimals_have_a_comma(
    texts: list[str], sign: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    texts += ["1.234,56", "1.234", "12.345.678,9", "1.23"]
    read = (_read_by_hand(text, ".", ",") for text in texts)
    cents = (min(max(x / 0.01, 0), 1_000_000) for x in read if x is not None)
    wanted = sorted(math.floor(x + 0.5) for x in cents)
    folder = tmp_path_factory.mktemp("german")
    (folder / "v.csv").write_text("\n".join(["person;cost", *(f"a;{t}" for t in texts)]))
    found = _numbers(Source(path="v.csv", delimiter=";", decimal=",", thousands=sign), folder)
    assert found == wanted


@pytest.mark.parametrize(
    ("sign", "mark", "delimiter", "text"),
    [
        (" ", ",", ";", "1\N{NO-BREAK SPACE}234,5"),
        (" ", ",", ";", "1\N{NARROW NO-BREAK SPACE}234,5"),
        (" ", ".", ",", "1 234.5"),
        ("'", ".", ",", "1'234.5"),
        (",", ".", ",", '"1,234.5"'),
    ],
)
def test_other_signs_between_thousands_are_said(
    sign: Any, mark: Any, delimiter: str, text: str, tmp_path: Path
) -> None:
    lines = [f"person{delimiter}cost", f"a{delimiter}{text}"]
    (tmp_path / "v.csv").write_text("\n".join(lines), "utf-8")
    source = Source(path="v.csv", delimiter=delimiter, decimal=mark, thousands=sign)
    assert _numbers(source, tmp_path) == [123_450]


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1252"])
@pytest.mark.parametrize("sign", ["'", "\N{RIGHT SINGLE QUOTATION MARK}"])
def test_apostrophes_that_look_alike_stand_between_thousands(
    encoding: Any, sign: str, tmp_path: Path
) -> None:
    """Swiss spreadsheets write the typographic one: every value of 1,000 or more was missing."""
    rows = "1,1\N{RIGHT SINGLE QUOTATION MARK}000.5\n2,2'000.5\n"
    (tmp_path / "visits.csv").write_bytes(f"person,cost\n{rows}".encode(encoding))
    source = Source(path="visits.csv", thousands=sign, encoding=encoding, types={"cost": "number"})  # type: ignore[arg-type]
    engine = opened(source, tmp_path.joinpath)
    try:
        found = engine.every_row(["person"], ["cost"])  # type: ignore[attr-defined]
    finally:
        engine.close()
    assert found[1]["cost"] == [1000.5, 2000.5]


def test_whole_numbers_may_have_points_between_thousands(tmp_path: Path) -> None:
    texts = ["1.234", "56", "1.23", "12.345.678.901.234.567.890", "1.000,0"]
    (tmp_path / "v.csv").write_text("\n".join(["person;cost", *(f"a;{t}" for t in texts)]))
    types = {"cost": "integer"}
    source = Source(path="v.csv", delimiter=";", decimal=",", types=types)  # type: ignore[arg-type]
    assert _numbers(source, tmp_path) == [5_600, 123_400]


@pytest.mark.parametrize(
    ("encoding", "end"),
    chequered(["utf-8", "windows-1252", "latin-1", "utf-16"], ["\n", "\r\n", "\r"]),
)
@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_no_byte_of_a_row_decides_whether_a_file_is_read(
    encoding: Any, end: str, data: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Not a byte that the encoding lacks, half a character, nor the end of a file inside one."""
    odd = data.draw(st.binary(max_size=6).filter(lambda b: not set(b) & set(b'\r\n"')))
    if encoding == "utf-16":  # the others' places stay even
        odd += b"\0" * (len(odd) % 2)
    place = data.draw(st.integers(0, 3))
    folder = tmp_path_factory.mktemp("bytes")
    wide = "utf-16-le" if encoding == "utf-16" else encoding
    rows = [f"{name},1{end}".encode(wide) for name in ("ü", "b", "ß")]
    rows.insert(place, "x,".encode(wide) + odd + end.encode(wide))
    head = (b"\xff\xfe" if encoding == "utf-16" else b"") + f"größe,y{end}".encode(wide)
    cut = data.draw(st.sampled_from([b"", b"\x80"]))
    (folder / "v.csv").write_bytes(head + b"".join(rows) + cut)
    engine = opened(Source(path="v.csv", encoding=encoding), folder.joinpath)
    cells = KeySet(("größe",), (("ü",), ("b",), ("ß",)))
    assert engine.measure(Query((), cells, ONE, (Counting("n"),)))["n"] == [1, 1, 1]
    assert engine.measure(Query((), cells, ONE, (Counting("n"),)))["n"] == [1, 1, 1]
    engine.close()


@pytest.mark.parametrize("encoding", ["windows-1252", "latin-1"])
def test_a_letter_of_windows_is_read(encoding: Any, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_bytes("Gebühr (€);Ort\n1;Œuvre – „x“\n".encode("windows-1252"))
    source = Source(path="v.csv", delimiter=";", encoding=encoding)
    engine = opened(source, tmp_path.joinpath)
    assert list(engine.columns) == ["Gebühr (€)", "Ort"]
    cells = KeySet(("Ort",), (("Œuvre – „x“",),))
    assert engine.measure(Query((), cells, ONE, (Counting("n"),)))["n"] == [1]
    engine.close()


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1252", "utf-16"])
def test_a_line_that_is_too_long_costs_no_other(encoding: Any, tmp_path: Path) -> None:
    long = "x" * 5_000_000
    text = f'"a\nb",c\np,1\n{long},1\nq,1\n\nr,1'  # a header of two lines, no end of the last
    (tmp_path / "v.csv").write_bytes(text.encode(encoding))
    engine = opened(Source(path="v.csv", encoding=encoding), tmp_path.joinpath)
    cells = KeySet(("a\nb",), (("p",), ("q",), ("r",), (long,)))
    assert engine.measure(Query((), cells, ONE, (Counting("n"),)))["n"] == [1, 1, 1, 0]
    engine.close()


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_encodings(encoding: Any, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_bytes("café,größe\nü,1\nß,2\n".encode(encoding))
    engine = opened(Source(path="v.csv", encoding=encoding), tmp_path.joinpath)
    assert list(engine.columns) == ["café", "größe"]
    cells = KeySet(("café",), (("ü",), ("ß",), ("x",)))
    assert engine.measure(Query((), cells, ONE, (Counting("n"),)))["n"] == [1, 1, 0]
    engine.close()


@pytest.mark.parametrize("end", [".csv", ".csv.gz", ".csv.zst", ".CSV.GZ"])
def test_compressed_files(end: str, tmp_path: Path) -> None:
    text = b"person,cost\na,1\nb,NA\nc,-\n"
    path = tmp_path / f"v{end}"
    if end.endswith("zst"):
        with pa.output_stream(str(path), compression="zstd") as file:
            file.write(text)
    else:
        path.write_bytes(gzip.compress(text) if end.lower().endswith("gz") else text)
    source = Source(path=path.name, nulls=("NA", "-"))
    assert _numbers(source, tmp_path) == [100]
    there = Query((), KeySet(("cost",), (("1",), ("NA",))), ONE, (Counting("n"),))
    engine = opened(source, tmp_path.joinpath)
    assert engine.measure(there)["n"] == [1, 0]
    engine.close()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"path": "v.csv", "delimiter": "ab"}, "delimiter"),
        ({"path": "v.csv", "delimiter": "a"}, "no letter"),
        ({"path": "v.csv", "delimiter": ",", "decimal": ","}, "different characters"),
        ({"path": "v.csv", "encoding": "cp1252"}, "encoding"),
        ({"path": "v.csv", "types": {"a": "float"}}, "types"),
        ({"path": "v.csv", "separator": ";"}, "separator"),
        (["v.csv"], "source"),
    ],
)
def test_options_that_cannot_be_are_refused(source: Any, why: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=why):
        load(_spec(source=source), folder=tmp_path)


@pytest.mark.parametrize("path", ["v.parquet", "postgresql://host/db?table=t", "spark://visits"])
def test_options_of_a_csv_are_refused_elsewhere(path: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"cost": [1.5]}), tmp_path / "v.parquet")
    with pytest.raises(DiscreetError, match="for CSV files"):
        opened(Source(path=path, delimiter=";"), tmp_path.joinpath)


def test_a_password_in_a_mapping_is_not_hashed() -> None:
    url = "postgresql://me:{}@host/db?table=t"
    one, other = (load(_spec(source={"path": url.format(p)})) for p in ("hidden", "other"))
    assert one.hash == other.hash


# -- a row is a line, and takes no other with it

SIGNS = st.text(alphabet='ab1,"\n\r; \t', max_size=12)


@settings(max_examples=examples(80), deadline=None)
@given(odd=SIGNS, place=st.integers(0, 3))
def test_a_row_never_takes_others_with_it(
    odd: str, place: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever one line holds, each of the other lines is read as it was without it."""
    folder = tmp_path_factory.mktemp("lines")
    rows = ["a,1", 'b,"2"', "c,3"]
    ends = odd.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    found = []
    for lines in (rows, [*rows[:place], odd, *rows[place:]]):
        (folder / "v.csv").write_bytes("\n".join(["person,cost", *lines, ""]).encode())
        engine = opened("v.csv", folder.joinpath)
        cells = KeySet(("person",), (("a",), ("b",), ("c",)))
        measures = (Counting("n"), Summing("s", COST))
        found.append(engine.measure(Query((), cells, ONE, measures)))
        engine.close()
    without, with_it = found
    own = sum(with_it["n"]) - sum(without["n"])  # type: ignore[arg-type]
    assert without["n"] == [1, 1, 1]
    assert 0 <= own <= ends
    gained = [after - before for before, after in zip(without["n"], with_it["n"], strict=True)]  # type: ignore[operator,arg-type]
    assert all(gain >= 0 for gain in gained)


# -- Parquet

MOMENTS = [
    pa.timestamp("s"),
    pa.timestamp("ms"),
    pa.timestamp("ms", tz="UTC"),
    pa.timestamp("us"),
    pa.timestamp("ns"),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    pa.date32(),
]


@pytest.mark.parametrize("dtype", MOMENTS, ids=str)
def test_moments_that_no_calendar_has_are_nothing(dtype: pa.DataType, tmp_path: Path) -> None:
    """As a key, as a unit and unused: no value of a row fails the query."""
    whole = pa.int32() if dtype.bit_width == 32 else pa.int64()
    most = 2 ** (dtype.bit_width - 1) - 1
    if pa.types.is_timestamp(dtype) and dtype.unit == "s":
        most //= 1000  # stored in milliseconds
    values = pa.array([0, most, -most, most // 3, None], whole)
    table = pa.table({"person": list("abcde"), "at": values.view(dtype)})
    pq.write_table(table, tmp_path / "v.parquet")
    engine = opened("v.parquet", tmp_path.joinpath)
    assert engine.columns["at"] == "moment"
    zoned = "+00" * bool(getattr(dtype, "tz", None))
    first = {"time": "00:00:00", "date": "1970-01-01"}.get(
        str(dtype).rstrip("0123456789smunday[]")[:5], f"1970-01-01 00:00:00{zoned}"
    )
    cells = KeySet(("at",), ((first,),))
    assert engine.measure(Query(("person",), cells, ONE, (Counting("n"),)))["n"] == [1]
    assert 1 <= engine.measure(Query(("at",), None, ONE, (Counting("n"),)))["n"][0] <= 4  # type: ignore[operator]
    assert len(engine.find_keys(("person",), ("at",), ONE).units) <= 4
    engine.close()


def test_a_folder_of_parquet_has_a_column_for_its_folders(tmp_path: Path) -> None:
    for month in (1, 2, 10):
        (tmp_path / f"visits/month={month}").mkdir(parents=True)
        table = pa.table({"person": ["a", "b"], "cost": [1.0, 2.0 * month]})
        pq.write_table(table, tmp_path / f"visits/month={month}/part.parquet")
    engine = opened(Source(path="visits"), tmp_path.joinpath)
    assert dict(engine.columns) == {"person": "text", "cost": "number", "month": "untyped"}
    cells = KeySet(("month",), (("1",), ("2",), ("3",), ("10",)))
    found = engine.measure(Query((), cells, ONE, (Counting("n"), Summing("s", COST))))
    assert found == {"n": [2, 2, 0, 2], "s": [300, 500, 0, 2100]}
    engine.close()


def test_texts_of_polars_are_texts_for_every_version_of_arrow() -> None:
    from discreet.releases.engines.in_memory import arrow_table

    frame = polars.DataFrame({"person": ["a", None]})
    for given_frame in (frame, frame.lazy()):
        assert arrow_table(given_frame).schema.field("person").type == pa.large_string()


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="bytes read are counted by Linux")
@pytest.mark.parametrize(
    ("written", "declared", "where"),
    [
        ("{:02}", "text", "month == '03'"),
        ("{:02}", "text", "month >= '03' and month < '04'"),
        ("{}", "integer", "month == 3"),
        ("{:02}", "integer", "month >= 3 and month < 4"),
        ("{}", "number", "month == 3"),
        ("2026-{:02}-01", "date", "month == date('2026-03-01')"),
    ],
)
def test_a_condition_on_a_partition_reads_that_partition_alone(
    tmp_path: Path, written: str, declared: Any, where: str
) -> None:
    people = pa.array([(7 * i) % 100_003 for i in range(100_000)])
    for month in range(1, 13):
        folder = tmp_path / f"month={written.format(month)}"
        folder.mkdir()
        pq.write_table(pa.table({"person": people}), folder / "visits.parquet")
    one = (folder / "visits.parquet").stat().st_size

    def read() -> int:
        said = Path("/proc/self/io").read_text().split()
        return int(said[said.index("rchar:") + 1])

    engine = opened(Source(path=str(tmp_path), types={"month": declared}), Path)
    query = Query(("person",), None, Contribution(1, 1, 1), (Counting("n"),))
    month = engine.filtered(condition(where, engine.columns))  # type: ignore[attr-defined]
    month.measure(query)  # what is imported is read once
    before = read()
    assert month.measure(query)["n"] == [len(set(people.to_pylist()))]
    assert read() - before < 2 * one
    engine.close()


def test_a_file_tells_how_much_of_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "_LOOK", 0.001)
    lines = "\n".join(f"{i % 1000},{i % 7}" for i in range(1_500_000))
    (tmp_path / "visits.csv").write_text(f"person,cost\n{lines}\n")
    told: list[tuple[str, int, int]] = []
    source: Any = opened("visits.csv", tmp_path.joinpath)
    engine = source.watched(lambda *now: told.append(now))
    query = Query(("person",), None, Contribution(1, 1, 1), (Summing("s", COST),))
    assert engine.measure(query)["s"][0] <= 1000 * 600
    between = []
    for _, one in groupby((now for now in told if now[2] > 1), key=lambda now: now[0]):
        shares = [done for _, done, _ in one]
        assert shares == sorted(shares)
        between.append(len({share for share in shares if 0 < share < 1000}))
    assert max(between) > 3  # of the step that reads the file; another may end before a look
    source.close()


@pytest.mark.parametrize("types", [{}, pytest.param({"person": "integer"}, marks=pytest.mark.soak)])
def test_a_file_is_bounded_in_less_memory_than_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, types: dict[str, Any]
) -> None:
    monkeypatch.setenv("DISCREET_MEMORY", "56MB")
    lines = "\n".join(f"{i % 400_009},{i % 7},{i:040}" for i in range(1_200_000))
    (tmp_path / "visits.csv").write_text(f"person,cost,note\n{lines}\n")
    engine = opened(Source(path="visits.csv", types=types), tmp_path.joinpath)
    query = Query(("person",), None, Contribution(2, 2, 2), (Summing("s", COST), Counting("n")))
    assert engine.measure(query)["n"] == [800_018]
    engine.close()


@pytest.mark.parametrize(
    ("failures", "fault"),
    [(1, duckdb.OutOfMemoryException("")), (2, OSError("Out of Memory Error: failed to pin"))],
)
def test_rows_that_do_not_fit_are_bounded_in_parts(
    monkeypatch: pytest.MonkeyPatch, failures: int, fault: Exception
) -> None:
    """The engine says that its memory is used up; then it is asked for a share of the units."""
    table = pa.table(
        {
            "person": [f"person {i % 409}" for i in range(1_200)],
            "day": [i // 409 for i in range(1_200)],
            "cost": [str(i % 7) for i in range(1_200)],
        }
    )
    engine, fetch, asked = DuckDB.of(table), DuckDB._fetch, []

    def fails(self: DuckDB, sql: str) -> Any:
        asked.append(sql)
        if len(asked) <= failures:
            raise fault
        return fetch(self, sql)

    monkeypatch.setattr(DuckDB, "_fetch", fails)
    if failures == 2:  # sixteen parts would say no more than four
        monkeypatch.setattr("discreet.releases.engines.duckdb._MORE_PARTS", 2)
    cells = KeySet(("cost",), tuple((str(i),) for i in range(7)))
    measures = (Counting("n"), Tally("t", replace(COST, high=1_000)), Cutting("c"))
    found = engine.measure(Query(("person",), cells, Contribution(4, 2, 2), measures))
    # Of two groups at most: 382 persons have three rows, in three groups, and 27 have two.
    assert sum(found["n"]) == 818
    assert [sum(cell) for cell in found["t"]] == found["n"]
    assert found["c"] == [382]
    parts = {m for sql in asked for m in re.findall(r"% (\d+)\s*\) = ", sql)}
    assert parts == ({"2", "4"} if failures == 2 else {"4"})
    asked.clear()  # a unit is in one part, also if it has several columns
    both = engine.measure(Query(("person", "day"), cells, Contribution(1, 1, 1), (Counting("n"),)))
    assert sum(both["n"]) == 1_200
    engine.close()


def test_too_little_memory_for_a_file_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "visits.csv").write_text("person\n" + "1\n" * 10_000_000)
    monkeypatch.setenv("DISCREET_MEMORY", "49MB")
    with pytest.raises(InputError, match="DISCREET_MEMORY=52MB"):
        opened("visits.csv", tmp_path.joinpath)


def test_memory_of_the_engine_is_bounded_by_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"person": range(1000)}), tmp_path / "visits.parquet")
    monkeypatch.setenv("DISCREET_MEMORY", "64MB")
    engine = opened("visits.parquet", tmp_path.joinpath)
    said = engine._fetch("select current_setting('memory_limit') as most")  # type: ignore[attr-defined]
    assert said["most"] == ["61.0 MiB"]
    engine.close()
    monkeypatch.setenv("DISCREET_MEMORY", "a lot")
    with pytest.raises(InputError, match="DISCREET_MEMORY is 'a lot'"):
        opened("visits.parquet", tmp_path.joinpath)
