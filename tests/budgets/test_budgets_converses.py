"""The way back: which ε follows from a bound on beliefs."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import choose
from discreet.budgets import proved_by
from discreet.errors import InputError
from soaking import examples

STABLE = settings(deadline=None, max_examples=examples(60), derandomize=True)


@STABLE
@given(st.floats(0.001, 0.99))
def test_what_a_difference_proves_is_what_it_needs(b: float) -> None:
    """KSZ Corollary 3.8: for every output it is an equivalence."""
    proved = proved_by(difference=b, about="membership")
    assert proved.epsilon == pytest.approx(4 * math.atanh(b), rel=1e-9)
    assert proved.epsilon >= choose(difference=b, about="membership").epsilon


@STABLE
@given(st.floats(1.001, 50))
def test_what_a_ratio_proves_is_what_it_needs(ratio: float) -> None:
    """KSZ Corollary 3.7."""
    proved = proved_by(ratio=ratio, about="membership")
    assert proved.epsilon == pytest.approx(math.log(ratio), rel=1e-6, abs=1e-9)
    assert proved.epsilon >= choose(ratio=ratio, about="membership").epsilon


@STABLE
@given(st.floats(0.01, 2.19), st.floats(0.5, 0.999))
def test_with_a_probability_a_difference_proves_less(epsilon: float, confidence: float) -> None:
    """KSZ Theorem 3.5(2): ε̃ with δ, and ε itself with 2δ."""
    b = float(mp.tanh(mp.mpf(epsilon) / 4))
    proved = proved_by(difference=b, about="membership", confidence=confidence)
    half = mp.exp(mp.mpf(epsilon) / 2)
    tilde = mp.log(3 * half - 1) - mp.log(3 - half)
    assert proved.epsilon == pytest.approx(float(tilde), rel=1e-6)
    assert proved.with_twice_delta == pytest.approx(epsilon, rel=1e-6)
    assert proved.delta == pytest.approx(1 - confidence)


def test_beyond_two_log_three_nothing_is_proved_with_one_delta() -> None:
    b = math.tanh(2 * math.log(3) / 4) + 1e-9
    proved = proved_by(difference=b, about="membership", confidence=0.99)
    assert math.isinf(proved.epsilon)
    assert proved.to_dict()["unbounded"]
    assert "no ε" in proved.text


@STABLE
@given(st.floats(0.1, 3), st.floats(0.01, 0.9), st.floats(1.05, 8))
def test_no_mechanism_that_keeps_the_promise_loses_more(
    epsilon: float, p: float, ratio: float
) -> None:
    """Two-point losses ±ε: where every posterior keeps the ratio at this prior, ε is proved."""
    odds = p / (1 - p)
    high = odds * math.exp(epsilon) / (1 + odds * math.exp(epsilon))
    low = odds * math.exp(-epsilon) / (1 + odds * math.exp(-epsilon))
    keeps = high <= ratio * p * (1 - 1e-9) and low >= p / ratio * (1 + 1e-9)
    proved = proved_by(ratio=ratio, p=p, about="membership")
    if keeps:
        assert epsilon <= proved.epsilon * (1 + 1e-9)


def test_one_side_alone_proves_nothing() -> None:
    assert math.isinf(proved_by(ratio=3, about="membership", sided="one").epsilon)
    one = proved_by(posterior=0.12, p=0.05, about="membership")
    assert math.isinf(one.epsilon)
    assert one.rises == pytest.approx(math.log(0.12 / 0.88) - math.log(0.05 / 0.95), rel=1e-9)
    both = proved_by(posterior=0.12, ratio=3, p=0.05, about="membership")
    assert both.rises <= one.rises
    assert math.isfinite(both.epsilon)


def test_values_under_replace_and_what_is_refused() -> None:
    proved = proved_by(difference=0.2, adjacency="replace")
    assert proved.epsilon == pytest.approx(4 * math.atanh(0.2), rel=1e-9)
    for keys in ({"ratio": 3}, {"ratio": 3, "about": "membership", "related": 2}):
        with pytest.raises(InputError, match="one worry"):
            proved_by(**keys)
