"""What may be believed after a release: bounds at a prior, under each kind of guarantee.

Notation. p, q as in `prior`, s = pq; r is posterior over prior of "in, and sensitive". P1, P2 and Q
are the laws of the release with the unit in and sensitive, in and not sensitive, and absent.

*Pure DP* (`ratio`). K&R Theorem 1 (add-remove; their assumptions 1 and 2):
    r ≤ 1/(pq + e^{-2ε}(1−q)p + e^{-ε}(1−p)), and the same with −ε for ε as a lower bound.
Replace and local: everyone is in, the question is their value, and r ≤ 1/(s + e^{-ε}(1−s)).
The same holds under add-remove where the statistic counts the sensitive ones alone (KSZ Ex. 1.1):
not being sensitive is then not being in. r is the ratio for inclusion (q = 1) times that for the
value among those who are in (p = 1; K&R eq. 5). Counterfactual (Wood et al.; K&R Appendix D.2):
with a1 and a0 the posteriors had the person joined or not, odds(a1) ≤ e^{2ε} odds(a0), or e^ε where
the statistic counts the sensitive ones alone.

*A bounded loss* (`posterior`, `ratios`, `differences`), |L| ≤ ε' or L ≤ ε', of a strong adversary:
X = expit(logit p + L) (KSZ Theorem 3.1), so X lies within expit(logit p ± ε'); X/p is largest as
p → 0 (e^{ε'}), and X − p at p = 1/(1 + e^{ε'/2}), where it is tanh(ε'/4) (Lemma 3.4). For "not in",
everything is mirrored: p → 1 − p (KSZ §4.4). One-sided bounds say nothing about decreases.

*Membership and value at once under (ε, δ)-DP* (`ratio_bounds`), a strong adversary:
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

Upper bounds are rounded up and lower bounds down.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from discreet.beliefs.belief import Bounds, Worst
from discreet.beliefs.prior import Prior, check_probability
from discreet.composition.curves import best_point, check_failure, check_sided
from discreet.guarantees import Adjacency
from discreet.rounding import down, up

Point: TypeAlias = tuple[float, float]  # (ε, δ)
Choose: TypeAlias = Callable[[float], Point]  # for a failure probability η, the point to use


@dataclass(frozen=True, slots=True)
class Learned:
    """What may be learned at a prior, or over all of them where none is given."""

    posterior: Bounds | None
    ratio: Bounds
    difference: Bounds
    worst_ratio: Worst
    worst_difference: Worst
    worst_ratio_not_in: Worst | None = None
    worst_difference_not_in: Worst | None = None

    def falling_as(self, other: Learned) -> Learned:
        """Return the same with the lower bounds of another."""
        after = self.posterior
        if after is not None and other.posterior is not None:
            after = Bounds(other.posterior.lower, after.upper)
        return replace(
            self,
            posterior=after,
            ratio=Bounds(other.ratio.lower, self.ratio.upper),
            difference=Bounds(other.difference.lower, self.difference.upper),
        )


def under_pure(
    epsilon: float, prior: Prior | None, steps: int = 2, *, mirrored: bool = True
) -> Learned:
    """Return what may be learned under ε-DP; `mirrored` adds the worst priors of "not in".

    Without a prior it is over all p with the value known (q = 1), or else over all p and q.
    """
    if prior is None and not mirrored:
        return _over_all(2 * epsilon, 2 * epsilon)
    q = 1.0 if prior is None else prior.q
    most_ratio = Worst(*worst_ratio(epsilon, q, steps))
    most = Worst(*worst_difference(epsilon, q, steps))
    not_in = (worst_ratio_not_in(epsilon), worst_difference_not_in(epsilon))
    worst = (most_ratio, most, *(not_in if mirrored else ()))
    if prior is None:
        span = Bounds(down(math.exp(-epsilon)), most_ratio.value)
        return Learned(None, span, Bounds(-most.value, most.value), *worst)
    low, high = ratio(epsilon, prior, steps)
    return Learned(*_from_ratio(prior.pq, low, high), *worst)


def under_loss(epsilon_prime: float, prior: Prior | None, sided: str = "two") -> Learned:
    """Return what a strong adversary may learn where one step settles it: a loss of at most ε'."""
    s = None if prior is None else prior.pq
    not_in = (worst_ratio_not_in(epsilon_prime), worst_difference_not_in(epsilon_prime))
    return Learned(
        None if s is None else posterior(epsilon_prime, s, sided),
        ratios(epsilon_prime, s, sided),
        differences(epsilon_prime, s, sided),
        Worst(*worst_ratio(epsilon_prime)),
        Worst(*worst_difference(epsilon_prime)),
        *(not_in if sided == "two" else ()),
    )


