"""How many more releases fit under a cap, added up as a filter adds them: plain sums.

pure: Σε ≤ cap; basic: Σε and Σδ; zCDP: Σρ. Sums of this kind may be spent as one goes, on budgets
chosen after looking at what was published; tighter accounting is for a plan fixed in advance
(`horizon`). Numbers are compared as exact fractions, so repeated small releases never slip past.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import GuaranteeError
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, PureDP

__all__ = ["releases_left"]


def releases_left(cap: Guarantee, each: Guarantee, spent: Guarantee | None = None) -> int | None:
    """Return how many more releases like `each` fit under the cap; None if they cost nothing.

    >>> releases_left(PureDP(1.0), PureDP(0.1), spent=PureDP(0.35))
    6
    """
    stated = [cap, each] if spent is None else [cap, each, spent]
    if len({g.adjacency for g in stated}) > 1:
        raise GuaranteeError(
            "cap and releases are stated under different adjacencies; restate them under one."
        )
    names = _names(cap)
    limits = []
    for name in names:
        room = _amount(cap, name) - (Fraction(0) if spent is None else _amount(spent, name))
        cost = _amount(each, name)
        if cost > 0 or room < 0:
            limits.append(max(0, room // cost) if cost > 0 else 0)
    for g in stated[1:]:
        extra = [n for n in ("epsilon", "delta", "rho") if n not in names and getattr(g, n, 0) > 0]
        if extra:
            raise GuaranteeError(
                f"{g} spends {extra[0]}, which the cap {cap} does not count; open the account with "
                "a cap that does."
            )
    return min(limits) if limits else None


def _names(cap: Guarantee) -> tuple[str, ...]:
    match cap:
        case PureDP():
            return ("epsilon",)
        case ApproxDP():
            return ("epsilon", "delta")
        case ZCDP():
            return ("rho",)
    raise GuaranteeError(
        f"a {type(cap).__name__} is no cap; give a pure, approximate or zCDP budget."
    )


def _amount(stated: Guarantee, name: str) -> Fraction:
    """The exact value of a float, read as the decimal that was written."""
    return Fraction(repr(float(getattr(stated, name, 0.0))))
