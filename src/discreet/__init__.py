"""Discreet: how much an adversary may come to believe, turned into a differential-privacy budget.

    promise ──> budget ──> series ──> release ──> ledger ──> statement

Verbs are functions of this module, nouns are its sub-packages. Everything is loaded on first use,
so that `import discreet` costs nothing. Editors and type checkers read `__init__.pyi`.
"""

from importlib import import_module

__version__ = "0.2.0"

_ROOMS = {
    "auditing": ("Attack", "Audit", "attack", "audit"),
    "beliefs": ("Belief", "Beliefs", "Joining", "Prior", "explain", "join"),
    "budgets": ("Choice", "Costs", "choose", "cost"),
    "composition": ("Composition", "compose"),
    "errors": ("DiscreetError",),
    "guarantees": ("Adjacency", "ApproxDP", "PrivacyCurve", "ProbabilisticDP", "PureDP", "ZCDP"),
    "ledger": ("Ledger",),
    "noise.context": ("to_opendp",),
    "promises": ("Promise",),
    "releases": (
        "Checked",
        "Preview",
        "Rehearsal",
        "Release",
        "Repeat",
        "check",
        "preview",
        "rehearse",
        "release",
    ),
    "releases.summary": ("Summary", "summarize"),
    "reports": ("Deployments", "Report", "Worry", "deployments", "report", "worry"),
    "series": ("Horizon", "Plan", "horizon", "plan"),
    "surveys": ("Survey", "randomize"),
    "synthetic": ("Assessment", "Search", "Synthesis", "assess", "synthesize"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    return getattr(import_module(f"discreet.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
