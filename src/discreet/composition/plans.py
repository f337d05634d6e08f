"""From a fixed plan (which mechanism, how often) to the privacy loss of all of it.

The representation is chosen by what the plan holds:

- Gaussian releases only: one normal law (`gaussian`);
- one two-point law, k times: a binomial walk (`walk`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from discreet.composition.gaussian import GaussianLoss
from discreet.composition.loss import PrivacyLoss
from discreet.composition.walk import WalkLoss
from discreet.errors import GuaranteeError
from discreet.guarantees import Adjacency
from discreet.laws import Gaussian, Geometric, Mechanism, RandomizedResponse
from discreet.laws.checks import whole
from discreet.rounding import up

__all__ = ["loss_of", "losses_of"]


def loss_of(*parts: Mechanism | tuple[Mechanism, int], adjacency: str | None = None) -> PrivacyLoss:
    """Return the privacy loss of a plan: each part a mechanism, or a mechanism and how often.

    >>> from discreet.laws import Gaussian, Geometric
    >>> loss_of((Geometric(0.05), 365)).epsilon(1e-6) < loss_of((Geometric(0.05), 366)).epsilon(1e-6)
    True
    """
    plan = _merged(parts)
    where = _adjacency([m for m, _ in plan], adjacency)
    if all(isinstance(m, Gaussian) for m, _ in plan):
        rho = up(sum(k * m.rho for m, k in plan if isinstance(m, Gaussian)), 8)
        return GaussianLoss(rho, adjacency=where, name=_name(plan))
    step = _two_point(plan[0][0])
    if len(plan) == 1 and step is not None:
        return WalkLoss(step, plan[0][1], adjacency=where, name=_name(plan))
    raise GuaranteeError("this plan is not supported yet.")


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
    return [loss_of((mechanism, k), adjacency=adjacency) for k in counts]


def _two_point(mechanism: Mechanism) -> float | None:
    """The ε₀ of a mechanism whose loss is ±ε₀ and nothing else."""
    if isinstance(mechanism, Geometric) and mechanism.sensitivity == 1:
        return float(mechanism.epsilon)
    if isinstance(mechanism, RandomizedResponse) and mechanism.categories == 2:
        return float(mechanism.epsilon)
    return None


def _merged(parts: Iterable[Mechanism | tuple[Mechanism, int]]) -> list[tuple[Mechanism, int]]:
    """Put equal mechanisms together, in the order of their first use."""
    counts: dict[Mechanism, int] = {}
    for part in parts:
        mechanism, times = part if isinstance(part, tuple) else (part, 1)
        if not isinstance(mechanism, Mechanism):
            raise GuaranteeError(
                f"{mechanism!r} is not a mechanism of discreet.laws; a promise without its "
                "mechanism is composed by discreet.compose."
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
                "the plan mixes randomized response (local) with noise added centrally (add-remove); "
                "state all sensitivities for one changed person and ask for adjacency='replace'."
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
