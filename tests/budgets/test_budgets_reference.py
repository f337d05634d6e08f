"""The numbers of Kazan and Reiter (paper and preprint), and the corrected statements."""

import math

import mpmath as mp
import pytest

from discreet import choose
from discreet.beliefs.one_prior import epsilon_for_ratio
from discreet.budgets import naive
from discreet.budgets.alternatives import lee_clifton_rule
from discreet.laws.geometric import Geometric
from discreet.promises import (
    Box,
    Counterfactual,
    Difference,
    Posterior,
    PosteriorUnlessRatio,
    Ratio,
    preset,
    priors,
)


@pytest.mark.parametrize(
    ("ratio", "epsilon", "sd", "exact"),
    [(1.5, 0.5108, 2.74, 25), (3, 1.2993, 1.02, 57), (6, 2.0369, 0.59, 77)],
)
def test_example_1(ratio, epsilon, sd, exact):
    choice = choose(PosteriorUnlessRatio(0.25, ratio, priors(q=1)))
    assert choice.epsilon == pytest.approx(epsilon, abs=5e-5)
    assert round(choice.noise["sd"], 2) == sd
    assert round(100 * choice.noise["prob_exact"]) == exact
    assert (choice.binding.p, choice.binding.q) == pytest.approx((0.25 / ratio, 1))
    assert choice.binding.attained


@pytest.mark.parametrize(
    ("posterior", "epsilon", "sd", "exact"),
    [(0.025, 1.09, 1.24, 50), (0.15, 1.21, 1.10, 54), (0.3, 2.10, 0.56, 78)],
)
def test_example_2(posterior, epsilon, sd, exact):
    choice = choose(PosteriorUnlessRatio(posterior, 3, priors(p=0.05)))
    assert round(choice.epsilon, 2) == epsilon
    assert round(choice.noise["sd"], 2) == sd
    assert round(100 * choice.noise["prob_exact"]) == exact


@pytest.mark.parametrize(("p", "epsilon"), [(0.005, 1.63), (0.0005, 3.94)])
def test_example_2_smaller_surveys(p, epsilon):
    choice = choose(PosteriorUnlessRatio(0.025, 3, priors(p=p)))
    assert round(choice.epsilon, 2) == epsilon


def test_both_priors_open():
    choice = choose(PosteriorUnlessRatio(0.25, 3))
    assert choice.epsilon == pytest.approx(0.6496414921, abs=1e-10)
    assert choice.epsilon == pytest.approx(0.5 * math.log((3 - 0.25) / (1 - 0.25)))
    assert (choice.binding.p, choice.binding.q) == pytest.approx((1, 1 / 12))


@pytest.mark.parametrize(
    ("ratio", "posterior", "epsilon", "sd", "switch"),
    [
        (5, 0.5, 2.1972, 0.530, (0.1000, 0.0111, 1.4e-4, 2.1e-8)),
        (2, 0.25, 0.8473, 1.620, (0.3000, 0.1286, 0.0236, 8.0e-4)),
        (1.2, 0, 0.1823, 7.746, (0.4545, 0.3788, 0.2631, 0.1269)),
    ],
)
def test_example_3(ratio, posterior, epsilon, sd, switch):
    choice = choose(PosteriorUnlessRatio(posterior, ratio, priors(q=1)))
    assert choice.epsilon == pytest.approx(epsilon, abs=5e-5)
    law = Geometric(choice.epsilon)
    assert law.sd == pytest.approx(sd, abs=5e-4)
    for distance, chance in zip((1, 2, 4, 8), switch, strict=True):
        assert law.prob_crosses(distance) == pytest.approx(chance, rel=0.03)


def test_example_3_is_exactly_ten_percent():
    """Print: "below 10 %". The chance is exactly 1/10, so not below."""
    epsilon = mp.log(9)
    assert mp.almosteq(mp.exp(-epsilon) / (1 + mp.exp(-epsilon)), mp.mpf(1) / 10)
    choice = choose(PosteriorUnlessRatio(0.5, 5, priors(q=1)))
    assert Geometric(choice.epsilon).prob_crosses(1) >= 0.1


def test_constant_is_an_infimum_that_no_prior_attains():
    choice = choose(Ratio(3))
    assert choice.epsilon == pytest.approx(0.5 * math.log(3), rel=1e-14)
    assert choice.epsilon < 0.5 * math.log(3)
    assert not choice.binding.attained


@pytest.mark.parametrize("b", [0.05, 0.2, 0.9])
def test_difference(b):
    choice = choose(Difference(b))
    assert choice.epsilon == pytest.approx(math.log((1 + b) / (1 - b)), rel=1e-14)
    assert (choice.binding.p, choice.binding.q) == pytest.approx((1, (1 - b) / 2))
    strong = choose(Difference(b, priors(q=1)))
    assert strong.epsilon == pytest.approx(4 * math.atanh(b), rel=1e-14)


