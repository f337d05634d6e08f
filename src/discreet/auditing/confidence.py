"""Exact confidence bounds of a probability, from how often an event was seen.

Notation. k of n independent trials were hits; the probability of a hit is q; α is the probability
with which a bound may be wrong.

Clopper and Pearson (1934): the lower bound is the q at which k or more hits have probability α, the
upper bound the q at which k or fewer have. Each is wrong with probability at most α, whatever q
is: no approximation by a normal law. The tails are summed in log space from the binomial law, and
the root is bracketed by halving; the end of the bracket that is further out is returned.
"""

from __future__ import annotations

import math

from discreet.errors import InputError
from discreet.laws.binomial import log_pmf
from discreet.numerics import bracket

__all__ = ["at_least", "at_most"]

_HALVINGS = 44
# The tail is summed to about 1e-13 of itself; a level this much lower is on the safe side.
_MARGIN = 1e-11


def _check(hits: int, trials: int, alpha: float) -> None:
    if math.isnan(alpha) or not 0 < alpha < 1:
        raise InputError(f"the failure probability is {alpha!r}; it must lie between 0 and 1.")
    if not (0 <= hits <= trials and trials >= 1):
        raise InputError(f"{hits} hits in {trials} trials: hits must lie between 0 and the trials.")


def _log_tail(hits: int, trials: int, q: float) -> float:
    """log P(X ≥ hits) for X ~ Bin(trials, q)."""
    import numpy as np

    logs = log_pmf(trials, np.arange(hits, trials + 1, dtype=np.float64), q, 1 - q)
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def at_least(hits: int, trials: int, alpha: float) -> float:
    """Return a lower bound of the probability of a hit; wrong with probability at most α.

    >>> at_least(0, 10, 0.05), round(at_least(10, 10, 0.05), 6)
    (0.0, 0.741134)
    """
    _check(hits, trials, alpha)
    if hits == 0:
        return 0.0
    level = math.log(alpha) - _MARGIN
    if hits == trials:
        return math.exp(level / trials) * (1 - 1e-15)
    return bracket(
        lambda q: _log_tail(hits, trials, q) <= level, 0.0, hits / trials, halvings=_HALVINGS
    )[0]


def at_most(hits: int, trials: int, alpha: float) -> float:
    """Return an upper bound of the probability of a hit; wrong with probability at most α.

    >>> round(at_most(0, 10, 0.05), 6), at_most(10, 10, 0.05)
    (0.258866, 1.0)
    """
    return min(1.0, math.nextafter(1 - at_least(trials - hits, trials, alpha), math.inf))
