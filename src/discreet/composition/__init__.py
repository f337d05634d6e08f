"""Many releases, one guarantee: the theorems, and whole privacy curves.

    loss_of((Geometric(0.05), 365))                  the privacy loss of a fixed plan
    loss_of((PureDP(0.05), 365)).epsilon(1e-6)       the same of promises, at a δ
    loss_of(Laplace(0.05)).one_step(0.01)            what the loss passes with probability .01
    compose([(PureDP(0.05), 365)], delta=1e-6)       one guarantee, and which theorem gave it

`loss_of` returns the `PrivacyLoss` of a plan. Composition, plans, horizons, promises, beliefs and
the ledger all use it. Modules are loaded on first use: Gaussian plans need no NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazily import found_in

if TYPE_CHECKING:
    from discreet.composition.concentrated import (
        zcdp_curve as zcdp_curve,
        zcdp_delta as zcdp_delta,
        zcdp_epsilon as zcdp_epsilon,
        zcdp_paper_epsilon as zcdp_paper_epsilon,
    )
    from discreet.composition.curves import Sided as Sided, Strength as Strength
    from discreet.composition.loss import LossBound as LossBound, PrivacyLoss as PrivacyLoss
    from discreet.composition.theorems import METHODS as METHODS
    from discreet.composition.totals import (
        Composition as Composition,
        Part as Part,
        Releases as Releases,
        compose as compose,
        guarantee_of as guarantee_of,
        loss_of as loss_of,
    )

_FILES = {
    "concentrated": "zcdp_curve zcdp_delta zcdp_epsilon zcdp_paper_epsilon",
    "curves": "Sided Strength",
    "loss": "LossBound PrivacyLoss",
    "totals": "Composition Part Releases compose guarantee_of loss_of",
    "theorems": "METHODS",
}

__getattr__, __all__ = found_in(__name__, "A composition", _FILES)
