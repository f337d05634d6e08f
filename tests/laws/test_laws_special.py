"""Normal tails and binomial probabilities against mpmath."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.numerics import log_binomial, log_normal_tail, mills, mills_fall
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(150))


def _mills(x: float) -> mp.mpf:
    with mp.workdps(50):
        return mp.erfc(mp.mpf(x) / mp.sqrt(2)) / 2 / mp.npdf(mp.mpf(x))


@FAST
@given(st.floats(-30, 200))
def test_mills_ratio_keeps_thirteen_digits(x):
    with mp.workdps(50):
        assert abs(mp.mpf(mills(x)) / _mills(x) - 1) < 1e-13


@FAST
@given(st.floats(-30, 200))
def test_gap_keeps_its_digits_where_one_minus_x_mills_would_not(x):
    with mp.workdps(50):
        true = 1 - mp.mpf(x) * _mills(x)
        assert abs(mp.mpf(mills_fall(x)) / true - 1) < 2e-13


@FAST
@given(st.floats(-35, 1000))
def test_log_tail_neither_underflows_nor_loses_digits(x):
    with mp.workdps(320):
        true = mp.log(mp.erfc(mp.mpf(x) / mp.sqrt(2)) / 2)
        assert abs(mp.mpf(log_normal_tail(x)) - true) <= 1e-12 * abs(true) + mp.mpf(10) ** -300


@FAST
@given(
    st.integers(1, 1_000_000),
    st.floats(0, 1),
    st.floats(-6, 1.7).map(lambda t: 10.0**t),
)
def test_binomial_probabilities_for_up_to_a_million_trials(n, share, epsilon):
    q = math.exp(-epsilon) / (1 + math.exp(-epsilon))
    x = round(share * n)
    found = float(log_binomial(n, np.array([float(x)]), q, 1 - q)[0])
    with mp.workdps(50):
        q_ = mp.mpf(q)
        true = mp.log(mp.binomial(n, x)) + x * mp.log(q_) + (n - x) * mp.log(1 - q_)
        # the margin that the walk adds before it uses them
        allowed = 2.0**-53 * (64 + 8 * abs(found) + 8 * abs(x - n * q))
        assert abs(mp.mpf(found) - true) <= allowed


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 100, 5000])
def test_binomial_probabilities_add_up_to_one(n):
    x = np.arange(n + 1, dtype=float)
    assert np.exp(log_binomial(n, x, 0.3, 0.7)).sum() == pytest.approx(1, abs=1e-13)
