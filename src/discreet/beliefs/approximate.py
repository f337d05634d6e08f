"""From (ε, δ)-DP to a bound on the privacy loss that holds with probability 1 − δ', and back.

Notation. L = log P(y)/Q(y) is the privacy loss of an output y, P and Q the laws of the release on
two neighbouring data sets; ε' bounds |L| (two-sided) or L (one-sided: only increases of belief
count) outside an event of probability δ', whichever of the two laws is the true one.

KSZ Theorem 3.9: (ε, δ)-DP implies (ε', δ')-probabilistic DP for every δ' > δ with
    ε' = log(δ'e^ε + δ) − log(δ' − δ).
One-sided, by the first half of its proof alone:
    ε' = ε + log δ' − log(δ' − δ).
Both are increasing in ε, and are undone by
    ε = ε' + log((δ' − δ − δe^{-ε'})/δ')   and   ε = ε' + log((δ' − δ)/δ'),
with no solution where that is negative: no budget at this δ keeps the loss below ε'.

A belief that is bounded through ε' is a strong adversary's (KSZ §3.1): see `pure` at q = 1.
Bounds are rounded up and budgets down.
"""

from __future__ import annotations

import math

from discreet.beliefs.confidence import check_failure, check_sided, failure_of
from discreet.errors import GuaranteeError, ToleranceError
from discreet.guarantees import ApproxDP
from discreet.rounding import up

__all__ = ["epsilon_prime", "largest_epsilon", "largest_epsilon_at", "refuse_too_small"]

_MARGIN = 64 * 2.0**-52


def epsilon_prime(epsilon: float, delta: float, delta_prime: float, sided: str = "two") -> float:
    """Return ε' of Theorem 3.9, never below the true value; infinite where δ' ≤ δ.

    >>> round(epsilon_prime(1.8, 1e-5, 0.05), 6)
    1.800233
    """
    two = check_sided(sided)
    check_failure(delta_prime)
    if delta == 0:
        return epsilon
    if delta >= delta_prime:
        return math.inf
    # (δ' − δ)/δ' loses nothing by cancellation: the difference of two close doubles is exact.
    share = delta / delta_prime
    tail = -(math.log1p(-share) if share < 0.5 else math.log((delta_prime - delta) / delta_prime))
    both = math.log1p(delta * math.exp(-epsilon) / delta_prime) if two else 0.0
    return up(epsilon + both + tail)


def largest_epsilon(
    tolerance_epsilon_prime: float, delta: float, confidence: float, sided: str = "two"
) -> float:
    """Return the largest ε such that (ε, δ)-DP keeps the loss below ε' with this confidence.

    It is rounded down: put back through `epsilon_prime` it keeps the tolerance.

    >>> round(largest_epsilon(0.8, 1e-3, 0.99), 4)
    0.6434
    """
    return largest_epsilon_at(tolerance_epsilon_prime, delta, failure_of(confidence), sided)


def largest_epsilon_at(
    tolerance: float, delta: float, delta_prime: float, sided: str = "two"
) -> float:
    """`largest_epsilon` with the failure probability δ' in the place of the confidence."""
    two = check_sided(sided)
    check_failure(delta_prime)
    ApproxDP(tolerance, delta)  # refuses NaN and negative values
    if delta == 0 or math.isinf(tolerance):
        if delta >= delta_prime:
            refuse_too_small(delta, delta_prime)
        return tolerance
    if delta >= delta_prime:
        refuse_too_small(delta, delta_prime)
    gone = delta * math.exp(-tolerance) if two else 0.0
    left = (delta_prime - delta) - gone
    if left > 0:
        share = (delta + gone) / delta_prime
        shift = math.log1p(-share) if share < 0.5 else math.log(left / delta_prime)
        epsilon = tolerance + shift - _MARGIN * (tolerance - shift)
        if epsilon >= 0:
            return epsilon
    raise ToleranceError(
        f"no epsilon of zero or more keeps the tolerance (epsilon' = {tolerance:.4g}) at delta = "
        f"{delta:g} with failure probability {delta_prime:g}; lower delta, or accept a lower "
        "confidence or a wider tolerance."
    )


def refuse_too_small(delta: float, delta_prime: float) -> None:
    """Raise the error for a confidence that δ does not allow."""
    raise GuaranteeError(
        f"confidence 1 - {delta_prime:g} cannot be had at delta = {delta:g}: the bound may fail "
        "with a probability that must exceed delta. Lower the confidence or delta."
    )
