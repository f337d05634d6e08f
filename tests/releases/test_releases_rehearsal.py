"""Rehearsals: bias and noise on a twin, against numbers that are known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet
from discreet.errors import InputError, PolicyError


def _spec(*statistics: dict[str, Any], epsilon: float = 1.0, **protect: Any) -> dict[str, Any]:
    return {
        "account": "a",
        "purpose": "p",
        "source": "real.csv",
        "protect": {"unit": "person", "column": "person", "rows": 2} | protect,
        "budget": {"epsilon": epsilon},
        "statistics": list(statistics),
        "ledger": "sqlite:///l.db",
        "output": "out",
    }


# 100 people with 1 … 4 rows each, a quarter each; every value is 10.
PEOPLE = [i for i in range(100) for _ in range(1 + i % 4)]
TWIN = pa.table({"person": PEOPLE, "x": [10.0] * len(PEOPLE)})


def test_the_bias_is_what_limits_and_bounds_leave_out() -> None:
    spec = _spec({"count": "rows"}, {"sum": "x", "bounds": [0, 4], "resolution": 1})
    found = discreet.rehearse(spec, TWIN, limits=[1, 2, 3, 4], repeats=2)
    bias = {(row["statistic"], row["limit"]): row["bias"] for row in found.rows}
    for limit, kept in {1: 100, 2: 175, 3: 225, 4: 250}.items():
        assert bias["count_rows_1", limit] == 250 - kept
        assert bias["sum_x_2", limit] == 2500 - 4 * kept


def test_the_noise_grows_with_the_limit_and_error_is_both() -> None:
    # The mean square of 60 draws of Laplace noise is below 0.1 or above 60 times its expectation
    # with probability below 1e-9: Chernoff below; above, Σx² ≤ max|x|·Σ|x|, and either Σ|x| is
    # three times its expectation (a Gamma tail of 1e-24), or one draw beyond 28 sd (60·e^{-39}).
    found = discreet.rehearse(
        _spec({"count": "rows"}, epsilon=0.025), TWIN, limits=[1, 4], repeats=60
    )
    for row in found.rows:
        sd = math.sqrt(2) * row["limit"] / 0.025
        assert 0.1 * sd**2 < row["noise"] ** 2 < 60 * sd**2
        assert abs(row["error"] - row["noise"]) <= row["bias"] + 1e-9
        assert row["error"] <= row["bias"] + row["noise"] + 1e-9


def test_the_recommended_limit_follows_the_budget() -> None:
    def best(epsilon: float) -> int:
        spec = _spec({"count": "rows"}, epsilon=epsilon)
        return discreet.rehearse(spec, TWIN, limits=[1, 2, 4], repeats=20).recommended

    # At 0.001 noise of sd 1,414·R against a bias of at most 150; at 100 hardly any noise.
    assert (best(1e-3), best(100.0)) == (1, 4)


def test_every_statistic_can_be_rehearsed() -> None:
    people = {"person": PEOPLE, "x": [float(i % 7) for i in PEOPLE], "g": ["a"] * len(PEOPLE)}
    keys = {"by": ["g"], "keys": {"g": ["a", "b"]}}
    bounds = {"bounds": [0, 6], "resolution": 1}
    found = discreet.rehearse(
        _spec(
            {"count": "units", **keys},
            {"mean": "x", **bounds},
            {"variance": "x", **bounds},
            {"quantile": "x", "at": 0.5, **bounds},
            {"quantiles": {"of": "x", "at": [0.5, 0.9], **bounds}},
            {"histogram": "x", "edges": [0, 3, 6]},
            {"best": "g", "score": "count", "of": "g", "candidates": ["a", "b"]},
            epsilon=50.0,
        )
        | {"cut": {"weight": 0.1}},
        pa.table(people),
        limits=[2],
        repeats=2,
    )
    assert len(found.rows) == 6  # a best candidate has no number to be off by
    assert found.to_pandas().columns.tolist() == ["limit", "statistic", "bias", "noise", "error"]
    assert "recommended=2" in repr(found)


def test_the_protected_source_is_no_twin(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("person\n1\n")
    with pytest.raises(PolicyError, match="protected"):
        discreet.rehearse(_spec({"count": "rows"}), tmp_path / "real.csv", folder=tmp_path)


def test_records_and_wrong_numbers_are_refused() -> None:
    spec = _spec({"count": "rows"}) | {"protect": {"unit": "record"}}
    with pytest.raises(InputError, match="records"):
        discreet.rehearse(spec, TWIN)
    with pytest.raises(InputError, match="whole numbers"):
        discreet.rehearse(_spec({"count": "rows"}), TWIN, limits=[0])


def test_the_picture_has_a_panel_for_each_statistic() -> None:
    from discreet.charts import rehearsal_chart

    found = discreet.rehearse(_spec({"count": "rows"}, {"count": "units"}), TWIN, repeats=1)
    assert len(rehearsal_chart(found).to_dict()["hconcat"]) == 2
