"""`compose`: the theorems, the paper's examples and its errata, and what is refused."""

from __future__ import annotations

import json
import math
import warnings
from fractions import Fraction

import mpmath as mp
import pytest
from composition_truths import atoms_delta, convolve, gaussian_delta, two_point
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composition import (
    METHODS,
    compose,
    loss_of,
    zcdp_curve,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_paper_epsilon,
)
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import ZCDP, ApproxDP, ProbabilisticDP, PureDP
from discreet.laws import (
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    RandomizedResponse,
)
from discreet.numerics import double_above
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(100))


def _belief(epsilon, delta, delta_prime):
    """KSZ Thm 3.9, two-sided, written out again."""
    e, d = mp.mpf(epsilon), mp.mpf(delta) / mp.mpf(delta_prime)
    return e + mp.log1p(d * mp.exp(-e)) - mp.log1p(-d)


@pytest.mark.parametrize(
    ("method", "day"), [("basic", 28), ("advanced", 26), ("paper", 42), ("optimal", 45)]
)
def test_figure_3_at_delta_one_in_a_million(method, day):
    limit = mp.log(4)
    passes = [
        _belief(compose([(PureDP(0.05), k)], delta=1e-6, method=method).epsilon, 1e-6, 0.05) > limit
        for k in range(1, day + 1)
    ]
    assert passes == [False] * (day - 1) + [True]


def test_erratum_of_example_4_2():
    # twelve (0.135, 1e-8) releases are not (0.81, 1e-6)-DP: δ would be 9.0e-3
    twelve = [(ApproxDP(0.135, 1e-8), 12)]
    assert compose(twelve, delta=1e-6).epsilon > 1.5
    assert compose(twelve, delta=8.9e-3).epsilon > 0.81 >= compose(twelve, delta=9.1e-3).epsilon
    total = 4 * math.atanh(0.2)
    assert compose([(ApproxDP(0.0677, 1e-8), 12)], delta=1e-6).epsilon <= total
    assert compose([(ApproxDP(0.0679, 1e-8), 12)], delta=1e-6).epsilon > total


def test_what_the_others_would_give():
    found = compose([(PureDP(0.05), 365)], delta=1e-6)
    assert tuple(found.others) == METHODS
    assert found.method == "optimal"
    assert found.epsilon == found.others["optimal"] == pytest.approx(4.6134483458, abs=1e-9)
    assert found.others["basic"] == pytest.approx(18.25)
    assert found.others["curve"] is None
    drift = 365 * 0.05 * math.tanh(0.025) + math.sqrt(2 * 365 * 0.05**2 * math.log(1e6))
    assert found.others["tanh"] == pytest.approx(drift, rel=1e-12)
    printed = 365 * 0.05 * math.expm1(0.05) + math.sqrt(2 * 365 * 0.05**2 * math.log(1e6))
    assert found.others["advanced"] == pytest.approx(printed, rel=1e-12)
    assert compose([(Laplace(0.05), 365)], delta=1e-6).method == "curve"


def test_few_releases_are_best_added():
    assert compose([(PureDP(0.05), 3)]).method == "basic"
    found = compose([(PureDP(0.5), 2)], delta=1e-9).others
    assert found["advanced"] > found["basic"]


@FAST
@given(
    st.lists(st.tuples(st.floats(0.01, 3), st.integers(1, 4)), min_size=1, max_size=3),
    st.floats(-12, -1).map(lambda t: 10.0**t),
)
def test_no_valid_theorem_gives_less_than_the_worst_case(parts, delta):
    worst = convolve(*[two_point(e, k) for e, k in parts])
    found = compose([(PureDP(e), k) for e, k in parts], delta=delta)
    for name, epsilon in found.others.items():
        if epsilon is not None:
            assert atoms_delta(worst, epsilon) <= delta * (1 + mp.mpf(10) ** -40), name
    assert found.epsilon <= min(v for v in found.others.values() if v is not None) * (1 + 1e-9)


