"""Rehearsals: bias and noise on a twin, against numbers that are known."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet
from discreet.cli import main
from discreet.errors import InputError, PolicyError
from discreet.ledger import Ledger
from discreet.releases.checking import _best
from discreet.releases.statistics.base import KINDS
from soaking import soaked


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


def test_noise_of_a_known_law_is_not_drawn_and_error_is_both() -> None:
    """One draw of Laplace-like noise was told as its size, and errors below the bias with it."""
    counts = {"count": "rows", "margins": [[], ["g"]], "keys": {"g": ["a", "b"]}}
    twin = TWIN.append_column("g", [["ab"[i % 2] for i in PEOPLE]])
    spec = _spec({"count": "rows"}, counts, {"mean": "x", "bounds": [0, 10], "resolution": 1})
    found = discreet.rehearse(spec, twin, limits=[1, 4], repeats=1)
    again = discreet.rehearse(spec, twin, limits=[1, 4], repeats=1)
    for row, same in zip(found.rows, again.rows, strict=True):
        if row["statistic"] == "mean_x_3":
            continue
        assert row == same
        assert row["error"] == pytest.approx(math.hypot(row["bias"], row["noise"]), rel=1e-12)
    for row in found.rows:
        if row["statistic"] == "count_rows_1":
            # Var of the geometric law with e^{-ε/R}: 2q/(1−q)²; ε is a third of the budget.
            q = math.exp(-1 / 3 / row["limit"])
            assert row["noise"] == pytest.approx(math.sqrt(2 * q) / (1 - q), rel=1e-3)


def test_each_statistic_has_its_own_best_limit() -> None:
    spec = _spec({"count": "rows", "weight": 50}, {"count": "units"}, epsilon=0.05)
    found = discreet.rehearse(spec, TWIN, limits=[1, 2, 4], repeats=1)
    assert found.best == {"count_rows_1": 2, "count_units_2": 1} == found.to_dict()["best"]


def test_rows_that_count_are_told_beside_the_limit_and_luck_beside_the_least(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Limits of 5 and 8 had the same errors, and the luckier of two medians was called best."""
    (tmp_path / "twin.csv").write_text("person,x,g\n" + "1,1,a\n1,2,a\n2,3,b\n")
    median = {"median": "x", "bounds": [0, 10], "resolution": 1}
    grouped = {"count": "rows", "by": ["g"], "keys": {"g": ["a", "b"]}}
    spec = _spec({"count": "rows"}, median, grouped, rows=2, rows_per_group=2)
    (tmp_path / "s.yaml").write_text(json.dumps(spec))
    words = [str(tmp_path / "s.yaml"), "--twin", str(tmp_path / "twin.csv"), "--limit", "3"]
    with pytest.raises(SystemExit):
        main(["rehearse", *words, "--repeats", "3"])
    out = capsys.readouterr().out
    assert re.search(r"^ *2 +2 +count_rows_1 .*<- its least$", out, re.M)
    assert re.search(r"^ *3 +2 +count_rows_1 ", out, re.M)
    assert re.search(r"median_x_2 .*<- its least in 3 draws, in part by luck$", out, re.M)


