"""δ from few frequencies: never below the truth, whatever the period, and close to it.

Oracles: characteristic functions and residues at 60 digits, sums on a lattice, the normal law.
"""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from composition_truths import gaussian_delta, laplace_delta
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composition import loss_of
from discreet.composition.grid import loss as windows
from discreet.composition.grid.contour import Contour, contour
from discreet.composition.grid.ingredients import LaplaceLosses, Normal, StepLosses, TwoPoints
from discreet.composition.walk import WalkLoss
from discreet.laws import Geometric, Laplace
from soaking import examples

STEADY = settings(derandomize=True, deadline=None, max_examples=examples(60))
KINDS = {
    "two points": TwoPoints,
    "laplace": LaplaceLosses,
    "two steps": lambda e, k: StepLosses(e, k, 2),
    "five steps": lambda e, k: StepLosses(e, k, 5),
}
epsilons = st.lists(st.floats(0.002, 3.0), min_size=1, max_size=12, unique=True)


def _part(kind, some, times):
    return KINDS[kind](tuple(sorted(some)), tuple(times[: len(some)]))


def _one(kind: str, epsilon: float, z: mp.mpc) -> mp.mpc:
    """Σ S(l) e^{zl} of one release, from its losses."""
    e = mp.mpf(epsilon)
    if kind == "two points":
        return mp.cosh(z * e) / mp.cosh(e / 2)
    if kind == "laplace":
        return mp.exp(-e / 2) * (mp.cosh(z * e) + mp.sinh(z * e) / (2 * z))
    many = 2 if kind == "two steps" else 5
    rate, total = e / many, mp.mpf(0)
    a = mp.exp(-rate)
    for i in range(many + 1):
        end = i in (0, many)
        loss = (2 * i - many) * rate
        mass = (1 / (1 + a) if end else (1 - a) / (1 + a)) * mp.exp(-rate * (many - i))
        total += mass * mp.exp((z - mp.mpf(1) / 2) * loss)
    return total


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("omega", [0.01, 1.3, 77.0, 5e4])
def test_phi_against_its_definition(kind, omega):
    part, tilt = _part(kind, [0.03, 0.2, 1.7], [4, 1, 2]), 1.9
    true = mp.mpf(1)
    for e, k in zip(part.epsilons, part.times, strict=True):
        z = mp.mpf(tilt)
        true *= (_one(kind, e, mp.mpc(z, omega)) / _one(kind, e, z)) ** k
    found = complex(part.at(np.array([omega]), tilt)[0])
    count, loss = part.rounding(tilt)
    assert abs(found - complex(true)) <= 2.0**-53 * (8 * count + 64 + 4 * omega * loss)


@STEADY
@given(
    st.sampled_from(list(KINDS)),
    epsilons,
    st.lists(st.integers(1, 6), min_size=12, max_size=12),
    st.floats(0.51, 30.0),
    st.floats(-2, 5).map(lambda x: 10.0**x),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_blocks_are_never_bounded_too_low(kind, some, times, tilt, low, wide, share):
    """What is left out must be as small as it is said to be, at every place of a block."""
    part, half = _part(kind, some, times), wide / max(some)
    omega = low + 2 * half * share
    bound = math.fsum(float(b(np.array([low]), half)[0]) for b in part.bounds(tilt))
    size = abs(complex(part.at(np.array([omega]), tilt)[0]))
    assert size <= math.exp(bound) * (1 + 1e-9) + 1e-12


@STEADY
@given(st.floats(-2, 1.5).map(lambda x: 10.0**x), st.floats(-0.5, 6.0), st.floats(0.3, 30.0))
def test_no_period_is_too_short(rho, away, period):
    """What comes round only adds to δ; here of a normal law, with a period in its deviations."""
    sd = math.sqrt(2 * rho)
    at = max(0.0, rho + away * sd)
    tilt = 0.5 + max(at - rho, 0.3 * sd) / (2 * rho)
    # Asked for at one ε alone: farther out errors may show, and there is no contour then.
    found = contour((Normal(rho),), at, at, at, tilt, period * sd, 1e-9 * rho)
    assert found is not None
    true = gaussian_delta(rho, at)
    assert mp.mpf(found.delta(at)) >= min(true, 1) * (1 - mp.mpf(10) ** -30)
    if period > 12 + 20 / max(away, 0.3):
        assert mp.mpf(found.delta(at)) <= true * (1 + mp.mpf(10) ** -6)


def _window(loss, epsilon):
    ((_, grid),) = loss.accounts
    return windows._window(grid, windows._bucket(grid, epsilon))


@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 60), (0.8, 70)])
@pytest.mark.parametrize("away", [0.5, 2.0, 3.0])
def test_equal_laplace_releases_against_residues(epsilon, k, away):
    loss = loss_of((Laplace(epsilon), k))
    at = k * epsilon * math.tanh(epsilon / 2) * 0.8 + away * epsilon * math.sqrt(k)
    assert isinstance(_window(loss, at), Contour)
    with mp.workdps(120):
        true = laplace_delta(epsilon, k, at)
        assert true <= mp.mpf(loss.delta(at)) <= true * (1 + mp.mpf(10) ** -6)


@pytest.mark.parametrize("sensitivity", [1, 2])
def test_unequal_geometric_releases_against_sums_on_their_lattice(sensitivity):
    """120 slots whose losses are whole multiples of a step, so shifts and sums of masses do."""
    unit, steps = 2e-4, [60 + i for i in range(120)]
    law = np.array([1.0])
    for n in steps:
        a = math.exp(-n * unit)
        ends = 1 / (1 + a)
        masses = {2 * sensitivity * n: ends, 0: ends * a**sensitivity}
        if sensitivity == 2:
            masses[2 * n] = (1 - a) / (1 + a) * a
        longer = np.zeros(len(law) + 2 * sensitivity * n)
        for shift, mass in masses.items():
            longer[shift : shift + len(law)] += mass * law
        law = longer
    losses = (np.arange(len(law)) - sensitivity * sum(steps)) * unit
    plan = loss_of(*[(Geometric(sensitivity * n * unit, sensitivity), 1) for n in steps])

    def true(epsilon):
        above = losses > epsilon
        return float(-(law[above] * np.expm1(epsilon - losses[above])).sum())

    for at in (0.0, 0.05, 0.3, 0.8, 1.5):
        assert isinstance(_window(plan, at), Contour)
        assert true(at) * (1 - 1e-12) <= plan.delta(at) <= true(at - 3e-7) * (1 + 1e-7)


@STEADY
@given(
    st.floats(-2.5, -0.5).map(lambda x: 10.0**x),
    st.integers(20, 400),
    st.floats(1e-9, 0.3),
    st.floats(-13, -1).map(math.exp),
)
def test_between_the_walks_of_the_least_and_of_the_largest(least, k, spread, delta):
    some = [least * (1 + spread * i / k) for i in range(k)]
    found = loss_of(*((Geometric(e), 1) for e in some)).epsilon(delta)
    assert WalkLoss(some[0], k).epsilon(delta) <= found * (1 + 1e-11)
    largest = WalkLoss(some[-1], k).epsilon(delta)
    assert found <= largest * (1 + 1e-6) + 1e-6


def test_one_lattice_is_left_to_the_grid():
    """Its curve has corners, which a release that is added would round off."""
    for loss in (loss_of((Laplace(0.01), 100)), loss_of((Geometric(0.01, 3), 400))):
        assert not isinstance(_window(loss, loss.epsilon(1e-3)), Contour)
