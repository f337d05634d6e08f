"""What a release costs under each rule, and what no rule covers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.composition.filters import cost
from discreet.errors import GuaranteeError
from discreet.guarantees import ZCDP, ApproxDP, ProbabilisticDP, PureDP
from discreet.laws import Exponential, Gaussian


def test_what_each_rule_charges():
    half, eighth = Fraction(1, 2), Fraction(1, 8)
    assert cost("zcdp", PureDP(1.0)) == (half, 0)
    assert cost("zcdp", Exponential(1.0)) == (eighth, 0)
    assert cost("zcdp", ApproxDP(1.0, 0.25)) == (half, Fraction(1, 4))
    assert cost("zcdp", ZCDP(0.25)) == (Fraction(1, 4), 0)
    assert cost("basic", ApproxDP(1.0, 0.25)) == (1, Fraction(1, 4))
    assert cost("basic", ProbabilisticDP(0.5, 0.25)) == cost("basic", ApproxDP(0.5, 0.25))
    assert cost("pure", Exponential(1.0)) == (1, 0)


def test_ten_tenths_are_one():
    assert sum(cost("pure", PureDP(0.1))[0] for _ in range(10)) == 1


@pytest.mark.parametrize(
    ("rule", "of"),
    [("pure", ApproxDP(1.0, 0.1)), ("pure", ZCDP(0.1)), ("basic", Gaussian(1.0))],
)
def test_what_a_rule_does_not_cover_is_refused(rule, of):
    with pytest.raises(GuaranteeError, match="does not cover"):
        cost(rule, of)
