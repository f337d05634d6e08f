"""`where`, `let` and `per_unit`: what they select and refuse, and what one unit may change."""

from __future__ import annotations

import datetime
import itertools
import json
import math
import random
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from discreet import check, rehearse
from discreet.cli import main as discreet
from discreet.errors import DataError, DiscreetError, PolicyError, SpecError
from discreet.guarantees import ApproxDP
from discreet.ledger import Ledger
from discreet.releases import Release, release
from discreet.releases.contributions import Contribution
from discreet.releases.engines import duckdb as duckdb_engine
from discreet.releases.engines import opened
from discreet.releases.engines.base import Counting, KeySet, Number, Query, Summing
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.formula import parse, resolve
from discreet.releases.planning import plan_of
from discreet.releases.rows import joined, shaped
from discreet.releases.spec import load
from soaking import chequered, examples

DAY = datetime.date
PERSON = {"unit": "person", "column": "person"}
VISITS = pa.table(
    {
        "person": [f"p{i}" for i in range(300) for _ in range(3)],
        "age": [i % 90 for i in range(300) for _ in range(3)],
        "cost": [10.0 * j for _ in range(300) for j in range(3)],
        "diagnosis": [
            "C18" if i % 3 == 0 and j == 0 else "x" for i in range(300) for j in range(3)
        ],
        "day": [DAY(2026, 1 + j, 5) for _ in range(300) for j in range(3)],
    }
)


def _spec(*statistics: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "account": "people",
        "purpose": "test",
        "protect": {"unit": "person", "column": "person", "rows": 3},
        "budget": {"epsilon": 1000.0},
        "statistics": list(statistics) or [{"count": "rows"}],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    } | changes


def _released(folder: Path, spec: dict[str, Any]) -> dict[tuple[str, ...], float]:
    """Release with a budget of 1000: each count is right but with probability below 1e-9."""
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    ledger.open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="basic",
        cap=ApproxDP(1e6, 0.5),
        approver="tester",
        reason="test",
    )
    made = release(spec, data=VISITS, folder=folder)
    assert isinstance(made, Release)
    columns = list(made.table.columns)
    last = columns.index("value")
    return {tuple(map(str, row[:last])): float(row[last] or 0) for row in made.table.rows()}


def test_a_condition_on_the_whole_spec_and_on_a_statistic(tmp_path: Path) -> None:
    found = _released(
        tmp_path,
        _spec(
            {"count": "rows", "name": "all"},
            {"count": "rows", "name": "dear", "where": "cost >= 10"},
            {"count": "units", "name": "units", "where": "diagnosis = 'C18'"},
            {"sum": "cost", "bounds": [0, 20], "resolution": 1, "where": "month(day) = 3"},
            where="age < 45",
            budget={"epsilon": 10_000.0},  # a sum moves by 60: it is wrong with probability 2e-18
        ),
    )
    young = sum(1 for i in range(300) if i % 90 < 45)
    ill = sum(1 for i in range(0, 300, 3) if i % 90 < 45)
    assert list(found.values()) == [3 * young, 2 * young, ill, 20 * young]
    stored = json.loads(next((tmp_path / "out").rglob("release.json")).read_text())
    assert stored["explanations"]["dear"].endswith("condition: (age < 45) and (cost >= 10).")


def test_statistics_inside_another_have_conditions_of_their_own(tmp_path: Path) -> None:
    inside = {"of": {"count": "units", "where": "age >= 45"}, "among": {"count": "units"}}
    spec = _spec({"share": inside, "name": "s"})
    found = _released(tmp_path, spec)
    share = sum(1 for i in range(300) if i % 90 >= 45) / 300
    assert abs(next(v for k, v in found.items() if k[0] == "s") - share) < 0.01
    assert load(spec).conditions == {"age >= 45": "s/of.where"}
    assert load(spec).as_shaped().conditions == {}
    # Of rows, each count keeps its own; of units there is nothing to choose.
    rows = {"of": {"count": "rows", "where": "age >= 45"}, "among": {"count": "rows"}}
    with pytest.raises(SpecError, match="each by itself"):
        release(_spec({"share": rows}), data=VISITS, folder=tmp_path, dry_run=True)
    spec["statistics"][0]["where"] = "age > 1"
    with pytest.raises(SpecError, match="made from other statistics"):
        release(spec, data=VISITS, folder=tmp_path, dry_run=True)


def test_a_check_and_a_rehearsal_see_the_same_rows(tmp_path: Path) -> None:
    count = {"count": "rows", "name": "n", "by": ["band"], "where": "cost > 5"}
    spec = _spec(count, let={"band": "bin(age, [0, 45])"}, where="age < 80")
    kinds: Any = {"person": "text", "age": "integer", "cost": "number"}
    assert check(spec, columns=kinds).plan.statistics[0].by == ("band",)
    assert check(spec).plan.statistics[0].by == ("band",)
    with pytest.raises(SpecError, match="no column 'cost'"):
        check(spec, columns={"person": "text", "age": "integer"})
    rehearse(spec, VISITS, folder=tmp_path, limits=[1], repeats=1)


