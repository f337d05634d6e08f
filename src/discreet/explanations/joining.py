"""Joining or staying out: how much likelier any consequence of a release can become.

Notation. x the probability, over the noise, of some event S of the output (and so of anything that
is done on seeing it) with the unit's data left out; y the same with them in. P and Q the two laws.

From the definition, both ways round: y ≤ e^ε x + δ, and 1 − x ≤ e^ε (1 − y) + δ. Hence
    y ≤ min(e^ε x + δ, 1 − e^{-ε}(1 − δ − x)).
Every point of a curve is such a promise, so the least over any set of points is valid. Nothing is
assumed of what anyone knows or believes: it is about the output alone (the form that a study of
963 people found the clearest: Nanayakkara, Smart, Cummings, Kaptchuk and Redmiles 2023).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from discreet.errors import GuaranteeError
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, PrivacyCurve, ProbabilisticDP, PureDP
from discreet.rounding import up

__all__ = ["chance_if_joined"]

_DELTAS = tuple(10.0 ** (-step / 4) for step in range(4, 60))
_EPSILONS = tuple(10.0 ** (step / 8) for step in range(-24, 17))


def chance_if_joined(guarantee: Guarantee, without: float) -> float:
    """Return the largest chance with the unit in, given the chance with it left out; rounded up.

    >>> round(chance_if_joined(PureDP(math.log(3)), 0.1), 6)
    0.3
    """
    return min((_joined(e, d, without) for e, d in _points(guarantee)), default=1.0)


def _joined(epsilon: float, delta: float, x: float) -> float:
    if math.isinf(epsilon) or x >= 1:
        return 1.0
    grown = math.exp(epsilon) * x + delta if epsilon < 700 else 1.0
    return min(1.0, up(grown), up(1 - math.exp(-epsilon) * max(0.0, 1 - delta - x)))


def _points(guarantee: Guarantee) -> Iterator[tuple[float, float]]:
    match guarantee:
        case PureDP():
            yield guarantee.epsilon, 0.0
        case ApproxDP() | ProbabilisticDP():  # which implies it with the same parameters
            yield guarantee.epsilon, guarantee.delta
        case ZCDP():
            from discreet.composition.concentrated import zcdp_epsilon

            for delta in _DELTAS:
                yield zcdp_epsilon(guarantee.rho, delta), delta
        case PrivacyCurve():
            for epsilon in _EPSILONS:
                yield epsilon, guarantee.at(epsilon).delta
        case _:
            raise GuaranteeError(f"{guarantee!r} is no promise that joining can be read from.")
