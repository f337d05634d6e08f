"""Rehearsals: bias and noise on a twin, against numbers that are known."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.cli import main
from discreet.errors import InputError, PolicyError
from discreet.ledger import Ledger
from discreet.releases import adding_up, checking
from discreet.releases.checking import _best
from discreet.releases.drawing import draw, measures_of
from discreet.releases.engines import opened
from discreet.releases.planning import plan_of
from discreet.releases.spec import load
from discreet.releases.statistics import quantiles
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
    single = {"quantile": "x", "at": 0.5, "bounds": [0, 10], "resolution": 1}
    grouped = {"count": "rows", "by": ["g"], "keys": {"g": ["a", "b"]}}
    spec = _spec({"count": "rows"}, single, grouped, rows=2, rows_per_group=2)
    (tmp_path / "s.yaml").write_text(json.dumps(spec))
    words = [str(tmp_path / "s.yaml"), "--twin", str(tmp_path / "twin.csv"), "--limit", "3"]
    with pytest.raises(SystemExit):
        main(["rehearse", *words, "--repeats", "3"])
    out = capsys.readouterr().out
    assert re.search(r"^ *2 +2 +count_rows_1 .*<- its least$", out, re.M)
    assert re.search(r"^ *3 +2 +count_rows_1 ", out, re.M)
    assert re.search(r"quantile_x_2 .*<- its least in 3 draws, in part by luck$", out, re.M)


def test_other_limits_of_groups_are_tried_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With groups: 1 every limit of rows left out the same rows, and groups was never named."""
    # Of 300 people each second one has a row in each of two bands, the others two in one.
    rows = [(i, "ab"[j * (i % 2)]) for i in range(300) for j in range(2)]
    lines = "".join(f"{person},{band}\n" for person, band in rows)
    (tmp_path / "twin.csv").write_text(f"person,g\n{lines}")
    keys = {"by": ["g"], "keys": {"g": ["a", "b", "c", "d", "e"]}}
    spec = _spec({"count": "units", **keys}, rows=2, groups=1)
    (tmp_path / "s.yaml").write_text(json.dumps(spec))
    found = discreet.rehearse(tmp_path / "s.yaml", tmp_path / "twin.csv", repeats=1)
    told = {row["groups"]: row for row in found.by_groups}
    # Nobody touches three. Of 150 people one of two bands is drawn: 75 ± 6 are missing in each.
    assert (found.groups, list(told)) == (1, [1, 2])
    assert told[1]["bias"] == pytest.approx(math.sqrt(2 / 5) * 75, rel=0.2)
    assert told[2]["bias"] == 0
    assert found.recommended_together == {"groups": 2, "rows": 2}
    with pytest.raises(SystemExit):
        main(["rehearse", str(tmp_path / "s.yaml"), "--twin", str(tmp_path / "twin.csv")])
    out = capsys.readouterr().out
    assert "groups: 2, rows: 2. The spec has groups: 1, rows: 2." in out
    # Without a limit of groups, or where no other does anything else, none are tried.
    assert not discreet.rehearse(_spec({"count": "rows"}, groups=1), TWIN, repeats=1).by_groups
    free = spec | {"protect": {"unit": "person", "column": "person", "rows": 2}}
    assert discreet.rehearse(free, tmp_path / "twin.csv", repeats=1).recommended_together == {}
    # The spec's own is told, however many it allows.
    many = discreet.rehearse(
        spec, tmp_path / "twin.csv", limits=[9], repeats=1, changes={"protect.groups": 4}
    )
    assert list(dict.fromkeys(row["groups"] for row in many.by_groups)) == [1, 2, 4]


def test_the_pair_of_limits_that_is_told_to_do_as_well_is_the_one_that_the_spec_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """groups: 2 with the best rows did as well as the best pair, and was told with the spec's."""
    lines = "".join(f"{person},{'ab'[person % 2]}\n" for person in range(300))
    (tmp_path / "twin.csv").write_text(f"person,g\n{lines}")
    twin, keys = tmp_path / "twin.csv", {"by": ["g"], "keys": {"g": ["a", "b", "c"]}}
    spec = _spec({"count": "units", **keys}, {"count": "rows"}, rows=4, groups=2)
    (tmp_path / "s.yaml").write_text(json.dumps(spec))
    known = checking._best

    def with_chance(rows: Any, tried: Any, draws: Any) -> list[Any]:
        """Find that (1, 1) and (2, 1) are about even, as draws do that differ by chance."""
        best = known(rows, tried, draws)
        return [*best, *({(1, 1), (2, 1)} & {*tried} - {*best})]

    monkeypatch.setattr(checking, "_best", with_chance)
    with pytest.raises(SystemExit):
        main(["rehearse", str(tmp_path / "s.yaml"), "--twin", str(twin), "--limit", "1"])
    out = capsys.readouterr().out
    best = "of groups and rows together: groups: 1, rows: 1. The spec has groups: 2, rows: 4."
    assert best in out
    assert "by chance or because they do the same: groups: 1 with rows: 1; groups: 2 with" in out


