"""An adversary who computes: exact posteriors from whole laws, in fractions.

Notation. P1, P2 and Q are the laws of the output when the unit is in and sensitive, in and not, and
out; (p, q) is a prior. Of an output o the adversary believes
    r = P1(o)/(pq P1(o) + p(1−q) P2(o) + (1−p) Q(o))
times what they believed before. This is Bayes' rule and nothing of ours: no ε, no bound. A promise
is broken at o where it is broken at any of many priors of its box.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.guarantees import Adjacency
from discreet.promises import (
    Counterfactual,
    Difference,
    Posterior,
    PosteriorUnlessRatio,
    Promise,
    Ratio,
)

__all__ = ["World", "above", "below", "failing", "geometric", "priors_in", "product", "within"]

Law = tuple[Fraction, ...]
_SHARES = tuple(Fraction(n, 1024) for n in (0, 1, 8, 51, 103, 256, 400, 512, 700, 921, 1016, 1024))


@dataclass(frozen=True)
class World:
    """The laws of the output: in and sensitive, in and not, out; and of all that may be true."""

    sensitive: Law
    other: Law
    out: Law
    more: tuple[Law, ...] = ()

    @property
    def truths(self) -> tuple[Law, ...]:
        return (self.sensitive, self.other, self.out, *self.more)


def above(x: float, bits: int = 24) -> Fraction:
    """A fraction just above x, with a small denominator."""
    return Fraction(math.ceil(Fraction(x) * 2**bits) + 1, 2**bits)


def below(x: float, bits: int = 24) -> Fraction:
    """A fraction just below x, with a small denominator."""
    return Fraction(math.floor(Fraction(x) * 2**bits) - 1, 2**bits)


def priors_in(promise: Promise, extra: Iterable[tuple[float, float]] = ()) -> list[Any]:
    """Some priors of each part's box, as (part, p, q), the ends and the worst one among them."""
    found = []
    for _, part in promise.parts:
        box = part.box
        ps, qs = (
            sorted({Fraction(low) + share * (Fraction(high) - Fraction(low)) for share in _SHARES})
            for low, high in ((box.p0, box.p1), (box.q0, box.q1))
        )
        places = {*itertools.product(ps, qs)}
        places |= {(Fraction(p), Fraction(q)) for p, q in extra if box.contains(p, q)}
        found += [(part, p, q) for p, q in places if p > 0 and q > 0]
    return found


def broken(promise: Promise, part: Any, p: Fraction, q: Fraction, at: Sequence[Fraction]) -> bool:
    """Whether one part of a promise is broken at one prior by the output of these likelihoods."""
    sensitive, other, out = at
    down = promise.sided == "two"
    if isinstance(part, Counterfactual):
        replaced = promise.adjacency is not Adjacency.ADD_REMOVE
        instead = out if part.counts_sensitive_only and not replaced else other
        return sensitive > Fraction(part.ratio) * instead
    s = p * q
    before = s * sensitive + p * (1 - q) * other + (1 - p) * out
    if before == 0:
        return False  # nobody with this prior sees such an output
    # r = sensitive/before, and all is multiplied by `before`
    match part:
        case Ratio(ratio, _):
            R = Fraction(ratio)
            return sensitive > R * before or (down and sensitive * R < before)
        case Posterior(posterior, _):
            return s * sensitive > Fraction(posterior) * before
        case PosteriorUnlessRatio(posterior, ratio, _):
            grown = sensitive > Fraction(ratio) * before
            return grown and s * sensitive > Fraction(posterior) * before
        case Difference(difference, _):
            b = Fraction(difference) * before
            change = s * (sensitive - before)
            return change > b or (down and -change > b)
    allowed = Fraction(part.ratio_at(float(p), float(q))) * (1 + Fraction(1, 10**12))
    return sensitive > allowed * before


def failing(promise: Promise, world: World, places: Sequence[Any] | None = None) -> Fraction:
    """The largest chance, over all truths, of an output at which the promise is broken."""
    places = priors_in(promise) if places is None else places
    together: dict[tuple[Fraction, ...], list[Fraction]] = {}
    for masses in zip(*world.truths, strict=True):
        seen = sum(masses[:3])
        if seen == 0:
            key: tuple[Fraction, ...] = (Fraction(0),) * 3
        else:
            key = tuple(mass / seen for mass in masses[:3])
        held = together.setdefault(key, [Fraction(0)] * len(masses))
        together[key] = [a + b for a, b in zip(held, masses, strict=True)]
    total = [Fraction(0)] * len(world.truths)
    for at, masses in together.items():
        if any(broken(promise, part, p, q, at) for part, p, q in places):
            total = [a + b for a, b in zip(total, masses, strict=True)]
    return max(total)


def product(worlds: Sequence[World]) -> World:
    """Independent releases, one after the other."""

    def of(laws: Iterable[Law]) -> Law:
        return tuple(math.prod(one) for one in itertools.product(*laws))

    return World(
        of(w.sensitive for w in worlds),
        of(w.other for w in worlds),
        of(w.out for w in worlds),
        tuple(of(w.more[i] for w in worlds) for i in range(len(worlds[0].more))),
    )


def geometric(a: Fraction, shift: int, most: int) -> Law:
    """Two-sided geometric noise around a shift, held within −most and most; a stands for e^{-ε}."""
    assert abs(shift) < most

    def tail(m: int) -> Fraction:
        return a**m / (1 + a)

    inner = ((1 - a) / (1 + a) * a ** abs(n - shift) for n in range(-most + 1, most))
    return (tail(most + shift), *inner, tail(most - shift))


def hockey_stick(one: Law, two: Law, z: Fraction) -> Fraction:
    """The least δ with one(S) ≤ z two(S) + δ for every S."""
    return sum((max(a - z * b, Fraction(0)) for a, b in zip(one, two, strict=True)), Fraction(0))


def within(world: World, z: Fraction, delta: Fraction, pairs: str = "add-remove") -> World:
    """The world drawn towards its middle until it is (log z, δ)-DP: the law of `out` or `other`."""
    middle = world.out if pairs == "add-remove" else world.other

    def drawn(share: Fraction) -> World:
        def of(law: Law) -> Law:
            return tuple(m + share * (x - m) for x, m in zip(law, middle, strict=True))

        return World(*(of(law) for law in world.truths[:3]), tuple(map(of, world.more)))

    def keeps(one: World) -> bool:
        laws = [law for law in one.truths if pairs == "add-remove" or law is not one.out]
        if pairs == "add-remove":
            tried = [(law, one.out) for law in laws]
        else:
            tried = list(itertools.combinations(laws, 2))
        return all(
            hockey_stick(a, b, z) <= delta and hockey_stick(b, a, z) <= delta for a, b in tried
        )

    low, high = Fraction(0), Fraction(1)
    if keeps(drawn(high)):
        return drawn(high)
    for _ in range(20):
        half = (low + high) / 2
        low, high = (half, high) if keeps(drawn(half)) else (low, half)
    return drawn(low)
