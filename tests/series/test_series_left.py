"""Releases left under a cap, and advice on δ."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import ZCDP, ApproxDP, PureDP
from discreet.series import advice_on_delta, releases_left
from soaking import examples

amounts = st.decimals("0.001", "1", places=3).map(float)


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(amounts, st.decimals("1", "20", places=2).map(float), amounts)
def test_one_more_would_not_fit(each: float, cap: float, spent: float) -> None:
    left = releases_left(PureDP(cap), PureDP(each), PureDP(spent))
    assert left is not None
    exact = [Fraction(repr(x)) for x in (each, cap, spent)]
    assert left * exact[0] + exact[2] <= exact[1] or left == 0
    assert (left + 1) * exact[0] + exact[2] > exact[1]


def test_ten_tenths_fit() -> None:
    assert (
        releases_left(PureDP(1.0), PureDP(0.1)) == 10
    )  # 0.1 added ten times is not 1.0 in doubles
    assert releases_left(ApproxDP(1.0, 1e-6), ApproxDP(0.1, 3e-7)) == 3
    assert releases_left(ZCDP(0.5), ZCDP(0.01), ZCDP(0.2)) == 30
    assert releases_left(PureDP(1.0), PureDP(0.1), PureDP(2.0)) == 0
    assert releases_left(PureDP(1.0), PureDP(0.0)) is None
    assert releases_left(ApproxDP(1.0, 1e-6), PureDP(0.25)) == 4


def test_what_a_cap_does_not_count_is_refused() -> None:
    with pytest.raises(GuaranteeError, match="does not count"):
        releases_left(PureDP(1.0), ApproxDP(0.1, 1e-6))
    with pytest.raises(GuaranteeError, match="does not count"):
        releases_left(PureDP(1.0), ZCDP(0.1))
    with pytest.raises(GuaranteeError, match="adjacencies"):
        releases_left(PureDP(1.0), PureDP(0.1, adjacency="replace"))


def test_advice_on_delta() -> None:
    assert advice_on_delta(1_000, 1e-3).verdict == "too large"
    assert advice_on_delta(1_000, 1e-4).verdict == "large"
    assert advice_on_delta(1_000, 1e-7).verdict == "small enough"
    assert advice_on_delta(1_000, 0.0).verdict == "none"
    assert advice_on_delta(2_000, 1e-3).exposed == 2.0
    assert advice_on_delta(1_000_000, 1e-9).to_dict()["sources"]
    with pytest.raises(InputError, match="people is"):
        advice_on_delta(0, 1e-6)
