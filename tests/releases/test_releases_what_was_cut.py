"""How many units limits and bounds cut: counted right, as sensitive as said, and in words."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import chain, combinations_with_replacement
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.auditing import audit
from discreet.cli import main
from discreet.errors import SpecError
from discreet.ledger import Ledger
from discreet.releases import preview, release
from discreet.releases.checking import check
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Counting, Cutting, KeySet, Number, Query, Summing
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.planning import plan_of
from discreet.releases.sheets import notes
from discreet.releases.spec import load
from discreet.releases.statistics.count import Count
from discreet.releases.statistics.cut import Cut, CutUnits
from discreet.statements.presenter import accuracy_lines, cut_line
from soaking import examples, soaked

KEYS = ("north", "south", "west")
CELLS = KeySet(("county",), tuple((key,) for key in KEYS))
COST = Number("cost", 0, 3, Fraction(1))
Row = tuple[str, str, float]

rows_of = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.sampled_from((*KEYS, "elsewhere")), st.integers(-2, 6).map(float)
    ),
    max_size=14,
)


def measured(
    rows: list[Row], bounds: Contribution, cells: KeySet | None, number: Number = COST
) -> dict[str, Any]:
    """What the engine says of rows in the order of their priority."""
    table = pa.table(
        {
            "person": pa.array([row[0] for row in rows], pa.string()),
            "county": pa.array([row[1] for row in rows], pa.string()),
            "cost": pa.array([row[2] for row in rows], pa.float64()),
            "rank": pa.array([place / 100 for place in range(len(rows))], pa.float64()),
        }
    )
    asked = (
        Cutting("rows"),
        Cutting("groups", None, repeats=False),
        Cutting("cost", number),
        Counting("kept"),
        Summing("sum", number),
    )
    engine = DuckDB.of(table)
    try:
        return engine.measure(Query(("person",), cells, bounds, asked, "rank"))
    finally:
        engine.close()


def kept_of(rows: list[Row], bounds: Contribution, cells: KeySet | None) -> list[Row]:
    """The rule of bounding, a unit at a time."""
    kept: list[Row] = []
    own: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if cells is None or row[1] in KEYS:
            own[row[0]].append(row)
    for mine in own.values():
        group = (lambda row: row[1]) if cells is not None else (lambda row: "")
        first = list(dict.fromkeys(map(group, mine)))[: bounds.groups]
        seen: Counter[str] = Counter()
        best = []
        for row in mine:
            if group(row) in first and seen[group(row)] < bounds.rows_per_group:
                seen[group(row)] += 1
                best.append(row)
        kept += best[: bounds.rows]
    return kept


@settings(derandomize=True, deadline=None, max_examples=240 if soaked() else 25)
@given(
    rows=rows_of,
    limit=st.integers(1, 4),
    groups=st.integers(1, 3),
    deep=st.integers(1, 3),
    grouped=st.booleans(),
)
def test_the_units_counted_are_those_that_lose_something(
    rows: list[Row], limit: int, groups: int, deep: int, grouped: bool
) -> None:
    bounds = Contribution.of(limit, groups, deep, adjacency="add-remove", grouped=grouped)
    cells = CELLS if grouped else None
    found = measured(rows, bounds, cells)
    there = [row for row in rows if not grouped or row[1] in KEYS]
    kept = kept_of(rows, bounds, cells)
    assert sum(found["kept"]) == len(kept)
    lost = Counter(row[0] for row in there) - Counter(row[0] for row in kept)
    assert found["rows"] == [len(lost)]
    spread: dict[str, set[str]] = defaultdict(set)
    for person, county, _ in there:
        spread[person].add(county if grouped else "")
    assert found["groups"] == [sum(len(own) > bounds.groups for own in spread.values())]
    assert found["cost"] == [len({row[0] for row in there if not 0 <= row[2] <= 3})]


def _people(most: int) -> list[list[Row]]:
    """Every set of rows that one unit may have, up to so many."""
    possible = [("new", county, cost) for county in ("north", "south") for cost in (2.0, 9.0)]
    sets = (combinations_with_replacement(possible, size) for size in range(most + 1))
    return [list(rows) for rows in chain.from_iterable(sets)]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_unit_moves_each_number_by_the_sensitivity_at_most(
    adjacency: str, spec: dict[str, Any], tmp_path: Path
) -> None:
    """Every unit of up to three rows, added to some others, or put in the place of another."""
    spec["protect"] |= {"adjacency": adjacency}
    spec["statistics"] = [
        spec["statistics"][0],
        {"sum": "cost", "bounds": [0, 3], "resolution": 1},
    ]
    spec["cut"] = {}
    plan = plan_of(
        load(spec, folder=tmp_path), {"person": "text", "county": "text", "cost": "number"}
    )
    calls = [call for call in plan.pricing.calls if call.asked.statistic.startswith("cut/")]
    most = 1 if adjacency == "add-remove" else 2
    assert [call.asked.part.l1 for call in calls] == [most] * 3
    assert [call.asked.part.l2_squared for call in calls] == [most] * 3
    others: list[Row] = [("p", "north", 9.0)] * 3 + [("q", "south", 1.0)]
    bounds = Contribution.of(2, None, None, adjacency=adjacency, grouped=True)
    answers = [measured(others + own, bounds, CELLS) for own in _people(3)]
    for name in ("rows", "cost"):
        values = [found[name][0] for found in answers]
        # The first of them is nobody: added or removed, a unit moves the number by one at most.
        assert {abs(value - values[0]) for value in values} == {0, 1}
        # What is stated for a replaced unit is twice that; the whole spread is within it.
        assert max(values) - min(values) <= most


@settings(derandomize=True, deadline=None, max_examples=examples(120))
@given(rows=rows_of, limit=st.integers(1, 3), grouped=st.booleans(), shift=st.integers(-6, 3))
def test_by_the_outer_limits_no_total_is_off_by_more(
    rows: list[Row], limit: int, grouped: bool, shift: int
) -> None:
    """What bounding and clipping take, against what the two questions say it is at most.

    Values and bounds are moved together: they may have both signs, or one.
    """
    rows = [(person, county, cost + shift) for person, county, cost in rows]
    number = Number("cost", shift, 3 + shift, Fraction(1))
    bounds = Contribution.of(limit, None, None, adjacency="add-remove", grouped=grouped)
    cells = CELLS if grouped else None
    found = measured(rows, bounds, cells, number)
    there = [row for row in rows if not grouped or row[1] in KEYS]
    least, largest = (end([row[2] for row in rows], default=0.0) for end in (min, max))
    outer = Cut(rows=14, values={"cost": (least, largest + 1)})
    by = {"by": ("county",), "keys": {"county": KEYS}} if grouped else {}
    raw = {"account": "a", "purpose": "p", "ledger": "sqlite:///l", "output": "o"}
    asked = load(
        raw
        | {
            "protect": {"unit": "person", "column": "person", "rows": limit},
            "budget": {"epsilon": 1.0},
            "statistics": [
                {"count": "rows", **by},
                {"sum": "cost", "bounds": [shift, 3 + shift], "resolution": 1, **by},
            ],
        }
    ).named()
    count, total = (
        CutUnits(name="rows", of=one, bounds=bounds).reach(Fraction(found["rows"][0]), outer)
        for one in asked
    )
    clipped = CutUnits(name="cost", of=asked[1], bounds=bounds, number=number).reach(
        Fraction(found["cost"][0]), outer
    )
    assert count is not None
    assert total is not None
    assert clipped is not None
    assert count[0] == 0 <= len(there) - sum(found["kept"]) <= count[1]
    if shift >= 0:
        assert total[0] == 0
    if least >= shift:
        assert clipped[0] == 0
    # Each cell by itself, too: it lies below what is true by no more than one end, and so on.
    used = found["sum"]
    true = [sum(row[2] for row in there if row[1] == key) for key in KEYS]
    true = true if grouped else [sum(row[2] for row in there)]
    for off in (sum(true) - sum(used), *(a - b for a, b in zip(true, used, strict=True))):
        assert -(total[0] + clipped[0]) <= off <= total[1] + clipped[1]


def test_a_release_tells_what_was_cut(
    spec: dict[str, Any], people: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    account()
    spec["budget"] = {"epsilon": 50.0}
    spec["statistics"].append({"sum": "cost", "bounds": [0, 15], "resolution": 1})
    spec["cut"] = {"weight": 0.5, "rows": 3, "values": {"cost": [0, 20]}}
    made = release(spec, data=people, folder=tmp_path)
    rows, total, values = made.to_dict()["cut"]
    assert [one["about"] for one in (rows, total, values)] == ["rows", "rows", "cost"]
    # Scale 0.42: off by 15 with probability below 1e-15.
    assert all(abs(one["units"] - 40) < 15 for one in (rows, total, values))
    assert (rows["bias"], values["bias"]) == ("low", "low")  # no value lies below 0
    assert rows["at_most"] == rows["interval_high"]  # three rows, two kept
    words = made.statement.read_text()
    assert "too low" in words
    assert "noise alone" in words
    stored = json.loads((made.statement.parent / "release.json").read_text())
    assert stored["cut"] == made.to_dict()["cut"]
    shown = made.report()
    biases = json.loads((shown.folder / "statement.json").read_text())["biases"]
    assert {bias["kind"]: bool(bias["size"]) for bias in biases} == {
        "bounding": True,
        "clipping": True,
        "nulls": False,
    }


def test_outer_limits_make_an_interval_that_covers_what_was_cut(
    spec: dict[str, Any], people: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    """At this confidence a true number lies outside with probability below 1e-8."""
    account()
    spec["budget"] = {"epsilon": 50.0}
    spec["interval"] = 1 - 1e-9
    one = {"sum": "cost", "bounds": [0, 15], "resolution": 1, "name": "cost"}
    many = spec["statistics"][0] | {"name": "count"}
    spec["statistics"] = [many, one, one | {"name": "fine", "bounds": [0, 8]}]
    spec["cut"] = {"weight": 2, "rows": 3, "values": {"cost": [0, 20]}}
    made = release(spec, data=people, folder=tmp_path)
    table = made.table.columns
    truth = Counter(people["county"].to_pylist())
    sums = sum(min(max(cost, 0), 20) for cost in people["cost"].to_pylist())
    for place, name in enumerate(table["statistic"]):
        if name.startswith("cut/"):
            assert table["outer_low"][place] is table["outer_high"][place] is None
            continue
        value, low, high = (float(table[n][place]) for n in ("value", "outer_low", "outer_high"))
        true = truth[table["county"][place]] if name == "count" else sums
        assert low <= true <= high
        inner = float(table["interval_high"][place]) - value
        assert high - value > inner + 20  # forty units are cut
        # All can only be too low: no value is negative, and none is clipped from below.
        assert value - low < inner + 5
    spec["cut"] = {"weight": 2, "rows": 3}
    narrow = release(spec, data=people, folder=tmp_path, confirm=True).table.columns
    said = dict(zip(narrow["statistic"], narrow["outer_high"], strict=True))
    assert said["count"] is not None
    assert said["cost"] is None


def test_what_gets_no_outer_interval_is_told_before_the_charge(
    spec: dict[str, Any], people: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    """Outer limits beside a mean were charged for, and the table had no column of theirs."""
    account()
    bounds = {"bounds": [0, 15], "resolution": 1}
    mean, total = ({kind: "cost", "name": kind} | bounds for kind in ("mean", "sum"))
    spec["statistics"] = [mean, total]
    for outer, lacking in (
        ({"rows": 3, "values": {"cost": [0, 20]}}, None),
        ({"rows": 3}, "values: {cost: [LOW, HIGH]} is missing"),
        ({"values": {"cost": [0, 20]}}, "rows is missing"),
    ):
        spec["cut"] = {"weight": 2} | outer
        told = preview(spec, data=people, folder=tmp_path).notes
        (none,) = [one for one in told if "no outer_low and outer_high to mean:" in one]
        assert "counts and sums alone" in none
        assert [one[:4] for one in told if "is missing" in one] == ["sum:"] * bool(lacking)
        assert lacking is None or any(lacking in one for one in told)
    spec["statistics"] = [mean]
    spec["cut"] = {"weight": 2, "rows": 3, "values": {"cost": [0, 20]}}
    made = release(spec, data=people, folder=tmp_path)
    assert "outer_low" not in made.table.columns


def test_that_clipped_features_are_not_counted_is_told(
    spec: dict[str, Any], people: pa.Table
) -> None:
    spec["statistics"] = [{"mean": "paid", "bounds": [0, 15], "resolution": 1}]
    spec["protect"] = {"unit": "person", "column": "person"}
    for bounds, told in (({"bounds": [0, 9]}, True), ({}, False)):
        spec["per_unit"] = {"paid": {"sum" if told else "max": "cost"} | bounds}
        spec["cut"] = {"weight": 1}
        notes = preview(spec, data=people).notes
        assert any("clip (paid)" in note for note in notes) is told


@pytest.mark.parametrize(
    ("outer", "bias", "said"),
    [
        ([0, 20], "low", "above 15, in rows that mean could use; such values count as 15, which"),
        ([-5, 10], "high", "below 0, in rows that mean could use; such values count as 0, which"),
        ([-5, 20], "either", "outside 0 to 15, in rows that mean could use; larger values count"),
        (None, "either", "outside 0 to 15, in rows that mean could use; larger values count as 15"),
    ],
)
def test_values_are_told_to_be_clipped_only_at_ends_that_values_may_pass(
    spec: dict[str, Any], people: pa.Table, outer: list[int] | None, bias: str, said: str
) -> None:
    """Visits from 0 to 366 that are clipped at 40 were said to be pulled up, too."""
    spec["statistics"] = [{"mean": "cost", "name": "mean", "bounds": [0, 15], "resolution": 1}]
    spec["cut"] = {"values": {} if outer is None else {"cost": outer}}
    told = preview(spec, data=people).to_dict()["cut"]
    (row,) = [one for one in told if one["about"] == "cost"]
    assert row["bias"] == bias
    assert said in row["text"]


@pytest.mark.parametrize("unit", ["record", "person"])
def test_outer_limits_of_what_cannot_be_cut_are_those_of_the_noise(
    spec: dict[str, Any],
    people: pa.Table,
    account: Callable[..., Ledger],
    tmp_path: Path,
    unit: str,
) -> None:
    """They left a part of the probability to answers that do not exist, or that move nothing."""
    account(unit=unit)
    kept = {"unit": "person", "column": "person", "rows": 2}
    spec["protect"] = {"unit": "record"} if unit == "record" else kept
    spec["budget"] = {"epsilon": 0.5}
    one = {"sum": "cost", "bounds": [0, 15], "resolution": 1, "name": "cost"}
    spec["statistics"] = [spec["statistics"][0] | {"name": "count"}, one]
    outer = {} if unit == "record" else {"rows": 2}
    spec["cut"] = {"weight": 2, "values": {"cost": [0, 20]}} | outer
    table = release(spec, data=people, folder=tmp_path).table.columns
    for place, name in enumerate(table["statistic"]):
        if name == "count":
            for end in ("low", "high"):
                assert float(table[f"outer_{end}"][place]) == pytest.approx(
                    float(table[f"interval_{end}"][place]), abs=1e-9
                )
        elif name == "cost":
            assert float(table["outer_high"][place]) > float(table["interval_high"][place])


def test_without_it_the_dry_run_and_the_release_say_that_intervals_are_about_noise(
    spec: dict[str, Any],
    people: pa.Table,
    account: Callable[..., Ledger],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import pyarrow.parquet as pq
    import yaml

    account()
    pq.write_table(people, tmp_path / "people.parquet")
    file = tmp_path / "spec.yaml"
    file.write_text(yaml.safe_dump(spec | {"source": "people.parquet"}))
    for more in (["--dry-run"], []):
        with pytest.raises(SystemExit) as ended:
            main(["release", str(file), *more])
        assert not ended.value.code
        said = capsys.readouterr().out
        assert "noise alone, cell by cell" in said
        # Once the noise is drawn, it is too late for advice.
        assert ("cut: {weight: 0.05}" in said) is ("--dry-run" in more)
    (statement,) = tmp_path.glob("*/*/statement.md")
    published = statement.read_text(encoding="utf-8")
    assert "It is not known how many units lose rows in “count_rows_1”." in published
    assert "to the spec" not in published  # advice is for whoever writes it
    paid = preview(spec | {"cut": {}}, data=people, folder=tmp_path)
    (asked,) = paid.to_dict()["cut"]
    assert (asked["about"], asked["units"]) == ("rows", None)


def test_where_nothing_can_be_cut_nothing_is_said_and_nothing_sold(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    spec["protect"] = {"unit": "record"}
    assert preview(spec, data=people, folder=tmp_path).to_dict()["cut"] == []
    with pytest.raises(SpecError, match="nothing can be cut"):
        preview(spec | {"cut": {}}, data=people, folder=tmp_path)


def test_of_a_unit_whose_rows_become_one_only_clipped_values_are_asked_for(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    """Whether it loses rows was asked for as well, and paid for: it never does."""
    spec["protect"] = {"unit": "person", "column": "person"}
    spec["per_unit"] = {"spent": {"sum": "cost", "bounds": [0, 30]}}
    spec["statistics"] = [{"count": "rows"}]
    shown = preview(spec, data=people, folder=tmp_path).to_dict()
    assert shown["cut"] == []
    spec["cut"] = {"weight": 0.1}
    spec["statistics"] += [{"sum": "spent", "bounds": [0, 20], "resolution": 1}]
    shown = preview(spec, data=people, folder=tmp_path).to_dict()
    assert [one["about"] for one in shown["cut"]] == ["spent"]
    (tmp_path / "s.yaml").write_text(json.dumps(spec))
    checked = check(tmp_path / "s.yaml").to_dict()
    assert checked["calls"] == shown["calls"]


def test_keys_that_were_found_have_their_cut_counted(
    spec: dict[str, Any], people: pa.Table, account: Callable[..., Ledger], tmp_path: Path
) -> None:
    account(filter="basic", cap=None)
    spec["budget"] = {"epsilon": 20.0}
    spec["statistics"] = [
        {"count": "rows", "by": ["county"], "keys": {"discover": {"delta": 1e-6}}}
    ]
    made = release(spec | {"cut": {"weight": 1}}, data=people, folder=tmp_path)
    (rows,) = made.to_dict()["cut"]
    assert abs(rows["units"] - 40) < 15  # scale 0.15


def test_values_are_called_too_low_only_if_the_interval_excludes_zero() -> None:
    bounds = Contribution.of(2, None, None, adjacency="add-remove", grouped=False)
    question = CutUnits(
        name="cut/visits/rows", of=Count(count="rows", name="visits"), bounds=bounds
    )
    sure = question.told({"value": "40", "interval_low": "1", "interval_high": "79"}, Cut())
    assert sure["text"].endswith("leaves out; its values are too low.")
    for low in ("0", "-1424"):
        told = question.told({"value": "5", "interval_low": low, "interval_high": "826"}, Cut())
        assert "if there are any, its values are too low. There may be none" in told["text"]
    assert "if there are any" in question.told({}, Cut())["text"]
    assert "if there are any" in question.explain()


def test_before_it_is_paid_for_the_error_of_the_answer_is_told(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    said = preview(spec | {"cut": {}}, data=people, folder=tmp_path).to_dict()
    (asked,) = said["cut"]
    (width,) = (r["half_width"] for r in said["accuracy"] if r["statistic"] == asked["name"])
    (line,) = (line for line in accuracy_lines(said) if "larger weight in cut" in line)
    assert f"{width:,.6g}" in line
    made = said | {"release_id": "r"}
    assert not any("larger weight" in line for line in accuracy_lines(made))


def asked_of(spec: dict[str, Any], folder: Path) -> list[str]:
    kinds = {"person": "text", "county": "text", "cost": "number"}
    return [one["name"] for one in plan_of(load(spec, folder=folder), kinds).cut() or ()]


def test_nothing_is_asked_where_no_row_can_be_left_out(
    spec: dict[str, Any], people: pa.Table, tmp_path: Path
) -> None:
    """A unit's groups are no more than the cells, and it counts once in each."""
    by = {"by": ["county"], "keys": {"county": ["north", "south"]}}
    units, rows = {"count": "units", "name": "u"} | by, {"count": "rows", "name": "r"} | by
    spec["protect"] |= {"groups": 2}
    spec["statistics"] = [units]
    with pytest.raises(SpecError, match="nothing can be cut"):
        asked_of(spec | {"cut": {}}, tmp_path)
    assert preview(spec, data=people, folder=tmp_path).to_dict()["cut"] == []
    both = spec | {"statistics": [units, rows], "cut": {}}
    assert asked_of(both, tmp_path) == ["cut/r/rows"]
    spec["protect"] = {"unit": "person", "column": "person", "rows": 1}
    assert asked_of(spec | {"cut": {}}, tmp_path) == ["cut/u/rows"]
    # If the limit is chosen on the data, what is charged does not depend on it.
    spec["protect"] |= {"rows": {"choose": [1, 2], "weight": 0.1}}
    spec["statistics"] = [units, rows]
    assert asked_of(spec | {"cut": {"rows": 2}}, tmp_path) == ["cut/u/rows", "cut/r/rows"]


