"""From a bound ε' on the privacy loss to bounds on a strong adversary's beliefs.

Notation. p is the prior probability of "in" and X the posterior; |L| ≤ ε' (two-sided) or L ≤ ε'.

By KSZ Theorem 3.1 X = expit(logit p + L), so X lies within expit(logit p ± ε'); X/p is largest
as p → 0 (e^{ε'}), and X − p at p = 1/(1 + e^{ε'/2}), where it is tanh(ε'/4) (Lemma 3.4). For "not
in", 1 − X, everything is mirrored: p → 1 − p (KSZ §4.4).

One-sided bounds say nothing about decreases: the lower ends are 0, and there is nothing about
"not in", whose increases they are. Upper ends are rounded up and lower ends down.
"""

from __future__ import annotations

import math

from discreet.beliefs import pure
from discreet.beliefs.belief import Bounds, Worst
from discreet.beliefs.prior import Prior
from discreet.rounding import down, up

__all__ = [
    "difference_either",
    "differences",
    "posterior",
    "ratio_either",
    "ratios",
    "worst_difference_not_in",
    "worst_ratio_not_in",
]


def ratios(epsilon_prime: float, p: float | None, sided: str = "two") -> Bounds:
    """Return the bounds of X/p at a prior, or over all of them where p is None."""
    if p is None:
        low, high = down(math.exp(-epsilon_prime)), up(_exp(epsilon_prime))
    else:
        low, high = pure.ratio(epsilon_prime, Prior(p))
    return Bounds(low if sided == "two" else 0.0, high)


def posterior(epsilon_prime: float, p: float, sided: str = "two") -> Bounds:
    """Return the bounds of X at a prior.

    >>> bounds = posterior(math.log(3), 0.5)
    >>> round(bounds.lower, 9), round(bounds.upper, 9)
    (0.25, 0.75)
    """
    ratio = ratios(epsilon_prime, p, sided)
    return Bounds(max(0.0, down(p * ratio.lower)), min(1.0, up(p * ratio.upper)))


def differences(epsilon_prime: float, p: float | None, sided: str = "two") -> Bounds:
    """Return the bounds of X − p at a prior, or over all of them where p is None."""
    if p is None:
        most = min(1.0, up(math.tanh(epsilon_prime / 4)))
        return Bounds(-most if sided == "two" else -1.0, most)
    if p == 1:  # certain before, certain after
        return Bounds(0.0 if sided == "two" else -1.0, 0.0)
    # p(1−p)(e^{ε'} − 1)/(pe^{ε'} + 1 − p), without the cancellation of X − p
    rise = -math.expm1(-epsilon_prime)
    high = p * (1 - p) * rise / (p + (1 - p) * math.exp(-epsilon_prime))
    if sided != "two":
        return Bounds(-p, up(high))
    fall = p * (1 - p) * rise / ((1 - p) + p * math.exp(-epsilon_prime))
    return Bounds(-up(fall), up(high))


def worst_ratio_not_in(epsilon_prime: float) -> Worst:
    """Return where (1 − X)/(1 − p) is largest: as p → 1, where it is e^{ε'}."""
    return Worst(1.0, up(_exp(epsilon_prime)))


def worst_difference_not_in(epsilon_prime: float) -> Worst:
    """Return where p − X is largest: at p = 1/(1 + e^{-ε'/2}), where it is tanh(ε'/4)."""
    return Worst(1 / (1 + math.exp(-epsilon_prime / 2)), min(1.0, up(math.tanh(epsilon_prime / 4))))


def ratio_either(epsilon_prime: float, p: float) -> float:
    """Return the largest of X/p and (1 − X)/(1 − p), for 0 < p < 1 (KSZ Figure 6)."""
    return max(ratios(epsilon_prime, p).upper, ratios(epsilon_prime, 1 - p).upper)


def difference_either(epsilon_prime: float, p: float) -> float:
    """Return the largest of X − p and p − X (KSZ Figure 7)."""
    bounds = differences(epsilon_prime, p)
    return max(bounds.upper, -bounds.lower)


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf
