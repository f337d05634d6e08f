"""From a fixed plan (which mechanism, how often) to the privacy loss of all of it.

The representation is chosen by what the plan holds:

- Gaussian releases only: one normal law (`gaussian`);
- one two-point law, k times: a binomial walk (`walk`);
- anything else that has a loss distribution of its own: one grid for all (`grid`);
- where an exponential mechanism is in it, that takes the place of its worst case, and what zCDP
  gives for the whole plan is used where it is smaller; a discrete Gaussian whose sensitivity is not
  1, or whose σ is beyond any grid, has zCDP alone.

Which contribution. The loss is that of the worst change within the sensitivity. For log-concave
noise a larger shift of one value dominates a smaller one. For Laplace noise a shift by ε in one
value dominates shifts by ε₁ + ε₂ = ε in two: with g(E) = 1 − δ(E) = e^{E/2 − max(|E|, ε)/2} and S₂
= ½ at ±ε₂ and density ¼ between, the claim is ∫ e^{−(|E−l|−ε₁)⁺/2} S₂(dl) ≥ 1 for |E| ≤ ε, which
holds with equality at E = ±ε and can only grow inside. So for sensitivity in L1 one value is the
worst case; the geometric law is tested to behave alike. The Gaussian loss depends on the L2 length
alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from discreet.composition.concentrated import ConcentratedLoss
from discreet.composition.gaussian import GaussianLoss
from discreet.composition.loss import LeastLoss, PrivacyLoss
from discreet.composition.walk import WalkLoss, two_point
from discreet.errors import GuaranteeError
from discreet.guarantees import Adjacency
from discreet.laws import (
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Mechanism,
    RandomizedResponse,
)
from discreet.laws.checks import whole
from discreet.rounding import up

__all__ = ["loss_of", "losses_of"]


def loss_of(*parts: Mechanism | tuple[Mechanism, int], adjacency: str | None = None) -> PrivacyLoss:
    """Return the privacy loss of a plan: each part a mechanism, or a mechanism and how often.

    >>> from discreet.laws import Geometric
    >>> round(loss_of((Geometric(0.05), 365)).epsilon(1e-6), 6)
    4.613448
    """
    plan = _merged(parts)
    where = _adjacency([m for m, _ in plan], adjacency)
    if all(isinstance(m, Gaussian) for m, _ in plan):
        rho = up(math.fsum(k * m.rho for m, k in plan if isinstance(m, Gaussian)), 8)
        return GaussianLoss(rho, adjacency=where, name=_name(plan))
    step = two_point(plan[0][0])
    if len(plan) == 1 and step is not None:
        return WalkLoss(step, plan[0][1], adjacency=where, name=_name(plan))
    # NumPy is loaded for these plans only
    from discreet.composition.categories import CategoryLoss, only_categories
    from discreet.composition.grid import GridLoss
    from discreet.composition.mixed import has_stand_in, ingredients_of

    options: list[PrivacyLoss] = []
    lattice = ingredients_of(plan)
    if lattice is not None:
        kind = CategoryLoss if only_categories(lattice) else GridLoss
        known = not any(has_stand_in(m) for m, _ in plan)
        options.append(kind(lattice, adjacency=where, name=_name(plan), law_known=known))
    if lattice is None or any(isinstance(m, Exponential) for m, _ in plan):
        rho = up(math.fsum(k * _rho(m) for m, k in plan), 8)
        options.append(ConcentratedLoss(rho, adjacency=where, name=_name(plan)))
    return options[0] if len(options) == 1 else LeastLoss(tuple(options), where, _name(plan))


def losses_of(
    mechanism: Mechanism, times: Iterable[int], adjacency: str | None = None
) -> list[PrivacyLoss]:
    """Return the privacy losses of `times` releases each, for a whole series of counts."""
    counts = [whole("times", k) for k in times]
    if not counts:
        return []
    one = loss_of((mechanism, 1), adjacency=adjacency)
    if isinstance(one, WalkLoss):
        return [replace(one, times=k, name=_name([(mechanism, k)])) for k in counts]
    losses = [loss_of((mechanism, k), adjacency=adjacency) for k in counts]
    if isinstance(one, GaussianLoss):
        return losses
    from discreet.composition.grid import GridLoss

    if len(counts) > 32:  # a long series on a coarser grid: as safe, 16 times faster
        losses = [replace(x, resolution=1 << 13) if isinstance(x, GridLoss) else x for x in losses]
    return losses


def _rho(mechanism: Mechanism) -> float:
    """ρ of its zCDP; pure ε is ε²/2 (Bun and Steinke 2016, Prop. 1.4)."""
    if isinstance(mechanism, Gaussian | DiscreteGaussian | Exponential):
        return mechanism.rho
    return up(mechanism.epsilon**2 / 2, 2)


def _merged(parts: Iterable[Mechanism | tuple[Mechanism, int]]) -> list[tuple[Mechanism, int]]:
    """Put equal mechanisms together, in the order of their first use."""
    counts: dict[Mechanism, int] = {}
    for part in parts:
        mechanism, times = part if isinstance(part, tuple) else (part, 1)
        if not isinstance(mechanism, Mechanism):
            raise GuaranteeError(
                f"a {type(mechanism).__name__} is not a mechanism of discreet.laws; a promise "
                "without its mechanism is composed by discreet.compose."
            )
        counts[mechanism] = counts.get(mechanism, 0) + whole("times", times)
    if not counts:
        raise GuaranteeError("the plan is empty; give at least one release.")
    return list(counts.items())


def _adjacency(mechanisms: list[Mechanism], asked: str | None) -> Adjacency:
    """The adjacency of all: local answers and central noise are stated under different ones."""
    local = [isinstance(m, RandomizedResponse) for m in mechanisms]
    if asked is None:
        if any(local) and not all(local):
            raise GuaranteeError(
                "the plan mixes randomized response (local) with noise added centrally "
                "(add-remove); state all sensitivities for one changed person and ask for "
                "adjacency='replace'."
            )
        return Adjacency.LOCAL if all(local) else Adjacency.ADD_REMOVE
    where = Adjacency.of(asked)
    if any(local) and where == Adjacency.ADD_REMOVE:
        raise GuaranteeError(
            "randomized response protects an answer, not whether someone answered; "
            "ask for adjacency='local' or 'replace'."
        )
    return where


def _name(plan: list[tuple[Mechanism, int]]) -> str:
    phrases = [f"{k} x {m!r}" if k > 1 else repr(m) for m, k in plan[:3]]
    return ", ".join(phrases) + (f" and {len(plan) - 3} more" if len(plan) > 3 else "")
