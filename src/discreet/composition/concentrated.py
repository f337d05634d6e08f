"""Zero-concentrated DP read as a privacy curve.

Notation. ρ the sum of the ρ of all releases, α = 1 + t > 1 the order of a Rényi divergence.

Theorem (Canonne, Kamath and Steinke 2020, Prop. 12 for divergences bounded by αρ):
    δ(ε) ≤ inf_{t>0} exp(t((1+t)ρ − ε) − t log(1 + 1/t) − log(1 + t)).
Every t gives a valid bound, so the search can only be loose, never unsafe. The exponent is convex
in t, stationary where (1+2t)ρ − log(1 + 1/t) = ε. Solved for ε at a given δ it is
    ε(t) = (1+t)ρ + (log 1/δ − t log(1 + 1/t) − log(1 + t))/t,
stationary where ρt² + log(1+t) = log 1/δ: both left-hand sides rise in t.

The classical ε = ρ + 2√(ρ log 1/δ) (Bun and Steinke 2016, Prop. 1.3; used in KSZ Ex. 4.1) is kept
to reproduce what was published with it. A δ₀-approximate ρ-zCDP release adds δ₀ (ibid., §8).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from discreet.composition.loss import PrivacyLoss, check_delta
from discreet.guarantees import ZCDP, Adjacency, PrivacyCurve
from discreet.rounding import down, up

__all__ = ["ConcentratedLoss", "zcdp_curve", "zcdp_delta", "zcdp_epsilon", "zcdp_paper_epsilon"]

_TINY = 5e-324
_LEAST = 1e-300  # a smaller ρ is taken for this one, which promises less: no square of t overflows


def _check(rho: float) -> float:
    return ZCDP(rho).rho


def _root(rising: Callable[[float], float], slope: Callable[[float], float], t: float) -> float:
    """The root of a rising function by Newton's method kept inside a bracket."""
    low, high = 0.0, math.inf
    for _ in range(200):
        value = rising(t)
        low, high = (t, high) if value < 0 else (low, t)
        nearer = t - value / slope(t)
        if not low < nearer < high:
            nearer = 2 * low if math.isinf(high) else (low + high) / 2
        if abs(nearer - t) <= 1e-12 * t:
            return nearer
        t = nearer
    return t


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return the δ that the tight conversion proves at ε for ρ-zCDP; rounded up.

    >>> zcdp_delta(0.01, 1.0) < 1e-12
    True
    """
    if _check(rho) == 0 or epsilon < 0:
        return 1.0 if epsilon < 0 else 0.0
    rho = max(rho, _LEAST)

    def stationary(t: float) -> float:
        return (1 + 2 * t) * rho - math.log1p(1 / t) - epsilon

    start = (epsilon - rho) / (2 * rho) if epsilon > rho else math.exp(max(epsilon - rho, -600.0))
    t = _root(stationary, lambda x: 2 * rho + 1 / (x * (1 + x)), start)
    rise, fall = t * (1 + t) * rho, t * epsilon + t * math.log1p(1 / t) + math.log1p(t)
    exponent = rise - fall + 2e-15 * (1 + rise + fall)
    return min(1.0, max(_TINY, math.exp(min(0.0, exponent))))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the ε at which ρ-zCDP is (ε, δ)-DP, by the tight conversion; rounded up.

    >>> round(zcdp_epsilon(0.1, 1e-6), 4)
    2.1419
    """
    if _check(rho) == 0 or check_delta(delta) == 1:
        return 0.0
    if delta == 0:
        return math.inf
    rho, size = max(rho, _LEAST), -math.log(delta)
    t = _root(
        lambda x: rho * x * x + math.log1p(x) - size,
        lambda x: 2 * rho * x + 1 / (1 + x),
        math.sqrt(size / rho),
    )
    kept = t * math.log1p(1 / t) + math.log1p(t)
    value = (1 + t) * rho + (size - kept) / t
    return max(0.0, value + 2e-15 * ((1 + t) * rho + (size + kept) / t))


def zcdp_paper_epsilon(rho: float, delta: float) -> float:
    """ε = ρ + 2√(ρ log 1/δ), as KSZ Example 4.1 has it; rounded up."""
    if check_delta(delta) == 0:
        return math.inf if _check(rho) > 0 else 0.0
    return up(rho + 2 * math.sqrt(-_check(rho) * math.log(delta)))


def zcdp_curve(rho: float, adjacency: str = "add-remove") -> PrivacyCurve:
    """Return the whole curve that ρ-zCDP implies, by the tight conversion."""
    return ConcentratedLoss(rho, adjacency=Adjacency.of(adjacency), name=f"{rho:g}-zCDP").curve()


@dataclass(frozen=True, slots=True)
class ConcentratedLoss(PrivacyLoss):
    """What is known of the loss of a plan whose ρ add up to `rho`, with δ₀ adding up to `lost`."""

    rho: float
    lost: float = 0.0
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    name: str = "concentrated releases"

    def largest(self) -> float:
        """Inf: zCDP bounds no single loss."""
        return math.inf

    def _at_infinity(self) -> float:
        return self.lost

    def _delta(self, epsilon: float) -> float:
        walked = zcdp_delta(self.rho, epsilon)
        return walked if self.lost == 0 else min(1.0, up(self.lost + (1 - self.lost) * walked, 4))

    def _epsilon(self, delta: float) -> float:
        left = delta if self.lost == 0 else down((delta - self.lost) / (1 - self.lost), 8)
        return zcdp_epsilon(self.rho, left) if left > 0 else math.inf
