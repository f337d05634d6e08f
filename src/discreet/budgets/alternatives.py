"""Other people's ways to an epsilon, to compare with; each with the assumption it needs.

Lee and Clifton (2011): the whole population and all its values are public, exactly one person is
left out of the data, and the adversary asks who. To keep every posterior at or below a,

    ε = (ΔT/Δv) log((n−1) a/(1−a)),

with n the population, ΔT the sensitivity of the statistic and Δv the largest difference it can make
which of two people is left out. "Exactly one is missing" ties every person to every other, which
breaks K&R's assumption 2: their comparison value for it (ε = 0.41 at n = 4, a = 1/3) does not hold
there; values 1, −1, −1, −1 give a posterior of 0.43.

Naive: ½ log r, from r ≤ e^{2ε} at every prior (K&R eq. 7; log r under replace and local, where
r ≤ e^ε); safe, and smaller than it need be wherever a tolerance allows more at some priors.
"""

from __future__ import annotations

import math

from discreet.errors import InputError
from discreet.guarantees import Adjacency
from discreet.promises.tolerance import check_ratio
from discreet.rounding import down

__all__ = ["lee_clifton", "naive"]


def naive(ratio: float, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> float:
    """Return ½ log r, rounded down; log r under replace and local.

    >>> round(naive(3), 4), round(naive(3, Adjacency.REPLACE), 4)
    (0.5493, 1.0986)
    """
    share = 0.5 if adjacency is Adjacency.ADD_REMOVE else 1.0
    return down(share * math.log1p(check_ratio(ratio) - 1))


def lee_clifton(
    population: int, posterior: float, *, sensitivity: float = 1.0, contrast: float = 1.0
) -> float:
    """Return Lee and Clifton's ε for a public population from which one person is left out.

    `sensitivity` is ΔT, `contrast` is Δv.

    >>> round(lee_clifton(4, 1 / 3), 4)
    0.4055
    """
    if isinstance(population, bool) or population != int(population) or population < 2:
        raise InputError("budgets.population", population=population)
    if not 1 / population < posterior < 1:
        least = 1 / population
        raise InputError("budgets.posterior_of_population", posterior=posterior, least=least)
    for name, value in (("sensitivity", sensitivity), ("contrast", contrast)):
        if not (value > 0 and math.isfinite(value)):
            raise InputError("budgets.not_positive", name=name, value=value)
    odds = down((population - 1) * posterior / (1 - posterior))
    return max(0.0, down(sensitivity / contrast * math.log(odds)))
