"""The charts of risk: they hold its numbers, and say that they are confidential."""

from __future__ import annotations

import json

import numpy as np
import pytest

from discreet import charts
from discreet.synthetic import Cells, assess_counts, search


def values(chart):
    spec = chart.to_dict()
    rows = spec.get("data", {}).get("values")
    return rows if rows is not None else [r for rs in spec["datasets"].values() for r in rs]


def test_risk_map_shows_the_riskiest_cells_and_says_secret():
    cells = Cells.of({"a": [str(i) for i in range(30)], "b": ["x", "y"]})
    rng = np.random.default_rng(1)
    x = rng.integers(0, 9, cells.size)
    judged = assess_counts(x, rng.integers(0, 9, cells.size), epsilon=900, cells=cells)
    chart = charts.risk_map(judged, priors=[0.1, 0.5], most=7)
    cells_of_it, plane = chart.to_dict()["hconcat"]
    rows = cells_of_it["data"]["values"]
    assert len(rows) == 14
    ends = plane["data"]["values"]
    assert len(ends) == 14
    riskiest = judged.riskiest(1)[0]
    assert ends[1]["RR"] == pytest.approx(judged.risk.relative(0.999)[riskiest])
    assert rows[0]["R"] == pytest.approx(np.nanmax(judged.risk.absolute(0.1)))
    assert "Confidential" in json.dumps(chart.to_dict())


def test_frontier_has_a_point_a_budget_and_says_secret():
    found = search([995, 5], [1, 10, 100], region="RR <= 1.5", n_synthetic=500, candidates=2)
    chart = charts.frontier(found)
    assert "Confidential" in json.dumps(chart.to_dict())
    assert {row["epsilon"] for row in values(chart)} == {"1", "10", "100"}
