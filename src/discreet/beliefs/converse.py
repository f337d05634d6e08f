"""What bounds on beliefs imply: from beliefs back to differential privacy.

Notation. X is a strong adversary's posterior probability that the person is in, p the prior,
R = X/p and D = X − p; each is bounded with probability at least 1 − δ, for every data set, person
and prior, whether or not the person is in.

- The posterior is within [expit(logit p − ε), expit(logit p + ε)] for every p if and only if the
  release is (ε, δ)-probabilistically DP (KSZ Theorem 3.2).
- R is within [e^{-ε}, e^ε] for every p if and only if it is (ε, δ)-PDP (Theorem 3.3).
- |D| ≤ b for every p, with ε = 4 atanh b: then it is (ε, 2δ)-PDP, and (ε̃, δ)-PDP with
  e^ε̃ = (3e^{ε/2} − 1)/(3 − e^{ε/2}) where ε < 2 log 3 (Theorem 3.5; no such bound beyond, since at
  p = 1/2 a difference of 1/2 or more says nothing). It is also (ε, δ)-DP (Corollary 3.12, whose
  print claims only the weaker two): the event L > ε is the event D > b at the worst prior.
- With δ = 0 all three are ε-DP (Corollaries 3.6 to 3.8), and (ε, δ)-PDP implies (ε, δ)-DP
  (Theorem 2.5).

Parameters are rounded up: an implied guarantee is never stronger than the truth.
"""

from __future__ import annotations

import math

from discreet.beliefs.prior import check_probability
from discreet.errors import InputError
from discreet.guarantees import Adjacency, ApproxDP, ProbabilisticDP, PureDP
from discreet.rounding import up

__all__ = [
    "difference_for",
    "epsilon_for_difference",
    "epsilon_for_posterior",
    "epsilon_for_ratio",
    "from_difference",
    "from_posterior",
    "from_ratio",
]


def epsilon_for_ratio(ratio: float) -> float:
    """Return the ε' of a ratio within [1/R, R] over all priors: log R.

    >>> round(epsilon_for_ratio(3.0), 4)
    1.0986
    """
    if math.isnan(ratio) or ratio < 1:
        raise InputError(f"ratio is {ratio!r}; a bound on posterior over prior must be 1 or more.")
    return math.log1p(ratio - 1) if ratio < 2 else math.log(ratio)


def epsilon_for_difference(difference: float) -> float:
    """Return the ε' of a difference within ±b over all priors: 4 atanh b (KSZ Lemma 3.4).

    >>> round(epsilon_for_difference(0.2), 4)
    0.8109
    """
    if math.isnan(difference) or not 0 <= difference <= 1:
        raise InputError(
            f"difference is {difference!r}; a bound on posterior minus prior lies between 0 and 1."
        )
    return math.inf if difference == 1 else 4 * math.atanh(difference)


def difference_for(epsilon_prime: float) -> float:
    """Return the largest difference over all priors under a loss bound: tanh(ε'/4), rounded up."""
    return min(1.0, up(math.tanh(epsilon_prime / 4)))


def epsilon_for_posterior(posterior: float, prior: float) -> float:
    """Return the ε' that takes a prior to a posterior: the difference of their log-odds.

    >>> round(epsilon_for_posterior(0.75, 0.5), 4)
    1.0986
    """
    p = check_probability("prior", prior)
    a = check_probability("posterior", posterior)
    if a < p:
        raise InputError(
            f"posterior is {a:g} and prior {p:g}; a bound on the posterior below the prior cannot "
            "be kept, whatever is released."
        )
    if a == 1:
        return math.inf
    return math.log1p((a - p) / p) + math.log1p((a - p) / (1 - a))


def _probabilistic(epsilon: float, delta: float, adjacency: Adjacency) -> PureDP | ProbabilisticDP:
    if delta == 0:
        return PureDP(up(epsilon), adjacency=adjacency)
    return ProbabilisticDP(up(epsilon), delta, adjacency=adjacency)


def from_posterior(
    posterior: float, prior: float, delta: float = 0.0, *, adjacency: str = "add-remove"
) -> PureDP | ProbabilisticDP:
    """Return what is implied by log-odds that never move further than from prior to posterior.

    The bound must hold in both directions and at *every* prior, moved by the same log-odds; the
    pair names only how far (KSZ Theorem 3.2, Corollary 3.6).
    """
    return _probabilistic(epsilon_for_posterior(posterior, prior), delta, Adjacency.of(adjacency))


def from_ratio(
    ratio: float, delta: float = 0.0, *, adjacency: str = "add-remove"
) -> PureDP | ProbabilisticDP:
    """Return the guarantee implied by a ratio within [1/R, R] at every prior (Theorem 3.3)."""
    return _probabilistic(epsilon_for_ratio(ratio), delta, Adjacency.of(adjacency))


def from_difference(
    difference: float, delta: float = 0.0, *, adjacency: str = "add-remove"
) -> tuple[PureDP | ApproxDP, ProbabilisticDP | None, ProbabilisticDP | None]:
    """Return what a difference within ±b at every prior implies (Theorem 3.5, Corollary 3.12).

    The first is ε-DP or (ε, δ)-DP; the others, for δ > 0, are (ε, 2δ)-PDP and (ε̃, δ)-PDP, the
    last None where ε ≥ 2 log 3.
    """
    where = Adjacency.of(adjacency)
    epsilon = epsilon_for_difference(difference)
    if delta == 0:
        return PureDP(up(epsilon), adjacency=where), None, None
    approx = ApproxDP(up(epsilon), delta, adjacency=where)
    doubled = ProbabilisticDP(up(epsilon), min(1.0, 2 * delta), adjacency=where)
    # With b = tanh(ε/4), (3e^{ε/2} − 1)/(3 − e^{ε/2}) is (1 + 2b)/(1 − 2b): the log-odds of
    # 1/2 + b. So ε̃ = 2 atanh 2b, and b ≥ 1/2 is ε ≥ 2 log 3.
    if difference >= 0.5:
        return approx, doubled, None
    wider = ProbabilisticDP(up(2 * math.atanh(2 * difference)), delta, adjacency=where)
    return approx, doubled, wider
