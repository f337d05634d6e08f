"""The mechanism of a planned release: its budget in the words it is usually given in.

A budget is one positive number: ε for geometric, Laplace and randomized response, ρ for Gaussian
and discrete Gaussian noise. A plan without a mechanism shows the accuracy that a count would have:
geometric noise for a budget in ε, Gaussian for one in ρ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError
from discreet.laws.checks import whole

if TYPE_CHECKING:
    from discreet.laws import Mechanism

__all__ = ["MECHANISMS", "Accuracy", "accuracy_of", "by_budget", "in_rho"]

#: Mechanism names, and whether their budget is ε or ρ.
MECHANISMS = {
    "laplace": "epsilon",
    "geometric": "epsilon",
    "randomized-response": "epsilon",
    "gaussian": "rho",
    "discrete-gaussian": "rho",
}


def in_rho(name: str) -> bool:
    """Whether the budget of the named mechanism is ρ; refuse names that are not known."""
    if name not in MECHANISMS:
        raise InputError(f"mechanism is {name!r}; it must be one of: {', '.join(MECHANISMS)}.")
    return MECHANISMS[name] == "rho"


def by_budget(name: str, budget: float, sensitivity: float = 1) -> Mechanism:
    """Return the named mechanism at a budget; the noise is never less than the budget asks for.

    >>> by_budget("geometric", 0.5)
    Geometric(epsilon=0.5, sensitivity=1)
    """
    from discreet import laws

    in_rho(name)  # refuses other names
    match name:
        case "geometric":
            return laws.Geometric(budget, whole("sensitivity", sensitivity))  # type: ignore[arg-type]
        case "laplace":
            return laws.Laplace(budget, sensitivity)
        case "randomized-response":
            return laws.RandomizedResponse(budget)
        case "gaussian":
            return laws.Gaussian.of_rho(budget, sensitivity)
        case _:  # discrete-gaussian: no other name is left
            return laws.DiscreteGaussian.of_rho(budget, sensitivity)


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
    law: Any = by_budget(name, budget, sensitivity)
    return Accuracy(
        mechanism=name,
        sensitivity=sensitivity,
        sd=float(law.sd) if hasattr(law, "sd") else None,
        prob_exact=getattr(law, "prob_exact", None),
        within_95=float(law.half_width(0.95)) if hasattr(law, "half_width") else None,
        words=law.explain(),
    )