def test_values_that_are_chosen_at_once_are_simulated_by_their_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten draws of nine deciles doubled the noise of a table, by the luck of one draw.

    By Hoeffding, a share of 1,500 draws is within 0.089 of its chance but for 10^-10, one of 600
    within 0.141.
    """
    monkeypatch.setattr(quantiles, "_OF_SIZE", 1)
    at = {"of": "x", "at": [0.3, 0.7], "bounds": [0, 4], "resolution": 1}
    people = pa.table({"person": range(40), "x": [float(i % 5 * (i % 3 > 0)) for i in range(40)]})
    spec = _spec({"quantiles": at}, epsilon=1.5, rows=1)
    engine: Any = checking._Remembering(opened("real.csv", Path, people, spec))
    plan = plan_of(load(spec, folder="."), engine.columns)
    (planned,) = plan.statistics
    statistic, calls = planned.statistic, plan.calls(planned.name)
    tallied = measures_of(plan, engine, [planned])[statistic.measure_name("leaves")]
    told = statistic.simulated(tallied, calls, 0.95, 1500, np.random.default_rng(1))
    simulated = Counter(tuple(float(one.value) for one in cell) for (cell,) in told)
    drawn = Counter(tuple(map(float, draw(plan, engine).columns["value"])) for _ in range(600))
    assert len(drawn) > 4
    for values in simulated | drawn:
        assert abs(simulated[values] / 1500 - drawn[values] / 600) < 0.23


def test_luck_is_told_where_draws_are_far_apart() -> None:
    """Two limits of ten draws each, of which one draw was off by a hundred times the others."""
    rows = [
        {"limit": limit, "statistic": "best", "bias": 0.0, "noise": error, "error": error}
        | {"drawn": True, "luck": luck}
        for limit, error, luck in ((1, 8.0, 0.5), (2, 3.0, 0.1))
    ]
    assert sorted(_best(rows, [1, 2], {"best": 100})) == [1, 2]
    near = [row | {"luck": 0.1} for row in rows]
    assert _best(near, [1, 2], {"best": 100}) == [2]


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


def test_larger_limits_are_tried_while_the_largest_is_the_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """50 ended the list and was recommended, though units have 130 rows and noise is small."""
    (tmp_path / "twin.csv").write_text("person\n" + "".join(f"{i}\n" * 130 for i in range(20)))
    spec = _spec({"count": "rows"}, epsilon=10)
    found = discreet.rehearse(spec, tmp_path / "twin.csv", repeats=1)
    assert [row["limit"] for row in found.rows] == [1, 2, 5, 10, 20, 50, 70, 100, 150, 200]
    assert (found.least, found.try_next) == (150, None)
    # Limits that are given are tried as they are; what may be better is said.
    out = _said(spec, tmp_path, capsys, "--limit", "70")
    assert "rows: 70 is the largest that was tried. A larger one may be better" in out
    assert "try --limit 140 too." in out
    given = discreet.rehearse(spec, tmp_path / "twin.csv", limits=[70, 150], repeats=1)
    assert (given.least, given.try_next, given.to_dict()["try_next"]) == (150, None, None)
    assert discreet.rehearse(spec, TWIN, limits=[4], repeats=1).try_next is None


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


def test_the_noise_of_a_mean_is_that_of_its_law() -> None:
    """Ten draws told half the noise, and another number for the same limit elsewhere."""
    keys = {"by": ["g"], "keys": {"g": ["a", "b"]}}
    twin = TWIN.append_column("g", [["ab"[(i // 4 + j) % 2] for j, i in enumerate(PEOPLE)]])
    mean = {"mean": "x", "bounds": [0, 40], "resolution": 1, **keys}
    spec = _spec(mean, {"variance": "x", "bounds": [0, 40], "resolution": 1}, groups=2, epsilon=9)
    found, again = (discreet.rehearse(spec, twin, limits=[1, 2], repeats=1) for _ in range(2))
    for row, same in zip(found.rows, again.rows, strict=True):
        assert not row["drawn"]
        assert row["noise"] == pytest.approx(same["noise"], rel=0.1)  # other rows are kept
        assert row["error"] == pytest.approx(math.hypot(row["bias"], row["noise"]))
    # N − θM over n: all values are 10, that is θ = −10 from the middle; ε is 1.8 for each call.
    plain = discreet.rehearse(_spec(mean, epsilon=9), twin, limits=[4], repeats=1)
    calls = discreet.check(_spec(mean, epsilon=9, rows=4)).plan.calls("mean_x_1")
    sizes = [sum(1 for g in twin["g"].to_pylist() if g == key) for key in "ab"]
    noise = math.hypot(calls["sum"].sd, 10 * calls["count"].sd)
    law = math.sqrt(sum((noise / n) ** 2 for n in sizes) / 2)
    (told,) = (row["noise"] for row in plain.rows if row["limit"] == 4)
    assert told == pytest.approx(law, rel=0.15)
    # What is shown in both tables is the same.
    rows = {(row["limit"], row["statistic"]): row for row in found.rows}
    beside = [row for row in found.by_groups if row["groups"] == 2 or row["limit"] == 1]
    assert beside
    for row in beside:
        assert {k: row[k] for k in ("bias", "noise", "error")} == {
            k: rows[row["limit"], row["statistic"]][k] for k in ("bias", "noise", "error")
        }


def _said(
    spec: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> str:
    (folder / "s.yaml").write_text(json.dumps(spec))
    with pytest.raises(SystemExit):
        main(["rehearse", str(folder / "s.yaml"), "--twin", str(folder / "twin.csv"), *more])
    said = capsys.readouterr()
    return said.out + said.err


def test_the_least_of_the_table_is_named_beside_a_spec_that_is_about_as_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "twin.csv").write_text("person,x\n" + "1,1\n1,2\n2,3\n")
    spec = _spec({"count": "rows"})
    monkeypatch.setattr("discreet.releases.checking._best", lambda rows, tried, draws: [1, 2])
    out = _said(spec, tmp_path, capsys, "--limit", "1")
    assert "Least error on the twin: rows: 1. The spec's rows: 2 is about as good." in out
    assert "bias: what limits and bounds leave out; noise: " in out
    monkeypatch.undo()
    out = _said(_spec({"count": "rows"}, rows={"choose": [1, 3, 7]}), tmp_path, capsys)
    assert "The spec lets the release choose rows among 1, 3, 7." in out
    assert "The spec has" not in out
    assert re.search(r"^ *3 +3 +count_rows_1 ", out, re.M)


def test_a_twin_is_read_as_the_source_is_and_needs_what_the_spec_uses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = {"path": "real.csv", "delimiter": ";", "types": {"person": "text", "day": "date"}}
    spec = _spec({"count": "rows"}) | {"source": source}
    (tmp_path / "twin.csv").write_text("person,x\n" + "1,1\n1,2\n2,3\n")
    out = _said(spec, tmp_path, capsys)
    assert "the twin has no column 'person'" in out
    assert "delimiter is taken to be ';'" in out
    assert "--set 'source.delimiter=\",\"'" in out
    # The column `day` is declared, and not used.
    assert "Least error" in _said(spec, tmp_path, capsys, "--set", 'source.delimiter=","')
    with pytest.raises(InputError, match="the twin has no column 'person'"):
        discreet.rehearse(spec, pa.table({"other": [1, 2]}))


def hospital() -> tuple[dict[str, Any], pa.Table]:
    """A mean whose noise depends on the limit, and a share of units, which no limit touches."""
    chance = random.Random(3)  # noqa: S311 - an invented file
    rows = [
        (i, int(chance.expovariate(1) * rate), int(chance.random() < 0.09))
        for i in range(1500)
        for rate in [chance.gammavariate(0.6, 5)]
        for _ in range(chance.choice([1, 2, 3, 4, 5, 5]))
    ]
    twin = pa.table(
        dict(zip(("person", "x", "stays"), map(list, zip(*rows, strict=True)), strict=True))
    )
    units = {"count": "units", "name": "units"}
    share = {"of": {**units, "where": "stays > 0", "name": "stayed"}, "among": units}
    statistics = [
        {"mean": "x", "bounds": [0, 30], "resolution": 1, "name": "mean"},
        {"share": share, "name": "share"},
    ]
    return _spec(*statistics, epsilon=0.64, rows=5, groups=1), twin


def test_what_no_limit_touches_has_the_same_figures_at_each_and_moves_no_verdict() -> None:
    """Ten draws of a share recommended 1, 3 or 5 rows by luck, while the mean's noise was known."""
    spec, twin = hospital()
    found = discreet.rehearse(spec, twin, limits=[1, 3, 5])
    assert not any(row["drawn"] for row in found.rows)
    for name in ("units", "stayed", "share"):
        (_,) = {(row["noise"], row["error"]) for row in found.rows if row["statistic"] == name}
    alone = discreet.rehearse(spec | {"statistics": spec["statistics"][1:]}, twin, limits=[1, 3])
    assert alone.recommended == 5
    # Fieller: near a share of s of n units the noise is √(1 + s²)·sd/n.
    (noise,) = {row["noise"] for row in found.rows if row["statistic"] == "share"}
    calls = discreet.check(spec).plan.calls("units")
    stayed = len(
        {p for p, s in zip(*(twin[c].to_pylist() for c in ("person", "stays")), strict=True) if s}
    )
    law = math.hypot(1, stayed / 1500) * calls["count"].sd / 1500
    assert noise == pytest.approx(law, rel=0.1)


