"""The data-dependence campaign: does anything but the noisy values tell two neighbours apart?

    python -m benchmarks.neighbours [--engines duckdb …] [--keep FILE] [--record]

Several processes can share the work by `--every` and `--start`, each with a file of its own to keep
what is done; put together, the files are one that `--keep FILE --record` goes on from.

Two data sets that differ in one person are released with the same spec. In one of them the person's
row holds an odd value: nothing, NaN, infinities, huge and tiny numbers, empty and very long texts,
odd Unicode, dates that are none, bytes that are no UTF-8, in each column that is used and in one
that is not. The noisy values are the only thing that may differ, so what the mechanisms return is
replaced by fixed numbers, as many as there were. Then everything else must be the same, byte for
byte, once identifiers, moments and hashes of them are replaced by signs of the same length:

    the exit code; what is printed and logged; the names, sizes and contents of all files that
    are published; the entries of the ledger; the same of a dry run

and the processor time of the two lies within a band: a factor of BAND and SLACK seconds. (Of this
process: what a server or Spark takes is not measured.)

The number of digits of a noisy value, and so the size of a published file, may depend on the noisy
value: that is learned from the value anyway.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from benchmarks.tables import QUALITY, today, write_section
from discreet import __version__, noise
from discreet.cli import main as discreet
from discreet.errors import DiscreetError
from discreet.guarantees import ZCDP, ApproxDP
from discreet.ledger import Ledger
from discreet.releases import adding_up, drawing, release
from discreet.releases.engines import expressions
from discreet.releases.statistics.quantiles import Ranked
from discreet.synthetic import synthesize

__all__ = ["BAND", "SLACK", "cases", "neighbours"]

BAND, SLACK = 2.0, 1.0
COLUMNS = ("person", "county", "cost", "note")
KEYS = {"county": ["north", "south"]}
STATISTICS: list[dict[str, Any]] = [
    {"count": "rows", "by": ["county"], "keys": KEYS, "name": "visits"},
    {"count": "units", "by": ["county"], "keys": KEYS, "name": "people"},
    {"share": {"of": "tables", "among": ["county"]}},
    {"rate": {"events": "visits", "per": 1000, "times": 10}},
    {
        "count": "rows",
        "margins": [["county", "band"], ["county"]],
        "keys": KEYS | {"band": ["0-5", "5-10"]},
        "name": "tables",
    },
    {"count": "rows", "weight_by": "cost", "bounds": [0, 20]},
    {"sum": "cost", "bounds": [0, 20], "resolution": 0.5},
    {"mean": "cost", "bounds": [0, 20], "resolution": 0.5},
    {"histogram": "cost", "edges": [0, 5, 10, 20]},
    {"quantile": "cost", "at": 0.5, "bounds": [0, 20], "resolution": 1},
    {"quantiles": {"of": "cost", "at": [0.25, 0.9], "bounds": [0, 20], "resolution": 1}},
    {"median": "cost", "bounds": [0, 20], "resolution": 1},
    {"variance": "cost", "bounds": [0, 20], "resolution": 0.5},
    {"best": "price", "score": "revenue", "of": "cost", "cap": 20, "candidates": [5.0, 10.0]},
    {"best": "county", "score": "count", "of": "county", "candidates": ["north", "south"]},
    {"randomized": "county", "answers": ["north", "south"], "keep": 0.75},
    {"count": "units", "by": ["county"], "keys": {"discover": {"delta": 1e-9}}},
    {"count": "rows", "by": ["band"], "name": "bands"},
    {"sum": "twice", "bounds": [0, 40], "resolution": 1, "where": "NOTED"},
]
FEATURES = {
    "visits": "count",
    "spent": {"sum": "cost", "bounds": [0, 20]},
    "most": {"max": "cost"},
    "noted": {"any": "NOTED"},
    "at_home": {"all": "county in ('north', 'south')"},
}
# What is asked of the rows, of each person's features, of a sample with a table joined to it, with
# a limit of rows that is chosen, and for a synthetic file; keys of the spec beside the usual.
# NOTED is a condition on the column `note`, by its type.
SPECS: dict[str, dict[str, Any]] = {
    "rows": {
        "protect": {"rows": 2, "groups": 1},
        "where": "county != 'east' and (cost < 1000 or cost is null or NOTED)",
        "let": {"band": "bin(cost, [0, 5, 10, 20])", "twice": "cost * 2"},
        "statistics": STATISTICS,
        "cut": {"weight": 0.05},
    },
    "units": {
        "where": "cost >= 0 or cost is null",
        "per_unit": FEATURES,
        "let": {"often": "bin(visits, [1, 2, 5])"},
        "statistics": [
            {"count": "units", "by": ["often"]},
            {"count": "units", "where": "noted or not at_home"},
            {"sum": "spent", "bounds": [0, 40], "resolution": 0.5},
            {"quantile": "most", "at": 0.5, "bounds": [0, 20], "resolution": 1},
        ],
    },
    "joined": {
        "protect": {"rows": 2},
        "sample": {"rate": 0.5},
        "join": [{"source": "", "by": "person", "rows": 2, "columns": ["ward", "fee"]}],
        "where": "fee < 1000 or fee is null",
        "statistics": [
            {"count": "units", "by": ["ward"], "keys": {"ward": ["north", "south"]}},
            {"sum": "fee", "bounds": [0, 20], "resolution": 0.5},
            {
                "count": "rows",
                "by": ["county"],
                "keys": {"discover": {"delta": 1e-9}, "known": KEYS},
            },
        ],
    },
    "chosen": {
        "protect": {"rows": {"choose": [1, 2, 4], "weight": 0.1}},
        "mechanism": "geometric",
        "statistics": [
            {"count": "rows", "by": ["county"], "keys": KEYS},
            {"sum": "cost", "bounds": [0, 20], "resolution": 0.5, "where": "NOTED"},
        ],
    },
    "residuals": {
        "protect": {"rows": 2},
        "account": "tables",
        "budget": {"rho": 0.5},
        "let": {"band": "bin(cost, [0, 5, 10, 20])", "half": "bin(cost, [0, 10, 20])"},
        "statistics": [
            {
                "count": "rows",
                "margins": [["county", "band"], ["county", "half"], ["band", "half"]],
                "keys": KEYS | {"band": ["0-5", "5-10", "10-20"], "half": ["0-10", "10-20"]},
            },
        ],
    },
    "found": {
        "protect": {"rows": 2},
        "let": {"band": "bin(cost, [0, 5, 10, 20])"},
        "statistics": [
            {
                "count": "rows",
                "margins": [["county", "band"]],
                "keys": {
                    "county": {"discover": {"delta": 1e-9, "weight": 0.25, "most": 5}},
                    "band": ["0-5", "5-10"],
                },
            },
            {
                "sum": "cost",
                "bounds": [0, 20],
                "resolution": 0.5,
                "by": ["county"],
                "keys": {"discover": {"delta": 1e-9}},
            },
        ],
    },
    "synthetic": {
        "protect": {"rows": 1},
        "columns": ["county"],
        "keys": KEYS,
        "n_synthetic": 20,
    },
}
# The columns of the protected table that is joined, which holds the same rows.
JOINED = dict(zip(COLUMNS, ("person", "ward", "fee", "remark"), strict=True))
BASE = [(f"p{i}", ("north", "south")[i % 2], float(i % 19), "nothing") for i in range(40)]
USUAL = ("p99", "north", 3.0, "nothing")

TEXTS: dict[str, str] = {
    "empty": "",
    "a space": " ",
    "NULL": "NULL",
    "NaN": "NaN",
    "inf": "inf",
    "-Infinity": "-Infinity",
    "1e308": "1e308",
    "1e400": "1e400",
    "-1e400": "-1e400",
    "5e-324": "5e-324",
    "minus zero": "-0",
    "forty digits": "9" * 40,
    "below": "-17",
    "hexadecimal": "0x10",
    "a comma": "1,5",
    "an underscore": "1_000",
    "true": "true",
    "a day that is none": "2026-02-30",
    "a day far away": "99999-12-31",
    "quotes": 'say "x"',
    "a line break": "two\nlines",
    "a tab": "a\tb",
    "a formula": "=cmd|' /C calc'!A0",
    "right to left": "\u202eabc",
    "zero width": "no\u200brth",
    "Cyrillic": "n\u043erth",
    "decomposed": "e\u0301",
    "an emoji": "\U0001f9d1\u200d\U0001f52c",
    "a surrogate's neighbour": "\ud7ff\ue000",
    "not a character": "\uffff",
    "a null byte": "a\0b",
    "long": "x" * 100_000,
    "another key": "west",
}
BYTES = {
    "no UTF-8": b"\xff\xfe",
    "cut UTF-8": b"\xe2\x82",
    "Latin 1": b"caf\xe9",
    "an open quotation mark": b'"x',
    "a quotation mark inside": b'x"y',
    "a lone carriage return": b"x\ry",
}
NUMBERS: dict[str, float | None] = {
    "null": None,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "largest": 1.7976931348623157e308,
    "least": -1.7976931348623157e308,
    "tiny": 5e-324,
    "minus zero": -0.0,
    "2^53 + 1": 9007199254740993.0,
    "2^63": 9.223372036854775808e18,
    "between": 3.25,
}
# What a column of pandas objects may hold in one row.
OBJECTS: dict[str, Any] = {
    "nothing": None,
    "NaN": float("nan"),
    "a whole number": 7,
    "a huge number": 10**400,
    "a fraction": 2.5,
    "a truth": True,
    "bytes": b"\xff",
    "a decimal": Decimal("1e400"),
    "a day": date.max,
    "a moment": datetime.min,
    "a list": [1, "a"],
    "a mapping": {"a": 1},
    "an object": object(),
    "a lone surrogate": "\ud800",
    "text": "west",
}
DAYS = {"the first day": date.min, "the last day": date.max}
# Whole numbers that are stored where a moment should be, and that none has.
AGES = {"no moment": 2**62, "no moment before": -(2**62)}


_ON_SERVER, _ON_SPARK = "a table on PostgreSQL", "Parquet on Spark"


@dataclass(frozen=True)
class Case:
    """A data set: how it is given, its odd value and where; `write` makes the source.

    What it returns, if anything, are the data themselves, which are then given from Python.
    `joined` is the same table with other names of columns, as the source of a join.
    """

    how: str
    column: str
    name: str
    write: Callable[[Path], Any]
    source: str
    joined: str = "joined.parquet"
    noted: str = "lower(note) != 'nothing' or note is null"


def _joined(table: pa.Table) -> pa.Table:
    return table.rename_columns(list(JOINED.values()))


def _csv(rows: Sequence[Sequence[Any]], names: Collection[str] = COLUMNS) -> bytes:
    def cell(value: Any) -> bytes:
        if isinstance(value, bytes):
            return value
        text = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        quoted = '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n\r') else text
        return quoted.encode("utf-8", "surrogatepass")

    lines = [b",".join(cell(value) for value in row) for row in rows]
    return b"\n".join([",".join(names).encode(), *lines]) + b"\n"


def _with(column: str, value: Any) -> list[tuple[Any, ...]]:
    odd = tuple(value if name == column else usual for name, usual in zip(COLUMNS, USUAL))  # noqa: B905
    return [*BASE, odd]


def _parquet(rows: Sequence[Sequence[Any]], note: pa.DataType | None = None) -> pa.Table:
    types = dict(zip(COLUMNS, (pa.string(), pa.string(), pa.float64(), note or pa.string())))  # noqa: B905
    columns = list(zip(*rows))  # noqa: B905
    if note is not None:
        columns[3] = tuple(None if value == "nothing" else value for value in columns[3])
    table = pa.table(
        {
            name: pa.array(c, pa.int64() if _counts(types[name]) else types[name])
            for name, c in zip(COLUMNS, columns)  # noqa: B905
        }
    )
    if note is not None and _counts(note):
        return table.set_column(3, "note", table["note"].combine_chunks().view(note))
    return table


def _counts(kind: pa.DataType) -> bool:
    """Whether values are given as the whole numbers that are stored."""
    return pa.types.is_timestamp(kind) or pa.types.is_time(kind)


def _csv_case(column: str, name: str, rows: Sequence[Sequence[Any]]) -> Case:
    def write(folder: Path) -> None:
        (folder / "data.csv").write_bytes(_csv(rows))
        (folder / "joined.csv").write_bytes(_csv(rows, JOINED.values()))

    return Case("csv", column, name, write, "data.csv", "joined.csv")


def _parquet_case(how: str, column: str, name: str, table: pa.Table, scheme: str = "") -> Case:
    kind = table.schema.field("note").type
    noted = {} if kind == pa.string() else {"noted": "cost > 3"}  # no formula takes these
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        noted = {"noted": "note < '2026-01-31' or note is null"}

    def write(folder: Path) -> None:
        pq.write_table(table, folder / "data.parquet")
        pq.write_table(_joined(table), folder / "joined.parquet")

    source, joined = f"{scheme}data.parquet", f"{scheme}joined.parquet"
    return Case(how, column, name, write, source, joined, **noted)


def _duckdb_case(how: str, column: str, name: str, table: pa.Table) -> Case:
    def write(folder: Path) -> None:
        import duckdb

        with duckdb.connect(str(folder / "data.db")) as connection:
            connection.register("given", table)
            connection.execute("create table visits as from given")
            connection.register("renamed", _joined(table))
            connection.execute("create table joined as from renamed")

    base = "duckdb:///data.db?table="
    return Case(how, column, name, write, f"{base}visits", f"{base}joined")


def _frame_case(how: str, column: str, name: str, table: pa.Table) -> Case:
    def frame(folder: Path) -> Any:
        pq.write_table(_joined(table), folder / "joined.parquet")
        if how == "Polars":
            import polars

            return polars.from_arrow(table)
        return table.to_pandas() if how == "pandas" else table

    return Case(how, column, name, frame, "data.csv")


def _objects(column: str, value: Any) -> Callable[[Path], Any]:
    """A pandas frame whose columns hold objects, which have no type but that of each value."""

    def frame(folder: Path) -> Any:
        import pandas

        pq.write_table(_joined(_parquet(BASE)), folder / "joined.parquet")

        rows = BASE if column == "-" else _with(column, value)
        return pandas.DataFrame(dict(zip(COLUMNS, zip(*rows), strict=True)), dtype=object)  # noqa: B905

    return frame


def _tables(make: Callable[[str, str, pa.Table], Case], bare: bool = False) -> list[Case]:
    """A family of typed tables: odd texts and odd numbers, each in one row."""
    family = [make("-", "without", _parquet(BASE))]
    for column in ("person", "county", "note"):
        for name, text in (TEXTS | {"null": None}).items():  # type: ignore[operator]
            if not (bare and text and "\0" in text):
                family.append(make(column, name, _parquet(_with(column, text))))
    for name, number in NUMBERS.items():
        family.append(make("cost", name, _parquet(_with("cost", number))))
    return family


def cases() -> Iterator[list[Case]]:
    """Yield families: the neighbour without the person first, then those with odd ones."""
    usual = _csv_case("-", "without", BASE)
    family = [usual, _csv_case("-", "with", [*BASE, USUAL])]
    for column in COLUMNS:
        family += [_csv_case(column, n, _with(column, v)) for n, v in (TEXTS | BYTES).items()]  # type: ignore[operator]
    yield family
    yield _tables(partial(_parquet_case, "Parquet"))
    moments = [(kind, AGES) for kind in (pa.timestamp("ms"), pa.timestamp("us"), pa.time64("us"))]
    for kind, values in ((pa.binary(), BYTES), (pa.date32(), DAYS), *moments):
        how = f"Parquet, note {kind}"
        family = [_parquet_case(how, "-", "without", _parquet(BASE, kind))]
        for name, value in values.items():  # type: ignore[attr-defined]
            family.append(_parquet_case(how, "note", name, _parquet(_with("note", value), kind)))
        yield family
    yield _tables(partial(_duckdb_case, "a DuckDB file"))
    for how in ("Arrow", "pandas", "Polars"):
        yield _tables(partial(_frame_case, how))
    family = [Case("pandas, objects", "-", "without", _objects("-", None), "data.csv")]
    for column in COLUMNS:
        for name, value in OBJECTS.items():
            made = _objects(column, value)
            family.append(Case("pandas, objects", column, name, made, "data.csv"))
    yield family


def _none(column: str, name: str, _: pa.Table) -> Case:
    """A case that is only counted."""
    return Case("", column, name, lambda _: None, "")


def in_postgresql(url: str, execute: Callable[..., None]) -> Iterator[list[Case]]:
    """Yield the family whose source is a table of a server."""

    def case(column: str, name: str, table: pa.Table) -> Case:
        def write(_: Path) -> None:
            rows = list(zip(*(table[name].to_pylist() for name in COLUMNS), strict=True))
            for name in ("visits", "joined"):
                execute(f"TRUNCATE {name}")
                for row in rows:
                    execute(f"INSERT INTO {name} VALUES (%s, %s, %s, %s)", row)  # noqa: S608

        base = f"{url}?table="
        return Case(_ON_SERVER, column, name, write, f"{base}visits", f"{base}joined")

    execute("CREATE TABLE visits (person text, county text, cost double precision, note text)")
    execute("CREATE TABLE joined (person text, ward text, fee double precision, remark text)")
    yield _tables(case, bare=True)


def on_spark() -> Iterator[list[Case]]:
    """Yield the family whose source is a file that Spark reads."""
    yield _tables(partial(_parquet_case, _ON_SPARK, scheme="spark://"))


# -- one run, and everything that can be seen of it


@contextmanager
def _fixed() -> Iterator[None]:
    """Replace what mechanisms return by fixed numbers, as many as there were.

    Of keys that are sought, those that more than one person has are found.
    """
    with_noise, noisy_max = drawing.with_noise, drawing.noisy_max

    def fixed(call: Any, numbers: Sequence[int], progress: Any = None) -> list[int]:
        least = call.threshold
        return [3 if least is None else int(least + 1) * (units > 1) for units in numbers]

    drawing.with_noise = fixed  # type: ignore[assignment]
    drawing.noisy_max = lambda scores, scale, **_: 0  # type: ignore[assignment]
    jointly = Ranked.chosen
    Ranked.chosen = lambda *given: [0] * len(jointly(*given))  # type: ignore[method-assign]
    multinomial, secret = noise.multinomial, expressions.secrets
    expressions.secrets = SimpleNamespace(token_hex=lambda size: "5a" * size)  # of samples
    noise.multinomial = lambda size, weights: [size] + [0] * (len(weights) - 1)
    try:
        yield
    finally:
        noise.multinomial, expressions.secrets = multinomial, secret
        drawing.with_noise, Ranked.chosen = with_noise, jointly  # type: ignore[method-assign]
        drawing.noisy_max = noisy_max


@contextmanager
def _remembered() -> Iterator[None]:
    """Work out what takes budgets and no data once for the same arguments.

    What an argument had learned from a row would be another argument, and worked out anew.
    """
    learned = sys.modules["discreet.statements.learned"]  # the room; its function has its name
    rooms = ((learned, "explain"), (adding_up, "_descended"), (adding_up.Design, "part_of"))
    own: list[tuple[Any, str, Any]] = [(room, name, getattr(room, name)) for room, name in rooms]
    known: dict[tuple[str, bytes], Any] = {}

    def once(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def found(*given: Any, **named: Any) -> Any:
            key = name, pickle.dumps((given, named))
            if key not in known:
                known[key] = work(*given, **named)
            return known[key]

        return found

    for room, name, work in own:
        setattr(room, name, once(name, work))
    try:
        yield
    finally:
        for room, name, work in own:
            setattr(room, name, work)


_CHANGING = (
    re.compile(r"\b[0-9a-f]{64}\b"),
    re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}\b"),
    re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?"),
    re.compile(r"\d+(\.\d+)? (s|seconds)\b"),
)


def _plain(text: str) -> str:
    """Return a text with identifiers, hashes and moments replaced by signs of the same length."""
    for pattern in _CHANGING:
        text = pattern.sub(lambda found: "#" * len(found[0]), text)
    return text


def _seen(folder: Path, run: Callable[[], None]) -> dict[str, Any]:
    """Run something; return all that can be seen of it, and the processor time it took."""
    logged = io.StringIO()
    handler = logging.StreamHandler(logged)
    logging.getLogger().addHandler(handler)
    out, errors, code = io.StringIO(), io.StringIO(), 0
    start = time.process_time()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        if code > 128:  # a signal, which ends the campaign and not one release
            raise
    except DiscreetError as error:
        code = error.exit_code
        errors.write(str(error))
    finally:
        logging.getLogger().removeHandler(handler)
    took = time.process_time() - start
    files = {
        _plain(str(path.relative_to(folder / "out"))): path
        for path in sorted((folder / "out").rglob("*"))
        if path.is_file()
    }
    return {
        "exit code": code,
        "printed": _plain(out.getvalue()),
        "errors": _plain(errors.getvalue()),
        "logged": _plain(logged.getvalue()),
        "names of files": list(files),
        "sizes of files": {name: path.stat().st_size for name, path in files.items()},
        "contents of files": {
            name: _plain(path.read_bytes().decode("utf-8", "backslashreplace"))
            for name, path in files.items()
        },
        "seconds": took,
    }


def _run(case: Case, folder: Path) -> dict[str, Any]:
    """Release the data of a case in a fresh folder, by each spec; return all that was seen.

    The first spec has a dry run before it.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["DISCREET_STATE"] = str(folder / "state")
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    for account, kind, cap in (
        ("people", "basic", ApproxDP(100.0, 1e-3)),
        ("tables", "zcdp", ZCDP(1.0)),
    ):
        ledger.open_account(
            account,
            unit="person",
            adjacency="add-remove",
            filter=kind,
            cap=cap,
            approver="campaign",
            reason="neighbours",
        )
    for name, own in SPECS.items():
        spec = {"account": "people", "budget": {"epsilon": 4.0}} | own
        spec |= {
            "purpose": "neighbours",
            "source": case.source,
            "protect": {"unit": "person", "column": "person"} | own.get("protect", {}),
            "ledger": "sqlite:///ledger.db",
            "output": f"out/{name}",
        }
        if "join" in own:
            spec["join"] = [join | {"source": case.joined} for join in own["join"]]
        text = yaml.safe_dump(spec, width=1000).replace("NOTED", f"({case.noted})")
        (folder / f"{name}.yaml").write_text(text)
    data = case.write(folder)

    def run(name: str, *flags: str) -> None:
        synthetic = "n_synthetic" in SPECS[name]
        if data is None:
            command = "synthesize" if synthetic else "release"
            discreet([command, f"{name}.yaml", "--json", *flags])
        make = synthesize if synthetic else release
        made = make(f"{name}.yaml", data=data, dry_run="--dry-run" in flags)  # type: ignore[operator]
        print(json.dumps(made.to_dict()))

    (folder / "out").mkdir()
    here, first = Path.cwd(), next(iter(SPECS))
    os.chdir(folder)
    try:
        with _fixed():
            seen = {"dry run": _seen(folder, partial(run, first, "--dry-run"))}
            seen |= {name: _seen(folder, partial(run, name)) for name in SPECS}
    finally:
        os.chdir(here)
    entries = Ledger.open(f"sqlite:///{folder / 'ledger.db'}").entries()
    found = {f"{name}: {what}": v for name, told in seen.items() for what, v in told.items()}
    refused = {name: told["errors"] for name, told in seen.items() if told["exit code"] != 0}
    if refused and case.column == "-":  # two refusals would be the same, and say nothing
        raise RuntimeError(f"{case.how}: {refused}")
    found["seconds"] = seen[first]["seconds"]
    found["ledger"] = [_plain(json.dumps(e.said, sort_keys=True, default=str)) for e in entries]
    return found


