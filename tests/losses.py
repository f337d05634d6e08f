"""Short forms in which tests ask the privacy loss of a plan, whatever it is given as."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discreet.composition import LossBound, PrivacyLoss, loss_of
from discreet.errors import GuaranteeError


def as_loss(subject: Any, **how: Any) -> PrivacyLoss:
    return subject if isinstance(subject, PrivacyLoss) else loss_of(subject, **how)


def loss_bound(
    subject: Any, failure: float, sided: str = "two", *, delta: float | None = None, **how: Any
) -> LossBound:
    loss = as_loss(subject)
    return (loss if delta is None else loss.fixed(delta)).one_step(failure, sided, **how)


def bound_of(
    parts: Sequence[Any], failure: float, sided: str = "two", *, strength: Any = None, **how: Any
) -> LossBound:
    """Return the bound on the loss of all parts together; infinite where there is none."""
    loss = loss_of(*parts, strength=strength, **how)
    try:
        return loss.one_step(failure, sided, strength=strength)
    except GuaranteeError:
        return LossBound(math.inf, 0.0, "generic", True, "no bound")


def right_guess(subject: Any, kappa: float) -> float:
    return as_loss(subject).right_guess(kappa)


def chance_of_rise(subject: Any, x: float, least: Any = None) -> float:
    return as_loss(subject).chance_of_rise(x, None if least is None else as_loss(least))


def chance_of_fall(subject: Any, x: float) -> float:
    return as_loss(subject).chance_of_fall(x)
