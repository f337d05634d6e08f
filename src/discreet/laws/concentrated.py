"""What Gaussian noise, continuous or discrete, has in common.

Notation. σ the parameter of the noise, Δ the L2 sensitivity of what it goes on, ρ = Δ²/2σ².

Law: both are ρ-zCDP (Bun and Steinke 2016, Prop. 1.6; Canonne, Kamath and Steinke 2020, Thm 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from discreet.guarantees import ZCDP
from discreet.laws.checks import positive
from discreet.rounding import up

__all__ = ["OfSigma"]


@dataclass(frozen=True, slots=True)
class OfSigma:
    """Noise that is given by its σ, and private by its ρ."""

    sigma: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        positive("sigma", self.sigma)
        positive("sensitivity", self.sensitivity)

    @classmethod
    def of_rho(cls, rho: float, sensitivity: float = 1.0) -> Self:
        """Return the least noise that is ρ-zCDP; σ is rounded up."""
        positive("rho", rho)
        return cls(up(positive("sensitivity", sensitivity) / math.sqrt(2 * rho), 4), sensitivity)

    @property
    def rho(self) -> float:
        """ρ = Δ²/2σ², to the nearest."""
        ratio = self.sensitivity / self.sigma
        return ratio * ratio / 2

    def steps(self, m: int, *, nonnegative: bool = False) -> Self:
        """Return the same noise, seen from data sets that are m neighbours apart.

        Two contributions without negative values lie within √2 Δ of each other, not 2Δ.
        """
        far = up(math.sqrt(2), 1) if nonnegative and m == 2 else float(m)
        return type(self)(self.sigma, far * self.sensitivity)

    def guarantee(self) -> ZCDP:
        """ρ-zCDP, ρ rounded up."""
        return ZCDP(up(self.rho, 4))
