"""Margins and edges: what a coefficient may be off is covered, and no more than a little more.

Truth is Theorem 1 of Kazan and Reiter at fifty digits, from the same doubles.
"""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Prior, choose
from discreet.beliefs.one_prior import (
    EVERYTHING,
    epsilon_range,
    range_for_posterior,
    range_for_ratio,
)
from discreet.budgets import finding
from discreet.budgets.limits import limits_of
from discreet.guarantees import Adjacency
from discreet.promises import (
    Box,
    Counterfactual,
    Difference,
    Formula,
    Function,
    Groups,
    Posterior,
    PosteriorUnlessRatio,
    Promise,
    Ratio,
    Table,
    priors,
)
from discreet.promises.shapes.ratio import constant_ratio
from discreet.promises.tolerance import Solved
from soaking import examples

STEADY = settings(derandomize=True, deadline=None, max_examples=examples(120))
probability = st.floats(0.01, 0.99)


def solve(A: Any, B: Any, C: Any) -> Any:
    """ε with A u² + B u = C, u = e^{-ε}."""
    return mp.log((B + mp.sqrt(B * B + 4 * A * C)) / (2 * C))


class TestCoefficients:
    @STEADY
    @given(probability, probability, st.floats(0.02, 0.98), st.sampled_from("ABCD"))
    def test_an_error_of_each_is_covered_on_both_sides(self, p, q, x, name) -> None:
        """A thousandth is far more than rounding: covering it the wrong way round would show."""
        with mp.workdps(50):
            p, q = mp.mpf(p), mp.mpf(q)
            w = p * q + mp.mpf(x) * (1 - p * q)
            true = {"A": p * (1 - q), "B": 1 - p, "C": w - p * q, "D": 1 - w}
            truth = solve(true["A"], true["B"], true["C"])
            error = float(true[name]) / 1000
            found = {}
            for side in (-1, 0, 1):
                given_ = {key: float(value) for key, value in true.items()}
                given_[name] += side * error * 0.999
                found[side] = epsilon_range(**given_, **{f"error_{name}": error})
                assert found[side].lower <= truth <= found[side].upper
            exact = epsilon_range(**{key: float(value) for key, value in true.items()})
            assert exact.lower <= truth <= exact.upper
            assert exact.upper - exact.lower <= 1e-13 * max(1.0, exact.upper)
            # Lower ends come down and upper ends go up by about the error, not by more.
            assert found[0].lower <= exact.lower <= exact.upper <= found[0].upper
            assert found[0].upper - found[0].lower <= 0.02 * max(1.0, exact.upper)

    def test_no_room_is_zero_and_never_less(self) -> None:
        assert epsilon_range(0.2, 0.3, 0.5, 0.0).lower == 0.0
        assert epsilon_range(0.2, 0.3, 0.5, 0.0).upper == 0.0
        assert epsilon_range(0.2, 0.3, 0.6, -0.1) == (0.0, 0.0)

    @STEADY
    @given(probability, probability, st.floats(1, 12))
    def test_a_small_budget_at_one_prior_keeps_its_digits(self, p, q, k) -> None:
        w = 1 - 10**-k
        with mp.workdps(50):
            P, Q, W = mp.mpf(p), mp.mpf(q), mp.mpf(w)
            if P * Q * (1 + mp.mpf("1e-3")) >= W:
                return
            truth = solve(P * (1 - Q), 1 - P, W - P * Q)
        (found,) = finding.epsilon_of(np.array([w]), np.array([p]), np.array([q]))
        assert found == pytest.approx(float(truth), rel=1e-11, abs=0)


