"""The law of the loss: tails and quantiles never below the truth, and close to it."""

from __future__ import annotations

import math
import warnings

import mpmath as mp
import numpy as np
import pytest
from composition_truths import atoms_tail, convolve, laplace_tail, two_point
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composition import loss_of
from discreet.composition.gaussian import GaussianLoss
from discreet.composition.grid import GridLoss
from discreet.composition.grid.ingredients import Normal, TwoPoints
from discreet.composition.grid.law import _majorant
from discreet.composition.theorems import worst_case
from discreet.composition.walk import WalkLoss
from discreet.errors import GuaranteeError, InputError
from discreet.laws import (
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    RandomizedResponse,
)
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(25))
SIDES = ("one", "two")


def _laplace(epsilon, times, x, sided):
    """P(|L| > x): the lower side is that of Q, where −L has the law of L under P."""
    upper = laplace_tail(epsilon, times, x)
    if sided == "one":
        return upper
    nearly = mp.mpf(1) / 10**40
    return min(mp.mpf(1), upper + 1 - laplace_tail(epsilon, times, -mp.mpf(x) - nearly))


@FAST
@given(
    st.sampled_from([0.01, 0.3, 1.0, 4.0]),
    st.integers(1, 6),
    st.floats(0, 1),
    st.sampled_from(SIDES),
)
def test_laplace_against_the_exact_mixture(epsilon, times, share, sided):
    x = share * times * epsilon
    true = _laplace(epsilon, times, x, sided)
    found = loss_of((Laplace(epsilon), times)).tail(x, sided)
    assert found >= true
    # half a step of the grid moves 1e-5 of the law; near the top there is little left to compare
    assert found <= true * (1 + 1e-3) + 1e-5


@pytest.mark.parametrize("sided", SIDES)
def test_laplace_tails_at_atoms_leave_the_atom_out(sided):
    loss = loss_of((Laplace(0.5), 4))
    for x in (0.0, 1.0):
        true = _laplace(0.5, 4, x, sided)
        assert true <= loss.tail(x, sided) <= true * (1 + 1e-3)


@pytest.mark.parametrize(("sided", "releases"), [("two", 184), ("one", 198)])
def test_laplace_series_of_the_paper(sided, releases):
    # KSZ Figure 3 read exactly: ε₀ = .05, prior ½, first k at which 95 % no longer keep below .8
    limit = math.log(0.8 / 0.2)
    before, after = (
        loss_of((Laplace(0.05), k)).quantile(0.05, sided) for k in (releases - 1, releases)
    )
    assert before <= limit < after


def _brute(epsilon, times, x, rounding):
    """P(L > x) of equal Laplace releases whose losses are all rounded up (1) or down (0)."""
    cells = 4000
    h = epsilon / cells
    edges = np.arange(-cells, cells + 1) * h
    law = np.zeros(2 * cells + 1)
    law[rounding : 2 * cells + rounding] = 0.5 * np.exp(-epsilon / 2) * np.diff(np.exp(edges / 2))
    law[0] += 0.5 * math.exp(-epsilon)
    law[-1] += 0.5
    size = 1 << (2 * cells * times + 1).bit_length()
    total = np.fft.irfft(np.fft.rfft(law, size) ** times, size)
    first = math.floor(x / h + 1e-6) + 1 + cells * times
    return float(total[first : 2 * cells * times + 1].sum())


@pytest.mark.slow
def test_the_series_of_the_paper_is_the_true_one():
    limit = math.log(4)
    assert _brute(0.05, 197, limit, rounding=1) < 0.05 - 1e-6
    assert _brute(0.05, 198, limit, rounding=0) > 0.05 + 1e-6
    found = loss_of((Laplace(0.05), 197)).tail(limit, "one")
    assert _brute(0.05, 197, limit, rounding=0) <= found
    assert found <= _brute(0.05, 197, limit, rounding=1) * (1 + 1e-4)


def _steps(epsilon, sensitivity):
    e, d = mp.mpf(epsilon), sensitivity
    a = mp.exp(-e / d)
    law = {e: 1 / (1 + a), -e: mp.exp(-e) / (1 + a)}
    for i in range(1, d):
        law[(2 * i - d) * e / d] = a ** (d - i) * (1 - a) / (1 + a)
    return law


def _categories(epsilon, categories):
    e = mp.mpf(epsilon)
    w = mp.exp(e) + categories - 1
    return {e: mp.exp(e) / w, -e: 1 / w, mp.mpf(0): (categories - 2) / w}


