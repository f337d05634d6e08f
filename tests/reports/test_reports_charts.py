"""The charts as a set: one look, the papers' numbers in the gallery, the figures that explain."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from discreet.charts import save, series, synthetic, tolerance
from discreet.charts.explaining import (
    account_chart,
    before_after,
    before_after_data,
    icon_array,
    icon_data,
    released_chart,
)
from discreet.charts.style import COLOURS, GRID, INK, MUTED
from discreet.guarantees import ZCDP, PureDP
from discreet.synthetic import simulate

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "examples" / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_gallery_has_every_figure_of_the_three_papers(gallery: ModuleType) -> None:
    names = list(gallery.figures())
    assert sum(name.startswith("kazan-reiter") for name in names) == 5
    assert sum(name.startswith("kazan-sharma") for name in names) == 7
    assert sum(name.startswith("mcclure-reiter") for name in names) == 4


def rows_of(spec: Any) -> list[dict[str, Any]]:
    """Every row of data in a chart's specification, however it is nested."""
    found: list[dict[str, Any]] = []
    if isinstance(spec, dict):
        values = spec.get("data", {}).get("values") if isinstance(spec.get("data"), dict) else None
        found += values or []
        for key, part in spec.items():
            if key != "data":
                found += rows_of(part)
    elif isinstance(spec, list):
        for part in spec:
            found += rows_of(part)
    return found


def labels(chart: Any) -> list[str]:
    """The budgets written on a chart; a rule and its label share their data."""
    found = [str(row["label"]) for row in rows_of(chart.to_dict()) if "label" in row]
    return list(dict.fromkeys(label for label in found if label.startswith("ε")))


def test_kazan_and_reiter_1_to_5_draw_the_budgets_of_the_examples() -> None:
    """Budgets rounded down, as the reference values have them."""
    shown = {number: labels(getattr(tolerance, f"figure_{number}")()) for number in (1, 3, 4)}
    assert shown[3] == ["ε = 0.5108", "ε = 1.2992", "ε = 2.0368"]  # 1.29928, 2.03688: down
    assert [float(label[4:]) for label in shown[4]] == pytest.approx([1.09, 1.21, 2.10], abs=6e-3)
    assert len(shown[1]) == 2
    rows = {row.name: row for row in tolerance.figure_2_rows()}
    five = rows["r = 5, a = 0.5"]
    assert five.epsilon == pytest.approx(2.1972, abs=1e-4)
    assert five.sd == pytest.approx(0.530, abs=1e-3)
    two = rows["r = 2, a = 0.25"]
    assert two.epsilon == pytest.approx(0.8473, abs=1e-4)
    assert [c for _, c in two.crosses] == pytest.approx([0.3, 0.1286, 0.0236, 8.0e-4], abs=1e-4)
    spots = [
        row for row in rows_of(tolerance.figure_5(24).to_dict()) if row.get("label") == "binds"
    ]
    assert (spots[0]["p0"], spots[0]["q0"]) == pytest.approx((1, 1 / 12), abs=1e-6)


def test_kazan_sharma_1_starts_and_ends_where_the_theorem_does() -> None:
    rows = [row for row in rows_of(series.figure_1().to_dict()) if "bound" in row]
    for row in rows:
        failure, epsilon, delta = row["failure"], 1.0, 1e-6
        if failure > delta:
            truth = math.log(failure * math.exp(epsilon) + delta) - math.log(failure - delta)
            assert row["bound"] == pytest.approx(truth, rel=1e-9)
    assert rows[-1]["bound"] == pytest.approx(1.0, abs=1e-5)