def test_unequal_promises_with_their_own_delta():
    parts = [(ApproxDP(0.3, 1e-7), 2), (PureDP(0.5), 1), (ApproxDP(0.1, 1e-6), 3)]
    found = compose(parts, delta=1e-3, method="optimal").epsilon
    walked = convolve(two_point(0.3, 2), two_point(0.5), two_point(0.1, 3))
    kept = (1 - mp.mpf(1e-7)) ** 2 * (1 - mp.mpf(1e-6)) ** 3

    def true(e):
        return 1 - kept * (1 - atoms_delta(walked, e))

    assert true(found) <= mp.mpf(1e-3)
    assert true(found - 1e-4) > mp.mpf(1e-3)


_STATED = st.lists(
    st.tuples(st.floats(0.01, 3), st.sampled_from([0.0, 1e-9, 1e-4]), st.integers(1, 3)),
    min_size=1,
    max_size=3,
)


def _beside(epsilon, delta):
    return PureDP(epsilon) if delta == 0 else ApproxDP(epsilon, delta)


@settings(FAST, max_examples=examples(60))
@given(_STATED, st.floats(-6, 1).map(lambda t: 10.0**t), st.floats(-12, -1).map(lambda t: 10.0**t))
def test_epsilon_beside_rho_is_between_the_worst_laws_and_the_sum(stated, rho, delta):
    parts = [*((_beside(e, d), k) for e, d, k in stated), (ZCDP(rho), 1)]
    lost = math.fsum(k * d for _, d, k in stated)
    if delta <= 1.001 * lost:
        with pytest.raises(GuaranteeError):
            compose(parts, delta=delta * 0.5)
        return
    found, loss = compose(parts, delta=delta), loss_of(*parts)
    summed = math.fsum(k * e for e, _, k in stated)
    assert found.epsilon <= (summed + zcdp_epsilon(rho, (delta - lost) * (1 - 1e-12))) * (1 + 1e-12)
    assert found.epsilon <= found.others["curve"] * (1 + 1e-12)
    assert loss.epsilon(delta) <= found.epsilon * (1 + 1e-12)
    # Laws that keep the promises: the worst two-point ones, and Gaussian noise of that ρ, or two
    # points of it. Each gives everything away as often as its δ says.
    walked = convolve(*[two_point(e, k) for e, _, k in stated])
    kept = mp.fprod((1 - mp.mpf(d)) ** k for _, d, k in stated)
    points = convolve(walked, two_point(math.sqrt(2 * rho)))

    def true(epsilon):
        normal = mp.fsum(p * gaussian_delta(rho, mp.mpf(epsilon) - x) for x, p in walked.items())
        return 1 - kept * (1 - max(normal, atoms_delta(points, epsilon)))

    for epsilon in (found.epsilon, loss.epsilon(delta)):
        assert true(epsilon) <= delta
    for epsilon in (0.0, summed / 2, summed, found.epsilon, 2 * found.epsilon):
        bound = loss.delta(epsilon)
        assert true(epsilon) <= bound
        plain = 1.0 if epsilon < summed else lost + zcdp_delta(rho, (epsilon - summed) * (1 - 1e-9))
        assert bound <= plain * (1 + 1e-6) + 1e-15


def test_a_large_epsilon_is_added_to_what_rho_needs():
    found = compose([PureDP(1.13), ZCDP(0.02)], delta=1e-6)
    assert found.epsilon == pytest.approx(1.13 + zcdp_epsilon(0.02, 1e-6), rel=1e-12)
    assert found.method == "basic"
    assert found.others["curve"] == pytest.approx(zcdp_epsilon(0.02 + 1.13**2 / 2, 1e-6), rel=1e-12)
    assert found.theorem.startswith("basic composition: the epsilons add to what rho needs")
    assert "fixed before" in found.assumptions[1]
    bound = loss_of(PureDP(1.13), ZCDP(0.02)).one_step(0.05)
    assert bound.theorem == "basic"
    assert bound.epsilon_prime < 1.13 + loss_of(ZCDP(0.02)).one_step(0.05).epsilon_prime + 1e-6
    # A small one counts as ε²/2, and the large one of both stays beside.
    small = compose([PureDP(0.01), ZCDP(0.02)], delta=1e-6)
    assert (small.method, small.epsilon) == ("curve", zcdp_epsilon(0.02 + 5e-5, 1e-6))
    both = compose([PureDP(1.13), (PureDP(0.01), 30), ZCDP(0.02)], delta=1e-6)
    assert both.epsilon == pytest.approx(1.13 + zcdp_epsilon(0.02 + 30 * 5e-5, 1e-6), rel=1e-12)
    # Noise without a law of its own on a grid, beside noise of a known ε.
    rough = DiscreteGaussian.of_rho(0.02, 2)
    law = loss_of(Laplace(1.13), rough)
    assert law.epsilon(1e-6) <= (1.13 + zcdp_epsilon(rough.rho, 1e-6)) * (1 + 1e-12)
    assert compose([PureDP(1.13), ZCDP(0.02)]).guarantee == ZCDP(
        double_above(Fraction(1.13) ** 2 / 2 + Fraction(0.02))
    )
    with pytest.raises(GuaranteeError, match="the parts give away 1e-08"):
        compose([ApproxDP(1.0, 1e-8), ZCDP(0.02)], delta=1e-9, method="basic")
    with pytest.raises(GuaranteeError, match="promises only rho"):
        compose([ZCDP(0.02)], delta=1e-6, method="basic")


