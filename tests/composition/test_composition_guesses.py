"""The chance that the best guess is right: against mpmath, Neyman and Pearson, and adversaries."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet import choose
from discreet.composition import loss_of, zcdp_curve
from discreet.composition.concentrated import ConcentratedLoss
from discreet.composition.gaussian import GaussianLoss
from discreet.composition.walk import WalkLoss
from discreet.errors import InputError
from discreet.guarantees import ZCDP, ApproxDP, PrivacyCurve, ProbabilisticDP, PureDP
from discreet.laws import DiscreteGaussian, Exponential, Geometric, Laplace
from discreet.rounding import down
from losses import right_guess
from soaking import examples, some_of

fixed = settings(derandomize=True, deadline=None, max_examples=examples(200))
few = settings(derandomize=True, deadline=None, max_examples=25)
shares = st.one_of(
    st.floats(1e-300, 1e-6),
    st.floats(1e-12, 1, exclude_max=True),
    st.floats(1e-15, 0.5).map(lambda x: 1 - x),
)
sizes = st.floats(-20, 3).map(lambda x: 10**x)
epsilons = st.floats(1e-6, 5)

Reals = NDArray[np.float64]


# -- oracles


def quantile(share: mp.mpf) -> mp.mpf:
    """Φ⁻¹ by bisection on mpmath's own distribution function."""
    low, high = mp.mpf(-40), mp.mpf(40)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if mp.ncdf(middle) < share else (low, middle)
    return low


def most_powerful(inside: Sequence[float], outside: Sequence[float], kappa: float) -> mp.mpf:
    """Neyman and Pearson: the most that `inside` gives to a set of `outside` mass κ."""
    left, won = mp.mpf(kappa), mp.mpf(0)
    pairs = [(mp.mpf(p), mp.mpf(q)) for p, q in zip(inside, outside, strict=True)]
    for p, q in sorted(pairs, key=lambda pq: pq[1] / pq[0] if pq[0] else mp.inf):
        taken = min(left, q)
        won += p * taken / q if q else p
        left -= taken
    return min(won, mp.mpf(1))


def success(prior: Reals, laws: Reals) -> float:
    """How often the best guess is right: Σ_y max_v π_v P_v(y), a row of `laws` for each value."""
    return float((prior[:, None] * laws).max(axis=0).sum())


def delta_of(p: Reals, q: Reals, epsilon: float) -> float:
    """δ(ε) of a pair in both orders, from the definition."""
    high = math.exp(epsilon)
    return max(np.maximum(p - high * q, 0).sum(), np.maximum(q - high * p, 0).sum())


def priors(values: int) -> st.SearchStrategy[Reals]:
    weights = st.lists(st.floats(0.01, 1), min_size=values, max_size=values)
    return weights.map(lambda w: np.array(w) / sum(w))


def geometric_law(epsilon: float, centre: int, ends: int) -> list[float]:
    """Geometric noise about `centre`, what lies beyond ±`ends` put at the ends."""
    a = math.exp(-epsilon)
    law = [(1 - a) / (1 + a) * a ** abs(y - centre) for y in range(-ends, ends + 1)]
    law[0], law[-1] = a ** (centre + ends) / (1 + a), a ** (ends - centre) / (1 + a)
    return law


# -- one value for another


@fixed
@given(st.data(), st.floats(0.05, 3), st.integers(2, 5))
def test_replaced_values_are_guessed_no_more_often_than_one_output_tells(
    data: st.DataObject, epsilon: float, values: int
) -> None:
    """Laws that differ at most e^ε-fold: each is a base times factors between 1 and e^ε."""
    prior = data.draw(priors(values))
    kappa = float(prior.max())
    size = data.draw(st.integers(2, 6))
    base = np.array(data.draw(st.lists(st.floats(0.05, 1), min_size=size, max_size=size)))
    factors = st.lists(st.floats(0, 1), min_size=size, max_size=size)
    laws = np.array([base * np.exp(epsilon * np.array(data.draw(factors))) for _ in range(values)])
    laws /= laws.sum(axis=1, keepdims=True)
    apart = float(np.log(laws[:, None] / laws[None]).max())
    got = right_guess(PureDP(apart, adjacency="replace"), kappa)
    assert success(prior, laws) <= got * (1 + 1e-12)
    assert got <= kappa * math.exp(apart) / (1 - kappa + kappa * math.exp(apart)) * (1 + 1e-12)


