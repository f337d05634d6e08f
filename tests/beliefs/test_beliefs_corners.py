"""Corners of belief bounds: nothing given away, everything given away, and flat searches."""

from __future__ import annotations

import math

import mpmath as mp
import pytest

from discreet.beliefs import Prior, bounds, explain
from discreet.composition import loss_of
from discreet.guarantees import PureDP
from discreet.laws import Laplace
from discreet.numerics import lowest
from losses import loss_bound


def _theorem_1(epsilon: float, p: float, q: float) -> float:
    """The largest ratio of K&R Theorem 1, in fifty digits."""
    with mp.workdps(50):
        e, p, q = mp.mpf(epsilon), mp.mpf(p), mp.mpf(q)
        return float(1 / (p * q + mp.exp(-2 * e) * (1 - q) * p + mp.exp(-e) * (1 - p)))


@pytest.mark.parametrize(("p", "q"), [(0.1, 0.5), (0.6, 0.2), (0.3, 1.0), (1.0, 0.4)])
def test_without_delta_the_split_is_theorem_1(p: float, q: float) -> None:
    low, high = bounds.ratio_bounds(Prior(p, q), (0.8, 0.0), (1.6, 0.0), 0.01)
    assert high == pytest.approx(_theorem_1(0.8, p, q), rel=1e-12)
    assert high >= _theorem_1(0.8, p, q)
    assert low == pytest.approx(_theorem_1(-0.8, p, q), rel=1e-12)
    assert low <= _theorem_1(-0.8, p, q)


def test_a_step_that_gives_more_away_than_may_fail_is_left_out() -> None:
    """All of the failure goes to the other step; from below nothing is promised any more."""
    p, q, failure = 0.1, 0.5, 0.01
    low, high = bounds.ratio_bounds(Prior(p, q), (1.0, 1e-7), (2.0, 0.5), failure)
    kept = 1 - 1e-7 / (failure / 2)
    truth = 1 / (p * q + math.exp(-1) * kept * (1 - p))
    assert low == 0.0
    assert truth <= high <= truth * (1 + 1e-4)


def test_one_step_that_gives_more_away_than_may_fail() -> None:
    low, high = bounds.ratio_bounds(Prior(0.1, 0.5), (1.0, 0.5), (2.0, 1.0), 0.01)
    assert (low, high) == (0.0, pytest.approx(1 / (0.1 * 0.5)))


def test_the_parts_of_the_ratio_are_theorem_1_with_one_prior_known() -> None:
    for prior in (0.05, 0.5, 0.9):
        low, high = bounds.ratio(0.7, Prior(prior))
        assert low <= _theorem_1(-0.7, prior, 1) <= _theorem_1(0.7, prior, 1) <= high
        assert high == pytest.approx(_theorem_1(0.7, prior, 1), rel=1e-14)
        low, high = bounds.ratio(0.7, Prior(1.0, prior))
        assert low <= _theorem_1(-0.7, 1, prior) <= _theorem_1(0.7, 1, prior) <= high
        assert high == pytest.approx(_theorem_1(0.7, 1, prior), rel=1e-14)


def test_a_pure_promise_bounds_the_loss_for_every_output() -> None:
    bound = loss_bound(PureDP(0.7), 0.01)
    assert (bound.epsilon_prime, bound.failure, bound.survives) == (0.7, 0.0, True)


def test_membership_and_value_of_a_plan_that_is_also_pure() -> None:
    """Where the largest loss is no wider than the curve it is said, and holds for every output."""
    loss, prior = loss_of((Laplace(0.1), 3)), Prior(0.2, 0.5)
    certain = explain(loss, prior, confidence=1 - 1e-9)
    truth = _theorem_1(loss.largest(), 0.2, 0.5)
    assert certain.holds_with == 1.0
    assert truth <= certain.ratio.upper <= truth * (1 + 1e-9)
    likely = explain(loss_of((Laplace(0.1), 300)), prior, confidence=0.9)
    assert likely.holds_with == 0.9
    assert likely.ratio.upper < _theorem_1(30.0, 0.2, 0.5)


@pytest.mark.parametrize("hint", [2.0, 4.9, 30.0, None])
def test_the_floor_of_a_bound_that_is_flat_there(hint: float | None) -> None:
    """No parabola has a vertex on a floor; the search finds the floor all the same."""
    place, value = lowest(lambda x: max(5.0, x), hint=hint)
    assert value == pytest.approx(5.0, rel=1e-9)
    assert place <= 5.0 * (1 + 1e-9)
