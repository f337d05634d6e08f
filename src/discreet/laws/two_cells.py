"""The two-cell histogram adversary: what the geometric mechanism really lets one learn.

Setting (K&R §3). A table has two cells: people whose value is in the sensitive set S, and the
others. Both counts get geometric noise at budget ε, add-remove. The adversary knows everyone else;
of one person they believe with p that the person is in the data, and given that, with q that the
value is in S. The person adds 1 to the first cell (in S), 1 to the second (not in S), or nothing
(absent).

Notation. x, y the released counts less the known counts of the others; f(n) = (1−a)/(1+a) a^{|n|},
a = e^{-ε}; A = [x ≥ 1], B = [y ≥ 1]. Since f(n−1)/f(n) is e^ε for n ≥ 1 and e^{-ε} for n ≤ 0, the
likelihoods of (in S, not in S, absent) are in ratio e^{±ε} : e^{±ε} : 1, + where A (B) holds, and
so
    r = posterior/prior of "in, and in S" = e^{sε}/(pq e^{sε} + p(1−q) e^{tε} + (1−p)),
s = ±1 by A, t = ±1 by B: four values, each with its probability whatever is true of the person.

The greatest (A and not B) is 1/(pq + e^{-2ε}p(1−q) + e^{-ε}(1−p)): the bound of K&R Theorem 1
exactly, and the least is its lower counterpart. The bound is attained.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

from discreet.errors import InputError
from discreet.laws.geometric import Geometric

__all__ = ["Outcome", "TwoCells"]

Truth: TypeAlias = Literal["in-S", "not-in-S", "absent"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One value of the ratio r = posterior/prior, and its probability."""

    ratio: float
    probability: float


@dataclass(frozen=True, slots=True)
class TwoCells:
    """The exact law of posterior/prior for an adversary with prior (p, q) against geometric noise.

    >>> law = TwoCells(epsilon=1.0, p=0.5, q=0.1)
    >>> sum(outcome.probability for outcome in law.outcomes("absent"))
    1.0
    """

    epsilon: float
    p: float
    q: float

    def __post_init__(self) -> None:
        Geometric(self.epsilon)
        for name in ("p", "q"):
            value = getattr(self, name)
            if not 0 < value <= 1:
                raise InputError(f"{name} is {value!r}; it must lie above 0 and be at most 1.")

    def ratio(self, first_up: bool, second_up: bool) -> float:
        """r where the first (sensitive) cell shows an excess or not, and the second."""
        rises = 1 if first_up else -1
        others = (1 if second_up else -1) - rises
        return 1 / (
            self.p * self.q
            + self.p * (1 - self.q) * math.exp(others * self.epsilon)
            + (1 - self.p) * math.exp(-rises * self.epsilon)
        )

    def outcomes(self, truth: Truth) -> tuple[Outcome, ...]:
        """Return the four values of r with their probabilities, greatest r first."""
        if truth not in ("in-S", "not-in-S", "absent"):
            raise InputError(f"truth is {truth!r}; it must be 'in-S', 'not-in-S' or 'absent'.")
        high = 1 / (1 + math.exp(-self.epsilon))  # P(excess) in the cell that holds the person
        first = high if truth == "in-S" else 1 - high
        second = high if truth == "not-in-S" else 1 - high
        found = [
            Outcome(
                self.ratio(a, b),
                (first if a else 1 - first) * (second if b else 1 - second),
            )
            for a, b in product((True, False), repeat=2)
        ]
        return tuple(sorted(found, key=lambda outcome: -outcome.ratio))

    def predictive(self) -> tuple[Outcome, ...]:
        """Return the law of r under the adversary's own beliefs; its mean is 1."""
        weights: dict[Truth, float] = {
            "in-S": self.p * self.q,
            "not-in-S": self.p * (1 - self.q),
            "absent": 1 - self.p,
        }
        laws = {truth: self.outcomes(truth) for truth in weights}
        return tuple(
            Outcome(
                law[0].ratio,
                sum(w * o.probability for w, o in zip(weights.values(), law, strict=True)),
            )
            for law in zip(*laws.values(), strict=True)
        )
