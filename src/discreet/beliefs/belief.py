"""The answer to "what may be learned?": bounds on an adversary's belief, with what they rest on.

Pure DP holds against any adversary whose beliefs about the others do not depend on this unit (K&R,
assumptions 1 and 2). Everything that holds with a probability is for a strong adversary (KSZ §3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from discreet.beliefs.prior import Prior
from discreet.composition.curves import Sided, Strength
from discreet.frames import JsonReady, Results, html_table
from discreet.guarantees import Adjacency, Guarantee
from discreet.words import say


@dataclass(frozen=True, slots=True)
class Bounds(JsonReady):
    """A lower bound, rounded down, and an upper bound, rounded up."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Worst(JsonReady):
    """The prior at which a measure is worst, and its value there; p = 0 or 1 may be a limit."""

    p: float
    value: float


@dataclass(frozen=True, slots=True)
class Assumptions(JsonReady):
    """What a statement rests on; it travels with every number."""

    adjacency: str
    adversary: str
    unit: str
    probability: str
    post_processing: str
    independence: str

    @property
    def dependent(self) -> bool:
        """Whether the dependence of units on each other is counted."""
        return self.independence == say("beliefs.dependent")

    def with_dependence(self) -> Assumptions:
        """Return the same for a bound that counts how units depend on each other."""
        return replace(
            self, independence=say("beliefs.dependent"), adversary=say("beliefs.adversary.any")
        )


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
class Beyond(JsonReady):
    """What a confidence means: of so many people, how many may be beyond the bound."""

    people: int
    up_to: float


@dataclass(frozen=True, slots=True)
class AtConfidence(JsonReady):
    """The upper bounds at one confidence; infinite where the guarantee's δ does not allow it."""

    confidence: float
    posterior: float | None
    ratio: float
    difference: float


@dataclass(frozen=True, slots=True)
class Belief(JsonReady):
    """What an adversary may come to believe under a guarantee.

    `posterior` is None where no prior was given; `ratio` and `difference` are then over all priors:
    all p and q beside a promise about values, else all p with the value known (q = 1).
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

    @property
    def about_values(self) -> bool:
        """Whether the value was uncertain, so that two steps counted."""
        return self.epsilon_prime is None

    @property
    def value_prior(self) -> float | None:
        """The prior q of the value at which `worst_ratio` and `worst_difference` are; else None.

        They are over all p at this q, and not over all priors.
        """
        central = self.guarantee.adjacency is Adjacency.ADD_REMOVE
        return self.prior.q if self.prior is not None and central and self.prior.q < 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Return the belief as JSON-ready values."""
        said = super(Belief, self).to_dict()
        worst = {
            name.removeprefix("worst_"): said.pop(name)
            for name in list(said)
            if name.startswith("worst_")
        }
        return said | {"worst_prior": worst}

    def __repr__(self) -> str:
        known = self.guarantee.adjacency is Adjacency.ADD_REMOVE and not self.about_values
        at = "all priors" + ", q=1" * known
        if self.prior is not None:
            at = f"p={self.prior.p:g}, q={self.prior.q:g}"
        after = "" if self.posterior is None else f"posterior ≤ {self.posterior.upper:.4g}, "
        return (
            f"Belief({self.guarantee}, {at}: {after}ratio ≤ {self.ratio.upper:.4g}, "
            f"difference ≤ {self.difference.upper:.4g}, with probability {self.holds_with:g})"
        )

    def _repr_html_(self) -> str:
        rows = [] if self.posterior is None else [("posterior", _span(self.posterior))]
        rows += [("posterior / prior", _span(self.ratio)), ("difference", _span(self.difference))]
        rows += [("holds with", f"{self.holds_with:g}"), ("strength", self.strength)]
        rows += [] if self.note is None else [("note", self.note)]
        rows += list(self.assumptions.to_dict().items())
        return html_table(repr(self), rows)


class Beliefs(Results[Belief]):
    """What may be believed after, for several priors: a sequence, and a table of them."""

    named = "beliefs"
    tabled = ("prior", "posterior", "ratio", "difference", "holds_with", "strength", "note")

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the bounds at each prior, with the notes if there are any."""
        columns = super().to_columns()
        if not any(columns.get("note", ())):
            columns.pop("note", None)
        return columns


def _span(bounds: Bounds) -> str:
    from discreet.rounding import decimal_down, decimal_up

    return f"{decimal_down(bounds.lower, 4):g} to {decimal_up(bounds.upper, 4):g}"
