"""Nobody's belief grows, or falls, more than r-fold: r*(p, q) = r.

Falls. u = e^ε, and D(p, q; u) = pq + u²(1−q)p + u(1−p) is the denominator of K&R's lower bound
r ≥ 1/D; belief falls at most r̃-fold where D ≤ r̃. D falls in q and is linear in p, so it is worst at
q = q0 and one end of p. D rises with u, so the largest u is found between one that was seen to keep
the promise and one that was seen to break it. Both are checked in exact fractions: no rounding can
make the answer unsafe. With v = u − 1, ε = log1p(v), small budgets lose no digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.beliefs.one_prior import range_for_ratio
from discreet.promises.box import EVERY_PRIOR, Box
from discreet.promises.formula import Expression, Number
from discreet.promises.tolerance import Key, Solved, Tolerance, Wording, check_ratio
from discreet.rounding import down, up
from discreet.words import say

_PLENTY = 1e100  # a fall so deep is no limit to anybody: that of this one is safe all the same


@dataclass(frozen=True, slots=True)
class Ratio(Tolerance):
    """Nobody's belief grows more than `ratio`-fold."""

    keys = (Key("ratio", metavar="R"),)

    ratio: float
    box: Box = EVERY_PRIOR

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", check_ratio(self.ratio))

    def ratio_at(self, p: float, q: float) -> float:
        """Return r*(p, q)."""
        return self.ratio

    def least_after(self, p: float, q: float) -> float:
        """Return pq/r."""
        return p * q / self.ratio

    def expression(self) -> Expression:
        """Return the profile as a formula."""
        return Number(self.ratio)

    def closed_form(self) -> Solved:
        """Fact 1 of `shapes`."""
        return constant_ratio(self.ratio, self.box)

    def falls(self) -> Solved:
        """Return the largest ε under which belief falls at most `ratio`-fold."""
        return ratio_falls(self.ratio, self.box)

    def least_ratio(self) -> float:
        """Return the ratio."""
        return self.ratio

    def lasting_ratio(self) -> float:
        """Return the ratio."""
        return self.ratio

    def sentence(self, words: Wording) -> str:
        """Return the promise in words."""
        if words.both_ways:
            return words.fill("promises.sentence.ratio_both", fold=f"{self.ratio:g}")
        return words.fill("promises.sentence.ratio_up", fold=f"{self.ratio:g}")

    def __str__(self) -> str:
        return say("promises.short.ratio", ratio=self.ratio, box=self.box)


def constant_ratio(ratio: float, box: Box, name: str = "K&R (14), (25)") -> Solved:
    """Constant r on a box, with what is known of it."""
    lower, upper, p, q = least_for_ratio(ratio, box)
    method = say("promises.method.closed_form", by=name)
    return Solved(lower, upper, p, q, p > 0 and q > 0, method)


def least_for_ratio(ratio: float, box: Box) -> tuple[float, float, float, float]:
    """Constant r on a box: bounds of the least ε, and its prior, by fact 1 of `shapes`."""
    q = box.q0
    p = box.p1 if q * (ratio + 1) <= 1 else box.p0
    return *range_for_ratio(p, q, ratio), p, q


def ratio_falls(ratio: float, box: Box) -> Solved:
    """Return the largest ε under which belief falls at most `ratio`-fold over the box.

    >>> round(ratio_falls(3, Box(0.5, 0.5, 1, 1)).lower, 6)
    1.609438
    """
    return min(_fall_at(ratio, p, box) for p in (box.p0, box.p1))


def _fall_at(ratio: float, p: float, box: Box) -> Solved:
    q = box.q0
    A, B, more = p * (1 - q), 1 - p, ratio - 1
    if A == B == 0 or math.isinf(ratio):
        return fallen(math.inf, math.inf, p, q, box)
    if ratio > _PLENTY:  # D is at most u²
        return fallen(math.log(_PLENTY) / 2, math.inf, p, q, box)
    guess = 2 * more / (2 * A + B + math.sqrt((2 * A + B) ** 2 + 4 * A * more))
    exact_p, exact_q = Fraction(p), Fraction(q)
    linear, square, most = 1 - exact_p, exact_p * (1 - exact_q), Fraction(ratio) - exact_p * exact_q

    def keeps(v: float) -> bool:
        u = 1 + Fraction(v)
        return most >= u * (linear + u * square)

    # From the guess, one v that is seen to keep the promise and one that is seen to break it.
    low = high = guess
    step = 2.0**-52
    while not keeps(low):
        low, step = low * (1 - step), 2 * step
    step = 2.0**-52
    while keeps(high):
        high, step = high * (1 + step), 2 * step
    return fallen(down(math.log1p(low), 4), up(math.log1p(high), 4), p, q, box)


def fallen(lower: float, upper: float, p: float, q: float, box: Box) -> Solved:
    """Return bounds of the largest ε under which belief does not fall too far."""
    return Solved(lower, upper, p, q, box.contains(p, q), say("promises.method.falls"))
