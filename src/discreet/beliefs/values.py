"""Membership and value at once under (ε, δ)-DP, for a strong adversary.

Notation. p, q as in `prior`; the adversary knows everything in the data but whether this unit is
in and which value it has. P1, P2 and Q are the laws of the release with the unit in and sensitive,
in and not sensitive, and absent; r is posterior over prior of "in, and sensitive":
    1/r = pq + (1−q)p · P2/P1 + (1−p) · Q/P1        at the output.
(ε, δ) holds between Q and either of P1, P2; two steps give (ε₂, δ₂) = (2ε, (1+e^ε)δ) between P1
and P2, or what the mechanism's own curve gives. Each may be any point of its curve, as long as
δ₂ is at least the δ of one step at ε₂ (group privacy always gives that).

Increases. With probability at least 1 − η₁ − η₂, whichever of the three laws is the true one,
    r ≤ 1/(pq + e^{-b}(1−q)p + e^{-a}(1−p)),   a = ε − log1p(−δ/η₁),   b = ε₂ − log1p(−δ₂/η₂).
Proof for S = {P1 > e^a Q}: P1(S) ≤ e^ε Q(S) + δ and P1(S) ≥ e^a Q(S) give Q(S) ≤ δ/(e^a − e^ε), so
any law within (ε, δ) of Q has at most δe^a/(e^a − e^ε) = η₁ there. {P1 > e^b P2} goes the same way
from P2, and from Q since δ ≤ δ₂. At p = 1 only b is needed. A term whose η is not above its δ is
dropped. The best split of η₁ + η₂ is as √(e^{-ε}(1−p)δ) : √(e^{-ε₂}(1−q)pδ₂); any fixed one is
valid too, and leaves the denominator linear in p.

Decreases. For S' = {Q > e^a P1}, under P2 two steps count: P2(S') ≤ e^ε Q(S') + δ, so
    r ≥ 1/(pq + e^{b}(1−q)p + e^{a}(1−p)),   e^a = e^ε (η₁ − δ)/(η₁ − (1+e^ε)δ),  b as above.
Two-sided bounds spend half of δ'' on each direction.

The probability is over the noise, for a *strong* adversary. For one who is unsure of the others'
data it would be the adversary's own predictive probability, which is not confidence: an adversary
who gives the true data weight 10⁻⁸ can pass such a bound almost half of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from discreet.beliefs.prior import Prior
from discreet.composition.curves import best_point, check_failure, check_sided
from discreet.rounding import down, up

__all__ = [
    "Choose",
    "Point",
    "along",
    "best_split",
    "ratio_bounds",
    "two_steps",
    "worst_priors",
]

Point: TypeAlias = tuple[float, float]  # (ε, δ)
Choose: TypeAlias = Callable[[float], Point]  # for a failure probability η, the point to use


def two_steps(point: Point) -> Point:
    """Return the (ε, δ) of two steps by group privacy: (2ε, (1 + e^ε)δ), rounded up."""
    epsilon, delta = point
    if delta == 0:
        return 2 * epsilon, 0.0
    return 2 * epsilon, min(1.0, up(delta * (1 + math.exp(epsilon)))) if epsilon < 700 else 1.0


def best_split(prior: Prior, one: Point, two: Point, failure: float) -> float:
    """Return the share of the failure probability for the membership term (η₁)."""
    first = math.exp(-one[0]) * (1 - prior.p) * one[1]
    second = math.exp(-two[0]) * (1 - prior.q) * prior.p * two[1]
    if first + second == 0:
        return 0.5
    split = math.sqrt(first) / (math.sqrt(first) + math.sqrt(second))
    # Where the best split leaves one term nothing, the other may have all.
    return max((split, 0.0, 1.0), key=lambda s: _smallest_denominator(prior, one, two, s, failure))


def _kept(delta: float, eta: float) -> float:
    """1 − δ/η, or 0 where the term is dropped; never above the truth."""
    if delta == 0:
        return 1.0
    return max(0.0, down((eta - delta) / eta)) if eta > delta else 0.0


def _smallest_denominator(
    prior: Prior, one: Point, two: Point, split: float, failure: float
) -> float:
    absent = math.exp(-one[0]) * _kept(one[1], split * failure) * (1 - prior.p)
    other = math.exp(-two[0]) * _kept(two[1], (1 - split) * failure) * (1 - prior.q) * prior.p
    return prior.pq + other + absent


def _largest_denominator(
    prior: Prior, one: Point, two: Point, split: float, failure: float
) -> float:
    total = prior.pq
    if prior.p < 1:
        epsilon, delta = one
        eta = split * failure
        steps = delta * (1 + math.exp(min(epsilon, 700.0)))
        if eta <= steps or epsilon > 700:
            return math.inf
        total += math.exp(epsilon) * (eta - delta) / (eta - steps) * (1 - prior.p)
    if prior.q < 1:
        kept = _kept(two[1], (1 - split) * failure)
        if kept == 0 or two[0] > 700:
            return math.inf
        total += math.exp(two[0]) / kept * (1 - prior.q) * prior.p
    return total


def along(delta_at: Callable[[float], float]) -> Choose:
    """Return the choice of the best point of a curve δ(ε), for one side."""

    def choose(eta: float) -> Point:
        found = best_point(delta_at, eta, "one") if eta > 0 else None
        if found is None or math.isinf(found.epsilon):
            return 700.0, 1.0
        return found.epsilon, found.delta

    return choose


def ratio_bounds(
    prior: Prior,
    one: Point | Choose,
    two: Point | Choose,
    failure: float,
    sided: str = "two",
    *,
    split: float | None = None,
) -> tuple[float, float]:
    """Return the bounds of r that hold with probability 1 − δ''.

    `one` and `two` are the (ε, δ) of one step and of two, or choose them along a curve. `split`
    fixes η₁/δ''; without it the best one is taken. One-sided, the lower bound is 0.

    >>> point = (1.0, 1e-7)
    >>> low, high = ratio_bounds(Prior(0.1, 0.5), point, two_steps(point), 0.01)
    >>> round(low, 4), round(high, 4)
    (0.3489, 2.5783)
    """
    both = check_sided(sided)
    check_failure(failure)
    each = failure / 2 if both else failure
    low, high = 0.0, up(1 / prior.pq)
    share = 0.5 if split is None else split
    # Points for a half split, the split for those points, the points again for that split: every
    # choice is valid, and a further round gains next to nothing.
    for _ in range(3):
        first, second = _point(one, share * each), _point(two, (1 - share) * each)
        best = best_split(prior, first, second, each) if split is None else split
        high = min(high, up(1 / _smallest_denominator(prior, first, second, best, each)))
        if both:
            equal = (0.5 if split is None else split) if prior.p < 1 else 0.0
            low = max(low, down(1 / _largest_denominator(prior, first, second, equal, each)))
        share = min(0.999, max(0.001, best))
    return low, high


def _point(which: Point | Choose, eta: float) -> Point:
    return which(eta) if callable(which) else which


def worst_priors(
    q: float, one: Point | Choose, two: Point | Choose, failure: float, sided: str = "two"
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return `(p, value)` of the worst ratio and of the worst difference over p, at this q.

    With a fixed half split the denominator is αp + β, so the ratio is worst at one end and the
    difference q(p/(αp+β) − p) where αp + β = √β.
    """
    each = failure / (4 if check_sided(sided) else 2)
    (e1, d1), (e2, d2) = _point(one, each), _point(two, each)
    beta = math.exp(-e1) * _kept(d1, each)
    total = q + math.exp(-e2) * _kept(d2, each) * (1 - q)  # α + β, at p = 1
    alpha = total - beta
    at_zero = up(1 / beta) if beta > 0 else math.inf
    at_one = up(1 / total)
    ratio = (0.0, at_zero) if at_zero >= at_one else (1.0, at_one)
    p = 1.0 if alpha <= 0 else min(1.0, (math.sqrt(beta) - beta) / alpha)
    if p > 0:
        denominator = total if p == 1 else alpha * p + beta
        difference = up(q * p * max(0.0, 1 / denominator - 1))
    else:  # β = 0: belief becomes q/α from however small a p
        difference = up(q / total)
    return ratio, (p, min(1.0, difference))
