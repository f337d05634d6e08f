"""The charts: they render, hold the numbers of the runs, and say what is confidential."""

from __future__ import annotations

import json
from importlib import import_module

import numpy as np
import pytest

from discreet.synthetic import Cells, assess_counts, search, simulate

charts = import_module("discreet.charts.synthetic")


@pytest.fixture(scope="module")
def runs():
    return simulate(0.001, replicates=3)


def values(chart):
    spec = chart.to_dict()
    rows = spec.get("data", {}).get("values")
    return rows if rows is not None else [r for rs in spec["datasets"].values() for r in rs]


def test_simulation_is_reproducible_and_follows_the_paper(runs):
    assert runs == simulate(0.001, replicates=3)
    assert len(runs) == 18
    tight = [abs(run.risk - 0.5) for run in runs if run.epsilon == 0.01]
    assert max(tight) < 0.001
    assert {run.answer for run in runs} <= {"yes", "no"}


def test_figures_1_and_2(runs):
    chart = charts.risk_against_utility(runs, p0=0.001)
    text = json.dumps(chart.to_dict())
    assert all(f"{run.risk}" in text for run in runs)


def test_figures_3_and_4_end_at_the_first_and_last_prior(runs):
    chart = charts.relative_against_absolute(runs, p0=0.001)
    rows = chart.to_dict()["data"]["values"]
    assert len(rows) == 2 * len(runs)
    first = rows[0]["R"] / rows[0]["RR"]
    assert first == pytest.approx(1 / 1001)
    growth = np.exp(runs[0].shift)
    assert rows[1]["RR"] == pytest.approx(rows[1]["R"] + (1 - rows[1]["R"]) * growth)


def test_risk_map_shows_the_riskiest_cells_and_says_secret():
    cells = Cells.of({"a": [str(i) for i in range(30)], "b": ["x", "y"]})
    rng = np.random.default_rng(1)
    x = rng.integers(0, 9, cells.size)
    judged = assess_counts(x, rng.integers(0, 9, cells.size), epsilon=900, cells=cells)
    chart = charts.risk_map(judged, priors=[0.1, 0.5], most=7)
    rows = chart.to_dict()["data"]["values"]
    assert len(rows) == 14
    assert rows[0]["R"] == pytest.approx(np.nanmax(judged.risk.absolute(0.1)))
    assert "Confidential" in json.dumps(chart.to_dict())


def test_frontier_has_a_point_a_budget_and_says_secret():
    found = search([995, 5], [1, 10, 100], region="RR <= 1.5", n_synthetic=500, candidates=2)
    chart = charts.frontier(found)
    assert "Confidential" in json.dumps(chart.to_dict())
    assert {row["epsilon"] for row in values(chart)} == {"1", "10", "100"}


def test_charts_become_pictures(runs):
    vl_convert = import_module("vl_convert")
    for chart in (
        charts.risk_against_utility(runs, p0=0.001),
        charts.relative_against_absolute(runs, p0=0.001),
    ):
        assert vl_convert.vegalite_to_svg(chart.to_json()).startswith("<svg")
