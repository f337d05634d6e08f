"""What may be learned from a release and its account: the beliefs that a statement states.

Each belief carries the parameters that it follows from, so that anyone can recompute it: the kind
of guarantee and its numbers, the adjacency, the prior, and how often the bound may fail. The facts
are those of `discreet.statements`, which every other statement of the release is made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.beliefs import Belief, Prior
from discreet.budgets.limits import limits_of
from discreet.errors import DiscreetError, GuaranteeError
from discreet.explanations.joining import chance_if_joined
from discreet.explanations.stored import Stored
from discreet.guarantees import Adjacency, Guarantee
from discreet.ledger.promises import Made
from discreet.promises import Promise, Unit
from discreet.rounding import decimal_down
from discreet.statements import Learned, learned

__all__ = ["Risk", "promise_facts", "risk_of", "total_dict"]


@dataclass(frozen=True, slots=True)
class Risk:
    """The beliefs under everything charged to an account, and what was promised of them."""

    total: dict[str, Any]
    learned: Learned
    promises: tuple[Promise, ...]

    @property
    def headline(self) -> Belief:
        """The belief to speak of first."""
        return self.learned.headline

    def rows(self) -> list[dict[str, Any]]:
        """Return one row a belief, with all that is needed to recompute it."""
        found = []
        for row in self.learned.rows:
            for about, belief in row.beliefs():
                if belief.prior is None or belief.posterior is None:
                    continue
                prior = belief.prior
                found.append(
                    {
                        "about": about,
                        "own": row.own,
                        "p": prior.p,
                        "q": prior.q,
                        "lower": belief.posterior.lower,
                        "upper": belief.posterior.upper,
                        "holds_with": belief.holds_with,
                        "joined": _joined(self.learned.total, prior, about),
                        "tolerated": _tolerated(self.promises, prior),
                    }
                )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the risk as JSON-ready values."""
        first = self.learned.first
        return {
            "total": self.total,
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
            "assumptions": first.assumptions.to_dict(),
        }


def total_dict(stored: Stored) -> dict[str, Any]:
    """Return what the whole account has spent, in the numbers that everything follows from."""
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


def promise_facts(stored: Stored, made: Sequence[Made]) -> list[dict[str, Any]]:
    """Return every promise of the account, with what became of it and which prior binds it."""
    found = []
    for one in made:
        promise = one.registered.promise(stored.account)
        binding = limits_of(promise).binding
        about = {"about": promise.about, "binding": {"p": binding.p, "q": binding.q}}
        found.append(one.to_dict() | about)
    return found


def risk_of(stored: Stored, unit: Unit, made: Sequence[Made]) -> Risk | None:
    """Return what may be learned from everything charged to the account; None without a promise."""
    if not stored.promised:
        return None
    total = stored.total()
    promises = tuple(
        one.registered.promise(stored.account) for one in made if one.withdrawn is None
    )
    found = learned(total, unit, promises)
    if found is None:
        raise GuaranteeError(
            f"the account has spent {total}, which bounds no belief even with probability 0.5; "
            "there is nothing to state."
        )
    return Risk(total_dict(stored), found, promises)


def _joined(total: Guarantee, prior: Prior, about: str) -> float | None:
    if total.adjacency is not Adjacency.ADD_REMOVE or about != "membership":
        return None
    return chance_if_joined(total, prior.pq)


def _tolerated(promises: Sequence[Promise], prior: Prior) -> float | None:
    """Return the posterior that the promises allow at a prior they speak of; rounded down."""
    found = []
    for promise in promises:
        for _, part in promise.parts:
            box = part.box
            inside = box.p0 <= prior.p <= box.p1 and box.q0 <= prior.q <= box.q1
            if not inside or not hasattr(part, "ratio_at"):
                continue
            try:
                found.append(part.ratio_at(prior.p, prior.q) * prior.pq)
            except DiscreetError:
                continue
    return min(1.0, decimal_down(min(found), 12)) if found else None
