"""A script with OpenDP alone makes the same release: run with the real OpenDP, and compared."""

from __future__ import annotations

import ast
import csv
import io
import json
import math
import re
import runpy
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import mpmath as mp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.errors import InputError, SpecError
from discreet.guarantees import ZCDP, ApproxDP, PureDP
from discreet.ledger import Ledger
from discreet.releases import release
from discreet.releases.script import opendp_script, write_script

dp = import_module("opendp.prelude")

KEYS = {"county": ["north", "south", "west"]}
STATISTICS: list[dict[str, Any]] = [
    {"count": "rows", "by": ["county"], "keys": KEYS},
    {"count": "units", "by": ["county", "sex"], "keys": KEYS | {"sex": ["f", "m"]}},
    {"sum": "cost", "bounds": [-3, 20], "resolution": 0.25, "by": ["county"], "keys": KEYS},
    {"mean": "cost", "bounds": [0, 20], "resolution": 0.5, "by": ["county"], "keys": KEYS},
    {"variance": "cost", "bounds": [0, 20], "resolution": 0.5},
    {"quantile": "cost", "at": 0.25, "bounds": [-3, 20], "resolution": 0.5, "by": ["county"]}
    | {"keys": KEYS},
    {"histogram": "cost", "edges": [0, 5, 10.5, 20], "by": ["county"], "keys": KEYS},
    {"best": "price", "score": "revenue", "of": "cost", "cap": 20}
    | {"candidates": {"from": 1, "to": 20, "step": 0.5}},
    {"best": "fare", "score": "revenue", "of": "cost", "cap": 20, "candidates": [2.5, 7.0, 11.5]},
    {"best": "county", "score": "count", "of": "county", "candidates": ["north", "south"]},
    {"randomized": "sex", "answers": ["f", "m"], "keep": 0.75},
    {"count": "rows", "by": ["sex"], "keys": {"discover": {"delta": 1e-6}}},
    {"sum": "cost", "bounds": [0, 20], "resolution": 1, "by": ["sex"]}
    | {"keys": {"discover": {"delta": 1e-6}}},
]


def _spec(budget: dict[str, float], **changes: Any) -> dict[str, Any]:
    return {
        "account": "people",
        "purpose": "comparison",
        "protect": {"unit": "person", "column": "person", "rows": 4, "groups": 2}
        | {"rows_per_group": 2},
        "budget": budget,
        "statistics": STATISTICS,
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    } | changes


