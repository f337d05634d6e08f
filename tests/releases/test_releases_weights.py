"""Survey weights: exact sums, sensitivities attained and never passed, calibrated ones refused."""

from __future__ import annotations

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
from discreet.errors import PolicyError, SpecError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import preview, release
from discreet.releases.drawing import passes, query_of
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.planning import Plan, plan_of
from discreet.releases.spec import load
from discreet.statements.presenter import accuracy_lines
from soaking import examples, soaked

COLUMNS: dict[str, Any] = {"person": "text", "w": "number", "y": "number"}
Row = tuple[str, float | None, float | None]
WEIGHTS = {"column": "w", "bounds": [0, 4], "resolution": 0.5}
STATISTICS = [
    {"count": "rows", "weight_by": "w", "bounds": [0, 4], "resolution": 0.5, "name": "count"},
    {"sum": "y", "bounds": [-1, 3], "resolution": 1, "weight_by": WEIGHTS, "name": "sum"},
    {"mean": "y", "bounds": [0, 3], "resolution": 1, "weight_by": WEIGHTS, "name": "mean"},
]


def planned(spec: dict[str, Any], folder: Path) -> Plan:
    return plan_of(load(spec, folder=folder), COLUMNS)


def numbers(plan: Plan, rows: list[Row]) -> dict[tuple[str, str], list[int]]:
    """What noise would go on, for every call."""
    names = ("person", "w", "y")
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    types = (pa.string(), pa.float64(), pa.float64())
    table = pa.table({n: pa.array(c, t) for n, c, t in zip(names, columns, types, strict=True)})
    engine, found = DuckDB.of(table), {}
    try:
        for group in passes(plan.statistics):
            measured = engine.measure(query_of(plan, group))
            for one in group:
                for part in plan.calls(one.name):
                    found[one.name, part] = one.statistic.numbers(part, measured)
    finally:
        engine.close()
    return found


def rounded(x: float, low: float, high: float, step: float) -> Fraction:
    """Clipped, and in whole multiples: a half goes up."""
    clipped = min(max(Fraction(x), Fraction(low)), Fraction(high))
    return (clipped / Fraction(step) + Fraction(1, 2)) // 1 * Fraction(step)


@settings(derandomize=True, deadline=None, max_examples=examples(120))
@given(
    rows=st.lists(
        st.tuples(
            st.uuids().map(str),
            st.none() | st.sampled_from([-1.0, 0.0, 0.3, 0.75, 2.0, 3.5, 9.0]),
            st.none() | st.sampled_from([-7.0, -1.0, 0.0, 0.4, 1.0, 2.6, 30.0]),
        ),
        max_size=8,
    )
)
def test_sums_are_those_of_fractions(rows: list[Row], tmp_path_factory: Any) -> None:
    spec = {
        "account": "a", "purpose": "p", "budget": {"epsilon": 1.0}, "statistics": STATISTICS,
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "ledger": "sqlite:///l.db", "output": "o",
    }  # fmt: skip
    plan = planned(spec, Path.cwd())
    found = numbers(plan, rows)
    weights = [(rounded(w, 0, 4, 0.5), y) for _, w, y in rows if w is not None]
    both = [(w, y) for w, y in weights if y is not None]
    exact = {
        ("count", "count"): sum((w for w, _ in weights), Fraction(0)),
        ("sum", "sum"): sum((w * rounded(y, -1, 3, 1) for w, y in both), Fraction(0)),
        ("mean", "count"): sum((w for w, _ in both), Fraction(0)),
        ("mean", "sum"): sum(
            (w * (rounded(y, 0, 3, 1) - Fraction(3, 2)) for w, y in both), Fraction(0)
        ),
    }
    for (name, part), value in exact.items():
        step = plan.calls(name)[part].asked.part.resolution
        assert [number * step for number in found[name, part]] == [value]


def _people(most: int) -> list[list[Row]]:
    possible: list[Row] = [("new", w, y) for w in (0.5, 50.0) for y in (-9.0, 0.0, 3.0)]
    sets = (combinations_with_replacement(possible, size) for size in range(1, most + 1))
    return [list(rows) for rows in chain.from_iterable(sets)]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_sensitivities_are_attained_and_never_passed(
    adjacency: str, spec: dict[str, Any], tmp_path: Path
) -> None:
    """Every unit with one or two rows of extreme weights and values, where two may count."""
    spec["statistics"] = STATISTICS
    spec["protect"] |= {"rows": 2, "adjacency": adjacency}
    plan = planned(spec, tmp_path)
    others: list[Row] = [("p", 2.0, 1.0), ("q", 1.0, 2.0)]
    nobody = numbers(plan, others)
    every = [nobody] + [numbers(plan, others + own) for own in _people(2)]
    for call in plan.pricing.calls:
        part = call.asked.part
        values = [found[call.asked.statistic, part.name][0] for found in every]
        alone = values[0]
        moved = max(abs(value - alone) for value in values)
        if adjacency == "add-remove":
            assert moved == part.l1
            assert moved**2 == part.l2_squared
        else:
            assert max(values) - min(values) <= part.l1
            assert (max(values) - min(values)) ** 2 <= part.l2_squared
    largest = {
        (c.asked.statistic, c.asked.part.name): c.to_dict()["l1"] for c in plan.pricing.calls
    }
    twice = 2 if adjacency == "add-remove" else 4
    assert largest == {
        ("count", "count"): twice * 4,
        ("sum", "sum"): twice * 12,
        ("mean", "count"): twice * 4,
        ("mean", "sum"): twice * 6,
    }


