"""What a fixed plan of releases adds up to, as one bound on the privacy loss.

A part of a plan is a guarantee (what each release promises) or a mechanism of `discreet.laws` (how
it is made), and how often it is used. By `method`, for guarantees:

- basic: Σε, Σδ;
- advanced: the theorem of Dwork, Rothblum and Vadhan as KSZ Theorem 2.8 prints it, alone, though
  for few releases it is worse than basic; `tanh` is its sharper form;
- optimal: each release as bad as its promise allows, exactly where all are equal (Kairouz, Oh and
  Viswanath 2015), by composed worst cases rounded the safe way where they differ; the default;
- paper: KSZ Example 4.1 for zCDP.

Mechanisms bring their own privacy loss. `delta` fixes one point (ε, δ) of whatever curve there is;
without it the best point for the belief is taken. All of it holds for a plan that is fixed before
its first draw; what was published cannot change the rest of the plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from discreet.beliefs.approximate import epsilon_prime
from discreet.beliefs.belief import Strength
from discreet.beliefs.curves import lowest_between
from discreet.beliefs.loss_bounds import LossBound, loss_bound
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import (
    ZCDP,
    Adjacency,
    ApproxDP,
    Guarantee,
    PrivacyCurve,
    ProbabilisticDP,
    PureDP,
)
from discreet.rounding import up

__all__ = ["METHODS", "Part", "adjacency_of", "bound_of", "guarantee_of"]

#: A guarantee or a mechanism.
Part: TypeAlias = Any

METHODS = ("basic", "advanced", "tanh", "optimal", "paper")
_GUARANTEES = (PureDP, ApproxDP, ProbabilisticDP, ZCDP, PrivacyCurve)


def guarantee_of(part: Part) -> Guarantee:
    """Return what one release promises: the part itself, or the guarantee of the mechanism."""
    if isinstance(part, _GUARANTEES):
        return part
    if callable(getattr(part, "guarantee", None)):
        return cast("Guarantee", part.guarantee())
    raise GuaranteeError(
        f"{type(part).__name__} is neither a guarantee (such as PureDP) nor a mechanism (such as "
        "Geometric); it cannot be part of a series."
    )


def adjacency_of(part: Part, asked: str | None = None) -> Adjacency:
    """Return the adjacency of a guarantee, or the one that a mechanism's sensitivity is under.

    A randomized answer protects what was answered, not whether; a guarantee says its own.
    """
    stated = guarantee_of(part).adjacency
    if asked is None or Adjacency.of(asked) is stated:
        return stated
    if isinstance(part, _GUARANTEES) or stated is not Adjacency.ADD_REMOVE:
        raise GuaranteeError(
            f"{guarantee_of(part)} is stated under {stated.value!r}, not {asked!r}; state it under "
            "the adjacency that is asked for."
        )
    return Adjacency.of(asked)


def bound_of(
    parts: Sequence[tuple[Part, int]],
    delta_prime: float,
    sided: str = "two",
    *,
    strength: Strength | None = None,
    delta: float | None = None,
    method: str | None = None,
    hint: float | None = None,
) -> LossBound:
    """Return the bound on the loss of all parts together that fails with probability at most δ'.

    >>> bound = bound_of([(PureDP(0.05), 134)], 0.05)
    >>> 1 / (1 + math.exp(-bound.epsilon_prime)) > 0.8
    True
    """
    if method is not None and method not in METHODS:
        raise InputError(f"method is {method!r}; it must be one of: {', '.join(METHODS)}.")
    _refuse_mixed([part for part, _ in parts])
    mechanisms = not any(isinstance(part, _GUARANTEES) for part, _ in parts)
    if mechanisms and strength != "generic" and method is None:
        from discreet.composition import loss_of

        return loss_bound(
            loss_of(*parts), delta_prime, sided, strength=strength, delta=delta, hint=hint
        )
    stated = [(guarantee_of(part), times) for part, times in parts]
    if all(isinstance(g, ZCDP) for g, _ in stated):
        return _concentrated(stated, delta_prime, sided, delta, method)
    if method == "paper":
        raise InputError("method 'paper' reproduces KSZ Example 4.1 and needs zCDP releases.")
    if any(isinstance(g, ProbabilisticDP) for g, _ in stated):
        return _probabilistic(stated, delta_prime, sided, strength)
    promises = [(_approximate(g), times) for g, times in stated]
    if method is None or method == "optimal":
        return _optimal(promises, delta_prime, sided, delta, hint)
    if method == "basic":
        return _basic(promises, delta_prime, sided, delta)
    return _advanced(promises, delta_prime, sided, delta, printed=method == "advanced")


def _refuse_mixed(parts: Sequence[Part]) -> None:
    if not parts:
        raise InputError("the series is empty; give at least one release.")
    stated = {guarantee_of(part).adjacency.value for part in parts}
    if len(stated) > 1:
        raise GuaranteeError(
            f"the releases are stated under different adjacencies ({', '.join(sorted(stated))}); "
            "restate them under one before they are added up."
        )
    kinds = {isinstance(part, _GUARANTEES) for part in parts}
    if len(kinds) > 1:
        raise GuaranteeError(
            "the series mixes guarantees and mechanisms; give all as mechanisms, or all as the "
            "guarantees they have."
        )


def _approximate(stated: Guarantee) -> ApproxDP:
    match stated:
        case PureDP():
            return ApproxDP(stated.epsilon, 0.0, adjacency=stated.adjacency)
        case ApproxDP():
            return stated
    raise GuaranteeError(
        f"{stated} cannot be added up with the others; give releases of one kind, all pure or "
        "approximate, or all zCDP, or all mechanisms."
    )


def _concentrated(
    stated: Sequence[tuple[Guarantee, int]],
    delta_prime: float,
    sided: str,
    delta: float | None,
    method: str | None,
) -> LossBound:
    if method not in (None, "paper"):
        raise InputError(
            f"method is {method!r}; for zCDP releases it must be left out, or be 'paper'."
        )
    rho = up(math.fsum(cast("ZCDP", g).rho * times for g, times in stated), 2)
    total = ZCDP(rho, adjacency=stated[0][0].adjacency)
    return loss_bound(total, delta_prime, sided, delta=delta, papers_route=method == "paper")


def _probabilistic(
    stated: Sequence[tuple[Guarantee, int]],
    delta_prime: float,
    sided: str,
    strength: Strength | None,
) -> LossBound:
    """The exceptional events of all releases together: Σε, Σδ."""
    if not all(isinstance(g, ProbabilisticDP) for g, _ in stated):
        raise GuaranteeError(
            "probabilistic and other guarantees cannot be added up together; state all of them as "
            "probabilistic, or all as (ε, δ)."
        )
    each = [cast("ProbabilisticDP", g) for g, _ in stated]
    epsilon = up(math.fsum(g.epsilon * k for g, (_, k) in zip(each, stated, strict=True)), 2)
    delta = up(math.fsum(g.delta * k for g, (_, k) in zip(each, stated, strict=True)), 2)
    if delta > delta_prime:
        return _nothing("basic composition of probabilistic DP")
    total = ProbabilisticDP(epsilon, delta, adjacency=each[0].adjacency)
    return loss_bound(total, delta_prime, sided, strength=strength)


def _sums(promises: Sequence[tuple[ApproxDP, int]]) -> tuple[float, float]:
    epsilon = math.fsum(g.epsilon * times for g, times in promises)
    delta = math.fsum(g.delta * times for g, times in promises)
    return (epsilon if len(promises) == promises[0][1] == 1 else up(epsilon, 2)), up(delta, 2)


def _nothing(method: str) -> LossBound:
    """The releases have spent more δ than the confidence, or the fixed δ, leaves."""
    return LossBound(math.inf, 0.0, "generic", True, method)


def _named(bound: LossBound, name: str) -> LossBound:
    return replace(bound, method=f"{name}; {bound.method}")


def _basic(
    promises: Sequence[tuple[ApproxDP, int]], delta_prime: float, sided: str, delta: float | None
) -> LossBound:
    epsilon, spent = _sums(promises)
    if spent >= delta_prime or (delta is not None and spent > delta):
        return _nothing("basic composition")
    bound = loss_bound(ApproxDP(epsilon, spent), delta_prime, sided)
    return _named(bound, "basic composition")


def _optimal(
    promises: Sequence[tuple[ApproxDP, int]],
    delta_prime: float,
    sided: str,
    delta: float | None,
    hint: float | None,
) -> LossBound:
    """Each release as bad as its promise allows; basic where that is no wider."""
    from discreet.composition import theorems

    basic = _basic(promises, delta_prime, sided, delta)
    if any(g.epsilon == 0 for g, _ in promises):
        return basic
    loss = theorems.worst_case(_triples(promises), promises[0][0].adjacency)
    lost = 1.0 if loss is None else loss.delta(math.inf)
    if loss is None or lost >= delta_prime or (delta is not None and lost >= delta > 0):
        return basic
    bound = loss_bound(loss, delta_prime, sided, delta=delta, hint=hint)
    bound = _named(replace(bound, strength="generic"), "optimal composition")
    return bound if bound.epsilon_prime <= basic.epsilon_prime else basic


def _triples(promises: Sequence[tuple[ApproxDP, int]]) -> list[tuple[float, float, int]]:
    return [(g.epsilon, g.delta, times) for g, times in promises]


def _advanced(
    promises: Sequence[tuple[ApproxDP, int]],
    delta_prime: float,
    sided: str,
    delta: float | None,
    *,
    printed: bool,
) -> LossBound:
    from discreet.composition import theorems

    name = "advanced composition" + ("" if printed else " (tanh form)")
    theorem = theorems.advanced if printed else theorems.tanh_form
    triples, spent = _triples(promises), _sums(promises)[1]

    def bound(total: float) -> float:
        epsilon = theorem(triples, total)
        return math.inf if epsilon is None else epsilon_prime(epsilon, total, delta_prime, sided)

    if spent >= delta_prime:
        return _nothing(name)
    if delta is None:
        nearest = -math.log(delta_prime - spent)
        # Where δ is given away, anything much smaller on top of it is no number of its own.
        farthest = min(300 + nearest, 30 - math.log(spent)) if spent > 0 else 300 + nearest
        size, _ = lowest_between(lambda x: bound(spent + math.exp(-x)), nearest, farthest)
        delta = spent + math.exp(-size)
    epsilon = theorem(triples, delta)
    if epsilon is None:
        return _nothing(name)
    return _named(loss_bound(ApproxDP(epsilon, delta), delta_prime, sided), name)
