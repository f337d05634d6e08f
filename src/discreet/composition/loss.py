"""The privacy loss of a fixed plan: what every representation of it can answer.

Notation. P and Q are the laws of everything the plan releases, with and without the person's
contribution; L = log P/Q under P is the privacy loss. For the mechanisms here the loss is
symmetric (−L under Q has the law of L under P), so one order of the neighbours stands for both.

    δ(ε) = E[(1 − e^{ε−L})⁺]                                  survives post-processing
    P(|L| > ε'), at its maximum over contributions            holds for the output as released

The first is the privacy curve (Sommer, Meiser and Mohammadi 2019; Balle and Wang 2018), the second
the probability with which a belief passes expit(logit p ± ε') (KSZ Thm 3.1). For ε < 0 symmetry
gives δ(ε) = 1 − e^ε (1 − δ(−ε)).

Every δ and every ε returned is never below the true one. All this holds for a plan fixed before the
first draw; for budgets chosen as one goes there are `discreet.composition.filters`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Literal, TypeAlias

from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import Adjacency, PrivacyCurve
from discreet.rounding import up

__all__ = [
    "LeastLoss",
    "PrivacyLoss",
    "Sided",
    "check_delta",
    "check_sided",
    "first_below",
    "newton",
    "settle",
]

Sided: TypeAlias = Literal["one", "two"]

_GOLDEN = (math.sqrt(5) - 1) / 2


def _number(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} is {value!r}; it must be a number.")
    if math.isnan(value):
        raise InputError(f"{name} is NaN; it must be a number.")
    return float(value)


def check_delta(value: float, name: str = "delta") -> float:
    """Return the probability, or say that it must lie between 0 and 1."""
    value = _number(name, value)
    if not 0 <= value <= 1:
        raise InputError(f"{name} is {value:g}; it must lie between 0 and 1.")
    return value


def check_sided(sided: str) -> None:
    """Refuse anything but one and two."""
    if sided not in ("one", "two"):
        raise InputError(f"sided is {sided!r}; it must be 'one' or 'two'.")


def first_below(f: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Return x in (low, high] with f(x) ≤ target, within 2 ulps of the least; f is non-increasing.

    f(high) ≤ target < f(low) is assumed. Plain bisection: what is returned is always an end at
    which f was seen to be low enough.
    """
    for _ in range(2000):
        middle = low + (high - low) / 2
        if not low < middle < high or high - low <= 4e-16 * abs(high):
            break
        low, high = (low, middle) if f(middle) <= target else (middle, high)
    return high


def settle(f: Callable[[float], float], target: float, x: float) -> float:
    """Return the given root of f = target, moved up by ulps until f ≤ target is seen to hold."""
    step = 2e-16 * max(abs(x), 1e-300)
    while f(x) > target:
        x += step
        step *= 2
    return x


def newton(step: Callable[[float], tuple[float, float]], target: float, x: float) -> float:
    """Return the root of log f = log target by Newton's method from x; f must be log-concave.

    `step(x)` is (log f, its derivative). A falling concave function lies below its tangents, so
    from the second step on the iterates come down from above the root and cannot pass it.
    """
    log_target = math.log(target)
    for _ in range(100):
        value, slope = step(x)
        move = (log_target - value) / slope
        nearer = x + move
        if nearer <= 0:
            nearer = x / 2
        if abs(nearer - x) <= 1e-15 * abs(x):
            return nearer
        x = nearer
    return x


