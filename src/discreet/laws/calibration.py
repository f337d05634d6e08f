"""Scales of noise that keep a promise exactly: each is a float, checked in rational arithmetic.

Notation. Δ1 and Δ2 are the L1 and L2 sensitivities of a vector of whole numbers, b the scale of
discrete Laplace noise, σ the parameter of discrete Gaussian noise, s the scale of a selection.

- Discrete Laplace noise of scale b is Δ1/b-DP (Ghosh, Roughgarden and Sundararajan 2012), so the
  least scale is b = Δ1/ε.
- Discrete Gaussian noise is Δ2²/(2σ²)-zCDP (Canonne, Kamath and Steinke 2020, Thm 4), so the least
  parameter is σ = √(Δ2²/(2ρ)). Δ2² is a whole number: the root is taken once, and upward.
- Selection by noisy max at scale s costs kΔ∞/s, with k = 1 if adding a unit can only raise scores
  (monotone) and 2 otherwise (McKenna and Sheldon 2020; Dwork and Roth 2014, Thm 3.10). With Gumbel
  noise it is the exponential mechanism, whose zCDP is ε²/8 (Cesar and Rogers 2021).
- Randomized response over k answers keeps the true one with probability π and otherwise reports one
  of the others, each equally likely: e^ε = π(k−1)/(1−π).

A float is a rational number, so "b ≥ Δ1/ε" is decided without rounding. A budget is written down
as the decimal that it prints (0.1 is one tenth in an account), and the double next to it may be a
hair above; the lesser of the two is taken.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import InputError
from discreet.numerics import double_above

WIDEST = 2.0**52
"""The widest noise on whole numbers that is drawn: any wider, it might not fit a machine word."""


def _positive(name: str, value: float | Fraction) -> Fraction:
    # NaN is not above 0; a rational beyond any float, which math.isnan cannot take, is.
    if not 0 < value < math.inf:
        raise InputError("noise.positive", name=name, value=value)
    return Fraction(value)


def _budget(name: str, value: float) -> Fraction:
    return min(_positive(name, value), Fraction(repr(float(value))))


def _ceiling(exact: Fraction) -> float:
    """Return the least float at or above a positive rational."""
    try:
        return double_above(exact)
    except OverflowError:
        raise InputError("noise.scale_overflow") from None


def laplace_scale(l1: int | Fraction, epsilon: float) -> float:
    """Return the least float b with Δ1/b ≤ ε.

    >>> laplace_scale(3, 0.5)
    6.0
    """
    return _ceiling(_positive("l1", l1) / _budget("epsilon", epsilon))


def gaussian_scale(l2_squared: int | Fraction, rho: float) -> float:
    """Return a float σ with Δ2²/(2σ²) ≤ ρ, above the least one by at most an ulp.

    >>> gaussian_scale(8, 1.0)
    2.0
    """
    square = _positive("l2_squared", l2_squared) / (2 * _budget("rho", rho))
    sigma = math.sqrt(_ceiling(square))
    while Fraction(sigma) ** 2 < square:
        sigma = math.nextafter(sigma, math.inf)
    return sigma


def selection_scale(sensitivity: int | Fraction, epsilon: float, *, monotone: bool) -> float:
    """Return the least float s with kΔ∞/s ≤ ε, where k is 1 for monotone scores and 2 otherwise.

    >>> selection_scale(1, 0.5, monotone=False)
    4.0
    """
    return laplace_scale(sensitivity if monotone else 2 * sensitivity, epsilon)


def keep_probability(epsilon: float, categories: int = 2) -> Fraction:
    """Return a rational π, never above e^ε/(e^ε+k−1), with which randomized response keeps ε.

    >>> float(keep_probability(math.log(3)))
    0.75
    """
    _positive("epsilon", epsilon)
    if categories < 2:
        raise InputError("noise.categories", categories=categories)
    # e^-ε is taken upward, so that the true answer is kept no more often than ε allows; below
    # 2^-1000 the lie would be rarer than any sampler needs to tell.
    lie = max(math.exp(-epsilon), 2.0**-1000)
    above = Fraction(math.nextafter(math.nextafter(lie, math.inf), math.inf))
    return 1 / (1 + (categories - 1) * above)