def _discrete_normal(sigma):
    s = mp.mpf(sigma)
    reach = range(-round(12 * sigma) - 8, round(12 * sigma) + 9)
    weights = {(1 - 2 * n) / (2 * s * s): mp.exp(-(n**2) / (2 * s * s)) for n in reach}
    total = mp.fsum(weights.values())
    return {loss: w / total for loss, w in weights.items()}


LATTICES = [
    (Geometric(0.5, 3), _steps(0.5, 3)),
    (RandomizedResponse(0.7, 5), _categories(0.7, 5)),
    (DiscreteGaussian(0.3), _discrete_normal(0.3)),
    (DiscreteGaussian(1.7), _discrete_normal(1.7)),
]


def _rounded(law):
    """Sums of equal losses in another order, put together."""
    found: dict[str, tuple[mp.mpf, mp.mpf]] = {}
    for loss, p in law.items():
        key = mp.nstr(loss, 30) if abs(loss) > mp.mpf(10) ** -30 else "0"
        old = found.get(key, (loss, mp.mpf(0)))
        found[key] = (old[0], old[1] + p)
    return dict(found.values())


@pytest.mark.parametrize(("mechanism", "law"), LATTICES, ids=lambda v: repr(v)[:24])
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("sided", SIDES)
def test_lattices_are_exact_on_and_between_their_points(mechanism, law, times, sided):
    total = _rounded(convolve(*[law] * times))
    loss = loss_of((mechanism, times))
    places = sorted(place for place in total if place >= 0)[:6]
    for place in places:
        for x in (float(place) * (1 - 1e-9), float(place) * (1 + 1e-9) + 1e-12):
            true = atoms_tail(total, x, sided)
            assert true <= mp.mpf(loss.tail(x, sided)) * (1 + mp.mpf(10) ** -15)
            assert loss.tail(x, sided) <= true * (1 + 1e-5) + 1e-300
    for delta_prime in (0.4, 0.03, 1e-5):
        first = min(
            p for p in [mp.mpf(0), *total] if p >= 0 and atoms_tail(total, p, sided) <= delta_prime
        )
        assert loss.quantile(delta_prime, sided) == pytest.approx(float(first), rel=1e-12)


@FAST
@given(
    st.lists(st.floats(0.01, 1.5), min_size=2, max_size=6), st.floats(0, 1), st.sampled_from(SIDES)
)
def test_mixed_two_point_plans_never_fall_below(steps, share, sided):
    law = convolve(*[two_point(e) for e in steps])
    loss = GridLoss((TwoPoints(tuple(steps), (1,) * len(steps)),))
    x = share * sum(steps)
    found = loss.tail(x, sided)
    assert found >= atoms_tail(law, x, sided)
    # within a few steps above an atom it is counted too, with at most a twentieth more
    assert found <= atoms_tail(law, x - 2e-3 * sum(steps), sided) * 1.02 + 1e-4
    point = loss.quantile(0.05, sided)
    assert atoms_tail(law, point, sided) <= 0.05


@FAST
@given(st.floats(1e-4, 5), st.floats(0, 8), st.sampled_from(SIDES))
def test_a_normal_law_on_the_circle_against_its_closed_form(rho, away, sided):
    x = max(0.0, rho + away * math.sqrt(2 * rho))
    circle, closed = GridLoss((Normal(rho),)), GaussianLoss(rho)
    assert closed.tail(x, sided) * (1 - 1e-12) <= circle.tail(x, sided)
    assert circle.tail(x, sided) <= closed.tail(x, sided) * (1 + 5e-3)


@pytest.mark.parametrize("sided", SIDES)
def test_equal_two_point_plans_against_the_walk(sided):
    circle, walk = GridLoss((TwoPoints((0.05,), (365,)),)), WalkLoss(0.05, 365)
    for x in (0.01, 0.52, 1.33, 2.57, 4.01):
        true = walk.tail(x, sided)
        assert true * (1 - 1e-10) <= circle.tail(x, sided) <= true * (1 + 1e-4)


@pytest.mark.parametrize("rate", [0.02, 0.1, 3.0])
def test_the_majorant_lies_above_the_cut_exponential(rate):
    points = 4096
    m = _majorant(rate, points)
    nu = np.arange(points + 1) / points
    for x in [-7.3, -1.5, -0.5, -0.01, 0.0, 0.25, 0.5, 1.0, 1.7, 6.4]:
        whole = 2 * (m * np.exp(2j * np.pi * nu * x)).real
        value = (whole.sum() - whole[0] / 2 - whole[-1] / 2) / points
        least = math.exp(-rate * x) if x >= 0 else 0.0
        # the sum in place of the integral adds what lies 4096 away: not negative, below 1e-6
        assert least - 1e-9 <= value <= least + 1.01


