"""`explain`: a guarantee and a prior become bounds on what may be learned.

The verb dispatches on the guarantee; the mathematics of each kind is in a file of its own.
"""

from __future__ import annotations

import math

from discreet.beliefs import pure
from discreet.beliefs.belief import Assumptions, Belief, Bounds, Worst
from discreet.beliefs.prior import Prior
from discreet.errors import GuaranteeError
from discreet.guarantees import Adjacency, Guarantee, PureDP
from discreet.rounding import down, up

__all__ = ["assumptions_for", "explain"]

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
_INDEPENDENCE = (
    "beliefs about the others do not depend on this one: households, networks or contagion in the "
    "data break it, and more may then be learned."
)


def assumptions_for(
    adjacency: Adjacency, *, strong: bool, unit: str = "one person", confidence: float | None = None
) -> Assumptions:
    """Return what a bound rests on; `confidence` is None for bounds that hold for every output."""
    return Assumptions(
        adjacency=_ADJACENCY[adjacency],
        adversary=_STRONG if strong else _WEAK,
        unit=f"{unit}: all that this unit contributes is protected together.",
        probability=(
            "for every possible output, whether or not the unit is in the data."
            if confidence is None
            else f"with probability at least {confidence:g} over the noise, for each unit, whether "
            "or not it is in the data."
        ),
        post_processing="survives any later processing of what was released.",
        independence=_INDEPENDENCE,
    )


def explain(
    guarantee: Guarantee,
    prior: Prior | float | None = None,
    *,
    counts_sensitive_only: bool = False,
    unit: str = "one person",
) -> Belief:
    """Return what an adversary may come to believe under a guarantee.

    >>> belief = explain(PureDP(math.log(3)), 0.5)
    >>> round(belief.posterior.lower, 6), round(belief.posterior.upper, 6)
    (0.25, 0.75)
    """
    if isinstance(prior, (int, float)):
        prior = Prior(prior)
    if not isinstance(guarantee, PureDP):
        raise GuaranteeError(f"{guarantee!r} cannot be explained yet.")
    return _pure(guarantee, prior, counts_sensitive_only, unit)


def _pure(guarantee: PureDP, prior: Prior | None, sensitive_only: bool, unit: str) -> Belief:
    epsilon, adjacency = guarantee.epsilon, guarantee.adjacency
    q = 1.0 if prior is None else prior.q
    worst_ratio = Worst(
        *pure.worst_ratio(epsilon, q, adjacency, counts_sensitive_only=sensitive_only)
    )
    worst_difference = Worst(
        *pure.worst_difference(epsilon, q, adjacency, counts_sensitive_only=sensitive_only)
    )
    if prior is None:
        posterior = None
        ratio = Bounds(down(math.exp(-epsilon)), worst_ratio.value)
        difference = Bounds(-worst_difference.value, worst_difference.value)
    else:
        low, high = pure.ratio(epsilon, prior, adjacency, counts_sensitive_only=sensitive_only)
        s = prior.pq
        ratio = Bounds(low, high)
        posterior = Bounds(down(s * low), min(1.0, up(s * high)))
        difference = Bounds(down(s * (low - 1)), up(s * (high - 1)))
    return Belief(
        guarantee=guarantee,
        prior=prior,
        posterior=posterior,
        ratio=ratio,
        difference=difference,
        holds_with=1.0,
        strength="generic",
        survives_post_processing=True,
        worst_ratio=worst_ratio,
        worst_difference=worst_difference,
        sided="two",
        assumptions=assumptions_for(adjacency, strong=False, unit=unit),
    )
