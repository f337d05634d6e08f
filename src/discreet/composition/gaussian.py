"""Gaussian releases: the loss of the whole plan is one normal law, L ~ N(ρ, 2ρ), ρ = Σ Δ²/2σ².

Notation. s = √2ρ, a = (ε−ρ)/s, b = (ε+ρ)/s = a + s; φ, Φᶜ, R as in `discreet.numerics`.

Curve (Balle and Wang 2018, Thm 8). Since e^ε φ(b) = φ(a),
    δ(ε) = Φᶜ(a) − e^ε Φᶜ(b) = φ(a) (R(a) − R(b)),
and for small s, where the difference loses its digits, R(a) − R(b) = ∫ₐᵇ (1 − xR(x)) dx, which
eight-point Gauss–Legendre integrates to full precision on so short a stretch.

Exact (KSZ Thm 3.1). P(|L| > ε') = Φᶜ((ε'−ρ)/s) + Φᶜ((ε'+ρ)/s). Its derivative in ρ has the sign of
e^{ε'}(ε'+ρ) + (ε'−ρ) > 0: the more a person contributes the more exposed they are, so the maximum
over contributions is at the full sensitivity. The same holds for one side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.composition import guesses
from discreet.composition.curves import Sided
from discreet.composition.loss import PrivacyLoss
from discreet.guarantees import Adjacency
from discreet.numerics import (
    log_normal_density,
    log_normal_tail,
    mills,
    mills_fall,
    newton,
    normal_tail,
    settle,
)
from discreet.rounding import up

_U = 2.0**-53
_TINY = 5e-324

# Gauss–Legendre on [−1, 1], eight points (Abramowitz and Stegun, table 25.4).
_NODES = (0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363)
_WEIGHTS = (0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763)


def _fall(a: float, s: float) -> float:
    """R(a) − R(a + s), for a ≥ −2 or s ≤ 1/2."""
    if s > 0.5:
        return mills(a) - mills(a + s)
    centre, half = a + s / 2, s / 2
    total = 0.0
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        total += weight * (mills_fall(centre - half * node) + mills_fall(centre + half * node))
    return total * half


def _raised(log_value: float, a: float) -> float:
    """e^log_value, raised past its rounding error: a few ulps, and those of the exponent a²/2."""
    slack = _U * (256 + 16 * (abs(a) + (a * a if a > 0 else 0.0)))
    return max(_TINY, math.exp(log_value) * (1 + slack))


@dataclass(frozen=True, slots=True)
class GaussianLoss(PrivacyLoss):
    """The loss of Gaussian releases whose ρ add up to `rho`.

    >>> round(GaussianLoss(36.5).epsilon(1e-6), 6)
    76.319553
    """

    rho: float
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    name: str = "Gaussian releases"
    exact_proved = True

    def largest(self) -> float:
        """Inf: the loss of a Gaussian release has no largest value."""
        return math.inf

    def _log_delta(self, epsilon: float) -> tuple[float, float]:
        """log δ(ε) and its derivative −e^ε Φᶜ(b)/δ, for ε ≥ 0; not rounded to a side."""
        s = math.sqrt(2 * self.rho)
        a = (epsilon - self.rho) / s
        below = mills(a + s)
        if a < -2 and s > 0.5:
            density = math.exp(log_normal_density(a))
            value = normal_tail(a) - density * below
            return math.log(value), -density * below / value
        fall = _fall(a, s)
        return log_normal_density(a) + math.log(fall), -below / fall

    def _delta(self, epsilon: float) -> float:
        a = (epsilon - self.rho) / math.sqrt(2 * self.rho)
        return _raised(self._log_delta(epsilon)[0], a)

    def _epsilon(self, delta: float) -> float:
        if self._delta(0.0) <= delta:
            return 0.0
        start = self.rho + math.sqrt(-4 * self.rho * math.log(delta))
        # log δ is concave: from the second step on Newton's method comes down to the root.
        root = newton(self._log_delta, start, target=math.log(delta), near=1e-15)
        return settle(self._delta, delta, root)

    def _log_tail(self, x: float, sided: Sided) -> tuple[float, float]:
        """log P(|L| > x) and its derivative."""
        s = math.sqrt(2 * self.rho)
        a, b = (x - self.rho) / s, (x + self.rho) / s
        value, density = log_normal_tail(a), log_normal_density(a)
        if sided == "one":
            return value, -math.exp(density - value) / s
        # Φᶜ(b)/Φᶜ(a), and φ(b)/φ(a) = e^{-x}: the lower side against the upper.
        lower = math.exp(log_normal_tail(b) - value)
        return value + math.log1p(lower), -math.exp(density - value) * (1 + math.exp(-x)) / (
            s * (1 + lower)
        )

    def _tail(self, x: float, sided: Sided) -> float:
        return min(
            1.0, _raised(self._log_tail(x, sided)[0], (x - self.rho) / math.sqrt(2 * self.rho))
        )

    def _exact_epsilon(self, delta_prime: float, sided: Sided) -> float:
        if self._tail(0.0, sided) <= delta_prime:
            return 0.0
        start = self.rho + math.sqrt(2 * self.rho) * (1 + math.sqrt(-2 * math.log(delta_prime)))
        goal = math.log(delta_prime)
        root = newton(lambda x: self._log_tail(x, sided), start, target=goal, near=1e-15)
        return settle(lambda x: self._tail(x, sided), delta_prime, root)

    def _right_guess(self, kappa: float) -> float:
        return guesses.from_normal(up(math.sqrt(2 * self.rho), 2), kappa)
