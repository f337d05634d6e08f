"""What a choice says of itself, and what it costs beside others: keys, figures, the safe side."""

from __future__ import annotations

import math
from html import escape

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Prior, choose
from discreet.budgets import naive
from discreet.budgets.alternatives import lee_clifton_rule as lee_clifton
from discreet.budgets.choice import Binding, Certificate
from discreet.errors import InputError
from discreet.laws.mechanism import distance_across
from discreet.promises import (
    Box,
    Difference,
    Groups,
    Posterior,
    PosteriorUnlessRatio,
    Ratio,
    priors,
)
from discreet.words import say
from soaking import examples

STEADY = settings(derandomize=True, deadline=None, max_examples=examples(200))


class TestJson:
    def test_the_keys_of_a_choice(self) -> None:
        choice = choose(PosteriorUnlessRatio(0.25, 3))
        said = choice.to_dict()
        assert set(said) == {
            "promise",
            "readings",
            "epsilon",
            "binding",
            "certificate",
            "guarantee",
            "implied",
            "noise",
            "alternatives",
            "confidence",
            "assumptions",
            "question",
            "warnings",
        }
        assert said["epsilon"] == choice.epsilon
        assert said["binding"] == {"p": 1.0, "q": pytest.approx(1 / 12), "attained": True}
        assert said["certificate"] == {
            "lower": choice.certificate.lower,
            "upper": choice.certificate.upper,
            "method": choice.certificate.method,
            "certified": True,
        }
        assert said["guarantee"]["epsilon"] == choice.epsilon
        assert said["guarantee"]["delta"] is None
        assert [row["prior"] for row in said["implied"]] == [0.01, 0.1, 0.3, 0.5]
        assert all({"posterior", "posterior_known_in"} < set(row) for row in said["implied"])
        assert set(said["noise"]) == {"mechanism", "sd", "prob_exact", "half_width_95"}
        assert said["noise"]["mechanism"] == "geometric"
        assert said["alternatives"] == {"naive": naive(3)}
        assert said["confidence"] is None
        assert said["question"] == say("budgets.question.person", unit="one person")
        assert said["warnings"] == list(choice.warnings)
        assert said["assumptions"] == choice.assumptions.to_dict()

    def test_a_tolerance_that_bounds_nothing(self) -> None:
        choice = choose(Posterior(1.0, Box(0.1, 0.5, 1, 1)))
        said = choice.to_dict()
        assert said["epsilon"] is None
        assert said["unbounded"] is True
        assert said["certificate"]["unbounded"] is True
        assert said["certificate"]["upper"] is None
        assert said["noise"] == {
            "mechanism": "none",
            "sd": 0.0,
            "prob_exact": 1.0,
            "half_width_95": 0,
        }
        assert "limits nothing" in said["warnings"][0]

    def test_names_and_reasons_stand_only_where_they_are(self) -> None:
        assert Binding(0.1, 1, True).to_dict() == {"p": 0.1, "q": 1, "attained": True}
        assert Binding(0.1, 1, False, "nurse").to_dict()["name"] == "nurse"
        sure = Certificate(1.0, 2.0, "search", True).to_dict()
        assert sure == {"lower": 1.0, "upper": 2.0, "method": "search", "certified": True}
        assert Certificate(1.0, 2.0, "grid", False, "why").to_dict()["reason"] == "why"

    def test_in_a_notebook_and_on_a_line(self) -> None:
        choice = choose(PosteriorUnlessRatio(0.25, 3))
        html = choice._repr_html_()
        for shown in ("tolerance", "belief", "proof", "noise of a count", "10% → at most"):
            assert shown in html
        for value in (choice.certificate.method, f"{choice.noise['sd']:.3g}", *choice.warnings):
            assert escape(value) in html
        assert repr(choice).startswith("Choice(epsilon=0.649641, binding p=1 q=0.0833333")
        assert "in the limit" not in repr(choice)
        rounded = choose(posterior=0.12, prior=0.05)  # 0.95200881…, which is not 0.952009
        assert repr(rounded).startswith("Choice(epsilon=0.952008, ")
        assert "in the limit" in repr(choose(Ratio(3)))