def test_limits_that_do_the_same_are_tried_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of five with the same noise was recommended, by its luck in ten draws."""
    median = {"median": "x", "bounds": [0, 10], "resolution": 1}
    spec = _spec(median, rows=4, groups=1, rows_per_group=4)
    found = discreet.rehearse(spec, TWIN, repeats=2)
    assert [row["limit"] for row in found.rows] == [1, 2, 4]
    assert found.alike == {4: [5, 10, 20, 50]}
    assert found.recommended in (1, 2, 4)
    # Without the spec's own among them it is the smallest; each limit of units does the same.
    other = discreet.rehearse(spec, TWIN, limits=[50, 10], repeats=2, changes={"protect.rows": 2})
    assert ([row["limit"] for row in other.rows], other.alike) == ([2, 10], {10: [50]})
    units = discreet.rehearse(_spec({"count": "units"}), TWIN, repeats=1)
    assert (units.recommended, units.alike) == (2, {2: [1, 5, 10, 20, 50]})
    (tmp_path / "twin.csv").write_text("person,x\n1,1\n1,2\n2,3\n")
    (tmp_path / "s.yaml").write_text(json.dumps(spec))
    with pytest.raises(SystemExit):
        main(["rehearse", str(tmp_path / "s.yaml"), "--twin", str(tmp_path / "twin.csv")])
    out = capsys.readouterr().out
    assert "rows: 5, 10, 20, 50 would do the same as rows: 4, since rows_per_group" in out


def test_no_statistic_decides_alone_because_its_draws_were_right() -> None:
    """A quantile that was off by 0 in every draw outweighed a thousandfold error of all others."""
    rows = [
        {"limit": limit, "statistic": name, "bias": 0.0, "noise": error, "error": error}
        | {"drawn": name == "c"}
        for limit, errors in {1: (1.0, 1.0, 3.0), 2: (900.0, 900.0, 0.0)}.items()
        for name, error in zip("abc", errors, strict=True)
    ]
    draws = {"c": 10, "median": 10}
    assert _best(rows, [1, 2], draws) == [1]
    # One count against a median of few draws: the law of the count's noise is known.
    count, median = (19.0, 883.0), (31.6, 0.0)
    rows = [
        {"limit": limit, "statistic": name, "bias": bias, "noise": noise, "error": error}
        | {"drawn": name == "median"}
        for limit, one, other in zip((5, 1), count, median, strict=True)
        for name, bias, noise, error in (("count", 0.0, one, one), ("median", 5.0, 1.0, other))
    ]
    assert _best(rows, [1, 5], draws) == [5]
    same = [row | {"error": 0.0} for row in rows]
    assert _best(same, [1, 5], draws) == [1, 5]
    # Of 10 draws a root mean square a third larger is chance; of 1,000 it is not.
    near = [
        row | {"drawn": True, "error": 4.0 - (row["limit"] == 1)} for row in rows[:1] + rows[2:3]
    ]
    near = [row | {"statistic": "median"} for row in near]
    assert _best(near, [1, 5], draws) == [1, 5]
    assert _best(near, [1, 5], {"median": 1_000}) == [1]


def test_the_recommended_limit_follows_the_budget() -> None:
    def best(epsilon: float) -> int:
        spec = _spec({"count": "rows"}, epsilon=epsilon)
        return discreet.rehearse(spec, TWIN, limits=[1, 2, 4], repeats=20).recommended

    # At 0.001 noise of sd 1,414·R against a bias of at most 150; at 100 hardly any noise.
    assert (best(1e-3), best(100.0)) == (1, 4)


BOUNDS = {"bounds": [0, 99], "resolution": 1}
KEYS = {"by": ["g"], "keys": {"g": ["a", "b", "nobody"]}}
EVERY: dict[str, dict[str, Any]] = {
    "count": {"count": "rows", **KEYS, "name": "count"},
    "sum": {"sum": "x", **BOUNDS, "name": "sum"},
    "mean": {"mean": "x", **BOUNDS},
    "variance": {"variance": "x", **BOUNDS},
    "quantile": {"quantile": "x", "at": 0.5, **BOUNDS, **KEYS},
    "quantiles": {"quantiles": {"of": "x", "at": [0.01, 0.5, 0.99], **BOUNDS}, **KEYS},
    "median": {"median": "x", **BOUNDS, **KEYS},
    "histogram": {"histogram": "x", "edges": [0, 50, 99]},
    "best": {"best": "g", "score": "count", "of": "g", "candidates": ["a", "b"]},
    "randomized": {"randomized": "g", "answers": ["a", "b"], "keep": 1 - 1e-12},
    "weight_by": {"weight_by": {"column": "x", "bounds": [0, 99]}, "count": "rows"},
    "margins": {"count": "rows", "margins": [[], ["g"]], "keys": KEYS["keys"], "name": "margins"},
    "share": {"share": {"of": "margins", "among": []}},
    "rate": {"rate": {"events": "count", "per": "sum"}},
    "change": {"change": {"of": "count", "against": "earlier"}},
}


def test_without_noise_limits_and_bounds_that_matter_nothing_is_off(
    account: Callable[..., Ledger], tmp_path: Path
) -> None:
    """Every statistic; the 6,003 rows are more than have a place of their own in a quantile."""
    own = {name for name, kind in KINDS.items() if kind.__module__.startswith("discreet.")}
    assert set(EVERY) == own
    people = range(2001)
    twin = pa.table(
        {
            "person": [i for i in people for _ in range(3)],
            "x": [(37 * i + 11 * j) % 100 for i in people for j in range(3)],
            "g": ["ab"[i % 3 == 0] for i in people for _ in range(3)],
        }
    )
    account()
    first = _spec(EVERY["count"]) | {"account": "people", "ledger": "sqlite:///ledger.db"}
    made = discreet.release(first, data=twin, folder=tmp_path)
    earlier = {"change": {"of": "count", "against": made.release_id}}
    for _ in range(3 if soaked() else 1):
        spec = _spec(*(EVERY | {"change": earlier}).values(), epsilon=1e12) | {
            "cut": {"weight": 0.1}
        }
        found = discreet.rehearse(spec, twin, limits=[3], repeats=2, folder=tmp_path)
        off = {row["statistic"]: row for row in found.rows if row["limit"] == 3}
        assert len(off) == len(EVERY) - 1  # a best candidate has no number to be off by
        for row in off.values():
            assert max(row["bias"], row["noise"], row["error"]) < 1e-6, row
    assert found.to_pandas().columns.tolist() == [
        "limit",
        "counted",
        "statistic",
        "drawn",
        "bias",
        "noise",
        "error",
    ]
    assert "recommended=3" in repr(found)
    assert found.to_dict()["recommended_by"] == "geometric-mean-of-errors"


def test_the_protected_source_is_no_twin(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("person\n1\n")
    shutil.copy(tmp_path / "real.csv", tmp_path / "copy.csv")
    for name in ("real.csv", "copy.csv"):
        with pytest.raises(PolicyError, match="protected"):
            discreet.rehearse(_spec({"count": "rows"}), tmp_path / name, folder=tmp_path)


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


def test_a_spec_without_a_budget_takes_one_for_the_run() -> None:
    spec = {key: value for key, value in _spec({"count": "rows"}).items() if key != "budget"}
    with pytest.raises(InputError, match="neither a promise"):
        discreet.rehearse(spec, TWIN, limits=[1])
    found = discreet.rehearse(spec, TWIN, limits=[1], changes={"budget.epsilon": 1})
    assert found.rows == discreet.rehearse(_spec({"count": "rows"}), TWIN, limits=[1]).rows