class TestWhereDigitsCancel:
    @STEADY
    @given(st.floats(1e-6, 1), st.floats(1e-6, 1), st.floats(1, 14))
    def test_a_ratio_that_nearly_bounds_nothing(self, p, q, k) -> None:
        ratio = (1 - 10**-k) / (p * q)
        if ratio <= 1:
            return
        found = range_for_ratio(p, q, ratio)
        with mp.workdps(50):
            C = 1 / mp.mpf(ratio) - mp.mpf(p) * mp.mpf(q)
            truth = solve(mp.mpf(p) * (1 - mp.mpf(q)), 1 - mp.mpf(p), C) if C > 0 else mp.inf
            assert found.lower <= truth <= found.upper
            if k < 9:
                # C has k digits fewer than a double; what is lost of ε is not more.
                assert found.upper - found.lower <= 10 ** (k - 13)

    @STEADY
    @given(st.floats(1e-6, 0.9), st.floats(1e-6, 1), st.floats(1, 14))
    def test_a_posterior_hardly_above_the_prior(self, p, q, k) -> None:
        posterior = p * q * (1 + 10**-k)
        found = range_for_posterior(p, q, posterior)
        with mp.workdps(50):
            s, a = mp.mpf(p) * mp.mpf(q), mp.mpf(posterior)
            C = s * (1 - a) / a
            truth = solve(mp.mpf(p) * (1 - mp.mpf(q)), 1 - mp.mpf(p), C) if a > s else mp.mpf(0)
            assert found.lower <= max(truth, 0) <= found.upper

    @STEADY
    @given(st.floats(2, 9), st.floats(2, 9), st.floats(1, 9), st.booleans())
    def test_a_kink_near_certainty(self, i, j, k, along_p) -> None:
        """There A = p − a/r and B = 1 − p, or 1 − a/(rq), are small, and their errors are not."""
        end, r = 1 - 10**-i, 1 + 10**-k
        a = end * r * (1 - 10**-j)
        if not 0 < a < 1:
            return
        box = Box(0, end, 0, 1) if along_p else Box(0, 1, end, 1)
        found = PosteriorUnlessRatio(a, r, box).closed_form()
        assert found is not None
        with mp.workdps(50):
            kink = mp.mpf(a) / mp.mpf(r)
            p, q = (mp.mpf(end), kink / end) if along_p else (kink / end, mp.mpf(end))
            truth = solve(p * (1 - q), 1 - p, 1 / mp.mpf(r) - kink)
            assert found.lower <= truth <= found.upper
            assert found.upper - found.lower <= 1e-6 * max(1.0, found.upper)

    def test_doubles_that_cannot_tell_are_decided_exactly(self) -> None:
        assert range_for_ratio(0.5, 0.5, 4.0) == EVERYTHING
        below = range_for_ratio(0.5, 0.5, math.nextafter(4.0, 0))
        assert below.lower < math.inf
        assert range_for_ratio(0.5, 0.25, 8.0) == EVERYTHING
        assert range_for_ratio(0.5, 0.25, math.nextafter(8.0, 0)).lower < math.inf
        assert range_for_ratio(0.9, 0.9, 1.5) == EVERYTHING
        assert range_for_ratio(0.5, 0.5, 3.0).upper < 10

    def test_a_posterior_of_one_bounds_nothing(self) -> None:
        for posterior in (1.0, 1.5, 2.0):
            assert range_for_posterior(0.25, 0.5, posterior) == EVERYTHING
        assert range_for_posterior(0.25, 0.5, 0.999).upper < math.inf


class TestNamedPriors:
    """Which prior and which closed form is named where two of them meet and agree."""

    def test_where_a_ratio_is_flat_in_p_the_largest_is_named(self) -> None:
        found = constant_ratio(3, Box(0.2, 0.6, 0.25, 0.5))  # q = 1/(r + 1)
        assert (found.p, found.q) == (0.6, 0.25)
        assert constant_ratio(3, Box(0.2, 0.6, 0.26, 0.5)).p == 0.2

    def test_a_limit_is_not_attained(self) -> None:
        assert constant_ratio(3, Box(0, 1, 0.5, 1))[2:5] == (0.0, 0.5, False)
        assert constant_ratio(3, Box(0.1, 1, 0, 1))[2:5] == (1.0, 0.0, False)
        assert constant_ratio(3, Box(0.1, 1, 0.5, 1))[2:5] == (0.1, 0.5, True)

    def test_a_kink_in_the_last_corner_is_the_posterior_s(self) -> None:
        box = Box(0.1, 0.5, 0.1, 0.5)  # pq = 1/4 = a/r
        found = PosteriorUnlessRatio(0.5, 2, box).closed_form()
        assert found == Posterior(0.5, box).closed_form()

    def test_a_counterfactual(self) -> None:
        for only, share in ((True, 1), (False, 0.5)):
            found = Counterfactual(3, counts_sensitive_only=only).closed_form()
            assert isinstance(found, Solved)
            assert found[2:6] == (1.0, 0.0, False, "closed form: counterfactual (Wood et al.)")
            assert found.lower <= share * math.log(3) <= found.upper
        binding = choose(Counterfactual(3)).binding
        assert (binding.p, binding.q, binding.attained) == (1.0, 0.0, False)

    @pytest.mark.parametrize(
        ("box", "known"),
        [
            (Box(0, 1, 0.25, 1), True),  # b = ½ is worst at ¼
            (Box(0, 1, 0.1, 0.25), True),
            (Box(0, 1, 0.26, 1), False),
            (Box(0, 1, 0.1, 0.24), False),
            (Box(0, 0.9, 0, 1), False),
            (Box(0.25, 0.9, 1, 1), True),
            (Box(0.1, 0.25, 1, 1), True),
            (Box(0.26, 0.9, 1, 1), False),
            (Box(0.1, 0.24, 1, 1), False),
        ],
    )
    def test_a_difference_is_known_where_its_worst_prior_is_in_the_box(self, box, known) -> None:
        assert (Difference(0.5, box).closed_form() is not None) is known

    def test_what_has_no_closed_form(self) -> None:
        assert Formula("3 + p").closed_form() is None
        assert choose(Formula("3 + p")).naive is None
        assert choose(Ratio(3) & Formula("4 + p")).naive is None


