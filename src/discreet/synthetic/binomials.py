"""Binomial and beta-binomial weights, from their largest term outwards.

Both laws on 0 … n have simple ratios of neighbouring probabilities, so their logarithms are
cumulative sums away from the mode, and dividing by the sum needs no gamma function and loses no
digits to its size. Terms below e^{-80} of the largest are left out: less than 1e-30 of the whole.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CUT", "beta_binomial", "binomial", "log_choose"]

CUT = 80.0


def binomial(n: int, p: float) -> tuple[int, NDArray[np.float64]]:
    """Return (first, probabilities) of Bin(n, p) on the run that matters.

    >>> first, mass = binomial(4, 0.5)
    >>> first, mass.round(4).tolist()
    (0, [0.0625, 0.25, 0.375, 0.25, 0.0625])
    """
    if p == 0:
        return 0, np.ones(1)
    if p == 1:
        return n, np.ones(1)
    mode = min(n, math.floor((n + 1) * p))
    # A binomial lies within this of its mode but for e^{-CUT} (Bernstein's inequality).
    reach = math.ceil(math.sqrt(2 * CUT * n * p * (1 - p)) + 2 * CUT / 3 + 2)
    low, high = max(0, mode - reach), min(n, mode + reach)
    log_odds = math.log(p) - math.log1p(-p)
    k = np.arange(low, high)
    return low, _normalised(np.log(n - k) - np.log(k + 1.0) + log_odds, mode - low)


def beta_binomial(n: int, a: float, b: float) -> NDArray[np.float64]:
    """Return the logarithm, up to a constant, of the beta-binomial probabilities of 0 … n.

    C(n, k) B(k + a, n − k + b): the law of a binomial count whose probability is Beta(a, b).
    """
    k = np.arange(n, dtype=np.float64)
    steps = np.log(n - k) - np.log(k + 1) + np.log(k + a) - np.log(n - k - 1 + b)
    return _from_middle(steps, n // 2)


def log_choose(n: int, low: int, high: int) -> NDArray[np.float64]:
    """Return log C(n, k) for k = low … high, up to a constant."""
    k = np.arange(low, high)
    return _from_middle(np.log(n - k) - np.log(k + 1.0), (high - low) // 2)


def _from_middle(steps: NDArray[np.float64], middle: int) -> NDArray[np.float64]:
    """Return the sums of steps to the right of `middle`, and minus those to its left."""
    right = np.cumsum(steps[middle:])
    left = -np.cumsum(steps[:middle][::-1])[::-1]
    return np.concatenate([left, [0.0], right])


def _normalised(steps: NDArray[np.float64], mode: int) -> NDArray[np.float64]:
    mass = np.exp(_from_middle(steps, mode))
    return np.asarray(mass / mass.sum())
