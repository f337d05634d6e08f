"""Theorem 3.9 of KSZ, against mpmath; safe side, extremes, refusals."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.beliefs.prior import failure_of
from discreet.composition.curves import epsilon_prime
from discreet.errors import InputError
from soaking import examples

fixed = settings(derandomize=True, deadline=None, max_examples=examples(300))
epsilons = st.floats(1e-6, 50)
failures = st.floats(1e-12, 1.0)
shares = st.floats(1e-290, 0.999999)
sides = st.sampled_from(["one", "two"])


def truth(epsilon: float, delta: float, failure: float, sided: str) -> mp.mpf:
    """Solve P(bad) = δ' for ε', from the proof and not from the closed form."""
    e, d, f = mp.mpf(epsilon), mp.mpf(delta), mp.mpf(failure)
    # δ' = δ (1 + e^{-ε'})/(1 − e^{ε−ε'}), or without the first bracket for one side
    x = mp.e**-e
    if sided == "one":
        return mp.log(1 / (x * (1 - d / f)))
    # with u = e^{-ε'}:  f (1 − u e^ε) = d (1 + u)
    return -mp.log((f - d) / (d + f * mp.e**e))


@fixed
@given(epsilons, shares, failures, sides)
def test_never_below_the_truth_and_close_to_it(
    epsilon: float, share: float, failure: float, sided: str
) -> None:
    delta = share * failure
    ours = epsilon_prime(epsilon, delta, failure, sided)
    with mp.workdps(60):
        true = truth(epsilon, delta, failure, sided)
        assert ours >= true
        assert ours <= true * (1 + mp.mpf(10) ** -13)


@fixed
@given(epsilons, shares, st.floats(1e-9, 0.5))
def test_one_side_is_never_wider(epsilon: float, share: float, failure: float) -> None:
    delta = share * failure
    one = epsilon_prime(epsilon, delta, failure, "one")
    assert epsilon <= one <= epsilon_prime(epsilon, delta, failure, "two")


@pytest.mark.parametrize("delta", [0.0, 1e-300, 5e-324, 1e-30, 1e-9])
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1.0, 50.0, 5e4, 1e7])
def test_extremes_are_finite(epsilon: float, delta: float) -> None:
    previous = epsilon
    for failure in (0.5, 0.01, 1e-6, 1.1e-9):
        value = epsilon_prime(epsilon, delta, failure)
        assert previous <= value < math.inf
        previous = value


def test_pure_dp_passes_through() -> None:
    assert epsilon_prime(1.25, 0.0, 0.01) == 1.25


@pytest.mark.parametrize("delta", [0.01, 0.02])
def test_delta_not_below_the_failure_probability(delta: float) -> None:
    assert epsilon_prime(1.0, delta, 0.01) == math.inf


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1, math.nan, math.inf, True])
def test_bad_confidence(confidence: float) -> None:
    with pytest.raises(InputError, match="confidence is"):
        failure_of(confidence)


@pytest.mark.parametrize(
    ("confidence", "failure"),
    [(0.99, 0.01), (0.95, 0.05), (0.9999, 1e-4), (0.999999, 1e-6), (0.999999999999, 1e-12)],
)
def test_failure_is_the_decimal_that_was_meant(confidence: float, failure: float) -> None:
    assert failure_of(confidence) == failure


@pytest.mark.parametrize("bad", [math.nan, -1.0])
def test_nan_and_negative_are_refused(bad: float) -> None:
    with pytest.raises(InputError):
        epsilon_prime(1.0, 1e-6, bad)
    with pytest.raises(InputError, match="sided"):
        epsilon_prime(1.0, 1e-6, 0.01, "three")