class TestPassedOn:
    def test_everyone_is_in_under_replace(self) -> None:
        """At p = 1 the tolerance is 2.1, though at smaller p it would be less."""
        choice = choose("1.1 + p", adjacency="replace")
        assert choice.epsilon == pytest.approx(math.log(2.1), rel=1e-7)
        assert choice.binding.p == 1

    def test_adjacency_stays_with_a_delta(self) -> None:
        choice = choose(Ratio(3, priors(p=1, q=0.5)), adjacency="replace", delta=1e-9)
        assert choice.guarantee.adjacency is Adjacency.REPLACE

    @pytest.mark.parametrize(("p", "q"), [(0.2, 0.3), (0.7, 0.9), (1.0, 0.4)])
    def test_a_posterior_is_theorem_1_s(self, p: float, q: float) -> None:
        choice = choose(Ratio(3))
        u = math.exp(-choice.epsilon)
        whole = p * q + u * u * (1 - q) * p + u * (1 - p)
        assert choice.posterior_at(Prior(p, q)) == pytest.approx(p * q / whole)

    def test_the_least_cell_of_a_table_binds(self) -> None:
        table = Table(((0, 1, 10), (0.1, 1, 3), (0.5, 1, 2.5), (1, 1, 2.5)), priors(q=1))
        least = min(choose(Ratio(r, box), sided="one").epsilon for box, r in table.cells())
        assert choose(table).epsilon == least

    def test_what_is_not_proved_says_false(self) -> None:
        profile = Promise(Function(lambda p, q: 5 + p))
        assert limits_of(profile).binding.certified is False
        said = choose(Function(lambda p, q: 5 + p)).to_dict()
        assert said["certificate"]["certified"] is False

    @pytest.mark.parametrize("x", [1e-6, 1e-3, 0.5])
    @pytest.mark.parametrize("sided", ["one", "two"])
    def test_the_upper_end_with_a_delta_is_above(self, x: float, sided: str) -> None:
        """Also where δ takes nearly all of the loss, and ε is the small rest of a difference."""
        delta, confidence = 1e-3, 0.99
        with mp.workdps(50):
            failure, d = 1 - mp.mpf(confidence), mp.mpf(delta)
            taken = d if sided == "two" else 0
            loss = mp.log((failure * mp.exp(mp.mpf(x)) + taken) / (failure - d))
            ratio = float(mp.exp(loss))
        known = Ratio(ratio, priors(q=1))
        choice = choose(known, delta=delta, confidence=confidence, sided=sided)
        with mp.workdps(50):
            truth = mp.log(((failure - d) * mp.mpf(ratio) - taken) / failure)
            assert choice.certificate.lower <= truth <= choice.certificate.upper
        width = choice.certificate.upper - choice.certificate.lower
        assert 0 < width < 1e-12

    def test_one_group_alone_is_no_question_of_equity(self) -> None:
        alone = choose(Groups((("a", Ratio(2)),)))
        assert not any("equity" in warning for warning in alone.warnings)
