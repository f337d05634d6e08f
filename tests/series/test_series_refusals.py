"""What a series refuses, and what it says when nothing is left to promise."""

from __future__ import annotations

import math
from typing import Any

import pytest

from discreet.composition import guarantee_of
from discreet.errors import GuaranteeError, InputError, ToleranceError
from discreet.guarantees import ZCDP, ApproxDP, PrivacyCurve, ProbabilisticDP, PureDP
from discreet.laws import Geometric, RandomizedResponse
from discreet.laws.registry import by_budget, kind_of
from discreet.series import Split, horizon, plan, releases_left
from discreet.series.planning import adjacency_of, shown_down
from losses import bound_of


class TestPlans:
    @pytest.mark.parametrize(
        ("how", "said"),
        [
            ({"releases": None}, "How many releases"),
            ({"budget": "sigma"}, "budget is 'sigma'; it must be epsilon or rho"),
            ({"mechanism": "gaussian", "budget": "epsilon"}, "gaussian noise is rho, not epsilon"),
            ({"mechanism": "cauchy"}, "mechanism is 'cauchy'; it must be one of: .*geometric"),
            ({"delta_each": 1e-3, "delta_total": 0.0}, "delta of the total is 0.* 0.001"),
            ({"delta_total": 0.02}, "delta of the total is 0.02; .* 0.01 needs a smaller one"),
            (
                {"delta_each": 1e-3, "delta_total": 5e-3},
                "12 releases with delta 0.001 each give away 0.012, .* fail with 0.01",
            ),
            ({"delta_each": 1e-3}, "12 releases with delta 0.001 each give away 0.012"),
            (
                {"delta_each": 1e-4, "delta_total": 5e-4},
                "delta alone passes it. Lower delta",
            ),
            ({"weights": [1, 2], "growth": 0.9}, "weights"),
        ],
    )
    def test_what_does_not_fit_together(self, how, said: str) -> None:
        with pytest.raises((InputError, ToleranceError), match=said):
            plan(**{"releases": 12, "difference": 0.2} | how)

    def test_a_delta_that_is_not_used_is_said(self) -> None:
        found = plan(4, difference=0.2, mechanism="geometric", delta_each=1e-6)
        assert "not used: geometric noise brings its own curve" in found.note
        found = plan(4, difference=0.2, budget="rho", delta_each=1e-6)
        assert "zCDP" in found.note
        assert plan(4, difference=0.2, mechanism="geometric").note is None

    def test_a_tolerance_of_everything(self) -> None:
        with pytest.raises(ToleranceError, match="allows every change"):
            plan(4, difference=1.0)

    def test_a_plan_in_a_notebook_and_on_a_line(self) -> None:
        found = plan(3, difference=0.2, weights=[1, 2, 3])
        assert f"ε={shown_down(found.budgets[0])} … {shown_down(found.budgets[-1])} each" in (
            repr(found)
        )
        html = found._repr_html_()
        for shown in (found.how, found.accumulation.accumulates, "accuracy"):
            assert shown.split("<")[0][:30] in html
        rho = plan(3, difference=0.2, budget="rho")
        assert "ρ=" in repr(rho)
        assert "…" not in repr(rho)

    @pytest.mark.parametrize(
        ("value", "said"), [(0.0, "0"), (-1.0, "0"), (12.349, "12.34"), (12345.6, "12345")]
    )
    def test_budgets_are_shown_rounded_down(self, value: float, said: str) -> None:
        assert shown_down(value) == said


class TestSplits:
    @pytest.mark.parametrize("releases", [0, -1, 2.5, True])
    def test_a_number_of_releases(self, releases) -> None:
        with pytest.raises(InputError, match="releases is"):
            Split.equal(releases)

    @pytest.mark.parametrize(
        ("weights", "said"),
        [
            ([], "No weights"),
            ([1, True], "a weight is True"),
            ([1, "2"], "a weight is '2'"),
            ([1, math.nan], "a weight is nan"),
            ([1, 0], "a weight is 0"),
            ([1, math.inf], "a weight is inf"),
        ],
    )
    def test_weights(self, weights, said: str) -> None:
        with pytest.raises(InputError, match=said):
            Split.weighted(weights)

    def test_every_mechanism_by_its_budget(self) -> None:
        for name in ("geometric", "laplace", "randomized-response"):
            assert by_budget(name, 0.5).epsilon == 0.5
            assert kind_of(name).budget == "epsilon"
        for name in ("gaussian", "discrete-gaussian"):
            assert by_budget(name, 0.02).rho == pytest.approx(0.02)
            assert by_budget(name, 0.02).rho <= 0.02
            assert kind_of(name).budget == "rho"
        with pytest.raises(InputError, match="'cauchy'"):
            by_budget("cauchy", 0.5)


