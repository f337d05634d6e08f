"""cdf and quantile of every noise law, against SciPy and sums at 50 digits."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
import scipy.stats as stats
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.laws import DiscreteGaussian, Gaussian, Geometric, Laplace
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(80))
LAWS = [Laplace(0.3, 2.0), Gaussian(3.0), Geometric(0.4, 3), DiscreteGaussian(2.5)]
probabilities = st.floats(1e-12, 1 - 1e-12)


@FAST
@given(st.floats(-50, 50))
def test_continuous_laws_agree_with_scipy(x):
    assert Laplace(0.3, 2.0).cdf(x) == pytest.approx(stats.laplace.cdf(x, scale=2 / 0.3), rel=1e-12)
    assert Gaussian(3.0).cdf(x) == pytest.approx(stats.norm.cdf(x, scale=3.0), rel=1e-11)


@FAST
@given(probabilities)
def test_continuous_quantiles_agree_with_scipy(prob):
    near = {"rel": 1e-10, "abs": 1e-10}
    expected = stats.laplace.ppf(prob, scale=2 / 0.3)
    assert Laplace(0.3, 2.0).quantile(prob) == pytest.approx(expected, **near)
    assert Gaussian(3.0).quantile(prob) == pytest.approx(stats.norm.ppf(prob, scale=3.0), **near)


def _exact(law, n):
    """The probability of one value, up to a constant, at 50 digits."""
    if isinstance(law, Geometric):
        return mp.exp(-mp.mpf(law.epsilon) / law.sensitivity * abs(n))
    return mp.exp(-(mp.mpf(n) ** 2) / (2 * mp.mpf(law.sigma) ** 2))


@pytest.mark.parametrize("law", LAWS[2:], ids=repr)
@pytest.mark.parametrize("x", [-12, -3.5, -1, 0, 0.999, 1, 7.2, 20])
def test_discrete_laws_agree_with_their_sums(law, x):
    with mp.workdps(50):
        weights = {n: _exact(law, n) for n in range(-900, 901)}
        true = mp.fsum(w for n, w in weights.items() if n <= x) / mp.fsum(weights.values())
    assert law.cdf(x) == pytest.approx(float(true), rel=1e-12)


@FAST
@given(st.sampled_from(LAWS[2:]), probabilities)
def test_a_discrete_quantile_is_the_first_value_that_suffices(law, prob):
    x = law.quantile(prob)
    assert isinstance(x, int)
    assert law.cdf(x) >= prob > law.cdf(x - 1)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_quantiles_mirror_and_refuse(law):
    assert law.quantile(0.5) == 0
    assert law.quantile(0.025) == pytest.approx(-law.quantile(0.975), abs=1e-9)
    for prob in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(InputError, match="prob"):
            law.quantile(prob)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 30.0])
def test_geometric_quantiles_at_extreme_budgets(epsilon):
    law = Geometric(epsilon)
    for prob in (1e-300, 1e-9, 0.3, 0.5, 0.7, 1 - 1e-9):
        x = law.quantile(prob)
        assert law.cdf(x) >= prob > law.cdf(x - 1)