class TestImplied:
    def test_at_a_fixed_value_prior_it_is_that_one(self) -> None:
        choice = choose(PosteriorUnlessRatio(0.25, 3, priors(q=0.5)))
        for row in choice.implied:
            assert row["posterior"] == choice.posterior_at(Prior(row["prior"], 0.5))
            assert "posterior_known_in" not in row

    def test_where_it_is_free_being_known_to_be_in_is_shown_too(self) -> None:
        choice = choose(Ratio(3))
        for row in choice.implied:
            assert row["posterior"] == choice.posterior_at(Prior(row["prior"], 1.0))
            assert row["posterior_known_in"] == choice.posterior_at(Prior(1.0, row["prior"]))

    def test_with_a_delta_the_adversary_is_the_strong_one(self) -> None:
        choice = choose(Ratio(3, priors(q=1)), delta=1e-6)
        assert choice.confidence == 0.99
        assert all("posterior_known_in" not in row for row in choice.implied)

    @STEADY
    @given(st.floats(1.01, 50), st.floats(1e-6, 1))
    def test_a_posterior_is_never_below_the_true_one(self, ratio: float, p: float) -> None:
        choice = choose(Ratio(ratio))
        with mp.workdps(40):
            # At q = 1 the odds of being in grow by at most e^ε (K&R Theorem 2).
            odds = mp.e ** mp.mpf(choice.epsilon) * mp.mpf(p) / (1 - mp.mpf(p)) if p < 1 else None
            least = mp.mpf(1) if odds is None else odds / (1 + odds)
            assert choice.posterior_at(Prior(p, 1.0)) >= least


class TestAlternatives:
    @STEADY
    @given(st.floats(1 + 1e-9, 1e9))
    def test_naive_rounds_down_and_stays_near(self, ratio: float) -> None:
        with mp.workdps(40):
            true = mp.log(mp.mpf(ratio)) / 2
            assert true * (1 - mp.mpf("1e-14")) <= naive(ratio) <= true

    @STEADY
    @given(
        st.integers(2, 10**9),
        st.floats(1e-6, 1 - 1e-6),
        st.floats(0.01, 100),
        st.floats(0.01, 100),
    )
    def test_lee_clifton_rounds_down_and_stays_near(
        self, n: int, share: float, sensitivity: float, contrast: float
    ) -> None:
        posterior = 1 / n + share * (1 - 1 / n)
        if not 1 / n < posterior < 1:
            return
        found = lee_clifton(n, posterior, sensitivity=sensitivity, contrast=contrast)
        with mp.workdps(40):
            a = mp.mpf(posterior)
            true = mp.mpf(sensitivity) / mp.mpf(contrast) * mp.log((n - 1) * a / (1 - a))
            near = mp.mpf("1e-14") * mp.mpf(sensitivity) / mp.mpf(contrast)
            assert true * (1 - mp.mpf("1e-14")) - near <= found <= max(true, 0)

    @pytest.mark.parametrize("population", [True, 1, 0, 2.5, -3])
    def test_a_population_is_a_whole_number(self, population: int) -> None:
        with pytest.raises(InputError, match="population"):
            lee_clifton(population, 0.7, sensitivity=1, contrast=1)

    @pytest.mark.parametrize("posterior", [0.25, 0.2, 1.0, 1.5, math.nan])
    def test_a_posterior_lies_above_the_prior(self, posterior: float) -> None:
        with pytest.raises(InputError, match="posterior"):
            lee_clifton(4, posterior, sensitivity=1, contrast=1)

    @pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
    @pytest.mark.parametrize("name", ["sensitivity", "contrast"])
    def test_scales_are_positive(self, name: str, value: float) -> None:
        with pytest.raises(InputError, match=name):
            lee_clifton(4, 0.5, **{"sensitivity": 1, "contrast": 1, name: value})

    def test_naive_of_a_tolerance_is_of_its_least_ratio(self) -> None:
        assert choose(Ratio(4)).naive == naive(4)
        assert choose(PosteriorUnlessRatio(0.25, 3)).naive == naive(3)
        assert choose(Posterior(0.5, Box(0.1, 0.2, 0.5, 0.5))).naive == naive(0.5 / (0.2 * 0.5))
        box = Box(0.1, 0.2, 0.5, 0.5)
        assert choose(Difference(0.3, box)).naive == naive(1 + 0.3 / (0.2 * 0.5))
        both = Groups((("a", Ratio(4)), ("b", Ratio(2))))
        assert choose(both).naive == naive(2)


class TestDistanceAcross:
    @pytest.mark.parametrize(
        ("count", "limit", "far"), [(25, 24, 1), (24, 24, 1), (20, 24, 5), (30, 24, 6)]
    )
    def test_distance(self, count: int, limit: int, far: int) -> None:
        assert distance_across(count, limit) == far
