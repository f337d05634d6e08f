"""What may be learned under pure DP.

Notation. p, q as in `prior`; r the ratio of posterior to prior probability of "in, and sensitive";
s = pq.

K&R Theorem 1 (add-remove; their assumptions 1 and 2):
    r ≤ 1/(pq + e^{-2ε}(1−q)p + e^{-ε}(1−p)), and the same with −ε for ε as a lower bound.
At q = 1 it is KSZ's strong adversary: posterior ≤ expit(logit p + ε).

Replace and local: everyone is in, the question is their value, and r ≤ 1/(s + e^{-ε}(1−s)).
The same holds under add-remove where the statistic counts the sensitive ones alone (KSZ Ex. 1.1):
not being sensitive is then not being in, so an attribute attack is a membership attack.

Parts (K&R eq. 5): r is the ratio for inclusion, at most 1/(p + e^{-ε}(1−p)), times the ratio for
the value among those who are in, at most 1/(q + e^{-2ε}(1−q)).

Counterfactual (Wood et al.; K&R Appendix D.2): with a1 and a0 the posteriors had the person joined
or not, odds(a1) ≤ e^{2ε} odds(a0), or e^ε where the statistic counts the sensitive ones alone.

Upper bounds are rounded up and lower bounds down.
"""

from __future__ import annotations

import math

from discreet.beliefs.prior import Prior, check_probability
from discreet.guarantees import Adjacency
from discreet.rounding import down, up

__all__ = [
    "counterfactual_upper",
    "inclusion_ratio",
    "ratio",
    "value_ratio",
    "worst_difference",
    "worst_ratio",
]


def _membership_only(adjacency: Adjacency, counts_sensitive_only: bool) -> bool:
    return counts_sensitive_only or adjacency is not Adjacency.ADD_REMOVE


def _denominator(
    epsilon: float, prior: Prior, adjacency: Adjacency, counts_sensitive_only: bool
) -> float:
    p, q = prior.p, prior.q
    if _membership_only(adjacency, counts_sensitive_only):
        one_minus_pq = (1 - p) + p * (1 - q)  # without cancellation
        return p * q + _times_exp(one_minus_pq, -epsilon)
    return p * q + _times_exp((1 - q) * p, -2 * epsilon) + _times_exp(1 - p, -epsilon)


def _times_exp(weight: float, x: float) -> float:
    """Weight · e^x, for any x: an overflow is infinite, and nothing times it is nothing."""
    if weight == 0:
        return 0.0
    return weight * math.exp(x) if x < 709 else math.inf


def ratio(
    epsilon: float,
    prior: Prior,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    *,
    counts_sensitive_only: bool = False,
) -> tuple[float, float]:
    """Return the lower and upper bound of posterior over prior of "in, and sensitive".

    >>> low, high = ratio(math.log(3), Prior(0.5))
    >>> round(high * 0.5, 6), round(low * 0.5, 6)
    (0.75, 0.25)
    """
    high = 1 / _denominator(epsilon, prior, adjacency, counts_sensitive_only)
    low = 1 / _denominator(-epsilon, prior, adjacency, counts_sensitive_only)
    return max(0.0, down(low)), min(up(high), up(1 / prior.pq))


def inclusion_ratio(epsilon: float, p: float) -> tuple[float, float]:
    """Return the bounds of P(in | release) / P(in): the part of the ratio due to inclusion."""
    return ratio(epsilon, Prior(p))


def value_ratio(epsilon: float, q: float) -> tuple[float, float]:
    """Return the bounds of P(sensitive | in, release) / P(sensitive | in): the value's part."""
    return ratio(epsilon, Prior(1.0, q))


def counterfactual_upper(
    epsilon: float, without: float, *, counts_sensitive_only: bool = False
) -> float:
    """Return the largest posterior had the person joined, given the posterior had they not.

    >>> round(counterfactual_upper(0.5, 0.5), 4)
    0.7311
    """
    without = check_probability("without", without, zero=True)
    if without == 0:
        return 0.0
    e = epsilon if counts_sensitive_only else 2 * epsilon
    return min(1.0, up(without / (without + _times_exp(1 - without, -e))))


def worst_ratio(
    epsilon: float,
    q: float = 1.0,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    *,
    counts_sensitive_only: bool = False,
) -> tuple[float, float]:
    """Return `(p, ratio)`: the supremum of the upper ratio over p at this q; p = 0 is a limit.

    The denominator is linear in p, so the supremum is at one end.
    """
    if _membership_only(adjacency, counts_sensitive_only):
        return 0.0, up(_times_exp(1.0, epsilon))
    at_zero = up(_times_exp(1.0, epsilon))
    at_one = ratio(epsilon, Prior(1.0, q))[1]
    return (0.0, at_zero) if at_zero >= at_one else (1.0, at_one)


def worst_difference(
    epsilon: float,
    q: float = 1.0,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    *,
    counts_sensitive_only: bool = False,
) -> tuple[float, float]:
    """Return `(p, difference)`: the largest posterior − prior over p at this q.

    With the denominator αp + β, the difference q(p/(αp+β) − p) is largest where αp + β = √β; at
    q = 1 that is tanh(ε/4) at p = 1/(1 + e^{ε/2}) (KSZ §4.4).

    >>> p, value = worst_difference(1.8000)
    >>> round(p, 3), round(value, 3)
    (0.289, 0.422)
    """
    if epsilon > 700:
        return 0.0, 1.0
    if _membership_only(adjacency, counts_sensitive_only):
        p = min(1.0, 1 / (1 + math.exp(epsilon / 2)) / q)
    else:
        beta = math.exp(-epsilon)
        alpha = q + beta * beta * (1 - q) - beta
        p = min(1.0, (math.sqrt(beta) - beta) / alpha) if alpha > 0 else 1.0
    prior = Prior(p or 0.5, q)  # at an ε next to 0 every prior is as good
    high = ratio(epsilon, prior, adjacency, counts_sensitive_only=counts_sensitive_only)[1]
    return prior.p, up(prior.pq * (high - 1))