def under_steps(
    prior: Prior, one: Point | Choose, two: Point | Choose, failure: float, sided: str = "two"
) -> Learned:
    """Return what a strong adversary may learn of membership and value at once."""
    low, high = ratio_bounds(prior, one, two, failure, sided)
    worst = worst_priors(prior.q, one, two, failure, sided)
    return Learned(*_from_ratio(prior.pq, low, high), Worst(*worst[0]), Worst(*worst[1]))


def over_steps(
    one: Point | Choose | None, two: Point | Choose, failure: float, sided: str = "two"
) -> Learned:
    """Return what a strong adversary may learn over all p and q; without `one`, over q at p = 1.

    A split of the failure probability that is the same for all priors is valid, whichever it is.
    """
    both = check_sided(sided)
    each = check_failure(failure) / (2 if both else 1)
    rises, falls = [], []
    for share in (0.0,) if one is None else (0.5, 0.25, 0.1, 0.01):
        rest = (1 - share) * each
        rise = fall = _loss_at(_point(two, rest), rest)
        if one is not None:
            point = _point(one, share * each)
            rise = max(rise, _loss_at(point, share * each))
            fall = max(fall, _loss_at(point, share * each, falls=True))
        rises.append(rise)
        falls.append(fall)
    return _over_all(min(rises), min(falls) if both else None)


def _loss_at(point: Point, eta: float, *, falls: bool = False) -> float:
    """Return the loss that is passed with probability η at most: a and b of the proofs above."""
    epsilon, delta = point
    kept = _kept(delta, eta)
    if falls and kept > 0:
        kept = _kept(up(delta * (1 + math.exp(min(epsilon, 700.0)))), eta) / up(kept)
    return up(epsilon - math.log(kept)) if kept > 0 else math.inf


def _over_all(rise: float, fall: float | None) -> Learned:
    """Return what may be learned over all p and q, from the larger loss of one step and of two.

    1/r is a mean of 1, e^{-a} and e^{-b}, so it is as with the larger loss alone, at a prior of pq.
    """
    high, most = ratios(rise, None).upper, differences(rise, None).upper
    low, least = 0.0, -1.0
    if fall is not None:
        low, least = max(0.0, ratios(fall, None).lower), differences(fall, None).lower
    return Learned(None, Bounds(low, high), Bounds(least, most), Worst(1.0, high), Worst(1.0, most))


def _from_ratio(s: float, low: float, high: float) -> tuple[Bounds, Bounds, Bounds]:
    """Posterior, ratio and difference from the bounds of the ratio at a prior s."""
    after = Bounds(max(0.0, down(s * low)), min(1.0, up(s * high)))
    return after, Bounds(low, high), Bounds(down(s * (low - 1)), up(s * (high - 1)))


# Pure DP. One value and another are two steps apart: out and in again. They are one step apart
# where values are replaced, or where the statistic counts those with the sensitive value alone.


def steps_between(adjacency: Adjacency, counts_sensitive_only: bool = False) -> int:
    """Return how many steps one value and another are apart."""
    return 2 if adjacency is Adjacency.ADD_REMOVE and not counts_sensitive_only else 1


def _denominator(epsilon: float, prior: Prior, steps: int) -> float:
    p, q = prior.p, prior.q
    if steps == 1:
        one_minus_pq = (1 - p) + p * (1 - q)  # without cancellation
        return p * q + _times_exp(one_minus_pq, -epsilon)
    return p * q + _times_exp((1 - q) * p, -2 * epsilon) + _times_exp(1 - p, -epsilon)


def _times_exp(weight: float, x: float) -> float:
    """Weight · e^x, for any x: an overflow is infinite, and nothing times it is nothing."""
    if weight == 0:
        return 0.0
    return weight * math.exp(x) if x < 709 else math.inf


def ratio(epsilon: float, prior: Prior, steps: int = 2) -> tuple[float, float]:
    """Return the lower and upper bound of posterior over prior of "in, and sensitive".

    >>> low, high = ratio(math.log(3), Prior(0.5))
    >>> round(high * 0.5, 6), round(low * 0.5, 6)
    (0.75, 0.25)
    """
    high, low = (1 / _denominator(e, prior, steps) for e in (epsilon, -epsilon))
    return max(0.0, down(low)), min(up(high), up(1 / prior.pq))


