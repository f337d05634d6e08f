"""Values held fixed: each follows its law, and moves towards 0 as the budget grows."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.laws import Gaussian, Geometric
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(80))
budgets = st.floats(1e-6, 50)


@FAST
@given(budgets, budgets)
def test_no_value_moves_away_from_zero_when_the_budget_grows(one: float, other: float) -> None:
    small, large = sorted((one, other))
    for more, less in zip(
        Geometric(small).illustrated(), Geometric(large).illustrated(), strict=True
    ):
        assert abs(less) <= abs(more)
        assert more == 0 or less == 0 or (more > 0) == (less > 0)


@pytest.mark.parametrize("law", [Geometric(0.3), Geometric(2.0, 3), Gaussian(4.0)], ids=repr)
def test_many_values_follow_their_law(law: Geometric | Gaussian) -> None:
    values = law.illustrated(4000)
    for x in (-6, -2, -1, 0, 1, 3, 8):
        share = sum(value <= x for value in values) / len(values)
        # the discrepancy of n golden-ratio points is below 3 log(n)/n
        assert share == pytest.approx(law.cdf(x), abs=3 * math.log(4000) / 4000)


def test_the_same_values_every_time() -> None:
    assert Geometric(1.0).illustrated(10) == Geometric(1.0).illustrated(40)[:10]
    with pytest.raises(InputError, match="whole number"):
        Geometric(1.0).illustrated(0)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-16, 1e-60, 1e-300])
def test_very_wide_noise_is_found_at_once(epsilon: float) -> None:
    law = Geometric(epsilon)
    # P(N ≤ x) = 1 − e^{-εx}/2 up to the width of a step, so the quantile at 3/4 is log(2)/ε
    assert law.quantile(0.75) == pytest.approx(math.log(2) / epsilon, rel=1e-9)
    assert law.half_width(0.95) == pytest.approx(-math.log(0.05) / epsilon, rel=1e-9)
    assert law.prob_within(law.half_width(0.95)) >= 0.95
