"""Gaussian plans against the analytic curve at 60 digits: to 1e-9 relative, never below."""

from __future__ import annotations

import math
import warnings

import mpmath as mp
import pytest
from composition_truths import gaussian_delta, gaussian_tail
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.composition import loss_of
from discreet.composition.gaussian import GaussianLoss
from discreet.laws import Gaussian
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(150))
rhos = st.floats(-13, 9).map(lambda t: 10.0**t)
deltas = st.floats(-300, -0.01).map(lambda t: 10.0**t)


@FAST
@given(rhos, st.floats(-6, 36))
def test_delta_is_the_analytic_curve_from_above(rho, away):
    epsilon = max(0.0, rho + away * math.sqrt(2 * rho))
    true = gaussian_delta(rho, epsilon)
    assume(true > mp.mpf(10) ** -305)
    found = mp.mpf(GaussianLoss(rho).delta(epsilon))
    assert found >= min(true, 1)
    assert found <= true * (1 + mp.mpf(10) ** -9)


@FAST
@given(rhos, deltas)
def test_epsilon_is_safe_and_no_smaller_one_is(rho, delta):
    epsilon = GaussianLoss(rho).epsilon(delta)
    assert gaussian_delta(rho, epsilon) <= delta
    if epsilon > 0:
        assert gaussian_delta(rho, epsilon * (1 - 1e-9)) > delta


@FAST
@given(rhos, deltas, st.sampled_from(["one", "two"]))
def test_exact_epsilon_is_safe_and_no_smaller_one_is(rho, delta, sided):
    epsilon = GaussianLoss(rho).exact_epsilon(delta, sided)
    assert gaussian_tail(rho, epsilon, sided) <= delta
    if epsilon > 0:
        assert gaussian_tail(rho, epsilon * (1 - 1e-9), sided) > delta


@FAST
@given(rhos, st.floats(0.01, 0.999), deltas)
def test_a_smaller_contribution_is_never_more_exposed(rho, share, delta):
    full, part = GaussianLoss(rho), GaussianLoss(rho * share)
    for sided in ("one", "two"):
        assert part.exact_epsilon(delta, sided) <= full.exact_epsilon(delta, sided) * (1 + 1e-12)


def test_3650_releases_have_the_known_epsilon():
    loss = loss_of((Gaussian.of_rho(0.01), 3650))
    assert loss.epsilon(1e-6) == pytest.approx(76.3195531226, abs=1e-9)
    assert gaussian_delta(36.5, loss.epsilon(1e-6)) <= mp.mpf("1e-6")


def _first(series, limit):
    return next(k for k, value in enumerate(series, 1) if value > limit)


def test_days_until_a_belief_passes_for_the_exact_law():
    # KSZ Example 4.1 with the exact law, p = 1/2, δ' = .01: > .99 on day 112, difference > .98
    # on day 326, .727 on day 7
    series = [
        loss.exact_epsilon(0.01)
        for loss in (loss_of((Gaussian.of_rho(0.01), k)) for k in range(1, 327))
    ]
    assert _first(series, math.log(99)) == 112
    assert _first([math.tanh(e / 4) for e in series], 0.98) == 326
    assert 1 / (1 + math.exp(-series[6])) == pytest.approx(0.727, abs=5e-4)


def test_a_million_releases_any_noise_any_delta_are_finite_and_monotone():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rho in (5e-13, 1e-6, 0.01, 1.0, 1250.0):
            loss = loss_of((Gaussian.of_rho(rho), 1_000_000))
            found = [loss.epsilon(delta) for delta in (1e-300, 1e-100, 1e-12, 1e-6, 0.1)]
            assert all(math.isfinite(e) for e in found)
            assert found == sorted(found, reverse=True)
            exact = [loss.exact_epsilon(delta) for delta in (1e-300, 1e-100, 1e-6, 0.1)]
            assert all(math.isfinite(e) for e in exact)
            assert exact == sorted(exact, reverse=True)


@pytest.mark.parametrize("epsilon", [-3.0, -0.5, 0.0, 0.7])
def test_negative_epsilon_by_symmetry(epsilon):
    true = gaussian_delta(0.3, epsilon)
    found = GaussianLoss(0.3).delta(epsilon)
    assert true <= mp.mpf(found) <= true * (1 + mp.mpf(10) ** -12)