@dataclass(frozen=True)
class Compared:
    """A pair of neighbours: which, what differed, and how their times compare."""

    how: str
    column: str
    name: str
    differs: tuple[str, ...]
    ratio: float
    within: bool


def neighbours(
    families: Iterator[list[Case]],
    folder: Path,
    every: int = 1,
    before: Collection[tuple[str, str, str]] = (),
    start: int = 0,
    timed: bool = True,
) -> Iterator[Compared]:
    """Compare the first of each family with every other not compared `before`; yield them."""
    for first, *others in families:
        chosen = [c for c in others[start::every] if (c.how, c.column, c.name) not in before]
        if not chosen:
            continue
        if timed:
            _run(first, folder)  # what is loaded once is loaded here
        runs = [_run(first, folder) for _ in range(3 if timed else 1)]
        seconds = median(run["seconds"] for run in runs)
        for case in chosen:
            found = _run(case, folder)
            differs = tuple(
                name for name in found if "seconds" not in name and found[name] != runs[0][name]
            )
            took = found["seconds"]
            within = seconds / BAND - SLACK <= took <= seconds * BAND + SLACK
            yield Compared(case.how, case.column, case.name, differs, took / seconds, within)


@contextmanager
def _postgresql() -> Iterator[Iterator[list[Case]]]:
    import psycopg

    from servers import PostgreSQL

    server = PostgreSQL()
    try:
        server.start()
        url = server.url(server.database())
        with psycopg.connect(url, autocommit=True) as connection:

            def execute(sql: str, values: Sequence[Any] = ()) -> None:
                connection.execute(sql, values)  # type: ignore[call-overload]

            yield in_postgresql(url, execute)
    finally:
        server.remove()


