"""What ρ-zCDP bounds of the privacy loss.

Notation. L the privacy loss, ρ the parameter, ε' and δ' as in `approximate`.

Directly on the loss. E[e^{(α−1)L}] ≤ e^{α(α−1)ρ} for every α > 1 (the definition), so by Markov's
inequality, at the best α,
    P(L > ε') ≤ e^{-(ε'−ρ)²/4ρ}                        for ε' > ρ,
and, since P(L < −ε') ≤ e^{-ε'} Q(−L > ε') with the neighbours' roles exchanged,
    P(|L| > ε') ≤ (1 + e^{-ε'}) e^{-(ε'−ρ)²/4ρ}.
One-sided this is ε' = ρ + 2√(ρ log 1/δ'). It needs nothing but ρ-zCDP, so it survives
post-processing. It equals what the tight conversion to (ε, δ)-DP of Canonne, Kamath and Steinke
(2020, Prop. 12) gives through Theorem 3.9 of KSZ, minimised over δ: for a given ε', the line
through their δ that touches the Chernoff bound is one of those that are tried.

The paper's route (KSZ Example 4.1): ε = ρ + 2√(ρ log 1/δ) for some δ (Bun and Steinke 2016,
Prop. 1.3), then Theorem 3.9, minimised over δ. It is looser; kept to reproduce the paper.
"""

from __future__ import annotations

import math

from discreet.beliefs.approximate import epsilon_prime
from discreet.beliefs.confidence import check_failure, check_sided
from discreet.rounding import down, up

__all__ = ["largest_rho", "on_the_loss", "papers_route"]


def on_the_loss(rho: float, delta_prime: float, sided: str = "two") -> float:
    """Return ε' with P(|L| > ε') ≤ δ' (one-sided: P(L > ε')) for every ρ-zCDP release.

    >>> round(on_the_loss(0.07, 0.01, "one"), 4)
    1.2055
    """
    two = check_sided(sided)
    check_failure(delta_prime)
    if rho == 0 or math.isinf(rho):
        return rho
    size = -math.log(delta_prime)
    bound = rho + 2 * math.sqrt(rho * size)
    if not two:
        return up(bound)
    # Newton's method on x − ρ − 2√(ρ(size + log(1 + e^-x))), rising and concave: from the left, as
    # the one-sided bound is, it climbs to the root.
    for _ in range(100):
        small = math.exp(-bound)
        root = math.sqrt(rho * (size + math.log1p(small)))
        if root == 0:  # δ' is 1 and e^-ρ too small for a number: the bound is ρ itself
            break
        step = (rho + 2 * root - bound) / (1 + rho * small / (1 + small) / root)
        bound += step
        if step <= 2e-16 * bound:
            break
    return up(bound)


def largest_rho(tolerance: float, delta_prime: float, sided: str = "two") -> float:
    """Return the largest ρ for which `on_the_loss` stays at most the tolerated ε', rounded down.

    √ρ solves x² + 2x√c = ε' with c = log(1/δ'), plus log(1 + e^{-ε'}) for both sides.

    >>> rho = largest_rho(0.8109, 0.01)
    >>> on_the_loss(rho, 0.01) <= 0.8109
    True
    """
    two = check_sided(sided)
    check_failure(delta_prime)
    if math.isinf(tolerance):
        return math.inf
    c = -math.log(delta_prime) + (math.log1p(math.exp(-tolerance)) if two else 0.0)
    root = tolerance / (math.sqrt(c) + math.sqrt(c + tolerance))
    return down(root * root, 128)


def papers_route(rho: float, delta_prime: float, sided: str = "two") -> float:
    """Return ε' as KSZ Example 4.1 computes it; looser than `on_the_loss`.

    >>> round(1 / (1 + math.exp(-papers_route(0.07, 0.01))), 3)
    0.83
    """
    from discreet.beliefs.curves import lowest

    check_failure(delta_prime)
    if rho == 0 or math.isinf(rho):
        return rho

    def bound(epsilon: float) -> float:
        if epsilon <= rho:
            return math.inf
        delta = up(math.exp(-((epsilon - rho) ** 2) / (4 * rho)))
        return epsilon_prime(epsilon, min(1.0, delta), delta_prime, sided)

    return lowest(bound)[1]