def test_derived_columns_have_keys_of_their_own(tmp_path: Path) -> None:
    found = _released(
        tmp_path,
        _spec(
            {"count": "rows", "name": "n", "by": ["band", "dear"]},
            {"count": "units", "name": "u", "by": ["month"]},
            let={"band": "bin(age, [0, 18, 65])", "dear": "cost > 5", "month": "month(day)"},
        ),
    )
    assert {key[1:3] for key in found if key[0] == "n"} == set(
        itertools.product(("0-18", "18-65", "65+"), ("false", "true"))
    )
    children = sum(1 for i in range(300) if i % 90 < 18)
    assert found[("n", "0-18", "true", "None")] == 2 * children
    months = [value for key, value in found.items() if key[0] == "u"]
    assert months == [300, 300, 300] + [0] * 9


def test_features_of_a_unit(tmp_path: Path) -> None:
    found = _released(
        tmp_path,
        _spec(
            {"count": "units", "name": "ill", "where": "has_c18 and visits = 3"},
            {"mean": "spent", "bounds": [0, 50], "resolution": 0.5},
            {"count": "rows", "name": "by", "by": ["much"]},
            protect=PERSON,
            where="day >= '2026-01-01'",
            per_unit={
                "visits": "count",
                "spent": {"sum": "cost", "bounds": [0, 100]},
                "has_c18": {"any": "diagnosis = 'C18'"},
            },
            let={"much": "spent > 29"},
        ),
    )
    assert [round(value) for value in found.values()] == [100, 30, 0, 300]


def test_the_dry_run_prints_one_row_for_each_unit(tmp_path: Path) -> None:
    spec = _spec(protect=PERSON, per_unit={"visits": "count"})
    shown = release(spec, data=VISITS, folder=tmp_path, dry_run=True).to_dict()
    assert shown["contributions"]["count_rows_1"]["rows"] == 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"where": "age >"}, "where: age >: the formula ends at character 6"),
        ({"where": "age + 1"}, "a truth value was expected"),
        ({"where": "nobody = 1"}, "no column 'nobody'"),
        ({"where": "day = 'yesterday'"}, "'yesterday' is no date"),
        ({"let": {"age": "cost"}}, "a column 'age' already"),
        ({"let": {"x": "month(diagnosis)"}}, "declare the column"),
        ({"let": {"x": "exec('rm')"}}, "no function 'exec'"),
        ({"let": {"x": "hour(day)"}}, "hour of a date"),
        ({"per_unit": {"n": {"any": "b", "count": "true"}}, "protect": PERSON}, "one of count"),
        ({"per_unit": {"n": {"sum": "cost"}}, "protect": PERSON}, "needs bounds"),
        ({"per_unit": {"n": "count"}}, "every unit has one row"),
        (
            {"per_unit": {"person": "count"}, "protect": {"unit": "person", "column": "person"}},
            "'person' already",
        ),
        ({"per_unit": {"n": "count"}, "protect": {"unit": "record"}}, "a record has one"),
        ({"statistics": [{"count": "rows", "where": "cost = 'x'"}]}, "without quotation marks"),
        ({"where": "+".join(["age"] * 12) + " > 1"}, "more than 5 deep"),
        ({"where": "(" * 60 + "age" + ")" * 60}, "nested more than"),
        ({"where": "age = 1 " * 400}, "characters"),
        ({"where": "cost > 0,5"}, "write 0.5 for a decimal, or 0, 5 for two numbers"),
        ({"where": "cost in (0,5, 1,5)"}, "write 0.5 for a decimal"),
        ({"let": {"x": "if(cost > 0,5, 'a', 'b')"}}, "write 0.5 for a decimal"),
        ({"let": {"x": "bin(cost, [1,5, 2,5])"}}, "write 1.5 for a decimal"),
        ({"where": "cost in (1,2) and age between 3 or 4"}, "'and' was expected"),
    ],
)
def test_what_cannot_be_is_refused_before_the_charge(
    changes: dict[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(DiscreetError) as told:
        release(_spec(**changes), data=VISITS, folder=tmp_path, dry_run=True)
    assert told.value.exit_code == 2
    assert why in str(told.value)


@pytest.mark.parametrize(
    "formula", ["x in (1,2,3)", "bin(x, [0,18,65], ['a', 'b', 'c'])", "x in ('1,5', '2, 5')"]
)
def test_a_list_without_spaces_is_a_list(formula: str) -> None:
    assert parse(formula).text == formula


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("day >= '2026-01-15'", "as date"),
        ("day between '2026-01-15' and '2026-02-01'", "as date"),
        ("age > 65", "as number"),
        ("county = '15'", "as text"),
        ("day >= '15.01.2026'", "'15.01.2026' is no date; write dates like '2026-01-31'"),
        ("age > '65'", "numbers without quotation marks"),
        ("county < 'm'", "declare the column"),
    ],
)
def test_the_order_of_texts_is_asked_of_declared_texts_alone(formula: str, said: str) -> None:
    """As texts, 9 comes after 65, and 02.01.2027 before 15.01.2026."""
    columns: dict[str, Any] = dict.fromkeys(("day", "age", "county"), "untyped")
    if said.startswith("as "):
        assert said in repr(resolve(parse(formula), columns))
    else:
        with pytest.raises(SpecError) as told:
            resolve(parse(formula), columns)
        assert said in str(told.value)
    assert resolve(parse("county < 'm'"), {"county": "text"}).type == "boolean"


