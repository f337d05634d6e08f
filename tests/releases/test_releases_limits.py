"""A limit of rows chosen on the data: its sensitivity, its price, its choice."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

import discreet
from discreet.errors import SpecError
from discreet.guarantees import Adjacency, ApproxDP, PureDP
from discreet.ledger import Ledger
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.limits import LIMIT, chosen_limit, limit_part, lost_rows, noise_in_rows
from discreet.releases.planning import Plan, plan_of
from discreet.releases.spec import load

LIMITS = [1, 2, 5, 10, 20]
COLUMNS: Any = {"person": "integer", "g": "text", "x": "number"}
COUNTS = {"count": "rows", "by": ["g"], "keys": {"g": ["a", "b", "c", "d"]}}


def _spec(*statistics: dict[str, Any], epsilon: float = 1.0, **more: Any) -> dict[str, Any]:
    protect = {"unit": "person", "column": "person", "rows": {"choose": LIMITS}}
    return {
        "account": "people",
        "purpose": "p",
        "protect": protect | more.pop("protect", {}),
        "budget": {"epsilon": epsilon},
        "statistics": list(statistics) or [COUNTS],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    } | more


def _plan(*statistics: dict[str, Any], **more: Any) -> Plan:
    return plan_of(load(_spec(*statistics, **more)), COLUMNS)


def _people(sizes: list[int]) -> pa.Table:
    who = [unit for unit, rows in enumerate(sizes) for _ in range(rows)]
    return pa.table({"person": who, "g": ["abcd"[i % 4] for i in who], "x": [1.0] * len(who)})


@pytest.mark.parametrize("limits", [[1, 2], [1, 2, 4], [2, 3, 5]])
def test_no_unit_moves_a_score_by_more_than_is_said(limits: list[int]) -> None:
    """Exhaustively: two units of up to seven rows, one of them added, removed or replaced."""

    def lost(sizes: tuple[int, ...]) -> list[int]:
        return lost_rows([sum(min(m, limit) for m in sizes) for limit in limits])

    added, replaced = (
        limit_part(limits, kind) for kind in (Adjacency.ADD_REMOVE, Adjacency.REPLACE)
    )
    most = 0
    for other, own, new in product(range(8), range(8), range(8)):
        with_it, without = lost((other, own)), lost((other,))
        moves = [a - b for a, b in zip(with_it, without, strict=True)]
        assert all(0 <= move <= added.changes[0] for move in moves)
        most = max(most, *moves)
        swapped = [a - b for a, b in zip(lost((other, new)), with_it, strict=True)]
        assert all(abs(move) <= replaced.changes[0] for move in swapped)
    assert most == added.changes[0] == limits[-1] - limits[0]
    # What a selection loses: the spread of the moves, for monotone scores once, else twice.
    assert (added.l1, replaced.l1) == (most, 2 * most)


def test_the_choice_is_priced_by_its_weight_and_the_charge_does_not_depend_on_it() -> None:
    plan = _plan(COUNTS, {"sum": "x", "bounds": [0, 4], "resolution": 1})
    calls = {call.asked.statistic: call for call in plan.pricing.calls}
    assert calls[LIMIT].epsilon == pytest.approx(0.05 / 2.05)
    assert calls[LIMIT].scale * calls[LIMIT].epsilon >= 19  # type: ignore[operator]
    assert list(plan.limits) == LIMITS
    for limit, one in plan.limits.items():
        assert one.pricing.charges == plan.pricing.charges == (PureDP(1.0),)
        assert all(p.contribution.rows == limit for p in one.statistics)
        assert one.calls("count_rows_1")["count"].scale == pytest.approx(limit * 2.05, rel=1e-6)


def test_noise_in_rows_is_the_noise_of_the_table() -> None:
    for limit, plan in _plan(COUNTS).limits.items():
        assert noise_in_rows(plan) == pytest.approx(4 * limit * 1.05, abs=1 + 0.01 * limit)
    with_sum = _plan({"sum": "x", "bounds": [0, 50], "resolution": 1})
    assert noise_in_rows(with_sum.limits[5]) == pytest.approx(5 * 1.05, abs=1)
    assert noise_in_rows(_plan({"count": "units"}).limits[5]) == 0


MANY = {"count": "rows", "by": ["g"], "keys": {"g": [str(i) for i in range(1000)]}}
HALF = {"rows": {"choose": LIMITS, "weight": 1.0}}


def test_a_clear_best_limit_is_chosen() -> None:
    # People with one row: every limit keeps all, and in a thousand cells each row of a limit adds
    # noise of 2,000/ε rows; the scale of the choice is 38/ε. Another than 1: below 4·e^{-52}.
    few = _plan(MANY, protect=HALF)
    single = DuckDB.of(_people([1] * 100))
    assert {chosen_limit(few, few.limits, single) for _ in range(5)} == {1}
    # People with twenty: a limit of 10 loses 40,000 rows, and saves noise of 4·10·2 rows; the scale
    # is 38. Another than 20: below 4·e^{-1000}.
    much = _plan(COUNTS, protect=HALF)
    heavy = DuckDB.of(_people([20] * 4000))
    assert {chosen_limit(much, much.limits, heavy) for _ in range(5)} == {20}


def test_the_release_is_made_with_the_limit_that_was_chosen(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    Ledger.open(url).open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(2.0),
        approver="a",
        reason="b",
    )
    spec, data = _spec(MANY, protect=HALF), _people([1] * 50)
    assert discreet.preview(spec, data=data, folder=tmp_path).spent["epsilon"] == 1.0
    made = discreet.release(spec, data=data, folder=tmp_path)
    assert isinstance(made, discreet.Release)
    assert made.spent["epsilon"] == 1.0
    assert made.plan.statistics[0].contribution.rows == 1
    stored = json.loads((made.statement.parent / "release.json").read_text())
    assert stored["plan"]["contributions"]["count_rows_1"]["rows"] == 1
    calls = {call["statistic"]: call for call in stored["plan"]["calls"]}
    assert (calls["count_rows_1"]["l1"], calls[LIMIT]["epsilon"]) == (1, 0.5)
    assert Ledger.open(url).spent("people").lead == 1


def test_a_choice_is_written_and_read_back() -> None:
    spec = load(_spec())
    assert spec.protect.rows == 20
    assert load(yaml.safe_load(spec.to_yaml())) == spec


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (_spec(protect={"rows": {"choose": [5, 2]}}), "that rise"),
        (_spec(protect={"rows": {"choose": [0, 2]}}), "that rise"),
        (_spec(protect={"rows": {"choose": [2]}}), "at least 2"),
        (_spec({"count": "rows", "within": {"error": 50}}), "instead of within"),
        (_spec(sample={"rate": 0.5}), "chosen on a sample"),
        (_spec(protect={"rows": {"choice": [1, 2]}}), "the nearest is choose"),
    ],
)
def test_what_cannot_be_chosen_is_refused(spec: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        plan_of(load(spec), COLUMNS)


def test_scripts_and_synthetic_files_need_a_fixed_limit(tmp_path: Path) -> None:
    from discreet.releases.script import opendp_script
    from discreet.synthetic.spec import load as load_synthetic

    with pytest.raises(SpecError, match="as a script"):
        opendp_script(_spec(), data=_people([1]), folder=tmp_path)
    wanted = _spec()
    del wanted["statistics"]
    with pytest.raises(SpecError, match="fixed limit"):
        load_synthetic(wanted | {"columns": ["g"], "keys": {"g": ["a"]}, "n_synthetic": 5})


def test_a_charge_that_would_depend_on_the_choice_is_refused() -> None:
    """With (ε, δ) the better noise may depend on the limit; naming it settles the charge."""
    budget = {"epsilon": 1.0, "delta": 1e-6}
    many = {"count": "rows", "by": ["g"], "keys": {"g": [str(i) for i in range(50)]}}
    asked = _spec(many, budget=budget, protect={"rows_per_group": 1})
    named = plan_of(load(asked | {"mechanism": "gaussian"}), COLUMNS)
    assert {type(one.pricing.charges[0]) for one in named.limits.values()} != {ApproxDP, PureDP}
    with pytest.raises(SpecError, match="mechanism: gaussian"):
        plan_of(load(asked), COLUMNS)


def test_the_error_is_near_that_of_the_best_fixed_limit() -> None:
    """On data like course evaluations, a choice costs a twentieth of the budget and little error.

    The expected error of a limit (rows lost, and the mean size of the noise, over all cells) is
    computed; the choice is averaged by its law, so that the test has no chance in it.
    """
    sizes = [min(120, round(math.exp(3 + 0.6 * math.sin(i) * 1.7))) for i in range(2972)]
    plan = _plan({"count": "rows", "by": ["g"], "keys": {"g": [str(i) for i in range(14)]}})
    kept = [sum(min(m, limit) for m in sizes) for limit in LIMITS]
    cost = [
        rows + noise_in_rows(plan.limits[limit])
        for rows, limit in zip(lost_rows(kept), LIMITS, strict=True)
    ]
    scale = plan.calls(LIMIT)["choice"].scale
    # The exponential mechanism, which permute-and-flip is never worse than.
    weights = [math.exp(-(c - min(cost)) / scale) for c in cost]
    expected = math.fsum(w * c for w, c in zip(weights, cost, strict=True)) / math.fsum(weights)
    outside = sum(sizes) - kept[-1]  # lost by every limit
    # Without the choice the noise would be 1/1.05 of what it is.
    best = min(cost) / 1.05 + outside
    assert expected + outside <= 1.05 * best
    assert plan.calls(LIMIT)["choice"].epsilon <= 0.1  # type: ignore[operator]
