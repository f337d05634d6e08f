"""What may be learned from a release and its account: the beliefs that a statement states.

Each belief carries the parameters that it follows from, so that anyone can recompute it: the kind
of promise and its numbers, the adjacency, the prior, and how often the bound may fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.beliefs import Belief, Prior, explain
from discreet.errors import DiscreetError, GuaranteeError
from discreet.explanations.joining import chance_if_joined
from discreet.explanations.stored import Stored
from discreet.guarantees import Adjacency, Guarantee
from discreet.rounding import decimal_down

__all__ = ["PRIORS", "Risk", "promise_dict", "risk_of"]

PRIORS = (0.01, 0.1, 0.3, 0.5)
_CONFIDENCE = 0.99
_LOWER = (0.95, 0.9, 0.5)


@dataclass(frozen=True, slots=True)
class Risk:
    """The beliefs under one promise, at several priors, and what was tolerated of them."""

    promise: dict[str, Any]
    beliefs: tuple[Belief, ...]
    joined: tuple[float | None, ...]
    tolerated: tuple[float | None, ...]
    choice: dict[str, Any] | None

    def rows(self) -> list[dict[str, Any]]:
        """Return one row a prior, with all that is needed to recompute it."""
        found = []
        for belief, joined, tolerated in zip(
            self.beliefs, self.joined, self.tolerated, strict=True
        ):
            if belief.prior is None or belief.posterior is None:
                continue
            found.append(
                {
                    "p": belief.prior.p,
                    "q": belief.prior.q,
                    "lower": belief.posterior.lower,
                    "upper": belief.posterior.upper,
                    "holds_with": belief.holds_with,
                    "joined": joined,
                    "tolerated": tolerated,
                }
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the risk as JSON-ready values."""
        first = self.beliefs[0]
        return {
            "promise": self.promise,
            "sided": first.sided,
            "strength": first.strength,
            "method": first.method,
            "beliefs": self.rows(),
            "worst": {
                "difference": first.worst_difference.to_dict(),
                "ratio": first.worst_ratio.to_dict(),
            },
            "beyond": None if first.beyond is None else first.beyond.to_dict(),
            "by_confidence": [row.to_dict() for row in first.at_confidence],
            "choice": self.choice,
            "assumptions": first.assumptions.to_dict(),
        }


def promise_dict(stored: Stored) -> dict[str, Any]:
    """Return the promise of the whole account in the numbers that it follows from."""
    numbers = stored.account.spent.floats("up")
    delta = numbers.get("delta", 0.0)
    kind = stored.total().kind
    return {
        "kind": "approximate-concentrated" if kind == "curve" else kind,
        "epsilon": numbers.get("epsilon"),
        "delta": delta if delta else None,
        "rho": numbers.get("rho"),
        "adjacency": stored.account.adjacency.value,
    }


def risk_of(stored: Stored, unit: str) -> Risk | None:
    """Return what may be learned from everything charged to the account; None without a promise."""
    if not stored.promised:
        return None
    total = stored.total()
    tolerance = stored.said.get("spec", {}).get("tolerance")
    priors = [Prior(p) for p in PRIORS]
    choice = None if tolerance is None else _choice(tolerance, total.adjacency)
    confidence = _CONFIDENCE if tolerance is None else tolerance.get("confidence", _CONFIDENCE)
    beliefs = _beliefs(total, priors, confidence, unit)
    return Risk(
        promise=promise_dict(stored),
        beliefs=beliefs,
        joined=tuple(_joined(total, prior) for prior in priors),
        tolerated=tuple(_tolerated(tolerance, prior) for prior in priors),
        choice=choice,
    )


def _beliefs(
    total: Guarantee, priors: Sequence[Prior], confidence: float, unit: str
) -> tuple[Belief, ...]:
    """Return the beliefs at the confidence asked for, or at the next one that δ allows."""
    for level in (confidence, *(c for c in _LOWER if c < confidence)):
        try:
            return tuple(explain(total, prior, confidence=level, unit=unit) for prior in priors)
        except GuaranteeError:
            continue
    raise GuaranteeError(
        f"the account has spent {total}, which bounds no belief even with probability "
        f"{_LOWER[-1]:g}; there is nothing to state."
    )


def _joined(total: Guarantee, prior: Prior) -> float | None:
    if total.adjacency is not Adjacency.ADD_REMOVE:
        return None
    return chance_if_joined(total, prior.pq)


def _tolerated(tolerance: Mapping[str, Any] | None, prior: Prior) -> float | None:
    """Return the posterior that the tolerance allows at a prior it speaks of; rounded down."""
    if tolerance is None:
        return None
    from discreet.promises import from_mapping

    try:
        shape: Any = from_mapping(tolerance)
        box = getattr(shape, "box", None)
        if box is None or not (box.p0 <= prior.p <= box.p1 and box.q0 <= prior.q <= box.q1):
            return None
        return min(1.0, decimal_down(shape.ratio_at(prior.p, prior.q) * prior.pq, 12))
    except (DiscreetError, OSError):
        return None


def _choice(tolerance: Mapping[str, Any], adjacency: str) -> dict[str, Any] | None:
    """Return the budget that the tolerance allows, and what binds it, from the tolerance alone."""
    from discreet.budgets import choose

    try:
        choice = choose(tolerance, adjacency=adjacency)
    except (DiscreetError, OSError):
        return None
    said = choice.to_dict()
    return {
        "epsilon": said["epsilon"],
        "delta": said["guarantee"]["delta"],
        "binding": said["binding"],
        "certificate": said["certificate"],
        "tolerance": str(choice.tolerance),
    }
