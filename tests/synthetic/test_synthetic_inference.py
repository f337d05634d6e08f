"""The analyst's posterior and the utility: brute force, quadrature, and the MCMC of Appendix B."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betainc

from discreet.errors import InputError
from discreet.numerics import incomplete_beta
from discreet.synthetic import Synthesizer, posterior, utility
from discreet.synthetic.cells import Cells
from discreet.synthetic.files import SyntheticFile
from soaking import examples

CHECK = settings(derandomize=True, deadline=None, max_examples=examples(60))


def exact_weights(s, drawn, n, alpha, beta, a, b):
    with mpmath.workdps(40):
        raw = [
            mpmath.binomial(n, x)
            * mpmath.beta(x + a, n - x + b)
            * (x + mpmath.mpf(alpha)) ** s
            * (n - x + mpmath.mpf(beta)) ** (drawn - s)
            for x in range(n + 1)
        ]
        total = mpmath.fsum(raw)
        return [float(value / total) for value in raw]


@CHECK
@given(
    n=st.integers(1, 25),
    drawn=st.integers(1, 25),
    share=st.floats(0, 1),
    epsilon=st.floats(0.01, 300),
    a=st.floats(0.2, 4),
    b=st.floats(0.2, 4),
    at=st.floats(0.01, 0.99),
)
def test_mixture_against_mpmath(n, drawn, share, epsilon, a, b, at):
    s = round(share * drawn)
    law = Synthesizer.of(epsilon, n_synthetic=drawn)
    found = posterior([drawn - s, s], n=n, synthesizer=law, prior=(a, b))
    weights = exact_weights(s, drawn, n, float(law.alpha), float(law.alpha), a, b)
    x = np.arange(n + 1)
    mean = float(weights @ ((x + a) / (n + a + b)))
    assert found.mean == pytest.approx(mean, rel=1e-10)
    laws = stats.beta(x + a, n - x + b)
    second = float(weights @ (laws.var() + (laws.mean() - at) ** 2))
    assert found.squared_error(at) == pytest.approx(second, rel=1e-9)
    assert found.cdf(at) == pytest.approx(float(weights @ laws.cdf(at)), abs=1e-10)


def test_interval_holds_its_probability():
    found = posterior([700, 300], n=1000, epsilon=50)
    for confidence in (0.5, 0.95, 0.999):
        low, high = found.interval(confidence)
        held = found.cdf(high) - found.cdf(low)
        assert confidence <= held < confidence + 1e-6
        assert found.cdf(low) <= (1 - confidence) / 2
    assert found.cdf(0) == 0.0
    assert found.cdf(1) == 1.0
    described = found.to_dict(0.9)
    assert described["interval"]["lower"] < described["mean"] < described["interval"]["upper"]


@CHECK
@given(a=st.floats(0.1, 5000), b=st.floats(0.1, 5000), z=st.floats(-5, 5))
def test_incomplete_beta_against_scipy(a, b, z):
    mean = a / (a + b)
    p = mean + z * math.sqrt(mean * (1 - mean) / (a + b + 1))
    if 1e-9 < p < 1 - 1e-9:
        assert incomplete_beta(p, a, b) == pytest.approx(betainc(a, b, p), abs=1e-9)


def compositions(total, cells):
    return [c for c in product(range(total + 1), repeat=cells) if sum(c) == total]


def test_cell_of_many_is_exact_given_its_own_count():
    """Enumerate every original table and file of a small problem, and condition on one count."""
    n, drawn, cells = 4, 3, 3
    law = Synthesizer.of(2.5, n_synthetic=drawn, cells=cells)
    alpha = float(law.alpha)
    for hits in range(drawn + 1):
        mass = np.zeros(n + 1)
        for x in compositions(n, cells):
            # A uniform Dirichlet prior makes every table of n records equally likely.
            theta = (np.array(x) + alpha) / (n + cells * alpha)
            mass[x[0]] += stats.binom.pmf(hits, drawn, theta[0])
        mass /= mass.sum()
        expected = float(mass @ ((np.arange(n + 1) + 1) / (n + cells)))
        file = [hits, drawn - hits, 0]
        found = posterior(file, n=n, cell=0, synthesizer=law, prior=(1, 2))
        assert found.mean == pytest.approx(expected, rel=1e-10)


def test_set_of_cells_is_exact_given_its_count():
    """The same enumeration for two cells of four: their share against the rest."""
    n, drawn, cells = 3, 3, 4
    law = Synthesizer.of(3.0, n_synthetic=drawn, cells=cells)
    alpha = float(law.alpha)
    for hits in range(drawn + 1):
        mass = np.zeros(n + 1)
        for x in compositions(n, cells):
            theta = (x[1] + x[3] + 2 * alpha) / (n + cells * alpha)
            mass[x[1] + x[3]] += stats.binom.pmf(hits, drawn, theta)
        mass /= mass.sum()
        expected = float(mass @ ((np.arange(n + 1) + 2) / (n + cells)))
        file = [drawn - hits, 0, 0, hits]
        found = posterior(file, n=n, cell=[3, 1], synthesizer=law, prior=(2, 2))
        assert found.mean == pytest.approx(expected, rel=1e-10)


DESIGNS = [
    (8000, 500, 2.99, (4, 8), 8),
    (2000, 200, 4.0, (4, 12), 12),
    (20000, 200, 4.0, (2, 4), 4),
]


@pytest.mark.parametrize(("n", "drawn", "epsilon", "levels", "k"), DESIGNS)
@pytest.mark.parametrize("single", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_intervals_of_shares_hold_the_truth_as_often_as_they_say(
    n, drawn, epsilon, levels, k, single
):
    """Added up over every file, so nothing is left to chance: at least 92 % for 95 % intervals.

    With one record in each cell as the prior, 25 files of the first design covered 17 times.
    """
    cells = Cells.of({"a": list("abcd")[: levels[0]], "b": [str(i) for i in range(levels[1])]})
    size = math.prod(levels)
    law = Synthesizer.of(epsilon, n_synthetic=drawn, cells=size)
    where = {"a": "a", "b": "0"} if single else {"a": "a"}
    k = 1 if single else k
    assert len(cells.select(where)) == k
    alpha, x = float(law.alpha), np.arange(n + 1)
    assert size * alpha / (n + size * alpha) < 0.55
    theta = (x + k * alpha) / (n + size * alpha)
    posteriors = []
    for hits in range(drawn + 1):
        counts = np.zeros(size, dtype=np.int64)
        counts[0], counts[-1] = hits, drawn - hits
        posteriors.append(SyntheticFile(cells, counts, law, n).share(where))
    for truth in (0.001, 0.01, 0.03, 0.0751, 0.25, 0.5, 0.8):
        of_original = stats.binom.pmf(x, n, truth)
        likely = np.flatnonzero(of_original > 1e-12)
        held = 0.0
        for hits, found in enumerate(posteriors):
            chance = of_original[likely] @ stats.binom.pmf(hits, drawn, theta[likely])
            if chance > 1e-9 and 0.025 <= found.cdf(truth) <= 0.975:
                held += chance
        assert 0.92 < held <= 1


def test_utility_of_the_paper_is_in_its_range():
    """M&R report 2 to 2.7 at ε = .01 and .25 to 1.1 at ε = 2, for n = n_s = 1000, p0 = .5."""
    rng = np.random.default_rng(5)
    for epsilon, low, high in [(0.01, 1.9, 2.8), (2, 0.1, 1.4)]:
        law = Synthesizer.of(epsilon, n_synthetic=1000)
        alpha = float(law.alpha)
        for _ in range(10):
            x = int(rng.binomial(1000, 0.5))
            s = int(rng.binomial(1000, (x + alpha) / (1000 + 2 * alpha)))
            u = utility([1000 - x, x], [1000 - s, s], p0=0.5, epsilon=epsilon, prior=(1, 1))
            assert low < u < high


def mcmc(s, drawn, n, alpha, steps, rng):
    """Appendix B: random-walk Metropolis on X, then Beta for p. Returns E[p] and E[p²]."""
    x, p = int(rng.integers(n + 1)), rng.random()
    walk = rng.random((steps, 2))
    log_beta_draws = np.empty(steps)

    def log_target(value, share):
        theta = (value + alpha) / (n + 2 * alpha)
        return (
            s * math.log(theta)
            + (drawn - s) * math.log(1 - theta)
            + math.lgamma(n + 1)
            - math.lgamma(value + 1)
            - math.lgamma(n - value + 1)
            + value * math.log(share)
            + (n - value) * math.log1p(-share)
        )

    for i in range(steps):
        if x == 0 or x == n:
            proposed = 1 if x == 0 else n - 1
        else:
            proposed = x + (1 if walk[i, 0] < 0.5 else -1)
        forth = 1.0 if x in (0, n) else 0.5
        back = 1.0 if proposed in (0, n) else 0.5
        ratio = log_target(proposed, p) - log_target(x, p) + math.log(back / forth)
        if math.log(walk[i, 1]) < ratio:
            x = proposed
        p = min(max(rng.beta(x + 1, n - x + 1), 1e-12), 1 - 1e-12)
        log_beta_draws[i] = p
    return log_beta_draws


@pytest.mark.slow
def test_the_sampler_of_appendix_b_agrees():
    """Fixed seed, so it cannot flake; the tolerance is 6 batch standard errors of the chain."""
    n = drawn = 40
    law = Synthesizer.of(8.0, n_synthetic=drawn)
    found = posterior([27, 13], n=n, synthesizer=law, prior=(1, 1))
    draws = mcmc(13, drawn, n, float(law.alpha), 60_000, np.random.default_rng(11))[2_000:]
    batches = draws[: len(draws) // 50 * 50].reshape(50, -1).mean(axis=1)
    error = batches.std(ddof=1) / math.sqrt(50)
    assert error < 0.01
    assert abs(draws.mean() - found.mean) < 6 * error
    assert draws.std() == pytest.approx(found.sd, rel=0.1)


def test_more_budget_tells_more():
    spread = [posterior([500, 500], n=1000, epsilon=e).sd for e in (0.1, 1, 10, 100, 1000)]
    assert spread == sorted(spread, reverse=True)
    centre = posterior([600, 400], n=1000, epsilon=1000).mean
    assert centre == pytest.approx(0.4, abs=0.01)


def test_bad_input():
    with pytest.raises(InputError, match="cells; say which"):
        posterior([1, 2, 3], n=10, epsilon=1)
    with pytest.raises(InputError, match="cell is 3"):
        posterior([1, 2, 3], n=10, cell=3, epsilon=1)
    for none_or_all in ([], [0, 1, 2]):
        with pytest.raises(InputError, match="some of the cells"):
            posterior([1, 2, 3], n=10, cell=none_or_all, epsilon=1)
    with pytest.raises(InputError, match="prior"):
        posterior([1, 2], n=10, epsilon=1, prior=(0, 1))
    with pytest.raises(InputError, match="n is 0"):
        posterior([1, 2], n=0, epsilon=1)
    with pytest.raises(InputError, match="confidence"):
        posterior([1, 2], n=10, epsilon=1).interval(1.0)
    with pytest.raises(InputError, match="p0"):
        utility([5, 5], [4, 6], p0=math.nan, epsilon=1)
    with pytest.raises(InputError, match="NaN"):
        posterior([1, 2], n=10, epsilon=1).cdf(math.nan)
