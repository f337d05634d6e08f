"""From beliefs back to privacy: round trips, and counterexamples by enumeration."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.beliefs import explain
from discreet.beliefs.converse import (
    epsilon_for_difference,
    epsilon_for_posterior,
    epsilon_for_ratio,
    from_difference,
    from_posterior,
    from_ratio,
)
from discreet.errors import InputError
from discreet.guarantees import ApproxDP, ProbabilisticDP, PureDP

fixed = settings(derandomize=True, deadline=None, max_examples=200)


@fixed
@given(st.floats(1e-6, 20), st.floats(1e-6, 1 - 1e-6))
def test_pure_round_trip(epsilon: float, p: float) -> None:
    belief = explain(PureDP(epsilon), p)
    assert belief.posterior is not None
    back = from_posterior(min(belief.posterior.upper, 1 - 1e-16), p)
    assert back.epsilon >= epsilon * (1 - 1e-6) or belief.posterior.upper > 1 - 1e-9
    everywhere = explain(PureDP(epsilon))
    assert from_ratio(everywhere.ratio.upper).epsilon >= epsilon
    assert from_ratio(everywhere.ratio.upper).epsilon == pytest.approx(epsilon, rel=1e-9)
    assert from_difference(everywhere.difference.upper)[0].epsilon >= epsilon * (1 - 1e-12)


def test_kinds() -> None:
    assert isinstance(from_ratio(3.0), PureDP)
    assert from_ratio(3.0, 1e-6) == ProbabilisticDP(from_ratio(3.0).epsilon, 1e-6)
    assert isinstance(from_difference(0.2)[0], PureDP)
    approx, doubled, wider = from_difference(0.2, 1e-6)
    assert isinstance(approx, ApproxDP)
    assert approx.delta == 1e-6
    assert doubled is not None
    assert doubled.delta == 2e-6
    e = epsilon_for_difference(0.2)
    printed = math.log(3 * math.exp(e / 2) - 1) - math.log(3 - math.exp(e / 2))
    assert wider is not None
    assert wider.epsilon == pytest.approx(printed, rel=1e-12)


def test_theorem_3_5_has_no_epsilon_tilde_from_two_log_three_on() -> None:
    at = math.tanh(2 * math.log(3) / 4)
    assert at == pytest.approx(0.5)
    assert from_difference(0.5, 1e-6)[2] is None
    assert from_difference(0.9, 1e-6)[2] is None
    assert from_difference(0.499, 1e-6)[2] is not None


@fixed
@given(st.floats(0.01, 2.1), st.floats(1e-4, 0.2))
def test_example_a_1_needs_the_wider_parameters(epsilon: float, delta: float) -> None:
    """Randomized response at ε̃, answered with probability δ(1 + e^{-ε̃}) (KSZ Example A.1).

    The difference is bounded as Theorem 3.5 asks, (ε, δ)-probabilistic DP fails, and each of the
    three implied guarantees holds.
    """
    b = math.tanh(epsilon / 4)
    approx, doubled, wider = from_difference(b, delta)
    assert doubled is not None
    assert wider is not None
    tilde = wider.epsilon
    answered = delta * (1 + math.exp(-tilde))
    truthful, lie = delta, delta * math.exp(-tilde)  # probabilities of losses +ε̃ and −ε̃
    for i in range(1, 100):
        p = i / 100
        rise = p / (p + (1 - p) * math.exp(-tilde)) - p
        fall = p - p / (p + (1 - p) * math.exp(tilde))
        outside = truthful * (rise > b * (1 + 1e-9)) + lie * (fall > b * (1 + 1e-9))
        assert outside <= delta * (1 + 1e-12)
    assert tilde > epsilon
    assert answered > delta  # not (ε, δ)-PDP
    assert answered <= doubled.delta  # (ε, 2δ)-PDP
    hockey_stick = truthful * (1 - math.exp(approx.epsilon - tilde))
    assert hockey_stick <= approx.delta  # (ε, δ)-DP, as Corollary 3.12 should say


@fixed
@given(st.floats(1e-6, 0.999), st.floats(1e-3, 0.999))
def test_posterior_is_the_distance_of_log_odds(p: float, share: float) -> None:
    a = p + (1 - p) * share
    expected = math.log(a / (1 - a)) - math.log(p / (1 - p))
    assert epsilon_for_posterior(a, p) == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_bad_values() -> None:
    with pytest.raises(InputError, match="ratio is"):
        epsilon_for_ratio(0.5)
    with pytest.raises(InputError, match="difference is"):
        epsilon_for_difference(1.5)
    with pytest.raises(InputError, match="below the prior"):
        epsilon_for_posterior(0.2, 0.3)
    assert epsilon_for_difference(1.0) == math.inf
    assert epsilon_for_posterior(1.0, 0.3) == math.inf
    for f in (epsilon_for_ratio, epsilon_for_difference):
        with pytest.raises(InputError):
            f(math.nan)
