"""How a budget is divided over the releases of a plan: equal, weighted, growing.

A split is a list of weights, the largest of which is 1; release j gets the weight w_j times the
budget of the largest. Weights divide what adds up: ε for pure and approximate DP, ρ for zCDP and
Gaussian noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import InputError

__all__ = ["Split"]


@dataclass(frozen=True, slots=True)
class Split:
    """The share of each release, as weights whose largest is 1.

    >>> Split.growing(3, 2.0).weights
    (0.25, 0.5, 1.0)
    """

    name: str
    weights: tuple[float, ...]

    @classmethod
    def equal(cls, releases: int) -> Split:
        """The same for each of so many releases."""
        if isinstance(releases, bool) or releases != int(releases) or releases < 1:
            raise InputError(f"releases is {releases!r}; it must be a whole number, 1 or more.")
        return cls("equal", (1.0,) * int(releases))

    @classmethod
    def weighted(cls, weights: Sequence[float]) -> Split:
        """Given weights, one a release, all positive."""
        if not weights:
            raise InputError("no weights were given; give one for each release.")
        for w in weights:
            if isinstance(w, bool) or not isinstance(w, (int, float)) or math.isnan(w):
                raise InputError(f"a weight is {w!r}; it must be a positive number.")
            if not 0 < w < math.inf:
                raise InputError(f"a weight is {w:g}; it must be positive and finite.")
        largest = max(weights)
        return cls("weighted", tuple(w / largest for w in weights))

    @classmethod
    def growing(cls, releases: int, factor: float) -> Split:
        """Each release gets `factor` times the one before (below 1 it shrinks)."""
        Split.equal(releases)
        if math.isnan(factor) or not 0 < factor < math.inf:
            raise InputError(f"the growth factor is {factor!r}; it must be positive and finite.")
        exponents = [j * math.log(factor) for j in range(releases)]
        largest = max(exponents)
        if min(exponents) - largest < -30:
            raise InputError(
                f"a growth of {factor:g} over {releases} releases leaves some of them nothing; "
                "choose a factor nearer 1."
            )
        return cls("growing", tuple(math.exp(x - largest) for x in exponents))

    def counted(self) -> list[tuple[float, int]]:
        """Return the distinct weights and how often each occurs, in order of first use."""
        counts: dict[float, int] = {}
        for w in self.weights:
            counts[w] = counts.get(w, 0) + 1
        return list(counts.items())
