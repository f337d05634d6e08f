"""Many discrete Gaussian releases as one Gaussian release: never better than they are.

Truths: sums over whole vectors for the lemma; for the curve the exact account of equal ones and,
for different ones, convolution of their lattices at the places where losses lie.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composition import loss_of
from discreet.composition.grid.lattice import as_gaussian
from discreet.laws import DiscreteGaussian, Gaussian
from soaking import examples

STEADY = settings(derandomize=True, deadline=None, max_examples=examples(40))
sigmas = st.lists(st.floats(2.2, 60.0), min_size=2, max_size=40)


def rho_of(some: list[float]) -> float:
    return math.fsum(1 / (2 * sigma**2) for sigma in some)


@STEADY
@given(sigmas)
def test_rho_is_never_below_the_one_of_the_releases(some):
    assert as_gaussian([(sigma, 1) for sigma in some]) >= rho_of(some)


@STEADY
@given(st.floats(2.2, 60.0), st.integers(2, 2000), st.floats(0.05, 6.0))
def test_equal_releases_are_no_worse(sigma, times, away):
    rho = as_gaussian([(sigma, times)])
    if math.isinf(rho):
        return
    true, bound = loss_of((DiscreteGaussian(sigma), times)), loss_of((Gaussian.of_rho(rho), 1))
    total = times / (2 * sigma**2)
    epsilon = total + away * math.sqrt(2 * total)
    # the exact account is itself rounded up
    assert true.delta(epsilon) <= bound.delta(epsilon) * (1 + 1e-9) + 1e-300


def exact_delta(some: tuple[float, ...], epsilon: float) -> float:
    """δ of a few releases by their joint law: products of lattices, cut at 12σ."""
    losses, masses = np.zeros(1), np.ones(1)
    for sigma in some:
        n = np.arange(-math.ceil(12 * sigma), math.ceil(12 * sigma) + 1)
        p = np.exp(-0.5 * (n / sigma) ** 2)
        losses = np.add.outer(losses, (1 - 2 * n) / (2 * sigma**2)).ravel()
        masses = np.multiply.outer(masses, p / p.sum()).ravel()
    above = losses > epsilon
    return float(masses[above] @ -np.expm1(epsilon - losses[above]))


@pytest.mark.parametrize("some", [(3.0, 4.5), (2.3, 2.9, 3.7), (3.0, 3.0, 3.0)])
def test_the_joint_law_of_a_few_is_no_worse(some):
    rho = as_gaussian([(sigma, 1) for sigma in some])
    if math.isinf(rho):  # too few of them to be smoothed along the loss: another R will do
        rho = math.fsum(1 / (2 * (sigma**2 - 2.3)) for sigma in some)
    bound = loss_of((Gaussian.of_rho(rho), 1))
    for epsilon in np.linspace(0.0, 4.0, 41):
        assert (
            exact_delta(some, float(epsilon)) <= bound.delta(float(epsilon)) * (1 + 1e-12) + 1e-30
        )


@pytest.mark.parametrize("some", [[2.5, 3.0, 4.0, 6.0], [5.0] * 4])
def test_whole_vectors_add_up_to_what_the_proof_says(some):
    """The two sums of the module, term by term, at a smoothing that leaves something to see."""
    u = np.array([1 / sigma**2 for sigma in some])
    along = u / np.linalg.norm(u)
    t2, k2, f = 0.35, 0.2, 0.4
    inner = outer = 0.0
    for v in itertools.product(range(-3, 4), repeat=len(some)):
        if any(v):
            s = abs(float(np.dot(v, along)))
            term = math.exp(-2 * math.pi**2 * (t2 * (np.dot(v, v) - s * s) + k2 * s * s))
            if s < f / along.max():
                inner += term
            else:
                outer += term
    each = 2.1 * math.exp(-2 * math.pi**2 * t2 * (1 - f))
    assert 0 < inner <= (1 + each) ** len(some) - 1
    length = 1 / (math.pi * math.sqrt(2 * t2))
    places = f / along.max() + length * np.arange(200)
    sums = float(np.exp(-2 * math.pi**2 * k2 * places**2).sum())
    around = (1 + 2.1 * math.exp(-(math.pi**2) * t2)) ** len(some)
    assert 0 < outer <= 2 * math.e * around * sums


@pytest.mark.parametrize("many", [13, 100])
def test_plans_of_many_different_ones_are_close_and_never_below(many):
    some = [10 + 10 * i / many for i in range(many)]
    found = loss_of(*((DiscreteGaussian(sigma), 1) for sigma in some)).epsilon(1e-6)
    # the lattices are fine: the Gaussian curve of the same ρ is what is approached from above
    least = loss_of((Gaussian.of_rho(rho_of(some)), 1)).epsilon(1e-6)
    assert least * (1 - 1e-6) <= found <= least * (1 + 1e-3)


def test_small_noise_is_not_smoothed():
    assert as_gaussian([(1.0, 1000)]) == math.inf
    assert as_gaussian([(3.0, 1)]) == math.inf  # one alone has a lattice that shows