def test_generic_promises_a_million_times():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for epsilon in (1e-6, 0.01, 1.0, 50.0):
            for delta in (1e-300, 1e-30, 1e-6):
                found = compose([(PureDP(epsilon), 1_000_000)], delta=delta)
                assert math.isfinite(found.epsilon)
                valid = {n: v for n, v in found.others.items() if v is not None}
                assert valid["optimal"] <= min(valid.values()) * (1 + 1e-9)


@settings(FAST, max_examples=examples(100))
@given(st.floats(-8, 4).map(lambda t: 10.0**t), st.floats(-200, -1).map(lambda t: 10.0**t))
def test_the_tight_conversion_is_a_valid_order_and_beats_the_paper(rho, delta):
    epsilon = zcdp_epsilon(rho, delta)
    assert epsilon <= zcdp_paper_epsilon(rho, delta) * (1 + 1e-12)
    # never below the Gaussian of the same ρ, which is ρ-zCDP
    assert gaussian_delta(rho, epsilon) <= delta
    # the bound at the best of many orders, at 60 digits, is not above ours by more than rounding
    e = mp.mpf(epsilon)
    if epsilon > 0:
        best = min(
            t * ((1 + t) * mp.mpf(rho) - e) - t * mp.log1p(1 / t) - mp.log1p(t)
            for t in (mp.mpf(10) ** (mp.mpf(n) / 20) for n in range(-200, 200))
        )
        assert best >= mp.log(mp.mpf(delta)) - mp.mpf("0.2")
        assert mp.log(mp.mpf(zcdp_delta(rho, epsilon))) <= mp.log(mp.mpf(delta)) + mp.mpf("1e-6")


@pytest.mark.parametrize("delta", [5e-324, 1e-6, 0.5, 1 - 2**-53])
@pytest.mark.parametrize("rho", [5e-324, 1e-310, 1e-300, 1e-200])
def test_the_least_rho_is_no_fault(rho, delta):
    epsilon = zcdp_epsilon(rho, delta)
    assert 0 <= epsilon <= zcdp_epsilon(1e-150, delta)
    assert gaussian_delta(max(rho, 1e-200), epsilon) <= delta * (1 + 1e-9)
    assert 0 <= zcdp_delta(rho, 1.0) <= 1


def test_rho_adds_and_is_read_at_delta():
    found = compose([(ZCDP(0.01), 365)], delta=1e-6)
    assert found.epsilon == pytest.approx(zcdp_epsilon(3.65, 1e-6), rel=1e-12)
    assert found.method == "curve"
    paper = compose([(ZCDP(0.01), 365)], delta=1e-6, method="paper").epsilon
    assert paper == pytest.approx(3.65 + 2 * math.sqrt(3.65 * math.log(1e6)), rel=1e-12)
    alone = compose([(ZCDP(0.01), 365)])
    assert alone.guarantee.rho == pytest.approx(3.65)
    assert alone.to_dict()["epsilon"] is None
    assert alone.to_dict()["unbounded"] is True