@contextmanager
def _spark() -> Iterator[Iterator[list[Case]]]:
    from pyspark.sql import SparkSession

    # What is running is used by every release; each alone would start Spark.
    with (
        tempfile.TemporaryDirectory(prefix="discreet-spark-") as folder,
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "1")  # forty rows
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.cache.maxEntries", "10000")  # the same queries, each time
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.local.dir", folder)
        .config("spark.sql.warehouse.dir", folder)
        .getOrCreate() as session,
    ):
        session.sparkContext.setLogLevel("OFF")
        yield on_spark()


@contextmanager
def _duckdb() -> Iterator[Iterator[list[Case]]]:
    yield cases()


ENGINES = {"duckdb": _duckdb, "postgresql": _postgresql, "spark": _spark}


def campaign(
    engines: Sequence[str], every: int, keep: Path | None = None, start: int = 0
) -> Iterator[Compared]:
    """Compare neighbours on each engine; with a file to `keep` them in, go on where it stopped."""
    before = {}
    if keep is not None and keep.exists():
        for line in keep.read_text().splitlines():
            one = Compared(**json.loads(line))
            before[one.how, one.column, one.name] = one
    yield from before.values()
    with _remembered(), tempfile.TemporaryDirectory(prefix="discreet-neighbours-") as name:
        for engine in engines:
            with ENGINES[engine]() as families:
                for one in neighbours(families, Path(name) / "here", every, before, start):
                    if keep is not None:
                        with keep.open("a") as file:
                            file.write(json.dumps(asdict(one)) + "\n")
                    yield one


