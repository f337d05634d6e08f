"""Mixed plans against closed forms and brute force at 60 digits: close, and never below."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from composition_truths import (
    atoms_delta,
    convolve,
    gaussian_delta,
    laplace_delta,
    two_point,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composition import loss_of
from discreet.composition.gaussian import GaussianLoss
from discreet.composition.grid import GridLoss
from discreet.composition.grid.ingredients import Atoms, DiscreteNormal, Normal, TwoPoints
from discreet.composition.walk import WalkLoss
from discreet.errors import GuaranteeError, InputError
from discreet.laws import (
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    RandomizedResponse,
)
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=25)


def _holds(found: float, true: mp.mpf, relative: float) -> None:
    assert mp.mpf(found) >= min(true, 1) * (1 - mp.mpf(10) ** -45)
    assert mp.mpf(found) <= true * (1 + mp.mpf(relative)) + mp.mpf(10) ** -300


@pytest.mark.parametrize(
    ("epsilon", "k"),
    [(1.0, 1), (1.0, 2), (0.5, 5), (0.05, 12), (3.0, 4), (20.0, 3), (50.0, 2), (0.01, 20)],
)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.35, 0.6, 0.9])
def test_laplace_series_against_its_residues(epsilon, k, share):
    at = share * k * epsilon
    found = loss_of((Laplace(epsilon), k)).delta(at)
    _holds(found, laplace_delta(epsilon, k, at), 1e-6)


@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 2), (0.05, 12), (0.3, 15)])
@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-7, 1e-12])
def test_epsilon_of_a_laplace_series(epsilon, k, delta):
    found = loss_of((Laplace(epsilon), k)).epsilon(delta)
    assert laplace_delta(epsilon, k, found) <= delta
    assert found == 0 or laplace_delta(epsilon, k, found - 2e-7 * max(1, found)) > delta


def test_365_laplace_releases_have_the_known_epsilon():
    found = loss_of((Laplace(0.05), 365)).epsilon(1e-6)
    assert 0 <= found - 4.568865774 <= 4.4e-8  # dp-accounting: + 4.4e-8


def test_100_mixed_laplace_releases_have_the_known_epsilon():
    found = loss_of(*[(Laplace(e), 1) for e in np.linspace(0.01, 0.2, 100).tolist()]).epsilon(1e-6)
    assert 0 <= found - 5.559491179 <= 1e-6


def test_100_mixed_geometric_releases_against_sums_on_their_lattice():
    # ε_i = (99 + 19i)·u, u = 0.01/99: whole multiples, so shifts and sums of positive numbers do.
    unit = 0.01 / 99
    steps = [99 + 19 * i for i in range(100)]
    law = np.array([1.0])
    for n in steps:
        p = 1 / (1 + math.exp(-n * unit))
        nxt = np.zeros(len(law) + 2 * n)
        nxt[2 * n :] += p * law
        nxt[: len(law)] += (1 - p) * law
        law = nxt
    losses = (np.arange(len(law)) - sum(steps)) * unit

    def true(epsilon):
        above = losses > epsilon
        return float(-(law[above] * np.expm1(epsilon - losses[above])).sum())

    plan = loss_of(*[(Geometric(n * unit), 1) for n in steps])
    found = plan.epsilon(1e-6)
    assert true(found) <= 1e-6 * (1 + 1e-12)
    assert true(found - 1e-6) > 1e-6
    for at in (0.0, 0.5, 2.0, 5.0, 8.0):
        assert true(at) * (1 - 1e-12) <= plan.delta(at) <= true(at) * (1 + 1e-6)


@FAST
@given(
    st.lists(st.floats(0.003, 4.0), min_size=1, max_size=7, unique=True),
    st.lists(st.integers(1, 3), min_size=7, max_size=7),
    st.floats(0, 0.98),
)
def test_mixed_two_point_releases_that_fit_no_common_step(epsilons, counts, share):
    pairs = list(zip(epsilons, counts, strict=False))
    at = share * sum(e * k for e, k in pairs)
    true = atoms_delta(convolve(*[two_point(e, k) for e, k in pairs]), at)
    loss = GridLoss((TwoPoints(tuple(e for e, _ in pairs), tuple(k for _, k in pairs)),))
    found = loss.delta(at)
    assert mp.mpf(found) >= true * (1 - mp.mpf(10) ** -45)
    # the grid may move ε by its step times a few: compare a hair below
    shifted = atoms_delta(convolve(*[two_point(e, k) for e, k in pairs]), at * (1 - 1e-3) - 1e-4)
    assert mp.mpf(found) <= shifted * (1 + mp.mpf(10) ** -6) + mp.mpf(10) ** -12


@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-40, 1e-150])
def test_the_grid_agrees_with_the_walk_and_the_normal_law(delta):
    for grid, closed in (
        (GridLoss((TwoPoints((0.05,), (365,)),)), WalkLoss(0.05, 365)),
        (GridLoss((Normal(0.4),)), GaussianLoss(0.4)),
    ):
        a, b = grid.epsilon(delta), closed.epsilon(delta)
        assert b * (1 - 1e-12) <= a <= b + 3e-6 * max(1.0, b)


def _geometric(epsilon, sensitivity):
    """The loss of geometric noise shifted by the whole sensitivity, from its definition."""
    rate = mp.mpf(epsilon) / sensitivity
    a = mp.exp(-rate)
    law: dict[mp.mpf, mp.mpf] = {}
    for n in range(-400, 400 + sensitivity):
        p = (1 - a) / (1 + a) * a ** abs(n)
        loss = rate * (abs(n - sensitivity) - abs(n))
        law[loss] = law.get(loss, mp.mpf(0)) + p
    return law


@pytest.mark.parametrize(("epsilon", "sensitivity", "k"), [(2.0, 2, 4), (3.0, 5, 3), (1.5, 3, 1)])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.95])
def test_geometric_of_larger_sensitivity(epsilon, sensitivity, k, share):
    at = share * k * epsilon
    true = atoms_delta(convolve(*[_geometric(epsilon, sensitivity)] * k), at)
    found = loss_of((Geometric(epsilon, sensitivity), k)).delta(at)
    assert mp.mpf(found) >= true * (1 - mp.mpf(10) ** -30)
    assert mp.mpf(found) <= true * (1 + mp.mpf(10) ** -5) + mp.mpf(10) ** -12


def test_one_cell_is_the_worst_way_to_spread_a_geometric_contribution():
    # sensitivity 4 in L1: all of it in one count, or spread, at the same noise
    rate = 0.7
    whole = _geometric(4 * rate, 4)
    for spread in ([3, 1], [2, 2], [2, 1, 1], [1, 1, 1, 1], [3], [1]):
        parts = convolve(*[_geometric(n * rate, n) for n in spread])
        for at in (-2.0, -0.3, 0.0, 0.2, 0.7, 1.4, 2.0, 2.7):
            lower = atoms_delta(parts, at)
            assert lower <= atoms_delta(whole, at) * (1 + mp.mpf(10) ** -20)


def test_one_value_is_the_worst_way_to_spread_a_laplace_contribution():
    for first, second in ((0.5, 0.5), (0.9, 0.1), (1.5, 0.5)):
        both = loss_of(Laplace(first), Laplace(second))
        for at in (0.0, 0.2, 0.5, 0.8, 1.1):
            one = laplace_delta(first + second, 1, at)
            assert mp.mpf(both.delta(at)) <= one * (1 + mp.mpf(10) ** -5) + mp.mpf(10) ** -9


@pytest.mark.parametrize(("epsilon", "categories", "k"), [(1.0, 3, 5), (0.4, 10, 8)])
@pytest.mark.parametrize("share", [0.0, 0.25, 0.6, 0.9])
def test_randomized_response_over_many_categories(epsilon, categories, k, share):
    e = mp.mpf(epsilon)
    w = mp.exp(e) + categories - 1
    one = {e: mp.exp(e) / w, -e: 1 / w, mp.mpf(0): (categories - 2) / w}
    at = share * k * epsilon
    true = atoms_delta(convolve(*[one] * k), at)
    found = loss_of((RandomizedResponse(epsilon, categories), k)).delta(at)
    assert mp.mpf(found) >= true * (1 - mp.mpf(10) ** -30)
    assert mp.mpf(found) <= true * (1 + mp.mpf(10) ** -6) + mp.mpf(10) ** -12


@pytest.mark.parametrize(("sigma", "k"), [(0.5, 3), (1.0, 2), (2.5, 3)])
@pytest.mark.parametrize("at", [0.0, 0.4, 1.5, 4.0])
def test_discrete_gaussian_from_its_definition(sigma, k, at):
    weights = {n: mp.exp(-(mp.mpf(n) ** 2) / (2 * mp.mpf(sigma) ** 2)) for n in range(-40, 42)}
    total = mp.fsum(weights.values())
    law: dict[mp.mpf, mp.mpf] = {}
    for n, w in weights.items():
        law[mp.mpf(1 - 2 * n) / 2] = w / total
    scale = 1 / mp.mpf(sigma) ** 2
    true = atoms_delta({loss * scale: p for loss, p in convolve(*[law] * k).items()}, at)
    found = loss_of((DiscreteGaussian(sigma), k)).delta(at)
    assert mp.mpf(found) >= true * (1 - mp.mpf(10) ** -14)
    assert mp.mpf(found) <= true * (1 + mp.mpf(10) ** -5) + mp.mpf(10) ** -12


@pytest.mark.parametrize("at", [0.0, 0.5, 1.5, 2.5])
def test_laplace_with_geometric_and_with_gaussian(at):
    with_geometric = loss_of((Laplace(0.4), 3), (Geometric(0.3), 2))
    true = mp.fsum(
        p * laplace_delta(0.4, 3, mp.mpf(at) - loss) for loss, p in two_point(0.3, 2).items()
    )
    _holds(with_geometric.delta(at), true, 1e-6)
    with mp.workdps(25):
        density = [(mp.mpf("0.5"), mp.mpf(1)), (mp.exp(-1) / 2, mp.mpf(-1))]
        atoms = mp.fsum(p * gaussian_delta(0.3, mp.mpf(at) - x) for p, x in density)
        between = mp.quad(
            lambda x: mp.exp((x - 1) / 2) / 4 * gaussian_delta(0.3, mp.mpf(at) - x), [-1, 0, 1]
        )
        _holds(loss_of(Laplace(1.0), Gaussian(1 / math.sqrt(0.6))).delta(at), atoms + between, 1e-6)


def test_an_exponential_mechanism_uses_the_better_of_two_accounts():
    few, many = loss_of((Exponential(0.1), 3)), loss_of((Exponential(0.1), 300))
    assert few.epsilon(1e-6) <= 0.3
    assert many.epsilon(1e-6) < 0.6 * loss_of((Laplace(0.1), 300)).epsilon(1e-6)
    worst = loss_of((Geometric(0.1), 3))
    assert few.delta(0.1) <= worst.delta(0.1) * (1 + 1e-6)


def test_a_discrete_gaussian_vector_is_covered_by_zcdp():
    vector = loss_of((DiscreteGaussian(10.0, 2.0), 100))
    one = loss_of((Gaussian(10.0, 2.0), 100))
    assert vector.epsilon(1e-6) >= one.epsilon(1e-6)


@pytest.mark.parametrize(
    "plan",
    [
        [(Laplace(1e-6), 1_000_000)],
        [(Laplace(1.0), 1_000_000)],
        [(Laplace(50.0), 3)],
        [(Geometric(0.001), 3), (Geometric(10.0), 2)],
        [(DiscreteGaussian(300.0), 5)],
        [(Gaussian(1000.0), 1), (Laplace(3.0), 2)],
    ],
    ids=str,
)
def test_odd_plans_stay_finite_ordered_and_silent(plan):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss = loss_of(*plan)
        found = [loss.epsilon(delta) for delta in (1e-15, 1e-9, 1e-6, 1e-3, 0.1)]
        assert all(math.isfinite(e) for e in found)
        assert found == sorted(found, reverse=True)
        for delta, epsilon in zip((1e-15, 1e-9, 1e-6), found, strict=False):
            assert loss.delta(epsilon) <= delta


def test_the_curve_falls():
    loss = loss_of((Laplace(0.05), 100))
    values = [loss.delta(x) for x in np.linspace(-2, 5, 200)]
    assert all(b <= a * (1 + 1e-8) for a, b in pairwise(values))
    assert loss.curve().at(1.0).delta == loss.delta(1.0)
    assert loss.delta(loss.largest()) == 0.0


def test_a_coarser_grid_is_as_safe():
    for k in (1, 20, 40):
        ((_, fine),) = loss_of((Laplace(0.05), k)).accounts
        coarse = replace(fine, resolution=1 << 13)
        epsilon = fine.epsilon(1e-6)
        assert epsilon * (1 - 1e-9) <= coarse.epsilon(1e-6) <= epsilon + 1e-4


def test_local_and_central_are_not_mixed_in_silence():
    with pytest.raises(GuaranteeError, match="different adjacencies"):
        loss_of(RandomizedResponse(0.1), Laplace(0.1))
    assert loss_of(RandomizedResponse(0.1), Laplace(0.1), adjacency="replace").delta(0.0) > 0
    with pytest.raises(GuaranteeError, match="answer"):
        loss_of(RandomizedResponse(0.1), adjacency="add-remove")
    with pytest.raises(InputError, match="empty"):
        loss_of()


@pytest.mark.parametrize("sided", ["one", "two"])
@pytest.mark.parametrize("delta", [0.2, 0.01, 1e-6])
@pytest.mark.parametrize(("epsilon", "categories", "k"), [(1.0, 3, 9), (0.3, 8, 12), (3.0, 3, 5)])
def test_exact_bound_for_many_categories_over_all_contributions(
    epsilon, categories, k, delta, sided
):
    w = mp.exp(epsilon) + categories - 1
    one = {1: mp.exp(epsilon) / w, -1: 1 / w, 0: (categories - 2) / w}
    laws = [convolve(*[one] * j) for j in range(k + 1)]

    def exposed(m):
        return max(
            mp.fsum(p for s, p in law.items() if s > m or (sided == "two" and s < -m))
            for law in laws
        )

    loss = loss_of((RandomizedResponse(epsilon, categories), k))
    assert loss.exact_proved
    m = round(loss.exact_epsilon(delta, sided) / epsilon)
    assert exposed(m) <= delta
    assert m == 0 or exposed(m - 1) > delta


@pytest.mark.parametrize("share", [0.24, 0.27, 0.51, 0.68])
def test_releases_much_smaller_than_the_step_of_the_grid(share):
    # seven Laplace losses of a fifth of a step beside six large ones: they must not come round
    plan = loss_of((Laplace(0.0002696171853395598), 7), (Geometric(0.7589346799002734), 6))
    at = share * plan.largest()
    true = mp.fsum(
        p * laplace_delta(0.0002696171853395598, 7, mp.mpf(at) - loss)
        for loss, p in two_point(0.7589346799002734, 6).items()
    )
    _holds(plan.delta(at), true, 1e-4)


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(
    st.floats(-4, 1).map(lambda t: 10.0**t),
    st.floats(0, 3.7).map(lambda t: int(10.0**t)),
    st.floats(-4, 12),
    st.sampled_from([1 << 10, 1 << 12, 1 << 15]),
)
def test_coarse_grids_are_looser_and_never_below_the_walk(epsilon, k, away, resolution):
    mean, sd = k * epsilon * math.tanh(epsilon / 2), epsilon * math.sqrt(k)
    at = min(k * epsilon, max(0.0, mean + away * sd))
    grid, walk = (
        GridLoss((TwoPoints((epsilon,), (k,)),), resolution=resolution),
        WalkLoss(epsilon, k),
    )
    true = walk.delta(at)
    if true > 1e-290:
        assert grid.delta(at) >= true * (1 - 1e-11 - 1e-15 * k)
    assert grid.epsilon(1e-9) >= walk.epsilon(1e-9) * (1 - 1e-11)


@settings(derandomize=True, deadline=None, max_examples=examples(40))
@given(
    st.floats(-6, 2).map(lambda t: 10.0**t),
    st.floats(-3, 1).map(lambda t: 10.0**t),
    st.integers(1, 10),
    st.floats(-4, 9),
    st.sampled_from([1 << 10, 1 << 14]),
)
def test_gaussian_beside_two_point_releases(rho, epsilon, k, away, resolution):
    law = two_point(epsilon, k)
    sd = math.sqrt(2 * rho + k * epsilon**2)
    at = max(0.0, rho + k * epsilon * math.tanh(epsilon / 2) + away * sd)
    loss = GridLoss((Normal(rho), TwoPoints((epsilon,), (k,))), resolution=resolution)
    true = mp.fsum(p * gaussian_delta(rho, mp.mpf(at) - x) for x, p in law.items())
    assert mp.mpf(loss.delta(at)) >= min(true, 1) * (1 - mp.mpf(10) ** -30) or true < 1e-300


@pytest.mark.parametrize("epsilon", [1e-300, 1.2e-16, 1e-9])
def test_budgets_too_small_for_the_grid_to_see_are_silent_and_safe(epsilon):
    loss = loss_of((Laplace(epsilon), 12))
    # δ(0) is the total variation distance: 1 − e^{-ε/2} for one release, at most ε for any
    assert 0 < loss.delta(0.0) <= 12 * epsilon * (1 + 1e-12)
    assert loss.delta(0.0) >= -math.expm1(-epsilon / 2)
    assert loss.epsilon(1e-6) == 0.0


@pytest.mark.parametrize("sigma", [0.7, 1.9, 2.0, 3.3, 25.0])
@pytest.mark.parametrize("tilt", [-1.5, 0.0, 0.5, 1.2, 6.0])
def test_cumulants_of_discrete_gaussian_noise(sigma: float, tilt: float) -> None:
    """Against the plain sums: Σ P(n) e^{(λ−½) l(n)} with l(n) = (1 − 2n)/2σ², seven times over."""
    found = Atoms(DiscreteNormal(sigma, 7)).cumulants(tilt)
    with mp.workdps(40):
        s, t = mp.mpf(sigma), mp.mpf(tilt) - mp.mpf(1) / 2
        reach = range(-math.ceil(30 * sigma) - 10, math.ceil(30 * sigma) + 11)
        losses = [(1 - 2 * mp.mpf(n)) / (2 * s**2) for n in reach]
        masses = [mp.exp(-(mp.mpf(n) ** 2) / (2 * s**2)) for n in reach]
        total = mp.fsum(masses)
        tilted = [m * mp.exp(t * loss) for m, loss in zip(masses, losses, strict=True)]
        weight = mp.fsum(tilted)
        mean = mp.fsum(w * x for w, x in zip(tilted, losses, strict=True)) / weight
        spread = mp.fsum(w * (x - mean) ** 2 for w, x in zip(tilted, losses, strict=True)) / weight
        true = (7 * mp.log(weight / total), 7 * mean, 7 * spread)
    assert found == pytest.approx([float(x) for x in true], rel=1e-11, abs=1e-13)
