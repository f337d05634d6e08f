"""A short test of the samplers on this machine: whether what they draw fits their laws."""

from __future__ import annotations

import math
from collections.abc import Iterator

from discreet.laws.discrete_gaussian import DiscreteGaussian
from discreet.laws.geometric import Geometric
from discreet.noise.samplers import add_noise

__all__ = ["self_test"]

DRAWS = 2_000
FAILURE = 1e-9


def self_test(draws: int = DRAWS) -> Iterator[tuple[str, bool, int]]:
    """Yield for each law its name, whether its draws fit it, and how many there were.

    The empirical distribution of n draws is within √(log(2/β)/2n) of the true one everywhere, with
    probability at least 1 − β (Dvoretzky, Kiefer and Wolfowitz 1956; Massart 1990), β = 1e-9.
    """
    reach = math.sqrt(math.log(2 / FAILURE) / (2 * draws))
    for law in (Geometric(0.5), DiscreteGaussian(3.0)):
        drawn = sorted(add_noise(law, [0] * draws))
        upto = {value: place for place, value in enumerate(drawn, start=1)}
        off = max(abs(count / draws - law.cdf(value)) for value, count in upto.items())
        yield type(law).__name__, off <= reach, draws