def recorded(found: Sequence[Compared]) -> str:
    """Return the counts as the page on quality shows them."""
    lines = [f"Run on {today()}, version {__version__}:", ""]
    lines += ["| data | pairs | the same | pairs there are |", "|---|---:|---:|---:|"]
    there = Counter(
        {_ON_SERVER: len(_tables(_none, bare=True)) - 1, _ON_SPARK: len(_tables(_none)) - 1}
    )
    for first, *others in cases():
        there[first.how] += len(others)
    for how in (*dict.fromkeys(one.how for one in found), ""):
        rows = [one for one in found if how in ("", one.how)]
        same, whole = sum(not one.differs for one in rows), there[how] if how else there.total()
        lines.append(f"| {how or 'together'} | {len(rows):,} | {same:,} | {whole:,} |")
    ratios = [one.ratio for one in found]
    late = sum(not one.within for one in found)
    lines += [
        "",
        f"Times were between {min(ratios):.2f} and {max(ratios):.2f} times the neighbour's;",
    ]
    lines += [f"{late} of {len(found):,} were outside the band."]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description="Look for what tells two neighbours apart.")
    parser.add_argument("--engines", nargs="*", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--every", type=int, default=1, help="only every n-th odd value")
    parser.add_argument("--start", type=int, default=0, help="how many of them to leave out first")
    parser.add_argument("--keep", type=Path, help="a file to keep what is done in, and go on from")
    parser.add_argument("--record", action="store_true", help="write the counts to docs/quality.md")
    asked = parser.parse_args(arguments)
    found = []
    for one in campaign(asked.engines, asked.every, asked.keep, asked.start):
        found.append(one)
        if one.differs or not one.within:
            what = ", ".join(one.differs) or f"time: {one.ratio:.2f} times"
            print(f"{one.how}, {one.column}, {one.name}: {what}", file=sys.stderr, flush=True)
    print(recorded(found))
    if asked.record:
        write_section(QUALITY, "neighbours", recorded(found))
    return 1 if any(one.differs or not one.within for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