def test_outer_limits_that_leave_nothing_to_cut_are_not_paid_for(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    sums = {"sum": "cost", "bounds": [0, 15], "resolution": 1, "name": "s"}
    spec["protect"] |= {"rows": 1}
    spec["statistics"] = [sums]
    assert asked_of(spec | {"cut": {"rows": 1}}, tmp_path) == ["cut/s/cost"]
    within = {"values": {"cost": [0, 15]}}
    assert asked_of(spec | {"cut": within}, tmp_path) == ["cut/s/rows"]
    assert asked_of(spec | {"cut": within | {"rows": 1}}, tmp_path) == []


def test_units_and_rows_with_the_same_limits_are_asked_for_apart(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    """A second row in a group is a loss to rows alone: the answer about units misses it."""
    spec["protect"] |= {"rows_per_group": 1}
    by = spec["statistics"][0]
    spec["statistics"] = [by | {"count": "units", "name": "u"}, by | {"name": "r"}]
    assert asked_of(spec | {"cut": {}}, tmp_path) == ["cut/u/rows", "cut/r/rows"]


@pytest.mark.slow
def test_the_audit_passes_what_was_cut(spec: dict[str, Any], brief_audits: None) -> None:
    spec["statistics"].append({"sum": "cost", "bounds": [0, 15], "resolution": 1})
    asked = spec | {"cut": {"weight": 2}}
    trials, draws = (300, 2) if soaked() else (100, 1)
    found = audit(asked, trials=trials, failure_probability=1e-6, draws=draws)
    assert found.passed, found.faults


def test_words_tell_the_interval_of_the_table() -> None:
    """A count of units was told as 0 to 990 in words, and as -436 to 990 in the table."""
    row = {"units": 277, "interval_low": -436, "interval_high": 990, "text": "t", "at_most": None}
    assert cut_line(row).startswith("277 (-436 to 990)")


PERSONS = {
    "count": "units", "name": "persons", "margins": [["sex", "year"]],
    "keys": {"sex": ["f", "m"], "year": ["y1", "y2", "y3", "y4", "y5"]},
}  # fmt: skip
SEVERAL: list[dict[str, Any]] = [
    PERSONS,
    {"count": "units", "name": "all"},
    {"share": {"of": {"count": "units", "name": "f", "where": "sex = 'f'"}, "among": "all"},
     "name": "part"},
    {"sum": "cost", "bounds": [-1, 0], "resolution": 1, "name": "debts"},
    {"count": "rows", "name": "rows", "by": ["sex"], "keys": {"sex": ["f", "m"]}},
    {"rate": {"events": "rows", "per": {"f": 10, "m": 10}}, "name": "rate"},
]  # fmt: skip


def several(spec: dict[str, Any], folder: Path, **protect: int) -> tuple[dict[str, Any], pa.Table]:
    rows = [(f"p{i}", "fm"[i % 2], f"y{y}", 1.0) for i in range(50) for y in range(1, 6)]
    names = ("person", "sex", "year", "cost")
    data = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    return spec | {"protect": spec["protect"] | protect, "statistics": SEVERAL}, data


def test_the_dry_run_says_what_each_limit_leaves_out_of_which_statistic(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    asked, data = several(spec, tmp_path, rows=5, groups=1)
    found = preview(asked, data=data, folder=tmp_path).to_dict()
    lines = accuracy_lines(found)
    (persons,) = [line for line in lines if line.startswith("“persons”")]
    assert "in at most 1 combination of keys, chosen at random" in persons
    assert "values come out low: a cell counts only the units for which it was drawn" in persons
    assert "adds up all combinations of a unit counts it once" in persons
    (debts,) = [line for line in lines if line.startswith("“debts”")]
    assert debts.endswith("values come out high.")
    assert any(line.startswith("“rows”: ") and "in at most 1 group," in line for line in lines)
    (unpaid,) = [line for line in lines if "not known" in line]
    assert unpaid == (
        "It is not known how many units lose rows in “persons”, “debts”, “rows”, "
        "or have values clipped in “debts”."
    )
    again, _ = several(spec, tmp_path, rows=5, groups=5)
    notes = preview(again, data=data, folder=tmp_path).to_dict()["notes"]
    (note,) = [note for note in notes if "groups: 1" in note]
    assert "each cell counts only the units for which it was drawn" in note
    assert "right only where a unit belongs to one combination" in note


@pytest.mark.parametrize(("groups", "said"), [(None, True), (2, True), (1, False)])
def test_that_limits_leave_out_more_of_some_groups_is_told(
    spec: dict[str, Any], people: pa.Table, groups: int | None, said: bool
) -> None:
    """Makers whose aircraft fly often fell behind others, and only low values were told."""
    limits = {} if groups is None else {"groups": groups}
    spec["protect"] |= {"rows": 2} | limits
    if not said:
        spec["statistics"] = [{"count": "rows", "name": "all"}]
    lines = accuracy_lines(preview(spec, data=people).to_dict())
    assert any("compare groups with care" in line for line in lines) is said


def test_of_a_statistic_with_all_combinations_nothing_is_left_out(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    asked, data = several(spec, tmp_path, rows=10, groups=10)
    found = preview(asked, data=data, folder=tmp_path).to_dict()
    assert found["contributions"]["persons"]["left_out"] is None
    assert not any(line.startswith("“persons”:") for line in accuracy_lines(found))
    declared, _ = several(spec | {"cut": {"rows": 5}}, tmp_path, rows=5, groups=5)
    found = preview(declared, data=data, folder=tmp_path).to_dict()
    assert found["contributions"]["persons"]["left_out"] is None


def test_workbook_and_statement_say_the_same_of_limits(
    spec: dict[str, Any], account: Callable[..., Ledger], tmp_path: Path
) -> None:
    account()
    asked, data = several(spec, tmp_path, rows=5, groups=1)
    made = release(asked, data=data, folder=tmp_path)
    said = json.loads((made.statement.parent / "release.json").read_text(encoding="utf-8"))
    told = [row[1] for row in notes(said).rows]
    assert any("“persons”: A unit counts in at most 1 combination" in text for text in told)
    assert not any("each combination of keys that it is in" in text for text in told)
    beside = made.statement.read_text(encoding="utf-8")
    assert "“persons”: A unit counts in at most 1 combination" in beside
    assert "Values of cost outside -1 to 0 count as the nearer bound." in beside
    stated = made.report()
    (bias,) = [b for b in stated.statement.to_dict()["biases"] if b["kind"] == "bounding"]
    assert "“persons”: A unit counts in at most 1 combination" in bias["text"]
    assert "“rate”: They are made of such numbers" in bias["text"]
    assert "“all”, “f”, “part”: No limit leaves out a row or a unit." in bias["text"]
