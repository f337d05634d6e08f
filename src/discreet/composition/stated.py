"""The privacy loss of a release of which only the promise is known: one (ε, δ), or a curve."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.composition import guesses
from discreet.composition.concentrated import ZCDPLoss
from discreet.composition.curves import Bound, Strength, epsilon_prime
from discreet.composition.loss import LossBound, PrivacyLoss, certain, check_delta
from discreet.errors import GuaranteeError
from discreet.guarantees import (
    ZCDP,
    Adjacency,
    ApproxDP,
    Guarantee,
    PrivacyCurve,
    ProbabilisticDP,
    PureDP,
)
from discreet.numerics import bracket
from discreet.words import say


@dataclass(frozen=True, slots=True)
class PointLoss(PrivacyLoss):
    """The loss of what is ε-DP, (ε, δ)-DP, or probabilistically so; below ε nothing is known."""

    stated: PureDP | ApproxDP | ProbabilisticDP
    strength = "generic"
    grows_with_steps = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """The promise, as people write it."""
        return str(self.stated)

    @property
    def adjacency(self) -> Adjacency:  # type: ignore[override]
        """The adjacency that it is stated under."""
        return self.stated.adjacency

    @property
    def lost(self) -> float:
        """δ."""
        return 0.0 if isinstance(self.stated, PureDP) else self.stated.delta

    def largest(self) -> float:
        """ε."""
        return self.stated.epsilon

    def _at_infinity(self) -> float:
        return self.lost

    def _delta(self, epsilon: float) -> float:
        return self.lost if epsilon >= self.stated.epsilon else 1.0

    def _epsilon(self, delta: float) -> float:
        return self.stated.epsilon

    def epsilon(self, delta: float) -> float:
        """Return ε where δ is covered; inf where it is not."""
        if delta == self.lost < 1:
            return self.stated.epsilon
        return super(PointLoss, self).epsilon(delta)

    def at(self, delta: float) -> ApproxDP | None:
        """Return the promise as (ε, δ)-DP; None where it has spent more."""
        if isinstance(self.stated, PureDP):
            return ApproxDP(self.stated.epsilon, delta, adjacency=self.adjacency)
        if self.lost > delta:
            return None
        return ApproxDP(self.stated.epsilon, self.lost, adjacency=self.adjacency)

    def fixed(self, delta: float) -> PointLoss:
        """Return it as it is: a promise is one point already."""
        return self

    def steps(self, m: int) -> PointLoss:
        """Return the loss of m steps by the group property."""
        return PointLoss(self.stated.steps(m))

    def _bounded(self, failure: float, sided: str, strength: Strength | None) -> LossBound:
        epsilon, delta = self.stated.epsilon, self.lost
        if delta == 0:
            return certain(epsilon)
        if isinstance(self.stated, ProbabilisticDP) and strength not in ("generic", "curve"):
            if delta > failure:
                raise GuaranteeError("composition.delta_too_large", failure=failure, delta=delta)
            return LossBound(epsilon, delta, "exact", False, say("composition.bound.probabilistic"))
        if delta >= failure:
            raise GuaranteeError("composition.delta_too_large", failure=failure, delta=delta)
        bound = epsilon_prime(epsilon, delta, failure, sided)
        method = say("composition.bound.point")
        return LossBound(bound, failure, "generic", True, method, (epsilon, delta))

    def _chance(self, x: float, bound: Bound, least: PrivacyLoss | None) -> float:
        return min(1.0, bound(self.stated.epsilon, self.lost, x))

    def _right_guess(self, kappa: float) -> float:
        return guesses.from_point(self.stated.epsilon, self.lost, kappa)


@dataclass(frozen=True, slots=True)
class CurveLoss(PrivacyLoss):
    """The loss of what is known by its curve δ(ε) alone."""

    stated: PrivacyCurve

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the curve."""
        return self.stated.name

    @property
    def adjacency(self) -> Adjacency:  # type: ignore[override]
        """The adjacency that it is stated under."""
        return self.stated.adjacency

    def largest(self) -> float:
        """Inf: a curve says nothing of every output."""
        return math.inf

    def _delta(self, epsilon: float) -> float:
        return self.stated.delta_at(epsilon)

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε ≥ 0 at which the curve is low enough; inf if it never is."""
        return 0.0 if check_delta(delta) == 1 else self._epsilon(delta)

    def _epsilon(self, delta: float) -> float:
        low, high = 0.0, 1.0
        while self.stated.delta_at(high) > delta:
            low, high = high, 2 * high
            if high > 1e9:
                return math.inf
        if self.stated.delta_at(low) <= delta:
            return low
        return bracket(lambda e: self.stated.delta_at(e) <= delta, high, low)[0]

    def curve(self) -> PrivacyCurve:
        """Return the curve itself."""
        return self.stated

    def _bounded(self, failure: float, sided: str, strength: Strength | None) -> LossBound:
        return super(CurveLoss, self)._bounded(failure, sided, None)

    def _right_guess(self, kappa: float) -> float:
        return guesses.from_curve(self.delta, kappa)


def loss_of_promise(stated: Guarantee) -> PrivacyLoss:
    """Return the loss of one release of which only the promise is known."""
    match stated:
        case ZCDP():
            return ZCDPLoss(stated.rho, adjacency=stated.adjacency, name=str(stated))
        case PrivacyCurve():
            return CurveLoss(stated)
        case _:
            return PointLoss(stated)
