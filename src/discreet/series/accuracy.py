"""How far off a planned release is: the accuracy of its mechanism at a budget.

A plan without a mechanism shows the accuracy that a count would have: geometric noise for a budget
in ε, Gaussian for one in ρ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.laws.registry import by_budget

__all__ = ["Accuracy", "accuracy_of"]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How far off one released value is."""

    mechanism: str
    sensitivity: float
    sd: float | None
    prob_exact: float | None
    within_95: float | None
    words: str

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def accuracy_of(name: str, budget: float, sensitivity: float = 1) -> Accuracy:
    """Return the accuracy of one release with the named mechanism at a budget."""
    law = by_budget(name, budget, sensitivity)
    return Accuracy(
        mechanism=name,
        sensitivity=sensitivity,
        sd=float(law.sd) if hasattr(law, "sd") else None,
        prob_exact=getattr(law, "prob_exact", None),
        within_95=float(law.half_width(0.95)) if hasattr(law, "half_width") else None,
        words=law.explain(),
    )
