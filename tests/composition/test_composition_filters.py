"""Filters: exact sums, monotone, and what each covers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.composition import filters
from discreet.errors import BudgetExceeded, GuaranteeError, InputError
from discreet.guarantees import ZCDP, ApproxDP, PureDP
from discreet.laws import Exponential, Gaussian

FAST = settings(derandomize=True, deadline=None, max_examples=100)


def test_ten_tenths_fill_a_cap_of_one_and_not_one_more_fits():
    state = filters.pure(1.0)
    for _ in range(10):
        state = filters.spend(state, PureDP(0.1))
    with pytest.raises(BudgetExceeded, match="is left") as caught:
        filters.spend(state, PureDP(1e-12))
    assert caught.value.exit_code == 3


@FAST
@given(st.lists(st.floats(0, 2), max_size=30), st.floats(0, 20))
def test_what_was_spent_never_passes_the_cap_and_never_falls(charges, cap):
    state = filters.basic(cap, 0.0)
    for charge in charges:
        before = state
        try:
            state = filters.spend(state, PureDP(charge))
        except BudgetExceeded:
            assert before.spent[0] + Fraction(repr(charge)) > before.cap[0]
            continue
        assert before.spent[0] <= state.spent[0] <= state.cap[0]
        left = state.left[0]
        filters.spend(state, PureDP(max(0.0, left)))


def test_what_each_rule_charges():
    half, eighth = Fraction(1, 2), Fraction(1, 8)
    assert filters.cost("zcdp", PureDP(1.0)) == (half, 0)
    assert filters.cost("zcdp", Exponential(1.0)) == (eighth, 0)
    assert filters.cost("zcdp", ApproxDP(1.0, 0.25)) == (half, Fraction(1, 4))
    assert filters.cost("zcdp", ZCDP(0.25)) == (Fraction(1, 4), 0)
    assert filters.cost("basic", ApproxDP(1.0, 0.25)) == (1, Fraction(1, 4))
    assert filters.cost("pure", Exponential(1.0)) == (1, 0)


@pytest.mark.parametrize(
    ("kind", "of"),
    [("pure", ApproxDP(1.0, 0.1)), ("pure", ZCDP(0.1)), ("basic", Gaussian(1.0))],
)
def test_what_a_rule_does_not_cover_is_refused(kind, of):
    with pytest.raises(GuaranteeError, match="does not cover"):
        filters.cost(kind, of)


def test_delta_is_capped_too():
    state = filters.spend(filters.zcdp(1.0, 1e-6), ApproxDP(0.5, 1e-6))
    with pytest.raises(BudgetExceeded, match="delta"):
        filters.spend(state, ApproxDP(0.1, 1e-9))


@pytest.mark.parametrize("cap", [float("nan"), -1.0, float("inf")])
def test_caps_are_finite_and_not_negative(cap):
    with pytest.raises(InputError):
        filters.pure(cap)
