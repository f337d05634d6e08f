"""Numerical methods: the safe end of a bracket, minima, normal quantiles, floats beside exact."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import numerics
from soaking import examples

STEADY = settings(derandomize=True, deadline=None, max_examples=examples(200))


@STEADY
@given(st.floats(1e-300, 1e300), st.booleans())
def test_a_bracket_ends_beside_the_root_on_the_side_that_holds(root: float, below: bool) -> None:
    def holds(x: float) -> bool:
        return x <= root if below else x >= root

    ends = (0.0, 8e307) if below else (8e307, 0.0)
    kept, broken = numerics.bracket(holds, *ends)
    assert holds(kept)
    assert not holds(broken)
    assert math.nextafter(kept, broken) == broken


def test_a_bracket_stops_where_it_is_told_to() -> None:
    kept, broken = numerics.bracket(lambda x: x < 0.3, 0.0, 1.0, relative=0.1)
    assert 0 < broken - kept <= 0.1 * broken
    kept, broken = numerics.bracket(lambda x: x < 0.3, 0.0, 1.0, halvings=3)
    assert (kept, broken) == (0.25, 0.375)
    kept, broken = numerics.bracket(lambda x: x <= 0, 0.0, 1.0, relative=0.1, least=0.5)
    assert broken <= 0.05


@STEADY
@given(st.floats(1e-6, 1e6), st.floats(0.2, 5))
def test_narrowing_takes_no_more_steps_than_bisection(root: float, power: float) -> None:
    calls = []

    def at(x: float) -> float:
        calls.append(x)
        return x**power - root**power

    low, high = (0.0, at(0.0)), (2 * root, at(2 * root))
    place, found = numerics.narrow(at, lambda value: value, low, high)
    assert found <= 0 < at(place * (1 + 1e-14) + 1e-300)
    assert len(calls) <= 60


@STEADY
@given(st.floats(1e-300, 0.5))
def test_the_normal_quantile_against_mpmath(level: float) -> None:
    with mp.workdps(40):
        x = mp.mpf(numerics.upper_normal(level))
        tail = mp.erfc(x / mp.sqrt(2)) / 2
        assert abs(mp.log(tail) - mp.log(mp.mpf(level))) < mp.mpf("1e-12") * (1 + x * x)


def test_a_level_of_nothing_is_far_out() -> None:
    assert numerics.upper_normal(0.0) == 40.0


@STEADY
@given(st.fractions(min_value=0, max_value=1000))
def test_floats_on_both_sides_of_a_fraction(x: Fraction) -> None:
    low, high = numerics.float_down(x), numerics.float_up(x)
    assert Fraction(repr(low)) <= x <= Fraction(repr(high))
    assert high in (low, math.nextafter(low, math.inf))


@pytest.mark.parametrize("x", ["0.01", "2", "1e-300", "0.30000000000000000001", "4"])
def test_a_square_root_from_below(x: str) -> None:
    root = numerics.root_down(Decimal(x))
    assert Fraction(repr(root)) ** 2 <= Fraction(x)
    assert Fraction(repr(math.nextafter(root, 1e9))) ** 2 > Fraction(x)


@STEADY
@given(
    st.integers(-1000, 1000), st.integers(-1000, 1000), st.one_of(st.none(), st.floats(-2e3, 2e3))
)
def test_the_last_whole_number_at_which_a_condition_holds(a, b, guess) -> None:
    last, low = max(a, b), min(a, b)
    tried: list[int] = []

    def holds(n: int) -> bool:
        tried.append(n)
        return n <= last

    assert numerics.last_whole(holds, low, last + 50, guess) == last
    assert all(low <= n < last + 50 for n in tried)


@STEADY
@given(
    st.integers(1, 30_000),
    st.sampled_from(["root", "line", "log", "step", "cliff", "flat", "inverse"]),
    st.integers(1, 40_000),
)
def test_the_first_number_above_is_found_whatever_the_way_there(first, way, most) -> None:
    tried = []

    def excess(n: int) -> float:
        tried.append(n)
        at = first - 0.5
        return {
            "root": math.sqrt(n) - math.sqrt(at),
            "line": n - at,
            "log": math.log(n / at),
            "step": 1e-9 if n > at else -1e9,
            "cliff": math.inf if n > at else -math.inf,
            "flat": 1e-300 if n > at else 0.0,
            "inverse": 1 / at - 1 / n,
        }[way]

    assert numerics.first_above(excess, most) == (first if first <= most else None)
    assert len(tried) <= 75
    assert max(tried) <= max(most, 1)


@STEADY
@given(st.floats(0.05, 0.95), st.floats(0.01, 0.99), st.floats(1, 6))
def test_a_hint_does_not_change_what_is_lowest_between(place, hint, power) -> None:
    def f(x: float) -> float:
        return abs(x - place) ** power + 1

    assert numerics.lowest_between(f, 0.0, 1.0, hint=hint)[1] == pytest.approx(1, abs=1e-7)


def test_newton_stays_inside_its_bracket() -> None:
    """From far right of the root of a steep function the first step would pass 0."""
    found = numerics.newton(lambda x: (x**4 - 16, 4 * x**3), 0.5, near=1e-15)
    assert found == pytest.approx(2.0, rel=1e-12)
    found = numerics.newton(
        lambda x: (x - 100 * (1 - math.exp(x / 100)) - 1e-3, 1 + math.exp(x / 100)), 400.0
    )
    assert 0 < found < 1e-3
    flat = numerics.newton(lambda x: (x - 3, 0.0), 1.0, near=1e-9, width=1e-9)
    assert flat == pytest.approx(3.0, rel=1e-8)


def test_settle_goes_up_until_it_holds() -> None:
    assert numerics.settle(lambda x: 1 / x, 0.5, 2.0) == 2.0
    assert 2.0 <= numerics.settle(lambda x: 1 / x, 0.5, 1.9) < 2.2


@STEADY
@given(st.fractions(min_value=0, max_value=10**6))
def test_a_double_above_is_the_nearest_or_the_next(x: Fraction) -> None:
    found = numerics.double_above(x)
    assert Fraction(math.nextafter(found, -math.inf)) < x <= Fraction(found)