class TestAccumulating:
    def test_an_adjacency_that_is_not_its_own(self) -> None:
        assert adjacency_of(Geometric(0.5), "replace").value == "replace"
        assert adjacency_of(PureDP(0.5), "add-remove").value == "add-remove"
        with pytest.raises(GuaranteeError, match="stated under 'add-remove', not 'replace'"):
            adjacency_of(PureDP(0.5), "replace")
        with pytest.raises(GuaranteeError, match="stated under 'local', not 'add-remove'"):
            adjacency_of(RandomizedResponse(0.5), "add-remove")
        with pytest.raises(GuaranteeError, match="int is neither a guarantee"):
            guarantee_of(3)

    def test_probabilistic_promises_add_up_among_themselves(self) -> None:
        found = bound_of([(ProbabilisticDP(0.1, 1e-4), 3), (ProbabilisticDP(0.2, 1e-4), 1)], 0.01)
        assert found.epsilon_prime == pytest.approx(0.5)
        assert found.epsilon_prime >= 0.5
        assert found.failure == pytest.approx(4e-4)
        with pytest.raises(GuaranteeError, match="cannot be added up together"):
            bound_of([(ProbabilisticDP(0.1, 1e-4), 3), (ApproxDP(0.2, 1e-4), 1)], 0.01)
        spent = bound_of([(ProbabilisticDP(0.1, 1e-2), 3)], 0.01)
        assert spent.epsilon_prime == math.inf

    @pytest.mark.parametrize("method", ["basic", "advanced", "tanh", "optimal"])
    def test_more_delta_than_may_fail_leaves_nothing(self, method: str) -> None:
        each = [(ApproxDP(0.1, 2.5e-3), 5)]
        assert bound_of(each, 0.01, method=method).epsilon_prime == math.inf
        few = bound_of([(ApproxDP(0.1, 1e-4), 5)], 0.01, method=method)
        assert 0 < few.epsilon_prime < math.inf
        fixed = bound_of([(ApproxDP(0.1, 1e-4), 5)], 0.01, method=method, delta=1e-4)
        assert fixed.epsilon_prime == math.inf

    @pytest.mark.parametrize("method", ["advanced", "tanh"])
    def test_the_best_delta_is_better_than_others(self, method: str) -> None:
        each = [(ApproxDP(0.05, 1e-7), 100)]
        best = bound_of(each, 0.01, method=method).epsilon_prime
        for delta in (1e-4, 1e-3, 5e-3):
            assert best <= bound_of(each, 0.01, method=method, delta=delta).epsilon_prime * (
                1 + 1e-6
            )

    def test_a_horizon_with_nothing_to_pass(self) -> None:
        found = horizon(PureDP(0.1), 0.5, posterior_limit=0.9, upto=3)
        assert [step.k for step in found.series] == [1, 2, 3]
        assert found.releases is None
        html = found._repr_html_()
        assert "posterior" in html
        without = horizon(PureDP(0.1), difference_limit=0.9, upto=2)
        assert "posterior" not in without._repr_html_()

    def test_left_over(self) -> None:
        with pytest.raises(GuaranteeError, match="PrivacyCurve is not a cap"):
            releases_left(PrivacyCurve("c", lambda e: 0.1), PureDP(0.1))
        assert releases_left(ZCDP(0.5), ZCDP(0.1)) == 5


@pytest.mark.parametrize("strength", ["exact", "curve"])
def test_a_strength_of_the_noise_needs_a_mechanism(strength: Any) -> None:
    with pytest.raises(InputError, match="no mechanism was given"):
        plan(releases=24, posterior=0.2, p=0.05, q=1, confidence=0.99, strength=strength)
