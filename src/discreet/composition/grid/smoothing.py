"""Many discrete Gaussian releases: no worse than one Gaussian release of hardly more ρ.

Notation. Release i adds discrete Gaussian noise of parameter σ_i to a whole number that one unit
moves by 1; D = diag(σ_i²), u_i = 1/σ_i², û = u/|u|, m = max û_i, K releases in all.

Lemma (Peikert 2010, Theorem 3.1, with the error kept). Let R be positive definite, D − R too. Take
x from the normal law of mean μ and covariance D − R, and then a whole y with chances ∝
e^{−(y−x)ᵀR⁻¹(y−x)/2}. By Poisson summation what these add up to is the same for every x, but for a
share of η = Σ_{v≠0} e^{−2π² vᵀRv}, v whole. So y has the law ∝ e^{−(y−μ)ᵀD⁻¹(y−μ)/2} but for a
share of 2η/(1−η): the releases are a post-processing of Gaussian noise of covariance D − R, and
    δ(ε) ≤ (1 + 5η) δ'(ε − 9η),   ρ' = ½ 1ᵀ(D−R)⁻¹1.

R = t²(I − ûûᵀ) + κ²ûûᵀ smooths along û, where the loss is, only as much as it must. With s = v·û
and d² = |v|² − s², vᵀRv = t²d² + κ²s². Let 0 < f < 1.

- |s| < f/m: as |s| ≤ m Σ|v_i| ≤ m|v|², s² ≤ f|v|² and d² ≥ (1−f)|v|². These v add up to at most
  (1 + 2.1 e^{−2π²t²(1−f)})^K − 1.
- |s| in [a, a+ℓ), a ≥ f/m − ℓ: with w = aû, d ≥ |v−w| − ℓ and (x−ℓ)² ≥ x²/2 − ℓ². A sum over whole
  v of e^{−π²t²|v−w|²} is at most (1 + 2.1e^{−π²t²})^K. With ℓ = 1/(πt√2) these v add up to at most
  2e·(1 + 2.1e^{−π²t²})^K Σ_a e^{−2π²κ²a²}.

Both are below e^{−L} for the t and κ taken here, with L = 46: less than the rounding of a double.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_L = 46.0
_LEAST_PART = 0.05  # the least 1 − f or f


def as_gaussian(releases: Sequence[tuple[float, int]]) -> float:
    """Return ρ of a Gaussian release that is no better than these (σ, how often); inf if none is.

    >>> as_gaussian([(50.0, 400)]) / (400 / (2 * 50.0**2)) - 1 < 1e-5
    True
    """
    many = sum(times for _, times in releases)
    log_many = math.log(3 * many)
    t2 = 0.9 * min(sigma for sigma, _ in releases) ** 2
    # 2π²t²(1−f) is L + log 3K, and π²t² at least log 3K: then (1 + 2.1e^{−π²t²})^K is below e
    share = 1 - (_L + log_many) / (2 * math.pi**2 * t2)
    if share < _LEAST_PART or math.pi**2 * t2 < log_many:
        return math.inf
    length = math.sqrt(math.fsum(times / sigma**4 for sigma, times in releases))
    largest = max(1 / sigma**2 for sigma, _ in releases) / length
    begin = share / largest - 2 / (math.pi * math.sqrt(2 * t2))
    if begin <= 1:
        return math.inf
    # Σ_a e^{−2π²κ²a²} ≤ (1 + 1/(ℓ·4π²κ²·begin)) e^{−2π²κ²·begin²}, with κ ≥ 1/begin
    extra = math.log(2 * math.e**2 * (1 + begin * math.sqrt(2 * t2)))
    k2 = (_L + extra) / (2 * math.pi**2 * begin**2)
    if k2 >= t2:
        return math.inf
    # (E + cûûᵀ)⁻¹ with E = D − t², c = t² − κ², by Sherman and Morrison
    c, rests = t2 - k2, [(sigma**2 - t2, sigma, times) for sigma, times in releases]
    plain = math.fsum(times / e for e, _, times in rests)
    along = math.fsum(times / (e * sigma**2) for e, sigma, times in rests) / length
    within = math.fsum(times / (e * sigma**4) for e, sigma, times in rests) / length**2
    less = c * along * along / (1 + c * within)
    return (plain - less) / 2 + 1e-14 * (plain + less)
