"""Noise from outside the package that releases can draw: the sum of two geometric noises.

The second noise is added to what the first one has protected already, so the sum is ε-DP as well.
It protects no more than the first by itself, and serves as an example only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import PureDP
from discreet.laws import Geometric, Kind, WholeNoise, register
from discreet.noise import register_sampler, sampler_of


@dataclass(frozen=True, slots=True)
class Doubled(WholeNoise):
    """Two geometric noises of one scale, added up."""

    scale: float
    released_as = "doubled"
    paid_in = "epsilon"

    @property
    def one(self) -> Geometric:
        """One of the two."""
        return Geometric.of_scale(self.scale)

    @classmethod
    def of_scale(cls, scale: float) -> Doubled:
        """Return the law of this scale."""
        return cls(scale)

    @classmethod
    def least_scale(cls, l1: Fraction, l2_squared: Fraction, budget: float) -> float:
        """Return the scale that the first noise needs."""
        return Geometric.least_scale(l1, l2_squared, budget)

    def guarantee(self) -> PureDP:
        """Return what one release of a count satisfies."""
        return PureDP(1 / self.scale)

    def steps(self, m: int) -> Doubled:
        """Return the same noise, seen from data sets that are m neighbours apart."""
        return Doubled(self.scale / m)

    @property
    def sd(self) -> float:
        """Standard deviation."""
        return float(2**0.5 * self.one.sd)

    def tail(self, t: int) -> float:
        """P(N ≥ t)."""
        return sum(self.one.prob_reversed(t)) if t >= 1 else 1 - self.tail(1 - t)

    @property
    def finite_below(self) -> float:
        """From here on its cumulants are infinite."""
        return 1 / self.scale

    def cumulant(self, t: float) -> float:
        """Cumulants of independent noises add up, and so do the others below."""
        return 2 * self.one.cumulant(t)

    @staticmethod
    def log_characteristic(scale: Any, theta: Any) -> Any:
        """The logarithm of the characteristic function."""
        return 2 * Geometric.log_characteristic(scale, theta)

    def simulated(self, size: int, chance: Any) -> Any:
        """Values for a simulation."""
        return self.one.simulated(size, chance) + self.one.simulated(size, chance)

    def explain(self) -> str:
        """Say in one sentence what the noise does."""
        return f"Each count gets two random whole numbers added, with deviation {self.sd:.2g}."


@register_sampler(Doubled)
def draws(law: Doubled, size: int) -> Sequence[int]:
    """Return the sums of two draws each."""
    one, draw = law.one, sampler_of(law.one)
    return [a + b for a, b in zip(draw(one, size), draw(one, size), strict=True)]


register(
    Kind(
        name="doubled",
        budget="epsilon",
        make=lambda budget, sensitivity: Doubled(sensitivity / budget),
        says="two geometric noises",
        python="Doubled({})",
        released=Doubled,
    )
)
