"""What a bound on belief rests on, in words: it travels with every number.

Pure DP holds against any adversary whose beliefs about the others do not depend on this unit (K&R,
assumptions 1 and 2). Everything that holds with a probability is for a strong adversary (KSZ §3.1).
"""

from __future__ import annotations

from discreet.beliefs.belief import Assumptions
from discreet.guarantees import Adjacency

__all__ = ["assumptions_for"]

_ADJACENCY = {
    Adjacency.ADD_REMOVE: "add-remove: the data with and without one unit's rows are neighbours.",
    Adjacency.REPLACE: "replace: data that differ in one unit's values are neighbours; that a "
    "unit is in the data at all is not protected.",
    Adjacency.LOCAL: "local: each person's own answer is randomized before it leaves them.",
}
_WEAK = (
    "any adversary who knows how the release was made (K&R assumption 1) and whose beliefs about "
    "the others do not depend on whether this one is in (assumption 2)."
)
_STRONG = "a strong adversary, who knows everything in the data but whether this one is in."
_STRONG_VALUES = (
    "a strong adversary, who knows everything in the data but whether this one is in and which "
    "value it has."
)
_STRONG_REPLACE = (
    "a strong adversary, who knows everything in the data but which of two values this one has."
)
_INDEPENDENCE = (
    "beliefs about the others do not depend on this one: households, networks or contagion in the "
    "data break it, and more may then be learned."
)
_KNOWN_OTHERS = "the others' data are known to the adversary, so nothing is assumed about them."
_ON_AVERAGE = (
    "on average over the noise: it bounds how often a guess is right, and a single output may tell "
    "more."
)
_SURVIVES = "survives any later processing of what was released."
_AS_RELEASED = (
    "holds for the output as released; it is not proved for every later processing of it, since "
    "tail probabilities of the privacy loss are not preserved."
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
    knows = _STRONG_VALUES if values_unknown else _STRONG
    if adjacency is not Adjacency.ADD_REMOVE:
        knows = _STRONG_REPLACE
    return Assumptions(
        adjacency=_ADJACENCY[adjacency],
        adversary=knows if strong else _WEAK,
        unit=f"{unit}: all that this unit contributes is protected together.",
        probability=(
            _ON_AVERAGE
            if on_average
            else "for every possible output, whether or not the unit is in the data."
            if confidence is None
            else f"with probability at least {confidence:g} over the noise, for each unit, whether "
            "or not it is in the data."
        ),
        post_processing=_SURVIVES if survives else _AS_RELEASED,
        independence=_KNOWN_OTHERS if strong else _INDEPENDENCE,
    )
