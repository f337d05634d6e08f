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

    def test_the_spread_is_that_of_its_own_tails(self, law) -> None:
        """E N² is Σ (2m − 1) P(|N| ≥ m) over whole numbers, else ∫ 2t P(|N| ≥ t) dt."""
        far = 40 * law.sd
        if _whole(law):
            square = math.fsum((2 * m - 1) * 2 * law.tail(m) for m in range(1, math.ceil(far)))
            assert law.prob_exact == pytest.approx(1 - 2 * law.tail(1), rel=1e-12)
        else:
            square = float(mp.quad(lambda t: 4 * t * law.tail(float(t)), [0, far / 8, far]))
            assert law.prob_exact == 0
        assert law.sd == pytest.approx(math.sqrt(square), rel=1e-9)


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


@pytest.mark.parametrize("epsilon", [0.01, 1e-4])
@pytest.mark.parametrize("ulps", [1, 2, 5])
def test_a_quantile_at_the_last_doubles_below_one(epsilon: float, ulps: int) -> None:
    """There the law itself is known to half a step of doubles only; the quantile to no less."""
    law, prob = Geometric(epsilon), 1 - ulps * 2.0**-53
    found = law.quantile(prob)
    assert law.cdf(found - 1) < prob <= law.cdf(found)
    with mp.workdps(40):
        rate, step = mp.mpf(epsilon), mp.mpf(2) ** -53
        latest, soonest = (
            -mp.log((ulps + half) * step * (1 + mp.exp(-rate))) / rate for half in (-0.5, 0.5)
        )
    assert soonest - 2 <= found <= latest + 1


def test_a_report_is_exact_as_often_as_true() -> None:
    """Warner's coin: 3 to 1 at ε = log 3; among K categories e^ε against K − 1."""
    assert RandomizedResponse(math.log(3)).prob_exact == pytest.approx(0.75, rel=1e-15)
    assert RandomizedResponse(1.0, 5).prob_exact == pytest.approx(math.e / (math.e + 4), rel=1e-15)