def test_twenty_four_lacks_a_sign():
    """K&R (24), (166) print +(rq − a); the root only comes out right with −(rq − a)."""
    a, r, q = 0.25, 3.0, 0.9
    t = r * q - a
    root = math.sqrt(t * t + 4 * a * q * (1 - q) * (1 - a))
    right = math.log(2 * a * (1 - q) / (root - t))
    wrong = math.log(2 * a * (1 - q) / (root + t))
    assert choose(PosteriorUnlessRatio(a, r, priors(q=q))).epsilon == pytest.approx(right)
    assert wrong < 0


def test_box_without_bound():
    """K&R (26) is undefined where p0 q0 ≥ 1/r: nothing is asked there, and ε is unbounded."""
    box = Box(0.5, 1, 0.8, 1)
    assert math.isfinite(choose(Ratio(3, box)).epsilon)  # two-sided: belief may not fall threefold
    choice = choose(Ratio(3, box), sided="one")
    assert choice.epsilon == math.inf
    assert choice.to_dict()["epsilon"] is None
    assert choice.to_dict()["unbounded"] is True
    assert any("limits nothing" in warning for warning in choice.warnings)


def test_theorem_2_is_infinite_where_the_ratio_reaches_certainty():
    assert epsilon_for_ratio(0.5, 1.0, 2.0) == math.inf
    assert epsilon_for_ratio(0.5, 0.5, 4.0) == math.inf
    assert epsilon_for_ratio(0.5, 0.5, 3.9999) < math.inf


def test_preprint_lacks_the_small_q_case():
    """000 (16), (54): for q ≤ a/r the posterior binds at p = 1."""
    a, r, q = 0.3, 2.0, 0.1
    choice = choose(PosteriorUnlessRatio(a, r, priors(q=q)))
    assert choice.epsilon == pytest.approx(0.5 * math.log(a * (1 - q) / (q * (1 - a))))
    assert choice.binding.p == 1


def test_one_prior_and_what_it_implies():
    """Bounding 5 % → 12 % lets 30 % become 53 %."""
    choice = choose(Posterior(0.12, priors(p=0.05)))
    at = {row["prior"]: row["posterior"] for row in choice.implied}
    assert math.ceil(100 * at[0.3]) == 53
    assert sorted(at) == [0.01, 0.1, 0.3, 0.5]
    assert any("one prior" in warning for warning in choice.warnings)


def test_log_3():
    assert choose(preset("half-to-three-quarters")).epsilon == pytest.approx(math.log(3))


def test_counterfactual():
    assert choose(Counterfactual(4)).epsilon == pytest.approx(0.5 * math.log(4))
    assert choose(Counterfactual(4, True)).epsilon == pytest.approx(math.log(4))


@pytest.mark.parametrize("adjacency", ["replace", "local"])
def test_replace_and_local(adjacency):
    def epsilon(tolerance):
        return choose(tolerance, adjacency=adjacency).epsilon

    assert epsilon(Ratio(3)) == pytest.approx(math.log(3))
    assert epsilon(PosteriorUnlessRatio(0.25, 3)) == pytest.approx(math.log(2.75 / 0.75))
    assert epsilon(Difference(0.2)) == pytest.approx(2 * math.log(1.2 / 0.8))


def test_lee_clifton_and_the_counter_example():
    """At ε = 0.41, a public population of 1, −1, −1, −1 gives 0.43 against the 1/3 asked for."""
    epsilon = lee_clifton_rule(4, 1 / 3, sensitivity=1, contrast=1)
    assert epsilon == pytest.approx(math.log(1.5))
    values = [1, -1, -1, -1]
    sums = [sum(values) - v for v in values]
    sensitivity = 1.0
    largest = 0.0
    for output in [x / 10 for x in range(-60, 61)]:
        weight = [math.exp(-epsilon * abs(output - s) / sensitivity) for s in sums]
        largest = max(largest, max(weight) / sum(weight))
    assert largest == pytest.approx(0.4286, abs=1e-3)
    assert largest > 1 / 3
    found = lee_clifton_rule(4, 1 / 3, sensitivity=1, contrast=2)
    assert found == pytest.approx(math.log(1.5) / 2)


def test_naive_is_never_larger():
    for tolerance in (PosteriorUnlessRatio(0.25, 3), PosteriorUnlessRatio(0.1, 3, priors(p=0.05))):
        choice = choose(tolerance)
        assert choice.naive == pytest.approx(naive(3))
        assert choice.naive <= choice.epsilon


def test_a_grid_errs_upward():
    """The authors' R function, a grid of 1,000 × 1,000, gives .5503 where the truth is .5493."""
    n = 100
    grid = min(
        epsilon_for_ratio(i / n, j / n, 3.0) for i in range(1, n + 1) for j in range(1, n + 1)
    )
    assert grid > 0.5 * math.log(3) + 1e-3
    assert choose(Ratio(3)).epsilon <= 0.5 * math.log(3)
