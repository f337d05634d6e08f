"""The laws at their edges: what lies on no side, what is refused, and widths beyond summing."""

from __future__ import annotations

import math

import mpmath as mp
import pytest

from discreet.errors import InputError
from discreet.laws import (
    DiscreteGaussian,
    Gaussian,
    Geometric,
    Laplace,
    RandomizedResponse,
)

LAWS = [Laplace(0.5), Geometric(0.5), Geometric(0.5, 3), Gaussian(2.0), DiscreteGaussian(2.0)]


@pytest.mark.parametrize("law", LAWS, ids=repr)
class TestEveryLaw:
    def test_nothing_lies_within_less_than_nothing(self, law) -> None:
        assert law.prob_within(-1) == 0.0
        assert 0 < law.prob_within(1) < law.prob_within(4) < 1

    def test_a_half_width_holds_what_it_says(self, law) -> None:
        for confidence in (0.5, 0.95, 0.999):
            width = law.half_width(confidence)
            assert law.prob_within(width) >= confidence - 1e-12
            assert law.prob_within(width * (1 - 1e-6) - 1e-6) < confidence

    @pytest.mark.parametrize("confidence", [0, 1, 1.5, -0.5, math.nan])
    def test_a_confidence_lies_between(self, law, confidence: float) -> None:
        with pytest.raises(InputError, match="confidence"):
            law.half_width(confidence)

    @pytest.mark.parametrize("distance", [0, -1])
    def test_a_limit_lies_away(self, law, distance: int) -> None:
        with pytest.raises(InputError, match=f"distance is {distance}"):
            law.prob_crosses(distance)
        assert law.prob_crosses(1) == law.tail(1)

    def test_a_quantile_is_where_the_law_reaches_it(self, law) -> None:
        for prob in (0.001, 0.3, 0.5, 0.75, 0.9999):
            x = law.quantile(prob)
            assert law.cdf(x) >= prob - 1e-12
            assert law.cdf(x - 1 if isinstance(x, int) else x - 1e-6) < prob

    def test_both_tails_together(self, law) -> None:
        assert law.prob_within(2) == pytest.approx(1 - 2 * law.tail(3 if _whole(law) else 2))
        assert law.tail(-3) == pytest.approx(1 - law.tail(4 if _whole(law) else 3))


def _whole(law) -> bool:
    return isinstance(law, Geometric | DiscreteGaussian)


def test_the_scale_of_geometric_noise() -> None:
    assert Geometric(0.5, 3).scale == 6.0


def test_wide_discrete_noise_is_nearly_continuous() -> None:
    """Beyond a scale of two thousand the sum is the integral, to any figure that is printed."""
    law = DiscreteGaussian(3e7)
    for m in (1, 10**7, 10**8):
        with mp.workdps(30):
            truth = mp.erfc((m - mp.mpf("0.5")) / (mp.mpf(3) * 10**7 * mp.sqrt(2))) / 2
        assert law.tail(m) == pytest.approx(float(truth), rel=1e-12)
    assert law.tail(0) == pytest.approx(1 - law.tail(1))
    assert law.half_width(0.95) == pytest.approx(1.959963985 * 3e7, rel=1e-6)


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_a_share_of_answers_is_one(share: float) -> None:
    with pytest.raises(InputError, match="share"):
        RandomizedResponse(1.0).sd_of_share(100, share)