def test_on_average_allows_at_least_what_every_output_does() -> None:
    asked = {"posterior": 0.3, "q": 0.1, "about": "value", "adjacency": "replace"}
    assert choose(**asked, on_average=True).epsilon >= choose(**asked).epsilon


# -- Gaussian


@fixed
@given(sizes, shares)
def test_gaussian_never_below_the_truth_and_close_to_it(rho: float, kappa: float) -> None:
    got = right_guess(GaussianLoss(rho), kappa)
    with mp.workdps(50):
        true = mp.ncdf(quantile(mp.mpf(kappa)) + mp.sqrt(2 * mp.mpf(rho)))
        assert true <= got or got == 1
        assert got <= true * (1 + mp.mpf(1e-13 if kappa > 1e-12 else 1e-11))


@pytest.mark.parametrize("kappa", [5e-324, 1e-308, 0.5, math.nextafter(0.5, 0), 1 - 2**-53])
@pytest.mark.parametrize("rho", [1e-300, 1e-16, 1.0, 700.0, 1e300])
def test_gaussian_at_the_ends(rho: float, kappa: float) -> None:
    got = right_guess(GaussianLoss(rho), kappa)
    with mp.workdps(40):
        true = mp.ncdf(quantile(mp.mpf(kappa)) + mp.sqrt(2 * mp.mpf(rho)))
        assert min(mp.mpf(1), true * (1 - mp.mpf(10) ** -30)) <= got
        assert got <= true * (1 + mp.mpf(10) ** -11) + 1e-322


def test_five_to_twelve_percent_on_average() -> None:
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        rho = (low + high) / 2
        low, high = (rho, high) if right_guess(GaussianLoss(rho), 0.05) <= 0.12 else (low, rho)
    assert round(low, 4) == 0.1104
    assert right_guess(ZCDP(low), 0.05) > 0.12  # any ρ-zCDP may tell more than Gaussian noise


def test_an_adversary_beside_gaussian_noise() -> None:
    rho, prior = 0.3, [0.5, 0.3, 0.2]
    mu = math.sqrt(2 * rho)
    for shifts in some_of([(mu, -mu, 0.0), (mu, mu / 2, -mu / 3), (-mu, 0.1, mu)], 0):
        with mp.workdps(20):
            won = mp.quad(
                lambda y, at=shifts: max(
                    w * mp.npdf(y - x) for w, x in zip(prior, at, strict=True)
                ),
                [x / mp.mpf(10) for x in range(-90, 91)],
            )
        assert won <= right_guess(GaussianLoss(rho), 0.5)


# -- pure and approximate


@fixed
@given(epsilons, st.floats(0, 0.9), shares)
def test_approximate_is_the_worst_pair_and_no_more(e: float, delta: float, kappa: float) -> None:
    got = right_guess(ApproxDP(e, delta), kappa)
    with mp.workdps(50):
        x, d = mp.exp(mp.mpf(e)), mp.mpf(delta)
        # Kairouz, Oh and Viswanath: two outputs that give all away, and randomized response
        inside = [d, (1 - d) * x / (1 + x), (1 - d) / (1 + x), mp.mpf(0)]
        true = most_powerful(inside, inside[::-1], kappa)
        assert true <= got
        assert got <= true * (1 + mp.mpf(10) ** -14)
    assert got == right_guess(ProbabilisticDP(e, delta), kappa)
    assert right_guess(PureDP(e), kappa) == right_guess(ApproxDP(e, 0.0), kappa)


laws = st.lists(st.floats(1e-3, 1), min_size=5, max_size=5).map(lambda w: np.array(w) / sum(w))


@fixed
@given(laws, laws, st.floats(0, 3), st.floats(1e-6, 1))
def test_random_pairs_of_laws_keep_the_bound(p: Reals, q: Reals, e: float, kappa: float) -> None:
    delta = min(1.0, delta_of(p, q, e) * (1 + 1e-12) + 1e-15)
    for inside, outside in ((p, q), (q, p)):
        assert most_powerful(inside, outside, kappa) <= right_guess(ApproxDP(e, delta), kappa) + (
            1e-14
        )
        # the whole curve is nearly the pair itself, for the worse of the two orders
        curve = PrivacyCurve("pair", partial(delta_of, p, q))
        assert most_powerful(inside, outside, kappa) <= right_guess(curve, kappa) + 1e-14


