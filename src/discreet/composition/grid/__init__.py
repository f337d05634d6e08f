"""The grid accountant: plans of different mechanisms, composed by Fourier transforms.

Other packages call `on_grid` only. Importing this package loads NumPy.

| file          | holds                                                                     |
|---------------|---------------------------------------------------------------------------|
| `ingredients` | the losses of each mechanism: their transforms, exact or on a grid        |
| `loss`        | δ(ε) of all of them, by a tilted transform; the exact one of categories   |
| `contour`     | the same where few frequencies count: many releases, and no grid          |
| `lattice`     | δ(ε) of equal discrete Gaussian releases; many different ones as Gaussian |
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from discreet.composition.grid.ingredients import (
    Atoms,
    Categories,
    DiscreteNormal,
    Ingredient,
    LaplaceLosses,
    Normal,
    StepLosses,
    TwoPoints,
)
from discreet.composition.grid.lattice import EqualNormals, as_gaussian
from discreet.composition.grid.loss import CategoryLoss, GridLoss
from discreet.guarantees import Adjacency, PureDP
from discreet.laws.mechanism import (
    CategoriesLoss,
    DiscreteNormalLoss,
    LaplaceLoss,
    Mechanism,
    NormalLoss,
    StepsLoss,
    TwoPoint,
)
from discreet.rounding import up

__all__ = ["CategoryLoss", "GridLoss", "on_grid", "worst_cases"]

_MOST_ATOMS = 20_000
_FEW = 12  # different discrete Gaussian releases that are put on the grid, each by itself
_SIGMAS = (0.1, 2000.0)  # of discrete Gaussian noise that a grid can hold


def on_grid(
    plan: Sequence[tuple[Mechanism, int]], adjacency: Adjacency, name: str
) -> GridLoss | None:
    """Return the loss of a plan of mechanisms, or None if one of them has no place on a grid.

    Where only ε is known of a mechanism, or it has too many losses, the worst release of the same ε
    takes its place.
    """
    two: list[tuple[float, int]] = []
    laplace: list[tuple[float, int]] = []
    steps: dict[int, list[tuple[float, int]]] = {}
    found: list[Ingredient] = []
    rhos: list[float] = []
    normals: dict[float, int] = {}
    for mechanism, k in plan:
        stated = mechanism.guarantee()
        match mechanism.loss:
            case TwoPoint(epsilon):
                two.append((epsilon, k))
            case LaplaceLoss(epsilon):
                laplace.append((epsilon, k))
            case NormalLoss(rho):
                rhos.append(k * rho)
            case StepsLoss(epsilon, sensitivity) if sensitivity <= _MOST_ATOMS:
                steps.setdefault(sensitivity, []).append((epsilon, k))
            case CategoriesLoss(epsilon, categories):
                found.append(Atoms(Categories(epsilon, categories, k)))
            case DiscreteNormalLoss(sigma) if len(plan) == 1 or _on_a_grid(sigma):
                normals[sigma] = normals.get(sigma, 0) + k
            case _ if isinstance(stated, PureDP):
                two.append((float(stated.epsilon), k))
            case _:
                return None
    apart, rho = _smoothed(normals)
    if rho > 0:
        rhos.append(rho)
    found += [Atoms(DiscreteNormal(sigma, k)) for sigma, k in apart]
    if rhos:  # first: it leaves little of most frequencies
        found.insert(0, Normal(up(math.fsum(rhos), 8)))
    found += [StepLosses(*_sorted(some), sensitivity) for sensitivity, some in steps.items()]
    if two:
        found.append(TwoPoints(*_sorted(two)))
    if laplace:
        found.append(LaplaceLosses(*_sorted(laplace)))
    match found:
        case [Atoms(Categories())]:
            return CategoryLoss(tuple(found), adjacency=adjacency, name=name)
        case [Atoms(DiscreteNormal(sigma))]:
            return EqualNormals(tuple(found), adjacency=adjacency, name=name)
    return GridLoss(tuple(found), adjacency=adjacency, name=name)


def _smoothed(normals: dict[float, int]) -> tuple[list[tuple[float, int]], float]:
    """Return the discrete Gaussian releases to be put on the grid, and ρ of all the others.

    Each different one takes a transform. Beyond a few, those of the largest σ are taken for one
    Gaussian release, which is worse by the less, the larger they are and the more there are.
    """
    rising = sorted(normals.items())
    first = _FEW if len(rising) > _FEW else len(rising)
    while first < len(rising):
        rho = as_gaussian(rising[first:])
        if rho < math.inf:
            return rising[:first], up(rho, 8)
        first = first + 1 + next((i for i, x in enumerate(rising[first:]) if x[0] > 2), len(rising))
    return rising, 0.0


def _on_a_grid(sigma: float) -> bool:
    return _SIGMAS[0] < sigma < _SIGMAS[1]


def worst_cases(
    pairs: Iterable[tuple[float, int]], lost: float, adjacency: Adjacency, name: str
) -> GridLoss:
    """Return the loss of releases of which only (ε, how often) is known; δ adds up to `lost`."""
    parts = (TwoPoints(*_sorted(pairs)),)
    return GridLoss(parts, lost, adjacency, name)


def _sorted(pairs: Iterable[tuple[float, int]]) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Equal ε put together and sorted, so that equal plans share their grid."""
    totals: dict[float, int] = {}
    for epsilon, k in pairs:
        totals[epsilon] = totals.get(epsilon, 0) + k
    epsilons = sorted(totals)
    return tuple(epsilons), tuple(totals[e] for e in epsilons)
