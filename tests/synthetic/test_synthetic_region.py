"""The acceptable region: what its parser reads, what it refuses, and its exact intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import FormulaError, InputError
from discreet.synthetic import Region
from discreet.synthetic.assessment import reachable
from soaking import examples

CHECK = settings(derandomize=True, deadline=None, max_examples=examples(200))
PAPER = "RR <= 10 if R <= 0.1; RR <= 1.05 if R >= 0.9"


@pytest.mark.parametrize(
    ("R", "RR", "inside"),
    [
        (0.05, 10.0, True),
        (0.05, 10.1, False),
        (0.5, 100.0, True),
        (0.95, 1.05, True),
        (0.95, 1.06, False),
        (0.9, 1.06, False),
        (0.1, 11.0, False),
    ],
)
def test_the_example_of_the_paper(R, RR, inside):
    assert Region.parse(PAPER).contains(R, RR) is inside
    assert Region.parse(PAPER.replace("<=", "≤").replace(">=", "≥")).contains(R, RR) is inside


def test_what_rules_may_say():
    region = Region.parse("RR < 2 and R < 0.8\nRR <= 5 - 4*R if 0.2 < R <= 0.6; -R/2 >= -0.45")
    assert region.contains(0.3, 1.9)
    assert not region.contains(0.3, 2.0)
    assert not region.contains(0.85, 1.0)
    sloped = Region.parse("RR <= 3 - 2*R if 0.2 < R <= 0.6")
    assert sloped.contains(0.5, 2.0)
    assert not sloped.contains(0.5, 2.01)
    assert sloped.contains(0.2, 9.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";;",
        "RR",
        "RR <= ",
        "RR = 3",
        "RR == 3",
        "RR != 3",
        "R*RR <= 1",
        "RR/R <= 2",
        "RR ** 2 <= 2",
        "1 <= 2",
        "R/0 <= 1",
        "S <= 1",
        "__import__('os').system('true') <= 1",
        "(lambda: 1)() <= R",
        "R.real <= 1",
        "R[0] <= 1",
        "RR <= 10 or R <= 1",
        "not R <= 1",
        "RR <= 10 if R <= 0.1 if R <= 0.2",
        "R <= True",
        "R <= 'a'",
        "R <= 1e400",
        "R <= " + "9" * 400,
        "R <= 1" + "+1" * 3000,
        "RR <= 1j",
        "\0",
        "(" * 300,
        "R <= 1" + "+1" * 1900,
        "R <= " + "-" * 1500 + "1",
        "RR <= 1e308*10",
        "RR*1e200*1e200 <= 1",
        "RR <= 9e307*R - -9e307*R*9",
    ],
)
def test_anything_else_is_refused_in_one_sentence(text):
    with pytest.raises(FormulaError) as caught:
        Region.parse(text)
    assert "\n" not in str(caught.value)
    assert "system" not in str(caught.value)


def test_thresholds():
    region = Region.thresholds(absolute=0.3, relative=2.0)
    assert region.contains(0.3, 2.0)
    assert not region.contains(0.31, 1.0)
    assert not region.contains(0.1, 2.1)
    for bad in ({}, {"absolute": math.nan}, {"absolute": 1.5}, {"relative": 0.5}):
        with pytest.raises(InputError):
            Region.thresholds(**bad)


def test_the_rules_stay_secret():
    assert "10" not in repr(Region.parse(PAPER))
    assert "1.05" not in str(Region.parse(PAPER))


REGIONS = [
    PAPER,
    "R <= 0.3 and RR <= 2",
    "RR < 1.2",
    "RR <= 3 - 2*R",
    "R > 0.05 if RR < 0.9; RR <= 4 if 0.1 <= R <= 0.2",
    "R >= 0.2; R < 0.9",
]


@CHECK
@given(
    shift=st.floats(-8, 8),
    text=st.sampled_from(REGIONS),
    low=st.floats(0, 0.6),
    width=st.floats(0.01, 0.4),
)
def test_intervals_hold_exactly_the_priors_that_break_a_rule(shift, text, low, width):
    region = Region.parse(text)
    high = min(1.0, low + width)
    intervals = region.outside(np.array([shift]), low, high)[0]
    w = np.linspace(low, high, 4001)[1:-1]
    odds = np.log(w) - np.log1p(-w) + shift
    absolute = 1 / (1 + np.exp(-odds))
    broken = ~region.contains(absolute, absolute / w)
    covered = np.zeros(w.shape, dtype=bool)
    near = np.zeros(w.shape, dtype=bool)
    for a, b in intervals:
        assert low <= a <= b <= high
        covered |= (w >= a) & (w <= b)
        near |= (np.abs(w - a) < 1e-9) | (np.abs(w - b) < 1e-9)
    np.testing.assert_array_equal(broken[~near], covered[~near])


def test_a_narrow_violation_that_a_grid_would_miss():
    """RR ≤ 4 fails only while R lies in a sliver; 1,000 equally spaced priors step over it."""
    region = Region.parse("RR <= 4 if 0.30001 <= R <= 0.30002")
    shift = np.array([math.log(8.0)])
    w = np.linspace(0, 1, 1002)[1:-1]
    absolute = 8 * w / (1 - w + 8 * w)
    assert region.contains(absolute, absolute / w).all()
    ((low, high),) = region.outside(shift)[0]
    assert low < high
    middle = (low + high) / 2
    R = 8 * middle / (1 + 7 * middle)
    assert 0.30001 <= R <= 0.30002


def test_borders_and_extremes():
    nothing = np.array([0.0])
    assert Region.parse("RR <= 1").outside(nothing) == [[]]
    assert Region.parse("RR < 1").outside(nothing) == [[(0.0, 1.0)]]
    # The supremum of RR over all priors is e^Λ, which no prior attains.
    shift = np.array([math.log(2.0)])
    assert Region.parse("RR <= 2.000001").outside(shift) == [[]]
    assert Region.parse("RR <= 1.999999").outside(shift) != [[]]
    # An empty cell is never outside; a certain one is.
    extremes = np.array([math.nan, math.inf, -math.inf, 5000.0])
    found = Region.thresholds(absolute=0.5).outside(extremes, 0.01, 0.02)
    assert found == [[], [(0.01, 0.02)], [], [(0.01, 0.02)]]
    for low, high in [(0.5, 0.5), (0.6, 0.5), (-0.1, 0.5), (0.5, 1.1), (math.nan, 1)]:
        with pytest.raises(InputError, match="priors run"):
            Region.parse("R <= 1").outside(shift, low, high)


def test_rounding_does_not_accept():
    """A record a hair above the limit by less than the rounding of Λ is judged outside."""
    shift = np.array([math.log(2.0)])
    exact = 2 / (1 + 0.25)
    region = Region.thresholds(relative=exact)
    assert region.outside(shift, 0.25, 0.9) != [[]]


def _rules(draw: st.DrawFn) -> str:
    number = st.floats(-3, 3).map(lambda x: round(x, 2))
    rules = []
    for _ in range(draw(st.integers(1, 3))):
        a, c, slope = draw(number), draw(number), draw(st.sampled_from([0.0, 1.0, -2.0]))
        limit = abs(c) + 1.01
        rule = f"RR {draw(st.sampled_from(['<=', '<']))} {limit} + {slope}*R"
        if draw(st.booleans()):
            rule += f" if R {draw(st.sampled_from(['<=', '>=', '<', '>']))} {abs(a) / 3}"
        rules.append(rule)
    if draw(st.booleans()):
        rules.append(f"R <= {draw(st.floats(0.5, 1))}")
    return "; ".join(rules)


@CHECK
@given(st.composite(_rules)(), st.floats(0.01, 4), st.floats(0, 0.4), st.floats(0.5, 1))
def test_what_no_file_can_leave(text, epsilon, low, high):
    """Against points of the definition: R from the odds, RR = R/w, nothing of polygons."""
    region = Region.parse(text)
    w = np.linspace(low, high, 41)[:, None].clip(1e-9, 1 - 1e-9)
    odds = w / (1 - w) * np.exp(np.linspace(-epsilon, epsilon, 31))[None, :]
    R = odds / (1 + odds)
    inside = region.contains(R, R / w)
    if region.covers(epsilon, low, high):
        assert inside.all()
        assert not any(region.outside(np.array([-epsilon, 0.0, epsilon]), low, high))
    for part in region.broken(reachable(epsilon, low, high)):
        x, y = (sum(point[i] for point in part) / len(part) for i in (0, 1))
        prior = x / y
        assert low - 1e-9 <= prior <= high + 1e-9
        shift = math.log(x / (1 - x) * (1 - prior) / prior) if 0 < x < 1 else 0.0
        assert abs(shift) <= epsilon + 1e-6
        area = np.ptp([point[0] for point in part]) * np.ptp([point[1] for point in part])
        assert area < 1e-6 or not region.contains(x, y)


@CHECK
@given(st.composite(_rules)(), st.floats(0, 0.3), st.floats(0.6, 1))
def test_the_largest_budget_that_no_file_can_leave(text, low, high):
    region = Region.parse(text)
    most = region.largest_epsilon(low, high)
    if most is None:
        assert not region.covers(0.0, low, high)
    elif math.isfinite(most):
        assert region.covers(most, low, high)
        assert not region.covers(most * 1.001 + 1e-9, low, high)


def test_the_largest_budget_in_closed_form():
    assert Region.parse("RR <= 10").largest_epsilon() == pytest.approx(math.log(10), rel=1e-11)
    # From a prior of at most ½, R ≤ 0.8 is an odds ratio of 4.
    assert Region.thresholds(absolute=0.8).largest_epsilon(0.0, 0.5) == pytest.approx(math.log(4))
    assert Region.thresholds(absolute=0.8).largest_epsilon() is None
    assert Region.parse("R >= 0").largest_epsilon() == math.inf
    assert Region.parse("RR <= 10").largest_epsilon() < math.log(10)