@fixed
@given(priors(4), laws, st.lists(laws, min_size=4, max_size=4))
def test_adversaries_beside_random_laws(prior: Reals, out: Reals, inside: list[Reals]) -> None:
    together = np.array(inside)
    e = float(np.abs(np.log(together / out)).max()) * (1 + 1e-12)
    kappa = float(prior.max())
    assert success(prior, together) <= right_guess(PureDP(e), kappa) + 1e-14
    curve = PrivacyCurve("all", lambda e: max(delta_of(law, out, e) for law in inside))
    assert success(prior, together) <= right_guess(curve, kappa) + 1e-14


# -- lattices


@few
@given(priors(3), st.floats(0.05, 2))
def test_adversaries_beside_a_table_of_counts(prior: Reals, e: float) -> None:
    """Three cells, one of which counts the person: twice geometric noise, every output."""
    zero, one = (np.array(geometric_law(e, centre, 2)) for centre in (0, 1))
    for times in (1, 2):
        tables = []
        for value in range(3):
            table = np.ones(1)
            for cell in list(range(3)) * times:
                table = np.outer(table, one if cell == value else zero).ravel()
            tables.append(table)
        bound = right_guess(WalkLoss(e, times), float(prior.max()))
        assert success(prior, np.array(tables)) <= bound + 1e-13


@few
@given(priors(4), st.floats(0.05, 3))
def test_adversaries_beside_randomized_response(prior: Reals, e: float) -> None:
    laws = np.full((4, 4), 1.0) + (math.exp(e) - 1) * np.eye(4)
    laws /= laws[0].sum()
    kappa = float(prior.max())
    assert success(prior, laws) <= right_guess(PureDP(e, adjacency="local"), kappa) + 1e-14


@few
@given(st.floats(0.01, 2), st.integers(1, 6), shares)
def test_a_walk_is_the_most_powerful_test_of_all_outputs(e: float, k: int, kappa: float) -> None:
    """Every output of k geometric releases, each −∞ … 0 or 1 … ∞: its loss is all that counts."""
    with mp.workdps(50):
        p = mp.exp(mp.mpf(e)) / (1 + mp.exp(mp.mpf(e)))
        outputs = list(itertools.product((True, False), repeat=k))
        inside = [mp.fprod(p if above else 1 - p for above in y) for y in outputs]
        outside = [mp.fprod(1 - p if above else p for above in y) for y in outputs]
        true = most_powerful(inside, outside, kappa)
        got = right_guess(WalkLoss(e, k), kappa)
        assert true <= got
        assert got <= true * (1 + mp.mpf(10) ** -12)
        assert got <= right_guess(PureDP(WalkLoss(e, k).largest()), kappa) * (1 + 1e-12)


@few
@given(st.floats(0.01, 0.5), st.integers(7, 400), st.floats(1e-6, 1), st.floats(0, 1e-3))
def test_rungs_are_the_best_of_the_curve(e: float, k: int, kappa: float, lost: float) -> None:
    loss = WalkLoss(e, k, lost=lost)
    exact, searched = right_guess(loss, kappa), right_guess(loss.curve(), kappa)
    assert exact <= searched * (1 + 1e-12)
    assert searched <= exact * (1 + 1e-8)


@few
@given(st.floats(0.5, 4), shares)
def test_discrete_gaussian_against_its_lattice(sigma: float, kappa: float) -> None:
    with mp.workdps(40):
        points = range(-80, 82)
        inside = [mp.exp(-((y - 1) ** 2) / (2 * mp.mpf(sigma) ** 2)) for y in points]
        outside = [mp.exp(-(y**2) / (2 * mp.mpf(sigma) ** 2)) for y in points]
        total = sum(outside)
        true = most_powerful([p / total for p in inside], [q / total for q in outside], kappa)
        got = right_guess(loss_of(DiscreteGaussian(sigma)), kappa)
        assert true * (1 - mp.mpf(10) ** -25) <= got
        if kappa > 1e-6:
            assert got <= true * (1 + mp.mpf(10) ** -6)


# -- curves


@few
@given(st.floats(1e-6, 20), st.floats(1e-12, 1))
def test_the_curve_of_gaussian_noise_gives_its_trade_off(rho: float, kappa: float) -> None:
    exact = right_guess(GaussianLoss(rho), kappa)
    searched = right_guess(GaussianLoss(rho).curve(), kappa)
    assert exact * (1 - 1e-13) <= searched <= exact * (1 + 1e-11)


