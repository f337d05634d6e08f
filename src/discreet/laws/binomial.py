"""Binomial probabilities to full precision, for any number of trials.

The straightforward log Γ form loses digits in proportion to n log n (nine of them at n = 10⁶). The
saddle-point form (Loader 2000, "Fast and accurate computation of binomial probabilities") keeps
them:

    P(x) = √(n/2πx(n−x)) exp(S(n) − S(x) − S(n−x) − D(x, np) − D(n−x, nq)),
    S(m) = log m! − log(√2πm (m/e)^m),   D(x, m) = x log(x/m) + m − x ≥ 0.

D is computed from (x−m)/(x+m) where x is near m, S from its asymptotic series with the first
sixteen values tabulated. NumPy is loaded on first use.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["log_pmf"]

_EXACT = 16
_STIRLING = [0.0] + [
    math.lgamma(m + 1) - (0.5 * math.log(2 * math.pi * m) + m * math.log(m) - m)
    for m in range(1, _EXACT)
]


def _stirling_error(np: Any, m: NDArray[np.float64]) -> NDArray[np.float64]:
    """S(m); S(0) is set to 0, since its factor is left out there."""
    small = m < _EXACT
    some = bool(small.any())
    safe = np.where(small, _EXACT, m) if some else m
    inverse = 1 / (safe * safe)
    series: NDArray[np.float64] = (
        1 / 12
        - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse * (1 / 1188))))
    ) / safe
    if some:
        series[small] = np.asarray(_STIRLING)[m[small].astype(np.int64)]
    return series


def _deviance(np: Any, x: NDArray[np.float64], m: float) -> NDArray[np.float64]:
    """D(x, m) = x log(x/m) + m − x, by its series in v = (x−m)/(x+m) where |v| < 0.1."""
    away = x - m
    v = away / (x + m)
    square = v * v
    series = square * (1 / 17)
    for odd in range(15, 1, -2):
        series += 1 / odd
        series *= square
    deviance: NDArray[np.float64] = away * v + 2 * x * v * series
    far = square >= 0.01
    if far.any():
        y = x[far]
        logs = np.log(np.where(y > 0, y, m) / m)
        deviance[far] = y * logs + (m - y)
    return deviance


def log_pmf(n: int, x: NDArray[np.float64], q: float, p: float) -> NDArray[np.float64]:
    """log P(X = x) for X ~ Bin(n, q), p = 1 − q given apart so that it may be exact; 0 < q < 1."""
    import numpy as np

    rest = n - x
    inside = (x > 0) & (rest > 0)
    spread = np.where(inside, x * (rest / n), 1.0)
    exponent = (
        _stirling_error(np, np.array([float(n)]))
        - _stirling_error(np, x)
        - _stirling_error(np, rest)
        - _deviance(np, x, n * q)
        - _deviance(np, rest, n * p)
    )
    body = exponent - 0.5 * np.log(2 * math.pi * spread)
    log_p, log_q = (math.log1p(-q) if q < 0.5 else math.log(p)), math.log(q)
    return np.where(inside, body, np.where(x > 0, n * log_q, n * log_p))
