"""The privacy loss of a fixed plan: the one thing that everything about a plan is asked of.

Notation. P and Q are the laws of everything the plan releases, with and without the person's
contribution; L = log P/Q under P is the privacy loss. For the mechanisms here the loss is
symmetric (−L under Q has the law of L under P), so one order of the neighbours stands for both.

    δ(ε) = E[(1 − e^{ε−L})⁺]                                  survives post-processing
    P(|L| > ε'), at its maximum over contributions            holds for the output as released

The first is the privacy curve (Sommer, Meiser and Mohammadi 2019; Balle and Wang 2018), the second
the probability with which a belief passes expit(logit p ± ε') (KSZ Thm 3.1). For ε < 0 symmetry
gives δ(ε) = 1 − e^ε (1 − δ(−ε)).

Every δ and every ε returned is never below the true one. All this holds for a plan fixed before the
first draw; for budgets chosen as one goes there are filters (`discreet.ledger.Filter`).

`one_step` bounds the loss outside an event of a given probability; of `steps(2)` it is that of a
unit two neighbours away: a value changed for another. Three strengths, each tighter than the last:

- *generic*: from the promise alone, pure DP, one (ε, δ), or ρ-zCDP; survives post-processing;
- *curve*: the best point of the whole curve δ(ε) (`curves`); survives post-processing;
- *exact*: from the law of the privacy loss (KSZ Theorem 3.1), at its maximum over all that a unit
  may contribute; holds for the output as released, not for every post-processing of it. Where that
  maximum is not proved, the curve is quoted instead and the result says so.

Without a choice, the strongest that survives post-processing is taken.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from numbers import Real

from discreet.composition import guesses
from discreet.composition.curves import (
    Bound,
    CurvePoint,
    Sided,
    Strength,
    best_point,
    check_failure,
    check_sided,
    fall_at,
    least_along,
    rise_at,
)
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import Adjacency, ApproxDP, PrivacyCurve
from discreet.rounding import up
from discreet.words import say


def _number(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError("composition.not_a_number", name=name, value=value)
    if math.isnan(value):
        raise InputError("composition.not_a_number", name=name, value="NaN")
    return float(value)


def check_delta(value: float, name: str = "delta") -> float:
    """Return the probability, or say that it must lie between 0 and 1."""
    value = _number(name, value)
    if not 0 <= value <= 1:
        raise InputError("composition.outside_unit", name=name, value=value)
    return value


@dataclass(frozen=True, slots=True)
class LossBound:
    """|L| ≤ ε' (or L ≤ ε') with probability at least 1 − `failure`, and where that comes from.

    `point` is the (ε, δ)-DP promise that it came from, where it came from one; `theorem` names the
    composition theorem that added the releases up, where one did.
    """

    epsilon_prime: float
    failure: float
    strength: Strength
    survives: bool
    method: str
    point: tuple[float, float] | None = None
    note: str | None = None
    theorem: str | None = None


def certain(epsilon: float, strength: Strength = "generic") -> LossBound:
    """Return the bound of pure DP, which holds for every output."""
    method = say("composition.bound.pure")
    return LossBound(epsilon, 0.0, strength, True, method, (epsilon, 0.0))


class PrivacyLoss(ABC):
    """The privacy loss of a fixed plan of releases; see the module for what it promises."""

    __slots__ = ()

    #: How much is known: the promise alone (generic), or the law of the loss (curve).
    strength: Strength = "curve"
    #: Whether the δ of several steps is never below that of one, at any ε.
    grows_with_steps: bool = False

    #: What is composed, in one phrase.
    name: str
    adjacency: Adjacency
    #: Whether the maximum over contributions, which `exact_epsilon` needs, is proved.
    exact_proved: bool = False

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
        raise GuaranteeError("composition.exact_not_proved", name=self.name)

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

    def curve(self) -> PrivacyCurve:
        """Return the whole δ(ε) as a guarantee."""
        return PrivacyCurve(name=self.name, delta_at=self.delta, adjacency=self.adjacency)

    def pure(self) -> float:
        """Return the ε of the plan as pure DP, infinite where some probability gives all away."""
        return self.largest() if self._at_infinity() == 0 else math.inf

    def at(self, delta: float) -> ApproxDP | None:
        """Return the point (ε, δ) of the curve; None where more δ is spent."""
        epsilon = self.epsilon(delta)
        return None if math.isinf(epsilon) else ApproxDP(epsilon, delta, adjacency=self.adjacency)

    def fixed(self, delta: float) -> PrivacyLoss:
        """Return the loss as one point of its curve tells it, the one at δ."""
        from discreet.composition.stated import PointLoss

        point = self.at(delta)
        if point is None:
            raise GuaranteeError("composition.curve_above", name=self.name, delta=delta)
        return PointLoss(point)

    def steps(self, m: int) -> PrivacyLoss:
        """Return the loss between data sets that are m neighbours apart.

        By the group property, point by point, unless more is known of the plan.
        """
        from discreet.composition.stated import CurveLoss

        return self if m == 1 else CurveLoss(self.curve().steps(m))

    def one_step(
        self,
        failure: float,
        sided: str = "two",
        *,
        strength: Strength | None = None,
    ) -> LossBound:
        """Return the bound on the loss that fails with at most this probability."""
        check_failure(failure)
        check_sided(sided)
        if strength not in (None, "generic", "curve", "exact"):
            raise InputError("composition.strength_unknown", strength=strength)
        return self._bounded(failure, sided, strength)

    def _bounded(self, failure: float, sided: str, strength: Strength | None) -> LossBound:
        note = None
        if strength == "exact":
            if self.exact_proved:
                bound = up(self.exact_epsilon(failure, "two" if sided == "two" else "one"))
                return LossBound(bound, failure, "exact", False, say("composition.bound.exact"))
            note = say("composition.bound.exact_not_proved")
        found = self._best(failure, sided)
        largest = self.pure()
        if largest <= found.epsilon_prime:
            found = CurvePoint(largest, largest, 0.0)
        if math.isinf(found.epsilon_prime):
            raise GuaranteeError("composition.curve_too_high", failure=failure)
        if found.delta == 0:
            return replace(certain(found.epsilon_prime, "curve"), note=note)
        method = say("composition.bound.curve", epsilon=found.epsilon, delta=found.delta)
        point = (found.epsilon, found.delta)
        return LossBound(found.epsilon_prime, failure, "curve", True, method, point, note)

    def _best(self, failure: float, sided: str) -> CurvePoint:
        return best_point(self.delta, failure, sided, hint=self._near_best(failure))

    def _near_best(self, failure: float) -> float | None:
        """Return an ε near the best point of the curve, where one is known without a search."""
        return None

    def chance_of_rise(self, x: float, least: PrivacyLoss | None = None) -> float:
        """Return T(x) of `curves`: a bound of how often the loss is above x.

        `least` is the loss of fewer steps, whose δ must not be above the one that is used.
        """
        return 0.0 if math.isinf(x) else self._chance(x, rise_at, least)

    def chance_of_fall(self, x: float) -> float:
        """Return F(x): how often −loss is above x, also when the truth is two steps away."""
        return 0.0 if math.isinf(x) else self._chance(x, fall_at, None)

    def _chance(self, x: float, bound: Bound, least: PrivacyLoss | None) -> float:
        if self.pure() <= x:
            return 0.0
        if least is None or least.grows_with_steps:
            return least_along(self.delta, x, bound)
        return least_along(lambda e: max(self.delta(e), least.delta(e)), x, bound)

    def right_guess(self, kappa: float) -> float:
        """Return how often a guess that is right with probability κ beforehand is right afterwards.

        An upper bound over all strong adversaries, never below the truth; see `guesses`.
        """
        kappa = check_delta(kappa, "kappa")
        found = 1.0 if kappa == 1 else self._right_guess(kappa)
        if self.adjacency is Adjacency.REPLACE:
            found = min(found, guesses.from_replaced(self.pure(), kappa))
        return min(1.0, max(kappa, found))

    def _right_guess(self, kappa: float) -> float:
        return min(
            guesses.from_point(self.pure(), 0.0, kappa), guesses.from_curve(self.delta, kappa)
        )

    @property
    def theorem(self) -> str | None:
        """The composition theorem that the releases were added up by, if one was."""
        return None

    def described(self, method: str) -> str:
        """Return the words for a bound, with the composition theorem it rests on, if any."""
        return method
