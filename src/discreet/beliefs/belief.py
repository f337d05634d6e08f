"""The answer to "what may be learned?": bounds on an adversary's belief, with what they rest on.

Pure DP holds against any adversary whose beliefs about the others do not depend on this unit (K&R,
assumptions 1 and 2). Everything that holds with a probability is for a strong adversary (KSZ §3.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from discreet.beliefs.prior import Prior
from discreet.composition.curves import Sided, Strength
from discreet.frames import Results, html_table
from discreet.guarantees import Adjacency, Guarantee, finite_or_null
from discreet.words import say

__all__ = [
    "Assumptions",
    "AtConfidence",
    "Belief",
    "Beliefs",
    "Beyond",
    "Bounds",
    "Sided",
    "Strength",
    "Worst",
    "assumptions_for",
]


class _HasDict(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


def _or_null(value: _HasDict | None) -> dict[str, Any] | None:
    return None if value is None else value.to_dict()


@dataclass(frozen=True, slots=True)
class Bounds:
    """A lower bound, rounded down, and an upper bound, rounded up."""

    lower: float
    upper: float

    def to_dict(self) -> dict[str, Any]:
        """Return the two, null and `unbounded` where the upper one is infinite."""
        out: dict[str, Any] = {"lower": self.lower, "upper": finite_or_null(self.upper)}
        if out["upper"] is None:
            out["unbounded"] = True
        return out


@dataclass(frozen=True, slots=True)
class Worst:
    """The prior at which a measure is worst, and its value there; p = 0 or 1 may be a limit."""

    p: float
    value: float

    def to_dict(self) -> dict[str, Any]:
        """Return `{p, value}`."""
        out: dict[str, Any] = {"p": self.p, "value": finite_or_null(self.value)}
        if out["value"] is None:
            out["unbounded"] = True
        return out


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What a statement rests on; it travels with every number."""

    adjacency: str
    adversary: str
    unit: str
    probability: str
    post_processing: str
    independence: str

    def to_dict(self) -> dict[str, str]:
        """Return the assumptions by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def assumptions_for(
    adjacency: Adjacency,
    *,
    strong: bool,
    unit: str = "one person",
    confidence: float | None = None,
    values_unknown: bool = False,
    survives: bool = True,
    on_average: bool = False,
) -> Assumptions:
    """Return what a bound rests on; `confidence` is None for bounds that hold for every output."""
    central = adjacency is Adjacency.ADD_REMOVE
    knows = "strong_replace" if not central else "strong_values" if values_unknown else "strong"
    if on_average:
        probability = say("beliefs.probability.on_average")
    elif confidence is None:
        probability = say("beliefs.probability.every_output")
    else:
        probability = say("beliefs.probability.confidence", confidence=confidence)
    return Assumptions(
        adjacency=say(f"beliefs.adjacency.{adjacency.value}"),
        adversary=say(f"beliefs.adversary.{knows if strong else 'weak'}"),
        unit=say("beliefs.unit", unit=unit),
        probability=probability,
        post_processing=say("beliefs.survives" if survives else "beliefs.as_released"),
        independence=say("beliefs.known_others" if strong else "beliefs.independence"),
    )


@dataclass(frozen=True, slots=True)
class Beyond:
    """What a confidence means: of so many people, how many may be beyond the bound."""

    people: int
    up_to: float

    def to_dict(self) -> dict[str, Any]:
        """Return `{people, up_to}`: N, and N·δ' in expectation."""
        return {"people": self.people, "up_to": self.up_to}


@dataclass(frozen=True, slots=True)
class AtConfidence:
    """The upper bounds at one confidence; infinite where the guarantee's δ does not allow it."""

    confidence: float
    posterior: float | None
    ratio: float
    difference: float

    def to_dict(self) -> dict[str, Any]:
        """Return the bounds; null and `unbounded` where there is none."""
        bounded = not math.isinf(self.ratio)
        out: dict[str, Any] = {
            "confidence": self.confidence,
            "posterior": self.posterior,
            "ratio": finite_or_null(self.ratio),
            "difference": self.difference,
        }
        return out if bounded else out | {"unbounded": True}


@dataclass(frozen=True, slots=True)
class Belief:
    """What an adversary may come to believe under a guarantee.

    `posterior` is None where no prior was given; `ratio` and `difference` are then over all priors.
    `worst_ratio` and `worst_difference` speak of "in" (and sensitive); the two `…_not_in` of the
    opposite, None where only increases count. `epsilon_prime` is the bound on the privacy loss that
    the rest follows from, None where there is no single one (membership and value at once). `exact`
    is the bound from the law of the loss itself, shown beside one that survives post-processing.
    """

    guarantee: Guarantee
    prior: Prior | None
    posterior: Bounds | None
    ratio: Bounds
    difference: Bounds
    holds_with: float
    strength: Strength
    survives_post_processing: bool
    worst_ratio: Worst
    worst_difference: Worst
    sided: Sided
    assumptions: Assumptions
    method: str = "K&R Theorem 1"
    epsilon_prime: float | None = None
    worst_ratio_not_in: Worst | None = None
    worst_difference_not_in: Worst | None = None
    beyond: Beyond | None = None
    at_confidence: tuple[AtConfidence, ...] = ()
    exact: Belief | None = None
    note: str | None = None
    unit: str = "one person"

    def to_dict(self) -> dict[str, Any]:
        """Return the belief as JSON-ready values."""
        out: dict[str, Any] = {
            "guarantee": self.guarantee.to_dict(),
            "prior": None if self.prior is None else {"p": self.prior.p, "q": self.prior.q},
            "posterior": None if self.posterior is None else self.posterior.to_dict(),
            "ratio": self.ratio.to_dict(),
            "difference": self.difference.to_dict(),
            "holds_with": self.holds_with,
            "strength": self.strength,
            "survives_post_processing": self.survives_post_processing,
            "worst_prior": {
                "ratio": self.worst_ratio.to_dict(),
                "difference": self.worst_difference.to_dict(),
                "ratio_not_in": _or_null(self.worst_ratio_not_in),
                "difference_not_in": _or_null(self.worst_difference_not_in),
            },
            "sided": self.sided,
            "method": self.method,
            "epsilon_prime": finite_or_null(self.epsilon_prime),
            "beyond": _or_null(self.beyond),
            "at_confidence": [row.to_dict() for row in self.at_confidence],
            "exact": _or_null(self.exact),
            "note": self.note,
            "unit": self.unit,
            "assumptions": self.assumptions.to_dict(),
        }
        unbounded = self.epsilon_prime is not None and math.isinf(self.epsilon_prime)
        return out | {"unbounded": True} if unbounded else out

    def __repr__(self) -> str:
        at = "all priors" if self.prior is None else f"p={self.prior.p:g}, q={self.prior.q:g}"
        after = "" if self.posterior is None else f"posterior ≤ {self.posterior.upper:.4g}, "
        return (
            f"Belief({self.guarantee}, {at}: {after}ratio ≤ {self.ratio.upper:.4g}, "
            f"difference ≤ {self.difference.upper:.4g}, with probability {self.holds_with:g})"
        )

    def _repr_html_(self) -> str:
        rows = [] if self.posterior is None else [("posterior", _span(self.posterior))]
        rows += [("posterior / prior", _span(self.ratio)), ("difference", _span(self.difference))]
        rows += [("holds with", f"{self.holds_with:g}"), ("strength", self.strength)]
        rows += list(self.assumptions.to_dict().items())
        return html_table(repr(self), rows)


class Beliefs(Results[Belief]):
    """What may be believed after, for several priors: a sequence, and a table of them."""

    named = "beliefs"


def _span(bounds: Bounds) -> str:
    from discreet.rounding import decimal_down, decimal_up

    return f"{decimal_down(bounds.lower, 4):g} to {decimal_up(bounds.upper, 4):g}"
