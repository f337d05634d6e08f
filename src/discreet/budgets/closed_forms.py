"""Tolerances whose worst prior is known: the budget in closed form.

Notation. ε_i(p, q) is the largest ε at one prior (`one_prior`); the budget is its infimum over the
box. Every closed form of K&R (their Table 3) is ε_i at a prior that can be named in advance, so
this file names priors, and `one_prior` does the arithmetic. Three facts name them:

1. At fixed r, ε_i rises in q; in p it falls for q < 1/(r+1), is flat at equality and rises above.
2. The bound on the posterior itself rises in p and in q, so a posterior alone is worst at the
   largest priors of the box.
3. At a fixed product s = pq the bound on r rises in p. A profile in pq alone is therefore worst on
   two edges of the box: q = q0, then p = p1.

`PosteriorUnlessRatio` is in pq alone, asks for the posterior below s = a/r and for the ratio above,
so its worst prior is at the kink pq = a/r or at a corner (K&R Theorems 4 and 5, and their profile
(33), whose closed form is new here). `Difference` over all priors is worst at p = 1, q = (1−b)/2,
and at q = 1 alone at p = (1−b)/2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from discreet.budgets.one_prior import (
    CANCELLED,
    EVERYTHING,
    Range,
    epsilon_range,
    range_for_posterior,
    range_for_ratio,
)
from discreet.promises.box import Box
from discreet.promises.shapes import (
    Counterfactual,
    Difference,
    Posterior,
    PosteriorUnlessRatio,
    Ratio,
    Tolerance,
)
from discreet.rounding import down, up

__all__ = ["Found", "closed_form", "constant_ratio"]


class Found(NamedTuple):
    """Bounds of a budget and the prior that binds it; a 0 in a prior is a limit, not attained."""

    lower: float
    upper: float
    p: float
    q: float
    attained: bool
    method: str


def closed_form(tolerance: Tolerance) -> Found | None:
    """Return the budget of a tolerance whose worst prior is known, None for any other."""
    match tolerance:
        case Ratio(ratio, box):
            return constant_ratio(ratio, box)
        case Posterior(posterior, box):
            return _posterior(posterior, box)
        case PosteriorUnlessRatio(posterior, ratio, box):
            return _posterior_unless_ratio(posterior, ratio, box)
        case Difference(difference, box):
            return _difference(difference, box)
        case Counterfactual(ratio, counts_sensitive_only):
            share = 1.0 if counts_sensitive_only else 0.5
            found = _around(share * math.log1p(ratio - 1))
            return Found(*found, 1.0, 0.0, False, "closed form: counterfactual (Wood et al.)")
    return None


def constant_ratio(ratio: float, box: Box, name: str = "K&R (14), (25)") -> Found:
    """Constant r on a box: fact 1."""
    q = box.q0
    p = box.p1 if q * (ratio + 1) <= 1 else box.p0
    return _found(range_for_ratio(p, q, ratio), p, q, f"closed form: {name}")


def _posterior(posterior: float, box: Box) -> Found:
    """Posterior alone: fact 2."""
    p, q = box.p1, box.q1
    return _found(range_for_posterior(p, q, posterior), p, q, "closed form: largest prior")


def _posterior_unless_ratio(posterior: float, ratio: float, box: Box) -> Found:
    """max{a/(pq), r}: fact 3, the kink at pq = a/r."""
    name = "K&R (15), (16), (33)"
    if posterior >= 1:
        return _found(EVERYTHING, box.p1, box.q1, "closed form: a posterior of 1 bounds nothing")
    if math.isinf(ratio) or _product(box.p0, box.q0, ratio) >= posterior:
        return constant_ratio(ratio, box, name)
    if _product(box.p1, box.q1, ratio) <= posterior:
        return _posterior(posterior, box)
    D = (ratio - 1) / ratio
    C = (1 - posterior) / ratio
    if _product(box.p1, box.q0, ratio) <= posterior:  # the kink lies on the edge p = p1
        p = box.p1
        q = _on_kink(posterior, ratio, p, box.q0, box.q1)
        A, B = (p * ratio - posterior) / ratio, 1 - p
        found = epsilon_range(A, B, C, D, error_A=CANCELLED)
    elif box.q0 * (ratio + 1) <= 1:  # on the edge q = q0, where the ratio binds at the far end
        return constant_ratio(ratio, box, name)
    else:
        q = box.q0
        p = _on_kink(posterior, ratio, q, box.p0, box.p1)
        A, B = p * (1 - q), (ratio * q - posterior) / (ratio * q)
        found = epsilon_range(A, B, C, D, error_B=CANCELLED)
    return _found(found, p, q, f"closed form: {name}")


def _on_kink(posterior: float, ratio: float, other: float, low: float, high: float) -> float:
    """Return the prior with which the other one makes pq = a/r, rounded within its ends."""
    exact = Fraction(posterior) / (Fraction(ratio) * Fraction(other))
    return min(max(float(exact), low), high)


def _product(p: float, q: float, ratio: float) -> Fraction:
    """Return pqr exactly: that of two tiny priors is no double."""
    return Fraction(p) * Fraction(q) * Fraction(ratio)


def _difference(difference: float, box: Box) -> Found | None:
    """1 + b/(pq) over all q with p = 1 among the priors, or at q = 1 over all p."""
    if difference >= 1:
        return _found(EVERYTHING, box.p1, box.q1, "closed form: a difference of 1 bounds nothing")
    worst = (1 - difference) / 2
    # log((1+b)/(1−b)) = 2 atanh b
    if box.p1 == 1 and box.q0 <= worst <= box.q1:
        epsilon, p, q, name = 2 * math.atanh(difference), 1.0, worst, "K&R (28), (29)"
    elif box.q0 == 1 and box.p0 <= worst <= box.p1:
        epsilon, p, q, name = 4 * math.atanh(difference), worst, 1.0, "KSZ: difference at q = 1"
    else:
        return None
    return _found(_around(epsilon), p, q, f"closed form: {name}")


def _around(epsilon: float) -> Range:
    return Range(down(epsilon), up(epsilon))


def _found(epsilon: Range, p: float, q: float, method: str) -> Found:
    return Found(*epsilon, p, q, p > 0 and q > 0, method)