class PrivacyLoss(ABC):
    """The privacy loss of a fixed plan of releases; see the module for what it promises."""

    __slots__ = ()

    #: What is composed, in one phrase.
    name: str
    adjacency: Adjacency
    #: Whether the maximum over contributions, which `exact_epsilon` needs, is proved.
    exact_proved: bool = False
    #: Whether the law of the loss at full contribution is known, so that `tail` is (nearly) exact.
    law_known: bool = False

    @abstractmethod
    def _delta(self, epsilon: float) -> float:
        """δ(ε) for finite ε ≥ 0, never below the truth."""

    @abstractmethod
    def _epsilon(self, delta: float) -> float:
        """Return the smallest ε ≥ 0 with δ(ε) ≤ delta, for δ(∞) < delta < 1, never below it."""

    @abstractmethod
    def largest(self) -> float:
        """The ε of the plan as pure DP: the largest loss there is, inf if there is none."""

    def _exact_epsilon(self, delta_prime: float, sided: Sided) -> float:
        raise GuaranteeError(
            f"the exact bound for {self.name} needs the maximum over all that a person may "
            "contribute, and that maximum is not proved; use the curve, which also survives "
            "post-processing."
        )

    def delta(self, epsilon: float) -> float:
        """δ(ε) of the whole plan, for any real ε; never below the truth."""
        epsilon = _number("epsilon", epsilon)
        if math.isinf(epsilon):
            return 1.0 if epsilon < 0 else self._at_infinity()
        if epsilon >= 0:
            return min(1.0, max(0.0, self._delta(epsilon)))
        mirrored = min(1.0, max(0.0, self._delta(-epsilon)))
        return min(1.0, 1.0 - math.exp(epsilon) * (1.0 - mirrored) + 2e-16)

    def _at_infinity(self) -> float:
        return 0.0

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε ≥ 0 with δ(ε) ≤ delta; never below the truth, inf if none is."""
        delta = check_delta(delta)
        if delta == 1:
            return 0.0
        if delta <= self._at_infinity():
            return self.largest() if delta == 0 == self._at_infinity() else math.inf
        return min(self.largest(), self._epsilon(delta))

    def exact_epsilon(self, delta_prime: float, sided: Sided = "two") -> float:
        """Return the least ε' with P(|L| > ε') ≤ δ', whatever the person contributed.

        One-sided counts L > ε' only. It speaks of the output as released and does not survive
        post-processing. Where the maximum over contributions is not proved it is refused.
        """
        delta_prime = check_delta(delta_prime, "delta_prime")
        check_sided(sided)
        if not self.exact_proved:
            return self._exact_epsilon(delta_prime, sided)
        if delta_prime >= 1:
            return 0.0
        if delta_prime == 0:
            return self.largest()
        return min(self.largest(), self._exact_epsilon(delta_prime, sided))

    def tail(self, x: float, sided: Sided = "two") -> float:
        """P(|L| > x), or P(L > x), for a person in every release with all they may contribute.

        Never below the truth; exact or nearly so where the law of the loss is known (`law_known`),
        and otherwise what the curve proves of it. It is not the maximum over contributions: that
        is `exact_epsilon`.
        """
        x = _number("x", x)
        check_sided(sided)
        if x == -math.inf or (x < 0 and sided == "two"):
            return 1.0
        return min(1.0, self._at_infinity() if math.isinf(x) else self._tail(x, sided))

    def quantile(self, delta_prime: float, sided: Sided = "two") -> float:
        """Return the least x ≥ 0 with `tail(x)` at most δ'; never below the true one."""
        delta_prime = check_delta(delta_prime, "delta_prime")
        check_sided(sided)
        if delta_prime == 1:
            return 0.0
        if delta_prime <= self._at_infinity():
            return self.largest() if delta_prime == 0 else math.inf
        return min(self.largest(), self._quantile(delta_prime, sided))

    def _tail(self, x: float, sided: Sided) -> float:
        """Markov's inequality on the curve: for any ε < x, δ(ε) ≥ (1 − e^{ε−x}) P(L > x).

        The other side weighs at most e^{-x} of the same bound, by symmetry (KSZ Thm 3.9).
        """
        if x <= 0:
            return 1.0
        sides = 1 + math.exp(-x) if sided == "two" else 1.0

        def proved(share: float) -> float:
            return up(sides * self.delta(x * share) / -math.expm1(x * (share - 1)))

        low, high = 0.0, 1.0
        best = proved(0.0)
        for _ in range(32):  # golden section; every point visited is a valid bound
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            at_left, at_right = proved(left), proved(right)
            best = min(best, at_left, at_right)
            low, high = (low, right) if at_left <= at_right else (left, high)
        return best

    def _quantile(self, delta_prime: float, sided: Sided) -> float:
        high = 1.0
        while high < self.largest() and self.tail(high, sided) > delta_prime:
            high *= 2
            if math.isinf(high):
                return high
        high = min(high, self.largest())
        return first_below(
            lambda x: self.tail(x, sided) if x < high else 0.0, delta_prime, 0.0, high
        )

    def curve(self) -> PrivacyCurve:
        """Return the whole δ(ε) as a guarantee."""
        return PrivacyCurve(name=self.name, delta_at=self.delta, adjacency=self.adjacency)


@dataclass(frozen=True, slots=True)
class LeastLoss(PrivacyLoss):
    """Several valid accounts of one plan: at every point the smallest of them holds."""

    accounts: tuple[PrivacyLoss, ...]
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    name: str = "releases"

    def largest(self) -> float:
        """The least of the largest."""
        return min(account.largest() for account in self.accounts)

    def _at_infinity(self) -> float:
        return min(account._at_infinity() for account in self.accounts)

    def _delta(self, epsilon: float) -> float:
        return min(account.delta(epsilon) for account in self.accounts)

    def _epsilon(self, delta: float) -> float:
        return min(account.epsilon(delta) for account in self.accounts)