@few
@given(st.floats(0.01, 4), st.floats(1e-9, 1, exclude_max=True))
def test_laplace_against_its_closed_form(e: float, kappa: float) -> None:
    """F(F⁻¹(κ) + ε), F the distribution function of Laplace noise (Dong, Roth and Su, §B.1)."""
    where = math.log(2 * kappa) if kappa < 0.5 else -math.log(2 * (1 - kappa))
    at = where + e
    true = math.exp(at) / 2 if at < 0 else 1 - math.exp(-at) / 2
    got = right_guess(loss_of(Laplace(e)), kappa)
    assert true * (1 - 1e-14) <= got <= true * (1 + 1e-6)


def test_several_accounts_of_one_plan_and_their_least() -> None:
    loss = loss_of((Exponential(0.3), 40), (Geometric(0.2), 5))
    for kappa in (0.01, 0.05, 0.5, 0.9):
        assert right_guess(loss, kappa) <= right_guess(loss.curve(), kappa) * (1 + 1e-9)
        each = [right_guess(account, kappa) for _, account in loss.accounts]
        assert right_guess(loss, kappa) == min(each)


def test_a_curve_with_one_step_and_a_curve_of_no_use() -> None:
    step = PrivacyCurve("pure 1", lambda e: 0.0 if e >= 1 else 1.0)
    for kappa in (0.01, 0.3, 0.36, 0.6, 0.99):
        true = right_guess(PureDP(1.0), kappa)
        assert true <= right_guess(step, kappa) <= 1
    assert right_guess(step, 0.05) < math.e * 0.05 + 1e-6
    assert right_guess(PrivacyCurve("nothing", lambda e: 1.0), 0.05) == 1


# -- concentrated


def passes(rho: float, kappa: float, t: mp.mpf) -> bool:
    """Whether one bit with P = t and Q = κ breaks ρ-zCDP: the definition, over all orders."""
    q = mp.mpf(kappa)

    def excess(log_order: mp.mpf, a: mp.mpf, b: mp.mpf) -> mp.mpf:
        order = 1 + mp.exp(log_order)
        powers = a**order * b ** (1 - order) + (1 - a) ** order * (1 - b) ** (1 - order)
        return mp.log(powers) / (order - 1) / order - rho

    for a, b in ((t, q), (q, t)):
        grid = [mp.mpf(x) / 2 for x in range(-60, 2 * int(12 - math.log(rho) / 2) + 4)]
        best = max(range(len(grid)), key=lambda i: excess(grid[i], a, b))
        low, high = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
        for _ in range(60):
            left, right = low + (high - low) * 0.382, low + (high - low) * 0.618
            low, high = (low, right) if excess(left, a, b) > excess(right, a, b) else (left, high)
        if max(excess(low, a, b), excess(grid[best], a, b)) > 0:
            return True
    return False


@few
@given(st.floats(-9, 1.2).map(lambda x: 10**x), st.one_of(st.floats(1e-80, 0.999), shares))
@example(5.0, 0.001)  # the order that decides is the least, and most orders refuse nothing
@example(20.0, 3e-6)
@example(3.25, 0.0905)
def test_zcdp_is_the_worst_bit_and_no_more(rho: float, kappa: float) -> None:
    kappa = max(kappa, 1e-80)
    got = right_guess(ZCDP(rho), kappa)
    with mp.workdps(50):
        if got < 1:  # a bit beyond the bound breaks the promise, one a little within keeps it
            assert passes(rho, kappa, mp.mpf(got))
        gain = (mp.mpf(got) - kappa) * (1 - mp.mpf(10) ** -9)
        within = kappa + gain - mp.mpf(10) ** -14 * got
        assert within <= kappa or not passes(rho, kappa, within)


@fixed
@given(st.floats(-14, 2).map(lambda x: 10**x), shares)
def test_zcdp_lies_between_what_is_known_of_it(rho: float, kappa: float) -> None:
    got = right_guess(ZCDP(rho), kappa)
    assert right_guess(GaussianLoss(rho), kappa) * (1 - 2e-14) <= got
    assert right_guess(PureDP(math.sqrt(2 * rho)), kappa) * (1 - 2e-14) <= got
    close = 1e-12 if kappa > 1e-12 else 1e-11
    assert got <= right_guess(zcdp_curve(rho), kappa) * (1 + close)