def decomposed(epsilon: float, prior: Prior) -> tuple[float, float]:
    """Return the two factors of the largest ratio under pure DP: of being in, and of the value.

    K&R (5): r is the ratio of "in" times the ratio of "sensitive, given in". At the output where r
    is largest the second is 1/(q + e^{-2ε}(1−q)), and the first may be below 1.

    >>> [round(x, 4) for x in decomposed(1.0, Prior(0.5, 0.1))]
    [0.7523, 4.5085]
    """
    given = prior.q + math.exp(-2 * epsilon) * (1 - prior.q)
    return given / (prior.p * given + math.exp(-epsilon) * (1 - prior.p)), 1 / given


def counterfactual_upper(epsilon: float, without: float, steps: int = 2) -> float:
    """Return the largest posterior had the person joined, given the posterior had they not.

    >>> round(counterfactual_upper(0.5, 0.5), 4)
    0.7311
    """
    without = check_probability("without", without, zero=True)
    if without == 0:
        return 0.0
    return min(1.0, up(without / (without + _times_exp(1 - without, -steps * epsilon))))


def worst_ratio(epsilon: float, q: float = 1.0, steps: int = 2) -> tuple[float, float]:
    """Return `(p, ratio)`: the supremum of the upper ratio over p at this q; p = 0 is a limit.

    The denominator is linear in p, so the supremum is at one end.
    """
    at_zero = up(_times_exp(1.0, epsilon))
    if steps == 1:
        return 0.0, at_zero
    at_one = ratio(epsilon, Prior(1.0, q))[1]
    return (0.0, at_zero) if at_zero >= at_one else (1.0, at_one)


def worst_difference(epsilon: float, q: float = 1.0, steps: int = 2) -> tuple[float, float]:
    """Return `(p, difference)`: the largest posterior − prior over p at this q.

    With the denominator αp + β, the difference q(p/(αp+β) − p) is largest where αp + β = √β; at
    q = 1 that is tanh(ε/4) at p = 1/(1 + e^{ε/2}) (KSZ §4.4).

    >>> p, value = worst_difference(1.8000)
    >>> round(p, 3), round(value, 3)
    (0.289, 0.422)
    """
    if epsilon > 700:
        return 0.0, 1.0
    if steps == 1:
        p = min(1.0, 1 / (1 + math.exp(epsilon / 2)) / q)
    else:
        beta = math.exp(-epsilon)
        alpha = q + beta * beta * (1 - q) - beta
        p = min(1.0, (math.sqrt(beta) - beta) / alpha) if alpha > 0 else 1.0
    prior = Prior(p or 0.5, q)  # at an ε next to 0 every prior is as good
    high = ratio(epsilon, prior, steps)[1]
    return prior.p, up(prior.pq * (high - 1))


# A bounded loss


def ratios(epsilon_prime: float, p: float | None, sided: str = "two") -> Bounds:
    """Return the bounds of X/p at a prior, or over all of them where p is None."""
    if p is None:
        low, high = down(math.exp(-epsilon_prime)), up(_times_exp(1.0, epsilon_prime))
    else:
        low, high = ratio(epsilon_prime, Prior(p))
    return Bounds(low if sided == "two" else 0.0, high)


def posterior(epsilon_prime: float, p: float, sided: str = "two") -> Bounds:
    """Return the bounds of X at a prior.

    >>> bounds = posterior(math.log(3), 0.5)
    >>> round(bounds.lower, 9), round(bounds.upper, 9)
    (0.25, 0.75)
    """
    span = ratios(epsilon_prime, p, sided)
    return Bounds(max(0.0, down(p * span.lower)), min(1.0, up(p * span.upper)))


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
    return Worst(1.0, up(_times_exp(1.0, epsilon_prime)))


def worst_difference_not_in(epsilon_prime: float) -> Worst:
    """Return where p − X is largest: at p = 1/(1 + e^{-ε'/2}), where it is tanh(ε'/4)."""
    return Worst(1 / (1 + math.exp(-epsilon_prime / 2)), min(1.0, up(math.tanh(epsilon_prime / 4))))


# Membership and value at once


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
    # Who knows that the unit is in guesses a value: one step does not count, nor may it fail.
    least = 0.0 if prior.p == 1 else 0.001
    share = split if split is not None else 0.5 if least else 0.0
    # Points for a half split, the split for those points, the points again for that split: every
    # choice is valid, and a further round gains next to nothing.
    for _ in range(3):
        first, second = _point(one, share * each), _point(two, (1 - share) * each)
        best = best_split(prior, first, second, each) if split is None else split
        high = min(high, up(1 / _smallest_denominator(prior, first, second, best, each)))
        if both:
            equal = (0.5 if split is None else split) if prior.p < 1 else 0.0
            low = max(low, down(1 / _largest_denominator(prior, first, second, equal, each)))
        share = min(0.999, max(least, best))
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
