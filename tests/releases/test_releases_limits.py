"""A limit of rows chosen on the data: its sensitivity, its price, its choice."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.auditing import probe
from discreet.errors import SpecError
from discreet.guarantees import ApproxDP, PureDP
from discreet.ledger import Ledger
from discreet.noise import noisy_max, selection_scale
from discreet.releases.drawing import chosen_limit, limit_scores, noise_in_rows
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.planning import LIMIT, LIMIT_CALL, Plan, plan_of
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


def _scores(limits: list[int], sizes: Sequence[int], noise: int) -> list[int]:
    kept = [sum(min(m, limit) for m in sizes) for limit in limits]
    return limit_scores(limits, kept, [noise * limit for limit in limits])


X = {"bounds": [0, 2], "resolution": 1}


@pytest.mark.parametrize(
    ("statistics", "told"),
    [
        ([{"mean": "x", **X}, {"variance": "x", **X}], True),
        ([{"median": "x", **X}, {"quantile": "x", "at": 0.9, **X}], True),
        ([{"mean": "x", "weight_by": {"column": "x", "bounds": [0, 2]}, **X}], True),
        ([{"mean": "x", **X}, COUNTS], False),
        ([{"sum": "x", **X}], False),
        ([{"count": "rows", "weight_by": "x", "bounds": [0, 2]}], False),
    ],
)
def test_a_choice_that_serves_no_count_or_sum_is_told_to_be_too_large(
    statistics: list[dict[str, Any]], told: bool
) -> None:
    """Its score is about rows that are left out, on which a mean hardly depends."""
    notes = _plan(*statistics).notes
    assert any("rehearse SPEC" in note for note in notes) == told


@pytest.mark.parametrize("limits", [[1, 2], [1, 2, 4], [2, 3, 5, 7]])
@pytest.mark.parametrize("noise", [0, 1, 2, 3])
def test_no_unit_moves_a_score_by_more_than_is_said(limits: list[int], noise: int) -> None:
    """Exhaustively: three units of up to eight rows, one of them added, removed or replaced."""
    part = LIMIT_CALL
    most = 0
    for sizes in product(range(9), repeat=3):
        scores = _scores(limits, sizes, noise)
        for new in range(9):
            swapped = _scores(limits, (*sizes[:2], new), noise)
            most = max(most, *(abs(a - b) for a, b in zip(scores, swapped, strict=True)))
    assert most == part.changes[0] == 1
    assert part.l1 == 2  # what a selection loses: twice the most that a score moves


@given(
    st.sets(st.integers(1, 300), min_size=2, max_size=8),
    st.lists(st.integers(0, 400), max_size=30),
    st.integers(0, 400),
    st.lists(st.integers(0, 5000), min_size=8, max_size=8),
)
def test_no_unit_moves_a_score_by_more_than_is_said_at_random(
    chosen: set[int], sizes: list[int], own: int, noise: list[int]
) -> None:
    """Whatever the limits, and whatever the noise at each of them."""
    limits = sorted(chosen)

    def scores(of: list[int]) -> list[int]:
        kept = [sum(min(m, limit) for m in of) for limit in limits]
        return limit_scores(limits, kept, noise[: len(limits)])

    moves = [a - b for a, b in zip(scores([*sizes, own]), scores(sizes), strict=True)]
    assert max(map(abs, moves)) <= 1


def _law(scores: Sequence[int], scale: float) -> list[float]:
    """The probabilities of permute-and-flip, from its definition, subset by subset."""
    coins = [math.exp((score - max(scores)) / scale) for score in scores]
    found = [0.0] * len(scores)

    def walk(left: tuple[int, ...], chance: float) -> None:
        for i in left:
            found[i] += chance / len(left) * coins[i]
            if coins[i] < 1:
                others = tuple(j for j in left if j != i)
                walk(others, chance / len(left) * (1 - coins[i]))

    walk(tuple(range(len(scores))), 1.0)
    return found


def test_no_choice_becomes_likelier_by_more_than_was_charged() -> None:
    """Exhaustively over pairs: the law of the choice itself, from scores to probabilities."""
    limits, epsilon = [1, 2, 4, 8], 0.5
    scale = selection_scale(LIMIT_CALL.changes[0], epsilon, monotone=False)
    worst = 0.0
    for noise, sizes in product((0, 1, 2), combinations_with_replacement(range(10), 3)):
        law = _law(_scores(limits, sizes, noise), scale)
        assert math.fsum(law) == pytest.approx(1)
        for new in range(10):
            other = _law(_scores(limits, (*sizes[:2], new), noise), scale)
            worst = max(worst, *(abs(math.log(a / b)) for a, b in zip(law, other, strict=True)))
    assert 0.5 * epsilon < worst <= epsilon + 1e-9


def test_the_drawn_choice_has_that_law_and_a_planted_fault_is_seen() -> None:
    limits = [1, 2, 4]
    mine, other = _scores(limits, [4, 1], 1), _scores(limits, [1, 1], 1)

    def choice(scores: list[int], scale: float) -> Callable[[], list[int]]:
        return lambda: [noisy_max(scores, scale, law="permute-and-flip")]

    right = probe(choice(mine, 2.0), choice(other, 2.0), PureDP(1.0), failure_probability=1e-7)
    assert right.passed
    wrong = probe(choice(mine, 0.2), choice(other, 0.2), PureDP(1.0), failure_probability=1e-7)
    assert not wrong.passed


def test_the_choice_is_priced_by_its_weight_and_the_charge_does_not_depend_on_it() -> None:
    plan = _plan(COUNTS, {"sum": "x", "bounds": [0, 4], "resolution": 1})
    calls = {call.asked.statistic: call for call in plan.pricing.calls}
    assert calls[LIMIT].epsilon == pytest.approx(0.05 / 2.05)
    assert calls[LIMIT].scale * calls[LIMIT].epsilon >= 2  # type: ignore[operator]
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
    assert noise_in_rows(_plan({"count": "units"}, protect={"rows": 5})) == 0


MANY = {"count": "rows", "by": ["g"], "keys": {"g": [str(i) for i in range(1000)]}}
HALF = {"rows": {"choose": LIMITS, "weight": 1.0}}


def test_a_clear_best_limit_is_chosen() -> None:
    # People with one row: every limit keeps all, and in a thousand cells each row of a limit adds
    # noise of 2,000 rows; the scale of the choice is 4. Another than 1: below 4·e^{-499}.
    few = _plan(MANY, protect=HALF)
    single = DuckDB.of(_people([1] * 100))
    assert {chosen_limit(few, few.limits, single) for _ in range(5)} == {1}
    # People with twenty: each row of a limit keeps 4,000 rows, and adds noise of 4·2 rows. Another
    # than 20: below 4·e^{-997}.
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
    look = discreet.preview(spec, data=data, folder=tmp_path)
    assert look.spent["epsilon"] == 1.0
    assert any("is for the largest limit, 20 rows of a unit" in note for note in look.notes)
    told: list[str] = []
    made = discreet.release(spec, data=data, folder=tmp_path, say=told.append)
    assert any("The limit that was chosen is 1 row of a unit" in line for line in told)
    assert any("The accuracy that the release tells is that of this limit." in x for x in told)
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
        (_spec(protect={"groups": 1, "rows_per_group": 5}), "limits of rows 5 and 10, 20 do the"),
        (_spec({"count": "units"}), "limits of rows 1 and 2, 5, 10, 20 do the same"),
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


# How many of the 2,972 students of InstEval (package pydataset) rated 1, 2, … 92 lectures.
RATED: list[int] = json.loads(
    "["
    "5, 11, 10, 9, 50, 47, 50, 63, 85, 130, 164, 142, 99, 101, 78, 70, 64, 55, 57, 75, 87, "
    "86, 81, 85, 85, 74, 59, 72, 60, 57, 66, 51, 37, 43, 43, 51, 48, 27, 31, 30, 24, 28, "
    "28, 16, 14, 25, 17, 18, 25, 15, 15, 16, 17, 13, 17, 9, 12, 11, 8, 11, 11, 18, 6, 3, 4, "
    "9, 4, 3, 4, 3, 3, 4, 2, 3, 2, 1, 2, 3, 2, 0, 0, 1, 2, 1, 1, 0, 1, 0, 1, 0, 0, 1 "
    "]"
)
WIDER = [*LIMITS, 50, 100]


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
@pytest.mark.parametrize(
    ("cells", "limits"), [(14, LIMITS), (70, LIMITS), (1128, LIMITS), (1128, WIDER), (280, WIDER)]
)
def test_the_error_is_near_that_of_the_best_fixed_limit(
    cells: int, limits: list[int], epsilon: float
) -> None:
    """On course evaluations, a choice costs a twentieth of the budget and little error.

    The expected error of a limit (rows lost, and the mean size of the noise, over all cells) is
    computed; the choice is averaged by its law, so that the test has no chance in it.
    """
    sizes = [m for m, students in enumerate(RATED, start=1) for _ in range(students)]
    keys = {"g": [str(i) for i in range(cells)]}
    counts = {"count": "rows", "by": ["g"], "keys": keys}
    plan = _plan(counts, epsilon=epsilon, protect={"rows": {"choose": limits}})
    kept = [sum(min(m, limit) for m in sizes) for limit in limits]
    noise = [noise_in_rows(one) for one in plan.limits.values()]
    call = plan.calls(LIMIT)["choice"]
    law = _law(limit_scores(limits, kept, noise), call.scale)
    lost = [sum(sizes) - rows for rows in kept]
    expected = math.fsum(p * (a + b) for p, a, b in zip(law, lost, noise, strict=True))
    # Without the choice the noise would be 1/1.05 of what it is.
    best = min(a + b / 1.05 for a, b in zip(lost, noise, strict=True))
    assert expected <= 1.05 * best
    assert call.epsilon is not None
    assert call.epsilon <= 0.1 * epsilon
