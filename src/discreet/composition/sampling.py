"""A release from a secret sample: the sample is drawn by chance, and nobody learns who is in it.

Theorem (Balle, Barthe and Gaboardi 2018). If a release is (ε, δ)-DP for those in the sample, then
for everyone in the frame from which it is drawn it is (ε', γδ)-DP with

    ε' = log(1 + γ(e^ε − 1)),

where γ is the chance of being drawn: each unit independently, under add-remove (Poisson), or a
fixed number of units, under replace. It holds at every point of a whole curve δ(ε), in both
directions: write Q for the law without the unit and P for the law with it in the sample, so that
(1−γ)Q + γP is the law with it in the frame. Then δ'(ε') of (1−γ)Q + γP against Q *is* γ times δ(ε)
of P against Q; and that of Q against (1−γ)Q + γP is c times the δ of Q against P at ε'', where
c = 1 − (1−γ)e^{ε'} ≤ γ and e^{ε''} = γe^{ε'}/c ≥ e^ε.

Several steps apart, the amplified curve is composed by the group property: amplifying the loss of
several steps would claim too much. Someone who is known to have been drawn has the loss of the
release itself, and someone who is known not to have been drawn has none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.composition.loss import PrivacyLoss
from discreet.composition.totals import loss_of
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import Adjacency, ApproxDP, ProbabilisticDP, PureDP
from discreet.rounding import down, up

_LEAST = 1e-12  # below, hardly anyone is ever drawn, and 1/rate nears the end of doubles


def check_rate(rate: float) -> float:
    """Return the chance of being drawn, or say between which it lies."""
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not _LEAST <= rate <= 1:
        raise InputError("composition.rate", rate=rate, least=_LEAST)
    return float(rate)


def _after(epsilon: float, rate: float) -> float:
    """Return ε', rounded up; beyond the range of doubles, as ε + log γ, plus what that leaves."""
    if epsilon > 700:
        return up(epsilon + math.log(rate) + math.exp(-epsilon) / rate, 8)
    return up(math.log1p(rate * math.expm1(epsilon)), 8)


def _before(epsilon: float, rate: float) -> float:
    """Return the ε of which the amplified one is ε', rounded down."""
    if epsilon > 700:
        return down(epsilon - math.log(rate) - math.exp(-epsilon), 8)
    return down(math.log1p(math.expm1(epsilon) / rate), 8)


@dataclass(frozen=True, slots=True)
class SampledLoss(PrivacyLoss):
    """The privacy loss of a release from a secret sample, for someone who may be in it."""

    release: PrivacyLoss
    rate: float

    @property
    def adjacency(self) -> Adjacency:  # type: ignore[override]
        """That of the release."""
        return self.release.adjacency

    @property
    def name(self) -> str:  # type: ignore[override]
        """What is released, and from how large a sample."""
        return f"{self.release.name}, sampled at {self.rate:g}"

    def largest(self) -> float:
        """The ε of pure DP, amplified."""
        return _after(self.release.largest(), self.rate)

    def _at_infinity(self) -> float:
        return up(self.rate * self.release._at_infinity())

    def _delta(self, epsilon: float) -> float:
        return up(self.rate * self.release.delta(_before(epsilon, self.rate)))

    def _epsilon(self, delta: float) -> float:
        most = delta / self.rate
        return 0.0 if most >= 1 else _after(self.release.epsilon(down(most)), self.rate)


def amplified(release: Any, rate: float) -> Any:
    """Return a guarantee, or the loss of a mechanism or plan, for someone who may have been drawn.

    >>> round(amplified(PureDP(1.0), 0.05).epsilon, 4)
    0.0824
    """
    rate = check_rate(rate)
    if isinstance(release, ProbabilisticDP):
        raise GuaranteeError("composition.not_amplified")
    if isinstance(release, PureDP | ApproxDP):
        _refuse_local(release.adjacency)
        epsilon, where = _after(release.epsilon, rate), release.adjacency
        if isinstance(release, PureDP):
            return PureDP(epsilon, adjacency=where)
        return ApproxDP(epsilon, up(rate * release.delta), adjacency=where)
    loss = release if isinstance(release, PrivacyLoss) else loss_of(release)
    _refuse_local(loss.adjacency)
    return SampledLoss(loss, rate)


def before_sampling(budget: PureDP | ApproxDP, rate: float) -> PureDP | ApproxDP:
    """Return what a release from the sample may spend, so that it costs no more than the budget."""
    rate = check_rate(rate)
    _refuse_local(budget.adjacency)
    epsilon, where = _before(budget.epsilon, rate), budget.adjacency
    while epsilon > 0 and _after(epsilon, rate) > budget.epsilon:
        epsilon = down(epsilon, 8)
    if isinstance(budget, PureDP):
        return PureDP(epsilon, adjacency=where)
    delta = min(1.0, budget.delta / rate)
    while up(rate * delta) > budget.delta:
        delta = down(delta)
    return ApproxDP(epsilon, delta, adjacency=where)


def _refuse_local(adjacency: Adjacency) -> None:
    if adjacency is Adjacency.LOCAL:
        raise GuaranteeError("composition.sampled_local")
