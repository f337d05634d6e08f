"""Bounds on a strong adversary's belief from a bound on the loss; worst priors; KSZ examples."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.beliefs import bounds, explain
from discreet.composition.curves import epsilon_prime
from discreet.guarantees import ApproxDP
from discreet.rounding import percent
from soaking import examples

fixed = settings(derandomize=True, deadline=None, max_examples=examples(300))
priors = st.floats(1e-12, 1 - 1e-12)
losses = st.floats(1e-9, 300)


def expit_of(p: float, shift: float) -> mp.mpf:
    odds = mp.mpf(p) / (1 - mp.mpf(p)) * mp.e ** mp.mpf(shift)
    return odds / (1 + odds)


@fixed
@given(priors, losses)
def test_bounds_hold_and_are_tight(p: float, epsilon: float) -> None:
    with mp.workdps(60):
        high, low = expit_of(p, epsilon), expit_of(p, -epsilon)
        got = bounds.posterior(epsilon, p)
        assert got.lower <= low
        assert high <= got.upper <= 1
        assert got.upper <= high * (1 + mp.mpf(10) ** -13)
        ratio = bounds.ratios(epsilon, p)
        assert ratio.lower <= low / mp.mpf(p)
        assert ratio.upper >= min(high, 1) / mp.mpf(p)
        change = bounds.differences(epsilon, p)
        assert change.lower <= low - mp.mpf(p)
        assert change.upper >= high - mp.mpf(p)
        assert change.upper <= (high - mp.mpf(p)) * (1 + mp.mpf(10) ** -12)


@fixed
@given(priors, losses)
def test_no_prior_is_worse_than_the_worst(p: float, epsilon: float) -> None:
    slack = 1 + 1e-13
    assert bounds.ratios(epsilon, p).upper <= bounds.ratios(epsilon, None).upper * slack
    over_all = bounds.differences(epsilon, None)
    assert bounds.differences(epsilon, p).upper <= over_all.upper * slack
    assert -bounds.differences(epsilon, p).lower <= over_all.upper * slack
    assert bounds.ratios(epsilon, 1 - p).upper <= bounds.worst_ratio_not_in(epsilon).value * slack


@fixed
@given(st.floats(1e-6, 60))
def test_the_worst_difference_is_attained_for_in_and_for_not_in(epsilon: float) -> None:
    target = bounds.differences(epsilon, None).upper
    inside = bounds.differences(epsilon, 1 / (1 + math.exp(epsilon / 2)))
    assert inside.upper == pytest.approx(target, rel=1e-9)
    worst = bounds.worst_difference_not_in(epsilon)
    assert -bounds.differences(epsilon, worst.p).lower == pytest.approx(target, rel=1e-6)


@fixed
@given(priors, losses)
def test_one_sided_says_nothing_of_decreases(p: float, epsilon: float) -> None:
    assert bounds.posterior(epsilon, p, "one").lower == 0
    assert bounds.ratios(epsilon, p, "one").lower == 0
    assert bounds.differences(epsilon, p, "one").lower == -p
    assert bounds.differences(epsilon, None, "one").lower == -1


def test_example_1_1() -> None:
    belief = explain(ApproxDP(0.1, 1e-7), 0.5)
    assert belief.posterior is not None
    # 47 % to 53 %, not 48 % to 52 %: outward.
    assert percent(belief.posterior.lower, "down") == "47 %"
    assert percent(belief.posterior.upper, "up") == "53 %"
    assert percent(belief.posterior.lower, "down", 2) == "47.50 %"
    assert percent(belief.posterior.upper, "up", 2) == "52.50 %"
    everywhere = explain(ApproxDP(0.1, 1e-7))
    assert everywhere.ratio.upper == pytest.approx(1.1052, abs=5e-5)
    assert percent(everywhere.difference.upper, "up", 2) == "2.50 %"


def test_example_4_3() -> None:
    half = explain(ApproxDP(1.8, 1e-5), 0.5, confidence=0.95)
    tenth = explain(ApproxDP(1.8, 1e-5), 0.1, confidence=0.95)
    assert half.posterior is not None
    assert tenth.posterior is not None
    assert (round(half.posterior.upper, 2), round(half.difference.upper, 2)) == (0.86, 0.36)
    assert round(half.ratio.upper, 1) == 1.7
    assert (round(tenth.posterior.upper, 2), round(tenth.difference.upper, 2)) == (0.40, 0.30)
    assert round(tenth.ratio.upper, 1) == 4.0
    worst = half.worst_difference
    assert (round(worst.p, 3), round(worst.value, 3)) == (0.289, 0.422)
    assert round(worst.p + worst.value, 3) == 0.711
    assert half.worst_ratio.p == 0.0  # as p → 0, not 1 as printed in §4.4
    assert round(half.worst_ratio.value, 3) == 6.051
    assert half.worst_difference_not_in is not None
    assert round(half.worst_difference_not_in.p, 3) == 0.711


def test_section_4_4_numbers_belong_to_epsilon_2() -> None:
    bound = epsilon_prime(2.0, 1e-6, 0.01)
    assert bounds.differences(bound, None).upper == pytest.approx(0.46, abs=5e-3)
    assert 1 / (1 + math.exp(bound / 2)) == pytest.approx(0.27, abs=5e-3)