def test_dates_and_numbers_are_told_apart_by_quotation_marks() -> None:
    columns: dict[str, Any] = {"day": "moment", "age": "integer"}
    for formula, said in (
        ("day > 2026-01-31", "between quotation marks, like '2026-01-31'"),
        ("age > '65'", "write numbers without quotation marks"),
        ("age > 1 && age < 5", "joined by and, or, not"),
    ):
        with pytest.raises(SpecError) as told:
            resolve(parse(formula), columns)
        assert said in str(told.value)


def test_keys_that_no_formula_says_still_have_to_be_public(tmp_path: Path) -> None:
    with pytest.raises(PolicyError):
        load(_spec({"count": "rows", "by": ["y"]}, let={"y": "lower(diagnosis)"}), folder=tmp_path)


def test_the_command_says_where_a_formula_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import yaml

    (tmp_path / "v.csv").write_text("person,age\na,1\n")
    spec = _spec({"count": "rows", "where": "age => 3"}, source="v.csv")
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        discreet(["release", "spec.yaml", "--dry-run"])
    assert ended.value.code == 2
    assert "(at character 6)" in capsys.readouterr().err


# -- keys that are known, and keys that are found


@pytest.mark.parametrize(
    ("by", "known", "cells"),
    [
        (["diagnosis"], {"diagnosis": ["C18", "C20"]}, {("C18",): 100, ("C20",): 0, ("x",): 800}),
        (
            ["diagnosis", "dear"],
            {"dear": ["true", "false"]},
            {
                ("C18", "false"): 100,
                ("C18", "true"): 0,
                ("x", "false"): 200,
                ("x", "true"): 600,
            },
        ),
    ],
)
def test_known_keys_are_published_beside_those_that_are_found(
    by: list[str], known: dict[str, list[str]], cells: dict[Any, int], tmp_path: Path
) -> None:
    keys = {"discover": {"delta": 1e-6}, "known": known}
    budget = {"epsilon": 1000.0, "delta": 1e-6}
    spec = _spec({"count": "rows", "by": by, "keys": keys}, let={"dear": "cost > 5"}, budget=budget)
    found = _released(tmp_path, spec | {"mechanism": "geometric"})
    assert {key[1:]: value for key, value in found.items()} == cells
    with pytest.raises(DiscreetError, match="'age'"):
        load(_spec({"count": "rows", "by": by, "keys": keys | {"known": {"age": ["1"]}}}))


# -- public tables


def _joined(folder: Path, table: str, rows: int = 3, **join: Any) -> Any:
    (folder / "doctors.csv").write_text(table)
    pq.write_table(VISITS, folder / "visits.parquet")
    asked = {"source": "doctors.csv", "by": "diagnosis", "public": True} | join
    keys = {"by": ["ward"], "keys": {"ward": ["north", "south"]}}
    spec = _spec({"count": "rows", **keys}, source="visits.parquet", join=asked)
    engine = opened(spec["source"], folder.joinpath)
    found = shaped(joined(engine, load(spec, folder=folder)), load(spec, folder=folder))
    cells = KeySet(("ward",), (("north",), ("south",)))
    bounds = Contribution(rows, rows, rows)
    numbers = found.measure(Query(("person",), cells, bounds, (Counting("n"),)))["n"]
    whole = found.measure(Query(("person",), None, bounds, (Counting("n"),)))["n"]
    found.close()
    return numbers, whole


def test_columns_of_a_public_table_are_looked_up(tmp_path: Path) -> None:
    table = "diagnosis,ward\nC18,north\n,south\nY,south\n"
    assert _joined(tmp_path, table) == ([100, 0], [900])
    assert _joined(tmp_path, table, unmatched="drop") == ([100, 0], [100])


def test_columns_of_a_public_table_may_have_new_names(tmp_path: Path) -> None:
    """A name that both tables have was refused, with advice that could not be followed."""
    table = "diagnosis,person\nC18,north\n,south\nY,south\n"
    with pytest.raises(SpecError, match="both tables have a column 'person'") as refused:
        _joined(tmp_path, table)
    assert "columns: {person_joined: person}" in str(refused.value)
    assert _joined(tmp_path, table, columns={"ward": "person"}) == ([100, 0], [900])
    with pytest.raises(SpecError, match="no column 'ward'"):
        _joined(tmp_path, table, columns={"person": "ward"})
    (tmp_path / "wards.csv").write_text("diagnosis;person\nC18;1.000,5\nx;2,5\n")
    written = {"path": "wards.csv", "delimiter": ";", "decimal": ",", "types": {"person": "number"}}
    asked = {"source": written, "by": "diagnosis", "public": True, "columns": {"beds": "person"}}
    spec = load(_spec(join=asked, where="beds > 1000"), folder=tmp_path)
    engine: Any = shaped(joined(DuckDB.of(VISITS), spec), spec)
    query = Query(("person",), None, Contribution(3, 3, 3), (Counting("n"),))
    assert engine.measure(query) == {"n": [100]}
    engine.close()


