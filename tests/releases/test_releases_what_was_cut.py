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
from discreet.releases.spec import load
from discreet.releases.statistics.cut import Cut, CutUnits
from discreet.statements.presenter import cut_line
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
    assert (rows["bias"], values["bias"]) == ("low", "either")
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
        assert "cut: {weight: 0.05}" in said
    (statement,) = tmp_path.glob("*/*/statement.md")
    published = statement.read_text(encoding="utf-8")
    assert "How many units are cut is not known." in published
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
