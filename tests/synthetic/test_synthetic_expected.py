"""The expected increase in risk, against a plain double loop."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.synthetic import expected_risk_increase
from discreet.synthetic.law import beta_binomial, binomial, log_choose

CHECK = settings(derandomize=True, deadline=None, max_examples=60)


def double_loop(p0, epsilon, n, drawn, w):
    """(6) and (7) as printed, at forty digits."""
    with mpmath.workdps(40):
        alpha = 1 / mpmath.expm1(mpmath.mpf(epsilon) / drawn)

        def pmf(k, size, p):
            return mpmath.binomial(size, k) * p**k * (1 - p) ** (size - k)

        total = mpmath.mpf(0)
        for x in range(n + 1):
            px = pmf(x, n, mpmath.mpf(p0))
            theta = (x + alpha) / (n + 2 * alpha)
            other = (x + 1 if x == 0 else x - 1) + alpha
            other /= n + 2 * alpha
            for k in range(drawn + 1):
                truth, rival = pmf(k, drawn, theta), pmf(k, drawn, other)
                r = w * truth / (w * truth + (1 - w) * rival)
                total += max(r - w, 0) * truth * px
        return float(total)


@CHECK
@given(
    p0=st.floats(0, 1),
    epsilon=st.floats(1e-3, 200),
    n=st.integers(1, 12),
    drawn=st.integers(1, 12),
    w=st.floats(0.01, 0.99),
)
def test_against_the_double_loop(p0, epsilon, n, drawn, w):
    found = expected_risk_increase(p0, epsilon=epsilon, n=n, n_synthetic=drawn, prior=w)
    assert found == pytest.approx(double_loop(p0, epsilon, n, drawn, w), rel=1e-9, abs=1e-18)


@pytest.mark.slow
def test_where_terms_are_left_out():
    """Large enough that the runs of terms are cut, and still every digit of the double loop."""
    _, mass = binomial(130, 0.02)
    assert len(mass) < 131
    found = expected_risk_increase(0.02, epsilon=30, n=130, n_synthetic=150)
    assert found == pytest.approx(double_loop(0.02, 30, 130, 150, mpmath.mpf(0.5)), rel=1e-10)


def test_tiny_budgets_keep_their_digits():
    """ER is proportional to ε as ε falls: no cancellation at 1e-100."""
    small = expected_risk_increase(0.3, epsilon=1e-9, n=50)
    smaller = expected_risk_increase(0.3, epsilon=1e-100, n=50)
    assert smaller / 1e-100 == pytest.approx(small / 1e-9, rel=1e-6)


def test_large_n_is_affordable():
    assert 0 < expected_risk_increase(0.5, epsilon=10, n=20_000) < 0.005


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"p0": math.nan}, "p0"),
        ({"p0": 1.2}, "p0"),
        ({"epsilon": 0.0}, "above 0"),
        ({"epsilon": 1e-320}, "overflows"),
        ({"n": 0}, "n is 0"),
        ({"n_synthetic": 0}, "n_synthetic"),
        ({"prior": 1.0}, "prior"),
    ],
)
def test_bad_input(values, words):
    asked = {"p0": 0.5, "epsilon": 1.0, "n": 10} | values
    with pytest.raises(InputError, match=words):
        expected_risk_increase(asked.pop("p0"), **asked)


@CHECK
@given(n=st.integers(1, 3000), p=st.floats(1e-6, 1 - 1e-6))
def test_binomial_against_mpmath(n, p):
    first, mass = binomial(n, p)
    assert mass.sum() == pytest.approx(1, abs=1e-12)
    with mpmath.workdps(40):
        exact = mpmath.mpf(p)
        for i in {0, len(mass) // 2, len(mass) - 1, int(mass.argmax())}:
            k = first + i
            expected = mpmath.binomial(n, k) * exact**k * (1 - exact) ** (n - k)
            if expected > 1e-20:
                assert mass[i] == pytest.approx(float(expected), rel=1e-10)


def test_beta_binomial_and_choose_against_mpmath():
    with mpmath.workdps(40):
        found = beta_binomial(30, 0.5, 2.5)
        exact = [
            mpmath.log(mpmath.binomial(30, k) * mpmath.beta(k + 0.5, 30 - k + 2.5))
            for k in range(31)
        ]
        for k in range(31):
            assert found[k] - found[0] == pytest.approx(float(exact[k] - exact[0]), abs=1e-11)
        chosen = log_choose(1000, 480, 520)
        for k in range(480, 521):
            ratio = mpmath.log(mpmath.binomial(1000, k) / mpmath.binomial(1000, 480))
            assert chosen[k - 480] - chosen[0] == pytest.approx(float(ratio), abs=1e-12)
