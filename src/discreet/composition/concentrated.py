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

Directly on the loss L. E[e^{(α−1)L}] ≤ e^{α(α−1)ρ} for every α > 1 (the definition), so by Markov's
inequality, at the best α,
    P(L > ε') ≤ e^{-(ε'−ρ)²/4ρ}                        for ε' > ρ,
and, since P(L < −ε') ≤ e^{-ε'} Q(−L > ε') with the neighbours' roles exchanged,
    P(|L| > ε') ≤ (1 + e^{-ε'}) e^{-(ε'−ρ)²/4ρ}.
One-sided this is ε' = ρ + 2√(ρ log 1/δ'). It needs nothing but ρ-zCDP, so it survives
post-processing. It equals what the tight conversion gives through Theorem 3.9 of KSZ, minimised
over δ: for a given ε', the line through that δ that touches the Chernoff bound is one of those that
are tried. The paper's route (KSZ Example 4.1) is the classical ε for some δ, then Theorem 3.9,
minimised over δ; it is looser.

Beside ε-DP. Let the rest of a plan have the curve δ, and let some releases be ε₀-DP together. Given
what these show, a set has probability P ≤ min(1, e^{ε−ε₀}Q) + δ(ε − ε₀) in the rest; the minimum
is a number between 0 and 1, whose mean over the others is at most e^{ε₀} times that under Q. So
    δ(ε − ε₀)
bounds all of them (basic composition), also where the rest was chosen after seeing the others. Of
(ε₀, δ₀)-DP the worst case gives everything away with probability δ₀ and is ε₀-DP otherwise, so δ₀
counts as in approximate zCDP. ρ + ε₀²/2 is better for a small ε₀, this for a large one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from discreet.composition import guesses
from discreet.composition.curves import (
    Bound,
    Strength,
    check_failure,
    check_sided,
    epsilon_prime,
    rise_at,
)
from discreet.composition.loss import LossBound, PrivacyLoss, check_delta
from discreet.guarantees import ZCDP, Adjacency, PrivacyCurve
from discreet.numerics import lowest, newton
from discreet.rounding import down, up
from discreet.words import say

_TINY = 5e-324
_LEAST = 1e-300  # a smaller ρ is taken for this one, which promises less: no square of t overflows


def _check(rho: float) -> float:
    return ZCDP(rho).rho


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return the δ that the tight conversion proves at ε for ρ-zCDP; rounded up.

    >>> zcdp_delta(0.01, 1.0) < 1e-12
    True
    """
    if _check(rho) == 0 or epsilon < 0:
        return 1.0 if epsilon < 0 else 0.0
    rho = max(rho, _LEAST)

    def stationary(t: float) -> tuple[float, float]:
        return (1 + 2 * t) * rho - math.log1p(1 / t) - epsilon, 2 * rho + 1 / (t * (1 + t))

    start = (epsilon - rho) / (2 * rho) if epsilon > rho else math.exp(max(epsilon - rho, -600.0))
    t = newton(stationary, start)
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

    def stationary(t: float) -> tuple[float, float]:
        return rho * t * t + math.log1p(t) - size, 2 * rho * t + 1 / (1 + t)

    t = newton(stationary, math.sqrt(size / rho))
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


def on_the_loss(rho: float, delta_prime: float, sided: str = "two") -> float:
    """Return ε' with P(|L| > ε') ≤ δ' (one-sided: P(L > ε')) for every ρ-zCDP release.

    >>> round(on_the_loss(0.07, 0.01, "one"), 4)
    1.2055
    """
    two = check_sided(sided)
    check_failure(delta_prime)
    if rho == 0 or math.isinf(rho):
        return rho
    size = -math.log(delta_prime)
    bound = rho + 2 * math.sqrt(rho * size)
    if not two:
        return up(bound)

    def missing(x: float) -> tuple[float, float]:
        small = math.exp(-x)
        root = math.sqrt(rho * (size + math.log1p(small)))
        # The root is 0 where δ' is 1 and e^-ρ too small for a number: the bound is ρ itself.
        return x - rho - 2 * root, 1 + (rho * small / (1 + small) / root if root else 0.0)

    return up(newton(missing, bound, near=2e-16))


def papers_route(rho: float, delta_prime: float, sided: str = "two") -> float:
    """Return ε' as KSZ Example 4.1 computes it; looser than `on_the_loss`.

    >>> round(1 / (1 + math.exp(-papers_route(0.07, 0.01))), 3)
    0.83
    """
    check_failure(delta_prime)
    if rho == 0 or math.isinf(rho):
        return rho

    def bound(epsilon: float) -> float:
        if epsilon <= rho:
            return math.inf
        delta = up(math.exp(-((epsilon - rho) ** 2) / (4 * rho)))
        return epsilon_prime(epsilon, min(1.0, delta), delta_prime, sided)

    return lowest(bound)[1]


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

    def _right_guess(self, kappa: float) -> float:
        lost, kept = self.lost, 1 - self.lost
        if lost == 0:
            return guesses.from_rho(self.rho, kappa)
        if kappa >= kept:
            return 1.0
        return up(lost + kept * guesses.from_rho(self.rho, min(1.0, up(kappa / kept))))


@dataclass(frozen=True, slots=True)
class ZCDPLoss(ConcentratedLoss):
    """The loss of releases of which only the sum of their ρ is known.

    `papers` takes the route of KSZ Example 4.1, which is looser.
    """

    papers: bool = False
    strength = "generic"
    grows_with_steps = True

    def steps(self, m: int) -> ZCDPLoss:
        """Return the loss of m steps: m²ρ."""
        return self if m == 1 else replace(self, rho=ZCDP(self.rho).steps(m).rho)

    def _bounded(self, failure: float, sided: str, strength: Strength | None) -> LossBound:
        if self.papers:
            bound = papers_route(self.rho, failure, sided)
            return LossBound(bound, failure, "generic", True, say("composition.bound.papers_rho"))
        bound = on_the_loss(self.rho, failure, sided)
        return LossBound(bound, failure, "generic", True, say("composition.bound.rho"))

    def _chance(self, x: float, bound: Bound, least: PrivacyLoss | None) -> float:
        if self.rho == 0:
            return 0.0 if x >= 0 else 1.0
        if x <= self.rho or math.isinf(self.rho):
            return 1.0
        if bound is not rise_at:
            return super(ZCDPLoss, self)._chance(x, bound, None)
        chance = math.exp(-((x - self.rho) ** 2) / (4 * self.rho))
        return min(1.0, up(max(chance, _TINY), 64))  # never certain, however small


@dataclass(frozen=True, slots=True)
class BesideLoss(PrivacyLoss):
    """The loss of a plan of which some releases are `apart`-DP together, and `rest` is the rest."""

    rest: ConcentratedLoss
    apart: float

    @property
    def name(self) -> str:  # type: ignore[override]
        """What is released, in one phrase."""
        return self.rest.name

    @property
    def adjacency(self) -> Adjacency:  # type: ignore[override]
        """The adjacency of all releases."""
        return self.rest.adjacency

    @property
    def grows_with_steps(self) -> bool:  # type: ignore[override]
        """As the rest does: the ε of more steps is larger."""
        return self.rest.grows_with_steps

    def largest(self) -> float:
        """The sum of the largest."""
        return up(self.apart + self.rest.largest(), 1)

    def _at_infinity(self) -> float:
        return self.rest._at_infinity()

    def _delta(self, epsilon: float) -> float:
        return self.rest.delta(down(epsilon - self.apart, 1))

    def _epsilon(self, delta: float) -> float:
        return up(self.apart + self.rest.epsilon(delta), 1)
