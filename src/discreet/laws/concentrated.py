"""ρ of Gaussian noise, continuous or discrete: ρ = Δ²/2σ² (Bun and Steinke 2016, Prop. 1.6;
Canonne, Kamath and Steinke 2020, Thm 4).
"""

from __future__ import annotations

import math

from discreet.laws.checks import positive
from discreet.rounding import up

__all__ = ["rho_of", "sigma_of"]


def sigma_of(rho: float, sensitivity: float) -> float:
    """Return the least σ that is ρ-zCDP, rounded up."""
    positive("rho", rho)
    return up(positive("sensitivity", sensitivity) / math.sqrt(2 * rho), 4)


def rho_of(sigma: float, sensitivity: float) -> float:
    """Return Δ²/2σ², to the nearest."""
    ratio = sensitivity / sigma
    return ratio * ratio / 2