def test_noise_that_is_known_to_differ_is_not_put_down_to_draws() -> None:
    """Draws that differ by chance decide nothing beside errors that are known."""
    rows = [
        {"limit": limit, "statistic": name, "bias": 0.0, "noise": error, "error": error}
        | {"drawn": name == "median"}
        for limit, errors in {1: (0.175, 1.3), 3: (0.211, 1.0), 5: (0.265, 1.1)}.items()
        for name, error in zip(("mean", "median"), errors, strict=True)
    ]
    assert _best(rows, [1, 3, 5], {"mean": 10, "median": 10}) == [1]
    # How far the choice of the rows that count moves an error is chance, too.
    loose = [row | ({"luck": 0.1} if row["statistic"] == "mean" else {}) for row in rows]
    assert _best(loose, [1, 3, 5], {"mean": 10, "median": 10}) == [1, 3]


def test_the_rows_that_count_are_chosen_several_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bias of one choice was told, and two runs recommended different limits."""
    spec, twin = hospital()
    means: list[float] = []

    def seen(*given: Any) -> Any:
        found = exact(*given)
        means.extend(value for value, _ in found["mean"].values())
        return found

    exact = checking._exact
    monkeypatch.setattr(checking, "_exact", seen)
    found = discreet.rehearse(spec, twin, limits=[1], changes={"protect.rows": 1})
    true, *drawn = means
    assert len({*drawn}) > 1
    assert len(drawn) == 5
    (bias,) = {row["bias"] for row in found.rows if row["statistic"] == "mean"}
    assert bias == pytest.approx(math.sqrt(sum((one - true) ** 2 for one in drawn) / 5))
    assert all("luck" not in row for row in found.rows)


def test_a_statistic_to_which_no_row_of_the_twin_adds_is_named_and_decides_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table of zeros was told as off by its noise alone, so it pulled the limit to 1."""
    by_month = {"count": "rows", "by": ["month"], "name": "monthly"}
    absent = {"count": "rows", "by": ["g"], "keys": {"g": ["y"]}, "name": "absent"}
    rate = {"rate": {"events": "absent", "per": 10}, "name": "rate"}
    spec = _spec({"count": "rows", "name": "all"}, by_month, absent, rate, rows=4)
    spec["let"] = {"month": "month(day)"}
    spec["source"] = {"path": "real.csv", "types": {"day": "%d.%m.%Y", "x": "number"}}
    lines = "".join(f"{person},2013-01-31,a,1\n" for person in PEOPLE)
    (tmp_path / "twin.csv").write_text(f"person,day,g,x\n{lines}")
    (tmp_path / "s.yaml").write_text(json.dumps(spec))
    ask = (tmp_path / "s.yaml", tmp_path / "twin.csv")
    found = discreet.rehearse(*ask, limits=[1, 2, 4], repeats=1)
    assert found.empty == ("monthly", "absent", "rate")
    assert found.missing == ("month", "day")  # x is of its type, and no statistic reads it
    alone = discreet.rehearse(
        *ask, limits=[1, 2, 4], repeats=1, changes={"statistics": spec["statistics"][:1], "let": {}}
    )
    assert found.recommended == 4 == alone.recommended
    assert set(found.best) == {"all"}
    assert (alone.empty, alone.missing) == ((), ())
    with pytest.raises(SystemExit):
        main(["rehearse", *map(str, ask[:1]), "--twin", str(ask[1]), "--repeats", "1"])
    out = capsys.readouterr().out
    assert "No row of the twin adds to 'monthly', 'absent', 'rate'" in out
    assert "Columns 'month', 'day' are missing in every row of the twin" in out
    assert not re.search(r"^.*(monthly|absent|rate) .*its least", out, re.M)
    # Where no statistic tells anything, nothing is recommended but what the spec has.
    dead = discreet.rehearse(*ask, repeats=1, changes={"statistics": [absent]})
    assert (dead.recommended, dead.best, dead.even) == (4, {}, ())
    again = ["--set", f"statistics={json.dumps([absent])}", "--repeats", "1"]
    with pytest.raises(SystemExit):
        main(["rehearse", str(ask[0]), "--twin", str(ask[1]), *again])
    assert "Least error" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "statistic",
    [
        {"sum": "x", "bounds": [0, 4], "resolution": 1},
        {"median": "x", "bounds": [0, 4], "resolution": 1},
        {"histogram": "x", "edges": [0, 2, 4]},
        {"count": "rows", "by": ["g"], "keys": {"discover": {"delta": 0.01}}},
        {"count": "units", "margins": [[], ["g"]], "keys": {"g": ["q"]}},
        {"count": "rows", "where": "x > 3"},
    ],
)
def test_every_kind_of_statistic_is_known_to_be_empty(statistic: dict[str, Any]) -> None:
    nobody = pa.nulls(len(PEOPLE), pa.float64())
    twin = pa.table({"person": PEOPLE, "x": nobody, "g": pa.nulls(len(PEOPLE), pa.string())})
    spec = _spec({"count": "rows", "name": "all"}, statistic, rows=4)
    budget = {"epsilon": 1.0} | ({"delta": 0.01} if "discover" in str(statistic) else {})
    found = discreet.rehearse(spec | {"budget": budget}, twin, limits=[1, 4], repeats=1)
    assert len(found.empty) == 1
    assert found.best == {"all": 4}


