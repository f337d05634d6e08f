"""Scales keep their promise exactly, and no smaller float would."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import opendp.prelude as dp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.noise import (
    gaussian_scale,
    hypergeometric,
    keep_probability,
    laplace_scale,
    multinomial,
    noisy_max,
    randomize,
    selection_scale,
    uniform,
    uniforms,
)
from discreet.noise.samplers import discrete_gaussian, discrete_laplace
from soaking import examples

budgets = st.floats(1e-12, 1e6)
sizes = st.integers(1, 10**15)
checked = settings(derandomize=True, deadline=None, max_examples=examples(200))


def _least(budget: float) -> Fraction:
    return min(Fraction(budget), Fraction(repr(budget)))


@checked
@given(sizes, budgets)
def test_laplace_scale_is_the_least_that_keeps_epsilon(l1: int, epsilon: float) -> None:
    scale = laplace_scale(l1, epsilon)
    assert Fraction(l1) / Fraction(scale) <= _least(epsilon)
    assert Fraction(l1) / Fraction(math.nextafter(scale, 0)) > _least(epsilon)


@checked
@given(sizes, budgets)
def test_gaussian_scale_keeps_rho_within_an_ulp(l2_squared: int, rho: float) -> None:
    sigma = gaussian_scale(l2_squared, rho)
    assert Fraction(l2_squared) / (2 * Fraction(sigma) ** 2) <= _least(rho)
    lower = math.nextafter(math.nextafter(sigma, 0), 0)
    assert Fraction(l2_squared) / (2 * Fraction(lower) ** 2) > _least(rho)


@checked
@given(st.integers(1, 10**6), st.floats(1e-3, 1e3), st.booleans())
def test_selection_scale_counts_what_is_not_monotone_twice(
    size: int, epsilon: float, monotone: bool
) -> None:
    scale = selection_scale(size, epsilon, monotone=monotone)
    lost = Fraction(size if monotone else 2 * size) / Fraction(scale)
    assert lost <= _least(epsilon) <= lost * (1 + Fraction(1, 2**51))


@checked
@given(st.floats(1e-6, 60), st.integers(2, 1000))
def test_randomized_response_never_keeps_more_than_epsilon_allows(epsilon: float, k: int) -> None:
    keep = keep_probability(epsilon, k)
    with mpmath.workdps(60):
        ratio = mpmath.mpf(keep.numerator) / mpmath.mpf((1 - keep).numerator)
        ratio *= mpmath.mpf((1 - keep).denominator) / mpmath.mpf(keep.denominator) * (k - 1)
        loss = mpmath.log(ratio)
        assert loss <= mpmath.mpf(epsilon)
        assert loss >= mpmath.mpf(epsilon) * (1 - mpmath.mpf(10) ** -9) - mpmath.mpf(10) ** -9


@pytest.mark.parametrize(("l1", "epsilon"), [(1, 0.1), (4, 1.2993), (7, 0.3), (200_000, 0.866)])
def test_opendp_agrees_with_the_laplace_scale(l1: int, epsilon: float) -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measurement = dp.m.make_laplace(*space, scale=laplace_scale(l1, epsilon))
    assert measurement.map(l1) <= math.nextafter(epsilon, math.inf)


@pytest.mark.parametrize(("square", "rho"), [(1, 0.1), (8, 0.5), (10**10, 0.01)])
def test_opendp_agrees_with_the_gaussian_scale(square: int, rho: float) -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    measurement = dp.m.make_gaussian(*space, scale=gaussian_scale(square, rho))
    assert measurement.map(math.sqrt(square)) <= rho * (1 + 1e-12)


@pytest.mark.parametrize("monotone", [True, False])
def test_opendp_agrees_with_the_selection_scale(monotone: bool) -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=monotone)
    scale = selection_scale(3, 0.7, monotone=monotone)
    pure = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale)
    concentrated = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)
    assert pure.map(3) <= 0.7 * (1 + 1e-12)
    assert concentrated.map(3) <= 0.7**2 / 8 * (1 + 1e-12)


@pytest.mark.parametrize("bad", [math.nan, 0.0, -1.0, math.inf])
def test_what_is_no_budget_is_refused(bad: float) -> None:
    for call in (
        lambda: laplace_scale(1, bad),
        lambda: gaussian_scale(1, bad),
        lambda: keep_probability(bad),
        lambda: noisy_max([1, 2], bad),
        lambda: discrete_laplace([1], bad),
        lambda: discrete_gaussian([1], bad),
    ):
        with pytest.raises(InputError, match="must be positive"):
            call()


def test_bad_draws_are_refused() -> None:
    with pytest.raises(InputError, match="at most 2\\^52"):
        discrete_laplace([1], 2.0**53)
    with pytest.raises(InputError, match="no scores"):
        noisy_max([], 1.0)
    with pytest.raises(InputError, match="1 or more"):
        uniform(0)
    with pytest.raises(InputError, match="between 1 and 2"):
        uniforms(0, 3)
    with pytest.raises(InputError, match="weights"):
        multinomial(3, [0, 0])
    with pytest.raises(InputError, match="below 1/2"):
        randomize("a", ["a", "b"], Fraction(1, 3))
    with pytest.raises(InputError, match="all different"):
        randomize("a", ["a", "a"], Fraction(1, 2))
    with pytest.raises(InputError, match="not one of"):
        randomize("c", ["a", "b"], Fraction(1, 2))


def test_large_weights_are_exact_too() -> None:
    """Weights beyond a machine word take the slow road; a zero weight is never drawn."""
    huge = 2**80
    counts = multinomial(300, [huge, 0, huge])
    assert counts[1] == 0
    assert sum(counts) == 300
    # Bin(300, 1/2) is outside [60, 240] with probability below 1e-25.
    assert 60 <= counts[0] <= 240


@checked
@given(st.integers(1, 2**63), st.integers(0, 50))
def test_uniforms_stay_below(below: int, size: int) -> None:
    drawn = uniforms(below, size).tolist()
    assert len(drawn) == size
    assert all(0 <= n < below for n in drawn)


def test_an_urn_holds_what_is_drawn_from_it():
    for wrong in ((3, 4, 1), (3, -1, 1), (3, 1, 4)):
        with pytest.raises(InputError, match="are marked"):
            hypergeometric(*wrong)
