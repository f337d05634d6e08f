"""Nobody's belief grows, or falls, by more than b: r*(p, q) = 1 + b/(pq).

Over all priors it is worst at p = 1, q = (1−b)/2, and at q = 1 alone at p = (1−b)/2.

Falls. With D as in `ratio`, s = pq and u = e^ε, belief falls by at most b where D ≤ s/(s−b) for
every s > b. At a given s, D rises in p, so it is worst on two edges of the box, p = p1 and q = q0.
On each D = K − Ms for some K and M, and the promise is
    f(s) = −Ms² + (K + Mb − 1)s − Kb ≤ 0,
a parabola whose largest value is at one end or at its vertex. All of it is decided in fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.numerics import bracket
from discreet.promises.box import EVERY_PRIOR, Box
from discreet.promises.formula import Binary, Expression, Number
from discreet.promises.shapes.posterior import PRODUCT, per_product
from discreet.promises.shapes.ratio import fallen
from discreet.promises.tolerance import Key, Solved, Tolerance, Wording, share
from discreet.rounding import down, up
from discreet.words import say


@dataclass(frozen=True, slots=True)
class Difference(Tolerance):
    """Nobody's belief grows by more than `difference` (0.2 is twenty percentage points)."""

    keys = (Key("difference", metavar="B", spellings=("--difference", "--difference-limit")),)

    difference: float
    box: Box = EVERY_PRIOR

    def __post_init__(self) -> None:
        b = share("difference", self.difference, "promises.rule.above_zero", lambda b: b > 0)
        object.__setattr__(self, "difference", b)

    def ratio_at(self, p: float, q: float) -> float:
        """Return r*(p, q)."""
        return 1 + per_product(self.difference, p, q)

    def expression(self) -> Expression:
        """Return the profile as a formula."""
        return Binary("+", Number(1.0), Binary("/", Number(self.difference), PRODUCT))

    def closed_form(self) -> Solved | None:
        """Over all q with p = 1 among the priors, or at q = 1 over all p."""
        b, box = self.difference, self.box
        if b >= 1:
            attained, method = box.p1 > 0 and box.q1 > 0, say("promises.method.difference_of_one")
            return Solved(math.inf, math.inf, box.p1, box.q1, attained, method)
        worst = (1 - b) / 2
        # log((1+b)/(1−b)) = 2 atanh b
        if box.p1 == 1 and box.q0 <= worst <= box.q1:
            epsilon, p, q, name = 2 * math.atanh(b), 1.0, worst, "difference"
        elif box.q0 == 1 and box.p0 <= worst <= box.p1:
            epsilon, p, q, name = 4 * math.atanh(b), worst, 1.0, "difference_at_one"
        else:
            return None
        method = say(f"promises.method.{name}")
        return Solved(down(epsilon), up(epsilon), p, q, p > 0 and q > 0, method)

    def least_after(self, p: float, q: float) -> float:
        """Return pq − b."""
        return p * q - self.difference

    def falls(self) -> Solved:
        """Return the largest ε under which belief falls by at most `difference`."""
        return difference_falls(self.difference, self.box)

    def least_ratio(self) -> float:
        """Return the ratio at the largest prior."""
        return 1 + self.difference / (self.box.p1 * self.box.q1)

    def sentence(self, words: Wording) -> str:
        """Return the promise in words."""
        points = f"{100 * self.difference:.4g}"
        if words.both_ways:
            return words.fill("promises.sentence.difference_both", points=points)
        return words.fill("promises.sentence.difference_up", points=points)

    def __str__(self) -> str:
        return say("promises.short.difference", points=100 * self.difference, box=self.box)


def difference_falls(difference: float, box: Box) -> Solved:
    """Return the largest ε under which belief falls by at most `difference` over the box.

    >>> fall = difference_falls(0.2, Box())
    >>> round(fall.lower, 6), fall.p, round(fall.q, 6)
    (0.405465, 1.0, 0.6)
    """
    if difference >= box.p1 * box.q1:
        return fallen(math.inf, math.inf, box.p1, box.q1, box)
    b = Fraction(difference)
    ends = [Fraction(end) for end in (box.p0, box.p1, box.q0, box.q1)]

    def worst(v: Fraction) -> tuple[Fraction, float, float]:
        p0, p1, q0, q1 = ends
        u = 1 + v
        found = []
        for s, f in _largest(u * u * p1 + u * (1 - p1), u * u - 1, b, p1 * q0, p1 * q1):
            found.append((f, float(p1), float(s / p1)))
        if q0 > 0:
            M = v * (q0 - u * (1 - q0)) / q0
            for s, f in _largest(u, M, b, p0 * q0, p1 * q0):
                found.append((f, float(s / q0), float(q0)))
        return max(found, default=(Fraction(-1), float(p1), float(q1)))

    def keeps(v: float) -> bool:
        return worst(Fraction(v))[0] <= 0

    low, high = 0.0, 1.0
    while keeps(high):
        low, high = high, high * 4
        if high > 1e300:
            return fallen(math.inf, math.inf, box.p1, box.q1, box)
    low, high = bracket(keeps, low, high, relative=1e-15)
    _, p, q = worst(Fraction(high))
    return fallen(down(math.log1p(low), 4), up(math.log1p(high), 4), p, q, box)


def _largest(
    K: Fraction, M: Fraction, b: Fraction, low: Fraction, high: Fraction
) -> list[tuple[Fraction, Fraction]]:
    """Where f(s) may be largest between two products, and its value there; none below s = b."""
    low = max(low, b)
    if low > high:
        return []
    places = [low, high]
    if M > 0 and low < (vertex := (K + M * b - 1) / (2 * M)) < high:
        places.append(vertex)
    return [(s, -M * s * s + (K + M * b - 1) * s - K * b) for s in places]