def _people(*, texts: bool = False) -> pa.Table:
    """Nobody is bounded: one row a person; a few cells are missing, no number, or not a key."""
    cost = ["", "many", "nan", "inf", "-7", *(str(i % 83 / 4) for i in range(395))]
    numbers = [None, None, *map(float, cost[2:])]
    return pa.table(
        {
            "person": [f"p{i}" if i != 7 else None for i in range(400)],
            "county": [("north", "south", "north", "east", None)[i % 5] for i in range(400)],
            "sex": ["f" if i % 3 else "m" for i in range(400)],
            "cost": [value or None for value in cost] if texts else numbers,
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="basic",
        cap=ApproxDP(1e12, 0.5),
        approver="tester",
        reason="test",
    )
    with (tmp_path / "data.csv").open("w", newline="") as out:
        table = _people(texts=True)
        writer = csv.writer(out)
        writer.writerow(table.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return tmp_path


def _run(script: str, folder: Path, data: str = "data.csv") -> list[dict[str, str]]:
    (folder / "script.py").write_text(script)
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-P", "script.py", data],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return list(csv.DictReader(io.StringIO(ran.stdout)))


def _rows(table: dict[str, list[str | None]]) -> list[dict[str, str]]:
    ours = ("interval_low", "interval_high", "std_error", "published")
    names = [name for name in table if name not in ours]
    rows = zip(*(table[name] for name in names), strict=True)
    return [{n: v or "" for n, v in zip(names, row, strict=True)} for row in rows]


@pytest.mark.parametrize("data", ["data.csv", "data.parquet"])
def test_with_next_to_no_noise_both_give_the_same_table(folder: Path, data: str) -> None:
    """At ε = 10^8 discrete noise is 0 but with probability e^-10^4 and less."""
    pq.write_table(_people(), folder / "data.parquet")
    spec = _spec({"epsilon": 1e8, "delta": 1e-3}, source=data, mechanism="geometric")
    ours = _rows(release(spec, folder=folder).table.to_dict())  # type: ignore[union-attr]
    theirs = _run(opendp_script(spec, folder=folder), folder, data)
    assert len(ours) == len(theirs) == 37
    for mine, other in zip(ours, theirs, strict=True):
        value, theirs_ = mine.pop("value"), other.pop("value")
        assert mine == other
        if mine["statistic"].startswith("quantile") and mine["county"] == "west":
            continue  # nobody is there: all scores are equal, and the choice is left to chance
        # What is no decimal is printed to six digits.
        assert bool(value) == bool(theirs_)
        assert not value or float(value) == pytest.approx(float(theirs_), rel=1e-5)


def test_a_file_that_is_written_in_another_way_is_read_as_the_spec_says(tmp_path: Path) -> None:
    """The script read every file with commas and points, and blamed the rows."""
    source = {
        **{"path": "data.csv", "delimiter": ";", "decimal": ",", "encoding": "windows-1252"},
        **{"nulls": ["-"], "types": {"age": "integer", "cost": "number"}},
    }
    costs = ["1.234,50", "12,25", "7", "-", "", "3.5", "many", "0,5"]
    lines = [f"p{i};{'Köln' if i % 3 else 'Ulm'};0{i % 4};{costs[i % 8]}" for i in range(240)]
    text = "\n".join(["person;city;age;cost", *lines])
    (tmp_path / "data.csv").write_text(text, encoding="windows-1252")
    spec = {
        "account": "people",
        "purpose": "test",
        "source": source,
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "budget": {"epsilon": 1e8},
        "statistics": [
            {"sum": "cost", "bounds": [0, 2000], "resolution": 0.01, "by": ["city"]}
            | {"keys": {"city": ["Köln", "Ulm"]}},
            {"count": "rows", "by": ["age"], "keys": {"age": ["0", "1", "2", "3"]}},
        ],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }
    Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").open_account(
        "people", unit="person", cap=PureDP(1e9), approver="tester", reason="test"
    )
    ours = _rows(release(spec, folder=tmp_path).table.to_dict())  # type: ignore[union-attr]
    script = opendp_script(spec, folder=tmp_path)
    assert _run(script, tmp_path) == ours
    assert [row["value"] for row in ours][2:] == ["60"] * 4
    (tmp_path / "data.csv").write_text(text, encoding="utf-16")
    ran = subprocess.run(
        [sys.executable, "script.py", "data.csv"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("column", "declared"),
    [
        ("day", "date"),
        ("day", "%d.%m.%Y"),
        ("day", "moment"),
        ("there", "boolean"),
        ("size", "number"),
    ],
)
def test_columns_that_a_script_cannot_read_are_refused(
    column: str, declared: str, tmp_path: Path
) -> None:
    (tmp_path / "data.csv").write_text("person,day,there,size\na,2026-01-01,yes,1\n")
    source = {"path": "data.csv", "types": {column: declared}}
    grouped = {"count": "rows", "by": [column], "keys": {column: ["1"]}}
    spec = _spec({"epsilon": 1.0}, source=source, statistics=[grouped])
    with pytest.raises(SpecError, match="which a script cannot read"):
        opendp_script(spec, folder=tmp_path)
    assert opendp_script(spec | {"statistics": [{"count": "rows"}]}, folder=tmp_path)


def _recorded(script: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float, Any]]:
    """Run the definitions of noise, and note which measurements OpenDP was asked for."""
    seen: list[tuple[str, float, Any]] = []
    for kind in ("laplace", "gaussian", "noisy_max"):
        real = getattr(dp.m, f"make_{kind}")

        def make(*args: Any, _kind: str = kind, _real: Any = real, **how: Any) -> Any:
            made = _real(*args, **how)
            seen.append((_kind, how["scale"], made))
            return made

        monkeypatch.setattr(dp.m, f"make_{kind}", make)
    runpy.run_path(str(script))["noise"]()
    return seen


@pytest.mark.parametrize(
    ("budget", "mechanism", "adjacency"),
    [
        ({"epsilon": 1.0}, "auto", "add-remove"),
        ({"epsilon": 0.3}, "geometric", "replace"),
        ({"rho": 0.02}, "auto", "add-remove"),
        ({"rho": 0.02}, "geometric", "replace"),
        ({"epsilon": 1.0, "delta": 1e-5}, "gaussian", "add-remove"),
    ],
    ids=repr,
)
def test_scales_and_laws_are_those_of_the_plan(
    budget: dict[str, float],
    mechanism: str,
    adjacency: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    protect = {"unit": "person", "column": "person", "rows": 5, "groups": 2, "rows_per_group": 3}
    spec = _spec(
        budget,
        mechanism=mechanism,
        protect=protect | {"adjacency": adjacency},
        statistics=STATISTICS if "delta" in budget or "rho" in budget else STATISTICS[:11],
    )
    table = _people()
    plan = release(spec, data=table, folder=tmp_path, dry_run=True).plan
    (tmp_path / "script.py").write_text(opendp_script(spec, data=table, folder=tmp_path))
    seen = _recorded(tmp_path / "script.py", monkeypatch)
    calls = {
        "geometric": "laplace",
        "gaussian": "gaussian",
        "permute-and-flip": "noisy_max",
        "exponential": "noisy_max",
    }
    ordered = plan.pricing.calls
    assert [(calls[c.mechanism], c.scale) for c in ordered] == [(k, s) for k, s, _ in seen]
    # By OpenDP's own account each costs what we priced it at, to rounding.
    for call, (kind, _, made) in zip(ordered, seen, strict=True):
        part = call.asked.part
        if kind == "laplace":
            assert made.map(int(part.l1)) == pytest.approx(call.epsilon, rel=1e-9)
        elif kind == "gaussian":
            assert made.map(math.sqrt(part.l2_squared)) == pytest.approx(call.rho, rel=1e-9)
        else:
            measure = "ZeroConcentrated" if call.epsilon is None else "MaxDivergence"
            assert measure in str(made.output_measure)


def test_noise_that_costs_too_much_is_refused_before_a_row_is_read(folder: Path) -> None:
    spec = _spec({"epsilon": 1.0}, source="data.csv", statistics=STATISTICS[:1])
    script = opendp_script(spec, folder=folder)
    scale = re.search(r"scale=([0-9.]+)", script)
    assert scale is not None
    halved = script.replace(scale[0], f"scale={float(scale[1]) / 2}")
    (folder / "script.py").write_text(halved)
    ran = subprocess.run(
        [sys.executable, "script.py", "missing.csv"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "nothing was read" in ran.stderr
    assert ran.stdout == ""


@pytest.mark.slow
def test_the_noise_of_the_script_has_the_law_of_the_plan(folder: Path) -> None:
    """20,000 empty cells, discrete Laplace at ε = 1; Pearson's test at 1e-6 over 9 bins."""
    keys = {"county": [f"c{i}" for i in range(20_000)]}
    spec = _spec(
        {"epsilon": 1.0},
        source="data.csv",
        protect={"unit": "person", "column": "person", "rows": 1},
        statistics=[{"count": "rows", "by": ["county"], "keys": keys}],
    )
    rows = _run(opendp_script(spec, folder=folder), folder)
    drawn = Counter(max(-4, min(4, int(row["value"]))) for row in rows)
    alpha = math.exp(-1)
    point = {n: (1 - alpha) / (1 + alpha) * alpha ** abs(n) for n in range(-3, 4)}
    tail = alpha**4 / (1 + alpha)
    law = point | {-4: tail, 4: tail}
    statistic = sum((drawn[n] - 20_000 * p) ** 2 / (20_000 * p) for n, p in law.items())
    assert mp.gammainc(4, statistic / 2, mp.inf, regularized=True) > 1e-6


def test_bounding_keeps_what_the_spec_allows(folder: Path) -> None:
    """One person, 60 rows in three counties: two groups of two rows count, and chance says which.

    That it is the same two in all of 30 runs has probability 3^-29.
    """
    lines = ["person,county"] + [f"one,{c}" for c in ("north", "south", "west") for _ in range(20)]
    (folder / "one.csv").write_text("\n".join(lines) + "\n")
    spec = _spec({"epsilon": 1e6}, source="one.csv", statistics=STATISTICS[:1])
    (folder / "script.py").write_text(opendp_script(spec, folder=folder))
    script = runpy.run_path(str(folder / "script.py"))
    data, draw, seen = script["read"](str(folder / "one.csv")), script["noise"](), set()
    for _ in range(30):
        values = tuple(int(row[-1]) for row in script["release"](data, draw).rows)
        assert sorted(values) == [0, 2, 2]
        seen.add(values)
    assert len(seen) > 1


HOSTILE = [
    '"""\nimport os; os.abort()\n"""',
    "x\nimport os; os.abort()",
    "\\N{BULLET}' + __import__('os').abort() + '",
    "\u2028\x85\x0c\rimport os",
]


@pytest.mark.parametrize("word", HOSTILE, ids=range(len(HOSTILE)))
def test_no_word_of_a_spec_becomes_code(word: str, tmp_path: Path) -> None:
    group = f"{word}."  # groups by the unit's own column are refused
    spec = _spec(
        {"epsilon": 1.0},
        purpose=word,
        account=word,
        protect={"unit": "person", "column": word, "rows": 1},
        statistics=[
            {"count": "rows", "name": word, "by": [group], "keys": {group: [word]}},
            {"sum": word, "bounds": [0, 1], "resolution": 1},
        ],
    )
    table = pa.table({word: [1], group: ["b"]})
    script = opendp_script(spec, data=table, folder=tmp_path)
    script.encode("utf-8")
    names = {
        node.func.id
        for node in ast.walk(ast.parse(script))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "__import__" not in names
    imported = {
        name.name.partition(".")[0]
        for node in ast.walk(ast.parse(script))
        if isinstance(node, ast.Import)
        for name in node.names
    }
    assert imported == {"csv", "math", "re", "secrets", "sys", "opendp", "duckdb"}


def test_the_command_writes_it_and_spends_nothing(folder: Path) -> None:
    from discreet.cli import _app

    spec = _spec({"epsilon": 1.0}, source="data.csv", statistics=STATISTICS[:1])
    (folder / "spec.yaml").write_text(json.dumps(spec))
    before = Ledger.open(f"sqlite:///{folder / 'ledger.db'}").head
    ran = CliRunner().invoke(
        _app,
        ["release", str(folder / "spec.yaml"), "--as-opendp", str(folder / "it.py"), "--json"],
    )
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["files"] == [str(folder / "it.py")]
    assert Ledger.open(f"sqlite:///{folder / 'ledger.db'}").head == before
    assert len(_run((folder / "it.py").read_text(), folder)) == 3
    assert str(folder) not in (folder / "it.py").read_text()


def test_the_command_writes_the_release_that_flags_ask_for(folder: Path) -> None:
    from discreet.cli import _app

    spec = _spec({"epsilon": 1.0}, source="gone.csv", statistics=STATISTICS[:1])
    (folder / "spec.yaml").write_text(json.dumps(spec))

    def run(*flags: str) -> Any:
        script = ("--as-opendp", str(folder / "it.py"))
        return CliRunner().invoke(_app, ["release", str(folder / "spec.yaml"), *script, *flags])

    source = ("--source", str(folder / "data.csv"))
    assert isinstance(run().exception, SpecError)  # there is no such file
    assert isinstance(run(*source, "--set", "nonsense=1").exception, SpecError)
    assert isinstance(run(*source, "--key", "2026-11").exception, InputError)
    assert not (folder / "it.py").exists()
    assert run(*source, "--set", "budget.epsilon=0.001").exit_code == 0
    text = (folder / "it.py").read_text()
    assert f"#   spends:   {PureDP(0.001)}" in text
    changes = {"source": str(folder / "data.csv"), "budget.epsilon": 0.001}
    assert opendp_script(folder / "spec.yaml", changes=changes) == text


def test_a_script_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_script("x", tmp_path / "no" / "where.py")


def test_budgets_are_words_of_the_script(folder: Path) -> None:
    for budget, said in (
        ({"epsilon": 1.0}, str(PureDP(1.0))),
        ({"rho": 0.1}, str(ZCDP(0.1))),
    ):
        spec = _spec(budget, source="data.csv", statistics=STATISTICS[:1])
        assert f"#   spends:   {said}" in opendp_script(spec, folder=folder)


@pytest.mark.parametrize(
    "more",
    [
        {"where": "cost > 1"},
        {"statistics": [{"count": "rows", "where": "cost > 1"}]},
        {"let": {"high": "cost > 10"}},
        {"per_unit": {"spent": {"sum": "cost", "bounds": [0, 20], "resolution": 1}}}
        | {"protect": {"unit": "person", "column": "person"}, "statistics": [{"count": "rows"}]},
        {"join": {"source": "sizes.csv", "by": ["county"], "public": True}},
        {"sample": {"rate": 0.5}},
    ],
    ids=lambda more: "-".join(more),
)
def test_what_a_script_cannot_write_is_named_by_the_refusal_and_the_documentation(
    more: dict[str, Any], tmp_path: Path
) -> None:
    """The refusal left out join and sample, and the documentation everything."""
    (tmp_path / "sizes.csv").write_text("county,size\nnorth,2\n", encoding="utf-8")
    (tmp_path / "visits.csv").write_text("person,county,cost\na,north,2\n", encoding="utf-8")
    counts = [{"count": "rows"}]
    spec = _spec({"epsilon": 1.0}, statistics=counts, source="visits.csv") | more
    with pytest.raises(SpecError, match="cannot be written as a script") as refused:
        opendp_script(spec, folder=tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "interchange.md").read_text(encoding="utf-8")
    (key,) = {"where", "let", "per_unit", "join", "sample"} & {*more} or {"where"}
    assert key in str(refused.value)
    assert f"`{key}`" in page