def test_numbers_of_a_public_table_are_read_as_its_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "wards.csv").write_text("diagnosis;beds\nC18;1.000,5\nx;2,5\n")
    written = {"path": "wards.csv", "delimiter": ";", "decimal": ",", "thousands": "."}
    asked = {"source": written, "by": "diagnosis", "public": True}
    mapping = _spec(join=asked, where="beds > 1000")
    spec = load(mapping, folder=tmp_path)
    engine: Any = shaped(joined(DuckDB.of(VISITS), spec), spec)
    beds = Number("beds", 0, 20_000, Fraction(1, 10))
    query = Query(("person",), None, Contribution(3, 3, 3), (Counting("n"), Summing("s", beds)))
    assert engine.measure(query) == {"n": [100], "s": [100 * 10_005]}
    engine.close()


def test_a_large_source_gives_what_a_small_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a million rows on, DuckDB counts units apart: also where rows are joined."""
    monkeypatch.setattr(duckdb_engine, "LARGE", 1)
    monkeypatch.setattr(duckdb_engine, "MOST_SHARE", 2.0)
    table = "diagnosis,ward\nC18,north\nx,south\n"
    assert _joined(tmp_path, table) == ([100, 800], [900])
    assert _joined(tmp_path, table, unmatched="drop", rows=2)[1] == [600]


@pytest.mark.parametrize(
    ("table", "join", "why"),
    [
        ("diagnosis,ward\nx,north\nx,south\n", {}, "several rows for the same diagnosis"),
        ("diagnosis,person\nx,north\n", {}, "both tables have a column 'person'"),
        ("code,ward\nx,north\n", {}, "no column 'diagnosis'"),
        ("diagnosis,ward\nx,north\n", {"columns": "beds"}, "no column 'beds'"),
        ("diagnosis,ward\nx,north\n", {"source": "visits.parquet"}, "is the protected source"),
        ("diagnosis,ward\nx,north\n", {"source": "postgresql://h/d?table=t"}, "is no file"),
        ("diagnosis,ward\nx,north\n", {"public": False}, "must be true"),
    ],
)
def test_a_join_that_cannot_be_is_refused(
    table: str, join: dict[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(DiscreetError, match=why):
        _joined(tmp_path, table, **join)


# -- protected tables

LEFT = [("a", 1), ("a", 2), ("b", 3), ("c", 4), (None, 5)]
RIGHT = [("a", 10.0), ("a", 20.0), ("a", 30.0), ("b", 40.0), ("b", None), ("d", 50.0), (None, 60.0)]


def _both(folder: Path, gone: str, most: int | None, bounds: Contribution, **join: Any) -> Any:
    """Join the tables without one of their units; return the count and the sum of all rows."""
    tables = {"who": pa.string(), "x": pa.int64()}, {"who": pa.string(), "cost": pa.float64()}
    for name, listed, kinds in zip(("left", "right"), (LEFT, RIGHT), tables, strict=True):
        columns = zip(*[row for row in listed if row[0] != gone], strict=True)
        arrays = [pa.array(c, k) for c, k in zip(columns, kinds.values(), strict=True)]
        pq.write_table(pa.table(arrays, names=list(kinds)), folder / f"{name}.parquet")
    asked = {"source": "right.parquet", "by": "who", "rows": most} | join
    protect = {"unit": "person", "column": "who", "rows": 4}
    spec = load(_spec(protect=protect, source="left.parquet", join=asked), folder=folder)
    engine: Any = shaped(joined(opened("left.parquet", folder.joinpath), spec), spec)
    field = Number("cost", 0, 60, Fraction(1))
    query = Query(("who",), None, bounds, (Counting("n"), Summing("s", field)))
    found = engine.measure(query)
    again = engine.measure(query)
    engine.close()
    if bounds.rows >= 6:
        assert again == found  # what is drawn of a unit is drawn once
    return found["n"][0], found["s"][0]


def test_every_row_is_there_for_each_row_of_the_other_table(tmp_path: Path) -> None:
    wide = Contribution(9, 1, 9)
    # a: 2 × 3 rows, b: 1 × 2, c: 1 without; nobody without a name counts.
    assert _both(tmp_path, "", 3, wide) == (9, 160)
    assert _both(tmp_path, "", 3, wide, unmatched="drop") == (8, 160)
    assert {_both(tmp_path, "", 1, wide)[0] for _ in range(5)} == {4}
    sums = {_both(tmp_path, "", 1, wide, unmatched="drop")[1] for _ in range(14)}
    # One row of 10, 20, 30 for both rows of a; of b 40 or nothing. All alike: below 6 · 6^-14.
    assert sums <= {20, 40, 60, 80, 100}
    assert len(sums) >= 2


@pytest.mark.parametrize(("rows", "most"), chequered([1, 2, 3], [1, 3, 6]))
def test_no_unit_of_two_tables_passes_its_sensitivity(rows: int, most: int, tmp_path: Path) -> None:
    """Which rows are drawn is left to chance; how many a unit has is not."""
    bounds = Contribution(most, 1, most)
    whole, _ = _both(tmp_path, "", rows, bounds)
    joined_rows = {"a": 2 * rows, "b": min(rows, 2), "c": 1, "d": 0}
    for name, own in joined_rows.items():
        assert whole - _both(tmp_path, name, rows, bounds)[0] == min(own, bounds.l1())


def test_a_public_table_may_lie_beside_the_protected_one(tmp_path: Path) -> None:
    """It was refused as the protected source, which lies in the same file."""
    import duckdb

    with duckdb.connect(str(tmp_path / "data.db")) as connection:
        for query in (
            "table visits as select 'p' || (i % 5) person, 'r' || i % 2 region from range(9) _(i)",
            "table regions as select * from (values ('r0', 'n'), ('r1', 's')) t(region, land)",
            "table again as select region, person from visits order by person",
            "view seen as select * from visits",
            "view afar as select region, 'n' as land from seen",
            "view lands as select * from regions",
        ):
            connection.execute(f"create {query}")
        connection.execute("create schema ops")
        for query in (
            "table ops.visits as select * from regions",
            "table ops.again as select * from visits",
            "view ops.seen as select region, 'n' as land from main.visits",
            "view ops.afar as select region, 'n' as land from ops.seen",
            "view elsewhere as select region, land from ops.visits",
        ):
            connection.execute(f"create {query}")
    shutil.copy(tmp_path / "data.db", tmp_path / "copy.db")
    keyed = {"count": "rows", "by": ["land"], "keys": {"land": ["n", "s"]}}

    def joined_with(table: str, source: str = "visits", file: str = "data.db") -> Any:
        join = {"source": f"duckdb:///{file}?table={table}", "by": "region", "public": True}
        asked = _spec(keyed, source=f"duckdb:///data.db?table={source}", join=join)
        return release(asked, folder=tmp_path, dry_run=True)

    public = ("regions", "lands", "main.regions", "ops.visits")
    for table, file in itertools.product(public, ("data.db", "copy.db")):
        assert joined_with(table, file=file).spent["epsilon"] == 1000
    refused = [(t, "visits", "data.db") for t in ("visits", "VISITS", "again", "seen", "afar")]
    refused += [(t, "visits", "data.db") for t in ("main.visits", "ops.again", "ops.afar")]
    refused += [("visits", "main.visits", "data.db"), ("Ops.Again", "visits", "copy.db")]
    refused += [("visits", "visits", "copy.db"), ("again", "visits", "copy.db")]
    refused += [("visits", "seen", "data.db"), ("again", "seen", "data.db")]
    for one in refused:
        with pytest.raises(PolicyError, match="is the protected source, a copy") as told:
            joined_with(*one)
        assert told.value.next
    with pytest.raises(SpecError, match="no table 'nowhere'"):
        joined_with("nowhere")
    spec = _spec(source="duckdb:///data.db?table=visits")
    for table, fits in (("regions", True), ("again", False)):
        twin = f"duckdb:///{tmp_path / 'data.db'}?table={table}"
        with pytest.raises(DataError if fits else PolicyError):  # it has no such column
            rehearse(spec, twin, folder=tmp_path)


@pytest.mark.parametrize(
    ("join", "why"),
    [
        ({"by": "x", "most": 1}, "name them in by"),
        ({"public": True, "most": 1}, "public: true"),
        ({"most": None}, "public: true"),
        ({"source": "left.parquet", "most": None, "public": True}, "is the protected source"),
    ],
)
def test_a_protected_join_that_cannot_be_is_refused(
    join: dict[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(DiscreetError, match=why):
        _both(tmp_path, "", bounds=Contribution(), **join)


def test_a_protected_table_is_no_list_of_keys_and_is_not_read_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stays.csv").write_text("person,ward\np1,north\np1,south\n")
    join = {"source": "stays.csv", "by": "person", "rows": 1}
    keyed = {"count": "rows", "by": ["ward"], "keys": {"ward": "stays.csv"}}
    with pytest.raises(PolicyError, match="protected"):
        release(_spec(keyed, join=join), data=VISITS, folder=tmp_path, dry_run=True)
    with pytest.raises(DiscreetError, match="must not read"):
        rehearse(_spec(join=join), VISITS, folder=tmp_path)
    (tmp_path / "codes.csv").write_text("diagnosis,code\nC18,1\nx,2\n")
    public = {"source": "codes.csv", "by": "diagnosis", "public": True}
    count = {"count": "units", "where": "(ward = 'north' or ward = 'south') and code is not null"}
    spec = _spec(count, join=[join, public])
    monkeypatch.setattr("discreet.releases.rows._drawn", None)
    shown = release(spec, data=VISITS, folder=tmp_path, dry_run=True).to_dict()
    assert shown["contributions"]["count_units_1"]["rows"] == 1
    monkeypatch.undo()
    assert list(_released(tmp_path, spec).values()) == [1]


# -- any text is read or refused


@settings(max_examples=examples(1_200), deadline=None)
@given(st.text(alphabet="ab1 .'\"`()[],=<>!+-*/\n\0ändornotis null", max_size=30))
def test_any_text_is_a_formula_or_refused(text: str) -> None:
    columns: Any = {"a": "integer", "b": "text", "ä": "untyped"}
    try:
        resolve(parse(text), columns)
    except SpecError as refused:
        assert str(refused)


# -- neighbours over random specs

NUMBERS = (0.0, 1.0, -1.0, 18.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, 0.1, None)
TEXTS = ("a", "b", "", "A", "1", "2026-01-31", "x'y", "%", "\\", "é", None)
DAYS = (DAY(1, 1, 1), DAY(9999, 12, 31), DAY(2024, 2, 29), DAY(2026, 1, 31), None)
TRUTHS = (True, False, None)


def _between(parts: tuple[str, ...]) -> str:
    return f"({' '.join(parts)})"


def _numbers() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["x", "y", "0", "1", "18", "0.1", "1e300", "month(d)", "year(d)"])
    return st.recursive(
        leaves,
        lambda below: st.one_of(
            st.tuples(below, st.sampled_from("+-*/"), below).map(_between),
            below.map(lambda e: f"abs({e})"),
            below.map(lambda e: f"floor({e})"),
            below.map(lambda e: f"-({e})"),
            st.tuples(_simple(), below, below).map(lambda t: f"if({', '.join(t)})"),
        ),
        max_leaves=3,
    )


def _simple() -> st.SearchStrategy[str]:
    return st.sampled_from(
        [
            "b",
            "t = 'a'",
            "t in ('a', 'b')",
            "x > 1",
            "d < '2025-01-01'",
            "x is null",
            "lower(t) = 'a'",
        ]
    )


def _conditions() -> st.SearchStrategy[str]:
    compared = st.tuples(
        _numbers(), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), _numbers()
    ).map(" ".join)
    return st.recursive(
        st.one_of(compared, _simple()),
        lambda below: st.one_of(
            st.tuples(below, st.sampled_from(["and", "or"]), below).map(
                lambda t: f"({' '.join(t)})"
            ),
            below.map(lambda e: f"not ({e})"),
        ),
        max_leaves=2,
    )


@st.composite
def _shapes(draw: Any) -> dict[str, Any]:
    """A spec of the grammar: perhaps a condition, derived columns, features."""
    spec: dict[str, Any] = {
        "let": {"v": draw(_numbers()), "band": f"bin({draw(_numbers())}, [-1, 0, 5])"}
    }
    if draw(st.booleans()):
        spec["where"] = draw(_conditions())
    if draw(st.booleans()):
        spec["per_unit"] = {
            "n": {"count": draw(_conditions())},
            "s": {"sum": draw(_numbers()), "bounds": [-5, 20], "resolution": 0.5},
            "k": {"any": draw(_conditions())},
            "m": {"max": draw(_numbers())},
        }
        spec["let"] = {"v": "s + m", "band": "bin(n, [0, 1, 2])"}
    return spec


VALUES = (NUMBERS, NUMBERS, TEXTS, DAYS, TRUTHS)
ROW = st.tuples(*map(st.sampled_from, VALUES))
Limits: TypeAlias = tuple[int, int | None, int | None]
BOUNDS = (
    st.tuples(st.sampled_from([1, 2, 3, 20]), *[st.sampled_from([None, 1, 2, 20])] * 2),
    st.booleans(),
)


@settings(max_examples=examples(48), deadline=None)
@given(
    _shapes(),
    st.lists(ROW, min_size=5, max_size=5),
    st.lists(st.lists(ROW, max_size=6), min_size=1, max_size=1),
    *BOUNDS,
)
def test_no_unit_passes_its_sensitivity(
    shape: dict[str, Any], base: list[Any], added: list[Any], limits: Limits, grouped: bool
) -> None:
    assert _compare(shape, base, added, limits, grouped) in (0, 6)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_no_unit_passes_its_sensitivity_at_length(part: int) -> None:
    """120 pairs of neighbours in each of 120 specs; more than 100,000 in all parts together."""
    compared = []
    shapes = (_shapes(), st.integers(0, 2**64 - 1), *BOUNDS)

    @seed(part)
    @settings(max_examples=examples(120), deadline=None, derandomize=False, database=None)
    @given(*shapes)
    def compare(shape: dict[str, Any], number: int, limits: Limits, grouped: bool) -> None:
        chance = random.Random(number)  # noqa: S311

        def drawn(size: int) -> list[Any]:
            return [tuple(map(chance.choice, VALUES)) for _ in range(size)]

        added = [drawn(chance.randrange(7)) for _ in range(100)]
        compared.append(_compare(shape, drawn(20), added, limits, grouped))

    compare()
    assert sum(compared) > 10_000


def _compare(
    shape: dict[str, Any], others: list[Any], added: list[list[Any]], limits: Limits, grouped: bool
) -> int:
    """The data without a unit, for each in turn, and with one more; all in one table, by number.

    The others have one row each, so that bounding leaves theirs alone whatever is drawn; one that
    is added has up to six. Everything is measured, and nothing fails.
    Return how many pairs were compared.
    """
    units = [(f"o{i}", [row]) for i, row in enumerate(others)]
    sets = [units, *(units[:i] + units[i + 1 :] for i in range(len(units)))]
    sets += [[*units, ("own", own)] for own in added]
    table = [
        (number, who, *row)
        for number, members in enumerate(sets)
        for who, own in members
        for row in own
    ]
    kinds = {"set": pa.int64(), "who": pa.string(), "x": pa.float64(), "y": pa.float64()}
    kinds |= {"t": pa.string(), "d": pa.date32(), "b": pa.bool_()}
    columns = zip(*table, strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds.values(), strict=True)]
    data = pa.table(arrays, names=list(kinds))
    protect: dict[str, Any] = {"unit": "partition", "column": ["set", "who"]}
    if "per_unit" not in shape:
        protect |= zip(("rows", "groups", "rows_per_group"), limits, strict=True)
    try:
        spec = load(_spec(protect=protect, **shape))
        engine = shaped(DuckDB.of(data), spec)
    except SpecError as refused:
        assert "deep" in str(refused)  # computations nested too deeply, by the formulas alone
        return 0
    numbers = tuple(map(str, range(len(sets))))
    bands = ("-1-0", "0-5", "5+") if "per_unit" not in shape else ("0-1", "1-2", "2+")
    keys = tuple(itertools.product(numbers, bands)) if grouped else tuple((n,) for n in numbers)
    field = Number("v", -4, 10, Fraction(1))
    cells = KeySet(("set", "band") if grouped else ("set",), keys)
    width = len(keys) // len(sets)
    bounds = spec.protect.contribution(grouped=grouped).over(width)
    unit, once = ("set", "who"), bounds.once_per_group()
    found: Any = engine.measure(
        Query(unit, cells, bounds, (Counting("n"), Summing("s", field)))
    ) | engine.measure(Query(unit, cells, once, (Counting("units"),)))
    engine.close()
    for name, size, most in (("n", 1, bounds), ("s", 10, bounds), ("units", 1, once)):
        whole, *parts = (found[name][i * width : (i + 1) * width] for i in range(len(sets)))
        for number, part in enumerate(parts):
            moved = [a - b for a, b in zip(whole, part, strict=True)]
            assert sum(map(abs, moved)) <= most.l1(size), (name, number)
            assert sum(n * n for n in moved) <= most.l2_squared(size, signed=True), (name, number)
    return len(sets) - 1


def test_the_contribution_of_a_unit_is_what_the_plan_prints(tmp_path: Path) -> None:
    spec = load(_spec(where="age > 3"), folder=tmp_path)
    assert spec.protect.contribution(grouped=False) == Contribution(3, 1, 3)


def test_a_unit_touches_no_more_cells_than_there_are() -> None:
    """Rows are limited to 20, and so by default are groups."""
    age = {"by": ["age"], "keys": {"age": list("12345")}}
    one = {"by": ["region"], "keys": {"region": ["a"]}}
    cost = {"bounds": [0, 10], "resolution": 1}
    statistics: list[dict[str, Any]] = [
        {"count": "units", **age},
        {"count": "units", **one},
        {"count": "rows", **age},
        {"sum": "cost", **cost, **one},
        {"count": "units", "margins": [["age"], ["region"]], "keys": age["keys"] | one["keys"]},
        {"count": "units", "by": ["age"], "keys": {"discover": {"delta": 1e-6}}, "name": "found"},
    ]
    kinds = dict.fromkeys(("person", "age", "region"), "text") | {"cost": "number"}
    for deep, found in ((None, [5, 1, 20, 200, 5, 20]), (2, [5, 1, 10, 20, 5, 20])):
        protect = {"unit": "person", "column": "person", "rows": 20, "rows_per_group": deep}
        plan = plan_of(load(_spec(*statistics, protect=protect)), kinds)
        most = {call.asked.statistic: int(call.asked.part.l1) for call in plan.pricing.calls}
        assert list(most.values()) == found
        groups = [one["groups"] for one in plan.to_dict()["contributions"].values()]
        assert groups == [5, 1, 5, 1, 5, 20]


@pytest.mark.parametrize("change", [{"sample": {"rate": 0.5}}, {"per_unit": {"n": "count"}}])
def test_a_unit_that_the_source_does_not_have_is_refused_whatever_is_done_to_its_rows(
    change: dict[str, Any], tmp_path: Path
) -> None:
    protect = {"unit": "person", "column": "persn", "rows": 1}
    with pytest.raises(DataError, match=r"'persn'.*'person'"):
        release(_spec(protect=protect, **change), data=VISITS, folder=tmp_path, dry_run=True)


def test_units_may_be_drawn_by_a_column_that_a_formula_makes(tmp_path: Path) -> None:
    """Of 300 units each is drawn with the chance ½: fails with probability below 1e-8."""
    protect = {"unit": "person", "column": "who", "rows": 3}
    shape = {"let": {"who": "lower(person)"}, "sample": {"rate": 0.5}}
    found = _released(tmp_path, _spec(protect=protect, budget={"epsilon": 20.0}, **shape))
    assert 300 < found["count_rows_1",] < 600


@pytest.mark.parametrize("bounds", [[-1.7e308, 1.7e308], [0, 1e-320]])
def test_bounds_that_no_resolution_fits_are_refused(bounds: list[float]) -> None:
    summed = {"total": {"sum": "cost", "bounds": bounds}}
    with pytest.raises(SpecError, match="resolution"):
        load(_spec(protect=PERSON, per_unit=summed))


OF_UNITS: dict[str, Any] = {"per_unit": {"ill": {"any": "age > 17"}}, "protect": PERSON}
LATE = {"count": "rows", "name": "late", "where": "cost > 60"}
TAKEN = {"source": "c.csv", "by": "diagnosis", "public": True, "columns": ["part"]}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {**OF_UNITS, "statistics": [LATE]},
            "late.where: cost > 60 (at character 1): 'cost' is a column of the rows before "
            "per_unit; after it there is one row for each unit, with the columns person, ill",
        ),
        ({**OF_UNITS, "statistics": [LATE]}, "another spec without per_unit, on the same account"),
        (
            {
                **OF_UNITS,
                "statistics": [{"mean": "cost", "bounds": [0, 9], "resolution": 1, "name": "m"}],
            },
            "statistic 'm': 'cost' is a column of the rows before per_unit",
        ),
        (
            {
                **OF_UNITS,
                "let": {"half": "cost / 2"},
                "statistics": [{**LATE, "where": "half > 1"}],
            },
            "'half' is a column of the rows before per_unit",
        ),
        (
            {**OF_UNITS, "let": {"both": "ill and cost > 1"}},
            "let.both: ill and cost > 1 (at character 9): 'cost' is a column of the rows before",
        ),
        (
            {
                **OF_UNITS,
                "statistics": [{"count": "rows", "by": ["sick"], "keys": {"sick": ["a"]}}],
            },
            "there is no column 'sick'; after per_unit there is one row for each unit",
        ),
        ({**OF_UNITS, "where": "ill"}, "where: ill (at character 1): 'ill' is made by per_unit"),
        (
            {**OF_UNITS, "where": "well", "let": {"well": "not ill"}},
            "'well' is made by let, but not before this",
        ),
        (
            {"let": {"a": "b + 1", "b": "cost / 2"}},
            "let.a: b + 1 (at character 1): 'b' is made by let, but not before this",
        ),
        (
            {"join": TAKEN, "where": "size > 3"},
            "no column 'size', since join does not take it from 'c.csv'. "
            "Add it: columns: [part, size]",
        ),
        (
            {
                "join": TAKEN,
                "statistics": [{"mean": "size", "bounds": [0, 9], "resolution": 1, "name": "m"}],
            },
            "statistic 'm': there is no column 'size', since join does not take it",
        ),
        (
            {"join": {**TAKEN, "by": "place"}, "let": {"place": "diagnosis"}},
            "join: 'place' is made by let or per_unit, which come after join",
        ),
    ],
)
def test_a_column_that_is_elsewhere_is_not_said_to_be_nowhere(
    changes: dict[str, Any], why: str, tmp_path: Path
) -> None:
    (tmp_path / "c.csv").write_text("diagnosis,place,part,size\nC18,a,p,3\nx,b,q,4\n")
    columns: Any = {"person": "text", "age": "number", "cost": "number", "diagnosis": "text"}
    spec = _spec(**{"statistics": [{"count": "rows"}]} | changes)
    for refuse in (
        lambda: release(spec, data=VISITS, folder=tmp_path, dry_run=True),
        lambda: check(spec, columns=columns, folder=tmp_path),
    ):
        with pytest.raises(DiscreetError) as told:
            refuse()
        assert told.value.exit_code == 2
        assert why in str(told.value)


def test_limits_beside_features_are_refused_with_the_way_out() -> None:
    with pytest.raises(SpecError, match="another spec without per_unit, on the same account"):
        load(_spec(per_unit={"n": "count"}, protect=PERSON | {"rows": 20}))