def test_monte_carlo_of_a_mixed_plan():
    # Hoeffding: a share of n = 4e5 draws is off by t with probability below 2e^{-2nt²}, here
    # t = 0.0045: 2e-7 for each of four comparisons, in total below 1e-6.
    rng = np.random.default_rng(20240117)
    draws = 400_000
    total = np.zeros(draws)
    for epsilon, times in ((0.3, 4), (0.11, 7)):
        noise = rng.laplace(scale=1 / epsilon, size=(times, draws))
        total += epsilon * (np.abs(noise + 1) - np.abs(noise)).sum(axis=0)
    sigma = 6.0
    total += (2 * (1 + rng.normal(scale=sigma, size=draws)) - 1) / (2 * sigma**2)
    loss = loss_of((Laplace(0.3), 4), (Laplace(0.11), 7), Gaussian(sigma))
    for x in (0.4, 1.1):
        assert loss.tail(x, "one") == pytest.approx(float((total > x).mean()), abs=0.0046)
        assert loss.tail(x) == pytest.approx(float((np.abs(total) > x).mean()), abs=0.0046)


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(0.05),
        Laplace(5.0),
        Geometric(0.05, 3),
        DiscreteGaussian(10.0),
        DiscreteGaussian(0.11),
    ],
    ids=repr,
)
def test_long_plans_are_finite_silent_and_monotone(mechanism):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for times in (1, 30, 10_000):
            loss = loss_of((mechanism, times))
            points = [loss.quantile(d) for d in (0.3, 1e-6, 1e-100)]
            assert all(math.isfinite(p) for p in points)
            assert points == sorted(points)
            assert all(loss.tail(p) <= d for p, d in zip(points, (0.3, 1e-6, 1e-100), strict=True))


def test_what_has_no_law_gets_what_the_curve_proves():
    for loss in (
        loss_of((Exponential(0.1), 100)),
        loss_of((DiscreteGaussian(3.0, 2.0), 5)),
        worst_case([(0.1, 1e-6, 20)]),
        worst_case([(0.1, 0.0, 20), (0.2, 0.0, 3)]),
    ):
        assert not loss.law_known
        for sided in SIDES:
            x = loss.quantile(0.01, sided)
            assert loss.tail(x, sided) <= 0.01
            # Markov at any point of the curve: δ(ε) ≥ (1 − e^{ε−x}) P(L > x)
            sides = 1 + math.exp(-x) if sided == "two" else 1
            some = sides * loss.delta(x / 2) / -math.expm1(-x / 2)
            assert loss.tail(x, sided) <= some * (1 + 1e-12)


def test_a_release_that_nearly_always_loses_a_little_is_still_covered():
    # ε-DP pairs need not be two-point: this one has L > 0.01 with probability near 1, more than the
    # worst case of the curve has; a tail read off the worst case would be false.
    small, epsilon = 0.02, 1.0
    rare = -math.expm1(-small) / (math.exp(epsilon) - math.exp(-small))
    assert math.exp(-small) * (1 - rare) + math.exp(epsilon) * rare == pytest.approx(1.0)
    two_point_tail = WalkLoss(epsilon, 1).tail(0.01, "one")
    assert two_point_tail < 1 - rare <= worst_case([(epsilon, 0.0, 1)]).tail(0.01, "one")


def test_plans_without_a_proof_keep_refusing_the_exact_bound():
    loss = loss_of((Laplace(0.1), 10))
    assert loss.law_known
    assert loss.quantile(0.01) > 0
    with pytest.raises(GuaranteeError, match="not proved"):
        loss.exact_epsilon(0.01)


def test_edges_and_bad_input():
    loss = loss_of((Laplace(0.5), 2))
    assert loss.tail(-math.inf) == loss.tail(-0.1) == 1.0
    assert loss.tail(1.0001) == loss.tail(math.inf) == 0.0
    assert loss.tail(-0.7, "one") == pytest.approx(float(laplace_tail(0.5, 2, -0.7)), rel=1e-4)
    assert loss.quantile(1.0) == 0.0
    assert loss.quantile(0.0) == loss.largest()
    assert loss_of(Gaussian(2.0)).quantile(0.0) == math.inf
    for bad in (math.nan, "1", True):
        with pytest.raises(InputError):
            loss.tail(bad)
    with pytest.raises(InputError):
        loss.tail(1.0, "both")
    with pytest.raises(InputError):
        loss.quantile(-0.1)