def test_a_rehearsal_says_what_pays_for_its_noise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of twelve releases was rehearsed at a twelfth of what was set, and nothing said so."""
    (tmp_path / "twin.csv").write_text("person,x\n1,1\n2,2\n")
    spec = _spec({"count": "rows"}, epsilon=1.2) | {"series": {"releases": 12}}
    (tmp_path / "s.yaml").write_text(json.dumps(spec))
    words = ["rehearse", str(tmp_path / "s.yaml"), "--twin", str(tmp_path / "twin.csv")]
    with pytest.raises(SystemExit):
        main(words)
    assert (
        "noise is that of ε = 0.1: the release is one of 12"
        in capsys.readouterr().out.split("\n")[0]
    )
    with pytest.raises(SystemExit):
        main([*words, "--set", "series=null", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["spent"], told["releases"]) == ({"epsilon": 1.2, "delta": None, "rho": None}, None)


def test_what_holds_for_every_draw_is_computed_once_and_progress_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reach of errors of shares was found anew for each simulated release: minutes a limit."""
    found: Counter[Any] = Counter()
    real = adding_up.Design.part_of

    def part_of(self: Any, margin: Any, whole: Any, noise: Any, confidence: float) -> Any:
        found[margin, whole, tuple(noise.items()), confidence] += 1
        return real(self, margin, whole, noise, confidence)

    monkeypatch.setattr(adding_up.Design, "part_of", part_of)
    twin = TWIN.append_column("g", [["ab"[i % 2] for i in PEOPLE]])
    table = {"count": "rows", "margins": [["g"], []], "keys": {"g": ["a", "b"]}, "name": "t"}
    told: list[tuple[str, int, int]] = []
    discreet.rehearse(
        _spec(table, {"share": {"of": "t", "among": []}, "name": "s"}),
        twin,
        limits=[1, 2],
        progress=lambda *step: told.append(step),
    )
    assert max(found.values()) <= 10  # once a plan, and there are no more with the same noise
    assert [(place, of) for _, place, of in told] == [(0, 2), (1, 2)]
    assert "rows: 2" in told[1][0]
