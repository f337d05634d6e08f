"""Residuals of noisy margins: the law enumerated, its divergences, and what a unit changes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.releases.adding_up import SPARE, excess, fits, squared_change
from discreet.releases.statistics.values import Noisy
from soaking import examples


def projection(sizes: tuple[int, ...]) -> np.ndarray:
    found = np.eye(1)
    for n in sizes:
        found = np.kron(found, np.eye(n) - np.full((n, n), 1 / n))
    return found


def law(sizes: tuple[int, ...], sigma: float, reach: int) -> dict[tuple[int, ...], float]:
    """Every residual that noise up to `reach` in each cell makes, times ∏ n_i, with its chance."""
    whole = np.rint(projection(sizes) * math.prod(sizes)).astype(int)
    points = np.array(list(product(range(-reach, reach + 1), repeat=math.prod(sizes))))
    weights = np.exp(-(points**2).sum(axis=1) / (2 * sigma**2))
    found: dict[tuple[int, ...], float] = {}
    for residual, weight in zip(map(tuple, points @ whole), weights, strict=True):
        found[residual] = found.get(residual, 0.0) + weight
    total = sum(found.values())
    return {residual: weight / total for residual, weight in found.items()}


@pytest.mark.parametrize(
    ("sizes", "sigma", "reach"),
    [
        ((2,), 0.5, 6),
        ((2,), 1.0, 9),
        ((3,), 0.7, 6),
        ((3,), 1.2, 9),
        ((2, 2), 0.8, 6),
        ((4,), 1.0, 7),
    ],
)
def test_divergences_stay_below_what_is_proved(
    sizes: tuple[int, ...], sigma: float, reach: int
) -> None:
    noise = law(sizes, sigma, reach)
    whole = np.rint(projection(sizes) * math.prod(sizes)).astype(int)
    cells = math.prod(sizes)
    for change in (np.eye(cells, dtype=int)[0], np.eye(cells, dtype=int)[0] * 2):
        shift = tuple(whole @ change)
        squared = float(change @ projection(sizes) @ change)
        for order in (1.01, 1.5, 2.0, 3.0, 4.0):
            # What decides lies (order − 1)·change away; beyond the reach nothing was enumerated.
            if (order - 1) * change.max() + 3.5 * sigma > reach:
                continue
            mean = sum(
                chance**order * other ** (1 - order)
                for residual, chance in noise.items()
                if (other := noise.get(tuple(np.subtract(residual, shift)), 0.0)) and chance > 1e-13
            )
            divergence = math.log(mean) / (order - 1)
            bound = order * squared / (2 * sigma**2) + excess(sigma, sizes)
            assert divergence <= bound + 1e-6


def test_without_the_excess_it_would_not_hold() -> None:
    """At a small scale the law is not that of a discrete Gaussian on the residuals: κ is needed."""
    noise = law((2,), 0.3, 6)
    shift = (1, -1)
    divergence = max(
        math.log(chance / other)
        for residual, chance in noise.items()
        if chance > 1e-9 and (other := noise.get(tuple(np.subtract(residual, shift)), 0.0))
    )
    gaussian = max(
        (np.dot(np.subtract(r, shift), np.subtract(r, shift)) - np.dot(r, r)) / (8 * 0.3**2)
        for r, chance in noise.items()
        if chance > 1e-9
    )
    assert divergence > gaussian + 0.1


@settings(derandomize=True, max_examples=examples(200))
@given(
    st.lists(st.integers(2, 5), min_size=0, max_size=3),
    st.integers(1, 4),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_no_change_of_a_unit_is_larger(
    sizes: list[int], rows: int, signed: bool, random: object
) -> None:
    cells = math.prod(sizes)
    change = np.zeros(cells, dtype=int)
    for _ in range(rows):
        change[random.randrange(cells)] += random.choice([-1, 1]) if signed else 1  # type: ignore[attr-defined]
    l1, l2 = int(np.abs(change).sum()), int((change**2).sum())
    most = squared_change(Fraction(l1), Fraction(l2), sizes, signed=signed)
    assert float(change @ projection(tuple(sizes)) @ change) <= float(most) + 1e-9


@pytest.mark.parametrize("sizes", [(), (2,), (3,), (2, 2), (3, 4), (2, 3, 2)])
def test_one_row_attains_it(sizes: tuple[int, ...]) -> None:
    row = np.eye(math.prod(sizes))[0]
    most = squared_change(Fraction(1), Fraction(1), sizes)
    assert float(row @ projection(sizes) @ row) == pytest.approx(float(most))


def test_rows_in_opposite_cells_attain_it() -> None:
    """In a table of 2 by 2, two rows in opposite cells add up in the residual."""
    change = np.array([1, 0, 0, 1])
    most = squared_change(Fraction(2), Fraction(2), (2, 2))
    assert float(change @ projection((2, 2)) @ change) == pytest.approx(float(most))


@pytest.mark.parametrize("sizes", [(2,), (3,), (2, 2), (2, 3)])
@pytest.mark.parametrize("sigma", [0.5, 0.8, 1.5])
def test_the_sum_over_the_kernel_varies_no_more(sizes: tuple[int, ...], sigma: float) -> None:
    """log h(x) for every x that noise of 0 and 1 makes, by Poisson summation over the dual."""
    first, *others = sizes
    rows = [np.kron(np.ones(first), row) for row in np.eye(math.prod(others))]
    columns = [np.kron(row, np.ones(n)) for n in others for row in np.eye(first)[1:]]
    basis = np.array(rows + columns)
    dual = np.linalg.solve(basis @ basis.T, basis)
    waves = np.array(list(product(range(-3, 4), repeat=len(basis)))) @ dual
    sizes_of = np.exp(-2 * math.pi**2 * sigma**2 * (waves**2).sum(axis=1))
    within = np.eye(math.prod(sizes)) - projection(sizes)
    logs = [
        math.log(float(sizes_of @ np.cos(2 * math.pi * (waves @ (within @ np.array(noise))))))
        for noise in product(range(2), repeat=math.prod(sizes))
    ]
    assert max(logs) - min(logs) <= excess(sigma, sizes) + 1e-9


def test_where_noise_is_small_it_is_not_used() -> None:
    assert fits(5.0, Fraction(3, 5), (4, 5))
    assert not fits(1.0, Fraction(3, 5), (4, 5))
    assert not fits(5.0, Fraction(49, 50), (50, 3))
    assert excess(0.1, (4, 5)) == math.inf
    assert Fraction(1, 10**6) > SPARE


SIZES = {"a": 3, "b": 4, "c": 2, "d": 3, "e": 5}
NOWHERE = {name: np.zeros(0, dtype=np.int64) for name in SIZES}


@pytest.fixture(scope="module")
def margins() -> Any:
    """Pairs of five columns, for which residuals alone are the better measurement in ρ."""
    keys = {name: [str(k) for k in range(size)] for name, size in SIZES.items()}
    entry = {"count": "rows", "margins": {"up_to": 2, "of": list(SIZES)}, "keys": keys}
    spec = {
        "account": "a",
        "purpose": "p",
        "source": "d.csv",
        "protect": {"unit": "person", "column": "id", "rows": 1},
        "budget": {"rho": 0.1},
        "statistics": [entry],
        "ledger": "sqlite:///l.db",
        "output": "out",
    }
    return discreet.check(spec)


def test_a_release_in_rho_measures_residuals_alone(margins: Any) -> None:
    calls = margins.plan.pricing.calls
    names = [call.asked.part.name for call in calls]
    assert names[0] == "residual: (all)"
    assert all(name.startswith("residual: ") for name in names)
    assert len(names) == 1 + len(SIZES) + math.comb(len(SIZES), 2)
    together = _least(margins.plan.statistics[0].statistic.design)
    cells, squares = 0, 0.0
    for line in margins.plan.accuracy():
        cells += line["cells"]
        squares += line["cells"] * line["sd"] ** 2
    assert squares < 0.99 * together / (2 * 0.1)
    assert sum(Fraction(call.to_dict()["rho"]) for call in calls) <= Fraction(0.1)


def _least(design: Any) -> float:
    prices = dict.fromkeys(design.measurable, 1.0)
    return float(design.split(prices, 1)[2])


def test_nothing_but_residuals_is_used_of_what_was_measured(margins: Any) -> None:
    """What is published stays the same when anything without a residual is added to a table."""
    statistic = margins.plan.statistics[0].statistic
    calls = margins.plan.calls(margins.plan.statistics[0].name)
    drawn = np.random.default_rng(3)
    noisy, moved = {}, {}
    for name, call in calls.items():
        margin = name.removeprefix("residual: ").split(", ") if "(all)" not in name else []
        shape = tuple(SIZES[column] for column in margin)
        values = drawn.integers(-50, 50, shape)
        other = values.copy()
        for axis in range(len(shape)):
            less = tuple(1 if k == axis else n for k, n in enumerate(shape))
            other = other + drawn.integers(-9, 9, less)
        noisy[name] = Noisy(values.reshape(-1).tolist(), 0, 1.0, call.law)
        moved[name] = Noisy(other.reshape(-1).tolist(), 0, 1.0, call.law)
    assert noisy["residual: a, b"].values != moved["residual: a, b"].values
    assert statistic.rows(noisy, 0.95) == statistic.rows(moved, 0.95)


@pytest.mark.parametrize("rho", [3.0, 5000.0])
def test_noise_that_is_not_wide_enough_is_priced_whole(margins: Any, rho: float) -> None:
    spec = margins.plan.spec.to_dict() | {"budget": {"rho": rho}}
    calls = discreet.check(spec).plan.pricing.calls
    assert not any(call.asked.part.name.startswith("residual") for call in calls)
    assert all(call.asked.part.l2_squared == 1 for call in calls)


def test_noise_for_every_output_is_on_whole_margins(margins: Any) -> None:
    spec = margins.plan.spec.to_dict() | {"budget": {"epsilon": 0.1}}
    calls = discreet.check(spec).plan.pricing.calls
    assert not any(call.asked.part.name.startswith("residual") for call in calls)


def test_each_call_pays_for_what_a_row_changes_in_its_residual(margins: Any) -> None:
    for call in margins.plan.pricing.calls:
        name = call.asked.part.name.removeprefix("residual: ")
        sizes = tuple(SIZES[column] for column in name.split(", ")) if name != "(all)" else ()
        change = float((projection(sizes)[0] ** 2).sum())
        sigma = float(call.law.sigma)
        paid = float(call.asked.part.l2_squared) / (2 * sigma**2)
        assert change / (2 * sigma**2) + excess(sigma, sizes) <= paid


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("size", [2, 5])
def test_no_unit_changes_a_residual_by_more_than_is_paid(
    margins: Any, size: int, adjacency: str, rows: int
) -> None:
    """Every unit of so many rows that comes, goes or is replaced by another, in every table."""
    keys = {name: [str(k) for k in range(size)] for name in "abcdefgh"}
    entry = {"count": "rows", "margins": {"up_to": 2, "of": list(keys)}, "keys": keys}
    spec = margins.plan.spec.to_dict() | {"budget": {"rho": 0.01}, "statistics": [entry]}
    spec["protect"] = {**spec["protect"], "adjacency": adjacency, "rows": rows, "groups": rows}
    calls = {call.asked.part.name: call for call in discreet.check(spec).plan.pricing.calls}
    assert "residual: a" in calls or adjacency == "replace"
    for name, columns in (("a", 1), ("a, b", 2)):
        call = calls.get(f"residual: {name}")
        if call is None:
            continue
        one = projection((size,) * columns)
        nobody = np.zeros(len(one))
        units = np.array([nobody, *one, *map(sum, combinations_with_replacement(one, rows))])
        others = units if adjacency == "replace" else [nobody]
        most = max(float(((units - other) ** 2).sum(axis=1).max()) for other in others)
        sigma = float(call.law.sigma)
        paid = float(call.asked.part.l2_squared) / (2 * sigma**2)
        assert most / (2 * sigma**2) + excess(sigma, (size,) * columns) <= paid


def test_intervals_of_residuals_cover_as_stated(margins: Any) -> None:
    """Seeded: 200 draws of 131 cells, whose share that is covered has a deviation below 0.003."""
    statistic = margins.plan.statistics[0].statistic
    calls = margins.plan.calls(margins.plan.statistics[0].name)
    drawn = np.random.default_rng(11)
    laws = {}
    for name, call in calls.items():
        sigma = float(call.law.sigma)
        points = np.arange(-math.ceil(12 * sigma), math.ceil(12 * sigma) + 1)
        weights = np.exp(-(points**2) / (2 * sigma**2))
        cells = len(statistic.design.counted(statistic.margin_of[name], NOWHERE, []))
        laws[name] = (points, weights / weights.sum(), cells, call.law)
    covered = []
    for _ in range(200):
        noisy = {
            name: Noisy(drawn.choice(points, cells, p=chances).tolist(), 0, 1.0, law)
            for name, (points, chances, cells, law) in laws.items()
        }
        covered += [row[0].low <= 0 <= row[0].high for row in statistic.rows(noisy, 0.95)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.01)
