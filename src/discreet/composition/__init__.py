"""Many releases, one guarantee: the theorems, the filters, and whole privacy curves.

    compose([(PureDP(0.05), 365)], delta=1e-6)       one guarantee, and which theorem gave it
    loss_of((Geometric(0.05), 365))                  the privacy loss of a fixed plan
    loss_of((Laplace(0.05), 184)).quantile(0.05)     what the loss passes with probability .05
    losses_of(Gaussian(7.0), range(1, 3651))         the same for every length of a series
    filters.spend(account, PureDP(0.1))              budgets chosen as one goes

What is loaded on first use is what was asked for: Gaussian plans need no NumPy.
"""

from __future__ import annotations

from discreet.composition.composing import METHODS, Composition, compose
from discreet.composition.concentrated import (
    zcdp_curve,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_paper_epsilon,
)
from discreet.composition.loss import PrivacyLoss, Sided
from discreet.composition.plans import loss_of, losses_of

__all__ = [
    "METHODS",
    "Composition",
    "PrivacyLoss",
    "Sided",
    "compose",
    "loss_of",
    "losses_of",
    "zcdp_curve",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_paper_epsilon",
]
