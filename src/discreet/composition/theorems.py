"""The composition theorems, for promises (εⱼ, δⱼ) of which no mechanism is known.

- basic (Dwork et al. 2006): ε = Σεⱼ, δ = Σδⱼ; also for budgets chosen as one goes.
- advanced (KSZ Thm 2.8(2); Dwork, Rothblum and Vadhan 2010), for δ > Σδⱼ:
      ε = Σεⱼ(e^{εⱼ}−1) + √(2 Σεⱼ² log 1/(δ−Σδⱼ)).
- tanh (Kairouz, Oh and Viswanath 2015, Thm 3.5): with 1−δ = (1−δ̃) Π(1−δⱼ),
      ε = Σεⱼ tanh(εⱼ/2) + √(2 Σεⱼ² log 1/δ̃).
- optimal: the worst case of each promise is a two-point law that gives everything away with
  probability δⱼ (ibid., and Murtagh and Vadhan 2016), and the worst cases are composed: by the
  binomial law if all are equal, for every real ε (`walk`), on a grid otherwise (`grid`).
- paper: as KSZ print it, equal promises on the rungs (k−2ℓ)ε₀ only.

All but basic hold for a plan fixed before the first draw. Each returns the ε for a given total δ,
rounded up, or None where the theorem does not apply.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from discreet.composition.loss import PrivacyLoss
from discreet.composition.walk import WalkLoss
from discreet.guarantees import Adjacency
from discreet.rounding import down, up

__all__ = [
    "Promise",
    "advanced",
    "advanced_delta",
    "basic",
    "given_away",
    "optimal",
    "paper",
    "tanh_form",
    "worst_case",
]

#: ε, δ, and how often.
Promise: TypeAlias = tuple[float, float, int]


def _sum(values: list[float]) -> float:
    total = math.fsum(values)
    return up(total, 2) if len(values) > 1 and total > 0 else total


def _sum_of_deltas(promises: Sequence[Promise]) -> float:
    return math.fsum(k * delta for _, delta, k in promises)


def given_away(promises: Sequence[Promise]) -> float:
    """1 − Π(1−δⱼ), rounded up: the least total δ there can be."""
    if any(delta == 1 for _, delta, _ in promises):
        return 1.0
    logs = math.fsum(k * math.log1p(-delta) for _, delta, k in promises)
    return up(-math.expm1(logs)) if logs < 0 else 0.0


def basic(promises: Sequence[Promise], delta: float) -> float | None:
    """Σε, if δ covers Σδ (a sum that is off by rounding alone counts as covered)."""
    if _sum_of_deltas(promises) > delta * (1 + 1e-12):
        return None
    return _sum([k * epsilon for epsilon, _, k in promises])


def _concentration(promises: Sequence[Promise], drift: list[float], left: float) -> float | None:
    if not 0 < left < 1:
        return None
    squares = math.fsum(k * epsilon * epsilon for epsilon, _, k in promises)
    return up(math.fsum(drift) + math.sqrt(-2 * squares * math.log(left)))


def advanced(promises: Sequence[Promise], delta: float) -> float | None:
    """Return the printed form of advanced composition."""
    drift = [k * e * (math.expm1(e) if e < 700 else math.inf) for e, _, k in promises]
    return _concentration(promises, drift, down(delta - _sum_of_deltas(promises), 8))


def tanh_form(promises: Sequence[Promise], delta: float) -> float | None:
    """Return the tighter form, with ε tanh(ε/2) for the drift."""
    lost = given_away(promises)
    if lost >= delta:
        return None
    drift = [k * e * math.tanh(e / 2) for e, _, k in promises]
    return _concentration(promises, drift, down((delta - lost) / (1 - lost), 8))


def advanced_delta(promises: Sequence[Promise], *, printed: bool) -> Callable[[float], float]:
    """Return δ(ε) of advanced composition: the printed or the tanh form, undone for δ; rounded up.

    With the drift d = Σε(e^ε−1) or Σε tanh(ε/2) and v = Σε², δ̃ = e^{-(ε−d)²/2v}; δ = Σδ + δ̃ in the
    printed form, 1 − (1−δ̃)Π(1−δⱼ) in the other.
    """
    drift = math.fsum(
        k * e * ((math.expm1(e) if e < 700 else math.inf) if printed else math.tanh(e / 2))
        for e, _, k in promises
    )
    squares = math.fsum(k * e * e for e, _, k in promises)
    lost = up(_sum_of_deltas(promises), 8) if printed else given_away(promises)

    def delta_at(epsilon: float) -> float:
        if epsilon <= drift:
            return 1.0
        walked = math.exp(-((epsilon - drift) ** 2) / (2 * squares)) if squares > 0 else 0.0
        total = lost + walked if printed else lost + (1 - lost) * walked
        # The exponent loses what its square has of relative error; ε and d may nearly cancel.
        slack = 64 * 2.0**-52 * (1 + (epsilon - drift) * (epsilon + drift) / max(squares, 1e-300))
        return min(1.0, up(total) * (1 + slack)) if total > 0 else 0.0

    return delta_at


def worst_case(
    promises: Sequence[Promise], adjacency: Adjacency = Adjacency.ADD_REMOVE
) -> PrivacyLoss | None:
    """Return the privacy loss of the worst releases that keep the promises; None if all ε are 0."""
    pairs = [(epsilon, k) for epsilon, _, k in promises if epsilon > 0]
    if not pairs:
        return None
    name = "the worst releases that keep the promises"
    if len({(epsilon, delta) for epsilon, delta, _ in promises}) == 1:
        epsilon, delta, _ = promises[0]
        times = sum(k for _, k in pairs)
        known = {"exact_proved": False, "law_known": False}
        return WalkLoss(epsilon, times, delta, adjacency, name, **known)
    from discreet.composition.grid import GridLoss
    from discreet.composition.mixed import worst_cases

    pair = (worst_cases(pairs),)
    return GridLoss(pair, given_away(promises), adjacency, name, law_known=False)


def optimal(promises: Sequence[Promise], delta: float) -> float | None:
    """Return the smallest ε that the promises imply at that δ."""
    loss = worst_case(promises)
    if loss is None:
        return 0.0 if given_away(promises) <= delta else None
    found = loss.epsilon(delta)
    return found if math.isfinite(found) else None


def paper(promises: Sequence[Promise], delta: float) -> float | None:
    """Return the smallest rung (k−2ℓ)ε₀ that suffices; equal promises only, as KSZ print it."""
    loss = worst_case(promises)
    return loss.rung_epsilon(delta) if isinstance(loss, WalkLoss) else None
