"""Bounds on the privacy loss at their edges: refusals, single points of curves, degenerate ones."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.beliefs import Prior, bounds, explain
from discreet.beliefs.belief import Bounds, Worst
from discreet.beliefs.bounds import counterfactual_upper
from discreet.composition import concentrated, curves, loss_of, zcdp_epsilon
from discreet.composition.curves import epsilon_prime
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import ZCDP, ApproxDP, PrivacyCurve, ProbabilisticDP, PureDP
from discreet.laws import Gaussian, Geometric
from discreet.numerics import lowest
from losses import loss_bound
from soaking import examples

STEADY = settings(derandomize=True, deadline=None, max_examples=examples(100))
FALLING = PrivacyCurve("falling", lambda epsilon: min(1.0, 0.5 * math.exp(-3 * epsilon)))


class TestOneBound:
    def test_a_strength_is_one_of_three(self) -> None:
        with pytest.raises(InputError, match="strength is 'sharp'; it must be generic, curve or"):
            loss_bound(PureDP(1), 0.01, strength="sharp")

    def test_probabilistic_is_exact_as_stated_and_generic_through_approximate(self) -> None:
        stated = ProbabilisticDP(0.5, 1e-4)
        exact = loss_bound(stated, 0.01)
        assert (exact.epsilon_prime, exact.failure) == (0.5, 1e-4)
        assert (exact.strength, exact.survives) == ("exact", False)
        generic = loss_bound(stated, 0.01, strength="generic")
        assert generic.epsilon_prime == loss_bound(ApproxDP(0.5, 1e-4), 0.01).epsilon_prime
        assert generic.survives
        assert loss_bound(ProbabilisticDP(0.5, 0.0), 0.01).failure == 0
        with pytest.raises((GuaranteeError, InputError)):
            loss_bound(ProbabilisticDP(0.5, 0.02), 0.01)
        assert loss_bound(ProbabilisticDP(0.5, 0.01), 0.01).epsilon_prime == 0.5

    def test_no_delta_is_for_every_output(self) -> None:
        found = loss_bound(ApproxDP(0.5, 0.0), 0.01)
        assert (found.epsilon_prime, found.failure, found.point) == (0.5, 0.0, (0.5, 0.0))

    def test_concentrated_at_one_delta(self) -> None:
        found = loss_bound(ZCDP(0.1), 0.01, delta=1e-6)
        epsilon = zcdp_epsilon(0.1, 1e-6)
        assert found.point == (epsilon, 1e-6)
        assert found.epsilon_prime == epsilon_prime(epsilon, 1e-6, 0.01)
        best = loss_bound(ZCDP(0.1), 0.01)
        assert best.epsilon_prime < found.epsilon_prime
        assert best.epsilon_prime < loss_of(ZCDP(0.1), method="paper").one_step(0.01).epsilon_prime

    @STEADY
    @given(st.floats(1e-9, 0.4))
    def test_a_curve_at_one_delta_is_its_least_epsilon(self, delta: float) -> None:
        found = loss_bound(FALLING, 0.9, delta=delta)
        epsilon, at = found.point
        truth = math.log(0.5 / delta) / 3
        assert at == delta
        assert truth * (1 - 1e-12) <= epsilon <= truth * (1 + 1e-9)

    def test_a_curve_below_delta_everywhere_or_nowhere(self) -> None:
        assert loss_bound(FALLING, 0.9, delta=0.6).point == (0.0, 0.6)
        stubborn = PrivacyCurve("stubborn", lambda epsilon: 0.2)
        with pytest.raises(GuaranteeError, match=r"'stubborn' never falls to delta = 0\.1"):
            loss_bound(stubborn, 0.9, delta=0.1)
        with pytest.raises(GuaranteeError, match=r"never falls below 0\.1.*Lower the confidence"):
            loss_bound(stubborn, 0.1)

    def test_a_plan_at_one_delta(self) -> None:
        loss = loss_of((Gaussian(5.0), 3))
        found = loss_bound(loss, 0.01, delta=1e-6)
        assert found.point == (loss.epsilon(1e-6), 1e-6)
        assert loss.pure() == math.inf
        assert loss_of((Geometric(0.5), 3)).pure() == pytest.approx(1.5)


class TestSolvers:
    @STEADY
    @given(st.floats(0.01, 50), st.floats(0.1, 10), st.booleans())
    def test_lowest_finds_the_vertex_with_any_hint(
        self, at: float, bend: float, near: bool
    ) -> None:
        def bound(x: float) -> float:
            return at + bend * (x - at) ** 2 if x > at / 2 else math.inf

        place, value = lowest(bound)
        assert value == pytest.approx(at, rel=1e-6)
        assert place == pytest.approx(at, rel=1e-3)
        for hint in (at * (1 + 1e-4), 0.9 * at if near else 3 * at, 0.01 * at, -1.0):
            assert lowest(bound, hint=hint)[1] == pytest.approx(at, rel=1e-6)

    def test_lowest_where_it_is_nowhere_finite(self) -> None:
        assert lowest(lambda x: math.inf) == (math.inf, math.inf)
        assert lowest(lambda x: math.inf, hint=2.0) == (math.inf, math.inf)
        assert curves.best_point(lambda e: 1.0, 0.5).epsilon_prime == math.inf

    def test_no_rung_is_low_enough(self) -> None:
        found = curves.best_rung(lambda e: 0.5, 0.1, 7, 0.01)
        assert (found.epsilon_prime, found.epsilon, found.delta) == (math.inf, math.inf, 1.0)

    @pytest.mark.parametrize("hint", [None, 0.05, 0.4, 3.0])
    def test_the_best_rung_is_the_best_of_all(self, hint: float | None) -> None:
        loss = loss_of((Geometric(0.1), 25))
        every = [max(0, 25 - 2 * k) * 0.1 for k in range(14)]
        truth = min(epsilon_prime(e, loss.delta(e), 0.01) for e in every)
        found = curves.best_rung(loss.delta, 0.1, 25, 0.01, hint=hint)
        assert found.epsilon_prime == pytest.approx(truth, rel=1e-12)

    def test_concentrated_degenerates(self) -> None:
        assert concentrated.papers_route(0.0, 0.01) == 0.0
        assert concentrated.papers_route(math.inf, 0.01) == math.inf
        with mp.workdps(30):
            # δ' = (1 + e^{-x}) e^{-(x-ρ)²/4ρ}
            x = mp.mpf(concentrated.on_the_loss(0.05, 1e-3))
            tail = (1 + mp.exp(-x)) * mp.exp(-((x - mp.mpf(0.05)) ** 2) / (4 * mp.mpf(0.05)))
            assert mp.mpf("1e-3") * (1 - mp.mpf("1e-10")) <= tail <= mp.mpf("1e-3")


class TestMembershipAndValue:
    def test_a_point_without_use_leaves_nothing_or_everything(self) -> None:
        """δ beyond what may fail: no bound from below, and above only what certainty allows."""
        prior = Prior(0.2, 0.5)
        low, high = bounds.ratio_bounds(prior, (1.0, 0.5), bounds.two_steps((1.0, 0.5)), 0.01)
        assert low == 0.0
        assert high == pytest.approx(1 / prior.pq)
        low, high = bounds.ratio_bounds(prior, (800.0, 1e-9), bounds.two_steps((800.0, 1e-9)), 0.01)
        assert low == 0.0
        assert high == pytest.approx(1 / prior.pq)

    def test_a_curve_that_never_falls_gives_no_point(self) -> None:
        choose = bounds.along(lambda epsilon: 0.5)
        assert choose(0.01) == (700.0, 1.0)
        assert choose(0.0) == (700.0, 1.0)
        assert bounds.two_steps((0.5, 0.0)) == (1.0, 0.0)
        assert bounds.two_steps((800.0, 1e-9)) == (1600.0, 1.0)

    def test_someone_known_to_be_in(self) -> None:
        point = (0.5, 1e-6)
        low, high = bounds.ratio_bounds(Prior(1.0, 0.5), point, bounds.two_steps(point), 0.01)
        assert low < 1 < high <= 2

    def test_the_worst_prior_of_a_useless_point_is_the_smallest(self) -> None:
        ratio, difference = bounds.worst_priors(0.5, (1.0, 0.5), (2.0, 1.0), 0.01)
        assert ratio == (0.0, math.inf)
        assert difference[1] == pytest.approx(1.0)

    def test_an_exact_bound_is_for_membership_alone(self) -> None:
        belief = explain(Gaussian(5.0), Prior(0.3, 0.5), strength="exact")
        assert "membership alone" in belief.note
        assert belief.strength == "curve"

    def test_a_largest_loss_is_preferred_where_it_is_no_wider(self) -> None:
        """Geometric noise has a largest loss: for every output, and against weaker adversaries."""
        belief = explain(Geometric(0.001), Prior(0.3, 0.5))
        assert belief.holds_with == 1
        assert belief.ratio.upper == explain(PureDP(0.001), Prior(0.3, 0.5)).ratio.upper

    def test_probabilistic_with_the_value_uncertain_goes_through_approximate(self) -> None:
        found = explain(ProbabilisticDP(0.5, 1e-6), Prior(0.3, 0.5), strength="generic")
        same = explain(ApproxDP(0.5, 1e-6), Prior(0.3, 0.5))
        assert found.ratio == same.ratio


class TestSmallThings:
    def test_json_of_bounds_without_an_end(self) -> None:
        assert Bounds(0.0, math.inf).to_dict() == {"lower": 0.0, "upper": None, "unbounded": True}
        assert Worst(0.0, math.inf).to_dict() == {"p": 0.0, "value": None, "unbounded": True}
        assert Bounds(0.5, 2.0).to_dict() == {"lower": 0.5, "upper": 2.0}
        assert Worst(0.5, 2.0).to_dict() == {"p": 0.5, "value": 2.0}

    def test_what_is_impossible_stays_so_if_one_joins(self) -> None:
        assert counterfactual_upper(3.0, 0.0) == 0.0
        assert counterfactual_upper(math.inf, 0.1) == 1.0