@fixed
@given(st.floats(1e-4, 4), st.floats(0, 0.2), st.floats(1e-9, 1))
def test_what_is_lost_is_lost_first(rho: float, lost: float, kappa: float) -> None:
    loss = ConcentratedLoss(rho, lost)
    got = right_guess(loss, kappa)
    assert right_guess(ZCDP(rho), kappa) * (1 - 1e-12) <= got
    assert got <= right_guess(loss.curve(), kappa) * (1 + 1e-12)
    if lost > 0:  # a release that gives all away with that probability, or else Gaussian noise
        with mp.workdps(30):
            share = min(mp.mpf(1), mp.mpf(kappa) / (1 - mp.mpf(lost)))
            noise = mp.ncdf(quantile(share) + mp.sqrt(2 * mp.mpf(rho))) if share < 1 else 1
            assert lost + (1 - lost) * noise <= got * (1 + mp.mpf(10) ** -15)


# -- all of them


SUBJECTS = [
    lambda x: PureDP(x),
    lambda x: ApproxDP(x, 1e-3),
    lambda x: ZCDP(x),
    lambda x: GaussianLoss(x),
    lambda x: WalkLoss(x, 7),
    lambda x: ConcentratedLoss(x, 1e-3),
    lambda x: zcdp_curve(x),
    lambda x: loss_of(Laplace(x), Geometric(x)),
]


@pytest.mark.parametrize("make", SUBJECTS)
@few
@given(st.floats(1e-3, 3), st.floats(1, 3), shares, shares)
def test_more_noise_and_a_smaller_prior_never_help(make, x, factor, one, other) -> None:
    low, high = sorted((one, other))
    slack = 1 + 1e-7 if make is SUBJECTS[-1] else 1 + 1e-12
    at_low, at_high = right_guess(make(x), low), right_guess(make(x), high)
    assert low <= at_low <= min(1.0, at_high * slack)
    assert at_low <= right_guess(make(x * factor), low) * slack
    assert at_high <= 1
    assert right_guess(make(x), 1) == 1


@pytest.mark.parametrize("make", SUBJECTS)
def test_a_guess_that_is_never_right(make) -> None:
    lost = 1e-3 if make in (SUBJECTS[1], SUBJECTS[5]) else 0.0
    assert lost <= right_guess(make(0.5), 0) <= lost * (1 + 1e-12) + 1e-300


@pytest.mark.parametrize("subject", [PureDP(math.inf), ZCDP(math.inf), GaussianLoss(math.inf)])
@pytest.mark.parametrize("kappa", [0.0, 1e-9, 0.5, 1.0])
def test_no_privacy_is_no_bound(subject, kappa) -> None:
    assert right_guess(subject, kappa) == 1


@pytest.mark.parametrize("subject", [PureDP(0.0), ZCDP(0.0), GaussianLoss(0.0)])
@pytest.mark.parametrize("kappa", [0.0, 1e-9, 0.5, 1.0])
def test_nothing_released_tells_nothing(subject, kappa) -> None:
    assert kappa <= right_guess(subject, kappa) <= kappa * (1 + 1e-14)


@pytest.mark.parametrize("subject", [ZCDP(1e5), ZCDP(799.0), ZCDP(1e-300), ZCDP(200.0)])
@pytest.mark.parametrize("kappa", [5e-324, 1e-101, 1e-99, 1e-50, 0.5, 1 - 2**-53])
def test_concentrated_at_the_ends(subject, kappa) -> None:
    got = right_guess(subject, kappa)
    assert kappa <= got <= 1
    assert right_guess(GaussianLoss(subject.rho), kappa) * (1 - 1e-11) <= got


@pytest.mark.parametrize("kappa", [-0.1, 1.1, math.nan, "0.5", True])
def test_a_share_that_is_none_is_refused(kappa) -> None:
    with pytest.raises(InputError, match="kappa"):
        right_guess(PureDP(1.0), kappa)


def trade_off(subject, alphas: list[float]) -> list[float]:
    """Lower bounds of f: the misses of any test that raises false alarms at these rates."""
    rates = [right_guess(subject, alpha) for alpha in alphas]
    return [down(1 - rate, 1) if rate > 0 else 1.0 for rate in rates]


def test_the_trade_off_curve_is_one() -> None:
    alphas = [0.0, 1e-20, *(i / 20 for i in range(1, 20)), 1.0]
    for make in SUBJECTS:
        f = [1 - right_guess(make(0.4), alpha) for alpha in alphas]
        assert all(0 <= miss <= 1 - alpha for miss, alpha in zip(f, alphas, strict=True))
        assert all(later <= before for before, later in itertools.pairwise(f))
        inner = f[2:-1]
        assert all(a + c >= 2 * b - 1e-6 for a, b, c in zip(inner, inner[1:], inner[2:]))  # noqa: B905
        assert f[-1] == 0
