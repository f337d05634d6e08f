"""Every mechanism: its law against brute force, its words, and what it refuses."""

from __future__ import annotations

import math

import mpmath as mp
import pytest

from discreet.errors import InputError
from discreet.guarantees import ZCDP, Adjacency, PureDP
from discreet.laws import (
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    RandomizedResponse,
)

ALL = [
    Laplace(0.5),
    Geometric(0.5),
    Geometric(0.5, 3),
    Gaussian(2.0),
    DiscreteGaussian(2.0),
    RandomizedResponse(0.5),
    RandomizedResponse(0.5, 4),
    Exponential(0.5),
]


@pytest.mark.parametrize("mechanism", ALL, ids=repr)
def test_every_mechanism_promises_and_explains(mechanism):
    assert isinstance(mechanism.guarantee(), PureDP | ZCDP)
    sentence = mechanism.explain()
    assert sentence.endswith(".")
    assert "nan" not in sentence
    assert hash(mechanism) == hash(type(mechanism)(*_fields(mechanism)))


def _fields(mechanism):
    return [getattr(mechanism, name) for name in mechanism.__dataclass_fields__]


@pytest.mark.parametrize("kind", [Laplace, Gaussian, DiscreteGaussian, Exponential])
@pytest.mark.parametrize("value", [math.nan, -1.0, 0.0, math.inf, "1", True])
def test_parameters_are_checked_when_made(kind, value):
    with pytest.raises(InputError):
        kind(value)
    with pytest.raises(InputError):
        kind(1.0, value)


@pytest.mark.parametrize("categories", [1, 2.5, math.nan, 0])
def test_randomized_response_needs_two_categories_or_more(categories):
    with pytest.raises(InputError):
        RandomizedResponse(1.0, categories)


def _discrete_gaussian(sigma, reach=400):
    weights = {
        n: mp.exp(-(mp.mpf(n) ** 2) / (2 * mp.mpf(sigma) ** 2)) for n in range(-reach, reach)
    }
    total = mp.fsum(weights.values())
    return {n: w / total for n, w in weights.items()}


@pytest.mark.parametrize("sigma", [0.2, 0.5, 1.0, 1.9, 2.0, 5.9, 6.0, 20.0])
def test_discrete_gaussian_against_its_definition(sigma):
    law, found = _discrete_gaussian(sigma), DiscreteGaussian(sigma)
    assert found.prob_exact == pytest.approx(float(law[0]), rel=1e-13)
    variance = mp.fsum(n * n * p for n, p in law.items())
    assert found.sd == pytest.approx(float(mp.sqrt(variance)), rel=1e-12)
    assert found.sd <= sigma * (1 + 1e-15)
    for m in (-3, 0, 1, 2, 7):
        true = mp.fsum(p for n, p in law.items() if n >= m)
        assert found.tail(m) == pytest.approx(float(true), rel=1e-10, abs=1e-20)
    for confidence in (0.5, 0.95, 0.999):
        t = found.half_width(confidence)
        assert mp.fsum(p for n, p in law.items() if abs(n) <= t) >= confidence - 1e-12
        assert t == 0 or mp.fsum(p for n, p in law.items() if abs(n) < t) < confidence


def test_gaussian_half_width_is_the_normal_quantile():
    assert Gaussian(1.0).half_width(0.95) == pytest.approx(1.959963984540054, rel=1e-12)
    assert Gaussian(1.0).prob_within(1.959963984540054) == pytest.approx(0.95, rel=1e-12)
    assert Gaussian(3.0).prob_crosses(3.0) == pytest.approx(0.15865525393145707, rel=1e-12)


@pytest.mark.parametrize("rho", [1e-9, 0.00403, 0.01, 2.0])
def test_noise_for_rho_never_exceeds_rho(rho):
    for kind in (Gaussian, DiscreteGaussian):
        made = kind.of_rho(rho, 2.0)
        assert made.rho <= rho
        assert made.rho == pytest.approx(rho, rel=1e-14)
        assert made.guarantee().rho >= made.rho


def test_coin_flip_survey_is_log_three():
    # Intro: half of the answers are true, half a coin; truth comes out with 3/4.
    survey = RandomizedResponse(math.log(3))
    assert survey.prob_true == pytest.approx(0.75)
    assert survey.guarantee() == PureDP(math.log(3), adjacency=Adjacency.LOCAL)