def test_rho_beside_other_promises():
    mixed = compose([(ZCDP(0.01), 100), PureDP(0.2), ApproxDP(0.1, 1e-9)], delta=1e-6)
    rho = 1.0 + 0.02 + 0.005
    assert mixed.epsilon == pytest.approx(zcdp_epsilon(rho, 1e-6 - 1e-9), rel=1e-6)
    with_choice = compose([(Gaussian.of_rho(0.01), 100), (Exponential(0.2), 1)], delta=1e-6)
    assert with_choice.epsilon < mixed.epsilon


def test_a_curve_by_itself_and_not_twice():
    assert compose([zcdp_curve(0.1)], delta=1e-6).epsilon == pytest.approx(
        zcdp_epsilon(0.1, 1e-6), rel=1e-6
    )
    with pytest.raises(GuaranteeError, match="curve"):
        compose([(zcdp_curve(0.1), 2)], delta=1e-6)


def test_results_are_values_and_json():
    found = compose([(Geometric(0.1), 12)], delta=1e-6)
    payload = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert {"epsilon", "delta", "method", "others", "guarantee", "theorem"} <= set(payload)
    assert "\n" not in repr(found)
    assert "fixed before" in found.assumptions[1]
    assert "chosen after" in compose([PureDP(0.1)]).assumptions[1]
    assert compose([ProbabilisticDP(0.1, 1e-7)]).guarantee == ApproxDP(0.1, 1e-7)


@pytest.mark.parametrize(
    ("parts", "options", "words"),
    [
        ([PureDP(0.1), PureDP(0.1, adjacency="replace")], {}, "different adjacencies"),
        ([RandomizedResponse(0.1), Laplace(0.1)], {}, "different adjacencies"),
        ([], {}, "nothing to compose"),
        ([(ApproxDP(0.1, 1e-3), 5)], {"delta": 1e-3}, "larger delta"),
        ([(ApproxDP(0.1, 1e-3), 5)], {"delta": 5e-3, "method": "advanced"}, "larger delta"),
        ([PureDP(0.1)], {"method": "curve"}, "mechanism"),
        ([ZCDP(0.1)], {"method": "basic", "delta": 0.1}, "rho"),
        ([PureDP(0.1), PureDP(0.2)], {"method": "paper"}, "equal"),
        ([PureDP(0.1)], {"method": "magic"}, "one of"),
        ([PureDP(0.1)], {"delta": math.nan}, "NaN"),
        ([PureDP(0.1)], {"delta": -1.0}, "between"),
        ([(PureDP(0.1), 0)], {}, "whole number"),
        (["0.1"], {}, "neither"),
    ],
)
def test_bad_input_is_one_sentence_with_exit_code_two(parts, options, words):
    with pytest.raises(InputError, match=words) as caught:
        compose(parts, **options)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_what_is_given_by_mistake_is_named_by_its_kind_and_never_shown():
    secret = ["a row of somebody's data"]
    for take in (lambda: compose([secret]), lambda: loss_of(secret)):
        with pytest.raises(InputError, match="A list is neither") as caught:
            take()
        assert "somebody" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ({"epsilon": 0.1}, PureDP(0.1)),
        ({"epsilon": 0.1, "delta_each": 1e-9}, ApproxDP(0.1, 1e-9)),
        ({"rho": 0.01}, ZCDP(0.01)),
        ({"mechanism": "laplace", "epsilon": 0.1}, Laplace(0.1)),
        ({"mechanism": "gaussian", "sigma": 20.0, "sensitivity": 2.0}, Gaussian(20.0, 2.0)),
    ],
)
def test_one_release_may_be_given_by_the_words_of_the_command_line(words, part):
    assert compose(times=30, delta=1e-6, **words) == compose([(part, 30)], delta=1e-6)
    both = compose([PureDP(0.2)], times=2, delta=1e-6, **words)
    assert both == compose([PureDP(0.2), (part, 2)], delta=1e-6)


@pytest.mark.parametrize(
    "words",
    [
        {"epsilon": 0.1, "rho": 0.1},
        {"sigma": 3.0},
        {"times": 3},
        {"epsilon": 0.1, "sgima": 3.0},
        {"epsilon": 0.1, "sensitivity": 2.0},
        {"rho": 0.1, "delta_each": 1e-6},
    ],
)
def test_words_that_are_no_release_are_refused_in_words(words):
    with pytest.raises(InputError) as refused:
        compose(**words)
    assert "--" not in str(refused.value)
