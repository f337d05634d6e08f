"""Corners of composed losses: the least and the largest plans, and what is refused."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import pytest
from composition_truths import gaussian_delta

from discreet.composition import compose, loss_of
from discreet.composition.gaussian import GaussianLoss
from discreet.composition.grid import GridLoss
from discreet.composition.grid.ingredients import Normal
from discreet.composition.grid.loss import CategoryLoss
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import Adjacency
from discreet.laws import Geometric, Laplace, RandomizedResponse


def _worst_tail(epsilon: float, categories: int, most: int, m: int, sided: str) -> float:
    """The largest P(S_j > m), or P(|S_j| > m), over j ≤ most, by every outcome of j answers."""
    others = (categories - 1) * math.exp(-epsilon)
    chances = {1: 1 / (1 + others), -1: math.exp(-epsilon) / (1 + others)}
    chances[0] = 1 - sum(chances.values())
    worst = 0.0
    for j in range(1, most + 1):
        worst = max(
            worst,
            math.fsum(
                math.prod(chances[step] for step in steps)
                for steps in itertools.product(chances, repeat=j)
                if sum(steps) > m or (sided == "two" and sum(steps) < -m)
            ),
        )
    return worst


@pytest.mark.parametrize("sided", ["one", "two"])
@pytest.mark.parametrize("delta_prime", [0.5, 0.2, 0.05, 0.002])
def test_answers_among_many_categories_by_every_outcome(sided, delta_prime: float) -> None:
    epsilon, categories, most = 0.7, 4, 6
    found = loss_of((RandomizedResponse(epsilon, categories), most)).exact_epsilon(
        delta_prime, sided
    )
    least = next(
        m
        for m in itertools.count()
        if _worst_tail(epsilon, categories, most, m, sided) <= delta_prime
    )
    assert found == pytest.approx(least * epsilon, rel=1e-12)
    assert found >= least * epsilon


def test_a_loss_of_answers_is_of_answers_alone() -> None:
    with pytest.raises(GuaranteeError, match="not that of randomized response alone"):
        CategoryLoss((Normal(0.1),)).exact_epsilon(0.01)


def test_a_mechanism_is_composed_under_the_adjacency_that_is_asked_for() -> None:
    found = compose([(Laplace(0.1), 3)], delta=0.0, adjacency="replace")
    assert found.guarantee.adjacency is Adjacency.REPLACE
    assert found.epsilon == pytest.approx(0.3, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-110, 1e-200])
def test_losses_whose_squares_are_no_numbers(epsilon: float) -> None:
    """For so small an ε, δ of Laplace noise at 0 is ε/2, and no more than ε is said."""
    loss = loss_of((Laplace(epsilon), 1), (Geometric(epsilon), 2))
    assert 3 * epsilon <= loss.largest() <= 3 * epsilon * (1 + 1e-14)
    assert epsilon / 2 <= loss.delta(0.0) <= loss.largest()
    for delta in (epsilon / 4, epsilon):
        needed = loss.epsilon(delta)
        assert 0 <= needed <= loss.largest()
        assert loss.delta(needed) <= delta * (1 + 1e-12)
    assert loss.epsilon(5 * epsilon) == 0.0


@pytest.mark.parametrize("rho", [0.01, 0.5])
def test_noise_without_atoms_on_the_grid(rho: float) -> None:
    """With nothing to align with, each loss moves within its cell: above the truth, and near it."""
    loss = GridLoss((Normal(rho),))
    for away in (0.5, 2.0, 4.0):
        epsilon = rho + away * math.sqrt(2 * rho)
        truth = gaussian_delta(rho, epsilon)
        assert truth <= mp.mpf(loss.delta(epsilon)) <= truth * (1 + mp.mpf("1e-4"))


@pytest.mark.parametrize("rho", [1e-6, 0.3, 20.0])
@pytest.mark.parametrize("ulps", [1, 2, 10, 1000])
def test_a_delta_just_below_that_of_epsilon_zero(rho: float, ulps: int) -> None:
    """The root lies so near 0 that rounding alone may throw a step of Newton's beyond it."""
    loss = GaussianLoss(rho)
    delta = loss.delta(0.0) * (1 - ulps * 2.0**-53)
    epsilon = loss.epsilon(delta)
    assert 0 <= epsilon < 1e-9
    assert loss.delta(epsilon) <= delta
    assert loss.epsilon(delta / 2) > epsilon


def test_plans_that_are_none() -> None:
    with pytest.raises(InputError, match="empty"):
        loss_of()
    with pytest.raises(GuaranteeError, match="different adjacencies"):
        loss_of((RandomizedResponse(0.5), 1), (Laplace(0.5), 1))
    with pytest.raises(GuaranteeError, match="not whether someone answered"):
        loss_of((RandomizedResponse(0.5), 1), adjacency="add-remove")
    both = loss_of((RandomizedResponse(0.5), 1), (Laplace(0.25), 2), adjacency="replace")
    assert both.adjacency is Adjacency.REPLACE
    assert both.largest() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", [Laplace, Geometric])
def test_many_releases_that_differ_by_a_hair(kind) -> None:
    """Twenty kinds, so many of each that most frequencies vanish before the last is multiplied."""
    budgets, times = [0.3 * (1 + i * 1e-9) for i in range(20)], 200
    loss = loss_of(*((kind(budget), times) for budget in budgets))
    least, most = (loss_of((kind(end), 20 * times)) for end in (budgets[0], budgets[-1]))
    mean = 20 * times * 0.3 * math.tanh(0.15)
    for epsilon in (mean, mean + 20, mean + 60):
        assert least.delta(epsilon) * (1 - 1e-5) <= loss.delta(epsilon)
        assert loss.delta(epsilon) <= most.delta(epsilon) * (1 + 1e-5)


def test_noise_too_wide_for_its_atoms_is_as_bad_as_its_promise() -> None:
    """For a large sensitivity it is nearly Laplace's; a two-point loss stands for it."""
    other = (Laplace(0.3), 1)
    wide = loss_of((Geometric(0.5, 10**7), 1), other)
    nearly, worst = loss_of((Laplace(0.5), 1), other), loss_of((Geometric(0.5), 1), other)
    for epsilon in (0.0, 0.2, 0.6):
        assert nearly.delta(epsilon) < wide.delta(epsilon)
        assert wide.delta(epsilon) == pytest.approx(worst.delta(epsilon), rel=1e-9)
