"""From the mechanisms of a plan to what the grid can compose."""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.composition.ingredients import (
    Atoms,
    Categories,
    DiscreteNormal,
    Ingredient,
    LaplaceLosses,
    Normal,
    Steps,
    TwoPoints,
)
from discreet.composition.walk import two_point
from discreet.laws import (
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    Mechanism,
    RandomizedResponse,
)
from discreet.rounding import up

__all__ = ["has_stand_in", "ingredients_of", "worst_cases"]

_MOST_ATOMS = 20_000


def ingredients_of(plan: list[tuple[Mechanism, int]]) -> tuple[Ingredient, ...] | None:
    """The plan for the grid, or None if one of its mechanisms has no place there."""
    two: list[tuple[float, int]] = []
    laplace: list[tuple[float, int]] = []
    found: list[Ingredient] = []
    rhos: list[float] = []
    for mechanism, k in plan:
        step = two_point(mechanism)
        match mechanism:
            case _ if step is not None:
                two.append((step, k))
            case Exponential():
                two.append((float(mechanism.epsilon), k))
            case Laplace():
                laplace.append((float(mechanism.epsilon), k))
            case Gaussian():
                rhos.append(k * mechanism.rho)
            case Geometric() if has_stand_in(mechanism):
                two.append((float(mechanism.epsilon), k))
            case Geometric():
                found.append(Atoms(Steps(float(mechanism.epsilon), int(mechanism.sensitivity), k)))
            case RandomizedResponse():
                found.append(Atoms(Categories(float(mechanism.epsilon), mechanism.categories, k)))
            case DiscreteGaussian() if mechanism.sensitivity == 1 and 0.1 < mechanism.sigma < 2000:
                found.append(Atoms(DiscreteNormal(float(mechanism.sigma), k)))
            case _:
                return None
    if rhos:
        found.append(Normal(up(math.fsum(rhos), 8)))
    if two:
        found.append(worst_cases(two))
    if laplace:
        epsilons, times = _sorted(laplace)
        found.append(LaplaceLosses(epsilons, times))
    return tuple(found)


def has_stand_in(mechanism: Mechanism) -> bool:
    """Whether the worst release of the same ε takes the mechanism's place on the grid."""
    wide = isinstance(mechanism, Geometric) and mechanism.sensitivity > _MOST_ATOMS
    return wide or isinstance(mechanism, Exponential)


def worst_cases(pairs: Iterable[tuple[float, int]]) -> TwoPoints:
    """Releases of which only (ε, how often) is known, each as bad as an ε-DP release can be."""
    return TwoPoints(*_sorted(pairs))


def _sorted(pairs: Iterable[tuple[float, int]]) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Equal ε put together and sorted, so that equal plans share their grid."""
    totals: dict[float, int] = {}
    for epsilon, k in pairs:
        totals[epsilon] = totals.get(epsilon, 0) + k
    epsilons = sorted(totals)
    return tuple(epsilons), tuple(totals[e] for e in epsilons)