def test_a_weighted_release_tells_what_weights_cost(
    spec: dict[str, Any], account: Callable[..., Ledger], tmp_path: Path
) -> None:
    account(cap=PureDP(10_000.0))
    spec["budget"] = {"epsilon": 3000.0}
    spec["statistics"] = [dict(one) for one in STATISTICS]
    design = {"design_effect": 1.5, "sample": 600}
    spec["statistics"][2] |= {"weight_by": WEIGHTS | design}
    spec["statistics"][0] = {
        "count": "rows",
        "weight_by": WEIGHTS | design | {"population": 1000},
        "name": "count",
    }
    data = pa.table(
        {
            "person": [f"p{i}" for i in range(200)],
            "w": [1.0 + i % 3 for i in range(200)],
            "y": [float(i % 4) for i in range(200)],
        }
    )
    shown = preview(spec, data=data, folder=tmp_path)
    assert sum("4 times as large" in note for note in shown.notes) == 3
    accuracy = {row["statistic"]: row for row in shown.to_dict()["accuracy"]}
    assert accuracy["mean"]["sampling_sd"] == pytest.approx(1.5 * (1.5 / 600) ** 0.5)
    assert accuracy["count"]["sampling_sd"] == pytest.approx(500 * (1.5 / 600) ** 0.5)
    assert "sampling_sd" not in accuracy["sum"]
    # The error of a mean depends on the weights of a group: it was told by its rows.
    assert accuracy["mean"]["by"] == "weights"
    assert accuracy["mean"]["assumed"][-1]["weights"] == 2000
    assert any("whose weights add up to 2,000" in line for line in accuracy_lines(shown.to_dict()))
    made = release(spec, data=data, folder=tmp_path)
    table = made.table.to_columns()
    values = dict(zip(table["statistic"], table["value"], strict=True))
    weights, ys = data["w"].to_pylist(), data["y"].to_pylist()
    total = sum(w * y for w, y in zip(weights, ys, strict=True))
    # Scales below 0.03: off by one with probability below 1e-12.
    assert values["count"] == pytest.approx(sum(weights), abs=1)
    assert values["sum"] == pytest.approx(total, abs=1)
    assert values["mean"] == pytest.approx(total / sum(weights), abs=0.02)
    report = made.report()
    assert "not to depend on the data of others" in (
        made.statement.parent / "release.json"
    ).read_text(encoding="utf-8")
    assert report.folder.is_dir()


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"count": "rows", "weight_by": "w"}, "public bounds"),
        ({"count": "rows", "weight_by": WEIGHTS, "bounds": [0, 4]}, "once"),
        ({"sum": "y", "weight_by": "w", "bounds": [0, 4], "resolution": 1}, "those of the values"),
        ({"weight_by": WEIGHTS}, "exactly one of count, sum and mean"),
        ({"count": "rows", "weight_by": "w", "bounds": [-1, 4]}, "must not be negative"),
    ],
)
def test_what_is_not_said_wholly_is_refused(
    entry: dict[str, Any], says: str, spec: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match=says):
        load(spec | {"statistics": [entry]}, folder=tmp_path)


def test_calibrated_weights_are_refused_by_policy(spec: dict[str, Any], tmp_path: Path) -> None:
    entry = {"count": "rows", "weight_by": WEIGHTS | {"calibrated": True}}
    with pytest.raises(PolicyError, match="change for everybody") as refused:
        load(spec | {"statistics": [entry]}, folder=tmp_path)
    assert refused.value.exit_code == 4


def test_weights_outside_their_bounds_are_counted_as_cut(
    spec: dict[str, Any], tmp_path: Path
) -> None:
    spec["statistics"] = STATISTICS[:2]
    plan = planned(spec | {"cut": {}}, tmp_path)
    asked = [one["about"] for one in plan.cut() or ()]
    assert asked == ["rows", "w", "y"]


@pytest.mark.slow
def test_the_audit_passes_weights(spec: dict[str, Any], brief_audits: None) -> None:
    asked = spec | {"statistics": STATISTICS}
    trials, draws = (300, 2) if soaked() else (100, 1)
    found = audit(asked, trials=trials, failure_probability=1e-6, draws=draws)
    assert found.passed, found.faults
