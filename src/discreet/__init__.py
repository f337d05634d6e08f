"""Discreet: how much an adversary may come to believe, turned into a differential-privacy budget.

    promise ──> budget ──> series ──> release ──> ledger ──> statement

Verbs are functions of this module, nouns are its sub-packages. Everything is loaded on first use,
so that `import discreet` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

_HOME = {
    "Adjacency": "discreet.guarantees",
    "ApproxDP": "discreet.guarantees",
    "Belief": "discreet.beliefs",
    "Choice": "discreet.budgets",
    "DiscreetError": "discreet.errors",
    "Ledger": "discreet.ledger",
    "PrivacyCurve": "discreet.guarantees",
    "Prior": "discreet.beliefs",
    "Promise": "discreet.promises",
    "ProbabilisticDP": "discreet.guarantees",
    "PureDP": "discreet.guarantees",
    "ZCDP": "discreet.guarantees",
    "assess": "discreet.synthetic",
    "audit": "discreet.auditing",
    "choose": "discreet.budgets",
    "compose": "discreet.composition",
    "deployments": "discreet.reports",
    "explain": "discreet.beliefs",
    "horizon": "discreet.series",
    "plan": "discreet.series",
    "release": "discreet.releases",
    "report": "discreet.reports",
    "synthesize": "discreet.synthetic",
    "to_opendp": "discreet.noise.context",
    "worry": "discreet.reports",
}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
