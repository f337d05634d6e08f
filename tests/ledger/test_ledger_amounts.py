"""The arithmetic of budgets is exact: checked against fractions, to the last digit."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.ledger import Amount
from discreet.ledger.amounts import exact, float_down, float_up
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(300))
finite = st.floats(min_value=0, allow_nan=False, allow_infinity=False)


def as_printed(x: float) -> Fraction:
    return Fraction(repr(x))


@given(st.lists(finite, min_size=1, max_size=40))
@FAST
def test_sums_are_exact(xs: list[float]) -> None:
    total = Amount.of(epsilon=0.0)
    for x in xs:
        total = total.plus(Amount.of(epsilon=x))
    assert total.epsilon is not None
    assert Fraction(total.epsilon) == sum(map(as_printed, xs))


@given(finite, finite)
@FAST
def test_what_is_left_is_exact_and_never_negative(cap: float, spent: float) -> None:
    left = Amount.of(rho=cap).minus(Amount.of(rho=spent)).rho
    assert left is not None
    assert Fraction(left) == max(0, as_printed(cap) - as_printed(spent))


@given(st.lists(st.floats(min_value=0, max_value=1e12), min_size=1, max_size=8))
@FAST
def test_doubles_at_the_edge_are_the_nearest_on_the_safe_side(xs: list[float]) -> None:
    value = sum((exact(x) for x in xs), Decimal(0))
    above, below = float_up(value), float_down(value)
    assert as_printed(below) <= Fraction(value) <= as_printed(above)
    assert above in (below, math.nextafter(below, math.inf))


@given(finite, st.one_of(st.none(), st.floats(min_value=0, max_value=1)))
@FAST
def test_an_amount_is_stored_as_text_and_read_back(rho: float, delta: float | None) -> None:
    amount = Amount.of(rho=rho, delta=delta)
    assert Amount.restored(json.loads(json.dumps(amount.stored()))) == amount


def test_equal_amounts_are_written_alike() -> None:
    tenth = Amount.of(epsilon=0.1)
    ten = Amount.of(epsilon=0.0)
    for _ in range(10):
        ten = ten.plus(tenth)
    assert ten.stored() == Amount.of(epsilon=1.0).stored() == {"epsilon": "1"}


def test_ten_tenths_are_one_and_nothing_more_fits() -> None:
    cap, tenth = Amount.of(epsilon=1.0), Amount.of(epsilon=0.1)
    assert tenth.times(10).within(cap)
    smallest = Amount.of(epsilon=5e-324)
    assert not tenth.times(10).plus(smallest).within(cap)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, -5e-324, True, "1", 1j])
def test_what_is_not_an_amount_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="epsilon"):
        Amount.of(epsilon=bad)  # type: ignore[arg-type]


def test_a_delta_above_one_is_refused() -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        Amount.of(delta=1.5)
