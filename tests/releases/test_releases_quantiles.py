"""Several quantiles from one tree: counts against brute force, intervals against their law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from discreet.errors import SpecError
from discreet.laws.discrete_gaussian import DiscreteGaussian
from discreet.laws.geometric import Geometric
from discreet.releases.contributions import Contribution
from discreet.releases.drawing import draw
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.planning import plan_of
from discreet.releases.spec import Spec, load
from discreet.releases.statistics.base import Noisy
from discreet.releases.statistics.quantiles import Tree, tree_of

SHARES = [0.1, 0.25, 0.5, 0.9]


def _spec(*statistics: dict[str, Any], **changes: Any) -> Spec:
    return load(
        {
            "account": "a",
            "purpose": "p",
            "protect": {"unit": "record"},
            "budget": {"epsilon": 1.0},
            "statistics": list(statistics),
            "ledger": "sqlite:///l.db",
            "output": "o",
        }
        | changes
    )


def _asked(high: int = 9, at: Sequence[float] = SHARES, **more: Any) -> dict[str, Any]:
    return {"quantiles": {"of": "x", "at": list(at), "bounds": [0, high], "resolution": 1}} | more


def _levels(statistic: Any, leaves: Sequence[int], law: Any) -> dict[str, Noisy]:
    measured = {statistic.measure_name("leaves"): [list(leaves)]}
    return {
        part: Noisy(statistic.numbers(part, measured), 0, law.sd, law) for part in statistic.levels
    }


# ---------------------------------------------------------------------- the tree


@settings(deadline=None)
@given(st.integers(1, 2**16))
def test_a_tree_has_as_few_levels_as_with_eight_children_and_covers_every_leaf(size: int) -> None:
    tree = tree_of(size)
    height = len(tree.sizes)
    assert 8**height >= size
    assert height == 1 or 8 ** (height - 1) < size
    assert tree.branching <= 8
    assert tree.sizes[-1] == size
    assert tree.sizes[0] <= tree.branching
    for above, below in zip(tree.sizes, tree.sizes[1:], strict=False):
        assert above == math.ceil(below / tree.branching)


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=300), st.data())
def test_levels_count_what_lies_below_each_node(leaves: list[int], data: st.DataObject) -> None:
    tree = tree_of(len(leaves))
    level = data.draw(st.integers(0, len(tree.sizes) - 1))
    width = tree.branching ** (len(tree.sizes) - 1 - level)
    assert tree.counts(leaves, level) == [
        sum(leaves[i : i + width]) for i in range(0, len(leaves), width)
    ]


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=200))
def test_without_noise_the_fit_is_the_counts(leaves: list[int]) -> None:
    tree = tree_of(len(leaves))
    levels = [np.array(tree.counts(leaves, i), dtype=float) for i in range(len(tree.sizes))]
    assert tree.fitted(levels, [1.0] * len(levels)) == pytest.approx(np.array(leaves), abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 120), st.integers(0, 2**32 - 1))
def test_far_from_zero_the_fit_is_least_squares(size: int, seed: int) -> None:
    tree, chance = tree_of(size), np.random.default_rng(seed)
    rows = []
    for level, nodes in enumerate(tree.sizes):
        width = tree.branching ** (len(tree.sizes) - 1 - level)
        rows += [[float(leaf // width == node) for leaf in range(size)] for node in range(nodes)]
    design = np.array(rows)
    truth = chance.integers(10_000, 20_000, size)
    noisy = design @ truth + chance.normal(0, 5, len(rows))
    best = np.linalg.lstsq(design, noisy, rcond=None)[0]
    parts = np.split(noisy, np.cumsum(tree.sizes)[:-1])
    assert tree.fitted(parts, [1.0] * len(parts)) == pytest.approx(best, abs=1e-6)


@settings(deadline=None)
@given(st.integers(1, 150), st.integers(0, 2**32 - 1))
def test_fitted_counts_are_never_negative(size: int, seed: int) -> None:
    tree, chance = tree_of(size), np.random.default_rng(seed)
    levels = [chance.normal(0, 10, nodes) for nodes in tree.sizes]
    found = tree.fitted(levels, [1.0] * len(levels))
    assert found.shape == (size,)
    assert (found >= 0).all()


# ---------------------------------------------------------------------- sensitivity


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_no_unit_moves_a_level_by_more_than_is_said(adjacency: str) -> None:
    statistic = _spec(_asked(8)).named()[0]
    bounds = Contribution.of(2, None, None, adjacency=adjacency, grouped=False)
    parts = {part.name: part for part in statistic.parts(bounds)}
    assert list(parts) == statistic.levels
    assert len(parts) == 2
    own = [()] + [c for n in (1, 2) for c in combinations_with_replacement(range(9), n)]
    others = own if adjacency == "replace" else [()]
    for name, part in parts.items():
        most = [0, 0]
        for before in own:
            for after in others:
                moved = [0] * 9
                for value, sign in [(v, 1) for v in before] + [(v, -1) for v in after]:
                    moved[value] += sign
                numbers = statistic.numbers(name, {statistic.measure_name("leaves"): [moved]})
                most[0] = max(most[0], sum(map(abs, numbers)))
                most[1] = max(most[1], sum(n * n for n in numbers))
        assert most == [part.l1, part.l2_squared]


# ---------------------------------------------------------------------- answers


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), min_size=10, max_size=10), st.integers(1, 4))
def test_without_noise_the_values_are_quantiles_and_so_are_the_ends(
    leaves: list[int], thousands: int
) -> None:
    leaves = [1000 * thousands * n for n in leaves]
    total = sum(leaves)
    if not total:
        return
    statistic = _spec(_asked()).named()[0]
    noisy = _levels(statistic, leaves, Geometric(50.0))
    (answers,) = statistic.rows(noisy, 0.95)
    for share, answer in zip(SHARES, answers, strict=True):
        for value in (answer.value, answer.low, answer.high):
            below, upto = sum(leaves[: int(value)]), sum(leaves[: int(value) + 1])
            assert below <= Fraction(str(share)) * total + 1
            assert upto >= Fraction(str(share)) * total - 1


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.floats(0.05, 3))
def test_values_and_intervals_rise_with_the_share(seed: int, size: int, epsilon: float) -> None:
    chance = np.random.default_rng(seed)
    statistic = _spec(_asked(size)).named()[0]
    law = Geometric(epsilon)
    noisy = {
        part: Noisy([int(n) for n in np.rint(chance.laplace(3, law.sd, nodes))], 0, law.sd, law)
        for part, nodes in zip(statistic.levels, statistic.tree.sizes, strict=True)  # type: ignore[attr-defined]
    }
    (answers,) = statistic.rows(noisy, 0.9)
    found = [(a.low, a.value, a.high) for a in answers]
    assert all(0 <= low <= value <= high <= size for low, value, high in found)
    for column in zip(*found, strict=True):
        assert list(column) == sorted(column)
    assert [a.labels for a in answers] == [("0.1",), ("0.25",), ("0.5",), ("0.9",)]


@pytest.mark.parametrize("budget", [{"epsilon": 0.4}, {"rho": 0.02}])
def test_intervals_hold_as_often_as_they_say(budget: dict[str, float]) -> None:
    # 120 draws of 4 intervals of confidence 0.8: if each held with probability 0.8, fewer than 65
    # of 120 would hold with probability below 1e-9 (binomial tail).
    values = [0] * 300 + [int(20 * math.log(i / 250)) for i in range(251, 1500)]
    spec = _spec(_asked(60), budget=budget, interval=0.8)
    plan = plan_of(spec, {"x": "integer"})
    engine = DuckDB.of(pa.table({"x": values}))
    held, off = [0] * 4, 0
    ranks = plan.accuracy()[0]["ranks"]
    for _ in range(120):
        columns = draw(plan, engine).columns
        for place, share in enumerate(SHARES):
            low, value, high = (
                float(columns[name][place]) for name in ("interval_low", "value", "interval_high")
            )
            true = sorted(values)[math.ceil(share * len(values)) - 1]
            held[place] += low <= true <= high
            below, upto = sum(v < value for v in values), sum(v <= value for v in values)
            off += max(below - share * len(values), share * len(values) - upto) > ranks
    assert min(held) >= 65
    assert off <= 4 * 55


@settings(deadline=None)
@given(
    st.sampled_from([Geometric(0.05), Geometric(1.0), Geometric(9.0), Geometric(3.0, 2)])
    | st.sampled_from([DiscreteGaussian(0.4), DiscreteGaussian(3.0), DiscreteGaussian(20.0)]),
    st.floats(-0.9, 0.9),
)
def test_cumulants_are_those_of_the_law_or_above(law: Any, part: float) -> None:
    geometric = isinstance(law, Geometric)
    t = part * (1 / law.scale if geometric else 3 / law.sd)
    n = np.arange(-20_000, 20_001)
    rate, sigma = (1 / law.scale, 1.0) if geometric else (0.0, law.sigma)
    mass = -rate * np.abs(n) if geometric else -(n**2) / (2 * sigma**2)
    true = logsumexp(mass + t * n) - logsumexp(mass)
    assert law.cumulant(t) >= true - 1e-9
    if geometric:
        assert law.cumulant(t) == pytest.approx(true, abs=1e-9)
        assert law.cumulant(rate) == math.inf


# ---------------------------------------------------------------------- specs


def test_groups_and_a_median_beside_quantiles() -> None:
    keys = {"by": ["g"], "keys": {"g": ["a", "b"]}}
    spec = _spec(
        _asked(**keys),
        {"median": "x", "bounds": [0, 9], "resolution": 0.5, **keys},
        budget={"epsilon": 500.0},
    )
    plan = plan_of(spec, {"x": "number", "g": "text"})
    data = pa.table({"x": [1.0, 2.0, 3.0] * 50 + [7.5] * 99, "g": ["a"] * 150 + ["b"] * 99})
    columns = draw(plan, DuckDB.of(data)).columns
    assert list(columns)[:4] == ["statistic", "g", "at", "value"]
    assert columns["at"] == ["0.1", "0.25", "0.5", "0.9"] * 2 + [None, None]
    assert columns["value"] == ["1", "1", "2", "3", "8", "8", "8", "8", "2", "7.5"]


def test_one_price_whatever_the_number_of_shares() -> None:
    def price(at: list[float]) -> list[tuple[float, float]]:
        plan = plan_of(_spec(_asked(99, at)), {"x": "number"})
        return [(call.scale, call.epsilon or 0) for call in plan.pricing.calls]

    assert price([0.5]) == price(SHARES)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (_asked(at=[0.5, 0.5]), "must rise"),
        (_asked(at=[0.5, 0.2]), "must rise"),
        (_asked(at=[0, 0.2]), "the value of one person"),
        (_asked(at=[50]), "share of the rows between 0 and 1"),
        (_asked(within={"error": 1}), "give this one a weight"),
        (_asked(by=["at"], keys={"at": ["a"]}), "'at' is also the name"),
        (_asked(1_000_000), "at most 65,536"),
    ],
)
def test_what_cannot_be_asked_is_refused(entry: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        plan_of(_spec(entry), {"x": "number", "at": "text"})


def test_the_shape_is_a_value() -> None:
    assert tree_of(9) == Tree(3, (3, 9))
