"""Beliefs, simulated: how often a strong adversary really passes the bounds.

Each check compares a frequency of n draws with a probability; by Hoeffding's inequality it fails by
chance with probability at most exp(−2ns²) a side, s the slack. With s as below, that is 1e-8 a
check, and less than 1e-6 in all.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.composition import loss_of
from discreet.laws import Gaussian, Geometric
from losses import loss_bound

DRAWS = 100_000
SLACK = math.sqrt(math.log(1e8) / (2 * DRAWS))
FAILURE = 0.05


def posterior(prior: float, loss: np.ndarray) -> np.ndarray:
    """Bayes' rule, from the likelihood ratio that the adversary computes at the output."""
    return 1 / (1 + (1 - prior) / prior * np.exp(-loss))


def gaussian_losses(k: int, sigma: float, inside: bool) -> np.ndarray:
    rng = np.random.default_rng(20240701)
    outputs = rng.normal(float(inside), sigma, size=(DRAWS, k))
    return ((outputs**2 - (outputs - 1) ** 2) / (2 * sigma**2)).sum(axis=1)


def geometric_losses(k: int, epsilon: float, inside: bool) -> np.ndarray:
    rng = np.random.default_rng(20240702)
    p = -math.expm1(-epsilon)
    noise = rng.geometric(p, size=(DRAWS, k)) - rng.geometric(p, size=(DRAWS, k))
    outputs = noise + int(inside)
    return epsilon * (np.abs(outputs) - np.abs(outputs - 1)).sum(axis=1)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("sided", ["one", "two"])
@pytest.mark.parametrize("kind", ["gaussian", "geometric"])
def test_beliefs_pass_their_bounds_no_more_often_than_stated(
    kind: str, sided: str, inside: bool
) -> None:
    k, prior = 12, 0.3
    if kind == "gaussian":
        plan, losses = loss_of((Gaussian(4.0), k)), gaussian_losses(k, 4.0, inside)
    else:
        plan, losses = loss_of((Geometric(0.3), k)), geometric_losses(k, 0.3, inside)
    beliefs = posterior(prior, losses)
    for strength in ("curve", "exact"):
        bound = loss_bound(plan, FAILURE, sided, strength=strength).epsilon_prime  # type: ignore[arg-type]
        high = posterior(prior, np.array(bound + 1e-9))
        low = posterior(prior, np.array(-bound - 1e-9))
        outside = (beliefs > high) | ((beliefs < low) & (sided == "two"))
        assert outside.mean() <= FAILURE + SLACK
        if strength == "exact" and kind == "gaussian" and (inside or sided == "two"):
            # and, the law being continuous, exactly as often
            assert outside.mean() >= FAILURE - SLACK


def test_the_check_would_notice_a_bound_that_is_too_small() -> None:
    losses = gaussian_losses(12, 4.0, True)
    exact = loss_bound(loss_of((Gaussian(4.0), 12)), FAILURE, strength="exact").epsilon_prime
    assert (np.abs(losses) > 0.95 * exact).mean() > FAILURE + SLACK
