"""Many releases, one guarantee: the theorems, the filters, and whole privacy curves.

loss_of((Geometric(0.05), 365))     the privacy loss of a fixed plan: δ(ε), ε(δ), exact tails
losses_of(Gaussian(7.0), range(1, 3651))   the same for every length of a series
"""

from __future__ import annotations

from discreet.composition.concentrated import (
    zcdp_curve,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_paper_epsilon,
)
from discreet.composition.loss import PrivacyLoss, Sided
from discreet.composition.plans import loss_of, losses_of

__all__ = [
    "PrivacyLoss",
    "Sided",
    "loss_of",
    "losses_of",
    "zcdp_curve",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_paper_epsilon",
]