def test_kazan_sharma_2_draws_what_composes() -> None:
    rows = rows_of(series.figure_2(upto=60).to_dict())
    at = {(row["name"], row["k"]): row["epsilon"] for row in rows if "epsilon" in row}
    for k in (1, 10, 60):
        assert at["basic", k] == pytest.approx(0.05 * k, abs=1e-9)
        assert at["optimal", k] <= at["basic", k] + 1e-12
    printed = 60 * 0.05 * math.expm1(0.05) + math.sqrt(2 * 60 * 0.05**2 * math.log(1e6))
    assert at["advanced", 60] == pytest.approx(printed, rel=1e-9)


@pytest.mark.parametrize("p0", [0.5, 0.001])
def test_mcclure_and_reiter_1_to_4_draw_the_runs(p0: float) -> None:
    runs = simulate(p0, replicates=2)
    drawn = [
        row for row in rows_of(synthetic.risk_against_utility(runs, p0=p0).to_dict()) if "U" in row
    ]
    assert [row["R"] for row in drawn] == [run.risk for run in runs]
    assert [row["U"] for row in drawn] == [run.utility for run in runs]
    # At the prior one half, RR = R + (1 − R) e^Λ is 2R.
    for run in runs:
        assert 2 * run.risk == pytest.approx(run.risk + (1 - run.risk) * math.exp(run.shift))
    lines = rows_of(synthetic.relative_against_absolute(runs, p0=p0).to_dict())
    assert len(lines) == 2 * len(runs)


# -- one look


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_texts_and_marks_stand_out_from_the_page() -> None:
    assert contrast(INK, "#ffffff") >= 4.5
    assert contrast(MUTED, "#ffffff") >= 4.5
    for colour in COLOURS[:3]:
        assert contrast(colour, "#ffffff") >= 3
    for drawn in ("#3fa0dd", "#f0883e"):  # the same marks on a dark screen
        assert contrast(drawn, "#0d1117") >= 3


def test_every_chart_has_the_common_look() -> None:
    runs = simulate(0.001, replicates=1)
    charts = [
        icon_array(30, 62),
        before_after(PureDP(1.0)),
        series.figure_6(),
        tolerance.figure_3(),
        synthetic.risk_against_utility(runs, p0=0.001),
        synthetic.relative_against_absolute(runs, p0=0.001),
    ]
    for chart in charts:
        spec = chart.to_dict()
        assert spec["title"]["anchor"] == "start"
        assert spec["config"]["axis"]["gridColor"] == GRID


# -- the figures that explain


def test_a_hundred_figures() -> None:
    rows = icon_data(30, 62)
    kinds = [row["kind"] for row in rows]
    assert len(rows) == 100
    assert (kinds.count("before"), kinds.count("more, at most"), kinds.count("others")) == (
        30,
        32,
        38,
    )
    shown = {row["label"] for row in rows_of(icon_array(30, 62).to_dict())}
    assert shown == {"30 before", "32 more, at most", "38 others"}
    assert {row["kind"] for row in icon_data(0, 100)} == {"more, at most"}


@pytest.mark.parametrize("stated", [PureDP(1.1), ZCDP(0.05)])
def test_belief_before_and_after_is_that_of_explain(stated: Any) -> None:
    from discreet.beliefs import explain

    for row in before_after_data(stated, priors=(0.1, 0.5, 0.9)):
        belief = explain(stated, row["prior"]).posterior
        assert belief is not None
        assert (row["lower"], row["upper"]) == (belief.lower, belief.upper)


def test_they_are_pictures(tmp_path: Path) -> None:
    entry = {"entry": "1", "spent": 0.5, "label": "0.5", "kind": "this release"}
    cell = {"cell": "north", "value": 3.0, "low": 1.0, "high": 5.0}
    charts = {
        "icons": icon_array(1, 4),
        "account": account_chart([entry], sign="ε", cap=None),
        "released": released_chart([cell], title="Counts", interval=0.95),
    }
    for name, chart in charts.items():
        for kind, start in (("png", b"\x89PNG"), ("svg", b"<svg")):
            path = save(chart, tmp_path / f"{name}.{kind}", scale=1.0)
            assert path.read_bytes().startswith(start)
