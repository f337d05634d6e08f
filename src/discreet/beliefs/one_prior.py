"""The largest ε at one prior (K&R Theorem 2), in stable form and rounded down.

Notation. A = p(1−q), B = 1−p, C = 1/r − pq, D = 1 − 1/r = A + B − C; u = e^{-ε}, y = 1 − u.
Theorem 1 holds with equality where A u² + B u = C, that is A y(2−y) + B y = D. So with
R = √(B² + 4AC):

    ε = log((B + R)/2C),              for large ε;
    ε = −log1p(−y),  y = 2D/(2A+B+R), for small ε;  ε = ∞ where C ≤ 0, that is r ≥ 1/(pq).

One formula covers q = 1, p = 1 and p → 0. The printed form subtracts nearly equal numbers for small
p; this one adds positive ones only. What can cancel (1/r − pq, 1 − p where p is itself computed)
is passed in with a bound on its error, and moved by it to the side where ε is smaller.

Two tiny priors may have a product that no double holds (1e-300 each). Then A, B, C and D are made
from fractions, and of a C that is too small its logarithm is taken: ε = log B − log C, or half of
log A − log C where p = 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import ToleranceError
from discreet.rounding import down, up

ULP = 2.0**-52
CANCELLED = 2 * ULP  # the error of a difference of products that are 1 or less
_CLOSE = 8 * ULP  # the error of a product of three numbers near 1
_COARSE = 2 * math.ulp(0.0)  # and of one that is below the normal doubles
TINY = 1e-290  # a C below it may lose digits, and 1/C be ∞


class Range(NamedTuple):
    """lower ≤ ε_i ≤ upper; apart by a few ulps, or by what cancelled in the coefficients."""

    lower: float
    upper: float


EVERYTHING = Range(math.inf, math.inf)


def epsilon_range(
    A: float,
    B: float,
    C: float,
    D: float,
    *,
    error_A: float = 0.0,
    error_B: float = 0.0,
    error_C: float = 0.0,
    error_D: float = 0.0,
) -> Range:
    """Return bounds of the ε of these coefficients; errors are absolute bounds of theirs."""
    lower = _epsilon(A, B, C + error_C, D - error_D, error_A, error_B)
    upper = _epsilon(A, B, C - error_C, D + error_D, -error_A, -error_B)
    return Range(max(0.0, down(lower)), up(upper))


def _epsilon(A: float, B: float, C: float, D: float, error_A: float, error_B: float) -> float:
    if C <= 0:
        return math.inf
    # For small ε a larger A or B makes it smaller (D is held), for large ε larger (C is held).
    a, b = max(0.0, A + error_A), max(0.0, B + error_B)
    y = max(0.0, 2 * D / (2 * a + b + math.sqrt(b * b + 4 * a * C)))
    if y < 0.5:
        return -math.log1p(-y)
    a, b = max(0.0, A - error_A), max(0.0, B - error_B)
    if C < TINY:
        return math.log(b + max(b, 2 * math.sqrt(a) * math.sqrt(C))) - math.log(2 * C)
    return math.log((b + math.sqrt(b * b + 4 * a * C)) / (2 * C))


def epsilon_for_ratio(p: float, q: float, ratio: float) -> float:
    """Return the lower end of `range_for_ratio`: the budget.

    >>> round(epsilon_for_ratio(1 / 12, 1.0, 3.0), 4)
    1.2993
    """
    return range_for_ratio(p, q, ratio).lower


def range_for_ratio(p: float, q: float, ratio: float) -> Range:
    """Return bounds of the largest ε that keeps posterior ÷ prior within `ratio` at (p, q).

    p = 0 and q = 0 stand for the limits there.

    >>> range_for_ratio(0.5, 1.0, 2.0).lower
    inf
    """
    if not ratio > 1:
        raise ToleranceError("beliefs.ratio_not_above_one", p=p, q=q, ratio=ratio)
    if math.isinf(ratio) or _bounds_nothing(p, q, ratio):
        return EVERYTHING
    inverse = 1 / ratio
    return epsilon_range(
        p * (1 - q),
        1 - p,
        inverse - p * q,
        (ratio - 1) / ratio,
        error_C=CANCELLED * inverse + _COARSE,
    )


def _bounds_nothing(p: float, q: float, ratio: float) -> bool:
    """Decide r ≥ 1/(pq), exactly where doubles cannot tell."""
    product = p * q * ratio
    if abs(product - 1) > _CLOSE:
        return product > 1
    return Fraction(p) * Fraction(q) * Fraction(ratio) >= 1


def range_for_posterior(p: float, q: float, posterior: float) -> Range:
    """Return bounds of the largest ε that keeps the posterior within `posterior` at (p, q).

    >>> round(range_for_posterior(0.05, 1.0, 0.12).lower, 4)
    0.952
    """
    if posterior >= 1:
        return EVERYTHING
    s = p * q
    if s < TINY:
        return _range_for_tiny(p, q, posterior)
    return epsilon_range(
        p * (1 - q),
        1 - p,
        s * (1 - posterior) / posterior,
        (posterior - s) / posterior,
        error_D=CANCELLED * s / posterior,
    )


def _range_for_tiny(p: float, q: float, posterior: float) -> Range:
    """`range_for_posterior` where pq is too small for a double."""
    A, B = p * (1 - q), 1 - p
    share = Fraction(p) * Fraction(q) / Fraction(posterior)
    C, D = share * (1 - Fraction(posterior)), 1 - share
    if C > TINY:
        return epsilon_range(A, B, float(C), max(0.0, float(D)))
    log_C = math.log(C.numerator) - math.log(C.denominator)
    # B is 0 or above 1e-16, so that beside B² the 4AC of the root is nothing.
    epsilon = math.log(B) - log_C if B > 0 else (math.log(A) - log_C) / 2
    return Range(down(epsilon), up(epsilon))
