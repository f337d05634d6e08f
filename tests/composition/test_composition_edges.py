"""Composition at its edges: certainty, nothing, infinity, and what the rules do not cover."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.beliefs import explain
from discreet.composition import compose, loss_of, theorems
from discreet.composition.concentrated import (
    ConcentratedLoss,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_paper_epsilon,
)
from discreet.composition.walk import WalkLoss
from discreet.errors import GuaranteeError
from discreet.guarantees import ZCDP, ApproxDP, PrivacyCurve, ProbabilisticDP, PureDP
from discreet.laws import (
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    RandomizedResponse,
)
from soaking import examples

STEADY = settings(derandomize=True, deadline=None, max_examples=examples(100))
LOSSES = [
    loss_of((Gaussian(2.0), 3)),
    loss_of((Geometric(0.5), 4)),
    loss_of((Geometric(0.5, 2), 4)),
    loss_of((Laplace(0.5), 4)),
    loss_of((RandomizedResponse(0.5, 4), 4)),
    loss_of((DiscreteGaussian(2.0), 4)),
    loss_of(Laplace(0.5), Gaussian(2.0)),
    loss_of(Exponential(0.5), Laplace(0.5)),
    ConcentratedLoss(0.1),
    ConcentratedLoss(0.1, lost=1e-4),
    WalkLoss(0.5, 4, 1e-4, exact_proved=False),
]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
class TestEveryLoss:
    def test_certainty_costs_nothing(self, loss) -> None:
        assert loss.epsilon(1.0) == 0.0
        assert loss.delta(0.0) < 1

    def test_nothing_may_fail(self, loss) -> None:
        lost = loss.delta(math.inf)
        assert loss.epsilon(0.0) == (loss.largest() if lost == 0 else math.inf)
        if lost:
            assert loss.epsilon(lost) == loss.epsilon(lost / 2) == math.inf
        if loss.exact_proved:
            assert loss.exact_epsilon(1.0) == 0.0
            assert loss.exact_epsilon(0.0) == loss.largest()
        else:
            with pytest.raises(GuaranteeError):
                loss.exact_epsilon(0.01)

    def test_epsilon_and_delta_are_inverse(self, loss) -> None:
        for delta in (0.05, 1e-3):
            epsilon = loss.epsilon(delta)
            assert loss.delta(epsilon) <= delta * (1 + 1e-9)
            if epsilon > 0:
                assert loss.delta(epsilon * (1 - 1e-6)) >= delta * (1 - 1e-6)


class TestConcentrated:
    def test_the_ends(self) -> None:
        assert zcdp_delta(0.0, 0.5) == 0.0
        assert zcdp_delta(0.0, -0.5) == zcdp_delta(0.3, -0.5) == 1.0
        assert zcdp_epsilon(0.0, 1e-6) == zcdp_epsilon(0.3, 1.0) == 0.0
        assert zcdp_epsilon(0.3, 0.0) == math.inf
        assert zcdp_paper_epsilon(0.0, 0.0) == 0.0
        assert zcdp_paper_epsilon(0.3, 0.0) == math.inf

    @STEADY
    @given(st.floats(-9, 2), st.floats(-12, -1))
    def test_the_paper_rounds_up(self, a: float, b: float) -> None:
        rho, delta = 10**a, 10**b
        with mp.workdps(40):
            truth = mp.mpf(rho) + 2 * mp.sqrt(-mp.mpf(rho) * mp.log(mp.mpf(delta)))
            found = mp.mpf(zcdp_paper_epsilon(rho, delta))
            assert truth <= found <= truth * (1 + mp.mpf("1e-13"))
        assert zcdp_epsilon(rho, delta) <= zcdp_paper_epsilon(rho, delta)

    def test_what_is_lost_adds(self) -> None:
        loss = ConcentratedLoss(0.1, lost=1e-4)
        walked = zcdp_delta(0.1, 1.0)
        assert loss.delta(1.0) == pytest.approx(1e-4 + (1 - 1e-4) * walked, rel=1e-12)
        assert loss.delta(1.0) >= 1e-4 + (1 - 1e-4) * walked
        assert loss.epsilon(1e-4 * (1 + 1e-16)) == math.inf


class TestCompose:
    def test_what_cannot_be_met_is_said_with_what_is_lost(self) -> None:
        with pytest.raises(
            GuaranteeError, match=r"delta is 1e-07, below the 0\.0003.*larger delta"
        ):
            compose([(ApproxDP(0.1, 1e-4), 3)], delta=1e-7)

    def test_only_rho_is_known(self) -> None:
        found = compose([(ZCDP(0.1), 3)], delta=0.0)
        assert isinstance(found.guarantee, ZCDP)
        assert found.guarantee.rho == pytest.approx(0.3)
        assert found.guarantee.rho >= 0.1 * 3
        assert math.isinf(found.epsilon)

    def test_probabilistic_enters_as_approximate(self) -> None:
        one = compose([(ProbabilisticDP(0.1, 1e-8), 3)], delta=1e-6)
        assert one.epsilon == compose([(ApproxDP(0.1, 1e-8), 3)], delta=1e-6).epsilon

    def test_a_curve_alone(self) -> None:
        curve = PrivacyCurve("c", lambda e: min(1.0, 0.5 * math.exp(-e)))
        found = compose([curve], delta=1e-3)
        assert found.epsilon == pytest.approx(math.log(500), rel=1e-9)
        assert compose([PrivacyCurve("none", lambda e: 0.0)], delta=1e-3).epsilon == 0.0
        with pytest.raises(GuaranteeError, match="curve alone"):
            compose([(curve, 2)], delta=1e-3)
        with pytest.raises(GuaranteeError):
            compose([PrivacyCurve("flat", lambda e: 0.5)], delta=1e-3)

    def test_theorems_at_the_ends(self) -> None:
        everything = [(0.5, 1.0, 2)]
        assert theorems.given_away(everything) == 1.0
        assert theorems.given_away([(0.5, 0.0, 2)]) == 0.0
        with mp.workdps(40):
            truth = 1 - (1 - mp.mpf(1e-3)) ** 7
            assert truth <= mp.mpf(theorems.given_away([(0.5, 1e-3, 7)])) <= truth * (1 + 1e-14)
        assert theorems.worst_case([(0.0, 1e-3, 2)]) is None
        assert theorems.optimal([(0.0, 1e-3, 2)], 1e-2) == 0.0
        assert theorems.optimal([(0.0, 1e-3, 2)], 1e-3) is None

    def test_pure_dp_at_no_delta(self) -> None:
        assert loss_of(PureDP(1.0)).epsilon(0.0) == 1.0


class TestExact:
    def test_the_largest_number_of_answers(self) -> None:
        many = loss_of((RandomizedResponse(0.01, 4), 5000))
        with pytest.raises(GuaranteeError, match="Use the curve"):
            many.exact_epsilon(0.01)
        few = loss_of((RandomizedResponse(0.5, 4), 3))
        assert few.exact_epsilon(1e-290) == few.largest()
        assert explain(RandomizedResponse(0.5, 4), 0.5, strength="exact").holds_with == 0.99

    def test_a_walk_that_hardly_ever_steps_back(self) -> None:
        """e^{-ε} below the least double: P(D = d) by log Γ, checked at forty digits."""
        loss = WalkLoss(700.0, 5)
        for rung in (5, 3):
            with mp.workdps(40):
                e = mp.mpf(700)
                q = 1 / (1 + mp.exp(e))
                truth = sum(
                    mp.binomial(5, d) * q**d * (1 - q) ** (5 - d)
                    for d in range(6)
                    if (5 - 2 * d) >= rung
                )
            count = sum(1 for d in range(6) if (5 - 2 * d) >= rung)
            assert loss._sum(count, "one") == pytest.approx(float(truth), rel=1e-9)
